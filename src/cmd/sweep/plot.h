/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts of a sweep: which points are a line, and where each is. */
#ifndef VB_CMD_SWEEP_PLOT_H
#define VB_CMD_SWEEP_PLOT_H

#include "cmd/sweep/sweep.h"
#include "export/chart/chart.h"

#define VB_SWEEP_LINES 12u

/* The values of a point with all its seeds. */
struct vb_sweep_spot {
	uint32_t point; /* the first of its group */
	uint32_t line;
	double x, mean, lo, hi; /* not finite: no result */
};

struct vb_sweep_plot {
	const struct vb_sweep *s;
	uint32_t x, metric, seeds;
	bool is_number; /* else values stand side by side */
	uint32_t spot_cnt, line_cnt, left_out;
	struct vb_sweep_spot *spot;
	uint32_t first[VB_SWEEP_LINES]; /* point of each line */
	double *v;                      /* four columns of spot_cnt: x, mean, lo, hi */
	struct vb_chart_mark *mark;
	struct vb_chart_line line[VB_SWEEP_LINES];
	char name[VB_SWEEP_LINES][200], title[200];
	struct vb_chart chart; /* of all that */
};

/* A number and its unit, as scenarios write them. */
bool vb_sweep_number(const char *text, double *v);
/* The value of @column at a point; "-": as the scenario says. */
const char *vb_sweep_value(const struct vb_sweep *s, uint32_t point, uint32_t column);
bool vb_sweep_varies(const struct vb_sweep *s, uint32_t column);
/* The column of the axis: @x, or the first with several values, and the seed only when there is no
 * other. UINT32_MAX: there is no column @x. */
uint32_t vb_sweep_x(const struct vb_sweep *s, const char *x);

/* The chart of a metric; 0 or -ENOMEM, and to be freed in any case. It stays where it is. */
int vb_sweep_plot_make(struct vb_sweep_plot *p, const struct vb_sweep *s, uint32_t x,
		       uint32_t metric);
void vb_sweep_plot_free(struct vb_sweep_plot *p);

#endif
