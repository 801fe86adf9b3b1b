/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of graphs: times of iterations and, of collectives, the bandwidths that nccl-tests
 * have. */
#ifndef VB_RESULTS_COLLECTIVES_H
#define VB_RESULTS_COLLECTIVES_H

#include "scenario/scenario.h"

#include <stdio.h>

/* Whether a workload of the run has a graph. */
bool vb_sim_has_collectives(const struct vb_scenario_run *run);

/* The lines of them behind the table of a run, the member of summary.json, and collectives.csv; of
 * a run without any nothing. */
void vb_sim_print_collectives(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_collectives_json(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_collectives(FILE *f, const struct vb_scenario_run *run,
			      const struct vb_report *r);

#endif
