/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens next: every machine of a simulation has at most one deadline, and the queue holds
 * them in the order (time, machine id), which is total. Within a machine and an instant the machine
 * itself keeps the order. A 4-ary heap over ids: the entries of a level share a cache line.
 */
#ifndef VB_SIM_EVENTQ_H
#define VB_SIM_EVENTQ_H

#include "base/time.h"

#include <stddef.h>
#include <stdint.h>

struct vb_eventq_entry {
	vb_time at;
	uint32_t id;
};

struct vb_eventq {
	struct vb_eventq_entry *heap;
	uint32_t *pos; /* by id: place in the heap + 1, 0: no deadline */
	uint32_t cnt;
};

/* Bytes that a queue of @ids machines needs; the caller gives them zeroed to vb_eventq_init(). */
size_t vb_eventq_size(uint32_t ids);
void vb_eventq_init(struct vb_eventq *q, void *mem, uint32_t ids);

/* Sets the deadline of @id; VB_NEVER takes it away. */
void vb_eventq_set(struct vb_eventq *q, uint32_t id, vb_time at);

/* The earliest deadline; VB_NEVER: there is none. */
static inline vb_time vb_eventq_next(const struct vb_eventq *q)
{
	return q->cnt ? q->heap[0].at : VB_NEVER;
}

/* Whose it is; there must be one. */
static inline uint32_t vb_eventq_first(const struct vb_eventq *q)
{
	return q->heap[0].id;
}

#endif
