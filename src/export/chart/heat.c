/* SPDX-License-Identifier: BSD-2-Clause */
/* Heat maps as SVG. See heat.h. */
#include "export/chart/heat.h"

#include "export/chart/chart.h"
#include "export/chart/letters.h"
#include "export/text/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define FONT (32.0 / 3)
#define GAP 5.0
#define ROW_MIN 18.0 /* heights of a row */
#define ROW_MAX 32.0
#define PLOT_MAX 240.0
#define BAR 10.0       /* width of the scale */
#define BAR_PARTS 32u  /* colors that are drawn of it */
#define SCALE_TICKS 5u /* numbers at it */
#define LABEL_MAX 90.0 /* width of a row's name */

struct plot {
	const struct vb_heat *h;
	double left, top, width, height; /* of the cells */
	double scale_left;
	double lo, hi;
};

/* Viridis at eighths (matplotlib, CC0); between them colors are mixed. */
static const uint8_t viridis[9][3] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
				      {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
				      {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};

static uint32_t color_at(double share)
{
	double at = fmin(fmax(share, 0), 1) * 8, part;
	uint32_t i = at >= 8 ? 7 : (uint32_t)at, rgb = 0;

	part = at - i;
	for (int k = 0; k < 3; k++)
		rgb = rgb << 8 |
		      (uint32_t)lround(viridis[i][k] * (1 - part) + viridis[i + 1][k] * part);
	return rgb;
}

/* White letters on dark cells: by the brightness that Rec. 709 gives a color. */
static const char *ink_on(uint32_t rgb)
{
	double light = 0.2126 * (rgb >> 16) + 0.7152 * (rgb >> 8 & 255) + 0.0722 * (rgb & 255);

	return light < 128 ? "#fff" : "#000";
}

static double share_of(const struct plot *p, double v)
{
	if (p->hi <= p->lo)
		return 0.5;
	return p->h->is_log ? log(v / p->lo) / log(p->hi / p->lo) : (v - p->lo) / (p->hi - p->lo);
}

static bool has_value(const struct vb_heat *h, double v)
{
	return isfinite(v) && (!h->is_log || v > 0);
}

static void find_range(struct plot *p)
{
	const struct vb_heat *h = p->h;

	p->lo = INFINITY;
	p->hi = -INFINITY;
	for (uint32_t i = 0; i < h->x.cnt * h->y.cnt; i++)
		if (has_value(h, h->v[i])) {
			p->lo = fmin(p->lo, h->v[i]);
			p->hi = fmax(p->hi, h->v[i]);
		}
}

static double widest_of(const struct vb_heat_axis *a)
{
	double widest = 0;

	for (uint32_t i = 0; i < a->cnt; i++)
		widest = fmax(widest, vb_letters_width(a->text[i]) * FONT);
	return widest;
}

static void number_text(char *text, size_t len, double v)
{
	snprintf(text, len, fabs(v) >= 1000 ? "%.0f" : "%.3g", v);
}

static void measure_plot(struct plot *p, const struct vb_heat *h)
{
	char number[2][32];
	double row;

	*p = (struct plot){.h = h, .top = FONT * 0.75};
	find_range(p);
	number_text(number[0], sizeof number[0], p->lo);
	number_text(number[1], sizeof number[1], p->hi);
	p->left = ceil(FONT + 3 * GAP + fmin(widest_of(&h->y), LABEL_MAX));
	p->scale_left =
	    VB_CHART_PAPER_WIDTH - FONT - 3 * GAP - BAR - 4 -
	    FONT * fmax(fmax(vb_letters_width(number[0]), vb_letters_width(number[1])), 2.6);
	p->width = p->scale_left - 2 * GAP - p->left;
	row = fmin(fmax(PLOT_MAX / h->y.cnt, ROW_MIN), ROW_MAX);
	p->height = fmax(row * h->y.cnt, 3 * ROW_MAX);
}

uint32_t vb_heat_height(const struct vb_heat *h)
{
	struct plot p;

	measure_plot(&p, h);
	return (uint32_t)ceil(p.top + p.height + 2 * FONT + 12);
}

static void draw_text(FILE *f, double x, double y, const char *more, const char *text, double width)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
	vb_text_xml_short(f, text, vb_letters_fit(text, width / FONT));
	fputs("</text>\n", f);
}

/* Values are written into the cells when all of them have room there. */
static bool have_room(const struct plot *p, double width, double height)
{
	const struct vb_heat *h = p->h;
	char number[32];

	for (uint32_t i = 0; i < h->x.cnt * h->y.cnt; i++) {
		number_text(number, sizeof number, has_value(h, h->v[i]) ? h->v[i] : 0);
		if (vb_letters_width(number) * FONT + 2 > width)
			return false;
	}
	return height > FONT;
}

