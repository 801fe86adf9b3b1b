/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that come while a thread sleeps for its event: which end the sleep, that each handler
 * runs in time, and that the thread has the signal mask afterwards that it had before. With a real
 * broker, in a network namespace of its own. sigaction(2) SA_RESTART
 */
#include "deny.h"
#include "node/engine/priv.h"
#include "verbs_env.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static struct vb_engine *e;
static _Atomic uint32_t handled[65], events;
static _Atomic bool stops;
static pthread_t sleeper;

static int setup(void **state)
{
	char why[256];

	(void)verbs_broker_setup(state);
	for (int i = 0; i < 65; i++)
		atomic_store(&handled[i], 0);
	atomic_store(&stops, false);
	sleeper = pthread_self();
	return vb_engine_acquire(&e, why, sizeof why);
}

static int teardown(void **state)
{
	vb_engine_release(e);
	return verbs_broker_teardown(state);
}

static void on_signal(int sig)
{
	atomic_fetch_add(&handled[sig], 1);
}

static void install(int sig, void (*handler)(int sig), int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(sig, &a, NULL), 0);
}

static void uninstall(void)
{
	install(SIGUSR1, SIG_DFL, 0);
	install(SIGUSR2, SIG_DFL, 0);
	install(SIGWINCH, SIG_DFL, 0);
}

/* The test's runner, or a sanitizer, has handlers of its own, which the engine would find. */
static void forget_handlers(void)
{
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction a;

		if (!sigaction(sig, NULL, &a) && a.sa_handler != SIG_IGN)
			(void)signal(sig, SIG_DFL);
	}
}

/* Sends the sleeper one signal after the other until it is told to end. */
static void *send_signals(void *arg)
{
	while (!atomic_load(&stops)) {
		pthread_kill(sleeper, *(int *)arg);
		usleep(2000);
	}
	return NULL;
}

/* Sleeps under a rain of signals @sig, for @d at most; the mask is the same afterwards. */
static int sleep_in_rain(int sig, vb_dur d)
{
	sigset_t before, after;
	pthread_t t;
	int rc;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	atomic_store(&stops, false);
	assert_int_equal(pthread_create(&t, NULL, send_signals, &sig), 0);
	rc = vb_engine_sleep(e, &events, atomic_load(&events), vb_clock_now() + d);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	atomic_store(&stops, true);
	pthread_join(t, NULL);
	assert_memory_equal(&before, &after, 8); /* as many as the kernel has */
	assert_int_equal(e->sleeper.shown, 0);
	return rc;
}

/* A handler that was installed without SA_RESTART ends the sleep, alone or beside others. */
static void handler__ends_the_sleep(void **state)
{
	(void)state;
	forget_handlers();
	for (int mixed = 0; mixed < 2; mixed++) {
		e->sleeper.sleeps = 0;
		install(SIGUSR1, on_signal, 0);
		if (mixed)
			install(SIGUSR2, on_signal, SA_RESTART);
		for (int i = 0; i < 3; i++)
			assert_int_equal(sleep_in_rain(SIGUSR1, 3600 * VB_SEC), EINTR);
		assert_true(handled[SIGUSR1] >= 3);
		assert_int_equal(e->sleeper.is_mixed, mixed);
		uninstall();
	}
}

/* One with SA_RESTART does not, whatever else is installed; it runs meanwhile. Nor do signals that
 * are ignored. */
static void handler__lets_it_go_on(void **state)
{
	(void)state;
	forget_handlers();
	for (int mixed = 0; mixed < 2; mixed++) {
		e->sleeper.sleeps = 0;
		atomic_store(&handled[SIGUSR2], 0);
		install(SIGUSR2, on_signal, SA_RESTART);
		if (mixed)
			install(SIGUSR1, on_signal, 0);
		assert_int_equal(sleep_in_rain(SIGUSR2, 300 * VB_MSEC), ETIMEDOUT);
		assert_true(handled[SIGUSR2] > 0);
		assert_int_equal(handled[SIGUSR1], 0);
		assert_int_equal(sleep_in_rain(SIGWINCH, 100 * VB_MSEC), ETIMEDOUT);
		install(SIGWINCH, SIG_IGN, 0);
		assert_int_equal(sleep_in_rain(SIGWINCH, 100 * VB_MSEC), ETIMEDOUT);
		uninstall();
	}
}

static void await_handled(int sig, uint32_t cnt)
{
	for (int ms = 0; atomic_load(&handled[sig]) < cnt; ms++) {
		if (ms > VERBS_PATIENCE_S * 1000)
			abort();
		usleep(1000);
	}
}

