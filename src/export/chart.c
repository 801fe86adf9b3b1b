/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts as SVG 1.1; colors are those of Okabe and Ito, which most eyes tell apart. See chart.h. */
#include "export/chart.h"

#include "export/text/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LEFT 72.0
#define RIGHT 16.0
#define TOP 36.0
#define BOTTOM 48.0
#define LEGEND_LINE 18u
#define LEGEND_COLUMNS 2u
#define NAME_MAX_LEN 38u /* of a name in one of several columns */
#define LETTER 6.5       /* how wide one is, about */
#define TICKS 6
#define DOTTED_MARGIN 0.04 /* of the width: points stand clear of the axis */

struct frame {
	const struct vb_chart *c;
	double top, x_lo, x_hi, y_lo, y_hi;
};

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				     "#e69f00", "#56b4e9", "#6d6a75", "#8c564b",
				     "#1f1f1f", "#9467bd", "#bcbd22", "#17becf"};

static const char *color_of(uint32_t line)
{
	return colors[line % (sizeof colors / sizeof colors[0])];
}

static bool is_usable(const struct vb_chart_axis *a, double v)
{
	return isfinite(v) && (!a->is_log || v > 0);
}

static double axis_share(const struct vb_chart_axis *a, double v, double lo, double hi)
{
	return a->is_log ? log(v / lo) / log(hi / lo) : (v - lo) / (hi - lo);
}

static double x_at(const struct frame *r, double v)
{
	return LEFT + (VB_CHART_WIDTH - LEFT - RIGHT) * axis_share(&r->c->x, v, r->x_lo, r->x_hi);
}

static double y_at(const struct frame *r, double v)
{
	double s = fmax(0, axis_share(&r->c->y, v, r->y_lo, r->y_hi));

	return r->top + VB_CHART_HEIGHT - BOTTOM - (VB_CHART_HEIGHT - TOP - BOTTOM) * s;
}

static void extend_range(const struct vb_chart_axis *a, double v, double *lo, double *hi)
{
	if (!is_usable(a, v))
		return;
	*lo = fmin(*lo, v);
	*hi = fmax(*hi, v);
}

/* An axis has a length even when all values are one, or there are none. */
static void settle_range(const struct vb_chart_axis *a, double *lo, double *hi)
{
	if (*lo > *hi) {
		*lo = a->is_log ? 1 : 0;
		*hi = a->is_log ? 10 : 1;
	} else if (*lo == *hi) {
		*lo = a->is_log ? *lo / 2 : *lo - 1;
		*hi = a->is_log ? *hi * 2 : *hi + 1;
	}
}

/* Makes an axis longer at both ends. */
static void widen_range(const struct vb_chart_axis *a, double *lo, double *hi)
{
	double by = (a->is_log ? log(*hi / *lo) : *hi - *lo) * DOTTED_MARGIN;

	*lo = a->is_log ? *lo * exp(-by) : *lo - by;
	*hi = a->is_log ? *hi * exp(by) : *hi + by;
}

static double step_of(double range)
{
	double raw = range / TICKS, unit = pow(10, floor(log10(raw))), m = raw / unit;

	return unit * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static void measure_frame(struct frame *r, const struct vb_chart *c)
{
	r->c = c;
	r->x_lo = r->y_lo = INFINITY;
	r->x_hi = r->y_hi = -INFINITY;
	for (uint32_t k = 0; k < c->line_cnt; k++) {
		const struct vb_chart_line *l = &c->line[k];

		for (uint32_t i = 0; i < l->cnt; i++) {
			extend_range(&c->x, l->x[i], &r->x_lo, &r->x_hi);
			extend_range(&c->y, l->y[i], &r->y_lo, &r->y_hi);
			if (l->lo)
				extend_range(&c->y, l->lo[i], &r->y_lo, &r->y_hi);
			if (l->hi)
				extend_range(&c->y, l->hi[i], &r->y_lo, &r->y_hi);
		}
	}
	settle_range(&c->x, &r->x_lo, &r->x_hi);
	if (c->style == VB_CHART_DOTTED)
		widen_range(&c->x, &r->x_lo, &r->x_hi);
	if (!c->y.is_log) {
		r->y_lo = 0;
		r->y_hi = r->y_hi > 0 ? r->y_hi : 1;

		double step = step_of(r->y_hi);

		r->y_hi = step * ceil(r->y_hi / step - 1e-9);
	}
	settle_range(&c->y, &r->y_lo, &r->y_hi);
}

static void draw_text(FILE *f, double x, double y, const char *more, const char *what)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
	vb_text_xml(f, what);
	fputs("</text>\n", f);
}

