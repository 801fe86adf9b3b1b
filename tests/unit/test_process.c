/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields read of a process in /proc/PID/stat, whatever its name. proc_pid_stat(5) */
#include "node/host/process.h"

#include "cmocka_env.h"
#include "descriptors.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A child with a name that looks like what follows it; it stops. */
static pid_t begin_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_NAME, ") R 1 2 3 (x) T");
		(void)raise(SIGSTOP);
		_exit(pause() == 0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void start__of_a_child(void **state)
{
	pid_t pid = begin_child();
	uint64_t start = vb_process_start(pid);
	struct timespec t;
	double age;

	(void)state;
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &t), 0);
	age = (double)t.tv_sec + (double)t.tv_nsec / 1e9 -
	      (double)start / (double)sysconf(_SC_CLK_TCK);
	assert_true(age > -1 && age < 60);
	assert_int_equal(vb_process_start(pid), start);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(vb_process_start(pid), 0);
}

static void stopped__until_it_goes_on(void **state)
{
	pid_t pid = begin_child();

	(void)state;
	assert_true(vb_process_is_stopped(pid));
	assert_false(vb_process_is_stopped(getpid()));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, NULL, WCONTINUED), pid);
	assert_false(vb_process_is_stopped(pid));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(vb_process_is_stopped(pid));
}

/* A debugger stops a process, too. Looking leaves nothing open. */
static void stopped__by_a_debugger(void **state)
{
	unsigned before = descriptors_of(getpid());
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(vb_process_is_stopped(pid));
	assert_true(vb_process_start(pid) > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(start__of_a_child),
	    cmocka_unit_test(stopped__until_it_goes_on),
	    cmocka_unit_test(stopped__by_a_debugger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
