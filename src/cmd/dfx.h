/* SPDX-License-Identifier: BSD-2-Clause */
/* What `verbena dfx` read of a QP's recorder, and its charts. CC-50...54 */
#ifndef VB_CMD_DFX_H
#define VB_CMD_DFX_H

#include "core/cc/dfx.h"

#include <stdio.h>

struct vb_dfx_window {
	uint64_t entry[VB_DFX_ENTRIES]; /* as DFX_INFO has them */
	uint32_t cnt;
	uint32_t clk_hz;
	bool has_first;        /* what the QP was at before the window: */
	uint16_t rate, target; /* units */
};

/* "Decrease", "Bytecounter.FastRecovery" ... */
const char *vb_dfx_name(unsigned event);

/* A step chart for the terminal, @columns wide. */
void vb_dfx_draw(FILE *f, const struct vb_dfx_window *w, unsigned columns);

/* The same, and the events by kind, as SVG. 0 or a negative errno. */
int vb_dfx_svg(FILE *f, const struct vb_dfx_window *w, const char *title);

#endif
