/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A graph at work: its sends are flows of the load, which share a connection for each ordered pair
 * of ranks; all of them are made as the graph begins. The graph is run several times, one after the
 * other: an iteration begins when all operations of the one before have ended, sends at their
 * completions, and a pause is over. All that follows from an operation is of the same rank, so a
 * part of the simulation sees to its own ranks, and a pause is as long at least as parts run by
 * themselves.
 */
#ifndef VB_SIM_LOAD_GRAPH_RUN_H
#define VB_SIM_LOAD_GRAPH_RUN_H

#include "sim/load/graph/graph.h"
#include "sim/load/priv.h"
#include "sim/ranks.h"

#define VB_GRAPH_ITERATIONS_MAX (1u << 20)

/* source.c: the setting of a COLLECTIVE or GRAPH that does not fit @hosts hosts, as "has ...", or
 * NULL. */
const char *vb_graph_source_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
				  uint32_t hosts);
/* Makes the graph of a source whose pattern is good, and its run, which begins at the start of the
 * pattern. -EINVAL: the graph is too large; -ENOMEM. */
int vb_graph_source_begin(struct vb_load *l, struct vb_load_source *s);

/* Makes the run of the graph of source number @source, whose pattern has iterations and pause. */
int vb_graph_run_create(struct vb_graph_run **out, struct vb_load *l, uint32_t source,
			const struct vb_graph *g);
/* NULL: does nothing. */
void vb_graph_run_destroy(struct vb_graph_run *r, const struct vb_sim_memory *memory);

/* The time of its source has come: an iteration begins. */
void vb_graph_run_on_time(struct vb_graph_run *r, vb_time now);
/* The turn of a part has come: computations of its ranks end, if it is their time. The next time
 * at which one does. */
void vb_graph_run_on_turn(struct vb_graph_run *r, uint32_t part, vb_time now);
vb_time vb_graph_run_turn(const struct vb_graph_run *r, uint32_t part);
/* When all parts are still: whether the iteration is over. */
void vb_graph_run_settle(struct vb_graph_run *r);
/* The message of a send has arrived; a send is complete. @op is that in vb_flow.step. */
void vb_graph_run_on_arrival(struct vb_graph_run *r, uint32_t op, vb_time now);
void vb_graph_run_on_completion(struct vb_graph_run *r, uint32_t op, vb_time now);

/* The pair of ranks that send @op is between. */
uint32_t vb_graph_run_pair(const struct vb_graph_run *r, uint32_t op);

/* For other ranks (sim/ranks.h): how many operations of part @part have ended; at the end, bytes
 * that its ranks have received. */
void vb_graph_run_pack(const struct vb_graph_run *r, uint32_t part, struct vb_rank_bytes *b);
void vb_graph_run_unpack(struct vb_graph_run *r, uint32_t part, struct vb_rank_reader *from);
void vb_graph_run_pack_counts(const struct vb_graph_run *r, uint32_t part, struct vb_rank_bytes *b);
void vb_graph_run_unpack_counts(struct vb_graph_run *r, uint32_t part, struct vb_rank_reader *from);

/* Iterations that are over, and their times; bytes that receives of a rank have taken in all. */
const struct vb_load_lap *vb_graph_run_laps(const struct vb_graph_run *r, uint32_t *cnt);
uint64_t vb_graph_run_received(const struct vb_graph_run *r, uint32_t rank);

#endif
