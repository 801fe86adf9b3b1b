/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next events of one switch, two for each port: a frame arrives by its cable, and the port is
 * asked for a frame. They come in the order (time, machine number) of the whole simulation: the
 * machines of cable n, its ports 2n and 2n + 1, are neighbours, and ports of a switch have numbers
 * in the order of cables, so the rank of an event among those of its switch is known without a
 * table.
 *
 * The events are the leaves of a tree in which each node is the least of the two below (Knuth, The
 * Art of Computer Programming 3, 5.4.1): one that changes is compared with its neighbour on each
 * level, whatever the order of events is, and nothing branches on that.
 */
#ifndef VB_SIM_WINDOW_TURNS_H
#define VB_SIM_WINDOW_TURNS_H

#include "base/assert.h"
#include "fabric/port.h"

/* A key is the time from @base on, above the rank; an event that is further off has the highest
 * time, and comes again when keys count from a later base. */
#define VB_TURN_RANK_BITS 24u
#define VB_TURN_FAR ((UINT64_C(1) << (64 - VB_TURN_RANK_BITS)) - 1)
#define VB_TURN_NEVER UINT64_MAX

struct vb_sim_turns {
	uint64_t *key; /* leaf i at key[cnt + i]; key[1] is the least of all */
	uint32_t cnt;  /* two for each port */
	vb_time base;
};

/* The rank of a pull at port @p, among the events of the switch that has it. */
static inline uint32_t vb_turn_of_pull(const struct vb_port *p)
{
	return 2 * p->number + (p->id & 1);
}

/* The rank of an arrival by the cable of port @far, at the switch that has port @p at the other
 * end. */
static inline uint32_t vb_turn_of_arrival(const struct vb_port *p)
{
	return 2 * p->number + (~p->id & 1);
}

static inline uint64_t vb_turn_key(const struct vb_sim_turns *t, uint32_t rank, vb_time at)
{
	vb_dur ahead = at - t->base < VB_TURN_FAR ? at - t->base : VB_TURN_FAR;

	VB_ASSERT_ALL(at >= t->base && rank < t->cnt);
	return at == VB_NEVER ? VB_TURN_NEVER : ahead << VB_TURN_RANK_BITS | rank;
}

/* The event of @rank is at @at from now on. */
static inline void vb_turn_set(struct vb_sim_turns *t, uint32_t rank, vb_time at)
{
	uint32_t i = t->cnt + rank;
	uint64_t least = vb_turn_key(t, rank, at);

	t->key[i] = least;
	for (; i > 1; i >>= 1) {
		least = t->key[i ^ 1] < least ? t->key[i ^ 1] : least;
		t->key[i >> 1] = least;
	}
}

static inline vb_time vb_turn_time(const struct vb_sim_turns *t, uint64_t key)
{
	return key == VB_TURN_NEVER ? VB_NEVER : t->base + (key >> VB_TURN_RANK_BITS);
}

/* When the next event comes, or keys have to count from a later base; VB_NEVER: there is none. */
static inline vb_time vb_turn_next(const struct vb_sim_turns *t)
{
	return vb_turn_time(t, t->key[1]);
}

/* Keys near @at are nearly too far from their beginning. */
static inline bool vb_turns_are_old(const struct vb_sim_turns *t, vb_time at)
{
	return at - t->base > VB_TURN_FAR / 2;
}

#endif
