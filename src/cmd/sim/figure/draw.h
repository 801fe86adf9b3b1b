/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drawings that a run of `verbena sim` leaves: the page (--report), its charts in one file
 * (--svg, --png), and a folder of figures for papers (--figures).
 */
#ifndef VB_CMD_SIM_FIGURE_DRAW_H
#define VB_CMD_SIM_FIGURE_DRAW_H

#include "cmd/cmd.h"
#include "cmd/sim/chart.h"
#include "cmd/sim/figure/depths.h"
#include "export/painter.h"

/* Zeros but for the names: none has been looked at. */
struct vb_sim_drawings {
	const struct vb_cmd *cmd;
	const char *scenario;                     /* its path */
	const char *report, *svg, *png, *figures; /* paths; NULL: not that */
	struct vb_painter *painter;
	bool made_figures; /* the folder is new */
};

/* The run that they are about. */
struct vb_sim_drawn {
	const struct vb_scenario *sc;
	const struct vb_scenario_run *run;
	const struct vb_report *r;
	struct vb_watch *watch;
	struct vb_depths *depths; /* NULL: none */
};

bool vb_sim_drawings_any(const struct vb_sim_drawings *d);
/* Finds before the run which of them are not possible. Creates none yet. An exit status, as all. */
int vb_sim_drawings_check(struct vb_sim_drawings *d);
/* Makes the folder. */
int vb_sim_drawings_begin(struct vb_sim_drawings *d);
int vb_sim_drawings_write(struct vb_sim_drawings *d, const struct vb_sim_drawn *of);
/* After any of these. With @status not 0 nothing remains of the folder. */
void vb_sim_drawings_end(struct vb_sim_drawings *d, int status);

/* figures.c: each figure as DIR/NAME.svg and .pdf. 0 or a negative errno, with the file in
 * @failed. */
int vb_sim_figures_write(const struct vb_sim_drawings *d, const struct vb_sim_drawn *of,
			 const struct vb_sim_charts *c, char *failed, size_t len);

#endif
