/* SPDX-License-Identifier: BSD-2-Clause */
/* The line of `verbena sim` that says how far a long run has come. */
#include "cmd/sim/sim.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define BAR_LEN 24

/* Flows that pattern @i comes to, of which @made exist; those of some are made one after the other.
 */
static uint64_t flows_of(const struct vb_scenario *sc, const struct vb_scenario_run *run,
			 uint32_t i, uint64_t made)
{
	const struct vb_load_pattern *p = &sc->pattern[i];
	uint64_t hosts = p->hosts ? p->hosts : run->topo.host_cnt, all = made;

	/* All lists and graphs together are in run->flows_listed. */
	if (p->shape == VB_LOAD_LIST || vb_load_graph(run->load, i))
		return 0;
	if (p->shape == VB_LOAD_POISSON || p->shape == VB_LOAD_PING_PONG)
		all = p->flows;
	else if (p->shape == VB_LOAD_ALL_TO_ALL)
		all = (hosts - 1) * hosts;
	return all > made ? all : made;
}

double vb_sim_seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

double vb_sim_processor_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void vb_sim_progress(const struct vb_scenario *sc, const struct vb_scenario_run *run, bool end)
{
	uint32_t cnt = vb_load_flow_cnt(run->load);
	uint64_t made[64] = {0}, done = vb_load_past_cnt(run->load), all = run->flows_listed;
	char bar[BAR_LEN + 1];
	double share;

	if (end) {
		fprintf(stderr, "\r%78s\r", "");
		return;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_flow *f = vb_load_flow(run->load, i);

		done += f->done != VB_NEVER;
		made[f->pattern]++;
	}
	for (uint32_t i = 0; i < sc->pattern_cnt; i++)
		all += flows_of(sc, run, i, made[i]);
	share = all ? (double)done / (double)all : 0;
	if (sc->until != VB_NEVER && (double)vb_sim_now(run->sim) > share * (double)sc->until)
		share = (double)vb_sim_now(run->sim) / (double)sc->until;
	share = share < 1 ? share : 1;
	memset(bar, '.', BAR_LEN);
	memset(bar, '#', (size_t)(share * BAR_LEN));
	bar[BAR_LEN] = '\0';
	fprintf(stderr, "\r[%s] %3.0f %%  %.3f ms, %" PRIu64 " of %" PRIu64 " flows ", bar,
		share * 100, (double)vb_sim_now(run->sim) / 1e6, done, all);
	fflush(stderr);
}
