/* SPDX-License-Identifier: BSD-2-Clause */
/* The charts and the page of `verbena sim`: what watch.h saw, for eyes. */
#ifndef VB_CMD_SIM_CHART_H
#define VB_CMD_SIM_CHART_H

#include "cmd/page/page.h"
#include "cmd/sim/watch.h"

struct vb_sim_charts {
	struct vb_page_charts page;
	uint32_t lines_of[VB_WATCH_KIND_CNT]; /* that are shown; the rest is left out */
};

/* Rates, queues, windows, completion times, slow-down. -ENOMEM; in any case to be freed. */
int vb_sim_charts_make(struct vb_sim_charts *c, const struct vb_scenario_run *run,
		       const struct vb_watch *w);
/* The name of the queue of port @id of the struct vb_scenario_run @ctx in charts. */
void vb_sim_name_queue(const void *ctx, uint32_t id, char *name, size_t len);
void vb_sim_charts_free(struct vb_sim_charts *c);

/* The page; @title is any text. 0 or a negative errno. */
int vb_sim_page_write(FILE *f, const char *title, const struct vb_scenario *sc,
		      const struct vb_scenario_run *run, const struct vb_report *r,
		      const struct vb_watch *w, const struct vb_sim_charts *c);

#endif
