/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the broker without a trace in the program that needs it: a child that shares our memory
 * spawns it and ends at once. Because that child was cloned without an exit signal, no SIGCHLD
 * arrives, and wait(-1) of the program does not see it. clone(2), posix_spawn(3)
 */
#include "node/client/spawn.h"

#include "node/host/error_hints.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* The thread sanitizer takes clone() for a fork, even with CLONE_VM, and forgets the other threads.
 */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

#define STACK_BYTES (256 << 10)
/* Three for each client, and some. */
#define BROKER_FILES_MIN 1024

/* The file that holds this code: libverbena.so, or the program it is linked into. */
static int own_path(char *path, size_t size)
{
	char real[PATH_MAX];
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)vb_verbena_path, &info) || !info.dli_fname ||
	    !strchr(info.dli_fname, '/') || !realpath(info.dli_fname, real)) {
		/* A program's own name may be relative to a directory left long ago. */
		ssize_t n = readlink("/proc/self/exe", real, sizeof real - 1);

		if (n <= 0)
			return -ENOENT;
		real[n] = 0;
	}
	if ((size_t)snprintf(path, size, "%s", real) >= size)
		return -ENOENT;
	return 0;
}

int vb_verbena_path(char *path, size_t size)
{
	static const char *const beside[] = {"verbena",    "../bin/verbena", "../../bin/verbena",
					     "../verbena", "../../verbena",  "../../../verbena"};
	const char *env = secure_getenv("VERBENA_BIN");
	char self[PATH_MAX];

	if (env && env[0])
		return access(env, X_OK) || (size_t)snprintf(path, size, "%s", env) >= size
			   ? -ENOENT
			   : 0;
	if (own_path(self, sizeof self))
		return -ENOENT;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
		struct {
			char path[PATH_MAX + 32];
		} try;

		snprintf(try.path, sizeof try.path, "%s/%s", self, beside[i]);
		if (access(try.path, X_OK) == 0 && strlen(try.path) < size) {
			memcpy(path, try.path, strlen(try.path) + 1);
			return 0;
		}
	}
	return -ENOENT;
}

struct spawn {
	const char *path;
	char **env;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int rc;
};

/* The child allocates nothing, because it shares the program's heap. Another thread may hold the
 * heap's lock until the child's parent runs again: the leak check of a sanitizer does. */
static int spawn_child(void *arg)
{
	struct spawn *s = arg;
	char name[] = "verbena", command[] = "broker";
	char *argv[] = {name, command, NULL};
	pid_t pid;

	s->rc = posix_spawn(&pid, s->path, &s->files, &s->attr, argv, s->env);
	return 0;
}

/* The broker's stdout is @out, and it is in a session of its own. An errno, or 0. */
static int fill_spawn(struct spawn *s, int out)
{
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&s->files);
	posix_spawnattr_init(&s->attr);
	rc = posix_spawn_file_actions_addopen(&s->files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&s->files, out, STDOUT_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_addopen(&s->files, STDERR_FILENO, "/dev/null", O_RDWR,
						      0);
	posix_spawnattr_setflags(&s->attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&s->attr, &none);
	return rc;
}

static void free_spawn(struct spawn *s)
{
	posix_spawnattr_destroy(&s->attr);
	posix_spawn_file_actions_destroy(&s->files);
}

/* The environment without LD_PRELOAD: the broker is not to be preloaded into. */
static char **broker_env(void)
{
	size_t n = 0, k = 0;

	while (environ && environ[n])
		n++;
	char **env = calloc(n + 1, sizeof *env);
	for (size_t i = 0; env && i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			env[k++] = environ[i];
	return env;
}

static int spawn_detached(struct spawn *s)
{
	sigset_t all, old;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -errno;
	/* A handler of the program must not run in the child: it would act on our memory. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV); /* there are no faults, and to block them would be noted */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = clone(spawn_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
	int rc = pid < 0 ? -errno : -s->rc;
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_BYTES);
	return rc;
}

static int start_broker(const char *path, int out)
{
	struct spawn s = {.path = path, .env = broker_env()};
	int rc = s.env ? -fill_spawn(&s, out) : -ENOMEM;

	if (!rc)
		rc = spawn_detached(&s);
	if (s.env)
		free_spawn(&s);
	free(s.env);
	return rc;
}

/* Waits for the end of the broker's output; text is the reason why it could not start. */
static int wait_ready(int fd, int timeout_ms, char *why, size_t why_size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char text[256];
	ssize_t n;
	int rc;

	do
		rc = poll(&p, 1, timeout_ms);
	while (rc < 0 && errno == EINTR);
	if (rc == 0) {
		snprintf(why, why_size, "the broker was started but does not answer");
		return -ETIMEDOUT;
	}
	do
		n = read(fd, text, sizeof text - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	snprintf(why, why_size, "%s", text);
	return -EIO;
}

/* A broker inherits the limits of the program that happens to start it, and serves all others. */
static int check_limits(char *why, size_t why_size)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max >= BROKER_FILES_MIN)
		return 0;
	snprintf(why, why_size,
		 "the hard limit of open files is %lu and the broker, which serves all programs of "
		 "this host, needs %d; raise it ('ulimit -Hn') or start another program first",
		 (unsigned long)files.rlim_max, BROKER_FILES_MIN);
	return -EMFILE;
}

int vb_broker_spawn(int timeout_ms, char *why, size_t why_size)
{
	char path[PATH_MAX];
	int fd[2];

	if (check_limits(why, why_size))
		return -EMFILE;
	if (vb_verbena_path(path, sizeof path)) {
		snprintf(why, why_size,
			 "cannot find the 'verbena' program beside libverbena.so; set VERBENA_BIN "
			 "to it");
		return -ENOENT;
	}
	if (pipe2(fd, O_CLOEXEC))
		return vb_error_hint(why, why_size, -errno, "cannot start the broker");
	/* Above stdio: the program may have closed its own. */
	int out = fcntl(fd[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int rc = out < 0 ? -errno : start_broker(path, out);

	close(fd[1]);
	if (out >= 0)
		close(out);
	if (rc)
		rc = vb_error_hint(why, why_size, rc, "cannot start the broker %s", path);
	else
		rc = wait_ready(fd[0], timeout_ms, why, why_size);
	close(fd[0]);
	return rc;
}
