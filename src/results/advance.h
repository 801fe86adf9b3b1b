/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of a scenario in time, with its series, and its end. */
#ifndef VB_RESULTS_ADVANCE_H
#define VB_RESULTS_ADVANCE_H

#include "results/series/series.h"

/* Some events, none after @until; with @series (NULL: there is none) one, behind the intervals that
 * end before it, and one where the caller wants that. False: there is none, or there is no room for
 * its packets: vb_results_end() says which. */
bool vb_results_step(const struct vb_scenario_run *run, struct vb_sim_series *series, bool is_one,
		     vb_time until);

/* After all steps to @until: flows that still run have had all the time there was, though nothing
 * happened in it. 0, or -ENOMEM: more packets are under way than the scenario has room for. */
int vb_results_end(const struct vb_scenario_run *run, vb_time until);

#endif
