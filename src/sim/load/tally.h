/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums over flows that have given their records away: their number does not change what they take.
 * Percentiles come from counts in 1024 steps for each power of two, so they are right within 0.05
 * %; the least, the greatest and the mean are exact.
 */
#ifndef VB_SIM_LOAD_TALLY_H
#define VB_SIM_LOAD_TALLY_H

#include "sim/load/report.h"

/* Keeps one from now on, until the load is destroyed. 0 or -ENOMEM. */
int vb_tally_keep(struct vb_load *l);
/* Whether there is one with flows in it. */
bool vb_tally_is_used(const struct vb_load *l);
/* The sums over its flows and those that have a record: of *r all that is about flows, without the
 * end and the goodput. 0 or -ENOMEM. */
int vb_tally_report(struct vb_report *r, const struct vb_load *l,
		    const struct vb_sim_memory *memory);

#endif
