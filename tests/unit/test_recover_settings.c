/* SPDX-License-Identifier: BSD-2-Clause */
/* The recovery settings: presets, and every rule of a profile broken one at a time. */
#include "core/recover/settings.h"

#include "cmocka_env.h"

#include <errno.h>

static struct vb_adp_profile valid(void)
{
	return (struct vb_adp_profile){
	    .qp_total_timeout = true,
	    .range_num = 2,
	    .time_unit = VB_ADP_TIME_USEC,
	    .time_base = 4,
	    .timeout_init_low_bound = 12,
	    .timeout_init_range_size = 4,
	    .timeout_range = {{0, VB_ADP_DEC_DIV_2, 2, 12, 4}, {0, VB_ADP_DEC_DIV_4, 1, 16, 3}},
	};
}

static void assert_refused(const struct vb_adp_profile *p, const char *field, int range)
{
	struct vb_recovery_fault f = {0};

	assert_int_equal(vb_adp_profile_check(p, &f), -EINVAL);
	assert_string_equal(f.field, field);
	assert_int_equal(f.range, range);
	assert_non_null(f.rule);
	assert_int_equal(vb_adp_profile_check(p, NULL), -EINVAL);
}

static void profile_check__valid(void **state)
{
	struct vb_adp_profile p = valid();

	(void)state;
	assert_int_equal(vb_adp_profile_check(&p, NULL), 0);
	assert_int_equal(vb_adp_profile_check(&vb_adp_firmware, NULL), 0);
	/* Ranges behind range_num are not looked at. REG-25 */
	p.timeout_range[2].dec_mode = 3;
	assert_int_equal(vb_adp_profile_check(&p, NULL), 0);
}

static void profile_check__each_rule(void **state)
{
	struct vb_adp_profile p;

	(void)state;
	p = valid(), p.range_num = 0; /* REG-19 */
	assert_refused(&p, "range_num", -1);
	p = valid(), p.range_num = 5;
	assert_refused(&p, "range_num", -1);
	p = valid(), p.start_range_index = 2; /* REG-20 */
	assert_refused(&p, "start_range_index", -1);
	p = valid(), p.time_unit = 0; /* REG-21 */
	assert_refused(&p, "time_unit", -1);
	p = valid(), p.time_base = 12; /* ADP-10 */
	assert_refused(&p, "time_base", -1);
	p = valid(), p.time_base = 0;
	assert_refused(&p, "time_base", -1);
	p = valid(), p.time_base = 2;
	assert_refused(&p, "time_base", -1);
	p = valid(), p.timeout_range[1].range_low_bound = 12; /* ADP-15 */
	assert_refused(&p, "range_low_bound", 1);
	p = valid(), p.timeout_range[1].prev_range_index = 1; /* ADP-24 */
	assert_refused(&p, "prev_range_index", 1);
	p = valid(), p.timeout_range[0].prev_range_index = 1;
	assert_refused(&p, "prev_range_index", 0);
	p = valid(), p.timeout_range[1].dec_mode = 3; /* REG-28 */
	assert_refused(&p, "dec_mode", 1);
	p = valid(), p.timeout_range[0].timeout_retry_num = 1024; /* REG-29 */
	assert_refused(&p, "timeout_retry_num", 0);
}

static void recovery_check__each_rule(void **state)
{
	struct vb_recovery r = vb_recovery_default;

	(void)state;
	assert_int_equal(vb_recovery_check(&r, NULL), 0);
	assert_int_equal(vb_recovery_check(&(struct vb_recovery){0}, NULL), 0);
	r.adp_retx_profile_id = 2; /* ADP-32 */
	assert_int_equal(vb_recovery_check(&r, NULL), -EINVAL);
	r.adp_retx_profile_id = 1; /* an empty profile is not valid */
	assert_int_equal(vb_recovery_check(&r, NULL), -EINVAL);
	r.profile = valid();
	assert_int_equal(vb_recovery_check(&r, NULL), 0);
	r.ack_dscp = 64;
	assert_int_equal(vb_recovery_check(&r, NULL), -EINVAL);
	r = vb_recovery_default, r.min_ack_timeout = 32;
	assert_int_equal(vb_recovery_check(&r, NULL), -EINVAL);
	r = vb_recovery_default, r.adp_timeout_stretch = 3;
	assert_int_equal(vb_recovery_check(&r, NULL), -EINVAL);
}

/* ADP-28: profile id 0 is the firmware's ladder. */
static void recovery_profile__by_id(void **state)
{
	struct vb_recovery r = {0};

	(void)state;
	assert_ptr_equal(vb_recovery_profile(&r), &vb_adp_firmware);
	r.adp_retx_profile_id = 1;
	assert_ptr_equal(vb_recovery_profile(&r), &r.profile);
}

/* facts C.2: what the vendor tool's presets switch, and that they touch nothing else. */
static void recovery_presets__lossy_and_lossless(void **state)
{
	struct vb_recovery r = vb_recovery_default;

	(void)state;
	r.adp_retx_profile_id = 1;
	vb_recovery_set_lossy(&r);
	assert_true(r.roce_adp_retrans_en && r.roce_tx_window_en && r.roce_slow_restart_en);
	vb_recovery_set_lossless(&r);
	assert_false(r.roce_adp_retrans_en || r.roce_tx_window_en || r.roce_slow_restart_en);
	assert_int_equal(r.adp_retx_profile_id, 1);
	assert_int_equal(r.min_ack_timeout, 12);
}

/* ADP-08: only a recommendation. */
static void profile_warn__initial_value_outside_ranges(void **state)
{
	struct vb_adp_profile p = valid();
	struct vb_recovery_fault f;

	(void)state;
	assert_false(vb_adp_profile_warn(&p, &f));
	assert_false(vb_adp_profile_warn(&vb_adp_firmware, &f));
	p.timeout_init_low_bound = 11;
	assert_true(vb_adp_profile_warn(&p, &f));
	assert_string_equal(f.field, "timeout_init_low_bound");
	assert_int_equal(vb_adp_profile_check(&p, NULL), 0);
	p.timeout_init_low_bound = 18;
	p.timeout_init_range_size = 2;
	assert_true(vb_adp_profile_warn(&p, &f)); /* 19 is the upper bound, not a value */
	p.timeout_init_range_size = 0;
	assert_false(vb_adp_profile_warn(&p, &f)); /* ADP-02 */
}

static void fired_ns__slots(void **state)
{
	(void)state;
	assert_int_equal(vb_adp_fired_ns(2), 4000);
	assert_int_equal(vb_adp_fired_ns(64 + 14), 67108864);
	assert_true(vb_adp_fired_ns(63) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(profile_check__valid),
	    cmocka_unit_test(profile_check__each_rule),
	    cmocka_unit_test(recovery_check__each_rule),
	    cmocka_unit_test(recovery_profile__by_id),
	    cmocka_unit_test(recovery_presets__lossy_and_lossless),
	    cmocka_unit_test(profile_warn__initial_value_outside_ranges),
	    cmocka_unit_test(fired_ns__slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
