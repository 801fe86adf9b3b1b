/* SPDX-License-Identifier: BSD-2-Clause */
/* Which algorithms a collective has, what they take, and the graph of one. See collective.h. */
#include "sim/load/graph/collective/collective.h"

#include "base/assert.h"
#include "sim/load/graph/collective/maker.h"

#include <errno.h>

#define CHUNKS_MAX 65536u
#define MICROBATCHES_MAX 65536u

const char *const vb_collective_name[VB_COLLECTIVE_KINDS] = {
    [VB_ALL_REDUCE] = "all-reduce",
    [VB_ALL_GATHER] = "all-gather",
    [VB_REDUCE_SCATTER] = "reduce-scatter",
    [VB_ALL_TO_ALL] = "all-to-all",
    [VB_BROADCAST] = "broadcast",
    [VB_MOE] = "moe",
    [VB_PIPELINE] = "pipeline",
};

const char *const vb_algorithm_name[VB_ALGORITHMS] = {
    [VB_ALGORITHM_UNSAID] = "",
    [VB_RING] = "ring",
    [VB_HALVING_DOUBLING] = "halving-doubling",
    [VB_TREE] = "tree",
    [VB_HIERARCHICAL] = "hierarchical",
    [VB_DIRECT] = "direct",
    [VB_PAIRWISE] = "pairwise",
    [VB_1F1B] = "1f1b",
    [VB_GPIPE] = "gpipe",
};

/* The first algorithm of a kind is taken if nothing is said. */
static const struct method {
	uint8_t kind, algorithm;
	int (*make)(struct vb_maker *m);
} methods[] = {
    {VB_ALL_REDUCE, VB_RING, vb_maker_ring},
    {VB_ALL_REDUCE, VB_HALVING_DOUBLING, vb_maker_halving},
    {VB_ALL_REDUCE, VB_TREE, vb_maker_tree},
    {VB_ALL_REDUCE, VB_HIERARCHICAL, vb_maker_hierarchical},
    {VB_ALL_GATHER, VB_RING, vb_maker_ring},
    {VB_REDUCE_SCATTER, VB_RING, vb_maker_ring},
    {VB_ALL_TO_ALL, VB_DIRECT, vb_maker_exchange},
    {VB_ALL_TO_ALL, VB_PAIRWISE, vb_maker_exchange},
    {VB_BROADCAST, VB_TREE, vb_maker_tree},
    {VB_MOE, VB_DIRECT, vb_maker_moe},
    {VB_PIPELINE, VB_1F1B, vb_maker_pipeline},
    {VB_PIPELINE, VB_GPIPE, vb_maker_pipeline},
};
#define METHOD_CNT (sizeof methods / sizeof methods[0])

static const struct method *method_of(const struct vb_collective *c)
{
	for (size_t i = 0; i < METHOD_CNT; i++)
		if (methods[i].kind == c->kind &&
		    (c->algorithm == VB_ALGORITHM_UNSAID || methods[i].algorithm == c->algorithm))
			return &methods[i];
	return NULL;
}

enum vb_collective_algorithm vb_collective_algorithm_of(const struct vb_collective *c)
{
	const struct method *method = method_of(c);

	return method ? (enum vb_collective_algorithm)method->algorithm : VB_ALGORITHM_UNSAID;
}

const char *vb_collective_wrong(const struct vb_collective *c)
{
	const struct method *method = method_of(c);

	if (!method)
		return "has an algorithm that this collective does not have";
	if (c->ranks < 2 || c->ranks > VB_GRAPH_RANKS_MAX)
		return "has 2 ranks and more";
	if (c->bytes > VB_GRAPH_BYTES_MAX)
		return "has at most 1 TiB";
	if (method->algorithm == VB_HIERARCHICAL &&
	    (c->local < 2 || c->local >= c->ranks || c->ranks % c->local))
		return "has a local of 2 hosts and more that divides its hosts into several groups";
	if (method->algorithm != VB_HIERARCHICAL && c->local)
		return "has a local, which is for the algorithm hierarchical";
	if (c->chunks > CHUNKS_MAX || (c->chunks && method->algorithm != VB_TREE))
		return "has chunks, which are for the algorithm tree and at most 65536";
	if (c->kind == VB_PIPELINE && (c->microbatches < 1 || c->microbatches > MICROBATCHES_MAX))
		return "has 1 to 65536 microbatches";
	if (c->kind != VB_PIPELINE && (c->microbatches || c->backward))
		return "has microbatches or backward, which are for a pipeline";
	if (c->kind != VB_PIPELINE && c->kind != VB_MOE && c->work)
		return "has work, which is for a pipeline and for moe";
	if (c->work > VB_GRAPH_TIME_MAX / 2 || c->backward > VB_GRAPH_TIME_MAX)
		return "has work of at most 500 s";
	return NULL;
}

static int collective_make(void *ctx, struct vb_graph *g)
{
	struct vb_maker *m = ctx;

	VB_ASSERT(!vb_collective_wrong(m->c));
	m->g = g;
	m->algorithm = vb_collective_algorithm_of(m->c);
	m->tag = 0;
	for (uint32_t i = 0; i < m->c->ranks; i++)
		m->tail[i] = VB_GRAPH_NONE;
	return method_of(m->c)->make(m);
}

int vb_collective_add(struct vb_graph *g, const struct vb_collective *c,
		      const struct vb_collective_place *place)
{
	struct vb_maker m = {.c = c,
			     .algorithm = vb_collective_algorithm_of(c),
			     .tail = place->tail,
			     .head = place->head,
			     .rank = place->rank};

	VB_ASSERT(c->kind != VB_MOE && c->ranks <= g->rank_cnt);
	return collective_make(&m, g);
}

int vb_collective_create(struct vb_graph **out, const struct vb_collective *c,
			 const struct vb_sim_memory *memory)
{
	struct vb_maker m = {.c = c};
	const struct vb_graph_maker maker = {collective_make, &m};
	struct vb_graph_fault fault;
	int err = -ENOMEM;

	if (vb_collective_wrong(c))
		return -EINVAL;
	m.tail = memory->alloc(memory->ctx, c->ranks * sizeof *m.tail);
	m.sum = memory->alloc(memory->ctx, c->ranks * sizeof *m.sum);
	if (m.tail && m.sum)
		err = vb_graph_create(out, c->ranks, &maker, memory, &fault);
	if (m.tail)
		memory->free(memory->ctx, m.tail);
	if (m.sum)
		memory->free(memory->ctx, m.sum);
	/* Of an algorithm a graph can be too large, and never wrong. */
	VB_ASSERT(err != -EINVAL || fault.kind == VB_GRAPH_TOO_LARGE);
	return err;
}

bool vb_collective_bus(const struct vb_collective *c, uint64_t *up, uint64_t *down)
{
	*up = *down = 1;
	switch (c->kind) {
	case VB_ALL_REDUCE:
		*up = 2 * (uint64_t)(c->ranks - 1);
		*down = c->ranks;
		return true;
	case VB_ALL_GATHER:
	case VB_REDUCE_SCATTER:
	case VB_ALL_TO_ALL:
		*up = c->ranks - 1;
		*down = c->ranks;
		return true;
	case VB_BROADCAST:
		return true;
	default:
		return false;
	}
}
