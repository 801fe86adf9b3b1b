/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of congestion control as text: presets, fields, units, and what is wrong with one.
 */
#include "cmocka_env.h"
#include "core/cc/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GBPS UINT64_C(1000000000)

static struct vb_cc_settings read_good(const char *text)
{
	struct vb_cc_settings set;
	struct vb_cc_text_fault fault;

	if (vb_cc_parse(text, 40 * GBPS, &set, &fault))
		fail_msg("%s: %.*s %s", text, (int)fault.len, text + fault.at, fault.what);
	return set;
}

/* CC-45, CC-46, CC-47: the three schemes, and none. */
static void presets__are_the_schemes(void **state)
{
	struct vb_cc_settings paper, s;

	(void)state;
	vb_cc_settings_paper(&paper, 40 * GBPS);
	s = read_good("paper");
	assert_true(vb_cc_settings_eq(&s, &paper));
	assert_true(s.dcqcn_hw_en && s.hw_rate_throttle_en && !s.tx_wqe_ost_limit_en &&
		    s.speed_limiter_en && !s.cnp_irq_en);
	s = read_good("hardware"); /* CC-45 */
	assert_true(s.dcqcn_hw_en && s.hw_rate_throttle_en && s.tx_wqe_ost_limit_en &&
		    s.speed_limiter_en && !s.cnp_irq_en);
	s = read_good(" preset=firmware-rate ");
	assert_true(!s.dcqcn_hw_en && s.hw_rate_throttle_en && s.tx_wqe_ost_limit_en &&
		    s.speed_limiter_en && s.np_en && s.cnp_irq_en);
	s = read_good("firmware-only,");
	assert_true(!s.dcqcn_hw_en && !s.hw_rate_throttle_en && !s.tx_wqe_ost_limit_en &&
		    !s.speed_limiter_en && s.ecn_en && s.cnp_irq_en);
	for (const char *c = " \t\r\n"; *c; c++) { /* blanks of any kind before and behind */
		const char text[] = {*c, 'p', 'a', 'p', 'e', 'r', *c, ',', *c, 0};

		s = read_good(text);
		assert_true(vb_cc_settings_eq(&s, &paper));
	}
	s = read_good("");
	assert_true(!s.dcqcn_hw_en && !s.np_en && !s.ecn_en && !s.rxq_en);
}

static void fields__override(void **state)
{
	struct vb_cc_settings s = read_good("dcqcn_rate_ai=20.5, dcqcn_rate_hai=5Mbps,"
					    "np_en=0,\n ecn_en=false,cut_mode=periodic");

	(void)state;
	assert_int_equal(s.dcqcn_rate_ai_q8, 5248); /* CC-56 */
	assert_int_equal(s.dcqcn_rate_hai_q8, 655);
	assert_true(s.dcqcn_hw_en && !s.np_en && !s.ecn_en);
	assert_int_equal(s.cut_mode, VB_CC_CUT_PERIODIC);
}

/* The modes by the names that users write. docs/congestion-control.md */
static void names__of_modes(void **state)
{
	(void)state;
	assert_int_equal(read_good("clamp_mode=always").clamp_mode, VB_CC_CLAMP_ALWAYS);
	assert_int_equal(read_good("clamp_mode=after-increase").clamp_mode,
			 VB_CC_CLAMP_AFTER_INCREASE);
	assert_int_equal(read_good("clamp_mode=after-bytes").clamp_mode, VB_CC_CLAMP_AFTER_BYTES);
	assert_int_equal(read_good("alpha_mode=active").alpha_mode, VB_CC_ALPHA_ACTIVE);
	assert_int_equal(read_good("alpha_mode=always").alpha_mode, VB_CC_ALPHA_ALWAYS);
	assert_int_equal(read_good("cut_mode=at-once").cut_mode, VB_CC_CUT_AT_ONCE);
	assert_int_equal(read_good("cut_mode=periodic").cut_mode, VB_CC_CUT_PERIODIC);
}

/* CC-01: rates in bit/s follow the clock wherever it stands; those in units are what they are. */
static void rates__follow_clock(void **state)
{
	struct vb_cc_settings s =
	    read_good("dcqcn_max_rate=10Gbps,dcqcn_min_rate=7,cc_clk_hz=500000000");

	(void)state;
	assert_int_equal(s.dcqcn_max_rate, 2560);
	assert_int_equal(s.dcqcn_min_rate, 7);
	assert_int_equal(s.initial_rate, 0);
	assert_int_equal(s.dcqcn_rate_ai_q8, 2621);
}

/* A rate above 0 has at least one unit, and at most as many as a register holds. The units 0 and 1
 * are no rates: they do not depend on the clock. */
