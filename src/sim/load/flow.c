/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows as records: each begins at its time. See load.h. */
#include "base/assert.h"
#include "sim/load/priv.h"

#include <assert.h>
#include <errno.h>

/* A record that nobody has had, or else that of the flow that has been over for the longest. */
static uint32_t record_take(struct vb_load *l)
{
	uint32_t i = l->over_first;

	if (l->flow_cnt < l->cfg.flows_max)
		return l->flow_cnt++;
	if (i == VB_LOAD_NONE)
		return VB_LOAD_NONE;
	VB_ASSERT_ALL(l->flow[i].done != VB_NEVER);
	/* Messages of a flow that has failed may still come. */
	if (l->connection[l->flow[i].connection].inbound == i)
		l->connection[l->flow[i].connection].inbound = VB_LOAD_NONE;
	l->over_first = l->flow[i].step;
	if (l->over_first == VB_LOAD_NONE)
		l->over_last = VB_LOAD_NONE;
	for (size_t k = 0; k < sizeof l->watcher / sizeof l->watcher[0]; k++)
		if (l->watcher[k].fn)
			l->watcher[k].fn(l->watcher[k].ctx, &l->flow[i]);
	l->past_cnt++;
	return i;
}

static struct vb_flow *record_fill(struct vb_load *l, uint32_t i, const struct vb_flow *f,
				   uint32_t number)
{
	struct vb_flow *n = &l->flow[i];

	*n = *f;
	if (l->cfg.nics && !vb_flow_is_to_group(f))
		vb_nic_choose(l->cfg.nics, l->nic_turn, &n->src, &n->dst);
	VB_ASSERT_ALL(n->src != n->dst && n->src < l->host_cnt);
	n->number = number;
	n->delivered = n->done = VB_NEVER;
	n->connection = n->next = n->next_in = VB_LOAD_NONE;
	return n;
}

/* A record and a number for @f; VB_LOAD_NONE: there are none. */
static uint32_t flow_enrol(struct vb_load *l, const struct vb_flow *f)
{
	uint32_t number = (uint32_t)(l->flow_cnt + l->past_cnt), i = record_take(l);

	if (i == VB_LOAD_NONE)
		l->failure = -ENOMEM;
	else
		record_fill(l, i, f, number);
	return i;
}

int vb_load_flow_new(struct vb_load *l, const struct vb_flow *f)
{
	uint32_t i = flow_enrol(l, f);

	if (i == VB_LOAD_NONE)
		return -ENOMEM;
	vb_eventq_set(&l->starts, i, f->start);
	return 0;
}

/* A record of the part; VB_LOAD_NONE: there is none left. */
static uint32_t flow_draft(struct vb_load *l, struct vb_load_part *p, const struct vb_flow *f)
{
	uint32_t i = p->draft_first + p->draft_cnt;

	if (p->draft_cnt == l->draft_max) {
		p->failure = -ENOMEM;
		return VB_LOAD_NONE;
	}
	p->draft_cnt++;
	record_fill(l, i, f, VB_LOAD_NONE);
	vb_load_note(l, f->src, VB_LOAD_BEGUN, i);
	return i;
}

void vb_load_flow_follow(struct vb_load *l, const struct vb_flow *f)
{
	struct vb_load_part *p;
	uint32_t i;

	/* Parts do not choose NICs in one order: see vb_load_parts_wrong(). */
	VB_ASSERT(!vb_sim_is_in_window(l->sim) || !l->cfg.nics);
	i = vb_sim_is_in_window(l->sim) ? flow_draft(l, vb_load_part_of(l, f->src), f)
					: flow_enrol(l, f);
	if (i == VB_LOAD_NONE)
		return;
	if (!vb_sim_is_here(l->sim, l->flow[i].src))
		return;
	p = vb_load_part_of(l, l->flow[i].src);
	if (p->first == VB_LOAD_NONE)
		p->first = i;
	else
		l->flow[p->last].next = i;
	p->last = i;
	vb_load_turn_by(l, vb_sim_part_of(l->sim, l->flow[i].src), f->start);
}

