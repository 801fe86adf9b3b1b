/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window as HPCC has it: each ACK returns what the switches on the way have said of themselves,
 * of which the fullest link sets the window so that it is used to a share below one.
 * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, algorithm 1
 */
#include "base/assert.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

#define US(n) ((n)*UINT64_C(1000))
/* The unit of utilizations. */
#define USE_ONE (UINT64_C(1) << 24)
/* The unit of windows: errors add up, as the window of a round trip follows from the last one. */
#define BYTE (UINT64_C(1) << 16)

enum { BASE_RTT, UTILIZATION, MAX_STAGE, INCREASE, HPCC_PARAMETERS };

static const struct verbena_cc_parameter hpcc_parameter[HPCC_PARAMETERS] = {
    [BASE_RTT] = VB_CC_PARAMETER("base-rtt", TIME, 100, US(10000000), US(13),
				 "round-trip time of the network when it is empty, T"),
    [UTILIZATION] = VB_CC_PARAMETER("utilization", SHARE, 10000, VB_CC_ONE, VB_CC_ONE * 95 / 100,
				    "of the fullest link, eta"),
    [MAX_STAGE] = VB_CC_PARAMETER("max-stage", NUMBER, 0, 1000, 5,
				  "additive increases in line before one by the utilization"),
    [INCREASE] = VB_CC_PARAMETER("increase", BYTES, 1, 1u << 24, 80,
				 "bytes added to the window in each step, W_AI"),
};

struct hpcc {
	uint64_t value[HPCC_PARAMETERS];
	uint64_t line;
	uint64_t window, max; /* bytes, of BYTE */
	uint64_t reference;   /* the window of a round trip ago, W^c */
	uint64_t use;         /* moving mean of the utilization, of USE_ONE */
	uint64_t stage;
	uint64_t update_at; /* acked beyond it, the reference follows the window */
	uint64_t hop_cnt;   /* of the last ACK */
	struct verbena_cc_hop hop[VERBENA_CC_HOPS_MAX];
};

static void output_set(const struct hpcc *h, struct verbena_cc_control *out)
{
	VB_ASSERT(h->window >= BYTE);
	out->window = h->window / BYTE;
	out->rate = vb_cc_rate_of(h->window, h->value[BASE_RTT]) / BYTE;
}

static void hpcc_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		      struct verbena_cc_control *out)
{
	struct hpcc *h = state;

	for (int i = 0; i < HPCC_PARAMETERS; i++)
		h->value[i] = value[i];
	h->line = facts->line_rate;
	h->max = vb_cc_bytes_in(h->line, value[BASE_RTT]) * BYTE;
	if (h->max < facts->packet_bytes * BYTE)
		h->max = facts->packet_bytes * BYTE;
	h->window = h->reference = h->max;
	out->ack_bytes = 1;
	output_set(h, out);
}

/* How much of link @now is in use, since it was as @was; *span: the time between the two. */
static uint64_t link_use(const struct hpcc *h, const struct verbena_cc_hop *was,
			 const struct verbena_cc_hop *now, uint64_t *span)
{
	uint64_t queue = was->queue_bytes < now->queue_bytes ? was->queue_bytes : now->queue_bytes;
	uint64_t room = vb_cc_bytes_in(now->rate, h->value[BASE_RTT]);
	uint64_t sent;

	*span = now->at - was->at;
	if (!room || now->at <= was->at)
		return 0;
	sent = vb_cc_rate_of(now->tx_bytes - was->tx_bytes, *span);
	return vb_cc_scale(queue, USE_ONE, room) + vb_cc_scale(sent, USE_ONE, now->rate);
}

/* The fullest link goes into the mean. False: the way is another one than before. */
static int use_measure(struct hpcc *h, const struct verbena_cc_ack *ack)
{
	uint64_t most = 0, span = 0, base = h->value[BASE_RTT];

	if (ack->hop_cnt != h->hop_cnt)
		return 0;
	for (uint32_t i = 0; i < ack->hop_cnt; i++) {
		uint64_t time, use = link_use(h, &h->hop[i], &ack->hop[i], &time);

		if (use > most) {
			most = use;
			span = time;
		}
	}
	if (span > base)
		span = base;
	h->use = (h->use * (base - span) + most * span) / base;
	return 1;
}

static void window_compute(struct hpcc *h, int updates)
{
	uint64_t add = h->value[INCREASE] * BYTE, eta = h->value[UTILIZATION];
	uint64_t target = vb_cc_scale(USE_ONE, eta, VB_CC_ONE);

	if (h->use >= target || h->stage >= h->value[MAX_STAGE]) {
		h->window = (h->use ? vb_cc_scale(h->reference, target, h->use) : h->max) + add;
		if (updates)
			h->stage = 0;
	} else {
		h->window = h->reference + add;
		if (updates)
			h->stage++;
	}
	h->window = vb_cc_clamp(BYTE, h->window, h->max);
	if (updates)
		h->reference = h->window;
}

static void hpcc_on_ack(void *state, const struct verbena_cc_ack *ack,
			struct verbena_cc_control *out)
{
	struct hpcc *h = state;

	if (!ack->hop_cnt)
		return;
	if (use_measure(h, ack)) {
		int updates = ack->acked > h->update_at;

		window_compute(h, updates);
		if (updates)
			h->update_at = ack->sent;
		output_set(h, out);
	}
	VB_ASSERT(ack->hop_cnt <= VERBENA_CC_HOPS_MAX);
	h->hop_cnt = ack->hop_cnt;
	for (uint32_t i = 0; i < ack->hop_cnt; i++)
		h->hop[i] = ack->hop[i];
}

/* The paper has lossless networks: a loss halves the window. */
static void hpcc_on_timeout(void *state, uint64_t now, struct verbena_cc_control *out)
{
	struct hpcc *h = state;

	(void)now;
	h->window = vb_cc_clamp(BYTE, h->window / 2, h->max);
	h->reference = h->window;
	output_set(h, out);
}

const struct verbena_cc_algorithm vb_cc_hpcc = {
    .version = VERBENA_CC_VERSION,
    .name = "hpcc",
    .state_bytes = sizeof(struct hpcc),
    .needs = VERBENA_CC_NEEDS_INT,
    .parameter_cnt = HPCC_PARAMETERS,
    .parameter = hpcc_parameter,
    .init = hpcc_init,
    .on_ack = hpcc_on_ack,
    .on_timeout = hpcc_on_timeout,
};
