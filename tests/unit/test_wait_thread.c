/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread's side of the machine that says who waits where, in virtual time. */
#include "cmocka_env.h"
#include "wait/tuned.h"
#include "wait/wait.h"

#define ME 1

static struct vb_wait w;
static struct vb_wait_work nothing;
static vb_time now;

static int setup(void **state)
{
	(void)state;
	now = 100 * VB_SEC;
	vb_wait_init(&w, 1, false);
	w.progress_at = now - VB_SEC;
	nothing = (struct vb_wait_work){.timer = VB_NEVER, .other = VB_NEVER};
	return 0;
}

static void poll_once(uint32_t cnt)
{
	now += VB_USEC;
	(void)vb_wait_polled(&w, cnt, vb_wait_poll(&w, ME, now), now);
}

static void poll_steadily(void)
{
	for (int i = 0; i < VB_WAIT_POLLS_MIN + 1; i++)
		poll_once(0);
}

static void due__what_is_held_and_what_is_not(void **state)
{
	struct vb_wait_work work = {.timer = now + 100, .other = now + 300};

	(void)state;
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now + 100);
	assert_int_equal(vb_wait_due(&w, &work, now, 500), now + 300);
	work.has_transmit = true;
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now);
	work.is_full = true; /* nothing leaves before the link takes more */
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now + 100);
	work = nothing;
	work.has_transmit = true;
	w.held_since = now;
	w.held = VB_HELD_ANSWER;
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now + VB_WAIT_REPLY_HOLD_NS);
	work.timer = now - 1; /* nobody fires it before the answer has left */
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now + VB_WAIT_REPLY_HOLD_NS);
	work.timer = VB_NEVER;
	w.held = VB_HELD_REQUESTS;
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now + VB_WAIT_HELD_MAX_NS);
	work.timer = now - 1;
	assert_int_equal(vb_wait_due(&w, &work, now, 0), now - 1);
}

/* How long the thread sleeps, by how long ago the program was active. */
static void plan__wakes_often_while_the_program_is_active(void **state)
{
	(void)state;
	w.progress_at = now - VB_WAIT_NAP_MAX_NS + 1;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + VB_WAIT_NAP_MAX_NS);
	w.progress_at = now - VB_WAIT_NAP_MAX_NS;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + VB_WAIT_WATCH_NS);
	w.progress_at = now - VB_WAIT_ACTIVE_NS;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, VB_NEVER);
	nothing.timer = now + VB_SEC;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + VB_WAIT_TICK_NS);
	vb_wait_plan(&w, &nothing, now, now + 5);
	assert_int_equal(w.wake_at, now + 5);
	w.thread = VB_THREAD_PARKED;
	vb_wait_plan(&w, &nothing, now, now + 5);
	assert_int_equal(w.wake_at, VB_NEVER); /* naps end by themselves */
}

/* Timers may be late while the program polls or a sleeper sees to them, and not after it has said
 * that it stops. */
static void plan__leeway_of_timers(void **state)
{
	(void)state;
	nothing.timer = now + 1;
	w.progress_at = now;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + 1 + VB_WAIT_LEEWAY_NS);
	(void)vb_wait_announce(&w);
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + 1);
	w.announced = false;
	w.progress_at = now - VB_SEC;
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + 1);
	assert_true(vb_wait_sleep(&w));
	vb_wait_plan(&w, &nothing, now, VB_NEVER);
	assert_int_equal(w.wake_at, now + 1 + VB_WAIT_LEEWAY_NS);
}

/* A packet that a program takes that polls: the thread parks when that has happened twice. */
static void woke__parks_after_being_outrun(void **state)
{
	(void)state;
	poll_steadily();
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	vb_wait_stepped(&w, true, true, now);
	assert_int_equal(w.thread, VB_THREAD_ON_DUTY);
	poll_once(0);
	assert_false(vb_wait_woke(&w, &nothing, true, now));
	assert_int_equal(w.thread, VB_THREAD_PARKED);
	/* It stays there while the program polls... */
	assert_false(vb_wait_woke(&w, &nothing, false, now));
	assert_int_equal(w.thread, VB_THREAD_PARKED);
	/* ... and comes back when that does not. */
	now += VB_WAIT_POLLS_GAP_NS;
	assert_false(vb_wait_woke(&w, &nothing, false, now));
	assert_int_equal(w.thread, VB_THREAD_ON_DUTY);
	assert_int_equal(w.outrun, 0);
}

static void woke__a_packet_for_a_program_that_is_away_counts_anew(void **state)
{
	(void)state;
	poll_steadily();
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	vb_wait_stepped(&w, true, true, now);
	now += VB_MSEC;
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	assert_int_equal(w.outrun, 0);
}

