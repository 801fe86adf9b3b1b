/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collectives of traces. Nodes belong to one when they are of the same group and the k-th of it
 * at each of its ranks. A group is all ranks; those of a line, plane and so on of the grid of ranks
 * (involved_dim); or the ranks that have nodes with its name (pg_name), as a collective has nodes
 * at all members. See chakra.h.
 */
#include "scenario/input/chakra/trace.h"

#include "base/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Of the schema's CollectiveCommType. */
static const struct {
	const char *name;
	int kind; /* -1: there is no algorithm for it */
} collectives[] = {
    {"ALL_REDUCE", VB_ALL_REDUCE},
    {"REDUCE", -1},
    {"ALL_GATHER", VB_ALL_GATHER},
    {"GATHER", -1},
    {"SCATTER", -1},
    {"BROADCAST", VB_BROADCAST},
    {"ALL_TO_ALL", VB_ALL_TO_ALL},
    {"REDUCE_SCATTER", VB_REDUCE_SCATTER},
    {"REDUCE_SCATTER_BLOCK", -1},
    {"BARRIER", -1},
};
#define COLLECTIVE_CNT (sizeof collectives / sizeof collectives[0])

/* A node of a collective, and its group: the name, the dimensions, and the rank of the grid whose
 * places in these dimensions are 0. */
struct member {
	uint64_t dims;
	uint32_t name, base, node;
};

/* The nodes of a group, of one rank after the other. */
struct group {
	const struct member *member;
	uint32_t cnt, ranks;
	uint32_t *rank, *first; /* of each rank; first has one more */
	uint32_t *head, *tail;  /* struct vb_collective_place */
};

int vb_chakra_collective_kind(uint64_t comm_type, const char **name)
{
	bool is_known = comm_type < COLLECTIVE_CNT;

	*name = is_known ? collectives[comm_type].name : "";
	return is_known ? collectives[comm_type].kind : -1;
}

/* The rank with places of 0 in the dimensions @dims, and else those of @rank. */
static uint32_t base_of(const struct vb_chakra *t, uint32_t rank, uint64_t dims)
{
	uint32_t base = 0, stride = 1;

	for (uint32_t i = 0; i < t->dim_cnt; i++) {
		if (!(dims >> i & 1))
			base += rank / stride % t->dim[i] * stride;
		stride *= t->dim[i];
	}
	return base;
}

static struct member member_of(const struct vb_chakra *t, uint32_t node)
{
	const struct vb_chakra_node *n = &t->node[node];
	bool is_all = n->dim_cnt == 0 || n->dims == UINT64_MAX >> (64 - n->dim_cnt);

	return (struct member){.dims = is_all ? UINT64_MAX : n->dims,
			       .name = n->group,
			       .base = is_all ? 0 : base_of(t, n->rank, n->dims),
			       .node = node};
}

static int group_compare(const struct member *x, const struct member *y)
{
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->dims != y->dims)
		return x->dims > y->dims ? -1 : 1; /* that of all ranks is the first */
	return x->base < y->base ? -1 : x->base > y->base;
}

/* By groups; nodes stand in the order of ranks, and there of their ids. */
static int member_compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int by_group = group_compare(x, y);

	return by_group ? by_group : x->node < y->node ? -1 : x->node > y->node;
}

/* The number of ranks that a group has by what it is; 0: as many as have nodes of it. */
static uint32_t ranks_of(const struct vb_chakra *t, const struct member *m)
{
	uint32_t cnt = 1;

	if (m->name)
		return 0;
	if (m->dims == UINT64_MAX)
		return t->rank_cnt;
	for (uint32_t i = 0; i < t->dim_cnt; i++)
		cnt *= m->dims >> i & 1 ? t->dim[i] : 1;
	return cnt;
}

/* Finds the ranks of a group, with the first node of each. Ranks that should have nodes and have
 * none are there as well. */
static void group_begin(struct group *g, const struct vb_chakra *t)
{
	uint32_t all = ranks_of(t, g->member), at = 0;

	g->ranks = 0;
	for (uint32_t rank = 0; rank < t->rank_cnt; rank++) {
		bool belongs = all == t->rank_cnt ||
			       (all && base_of(t, rank, g->member->dims) == g->member->base);
		uint32_t first = at;

		while (at < g->cnt && t->node[g->member[at].node].rank == rank)
			at++;
		if (at == first && !belongs)
			continue;
		g->rank[g->ranks] = rank;
		g->first[g->ranks++] = first;
	}
	VB_ASSERT(at == g->cnt);
	g->first[g->ranks] = at;
}

