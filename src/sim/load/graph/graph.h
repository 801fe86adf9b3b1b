/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs of messages and computation: what the ranks of a parallel program do, and in which order.
 * A graph has operations of ranks (send, receive, compute). An operation starts when all that it
 * requires has ended, or, where it asks for no more, has started.
 *
 * A send and a receive belong together by sender, receiver and tag: the first send that was added
 * with the first receive, the second with the second. A send does not wait for its receive.
 * Operations that compute share the streams of their rank. A stream does one at a time, in the
 * order in which they became ready.
 *
 * A graph is made in two passes by one function, which the first time only counts: so it takes the
 * memory that it needs and no more. A graph that cannot come to its end is refused. How it runs on
 * connections is in run.h.
 */
#ifndef VB_SIM_LOAD_GRAPH_GRAPH_H
#define VB_SIM_LOAD_GRAPH_GRAPH_H

#include "sim/network/topo.h"

#include <stdbool.h>

#define VB_GRAPH_NONE UINT32_MAX
#define VB_GRAPH_OPS_MAX (1u << 22)   /* operations of a graph */
#define VB_GRAPH_EDGES_MAX (1u << 24) /* requirements in it */
#define VB_GRAPH_RANKS_MAX (1u << 20)
#define VB_GRAPH_STREAMS_MAX 64u                    /* of a rank; of all VB_GRAPH_OPS_MAX */
#define VB_GRAPH_BYTES_MAX (UINT64_C(1) << 40)      /* of a message */
#define VB_GRAPH_TIME_MAX (UINT64_C(1000) * VB_SEC) /* of one computation */

enum vb_graph_kind { VB_GRAPH_SEND, VB_GRAPH_RECV, VB_GRAPH_CALC };

struct vb_graph_op {
	uint64_t amount; /* bytes; CALC: ns */
	uint32_t rank;
	uint32_t peer; /* SEND: the rank it goes to; RECV: the rank it comes from */
	uint32_t tag;
	uint32_t mark;  /* the maker's: where the operation comes from */
	uint8_t kind;   /* enum vb_graph_kind */
	uint8_t stream; /* CALC: of the rank, below VB_GRAPH_STREAMS_MAX */
	/* Set when the graph is whole. */
	uint32_t match; /* the operation at the other end of the message */
	uint32_t pair;  /* SEND: the number of its (rank, peer), from 0 */
	uint32_t first; /* in edge: what requires it, up to the first of the next operation */
	uint32_t needs; /* operations that it requires */
};

#define VB_GRAPH_AT_START 0x80000000u /* of an edge: its operation needs the start alone */

struct vb_graph {
	struct vb_sim_memory memory;
	uint32_t rank_cnt, stream_cnt; /* streams: of each rank */
	uint64_t op_cnt, edge_cnt;     /* the first pass counts beyond the limits */
	uint32_t pair_cnt;             /* ordered pairs of ranks with messages */
	bool has_far_edges;            /* a requirement of one rank's operation on another's */
	uint64_t longest;              /* bytes of the longest message */
	uint32_t send_cnt;             /* messages */
	struct vb_graph_op *op; /* op_cnt, and one behind them for its first; NULL: first pass */
	uint32_t *edge;         /* operations, with VB_GRAPH_AT_START */
	uint32_t (*draft)[2];   /* edges as they were added: from, to; NULL when it is whole */
};

/* The mistake that keeps a graph from its end, or from being made. */
enum vb_graph_fault_kind {
	VB_GRAPH_IS_GOOD,
	VB_GRAPH_TOO_LARGE,  /* more operations, requirements or streams than the limits */
	VB_GRAPH_UNSENT,     /* op is a receive without a send */
	VB_GRAPH_UNRECEIVED, /* op is a send without a receive */
	VB_GRAPH_TOO_SHORT,  /* op is a receive of fewer bytes than its send, which is other */
	VB_GRAPH_CIRCLE /* op waits for other, which in the end waits for op; they may be one */
};

struct vb_graph_fault {
	enum vb_graph_fault_kind kind;
	struct vb_graph_op op, other;
};

/* Adds the operations and requirements of a graph, twice the same. Not 0: ends with that, -E2BIG:
 * vb_graph_is_full(). */
struct vb_graph_maker {
	int (*make)(void *ctx, struct vb_graph *g);
	void *ctx;
};

/* Makes a graph of @ranks ranks, up to VB_GRAPH_RANKS_MAX. 0, -ENOMEM, or -EINVAL with @fault; or
 * what the maker came to, with VB_GRAPH_IS_GOOD there. */
int vb_graph_create(struct vb_graph **out, uint32_t ranks, const struct vb_graph_maker *maker,
		    const struct vb_sim_memory *memory, struct vb_graph_fault *fault);
/* NULL: does nothing. */
void vb_graph_destroy(struct vb_graph *g);

/* For makers: adds an operation with amount, rank, peer, tag, mark, kind and stream of @op. Its
 * number counts from 0. */
uint32_t vb_graph_add(struct vb_graph *g, const struct vb_graph_op *op);
/* @op starts when @before has ended, or with @at_start when it has started. */
void vb_graph_require(struct vb_graph *g, uint32_t op, uint32_t before, bool at_start);
/* It has more than the limits allow: a maker ends with -E2BIG. */
bool vb_graph_is_full(const struct vb_graph *g);

/* match.c: finds match and pair of all messages. 0, -ENOMEM, or -EINVAL with @fault. */
int vb_graph_match(struct vb_graph *g, struct vb_graph_fault *fault);
/* check.c: the same: whether all operations end when all messages arrive. */
int vb_graph_check(const struct vb_graph *g, struct vb_graph_fault *fault);

#endif
