/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random streams. A stream is named by (seed, domain, id) and independent of all others, so a draw
 * added in one place does not move any other, and every run is repeated by its seed. SplitMix64:
 * good enough for choices of behaviour, never for secrets.
 */
#ifndef VB_BASE_RNG_H
#define VB_BASE_RNG_H

#include <stdint.h>

struct vb_rng {
	uint64_t s;
};

static inline uint64_t vb_rng_next(struct vb_rng *r)
{
	uint64_t z = r->s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The stream number @id of the domain called @domain. */
static inline struct vb_rng vb_rng_stream(uint64_t seed, const char *domain, uint64_t id)
{
	struct vb_rng r = {seed};

	r.s = vb_rng_next(&r) ^ id;
	for (; *domain != '\0'; domain++)
		r.s = vb_rng_next(&r) ^ (uint8_t)*domain;
	r.s = vb_rng_next(&r);
	return r;
}

/* A number in [0, bound), all equally likely to within 2^-32; bound > 0. */
static inline uint32_t vb_rng_below(struct vb_rng *r, uint32_t bound)
{
	return (uint32_t)((vb_rng_next(r) >> 32) * bound >> 32);
}

#endif
