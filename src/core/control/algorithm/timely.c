/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rate as TIMELY has it: it follows the gradient of the round-trip time between two thresholds,
 * and below and above them the round-trip time itself.
 * Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, algorithm 1
 */
#include "base/assert.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

#define US(n) ((n)*UINT64_C(1000))
#define MBPS(n) ((n)*UINT64_C(1000000))

enum {
	T_LOW,
	T_HIGH,
	MIN_RTT,
	STEP,
	DECREASE,
	WEIGHT,
	FAST_EVENTS,
	SEGMENT,
	MIN_RATE,
	INITIAL_RATE,
	TIMELY_PARAMETERS
};

static const struct verbena_cc_parameter timely_parameter[TIMELY_PARAMETERS] = {
    [T_LOW] =
	VB_CC_PARAMETER("t-low", TIME, 1, US(10000000), US(50), "below it the rate only grows"),
    [T_HIGH] =
	VB_CC_PARAMETER("t-high", TIME, 1, US(10000000), US(500), "above it the rate only falls"),
    [MIN_RTT] =
	VB_CC_PARAMETER("min-rtt", TIME, 1, US(10000000), US(20), "the unit of the gradient"),
    [STEP] = VB_CC_PARAMETER("step", RATE, 1, VB_CC_RATE_TOP, VERBENA_CC_NONE,
			     "additive increase, delta; unless given, a thousandth of the line"),
    [DECREASE] = VB_CC_PARAMETER("decrease", SHARE, 1, VB_CC_ONE, VB_CC_ONE * 8 / 10,
				 "multiplicative decrease, beta"),
    [WEIGHT] = VB_CC_PARAMETER("weight", SHARE, 1, VB_CC_ONE, VB_CC_ONE / 50,
			       "of a new difference in their mean, alpha"),
    [FAST_EVENTS] = VB_CC_PARAMETER("fast-events", NUMBER, 1, 1000, 5,
				    "increases in line before steps are so many times longer, N"),
    [SEGMENT] =
	VB_CC_PARAMETER("segment", BYTES, 1, 1u << 24, 16000, "bytes between two round-trip times"),
    [MIN_RATE] =
	VB_CC_PARAMETER("min-rate", RATE, MBPS(1), VB_CC_RATE_TOP, MBPS(10), "the least rate"),
    [INITIAL_RATE] = VB_CC_PARAMETER("initial-rate", RATE, MBPS(1), VB_CC_RATE_TOP, VERBENA_CC_NONE,
				     "of a new flow; unless given, the line's"),
};

struct timely {
	uint64_t value[TIMELY_PARAMETERS];
	uint64_t line, rate;
	uint64_t prev_rtt; /* 0: none yet */
	int64_t diff;      /* mean of differences, ns */
	uint64_t growths;  /* in line */
};

static void rate_set(struct timely *t, uint64_t rate, struct verbena_cc_control *out)
{
	uint64_t min = t->value[MIN_RATE] < t->line ? t->value[MIN_RATE] : t->line;

	t->rate = vb_cc_clamp(min, rate, t->line);
	VB_ASSERT(t->rate <= t->line);
	out->rate = t->rate;
}

static void timely_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
			struct verbena_cc_control *out)
{
	struct timely *t = state;

	for (int i = 0; i < TIMELY_PARAMETERS; i++)
		t->value[i] = value[i];
	t->line = facts->line_rate;
	if (value[STEP] == VERBENA_CC_NONE)
		t->value[STEP] = t->line / 1000; /* 10 Mb/s of the paper's 10 Gb/s */
	out->ack_bytes = out->burst_bytes = value[SEGMENT];
	rate_set(t, value[INITIAL_RATE], out);
}

/* Differences keep 16 more bits than their unit, so that their mean does not stick. */
#define DIFF_ONE 65536

static void diff_add(struct timely *t, int64_t step)
{
	int64_t weight = (int64_t)t->value[WEIGHT], one = (int64_t)VB_CC_ONE;
	int64_t most = INT64_C(1) << 40; /* 16 s: products below fit */

	step *= DIFF_ONE;
	step = step > most ? most : step < -most ? -most : step;
	t->diff = ((one - weight) * t->diff + weight * step) / one;
}

static uint64_t rate_cut(const struct timely *t, uint64_t share)
{
	uint64_t cut =
	    vb_cc_scale(t->rate, vb_cc_scale(t->value[DECREASE], share, VB_CC_ONE), VB_CC_ONE);

	return cut < t->rate ? t->rate - cut : 0;
}

static void timely_on_ack(void *state, const struct verbena_cc_ack *ack,
			  struct verbena_cc_control *out)
{
	struct timely *t = state;
	uint64_t rtt = ack->rtt;

	if (!rtt)
		return;
	if (t->prev_rtt)
		diff_add(t, (int64_t)(rtt - t->prev_rtt));
	t->prev_rtt = rtt;
	if (rtt < t->value[T_LOW]) {
		t->growths = 0;
		rate_set(t, t->rate + t->value[STEP], out);
		return;
	}
	if (rtt > t->value[T_HIGH]) {
		t->growths = 0;
		rate_set(t, rate_cut(t, VB_CC_ONE - vb_cc_scale(t->value[T_HIGH], VB_CC_ONE, rtt)),
			 out);
		return;
	}
	if (t->diff <= 0) {
		t->growths++;
		rate_set(t,
			 t->rate +
			     t->value[STEP] *
				 (t->growths >= t->value[FAST_EVENTS] ? t->value[FAST_EVENTS] : 1),
			 out);
		return;
	}
	t->growths = 0;
	rate_set(
	    t, rate_cut(t, vb_cc_scale((uint64_t)t->diff, VB_CC_ONE, t->value[MIN_RTT] * DIFF_ONE)),
	    out);
}

/* The paper leaves losses to the transport: the rate is halved. */
static void timely_on_loss(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct timely *t = state;

	(void)now;
	t->growths = 0;
	rate_set(t, t->rate / 2, out);
}

const struct verbena_cc_algorithm vb_cc_timely = {
    .version = VERBENA_CC_VERSION,
    .name = "timely",
    .state_bytes = sizeof(struct timely),
    .parameter_cnt = TIMELY_PARAMETERS,
    .parameter = timely_parameter,
    .init = timely_init,
    .on_ack = timely_on_ack,
    .on_timeout = timely_on_loss,
};
