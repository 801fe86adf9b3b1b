/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting of indexes: O(n log n) whatever they stand for, and equal ones keep their order. */
#ifndef VB_FABRIC_TOPOLOGY_SORT_H
#define VB_FABRIC_TOPOLOGY_SORT_H

#include <stdint.h>

/* Sorts the @n indexes of @at by what they stand for; @spare has room for as many. @compare returns
 * less than, equal to or more than 0, as memcmp() does. */
void vb_topo_sort(uint32_t *at, uint32_t *spare, uint32_t n,
		  int (*compare)(const void *ctx, uint32_t a, uint32_t b), const void *ctx);

#endif
