/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random sizes and gaps, in integers: flow sizes from a published distribution, and exponential
 * gaps between arrivals.
 */
#ifndef VB_SIM_LOAD_DRAW_H
#define VB_SIM_LOAD_DRAW_H

#include "base/rng.h"
#include "base/time.h"

#include <stddef.h>

/* A distribution of sizes by points of its cumulative form, straight between them. */
struct vb_size_point {
	uint32_t bytes;
	uint32_t
	    ppm; /* of all flows are at most so long; the first point has 0, the last 1000000 */
};

struct vb_size_dist {
	const char *name;
	const struct vb_size_point *point;
	uint32_t cnt;
};

/* "websearch": Alizadeh et al., DCTCP, SIGCOMM 2010, figure 4. "hadoop": Roy et al., Inside the
 * Social Network's (Datacenter) Network, SIGCOMM 2015, figure 6. Points as in the public traces of
 * HPCC, SIGCOMM 2019. */
extern const struct vb_size_dist vb_size_websearch, vb_size_hadoop;

/* The distribution of that name, or NULL. */
const struct vb_size_dist *vb_size_dist_find(const char *name);

uint32_t vb_size_draw(const struct vb_size_dist *d, struct vb_rng *r);
/* Mean size in bytes. */
uint64_t vb_size_mean(const struct vb_size_dist *d);

/* An exponentially distributed number with mean 1, in units of 2^-32. */
uint64_t vb_exp_draw(struct vb_rng *r);

#endif