/* Flows that come one after the other give their records away. Of a graph, whose other flows wait
 * for it then, one that has failed keeps it. */
static bool is_passing(const struct vb_load *l, const struct vb_flow *f)
{
	const struct vb_load_source *s = f->pattern < l->source_cnt ? &l->source[f->pattern] : NULL;

	return s && (s->p.shape == VB_LOAD_LIST || (s->run && f->status == VB_WC_SUCCESS));
}

static void flow_end(struct vb_load *l, uint32_t flow)
{
	struct vb_flow *f = &l->flow[flow];

	if (!is_passing(l, f))
		return;
	VB_ASSERT_ALL(f->completed == f->posted);
	f->step = VB_LOAD_NONE;
	if (l->over_last == VB_LOAD_NONE)
		l->over_first = flow;
	else
		l->flow[l->over_last].step = flow;
	l->over_last = flow;
}

bool vb_load_is_reliable(const struct vb_load *l, const struct vb_flow *f)
{
	return l->cfg.type != VB_QPT_UC && l->cfg.type != VB_QPT_UD && !vb_flow_is_to_group(f);
}

/* One end is through with a flow. A SEND that nobody acknowledges ends before it arrives, if it
 * does. */
static void flow_see(struct vb_load *l, uint32_t flow, enum vb_load_note_kind kind)
{
	struct vb_flow *f = &l->flow[flow];
	bool waits = !vb_load_is_reliable(l, f) && f->op == VB_LOAD_SEND;
	uint8_t all = waits ? VB_LOAD_SENT | VB_LOAD_ARRIVED : VB_LOAD_SENT;

	if (!(all & kind))
		return;
	f->seen |= (uint8_t)kind;
	if (f->seen != all)
		return;
	if (l->connection[f->connection].flow == flow)
		vb_load_leave(l, f);
	vb_load_give_back(l, f);
	flow_end(l, flow);
}

/* A flow of a part gets a record as others have; its own keeps the number of that. */
static void draft_enrol(struct vb_load *l, uint32_t draft)
{
	struct vb_flow *d = &l->flow[draft];
	uint32_t i = flow_enrol(l, d), number;

	if (i == VB_LOAD_NONE) {
		vb_sim_stop(l->sim);
		return;
	}
	number = l->flow[i].number;
	l->flow[i] = *d;
	l->flow[i].number = number;
	d->number = i;
	vb_load_rename(l, draft, i);
}

/* A flow as the process has it that runs one of its ends: the fields of that end. */
static void state_take(struct vb_load *l, const struct vb_load_note *n, struct vb_flow *f,
		       const struct vb_flow *state)
{
	if (state->number != VB_LOAD_NONE && state->number != f->number)
		return; /* it is one that was here before */
	f->connection = state->connection;
	if (n->kind == VB_LOAD_ARRIVED) {
		f->received = state->received;
		f->delivered = state->delivered;
	}
	if (n->kind != VB_LOAD_SENT)
		return;
	f->base = state->base;
	f->posted = state->posted;
	f->completed = state->completed;
	f->done = state->done;
	f->status = state->status;
	l->connection[f->connection].broken |= n->is_broken;
}

static void note_take(struct vb_load *l, const struct vb_load_note *n, const struct vb_flow *state)
{
	bool is_draft =
	    n->flow >= l->cfg.flows_max && !(n->kind & (VB_LOAD_BEGUN | VB_LOAD_BROKEN));
	uint32_t flow = is_draft ? l->flow[n->flow].number : n->flow;

	if (flow == VB_LOAD_NONE)
		return; /* there was no record for it */
	if (n->kind == VB_LOAD_BROKEN) {
		l->connection[flow].broken_there = true;
		return;
	}
	if (n->kind == VB_LOAD_BEGUN && state)
		l->flow[flow] = *state;
	else if (state)
		state_take(l, n, &l->flow[flow], state);
	if (n->kind == VB_LOAD_BEGUN)
		draft_enrol(l, flow);
	else if (n->kind == VB_LOAD_ENTERED)
		vb_load_await(l, flow);
	else
		flow_see(l, flow, (enum vb_load_note_kind)n->kind);
}

