/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder: codes, entries, a full window, the counts. */
#include "cmocka_env.h"
#include "core/cc/cc.h"
#include "core/cc/dfx.h"

/* CC-53: type[2:0], rate[18:3], us[63:19]. */
static void entry__format(void **state)
{
	uint64_t e = vb_dfx_entry(5, 0xabcd, 123456789 * VB_USEC + 999);

	(void)state;
	assert_int_equal(e, UINT64_C(5) | UINT64_C(0xabcd) << 3 | UINT64_C(123456789) << 19);
	assert_int_equal(vb_dfx_event_of(e), 5);
	assert_int_equal(vb_dfx_rate_of(e), 0xabcd);
	assert_int_equal(vb_dfx_usec_of(e), 123456789);
}

/* CC-50, CC-51, CC-54: stops when full and counts on; reading takes the oldest. */
static void window__full(void **state)
{
	static struct vb_dfx d;
	uint64_t e;

	(void)state;
	vb_dfx_record(NULL, 0, 0, 0);
	vb_dfx_record(&d, 0, 0, 0); /* not started */
	assert_false(vb_dfx_read(&d, &e));
	vb_dfx_start(&d);
	for (unsigned i = 0; i < 70; i++)
		vb_dfx_record(&d, i % 2 ? VB_DFX_DECREASE : VB_DFX_ADDITIVE, (uint16_t)i,
			      i * VB_USEC);
	assert_int_equal(d.overflow, 6);
	assert_int_equal(d.decreases, 35);
	assert_int_equal(d.byte_increases, 35);
	assert_true(vb_dfx_read(&d, &e));
	/* Room that reading made is not filled: a window is 64 events in a row. */
	vb_dfx_record(&d, 0, 0, 0);
	assert_int_equal(d.overflow, 7);
	for (unsigned i = 1; i < 64; i++) {
		assert_true(vb_dfx_read(&d, &e));
		assert_int_equal(vb_dfx_rate_of(e), i);
		assert_int_equal(vb_dfx_usec_of(e), i);
	}
	assert_false(vb_dfx_read(&d, &e));
	vb_dfx_stop(&d);
	vb_dfx_record(&d, 0, 0, 0);
	assert_int_equal(d.overflow, 7);
	vb_dfx_start(&d);
	assert_int_equal(d.overflow + d.cnt + d.decreases, 0);
}

/* CC-52: the seven kinds as the reaction point makes them, each as of its own instant even if it is
 * found out later. */
static void events__of_reaction_point(void **state)
{
	static const struct {
		unsigned code;
		uint64_t us;
	} want[] = {
	    {0, 10},  {5, 65},  {7, 120}, {7, 175}, /* cut; F = 1: FR, then AI by time */
	    {3, 200}, {3, 200}, {2, 200}, {6, 230}, /* by bytes: AI, AI, HAI; HAI by time */
	    {0, 240}, {1, 250},
	};
	struct vb_cc_settings s = {
	    .dcqcn_hw_en = true,
	    .cc_clk_hz = 250000000,
	    .dcqcn_max_rate = 60000,
	    .dcqcn_nocnp_timer_th = 55,
	    .dcqcn_byte_cnt_th = 1000,
	    .dcqcn_alpha_rate_shift = 1,
	    .dcqcn_upd_alpha_g = 4,
	    .dcqcn_rate_ai_q8 = 256,
	    .dcqcn_rate_hai_q8 = 2560,
	    .dcqcn_fr_threshold = 1,
	    .alpha_frac_bits = 10,
	    .initial_alpha = 1023,
	    .initial_rate = 40000,
	};
	static struct vb_dfx d;
	struct vb_cc cc = {.dfx = &d};
	uint64_t e;

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_dfx_start(&d);
	vb_cc_on_cnp(&cc, &s, 10 * VB_USEC);
	for (int i = 0; i < 3; i++)
		vb_cc_on_sent(&cc, &s, 1000, 200 * VB_USEC);
	vb_cc_on_time(&cc, &s, 239 * VB_USEC);
	vb_cc_on_cnp(&cc, &s, 240 * VB_USEC);
	vb_cc_on_sent(&cc, &s, 1000, 250 * VB_USEC);
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		assert_true(vb_dfx_read(&d, &e));
		assert_int_equal(vb_dfx_event_of(e), want[i].code);
		assert_int_equal(vb_dfx_usec_of(e), want[i].us);
	}
	assert_int_equal(vb_dfx_rate_of(e), cc.cc_rate);
	assert_false(vb_dfx_read(&d, &e));
	assert_int_equal(d.decreases, 2);
	assert_int_equal(d.timer_increases, 4);
	assert_int_equal(d.byte_increases, 4);
}

/* CC-54: a year of idling with an increase each us, at a step of 0: counted, not gone through. */
static void window__is_full_and_time_passes(void **state)
{
	const vb_time end = 31536000 * VB_SEC;
	struct vb_cc_settings s = {
	    .dcqcn_hw_en = true,
	    .cc_clk_hz = 250000000,
	    .dcqcn_max_rate = 60000,
	    .dcqcn_nocnp_timer_th = 1,
	    .dcqcn_alpha_rate_shift = 1,
	    .dcqcn_fr_threshold = 5,
	    .initial_rate = 40000,
	};
	static struct vb_dfx d;
	struct vb_cc cc = {.dfx = &d};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_dfx_start(&d);
	vb_cc_on_time(&cc, &s, 100 * VB_USEC);
	assert_int_equal(d.timer_increases, 100);
	assert_int_equal(d.overflow, 36);
	vb_cc_on_time(&cc, &s, 1000 * VB_USEC);
	assert_int_equal(d.timer_increases, 1000);
	assert_int_equal(d.overflow, 936);
	vb_cc_on_time(&cc, &s, end);
	assert_int_equal(d.timer_increases, UINT16_MAX);
	assert_int_equal(d.overflow, UINT32_MAX);
	assert_int_equal(d.cnt, VB_DFX_ENTRIES);
	assert_int_equal(cc.nocnp_at, end + VB_USEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entry__format),
	    cmocka_unit_test(window__full),
	    cmocka_unit_test(events__of_reaction_point),
	    cmocka_unit_test(window__is_full_and_time_passes),
	};

	return cmocka_run_group_tests_name("cc_dfx", tests, NULL, NULL);
}
