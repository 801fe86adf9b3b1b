/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port of an adapter at an InfiniBand link as a machine, for an adapter that is somewhere else: a
 * program's. Its holder puts in what the program sends, as long as there is room, and takes out
 * what arrived when the program has room for it. Until then a packet lies in the buffer of its
 * lane, so that a program which does not read holds back those who send to it, and nothing is lost.
 * The simulator's adapters, which have the core in them, are sim/nic_ib.c. IBA 7.9, A10.3; items
 * FAB-46 to FAB-48, LNK-21
 */
#ifndef VB_FABRIC_IB_NODE_HCA_H
#define VB_FABRIC_IB_NODE_HCA_H

#include "fabric/ib/node/congestion.h"
#include "fabric/ib/node/end.h"

/* Bytes of packets of one service level that may wait here. */
#define VB_IB_HCA_ROOM 32768u

struct vb_ib_hca {
	struct vb_machine machine; /* first: the machine is the port */
	struct vb_ib_end *end;
	struct vb_ib_source source;
	struct vb_cct cct;
	struct vb_sl2vl sl2vl;
	uint32_t waiting[VB_SL_CNT];  /* bytes of packets that have not left, by service level */
	struct vb_frame_fifo arrived; /* packets that nobody has taken yet */
	uint64_t fecns;               /* packets that came marked */
	/* Whether a program here has the QP: a BECN for another one slows nobody down. NULL: any is
	 * here. */
	bool (*has_qp)(void *ctx, const struct vb_ib_hca *h, uint32_t qpn);
	void *ctx;
};

/* @end is there as long as the port. No service level has congestion control, and all go by lane 0.
 */
void vb_ib_hca_init(struct vb_ib_hca *h, struct vb_ib_end *end);

static inline bool vb_ib_hca_has_room(const struct vb_ib_hca *h, uint8_t sl)
{
	return h->waiting[sl % VB_SL_CNT] < VB_IB_HCA_ROOM;
}

/* The program sends @f, which is the port's then. */
void vb_ib_hca_put(struct vb_ib_hca *h, struct vb_frame *f, vb_time now);

/* The packet that arrived first, NULL: there is none. */
static inline struct vb_frame *vb_ib_hca_peek(const struct vb_ib_hca *h)
{
	return h->arrived.head;
}

/* Takes it out: the caller's, and its room is free. */
struct vb_frame *vb_ib_hca_take(struct vb_ib_hca *h, vb_time now);

/* Takes back what was dropped at the output, whose state or lanes were changed. */
void vb_ib_hca_settle(struct vb_ib_hca *h, vb_time now);

/* The calls of a machine, for those who know that it is an adapter's port; it has no deadline. */
void vb_ib_hca_handle_packet(struct vb_ib_hca *h, struct vb_frame *f, vb_time now);
struct vb_frame *vb_ib_hca_poll_transmit(struct vb_ib_hca *h, vb_time now);

#endif
