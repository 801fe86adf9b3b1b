/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a sweep: metrics over a parameter with bars over seeds, heat maps where two
 * parameters are swept, and slow-down by the size of flows. See sweep.h. */
#include "cmd/sweep/plot.h"
#include "export/chart/figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_FROM 8.0  /* values over so much are on a logarithmic axis */
#define CELLS_MAX 64u /* columns and rows of a heat map */

/* Beside that of --y. */
static const char *const drawn[] = {"goodput_bps",      "jain_ppm",           "fct_p50_ns",
				    "fct_p99_ns",       "slowdown_p50_milli", "slowdown_p99_milli",
				    "depth_mean_bytes", "depth_max_bytes"};

int vb_sweep_figures_begin(const struct vb_sweep *s, struct vb_sweep_figures *g)
{
	char why[512];
	int err;

	if (!g->dir)
		return 0;
	if (mkdir(g->dir, 0777) != 0 && errno != EEXIST) {
		vb_cmd_error(s->cmd, "%s cannot be made: %s", g->dir, strerror(errno));
		return 1;
	}
	err = vb_painter_open(&g->painter, why, sizeof why);
	if (err == -ENOTSUP)
		fprintf(stderr, "verbena %s: warning: --figures: SVG only; for PDF %s\n",
			s->cmd->name, why);
	else if (err)
		vb_cmd_error(s->cmd, "no memory");
	return err && err != -ENOTSUP;
}

/* The other parameter that is swept beside @x; UINT32_MAX: there is none, or there are several. */
static uint32_t other_column(const struct vb_sweep *s, uint32_t x)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t k = 0; k < s->column_cnt; k++) {
		if (k == x || vb_sweep_is_seed(s, k) || !vb_sweep_varies(s, k))
			continue;
		if (found != UINT32_MAX)
			return UINT32_MAX;
		found = k;
	}
	return found;
}

struct parameter {
	uint32_t column, cnt;
	const char *value[CELLS_MAX];
};

static uint32_t place_of(const struct parameter *p, const char *value)
{
	uint32_t i = 0;

	while (i < p->cnt && strcmp(p->value[i], value) != 0)
		i++;
	return i;
}

/* Numbers ascend; other values stand in the order of the points. */
static bool is_before(const char *a, const char *b)
{
	double x, y;

	return vb_sweep_number(a, &x) && vb_sweep_number(b, &y) && x < y;
}

/* False: there are too many values. */
static bool find_values(const struct vb_sweep *s, struct parameter *p)
{
	for (uint32_t i = 0; i < s->point_cnt; i++) {
		const char *value = vb_sweep_value(s, i, p->column);
		uint32_t k = p->cnt;

		if (place_of(p, value) < p->cnt)
			continue;
		if (p->cnt == CELLS_MAX)
			return false;
		for (; k > 0 && is_before(value, p->value[k - 1]); k--)
			p->value[k] = p->value[k - 1];
		p->value[k] = value;
		p->cnt++;
	}
	return true;
}

static int write_heat(struct vb_figures *f, const struct vb_sweep_plot *p)
{
	struct parameter x = {.column = p->x}, y = {.column = other_column(p->s, p->x)};
	struct vb_heat h = {.title = p->title, .name = vb_sweep_metric[p->metric].text};
	char name[64];
	double *v, lo = INFINITY, hi = 0;
	int err;

	if (y.column == UINT32_MAX || vb_sweep_is_seed(p->s, x.column) || !find_values(p->s, &x) ||
	    !find_values(p->s, &y) || x.cnt == 0 || y.cnt == 0)
		return 0;
	v = calloc((size_t)x.cnt * y.cnt, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < x.cnt * y.cnt; i++)
		v[i] = NAN;
	for (uint32_t i = 0; i < p->spot_cnt; i++) {
		const struct vb_sweep_spot *at = &p->spot[i];

		v[place_of(&y, vb_sweep_value(p->s, at->point, y.column)) * x.cnt +
		  place_of(&x, vb_sweep_value(p->s, at->point, x.column))] = at->mean;
		lo = isfinite(at->mean) ? fmin(lo, at->mean) : lo;
		hi = isfinite(at->mean) ? fmax(hi, at->mean) : hi;
	}
	h.x = (struct vb_heat_axis){p->s->column[x.column], x.value, x.cnt};
	h.y = (struct vb_heat_axis){p->s->column[y.column], y.value, y.cnt};
	h.v = v;
	h.is_log = lo > 0 && hi >= LOG_FROM * lo;
	snprintf(name, sizeof name, "%s-heat", vb_sweep_metric[p->metric].name);
	err = lo <= hi ? vb_figure_heat(f, name, &h) : 0;
	free(v);
	return err;
}

static bool has_spots(const struct vb_sweep_plot *p)
{
	for (uint32_t i = 0; i < p->spot_cnt; i++)
		if (isfinite(p->spot[i].mean))
			return true;
	return false;
}

static int write_metric(struct vb_figures *f, const struct vb_sweep *s, uint32_t x, uint32_t metric)
{
	struct vb_sweep_plot *p = calloc(1, sizeof *p);
	int err = p ? vb_sweep_plot_make(p, s, x, metric) : -ENOMEM;

	if (!err && has_spots(p)) {
		err = vb_figure_chart(f, vb_sweep_metric[metric].name, &p->chart);
		if (!err)
			err = write_heat(f, p);
	}
	if (p)
		vb_sweep_plot_free(p);
	free(p);
	return err;
}

