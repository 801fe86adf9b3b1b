/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window as DCTCP has it: once in each window of data, the share of bytes that were marked goes
 * into a moving mean, and a window that had marks is cut by half of that mean. Without marks the
 * window grows by a packet in each round trip, and until the first mark by what was acknowledged.
 * Alizadeh et al., Data Center TCP, SIGCOMM 2010, section 3
 */
#include "base/assert.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

#define ALPHA_ONE (UINT64_C(1) << 32)
/* The unit of windows. */
#define BYTE (UINT64_C(1) << 16)

enum { GAIN, INITIAL_WINDOW, MIN_WINDOW, MAX_WINDOW, DCTCP_PARAMETERS };

static const struct verbena_cc_parameter dctcp_parameter[DCTCP_PARAMETERS] = {
    [GAIN] = VB_CC_PARAMETER("gain", SHARE, 1, VB_CC_ONE, VB_CC_ONE / 16,
			     "weight of a new share of marks in their mean, g"),
    [INITIAL_WINDOW] = VB_CC_PARAMETER("initial-window", BYTES, 1, 1u << 30, VERBENA_CC_NONE,
				       "of a new flow; unless given, 10 packets"),
    [MIN_WINDOW] = VB_CC_PARAMETER("min-window", BYTES, 1, 1u << 30, VERBENA_CC_NONE,
				   "unless given, a packet"),
    [MAX_WINDOW] =
	VB_CC_PARAMETER("max-window", BYTES, 1, 1u << 30, 4000000, "the window grows up to it"),
};

struct dctcp {
	uint64_t gain, min, max, packet;
	uint64_t window, alpha; /* of BYTE; of ALPHA_ONE */
	uint64_t end;           /* acked beyond it, a window of data is over */
	uint64_t seen, marked;  /* bytes acknowledged in it, marked ones */
	uint64_t rest;          /* of BYTE, acknowledged towards the next step of growth */
	uint64_t whole;         /* sent when it was last cut for a loss */
	uint64_t acked, sent;
	uint32_t starts, reserved; /* no mark and no loss yet */
};

static void window_set(struct dctcp *d, uint64_t window, struct verbena_cc_control *out)
{
	d->window = vb_cc_clamp(d->min * BYTE, window, d->max * BYTE);
	VB_ASSERT(d->window >= BYTE);
	out->window = d->window / BYTE;
}

static void dctcp_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		       struct verbena_cc_control *out)
{
	uint64_t first = 10 * (uint64_t)facts->packet_bytes;
	struct dctcp *d = state;

	*d = (struct dctcp){.gain = value[GAIN],
			    .packet = facts->packet_bytes,
			    .min = facts->packet_bytes,
			    .alpha = ALPHA_ONE, /* so that the first mark halves the window */
			    .starts = 1};
	if (value[MIN_WINDOW] != VERBENA_CC_NONE)
		d->min = value[MIN_WINDOW];
	d->max = value[MAX_WINDOW] < d->min ? d->min : value[MAX_WINDOW];
	/* Each packet is answered by itself, so that each mark is told. */
	out->ack_bytes = 1;
	if (value[INITIAL_WINDOW] != VERBENA_CC_NONE)
		first = value[INITIAL_WINDOW];
	window_set(d, first * BYTE, out);
}

/* A window of data has been acknowledged. */
static void window_end(struct dctcp *d, const struct verbena_cc_ack *ack,
		       struct verbena_cc_control *out)
{
	uint64_t share = d->seen ? vb_cc_scale(d->marked, ALPHA_ONE, d->seen) : 0;

	VB_ASSERT_ALL(share <= ALPHA_ONE && d->alpha <= ALPHA_ONE);
	d->alpha = (d->alpha * (VB_CC_ONE - d->gain) + share * d->gain) / VB_CC_ONE;
	if (d->marked) {
		d->starts = 0;
		d->rest = 0;
		window_set(d, d->window - vb_cc_scale(d->window, d->alpha, 2 * ALPHA_ONE), out);
	}
	d->seen = d->marked = 0;
	d->end = ack->sent;
}

static void dctcp_on_ack(void *state, const struct verbena_cc_ack *ack,
			 struct verbena_cc_control *out)
{
	struct dctcp *d = state;

	d->acked = ack->acked;
	d->sent = ack->sent;
	d->seen += ack->bytes;
	d->marked += ack->marked;
	if (ack->marked)
		d->starts = 0;
	if (d->starts) {
		window_set(d, d->window + ack->bytes * BYTE, out);
	} else if (!ack->marked) {
		d->rest += ack->bytes * BYTE;
		if (d->rest >= d->window) {
			d->rest -= d->window;
			window_set(d, d->window + d->packet * BYTE, out);
		}
	}
	if (ack->acked >= d->end)
		window_end(d, ack, out);
}

/* A loss halves the window, as in TCP, once in a window of data. */
static void dctcp_on_nak(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct dctcp *d = state;

	(void)now;
	d->starts = 0;
	if (d->acked < d->whole)
		return;
	d->whole = d->sent;
	window_set(d, d->window / 2, out);
}

static void dctcp_on_timeout(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct dctcp *d = state;

	(void)now;
	d->starts = 0;
	window_set(d, d->min * BYTE, out);
}

const struct verbena_cc_algorithm vb_cc_dctcp = {
    .version = VERBENA_CC_VERSION,
    .name = "dctcp",
    .state_bytes = sizeof(struct dctcp),
    .needs = VERBENA_CC_NEEDS_ECN,
    .parameter_cnt = DCTCP_PARAMETERS,
    .parameter = dctcp_parameter,
    .init = dctcp_init,
    .on_ack = dctcp_on_ack,
    .on_nak = dctcp_on_nak,
    .on_timeout = dctcp_on_timeout,
};
