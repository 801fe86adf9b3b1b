/* SPDX-License-Identifier: BSD-2-Clause */
/* The judgement: which rules a packet meets, and what they make of it. See fault.h. */
#include "fault/fault.h"
#include "base/assert.h"

#include "wire/mad/cm.h"
#include "wire/opcode.h"

#include <string.h>

void vb_fault_init(struct vb_fault *f, const struct vb_fault_spec *spec, uint64_t seed, uint64_t id,
		   vb_time now)
{
	*f = (struct vb_fault){.spec = *spec, .epoch = now};
	for (uint32_t i = 0; i < spec->rule_cnt; i++)
		f->state[i].rng = vb_rng_stream(seed, "fault", id * VB_FAULT_RULES_MAX + i);
}

static bool draw_chance(struct vb_rng *r, uint32_t ppb)
{
	VB_ASSERT_ALL(ppb <= VB_FAULT_ONE);
	return ppb == VB_FAULT_ONE || (ppb && vb_rng_below(r, VB_FAULT_ONE) < ppb);
}

/* The attribute of a message of the connection manager; 0: @mad is none, or NULL. */
static uint16_t cm_attr(const uint8_t *mad)
{
	struct vb_mad_hdr h;

	if (!mad)
		return 0;
	vb_mad_hdr_parse(&h, mad);
	if (h.mgmt_class != VB_MAD_CLASS_CM || h.attr_id < VB_CM_ATTR_FIRST ||
	    h.attr_id > VB_CM_ATTR_LAST)
		return 0;
	return h.attr_id;
}

/* Whether a MAD is among those that the filter names. */
static bool mad_is_meant(const struct vb_fault_filter *c, const uint8_t *mad)
{
	uint16_t attr = cm_attr(mad);

	if (!mad || !c->cm)
		return mad != NULL;
	return attr && c->cm >> (attr - VB_CM_ATTR_FIRST) & 1;
}

static bool filter_accepts(const struct vb_fault_filter *c, struct vb_fault_rule_state *s,
			   const struct vb_fault_packet *p, vb_dur since)
{
	if (!(c->dirs & p->dir) || !(c->opcode[p->opcode >> 6] >> (p->opcode & 63) & 1) ||
	    p->dqpn < c->qpn_lo || p->dqpn > c->qpn_hi)
		return false;
	if (c->mads && !mad_is_meant(c, p->mad))
		return false;
	if (!c->any_psn && vb_psn_span(c->psn_lo, p->psn) > vb_psn_span(c->psn_lo, c->psn_hi))
		return false;
	if (vb_opcode[p->opcode].flags & VB_OP_FIRST)
		s->msg++;
	if (s->msg < c->msg_lo || s->msg > c->msg_hi || since < c->after || since >= c->until)
		return false;

	uint64_t n = s->matched++;

	VB_ASSERT_ALL(c->every > 0);
	return n >= c->skip && (n - c->skip) % c->every == c->every - 1 && s->hits < c->first;
}

static bool in_blackout(const struct vb_fault_rule *r, vb_dur since)
{
	if (since < r->time)
		return false;
	since -= r->time;
	return (r->period ? since % r->period : since) < r->jitter;
}

/* One step of the two-state chain, then the loss of the state it is in. */
static bool burst_loses(const struct vb_fault_rule *r, struct vb_fault_rule_state *s)
{
	if (draw_chance(&s->rng, s->bad ? r->ppb_end : r->ppb))
		s->bad = !s->bad;
	return draw_chance(&s->rng, s->bad ? r->ppb_in : r->ppb_out);
}

/*
 * Whether the queue does something to a packet besides letting it wait, which *delay grows by. The
 * queue may be that of several processes.
 */
static bool queue_hits(struct vb_fault *f, const struct vb_fault_rule *r,
		       struct vb_fault_rule_state *s, const struct vb_fault_packet *p, vb_time now,
		       struct vb_fault_fate *fate, vb_dur *delay)
{
	vb_time *idle = f->queue_idle ? f->queue_idle : &s->idle;
	vb_time until = __atomic_load_n(idle, __ATOMIC_RELAXED), then;
	vb_dur wait, takes = (vb_dur)p->bytes * 8 * VB_SEC / r->bps;
	uint64_t depth;

