/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text that users read of recovery: the words for each move of the ladder, and the rule that
 * settings break, which `verbena reg` and scenario files show. ADP-10, ADP-15, ADP-24; REG-19...31
 */
#include "core/recover/rto.h"

#include "cmocka_env.h"

#include <errno.h>

/* Each move has its own words. */
static void move__in_words(void **state)
{
	static const char *const words[VB_RTO_MOVE_CNT] = {
	    "stays",
	    "initial value",
	    "goes on in the range it lies in",
	    "to the start range",
	    "same value again",
	    "doubled",
	    "to the next range",
	    "holds at the top",
	    "lowered by progress",
	    "to the previous range by progress",
	};

	(void)state;
	for (unsigned m = 0; m < VB_RTO_MOVE_CNT; m++)
		assert_string_equal(vb_rto_move_text((enum vb_rto_move)m), words[m]);
}

static struct vb_adp_profile valid(void)
{
	return (struct vb_adp_profile){
	    .range_num = 2,
	    .time_unit = VB_ADP_TIME_USEC,
	    .time_base = 4,
	    .timeout_init_low_bound = 12,
	    .timeout_init_range_size = 4,
	    .timeout_range = {{0, VB_ADP_DEC_DIV_2, 2, 12, 4}, {0, VB_ADP_DEC_DIV_4, 1, 16, 3}},
	};
}

static void assert_fault(const struct vb_recovery_fault *f, const char *field, int range,
			 const char *rule)
{
	assert_string_equal(f->field, field);
	assert_int_equal(f->range, range);
	assert_string_equal(f->rule, rule);
}

/* The profile with @member set to @value breaks the rule of @field. */
#define REFUSED(member, value, field, range, rule)                                                 \
	do {                                                                                       \
		struct vb_adp_profile p = valid();                                                 \
		struct vb_recovery_fault f = {0};                                                  \
		p.member = (value);                                                                \
		assert_int_equal(vb_adp_profile_check(&p, &f), -EINVAL);                           \
		assert_fault(&f, field, range, rule);                                              \
	} while (0)

/* Each rule of a profile names its field, the range that it stands in, and what it must be. */
static void profile_rule__in_words(void **state)
{
	(void)state;
	REFUSED(range_num, 0, "range_num", -1, "must be from 1 to 4");
	REFUSED(range_num, 5, "range_num", -1, "must be from 1 to 4");
	REFUSED(start_range_index, 2, "start_range_index", -1, "must be less than range_num");
	REFUSED(time_unit, 2, "time_unit", -1, "must be 1 (TIME_USEC)");
	REFUSED(time_base, 12, "time_base", -1, "must be a power of 2");
	REFUSED(time_base, 2, "time_base", -1,
		"must be at least adp_retx_base_timeout_min, 4000 ns");
	REFUSED(timeout_range[0].dec_mode, 3, "dec_mode", 0,
		"must be 0 (DIV_4), 1 (DIV_2) or 2 (LOW_BOUND)");
	REFUSED(timeout_range[1].timeout_retry_num, 1024, "timeout_retry_num", 1,
		"must be at most 1023");
	REFUSED(timeout_range[0].prev_range_index, 1, "prev_range_index", 0,
		"must be 0 in the first range");
	REFUSED(timeout_range[1].prev_range_index, 1, "prev_range_index", 1,
		"must be less than the range's own index");
	REFUSED(timeout_range[1].range_low_bound, 12, "range_low_bound", 1,
		"must be greater than that of the range before it");
}

/* A value at a rule's bound is within it. */
static void profile_rule__at_its_bound(void **state)
{
	struct vb_adp_profile p = valid();

	(void)state;
	p.range_num = 4;
	p.start_range_index = 3;
	p.timeout_range[0].timeout_retry_num = 1023;
	p.timeout_range[0].dec_mode = VB_ADP_DEC_LOW_BOUND;
	p.timeout_range[1].range_low_bound = 13;
	p.timeout_range[2] = (struct vb_adp_range){1, VB_ADP_DEC_DIV_4, 0, 14, 0};
	p.timeout_range[3] = (struct vb_adp_range){2, VB_ADP_DEC_DIV_4, 0, 15, 0};
	assert_int_equal(vb_adp_profile_check(&p, NULL), 0);
	p.range_num = p.start_range_index = 1;
	assert_int_equal(vb_adp_profile_check(&p, NULL), -EINVAL);
	p.start_range_index = 0;
	assert_int_equal(vb_adp_profile_check(&p, NULL), 0);
}

/* The settings around the profile, at their bounds and beyond them. */
static void recovery_rule__in_words(void **state)
{
	struct vb_recovery r = {
	    .ack_dscp = 63, .min_ack_timeout = 31, .adp_timeout_stretch = VB_STRETCH_MAX};
	struct vb_recovery_fault f;

	(void)state;
	assert_int_equal(vb_recovery_check(&r, &f), 0);
	r.adp_timeout_stretch = 3;
	assert_int_equal(vb_recovery_check(&r, &f), -EINVAL);
	assert_fault(&f, "adp_timeout_stretch", -1, "must be 0, 1 or 2");
	r.min_ack_timeout = 32;
	assert_int_equal(vb_recovery_check(&r, &f), -EINVAL);
	assert_fault(&f, "min_ack_timeout", -1, "must be at most 31");
	r.ack_dscp = 64;
	assert_int_equal(vb_recovery_check(&r, &f), -EINVAL);
	assert_fault(&f, "ack_dscp", -1, "must be at most 63");
	r.adp_retx_profile_id = 2;
	assert_int_equal(vb_recovery_check(&r, &f), -EINVAL);
	assert_fault(&f, "adp_retx_profile_id", -1, "must be at most adp_retx_profile_max_id, 1");
}

/* A profile whose initial values do not all lie in a range is recommended against; the last value
 * and the first one count too. ADP-08 */
static void profile_warning__in_words(void **state)
{
	struct vb_adp_profile p = valid();
	struct vb_recovery_fault w = {0};

	(void)state;
	p.timeout_init_range_size = 7; /* 12 to 18, of which the ranges have all */
	assert_false(vb_adp_profile_warn(&p, &w));
	p.timeout_init_range_size = 8;
	assert_true(vb_adp_profile_warn(&p, &w));
	assert_fault(&w, "timeout_init_low_bound", -1,
		     "should give only values that lie in a range");
	p.timeout_init_range_size = 0; /* one value */
	assert_false(vb_adp_profile_warn(&p, &w));
	p.timeout_init_low_bound = 11;
	assert_true(vb_adp_profile_warn(&p, &w));
	p.timeout_init_low_bound = 18;
	assert_false(vb_adp_profile_warn(&p, &w));
	p.timeout_init_low_bound = 19;
	assert_true(vb_adp_profile_warn(&p, &w));
	/* A range of no size is one value, and a range that is not valid is none. */
	p.timeout_range[1].range_size = 0;
	p.timeout_init_low_bound = 16;
	assert_false(vb_adp_profile_warn(&p, &w));
	p.timeout_init_low_bound = 17;
	assert_true(vb_adp_profile_warn(&p, &w));
	p.range_num = 1;
	p.timeout_init_low_bound = 16;
	assert_true(vb_adp_profile_warn(&p, &w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(move__in_words),
	    cmocka_unit_test(profile_rule__in_words),
	    cmocka_unit_test(profile_rule__at_its_bound),
	    cmocka_unit_test(recovery_rule__in_words),
	    cmocka_unit_test(profile_warning__in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
