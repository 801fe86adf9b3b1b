/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port as a machine: the queues by priority of what is to go out, which of them sends next, the
 * serialiser, and the end of the cable. It is part of a node, a switch or an adapter, which puts
 * frames in and which is asked for the next one when the cable is free. So whoever paces or holds
 * back does it by not having a frame, and nothing queues in between. IEEE 802.3
 *
 * Flow control is a policy. It sets bits of @held, the priorities that may not send now, and keeps
 * an account of what came in (buffer.h). Ethernet's is eth/pfc.h.
 */
#ifndef VB_FABRIC_PORT_H
#define VB_FABRIC_PORT_H

#include "base/rng.h"
#include "fabric/buffer.h"
#include "fabric/cable.h"
#include "fabric/frame.h"
#include "fabric/machine.h"

/* One priority at a port: the queue of what goes out, and the account of what came in here. */
struct vb_lane {
	struct vb_frame_fifo fifo;
	uint32_t bytes;   /* in the queue */
	uint32_t deficit; /* with a weight: bytes that it may send in this turn */
	struct vb_buffer_account in;
};

/* Priorities with a weight share what the others leave in proportion to their weights; those
 * without one go first, the highest before all. */
struct vb_schedule {
	uint16_t weight[VB_PRIORITY_CNT]; /* 0: none */
};
#define VB_WEIGHT_MAX 1000u

/* The counts of a port since the start. */
struct vb_port_stats {
	uint64_t tx_pkts, tx_bytes; /* frames */
	/* Integrals over time, for means: bytes and packets waiting, times ns. */
	uint64_t byte_ns, pkt_ns;
	uint64_t arrivals;          /* packets that came to the queues */
	uint64_t depth_max;         /* bytes waiting */
	uint64_t marks;             /* CE set here */
	uint64_t drops, drop_bytes; /* no room in the switch or in the queue */
	uint64_t faults;            /* lost to the fault layer or too long for the cable */
	uint64_t pauses_sent;       /* pause (not resume) frames */
	uint64_t paused_ns;         /* all priorities together */
};

/* Ports that have become able to send, in that order; their holder asks them. */
struct vb_ready_list {
	struct vb_port *first, *last;
};

/*
 * By cache lines, in the order of use: a hop touches the first three and a lane here, the second
 * and a lane at the other end.
 */
struct vb_port {
	_Alignas(64) vb_time busy_until;
	vb_time pull_at; /* when the next frame is fetched; VB_NEVER: when the port is woken */
	uint64_t carry;  /* remainder of the serialisation time, in 1 / rate ns */
	struct vb_cable_end cable;

	uint64_t rate_bps;
	struct vb_machine *owner; /* the node; the holder's, the port itself does not look */
	struct vb_frame *control; /* frames of flow control, the first to go */
	uint32_t number;          /* at its node */
	uint32_t id;              /* in the fabric, for events and taps */
	uint32_t headroom;        /* of each lossless priority */
	uint8_t waiting;          /* bit p: queue p has frames */
	uint8_t held;             /* bit p: priority p may not send */
	bool more : 1;            /* the node has more than what is in the queues */
	bool pulled : 1;          /* it is being asked for a frame */
	bool is_ready : 1;        /* in the list */
	bool at_host : 1;         /* its node is an adapter */
	bool to_host : 1;         /* the other end's is */
	bool weighted : 1;        /* there is a schedule, which lies far off */
	uint8_t gap;              /* bytes between two frames */

	uint32_t depth, depth_pkts;
	vb_time depth_since;
	union {
		struct vb_ready_list *list; /* in which it is put */
		struct vb_port *next;       /* while it is there */
	} ready;
	/* When its node has something to do though nothing is sent: of InfiniBand, and the watchdog
	 * of PFC. */
	vb_time due;
	struct vb_port_stats stats;

	_Alignas(64) struct vb_lane lane[VB_PRIORITY_CNT];
	const struct vb_schedule *schedule; /* NULL: strict priority */
	uint8_t turn;                       /* the priority with a weight whose turn it is */
	uint8_t stormed;                    /* bit p: priority p has a pause storm */
	uint32_t storm_cnt;                 /* storms since the start */
	struct vb_rng rng;                  /* RED */
	vb_time held_since[VB_PRIORITY_CNT];
	/* Holds that have begun, and the time of holds that have ended. */
	uint32_t holds[VB_PRIORITY_CNT];
	vb_dur held_ns[VB_PRIORITY_CNT];
};
_Static_assert(offsetof(struct vb_port, cable.delay) == 64 &&
		   offsetof(struct vb_port, depth) == 128 && offsetof(struct vb_port, lane) == 256,
	       "the lines of a hop");

/* @p is zeroed memory. */
void vb_port_init(struct vb_port *p, uint64_t rate_bps, struct vb_ready_list *ready);

/* Puts a frame of its node into its queue. The caller wakes the port then. */
void vb_port_handle_packet(struct vb_port *p, struct vb_frame *f, vb_time now);
/* The next frame that may go, out of its queue; NULL: there is none. Flow control first, then as
 * the schedule says: strict priority, or deficit round robin. */
struct vb_frame *vb_port_poll_transmit(struct vb_port *p, vb_time now);
/* The next frame of priority @prio, held or not, out of its queue; NULL: there is none. */
struct vb_frame *vb_port_take(struct vb_port *p, uint8_t prio, vb_time now);
/* A frame of the node begins to go: until p->busy_until, at which f->flight.at is set, the port is
 * busy. It is put on the cable then. */
void vb_port_serialise(struct vb_port *p, struct vb_frame *f, vb_time now);

/* When it is to be asked for the next frame, or one arrives at the other end. */
static inline vb_time vb_port_poll_timeout(const struct vb_port *p)
{
	return vb_time_min(vb_cable_poll_timeout(&p->cable), p->pull_at);
}

/* After the node was asked for a frame, and that one if any has been serialised: when to ask it for
 * the next one. */
static inline void vb_port_handle_timeout(struct vb_port *p)
{
	p->pull_at = p->control || (p->waiting & (uint32_t)~p->held) || p->more
			 ? p->busy_until
			 : vb_time_max(p->due, p->busy_until);
}

/* A packet of @len bytes waits at the port, or no longer does, in a queue of its node's. */
void vb_port_count_in(struct vb_port *p, uint32_t len, vb_time now);
void vb_port_count_out(struct vb_port *p, uint32_t len, vb_time now);

/* There may be something to send: the port's holder is to ask for it. */
void vb_port_wake(struct vb_port *p);
/* The next port that was woken, with pull_at the time to ask its node; NULL: none. */
struct vb_port *vb_ready_take(struct vb_ready_list *l);

/* Priority @prio may not send from now on, or may again. False: so it was. */
bool vb_port_hold(struct vb_port *p, uint8_t prio, bool on, vb_time now);

/* Counts up to @now. */
void vb_port_stats_at(const struct vb_port *p, vb_time now, struct vb_port_stats *st);

/* Brings into the cache what a frame touches on its way out. Inline, because a compiler may leave
 * out the call of a function that only prefetches. */
__attribute__((always_inline)) static inline void vb_port_expect(const struct vb_port *p)
{
	__builtin_prefetch(&p->busy_until);
	__builtin_prefetch(&p->rate_bps);
	__builtin_prefetch(&p->depth);
	__builtin_prefetch(&p->lane[0]);
}

#endif
