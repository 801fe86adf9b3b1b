/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric in real time: its process carries the packets of the programs at its nodes through the
 * machines of src/fabric/ib/node, which the simulator runs as well, by the wall clock. They take
 * the rates of the links, wait for credits in queues, and are marked where these are long. Time
 * here is that of the links; it goes more slowly than the clock by a factor that the user gives,
 * and as much more slowly as the machine needs.
 */
#ifndef VB_NODE_SUBNET_LIVE_H
#define VB_NODE_SUBNET_LIVE_H

#include "fabric/ib/node/net.h"
#include "link/ib/routers.h"
#include "link/link.h"
#include "node/subnet/adapter/adapter.h"

/* The counts of a port here that the counters of the subnet have already. */
struct vb_subnet_live_seen {
	struct vb_ib_counters counters;
	uint64_t relay_errors, not_routed, hops_ended;
	uint64_t barred_in, barred_out, multicast_xmit, multicast_rcv;
	uint64_t congestion; /* events of it */
};

struct vb_subnet_live {
	struct vb_ib_net net;    /* ports have their numbers of the map */
	struct vb_ib_switch *sw; /* switches, and routers */
	struct vb_ib_hca *hca;
	struct vb_routers routers;
	struct vb_ib_router *router; /* by number of the node */
	uint32_t sw_cnt, hca_cnt;
	/* By number of the port: what outputs of switches mark and have marked, whom they bar, how
	 * often the link went down, what was counted. */
	struct vb_ib_congestion *marks;
	struct vb_ib_marker *marker;
	struct vb_ib_gate *gate;
	uint64_t *downs;
	struct vb_subnet_live_seen *seen;
	struct vb_sl2vl *sl2vl; /* of all switches and routers */
	uint32_t *sl2vl_at;     /* by number of the node */
	uint32_t *number;       /* of the port, by adapter */

	struct vb_link *link; /* the rings to and from programs */
	struct vb_counters counters;
	struct vb_tx_batch out;
	bool is_held[2 * VB_SLOT_CNT]; /* the ring has a packet that there is no room for */
	bool some_held;                /* some ring is */
	bool some_waits;               /* a program has no room for a packet that has arrived */

	struct vb_watch watch, timer;
	uint32_t scale;
	vb_time base, base_wall; /* the two clocks, at one instant */
	vb_time awake_at;        /* when the process has to be awake again; VB_NEVER: for nothing */
	vb_time lost;            /* by which the machine was too slow, wall clock */
	bool is_busy, is_parked;
};

/* When it is, or was, @t, by the clock. */
static inline vb_time vb_subnet_live_wall(const struct vb_subnet_live *v, vb_time t)
{
	if (t == VB_NEVER)
		return VB_NEVER;
	/* Where the clock was held up, the time before is not known exactly. */
	return t <= v->base ? v->base_wall : v->base_wall + (t - v->base) * v->scale;
}

/* live.c. Opening needs the map and the common memory; it closes what is there. */
int vb_subnet_live_open(struct vb_subnet_daemon *d, struct vb_subnet_adapter *a);
void vb_subnet_live_close(struct vb_subnet_daemon *d);
/* Does what is due. */
void vb_subnet_live_step(struct vb_subnet_daemon *d);
/* The process is about to wait for descriptors, for @ms at most: for how long it may. */
int vb_subnet_live_wait(struct vb_subnet_daemon *d, int ms);

/* pass.c. From programs into ports, and from ports to programs. True: something moved. */
bool vb_subnet_live_send(struct vb_subnet_daemon *d, vb_time wall);
bool vb_subnet_live_deliver(struct vb_subnet_daemon *d, vb_time wall);
/* The program of @slot ends: what it has sent before leaves, as from an adapter, which does not ask
 * whose packets they were. */
void vb_subnet_live_flush(struct vb_subnet_daemon *d, uint32_t slot, vb_time wall);
/* A ring that is not held has packets. */
bool vb_subnet_live_is_sent(const struct vb_subnet_live *v);

/* follow.c. Makes the machines; takes over what a manager has set at @node. */
int vb_subnet_live_make(struct vb_subnet_daemon *d, struct vb_subnet_live *v);
void vb_subnet_live_unmake(struct vb_subnet_live *v);
void vb_subnet_live_follow(struct vb_subnet_daemon *d, uint32_t node);
/* How QPs of programs at the port slow down. */
void vb_subnet_live_cct(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			struct vb_cct_rules *to);
/* Adds what the port has counted to the counters of the subnet. */
void vb_subnet_live_count(struct vb_subnet_daemon *d, struct vb_subnet_place at);

#endif
