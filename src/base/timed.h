/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue of items by the time at which each goes on: packets on a cable, packets that a fault
 * holds back. Items of one time keep the order in which they came. Nearly every item comes behind
 * the last one; an item that comes before it, held back less than others, is put in its place from
 * there. The queue is intrusive and allocates nothing.
 *
 * Each item knows when the item behind it goes on, and the queue knows when the last item does. So
 * neither taking nor adding an item reads another one, which has long left the cache.
 */
#ifndef VB_BASE_TIMED_H
#define VB_BASE_TIMED_H

#include "base/assert.h"
#include "base/cold.h"
#include "base/time.h"

#include <stddef.h>

struct vb_timed;

struct vb_timed_link {
	struct vb_timed *next; /* NULL: there is none */
	vb_time at;            /* when that goes on; VB_NEVER: never */
};

struct vb_timed {
	struct vb_timed_link behind;
	struct vb_timed *prev; /* of the first one it says nothing */
	vb_time at;            /* set before it is put */
};

struct vb_timed_queue {
	struct vb_timed_link first;
	struct vb_timed *last; /* while there is a first */
	vb_time last_at;       /* when the last item goes on, or went on if the queue is empty */
};

static inline void vb_timed_init(struct vb_timed_queue *q)
{
	*q = (struct vb_timed_queue){.first = {NULL, VB_NEVER}};
}

/* Before those that go on later. */
VB_COLD static inline void vb_timed_insert(struct vb_timed_queue *q, struct vb_timed *t)
{
	struct vb_timed *after = q->last;

	while (after && after->at > t->at)
		after = after == q->first.next ? NULL : after->prev;

	struct vb_timed_link *link = after ? &after->behind : &q->first;

	VB_ASSERT_ALL(!after || after->at <= t->at);
	VB_ASSERT_ALL(link->next && link->at >= t->at);
	t->prev = after;
	t->behind = *link;
	t->behind.next->prev = t;
	*link = (struct vb_timed_link){t, t->at};
}

/* Puts @t behind those that go on no later. */
static inline void vb_timed_put(struct vb_timed_queue *q, struct vb_timed *t)
{
	if (q->first.next && q->last_at > t->at) {
		vb_timed_insert(q, t);
		return;
	}

	struct vb_timed_link *end = q->first.next ? &q->last->behind : &q->first;

	t->prev = q->last;
	t->behind = (struct vb_timed_link){NULL, VB_NEVER};
	*end = (struct vb_timed_link){t, t->at};
	q->last = t;
	q->last_at = t->at;
}

/* Puts @t before all others, whatever their time: it was the first, and has to wait once more. */
static inline void vb_timed_put_first(struct vb_timed_queue *q, struct vb_timed *t)
{
	if (!q->first.next) {
		vb_timed_put(q, t);
		return;
	}
	t->behind = q->first;
	t->behind.next->prev = t;
	q->first = (struct vb_timed_link){t, t->at};
}

/* Takes out the first one, if it goes on by @now; NULL: none does. */
static inline struct vb_timed *vb_timed_take(struct vb_timed_queue *q, vb_time now)
{
	struct vb_timed *t = q->first.next;

	if (q->first.at > now || !t)
		return NULL;
	q->first = t->behind;
	return t;
}

/* When the first one goes on; VB_NEVER: there is none. */
static inline vb_time vb_timed_due(const struct vb_timed_queue *q)
{
	return q->first.at;
}

#endif