static void draw_cells(FILE *f, const struct plot *p)
{
	const struct vb_heat *h = p->h;
	double w = p->width / h->x.cnt, ht = p->height / h->y.cnt;
	bool room = have_room(p, w, ht);

	for (uint32_t i = 0; i < h->x.cnt * h->y.cnt; i++) {
		uint32_t row = i / h->x.cnt;
		double x = p->left + w * (i % h->x.cnt);
		double y = p->top + p->height - ht * (row + 1);
		char number[32], more[64];
		uint32_t rgb;

		if (!has_value(h, h->v[i])) {
			draw_text(f, x + w / 2, y + ht / 2 + FONT * 0.36, " text-anchor=\"middle\"",
				  "-", w);
			continue;
		}
		rgb = color_at(share_of(p, h->v[i]));
		/* A little wider than they are: else there are white lines in between. */
		fprintf(f,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
			"fill=\"#%06x\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n",
			x, y, w, ht, rgb);
		if (!room)
			continue;
		number_text(number, sizeof number, h->v[i]);
		snprintf(more, sizeof more, " text-anchor=\"middle\" fill=\"%s\"", ink_on(rgb));
		draw_text(f, x + w / 2, y + ht / 2 + FONT * 0.36, more, number, w);
	}
}

/* Names of columns and rows; some are left out where there is no room for all. */
static void draw_names(FILE *f, const struct plot *p)
{
	const struct vb_heat *h = p->h;
	double w = p->width / h->x.cnt, ht = p->height / h->y.cnt, end = -INFINITY;
	double below = p->top + p->height;
	char turned[80];

	for (uint32_t i = 0; i < h->x.cnt; i++) {
		double at = p->left + w * (i + 0.5);
		double half = fmin(vb_letters_width(h->x.text[i]) * FONT, p->width) / 2;

		if (at - half < end)
			continue;
		end = at + half + GAP;
		draw_text(f, at, below + FONT + 3, " text-anchor=\"middle\"", h->x.text[i],
			  p->width);
	}
	end = INFINITY;
	for (uint32_t i = 0; i < h->y.cnt; i++) {
		double at = below - ht * (i + 0.5);

		if (at + FONT / 2 > end)
			continue;
		end = at - FONT / 2;
		draw_text(f, p->left - GAP, at + FONT * 0.36, " text-anchor=\"end\"", h->y.text[i],
			  LABEL_MAX);
	}
	draw_text(f, p->left + p->width / 2, below + 2 * FONT + 8, " text-anchor=\"middle\"",
		  h->x.name, VB_CHART_PAPER_WIDTH - p->left);
	snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 %g %.1f)\"",
		 FONT, p->top + p->height / 2);
	draw_text(f, FONT, p->top + p->height / 2, turned, h->y.name, p->height + 2 * FONT);
}

static void draw_scale(FILE *f, const struct plot *p)
{
	double part = p->height / BAR_PARTS, x = p->scale_left, y = p->top + p->height / 2;
	char turned[80], number[32];
	/* One number when all values are one. */
	uint32_t numbers = p->hi > p->lo ? SCALE_TICKS : 1;

	for (uint32_t i = 0; i < BAR_PARTS; i++)
		fprintf(f,
			"<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" "
			"fill=\"#%06x\"/>\n",
			x, p->top + p->height - part * (i + 1), BAR, part + (i ? 0.5 : 0),
			color_at((i + 0.5) / BAR_PARTS));
	for (uint32_t i = 0; i < numbers; i++) {
		double s = numbers > 1 ? (double)i / (numbers - 1) : 0.5;
		double v = p->h->is_log && numbers > 1 ? p->lo * pow(p->hi / p->lo, s)
						       : p->lo + (p->hi - p->lo) * s;
		double at = p->top + p->height * (1 - s);

		number_text(number, sizeof number, v);
		fprintf(f, "<path d=\"M%.1f %.1fh3\" stroke=\"#333\"/>\n", x + BAR, at);
		draw_text(f, x + BAR + 4, at + FONT * 0.36, "", number, VB_CHART_PAPER_WIDTH);
	}
	x = VB_CHART_PAPER_WIDTH - GAP;
	snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 %g %.1f)\"",
		 x, y);
	draw_text(f, x, y, turned, p->h->name, p->height + 2 * FONT);
}

int vb_heat_write(FILE *f, const struct vb_heat *h)
{
	struct plot p;

	assert(h->x.cnt > 0 && h->y.cnt > 0);
	measure_plot(&p, h);
	vb_chart_begin(f, VB_CHART_PAPER, h->title, VB_CHART_PAPER_WIDTH, vb_heat_height(h));
	draw_cells(f, &p);
	draw_names(f, &p);
	if (p.lo <= p.hi)
		draw_scale(f, &p);
	fputs("</svg>\n", f);
	return ferror(f) ? -EIO : 0;
}
