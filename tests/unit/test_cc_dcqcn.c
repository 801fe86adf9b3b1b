/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaction point: the numbers of each rule, one by one. Times are us unless they say ns. */
#include "cc_env.h"

static void set_rates(struct vb_cc *cc, uint32_t cur, uint32_t tgt)
{
	cc->cur_q8 = cur << 8;
	cc->tgt_q8 = tgt << 8;
}

/* CC-10, CC-11, CC-13, CC-14: facts E.3. */
static void cut__vectors(void **state)
{
	static const struct {
		uint16_t alpha, rate;
		uint8_t shift;
	} t[] = {
	    {1023, 25625, 1}, {512, 38400, 1}, {100, 48700, 1}, {1023, 50, 0}, {512, 44800, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_cc_settings s = quiet();
		struct vb_cc cc = {0};

		s.initial_alpha = t[i].alpha;
		s.initial_rate = 51200;
		s.dcqcn_alpha_rate_shift = t[i].shift;
		vb_cc_reset(&cc, &s, 0);
		assert_true(vb_cc_on_cnp(&cc, &s, 0));
		assert_int_equal(vb_cc_current_rate(&cc), t[i].rate);
		assert_int_equal(vb_cc_target_rate(&cc), 51200);
		assert_int_equal(cc.cc_rate, t[i].rate); /* CC-33 */
	}
}

/* CC-12, CC-15, CC-26, CC-27: the old alpha cuts, then alpha rises, once. */
static void cut__old_alpha(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_alpha = 512;
	s.initial_rate = 51200;
	s.dcqcn_upd_alpha_g = 512;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 38400);
	assert_int_equal(vb_cc_alpha(&cc), 768);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_alpha(&cc), 896);
}

/* CC-27, CC-28: 514.0, 516.0 ... up to 1023 with fraction bits; without them it sticks at 769. */
static void alpha__rises(void **state)
{
	static const uint16_t plain[] = {514, 515, 516, 517, 518};
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_alpha = 512;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(cc.alpha_q20, 514 << 10);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_alpha(&cc), 515); /* 515.99 */
	for (int i = 0; i < 5000; i++)
		vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_alpha(&cc), 1023);
	assert_int_equal(cc.alpha_q20, 1023 * 1024 + 769); /* 1023.75 */

	s.alpha_frac_bits = 0;
	vb_cc_reset(&cc, &s, 0);
	for (int i = 0; i < 5; i++) {
		vb_cc_on_cnp(&cc, &s, 0);
		assert_int_equal(vb_cc_alpha(&cc), plain[i]);
	}
	for (int i = 0; i < 5000; i++)
		vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_alpha(&cc), 769);
}

/* CC-24, CC-25, CC-30: once for each period, 0 after 533 without fraction bits; read literally,
 * from the making of the QP on. */
static void alpha__decays(void **state)
{
	static const uint16_t seen[] = {1019, 1015, 1011, 1007, 1003};
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.alpha_mode = VB_CC_ALPHA_ALWAYS;
	s.dcqcn_alpha_timer_th = 55;
	for (uint8_t bits = 0; bits <= 10; bits += 10) {
		s.alpha_frac_bits = bits;
		vb_cc_reset(&cc, &s, 0);
		for (unsigned i = 0; i < 5; i++) {
			vb_cc_on_time(&cc, &s, (i + 1) * 55 * VB_USEC - 1);
			assert_int_equal(vb_cc_alpha(&cc), i ? seen[i - 1] : 1023);
			vb_cc_on_time(&cc, &s, (i + 1) * 55 * VB_USEC);
			assert_int_equal(vb_cc_alpha(&cc), seen[i]);
		}
	}
	s.alpha_frac_bits = 0;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_time(&cc, &s, 149 * 55 * VB_USEC);
	assert_true(vb_cc_alpha(&cc) > 511);
	vb_cc_on_time(&cc, &s, 150 * 55 * VB_USEC);
	assert_true(vb_cc_alpha(&cc) <= 511);
	vb_cc_on_time(&cc, &s, 532 * 55 * VB_USEC);
	assert_int_equal(vb_cc_alpha(&cc), 1);
	vb_cc_on_time(&cc, &s, 533 * 55 * VB_USEC);
	assert_int_equal(vb_cc_alpha(&cc), 0);
	s.alpha_frac_bits = 10;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_time(&cc, &s, 8000 * 55 * VB_USEC);
	assert_int_equal(cc.alpha_q20, 0);
}

