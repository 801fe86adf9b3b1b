/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Distributions of flow sizes from files: a line for each point of the cumulative distribution,
 * with a size in bytes and the flows that are at most so long, in percent (to 100) or as a share
 * (to 1). Public traffic generators for HPCC, SIGCOMM 2019, have such files.
 */
#ifndef VB_SCENARIO_INPUT_SIZES_H
#define VB_SCENARIO_INPUT_SIZES_H

#include "scenario/input/tokens.h"
#include "sim/load/draw.h"

#define VB_SIZES_POINTS_MAX 65536u
#define VB_SIZES_TEXT_MAX ((size_t)4 << 20)

/* Makes the distribution of a text; vb_sizes_free() frees it. 0, -ENOMEM, or -EINVAL with a
 * complaint. */
int vb_sizes_parse(struct vb_size_dist **out, const char *text, size_t len,
		   const struct vb_complaint *c);
void vb_sizes_free(struct vb_size_dist *d);

#endif
