/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many packets a QP may have in flight: a fixed bound (roce_tx_window_en), and a ramp that
 * starts small after a retransmission or a pause and doubles with each round trip
 * (roce_slow_restart_en, roce_slow_restart_idle_en), and the window of an algorithm of congestion
 * control. The smallest of them holds.
 *
 * A bound needs acknowledgements: while there is one, the requester asks for an ACK at least every
 * quarter of it, so that the window always opens again. REG-07
 */
#ifndef VB_CORE_RECOVER_WINDOW_H
#define VB_CORE_RECOVER_WINDOW_H

#include "base/psn.h"
#include "base/time.h"
#include "core/recover/rto.h"

struct vb_window {
	uint32_t pkts;       /* most in flight; 0: no bound */
	uint32_t bound;      /* roce_tx_window_en; 0: none */
	uint32_t ramp;       /* slow restart: the present bound; 0: full speed */
	uint32_t ramp_end;   /* ... that ends it */
	uint32_t control;    /* of an algorithm of congestion control; 0: none */
	uint32_t every;      /* packets from one that asks for an ACK to the next, at most */
	uint32_t asks;       /* ... in force, with a bound */
	uint32_t epoch;      /* of the rules that bound follows */
	struct vb_psn asked; /* with a bound: one past the last packet that asked for an ACK */
	vb_time idle_since;  /* nothing in flight since; VB_NEVER: something is */
};

/* Starts over, at full speed. */
void vb_window_reset(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
		     struct vb_psn una, vb_time now);

/* Adopts changed settings. */
void vb_window_adopt(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu);

/* An algorithm of congestion control bounds the packets in flight to @pkts (0: it is gone), and has
 * ACKs asked for every @every packets (0: as often as the bound needs). */
void vb_window_control(struct vb_window *w, uint32_t pkts, uint32_t every);

/* Begins a ramp towards @pkts in flight. False: there is nothing to ramp to. */
bool vb_window_ramp(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
		    uint32_t pkts);

/* Something is about to be sent with nothing in flight: true when a ramp began. */
bool vb_window_after_idle(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
			  vb_time now);

/* @pkts were acknowledged. True: the ramp is at its end. */
bool vb_window_grow(struct vb_window *w, uint32_t pkts);

/* Whether @pkts more must wait when all of [una, nxt) is in flight. One packet may always be, and
 * so may more while nobody was asked for the ACK that would open the window. */
static inline bool vb_window_is_full(const struct vb_window *w, struct vb_psn una,
				     struct vb_psn nxt, uint32_t pkts)
{
	if (w->pkts == 0)
		return false;

	uint32_t span = vb_psn_span(una, nxt);

	return span && span + pkts > w->pkts && vb_psn_before(una, w->asked);
}

/* Whether the packet at @psn has to ask for an ACK. */
static inline bool vb_window_asks(const struct vb_window *w, struct vb_psn psn)
{
	return w->pkts && vb_psn_diff(psn, w->asked) >= (int32_t)w->asks - 1;
}

#endif
