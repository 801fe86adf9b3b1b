/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue of deadlines: every machine of a simulation has at most one, and they come in the
 * order (time, machine id), which is total. Within a machine and an instant the machine itself
 * keeps the order.
 *
 * Most deadlines of a network are near: a packet's time on a cable. Those stand in a wheel with a
 * slot per nanosecond; deadlines further off (timers) stand in a heap. When an instant comes, its
 * machines line up by id, and behind them stand those of the next instants, so that they can be
 * seen ahead. A deadline that is set for the very instant goes into a set from which the lowest id
 * is taken.
 */
#ifndef VB_SIM_EVENTQ_H
#define VB_SIM_EVENTQ_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_EVENTQ_SLOTS 4096u
/* Machines that are seen ahead, where the next instants have so many, and the most instants that
 * they are of. */
#define VB_EVENTQ_AHEAD 24u
#define VB_EVENTQ_SEEN 32u

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
	uint32_t ready; /* machines whose turn is at this instant: in line or in the set */
	/* The line, by id, is turn[turn_at ... turn_end - 1]; some may have stepped out of it.
	 * Behind it, to seen_end, stand the lines of the next instants: seen_cnt of them from
	 * seen_first on, in turns, each with its end. */
	uint32_t *turn;
	uint32_t turn_at, turn_end, seen_end;
	uint32_t seen_first, seen_cnt;
	struct {
		vb_time at;
		uint32_t end;
	} seen[VB_EVENTQ_SEEN];
	vb_time seen_to; /* the last of these instants; 0: there is none */
	uint32_t ids;
	vb_time wheel_at; /* the first instant in the wheel; VB_NEVER: it is empty */
	uint64_t slot_bits[VB_EVENTQ_SLOTS / 64], slot_words;
	uint32_t slot[VB_EVENTQ_SLOTS]; /* first machine + 1 */
	struct vb_eventq_place *place;  /* by id */
	struct vb_eventq_entry *heap;
	uint32_t heap_cnt;
	/* The set: bit i of level 0 is machine i, bit i of level n + 1 says that word i of level n
	 * is not 0. The highest level is one word. */
	uint64_t *set[4];
	uint32_t levels, set_cnt;
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

/* The machine @i-th from now, in the line of this instant and those behind it; UINT32_MAX: none is
 * seen there. Hardly any machine steps out before its turn. */
static inline uint32_t vb_eventq_ahead(const struct vb_eventq *q, uint32_t i)
{
	return q->turn_at + i < q->seen_end ? q->turn[q->turn_at + i] : UINT32_MAX;
}

#endif