/* Waits for each handler before it sends the next signal; then the event comes. */
static void *signal_then_event(void *arg)
{
	for (uint32_t i = 1; i <= 20; i++) {
		pthread_kill(sleeper, SIGUSR2);
		await_handled(SIGUSR2, i);
	}
	vb_engine_lock(e);
	atomic_fetch_add(&events, 1);
	vb_sleeper_wake(e);
	vb_engine_unlock(e);
	return arg;
}

/* In one long sleep each handler runs when its signal comes, before and after signals are blocked
 * for the rest of it; and the event ends it. */
static void handler__runs_in_time(void **state)
{
	sigset_t before, after;
	pthread_t t;

	(void)state;
	forget_handlers();
	install(SIGUSR2, on_signal, SA_RESTART);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	assert_int_equal(pthread_create(&t, NULL, signal_then_event, NULL), 0);
	assert_int_equal(vb_engine_sleep(e, &events, atomic_load(&events), VB_NEVER), 0);
	pthread_join(t, NULL);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	assert_memory_equal(&before, &after, 8);
	assert_int_equal(handled[SIGUSR2], 20);
	assert_int_equal(e->sleeper.shown, 0);
	assert_int_equal(e->wait.sleeper, VB_SLEEPER_NONE);
	uninstall();
}

/* A wait that kernels before 5.11 lack: to the nanosecond, and with what was seen. In a child. */
static int wait_without_pwait2(void)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
	vb_time before;

	/* The fourth argument, the time, is a pointer. */
	if (!deny_call(SYS_epoll_pwait2, 3, UINT32_MAX, ENOSYS))
		return 77;
	if (vb_sleeper_watch_fd(epoll_fd, fd, EPOLLIN, VB_SLEEP_PROGRAM))
		return 1;
	before = vb_clock_now();
	if (vb_sleeper_wait_epoll(epoll_fd, 20 * VB_MSEC, NULL) != 0 ||
	    vb_clock_now() - before < 20 * VB_MSEC)
		return 2;
	if (vb_sleeper_wait_epoll(epoll_fd, 0, NULL) != 0)
		return 3;
	if (write(fd, &(uint64_t){1}, 8) != 8 ||
	    vb_sleeper_wait_epoll(epoll_fd, 3600 * VB_SEC, NULL) != VB_SLEEP_PROGRAM ||
	    vb_sleeper_wait_epoll(epoll_fd, 0, NULL) != VB_SLEEP_PROGRAM ||
	    vb_sleeper_wait_epoll(epoll_fd, VB_NEVER, NULL) != VB_SLEEP_PROGRAM)
		return 4;
	return 0;
}

static void wait__on_an_older_kernel(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(wait_without_pwait2());
	status = child_status(pid);
	if (status == 77) {
		print_message("this kernel lets no process deny itself system calls\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* The time that a wait takes is the one that was asked for, or more; a descriptor that is lent for
 * one event shows one, until it is lent again. */
static void wait__for_a_time_or_once(void **state)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(1, EFD_CLOEXEC);
	vb_time before = vb_clock_now();

	(void)state;
	assert_int_equal(vb_sleeper_wait_epoll(epoll_fd, 1100 * VB_MSEC, NULL), 0);
	assert_true(vb_clock_now() - before >= 1100 * VB_MSEC);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    vb_sleeper_watch_fd(epoll_fd, fd, EPOLLIN | EPOLLONESHOT, VB_SLEEP_PROGRAM), 0);
		assert_int_equal(vb_sleeper_wait_epoll(epoll_fd, VB_NEVER, NULL), VB_SLEEP_PROGRAM);
		assert_int_equal(vb_sleeper_wait_epoll(epoll_fd, 0, NULL), 0);
	}
	/* Without that, twice is an error. */
	assert_int_equal(vb_sleeper_watch_fd(epoll_fd, fd, EPOLLIN, VB_SLEEP_PROGRAM), -EEXIST);
	assert_int_equal(vb_sleeper_watch_fd(epoll_fd, -1, EPOLLIN, VB_SLEEP_PROGRAM), -EBADF);
	close(fd);
	close(epoll_fd);
}

int main(void)
{
#define SIGNAL_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    SIGNAL_TEST(handler__ends_the_sleep),       SIGNAL_TEST(handler__lets_it_go_on),
	    SIGNAL_TEST(handler__runs_in_time),         cmocka_unit_test(wait__on_an_older_kernel),
	    cmocka_unit_test(wait__for_a_time_or_once),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
