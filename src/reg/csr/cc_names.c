/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that operators know, see cc_names.h. */
#include "reg/csr/cc_names.h"
#include "base/assert.h"

#include <errno.h>
#include <string.h>

#define MBPS UINT64_C(1000000)
#define RATE_MBPS_MAX 4000000 /* 65535 units at 4 GHz are 2.05 Tb/s */

static uint64_t mbps_of(const struct vb_cc_settings *s, uint32_t units_q8)
{
	return (vb_cc_bps(units_q8, s->cc_clk_hz) + MBPS / 2) / MBPS;
}

static uint32_t q8_of(const struct vb_cc_settings *s, uint64_t mbps)
{
	VB_ASSERT_ALL(s->cc_clk_hz >= VB_CC_CLK_HZ_MIN); /* or nothing has a unit */
	return vb_cc_units_q8(mbps * MBPS, s->cc_clk_hz);
}

static uint16_t units_of(const struct vb_cc_settings *s, uint64_t mbps)
{
	uint32_t units = (q8_of(s, mbps) + 128) >> 8;

	return units < 1 ? 1 : units > VB_CC_RATE_MAX ? VB_CC_RATE_MAX : (uint16_t)units;
}

/* A setting of the same meaning and unit. */
#define PLAIN(field)                                                                               \
	static uint64_t get_##field(const struct vb_cc_settings *s)                                \
	{                                                                                          \
		return s->field;                                                                   \
	}                                                                                          \
	static const char *set_##field(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)    \
	{                                                                                          \
		(void)line_bps;                                                                    \
		s->field = (__typeof__(s->field))v;                                                \
		return NULL;                                                                       \
	}

PLAIN(dcqcn_nocnp_timer_th)
PLAIN(dcqcn_fr_threshold)
PLAIN(min_dec_fac)
PLAIN(dcqcn_alpha_timer_th)
PLAIN(dcqcn_rx_cnp_merge_period)
PLAIN(initial_alpha)
PLAIN(np_cnp_dscp)
PLAIN(np_min_cnp_us)
PLAIN(np_en)

static uint64_t get_clamp(const struct vb_cc_settings *s)
{
	return s->clamp_mode == VB_CC_CLAMP_ALWAYS;
}

static const char *set_clamp(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	if (v)
		s->clamp_mode = VB_CC_CLAMP_ALWAYS;
	else if (s->clamp_mode == VB_CC_CLAMP_ALWAYS)
		s->clamp_mode = VB_CC_CLAMP_AFTER_INCREASE;
	return NULL;
}

static uint64_t get_clamp_ati(const struct vb_cc_settings *s)
{
	return s->clamp_mode != VB_CC_CLAMP_AFTER_BYTES;
}

static const char *set_clamp_ati(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	if (s->clamp_mode == VB_CC_CLAMP_ALWAYS)
		return v ? NULL : "means nothing while rp_clamp_tgt_rate is 1: set that to 0 first";
	s->clamp_mode = v ? VB_CC_CLAMP_AFTER_INCREASE : VB_CC_CLAMP_AFTER_BYTES;
	return NULL;
}

/* CC-17: units of 64 bytes. */
static uint64_t get_byte_reset(const struct vb_cc_settings *s)
{
	return ((uint64_t)s->dcqcn_byte_cnt_th << s->byte_cnt_unit_log2) >> 6;
}

static const char *set_byte_reset(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	s->byte_cnt_unit_log2 = 6;
	s->dcqcn_byte_cnt_th = (uint32_t)v;
	return NULL;
}

static uint64_t get_ai(const struct vb_cc_settings *s)
{
	return mbps_of(s, s->dcqcn_rate_ai_q8);
}

static const char *set_ai(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	s->dcqcn_rate_ai_q8 = q8_of(s, v);
	return NULL;
}

static uint64_t get_hai(const struct vb_cc_settings *s)
{
	return mbps_of(s, s->dcqcn_rate_hai_q8);
}

static const char *set_hai(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	s->dcqcn_rate_hai_q8 = q8_of(s, v);
	return NULL;
}

static uint64_t get_max_rate(const struct vb_cc_settings *s)
{
	return mbps_of(s, (uint32_t)s->dcqcn_max_rate << 8);
}

