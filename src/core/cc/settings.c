/* SPDX-License-Identifier: BSD-2-Clause */
/* Units, presets and limits of congestion control's settings. See settings.h. */
#include "core/cc/settings.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define PAPER_CLK_HZ 250000000u
#define PAPER_AI_BPS UINT64_C(40000000)
#define PAPER_HAI_BPS                                                                              \
	UINT64_C(200000000) /* the paper has none; its own simulator's. facts B.11                 \
			     */

uint32_t vb_cc_units_q8(uint64_t rate_bps, uint32_t clk_hz)
{
	/* rate / (clk * 8 / 1024), times 256: rate * 2^15 / clk */
	if (rate_bps > UINT64_MAX >> 16)
		return VB_CC_STEP_Q8_MAX;

	uint64_t q8 = ((rate_bps << 15) + clk_hz / 2) / clk_hz;

	return q8 > VB_CC_STEP_Q8_MAX ? VB_CC_STEP_Q8_MAX : (uint32_t)q8;
}

uint64_t vb_cc_bps(uint32_t units_q8, uint32_t clk_hz)
{
	return (uint64_t)units_q8 * clk_hz >> 15;
}

void vb_cc_settings_paper(struct vb_cc_settings *s, uint64_t rate_bps)
{
	uint32_t clk = PAPER_CLK_HZ;

	while (clk < VB_CC_CLK_HZ_MAX && vb_cc_units_q8(rate_bps, clk) >> 8 >= VB_CC_RATE_MAX)
		clk = clk > VB_CC_CLK_HZ_MAX / 2 ? VB_CC_CLK_HZ_MAX : clk * 2;
	*s = (struct vb_cc_settings){
	    .dcqcn_hw_en = true,
	    .hw_rate_throttle_en = true,
	    .speed_limiter_en = true,
	    .dcqcn_rx_cnp_merge_period = 50,
	    .dcqcn_nocnp_timer_th = 55,
	    .dcqcn_max_rate = (uint16_t)(vb_cc_units_q8(rate_bps, clk) >> 8),
	    .dcqcn_byte_cnt_th = 156250, /* 10 MB in units of 64 bytes */
	    .byte_cnt_unit_log2 = 6,
	    .dcqcn_alpha_timer_th = 55,
	    .cnp_timer_thrd = 50,
	    .cc_clk_hz = clk,
	    .dcqcn_upd_alpha_g = 4,
	    .dcqcn_alpha_rate_shift = 1,
	    .dcqcn_rate_ai_q8 = vb_cc_units_q8(PAPER_AI_BPS, clk),
	    .dcqcn_rate_hai_q8 = vb_cc_units_q8(PAPER_HAI_BPS, clk),
	    .dcqcn_min_rate = 1,
	    .dcqcn_fr_threshold = 5,
	    .alpha_frac_bits = VB_CC_ALPHA_FRAC_MAX,
	    .initial_alpha = VB_CC_ALPHA_MAX,
	    .inactivity_th = 1000,
	    .np_en = true,
	    .np_min_cnp_us = 50,
	    .np_cnp_dscp = 48,
	    .ecn_en = true,
	    .rxq_en = true,
	    .rxq_kmin = 70,
	    .rxq_kmax = 100,
	    .rxq_pmax = 10,
	};
}

void vb_cc_settings_notify(struct vb_cc_settings *s)
{
	*s = (struct vb_cc_settings){
	    .cc_clk_hz = PAPER_CLK_HZ,
	    .np_en = true,
	    .np_min_cnp_us = 50,
	    .np_cnp_dscp = 48,
	    .ecn_en = true,
	};
}

static const char *const clamp_names[] = {"always", "after-increase", "after-bytes"};
static const char *const alpha_names[] = {"active", "always"};
static const char *const cut_names[] = {"at-once", "periodic"};

#define FIELD(member, kind_, min_, max_, rule_)                                                    \
	{                                                                                          \
		.name = #member, .rule = rule_, .kind = kind_,                                     \
		.size = sizeof(((struct vb_cc_settings *)0)->member),                              \
		.at = offsetof(struct vb_cc_settings, member), .min = min_, .max = max_            \
	}
#define FLAG(member) FIELD(member, VB_CC_BOOL, 0, 1, "must be true or false")
#define NUMBER(member, max_, rule_) FIELD(member, VB_CC_NUMBER, 0, max_, rule_)
#define USEC(member) NUMBER(member, UINT16_MAX, "must be at most 65535 us")
#define RATE(member) FIELD(member, VB_CC_RATE, 0, VB_CC_RATE_MAX, "must be at most 65535 units")
#define NAMED(member, names_, max_, rule_)                                                         \
	{                                                                                          \
		.name = #member, .rule = rule_, .kind = VB_CC_NAME, .size = 1,                     \
		.at = offsetof(struct vb_cc_settings, member), .max = max_, .names = names_        \
	}
#define STEP(name_, member)                                                                        \
	{                                                                                          \
		.name = name_, .rule = "must be at most 65535 units", .kind = VB_CC_STEP,          \
		.size = 4, .at = offsetof(struct vb_cc_settings, member), .max = VB_CC_STEP_Q8_MAX \
	}

