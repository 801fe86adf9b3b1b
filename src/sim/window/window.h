/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches apart: a frame takes the time of a cable from a switch to anywhere else, so for as long
 * as the shortest cable takes a switch can be run by itself, event behind event, while its ports
 * are in the first level of the cache. A run then goes in windows of that length: first hosts and
 * the application, in one order as always, then one switch behind the other. At every node it is
 * the same run, event by event, as in the order of all machines. Conservative synchronisation:
 * Chandy and Misra, CACM 1981; parts.h has the same with other bounds, and each part its switches
 * apart.
 *
 * Whoever looks at all events in one order (hooks, steps, faults that both directions of a cable
 * share), and InfiniBand, has them in one queue.
 */
#ifndef VB_SIM_WINDOW_WINDOW_H
#define VB_SIM_WINDOW_WINDOW_H

#include "sim/priv.h"
#include "sim/window/turns.h"

/* The events of all switches. */
struct vb_sim_apart {
	struct vb_sim_turns *turns; /* of each switch */
	uint64_t *keys;
	struct vb_eventq next; /* when each switch has its next event */
	void *next_mem;
	vb_dur lookahead;
};

/* Makes what switches need to be apart, when the network is there. -ENOMEM. */
int vb_sim_apart_create(struct vb_sim *s);
void vb_sim_apart_destroy(struct vb_sim *s);

/* Puts switches apart, if that can be: vb_sim_window_run() comes next. */
void vb_sim_apart_begin(struct vb_sim *s);
/* Puts all machines into one queue again. */
void vb_sim_apart_end(struct vb_sim *s);

/* Runs all that happens before @end and within one window of the next event. */
void vb_sim_window_run(struct vb_sim *s, vb_time end);
/* Runs switches up to now: the next event concerns all machines, or a callback ends the run. */
void vb_sim_switches_catch_up(struct vb_sim *s);

/* Deadlines of port @p and of its cable have changed. */
void vb_sim_apart_arm(struct vb_sim *s, const struct vb_port *p);
/* The first frame has been put on the cable of @p. */
void vb_sim_apart_depart(struct vb_sim *s, const struct vb_port *p);

/* Keys of the switch count from now on: nothing is to come before. */
void vb_sim_turns_renew(struct vb_sim *s, uint32_t number);

/* The switch is asked when its next event comes. */
static inline void vb_sim_switch_line_up(struct vb_sim *s, uint32_t number)
{
	vb_eventq_set(&s->apart->next, number, vb_turn_next(&s->apart->turns[number]));
}

/* The other end's port of the cable at @p, which lies beside it. */
static inline struct vb_port *vb_sim_port_peer_of(struct vb_port *p)
{
	return p->id & 1 ? p - 1 : p + 1;
}

/* switch.c: runs a switch while the keys of its events are below @end. */
void vb_sim_switch_run(struct vb_sim *s, uint32_t number, uint64_t end);

#endif