static void draw_tick(FILE *f, const struct frame *r, bool is_x, double v)
{
	double at = is_x ? x_at(r, v) : y_at(r, v);
	char number[32];

	snprintf(number, sizeof number, "%.6g", v);
	if (is_x) {
		draw_text(f, at, r->top + VB_CHART_HEIGHT - BOTTOM + 16, " text-anchor=\"middle\"",
			  number);
		return;
	}
	fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", LEFT, at,
		VB_CHART_WIDTH - RIGHT);
	draw_text(f, LEFT - 6, at + 4, " text-anchor=\"end\"", number);
}

/* Marks that have room beside the one before. */
static void draw_marks(FILE *f, const struct frame *r)
{
	double end = -INFINITY;

	for (uint32_t i = 0; i < r->c->x.mark_cnt; i++) {
		const struct vb_chart_mark *m = &r->c->x.mark[i];
		double half = (double)strlen(m->text) * LETTER / 2, at;

		if (!is_usable(&r->c->x, m->at) || m->at < r->x_lo || m->at > r->x_hi)
			continue;
		at = x_at(r, m->at);
		if (at - half < end)
			continue;
		end = at + half + LETTER;
		draw_text(f, at, r->top + VB_CHART_HEIGHT - BOTTOM + 16, " text-anchor=\"middle\"",
			  m->text);
	}
}

static void draw_ticks(FILE *f, const struct frame *r, bool is_x)
{
	const struct vb_chart_axis *a = is_x ? &r->c->x : &r->c->y;
	double lo = is_x ? r->x_lo : r->y_lo, hi = is_x ? r->x_hi : r->y_hi, step;
	long from;

	if (a->mark) {
		draw_marks(f, r);
		return;
	}
	if (!a->is_log || hi / lo < 4) {
		step = step_of(hi - lo);
		from = lround(ceil(lo / step - 1e-9));
		for (long i = from; (double)i * step <= hi + step * 1e-9; i++)
			draw_tick(f, r, is_x, (double)i * step);
		return;
	}
	from = lround(floor(log10(lo)));
	for (long p = from; (double)p <= log10(hi); p++) {
		static const double within[] = {1, 2, 5};

		for (int k = 0; k < (hi / lo > 1000 ? 1 : 3); k++) {
			double v = within[k] * pow(10, (double)p);

			if (v >= lo * 0.999 && v <= hi * 1.001)
				draw_tick(f, r, is_x, v);
		}
	}
}

static double upper_value(const struct vb_chart_line *l, uint32_t i)
{
	return l->hi ? l->hi[i] : l->y[i];
}

static void draw_band(FILE *f, const struct frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	char verb = 'M';

	fputs("<path d=\"", f);
	for (uint32_t k = 0; k < 2 * l->cnt; k++) {
		uint32_t i = k < l->cnt ? k : 2 * l->cnt - 1 - k;
		double v = k < l->cnt ? upper_value(l, i) : l->lo[i];

		if (!is_usable(&r->c->x, l->x[i]) || !is_usable(&r->c->y, v))
			continue;
		fprintf(f, "%c%.1f %.1f", verb, x_at(r, l->x[i]), y_at(r, v));
		verb = 'L';
	}
	fprintf(f, "\" fill=\"%s\" fill-opacity=\"0.18\"/>\n", color);
}

static void draw_bars(FILE *f, const struct frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		double lo = l->lo[i], hi = upper_value(l, i);

		if (is_usable(&r->c->x, l->x[i]) && is_usable(&r->c->y, lo) &&
		    is_usable(&r->c->y, hi) && hi > lo)
			fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/>\n",
				x_at(r, l->x[i]), y_at(r, lo), y_at(r, hi), color);
	}
}

static void draw_points(FILE *f, const struct frame *r, const struct vb_chart_line *l,
			const char *color)
{
	fprintf(f, "<g fill=\"%s\">\n", color);
	for (uint32_t i = 0; i < l->cnt; i++)
		if (is_usable(&r->c->x, l->x[i]) && is_usable(&r->c->y, l->y[i]))
			fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
				x_at(r, l->x[i]), y_at(r, l->y[i]));
	fputs("</g>\n", f);
}

