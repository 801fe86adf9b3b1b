/* SPDX-License-Identifier: BSD-2-Clause */
/* Which figures a run has. See draw.h. */
#include "cmd/sim/figure/draw.h"
#include "export/chart/figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_SHOWN 6u
#define SHORT_QUEUE 50u /* of a mean so many times less than the greatest a queue is not shown */
#define LOG_FROM 8.0    /* slow-down over so much is on a logarithmic axis */

/* A larger unit where values are thousands of this one. */
static void choose_unit(struct vb_chart_axis *a, double most)
{
	static const struct {
		const char *unit, *larger;
	} of[] = {{"µs", "ms"}, {"ms", "s"}, {"kB", "MB"}, {"MB", "GB"}};
	double is = 1;

	for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
		if (strcmp(a->unit, of[i].unit) == 0 && most >= 10000 * is) {
			a->unit = of[i].larger;
			is *= 1000;
		}
	a->unit_is = is;
}

static double most_of(const struct vb_chart *c, bool is_x)
{
	double most = 0;

	for (uint32_t k = 0; k < c->line_cnt; k++)
		for (uint32_t i = 0; i < c->line[k].cnt; i++) {
			double v = is_x ? c->line[k].x[i] : c->line[k].y[i];

			most = isfinite(v) ? fmax(most, v) : most;
		}
	return most;
}

static int write_chart(struct vb_figures *s, const struct vb_chart *c)
{
	struct vb_chart paper = *c;

	choose_unit(&paper.x, most_of(c, true));
	choose_unit(&paper.y, most_of(c, false));
	return vb_figure_chart(s, c->name, &paper);
}

/* The distribution of the longest queues. */
static int write_queues(struct vb_figures *s, const struct vb_sim_drawn *of)
{
	struct vb_chart_line line[QUEUES_SHOWN] = {{0}};
	char name[QUEUES_SHOWN][64];
	struct vb_depths *d = of->depths;
	uint32_t cnt = d->port_cnt < QUEUES_SHOWN ? d->port_cnt : QUEUES_SHOWN;
	double *v = calloc((size_t)2 * QUEUES_SHOWN * VB_QUEUE_CLASSES, sizeof *v);
	struct vb_chart c = {.title = "Queues of switches",
			     .name = "queue-cdf",
			     .style = VB_CHART_STEP,
			     .x = {.name = "bytes that wait", .unit = "kB"},
			     .y = {.name = "share of time", .unit = ""},
			     .line = line};
	int err = v ? 0 : -ENOMEM;

	vb_depths_end(d);
	for (uint32_t i = 0; v && i < cnt; i++) {
		const struct vb_depths_port *p = d->port[i];
		double *x = v + (size_t)2 * i * VB_QUEUE_CLASSES, *y = x + VB_QUEUE_CLASSES;

		if (p->sum * SHORT_QUEUE < d->port[0]->sum)
			break;
		vb_sim_name_queue(of->run, p->port, name[i], sizeof name[i]);
		line[i] = (struct vb_chart_line){
		    .name = name[i], .x = x, .y = y, .cnt = vb_depths_steps(d, p, x, y)};
		for (uint32_t k = 0; k < line[i].cnt; k++)
			x[k] /= 1e3;
		c.line_cnt++;
	}
	if (c.line_cnt)
		err = write_chart(s, &c);
	free(v);
	return err;
}

/* Slow-down by the size of flows, where there are flows of several sizes. */
static int write_slowdown(struct vb_figures *s, const struct vb_report *r)
{
	double x[VB_REPORT_BINS], y[3][VB_REPORT_BINS], lo = INFINITY, hi = 0;
	const struct vb_chart_line line[] = {{.name = "p50", .x = x, .y = y[0]},
					     {.name = "p95", .x = x, .y = y[1]},
					     {.name = "p99", .x = x, .y = y[2]}};
	struct vb_chart_line with[3];
	struct vb_chart c = {
	    .title = "Slow-down by the size of flows",
	    .name = "slowdown-size",
	    .style = VB_CHART_DOTTED,
	    .x = {.name = "flows up to", .unit = "B", .is_log = true, .is_si = true},
	    .y = {.name = "slow-down", .unit = ""},
	    .line = with,
	    .line_cnt = 3};
	uint32_t cnt = 0;

	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		const struct vb_spread *of = &r->slowdown_of_bin[bin];
		const double v[] = {(double)of->p50 / 1e3, (double)of->p95 / 1e3,
				    (double)of->p99 / 1e3};

		if (of->cnt == 0)
			continue;
		/* The last one has no end: the size that would follow. */
		x[cnt] = bin + 1 < VB_REPORT_BINS ? (double)vb_report_bin_end(bin)
						  : 2 * (double)vb_report_bin_end(bin - 1);
		for (int k = 0; k < 3; k++)
			y[k][cnt] = v[k];
		lo = fmin(lo, v[0]);
		hi = fmax(hi, v[2]);
		cnt++;
	}
	if (cnt < 2)
		return 0;
	for (int k = 0; k < 3; k++) {
		with[k] = line[k];
		with[k].cnt = cnt;
	}
	c.y.is_log = lo > 0 && hi >= LOG_FROM * lo;
	return vb_figure_chart(s, c.name, &c);
}

int vb_sim_figures_write(const struct vb_sim_drawings *d, const struct vb_sim_drawn *of,
			 const struct vb_sim_charts *c, char *failed, size_t len)
{
	struct vb_figures s = {.dir = d->figures, .painter = d->painter};
	int err = 0;

	for (uint32_t k = 0; !err && k < c->page.chart_cnt; k++)
		err = write_chart(&s, &c->page.chart[k]);
	if (!err && of->depths)
		err = write_queues(&s, of);
	if (!err)
		err = write_slowdown(&s, of->r);
	snprintf(failed, len, "%s", s.failed);
	return err;
}
