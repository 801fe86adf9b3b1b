/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's side of the machine that says who waits where, in virtual time. */
#include "cmocka_env.h"
#include "wait/tuned.h"
#include "wait/wait.h"

#define ME 1
#define OTHER 2

static struct vb_wait w;
static vb_time now;

static int setup(void **state)
{
	(void)state;
	now = VB_SEC;
	vb_wait_init(&w, 1, false);
	w.wake_at = VB_NEVER;
	return 0;
}

/* Thread @self polls after @pause, and receives @cnt packets. True: the thread is kicked. */
static bool poll_after(vb_dur pause, uint64_t self, uint32_t cnt)
{
	uint32_t looks;

	now += pause;
	looks = vb_wait_poll(&w, self, now);
	return vb_wait_polled(&w, cnt, looks, now);
}

static void poll_steadily(void)
{
	for (int i = 0; i < VB_WAIT_POLLS_MIN + 1; i++)
		(void)poll_after(VB_USEC, ME, 0);
}

static void program__polls_when_it_does_so_often_and_soon(void **state)
{
	(void)state;
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_AWAY);
	(void)poll_after(VB_SEC, ME, 0);
	for (int i = 1; i < VB_WAIT_POLLS_MIN; i++)
		(void)poll_after(VB_WAIT_POLLS_GAP_NS - 1, ME, 0);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_AWAY);
	(void)poll_after(VB_WAIT_POLLS_GAP_NS - 1, ME, 0);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_POLLS);
	assert_int_equal(vb_wait_program(&w, now + VB_WAIT_POLLS_GAP_NS - 1), VB_PROGRAM_POLLS);
	assert_int_equal(vb_wait_program(&w, now + VB_WAIT_POLLS_GAP_NS), VB_PROGRAM_AWAY);
}

/* A program that was held up once still polls; one that is late again and again does not. */
static void program__one_long_pause_is_forgiven(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * VB_WAIT_POLLS_MAX; i++)
		(void)poll_after(VB_USEC, ME, 0);
	(void)poll_after(VB_MSEC, ME, 0);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_POLLS);
	(void)poll_after(VB_MSEC, ME, 0);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_AWAY);
}

/* On a machine that takes twice as long for everything, times are twice as long. */
static void program__times_follow_the_machine(void **state)
{
	(void)state;
	w.slow = 2;
	for (int i = 0; i < VB_WAIT_POLLS_MIN + 1; i++)
		(void)poll_after(2 * VB_WAIT_POLLS_GAP_NS - 1, ME, 0);
	assert_int_equal(vb_wait_program(&w, now + VB_WAIT_POLLS_GAP_NS), VB_PROGRAM_POLLS);
}

static void arm__stays_until_the_event(void **state)
{
	(void)state;
	vb_wait_arm(&w, true);
	(void)vb_wait_announce(&w);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_ARMED);
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, now));
	vb_wait_posted(&w, now);
	(void)poll_after(VB_USEC, ME, 1);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_ARMED);
	vb_wait_arm(&w, false);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_AWAY);
}

/* The thread that parked for a program that polled is on duty for one that arms a CQ, and is told
 * once. */
static void announce__kicks_a_parked_thread_once(void **state)
{
	(void)state;
	poll_steadily();
	assert_false(vb_wait_announce(&w));
	w.thread = VB_THREAD_PARKED;
	assert_true(vb_wait_announce(&w));
	assert_false(vb_wait_announce(&w));
	assert_true(w.handover);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_ARMED);
	(void)poll_after(VB_USEC, ME, 0);
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_AWAY); /* it polls anew */
}

static void sleep__one_thread_at_a_time(void **state)
{
	(void)state;
	assert_true(vb_wait_sleep(&w));
	assert_false(vb_wait_sleep(&w));
	assert_int_equal(vb_wait_program(&w, now), VB_PROGRAM_SLEEPS);
	assert_false(vb_wait_wake(&w)); /* it is awake */
	vb_wait_park(&w);
	assert_true(vb_wait_wake(&w));
	assert_false(vb_wait_wake(&w)); /* it was told */
	vb_wait_unpark(&w);
	assert_false(vb_wait_sleep_end(&w));
	assert_true(vb_wait_sleep(&w));
	w.thread = VB_THREAD_PARKED;
	assert_true(vb_wait_sleep_end(&w));
}

/* A program that takes packets before the thread does needs nobody to be woken beside it. */
static void polled__outruns_the_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * VB_WAIT_OUTRUN_MAX; i++)
		assert_false(poll_after(VB_USEC, ME, 1)); /* it does not yet poll steadily */
	poll_steadily();
	for (int i = 1; i < VB_WAIT_OUTRUN_MAX; i++)
		assert_false(poll_after(VB_USEC, ME, 1));
	assert_false(poll_after(VB_USEC, ME, 0));
	assert_true(poll_after(VB_USEC, ME, 1));
	assert_false(poll_after(VB_USEC, ME, 1)); /* it was kicked */
	w.kicked = false;
	w.thread = VB_THREAD_PARKED;
	assert_false(poll_after(VB_USEC, ME, 1));
}

