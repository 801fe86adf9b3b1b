/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chart as SVG for print: lines with bands, or points, over linear or logarithmic axes, with
 * units and a legend. The same chart gives the same text.
 */
#ifndef VB_EXPORT_CHART_H
#define VB_EXPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VB_CHART_WIDTH 640u
#define VB_CHART_HEIGHT 300u /* without the legend, see vb_chart_height() */

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
	enum vb_chart_style style;
	struct vb_chart_axis x, y; /* a linear y begins at 0 */
	const struct vb_chart_line *line;
	uint32_t line_cnt;
};

/* Height of the chart with its legend, in pixels. */
uint32_t vb_chart_height(const struct vb_chart *c);

/* ... of several, one below the other. */
uint32_t vb_chart_heights(const struct vb_chart *charts, uint32_t cnt);

/* Writes the chart with its upper edge at @top, for use between begin and end. */
void vb_chart_draw(FILE *f, const struct vb_chart *c, uint32_t top);

/* An SVG file of charts one below the other; 0, or -EIO. */
int vb_chart_write(FILE *f, const struct vb_chart *charts, uint32_t cnt);

#endif
