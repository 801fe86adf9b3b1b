/* SPDX-License-Identifier: BSD-2-Clause */
/* One point of a sweep: its scenario, and its run. See sweep.h. */
#include "cmd/sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int vb_sweep_read(const struct vb_sweep *s, uint32_t i, struct vb_scenario *sc, char *err,
		  size_t err_len)
{
	struct vb_scenario_override with[VB_SWEEP_COLUMNS_MAX];
	uint32_t cnt = vb_sweep_overrides(s, i, with);
	FILE *f = fmemopen(s->text, s->text_len, "r");
	int bad;

	if (!f) {
		snprintf(err, err_len, "no memory");
		return -ENOMEM;
	}
	bad = vb_scenario_read_with(sc, f, s->path, with, cnt, err, err_len);
	fclose(f);
	return bad;
}

static int finish_point(const struct vb_sweep *s, uint32_t i, const struct vb_scenario *sc,
			struct vb_scenario_run *run, char *err, size_t err_len)
{
	struct vb_report r;
	int bad;

	if (vb_sim_run(run->sim, sc->until) != 0) {
		snprintf(err, err_len,
			 "more than %u packets under way: give the scenario a larger "
			 "\"packets\"",
			 sc->packets_max);
		return 1;
	}
	if (vb_load_failure(run->load)) {
		vb_scenario_failure(run, sc, err, err_len);
		return 1;
	}
	if (vb_load_damaged(run->load)) {
		snprintf(err, err_len,
			 "%" PRIu64 " messages arrived with other bytes than were sent",
			 vb_load_damaged(run->load));
		return 1;
	}
	bad = vb_report_make(&r, run->load, run->sim, &run->memory);
	if (!bad)
		bad = vb_sweep_save(s, i, &r);
	if (bad)
		snprintf(err, err_len, "%s/points/%06u.json cannot be written: %s", s->dir, i,
			 strerror(-bad));
	return bad ? 1 : 0;
}

int vb_sweep_run(const struct vb_sweep *s, uint32_t i, char *err, size_t err_len)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	int bad = vb_sweep_read(s, i, &sc, err, err_len);

	if (!bad)
		bad = vb_scenario_open(&run, &sc, NULL, err, err_len);
	if (!bad) {
		bad = finish_point(s, i, &sc, &run, err, err_len);
		vb_scenario_close(&run);
	}
	vb_scenario_free(&sc);
	return bad ? 1 : 0;
}
