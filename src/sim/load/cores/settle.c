/* SPDX-License-Identifier: BSD-2-Clause */
/* The notes of parts as they are taken up: records, numbers and idle connections follow. See
 * note.h.
 */
#include "base/assert.h"
#include "sim/load/priv.h"

#include <errno.h>

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
	uint32_t i = vb_load_flow_enrol(l, d), number;

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
