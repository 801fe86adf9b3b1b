/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chakra execution traces (MLCommons) as graphs of messages and computation. Each rank has a file,
 * NAME.0.et and so on in the form of protobuf, or NAME.0.json as chakra_jsonizer writes it: one
 * message of global metadata, and one for each node. A node of communication between all ranks, or
 * those of a group, becomes the messages of an algorithm. docs/simulator.md has the attributes that
 * count.
 */
#ifndef VB_SCENARIO_INPUT_CHAKRA_CHAKRA_H
#define VB_SCENARIO_INPUT_CHAKRA_CHAKRA_H

#include "scenario/input/tokens.h"
#include "sim/load/graph/collective/collective.h"

#define VB_CHAKRA_TEXT_MAX ((size_t)256 << 20) /* of a rank */
#define VB_CHAKRA_DIMS_MAX 8u
#define VB_CHAKRA_GROUPS_MAX 65536u /* names of process groups */

/* The traces of ranks as they are read: a few hundred MiB at most, by the limits of graphs. */
struct vb_chakra {
	bool is_json;
	const struct vb_complaint *c; /* its file is NAME, without rank and form */
	uint64_t ops_per_s;           /* of a rank; 0: not known */
	/* The ranks are a grid of so many in each dimension, the first one the innermost; dim_cnt
	 * 0: they are none. */
	uint32_t dim_cnt, dim[VB_CHAKRA_DIMS_MAX];
	uint32_t rank_cnt;
	struct vb_chakra_node *node;
	uint32_t node_cnt, node_room;
	uint64_t *dep; /* numbers of nodes as files have them; from the end of a rank on places */
	uint32_t dep_cnt, dep_room;
	uint32_t *first; /* of each rank, in node; and one behind them */
	uint32_t first_room;
	char **group; /* names of process groups */
	uint32_t group_cnt, group_room;
	uint32_t *bucket; /* of names: the number of one + 1 */
};

/* Adds the trace of the next rank. 0, -ENOMEM, or -EINVAL with a complaint that has the byte or the
 * line of what is wrong. */
int vb_chakra_read(struct vb_chakra *t, const void *text, size_t len);

/* The graph of all that was read, with @how for the algorithm, local and chunks of collectives. The
 * same results; the complaint has the place of a node. */
int vb_chakra_graph(struct vb_graph **out, struct vb_chakra *t, const struct vb_collective *how,
		    const struct vb_sim_memory *memory);

void vb_chakra_free(struct vb_chakra *t);

#endif
