/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that waits for company: requests, and an acknowledgement for a reply. In virtual time. */
#include "cmocka_env.h"
#include "wait/tuned.h"
#include "wait/wait.h"

#define ME 1

static struct vb_wait w;
static vb_time now;

static int setup(void **state)
{
	(void)state;
	now = VB_SEC;
	vb_wait_init(&w, 1, false);
	return 0;
}

static void doorbell__leaves_at_once_where_nothing_is_in_flight(void **state)
{
	(void)state;
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, now));
	vb_wait_sent(&w);
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	assert_int_equal(w.held, VB_HELD_REQUESTS);
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, now));
}

static void doorbell__holds_so_many_for_so_long(void **state)
{
	(void)state;
	for (int i = 1; i < VB_WAIT_HELD_REQUESTS_MAX; i++)
		assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	vb_wait_sent(&w);
	assert_int_equal(w.held, VB_HELD_NOTHING);
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now + VB_WAIT_HELD_POST_NS - 1));
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now + VB_WAIT_HELD_POST_NS));
}

static void doorbell__of_a_burst_without_acknowledgements(void **state)
{
	(void)state;
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_UNKNOWN, ME, now));
	vb_wait_sent(&w);
	vb_wait_posted(&w, now);
	now += VB_WAIT_BURST_GAP_NS;
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_UNKNOWN, ME, now - 1));
	vb_wait_sent(&w);
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_UNKNOWN, ME, now));
}

/* A program that comes back in time is trusted to do so again. */
static void judge__trust_grows_and_goes_at_once(void **state)
{
	(void)state;
	vb_wait_judge(&w, now);
	assert_int_equal(w.trust, 0); /* nothing was held */
	for (int i = 0; i < VB_WAIT_TRUST_MIN + 5; i++) {
		assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
		now += VB_WAIT_HELD_MAX_NS;
		(void)vb_wait_poll(&w, ME, now);
		vb_wait_sent(&w);
	}
	assert_int_equal(w.trust, VB_WAIT_TRUST_MIN);
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	(void)vb_wait_poll(&w, ME, now + VB_WAIT_HELD_MAX_NS + 1);
	assert_int_equal(w.trust, 0);
}

/* Posts a list of @cnt on an idle connection, then polls. Returns how many doorbells sent. */
static int post_list(int cnt)
{
	int sent = 0;

	for (int i = 0; i < cnt; i++, now += VB_WAIT_BURST_GAP_NS / 2) {
		if (vb_wait_doorbell(&w, sent ? VB_FLIGHT_SOME : VB_FLIGHT_NONE, ME, now)) {
			vb_wait_sent(&w);
			sent++;
		}
		vb_wait_posted(&w, now);
	}
	now += 1;
	(void)vb_wait_poll(&w, ME, now);
	vb_wait_sent(&w);
	now += 10 * VB_USEC;
	return sent;
}

static void list__holds_its_first_request_once_lists_are_usual(void **state)
{
	(void)state;
	for (int i = 0; i < VB_WAIT_TRUST_MIN; i++)
		assert_int_equal(post_list(3), 1);
	assert_int_equal(w.list_score, VB_WAIT_LIST_SCORE_MIN);
	assert_int_equal(post_list(3), 0);
	assert_int_equal(post_list(2), 0);
	/* One request alone was held in vain, until the poll: the next ones leave at once. */
	assert_int_equal(post_list(1), 0);
	assert_int_equal(w.list_score, 0);
	for (int i = 0; i < VB_WAIT_LIST_SCORE_MIN; i++)
		assert_int_equal(post_list(3), 1);
	assert_int_equal(post_list(3), 0);
}

static void list__is_not_waited_for_without_trust_or_on_a_silent_link(void **state)
{
	(void)state;
	for (int i = 0; i < VB_WAIT_TRUST_MIN; i++)
		assert_int_equal(post_list(3), 1);
	w.is_silent = true;
	assert_int_equal(post_list(3), 1);
	w.is_silent = false;
	assert_int_equal(post_list(3), 0);
	/* The program went away with a held request. */
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now));
	now += VB_WAIT_HELD_MAX_NS + 1;
	(void)vb_wait_poll(&w, ME, now);
	vb_wait_sent(&w);
	assert_int_equal(w.list_score, VB_WAIT_LIST_SCORE_MIN);
	assert_int_equal(post_list(3), 1);
}

