/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window as Swift has it: it grows while the round-trip time is below a target, and falls, once a
 * round trip, by as much as that is above. Below one packet the window becomes a rate: one packet
 * in several round trips. The target is longer for flows with small windows. Kumar et al., Swift:
 * Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020, algorithm 1
 * and section 3.5
 */
#include "base/assert.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

#define US(n) ((n)*UINT64_C(1000))

enum {
	BASE_TARGET,
	FLOW_RANGE,
	FLOW_MIN_WINDOW,
	FLOW_MAX_WINDOW,
	INCREASE,
	DECREASE,
	MAX_DECREASE,
	MIN_WINDOW,
	MAX_WINDOW,
	INITIAL_WINDOW,
	RESET_TIMEOUTS,
	SWIFT_PARAMETERS
};

/* Windows are parameters in millionths of a packet. */
static const struct verbena_cc_parameter swift_parameter[SWIFT_PARAMETERS] = {
    [BASE_TARGET] = VB_CC_PARAMETER("base-target", TIME, 1, US(10000000), US(25),
				    "target round-trip time of a large window"),
    [FLOW_RANGE] = VB_CC_PARAMETER("flow-range", TIME, 0, US(10000000), US(50),
				   "added to the target of the smallest window, at most"),
    [FLOW_MIN_WINDOW] =
	VB_CC_PARAMETER("flow-min-window", SHARE, 1000, 1000 * VB_CC_ONE, VB_CC_ONE / 10,
			"packets: at this window all of flow-range is added"),
    [FLOW_MAX_WINDOW] =
	VB_CC_PARAMETER("flow-max-window", SHARE, 2000, 100000 * VB_CC_ONE, 100 * VB_CC_ONE,
			"packets: from this window on nothing is added"),
    [INCREASE] = VB_CC_PARAMETER("increase", SHARE, 1, 1000 * VB_CC_ONE, VB_CC_ONE,
				 "packets in each round trip, ai"),
    [DECREASE] = VB_CC_PARAMETER("decrease", SHARE, 1, VB_CC_ONE, VB_CC_ONE * 8 / 10,
				 "of the share by which the target is exceeded, beta"),
    [MAX_DECREASE] = VB_CC_PARAMETER("max-decrease", SHARE, 1, VB_CC_ONE - 1, VB_CC_ONE / 2,
				     "of the window at once, max_mdf"),
    [MIN_WINDOW] =
	VB_CC_PARAMETER("min-window", SHARE, 1000, 1000 * VB_CC_ONE, VB_CC_ONE / 100, "packets"),
    [MAX_WINDOW] = VB_CC_PARAMETER("max-window", SHARE, VB_CC_ONE, 100000 * VB_CC_ONE,
				   1000 * VB_CC_ONE, "packets"),
    [INITIAL_WINDOW] = VB_CC_PARAMETER("initial-window", SHARE, 1000, 100000 * VB_CC_ONE,
				       10 * VB_CC_ONE, "packets"),
    [RESET_TIMEOUTS] = VB_CC_PARAMETER("reset-timeouts", NUMBER, 1, 100, 5,
				       "timeouts in line after which the window is the smallest"),
};

/* Windows are held in packets, with 32 bits below the point. */
#define WINDOW_BITS 32
#define WINDOW_ONE (UINT64_C(1) << WINDOW_BITS)

struct swift {
	uint64_t value[SWIFT_PARAMETERS];
	uint64_t packet, line;
	uint64_t window, min, max;
	uint64_t rtt;          /* the last one; 0: none */
	uint64_t decreased_at; /* VERBENA_CC_NONE: never */
	uint64_t timeouts;     /* in line */
	uint64_t scale;        /* flow scaling: ns times the root of packets, 16 bits below */
	uint64_t offset;       /* ... and ns */
};

static uint64_t window_of(uint64_t packets)
{
	return vb_cc_scale(packets, WINDOW_ONE, VB_CC_ONE);
}

/* The root of @v, rounded down. */
static uint64_t root_of(uint64_t v)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= v)
			root += bit;
	return root;
}

/* 1 / sqrt(window), 24 bits below the point: 2^24 * sqrt(2^32 / window). */
static uint64_t inverse_root(uint64_t window)
{
	VB_ASSERT(window > 0);
	return root_of(vb_cc_scale(UINT64_C(1) << 48, WINDOW_ONE, window));
}

