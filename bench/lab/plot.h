/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of several charts (export/chart/chart.h), with room for what their lines show. */
#ifndef VB_BENCH_PLOT_H
#define VB_BENCH_PLOT_H

#include "export/chart/chart.h"

#define PLOT_CHARTS 6u
#define PLOT_LINES 8u
#define PLOT_POINTS 2000u

struct plot {
	uint32_t cnt;
	struct vb_chart chart[PLOT_CHARTS];
	struct vb_chart_line line[PLOT_CHARTS][PLOT_LINES];
	char name[PLOT_CHARTS][PLOT_LINES][64];
	double x[PLOT_CHARTS][PLOT_LINES][PLOT_POINTS], y[PLOT_CHARTS][PLOT_LINES][PLOT_POINTS];
};

/* One more chart; what is added next goes into it. */
void plot_chart(struct plot *p, const char *title, enum vb_chart_style style,
		struct vb_chart_axis x, struct vb_chart_axis y);
/* One more line of the last chart. */
void plot_line(struct plot *p, const char *name, const double *x, const double *y, uint32_t cnt);
/* ... of two points: what was published. */
void plot_published(struct plot *p, const char *name, double x0, double y0, double x1, double y1);
/* Writes FOLDER/NAME.svg and empties @p. 0, or -1 with a message. */
int plot_write(struct plot *p, const char *folder, const char *name);

#endif