/* A poll looks several times for a thread that does nothing else. */
static void poll__looks_more_often_for_who_only_polls(void **state)
{
	(void)state;
	assert_int_equal(vb_wait_poll(&w, ME, now), 1);
	(void)vb_wait_polled(&w, 0, 1, now);
	(void)poll_after(VB_USEC, ME, 0);
	assert_int_equal(vb_wait_poll(&w, ME, now), VB_WAIT_LOOKS);
	assert_int_equal(vb_wait_poll(&w, OTHER, now), 1);
	(void)poll_after(VB_USEC, OTHER, 0);
	(void)poll_after(VB_USEC, OTHER, 0);
	assert_int_equal(vb_wait_poll(&w, OTHER, now + VB_WAIT_IDLE_GAP_NS), 1);
	w.is_silent = true;
	w.idle_polls = VB_WAIT_IDLE_POLLS_MIN;
	assert_int_equal(vb_wait_poll(&w, OTHER, now), 1);
}

static void found_nothing__yields_after_a_while(void **state)
{
	(void)state;
	for (int i = 0; w.in_vain <= VB_WAIT_IN_VAIN_MAX; i++) {
		assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_RETURN);
		(void)poll_after(VB_USEC, ME, 0);
		assert_true(i < 1000);
	}
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_YIELD);
	vb_wait_found(&w);
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_RETURN);
	w.held_up = true;
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_YIELD);
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_RETURN); /* once for a full receiver */
}

static void yielded__for_how_long_the_machine_is_oversubscribed(void **state)
{
	(void)state;
	vb_wait_yielded(&w, now, now + VB_WAIT_OTHERS_RAN_NS - 1);
	assert_false(vb_wait_is_oversubscribed(&w, now));
	for (vb_dur d = VB_WAIT_OVERSUBSCRIBED_MIN_NS; d <= VB_WAIT_OVERSUBSCRIBED_MAX_NS; d *= 2) {
		now += VB_WAIT_OTHERS_RAN_NS;
		vb_wait_yielded(&w, now - VB_WAIT_OTHERS_RAN_NS, now);
		assert_int_equal(w.oversubscribed_until, now + d);
	}
	vb_wait_yielded(&w, now, now + VB_WAIT_OTHERS_RAN_NS);
	now += VB_WAIT_OTHERS_RAN_NS + VB_WAIT_OVERSUBSCRIBED_MAX_NS; /* and no longer */
	assert_int_equal(w.oversubscribed_until, now);
	now += VB_WAIT_OVERSUBSCRIBED_POLLS_NS;
	assert_true(vb_wait_is_oversubscribed(&w, now - 1));
	assert_false(vb_wait_is_oversubscribed(&w, now));
	w.is_silent = true;
	vb_wait_yielded(&w, now, now + VB_SEC);
	assert_false(vb_wait_is_oversubscribed(&w, now));
}

/* On an oversubscribed machine a program that does nothing but poll naps, until it is time to ask
 * again; and it may not have polled for a while. */
static void found_nothing__naps_where_it_is_oversubscribed(void **state)
{
	struct vb_wait_work work = {.timer = VB_NEVER, .other = VB_NEVER};

	(void)state;
	vb_wait_yielded(&w, now - VB_MSEC, now);
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_RETURN);
	for (int i = 0; i < VB_WAIT_IDLE_POLLS_MIN + 1; i++)
		(void)poll_after(VB_USEC, ME, 0);
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_NAP);
	assert_int_equal(vb_wait_program(&w, now + VB_WAIT_OVERSUBSCRIBED_POLLS_NS - 1),
			 VB_PROGRAM_POLLS);
	assert_int_equal(vb_wait_idle_until(&w, &work, now), now + VB_WAIT_IDLE_NAP_NS);
	work.timer = now;
	assert_int_equal(vb_wait_idle_until(&w, &work, now), now + VB_WAIT_LEEWAY_NS);
	work.other = now + 1;
	assert_int_equal(vb_wait_idle_until(&w, &work, now), now + 1);
	w.slow = 100;
	work = (struct vb_wait_work){.timer = VB_NEVER, .other = VB_NEVER};
	assert_int_equal(vb_wait_idle_until(&w, &work, now),
			 now + VB_WAIT_OVERSUBSCRIBED_POLLS_NS / 2);
	w.slow = 1;
	vb_wait_idled(&w, w.oversubscribed_until);
	assert_int_equal(vb_wait_found_nothing(&w), VB_IDLE_YIELD);
	assert_true(vb_wait_sleep(&w)); /* another way to wait: the question is forgotten */
	assert_int_equal(w.oversubscribed_until, 0);
}

int main(void)
{
#define WAIT_TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
	    WAIT_TEST(program__polls_when_it_does_so_often_and_soon),
	    WAIT_TEST(program__one_long_pause_is_forgiven),
	    WAIT_TEST(program__times_follow_the_machine),
	    WAIT_TEST(arm__stays_until_the_event),
	    WAIT_TEST(announce__kicks_a_parked_thread_once),
	    WAIT_TEST(sleep__one_thread_at_a_time),
	    WAIT_TEST(polled__outruns_the_thread),
	    WAIT_TEST(poll__looks_more_often_for_who_only_polls),
	    WAIT_TEST(found_nothing__yields_after_a_while),
	    WAIT_TEST(yielded__for_how_long_the_machine_is_oversubscribed),
	    WAIT_TEST(found_nothing__naps_where_it_is_oversubscribed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
