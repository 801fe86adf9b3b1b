/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window that `verbena dfx` read of a QP's recorder, a live one (dfx.c) or one in the simulator
 * (dfx_sim.c), and how it is shown: as text (dfx_show.c), as charts (dfx_chart.c). CC-50...54
 */
#ifndef VB_CMD_REG_DFX_H
#define VB_CMD_REG_DFX_H

#include "cmd/cmd.h"
#include "core/cc/dfx.h"

#include <stdio.h>

struct vb_dfx_window {
	uint64_t entry[VB_DFX_ENTRIES]; /* as DFX_INFO has them */
	uint32_t cnt;
	uint32_t clk_hz;
	bool has_first;        /* the QP's values before the window are known: */
	uint16_t rate, target; /* units */
	uint16_t alpha, t, bc;
	/* Events since the window was started, of each kind; of all those that it had no room for.
	 */
	uint32_t decreases, byte_increases, timer_increases;
	uint64_t overflow;
	bool is_on; /* it still records */
};

/* The files made of a window besides text. NULL: not asked for. */
struct vb_dfx_files {
	const char *svg, *html;
};

/* "Decrease", "Bytecounter.FastRecovery" ... */
const char *vb_dfx_name(unsigned event);

/* The QP's values; the entries, with a chart or raw; how many there were of each kind. */
void vb_dfx_print_first(FILE *f, const struct vb_dfx_window *w);
void vb_dfx_print_entries(FILE *f, const struct vb_dfx_window *w, bool raw);
void vb_dfx_print_counts(FILE *f, const struct vb_dfx_window *w);

/* Writes the files; @title is any text. 0, or an exit status with the reason on stderr. */
int vb_dfx_write(const struct vb_cmd *cmd, const struct vb_dfx_files *files,
		 const struct vb_dfx_window *w, const char *title);

/* A step chart for the terminal, @columns wide. */
void vb_dfx_draw(FILE *f, const struct vb_dfx_window *w, unsigned columns);

/* The same, and the events by kind, as SVG. 0 or a negative errno. */
int vb_dfx_svg(FILE *f, const struct vb_dfx_window *w, const char *title);

/*
 * Runs the scenario @path and records the sender of its flow @flow, from the first instant that it
 * has a connection and that is not before @from. 0, or an exit status with the reason on stderr.
 */
int vb_dfx_simulate(const struct vb_cmd *cmd, const char *path, uint32_t flow, vb_time from,
		    struct vb_dfx_window *w);

#endif
