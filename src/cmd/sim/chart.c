/* SPDX-License-Identifier: BSD-2-Clause */
/* Which charts a run has. See chart.h. */
#include "cmd/sim/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CDF_POINTS 400u
#define CDF_FCT VB_WATCH_KIND_CNT
#define CDF_SLOWDOWN (VB_WATCH_KIND_CNT + 1)

static void name_series(char *name, size_t len, const struct vb_scenario_run *run,
			enum vb_watch_kind kind, uint32_t id)
{
	const struct vb_sim_topo_link *l;
	uint32_t host, qpn;

	switch (kind) {
	case VB_WATCH_RATE:
		snprintf(name, len, "host %u", id);
		break;
	case VB_WATCH_QUEUE:
		l = &run->topo.link[id / 2];
		host = id & 1 ? l->a : l->b;
		snprintf(name, len, "switch %u to %s %u", id & 1 ? l->b : l->a,
			 host < run->topo.host_cnt ? "host" : "switch", host);
		break;
	default:
		vb_load_end(run->load, id / 2, (int)(id & 1), &host, &qpn);
		snprintf(name, len, "host %u QP %u", host, qpn);
		break;
	}
}

/* Space of line @i of chart @k; NULL: no memory. */
static double *line_new(struct vb_sim_charts *c, uint32_t k, uint32_t i, uint32_t cnt)
{
	double *v = calloc((size_t)3 * cnt + 1, sizeof *v);

	c->mem[k][i] = v;
	if (v)
		c->line[k][i] = (struct vb_chart_line){.name = c->name[k][i],
						       .x = v,
						       .y = v + cnt,
						       .lo = v + 2 * (size_t)cnt,
						       .cnt = cnt};
	return v;
}

static int over_time(struct vb_sim_charts *c, const struct vb_scenario_run *run,
		     const struct vb_watch *w, enum vb_watch_kind kind)
{
	static const double unit[] = {
	    [VB_WATCH_RATE] = 1e9, [VB_WATCH_QUEUE] = 1e3, [VB_WATCH_WINDOW] = 1};
	uint32_t cnt = vb_watch_slot_cnt(w), lines = vb_watch_series_cnt(w, kind);

	lines = lines < VB_SIM_LINES ? lines : VB_SIM_LINES;
	/* What only lies on the axis hides the rest. */
	while (lines > 1 &&
	       vb_watch_series(w, kind, lines - 1)->top * 50 < vb_watch_series(w, kind, 0)->top)
		lines--;
	for (uint32_t i = 0; i < lines; i++) {
		const struct vb_watch_series *s = vb_watch_series(w, kind, i);
		double *v = line_new(c, kind, i, cnt);

		if (!v)
			return -ENOMEM;
		name_series(c->name[kind][i], sizeof c->name[kind][i], run, kind, s->id);
		for (uint32_t j = 0; j < cnt; j++) {
			v[j] = j * c->slot_us;
			vb_watch_value(w, kind, s, j, &v[2 * cnt + j], &v[cnt + j]);
			v[2 * cnt + j] /= unit[kind];
			v[cnt + j] /= unit[kind];
		}
	}
	c->chart[kind].line_cnt = c->lines_of[kind] = lines;
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The distribution of @v, sorted here; its ends are always in it. */
static int add_cumulative(struct vb_sim_charts *c, uint32_t k, const char *name, double *v,
			  uint32_t n)
{
	uint32_t points = n < CDF_POINTS ? n : CDF_POINTS, i = c->chart[k].line_cnt;
	double *to;

	if (n == 0)
		return 0;
	to = line_new(c, k, i, points + 1);
	if (!to)
		return -ENOMEM;
	c->chart[k].line_cnt++;
	snprintf(c->name[k][i], sizeof c->name[k][i], "%s, %u flows", name, n);
	c->line[k][i].lo = NULL;
	qsort(v, n, sizeof *v, compare_doubles);
	to[0] = v[0];
	for (uint32_t j = 0; j < points; j++) {
		uint32_t at = points == 1 ? 0 : (uint32_t)((uint64_t)j * (n - 1) / (points - 1));

		to[1 + j] = v[at];
		to[points + 2 + j] = (at + 1.0) / n;
	}
	return 0;
}

static int add_distributions(struct vb_sim_charts *c, const struct vb_scenario_run *run)
{
	static const struct {
		const char *name;
		uint64_t above, to;
	} size[] = {{"all sizes", 0, UINT64_MAX},
		    {"to 10 kB", 0, 10000},
		    {"10 kB to 1 MB", 10000, 1000000},
		    {"above 1 MB", 1000000, UINT64_MAX}};
	uint32_t cnt = vb_load_flow_cnt(run->load);
	double *v = calloc((size_t)cnt + 1, sizeof *v);
	int err = v ? 0 : -ENOMEM;

	for (uint32_t k = CDF_FCT; !err && k <= CDF_SLOWDOWN; k++) {
		uint32_t all = 0;

		for (size_t b = 0; !err && b < sizeof size / sizeof size[0]; b++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < cnt; i++) {
				const struct vb_flow *f = vb_load_flow(run->load, i);

				if (f->done == VB_NEVER || f->status || f->bytes > size[b].to ||
				    (b && f->bytes <= size[b].above))
					continue;
				v[n++] = (double)(f->done - f->start) /
					 (k == CDF_FCT
					      ? 1e3
					      : (double)vb_flow_ideal_ns(run->load, run->sim, f));
			}
			all = b ? all : n;
			if (b == 0 || n < all)
				err = add_cumulative(c, k, size[b].name, v, n);
		}
	}
	free(v);
	return err;
}

