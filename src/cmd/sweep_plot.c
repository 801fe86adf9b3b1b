/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.svg: one metric over one parameter, a line for each combination of the others, the mean
 * over seeds with the range they span. See sweep.h. */
#include "cmd/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 760.0
#define HEIGHT 420.0
#define LEFT 80.0
#define RIGHT 20.0
#define TOP 40.0
#define BOTTOM 60.0
#define LINES_MAX 12u
#define TICKS_MAX 12u

struct plot {
	const struct vb_sweep *s;
	uint32_t x, metric, seeds;
	bool is_number; /* else values stand side by side */
	bool is_log;
	double x_lo, x_hi, y_hi;
	uint32_t x_cnt, line_cnt;
	const char **x_text; /* distinct values */
	uint32_t *line;      /* the first point of each line */
};

static const char *const colors[LINES_MAX] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#7f7f7f", "#8c564b", "#1f1f1f", "#9467bd", "#bcbd22", "#17becf",
};

/* A number and its unit, as scenarios write them. */
static bool to_number(const char *text, double *v)
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

static const char *value_of(const struct vb_sweep *s, uint32_t point, uint32_t column)
{
	const char *v = s->point[point].value[column];

	return v ? v : "-";
}

static uint32_t x_index(const struct plot *p, const char *text)
{
	uint32_t i = 0;

	while (i < p->x_cnt && strcmp(p->x_text[i], text) != 0)
		i++;
	return i;
}

static double x_at(const struct plot *p, const char *text)
{
	double v, w = WIDTH - LEFT - RIGHT;

	if (!p->is_number)
		return LEFT + w * (x_index(p, text) + 0.5) / p->x_cnt;
	(void)to_number(text, &v);
	if (p->x_hi <= p->x_lo)
		return LEFT + w / 2;
	if (p->is_log)
		return LEFT + w * log(v / p->x_lo) / log(p->x_hi / p->x_lo);
	return LEFT + w * (v - p->x_lo) / (p->x_hi - p->x_lo);
}

static double y_at(const struct plot *p, double v)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * v / p->y_hi;
}

static bool same_line(const struct plot *p, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < p->s->column_cnt; k++)
		if (k != p->x && !vb_sweep_is_seed(p->s, k) &&
		    strcmp(value_of(p->s, a, k), value_of(p->s, b, k)) != 0)
			return false;
	return true;
}

/* Mean and range over the seeds of the group that begins at @point; false: no result. */
static bool group(const struct plot *p, uint32_t point, double *mean, double *lo, double *hi)
{
	double sum = 0, unit = vb_sweep_metric[p->metric].unit;
	uint32_t have = 0;
	struct vb_sweep_result r;

	*lo = INFINITY;
	*hi = 0;
	for (uint32_t i = point; i < point + p->seeds; i++) {
		if (!vb_sweep_load(p->s, i, &r))
			continue;

		double v = (double)r.v[p->metric] / unit;

		sum += v;
		*lo = fmin(*lo, v);
		*hi = fmax(*hi, v);
		have++;
	}
	*mean = have ? sum / have : 0;
	return have > 0;
}

static void add_point(struct plot *p, uint32_t i)
{
	const char *x = value_of(p->s, i, p->x);
	double v, mean, lo, hi;
	uint32_t k = 0;

	if (x_index(p, x) == p->x_cnt) {
		p->x_text[p->x_cnt++] = x;
		if (to_number(x, &v)) {
			p->x_lo = fmin(p->x_lo, v);
			p->x_hi = fmax(p->x_hi, v);
		} else {
			p->is_number = false;
		}
	}
	while (k < p->line_cnt && !same_line(p, p->line[k], i))
		k++;
	if (k == p->line_cnt)
		p->line[p->line_cnt++] = i;
	if (group(p, i, &mean, &lo, &hi))
		p->y_hi = fmax(p->y_hi, hi);
}

/* Rounds up to 1, 2 or 5 times a power of ten. */
static double round_up(double v)
{
	double unit = pow(10, floor(log10(v))), m = v / unit;

	return unit * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static void text(FILE *f, double x, double y, const char *more, const char *what)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
	for (; *what; what++) {
		if (strchr("<>&\"", *what))
			fprintf(f, "&#%d;", *what);
		else
			putc(*what, f);
	}
	fputs("</text>\n", f);
}

static void axes(FILE *f, const struct plot *p)
{
	uint32_t every = (p->x_cnt + TICKS_MAX - 1) / TICKS_MAX;
	double step = round_up(p->y_hi / 6);

	for (uint32_t i = 0; i <= (uint32_t)lround(p->y_hi / step); i++) {
		double v = step * i;
		char number[32];

		fprintf(f,
			"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
			LEFT, y_at(p, v), WIDTH - RIGHT, y_at(p, v));
		snprintf(number, sizeof number, "%g", v);
		text(f, LEFT - 8, y_at(p, v) + 4, "text-anchor=\"end\"", number);
	}
	for (uint32_t i = 0; i < p->x_cnt; i += every)
		text(f, x_at(p, p->x_text[i]), HEIGHT - BOTTOM + 18, "text-anchor=\"middle\"",
		     p->x_text[i]);
	fprintf(f, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP,
		HEIGHT - BOTTOM, WIDTH - RIGHT);
	text(f, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18, "text-anchor=\"middle\"",
	     p->s->column[p->x]);
	text(f, LEFT, TOP - 16, "font-weight=\"bold\"", vb_sweep_metric[p->metric].text);
}

