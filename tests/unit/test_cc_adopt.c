/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reaction point when its settings change while it runs, and at the edges of its rules: what
 * was due before, what is pending, and what a reset keeps. docs/congestion-control.md
 */
#include "cc_env.h"
#include "core/cc/dfx.h"

/* The same with a rate and an alpha below their most. */
static struct vb_cc_settings moderate(void)
{
	struct vb_cc_settings s = quiet();

	s.dcqcn_upd_alpha_g = 0;
	s.initial_alpha = 512;
	s.initial_rate = 40960;
	return s;
}

/* Increases that were due before the change happen, by the old settings. */
static void adopt__what_was_due_is_done_before(void **state)
{
	struct vb_cc_settings old = moderate(), now;
	struct vb_cc cc = {0};

	(void)state;
	old.dcqcn_nocnp_timer_th = 10;
	now = old;
	now.dcqcn_nocnp_timer_th = 60000;
	vb_cc_reset(&cc, &old, 0);
	vb_cc_on_cnp(&cc, &old, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_adopt(&cc, &old, &now, 10 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 35840);
	assert_int_equal(cc.cc_rate, 35840);
}

/* Timers begin anew, by the new settings. CC-24 */
static void adopt__periods_are_the_new_ones(void **state)
{
	struct vb_cc_settings old = moderate(), now;
	struct vb_cc cc = {0};

	(void)state;
	old.dcqcn_nocnp_timer_th = 1000;
	old.dcqcn_alpha_timer_th = 2000;
	now = old;
	now.dcqcn_nocnp_timer_th = 30;
	now.dcqcn_alpha_timer_th = 40;
	vb_cc_reset(&cc, &old, 0);
	assert_int_equal(cc.nocnp_at, 1000 * VB_USEC);
	assert_int_equal(cc.alpha_at, 2000 * VB_USEC);
	vb_cc_adopt(&cc, &old, &now, 100 * VB_USEC);
	assert_int_equal(cc.nocnp_at, 130 * VB_USEC);
	assert_int_equal(cc.alpha_at, 140 * VB_USEC);
	now.dcqcn_nocnp_timer_th = now.dcqcn_alpha_timer_th = 0;
	vb_cc_adopt(&cc, &old, &now, 110 * VB_USEC);
	assert_int_equal(cc.nocnp_at, VB_NEVER);
	assert_int_equal(cc.alpha_at, VB_NEVER);
}

static struct vb_cc_settings periodic(void)
{
	struct vb_cc_settings s = moderate();

	s.cut_mode = VB_CC_CUT_PERIODIC;
	s.dcqcn_rx_cnp_merge_period = 50;
	return s;
}

/* Turning the algorithm off cancels a cut that waits for the end of its period. CC-46 */
static void adopt__off_ends_a_pending_cut(void **state)
{
	struct vb_cc_settings s = periodic(), off;
	struct vb_cc cc = {0};

	(void)state;
	off = s;
	off.dcqcn_hw_en = false;
	off.hw_rate_throttle_en = off.speed_limiter_en = true;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 10 * VB_USEC);
	vb_cc_adopt(&cc, &s, &off, 20 * VB_USEC);
	vb_cc_adopt(&cc, &off, &s, 30 * VB_USEC);
	vb_cc_on_time(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
}

/* Alpha decays until the periodic cut, not only until the CNP. CC-09, CC-24 */
static void cut__at_the_end_of_a_period_has_the_alpha_of_then(void **state)
{
	struct vb_cc_settings s = periodic();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_upd_alpha_g = 512; /* a half each time */
	s.dcqcn_alpha_timer_th = 40;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 1 * VB_USEC);
	vb_cc_on_time(&cc, &s, 60 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 35840); /* by 256 / 1024 / 2 */
}

/* A merge period of 0 cancels the pending cut; another period only moves it. */
static void set_merge__zero_ends_a_pending_cut(void **state)
{
	struct vb_cc_settings s = periodic();
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 10 * VB_USEC);
	vb_cc_set_merge(&cc, &s, 0, 20 * VB_USEC);
	vb_cc_on_time(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 10 * VB_USEC);
	vb_cc_set_merge(&cc, &s, 5, 20 * VB_USEC);
	vb_cc_on_time(&cc, &s, 25 * VB_USEC - 1);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
	vb_cc_on_time(&cc, &s, 25 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
}

