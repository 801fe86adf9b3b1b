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
	 * is not 0. The highest level is one word. */
	uint64_t *set[4];
	uint32_t levels;
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

/* Machines that vb_eventq_peek() sees ahead. */
#define VB_EVENTQ_AHEAD 4u

/* The machines whose turn is next at this instant, in order: how many, at most VB_EVENTQ_AHEAD.
 * More may follow than it sees: it looks at two words of the set. */
static inline uint32_t vb_eventq_peek(const struct vb_eventq *q, uint32_t next[VB_EVENTQ_AHEAD])
{
	if (q->ready == 0)
		return 0;

	uint32_t id = 0, cnt = 0;

	for (uint32_t i = q->levels; i-- > 1;)
		id = id << 6 | (uint32_t)__builtin_ctzll(q->set[i][id]);

	uint64_t bits = q->set[0][id];
	uint64_t words = q->levels > 1 ? q->set[1][id >> 6] >> (id & 63) & ~UINT64_C(1) : 0;

	for (;;) {
		do {
			next[cnt++] = id << 6 | (uint32_t)__builtin_ctzll(bits);
			bits &= bits - 1;
		} while (bits && cnt < VB_EVENTQ_AHEAD);
		if (cnt == VB_EVENTQ_AHEAD || !words)
			return cnt;
		id += (uint32_t)__builtin_ctzll(words);
		bits = q->set[0][id];
		words = 0;
	}
}

#endif
