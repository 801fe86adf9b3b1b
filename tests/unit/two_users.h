/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two users on one host: the test runs as root, in a user namespace where it is not root, and each
 * user is a child of it that has become one. Network, /dev/shm and /tmp are the test's own.
 */
#ifndef VB_TESTS_UNIT_TWO_USERS_H
#define VB_TESTS_UNIT_TWO_USERS_H

#include "cmocka_env.h"
#include "netns.h"

#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define VICTIM 1001
#define STRANGER 1002

/* False where that is not allowed. Call it first of all: it may begin the program again. */
static inline bool two_users_enter(char **argv)
{
	if (geteuid() != 0) {
		if (getenv("VERBENA_TEST_TWO_USERS") ||
		    system("unshare --user --map-root-user --map-auto true 2>/dev/null") != 0)
			return false;
		setenv("VERBENA_TEST_TWO_USERS", "1", 1);
		execlp("unshare", "unshare", "--user", "--map-root-user", "--map-auto", "--",
		       argv[0], (char *)NULL);
		return false;
	}
	unsetenv("XDG_RUNTIME_DIR");
	return netns_enter() && unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777") == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") == 0;
}

/* Runs @work as user @uid in a process of its own, which does not outlive this one. */
static inline pid_t user_start(unsigned uid, void (*work)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(99);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	work();
	_exit(0);
}

/* Waits for its end. Its exit status, or -1 when a signal ended it. */
static inline int user_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int user_run(unsigned uid, void (*work)(void))
{
	return user_end(user_start(uid, work));
}

#endif
