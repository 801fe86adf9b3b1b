/* SPDX-License-Identifier: BSD-2-Clause */
/* Units, presets and limits of congestion control's settings. See settings.h. */
#include "core/cc/settings.h"

#include <errno.h>
#include <stddef.h>

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
	    .tx_wqe_ost_limit_en = true,
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
	    .np_en = true,
	    .np_min_cnp_us = 50,
	    .np_cnp_dscp = 48,
	    .ecn_en = true,
	};
}

int vb_cc_settings_check(const struct vb_cc_settings *s, struct vb_cc_fault *fault)
{
	const struct {
		const char *field, *rule;
		uint32_t value, min, max;
	} t[] = {
	    {"cc_clk_hz", "must be 1 MHz to 4 GHz", s->cc_clk_hz, VB_CC_CLK_HZ_MIN,
	     VB_CC_CLK_HZ_MAX},
	    {"dcqcn_byte_cnt_th", "must fit 19 bits", s->dcqcn_byte_cnt_th, 0, VB_CC_BYTE_CNT_MAX},
	    {"dcqcn_upd_alpha_g", "must be at most 1023", s->dcqcn_upd_alpha_g, 0, 1023},
	    {"dcqcn_alpha_rate_shift", "must be at most 15", s->dcqcn_alpha_rate_shift, 0, 15},
	    {"dcqcn_rate_ai", "must be at most 65535", s->dcqcn_rate_ai_q8, 0, VB_CC_STEP_Q8_MAX},
	    {"dcqcn_rate_hai", "must be at most 65535", s->dcqcn_rate_hai_q8, 0, VB_CC_STEP_Q8_MAX},
	    {"byte_cnt_unit_log2", "must be at most 15", s->byte_cnt_unit_log2, 0, 15},
	    {"clamp_mode", "must be always, after-increase or after-bytes", s->clamp_mode, 0,
	     VB_CC_CLAMP_AFTER_BYTES},
	    {"cut_mode", "must be at-once or periodic", s->cut_mode, 0, VB_CC_CUT_PERIODIC},
	    {"min_dec_fac", "must be at most 100", s->min_dec_fac, 0, 100},
	    {"alpha_frac_bits", "must be at most 10", s->alpha_frac_bits, 0, VB_CC_ALPHA_FRAC_MAX},
	    {"initial_alpha", "must be at most 1023", s->initial_alpha, 0, VB_CC_ALPHA_MAX},
	    {"np_cnp_dscp", "must be at most 63", s->np_cnp_dscp, 0, 63},
	    {"limiter_burst_ns", "must be at most 1 s", s->limiter_burst_ns, 0, 1000000000},
	};
	/* Zeros are off, and nothing then reads the clock. */
	bool is_used = s->dcqcn_hw_en || vb_cc_limits(s);

	for (size_t i = is_used ? 0 : 1; i < sizeof t / sizeof t[0]; i++) {
		if (t[i].value < t[i].min || t[i].value > t[i].max) {
			if (fault)
				*fault = (struct vb_cc_fault){t[i].field, t[i].rule};
			return -EINVAL;
		}
	}
	return 0;
}
