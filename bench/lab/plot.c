/* SPDX-License-Identifier: BSD-2-Clause */
/* See plot.h. */
#include "plot.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void plot_chart(struct plot *p, const char *title, enum vb_chart_style style,
		struct vb_chart_axis x, struct vb_chart_axis y)
{
	assert(p->cnt < PLOT_CHARTS);
	p->chart[p->cnt] = (struct vb_chart){
	    .title = title, .style = style, .x = x, .y = y, .line = p->line[p->cnt]};
	p->cnt++;
}

void plot_line(struct plot *p, const char *name, const double *x, const double *y, uint32_t cnt)
{
	uint32_t c = p->cnt - 1, i = p->chart[c].line_cnt++;

	assert(i < PLOT_LINES && cnt <= PLOT_POINTS);
	snprintf(p->name[c][i], sizeof p->name[c][i], "%s", name);
	memcpy(p->x[c][i], x, cnt * sizeof *x);
	memcpy(p->y[c][i], y, cnt * sizeof *y);
	p->line[c][i] = (struct vb_chart_line){
	    .name = p->name[c][i], .x = p->x[c][i], .y = p->y[c][i], .cnt = cnt};
}

void plot_published(struct plot *p, const char *name, double x0, double y0, double x1, double y1)
{
	plot_line(p, name, (const double[]){x0, x1}, (const double[]){y0, y1}, 2);
}

int plot_write(struct plot *p, const char *folder, const char *name)
{
	char path[512];
	int bad;
	FILE *f;

	snprintf(path, sizeof path, "%s/dcqcn-%s.svg", folder, name);
	f = fopen(path, "w");
	bad = f ? vb_chart_write(f, p->chart, p->cnt) : -errno;
	if (f && fclose(f) && !bad)
		bad = -errno;
	if (bad)
		fprintf(stderr, "lab: %s: %s\n", path, strerror(-bad));
	p->cnt = 0;
	memset(p->chart, 0, sizeof p->chart);
	return bad ? -1 : 0;
}