static void draw_path(FILE *f, const struct frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	bool begun = false;

	fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", color);
	for (uint32_t i = 0; i < l->cnt; i++) {
		if (!is_usable(&r->c->x, l->x[i]) || !is_usable(&r->c->y, l->y[i])) {
			begun = false; /* a gap: nothing is known there */
			continue;
		}

		double x = x_at(r, l->x[i]), y = y_at(r, l->y[i]);

		if (!begun)
			fprintf(f, "M%.1f %.1f", x, y);
		else if (r->c->style == VB_CHART_STEP)
			fprintf(f, "H%.1fV%.1f", x, y);
		else
			fprintf(f, "L%.1f %.1f", x, y);
		begun = true;
	}
	fputs("\"/>\n", f);
}

static void draw_line(FILE *f, const struct frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	enum vb_chart_style style = r->c->style;

	if (l->lo)
		(style == VB_CHART_DOTTED ? draw_bars : draw_band)(f, r, l, color);
	if (style != VB_CHART_POINTS)
		draw_path(f, r, l, color);
	if (style == VB_CHART_POINTS || style == VB_CHART_DOTTED)
		draw_points(f, r, l, color);
}

/* One when a name would reach into the next. */
static uint32_t legend_columns(const struct vb_chart *c)
{
	for (uint32_t k = 0; k < c->line_cnt; k++)
		if (strlen(c->line[k].name) > NAME_MAX_LEN)
			return 1;
	return LEGEND_COLUMNS;
}

static void draw_legend(FILE *f, const struct frame *r)
{
	uint32_t columns = legend_columns(r->c), at = 0;

	for (uint32_t k = 0; k < r->c->line_cnt; k++) {
		if (!*r->c->line[k].name)
			continue;

		uint32_t row = at / columns;
		double x =
		    LEFT + (VB_CHART_WIDTH - LEFT - RIGHT) * (double)(at % columns) / columns;
		double y = r->top + VB_CHART_HEIGHT + LEGEND_LINE * row + 8;

		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"3\" fill=\"%s\"/>\n",
			x, y - 5, color_of(k));
		draw_text(f, x + 20, y, "", r->c->line[k].name);
		at++;
	}
}

static void axis_name(FILE *f, const struct vb_chart_axis *a, double x, double y, const char *more)
{
	char name[128];

	snprintf(name, sizeof name, "%s%s%s", a->name, *a->unit ? ", " : "", a->unit);
	draw_text(f, x, y, more, name);
}

uint32_t vb_chart_height(const struct vb_chart *c)
{
	uint32_t columns = legend_columns(c), named = 0;

	for (uint32_t k = 0; k < c->line_cnt; k++)
		named += *c->line[k].name != '\0';
	return VB_CHART_HEIGHT + (named + columns - 1) / columns * LEGEND_LINE;
}

uint32_t vb_chart_heights(const struct vb_chart *charts, uint32_t cnt)
{
	uint32_t height = 0;

	for (uint32_t i = 0; i < cnt; i++)
		height += vb_chart_height(&charts[i]);
	return height;
}

void vb_chart_draw(FILE *f, const struct vb_chart *c, uint32_t top)
{
	struct frame r = {.top = top};
	char turned[64];

	measure_frame(&r, c);
	draw_text(f, LEFT, r.top + 20, " font-weight=\"bold\"", c->title);
	draw_ticks(f, &r, false);
	draw_ticks(f, &r, true);
	for (uint32_t k = 0; k < c->line_cnt; k++)
		draw_line(f, &r, &c->line[k], color_of(k));
	fprintf(f, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", LEFT,
		r.top + TOP, r.top + VB_CHART_HEIGHT - BOTTOM, VB_CHART_WIDTH - RIGHT);
	axis_name(f, &c->x, (LEFT + VB_CHART_WIDTH - RIGHT) / 2, r.top + VB_CHART_HEIGHT - 12,
		  " text-anchor=\"middle\"");
	snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 14 %.1f)\"",
		 r.top + VB_CHART_HEIGHT / 2.0);
	axis_name(f, &c->y, 14, r.top + VB_CHART_HEIGHT / 2.0, turned);
	draw_legend(f, &r);
}

int vb_chart_write(FILE *f, const struct vb_chart *charts, uint32_t cnt)
{
	uint32_t height = vb_chart_heights(charts, cnt);

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		VB_CHART_WIDTH, height, VB_CHART_WIDTH, height);
	height = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		vb_chart_draw(f, &charts[i], height);
		height += vb_chart_height(&charts[i]);
	}
	fputs("</svg>\n", f);
	return ferror(f) ? -EIO : 0;
}
