/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 24-bit packet sequence number as a type of its own, so that "psn + 1" and "a < b", which are
 * wrong at the wrap, do not compile. Comparison is serial: a lies before b when the signed 24-bit
 * distance a - b is negative. IBA 9.7.1
 */
#ifndef VB_BASE_PSN_H
#define VB_BASE_PSN_H

#include <stdbool.h>
#include <stdint.h>

struct vb_psn {
	uint32_t v; /* 0 ... 2^24 - 1 */
};

#define VB_PSN_MASK 0xffffffu
#define VB_PSN_HALF 0x800000u /* half of the space: the most that may be outstanding */

static inline struct vb_psn vb_psn(uint32_t v)
{
	return (struct vb_psn){v & VB_PSN_MASK};
}

static inline struct vb_psn vb_psn_add(struct vb_psn a, uint32_t n)
{
	return vb_psn(a.v + n);
}

static inline struct vb_psn vb_psn_prev(struct vb_psn a)
{
	return vb_psn(a.v - 1);
}

/* Signed distance a - b in [-2^23, 2^23). */
static inline int32_t vb_psn_diff(struct vb_psn a, struct vb_psn b)
{
	uint32_t d = (a.v - b.v) & VB_PSN_MASK;

	return d < VB_PSN_HALF ? (int32_t)d : (int32_t)d - 0x1000000;
}

/* Distance forward from @from to @to, 0 ... 2^24 - 1. */
static inline uint32_t vb_psn_span(struct vb_psn from, struct vb_psn to)
{
	return (to.v - from.v) & VB_PSN_MASK;
}

static inline bool vb_psn_eq(struct vb_psn a, struct vb_psn b)
{
	return a.v == b.v;
}

static inline bool vb_psn_before(struct vb_psn a, struct vb_psn b)
{
	return vb_psn_diff(a, b) < 0;
}

static inline struct vb_psn vb_psn_later(struct vb_psn a, struct vb_psn b)
{
	return vb_psn_before(a, b) ? b : a;
}

#endif
