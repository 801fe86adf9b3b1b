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

uint32_t vb_load_flow_enrol(struct vb_load *l, const struct vb_flow *f)
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
	uint32_t i = vb_load_flow_enrol(l, f);

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
					: vb_load_flow_enrol(l, f);
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

bool vb_load_is_reliable(const struct vb_load *l, const struct vb_flow *f)
{
	return l->cfg.type != VB_QPT_UC && l->cfg.type != VB_QPT_UD && !vb_flow_is_to_group(f);
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
