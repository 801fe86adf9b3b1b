/* SPDX-License-Identifier: BSD-2-Clause */
/* Units, the paper's preset, and what does not fit. */
#include "cmocka_env.h"
#include "core/cc/settings.h"

#include <errno.h>
#include <string.h>

/* CC-01: 100 Gb/s at three clocks; CC-56: steps keep their fractions. */
static void units__of_clock(void **state)
{
	(void)state;
	assert_int_equal(vb_cc_units_q8(UINT64_C(100000000000), 200000000) >> 8, 64000);
	assert_int_equal(vb_cc_units_q8(UINT64_C(100000000000), 250000000) >> 8, 51200);
	assert_int_equal(vb_cc_units_q8(UINT64_C(100000000000), 322270000) >> 8, 39718);
	assert_int_equal(vb_cc_units_q8(40000000, 250000000), 5243); /* 20.48 */
	assert_int_equal(vb_cc_units_q8(UINT64_MAX, 250000000), VB_CC_STEP_Q8_MAX);
	assert_int_equal(vb_cc_bps(51200 << 8, 250000000), UINT64_C(100000000000));
	assert_int_equal(vb_cc_bps(1 << 8, 250000000), 1953125);
}

/* CC-02: a rate that does not fit 16 bits takes a faster clock. */
static void paper__fits_rate(void **state)
{
	static const uint64_t gbps[] = {1, 10, 25, 40, 100, 200, 400, 800};
	struct vb_cc_settings s;

	(void)state;
	for (size_t i = 0; i < sizeof gbps / sizeof gbps[0]; i++) {
		uint64_t bps = gbps[i] * UINT64_C(1000000000);

		vb_cc_settings_paper(&s, bps);
		assert_int_equal(vb_cc_settings_check(&s, NULL), 0);
		assert_true(vb_cc_bps((uint32_t)s.dcqcn_max_rate << 8, s.cc_clk_hz) <= bps);
		assert_true(vb_cc_bps((s.dcqcn_max_rate + 1u) << 8, s.cc_clk_hz) > bps);
	}
	/* facts D-03 */
	vb_cc_settings_paper(&s, UINT64_C(40000000000));
	assert_int_equal(s.dcqcn_max_rate, 20480);
	assert_int_equal((uint64_t)s.dcqcn_byte_cnt_th << s.byte_cnt_unit_log2, 10000000);
	assert_int_equal(s.dcqcn_nocnp_timer_th, 55);
	assert_int_equal(s.dcqcn_alpha_timer_th, 55);
	assert_int_equal(s.np_min_cnp_us, 50);
	assert_int_equal(s.dcqcn_upd_alpha_g, 4);
	assert_int_equal(s.dcqcn_fr_threshold, 5);
	assert_int_equal(s.dcqcn_alpha_rate_shift, 1);
}

#define BAD(name, value)                                                                           \
	do {                                                                                       \
		vb_cc_settings_paper(&s, 1000000000);                                              \
		s.name = value;                                                                    \
		assert_int_equal(vb_cc_settings_check(&s, &fault), -EINVAL);                       \
		assert_int_equal(vb_cc_settings_check(&s, NULL), -EINVAL);                         \
		assert_int_equal(strncmp(#name, fault.field, strlen(fault.field)), 0);             \
	} while (0)

static void check__names_field(void **state)
{
	struct vb_cc_settings s = {0};
	struct vb_cc_fault fault;

	(void)state;
	assert_int_equal(vb_cc_settings_check(&s, &fault), 0); /* off */
	BAD(cc_clk_hz, 0);
	BAD(cc_clk_hz, VB_CC_CLK_HZ_MAX + 1);
	BAD(dcqcn_byte_cnt_th, 1 << 19); /* CC-17 */
	BAD(dcqcn_upd_alpha_g, 1024);
	BAD(dcqcn_alpha_rate_shift, 16);
	BAD(dcqcn_rate_ai_q8, 1 << 24);
	BAD(dcqcn_rate_hai_q8, 1 << 24);
	BAD(byte_cnt_unit_log2, 16);
	BAD(clamp_mode, 3);
	BAD(cut_mode, 2);
	BAD(min_dec_fac, 101);
	BAD(alpha_frac_bits, 11);
	BAD(initial_alpha, 1024);
	BAD(np_cnp_dscp, 64);
	BAD(limiter_burst_ns, 1000000001);
}

/* Settings that differ in any one field are not the same. */
static void eq__of_every_field(void **state)
{
	struct vb_cc_settings paper;

	(void)state;
	vb_cc_settings_paper(&paper, 1000000000);
	for (unsigned i = 0; i < vb_cc_field_cnt; i++) {
		const struct vb_cc_field *f = &vb_cc_fields[i];
		struct vb_cc_settings other = paper;

		assert_true(vb_cc_settings_eq(&paper, &other));
		vb_cc_field_put(f, &other, vb_cc_field_get(f, &paper) ^ 1);
		assert_false(vb_cc_settings_eq(&paper, &other));
	}
}

/* The limiter reads the clock too, where it works: both of its switches are on. CC-45...48 */
static void check__limiter_needs_a_clock(void **state)
{
	struct vb_cc_settings s = {.hw_rate_throttle_en = true};
	struct vb_cc_fault fault;

	(void)state;
	assert_int_equal(vb_cc_settings_check(&s, &fault), 0);
	s.speed_limiter_en = true;
	assert_int_equal(vb_cc_settings_check(&s, &fault), -EINVAL);
	assert_string_equal(fault.field, "cc_clk_hz");
	s.hw_rate_throttle_en = false;
	assert_int_equal(vb_cc_settings_check(&s, &fault), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(units__of_clock),
	    cmocka_unit_test(paper__fits_rate),
	    cmocka_unit_test(check__names_field),
	    cmocka_unit_test(eq__of_every_field),
	    cmocka_unit_test(check__limiter_needs_a_clock),
	};

	return cmocka_run_group_tests_name("cc_settings", tests, NULL, NULL);
}