const struct vb_cc_field vb_cc_fields[] = {
    FLAG(dcqcn_hw_en),
    FLAG(hw_rate_throttle_en),
    FLAG(tx_wqe_ost_limit_en),
    FLAG(speed_limiter_en),
    USEC(dcqcn_rx_cnp_merge_period),
    USEC(dcqcn_nocnp_timer_th),
    RATE(dcqcn_max_rate),
    NUMBER(dcqcn_byte_cnt_th, VB_CC_BYTE_CNT_MAX, "must fit 19 bits"),
    USEC(dcqcn_alpha_timer_th),
    USEC(cnp_timer_thrd),
    FIELD(cc_clk_hz, VB_CC_NUMBER, VB_CC_CLK_HZ_MIN, VB_CC_CLK_HZ_MAX, "must be 1 MHz to 4 GHz"),
    NUMBER(dcqcn_upd_alpha_g, 1023, "must be at most 1023"),
    NUMBER(dcqcn_alpha_rate_shift, 15, "must be at most 15"),
    STEP("dcqcn_rate_ai", dcqcn_rate_ai_q8),
    STEP("dcqcn_rate_hai", dcqcn_rate_hai_q8),
    RATE(dcqcn_min_rate),
    NUMBER(dcqcn_fr_threshold, UINT8_MAX, "must be at most 255"),
    NUMBER(byte_cnt_unit_log2, 15, "must be at most 15"),
    NAMED(clamp_mode, clamp_names, VB_CC_CLAMP_AFTER_BYTES,
	  "must be always, after-increase or after-bytes"),
    NAMED(cut_mode, cut_names, VB_CC_CUT_PERIODIC, "must be at-once or periodic"),
    NAMED(alpha_mode, alpha_names, VB_CC_ALPHA_ALWAYS, "must be active or always"),
    NUMBER(min_dec_fac, 100, "must be at most 100"),
    NUMBER(alpha_frac_bits, VB_CC_ALPHA_FRAC_MAX, "must be at most 10"),
    NUMBER(initial_alpha, VB_CC_ALPHA_MAX, "must be at most 1023"),
    RATE(initial_rate),
    USEC(inactivity_th),
    FLAG(cnp_irq_en),
    FLAG(np_en),
    USEC(np_min_cnp_us),
    NUMBER(np_cnp_dscp, 63, "must be at most 63"),
    FLAG(ecn_en),
    FLAG(rxq_en),
    NUMBER(rxq_kmin, VB_CC_RXQ_MAX, "must be at most 1000 percent"),
    NUMBER(rxq_kmax, VB_CC_RXQ_MAX, "must be at most 1000 percent"),
    NUMBER(rxq_pmax, 100, "must be at most 100 percent"),
    NUMBER(limiter_burst_ns, 1000000000, "must be at most 1 s"),
    NUMBER(limiter_burst_bytes, 1u << 20, "must be at most 1048576"),
};
const unsigned vb_cc_field_cnt = sizeof vb_cc_fields / sizeof vb_cc_fields[0];

uint32_t vb_cc_field_get(const struct vb_cc_field *f, const struct vb_cc_settings *s)
{
	const uint8_t *at = (const uint8_t *)s + f->at;
	uint32_t v32;
	uint16_t v16;

	switch (f->size) {
	case 1:
		return *at;
	case 2:
		memcpy(&v16, at, sizeof v16);
		return v16;
	default:
		memcpy(&v32, at, sizeof v32);
		return v32;
	}
}

void vb_cc_field_put(const struct vb_cc_field *f, struct vb_cc_settings *s, uint32_t value)
{
	uint8_t *at = (uint8_t *)s + f->at;
	uint16_t v16 = (uint16_t)value;

	switch (f->size) {
	case 1:
		*at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &v16, sizeof v16);
		break;
	default:
		memcpy(at, &value, sizeof value);
		break;
	}
}

bool vb_cc_settings_eq(const struct vb_cc_settings *a, const struct vb_cc_settings *b)
{
	for (unsigned i = 0; i < vb_cc_field_cnt; i++)
		if (vb_cc_field_get(&vb_cc_fields[i], a) != vb_cc_field_get(&vb_cc_fields[i], b))
			return false;
	return true;
}

int vb_cc_settings_check(const struct vb_cc_settings *s, struct vb_cc_fault *fault)
{
	/* Zeros are off, and nothing then reads the clock. */
	bool reads_clock = s->dcqcn_hw_en || vb_cc_limits(s);
	struct vb_cc_fault at = {0};

	for (unsigned i = 0; i < vb_cc_field_cnt && !at.field; i++) {
		const struct vb_cc_field *f = &vb_cc_fields[i];
		uint32_t v = vb_cc_field_get(f, s);

		if (v > f->max || (v < f->min && reads_clock))
			at = (struct vb_cc_fault){f->name, f->rule};
	}
	if (!at.field && s->rxq_kmin > s->rxq_kmax)
		at = (struct vb_cc_fault){"rxq_kmin", "must be at most rxq_kmax"};
	if (!at.field)
		return 0;
	if (fault)
		*fault = at;
	return -EINVAL;
}
