/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collective operations, and two patterns of training that are made of them, as graphs. Rank n is
 * host n. Adding up what comes takes no time: graphs have the messages of an algorithm, and the
 * computations that are said.
 */
#ifndef VB_SIM_LOAD_GRAPH_COLLECTIVE_COLLECTIVE_H
#define VB_SIM_LOAD_GRAPH_COLLECTIVE_COLLECTIVE_H

#include "sim/load/graph/graph.h"

enum vb_collective_kind {
	VB_ALL_REDUCE,
	VB_ALL_GATHER,
	VB_REDUCE_SCATTER,
	VB_ALL_TO_ALL,
	VB_BROADCAST,
	VB_MOE,      /* each rank sends tokens to experts at all of them, and gets them back */
	VB_PIPELINE, /* ranks are the stages that microbatches go through, to and fro */
	VB_COLLECTIVE_KINDS
};

enum vb_collective_algorithm {
	VB_ALGORITHM_UNSAID, /* the first below that the kind has */
	VB_RING,             /* ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER */
	VB_HALVING_DOUBLING, /* ALL_REDUCE: Rabenseifner's */
	VB_TREE,             /* ALL_REDUCE, BROADCAST: binary, from rank 0 on */
	VB_HIERARCHICAL,     /* ALL_REDUCE: rings of local ranks, and rings across */
	VB_DIRECT,           /* ALL_TO_ALL, MOE: all messages at once */
	VB_PAIRWISE,         /* ALL_TO_ALL: a step for each distance of two ranks */
	VB_1F1B,             /* PIPELINE: one forward, one backward, after a warm-up */
	VB_GPIPE,            /* PIPELINE: first all forward, then all backward */
	VB_ALGORITHMS
};

struct vb_collective {
	uint8_t kind, algorithm;
	uint32_t ranks;
	/* The size that nccl-tests divide by the time: of the data that each rank has at the end
	 * or, of REDUCE_SCATTER, at the beginning; ALL_TO_ALL and MOE: of what a rank has for all
	 * ranks, itself included; PIPELINE: of what a microbatch sends from stage to stage. */
	uint64_t bytes;
	uint32_t local;        /* HIERARCHICAL: ranks of a group; it divides ranks */
	uint32_t chunks;       /* TREE: parts that follow each other; 0: 1 */
	uint32_t microbatches; /* PIPELINE */
	/* MOE: of an expert that gets the tokens of one rank, others in proportion; PIPELINE:
	 * forward, of a microbatch at a stage. ns */
	vb_dur work;
	vb_dur backward; /* PIPELINE: ns; 0: twice work */
	uint64_t seed;   /* MOE: of the sizes */
};

/* The names of kinds, and of algorithms; of VB_ALGORITHM_UNSAID "". */
extern const char *const vb_collective_name[VB_COLLECTIVE_KINDS];
extern const char *const vb_algorithm_name[VB_ALGORITHMS];

/* The setting that does not fit, as "has ...", or NULL. */
const char *vb_collective_wrong(const struct vb_collective *c);

/* A collective in a larger graph. */
struct vb_collective_place {
	/* Of each rank: an operation that what the rank does in it waits for. The one behind it
	 * waits for all that the rank does; what is between has the mark of the first one. */
	const uint32_t *head;
	uint32_t *tail;       /* ranks: room */
	const uint32_t *rank; /* the rank of the graph that each one is */
};

#define VB_COLLECTIVE_TAG 0x80000000u /* of its messages there, with which nothing else matches */

/* For makers of graphs: adds one that is not wrong, and no MOE. 0 or -E2BIG. */
int vb_collective_add(struct vb_graph *g, const struct vb_collective *c,
		      const struct vb_collective_place *place);

/* -EINVAL: vb_collective_wrong(), or the graph is too large; -ENOMEM. */
int vb_collective_create(struct vb_graph **out, const struct vb_collective *c,
			 const struct vb_sim_memory *memory);

/* The algorithm that a collective takes. */
enum vb_collective_algorithm vb_collective_algorithm_of(const struct vb_collective *c);

/* busbw over algbw, as *up / *down, as nccl-tests have it. False: it has none, as other things than
 * messages take time. */
bool vb_collective_bus(const struct vb_collective *c, uint64_t *up, uint64_t *down);

#endif