/* However long it took to get there, the program has been faster. */
static void stepped__in_vain_is_outrun_too(void **state)
{
	(void)state;
	poll_steadily();
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	vb_wait_stepped(&w, true, false, now);
	assert_int_equal(w.thread, VB_THREAD_PARKED);
}

/* It is on duty for a program that has armed a CQ, whatever it did before. */
static void woke__stays_on_duty_after_arming(void **state)
{
	(void)state;
	poll_steadily();
	w.thread = VB_THREAD_PARKED;
	assert_true(vb_wait_announce(&w));
	assert_true(vb_wait_woke(&w, &nothing, false, now)); /* and looks at once */
	vb_wait_stepped(&w, false, false, now);
	assert_int_equal(w.thread, VB_THREAD_ON_DUTY);
	assert_false(w.handover);
	assert_false(vb_wait_woke(&w, &nothing, false, now)); /* a kick for nothing */
}

static void woke__parks_where_the_machine_is_oversubscribed(void **state)
{
	(void)state;
	poll_once(0);
	vb_wait_yielded(&w, now - VB_MSEC, now);
	assert_false(vb_wait_woke(&w, &nothing, true, now));
	assert_int_equal(w.thread, VB_THREAD_PARKED);
}

/* A request that the program does not come back for: its trust is gone. */
static void woke__sends_what_was_left(void **state)
{
	(void)state;
	w.trust = 3;
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	nothing.has_transmit = true;
	assert_false(vb_wait_woke(&w, &nothing, false, now));
	assert_int_equal(w.trust, 3);
	now += VB_WAIT_HELD_MAX_NS;
	assert_true(vb_wait_woke(&w, &nothing, false, now));
	assert_int_equal(w.trust, 0);
}

static void kicks__what_comes_before_the_thread_wakes(void **state)
{
	(void)state;
	w.wake_at = now + VB_MSEC;
	nothing.other = now + VB_MSEC;
	assert_false(vb_wait_kicks(&w, &nothing, now));
	nothing.other--;
	assert_true(vb_wait_kicks(&w, &nothing, now));
	assert_false(vb_wait_kicks(&w, &nothing, now)); /* it comes already */
}

/* A parked thread is kicked for requests alone that nobody may come back for. */
static void kicks__a_parked_thread_for_requests(void **state)
{
	(void)state;
	w.thread = VB_THREAD_PARKED;
	w.wake_at = VB_NEVER;
	nothing.timer = now;
	assert_false(vb_wait_kicks(&w, &nothing, now));
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	nothing.has_transmit = true;
	w.trust = VB_WAIT_TRUST_MIN;
	assert_false(vb_wait_kicks(&w, &nothing, now));
	w.trust = VB_WAIT_TRUST_MIN - 1;
	vb_wait_yielded(&w, now - VB_MSEC, now);
	assert_false(vb_wait_kicks(&w, &nothing, now));
	w.oversubscribed_until = 0;
	assert_true(vb_wait_kicks(&w, &nothing, now));
}

/* An acknowledgement that waits for a reply may be late for once: nobody is woken for it. */
static void kicks__nobody_for_an_answer_that_is_held(void **state)
{
	(void)state;
	w.wake_at = now + VB_WAIT_NAP_MAX_NS;
	w.held = VB_HELD_ANSWER;
	w.held_since = now;
	nothing.has_transmit = true;
	assert_false(vb_wait_kicks(&w, &nothing, now));
	w.wake_at++;
	assert_true(vb_wait_kicks(&w, &nothing, now));
}

/* Of a stream to a program that is passive the thread looks for the next packet, unless that has
 * been in vain. */
static void looks_on__while_packets_follow(void **state)
{
	(void)state;
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	vb_wait_stepped(&w, true, true, now);
	assert_int_equal(w.thread, VB_THREAD_LOOKS_ON);
	assert_true(vb_wait_looks_on(&w));
	assert_int_equal(w.thread, VB_THREAD_ON_DUTY);
	assert_false(vb_wait_looks_on(&w));
	for (uint32_t skip = 1; skip <= 1u << VB_WAIT_LOOK_ON_SKIP_MAX; skip *= 2) {
		vb_wait_looked_on(&w, false);
		for (uint32_t i = 0; i < skip; i++) {
			w.thread = VB_THREAD_LOOKS_ON;
			assert_false(vb_wait_looks_on(&w));
		}
		w.thread = VB_THREAD_LOOKS_ON;
		assert_true(vb_wait_looks_on(&w));
	}
	vb_wait_looked_on(&w, false);
	assert_int_equal(w.look_on_skip, 1u << VB_WAIT_LOOK_ON_SKIP_MAX);
	vb_wait_looked_on(&w, true);
	assert_int_equal(w.look_on_in_vain, 0);
}

