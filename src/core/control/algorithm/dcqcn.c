/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN behind verbena/cc.h: the reaction point that the registers have (core/cc/dcqcn.c) with its
 * rate as bit/s, its timer of increases as the algorithm's, and the account of the interface in
 * place of the limiter. It paces requesters of RC, and has no register. Zhu et al., SIGCOMM 2015;
 * docs/congestion-control.md says how the two relate.
 */
#include "base/assert.h"
#include "core/cc/cc.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

enum {
	G,
	ALPHA_TIMER,
	INCREASE_TIMER,
	BYTE_COUNTER,
	FAST_RECOVERY,
	RATE_AI,
	RATE_HAI,
	MIN_RATE,
	CNP_MERGE,
	DCQCN_PARAMETERS
};

struct dcqcn {
	struct vb_cc cc;
	struct vb_cc_settings set;
	bool is_idle; /* nothing is in flight */
};

#define US_MAX (65535 * VB_USEC)

/* The values are those of the preset "paper". */
static const struct verbena_cc_parameter dcqcn_parameter[DCQCN_PARAMETERS] = {
    [G] = VB_CC_PARAMETER("g", NUMBER, 0, 1023, 4, "weight of a new sample in alpha, in 1024ths"),
    [ALPHA_TIMER] = VB_CC_PARAMETER("alpha-timer", TIME, VB_USEC, US_MAX, 55 * VB_USEC,
				    "time without a CNP after which alpha decays, whole us"),
    [INCREASE_TIMER] = VB_CC_PARAMETER("increase-timer", TIME, VB_USEC, US_MAX, 55 * VB_USEC,
				       "time from one increase to the next, whole us"),
    [BYTE_COUNTER] = VB_CC_PARAMETER("byte-counter", BYTES, 64, UINT64_C(1) << 30, 10000000,
				     "bytes from one increase to the next"),
    [FAST_RECOVERY] = VB_CC_PARAMETER("fast-recovery", NUMBER, 0, 255, 5,
				      "increases half of the way back, before the rate is probed"),
    [RATE_AI] = VB_CC_PARAMETER("rate-ai", RATE, 1000000, VB_CC_RATE_TOP, 40000000,
				"step of additive increases"),
    [RATE_HAI] = VB_CC_PARAMETER("rate-hai", RATE, 1000000, VB_CC_RATE_TOP, 200000000,
				 "step of hyper increases"),
    [MIN_RATE] = VB_CC_PARAMETER("min-rate", RATE, 1000000, VB_CC_RATE_TOP, VERBENA_CC_NONE,
				 "the least rate; unless given, one unit of the registers"),
    [CNP_MERGE] = VB_CC_PARAMETER("cnp-merge", TIME, 0, US_MAX, 50 * VB_USEC,
				  "time after a cut in which CNPs do not cut, whole us"),
};

static uint16_t units_of(const struct dcqcn *d, uint64_t bps)
{
	uint32_t units = vb_cc_units_q8(bps, d->set.cc_clk_hz) >> 8;

	return (uint16_t)(units < VB_CC_RATE_MAX ? units : VB_CC_RATE_MAX);
}

/* The rate that is in force, and when it rises again. */
static void dcqcn_output(const struct dcqcn *d, struct verbena_cc_control *out)
{
	out->rate = vb_cc_bps((uint32_t)vb_cc_current_rate(&d->cc) << 8, d->set.cc_clk_hz);
	out->timer = d->cc.nocnp_at;
	VB_ASSERT_ALL(out->rate > 0);
}

static void dcqcn_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		       struct verbena_cc_control *out)
{
	struct dcqcn *d = state;
	struct vb_cc_settings *set = &d->set;
	uint64_t bytes = value[BYTE_COUNTER];

	vb_cc_settings_paper(set, facts->line_rate);
	set->dcqcn_upd_alpha_g = (uint16_t)value[G];
	set->dcqcn_alpha_timer_th = (uint16_t)(value[ALPHA_TIMER] / VB_USEC);
	set->dcqcn_nocnp_timer_th = (uint16_t)(value[INCREASE_TIMER] / VB_USEC);
	set->dcqcn_rx_cnp_merge_period = (uint16_t)(value[CNP_MERGE] / VB_USEC);
	while (bytes >> set->byte_cnt_unit_log2 > VB_CC_BYTE_CNT_MAX)
		set->byte_cnt_unit_log2++;
	set->dcqcn_byte_cnt_th = (uint32_t)(bytes >> set->byte_cnt_unit_log2);
	set->dcqcn_fr_threshold = (uint8_t)value[FAST_RECOVERY];
	set->dcqcn_rate_ai_q8 = vb_cc_units_q8(value[RATE_AI], set->cc_clk_hz);
	set->dcqcn_rate_hai_q8 = vb_cc_units_q8(value[RATE_HAI], set->cc_clk_hz);
	if (value[MIN_RATE] != VERBENA_CC_NONE)
		set->dcqcn_min_rate = units_of(d, value[MIN_RATE]);
	/* The limiter is not asked. It tells a flow that waits for its rate from one that is idle.
	 */
	VB_ASSERT(set->byte_cnt_unit_log2 < 16 && vb_cc_limits(set));
	vb_cc_reset(&d->cc, set, facts->now);
	d->is_idle = true;
	dcqcn_output(d, out);
}

static void dcqcn_on_sent(void *state, const struct verbena_cc_sent *sent,
			  struct verbena_cc_control *out)
{
	struct dcqcn *d = state;

	if (d->is_idle)
		vb_cc_on_flow(&d->cc, &d->set, sent->now);
	d->is_idle = false;
	vb_cc_on_sent(&d->cc, &d->set, sent->bytes, sent->now);
	dcqcn_output(d, out);
}

/* ACKs say nothing to it but that a flow has ended. */
static void dcqcn_on_ack(void *state, const struct verbena_cc_ack *ack,
			 struct verbena_cc_control *out)
{
	struct dcqcn *d = state;

	(void)out;
	VB_ASSERT_ALL(ack->acked <= ack->sent);
	d->is_idle = ack->acked == ack->sent;
}

static void dcqcn_on_cnp(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct dcqcn *d = state;

	(void)vb_cc_on_cnp(&d->cc, &d->set, now);
	dcqcn_output(d, out);
}

static void dcqcn_on_timer(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct dcqcn *d = state;

	vb_cc_on_time(&d->cc, &d->set, now);
	dcqcn_output(d, out);
}

const struct verbena_cc_algorithm vb_cc_dcqcn = {
    .version = VERBENA_CC_VERSION,
    .state_bytes = sizeof(struct dcqcn),
    .name = "dcqcn",
    .needs = VERBENA_CC_NEEDS_CNP,
    .parameter_cnt = DCQCN_PARAMETERS,
    .parameter = dcqcn_parameter,
    .init = dcqcn_init,
    .on_sent = dcqcn_on_sent,
    .on_ack = dcqcn_on_ack,
    .on_cnp = dcqcn_on_cnp,
    .on_timer = dcqcn_on_timer,
};
