/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An InfiniBand port (fabric/ib/port.h) over frames, at the end of a line (fabric/port.h) that
 * serialises them and carries them on. It is part of a node, a switch or an adapter: that gets what
 * the port has accepted, gives back the room when the packet has left, and puts packets into the
 * lanes of an output. Flow control packets are frames of their own. IBA 7.9; items LNK-14 to
 * LNK-21, LNK-26 to LNK-28
 */
#ifndef VB_FABRIC_IB_NODE_END_H
#define VB_FABRIC_IB_NODE_END_H

#include "base/rng.h"
#include "fabric/ib/node/congestion.h"
#include "fabric/ib/port.h"
#include "fabric/port.h"

/* Of a data lane since the start. */
struct vb_ib_lane_stats {
	uint64_t tx_pkts, tx_bytes;
	uint32_t buffer_max; /* blocks of the input buffer in use at once */
};

struct vb_ib_end {
	struct vb_ib_port port;
	struct vb_port *line;
	struct vb_frame_pool *pool;
	struct vb_rng rng;      /* of flow control packets that are lost */
	uint32_t flow_loss_ppm; /* so many of a million do not arrive */
	uint64_t flow_sent;
	struct vb_ib_lane_stats lane[VB_VL_DATA_MAX];
	struct vb_ib_source *source; /* of an adapter with congestion control; NULL: it has none */
	const struct vb_cct *cct;    /* ... how it slows down */
	/* How that is marked which leaves a switch here; NULL: nothing is. */
	const struct vb_ib_congestion *congestion;
	vb_time inject_at;     /* when the source has a packet for a lane again */
	uint64_t relay_errors; /* of a switch: packets that came here and had no way */
	/* Of a router: packets that came here for another LID; without a GRH or a way, or for the
	 * router itself, which has no QPs; at the end of their hop limit. FAB-06, FAB-07 */
	uint64_t misrouted, not_routed, hops_ended;
	uint64_t multicast_xmit, multicast_rcv; /* packets to groups among all */
	uint32_t hop; /* of a switch: which one of those that deadlock.h looks at */
};

/* The link is down. Line and pool are there as long as the end. */
void vb_ib_end_init(struct vb_ib_end *e, const struct vb_ib_port_config *c, struct vb_port *line,
		    struct vb_frame_pool *pool);

/* The link comes up and is active, or is lost; then what waits here is dropped. */
void vb_ib_end_set_link(struct vb_ib_end *e, bool up, vb_time now);

/* A frame has come from the line. True: it is a packet, which lies in the buffer of lane f->prio
 * until that is released; false: it is gone. */
bool vb_ib_end_receive(struct vb_ib_end *e, struct vb_frame *f, vb_time now);
void vb_ib_end_release(struct vb_ib_end *e, uint8_t vl, uint32_t len, vb_time now);

/* Puts a packet into a lane of this output, or among the dropped ones. */
void vb_ib_end_put(struct vb_ib_end *e, struct vb_frame *f, uint8_t vl, vb_time now);
/* A packet that was dropped here; the caller's. NULL: none is left. */
struct vb_frame *vb_ib_end_poll_dropped(struct vb_ib_end *e, vb_time now);
/* The next frame for the line; of packets f->prio is the lane. NULL: nothing may leave now. */
struct vb_frame *vb_ib_end_poll_transmit(struct vb_ib_end *e, vb_time now);

/* The frame of a packet in a queue. */
static inline struct vb_frame *vb_ib_frame_of(struct vb_ib_item *i)
{
	return vb_container_of(i, struct vb_frame, item);
}

#endif
