/* SPDX-License-Identifier: BSD-2-Clause */
/* An algorithm at one QP. See control.h. */
#include "core/control/control.h"

#include "base/assert.h"

#include <string.h>

#define NS_BITS UINT64_C(8000000000) /* a byte at 1 bit/s, ns */
#define STAMP_PSN_BITS 24
#define STAMP_TIME_MASK ((UINT64_C(1) << 40) - 1)

static const struct verbena_cc_algorithm *algorithm_of(const struct vb_control *c)
{
	VB_ASSERT(c->choice && c->choice->algorithm);
	return c->choice->algorithm;
}

/* In packets, one at least. */
static uint32_t packets_of(const struct vb_control *c, uint64_t bytes)
{
	uint64_t packets = bytes / c->packet_bytes;

	return packets > VB_CONTROL_PACKETS_MAX ? VB_CONTROL_PACKETS_MAX
	       : packets                        ? (uint32_t)packets
						: 1;
}

/* The algorithm has answered: what it wants is in force from now on, within what lets the flow go
 * on. */
static void output_take(struct vb_control *c, vb_time now)
{
	uint64_t rate = c->out.rate < VB_CONTROL_RATE_MIN ? VB_CONTROL_RATE_MIN : c->out.rate;

	if (rate >= c->choice->line_rate)
		rate = 0;
	if (rate != c->rate) {
		c->rate = rate;
		c->rest = 0;
	}
	c->window = packets_of(c, c->out.window);
	c->every = c->out.ack_bytes ? packets_of(c, c->out.ack_bytes) : 0;
	if (c->out.timer < vb_time_after(now, VB_CONTROL_TIMER_MIN))
		c->out.timer = vb_time_after(now, VB_CONTROL_TIMER_MIN);
	VB_ASSERT(c->window > 0 && c->window <= VB_CONTROL_PACKETS_MAX);
}

void vb_control_begin(struct vb_control *c, const struct vb_cc_choice *choice, uint32_t mtu,
		      struct vb_psn una, struct vb_psn max, vb_time now)
{
	struct verbena_cc_facts facts = {
	    .now = now, .line_rate = choice->line_rate, .packet_bytes = mtu};

	VB_ASSERT(mtu > 0);
	memset(c, 0, vb_control_size(choice));
	c->choice = choice;
	c->packet_bytes = mtu;
	c->next = now;
	c->sent = vb_psn_span(una, max);
	c->high = max;
	c->out = (struct verbena_cc_control){
	    .rate = VERBENA_CC_NONE, .window = VERBENA_CC_NONE, .timer = VERBENA_CC_NONE};
	algorithm_of(c)->init(c->state, &facts, choice->value, &c->out);
	output_take(c, now);
}

/* @bytes are paid for; the remainder is carried, so the mean is exact. */
static void account_charge(struct vb_control *c, uint64_t bytes, vb_time now)
{
	__extension__ typedef unsigned __int128 wide;
	vb_dur keep = c->choice->keep;
	wide due;

	c->burst_left = c->burst_left ? c->burst_left : c->out.burst_bytes;
	c->burst_left = bytes < c->burst_left ? c->burst_left - bytes : 0;
	if (!c->rate)
		return;
	/* A packet waits for the end of a ns, which is no time that it left unused. */
	if (vb_time_after(c->next, keep + 1) < now) {
		c->next = now - keep;
		c->rest = 0;
	}
	due = (wide)bytes * NS_BITS + c->rest;
	c->next = vb_time_after(c->next, (vb_dur)(due / c->rate));
	c->rest = (uint64_t)(due % c->rate);
}

static uint64_t *stamp_of(struct vb_control *c, struct vb_psn psn)
{
	return &c->stamp[psn.v & (VB_CONTROL_STAMPS - 1)];
}

void vb_control_sent(struct vb_control *c, struct vb_psn psn, uint32_t psns, uint64_t bytes,
		     vb_time now)
{
	struct vb_psn end = vb_psn_add(psn, psns);
	struct verbena_cc_sent sent;
	bool again;

	if (!c->sent)
		c->high = psn; /* the first one of all */
	again = vb_psn_before(psn, c->high);

	/* Karn: the answer to a packet that left twice says nothing of either. 0 is no stamp, and
	 * comes once in 18 minutes for PSN 0. */
	if (psns)
		*stamp_of(c, psn) = again ? 0 : (now & STAMP_TIME_MASK) << STAMP_PSN_BITS | psn.v;
	if (vb_psn_before(c->high, end)) {
		c->sent += vb_psn_span(c->high, end);
		c->high = end;
	}
	account_charge(c, bytes, now);
	if (!algorithm_of(c)->on_sent)
		return;
	sent = (struct verbena_cc_sent){.now = now,
					.sent = c->sent * c->packet_bytes,
					.bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
					.resent = again};
	algorithm_of(c)->on_sent(c->state, &sent, &c->out);
	output_take(c, now);
}

