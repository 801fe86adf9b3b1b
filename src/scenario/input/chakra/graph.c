/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces to one graph. A node becomes an operation; a node of a collective becomes two, its begin
 * and its end. Then come the requirements, and then the messages of collectives (join.c). See
 * chakra.h.
 */
#include "scenario/input/chakra/trace.h"

#include "base/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* The streams of a rank: what they have goes on at the same time as the others. */
enum { STREAM_COMP, STREAM_MEM, STREAM_CPU, STREAM_NOTHING /* takes no time */ };

struct joint {
	struct vb_chakra *t;
	const struct vb_collective *how;
};

static bool has_number(const struct vb_chakra_node *n, enum vb_chakra_number i)
{
	return n->has >> i & 1;
}

/* A send or a receive. */
static int message_check(const struct vb_chakra *t, const struct vb_chakra_node *n)
{
	bool sends = n->type == VB_CHAKRA_SEND;
	enum vb_chakra_number own = sends ? VB_CHAKRA_SRC : VB_CHAKRA_DST;
	enum vb_chakra_number peer = sends ? VB_CHAKRA_DST : VB_CHAKRA_SRC;

	if (!has_number(n, VB_CHAKRA_SIZE) || !has_number(n, peer))
		return vb_chakra_refuse(t, n, "has no comm_size or no %s",
					sends ? "comm_dst" : "comm_src");
	if (n->number[peer] >= t->rank_cnt || n->number[peer] == n->rank)
		return vb_chakra_refuse(t, n, "%s rank %" PRIu64 ", and is of rank %u of %u",
					sends ? "sends to" : "receives from", n->number[peer],
					n->rank, t->rank_cnt);
	if (has_number(n, own) && n->number[own] != n->rank)
		return vb_chakra_refuse(t, n, "has a %s of %" PRIu64 ", and is of rank %u",
					sends ? "comm_src" : "comm_dst", n->number[own], n->rank);
	if (n->number[VB_CHAKRA_TAG] >= VB_COLLECTIVE_TAG)
		return vb_chakra_refuse(t, n, "has a comm_tag above %u", VB_COLLECTIVE_TAG - 1);
	return 0;
}

static int collective_check(const struct vb_chakra *t, const struct vb_chakra_node *n)
{
	uint64_t type = n->number[VB_CHAKRA_COMM_TYPE];
	const char *name;
	int kind;

	if (!has_number(n, VB_CHAKRA_SIZE) || !has_number(n, VB_CHAKRA_COMM_TYPE))
		return vb_chakra_refuse(t, n, "has no comm_size or no comm_type");
	kind = vb_chakra_collective_kind(type, &name);
	if (kind < 0)
		return vb_chakra_refuse(t, n,
					"has the comm_type %" PRIu64
					"%s%s: ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL "
					"and BROADCAST are taken",
					type, *name ? ", " : "", name);
	if (n->dim_cnt && n->dims != UINT64_MAX >> (64 - n->dim_cnt) && n->dim_cnt != t->dim_cnt)
		return vb_chakra_refuse(t, n,
					"is about some of %u dimensions (involved_dim), and the "
					"workload has dims of %u",
					n->dim_cnt, t->dim_cnt);
	return 0;
}

static int node_check(const struct vb_chakra *t, const struct vb_chakra_node *n)
{
	bool is_message = n->type == VB_CHAKRA_SEND || n->type == VB_CHAKRA_RECV;

	if (n->type == 0 || n->type >= VB_CHAKRA_TYPES)
		return vb_chakra_refuse(t, n, "has a type that is not taken (%u)", n->type);
	if (n->number[VB_CHAKRA_SIZE] > VB_GRAPH_BYTES_MAX)
		return vb_chakra_refuse(t, n, "has more than 1 TiB");
	if (is_message)
		return message_check(t, n);
	if (n->type == VB_CHAKRA_COLL)
		return collective_check(t, n);
	if (vb_chakra_duration(t, n) != VB_NEVER)
		return 0;
	if (n->micros == 0 && t->ops_per_s == 0)
		return vb_chakra_refuse(t, n,
					"has num_ops and no duration_micros, and the workload has "
					"no compute-rate");
	return vb_chakra_refuse(t, n, "takes longer than 1000 s");
}

static uint8_t stream_of(const struct vb_chakra_node *n)
{
	switch (n->type) {
	case VB_CHAKRA_COMP:
		return n->number[VB_CHAKRA_IS_CPU] ? STREAM_CPU : STREAM_COMP;
	case VB_CHAKRA_MEM_LOAD:
	case VB_CHAKRA_MEM_STORE:
		return STREAM_MEM;
	default:
		return STREAM_NOTHING;
	}
}

static void node_add(struct vb_graph *g, const struct vb_chakra *t, struct vb_chakra_node *n,
		     uint32_t mark)
{
	struct vb_graph_op op = {.kind = VB_GRAPH_CALC, .rank = n->rank, .mark = mark};

	if (n->type == VB_CHAKRA_SEND || n->type == VB_CHAKRA_RECV) {
		bool sends = n->type == VB_CHAKRA_SEND;

		op.kind = sends ? VB_GRAPH_SEND : VB_GRAPH_RECV;
		op.peer = (uint32_t)n->number[sends ? VB_CHAKRA_DST : VB_CHAKRA_SRC];
		op.tag = (uint32_t)n->number[VB_CHAKRA_TAG];
		op.amount = n->number[VB_CHAKRA_SIZE];
	} else {
		op.stream = stream_of(n);
		op.amount = op.stream == STREAM_NOTHING ? 0 : vb_chakra_duration(t, n);
	}
	n->op = vb_graph_add(g, &op);
	if (n->type == VB_CHAKRA_COLL)
		(void)vb_graph_add(g, &op);
}