static void rates__at_their_ends(void **state)
{
	struct vb_cc_settings s = read_good("dcqcn_min_rate=1kbps,dcqcn_max_rate=2Tbps");

	(void)state;
	assert_int_equal(s.dcqcn_min_rate, 1);
	assert_int_equal(s.dcqcn_max_rate, VB_CC_RATE_MAX);
	s = read_good("cc_clk_hz=1000000");
	assert_int_equal(s.dcqcn_min_rate, 1);
	assert_int_equal(s.initial_rate, 0);
}

static void fault__names_item(void **state)
{
	static const struct {
		const char *text, *item, *what;
	} bad[] = {
	    {"papers", "papers", vb_cc_preset_rule},
	    {"preset=on,np_en=1", "preset=on", vb_cc_preset_rule},
	    {"paper,off", "off", "lacks its value, NAME=VALUE"},
	    {"paper,,np_en=1", "", "lacks its value, NAME=VALUE"},
	    {"paper,frob=1", "frob=1", "is no setting of congestion control"},
	    {"np_en=1,np_en=1", "np_en=1", "stands here twice"},
	    {"np_en=yes", "np_en=yes", "must be true or false"},
	    {"np_cnp_dscp=64", "np_cnp_dscp=64", "must be at most 63"},
	    {"np_cnp_dscp=-1", "np_cnp_dscp=-1", "must be at most 63"},
	    {"np_cnp_dscp=1.5", "np_cnp_dscp=1.5", "must be at most 63"},
	    {"np_cnp_dscp=", "np_cnp_dscp=", "must be at most 63"},
	    {"np_cnp_dscp=4Mbps", "np_cnp_dscp=4Mbps", "must be at most 63"},
	    {"dcqcn_max_rate=1Pbps", "dcqcn_max_rate=1Pbps", "must be at most 65535 units"},
	    {"dcqcn_max_rate=99999999999999999999Tbps", "dcqcn_max_rate=99999999999999999999Tbps",
	     "must be at most 65535 units"},
	    {"dcqcn_max_rate=2001Gbps", "dcqcn_max_rate=2001Gbps", "must be at most 65535 units"},
	    {"dcqcn_max_rate=0.9bps", "dcqcn_max_rate=0.9bps", "must be at most 65535 units"},
	    {"dcqcn_max_rate=0Gbps", "dcqcn_max_rate=0Gbps", "must be at most 65535 units"},
	    {"dcqcn_max_rate=70000", "dcqcn_max_rate=70000", "must be at most 65535 units"},
	    {"cut_mode=never", "cut_mode=never", "must be at-once or periodic"},
	    {"cc_clk_hz=5", "cc_clk_hz=5", "must be 1 MHz to 4 GHz"},
	};
	struct vb_cc_settings s;
	struct vb_cc_text_fault f;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(vb_cc_parse(bad[i].text, GBPS, &s, &f), -EINVAL);
		assert_string_equal(f.what, bad[i].what);
		assert_int_equal(f.len, strlen(bad[i].item));
		assert_memory_equal(bad[i].text + f.at, bad[i].item, f.len);
	}
	assert_int_equal(vb_cc_parse("rxq_kmin=300", GBPS, &s, &f), -EINVAL);
	assert_int_equal(f.len, 0);
	assert_string_equal(f.field, "rxq_kmin");
}

/* Every field: what is put is what is there, and nothing beside it changes. */
static void fields__are_members(void **state)
{
	(void)state;
	assert_true(vb_cc_field_cnt <= VB_CC_TEXT_FIELDS_MAX);
	for (unsigned i = 0; i < vb_cc_field_cnt; i++) {
		const struct vb_cc_field *f = &vb_cc_fields[i];
		struct vb_cc_settings s = {0}, zero = {0};

		assert_ptr_equal(vb_cc_field_find(f->name, strlen(f->name)), f);
		vb_cc_field_put(f, &s, f->max);
		assert_int_equal(vb_cc_field_get(f, &s), f->max);
		assert_false(vb_cc_settings_eq(&s, &zero));
		for (unsigned k = 0; k < vb_cc_field_cnt; k++)
			if (k != i)
				assert_int_equal(vb_cc_field_get(&vb_cc_fields[k], &s), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(presets__are_the_schemes), cmocka_unit_test(fields__override),
	    cmocka_unit_test(names__of_modes),          cmocka_unit_test(rates__follow_clock),
	    cmocka_unit_test(rates__at_their_ends),     cmocka_unit_test(fault__names_item),
	    cmocka_unit_test(fields__are_members),
	};

	return cmocka_run_group_tests_name("cc_text", tests, NULL, NULL);
}