/* CC-16: a merged CNP restarts the timer of increases, and the cut restarts the byte counter. */
static void cnp__merged_holds_off_the_timer(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_rx_cnp_merge_period = 50;
	s.dcqcn_nocnp_timer_th = 40;
	s.dcqcn_byte_cnt_th = 1000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 999, 0);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(cc.nocnp_at, 40 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 30 * VB_USEC);
	assert_int_equal(cc.nocnp_at, 70 * VB_USEC);
	vb_cc_on_sent(&cc, &s, 999, 31 * VB_USEC);
	assert_int_equal(cc.bc, 0);
	vb_cc_on_sent(&cc, &s, 1, 32 * VB_USEC);
	assert_int_equal(cc.bc, 1);
}

/* A minimum above the maximum wins, also over software's rates. CC-60 */
static void rates__minimum_above_the_maximum(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_rate = 0;
	s.dcqcn_max_rate = 100;
	s.dcqcn_min_rate = 200;
	vb_cc_reset(&cc, &s, 0);
	assert_int_equal(cc.cc_rate, 200);
	vb_cc_set_rate(&cc, &s, 300, 0);
	assert_int_equal(cc.cc_rate, 200);
	vb_cc_set_current(&cc, &s, 300, 0, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 200);
	assert_int_equal(vb_cc_target_rate(&cc), 200);
	/* With maximum and minimum 0 the rate is 1. */
	s.dcqcn_max_rate = s.dcqcn_min_rate = 0;
	vb_cc_reset(&cc, &s, 0);
	assert_int_equal(cc.cc_rate, 1);
}

/* A pause of inactivity_th begins a new flow; 1 ns less does not. */
static void flow__begins_anew_at_the_threshold(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.inactivity_th = 1000;
	for (int early = 0; early < 2; early++) {
		vb_cc_reset(&cc, &s, 0);
		vb_cc_on_sent(&cc, &s, 1000, 0);
		vb_cc_on_cnp(&cc, &s, 1);
		vb_cc_on_flow(&cc, &s, VB_MSEC - (unsigned)early);
		assert_int_equal(vb_cc_current_rate(&cc), early ? 30720 : 40960);
	}
}

/* The recorder is the QP's: it goes on recording after a reset. */
static void reset__keeps_the_recorder(void **state)
{
	static struct vb_dfx d;
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {.dfx = &d};

	(void)state;
	vb_dfx_start(&d);
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, VB_USEC);
	vb_cc_reset(&cc, &s, 2 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 3 * VB_USEC);
	assert_int_equal(d.decreases, 2);
}

/* CC-54: counts saturate, also when events come one by one. */
static void window__counts_saturate(void **state)
{
	static struct vb_dfx d;

	(void)state;
	vb_dfx_start(&d);
	for (unsigned i = 0; i < 65540; i++)
		vb_dfx_record(&d, VB_DFX_DECREASE, 1, i);
	assert_int_equal(d.decreases, UINT16_MAX);
	assert_int_equal(d.overflow, 65540 - VB_DFX_ENTRIES);
}

/* REG-09: a burst in bytes, where given, replaces the one in nanoseconds. */
static void burst__in_bytes_holds(void **state)
{
	struct vb_cc_settings s = {
	    .hw_rate_throttle_en = true,
	    .speed_limiter_en = true,
	    .cc_clk_hz = 256000000,
	    .dcqcn_max_rate = VB_CC_RATE_MAX,
	    .limiter_burst_ns = 1000000,
	};
	struct vb_cc cc = {0};
	uint32_t sent = 0;

	(void)state;
	s.limiter_burst_bytes = 5000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 4000, 0); /* a byte each ns */
	for (; vb_cc_send_at(&cc, &s, VB_SEC) <= VB_SEC; sent++)
		vb_cc_on_sent(&cc, &s, 1000, VB_SEC);
	assert_int_equal(sent, 6); /* the account may be overdrawn by one */
	/* A wait lasts for half the burst. */
	assert_int_equal(vb_cc_send_at(&cc, &s, VB_SEC), VB_SEC + 1000 + 2500);
}

