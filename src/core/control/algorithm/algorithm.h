/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The algorithms of congestion control that Verbena has, behind the interface of verbena/cc.h, and
 * the arithmetic that they share. Each is the one of its paper in integers;
 * docs/congestion-control.md says where the paper leaves something open, and
 * tests/unit/test_control_models.c holds each against a model of its own.
 */
#ifndef VB_CORE_CONTROL_ALGORITHM_ALGORITHM_H
#define VB_CORE_CONTROL_ALGORITHM_ALGORITHM_H

#include "verbena/cc.h"

extern const struct verbena_cc_algorithm vb_cc_fixed;
extern const struct verbena_cc_algorithm vb_cc_dcqcn;
extern const struct verbena_cc_algorithm vb_cc_dctcp;
extern const struct verbena_cc_algorithm vb_cc_timely;
extern const struct verbena_cc_algorithm vb_cc_swift;
extern const struct verbena_cc_algorithm vb_cc_hpcc;

/* All of them, ended by a NULL; and the one called @name, of @len characters, or NULL. */
extern const struct verbena_cc_algorithm *const vb_cc_algorithms[];
const struct verbena_cc_algorithm *vb_cc_algorithm_find(const char *name, uint64_t len);

/* The unit of shares. */
#define VB_CC_ONE UINT64_C(1000000)
#define VB_CC_RATE_TOP UINT64_C(2000000000000)

/* A row of a table of parameters. */
#define VB_CC_PARAMETER(name_, unit_, min_, max_, value_, text_)                                   \
	{                                                                                          \
		.name = (name_), .text = (text_), .unit = VERBENA_CC_##unit_, .min = (min_),       \
		.max = (max_), .value = (value_)                                                   \
	}

static inline uint64_t vb_cc_clamp(uint64_t min, uint64_t v, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/* @a * @b / @c, rounded down; the result fits. */
static inline uint64_t vb_cc_scale(uint64_t a, uint64_t b, uint64_t c)
{
	__extension__ typedef unsigned __int128 wide;

	return (uint64_t)((wide)a * b / c);
}

/* The bytes that leave at @rate within @ns. */
static inline uint64_t vb_cc_bytes_in(uint64_t rate, uint64_t ns)
{
	return vb_cc_scale(rate, ns, UINT64_C(8000000000));
}

/* The rate at which @bytes leave within @ns, which is not 0. */
static inline uint64_t vb_cc_rate_of(uint64_t bytes, uint64_t ns)
{
	return vb_cc_scale(bytes, UINT64_C(8000000000), ns);
}

#endif
