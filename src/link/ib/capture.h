/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of an InfiniBand fabric in the ring of a capture (link/middle/capture.h). A record has
 * the links that the packet passed, and its bytes once, as its sender made them: LRH through ICRC,
 * or a flow control packet. Its reader makes the packet at each of these links of that, with the
 * lane, and behind routers with LIDs and hop limit. So what a port shows is what its counters
 * count. IBA 7.7, 7.8, 7.9.4, 19.2.4
 */
#ifndef VB_LINK_IB_CAPTURE_H
#define VB_LINK_IB_CAPTURE_H

#include "link/ib/map.h"
#include "link/middle/capture.h"
#include "wire/ib/lrh.h"

/* LRH through VCRC at most. */
#define VB_IB_CAPTURED_MAX                                                                         \
	(VB_LRH_LEN + VB_GRH_LEN + VB_HDR_MAX + VB_PAYLOAD_MAX + VB_PAD_MAX + VB_ICRC_LEN +        \
	 VB_VCRC_LEN)

/* A record: this, then the hops, then the packet. */
struct vb_ib_capture_head {
	uint32_t hop_cnt;
	uint32_t rsv;
};

/* The facts of one packet for vb_ib_capture_put(). */
struct vb_ib_capture_packet {
	const uint8_t *bytes; /* LRH through ICRC, or all of a flow control packet */
	uint32_t len;
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint16_t mark;    /* what a fault did to it: enum vb_fault_mark */
};

/* Writes the packet, which passed @cnt links. */
void vb_ib_capture_put(struct vb_capture_ring *ring, const struct vb_ib_hop *hop, uint32_t cnt,
		       const struct vb_ib_capture_packet *p);

/* Packets @from to @to of @b went by the route, or by the branches of the tree, at @time_ns. One
 * that left no port is not written. */
void vb_ib_capture_route(struct vb_capture_ring *ring, const struct vb_ib_route *r,
			 const struct vb_tx_batch *b, uint32_t from, uint32_t to, uint64_t time_ns);
void vb_ib_capture_tree(struct vb_capture_ring *ring, const struct vb_ib_tree *t,
			const struct vb_tx_batch *b, uint32_t from, uint32_t to, uint64_t time_ns);

/* A record that was read; it borrows the bytes. */
struct vb_ib_captured {
	const uint8_t *hops, *packet;
	uint32_t hop_cnt, len;
};

/* Reads the @len bytes of a record, which are another program's word. False: they make no sense. */
bool vb_ib_captured_parse(struct vb_ib_captured *c, const uint8_t *bytes, uint32_t len);

/* Hop @i, less than c->hop_cnt. */
struct vb_ib_hop vb_ib_captured_hop(const struct vb_ib_captured *c, uint32_t i);

/* It is a flow control packet, which has neither LRH nor VCRC. */
bool vb_ib_captured_is_flow(const struct vb_ib_captured *c);

/* Writes the packet as it is on the link of @hop, LRH through VCRC, to @out, which has
 * VB_IB_CAPTURED_MAX bytes. Returns its length. */
uint32_t vb_ib_captured_emit(const struct vb_ib_captured *c, const struct vb_ib_hop *hop,
			     uint8_t *out);

#endif