static void scaling_set(struct swift *s)
{
	uint64_t small = inverse_root(window_of(s->value[FLOW_MIN_WINDOW]));
	uint64_t large = inverse_root(window_of(s->value[FLOW_MAX_WINDOW]));

	if (small <= large)
		return; /* the two are one: nothing is added */
	s->scale = vb_cc_scale(s->value[FLOW_RANGE], UINT64_C(1) << 24, small - large);
	s->offset = vb_cc_scale(s->value[FLOW_RANGE], large, small - large);
}

/* target = base + max(0, min(alpha / sqrt(window) - beta, range)). */
static uint64_t target_delay(const struct swift *s)
{
	uint64_t add = vb_cc_scale(s->scale, inverse_root(s->window), UINT64_C(1) << 24);

	add = add > s->offset ? add - s->offset : 0;
	return s->value[BASE_TARGET] + (add < s->value[FLOW_RANGE] ? add : s->value[FLOW_RANGE]);
}

/* The window, and below one packet the rate, in force. */
static void output_set(const struct swift *s, struct verbena_cc_control *out)
{
	out->rate = VERBENA_CC_NONE;
	out->window = vb_cc_scale(s->window, s->packet, WINDOW_ONE);
	if (s->window >= WINDOW_ONE || !s->rtt)
		return;
	out->window = s->packet;
	out->rate = vb_cc_rate_of(vb_cc_scale(s->window, s->packet, WINDOW_ONE), s->rtt);
}

static void window_set(struct swift *s, uint64_t window, uint64_t now,
		       struct verbena_cc_control *out)
{
	uint64_t before = s->window;

	s->window = vb_cc_clamp(s->min, window, s->max);
	VB_ASSERT(s->window > 0);
	if (s->window < before)
		s->decreased_at = now;
	output_set(s, out);
}

static void swift_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		       struct verbena_cc_control *out)
{
	struct swift *s = state;

	for (int i = 0; i < SWIFT_PARAMETERS; i++)
		s->value[i] = value[i];
	s->packet = facts->packet_bytes;
	s->line = facts->line_rate;
	s->min = window_of(value[MIN_WINDOW]);
	s->max = window_of(value[MAX_WINDOW]);
	s->decreased_at = VERBENA_CC_NONE;
	scaling_set(s);
	out->ack_bytes = 1;
	window_set(s, window_of(value[INITIAL_WINDOW]), facts->now, out);
	s->decreased_at = VERBENA_CC_NONE;
}

static int may_decrease(const struct swift *s, uint64_t now)
{
	return s->decreased_at == VERBENA_CC_NONE || now - s->decreased_at >= s->rtt;
}

static uint64_t window_cut(const struct swift *s, uint64_t share)
{
	return vb_cc_scale(s->window, VB_CC_ONE - share, VB_CC_ONE);
}

static void swift_on_ack(void *state, const struct verbena_cc_ack *ack,
			 struct verbena_cc_control *out)
{
	struct swift *s = state;
	uint64_t target = target_delay(s), grow, share;

	s->timeouts = 0;
	if (!ack->rtt)
		return;
	s->rtt = ack->rtt;
	if (ack->rtt < target) {
		/* ai for each packet below a window of one, and ai for each window above. */
		grow = vb_cc_scale(window_of(s->value[INCREASE]), ack->bytes, s->packet);
		if (s->window >= WINDOW_ONE)
			grow = vb_cc_scale(grow, WINDOW_ONE, s->window);
		window_set(s, s->window + grow, ack->now, out);
		return;
	}
	if (!may_decrease(s, ack->now)) {
		output_set(s, out);
		return;
	}
	share = vb_cc_scale(s->value[DECREASE], ack->rtt - target, ack->rtt);
	if (share > s->value[MAX_DECREASE])
		share = s->value[MAX_DECREASE];
	window_set(s, window_cut(s, share), ack->now, out);
}

static void swift_on_nak(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct swift *s = state;

	s->timeouts = 0;
	if (may_decrease(s, now))
		window_set(s, window_cut(s, s->value[MAX_DECREASE]), now, out);
}

static void swift_on_timeout(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct swift *s = state;

	s->timeouts++;
	if (s->timeouts >= s->value[RESET_TIMEOUTS])
		window_set(s, s->min, now, out);
	else if (may_decrease(s, now))
		window_set(s, window_cut(s, s->value[MAX_DECREASE]), now, out);
}

const struct verbena_cc_algorithm vb_cc_swift = {
    .version = VERBENA_CC_VERSION,
    .name = "swift",
    .state_bytes = sizeof(struct swift),
    .parameter_cnt = SWIFT_PARAMETERS,
    .parameter = swift_parameter,
    .init = swift_init,
    .on_ack = swift_on_ack,
    .on_nak = swift_on_nak,
    .on_timeout = swift_on_timeout,
};
