/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet memory of a switch alone: what a reserve is for, thresholds, headroom. D-02 */
#include "cmocka_env.h"
#include "fabric/buffer.h"

#define LOSSLESS 3
#define LOSSY 0

static struct vb_buffer buffer_new(void)
{
	return (struct vb_buffer){
	    .cfg = {.reserve_bytes = 1000, .lossless = 1 << LOSSLESS, .xoff_bytes = 3000},
	    .shared_total = 4000};
}

/* A reserve is its owner's, however full the shared part is. */
static void take__from_the_reserve_of_a_full_memory(void **state)
{
	struct vb_buffer b = buffer_new();
	struct vb_buffer_account full = {0}, other = {0};
	bool in_headroom;

	(void)state;
	assert_true(vb_buffer_take(&b, &full, LOSSY, 0, 5000, &in_headroom));
	assert_int_equal(b.shared_used, 4000);
	assert_false(vb_buffer_take(&b, &full, LOSSY, 0, 1, &in_headroom));
	/* The other account has its reserve, and not a byte more. */
	assert_true(vb_buffer_take(&b, &other, LOSSY, 0, 600, &in_headroom));
	assert_true(vb_buffer_take(&b, &other, LOSSY, 0, 400, &in_headroom));
	assert_false(in_headroom);
	assert_false(vb_buffer_take(&b, &other, LOSSY, 0, 1, &in_headroom));
	assert_int_equal(b.shared_used, 4000);
	assert_int_equal(b.used, 6000);
	vb_buffer_give(&b, &other, 400, false);
	vb_buffer_give(&b, &full, 5000, false);
	assert_int_equal(b.shared_used, 0);
	assert_int_equal(b.used, 600);
	assert_int_equal(b.used_max, 6000);
}

/* A lossless priority is paused at its threshold, lives on headroom beyond it, and is resumed when
 * the headroom is free and what it has is below the threshold by the gap. */
static void headroom__is_used_behind_the_threshold(void **state)
{
	struct vb_buffer b = buffer_new();
	struct vb_buffer_account a = {0};
	bool in_headroom;

	(void)state;
	b.cfg.xon_gap_bytes = 500;
	assert_true(vb_buffer_take(&b, &a, LOSSLESS, 800, 3999, &in_headroom));
	assert_false(in_headroom);
	assert_false(vb_buffer_wants_pause(&b, &a));
	assert_true(vb_buffer_take(&b, &a, LOSSLESS, 800, 1, &in_headroom));
	assert_true(vb_buffer_wants_pause(&b, &a));
	a.paused = true;
	assert_false(vb_buffer_wants_pause(&b, &a));
	assert_true(vb_buffer_take(&b, &a, LOSSLESS, 800, 800, &in_headroom));
	assert_true(in_headroom);
	assert_false(vb_buffer_take(&b, &a, LOSSLESS, 800, 1, &in_headroom));
	vb_buffer_give(&b, &a, 4000, false);
	assert_false(vb_buffer_wants_resume(&b, &a)); /* the headroom is in use */
	vb_buffer_give(&b, &a, 800, true);
	assert_true(vb_buffer_wants_resume(&b, &a));
	a.shared = 2501;
	assert_false(vb_buffer_wants_resume(&b, &a));
	a.shared = 2500;
	assert_true(vb_buffer_wants_resume(&b, &a));
}

/* Everything on the cable, both ways; the frame that the pause waits for, the frame that the sender
 * has begun, and one by which the account may exceed the threshold; and the pause. 802.1Qbb O */
static void headroom__by_formula(void **state)
{
	(void)state;
	/* 100 Gb/s and 1 us: 2 * 12500 bytes on the cable. */
	assert_int_equal(vb_pfc_headroom(UINT64_C(100000000000), VB_USEC, 1500),
			 25000 + 3 * (1500 + 20) + 84);
	assert_int_equal(vb_pfc_headroom(UINT64_C(10000000000), 0, 4200), 3 * (4200 + 20) + 84);
	/* A byte that is on it in part is there. */
	assert_int_equal(vb_pfc_headroom(UINT64_C(1000000000), 3, 64), 1 + 3 * (64 + 20) + 84);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take__from_the_reserve_of_a_full_memory),
	    cmocka_unit_test(headroom__is_used_behind_the_threshold),
	    cmocka_unit_test(headroom__by_formula),
	};

	return cmocka_run_group_tests_name("fabric_buffer", tests, NULL, NULL);
}
