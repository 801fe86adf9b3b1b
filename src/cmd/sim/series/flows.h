/* SPDX-License-Identifier: BSD-2-Clause */
/* flows.csv: a row for each flow. Flows that give their records away, of lists, are written then;
 * the others at the end. */
#ifndef VB_CMD_SIM_SERIES_FLOWS_H
#define VB_CMD_SIM_SERIES_FLOWS_H

#include "cmd/sim/series/series.h"
#include "cmd/whole_file.h"
#include "scenario/scenario.h"

struct vb_sim_flows {
	const struct vb_scenario_run *run;
	struct vb_sim_series *series; /* which is told as well, or NULL */
	const char *dir;
	struct vb_whole_file file;
	bool is_open;
	int err; /* of its beginning */
};

/* Before the run; @dir exists. */
void vb_sim_flows_begin(struct vb_sim_flows *s, const char *dir, const struct vb_scenario_run *run,
			struct vb_sim_series *series);
/* Completes the file. 0 or a negative errno. */
int vb_sim_flows_end(struct vb_sim_flows *s);
/* Nothing remains of a file that was not completed. */
void vb_sim_flows_drop(struct vb_sim_flows *s);

#endif
