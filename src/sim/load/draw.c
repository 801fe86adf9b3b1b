/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributions in integers. See draw.h. */
#include "sim/load/draw.h"

#include "base/assert.h"
#include <string.h>

#define PPM 1000000u

static const struct vb_size_point websearch[] = {
    {1, 0},
    {10000, 150000},
    {20000, 200000},
    {30000, 300000},
    {50000, 400000},
    {80000, 530000},
    {200000, 600000},
    {1000000, 700000},
    {2000000, 800000},
    {5000000, 900000},
    {10000000, 970000},
    {30000000, PPM},
};

static const struct vb_size_point hadoop[] = {
    {1, 0},           {100, 10000},     {200, 20000},      {300, 50000},      {350, 150000},
    {400, 200000},    {500, 300000},    {600, 400000},     {700, 500000},     {1000, 600000},
    {2000, 670000},   {7000, 700000},   {30000, 720000},   {50000, 820000},   {80000, 870000},
    {120000, 900000}, {300000, 950000}, {1000000, 975000}, {2000000, 990000}, {10000000, PPM},
};

const struct vb_size_dist vb_size_websearch = {"websearch", websearch,
					       sizeof websearch / sizeof websearch[0]};
const struct vb_size_dist vb_size_hadoop = {"hadoop", hadoop, sizeof hadoop / sizeof hadoop[0]};

const struct vb_size_dist *vb_size_dist_find(const char *name)
{
	static const struct vb_size_dist *const all[] = {&vb_size_websearch, &vb_size_hadoop};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	}
	return NULL;
}

uint32_t vb_size_draw(const struct vb_size_dist *d, struct vb_rng *r)
{
	uint32_t u = vb_rng_below(r, PPM), i = 1;

	while (d->point[i].ppm <= u)
		i++;

	const struct vb_size_point *a = &d->point[i - 1], *b = &d->point[i];

	VB_ASSERT_ALL(i < d->cnt && a->ppm <= u && u < b->ppm && a->bytes <= b->bytes);
	return a->bytes +
	       (uint32_t)((uint64_t)(b->bytes - a->bytes) * (u - a->ppm) / (b->ppm - a->ppm));
}

uint64_t vb_size_mean(const struct vb_size_dist *d)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < d->cnt; i++)
		sum += ((uint64_t)d->point[i].bytes + d->point[i - 1].bytes) *
		       (d->point[i].ppm - d->point[i - 1].ppm);
	return sum / (2 * PPM);
}

uint64_t vb_exp_draw(struct vb_rng *r)
{
	uint64_t u = vb_rng_next(r) | 1;
	uint32_t zeros = (uint32_t)__builtin_clzll(u);
	uint64_t x = u << zeros >> 32; /* mantissa in [2^31, 2^32) */
	uint64_t frac = 0;

	/* log2 of the mantissa, bit by bit: squaring doubles it. */
	for (int i = 0; i < 32; i++) {
		x = x * x >> 31;
		frac <<= 1;
		if (x >> 32) {
			frac |= 1;
			x >>= 1;
		}
	}

	uint64_t log2 = ((uint64_t)(zeros + 1) << 32) - frac;

	return (log2 >> 8) * UINT64_C(0xb17217f8) >> 24; /* times ln 2 */
}
