/* SPDX-License-Identifier: BSD-2-Clause */
/* flows.csv: a row for each flow. Flows that give their records away, of lists, are written then;
 * the others at the end, or when somebody asks. */
#ifndef VB_RESULTS_SERIES_FLOWS_H
#define VB_RESULTS_SERIES_FLOWS_H

#include "export/file/whole_file.h"
#include "results/series/series.h"
#include "scenario/scenario.h"

struct vb_sim_flows {
	const struct vb_scenario_run *run;
	struct vb_sim_series *series; /* which is told as well, or NULL */
	const char *dir;
	struct vb_whole_file file;
	bool is_open;
	int err; /* of its beginning */
};

/* Before the run; @dir exists, or is NULL: a text. */
void vb_sim_flows_begin(struct vb_sim_flows *s, const char *dir, const struct vb_scenario_run *run,
			struct vb_sim_series *series);
/* Copies the text, with flows as they are now, to @f. 0 or a negative errno; -ENOENT: it is a file.
 */
int vb_sim_flows_write(FILE *f, struct vb_sim_flows *s);
/* Completes the file. 0 or a negative errno. */
int vb_sim_flows_end(struct vb_sim_flows *s);
/* Nothing remains of a file that was not completed. */
void vb_sim_flows_drop(struct vb_sim_flows *s);

#endif
