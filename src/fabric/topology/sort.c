/* SPDX-License-Identifier: BSD-2-Clause */
/* Merge sort, from the bottom up. See sort.h. */
#include "fabric/topology/sort.h"

#include <string.h>

void vb_topo_sort(uint32_t *at, uint32_t *spare, uint32_t n,
		  int (*compare)(const void *ctx, uint32_t a, uint32_t b), const void *ctx)
{
	for (uint64_t run = 1; run < n; run *= 2) {
		for (uint64_t from = 0; from < n; from += 2 * run) {
			uint64_t middle = from + run < n ? from + run : n;
			uint64_t end = middle + run < n ? middle + run : n;
			uint64_t left = from, right = middle;

			for (uint64_t i = from; i < end; i++) {
				if (left < middle &&
				    (right == end || compare(ctx, at[left], at[right]) <= 0))
					spare[i] = at[left++];
				else
					spare[i] = at[right++];
			}
		}
		memcpy(at, spare, n * sizeof *at);
	}
}
