/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that waits for descriptors of the program's and makes progress meanwhile: what ends its
 * wait, and what is as before afterwards. With a real broker, in a network namespace of its own.
 * node/wait/watch.h
 */
#include "cmocka_env.h"
#include "node/engine/priv.h"
#include "node/wait/watch.h"
#include "verbs_env.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static struct vb_engine *e;
static int fd[2];
static _Atomic uint32_t handled;

static int setup(void **state)
{
	char why[256];

	(void)verbs_broker_setup(state);
	atomic_store(&handled, 0);
	atomic_store(&vb_watch_armed, 1);
	for (int i = 0; i < 2; i++)
		fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return vb_engine_acquire(&e, why, sizeof why);
}

static int teardown(void **state)
{
	vb_engine_release(e);
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	atomic_store(&vb_watch_armed, 0);
	return verbs_broker_teardown(state);
}

static void make_readable(int which)
{
	assert_int_equal(write(fd[which], &(uint64_t){1}, 8), 8);
}

static void make_empty(int which)
{
	uint64_t cnt;

	assert_int_equal(read(fd[which], &cnt, sizeof cnt), sizeof cnt);
}

/* Waits for both, until @until, and checks that the mask is the same afterwards. */
static int wait_both(vb_time until, const sigset_t *mask)
{
	const struct vb_watch w[] = {{fd[0], EPOLLIN}, {fd[1], EPOLLIN}};
	sigset_t before, after;
	int rc;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	rc = vb_watch_wait(w, 2, until, mask);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	assert_memory_equal(&before, &after, 8); /* as many as the kernel has */
	return rc;
}

/* Each of the descriptors ends the wait, as often as it is waited for, and so does the time. */
static void wait__ends_by_each_descriptor(void **state)
{
	vb_time before;

	(void)state;
	for (int i = 0; i < 6; i++) {
		make_readable(i % 2);
		assert_int_equal(wait_both(VB_NEVER, NULL), 0);
		make_empty(i % 2);
		before = vb_clock_now();
		assert_int_equal(wait_both(before + 5 * VB_MSEC, NULL), 0);
		assert_true(vb_clock_now() >= before + 5 * VB_MSEC);
	}
	assert_int_equal(wait_both(0, NULL), 0);
	/* A number that another file has by now. */
	close(fd[0]);
	fd[0] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(wait_both(VB_NEVER, NULL), 0);
	assert_int_equal(e->wait.sleeper, VB_SLEEPER_NONE);
	assert_int_equal(e->refs, 1); /* it was borrowed for the wait */
}

/* The caller has to wait for a descriptor that epoll does not take; the next wait is as ever. */
static void wait__for_what_cannot_be_watched(void **state)
{
	FILE *file = tmpfile();
	struct vb_watch w[] = {{fd[0], EPOLLIN}, {fileno(file), EPOLLIN}};

	(void)state;
	assert_int_equal(vb_watch_wait(w, 2, VB_NEVER, NULL), EPERM);
	w[1].fd = -1;
	assert_int_equal(vb_watch_wait(w, 2, VB_NEVER, NULL), EBADF);
	fclose(file);
	make_readable(1);
	assert_int_equal(wait_both(VB_NEVER, NULL), 0);
}

static void *wait_in_thread(void *rc)
{
	*(int *)rc = wait_both(VB_NEVER, NULL);
	return NULL;
}

static pthread_t begin_wait(int *rc)
{
	bool parked = false;
	pthread_t t;

	*rc = -1;
	assert_int_equal(pthread_create(&t, NULL, wait_in_thread, rc), 0);
	while (!parked) {
		usleep(1000);
		vb_engine_lock(e);
		parked = e->wait.sleeper == VB_SLEEPER_PARKED;
		vb_engine_unlock(e);
	}
	return t;
}

/* Something that is not the program's wakes the thread. */
static void wake_it(void)
{
	assert_int_equal(write(e->sleeper.wake_fd, &(uint64_t){1}, 8), 8);
}

