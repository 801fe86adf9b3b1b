/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes, flows and graphs as other ranks have them. See ranks.h. */
#include "sim/load/cores/ranks.h"

#include "base/assert.h"
#include "sim/load/graph/run.h"

#include <errno.h>
#include <string.h>

/* One end of a flow at the end of the run. */
struct end_state {
	uint64_t moved;
	vb_time done, delivered;
	uint32_t base, posted, completed, received, status;
};

static uint32_t own_part(const struct vb_load *l)
{
	uint32_t i = 0;

	while (i + 1 < l->part_cnt && !vb_sim_is_part_here(l->sim, i))
		i++;
	return i;
}

void vb_load_rank_pack(const struct vb_load *l, struct vb_rank_bytes *b)
{
	uint32_t own = own_part(l);
	const struct vb_load_part *p = &l->part[own];

	vb_rank_put(b, &p->failure, sizeof p->failure);
	vb_rank_put(b, &p->notes.cnt, sizeof p->notes.cnt);
	for (uint32_t i = 0; i < p->notes.cnt; i++) {
		const struct vb_load_note *n = &p->notes.note[i];

		vb_rank_put(b, n, sizeof *n);
		vb_rank_put(b, &l->flow[n->kind == VB_LOAD_BROKEN ? 0 : n->flow], sizeof *l->flow);
	}
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			vb_graph_run_pack(l->source[i].run, own, b);
}

static bool note_is_good(const struct vb_load *l, const struct vb_load_note *n)
{
	uint32_t flows = l->cfg.flows_max + l->part_cnt * l->draft_max;

	return n->flow < (n->kind == VB_LOAD_BROKEN ? l->connection_cnt : flows);
}

/* In a record there are no links of others, and the connections are the same. */
static void state_read(const struct vb_load *l, struct vb_rank_reader *r, struct vb_flow *f)
{
	vb_rank_get(r, f, sizeof *f);
	f->next = f->next_in = VB_LOAD_NONE;
	f->seen = 0;
	if (f->src >= l->host_cnt || f->dst >= l->host_cnt ||
	    (f->connection != VB_LOAD_NONE && f->connection >= l->connection_cnt))
		r->is_bad = true;
}

void vb_load_rank_unpack(struct vb_load *l, uint32_t from, struct vb_rank_reader *r)
{
	struct vb_load_part *p = &l->part[from];
	uint32_t cnt;

	vb_rank_get(r, &p->failure, sizeof p->failure);
	vb_rank_get(r, &cnt, sizeof cnt);
	VB_ASSERT_ALL(p->notes.cnt == 0 && !p->notes.state);
	if (cnt > r->left / sizeof(struct vb_load_note)) {
		r->is_bad = true;
		return;
	}
	p->notes.state = l->memory.alloc(l->memory.ctx, (cnt + 1) * sizeof *p->notes.state);
	for (uint32_t i = 0; i < cnt && p->notes.state && !r->is_bad; i++) {
		struct vb_load_note n;

		vb_rank_get(r, &n, sizeof n);
		state_read(l, r, &p->notes.state[i]);
		if (n.kind == VB_LOAD_BROKEN)
			r->is_bad = false;
		if (!note_is_good(l, &n) || r->is_bad ||
		    !vb_load_notes_add(&p->notes, &n, &l->memory))
			r->is_bad = true;
	}
	r->is_bad |= !p->notes.state;
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			vb_graph_run_unpack(l->source[i].run, from, r);
}

void vb_load_rank_pack_counts(const struct vb_load *l, struct vb_rank_bytes *b)
{
	for (uint32_t i = 0; i < l->flow_cnt; i++) {
		const struct vb_flow *f = &l->flow[i];
		struct end_state e;

		if (!vb_sim_is_here(l->sim, f->src) && !vb_sim_is_here(l->sim, f->dst))
			continue;
		memset(&e, 0, sizeof e);
		e = (struct end_state){.moved = vb_load_flow_completed(l, f),
				       .done = f->done,
				       .delivered = f->delivered,
				       .base = f->base,
				       .posted = f->posted,
				       .completed = f->completed,
				       .received = f->received,
				       .status = f->status};
		vb_rank_put(b, &e, sizeof e);
	}
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			vb_graph_run_pack_counts(l->source[i].run, own_part(l), b);
}

int vb_load_rank_unpack_counts(struct vb_load *l, uint32_t from, struct vb_rank_reader *r)
{
	if (!l->moved)
		l->moved = l->memory.alloc(l->memory.ctx, l->cfg.flows_max * sizeof *l->moved);
	if (!l->moved)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->flow_cnt; i++) {
		struct vb_flow *f = &l->flow[i];
		bool is_src = vb_sim_part_of(l->sim, f->src) == from,
		     is_dst = vb_sim_part_of(l->sim, f->dst) == from;
		struct end_state e;

		if (!is_src && !is_dst)
			continue;
		vb_rank_get(r, &e, sizeof e);
		if (is_src) {
			l->moved[i] = e.moved;
			f->done = e.done;
			f->base = e.base;
			f->posted = e.posted;
			f->completed = e.completed;
			f->status = (uint8_t)e.status;
		}
		if (is_dst) {
			f->delivered = e.delivered;
			f->received = e.received;
		}
	}
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			vb_graph_run_unpack_counts(l->source[i].run, from, r);
	return 0;
}
