/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heat map as SVG, in the form of a column of a paper: a cell for each two values of two
 * parameters, a scale of colors (viridis, whose lightness rises with the value, so that it is
 * right in print without colors as well), and the values in the cells where they have room.
 */
#ifndef VB_EXPORT_CHART_HEAT_H
#define VB_EXPORT_CHART_HEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct vb_heat_axis {
	const char *name;
	const char *const *text; /* of each column from the left on, or row from below on */
	uint32_t cnt;
};

struct vb_heat {
	const char *title;        /* of the file; not drawn */
	const char *name;         /* of the values, with their unit */
	struct vb_heat_axis x, y; /* neither is empty */
	const double *v;          /* of row 0, then of row 1 ...; not finite: there is none */
	bool is_log;              /* colors go by the logarithm; values are above 0 */
};

/* In units of the drawing; the width is VB_CHART_PAPER_WIDTH. */
uint32_t vb_heat_height(const struct vb_heat *h);
/* 0, or -EIO. */
int vb_heat_write(FILE *f, const struct vb_heat *h);

#endif
