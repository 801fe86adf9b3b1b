/* SPDX-License-Identifier: BSD-2-Clause */
/* The interrupt of CNPs: everybody who waits for it wakes. futex(2) */
#include "cmocka_env.h"
#include "node/shared/shm.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 3
#define PATIENCE_S 20

static struct vb_cnp_bell bell;
static struct waiter {
	pthread_t thread;
	pid_t tid; /* 0: it does not run yet */
} waiters[WAITERS];

static void *wait_for_bell(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (__atomic_load_n(&bell.cnt, __ATOMIC_ACQUIRE) == 0)
		(void)syscall(SYS_futex, &bell.cnt, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

/* True once thread @tid of this process sleeps. proc_pid_stat(5) */
static bool is_asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

static void ring__all_who_wait_wake(void **state)
{
	struct timespec end;

	(void)state;
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(
		    pthread_create(&waiters[i].thread, NULL, wait_for_bell, &waiters[i]), 0);
	for (int i = 0; i < WAITERS; i++)
		while (!is_asleep(__atomic_load_n(&waiters[i].tid, __ATOMIC_ACQUIRE)))
			(void)sched_yield();
	vb_cnp_ring(&bell, 0x1234);
	assert_int_equal(bell.cnt, 1);
	assert_int_equal(bell.qpn, 0x1234);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_timedjoin_np(waiters[i].thread, NULL, &end), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ring__all_who_wait_wake)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
