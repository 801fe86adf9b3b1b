/* SPDX-License-Identifier: BSD-2-Clause */
/* Presets and rules of the recovery settings. ADP-02, -10, -15, -24, -25; REG-19...31 */
#include "core/recover/settings.h"

#include <errno.h>
#include <stddef.h>

const struct vb_adp_profile vb_adp_firmware = {
    .qp_total_timeout = true,
    .range_num = 2,
    .time_unit = VB_ADP_TIME_USEC,
    .time_base = 4,
    .timeout_init_low_bound = 10,
    .timeout_init_range_size = 2,
    .timeout_range = {{0, VB_ADP_DEC_DIV_2, 1, 10, 4}, {0, VB_ADP_DEC_DIV_2, 1, 14, 4}},
};

const struct vb_recovery vb_recovery_default = {
    .roce_adp_retrans_en = true,
    .roce_slow_restart_en = true,
    .dc_half_handshake_en = true,
    /* Measured on ConnectX-5 and -6: a timeout below 12 behaves like 12. */
    .min_ack_timeout = 12,
};

void vb_recovery_set_lossy(struct vb_recovery *r)
{
	r->roce_adp_retrans_en = r->roce_tx_window_en = r->roce_slow_restart_en = true;
}

void vb_recovery_set_lossless(struct vb_recovery *r)
{
	r->roce_adp_retrans_en = r->roce_tx_window_en = r->roce_slow_restart_en = false;
}

static int rule_broken(struct vb_recovery_fault *fault, const char *field, int range,
		       const char *rule)
{
	if (fault)
		*fault = (struct vb_recovery_fault){field, rule, range};
	return -EINVAL;
}

static int range_check(const struct vb_adp_profile *p, int i, struct vb_recovery_fault *fault)
{
	const struct vb_adp_range *r = &p->timeout_range[i];

	if (r->dec_mode > VB_ADP_DEC_LOW_BOUND)
		return rule_broken(fault, "dec_mode", i,
				   "must be 0 (DIV_4), 1 (DIV_2) or 2 (LOW_BOUND)");
	if (r->timeout_retry_num > VB_ADP_RETRY_NUM_MAX)
		return rule_broken(fault, "timeout_retry_num", i, "must be at most 1023");
	if (i == 0)
		return r->prev_range_index ? rule_broken(fault, "prev_range_index", i,
							 "must be 0 in the first range")
					   : 0;
	if (r->prev_range_index >= i)
		return rule_broken(fault, "prev_range_index", i,
				   "must be less than the range's own index");
	if (r->range_low_bound <= p->timeout_range[i - 1].range_low_bound)
		return rule_broken(fault, "range_low_bound", i,
				   "must be greater than that of the range before it");
	return 0;
}

int vb_adp_profile_check(const struct vb_adp_profile *p, struct vb_recovery_fault *fault)
{
	if (p->range_num < 1 || p->range_num > VB_ADP_RANGES_MAX)
		return rule_broken(fault, "range_num", -1, "must be from 1 to 4");
	if (p->start_range_index >= p->range_num)
		return rule_broken(fault, "start_range_index", -1, "must be less than range_num");
	if (p->time_unit != VB_ADP_TIME_USEC)
		return rule_broken(fault, "time_unit", -1, "must be 1 (TIME_USEC)");
	if (p->time_base == 0 || (p->time_base & (p->time_base - 1)))
		return rule_broken(fault, "time_base", -1, "must be a power of 2");
	if (p->time_base * 1000u < VB_ADP_BASE_MIN_NS)
		return rule_broken(fault, "time_base", -1,
				   "must be at least adp_retx_base_timeout_min, 4000 ns");
	for (int i = 0; i < p->range_num; i++) {
		int err = range_check(p, i, fault);

		if (err)
			return err;
	}
	return 0;
}

int vb_recovery_check(const struct vb_recovery *r, struct vb_recovery_fault *fault)
{
	if (r->adp_retx_profile_id > VB_ADP_PROFILE_ID_MAX)
		return rule_broken(fault, "adp_retx_profile_id", -1,
				   "must be at most adp_retx_profile_max_id, 1");
	if (r->ack_dscp > VB_DSCP_MAX)
		return rule_broken(fault, "ack_dscp", -1, "must be at most 63");
	if (r->min_ack_timeout > 31)
		return rule_broken(fault, "min_ack_timeout", -1, "must be at most 31");
	if (r->adp_timeout_stretch > VB_STRETCH_MAX)
		return rule_broken(fault, "adp_timeout_stretch", -1, "must be 0, 1 or 2");
	return r->adp_retx_profile_id ? vb_adp_profile_check(&r->profile, fault) : 0;
}

bool vb_adp_profile_warn(const struct vb_adp_profile *p, struct vb_recovery_fault *warning)
{
	unsigned low = p->timeout_init_low_bound;
	unsigned size = p->timeout_init_range_size ? p->timeout_init_range_size : 1;

	for (unsigned e = low; e < low + size; e++) {
		bool inside = false;

		for (int i = 0; i < p->range_num && i < VB_ADP_RANGES_MAX; i++) {
			const struct vb_adp_range *r = &p->timeout_range[i];
			unsigned values = r->range_size ? r->range_size : 1;

			inside |= e >= r->range_low_bound && e < r->range_low_bound + values;
		}
		if (!inside) {
			rule_broken(warning, "timeout_init_low_bound", -1,
				    "should give only values that lie in a range");
			return true;
		}
	}
	return false;
}