/* Not for one that was active a moment ago. */
static void looks_on__for_a_passive_program_alone(void **state)
{
	(void)state;
	w.progress_at = now - VB_WAIT_PASSIVE_NS;
	assert_true(vb_wait_woke(&w, &nothing, true, now));
	vb_wait_stepped(&w, true, true, now);
	assert_int_equal(w.thread, VB_THREAD_ON_DUTY);
}

static void nap__doubles_while_the_program_polls(void **state)
{
	struct vb_nap nap;

	(void)state;
	poll_steadily();
	vb_nap_begin(&nap, &w, now);
	for (vb_dur d = VB_WAIT_NAP_MIN_NS; d < VB_WAIT_NAP_MAX_NS; d *= 2) {
		assert_int_equal(nap.length, d);
		poll_once(0);
		assert_true(vb_nap_goes_on(&nap, vb_wait_glance(&w), false));
	}
	assert_int_equal(nap.length, VB_WAIT_NAP_MAX_NS);
	assert_false(vb_nap_goes_on(&nap, vb_wait_glance(&w), false)); /* it has not polled */
	poll_once(0);
	w.polls = VB_WAIT_POLLS_MIN - 1;
	assert_false(vb_nap_goes_on(&nap, vb_wait_glance(&w), false)); /* ... not steadily */
}

/* A program in a call that takes long: the lock is held, and nothing else is seen of it. */
static void nap__goes_on_while_a_call_takes_long(void **state)
{
	struct vb_nap nap;

	(void)state;
	poll_steadily();
	vb_nap_begin(&nap, &w, now);
	for (int i = 0; i < VB_WAIT_BUSY_MAX; i++)
		assert_true(vb_nap_goes_on(&nap, vb_wait_glance(&w), true));
	assert_false(vb_nap_goes_on(&nap, vb_wait_glance(&w), true));
}

/* While a CQ is armed naps are short: the event shall not be late. */
static void nap__is_short_while_a_cq_is_armed(void **state)
{
	struct vb_nap nap;

	(void)state;
	vb_wait_arm(&w, true);
	poll_steadily();
	vb_nap_begin(&nap, &w, now);
	poll_once(0);
	assert_true(vb_nap_goes_on(&nap, vb_wait_glance(&w), false));
	assert_int_equal(nap.length, VB_WAIT_NAP_MIN_NS);
}

/* On an oversubscribed machine one nap, until a poll would be overdue. */
static void nap__once_where_the_machine_is_oversubscribed(void **state)
{
	struct vb_nap nap;

	(void)state;
	poll_steadily();
	vb_wait_yielded(&w, now - VB_MSEC, now);
	vb_nap_begin(&nap, &w, now + 1000);
	assert_int_equal(nap.length, VB_WAIT_OVERSUBSCRIBED_POLLS_NS - 1000);
	poll_once(0);
	assert_false(vb_nap_goes_on(&nap, vb_wait_glance(&w), false));
}

int main(void)
{
#define WAIT_TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
	    WAIT_TEST(due__what_is_held_and_what_is_not),
	    WAIT_TEST(plan__wakes_often_while_the_program_is_active),
	    WAIT_TEST(plan__leeway_of_timers),
	    WAIT_TEST(woke__parks_after_being_outrun),
	    WAIT_TEST(woke__a_packet_for_a_program_that_is_away_counts_anew),
	    WAIT_TEST(stepped__in_vain_is_outrun_too),
	    WAIT_TEST(woke__stays_on_duty_after_arming),
	    WAIT_TEST(woke__parks_where_the_machine_is_oversubscribed),
	    WAIT_TEST(woke__sends_what_was_left),
	    WAIT_TEST(kicks__what_comes_before_the_thread_wakes),
	    WAIT_TEST(kicks__a_parked_thread_for_requests),
	    WAIT_TEST(kicks__nobody_for_an_answer_that_is_held),
	    WAIT_TEST(looks_on__while_packets_follow),
	    WAIT_TEST(looks_on__for_a_passive_program_alone),
	    WAIT_TEST(nap__doubles_while_the_program_polls),
	    WAIT_TEST(nap__goes_on_while_a_call_takes_long),
	    WAIT_TEST(nap__is_short_while_a_cq_is_armed),
	    WAIT_TEST(nap__once_where_the_machine_is_oversubscribed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