/* What is particular to a line. */
static void legend(FILE *f, const struct plot *p, uint32_t line)
{
	char name[200] = "";
	size_t at = 0;

	for (uint32_t k = 0; k < p->s->column_cnt && at < sizeof name; k++) {
		if (k == p->x || vb_sweep_is_seed(p->s, k))
			continue;

		int n = snprintf(name + at, sizeof name - at, "%s%s=%s", at ? ", " : "",
				 p->s->column[k], value_of(p->s, p->line[line], k));

		at += n > 0 ? (size_t)n : 0;
	}
	if (!at)
		return;
	fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"3\" fill=\"%s\"/>\n",
		LEFT + 12, HEIGHT + 4 + 18.0 * line, colors[line]);
	text(f, LEFT + 34, HEIGHT + 9 + 18.0 * line, "", name);
}

static void draw_line(FILE *f, const struct plot *p, uint32_t line)
{
	double mean, lo, hi;
	char verb = 'M';

	fprintf(f, "<g stroke=\"%s\" fill=\"none\">\n<path stroke-width=\"2\" d=\"", colors[line]);
	for (uint32_t i = 0; i < p->s->point_cnt; i += p->seeds) {
		if (!same_line(p, p->line[line], i) || !group(p, i, &mean, &lo, &hi))
			continue;
		fprintf(f, "%c%.1f %.1f", verb, x_at(p, value_of(p->s, i, p->x)), y_at(p, mean));
		verb = 'L';
	}
	fputs("\"/>\n", f);
	for (uint32_t i = 0; i < p->s->point_cnt; i += p->seeds) {
		double x = x_at(p, value_of(p->s, i, p->x));

		if (!same_line(p, p->line[line], i) || !group(p, i, &mean, &lo, &hi))
			continue;
		if (hi > lo)
			fprintf(f, "<path d=\"M%.1f %.1fV%.1f\"/>\n", x, y_at(p, lo), y_at(p, hi));
		fprintf(f,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%s: %g"
			"</title></circle>\n",
			x, y_at(p, mean), colors[line], vb_sweep_metric[p->metric].name, mean);
	}
	fputs("</g>\n", f);
	legend(f, p, line);
}

static int write_svg(FILE *f, const struct vb_sweep *s, const void *what)
{
	const struct plot *p = what;
	uint32_t lines = p->line_cnt < LINES_MAX ? p->line_cnt : LINES_MAX;
	double height = HEIGHT + (p->line_cnt > 1 ? 18.0 * lines + 12 : 0);

	(void)s;
	fprintf(
	    f,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 "
	    "0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
	    WIDTH, height, WIDTH, height);
	axes(f, p);
	for (uint32_t i = 0; i < lines; i++)
		draw_line(f, p, i);
	fputs("</svg>\n", f);
	return ferror(f) ? -EIO : 0;
}

static bool has_values(const struct vb_sweep *s, uint32_t column)
{
	for (uint32_t i = 1; i < s->point_cnt; i++)
		if (strcmp(value_of(s, i, column), value_of(s, 0, column)) != 0)
			return true;
	return false;
}

/* The column of the axis; the first with several values, and the seed only when there is no other.
 */
static uint32_t x_column(const struct vb_sweep *s, const char *x)
{
	uint32_t k = 0;

	for (; k < s->column_cnt; k++)
		if (x ? strcmp(s->column[k], x) == 0 : has_values(s, k))
			return k;
	return x ? UINT32_MAX : 0;
}

int vb_sweep_check_plot(const struct vb_sweep *s, const char *x, const char *y)
{
	uint32_t m = 0;

	if (x_column(s, x) == UINT32_MAX)
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

int vb_sweep_plot(const struct vb_sweep *s, const char *x, const char *y)
{
	struct plot p = {.s = s,
			 .x = x_column(s, x),
			 .is_number = true,
			 .x_lo = INFINITY,
			 .x_hi = -INFINITY,
			 .seeds = vb_sweep_seeds_of(s)};
	int err = -ENOMEM;

	if (vb_sweep_is_seed(s, p.x)) /* then each seed is a point of its own */
		p.seeds = 1;
	while (strcmp(vb_sweep_metric[p.metric].name, y) != 0)
		p.metric++;
	p.x_text = calloc(s->point_cnt, sizeof *p.x_text);
	p.line = calloc(s->point_cnt, sizeof *p.line);
	if (p.x_text && p.line) {
		for (uint32_t i = 0; i < s->point_cnt; i += p.seeds)
			add_point(&p, i);
		p.is_log = p.is_number && p.x_lo > 0 && p.x_hi / p.x_lo >= 50;
		p.y_hi =
		    p.y_hi > 0 ? round_up(p.y_hi / 6) * ceil(p.y_hi / round_up(p.y_hi / 6)) : 1;
		err = vb_sweep_store(s, "sweep.svg", write_svg, &p);
	}
	free(p.x_text);
	free(p.line);
	if (err)
		vb_cmd_error(s->cmd, "%s/sweep.svg cannot be written: %s", s->dir, strerror(-err));
	return err ? 1 : 0;
}