/* The operation that ends a node. */
static uint32_t end_of(const struct vb_chakra_node *n)
{
	return n->op + (n->type == VB_CHAKRA_COLL);
}

static int joint_make(void *ctx, struct vb_graph *g)
{
	struct joint *p = ctx;
	struct vb_chakra *t = p->t;

	for (uint32_t i = 0; i < t->node_cnt; i++)
		node_add(g, t, &t->node[i], i);
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_chakra_node *n = &t->node[i];

		for (uint32_t k = n->dep; k < n->dep + n->dep_cnt; k++)
			vb_graph_require(g, n->op, end_of(&t->node[t->dep[k]]), false);
		if (n->type == VB_CHAKRA_COLL)
			vb_graph_require(g, n->op + 1, n->op, false);
	}
	return vb_chakra_join(t, p->how, g);
}

static int fault_complain(const struct vb_chakra *t, const struct vb_graph_fault *f)
{
	const struct vb_chakra_node *n = &t->node[f->op.mark], *other = &t->node[f->other.mark];

	switch (f->kind) {
	case VB_GRAPH_TOO_LARGE:
		return vb_chakra_complain(
		    t, 0, t->is_json,
		    "all ranks have more than %u operations, or %u requirements, with what "
		    "their collectives need",
		    VB_GRAPH_OPS_MAX, VB_GRAPH_EDGES_MAX);
	case VB_GRAPH_UNSENT:
		return vb_chakra_refuse(t, n,
					"waits for ever: rank %u has no send to it with tag %u "
					"that no other receive takes",
					f->op.peer, f->op.tag);
	case VB_GRAPH_UNRECEIVED:
		return vb_chakra_refuse(t, n,
					"sends what nobody takes: rank %u has no receive from it "
					"with tag %u that no other send is for",
					f->op.peer, f->op.tag);
	case VB_GRAPH_TOO_SHORT:
		return vb_chakra_refuse(t, n,
					"has room for %" PRIu64 " bytes: node %" PRIu64
					" of rank %u sends %" PRIu64,
					f->op.amount, other->id, other->rank, f->other.amount);
	default:
		VB_ASSERT(f->kind == VB_GRAPH_CIRCLE);
		return vb_chakra_refuse(t, n,
					"never starts or ends: it waits for node %" PRIu64
					" of rank %u, and that one in the end for it",
					other->id, other->rank);
	}
}

/* The keys themselves, as no node may have an algorithm that takes them. */
static int how_check(const struct joint *p)
{
	struct vb_collective c = *p->how;
	const char *wrong;

	c.kind = VB_ALL_REDUCE;
	c.ranks = p->t->rank_cnt;
	c.bytes = 0;
	if (c.algorithm != VB_ALGORITHM_UNSAID &&
	    vb_collective_algorithm_of(&c) == VB_ALGORITHM_UNSAID)
		c.kind = VB_ALL_TO_ALL;
	/* The chunks are a broadcast's, too. */
	if (c.algorithm == VB_ALGORITHM_UNSAID)
		c.chunks = 0;
	wrong = p->t->rank_cnt > 1 ? vb_collective_wrong(&c) : NULL;
	if (!wrong)
		return 0;
	snprintf(p->t->c->text, p->t->c->size, "%s: the workload %s", p->t->c->file, wrong);
	return -EINVAL;
}

/* A rank for each place in the grid. */
static int dims_check(const struct vb_chakra *t)
{
	uint64_t ranks = 1;

	for (uint32_t i = 0; i < t->dim_cnt; i++)
		ranks *= t->dim[i];
	if (t->dim_cnt == 0 || ranks == t->rank_cnt)
		return 0;
	snprintf(t->c->text, t->c->size,
		 "%s: the workload has dims of %" PRIu64 " ranks, and there are traces of %u",
		 t->c->file, ranks, t->rank_cnt);
	return -EINVAL;
}

int vb_chakra_graph(struct vb_graph **out, struct vb_chakra *t, const struct vb_collective *how,
		    const struct vb_sim_memory *memory)
{
	struct joint p = {.t = t, .how = how};
	const struct vb_graph_maker maker = {joint_make, &p};
	struct vb_graph_fault fault;
	int bad = how_check(&p);

	VB_ASSERT(t->rank_cnt > 0 && t->first[t->rank_cnt] == t->node_cnt);
	if (!bad)
		bad = dims_check(t);
	for (uint32_t i = 0; !bad && i < t->node_cnt; i++)
		bad = node_check(t, &t->node[i]);
	if (bad)
		return bad;
	bad = vb_graph_create(out, t->rank_cnt, &maker, memory, &fault);
	if (bad == -EINVAL && fault.kind != VB_GRAPH_IS_GOOD)
		bad = fault_complain(t, &fault);
	return bad;
}
