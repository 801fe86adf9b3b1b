/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs as they are made: operations, and what requires what. See graph.h. */
#include "sim/load/graph/graph.h"

#include "base/assert.h"

#include <errno.h>

uint32_t vb_graph_add(struct vb_graph *g, const struct vb_graph_op *op)
{
	uint64_t i = g->op_cnt++;

	VB_ASSERT(op->rank < g->rank_cnt && op->stream < VB_GRAPH_STREAMS_MAX);
	if (!g->op) {
		if (op->kind == VB_GRAPH_CALC && op->stream >= g->stream_cnt)
			g->stream_cnt = op->stream + 1u;
		if (op->kind == VB_GRAPH_SEND && op->amount > g->longest)
			g->longest = op->amount;
		return (uint32_t)i;
	}
	VB_ASSERT(op->kind == VB_GRAPH_CALC || (op->peer < g->rank_cnt && op->peer != op->rank));
	g->op[i] = *op;
	g->op[i].match = g->op[i].pair = VB_GRAPH_NONE;
	g->op[i].first = g->op[i].needs = 0;
	return (uint32_t)i;
}

void vb_graph_require(struct vb_graph *g, uint32_t op, uint32_t before, bool at_start)
{
	uint64_t i = g->edge_cnt++;

	if (!g->draft)
		return;
	VB_ASSERT(op < g->op_cnt && before < g->op_cnt);
	g->has_far_edges |= g->op[op].rank != g->op[before].rank;
	g->draft[i][0] = before;
	g->draft[i][1] = op | (at_start ? VB_GRAPH_AT_START : 0);
}

bool vb_graph_is_full(const struct vb_graph *g)
{
	return g->op_cnt > VB_GRAPH_OPS_MAX || g->edge_cnt > VB_GRAPH_EDGES_MAX ||
	       (uint64_t)g->rank_cnt * g->stream_cnt > VB_GRAPH_OPS_MAX;
}

static void *graph_alloc(const struct vb_graph *g, size_t size)
{
	return g->memory.alloc(g->memory.ctx, size);
}

static void graph_free(const struct vb_graph *g, void *p)
{
	if (p)
		g->memory.free(g->memory.ctx, p);
}

/* Sorts the edges by the operation that they come from: counts, sums, and puts them in place from
 * the last one on, so that the edges of one operation keep their order. */
static void edges_sort(struct vb_graph *g)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < g->edge_cnt; i++) {
		g->op[g->draft[i][0]].first++;
		g->op[g->draft[i][1] & ~VB_GRAPH_AT_START].needs++;
	}
	for (uint64_t i = 0; i <= g->op_cnt; i++) {
		sum += g->op[i].first;
		g->op[i].first = sum;
	}
	VB_ASSERT(sum == g->edge_cnt);
	for (uint64_t i = g->edge_cnt; i-- > 0;)
		g->edge[--g->op[g->draft[i][0]].first] = g->draft[i][1];
}

static int graph_fill(struct vb_graph *g, const struct vb_graph_maker *maker,
		      struct vb_graph_fault *fault)
{
	uint64_t ops = g->op_cnt, edges = g->edge_cnt;
	int err;

	/* One more each, so that there is always something. */
	g->op = graph_alloc(g, (ops + 1) * sizeof *g->op);
	g->edge = graph_alloc(g, (edges + 1) * sizeof *g->edge);
	g->draft = graph_alloc(g, (edges + 1) * sizeof *g->draft);
	if (!g->op || !g->edge || !g->draft)
		return -ENOMEM;
	g->op_cnt = g->edge_cnt = 0;
	err = maker->make(maker->ctx, g);
	if (err)
		return err;
	VB_ASSERT(g->op_cnt == ops && g->edge_cnt == edges);
	edges_sort(g);
	graph_free(g, g->draft);
	g->draft = NULL;
	err = vb_graph_match(g, fault);
	return err ? err : vb_graph_check(g, fault);
}

int vb_graph_create(struct vb_graph **out, uint32_t ranks, const struct vb_graph_maker *maker,
		    const struct vb_sim_memory *memory, struct vb_graph_fault *fault)
{
	struct vb_graph *g = memory->alloc(memory->ctx, sizeof *g);
	int err;

	VB_ASSERT(ranks <= VB_GRAPH_RANKS_MAX);
	*fault = (struct vb_graph_fault){VB_GRAPH_IS_GOOD, {0}, {0}};
	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->memory = *memory;
	g->rank_cnt = ranks;
	err = maker->make(maker->ctx, g);
	if (err == -E2BIG || (!err && vb_graph_is_full(g))) {
		fault->kind = VB_GRAPH_TOO_LARGE;
		err = -EINVAL;
	}
	if (!err)
		err = graph_fill(g, maker, fault);
	if (err) {
		vb_graph_destroy(g);
		return err;
	}
	*out = g;
	return 0;
}

void vb_graph_destroy(struct vb_graph *g)
{
	if (!g)
		return;
	graph_free(g, g->op);
	graph_free(g, g->edge);
	graph_free(g, g->draft);
	g->memory.free(g->memory.ctx, g);
}
