/* SPDX-License-Identifier: BSD-2-Clause */
/* A run to a time. See advance.h. */
#include "results/advance.h"

#include <errno.h>

bool vb_results_step(const struct vb_scenario_run *run, struct vb_sim_series *series, bool is_one,
		     vb_time until)
{
	vb_time next = vb_sim_next(run->sim);

	if (next > until)
		return false;
	if (series && next != VB_NEVER)
		vb_sim_series_reach(series, next);
	return series || is_one ? vb_sim_step(run->sim) : vb_sim_stride(run->sim, until);
}

static bool has_running(const struct vb_load *l)
{
	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++)
		if (vb_flow_is_running(vb_load_flow(l, i)))
			return true;
	return false;
}

int vb_results_end(const struct vb_scenario_run *run, vb_time until)
{
	vb_time next = vb_sim_next(run->sim), at;

	if (next <= until && next != VB_NEVER)
		return -ENOMEM;
	/* Nor does anything happen in a deadlock. */
	if (vb_sim_deadlock(run->sim, &at) || !has_running(run->load))
		return 0;
	return vb_sim_run(run->sim, until);
}