/* CC-24: a CNP, merged or not, starts the period anew. CC-29: g 0 freezes. */
static void alpha__cnp_restarts_period(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_alpha_timer_th = 55;
	s.dcqcn_rx_cnp_merge_period = 50;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 49 * VB_USEC);
	vb_cc_on_time(&cc, &s, 103 * VB_USEC);
	assert_int_equal(vb_cc_alpha(&cc), 1023);
	vb_cc_on_time(&cc, &s, 104 * VB_USEC);
	assert_int_equal(vb_cc_alpha(&cc), 1019);

	s.dcqcn_upd_alpha_g = 0;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_time(&cc, &s, VB_SEC);
	vb_cc_on_cnp(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_alpha(&cc), 1023);
	assert_int_equal(cc.alpha_at, VB_SEC + 55 * VB_USEC);
}

/* CC-09: the first CNP cuts at once, those in the period after it do not, the next one does. */
static void merge__at_once(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_rx_cnp_merge_period = 50;
	s.initial_alpha = 512;
	s.dcqcn_upd_alpha_g = 0;
	s.initial_rate = 40960;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 7 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_cnp(&cc, &s, 8 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 57 * VB_USEC - 1);
	vb_cc_on_time(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 7 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 57 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 23040);
}

/* CC-09, the other reading: periods follow each other, and a cut comes at the end of one. */
static void merge__periodic(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_rx_cnp_merge_period = 50;
	s.cut_mode = VB_CC_CUT_PERIODIC;
	s.initial_alpha = 512;
	s.dcqcn_upd_alpha_g = 0;
	s.initial_rate = 40960;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 107 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 120 * VB_USEC);
	vb_cc_on_time(&cc, &s, 150 * VB_USEC - 1);
	assert_int_equal(vb_cc_current_rate(&cc), 40960);
	vb_cc_on_time(&cc, &s, 150 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_time(&cc, &s, 1000 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_cnp(&cc, &s, 1000 * VB_USEC);
	vb_cc_on_time(&cc, &s, 1049 * VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30720);
	vb_cc_on_time(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_current_rate(&cc), 23040);
}

/* CC-19, CC-20, CC-22, CC-56: five rounds of fast recovery, then additive. facts E.3 */
static void increase__vectors(void **state)
{
	static const uint16_t cur[] = {25000, 27500, 28750, 29375, 29687, 29853, 29946, 30003};
	static const uint16_t tgt[] = {30000, 30000, 30000, 30000, 30000, 30020, 30040, 30060};
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_rate = 20000;
	s.dcqcn_nocnp_timer_th = 55;
	s.dcqcn_rate_ai_q8 = 20 << 8;
	vb_cc_reset(&cc, &s, 0);
	set_rates(&cc, 20000, 30000);
	for (unsigned i = 0; i < 8; i++) {
		vb_cc_on_time(&cc, &s, (i + 1) * 55 * VB_USEC - 1);
		assert_int_equal(vb_cc_current_rate(&cc), i ? cur[i - 1] : 20000);
		vb_cc_on_time(&cc, &s, (i + 1) * 55 * VB_USEC);
		assert_int_equal(vb_cc_current_rate(&cc), cur[i]);
		assert_int_equal(vb_cc_target_rate(&cc), tgt[i]);
		assert_int_equal(cc.t, i + 1);
		assert_int_equal(cc.cc_rate, cur[i]);
	}
	assert_int_equal(cc.bc, 0);
	/* The literal reading would stop at 30019. CC-20, CC-23 */
	vb_cc_on_time(&cc, &s, 100 * 55 * VB_USEC);
	assert_true(vb_cc_current_rate(&cc) > 31000);
}

/* CC-56: steps of less than a unit add up. */
static void increase__fractions(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_rate = 100;
	s.dcqcn_fr_threshold = 0;
	s.dcqcn_nocnp_timer_th = 1;
	s.dcqcn_rate_ai_q8 = 64;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_time(&cc, &s, 400 * VB_USEC);
	assert_int_equal(vb_cc_target_rate(&cc), 200);
	assert_int_equal(vb_cc_current_rate(&cc), 200);
}

/* CC-17, CC-18: the byte counter, its unit, its own stage count. */
static void bytes__raise(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_byte_cnt_th = 3000;
	s.initial_rate = 20000;
	vb_cc_reset(&cc, &s, 0);
	set_rates(&cc, 20000, 30000);
	vb_cc_on_sent(&cc, &s, 2000, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 20000);
	assert_int_equal(cc.byte_cnt, 2000);
	vb_cc_on_sent(&cc, &s, 1500, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 25000);
	assert_int_equal(cc.byte_cnt, 500);
	assert_int_equal(cc.bc, 1);
	assert_int_equal(cc.t, 0);
	/* 64-byte units: 10 MB fits. */
	s.byte_cnt_unit_log2 = 6;
	s.dcqcn_byte_cnt_th = 156250;
	vb_cc_reset(&cc, &s, 0);
	set_rates(&cc, 20000, 30000);
	for (int i = 0; i < 9999; i++)
		vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(cc.bc, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(cc.bc, 1);
	/* 0: no increase by bytes. */
	s.dcqcn_byte_cnt_th = 0;
	vb_cc_on_sent(&cc, &s, 65535, 0);
	assert_int_equal(cc.bc, 1);
}

/* CC-21, CC-22: hyper when both counts have passed F; the target rises once for each event. */
static void increase__stages(void **state)
{
	static const struct {
		uint16_t t, bc, tgt;
	} v[] = {
	    {4, 4, 30000}, {5, 0, 30020}, {0, 5, 30020},   {100, 5, 30020},
	    {5, 6, 30020}, {6, 6, 30100}, {100, 6, 30100}, {6, 100, 30100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
		struct vb_cc_settings s = quiet();
		struct vb_cc cc = {0};

		s.initial_rate = 20000;
		s.dcqcn_nocnp_timer_th = 55;
		s.dcqcn_rate_ai_q8 = 20 << 8;
		s.dcqcn_rate_hai_q8 = 100 << 8;
		vb_cc_reset(&cc, &s, 0);
		set_rates(&cc, 20000, 30000);
		cc.t = v[i].t;
		cc.bc = v[i].bc;
		vb_cc_on_time(&cc, &s, 55 * VB_USEC);
		assert_int_equal(vb_cc_target_rate(&cc), v[i].tgt);
		assert_int_equal(vb_cc_current_rate(&cc), (20000 + v[i].tgt) / 2);
	}
}

/* CC-16: a cut clears counts and bytes and restarts the timer; a merged CNP holds it off. */
static void cut__restarts(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_nocnp_timer_th = 55;
	s.dcqcn_rx_cnp_merge_period = 50;
	s.dcqcn_byte_cnt_th = 1000;
	s.initial_rate = 20000;
	vb_cc_reset(&cc, &s, 0);
	set_rates(&cc, 20000, 30000);
	vb_cc_on_time(&cc, &s, 60 * VB_USEC);
	vb_cc_on_sent(&cc, &s, 1700, 60 * VB_USEC);
	assert_int_equal(cc.t, 1);
	assert_int_equal(cc.bc, 1);
	vb_cc_on_cnp(&cc, &s, 100 * VB_USEC);
	assert_int_equal(cc.t, 0);
	assert_int_equal(cc.bc, 0);
	assert_int_equal(cc.byte_cnt, 0);
	assert_int_equal(cc.nocnp_at, 155 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 130 * VB_USEC);
	vb_cc_on_time(&cc, &s, 185 * VB_USEC - 1);
	assert_int_equal(cc.t, 0);
	vb_cc_on_time(&cc, &s, 185 * VB_USEC);
	assert_int_equal(cc.t, 1);
}

/* CC-14: who takes the rate as target, and when. */
static void cut__clamp_modes(void **state)
{
	static const struct {
		uint8_t mode;
		uint16_t t, bc, tgt;
	} v[] = {
	    {VB_CC_CLAMP_ALWAYS, 0, 0, 20000},         {VB_CC_CLAMP_AFTER_INCREASE, 0, 0, 30000},
	    {VB_CC_CLAMP_AFTER_INCREASE, 1, 0, 20000}, {VB_CC_CLAMP_AFTER_INCREASE, 0, 1, 20000},
	    {VB_CC_CLAMP_AFTER_BYTES, 1, 0, 30000},    {VB_CC_CLAMP_AFTER_BYTES, 0, 1, 20000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
		struct vb_cc_settings s = quiet();
		struct vb_cc cc = {0};

		s.clamp_mode = v[i].mode;
		vb_cc_reset(&cc, &s, 0);
		set_rates(&cc, 20000, 30000);
		cc.t = v[i].t;
		cc.bc = v[i].bc;
		vb_cc_on_cnp(&cc, &s, 0);
		assert_int_equal(vb_cc_target_rate(&cc), v[i].tgt);
	}
}

/* CC-60: a QP never stands still. min_dec_fac bounds a single cut. */
static void cut__floors(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_min_rate = 0;
	s.dcqcn_alpha_rate_shift = 0;
	vb_cc_reset(&cc, &s, 0);
	for (int i = 0; i < 10; i++)
		vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 1);
	s.dcqcn_min_rate = 100;
	vb_cc_reset(&cc, &s, 0);
	for (int i = 0; i < 10; i++)
		vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 100);
	s.min_dec_fac = 80;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_cnp(&cc, &s, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 48000);
	/* A minimum above the maximum is the maximum. */
	s.dcqcn_min_rate = 65535;
	vb_cc_reset(&cc, &s, 0);
	assert_int_equal(vb_cc_current_rate(&cc), 65535);
}

/* CC-61: the last unit. */
static void increase__reaches_target(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.initial_rate = 29999;
	s.dcqcn_nocnp_timer_th = 1;
	vb_cc_reset(&cc, &s, 0);
	set_rates(&cc, 29999, 30000);
	vb_cc_on_time(&cc, &s, VB_USEC);
	assert_int_equal(vb_cc_current_rate(&cc), 30000);
	assert_int_equal(cc.cur_q8, cc.tgt_q8);
}

/* CC-02, CC-62: both rates stop at the maximum, and so does the timer. */
static void increase__stops_at_max(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {0};

	(void)state;
	s.dcqcn_max_rate = 65535;
	s.initial_rate = 65000;
	s.dcqcn_nocnp_timer_th = 55;
	s.dcqcn_byte_cnt_th = 1000;
	s.dcqcn_rate_ai_q8 = 300 << 8;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_on_time(&cc, &s, VB_SEC);
	assert_int_equal(vb_cc_current_rate(&cc), 65535);
	assert_int_equal(vb_cc_target_rate(&cc), 65535);
	assert_int_equal(cc.nocnp_at, VB_NEVER);
	vb_cc_on_sent(&cc, &s, 5000, VB_SEC);
	assert_int_equal(cc.bc, 0);
}

/* CC-41, CC-42, CC-44, CC-59: a start at the maximum rate needs no timer, another does. */
static void reset__as_initialized(void **state)
{
	struct vb_cc_settings s = quiet();
	struct vb_cc cc = {.t = 9, .bc = 9, .byte_cnt = 9, .cut_pending = true};

	(void)state;
	s.dcqcn_nocnp_timer_th = 55;
	s.initial_alpha = 700;
	vb_cc_reset(&cc, &s, 1000);
	assert_int_equal(vb_cc_current_rate(&cc), 60000);
	assert_int_equal(vb_cc_target_rate(&cc), 60000);
	assert_int_equal(cc.cc_rate, 60000);
	assert_int_equal(vb_cc_alpha(&cc), 700);
	assert_true(!cc.t && !cc.bc && !cc.byte_cnt && !cc.cut_pending);
	assert_int_equal(cc.nocnp_at, VB_NEVER);
	vb_cc_start_nocnp_timer(&cc, &s, 1000);
	assert_int_equal(cc.nocnp_at, VB_NEVER);
	vb_cc_on_cnp(&cc, &s, 2000);
	assert_int_equal(cc.nocnp_at, 2000 + 55 * VB_USEC);
	s.initial_rate = 100;
	vb_cc_reset(&cc, &s, 1000);
	assert_int_equal(cc.nocnp_at, 1000 + 55 * VB_USEC);
	cc.nocnp_at = VB_NEVER;
	vb_cc_start_nocnp_timer(&cc, &s, 3000);
	assert_int_equal(cc.nocnp_at, 3000 + 55 * VB_USEC);
	vb_cc_start_nocnp_timer(&cc, &s, 9000);
	assert_int_equal(cc.nocnp_at, 3000 + 55 * VB_USEC);
}

/* CC-05, CC-06, CC-08: 16 to 8 and back, restarted by each CNP; only when enabled. */
static void window__halves(void **state)
{
	struct vb_cc_settings s = {.tx_wqe_ost_limit_en = true, .cnp_timer_thrd = 20};
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	assert_int_equal(cc.window, 16);
	assert_true(vb_cc_on_cnp(&cc, &s, 100));
	assert_int_equal(cc.window, 8);
	vb_cc_on_cnp(&cc, &s, 15 * VB_USEC);
	vb_cc_on_time(&cc, &s, 35 * VB_USEC - 1);
	assert_int_equal(cc.window, 8);
	assert_int_equal(vb_cc_window_at(&cc), 35 * VB_USEC);
	vb_cc_on_time(&cc, &s, 35 * VB_USEC);
	assert_int_equal(cc.window, 16);
	assert_int_equal(vb_cc_window_at(&cc), VB_NEVER);
	s.tx_wqe_ost_limit_en = false;
	vb_cc_reset(&cc, &s, 0);
	assert_false(vb_cc_on_cnp(&cc, &s, 100));
	assert_int_equal(cc.window, 0);
}

/* CC-45...47: what each of the four bits does, all sixteen mixes of them. */
static void bits__every_mix(void **state)
{
	(void)state;
	for (unsigned mix = 0; mix < 16; mix++) {
		struct vb_cc_settings s = quiet();
		struct vb_cc cc = {0};
		bool hw = mix & 1, ost = mix & 4, limits = (mix & 10) == 10;

		s.dcqcn_hw_en = hw;
		s.hw_rate_throttle_en = mix & 2;
		s.tx_wqe_ost_limit_en = ost;
		s.speed_limiter_en = mix & 8;
		s.cnp_timer_thrd = 20;
		s.initial_rate = 1000;
		vb_cc_reset(&cc, &s, 0);
		assert_int_equal(vb_cc_on_cnp(&cc, &s, 0), hw || ost);
		assert_int_equal(vb_cc_current_rate(&cc), hw ? 500 : 1000);
		assert_int_equal(cc.window, ost ? 8 : 0);
		vb_cc_on_sent(&cc, &s, 10000, 0);
		assert_int_equal(vb_cc_send_at(&cc, &s, 0) > 0, limits);
		/* Scheme 2: software writes the rate, and the limiter follows. CC-46 */
		vb_cc_set_rate(&cc, &s, 2000, 0);
		if (limits)
			assert_uint_in_range(vb_cc_send_at(&cc, &s, 0), 20000, 20001);
	}
}

/* CC-45...47: from scheme to scheme while it runs. */
static void adopt__schemes(void **state)
{
	struct vb_cc_settings off = {0}, hw, fw;
	struct vb_cc cc = {0};

	(void)state;
	hw = quiet();
	hw.hw_rate_throttle_en = hw.speed_limiter_en = hw.tx_wqe_ost_limit_en = true;
	hw.dcqcn_nocnp_timer_th = 55;
	hw.dcqcn_rate_ai_q8 = 20 << 8;
	fw = hw;
	fw.dcqcn_hw_en = false;
	vb_cc_reset(&cc, &off, 0);
	vb_cc_adopt(&cc, &off, &hw, 1000);
	assert_int_equal(vb_cc_current_rate(&cc), 60000);
	assert_int_equal(cc.window, 16);
	vb_cc_on_cnp(&cc, &hw, 2000);
	assert_int_equal(cc.cc_rate, vb_cc_current_rate(&cc));
	/* Scheme 2 keeps what stands in the memories; time no longer changes it. */
	uint16_t rate = cc.cc_rate;

	vb_cc_adopt(&cc, &hw, &fw, 3000);
	vb_cc_on_time(&cc, &fw, VB_SEC);
	assert_int_equal(cc.cc_rate, rate);
	vb_cc_set_rate(&cc, &fw, 777, VB_SEC);
	assert_int_equal(cc.cc_rate, 777);
	assert_int_equal(vb_cc_current_rate(&cc), rate);
	/* And back: the rate is the algorithm's again. */
	vb_cc_adopt(&cc, &fw, &hw, 2 * VB_SEC);
	assert_int_equal(cc.cc_rate, rate);
	vb_cc_on_time(&cc, &hw, 2 * VB_SEC + 55 * VB_USEC);
	assert_true(cc.cc_rate > rate);
	/* A lower maximum holds at once. */
	fw = hw;
	fw.dcqcn_max_rate = 500;
	vb_cc_adopt(&cc, &hw, &fw, 3 * VB_SEC);
	assert_int_equal(cc.cc_rate, 500);
	assert_int_equal(vb_cc_target_rate(&cc), 500);
	vb_cc_adopt(&cc, &fw, &off, 4 * VB_SEC);
	assert_int_equal(cc.window, 0);
	assert_int_equal(vb_cc_send_at(&cc, &off, 4 * VB_SEC), 4 * VB_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cut__vectors),
	    cmocka_unit_test(cut__old_alpha),
	    cmocka_unit_test(alpha__rises),
	    cmocka_unit_test(alpha__decays),
	    cmocka_unit_test(alpha__cnp_restarts_period),
	    cmocka_unit_test(merge__at_once),
	    cmocka_unit_test(merge__periodic),
	    cmocka_unit_test(increase__vectors),
	    cmocka_unit_test(increase__fractions),
	    cmocka_unit_test(bytes__raise),
	    cmocka_unit_test(increase__stages),
	    cmocka_unit_test(cut__restarts),
	    cmocka_unit_test(cut__clamp_modes),
	    cmocka_unit_test(cut__floors),
	    cmocka_unit_test(increase__reaches_target),
	    cmocka_unit_test(increase__stops_at_max),
	    cmocka_unit_test(reset__as_initialized),
	    cmocka_unit_test(window__halves),
	    cmocka_unit_test(bits__every_mix),
	    cmocka_unit_test(adopt__schemes),
	};

	return cmocka_run_group_tests_name("cc_dcqcn", tests, NULL, NULL);
}
