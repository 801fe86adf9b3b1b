/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of deadlines. See eventq.h. */
#include "sim/eventq.h"

#include <stdbool.h>

size_t vb_eventq_size(uint32_t ids)
{
	return (size_t)ids * (sizeof(struct vb_eventq_entry) + sizeof(uint32_t));
}

void vb_eventq_init(struct vb_eventq *q, void *mem, uint32_t ids)
{
	q->heap = mem;
	q->pos = (uint32_t *)(void *)(q->heap + ids);
	q->cnt = 0;
}

static inline bool before(const struct vb_eventq_entry *a, const struct vb_eventq_entry *b)
{
	return a->at < b->at || (a->at == b->at && a->id < b->id);
}

static void place(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	q->heap[i] = e;
	q->pos[e.id] = i + 1;
}

static void sift_up(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	while (i > 0 && before(&e, &q->heap[(i - 1) / 4])) {
		place(q, i, q->heap[(i - 1) / 4]);
		i = (i - 1) / 4;
	}
	place(q, i, e);
}

static void sift_down(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	for (;;) {
		uint32_t child = i * 4 + 1, best = child;
		uint32_t end = child + 4 < q->cnt ? child + 4 : q->cnt;

		if (child >= q->cnt)
			break;
		for (child++; child < end; child++) {
			if (before(&q->heap[child], &q->heap[best]))
				best = child;
		}
		if (!before(&q->heap[best], &e))
			break;
		place(q, i, q->heap[best]);
		i = best;
	}
	place(q, i, e);
}

static void take_out(struct vb_eventq *q, uint32_t i)
{
	struct vb_eventq_entry last = q->heap[--q->cnt];

	q->pos[q->heap[i].id] = 0;
	if (i == q->cnt)
		return;
	if (i > 0 && before(&last, &q->heap[(i - 1) / 4]))
		sift_up(q, i, last);
	else
		sift_down(q, i, last);
}

void vb_eventq_set(struct vb_eventq *q, uint32_t id, vb_time at)
{
	uint32_t i = q->pos[id];
	struct vb_eventq_entry e = {at, id};

	if (at == VB_NEVER) {
		if (i)
			take_out(q, i - 1);
	} else if (i == 0) {
		sift_up(q, q->cnt++, e);
	} else if (at < q->heap[i - 1].at) {
		sift_up(q, i - 1, e);
	} else if (at > q->heap[i - 1].at) {
		sift_down(q, i - 1, e);
	}
}