/* Requests that come now and then are no list, though nobody polls between them. */
static void list__is_what_follows_soon(void **state)
{
	(void)state;
	for (int i = 0; i < VB_WAIT_TRUST_MIN; i++)
		assert_int_equal(post_list(3), 1);
	for (int i = 0; i < 2; i++) {
		bool sends = vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, now);

		assert_int_equal(sends, i == 1);
		vb_wait_posted(&w, now);
		now += VB_WAIT_BURST_GAP_NS;
	}
	assert_int_equal(w.list_score, 0);
	vb_wait_sent(&w);
	/* A poll ends a list, however soon the next one begins. */
	assert_int_equal(post_list(1), 1);
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, w.doorbell_at));
	assert_int_equal(w.list_score, 0);
}

/* An answer leaves alone, and a reply follows so soon. */
static void answer_and_reply(vb_dur after)
{
	assert_false(vb_wait_holds(&w, true, now));
	vb_wait_sent(&w);
	vb_wait_unreplied(&w, false, now);
	now += after;
	assert_true(vb_wait_doorbell(&w, VB_FLIGHT_NONE, ME, now));
	vb_wait_sent(&w);
}

static void holds__an_answer_once_replies_are_prompt(void **state)
{
	(void)state;
	for (int i = 0; i < VB_WAIT_REPLY_SCORE_MIN; i++)
		answer_and_reply(VB_WAIT_REPLY_PROMPT_NS - 1);
	assert_false(vb_wait_holds(&w, false, now)); /* nothing was received: it is no answer */
	assert_true(vb_wait_holds(&w, true, now));
	assert_int_equal(w.held, VB_HELD_ANSWER);
	assert_true(vb_wait_holds(&w, true, now + VB_WAIT_REPLY_HOLD_NS - 1));
	assert_false(vb_wait_holds(&w, false, now + VB_WAIT_REPLY_HOLD_NS));
	/* It left without: half of the trust is gone, and the next one is not held. */
	vb_wait_sent(&w);
	vb_wait_unreplied(&w, true, now);
	assert_false(vb_wait_holds(&w, true, now));
}

static void holds__not_after_replies_that_were_late(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * VB_WAIT_REPLY_SCORE_MIN; i++)
		answer_and_reply(VB_WAIT_REPLY_PROMPT_NS);
	assert_false(vb_wait_holds(&w, true, now));
}

/* The reply that an answer was held for travels with it, and the next answer is held again. */
static void holds__and_the_reply_takes_it_along(void **state)
{
	(void)state;
	w.reply_score = VB_WAIT_REPLY_SCORE_MIN;
	assert_true(vb_wait_holds(&w, true, now));
	assert_false(vb_wait_doorbell(&w, VB_FLIGHT_SOME, ME, now + 1));
	assert_int_equal(w.held, VB_HELD_REQUESTS);
	assert_false(vb_wait_holds(&w, true, now + 2));
	vb_wait_sent(&w);
	assert_true(vb_wait_holds(&w, true, now + 3));
}

int main(void)
{
#define WAIT_TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
	    WAIT_TEST(doorbell__leaves_at_once_where_nothing_is_in_flight),
	    WAIT_TEST(doorbell__holds_so_many_for_so_long),
	    WAIT_TEST(doorbell__of_a_burst_without_acknowledgements),
	    WAIT_TEST(list__holds_its_first_request_once_lists_are_usual),
	    WAIT_TEST(list__is_not_waited_for_without_trust_or_on_a_silent_link),
	    WAIT_TEST(list__is_what_follows_soon),
	    WAIT_TEST(judge__trust_grows_and_goes_at_once),
	    WAIT_TEST(holds__an_answer_once_replies_are_prompt),
	    WAIT_TEST(holds__not_after_replies_that_were_late),
	    WAIT_TEST(holds__and_the_reply_takes_it_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
