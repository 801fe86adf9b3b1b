/* SPDX-License-Identifier: BSD-2-Clause */
/* Which charts a run has. See chart.h. */
#include "cmd/sim/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CDF_POINTS 400u

static void name_host(const void *ctx, uint32_t id, char *name, size_t len)
{
	(void)ctx;
	snprintf(name, len, "host %u", id);
}

void vb_sim_name_queue(const void *ctx, uint32_t id, char *name, size_t len)
{
	const struct vb_scenario_run *run = ctx;
	const struct vb_sim_topo_link *l = &run->topo.link[id / 2];
	uint32_t host = id & 1 ? l->a : l->b;

	snprintf(name, len, "switch %u to %s %u", id & 1 ? l->b : l->a,
		 host < run->topo.host_cnt ? "host" : "switch", host);
}

static void name_buffer(const void *ctx, uint32_t id, char *name, size_t len)
{
	const struct vb_scenario_run *run = ctx;
	const struct vb_sim_topo_link *l = &run->topo.link[id / VB_VL_CNT / 2];
	bool at_b = id / VB_VL_CNT & 1;
	uint32_t from = at_b ? l->a : l->b;

	snprintf(name, len, "switch %u from %s %u, lane %u", at_b ? l->b : l->a,
		 from < run->topo.host_cnt ? "host" : "switch", from, id % VB_VL_CNT);
}

static void name_qp(const void *ctx, uint32_t id, char *name, size_t len)
{
	const struct vb_scenario_run *run = ctx;
	uint32_t host, qpn;

	vb_load_end(run->load, id / 2, (int)(id & 1), &host, &qpn);
	snprintf(name, len, "host %u QP %u", host, qpn);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The distribution of @v, sorted here; its ends are always in it. */
static int add_cumulative(struct vb_page_charts *c, const char *name, double *v, uint32_t n)
{
	uint32_t points = n < CDF_POINTS ? n : CDF_POINTS, k = c->chart_cnt - 1;
	uint32_t i = c->chart[k].line_cnt;
	double *to;

	if (n == 0)
		return 0;
	to = vb_page_line_new(c, points + 1);
	if (!to)
		return -ENOMEM;
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

static int add_distributions(struct vb_page_charts *c, const struct vb_scenario_run *run)
{
	static const struct vb_chart kinds[2] = {
	    {.title = "Flow completion time",
	     .name = "fct-cdf",
	     .style = VB_CHART_STEP,
	     .x = {.name = "completion time", .unit = "µs", .is_log = true},
	     .y = {.name = "share of flows", .unit = ""}},
	    {.title = "Slow-down",
	     .name = "slowdown-cdf",
	     .style = VB_CHART_STEP,
	     .x = {.name = "completion time over that in an empty network",
		   .unit = "",
		   .is_log = true},
	     .y = {.name = "share of flows", .unit = ""}},
	};
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

	for (uint32_t k = 0; !err && k < 2; k++) {
		uint32_t all = 0;

		vb_page_chart_new(c, &kinds[k]);
		for (size_t b = 0; !err && b < sizeof size / sizeof size[0]; b++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < cnt; i++) {
				const struct vb_flow *f = vb_load_flow(run->load, i);

				if (f->done == VB_NEVER || f->status || f->bytes > size[b].to ||
				    (b && f->bytes <= size[b].above))
					continue;
				v[n++] =
				    (double)(f->done - f->start) /
				    (k == 0 ? 1e3
					    : (double)vb_flow_ideal_ns(run->load, run->sim, f));
			}
			all = b ? all : n;
			if (b == 0 || n < all)
				err = add_cumulative(c, size[b].name, v, n);
		}
		if (c->chart[c->chart_cnt - 1].line_cnt == 0)
			c->chart_cnt--;
	}
	free(v);
	return err;
}

int vb_sim_charts_make(struct vb_sim_charts *c, const struct vb_scenario_run *run,
		       const struct vb_watch *w)
{
	static const struct vb_page_kind kinds[VB_WATCH_KIND_CNT] = {
	    {{.title = "Arriving at hosts",
	      .name = "rate",
	      .x = {.name = "time", .unit = "µs"},
	      .y = {.name = "rate", .unit = "Gb/s"}},
	     VB_WATCH_RATE,
	     1e9 / 8,
	     name_host},
	    {{.title = "Queues of switches",
	      .name = "queue",
	      .x = {.name = "time", .unit = "µs"},
	      .y = {.name = "waiting", .unit = "kB"}},
	     VB_WATCH_QUEUE,
	     1e3,
	     vb_sim_name_queue},
	    {{.title = "Sent and not acknowledged",
	      .name = "window",
	      .x = {.name = "time", .unit = "µs"},
	      .y = {.name = "window", .unit = "PSNs"}},
	     VB_WATCH_WINDOW,
	     1,
	     name_qp},
	    {{.title = "Buffers of lanes at switches",
	      .name = "buffer",
	      .x = {.name = "time", .unit = "µs"},
	      .y = {.name = "in use", .unit = "blocks"}},
	     VB_WATCH_BUFFER,
	     1,
	     name_buffer},
	};
	int rc = 0;

	memset(c, 0, sizeof *c);
	for (uint32_t k = 0; rc >= 0 && k < VB_WATCH_KIND_CNT; k++) {
		rc = vb_page_over_time(&c->page, vb_watch_series(w), &kinds[k], run);
		c->lines_of[k] = rc < 0 ? 0 : (uint32_t)rc;
	}
	return rc < 0 ? rc : add_distributions(&c->page, run);
}

void vb_sim_charts_free(struct vb_sim_charts *c)
{
	vb_page_charts_free(&c->page);
}