/* Copies the hops that are there. */
static void telemetry_take(struct vb_telemetry *to, const struct vb_telemetry *from)
{
	to->hop_cnt = 0;
	if (!from)
		return;
	to->hop_cnt = from->hop_cnt < VERBENA_CC_HOPS_MAX ? from->hop_cnt : VERBENA_CC_HOPS_MAX;
	memcpy(to->hop, from->hop, to->hop_cnt * sizeof to->hop[0]);
}

void vb_control_hear(struct vb_control *c, struct vb_psn psn, bool marked,
		     const struct vb_telemetry *telemetry)
{
	c->heard.is_new = true;
	c->heard.marked = marked;
	c->heard.psn = psn;
	telemetry_take(&c->heard.telemetry, telemetry);
}

/* Since the packet left that was answered; 0: that is not known. */
static vb_dur round_trip(struct vb_control *c, vb_time now)
{
	uint64_t *stamp = stamp_of(c, c->heard.psn);
	uint64_t at = *stamp >> STAMP_PSN_BITS;

	if (*stamp == 0 || (*stamp & VB_PSN_MASK) != c->heard.psn.v)
		return 0;
	*stamp = 0;
	return (now - at) & STAMP_TIME_MASK;
}

void vb_control_acked(struct vb_control *c, uint32_t cnt, vb_time now)
{
	uint64_t bytes = (uint64_t)cnt * c->packet_bytes;
	struct verbena_cc_ack ack;

	VB_ASSERT(cnt > 0);
	c->acked += cnt;
	VB_ASSERT_ALL(c->acked <= c->sent);
	ack = (struct verbena_cc_ack){.now = now,
				      .acked = c->acked * c->packet_bytes,
				      .sent = c->sent * c->packet_bytes,
				      .bytes = bytes};
	/* One answer may acknowledge in two steps: the first has all that it says. */
	if (c->heard.is_new) {
		ack.rtt = round_trip(c, now);
		ack.marked = c->heard.marked ? bytes : 0;
		ack.hop = c->heard.telemetry.hop;
		ack.hop_cnt = c->heard.telemetry.hop_cnt;
		c->heard.is_new = false;
	}
	algorithm_of(c)->on_ack(c->state, &ack, &c->out);
	output_take(c, now);
}

void vb_control_cnp(struct vb_control *c, vb_time now)
{
	if (!algorithm_of(c)->on_cnp)
		return;
	algorithm_of(c)->on_cnp(c->state, now, &c->out);
	output_take(c, now);
}

void vb_control_nak(struct vb_control *c, vb_time now)
{
	if (!algorithm_of(c)->on_nak)
		return;
	algorithm_of(c)->on_nak(c->state, now, &c->out);
	output_take(c, now);
}

void vb_control_timeout(struct vb_control *c, vb_time now)
{
	if (!algorithm_of(c)->on_timeout)
		return;
	algorithm_of(c)->on_timeout(c->state, now, &c->out);
	output_take(c, now);
}

vb_time vb_control_tick(struct vb_control *c, vb_time now)
{
	if (!algorithm_of(c)->on_timer)
		return VB_NEVER;
	if (c->out.timer <= now) {
		c->out.timer = VERBENA_CC_NONE;
		algorithm_of(c)->on_timer(c->state, now, &c->out);
		output_take(c, now);
	}
	return c->out.timer;
}

vb_time vb_control_send_at(const struct vb_control *c, vb_time now)
{
	if (!c->rate || c->burst_left || c->next < now || (c->next == now && !c->rest))
		return now;
	/* The fraction counts as a whole ns. */
	return vb_time_after(c->next, c->choice->keep / 2 + (c->rest > 0));
}

bool vb_control_exceeds(const struct vb_control *c, uint64_t bytes, vb_dur span)
{
	return c->rate && bytes * NS_BITS / c->rate > span;
}

void vb_control_take_data(struct vb_control *c, bool marked, const struct vb_telemetry *telemetry)
{
	c->mark_due |= marked;
	if (telemetry)
		telemetry_take(&c->due, telemetry);
}

bool vb_control_return_mark(struct vb_control *c)
{
	bool due = c->mark_due;

	c->mark_due = false;
	return due;
}

const struct vb_telemetry *vb_control_return_telemetry(struct vb_control *c)
{
	if (!c->due.hop_cnt)
		return NULL;
	c->returned = c->due;
	c->returned.is_return = 1;
	c->due.hop_cnt = 0;
	return &c->returned;
}
