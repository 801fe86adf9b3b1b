/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The holder of the machines of an InfiniBand fabric: it carries frames from port to cable and from
 * there to the node at the other end, in the order of time. The time is its caller's: the wall
 * clock of a live fabric, or that of a test. It is what sim/sim.c is for simulations, without
 * adapters that have the core in them.
 *
 * A port is named by a number that the caller chooses; the ports of a switch have numbers that
 * follow each other. Without packets nothing is due: cables lose no frame, and so nothing is told
 * twice. A cable may also lead away, to another net: then frames may get lost, and its holder lets
 * the port tell again what it told.
 */
#ifndef VB_FABRIC_IB_NODE_NET_H
#define VB_FABRIC_IB_NODE_NET_H

#include "base/heap.h"
#include "fabric/ib/node/hca.h"
#include "fabric/ib/node/switch.h"

struct vb_ib_net_config {
	uint32_t port_cnt;
	uint32_t packets_max; /* frames in the fabric at once; memory grows up to it */
	uint32_t payload_max; /* of a packet, bytes */
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory, or NULL */
	void (*free)(void *ctx, void *p);
	void *ctx;
};

/* By number. Neither a switch nor an adapter: the number is not used. */
struct vb_ib_net_port {
	struct vb_port *line;
	struct vb_ib_switch *sw;
	struct vb_ib_hca *hca;
	uint32_t far; /* at the other end of the cable; its own number: there is no cable here */
	bool is_away; /* the other end of the cable is in another net */
	struct vb_heap_node due;
	struct vb_cable_hooks hooks;
};

/* Frames at ports, for a capture. */
struct vb_ib_net_tap {
	/* The frame has left by port @number, or else has come to it. NULL: nobody looks. */
	void (*seen)(void *ctx, uint32_t number, bool sent, const struct vb_frame *f, vb_time now);
	void *ctx;
};

struct vb_ib_net {
	struct vb_ib_net_config cfg;
	struct vb_frame_pool pool;
	struct vb_ready_list ready;
	struct vb_heap due;
	vb_time now;
	void *lines;               /* the memory that the lines are in */
	struct vb_frame_fifo away; /* frames that have left by cables which lead away */
	struct vb_ib_net_port *port;
	struct vb_ib_end *end; /* by number */
	struct vb_ib_net_tap tap;
};

/* No nodes, and time begins at 0. -ENOMEM: nothing is left behind. */
int vb_ib_net_open(struct vb_ib_net *n, const struct vb_ib_net_config *cfg);
void vb_ib_net_close(struct vb_ib_net *n);

/* Adds a switch, whose @cnt ports have the numbers from @first on; or an adapter's port @number.
 * The caller keeps both as long as the net. Their links are down, and begin as @c says. */
void vb_ib_net_add_switch(struct vb_ib_net *n, struct vb_ib_switch *sw, uint32_t first,
			  uint32_t cnt, const struct vb_ib_port_config *c);
void vb_ib_net_add_hca(struct vb_ib_net *n, struct vb_ib_hca *hca, uint32_t number,
		       const struct vb_ib_port_config *c);
/* A cable of that delay between two ports. */
void vb_ib_net_join(struct vb_ib_net *n, uint32_t a, uint32_t b, vb_dur delay);

/* The port, which has no cable, is the end of one that leads away from now on; or no longer is,
 * which takes its link down. */
void vb_ib_net_set_away(struct vb_ib_net *n, uint32_t number, bool is_away, vb_dur delay);
/* The next frame that has left the net; f->in is the number of the port. It is the caller's, who
 * gives it back to n->pool. NULL: there is none. */
struct vb_frame *vb_ib_net_poll_away(struct vb_ib_net *n);
/* A frame, of n->pool, comes in by such a port: a packet, or one of flow control. */
void vb_ib_net_arrive(struct vb_ib_net *n, uint32_t number, struct vb_frame *f);
/* A flow control packet comes in. False: there is no frame for it. */
bool vb_ib_net_arrive_flow(struct vb_ib_net *n, uint32_t number, const uint8_t packet[VB_FLOW_LEN]);
/* The port tells its other end again what was told before. LNK-16, LNK-19 */
void vb_ib_net_tell(struct vb_ib_net *n, uint32_t number);

/* The port's link is in @state, enum vb_link_state, from now on. @was_down: and was down since the
 * last call, so that its credits begin again. */
void vb_ib_net_set_state(struct vb_ib_net *n, uint32_t number, uint8_t state, bool was_down);
/* ... has @cnt data lanes; sends @bps. */
void vb_ib_net_set_lanes(struct vb_ib_net *n, uint32_t number, uint32_t cnt);
void vb_ib_net_set_rate(struct vb_ib_net *n, uint32_t number, uint64_t bps);

/* There are frames for another packet that a program sends: the last ones are for flow control, and
 * for copies to groups. */
bool vb_ib_net_has_frames(const struct vb_ib_net *n);
/* The port of an adapter sends a packet, whose payload is copied. False: there is no frame for it.
 */
bool vb_ib_net_send(struct vb_ib_net *n, uint32_t number, const struct vb_tx *tx);
/* The packet that arrived first at the port of an adapter, vb_ib_hca_peek(), is done with. */
void vb_ib_net_take(struct vb_ib_net *n, uint32_t number);

/* When something happens next, VB_NEVER: nothing does. */
static inline vb_time vb_ib_net_due(const struct vb_ib_net *n)
{
	return vb_heap_due(&n->due);
}

/* Does what is due up to @until, but no more than @most things. Returns how many; fewer than @most:
 * the time is @until. */
uint32_t vb_ib_net_run(struct vb_ib_net *n, vb_time until, uint32_t most);

#endif
