/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of the reaction point from which tests of its rules begin. docs/congestion-control.md */
#ifndef VB_TESTS_UNIT_CC_ENV_H
#define VB_TESTS_UNIT_CC_ENV_H

#include "cmocka_env.h"
#include "core/cc/cc.h"

/* 256 MHz: a window is 4 us. Nothing happens by itself. */
static inline struct vb_cc_settings quiet(void)
{
	return (struct vb_cc_settings){
	    .dcqcn_hw_en = true,
	    .cc_clk_hz = 256000000,
	    .dcqcn_max_rate = 60000,
	    .dcqcn_min_rate = 1,
	    .dcqcn_alpha_rate_shift = 1,
	    .dcqcn_upd_alpha_g = 4,
	    .dcqcn_fr_threshold = 5,
	    .alpha_frac_bits = 10,
	    .initial_alpha = 1023,
	};
}

#endif
