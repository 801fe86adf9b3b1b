/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens next: every machine of a simulation has at most one deadline, and they come in the
 * order (time, machine id), which is total. Within a machine and an instant the machine itself
 * keeps the order.
 *
 * Most deadlines of a network are near: a packet's time on a cable. Those stand in a wheel with a
 * slot per nanosecond; what is further off (timers) stands in a heap. When an instant comes, all
 * its machines go into a set from which the lowest id is taken, so that order costs no sorting: a
 * deadline costs the same among ten machines and among ten thousand.
 */
#ifndef VB_SIM_EVENTQ_H
#define VB_SIM_EVENTQ_H

#include "base/time.h"

#include <stddef.h>
#include <stdint.h>

#define VB_EVENTQ_SLOTS 4096u

struct vb_eventq_entry {
	vb_time at;
	uint32_t id;
};

/* Where the deadline of a machine stands. */
struct vb_eventq_place {
	vb_time at;
	uint32_t next, prev; /* in its slot; as place + 1 in the heap: next */
	uint32_t where;      /* enum of eventq.c */
};

struct vb_eventq {
	vb_time now;    /* the instant that is being worked off */
	uint32_t ready; /* machines in the set */
	uint32_t ids;
	uint64_t slot_bits[VB_EVENTQ_SLOTS / 64], slot_words;
	uint32_t slot[VB_EVENTQ_SLOTS]; /* first machine + 1 */
	struct vb_eventq_place *place;  /* by id */
	struct vb_eventq_entry *heap;
	uint32_t heap_cnt;
	/* The set: bit i of level 0 is machine i, bit i of level n + 1 says that word i of level n
	 * is not 0. */
	uint64_t *set[4];
};

/* Bytes that a queue of @ids machines (at most 2^24) needs; the caller gives them zeroed. */
size_t vb_eventq_size(uint32_t ids);
void vb_eventq_init(struct vb_eventq *q, void *mem, uint32_t ids);

/* Sets the deadline of @id, not before the last vb_eventq_take(); VB_NEVER takes it away. */
void vb_eventq_set(struct vb_eventq *q, uint32_t id, vb_time at);

/* The earliest deadline; VB_NEVER: there is none. */
vb_time vb_eventq_next(const struct vb_eventq *q);

/* Takes the machine whose turn it is; there must be one. q->now is its deadline. */
uint32_t vb_eventq_take(struct vb_eventq *q);

/* Up to two machines whose turn may be next at this instant, as far as that is seen at a glance. */
static inline uint32_t vb_eventq_peek(const struct vb_eventq *q, uint32_t next[2])
{
	if (q->ready == 0)
		return 0;

	uint32_t id = 0;

	for (int i = 3; i > 0; i--)
		id = id << 6 | (uint32_t)__builtin_ctzll(q->set[i][id]);

	uint64_t bits = q->set[0][id];

	next[0] = id << 6 | (uint32_t)__builtin_ctzll(bits);
	bits &= bits - 1;
	if (!bits)
		return 1;
	next[1] = id << 6 | (uint32_t)__builtin_ctzll(bits);
	return 2;
}

#endif