/* Slow-down by the size of flows: a line for each point with all its seeds. */
struct sizes {
	const struct vb_sweep *s;
	uint32_t seeds, line_cnt;
	double x[VB_REPORT_BINS];
	double v[VB_SWEEP_LINES][3][VB_REPORT_BINS]; /* mean, least, greatest */
	struct vb_chart_line line[VB_SWEEP_LINES];
	char name[VB_SWEEP_LINES][200];
};

static const uint64_t *percentile_of(const struct vb_sweep_bins *b, int percent)
{
	return percent == 50 ? b->p50 : percent == 95 ? b->p95 : b->p99;
}

/* A line of means over the seeds from point @first on. False: no flow is done. */
static bool add_sizes(struct sizes *z, uint32_t first, int percent)
{
	double(*v)[VB_REPORT_BINS] = z->v[z->line_cnt];
	uint32_t have[VB_REPORT_BINS] = {0}, bins = 0;
	struct vb_sweep_bins b;

	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		v[0][bin] = 0;
		v[1][bin] = INFINITY;
		v[2][bin] = -INFINITY;
	}
	for (uint32_t i = first; i < first + z->seeds; i++) {
		if (!vb_sweep_load_bins(z->s, i, &b))
			continue;
		for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
			double is = (double)percentile_of(&b, percent)[bin] / 1e3;

			if (b.flows[bin] == 0)
				continue;
			v[0][bin] += is;
			v[1][bin] = fmin(v[1][bin], is);
			v[2][bin] = fmax(v[2][bin], is);
			have[bin]++;
		}
	}
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		v[0][bin] = have[bin] ? v[0][bin] / have[bin] : NAN;
		bins += have[bin] != 0;
	}
	return bins > 1;
}

static void name_sizes(struct sizes *z, uint32_t first)
{
	char *name = z->name[z->line_cnt];
	size_t at = 0, len = sizeof z->name[0];

	for (uint32_t k = 0; k < z->s->column_cnt && at < len; k++) {
		if (vb_sweep_is_seed(z->s, k) || !vb_sweep_varies(z->s, k))
			continue;
		at += (size_t)snprintf(name + at, len - at, "%s%s=%s", at ? ", " : "",
				       z->s->column[k], vb_sweep_value(z->s, first, k));
	}
}

/* Makes lines of what was added, without the bins at both ends that nobody has. */
static void make_lines(struct sizes *z, double *least, double *most)
{
	uint32_t first = VB_REPORT_BINS, last = 0;

	*least = INFINITY;
	*most = 0;
	for (uint32_t k = 0; k < z->line_cnt; k++)
		for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
			if (!isfinite(z->v[k][0][bin]))
				continue;
			first = bin < first ? bin : first;
			last = bin > last ? bin : last;
			*least = fmin(*least, z->v[k][1][bin]);
			*most = fmax(*most, z->v[k][2][bin]);
		}
	for (uint32_t k = 0; k < z->line_cnt; k++)
		z->line[k] = (struct vb_chart_line){.name = z->name[k],
						    .x = z->x + first,
						    .y = z->v[k][0] + first,
						    .lo = z->v[k][1] + first,
						    .hi = z->v[k][2] + first,
						    .cnt = last + 1 - first};
}

static void collect_sizes(struct sizes *z, const struct vb_sweep *s, int percent)
{
	z->s = s;
	z->seeds = vb_sweep_seeds_of(s);
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++)
		z->x[bin] = bin + 1 < VB_REPORT_BINS ? (double)vb_report_bin_end(bin)
						     : 2 * (double)vb_report_bin_end(bin - 1);
	for (uint32_t i = 0; i < s->point_cnt && z->line_cnt < VB_SWEEP_LINES; i += z->seeds)
		if (add_sizes(z, i, percent)) {
			name_sizes(z, i);
			z->line_cnt++;
		}
}

static int write_sizes(struct vb_figures *f, const struct vb_sweep *s, int percent)
{
	struct sizes *z = calloc(1, sizeof *z);
	char name[32], title[64], axis[32];
	struct vb_chart c = {
	    .title = title,
	    .style = VB_CHART_DOTTED,
	    .x = {.name = "flows up to", .unit = "B", .is_log = true, .is_si = true},
	    .y = {.name = axis, .unit = ""}};
	double lo, hi;
	int err = 0;

	if (!z)
		return -ENOMEM;
	collect_sizes(z, s, percent);
	make_lines(z, &lo, &hi);
	snprintf(name, sizeof name, "slowdown-size-p%d", percent);
	snprintf(title, sizeof title, "Slow-down by the size of flows, p%d", percent);
	snprintf(axis, sizeof axis, "slow-down p%d", percent);
	c.line = z->line;
	c.line_cnt = z->line_cnt;
	c.y.is_log = lo > 0 && hi >= LOG_FROM * lo;
	if (z->line_cnt)
		err = vb_figure_chart(f, name, &c);
	free(z);
	return err;
}

int vb_sweep_figures_write(const struct vb_sweep *s, const struct vb_sweep_figures *g,
			   const char *x, const char *y)
{
	struct vb_figures f = {.dir = g->dir, .painter = g->painter};
	uint32_t column = vb_sweep_x(s, x);
	int err = write_metric(&f, s, column, vb_sweep_metric_of(y));

	for (size_t i = 0; !err && i < sizeof drawn / sizeof drawn[0]; i++)
		if (strcmp(drawn[i], y) != 0)
			err = write_metric(&f, s, column, vb_sweep_metric_of(drawn[i]));
	for (size_t i = 0; !err && i < 3; i++)
		err = write_sizes(&f, s, (const int[]){50, 95, 99}[i]);
	if (err)
		vb_cmd_error(s->cmd, "%s cannot be written: %s", f.failed[0] ? f.failed : f.dir,
			     strerror(-err));
	return err ? 1 : 0;
}