int vb_sim_charts_make(struct vb_sim_charts *c, const struct vb_scenario_run *run,
		       const struct vb_watch *w)
{
	static const struct vb_chart kinds[VB_SIM_CHARTS] = {
	    {.title = "Arriving at hosts",
	     .x = {.name = "time", .unit = "µs"},
	     .y = {.name = "rate", .unit = "Gb/s"}},
	    {.title = "Queues of switches",
	     .x = {.name = "time", .unit = "µs"},
	     .y = {.name = "waiting", .unit = "kB"}},
	    {.title = "Sent and not acknowledged",
	     .x = {.name = "time", .unit = "µs"},
	     .y = {.name = "window", .unit = "PSNs"}},
	    {.title = "Flow completion time",
	     .style = VB_CHART_STEP,
	     .x = {.name = "completion time", .unit = "µs", .is_log = true},
	     .y = {.name = "share of flows", .unit = ""}},
	    {.title = "Slow-down",
	     .style = VB_CHART_STEP,
	     .x = {.name = "completion time over that in an empty network",
		   .unit = "",
		   .is_log = true},
	     .y = {.name = "share of flows", .unit = ""}},
	};
	int err = 0;

	memset(c, 0, sizeof *c);
	c->slot_us = (double)vb_watch_slot_ns(w) / 1e3;
	for (uint32_t k = 0; k < VB_SIM_CHARTS; k++) {
		c->chart[k] = kinds[k];
		c->chart[k].line = c->line[k];
	}
	for (uint32_t k = 0; !err && k < VB_WATCH_KIND_CNT; k++)
		err = over_time(c, run, w, (enum vb_watch_kind)k);
	if (!err)
		err = add_distributions(c, run);
	for (uint32_t k = 0; k < VB_SIM_CHARTS; k++)
		if (c->chart[k].line_cnt > 0)
			c->chart[c->chart_cnt++] = c->chart[k];
	return err;
}

void vb_sim_charts_free(struct vb_sim_charts *c)
{
	for (uint32_t k = 0; k < VB_SIM_CHARTS; k++)
		for (uint32_t i = 0; i < VB_SIM_LINES; i++)
			free(c->mem[k][i]);
}
