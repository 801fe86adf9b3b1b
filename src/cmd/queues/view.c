/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a QP as lists of elements, see queues.h. */
#include "cmd/queues/queues.h"

#include <stdlib.h>

struct vb_queue_view *vb_queues_add(struct vb_queues_view *v, enum vb_queue_kind kind,
				    const char *name)
{
	struct vb_queue_view *q = &v->queue[v->queue_cnt++];

	*q = (struct vb_queue_view){.kind = kind, .name = name};
	return q;
}

struct vb_queue_element *vb_queue_element_add(struct vb_queue_view *q, uint32_t index, bool is_new,
					      uint32_t len)
{
	uint32_t n = q->element_cnt;
	struct vb_queue_element *e;

	/* Twice as many each time that a power of two is full. */
	if ((n & (n - 1)) == 0) {
		e = realloc(q->element, (n ? 2 * (size_t)n : 1) * sizeof *e);
		if (!e)
			return NULL;
		q->element = e;
	}
	e = &q->element[n];
	*e = (struct vb_queue_element){
	    .index = index, .is_new = is_new, .len = len, .bytes = malloc(len)};
	if (!e->bytes)
		return NULL;
	q->element_cnt++;
	return e;
}

void vb_queues_free(struct vb_queues_view *v)
{
	for (uint32_t i = 0; i < v->queue_cnt; i++) {
		for (uint32_t k = 0; k < v->queue[i].element_cnt; k++)
			free(v->queue[i].element[k].bytes);
		free(v->queue[i].element);
	}
	v->queue_cnt = 0;
}
