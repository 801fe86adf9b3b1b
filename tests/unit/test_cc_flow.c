/* SPDX-License-Identifier: BSD-2-Clause */
/* How flows begin at the reaction point: the first CNP, and the rate after a time without packets.
 */
#include "cc_env.h"

#include <math.h>

/* CC-24, facts C.3: while the rate is at its maximum nothing decays, so the first CNP leaves half
 * of 40 Gb/s whenever it comes, and so does the first one after the rate has come back. */
static void alpha__first_cnp(void **state)
{
	static const vb_dur after[] = {0, 100 * VB_USEC, 10 * VB_MSEC, 60 * VB_MSEC, 10 * VB_SEC};
	struct vb_cc_settings s;

	(void)state;
	vb_cc_settings_paper(&s, UINT64_C(40000000000));
	for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
		struct vb_cc cc = {0};
		vb_time now = after[i];

		s.alpha_mode = VB_CC_ALPHA_ACTIVE;
		vb_cc_reset(&cc, &s, 0);
		vb_cc_on_cnp(&cc, &s, now);
		assert_int_equal(vb_cc_current_rate(&cc), 10250);
		/* While the rate is below the maximum, alpha decays. */
		assert_int_equal(cc.alpha_at, now + 55 * VB_USEC);
		vb_cc_on_time(&cc, &s, now + 500 * VB_USEC);
		assert_true(vb_cc_current_rate(&cc) < 20480 && vb_cc_alpha(&cc) < 1000);
		now += VB_SEC;
		vb_cc_on_time(&cc, &s, now);
		assert_int_equal(vb_cc_current_rate(&cc), 20480);
		assert_int_equal(vb_cc_alpha(&cc), 1023);
		vb_cc_on_cnp(&cc, &s, now + after[i]);
		assert_int_equal(vb_cc_current_rate(&cc), 10250);

		s.alpha_mode = VB_CC_ALPHA_ALWAYS;
		vb_cc_reset(&cc, &s, 0);
		vb_cc_on_cnp(&cc, &s, after[i]);

		/* The part of alpha that is left after so many periods of 55 us. */
		uint64_t periods = after[i] / (55 * VB_USEC);
		double alpha = 1023 * pow(1020.0 / 1024, (double)periods);

		assert_true(fabs(vb_cc_current_rate(&cc) - 20480 * (1 - alpha / 2048)) <= 12);
	}
}

/* CC-41: the value that software wrote to ALPHA_MEM is the alpha of first CNPs. */
static void alpha__first_is_as_written(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_max_rate = 51200;
	s.dcqcn_nocnp_timer_th = 55;
	s.dcqcn_alpha_timer_th = 55;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_alpha(&cc, &s, 512, VB_MSEC);
	for (vb_time now = VB_SEC; now <= 3 * VB_SEC; now += VB_SEC) {
		vb_cc_on_cnp(&cc, &s, now);
		assert_int_equal(vb_cc_current_rate(&cc), 38400);
	}
	/* Rates that software writes begin and end the reaction as CNPs and increases do. */
	vb_cc_set_current(&cc, &s, 51200, 0, 4 * VB_SEC);
	assert_int_equal(cc.alpha_at, VB_NEVER);
	vb_cc_set_current(&cc, &s, 51000, 0, 4 * VB_SEC);
	assert_int_equal(cc.alpha_at, 4 * VB_SEC + 55 * VB_USEC);
}

/* Periodic cuts: alpha waits for the cut, not only for the CNP. */
static void alpha__first_cnp_of_periodic_cuts(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_alpha = 512;
	s.initial_rate = s.dcqcn_max_rate = 40960;
	s.dcqcn_alpha_timer_th = 1;
	s.dcqcn_rx_cnp_merge_period = 50;
	s.cut_mode = VB_CC_CUT_PERIODIC;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 101 * VB_USEC);
	vb_cc_on_time(&cc, &s, 150 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	assert_int_equal(cc.alpha_at, 151 * VB_USEC);
}

/* A flow that begins after inactivity_th without a packet starts over; one that only waited for the
 * limiter, or for less, goes on, and so does what software has set. */
static void flow__starts_over_after_inactivity(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.hw_rate_throttle_en = s.speed_limiter_en = true;
	s.dcqcn_nocnp_timer_th = 55;
	s.dcqcn_alpha_timer_th = 55;
	s.dcqcn_rate_ai_q8 = 256;
	s.inactivity_th = 1000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	for (int i = 0; i < 9; i++)
		vb_cc_on_cnp(&cc, &s, 10 * VB_USEC);
	assert_true(vb_cc_current_rate(&cc) < 200);
	vb_cc_on_flow(&cc, &s, 900 * VB_USEC);
	assert_true(vb_cc_current_rate(&cc) < 300);
	/* 64 KB at 150 units are 1.7 ms. */
	vb_cc_on_sent(&cc, &s, 65536, 900 * VB_USEC);
	vb_cc_on_flow(&cc, &s, 2500 * VB_USEC);
	assert_true(vb_cc_current_rate(&cc) < 300);
	vb_cc_on_flow(&cc, &s, 5 * VB_MSEC);
	assert_int_equal(vb_cc_current_rate(&cc), 60000);
	assert_int_equal(vb_cc_target_rate(&cc), 60000);
	assert_int_equal(cc.cc_rate, 60000);
	assert_int_equal(vb_cc_alpha(&cc), 1023);
	assert_int_equal(cc.nocnp_at, VB_NEVER);
	assert_true(!cc.t && !cc.bc && !cc.byte_cnt);
	vb_cc_on_sent(&cc, &s, 1000, 5 * VB_MSEC);
	vb_cc_set_current(&cc, &s, 777, 0, 5 * VB_MSEC);
	vb_cc_on_flow(&cc, &s, 7 * VB_MSEC);
	assert_int_equal(vb_cc_current_rate(&cc), 777);
	s.inactivity_th = 0;
	vb_cc_on_sent(&cc, &s, 1000, 7 * VB_MSEC);
	vb_cc_on_flow(&cc, &s, 17 * VB_MSEC);
	assert_true(vb_cc_current_rate(&cc) < 1000);
}

/* A flow that begins anew after a pause is cut by its first CNP, however long ago the period of its
 * last one began. */
static void merge__ends_with_the_flow(void **state)
{
	struct vb_cc_settings s = {
	    .dcqcn_hw_en = true,
	    .cc_clk_hz = 256000000,
	    .dcqcn_max_rate = 60000,
	    .dcqcn_min_rate = 1,
	    .dcqcn_alpha_rate_shift = 1,
	    .alpha_frac_bits = 10,
	    .initial_alpha = 512,
	    .initial_rate = 40960,
	    .dcqcn_rx_cnp_merge_period = 50000,
	    .inactivity_th = 1000,
	};
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	vb_cc_on_cnp(&cc, &s, 7 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_cnp(&cc, &s, 8 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_flow(&cc, &s, 5 * VB_MSEC);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
	vb_cc_on_cnp(&cc, &s, 5 * VB_MSEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(alpha__first_cnp),
	    cmocka_unit_test(alpha__first_is_as_written),
	    cmocka_unit_test(alpha__first_cnp_of_periodic_cuts),
	    cmocka_unit_test(flow__starts_over_after_inactivity),
	    cmocka_unit_test(merge__ends_with_the_flow),
	};

	return cmocka_run_group_tests_name("cc_flow", tests, NULL, NULL);
}