/* A flow that begins anew counts its bytes from none. CC-17 */
static void flow__counts_its_bytes_anew(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.inactivity_th = 1000;
	s.dcqcn_byte_cnt_th = 1000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 999, 0);
	vb_cc_on_flow(&cc, &s, VB_MSEC);
	vb_cc_on_sent(&cc, &s, 999, VB_MSEC);
	assert_int_equal(cc.bc, 0);
	vb_cc_on_sent(&cc, &s, 1, VB_MSEC);
	assert_int_equal(cc.bc, 1);
}

/* Periods of periodic cuts follow each other, whatever flows begin meanwhile. CC-09 */
static void flow__leaves_the_periods(void **state)
{
	struct vb_cc_settings s = periodic();
	struct vb_cc cc = {0};

	(void)state;
	s.inactivity_th = 1000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	vb_cc_on_flow(&cc, &s, VB_MSEC + 30 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, VB_MSEC + 31 * VB_USEC);
	vb_cc_on_time(&cc, &s, VB_MSEC + 50 * VB_USEC - 1);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
	vb_cc_on_time(&cc, &s, VB_MSEC + 50 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
}

/* A rate that software sets holds until a packet has left, whatever pause comes before that;
 * without the hardware's rules it holds for good. */
static void flow__keeps_the_rate_of_software(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.inactivity_th = 1000;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	vb_cc_set_rate(&cc, &s, 777, 0);
	vb_cc_on_flow(&cc, &s, VB_SEC);
	assert_int_equal(cc.cc_rate, 777);
	s.dcqcn_hw_en = false;
	s.hw_rate_throttle_en = s.speed_limiter_en = true;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 777, 0);
	s.dcqcn_byte_cnt_th = 1000;
	vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(cc.cc_rate, 777);
	vb_cc_on_flow(&cc, &s, VB_SEC);
	assert_int_equal(cc.cc_rate, 777);
}

/* CC-08: without a time for which it would be smaller, a CNP leaves the window. */
static void window__stays_without_a_time(void **state)
{
	struct vb_cc_settings s = moderate();
	struct vb_cc cc = {0};

	(void)state;
	s.tx_wqe_ost_limit_en = true;
	vb_cc_reset(&cc, &s, 0);
	assert_true(vb_cc_on_cnp(&cc, &s, 1));
	assert_int_equal(cc.window, VB_CC_OST_FULL);
	s.cnp_timer_thrd = 1;
	assert_true(vb_cc_on_cnp(&cc, &s, 2));
	assert_int_equal(cc.window, VB_CC_OST_REDUCED);
}

/* Software may write a target below the rate: then the rate follows it down, and both rise again.
 * CC-19, CC-62 */
static void rates__target_below_the_rate(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_byte_cnt_th = 1000;
	s.dcqcn_rate_ai_q8 = 300 << 8;
	vb_cc_reset(&cc, &s, 0);
	assert_false(cc.active);
	vb_cc_set_current(&cc, &s, s.dcqcn_max_rate, 30000, 0);
	assert_true(cc.active);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(vb_cc_target_rate(&cc), 30000);
	assert_int_equal(vb_cc_current_rate(&cc), 45000);
	for (uint32_t i = 0; i < 200; i++)
		vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(vb_cc_target_rate(&cc), 60000);
	assert_int_equal(vb_cc_current_rate(&cc), 60000);
	assert_false(cc.active);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(adopt__what_was_due_is_done_before),
	    cmocka_unit_test(adopt__periods_are_the_new_ones),
	    cmocka_unit_test(adopt__off_ends_a_pending_cut),
	    cmocka_unit_test(cut__at_the_end_of_a_period_has_the_alpha_of_then),
	    cmocka_unit_test(set_merge__zero_ends_a_pending_cut),
	    cmocka_unit_test(cnp__merged_holds_off_the_timer),
	    cmocka_unit_test(rates__minimum_above_the_maximum),
	    cmocka_unit_test(rates__target_below_the_rate),
	    cmocka_unit_test(flow__begins_anew_at_the_threshold),
	    cmocka_unit_test(reset__keeps_the_recorder),
	    cmocka_unit_test(window__counts_saturate),
	    cmocka_unit_test(burst__in_bytes_holds),
	    cmocka_unit_test(flow__counts_its_bytes_anew),
	    cmocka_unit_test(flow__leaves_the_periods),
	    cmocka_unit_test(flow__keeps_the_rate_of_software),
	    cmocka_unit_test(window__stays_without_a_time),
	};

	return cmocka_run_group_tests_name("cc_adopt", tests, NULL, NULL);
}
