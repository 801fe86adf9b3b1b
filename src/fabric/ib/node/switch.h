/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An InfiniBand switch as a machine: a packet stays in the buffer of the lane by which it came in
 * until it has left by the port that the forwarding table names, in the lane that the map of both
 * ports gives to its service level. It drops nothing for want of room: without room there is no
 * credit, and its neighbour waits. A packet to a group is copied to the ports of the multicast
 * table; each copy waits for credits of its own, and the room is free when the last one has left.
 * A switch that is faulty damages packets between its check of their VCRC and the new one.
 *
 * A router is the same machine with another way to find the port: by the GRH instead of a table,
 * and with new LIDs behind it. IBA 18.2, 19; items FAB-01, FAB-02, FAB-06, LNK-10, LNK-21, LNK-22,
 * LNK-27, LNK-28, LNK-37
 */
#ifndef VB_FABRIC_IB_NODE_SWITCH_H
#define VB_FABRIC_IB_NODE_SWITCH_H

#include "fabric/ib/forward.h"
#include "fabric/ib/node/congestion.h"
#include "fabric/ib/node/end.h"
#include "wire/ib/hop.h"

/* Which P_Keys a port lets pass: those of a table that a subnet manager makes like that of the end
 * node behind it. IBA 10.9.3, 18.2.4.2 */
struct vb_ib_gate {
	const uint16_t *pkey; /* the table; NULL: packets with any P_Key pass */
	uint32_t pkey_cnt;
	bool enforces_in, enforces_out;
	uint64_t rcv_constraint_errors, xmit_constraint_errors; /* packets that did not pass */
	/* Of the last one of those. */
	struct vb_ib_barred {
		uint16_t slid, dlid, pkey;
		uint8_t sl;
	} last;
};

/* A router: its place among the routers of the fabric. */
struct vb_ib_router {
	const struct vb_routers *all; /* port 1 is the machine's end 0 */
	uint32_t self;
};

struct vb_ib_switch {
	struct vb_machine machine; /* first: the machine is the switch */
	struct vb_ib_end *end;     /* by number; in tables of MADs port 1 is the first */
	uint32_t port_cnt;
	struct vb_lid_forward forward;
	const struct vb_sl2vl *sl2vl; /* of a pair of ports: [input * port_cnt + output] */
	/* The packets that each port has marked, where its end has congestion control; NULL: none
	 * has. */
	struct vb_ib_marker *marker;
	struct vb_ib_gate *gate; /* of each port; NULL: there is none */
	uint32_t damage_ppm;     /* so many of a million packets are damaged inside of it. LNK-10 */
	struct vb_rng rng;       /* ... and which ones */
	uint64_t damaged;
	struct vb_ib_router *router; /* NULL: it is a switch */
};

/* Makes a switch of @port_cnt ends that are there as long as it; the caller fills the tables. */
void vb_ib_switch_init(struct vb_ib_switch *sw, struct vb_ib_end *end, uint32_t port_cnt);

/* The link of a port comes up or is lost. */
void vb_ib_switch_set_link(struct vb_ib_switch *sw, uint32_t port, bool up, vb_time now);

/* Takes back what was dropped at the output @port, whose state or lanes were changed. */
void vb_ib_switch_settle(struct vb_ib_switch *sw, uint32_t port, vb_time now);

/* The calls of a machine, for those who know that it is a switch; it has no deadline. */
void vb_ib_switch_handle_packet(struct vb_ib_switch *sw, uint32_t port, struct vb_frame *f,
				vb_time now);
struct vb_frame *vb_ib_switch_poll_transmit(struct vb_ib_switch *sw, uint32_t port, vb_time now);

#endif
