/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chart as SVG for print: lines with bands, or points, over linear or logarithmic axes, with
 * units and a legend. The same chart gives the same text. It has one of two forms: that of pages,
 * with a title, and that of a column of a paper, whose letters are 8 points high there.
 */
#ifndef VB_EXPORT_CHART_CHART_H
#define VB_EXPORT_CHART_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VB_CHART_WIDTH 640u
#define VB_CHART_HEIGHT 300u /* without the legend, see vb_chart_height() */

/* Of a paper: 252 points, 3.5 inches, a column of most of them; 96 units are an inch. */
#define VB_CHART_PAPER_WIDTH 336u
#define VB_CHART_PAPER_HEIGHT 196u

enum vb_chart_form {
	VB_CHART_PAGE,
	VB_CHART_PAPER, /* no title is drawn: a paper has captions */
};

enum vb_chart_style {
	VB_CHART_LINE,
	VB_CHART_STEP, /* a value holds until the next; cumulative distributions */
	VB_CHART_POINTS,
	VB_CHART_DOTTED, /* a line through points; a range is a bar, not a band */
};

struct vb_chart_mark {
	double at;
	const char *text;
};

struct vb_chart_axis {
	const char *name, *unit; /* unit "": none */
	bool is_log;             /* values that are not positive are left out */
	/* Marks along the x axis, ascending, as far as there is room; NULL: round numbers. */
	const struct vb_chart_mark *mark;
	uint32_t mark_cnt;
	bool is_si;     /* numbers are written as 10k, 1M */
	double unit_is; /* values in one @unit; 0: 1 */
};

struct vb_chart_line {
	const char *name; /* "": not in the legend */
	const double *x;  /* ascending */
	/* The values drawn, and the range about them; lo NULL: there is none, hi NULL: it ends at
	 * y. Values that are not finite are left out. */
	const double *y, *lo, *hi;
	uint32_t cnt;
};

/* Text is UTF-8 and may be anything. */
struct vb_chart {
	const char *title;
	const char *name; /* of its file, where it has one; may be NULL */
	enum vb_chart_style style;
	struct vb_chart_axis x, y; /* a linear y begins at 0 */
	const struct vb_chart_line *line;
	uint32_t line_cnt;
	enum vb_chart_form form;
};

/* Height of the chart with its legend, in pixels. */
uint32_t vb_chart_height(const struct vb_chart *c);

/* ... of several, one below the other. */
uint32_t vb_chart_heights(const struct vb_chart *charts, uint32_t cnt);

/* Writes the chart with its upper edge at @top, for use between begin and end. */
void vb_chart_draw(FILE *f, const struct vb_chart *c, uint32_t top);

/* The beginning of an SVG file of @width by @height units; its end is "</svg>". */
void vb_chart_begin(FILE *f, enum vb_chart_form form, const char *title, uint32_t width,
		    uint32_t height);

/* An SVG file of charts of one form, one below the other; 0, or -EIO. */
int vb_chart_write(FILE *f, const struct vb_chart *charts, uint32_t cnt);

#endif
