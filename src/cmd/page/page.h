/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of traffic, simulated (cmd/sim) or live (`verbena capture --report`, `verbena explain
 * --html`): sums, charts over time, QPs that timed out, packets one by one. The caller fills a
 * struct vb_page; this writes it as JSON into the page of export/page.h.
 */
#ifndef VB_CMD_PAGE_PAGE_H
#define VB_CMD_PAGE_PAGE_H

#include "explain/explain.h"
#include "export/chart/chart.h"
#include "export/series.h"
#include "export/step.h"

#include <stdio.h>

#define VB_PAGE_CHARTS 8u
#define VB_PAGE_LINES 8u /* of a chart at most */
#define VB_PAGE_ITEMS 48u

struct vb_page_charts {
	struct vb_chart chart[VB_PAGE_CHARTS];
	uint32_t chart_cnt;
	struct vb_chart_line line[VB_PAGE_CHARTS][VB_PAGE_LINES];
	char name[VB_PAGE_CHARTS][VB_PAGE_LINES][64];
	double *mem[VB_PAGE_CHARTS][VB_PAGE_LINES]; /* values of a line */
	double slot_us; /* between values of a chart that is not VB_CHART_STEP; 0: no such chart */
	double from_us; /* ... and when their first one is */
};

/* The kind of the series in a chart over time. */
struct vb_page_kind {
	struct vb_chart chart; /* title, axes */
	uint32_t kind;
	double unit;
	void (*name)(const void *ctx, uint32_t id, char *name, size_t len);
};

/* Adds a chart as in *@like, without lines; it is at c->chart[c->chart_cnt - 1]. Charts that get no
 * line are to be taken away again (c->chart_cnt--). */
void vb_page_chart_new(struct vb_page_charts *c, const struct vb_chart *like);
/* Space of the next line of the last chart, @cnt values of x, y and lo each; NULL: no memory. Its
 * name is empty, and to be set in c->name. */
double *vb_page_line_new(struct vb_page_charts *c, uint32_t cnt);
/* Adds the chart of @k, unless it has no line; of more than VB_PAGE_LINES series the first. How
 * many of them it shows, or -ENOMEM. */
int vb_page_over_time(struct vb_page_charts *c, const struct vb_series_set *s,
		      const struct vb_page_kind *k, const void *ctx);
void vb_page_charts_free(struct vb_page_charts *c);

struct vb_page_item {
	char name[40], text[320];
};

/* A QP that timed out or failed: why in words, and what happened. */
struct vb_page_story {
	uint32_t host, qpn;
	uint64_t timeouts;
	struct vb_explanation why;
	struct vb_row row[VB_ROWS_MAX];
	uint32_t row_cnt;
};

struct vb_page {
	const char *title, *left_out; /* any text */
	char subtitle[200];
	const char *ladder; /* title of the packet sequence; NULL: "Packets, one by one" */
	struct vb_page_item item[VB_PAGE_ITEMS];
	uint32_t item_cnt;
	const struct vb_page_charts *charts;
	const struct vb_step *step;
	uint32_t step_cnt;
	/* The hosts that connections name; NULL: they are called "host 0" and so on. */
	const char *(*host_name)(const struct vb_page *p, uint32_t host);
	uint32_t host_cnt;
	void (*ends)(const struct vb_page *p, uint32_t connection, struct vb_step_ends *out);
	void (*story)(const struct vb_page *p, uint32_t i, struct vb_page_story *out);
	uint32_t story_cnt;
	bool stories_full;
	void *ctx; /* of whoever filled it */
};

/* Adds a line to the sums at the top. */
__attribute__((format(printf, 3, 4))) void vb_page_item(struct vb_page *p, const char *name,
							const char *fmt, ...);

/* Appends to a text of @size bytes, as far as there is room. */
__attribute__((format(printf, 3, 4))) void vb_page_text(char *text, size_t size, const char *fmt,
							...);

/* 0, or -EIO. */
int vb_page_write(FILE *f, const struct vb_page *p);

#endif
