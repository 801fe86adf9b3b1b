/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An explanation on a terminal: sentences, a line with a drawing for each thing that happened, and
 * what can be done. The same for live QPs and simulated ones.
 */
#ifndef VB_CMD_EXPLAIN_DRAW_H
#define VB_CMD_EXPLAIN_DRAW_H

#include "explain/explain.h"

#include <stdio.h>

/* @cnt rows, of which the first is of the time that @from says; @from counts only with rows. */
void vb_explain_draw(FILE *f, const struct vb_explanation *why, const struct vb_row *row,
		     uint32_t cnt, const char *from);

#endif
