/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines, bands, bars and points of charts. Colors are those of Okabe and Ito, which most eyes tell
 * apart. See frame.h. */
#include "export/chart/frame.h"

#define CAP 2.5 /* half the width of the end of a bar, in a paper */

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				     "#e69f00", "#56b4e9", "#6d6a75", "#8c564b",
				     "#1f1f1f", "#9467bd", "#bcbd22", "#17becf"};

const char *vb_chart_color(uint32_t line)
{
	return colors[line % (sizeof colors / sizeof colors[0])];
}

const char *vb_chart_dashes(const struct vb_chart *c, uint32_t line)
{
	static const char *const dashes[] = {"", " stroke-dasharray=\"5 2\"",
					     " stroke-dasharray=\"1.5 1.5\"",
					     " stroke-dasharray=\"6 2 1.5 2\""};

	/* Values over time are so many that dashes would look like them. */
	if (c->form != VB_CHART_PAPER || c->style == VB_CHART_LINE || c->style == VB_CHART_POINTS)
		return "";
	return dashes[line % (sizeof dashes / sizeof dashes[0])];
}

static double upper_value(const struct vb_chart_line *l, uint32_t i)
{
	return l->hi ? l->hi[i] : l->y[i];
}

static void draw_band(FILE *f, const struct vb_chart_frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	char verb = 'M';

	fputs("<path d=\"", f);
	for (uint32_t k = 0; k < 2 * l->cnt; k++) {
		uint32_t i = k < l->cnt ? k : 2 * l->cnt - 1 - k;
		double v = k < l->cnt ? upper_value(l, i) : l->lo[i];

		if (!vb_chart_has(&r->c->x, l->x[i]) || !vb_chart_has(&r->c->y, v))
			continue;
		fprintf(f, "%c%.1f %.1f", verb, vb_chart_x(r, l->x[i]), vb_chart_y(r, v));
		verb = 'L';
	}
	fprintf(f, "\" fill=\"%s\" fill-opacity=\"0.18\"/>\n", color);
}

static void draw_bar(FILE *f, const struct vb_chart_frame *r, double x, double lo, double hi,
		     const char *color)
{
	fprintf(f, "<path d=\"M%.1f %.1fV%.1f", x, lo, hi);
	if (r->c->form == VB_CHART_PAPER)
		fprintf(f, "M%.1f %.1fH%.1fM%.1f %.1fH%.1f", x - CAP, lo, x + CAP, x - CAP, hi,
			x + CAP);
	fprintf(f, "\" stroke=\"%s\"/>\n", color);
}

static void draw_bars(FILE *f, const struct vb_chart_frame *r, const struct vb_chart_line *l,
		      const char *color)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		double lo = l->lo[i], hi = upper_value(l, i);

		if (vb_chart_has(&r->c->x, l->x[i]) && vb_chart_has(&r->c->y, lo) &&
		    vb_chart_has(&r->c->y, hi) && hi > lo)
			draw_bar(f, r, vb_chart_x(r, l->x[i]), vb_chart_y(r, lo), vb_chart_y(r, hi),
				 color);
	}
}

static void draw_points(FILE *f, const struct vb_chart_frame *r, const struct vb_chart_line *l,
			const char *color)
{
	fprintf(f, "<g fill=\"%s\">\n", color);
	for (uint32_t i = 0; i < l->cnt; i++)
		if (vb_chart_has(&r->c->x, l->x[i]) && vb_chart_has(&r->c->y, l->y[i]))
			fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>\n",
				vb_chart_x(r, l->x[i]), vb_chart_y(r, l->y[i]),
				r->c->form == VB_CHART_PAPER ? "2" : "2.5");
	fputs("</g>\n", f);
}

static void draw_path(FILE *f, const struct vb_chart_frame *r, const struct vb_chart_line *l,
		      const char *color, const char *dashes)
{
	bool begun = false;

	fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s d=\"", color,
		r->c->form == VB_CHART_PAPER ? "1.2" : "1.5", dashes);
	for (uint32_t i = 0; i < l->cnt; i++) {
		if (!vb_chart_has(&r->c->x, l->x[i]) || !vb_chart_has(&r->c->y, l->y[i])) {
			begun = false; /* a gap: nothing is known there */
			continue;
		}

		double x = vb_chart_x(r, l->x[i]), y = vb_chart_y(r, l->y[i]);

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

void vb_chart_lines(FILE *f, const struct vb_chart_frame *r)
{
	enum vb_chart_style style = r->c->style;

	for (uint32_t k = 0; k < r->c->line_cnt; k++) {
		const struct vb_chart_line *l = &r->c->line[k];
		const char *color = vb_chart_color(k);

		if (l->lo)
			(style == VB_CHART_DOTTED ? draw_bars : draw_band)(f, r, l, color);
		if (style != VB_CHART_POINTS)
			draw_path(f, r, l, color, vb_chart_dashes(r->c, k));
		if (style == VB_CHART_POINTS || style == VB_CHART_DOTTED)
			draw_points(f, r, l, color);
	}
}
