/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RED marking of one queue: nothing is marked below kmin bytes, everything above kmax, and between
 * them the chance grows in a straight line up to pmax. facts D-03
 */
#ifndef VB_BASE_RED_H
#define VB_BASE_RED_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_red {
	uint32_t kmin, kmax; /* bytes; kmin <= kmax; both 0: no marking */
	uint32_t pmax_ppm;   /* chance at kmax */
};

/* Chance of a mark at a queue of @depth bytes, in parts per 2^32. */
static inline uint64_t vb_red_chance(const struct vb_red *red, uint32_t depth)
{
	if (red->kmax == 0 || depth <= red->kmin)
		return 0;
	if (depth > red->kmax)
		return UINT64_C(1) << 32;
	return ((uint64_t)red->pmax_ppm << 32) / 1000000 * (depth - red->kmin) /
	       (red->kmax - red->kmin);
}

static inline bool vb_red_marks(const struct vb_red *red, uint32_t depth, struct vb_rng *rng)
{
	uint64_t chance = vb_red_chance(red, depth);

	return chance && vb_rng_next(rng) >> 32 < chance;
}

#endif
