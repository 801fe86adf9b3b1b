/* SPDX-License-Identifier: BSD-2-Clause */
/* One metric over one parameter: a line for each combination of the others, the mean over seeds
 * with the range they span. sweep.svg is such a chart, and so are figures. See plot.h. */
#include "cmd/sweep/plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOG_FROM 50.0 /* ratio that an axis spans before it is logarithmic */

bool vb_sweep_number(const char *text, double *v)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {
	    {"", 1},          {"%", 0.01},   {"ns", 1},     {"us", 1e3},
	    {"ms", 1e6},      {"s", 1e9},    {"B", 1},      {"kB", 1e3},
	    {"MB", 1e6},      {"GB", 1e9},   {"KiB", 1024}, {"MiB", 1 << 20},
	    {"GiB", 1 << 30}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
	};
	char *end;

	*v = strtod(text, &end);
	if (end == text || !isfinite(*v))
		return false;
	end += strspn(end, " ");
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(units[i].name, end) == 0) {
			*v *= units[i].factor;
			return true;
		}
	}
	return false;
}

const char *vb_sweep_value(const struct vb_sweep *s, uint32_t point, uint32_t column)
{
	const char *v = s->point[point].value[column];

	return v ? v : "-";
}

static bool same_line(const struct vb_sweep_plot *p, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < p->s->column_cnt; k++)
		if (k != p->x && !vb_sweep_is_seed(p->s, k) &&
		    strcmp(vb_sweep_value(p->s, a, k), vb_sweep_value(p->s, b, k)) != 0)
			return false;
	return true;
}

/* Mean and range over the seeds of a group. */
static void measure_group(const struct vb_sweep_plot *p, struct vb_sweep_spot *at)
{
	double sum = 0, unit = vb_sweep_metric[p->metric].unit;
	uint32_t have = 0;
	struct vb_sweep_result r;

	at->lo = INFINITY;
	at->hi = -INFINITY;
	for (uint32_t i = at->point; i < at->point + p->seeds; i++) {
		if (!vb_sweep_load(p->s, i, &r) || !vb_sweep_is_known(&r, p->metric))
			continue;

		double v = (double)r.v[p->metric] / unit;

		sum += v;
		at->lo = fmin(at->lo, v);
		at->hi = fmax(at->hi, v);
		have++;
	}
	at->mean = have ? sum / have : NAN;
}

/* The line of point @i; VB_SWEEP_LINES: there are enough. */
static uint32_t line_of(struct vb_sweep_plot *p, uint32_t i)
{
	uint32_t k = 0;

	while (k < p->line_cnt && !same_line(p, p->first[k], i))
		k++;
	if (k == p->line_cnt && k < VB_SWEEP_LINES)
		p->first[p->line_cnt++] = i;
	return k;
}

/* Values that are no numbers stand one after the other, in the order of the points. */
static double point_place(const struct vb_sweep_plot *p, uint32_t point)
{
	const char *text = vb_sweep_value(p->s, point, p->x);
	double next = 0, v;

	if (p->is_number) {
		(void)vb_sweep_number(text, &v);
		return v;
	}
	for (uint32_t i = 0; i < p->spot_cnt; i++) {
		if (strcmp(vb_sweep_value(p->s, p->spot[i].point, p->x), text) == 0)
			return p->spot[i].x;
		next = fmax(next, p->spot[i].x + 1);
	}
	return next;
}

static int by_line(const void *va, const void *vb)
{
	const struct vb_sweep_spot *a = va, *b = vb;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->x < b->x ? -1 : a->x > b->x;
}

