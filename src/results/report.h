/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of a simulated run, for people and for other programs: a table on the terminal, JSON,
 * CSV. `verbena sim` writes them to a folder, libverbena-sim.so gives them as text.
 * docs/simulator.md describes each.
 */
#ifndef VB_RESULTS_REPORT_H
#define VB_RESULTS_REPORT_H

#include "results/series/flows.h"
#include "results/series/series.h"
#include "scenario/scenario.h"

#include <stdio.h>

/* The table at the end of a run; @seconds of real time. */
void vb_sim_print(FILE *f, const struct vb_report *r, double seconds);

/* The run that results are about; flows and series have been begun with it. */
struct vb_results {
	const struct vb_scenario_run *run;
	struct vb_sim_flows *flows;
	struct vb_sim_series *series; /* NULL: none */
};

/* summary.json, flows.csv, ports.csv, slowdown.csv and cdf.csv, of InfiniBand also lanes.csv, with
 * routers routers.csv, with graphs collectives.csv, where hosts have several NICs nics.csv, in
 * @dir. 0, or a negative errno with the file's name in @path. */
int vb_sim_write(const char *dir, const struct vb_results *res, const struct vb_report *r,
		 char *path, size_t path_len);

/* Writes one of these files, or of those of series, by its name to @f; what was begun with a folder
 * cannot be had so. 0; -ENOENT: the run has no such file; -ENOMEM. */
int vb_sim_write_file(FILE *f, const char *name, const struct vb_results *res,
		      const struct vb_report *r);

#endif
