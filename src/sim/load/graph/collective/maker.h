/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of ranks, from which the algorithms of collectives are made: see collective.h. */
#ifndef VB_SIM_LOAD_GRAPH_COLLECTIVE_MAKER_H
#define VB_SIM_LOAD_GRAPH_COLLECTIVE_MAKER_H

#include "sim/load/graph/collective/collective.h"

struct vb_maker {
	const struct vb_collective *c;
	enum vb_collective_algorithm algorithm; /* what c takes */
	struct vb_graph *g;
	uint32_t *tail;       /* of each rank: what its next step waits for, or VB_GRAPH_NONE */
	uint64_t *sum;        /* of each rank: room for the algorithm's own numbers */
	uint32_t tag;         /* of the messages that are made next */
	const uint32_t *head; /* struct vb_collective_place; NULL: the graph has nothing else */
	const uint32_t *rank; /* the same: of the graph, of each rank here; NULL: the same number */
};

/* Ranks first, first + stride ... , cnt of them. */
struct vb_maker_group {
	uint32_t first, stride, cnt;
};

/* A part of the data. */
struct vb_maker_range {
	uint64_t begin, end;
};

static inline uint32_t vb_maker_rank(const struct vb_maker_group *group, uint32_t member)
{
	return group->first + member % group->cnt * group->stride;
}

static inline uint64_t vb_maker_bytes(const struct vb_maker_range *r)
{
	return r->end - r->begin;
}

/* The part number @k of @cnt, which are as long as each other, or nearly. */
struct vb_maker_range vb_maker_part(const struct vb_maker_range *r, uint32_t k, uint32_t cnt);

/* Each adds an operation of @rank behind @after; VB_GRAPH_NONE: behind head, if there is one. */
uint32_t vb_maker_send(struct vb_maker *m, uint32_t rank, uint32_t to, uint64_t bytes,
		       uint32_t after);
uint32_t vb_maker_recv(struct vb_maker *m, uint32_t rank, uint32_t from, uint64_t bytes,
		       uint32_t after);
uint32_t vb_maker_calc(struct vb_maker *m, uint32_t rank, vb_dur ns, uint32_t after);

/* One step: what @rank sends and receives waits for the steps before, and the next one for what it
 * receives. */
void vb_maker_step_send(struct vb_maker *m, uint32_t rank, uint32_t to, uint64_t bytes);
void vb_maker_step_recv(struct vb_maker *m, uint32_t rank, uint32_t from, uint64_t bytes);

/* The algorithms. Each is 0, or -E2BIG. */
int vb_maker_ring(struct vb_maker *m);         /* ring.c */
int vb_maker_hierarchical(struct vb_maker *m); /* ring.c */
int vb_maker_halving(struct vb_maker *m);      /* halving.c */
int vb_maker_tree(struct vb_maker *m);         /* tree.c */
int vb_maker_exchange(struct vb_maker *m);     /* exchange.c: DIRECT, PAIRWISE */
int vb_maker_moe(struct vb_maker *m);          /* exchange.c */
int vb_maker_pipeline(struct vb_maker *m);     /* pipeline.c */

#endif