static const char *set_max_rate(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	if (v == 0 && line_bps == 0)
		return "must not be 0, the rate of the link, which is not known here";
	s->dcqcn_max_rate = units_of(s, v ? v : line_bps / MBPS);
	return NULL;
}

static uint64_t get_min_rate(const struct vb_cc_settings *s)
{
	return mbps_of(s, (uint32_t)s->dcqcn_min_rate << 8);
}

static const char *set_min_rate(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	s->dcqcn_min_rate = units_of(s, v);
	return NULL;
}

/* CC-29: theirs is the weight of the old value. */
static uint64_t get_tcp_g(const struct vb_cc_settings *s)
{
	return 1024u - s->dcqcn_upd_alpha_g;
}

static const char *set_tcp_g(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	VB_ASSERT_ALL(v >= 1 && v <= 1024);
	s->dcqcn_upd_alpha_g = (uint16_t)(1024 - v);
	return NULL;
}

/* CC-10 */
static uint64_t get_gd(const struct vb_cc_settings *s)
{
	return 10u + s->dcqcn_alpha_rate_shift;
}

static const char *set_gd(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	VB_ASSERT_ALL(v >= 10 && v <= 25);
	s->dcqcn_alpha_rate_shift = (uint8_t)(v - 10);
	return NULL;
}

static uint64_t get_zero(const struct vb_cc_settings *s)
{
	(void)s;
	return 0;
}

static uint64_t get_one(const struct vb_cc_settings *s)
{
	(void)s;
	return 1;
}

/* CC-09 */
static const char *set_first_cnp(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)s, (void)line_bps;
	return v ? "must be 0: the first CNP cuts like any other" : NULL;
}

static const char *set_prio_mode(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)s, (void)line_bps;
	return v ? NULL : "must be 1: the priority of CNPs follows their DSCP";
}

static const char *set_prio(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)s, (void)line_bps;
	return v ? "must be 0: the priority of CNPs follows their DSCP, np_cnp_dscp" : NULL;
}

/* CC-45, CC-47 */
static uint64_t get_rp_enable(const struct vb_cc_settings *s)
{
	return s->dcqcn_hw_en && vb_cc_limits(s);
}

static const char *set_rp_enable(struct vb_cc_settings *s, uint64_t v, uint64_t line_bps)
{
	(void)line_bps;
	s->dcqcn_hw_en = s->hw_rate_throttle_en = v != 0;
	s->tx_wqe_ost_limit_en = s->speed_limiter_en = v != 0;
	s->ecn_en = v != 0;
	return NULL;
}

#define RP "roce_rp/"
#define NP "roce_np/"

