/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulation on several cores: a thread for each of its parts (sim/parts.h). The caller's
 * thread has the first part, and plans the windows while the others wait. docs/simulator.md,
 * "Several cores".
 */
#ifndef VB_SCENARIO_CORES_TEAM_H
#define VB_SCENARIO_CORES_TEAM_H

#include "sim/sim.h"

/* Is called by the caller's thread now and then, when all parts are still; NULL: nobody is. */
struct vb_team_watch {
	void (*on_window)(void *ctx);
	void *ctx;
};

/* Runs a simulation of two parts and more to its end, or to @until. 0; -ENOMEM: it has more packets
 * under way than packets_max in a part; or another errno: there are no threads to be had. */
int vb_team_run(struct vb_sim *s, vb_time until, const struct vb_team_watch *watch);

#endif
