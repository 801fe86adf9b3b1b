/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulation in parts, as vb_sim_config.part_of cuts it: the run goes in windows that are as
 * short as the time that a frame takes from one part to another. In a window the parts are run each
 * by itself, by several threads at once or one behind the other: that is the same run, event by
 * event at every node, and the same as that of the network in one piece. Conservative
 * synchronisation: Chandy and Misra, CACM 1981; docs/simulator.md, "Several cores".
 *
 *   vb_sim_parts_begin(s, until);
 *   while (vb_sim_parts_plan(s))
 *           for (each part, at once)
 *                   vb_sim_part_run(s, part);
 *   err = vb_sim_parts_end(s);
 *
 * vb_sim_run() does that on one thread, and then lets time pass to @until.
 */
#ifndef VB_SIM_PARTS_H
#define VB_SIM_PARTS_H

#include "sim/sim.h"

/* The most parts of a network. */
#define VB_SIM_PARTS_MAX 256u

/* The parts of a simulation, 1 and more. */
uint32_t vb_sim_part_cnt(const struct vb_sim *s);

/* The time by which no part reaches another: a pause that is shorter has to be seen by all. 0:
 * there is one part. */
vb_dur vb_sim_lookahead(const struct vb_sim *s);

/* A run to @until begins, at most. For simulations of two parts and more, like the others here. */
void vb_sim_parts_begin(struct vb_sim *s, vb_time until);
/* Between windows, when no part is being run: handles the events that concern all of
 * them, the application's timer and changes of cables, and opens the next window. False: the run is
 * over. */
bool vb_sim_parts_plan(struct vb_sim *s);
/* Runs part @part up to the end of the window. The caller sees to it that all writes of earlier
 * windows, and of vb_sim_parts_plan(), are visible to this thread. */
void vb_sim_part_run(struct vb_sim *s, uint32_t part);
/* The run is over, and it is as late everywhere as at the last event. 0, or -ENOMEM as of
 * vb_sim_run(). */
int vb_sim_parts_end(struct vb_sim *s);

/*
 * Cuts a network into up to @parts parts, and says of each node in @part_of in which it is: hosts
 * stay with their switches, and ports are shared out evenly. Cables with long delays are cut rather
 * than others, and those in @keep (by number; NULL: none) not at all. Returns how many parts there
 * are: 1 where nothing can be cut; 0: no memory.
 */
uint32_t vb_sim_partition(const struct vb_sim_topo *t, uint32_t parts, const bool *keep,
			  uint16_t *part_of);
/* vb_sim_lookahead() of a network that is cut so; VB_NEVER: no cable is cut. */
vb_dur vb_sim_partition_lookahead(const struct vb_sim_topo *t, const uint16_t *part_of);

#endif
