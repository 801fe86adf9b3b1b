/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributions as publications draw them: slow-down by the size of flows, and cumulative ones. */
#ifndef VB_RESULTS_SERIES_DISTRIBUTION_H
#define VB_RESULTS_SERIES_DISTRIBUTION_H

#include "scenario/scenario.h"

#include <stdio.h>

/* slowdown.csv: a row for each bin of sizes that has flows. */
void vb_sim_write_slowdown(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);
/* The same as a member of summary.json. */
void vb_sim_write_slowdown_json(FILE *f, const struct vb_report *r);

/* A cumulative distribution of values in order, which may be thousandths: a row for each value, and
 * for no more than a thousand of them. */
void vb_sim_write_steps(FILE *f, const char *name, const uint64_t *v, size_t cnt, bool is_milli);
/* cdf.csv: completion times and slow-down of the flows that are done, and the queues of @series,
 * which may be NULL. 0 or -ENOMEM. */
struct vb_sim_series;
int vb_sim_write_cdf(FILE *f, const struct vb_scenario_run *run,
		     const struct vb_sim_series *series);

#endif
