/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's lock under contention: sleepers are woken, and a waiter passed over has it next.
 * node/engine/lock.h, futex(2) */
#include "cmocka_env.h"
#include "node/engine/lock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 60
#define SLEEPERS 4

static struct vb_lock lock;
static _Atomic int had;

static void *take_and_drop(void *arg)
{
	vb_lock_take(&lock);
	had++;
	vb_lock_drop(&lock);
	return arg;
}

/* Wakes one sleeper, if any, as if it had come too late for the lock. */
static bool wake_in_vain(void)
{
	return syscall(SYS_futex, &lock.state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1;
}

static void wait_until(bool (*holds)(void))
{
	time_t end = time(NULL) + PATIENCE_S;

	while (!holds()) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static bool is_reserved(void)
{
	(void)wake_in_vain();
	return atomic_load(&lock.state) & VB_LOCK_RESERVED;
}

/* A waiter that slept again and again while others had the lock reserves it: nobody else gets it
 * until the waiter has had it. */
static void reserve__after_sleeping_in_vain(void **state)
{
	pthread_t waiter;

	(void)state;
	had = 0;
	vb_lock_take(&lock);
	assert_true(vb_lock_is_held(&lock));
	assert_int_equal(pthread_create(&waiter, NULL, take_and_drop, NULL), 0);
	wait_until(is_reserved);
	vb_lock_drop(&lock);
	/* The lock is free, not for us. */
	if (vb_lock_try(&lock)) {
		assert_int_equal(had, 1);
		vb_lock_drop(&lock);
	}
	assert_int_equal(pthread_join(waiter, NULL), 0);
	assert_int_equal(had, 1);
	assert_int_equal(lock.state, 0);
}

static bool has_sleepers(void)
{
	return atomic_load(&lock.state) & VB_LOCK_SLEEPERS;
}

/* Each of several sleepers has its turn, though each drop wakes one. */
static void drop__all_sleepers_have_their_turn(void **state)
{
	pthread_t t[SLEEPERS];

	(void)state;
	for (int round = 0; round < 50; round++) {
		had = 0;
		vb_lock_take(&lock);
		for (int i = 0; i < SLEEPERS; i++)
			assert_int_equal(pthread_create(&t[i], NULL, take_and_drop, NULL), 0);
		wait_until(has_sleepers);
		vb_lock_drop(&lock);
		for (int i = 0; i < SLEEPERS; i++)
			assert_int_equal(pthread_join(t[i], NULL), 0);
		assert_int_equal(had, SLEEPERS);
		assert_int_equal(lock.state, 0);
	}
}

static void try__not_what_is_held(void **state)
{
	(void)state;
	assert_true(vb_lock_try(&lock));
	assert_false(vb_lock_try(&lock));
	vb_lock_drop(&lock);
	assert_false(vb_lock_is_held(&lock));
	assert_true(vb_lock_try(&lock));
	vb_lock_drop(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(try__not_what_is_held),
	    cmocka_unit_test(reserve__after_sleeping_in_vain),
	    cmocka_unit_test(drop__all_sleepers_have_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