const struct vb_cc_name vb_cc_names[] = {
    {NULL, RP "enable", "", "the scheme: 1 or 3, and ecn_en", 0, 1, get_rp_enable, set_rp_enable},
    {"rp_clamp_tgt_rate", RP "clamp_tgt_rate", "", "clamp_mode", 0, 1, get_clamp, set_clamp},
    {"rp_clamp_tgt_rate_ati", RP "clamp_tgt_rate_after_time_inc", "", "clamp_mode", 0, 1,
     get_clamp_ati, set_clamp_ati},
    {"rp_time_reset", RP "rpg_time_reset", "us", "dcqcn_nocnp_timer_th", 0, UINT16_MAX,
     get_dcqcn_nocnp_timer_th, set_dcqcn_nocnp_timer_th},
    {"rp_byte_reset", RP "rpg_byte_reset", "64 B", "dcqcn_byte_cnt_th", 0, VB_CC_BYTE_CNT_MAX,
     get_byte_reset, set_byte_reset},
    {"rp_threshold", RP "rpg_threshold", "", "dcqcn_fr_threshold", 0, UINT8_MAX,
     get_dcqcn_fr_threshold, set_dcqcn_fr_threshold},
    {"rp_ai_rate", RP "rpg_ai_rate", "Mb/s", "dcqcn_rate_ai", 0, RATE_MBPS_MAX, get_ai, set_ai},
    {"rp_max_rate", RP "rpg_max_rate", "Mb/s", "dcqcn_max_rate", 0, RATE_MBPS_MAX, get_max_rate,
     set_max_rate},
    {"rp_hai_rate", RP "rpg_hai_rate", "Mb/s", "dcqcn_rate_hai", 0, RATE_MBPS_MAX, get_hai,
     set_hai},
    {"rp_min_dec_fac", RP "rpg_min_dec_fac", "%", "min_dec_fac", 0, 100, get_min_dec_fac,
     set_min_dec_fac},
    {"rp_min_rate", RP "rpg_min_rate", "Mb/s", "dcqcn_min_rate", 0, RATE_MBPS_MAX, get_min_rate,
     set_min_rate},
    {"rp_rate_to_set_on_first_cnp", RP "rate_to_set_on_first_cnp", "Mb/s", "-", 0, RATE_MBPS_MAX,
     get_zero, set_first_cnp},
    {"rp_dce_tcp_g", RP "dce_tcp_g", "1/1024", "dcqcn_upd_alpha_g", 1, 1024, get_tcp_g, set_tcp_g},
    {"rp_dce_tcp_rtt", RP "dce_tcp_rtt", "us", "dcqcn_alpha_timer_th", 0, UINT16_MAX,
     get_dcqcn_alpha_timer_th, set_dcqcn_alpha_timer_th},
    {"rp_rate_reduce_monitor_period", RP "rate_reduce_monitor_period", "us",
     "dcqcn_rx_cnp_merge_period", 0, UINT16_MAX, get_dcqcn_rx_cnp_merge_period,
     set_dcqcn_rx_cnp_merge_period},
    {"rp_initial_alpha_value", RP "initial_alpha_value", "1/1024", "initial_alpha", 0,
     VB_CC_ALPHA_MAX, get_initial_alpha, set_initial_alpha},
    {"rp_gd", RP "rpg_gd", "", "dcqcn_alpha_rate_shift", 10, 25, get_gd, set_gd},
    {NULL, NP "enable", "", "np_en", 0, 1, get_np_en, set_np_en},
    {"np_cnp_dscp", NP "cnp_dscp", "", "np_cnp_dscp", 0, 63, get_np_cnp_dscp, set_np_cnp_dscp},
    {"np_cnp_prio_mode", NULL, "", "-", 0, 1, get_one, set_prio_mode},
    {"np_cnp_prio", NP "cnp_802p_prio", "", "-", 0, 7, get_zero, set_prio},
    {"np_min_time_between_cnps", NP "min_time_between_cnps", "us", "np_min_cnp_us", 0, UINT16_MAX,
     get_np_min_cnp_us, set_np_min_cnp_us},
};
const unsigned vb_cc_name_cnt = sizeof vb_cc_names / sizeof vb_cc_names[0];

static bool is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

const struct vb_cc_name *vb_cc_name_find(const char *name, size_t len)
{
	const struct vb_cc_name *found = NULL;

	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const struct vb_cc_name *n = &vb_cc_names[i];
		const char *file = n->sysfs ? strchr(n->sysfs, '/') + 1 : NULL;

		if (is_name(n->debugfs, name, len) || is_name(n->sysfs, name, len))
			return n;
		if (!is_name(file, name, len))
			continue;
		if (found)
			return NULL;
		found = n;
	}
	return found;
}

int vb_cc_name_set(const struct vb_cc_name *n, struct vb_cc_settings *s, uint64_t value,
		   uint64_t line_bps, const char **rule)
{
	struct vb_cc_settings next = *s;
	struct vb_cc_fault fault;

	*rule = NULL;
	if (value < n->min)
		*rule = "is too small";
	else if (value > n->max)
		*rule = "is too large";
	else if (next.cc_clk_hz < VB_CC_CLK_HZ_MIN)
		*rule = "has no unit while cc_clk_hz is not set";
	if (!*rule)
		*rule = n->set(&next, value, line_bps);
	if (!*rule && vb_cc_settings_check(&next, &fault))
		*rule = fault.rule;
	if (*rule)
		return -EINVAL;
	VB_ASSERT_ALL(n->get(&next) <= n->max);
	*s = next;
	return 0;
}
