/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binary trees: rank i has the children 2 i + 1 and 2 i + 2. Chunks go up and are added up, and go
 * down; a rank sends a chunk on when it has it, whatever other chunks do. See maker.h.
 */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"

#include <errno.h>

static uint32_t parent_of(uint32_t rank)
{
	return (rank - 1) / 2;
}

/* A chunk of @bytes goes up. Of each rank tail is what a step waits for, when it has it from both
 * children. */
static void chunk_reduce(struct vb_maker *m, uint64_t bytes)
{
	uint32_t n = m->c->ranks;

	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
			vb_maker_step_recv(m, i, child, bytes);
		if (i > 0)
			vb_maker_step_send(m, i, parent_of(i), bytes);
	}
}

static void chunk_spread(struct vb_maker *m, uint64_t bytes)
{
	uint32_t n = m->c->ranks;

	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			vb_maker_step_recv(m, i, parent_of(i), bytes);
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
			vb_maker_step_send(m, i, child, bytes);
	}
}

int vb_maker_tree(struct vb_maker *m)
{
	const struct vb_maker_range data = {0, m->c->bytes};
	uint32_t chunks = m->c->chunks ? m->c->chunks : 1;

	VB_ASSERT(m->c->kind == VB_ALL_REDUCE || m->c->kind == VB_BROADCAST);
	for (uint32_t k = 0; k < chunks; k++) {
		struct vb_maker_range r = vb_maker_part(&data, k, chunks);

		if (vb_graph_is_full(m->g))
			return -E2BIG;
		/* A chunk waits for no other one. */
		for (uint32_t i = 0; i < m->c->ranks; i++)
			m->tail[i] = VB_GRAPH_NONE;
		m->tag = 2 * k;
		if (m->c->kind == VB_ALL_REDUCE)
			chunk_reduce(m, vb_maker_bytes(&r));
		m->tag = 2 * k + 1;
		chunk_spread(m, vb_maker_bytes(&r));
	}
	return 0;
}
