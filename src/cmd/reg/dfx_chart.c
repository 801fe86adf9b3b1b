/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate of a QP over time, event by event: for a terminal, and as SVG. See dfx.h. */
#include "cmd/reg/dfx.h"

#include "core/cc/settings.h"
#include "export/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROWS 16
#define COLUMNS_MAX 160
#define EVENTS 8
#define POINTS_MAX (VB_DFX_ENTRIES + 1)

const char *vb_dfx_name(unsigned event)
{
	static const char *const names[EVENTS] = {
	    "Decrease",
	    "Bytecounter.FastRecovery",
	    "Bytecounter.HyperIncrease",
	    "Bytecounter.AdditiveIncrease",
	    "Reserved",
	    "Noncnp_timer.FastRecovery",
	    "Noncnp_timer.HyperIncrease",
	    "Noncnp_timer.AdditiveIncrease",
	};

	return names[event & 7];
}

static double units_to_mbps(const struct vb_dfx_window *w, uint16_t units)
{
	return (double)vb_cc_bps((uint32_t)units << 8, w->clk_hz) / 1e6;
}

/* Instants from the first event, and the rate after each; the rate before stands in front. */
struct series {
	double x[POINTS_MAX], y[POINTS_MAX];
	uint32_t cnt;
	double x_max, y_max;
};

static void fill_series(struct series *s, const struct vb_dfx_window *w)
{
	uint64_t from = w->cnt ? vb_dfx_usec_of(w->entry[0]) : 0;

	*s = (struct series){.y_max = 0};
	if (w->has_first) {
		s->y[0] = units_to_mbps(w, w->rate);
		s->cnt = 1;
	}
	for (uint32_t i = 0; i < w->cnt; i++, s->cnt++) {
		s->x[s->cnt] = (double)(vb_dfx_usec_of(w->entry[i]) - from);
		s->y[s->cnt] = units_to_mbps(w, vb_dfx_rate_of(w->entry[i]));
	}
	for (uint32_t i = 0; i < s->cnt; i++) {
		s->x_max = fmax(s->x_max, s->x[i]);
		s->y_max = fmax(s->y_max, s->y[i]);
	}
}

static char mark_of(unsigned event)
{
	if (event == VB_DFX_DECREASE)
		return 'v';
	return (char)(event & VB_DFX_BY_TIME ? 't' : 'b');
}

static unsigned row_of(const struct series *s, double y)
{
	return s->y_max > 0 ? (unsigned)lround((ROWS - 1) * (1 - y / s->y_max)) : ROWS - 1;
}

static unsigned column_of(const struct series *s, double x, unsigned columns)
{
	return s->x_max > 0 ? (unsigned)lround((columns - 1) * x / s->x_max) : 0;
}

void vb_dfx_draw(FILE *f, const struct vb_dfx_window *w, unsigned columns)
{
	static char grid[ROWS][COLUMNS_MAX + 1];
	struct series s;

	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	fill_series(&s, w);
	if (s.cnt == 0 || columns < 2)
		return;
	memset(grid, 0, sizeof grid);
	for (unsigned r = 0; r < ROWS; r++)
		memset(grid[r], ' ', columns);
	/* A value holds until the next. */
	for (uint32_t i = 0; i < s.cnt; i++) {
		unsigned from = column_of(&s, s.x[i], columns);
		unsigned to = i + 1 < s.cnt ? column_of(&s, s.x[i + 1], columns) : columns;

		for (unsigned c = from; c < to; c++)
			grid[row_of(&s, s.y[i])][c] = '-';
	}
	for (uint32_t i = 0; i < w->cnt; i++) {
		uint32_t k = i + (w->has_first ? 1 : 0);

		grid[row_of(&s, s.y[k])][column_of(&s, s.x[k], columns)] =
		    mark_of(vb_dfx_event_of(w->entry[i]));
	}
	for (unsigned r = 0; r < ROWS; r++)
		fprintf(f, "%10.1f |%s\n", s.y_max * (ROWS - 1 - r) / (ROWS - 1), grid[r]);
	fprintf(f, "%10s +", "Mb/s");
	for (unsigned c = 0; c < columns; c++)
		fputc('-', f);
	fprintf(f, "\n%10s  0%*.0f us\n", "", (int)columns - 1, s.x_max);
	fputs("            v Decrease   b increase by bytes   t increase by time\n", f);
}

int vb_dfx_svg(FILE *f, const struct vb_dfx_window *w, const char *title)
{
	static struct series s, kind[EVENTS];
	struct vb_chart_line rate, kinds[EVENTS];
	uint32_t kind_cnt = 0;

	fill_series(&s, w);
	rate = (struct vb_chart_line){.name = "rate", .x = s.x, .y = s.y, .cnt = s.cnt};
	memset(kind, 0, sizeof kind);
	for (uint32_t i = 0; i < w->cnt; i++) {
		struct series *k = &kind[vb_dfx_event_of(w->entry[i])];
		uint32_t at = i + (w->has_first ? 1 : 0);

		k->x[k->cnt] = s.x[at];
		k->y[k->cnt++] = s.y[at];
	}
	for (unsigned e = 0; e < EVENTS; e++)
		if (kind[e].cnt)
			kinds[kind_cnt++] = (struct vb_chart_line){.name = vb_dfx_name(e),
								   .x = kind[e].x,
								   .y = kind[e].y,
								   .cnt = kind[e].cnt};

	const struct vb_chart_axis x = {.name = "time", .unit = "us"},
				   y = {.name = "rate", .unit = "Mb/s"};
	const struct vb_chart charts[] = {
	    {.title = title, .style = VB_CHART_STEP, .x = x, .y = y, .line = &rate, .line_cnt = 1},
	    {.title = "Events",
	     .style = VB_CHART_POINTS,
	     .x = x,
	     .y = y,
	     .line = kinds,
	     .line_cnt = kind_cnt},
	};

	return vb_chart_write(f, charts, 2);
}