/* One thread at a time does so; others wait by themselves. */
static void wait__one_thread_at_a_time(void **state)
{
	pthread_t t;
	int rc;

	(void)state;
	t = begin_wait(&rc);
	assert_int_equal(wait_both(VB_NEVER, NULL), EBUSY);
	make_readable(0);
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	assert_int_equal(wait_both(VB_NEVER, NULL), 0);
}

/* While somebody is armed the thread goes on whatever else wakes it; else it gives up. An event of
 * the program's that was delivered ends the wait in any case. */
static void wait__while_somebody_is_armed(void **state)
{
	pthread_t t;
	int rc;

	(void)state;
	t = begin_wait(&rc);
	for (int i = 0; i < 5; i++) {
		wake_it();
		usleep(2000);
	}
	vb_engine_lock(e);
	assert_int_equal(rc, -1);
	vb_engine_unlock(e);
	make_readable(1);
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	make_empty(1);
	t = begin_wait(&rc);
	vb_engine_lock(e);
	e->notified++;
	vb_engine_unlock(e);
	wake_it();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	t = begin_wait(&rc);
	atomic_store(&vb_watch_armed, 0);
	wake_it();
	pthread_join(t, NULL);
	assert_int_equal(rc, EBUSY);
}

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

/* A handler ends the wait, however it was installed, if its signal is not blocked by the mask of
 * that wait: the caller's own where none is given. poll(2), ppoll(2) */
static void wait__ends_by_a_handler(void **state)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
	sigset_t one, none, was;

	(void)state;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigemptyset(&none);
	assert_int_equal(sigaction(SIGUSR1, &a, &old), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &was), 0);
	pthread_kill(pthread_self(), SIGUSR1);
	assert_int_equal(wait_both(vb_clock_now() + 20 * VB_MSEC, NULL), 0);
	assert_int_equal(wait_both(vb_clock_now() + 20 * VB_MSEC, &one), 0);
	assert_int_equal(handled, 0);
	assert_int_equal(wait_both(VB_NEVER, &none), EINTR);
	assert_int_equal(handled, 1);
	make_readable(0);
	assert_int_equal(wait_both(VB_NEVER, &none), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &was, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

/* A process without an engine has nothing to make progress with. */
static void wait__without_an_engine(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		fd[i] = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(wait_both(VB_NEVER, NULL), EBUSY);
	close(fd[0]);
	close(fd[1]);
}

/* Which descriptors are channels', and which epoll instances have one; beyond so many nobody knows.
 */
static void kinds__of_descriptors(void **state)
{
	static const int first = 60000, last = 65535;

	(void)state;
	for (int i = first; i <= last; i += last - first) {
		assert_false(vb_watch_is_channel(i) || vb_watch_has_channel(i));
		vb_watch_channel(i, true);
		assert_true(vb_watch_is_channel(i) && !vb_watch_has_channel(i));
		assert_false(vb_watch_is_channel(i - 1));
		vb_watch_nest(i - 1, i);
		assert_true(vb_watch_has_channel(i - 1) && !vb_watch_is_channel(i - 1));
		vb_watch_nest(i - 2, i - 1); /* an instance in another is no channel's */
		assert_false(vb_watch_has_channel(i - 2));
		vb_watch_channel(i, false);
		assert_false(vb_watch_is_channel(i));
		vb_watch_nest(i - 3, i);
		assert_false(vb_watch_has_channel(i - 3));
	}
	vb_watch_channel(last + 1, true);
	vb_watch_channel(-1, true);
	assert_false(vb_watch_is_channel(last + 1) || vb_watch_is_channel(-1));
	vb_watch_channel(first, true);
	vb_watch_nest(last + 1, first);
	vb_watch_nest(-1, first);
	assert_false(vb_watch_has_channel(last + 1) || vb_watch_has_channel(-1));
	vb_watch_channel(first, false);
}

int main(void)
{
#define WATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wait__without_an_engine), cmocka_unit_test(kinds__of_descriptors),
	    WATCH_TEST(wait__ends_by_each_descriptor), WATCH_TEST(wait__for_what_cannot_be_watched),
	    WATCH_TEST(wait__one_thread_at_a_time),    WATCH_TEST(wait__while_somebody_is_armed),
	    WATCH_TEST(wait__ends_by_a_handler),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
