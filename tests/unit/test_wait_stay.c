/* SPDX-License-Identifier: BSD-2-Clause */
/* Which stores to doorbells poll for an answer: by what programs have done. In virtual time. */
#include "cmocka_env.h"
#include "wait/stay.h"
#include "wait/tuned.h"

static struct vb_stay s;
static vb_time now;
static uint64_t seen;

static int setup(void **state)
{
	(void)state;
	s = (struct vb_stay){.seen = 0};
	now = VB_SEC;
	seen = 7;
	return 0;
}

/* Something comes, and the program stores after @later. */
static bool answer(vb_dur later)
{
	seen++;
	now += later;
	return vb_stay_begins(&s, true, seen, now, 1);
}

static void polled(bool found)
{
	now += VB_USEC;
	vb_stay_ended(&s, found, now);
}

static void become_trusted(void)
{
	for (int i = 1; i < VB_WAIT_STAY_ANSWERS_MIN; i++)
		assert_false(answer(VB_SEC));
}

static void answers__are_expected_after_so_many(void **state)
{
	(void)state;
	become_trusted();
	for (int i = 0; i < 100; i++) {
		assert_true(answer(VB_WAIT_STAY_PROMPT_NS - 1));
		polled(true);
	}
}

/* Work under way, or nothing that came: the program goes on by itself. */
static void streams__do_not_poll(void **state)
{
	(void)state;
	become_trusted();
	seen++;
	assert_false(vb_stay_begins(&s, false, seen, now, 1));
	become_trusted();
	assert_false(vb_stay_begins(&s, true, seen, now, 1));
	become_trusted();
	assert_true(answer(1));
}

/* Polls that find nothing become rare, and are as frequent as before once they are of use. */
static void polls_in_vain__are_fewer(void **state)
{
	uint32_t skipped;

	(void)state;
	become_trusted();
	assert_true(answer(1));
	for (uint32_t i = 0; i < VB_WAIT_STAY_SKIP_MAX + 3; i++) {
		uint32_t most = i < VB_WAIT_STAY_SKIP_MAX ? i : VB_WAIT_STAY_SKIP_MAX;

		polled(false);
		for (skipped = 0; !answer(1); skipped++)
			;
		assert_int_equal(skipped, 1u << most);
	}
	polled(true);
	assert_true(answer(1));
	polled(false);
	assert_false(answer(1));
	assert_true(answer(1));
}

/* A program that computes before it stores again has not waited. */
static void programs_that_compute__are_let_go(void **state)
{
	uint32_t polls = 0;

	(void)state;
	for (int i = 0; i < 3000; i++)
		if (answer(VB_WAIT_STAY_PROMPT_NS)) {
			polled(true);
			polls++;
		}
	assert_uint_in_range(polls, 2, 14);
	/* On a machine that is twice as slow it is prompt. */
	setup(state);
	become_trusted();
	for (int i = 0; i < 10; i++) {
		seen++;
		assert_true(vb_stay_begins(&s, true, seen, now, 2));
		vb_stay_ended(&s, true, now);
		now += 2 * VB_WAIT_STAY_PROMPT_NS - 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(answers__are_expected_after_so_many, setup),
	    cmocka_unit_test_setup(streams__do_not_poll, setup),
	    cmocka_unit_test_setup(polls_in_vain__are_fewer, setup),
	    cmocka_unit_test_setup(programs_that_compute__are_let_go, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