	do {
		wait = vb_time_since(now, until);
		if (wait > r->time) {
			fate->drop = true;
			return true;
		}
		then = vb_time_after(vb_time_after(now, wait), takes);
	} while (!__atomic_compare_exchange_n(idle, &until, then, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*delay += wait + takes;
	/* Both are bounded: 10^10 ns at 10^12 bit/s. */
	depth = wait / 1000 * (r->bps / 1000) / 8000;
	if (!vb_red_marks(&r->red, depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX, &s->rng))
		return false;
	fate->mark = true;
	return true;
}

static bool rule_hits(const struct vb_fault_rule *r, struct vb_fault_rule_state *s, vb_dur since)
{
	switch (r->kind) {
	case VB_FAULT_BURST:
		return burst_loses(r, s);
	case VB_FAULT_BLACKOUT:
		return in_blackout(r, since);
	default:
		return draw_chance(&s->rng, r->ppb);
	}
}

/* Adds the hit of a rule to the fate; *held is by how much later than in order. */
static void rule_act(const struct vb_fault_rule *r, struct vb_fault_rule_state *s,
		     struct vb_fault_fate *fate, vb_dur *delay, vb_dur *held)
{
	switch (r->kind) {
	case VB_FAULT_LOSS:
	case VB_FAULT_BURST:
	case VB_FAULT_BLACKOUT:
		fate->drop = true;
		break;
	case VB_FAULT_REORDER:
		*held += r->time;
		break;
	case VB_FAULT_DUPLICATE:
		fate->copy = true;
		break;
	case VB_FAULT_DELAY:
		*delay += r->time;
		if (r->jitter)
			*delay += vb_rng_next(&s->rng) % (r->jitter + 1);
		break;
	case VB_FAULT_CORRUPT:
		fate->corrupt = true;
		fate->bits = vb_rng_next(&s->rng);
		break;
	case VB_FAULT_ECN:
		fate->mark = true;
		break;
	case VB_FAULT_QUEUE: /* is done: queue_hits() */
	case VB_FAULT_KIND_CNT:
		break;
	}
}

void vb_fault_judge(struct vb_fault *f, const struct vb_fault_packet *p, vb_time now,
		    struct vb_fault_fate *fate)
{
	vb_dur since = vb_time_since(f->epoch, now), delay = 0, held = 0;
	vb_time *last = &f->last[p->dir == VB_FAULT_RX];

	VB_ASSERT_ALL(p->dir == VB_FAULT_TX || p->dir == VB_FAULT_RX);
	VB_ASSERT_ALL(f->spec.rule_cnt <= VB_FAULT_RULES_MAX);
	*fate = (struct vb_fault_fate){.at = now};
	for (uint32_t i = 0; i < f->spec.rule_cnt; i++) {
		const struct vb_fault_rule *r = &f->spec.rule[i];
		struct vb_fault_rule_state *s = &f->state[i];

		if (!filter_accepts(&r->filter, s, p, since))
			continue;
		if (r->kind == VB_FAULT_QUEUE ? !queue_hits(f, r, s, p, now, fate, &delay)
					      : !rule_hits(r, s, since))
			continue;
		s->hits++;
		f->hits[r->kind]++;
		fate->hits |= 1u << r->kind;
		rule_act(r, s, fate, &delay, &held);
		if (f->trace)
			vb_trace(f->trace, VB_TRACE_FAULT, p->dqpn, now, r->kind, i,
				 p->opcode | (uint64_t)cm_attr(p->mad) << VB_FAULT_CM_SHIFT,
				 p->psn.v);
	}
	if (fate->drop)
		return;
	fate->at = vb_time_after(now, delay);
	if (fate->at < *last)
		fate->at = *last;
	VB_ASSERT_ALL(fate->at >= now);
	if (held)
		fate->at = vb_time_after(fate->at, held);
	else
		*last = fate->at;
}

void vb_fault_corrupt(uint8_t *p, uint32_t len, uint64_t bits)
{
	struct vb_rng r = {bits};
	uint32_t cnt = 1 + vb_rng_below(&r, 3);
	uint32_t at = UINT32_MAX;

	/* Later positions lie behind earlier ones, so that no flip undoes another. */
	for (uint32_t first = 0; cnt > 0 && first < len * 8; cnt--, first = at + 1) {
		at = first + vb_rng_below(&r, len * 8 - first);
		VB_ASSERT_ALL(at < len * 8);
		p[at / 8] ^= (uint8_t)(1u << at % 8);
	}
}
