/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, units and polarity of congestion control's settings as other adapters have them. */
#include "reg/csr/cc_names.h"
#include "reg/csr/csr.h"

#include "cmocka_env.h"

#include <errno.h>
#include <string.h>

#define LINE UINT64_C(25000000000)

static struct vb_cc_settings s;

static const struct vb_cc_name *find(const char *name)
{
	return vb_cc_name_find(name, strlen(name));
}

static int set(const char *name, uint64_t value)
{
	const char *rule;

	return vb_cc_name_set(find(name), &s, value, LINE, &rule);
}

static uint64_t get(const char *name)
{
	return find(name)->get(&s);
}

/* The files that drivers have. */
static void names__are_all_there(void **state)
{
	static const char *const debugfs[] = {
	    "rp_clamp_tgt_rate",      "rp_time_reset",  "rp_byte_reset",
	    "rp_threshold",           "rp_ai_rate",     "rp_hai_rate",
	    "rp_min_dec_fac",         "rp_min_rate",    "rp_rate_to_set_on_first_cnp",
	    "rp_dce_tcp_g",           "rp_dce_tcp_rtt", "rp_rate_reduce_monitor_period",
	    "rp_initial_alpha_value", "rp_gd",          "np_cnp_dscp",
	    "np_cnp_prio_mode",       "np_cnp_prio",    "np_min_time_between_cnps",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof debugfs / sizeof debugfs[0]; i++) {
		assert_non_null(find(debugfs[i]));
		assert_string_equal(find(debugfs[i])->debugfs, debugfs[i]);
	}
	assert_ptr_equal(find("roce_rp/rpg_ai_rate"), find("rp_ai_rate"));
	assert_ptr_equal(find("dce_tcp_g"), find("rp_dce_tcp_g"));
	assert_null(find("enable")); /* of which? */
	assert_non_null(find("roce_np/enable"));
	assert_null(find(""));
	assert_null(find("rp_ai"));
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const char *field = vb_cc_names[i].field;
		const struct vb_reg *reg;
		unsigned others;

		if (strcmp(field, "-") && !strchr(field, ' '))
			assert_non_null(vb_csr_find(field, strlen(field), &reg, &others));
	}
}

/* CC-10 CC-17 CC-29 */
static void values__have_their_units_and_polarity(void **state)
{
	(void)state;
	vb_cc_settings_paper(&s, LINE);
	assert_int_equal(get("rp_dce_tcp_g"), 1020);
	assert_int_equal(set("rp_dce_tcp_g", 1019), 0);
	assert_int_equal(s.dcqcn_upd_alpha_g, 5);
	assert_int_equal(get("rp_gd"), 11);
	assert_int_equal(set("rp_gd", 12), 0);
	assert_int_equal(s.dcqcn_alpha_rate_shift, 2);
	assert_int_equal(get("rp_byte_reset"), 156250);
	assert_int_equal(set("rp_byte_reset", 32767), 0);
	assert_int_equal((uint64_t)s.dcqcn_byte_cnt_th << s.byte_cnt_unit_log2, 32767 * 64);
	assert_int_equal(get("rp_ai_rate"), 40);
	assert_int_equal(set("rp_ai_rate", 5), 0);
	assert_int_equal(s.dcqcn_rate_ai_q8, 655); /* 2.56 units. CC-56 */
	assert_int_equal(get("rp_ai_rate"), 5);
	assert_int_equal(set("rp_min_rate", 0), 0);
	assert_int_equal(s.dcqcn_min_rate, 1); /* CC-60 */
	assert_int_equal(set("rp_max_rate", 10000), 0);
	assert_int_equal(get("rp_max_rate"), 10000);
	assert_int_equal(set("rp_max_rate", 0), 0);
	assert_int_equal(get("rp_max_rate"), 25000);
}

/* CC-14 */
static void clamps__are_one_mode(void **state)
{
	(void)state;
	vb_cc_settings_paper(&s, LINE);
	assert_int_equal(set("rp_clamp_tgt_rate_ati", 0), -EINVAL);
	assert_int_equal(set("rp_clamp_tgt_rate", 0), 0);
	assert_int_equal(s.clamp_mode, VB_CC_CLAMP_AFTER_INCREASE);
	assert_int_equal(set("rp_clamp_tgt_rate_ati", 0), 0);
	assert_int_equal(s.clamp_mode, VB_CC_CLAMP_AFTER_BYTES);
	assert_int_equal(set("rp_clamp_tgt_rate", 0), 0);
	assert_int_equal(s.clamp_mode, VB_CC_CLAMP_AFTER_BYTES);
	assert_int_equal(set("rp_clamp_tgt_rate_ati", 1), 0);
	assert_int_equal(set("rp_clamp_tgt_rate", 1), 0);
	assert_int_equal(s.clamp_mode, VB_CC_CLAMP_ALWAYS);
}

static void set__refuses_what_is_not_there(void **state)
{
	struct vb_cc_settings was;

	(void)state;
	vb_cc_settings_paper(&s, LINE);
	was = s;
	assert_int_equal(set("rp_dce_tcp_g", 0), -EINVAL);
	assert_int_equal(set("rp_dce_tcp_g", 1025), -EINVAL);
	assert_int_equal(set("rp_gd", 9), -EINVAL);
	assert_int_equal(set("rp_rate_to_set_on_first_cnp", 1), -EINVAL);
	assert_int_equal(set("np_cnp_prio", 6), -EINVAL);
	assert_int_equal(set("np_cnp_prio_mode", 0), -EINVAL);
	assert_int_equal(set("np_cnp_dscp", 64), -EINVAL);
	assert_int_equal(set("rp_time_reset", 65536), -EINVAL);
	assert_int_equal(set("rp_ai_rate", UINT64_MAX), -EINVAL);
	assert_memory_equal(&s, &was, sizeof s);
}

/* CC-45 CC-47 */
static void enable__is_the_scheme(void **state)
{
	(void)state;
	vb_cc_settings_paper(&s, LINE);
	assert_int_equal(get("roce_rp/enable"), 1);
	assert_int_equal(set("roce_rp/enable", 0), 0);
	assert_false(s.dcqcn_hw_en || s.hw_rate_throttle_en || s.tx_wqe_ost_limit_en ||
		     s.speed_limiter_en || s.ecn_en);
	assert_int_equal(set("roce_rp/enable", 1), 0);
	assert_true(s.dcqcn_hw_en && s.hw_rate_throttle_en && s.tx_wqe_ost_limit_en &&
		    s.speed_limiter_en && s.ecn_en);
	assert_int_equal(set("roce_np/enable", 0), 0);
	assert_false(s.np_en);
}

/* A value that is read can be written, and changes nothing. */
static void values__read_can_be_written(void **state)
{
	(void)state;
	vb_cc_settings_paper(&s, LINE);
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const struct vb_cc_name *n = &vb_cc_names[i];
		const char *rule;
		uint64_t v = n->get(&s);

		assert_uint_in_range(v, n->min, n->max);
		assert_int_equal(vb_cc_name_set(n, &s, v, LINE, &rule), 0);
		assert_int_equal(n->get(&s), v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names__are_all_there),
	    cmocka_unit_test(values__have_their_units_and_polarity),
	    cmocka_unit_test(clamps__are_one_mode),
	    cmocka_unit_test(set__refuses_what_is_not_there),
	    cmocka_unit_test(enable__is_the_scheme),
	    cmocka_unit_test(values__read_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
