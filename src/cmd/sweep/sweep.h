/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `verbena sweep`: the command (sweep.c), which points there are (plan.c), the folder
 * (store.c), one point (point.c) and its result (result.c), the workers (work.c), table (table.c),
 * plot (plot.c) and figures (figures.c).
 *
 * A sweep is a folder: scenario.yaml and plan.txt say what is swept, points/N.json is the result of
 * point N, and appears whole or not at all. A worker needs nothing else: workers are
 * processes of one machine or the ranks of an MPI job that share the folder, and what is there
 * after an interruption is kept.
 */
#ifndef VB_CMD_SWEEP_SWEEP_H
#define VB_CMD_SWEEP_SWEEP_H

#include "cmd/cmd.h"
#include "scenario/override.h"

#include <stdio.h>

#define VB_SWEEP_COLUMNS_MAX 16
#define VB_SWEEP_POINTS_MAX 1000000u

struct vb_sweep_point {
	const char *value[VB_SWEEP_COLUMNS_MAX]; /* NULL: as the scenario says */
};

struct vb_sweep_text {
	struct vb_sweep_text *next;
	char text[];
};

struct vb_sweep {
	const struct vb_cmd *cmd;
	const char *path, *dir; /* of the scenario, of the results */
	char *text;             /* of the scenario */
	size_t text_len;
	uint32_t column_cnt, point_cnt, point_cap;
	const char *column[VB_SWEEP_COLUMNS_MAX]; /* paths; the last is seed when there are seeds */
	struct vb_sweep_point *point;
	uint32_t rank, ranks, jobs;
	const char *run_id; /* of the MPI job */
	bool quiet;
	struct vb_sweep_text *texts; /* of columns and points */
};

/* plan.c; each returns an exit status, 0: all is well. */

/* "PATH=V1,V2,...": every point with each of the values. */
int vb_sweep_grid(struct vb_sweep *s, const char *text);
/* One point a line, "PATH=VALUE PATH=VALUE ..."; each with every point there is. */
int vb_sweep_list(struct vb_sweep *s, const char *file);
/* Every point with @n seeds from @first. */
int vb_sweep_seeds(struct vb_sweep *s, uint64_t first, uint32_t n);
/* Fills @with with what point @i puts into the scenario; returns how many. */
uint32_t vb_sweep_overrides(const struct vb_sweep *s, uint32_t i,
			    struct vb_scenario_override with[VB_SWEEP_COLUMNS_MAX]);
/* Makes the folder, or finds out whether the one that is there holds this sweep. */
int vb_sweep_open(struct vb_sweep *s);
void vb_sweep_free(struct vb_sweep *s);

/* result.c */

/* Numbers of a result; vb_sweep_metric[] ends with a NULL name. */
struct vb_sweep_metric {
	const char *name, *text; /* @text: as in tables and plots, with its unit */
	size_t offset;           /* in struct vb_report */
	bool is_u32;
	double unit; /* divisor of the value for @text */
};
extern const struct vb_sweep_metric vb_sweep_metric[];
#define VB_SWEEP_METRICS_MAX 40

struct vb_sweep_result {
	uint64_t v[VB_SWEEP_METRICS_MAX]; /* as vb_sweep_metric[] */
	char digest[20];
};

/* The index of a metric that there is. */
uint32_t vb_sweep_metric_of(const char *name);

/* Slow-down of flows by size, of the bins of vb_report_bin(); in thousandths. */
struct vb_sweep_bins {
	uint64_t flows[VB_REPORT_BINS]; /* 0: the rest says nothing */
	uint64_t p50[VB_REPORT_BINS], p95[VB_REPORT_BINS], p99[VB_REPORT_BINS];
};
/* False: there is no result, or it is of a version that had none. */
bool vb_sweep_load_bins(const struct vb_sweep *s, uint32_t i, struct vb_sweep_bins *b);

/* Writes the result of point @i as its file. 0 or a negative errno. */
int vb_sweep_save(const struct vb_sweep *s, uint32_t i, const struct vb_report *r);
/* False: there is no result, or it cannot be read. */
bool vb_sweep_load(const struct vb_sweep *s, uint32_t i, struct vb_sweep_result *r);

/* store.c */

bool vb_sweep_has(const struct vb_sweep *s, uint32_t i);
/* Writes a file of the folder so that it appears whole: @write fills it. 0 or a negative errno. */
int vb_sweep_store(const struct vb_sweep *s, const char *name,
		   int (*write)(FILE *f, const struct vb_sweep *s, const void *what),
		   const void *what);
void vb_sweep_name(const struct vb_sweep *s, uint32_t i, const char *suffix, char *path,
		   size_t len);

/* point.c */

int vb_sweep_read(const struct vb_sweep *s, uint32_t i, struct vb_scenario *sc, char *err,
		  size_t err_len);
/* Runs point @i and stores its result. 0, or 1 with the reason in @err. */
int vb_sweep_run(const struct vb_sweep *s, uint32_t i, char *err, size_t err_len);

/* work.c: runs what is missing, in as many processes as there are jobs. Returns the exit
 * status; does not return when a signal ends it. */
int vb_sweep_work(struct vb_sweep *s);

/* table.c: sweep.csv and sweep.json in the folder, and a table on the terminal. */
int vb_sweep_table(const struct vb_sweep *s);
/* False: the metric is a time of flows that are done, and none is. Such a time is not 0. */
bool vb_sweep_is_known(const struct vb_sweep_result *r, uint32_t metric);
/* True when @column is the seed, over which tables and plots take means. */
bool vb_sweep_is_seed(const struct vb_sweep *s, uint32_t column);

/* Points in a row that differ in the seed alone. */
uint32_t vb_sweep_seeds_of(const struct vb_sweep *s);

/* figures.c: each figure as DIR/NAME.svg and DIR/NAME.pdf. Exit statuses. */
struct vb_sweep_figures {
	const char *dir; /* NULL: none are wanted */
	struct vb_painter *painter;
};
/* Before the points run: what cannot be. Makes the folder. */
int vb_sweep_figures_begin(const struct vb_sweep *s, struct vb_sweep_figures *g);
int vb_sweep_figures_write(const struct vb_sweep *s, const struct vb_sweep_figures *g,
			   const char *x, const char *y);

/* plot.c: sweep.svg, metric @y over column @x. @x NULL: the first with several values. */
int vb_sweep_check_plot(const struct vb_sweep *s, const char *x, const char *y);
int vb_sweep_plot(const struct vb_sweep *s, const char *x, const char *y);

#endif
