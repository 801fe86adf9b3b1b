/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts of series over time, see page.h. */
#include "cmd/page/page.h"

#include <errno.h>
#include <stdlib.h>

void vb_page_chart_new(struct vb_page_charts *c, const struct vb_chart *like)
{
	c->chart[c->chart_cnt] = *like;
	c->chart[c->chart_cnt].line = c->line[c->chart_cnt];
	c->chart[c->chart_cnt].line_cnt = 0;
	c->chart_cnt++;
}

double *vb_page_line_new(struct vb_page_charts *c, uint32_t cnt)
{
	uint32_t k = c->chart_cnt - 1, i = c->chart[k].line_cnt;
	double *v = calloc((size_t)3 * cnt + 1, sizeof *v);

	c->mem[k][i] = v;
	if (v) {
		c->line[k][i] = (struct vb_chart_line){.name = c->name[k][i],
						       .x = v,
						       .y = v + cnt,
						       .lo = v + 2 * (size_t)cnt,
						       .cnt = cnt};
		c->chart[k].line_cnt++;
	}
	return v;
}

int vb_page_over_time(struct vb_page_charts *c, const struct vb_series_set *s,
		      const struct vb_page_kind *k, const void *ctx)
{
	uint32_t cnt = vb_series_slot_cnt(s), lines = s->cnt[k->kind];

	lines = lines < VB_PAGE_LINES ? lines : VB_PAGE_LINES;
	/* Lines that only lie on the axis hide the rest. */
	while (lines > 1 && s->series[k->kind][lines - 1]->top * 50 < s->series[k->kind][0]->top)
		lines--;
	c->slot_us = (double)s->slot_ns / 1e3;
	if (lines == 0)
		return 0;
	vb_page_chart_new(c, &k->chart);
	for (uint32_t i = 0; i < lines; i++) {
		const struct vb_series *of = s->series[k->kind][i];
		double *v = vb_page_line_new(c, cnt);

		if (!v)
			return -ENOMEM;
		k->name(ctx, of->id, c->name[c->chart_cnt - 1][i],
			sizeof c->name[c->chart_cnt - 1][i]);
		for (uint32_t j = 0; j < cnt; j++) {
			v[j] = j * c->slot_us;
			vb_series_value(s, k->kind, of, j, &v[2 * cnt + j], &v[cnt + j]);
			v[2 * cnt + j] /= k->unit;
			v[cnt + j] /= k->unit;
		}
	}
	return (int)lines;
}

void vb_page_charts_free(struct vb_page_charts *c)
{
	for (uint32_t k = 0; k < VB_PAGE_CHARTS; k++)
		for (uint32_t i = 0; i < VB_PAGE_LINES; i++)
			free(c->mem[k][i]);
}
