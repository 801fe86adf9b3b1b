/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulation over several processes, the ranks: each runs a part of it (sim/ranks.h). They
 * exchange bytes by a link, which is MPI's in `verbena sim --ranks` (src/mpi/). docs/simulator.md,
 * "Ranks".
 */
#ifndef VB_SCENARIO_CORES_RANKS_H
#define VB_SCENARIO_CORES_RANKS_H

#include "scenario/cores/team.h"
#include "sim/load/cores/ranks.h"

/* Bytes for a rank, or from one. */
struct vb_rank_parcel {
	uint8_t *p;
	size_t len;
};

/* The ranks, and how they reach each other. */
struct vb_rank_link {
	uint32_t rank, cnt;
	/* Sends to[i] to each rank i, and takes what they have sent into from[i], which stays until
	 * the next call. All ranks call it equally often. 0 or a negative errno. */
	int (*exchange)(void *ctx, const struct vb_rank_parcel *to, struct vb_rank_parcel *from);
	void *ctx;
};

/* Runs the part of this rank to the end, or to @until; rank 0 then has the counts of all. The
 * simulation has as many parts as there are ranks, and is where it was made. 0; -ENOMEM as of
 * vb_team_run(), or no memory for what is exchanged; -ENOTSUP: as of vb_sim_set_rank(); -EPROTO:
 * a rank has another scenario or another program. */
int vb_ranks_run(struct vb_sim *s, struct vb_load *l, vb_time until,
		 const struct vb_rank_link *link, const struct vb_sim_memory *memory,
		 const struct vb_team_watch *watch);

#endif
