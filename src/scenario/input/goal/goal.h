/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs of messages and computation that a user brings, in the text form of GOAL ("group operation
 * assembly language"), as LogGOPSim and its generators have it:
 *
 *   num_ranks 2
 *   rank 0 { l1: calc 1000; l2: send 8b to 1 tag 5; l2 requires l1 }
 *   rank 1 { l1: recv 8b from 0 tag 5 }
 *
 * Each of these stands in a line of its own, or has a ";" behind it. A computation is in
 * nanoseconds, and cpu is the stream of its rank; of messages it says nothing.
 */
#ifndef VB_SCENARIO_INPUT_GOAL_GOAL_H
#define VB_SCENARIO_INPUT_GOAL_GOAL_H

#include "scenario/input/tokens.h"
#include "sim/load/graph/graph.h"

#define VB_GOAL_TEXT_MAX ((size_t)256 << 20)

/* The graph of a text, of at most @hosts ranks. 0, -ENOMEM, or -EINVAL with a complaint that has
 * the place of what is wrong. */
int vb_goal_parse(struct vb_graph **out, const char *text, size_t len, uint32_t hosts,
		  const struct vb_sim_memory *memory, const struct vb_complaint *c);

#endif
