/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations and steps. See maker.h. */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"

struct vb_maker_range vb_maker_part(const struct vb_maker_range *r, uint32_t k, uint32_t cnt)
{
	uint64_t all = vb_maker_bytes(r), each = all / cnt, rest = all % cnt;

	VB_ASSERT(k < cnt);
	return (struct vb_maker_range){r->begin + each * k + rest * k / cnt,
				       r->begin + each * (k + 1) + rest * (k + 1) / cnt};
}

static uint32_t op_add(struct vb_maker *m, struct vb_graph_op op, uint32_t after)
{
	uint32_t head = m->head ? m->head[op.rank] : VB_GRAPH_NONE, i;

	if (m->rank) {
		op.rank = m->rank[op.rank];
		op.peer = m->rank[op.peer];
	}

	VB_ASSERT(m->tag < VB_COLLECTIVE_TAG);
	if (m->head) {
		op.tag |= VB_COLLECTIVE_TAG;
		op.mark = m->g->op ? m->g->op[head].mark : 0;
	}
	i = vb_graph_add(m->g, &op);
	if (after == VB_GRAPH_NONE)
		after = head;
	if (after != VB_GRAPH_NONE)
		vb_graph_require(m->g, i, after, false);
	if (m->head)
		vb_graph_require(m->g, head + 1, i, false);
	return i;
}

static uint32_t message_add(struct vb_maker *m, enum vb_graph_kind kind, uint32_t rank,
			    uint32_t peer, uint64_t bytes, uint32_t after)
{
	return op_add(
	    m,
	    (struct vb_graph_op){
		.kind = (uint8_t)kind, .rank = rank, .peer = peer, .tag = m->tag, .amount = bytes},
	    after);
}

uint32_t vb_maker_send(struct vb_maker *m, uint32_t rank, uint32_t to, uint64_t bytes,
		       uint32_t after)
{
	return message_add(m, VB_GRAPH_SEND, rank, to, bytes, after);
}

uint32_t vb_maker_recv(struct vb_maker *m, uint32_t rank, uint32_t from, uint64_t bytes,
		       uint32_t after)
{
	return message_add(m, VB_GRAPH_RECV, rank, from, bytes, after);
}

uint32_t vb_maker_calc(struct vb_maker *m, uint32_t rank, vb_dur ns, uint32_t after)
{
	return op_add(m, (struct vb_graph_op){.kind = VB_GRAPH_CALC, .rank = rank, .amount = ns},
		      after);
}

void vb_maker_step_send(struct vb_maker *m, uint32_t rank, uint32_t to, uint64_t bytes)
{
	(void)vb_maker_send(m, rank, to, bytes, m->tail[rank]);
}

void vb_maker_step_recv(struct vb_maker *m, uint32_t rank, uint32_t from, uint64_t bytes)
{
	m->tail[rank] = vb_maker_recv(m, rank, from, bytes, m->tail[rank]);
}
