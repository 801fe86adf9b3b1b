/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a chart: where values are (frame), the axes with their numbers (axis.c), the lines
 * (lines.c). chart.c puts them together. Lengths are units of the drawing, 96 to an inch.
 */
#ifndef VB_EXPORT_CHART_FRAME_H
#define VB_EXPORT_CHART_FRAME_H

#include "export/chart/chart.h"

struct vb_chart_frame {
	const struct vb_chart *c;
	double top; /* of the chart in the drawing */
	/* The chart without its legend, and the distances of the plot from its edges. */
	double width, height, left, right, above, below, font;
	double x_lo, x_hi, y_lo, y_hi; /* ends of the axes */
};

/* axis.c */

/* Finds the ends of the axes, and of a paper's form the room that their numbers need. */
void vb_chart_measure(struct vb_chart_frame *r, const struct vb_chart *c);
double vb_chart_x(const struct vb_chart_frame *r, double v);
double vb_chart_y(const struct vb_chart_frame *r, double v);
/* A value that has a place on the axis. */
bool vb_chart_has(const struct vb_chart_axis *a, double v);
void vb_chart_text(FILE *f, double x, double y, const char *more, const char *what);
/* Numbers, lines beside them, and the names of both axes. */
void vb_chart_axes(FILE *f, const struct vb_chart_frame *r);
/* A number as axes write it. */
void vb_chart_number(char *text, size_t len, const struct vb_chart_axis *a, double v);

/* lines.c */

const char *vb_chart_color(uint32_t line);
/* The dashes of a line as an attribute of SVG, by which it is known in print without colors, or "".
 */
const char *vb_chart_dashes(const struct vb_chart *c, uint32_t line);
void vb_chart_lines(FILE *f, const struct vb_chart_frame *r);

#endif
