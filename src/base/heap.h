/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines in a binary heap. The object that has a deadline holds a node, which knows its place,
 * so that a deadline is moved or taken off without a search. The array belongs to the caller.
 */
#ifndef VB_BASE_HEAP_H
#define VB_BASE_HEAP_H

#include "base/time.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct vb_heap_node {
	vb_time due;
	uint64_t order; /* nodes with equal deadlines come in this order, so that a run can be
			   repeated */
	uint32_t pos;   /* in the array, from 1; 0: in no heap */
};

struct vb_heap {
	struct vb_heap_node **node; /* node[0] is unused: cap + 1 entries */
	uint32_t cnt, cap;
};

/* The earliest deadline, or VB_NEVER. */
static inline vb_time vb_heap_due(const struct vb_heap *h)
{
	return h->cnt ? h->node[1]->due : VB_NEVER;
}

static inline bool vb_heap_before(const struct vb_heap_node *a, const struct vb_heap_node *b)
{
	return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static inline void vb_heap_place(struct vb_heap *h, struct vb_heap_node *n, uint32_t pos)
{
	h->node[pos] = n;
	n->pos = pos;
}

static inline void vb_heap_up(struct vb_heap *h, struct vb_heap_node *n)
{
	uint32_t pos = n->pos;

	for (; pos > 1 && vb_heap_before(n, h->node[pos / 2]); pos /= 2)
		vb_heap_place(h, h->node[pos / 2], pos);
	vb_heap_place(h, n, pos);
}

static inline void vb_heap_down(struct vb_heap *h, struct vb_heap_node *n)
{
	uint32_t pos = n->pos;

	for (uint32_t child = pos * 2; child <= h->cnt; child = pos * 2) {
		if (child < h->cnt && vb_heap_before(h->node[child + 1], h->node[child]))
			child++;
		if (!vb_heap_before(h->node[child], n))
			break;
		vb_heap_place(h, h->node[child], pos);
		pos = child;
	}
	vb_heap_place(h, n, pos);
}

/* Takes @n out; harmless when it is in no heap. */
static inline void vb_heap_remove(struct vb_heap *h, struct vb_heap_node *n)
{
	uint32_t pos = n->pos;
	struct vb_heap_node *last;

	if (pos == 0)
		return;
	assert(pos <= h->cnt && h->node[pos] == n);
	last = h->node[h->cnt--];
	n->pos = 0;
	if (last == n)
		return;
	vb_heap_place(h, last, pos);
	vb_heap_up(h, last);
	vb_heap_down(h, last);
}

/* Gives @n the deadline @due; VB_NEVER takes it out. There must be room for it. */
static inline void vb_heap_set(struct vb_heap *h, struct vb_heap_node *n, vb_time due)
{
	vb_heap_remove(h, n);
	n->due = due;
	if (due == VB_NEVER)
		return;
	assert(h->cnt < h->cap);
	vb_heap_place(h, n, ++h->cnt);
	vb_heap_up(h, n);
}

#endif