static int by_place(const void *va, const void *vb)
{
	const struct vb_chart_mark *a = va, *b = vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static void collect_spots(struct vb_sweep_plot *p)
{
	double v;

	p->is_number = true;
	for (uint32_t i = 0; i < p->s->point_cnt && p->is_number; i += p->seeds)
		p->is_number = vb_sweep_number(vb_sweep_value(p->s, i, p->x), &v);
	for (uint32_t i = 0; i < p->s->point_cnt; i += p->seeds) {
		struct vb_sweep_spot at = {.point = i, .line = line_of(p, i)};

		if (at.line == VB_SWEEP_LINES) {
			p->left_out++;
			continue;
		}
		at.x = point_place(p, i);
		measure_group(p, &at);
		p->spot[p->spot_cnt++] = at;
	}
	qsort(p->spot, p->spot_cnt, sizeof p->spot[0], by_line);
	for (uint32_t i = 0; i < p->spot_cnt; i++)
		p->mark[i] = (struct vb_chart_mark){
		    .at = p->spot[i].x, .text = vb_sweep_value(p->s, p->spot[i].point, p->x)};
	qsort(p->mark, p->spot_cnt, sizeof p->mark[0], by_place);
}

/* The values particular to a line; none when it is the only one. */
static void name_line(struct vb_sweep_plot *p, uint32_t line)
{
	char *name = p->name[line];
	size_t at = 0, len = sizeof p->name[line];

	for (uint32_t k = 0; p->line_cnt > 1 && k < p->s->column_cnt && at < len; k++) {
		if (k == p->x || vb_sweep_is_seed(p->s, k))
			continue;

		int n = snprintf(name + at, len - at, "%s%s=%s", at ? ", " : "", p->s->column[k],
				 vb_sweep_value(p->s, p->first[line], k));

		at += n > 0 ? (size_t)n : 0;
	}
}

static void make_lines(struct vb_sweep_plot *p)
{
	uint32_t n = p->spot_cnt;

	for (uint32_t i = 0; i < n; i++) {
		const struct vb_sweep_spot *at = &p->spot[i];
		struct vb_chart_line *l = &p->line[at->line];

		p->v[i] = at->x;
		p->v[n + i] = at->mean;
		p->v[2 * (size_t)n + i] = at->lo;
		p->v[3 * (size_t)n + i] = at->hi;
		if (l->cnt++ == 0) {
			l->name = p->name[at->line];
			l->x = p->v + i;
			l->y = l->x + n;
			l->lo = l->y + n;
			l->hi = l->lo + n;
			name_line(p, at->line);
		}
	}
}

/* Values that span as much as to be logarithmic; some may be missing. */
static bool is_wide(const struct vb_sweep_plot *p)
{
	double lo = INFINITY, hi = 0;

	for (uint32_t i = 0; i < p->spot_cnt; i++) {
		if (!isfinite(p->spot[i].mean))
			continue;
		lo = fmin(lo, p->spot[i].lo);
		hi = fmax(hi, p->spot[i].hi);
	}
	return lo > 0 && hi >= LOG_FROM * lo;
}

static void make_chart(struct vb_sweep_plot *p)
{
	p->chart = (struct vb_chart){
	    .title = p->title,
	    .name = vb_sweep_metric[p->metric].name,
	    .style = VB_CHART_DOTTED,
	    .x = {.name = p->s->column_cnt ? p->s->column[p->x] : "",
		  .unit = "",
		  .mark = p->mark,
		  .mark_cnt = p->spot_cnt},
	    .y = {.name = vb_sweep_metric[p->metric].text, .unit = "", .is_log = is_wide(p)},
	    .line = p->line,
	    .line_cnt = p->line_cnt};
	p->chart.x.is_log = p->is_number && p->spot_cnt && p->mark[0].at > 0 &&
			    p->mark[p->spot_cnt - 1].at >= LOG_FROM * p->mark[0].at;
}

bool vb_sweep_varies(const struct vb_sweep *s, uint32_t column)
{
	for (uint32_t i = 1; i < s->point_cnt; i++)
		if (strcmp(vb_sweep_value(s, i, column), vb_sweep_value(s, 0, column)) != 0)
			return true;
	return false;
}

uint32_t vb_sweep_x(const struct vb_sweep *s, const char *x)
{
	uint32_t k = 0;

	for (; k < s->column_cnt; k++)
		if (x ? strcmp(s->column[k], x) == 0 : vb_sweep_varies(s, k))
			return k;
	return x ? UINT32_MAX : 0;
}

int vb_sweep_check_plot(const struct vb_sweep *s, const char *x, const char *y)
{
	uint32_t m = 0;

	if (vb_sweep_x(s, x) == UINT32_MAX)
		return vb_cmd_usage(s->cmd, "--x %s is not swept", x);
	while (vb_sweep_metric[m].name && strcmp(vb_sweep_metric[m].name, y) != 0)
		m++;
	if (vb_sweep_metric[m].name)
		return 0;
	fprintf(stderr, "verbena %s: --y is", s->cmd->name);
	for (m = 0; vb_sweep_metric[m].name; m++)
		fprintf(stderr, "%s %s", m ? "," : "", vb_sweep_metric[m].name);
	fprintf(stderr, "; not \"%s\"\n", y);
	return VB_EXIT_USAGE;
}

static void name_plot(struct vb_sweep_plot *p)
{
	const char *name = strrchr(p->s->path, '/');
	int n = snprintf(p->title, sizeof p->title, "%s", name ? name + 1 : p->s->path);
	size_t at = n > 0 && (size_t)n < sizeof p->title ? (size_t)n : sizeof p->title - 1;

	if (p->seeds > 1)
		at += (size_t)snprintf(p->title + at, sizeof p->title - at,
				       ": mean of %u seeds, and their range", p->seeds);
	if (p->left_out && at < sizeof p->title)
		snprintf(p->title + at, sizeof p->title - at,
			 "; the first %u lines, %u points more in sweep.csv", VB_SWEEP_LINES,
			 p->left_out);
}

int vb_sweep_plot_make(struct vb_sweep_plot *p, const struct vb_sweep *s, uint32_t x,
		       uint32_t metric)
{
	*p = (struct vb_sweep_plot){.s = s, .x = x, .metric = metric};
	/* Over the seed each one is a point of its own. */
	p->seeds = vb_sweep_is_seed(s, x) ? 1 : vb_sweep_seeds_of(s);
	p->spot = calloc(s->point_cnt, sizeof *p->spot);
	p->mark = calloc(s->point_cnt, sizeof *p->mark);
	p->v = calloc((size_t)4 * s->point_cnt, sizeof *p->v);
	if (!p->spot || !p->mark || !p->v)
		return -ENOMEM;
	collect_spots(p);
	make_lines(p);
	name_plot(p);
	make_chart(p);
	return 0;
}

void vb_sweep_plot_free(struct vb_sweep_plot *p)
{
	free(p->spot);
	free(p->mark);
	free(p->v);
}

static int write_svg(FILE *f, const struct vb_sweep *s, const void *chart)
{
	(void)s;
	return vb_chart_write(f, chart, 1);
}

int vb_sweep_plot(const struct vb_sweep *s, const char *x, const char *y)
{
	struct vb_sweep_plot *p = calloc(1, sizeof *p);
	int err = p ? vb_sweep_plot_make(p, s, vb_sweep_x(s, x), vb_sweep_metric_of(y)) : -ENOMEM;

	if (!err)
		err = vb_sweep_store(s, "sweep.svg", write_svg, &p->chart);
	if (p)
		vb_sweep_plot_free(p);
	free(p);
	if (err)
		vb_cmd_error(s->cmd, "%s/sweep.svg cannot be written: %s", s->dir, strerror(-err));
	return err ? 1 : 0;
}
