/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How slow a machine is said to be, by what calls take there: the linker leads the clock and the
 * descriptor that is tried to this file. node/host/pace.h
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/host/clock.h"
#include "node/host/pace.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The time that four pairs of calls take on the machines that times were chosen on. */
#define USUAL_NS 1600u
#define TRIES 8

static vb_time now;
static vb_dur takes[TRIES]; /* by try */
static uint32_t reads;
static bool has_none;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	assert_int_equal(id, CLOCK_MONOTONIC);
	*t = (struct timespec){(time_t)(now / VB_SEC), (long)(now % VB_SEC)};
	return 0;
}

int __wrap_eventfd(unsigned value, int flags)
{
	if (has_none) {
		errno = EMFILE;
		return -1;
	}
	return __real_eventfd(value, flags);
}

/* The calls of a try take their time with the first of them. */
ssize_t __wrap_read(int fd, void *to, size_t len)
{
	if (reads % 4 == 0)
		now += takes[reads / 4 % TRIES];
	reads++;
	return __real_read(fd, to, len);
}

/* The answer where the tries take @all, but for try @which, which takes @one. */
static uint32_t slowness_of(vb_dur all, uint32_t which, vb_dur one)
{
	uint32_t slow;

	for (uint32_t i = 0; i < TRIES; i++)
		takes[i] = i == which ? one : all;
	reads = 0;
	slow = vb_pace_slowness();
	assert_int_equal(reads, 4 * TRIES);
	return slow;
}

/* As many times as the calls take longer than usual, 1 to 32. */
static void slowness__by_what_calls_take(void **state)
{
	(void)state;
	assert_int_equal(slowness_of(0, 0, 0), 1);
	assert_int_equal(slowness_of(USUAL_NS, 0, USUAL_NS), 1);
	assert_int_equal(slowness_of(2 * USUAL_NS - 1, 0, 2 * USUAL_NS - 1), 1);
	assert_int_equal(slowness_of(2 * USUAL_NS, 0, 2 * USUAL_NS), 2);
	assert_int_equal(slowness_of(31 * USUAL_NS, 0, 31 * USUAL_NS), 31);
	assert_int_equal(slowness_of(32 * USUAL_NS, 0, 32 * USUAL_NS), 32);
	assert_int_equal(slowness_of(33 * USUAL_NS, 0, 33 * USUAL_NS), 32);
	assert_int_equal(slowness_of(VB_SEC, 0, VB_SEC), 32);
}

/* One try of eight that nothing interrupts is enough, whichever it is. */
static void slowness__by_the_quickest_try(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRIES; i++)
		assert_int_equal(slowness_of(100 * USUAL_NS, i, 3 * USUAL_NS), 3);
}

/* Where it cannot be tried the machine is taken for a usual one; nothing is left of a try. */
static void slowness__without_a_descriptor(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	(void)slowness_of(VB_MSEC, 0, VB_MSEC);
	has_none = true;
	assert_int_equal(vb_pace_slowness(), 1);
	has_none = false;
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slowness__by_what_calls_take),
	    cmocka_unit_test(slowness__by_the_quickest_try),
	    cmocka_unit_test(slowness__without_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
