/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues by size, to count how often each was seen: exact up to 64 bytes, then in 32 parts of each
 * power of two. */
#ifndef VB_RESULTS_SERIES_QUEUE_CLASS_H
#define VB_RESULTS_SERIES_QUEUE_CLASS_H

#include <stdint.h>

#define VB_QUEUE_CLASSES (64u + 32u * 26u)

static inline uint32_t vb_queue_class(uint32_t bytes)
{
	uint32_t shift = 0;

	for (; bytes >> shift >= 64; shift++)
		;
	return shift * 32 + (bytes >> shift);
}

/* The most that is in the class. */
static inline uint64_t vb_queue_class_top(uint32_t class)
{
	uint32_t shift = class < 64 ? 0 : (class - 32) / 32;

	return (((uint64_t) class - shift * 32 + 1) << shift) - 1;
}

#endif