/* A key stands for the algorithms that have it. */
static struct vb_collective collective_of(const struct vb_collective *how, uint32_t ranks,
					  enum vb_collective_kind kind, uint64_t bytes)
{
	struct vb_collective c = {
	    .kind = (uint8_t)kind, .algorithm = how->algorithm, .ranks = ranks, .bytes = bytes};

	if (vb_collective_algorithm_of(&c) == VB_ALGORITHM_UNSAID)
		c.algorithm = VB_ALGORITHM_UNSAID;
	/* Each rank brings so much. */
	if (kind == VB_ALL_GATHER)
		c.bytes = bytes * c.ranks;
	if (vb_collective_algorithm_of(&c) == VB_HIERARCHICAL)
		c.local = how->local;
	if (vb_collective_algorithm_of(&c) == VB_TREE)
		c.chunks = how->chunks;
	return c;
}

/* The @k-th nodes of all ranks, of which the first rank has one. */
static int collective_join(struct group *g, struct vb_chakra *t, const struct vb_collective *how,
			   struct vb_graph *graph, uint32_t k)
{
	const struct vb_chakra_node *first = &t->node[g->member[g->first[0] + k].node];
	const uint64_t *number = first->number;
	const char *name;
	int kind = vb_chakra_collective_kind(number[VB_CHAKRA_COMM_TYPE], &name);
	struct vb_collective c =
	    collective_of(how, g->ranks, (enum vb_collective_kind)kind, number[VB_CHAKRA_SIZE]);
	/* A group of one rank has nothing to send. */
	const char *wrong =
	    g->ranks == 1 && (first->group || t->rank_cnt > 1) ? NULL : vb_collective_wrong(&c);

	VB_ASSERT(kind >= 0);
	if (wrong)
		return vb_chakra_refuse(t, first, "%s", wrong);
	for (uint32_t i = 0; i < g->ranks; i++) {
		const struct vb_chakra_node *n;

		if (g->first[i] + k >= g->first[i + 1])
			return vb_chakra_refuse(t, first, "is a collective that rank %u has not",
						g->rank[i]);
		n = &t->node[g->member[g->first[i] + k].node];
		if (n->number[VB_CHAKRA_COMM_TYPE] != number[VB_CHAKRA_COMM_TYPE] ||
		    n->number[VB_CHAKRA_SIZE] != number[VB_CHAKRA_SIZE])
			return vb_chakra_refuse(
			    t, n,
			    "has another comm_type or comm_size than node %" PRIu64
			    " of rank %u, which is the same collective",
			    first->id, g->rank[0]);
		g->head[i] = n->op;
	}
	if (g->ranks == 1)
		return 0;
	return vb_collective_add(graph, &c,
				 &(struct vb_collective_place){g->head, g->tail, g->rank});
}

static int group_join(struct group *g, struct vb_chakra *t, const struct vb_collective *how,
		      struct vb_graph *graph)
{
	uint32_t cnt;
	int bad = 0;

	group_begin(g, t);
	cnt = g->first[1] - g->first[0];
	for (uint32_t k = 0; !bad && k < cnt; k++)
		bad = vb_graph_is_full(graph) ? -E2BIG : collective_join(g, t, how, graph, k);
	for (uint32_t i = 1; !bad && i < g->ranks; i++)
		if (g->first[i] + cnt < g->first[i + 1])
			bad = vb_chakra_refuse(t, &t->node[g->member[g->first[i] + cnt].node],
					       "is a collective that rank %u has not", g->rank[0]);
	return bad;
}

int vb_chakra_join(struct vb_chakra *t, const struct vb_collective *how, struct vb_graph *g)
{
	struct member *member = calloc((size_t)t->node_cnt + 1, sizeof *member);
	uint32_t *room = calloc((size_t)t->rank_cnt + 1, 4 * sizeof *room), cnt = 0, end;
	int bad = member && room ? 0 : -ENOMEM;

	for (uint32_t i = 0; !bad && i < t->node_cnt; i++)
		if (t->node[i].type == VB_CHAKRA_COLL)
			member[cnt++] = member_of(t, i);
	if (cnt)
		qsort(member, cnt, sizeof *member, member_compare);
	for (uint32_t i = 0; !bad && i < cnt; i = end) {
		struct group of = {.member = member + i,
				   .rank = room,
				   .first = room + (t->rank_cnt + 1),
				   .head = room + 2 * ((size_t)t->rank_cnt + 1),
				   .tail = room + 3 * ((size_t)t->rank_cnt + 1)};

		for (end = i + 1; end < cnt && group_compare(&member[i], &member[end]) == 0;)
			end++;
		of.cnt = end - i;
		bad = group_join(&of, t, how, g);
	}
	free(member);
	free(room);
	return bad;
}
