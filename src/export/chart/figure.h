/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures for papers: each is a drawing in a file of its own, as SVG and as PDF, which librsvg and
 * cairo make of that SVG. So both show the same.
 */
#ifndef VB_EXPORT_CHART_FIGURE_H
#define VB_EXPORT_CHART_FIGURE_H

#include "export/chart/chart.h"
#include "export/chart/heat.h"
#include "export/painter.h"

/* The folder that figures are written to. */
struct vb_figures {
	const char *dir;
	struct vb_painter *painter; /* NULL: SVG only */
	char failed[4096];          /* the file that could not be written */
};

/* Writes @dir/@name.svg and .pdf, each whole or not at all. 0 or a negative errno, with the path in
 * @s->failed. A chart is drawn in the form of a paper, whatever its own is. */
int vb_figure_chart(struct vb_figures *s, const char *name, const struct vb_chart *c);
int vb_figure_heat(struct vb_figures *s, const char *name, const struct vb_heat *h);

#endif