void vb_load_note(struct vb_load *l, uint32_t host, enum vb_load_note_kind kind, uint32_t flow)
{
	struct vb_load_note n = {.flow = flow, .kind = (uint8_t)kind};

	if (kind == VB_LOAD_SENT)
		n.is_broken = l->connection[l->flow[flow].connection].broken;

	if (!vb_sim_is_in_window(l->sim)) {
		note_take(l, &n, NULL);
		return;
	}
	n.computed = vb_load_part_of(l, host)->computed;
	n.place = vb_sim_place_of(l->sim, vb_sim_part_of(l->sim, host));
	if (!vb_load_notes_add(&vb_load_part_of(l, host)->notes, &n, &l->memory))
		vb_load_fail(l, host, -ENOMEM);
}

void vb_load_notes_settle(struct vb_load *l)
{
	for (;;) {
		const struct vb_load_note *best = NULL;
		uint32_t part = 0;

		for (uint32_t i = 0; i < l->part_cnt; i++) {
			const struct vb_load_note *n = vb_load_notes_first(&l->part[i].notes);

			if (n && (!best || vb_load_note_is_before(n, best))) {
				best = n;
				part = i;
			}
		}
		if (!best)
			break;
		note_take(l, best,
			  l->part[part].notes.state
			      ? &l->part[part].notes.state[l->part[part].notes.taken]
			      : NULL);
		l->part[part].notes.taken++;
	}
	for (uint32_t i = 0; i < l->part_cnt; i++) {
		struct vb_load_part *p = &l->part[i];

		VB_ASSERT_ALL(p->first == VB_LOAD_NONE);
		p->notes.cnt = p->notes.taken = p->draft_cnt = 0;
		if (p->notes.state)
			l->memory.free(l->memory.ctx, p->notes.state);
		p->notes.state = NULL;
		l->failure = p->failure ? p->failure : l->failure;
	}
}

uint64_t vb_load_past_cnt(const struct vb_load *l)
{
	return l->past_cnt;
}

void vb_load_watch_past(struct vb_load *l, void (*fn)(void *ctx, const struct vb_flow *f),
			void *ctx)
{
	l->watcher[0] = (struct vb_load_watcher){fn, ctx};
}

uint64_t vb_load_message_unit(const struct vb_load *l, const struct vb_flow *f)
{
	if (vb_flow_is_to_group(f))
		return vb_load_datagram_bytes(l);
	return f->op == VB_LOAD_ATOMIC ? 8 : l->cfg.message_bytes;
}

uint32_t vb_load_message_cnt(const struct vb_load *l, const struct vb_flow *f)
{
	uint64_t unit = vb_load_message_unit(l, f);

	return f->bytes ? (uint32_t)((f->bytes + unit - 1) / unit) : 1;
}

void vb_load_source_wait(struct vb_load *l, uint32_t source, vb_time at)
{
	VB_ASSERT_ALL(source < l->source_cnt);
	vb_eventq_set(&l->starts, l->cfg.flows_max + source, at);
}

void vb_load_arm(struct vb_load *l)
{
	vb_sim_set_timer(l->sim, vb_eventq_next(&l->starts));
}

void vb_load_turn_by(struct vb_load *l, uint32_t part, vb_time at)
{
	if (at >= l->part[part].turn_at)
		return;
	l->part[part].turn_at = at;
	vb_sim_set_turn(l->sim, part, at);
}

uint32_t vb_load_flow_cnt(const struct vb_load *l)
{
	return l->flow_cnt;
}

const struct vb_flow *vb_load_flow(const struct vb_load *l, uint32_t i)
{
	assert(i < l->flow_cnt);
	return &l->flow[i];
}
