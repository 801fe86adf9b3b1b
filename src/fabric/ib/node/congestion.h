/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of InfiniBand: an output of a switch marks packets with FECN, their receiver
 * answers with BECN, and the source delays what it injects by a table, in which each BECN leads it
 * further and a timer back. An output is the root of congestion while it has credits: what waits
 * for credits is its victim, and is not marked unless that is wanted. IBA A10.2, A10.3; items
 * FAB-46 to FAB-48
 */
#ifndef VB_FABRIC_IB_NODE_CONGESTION_H
#define VB_FABRIC_IB_NODE_CONGESTION_H

#include "base/time.h"
#include "fabric/frame.h"
#include "fabric/ib/lane.h"
#include "wire/mad/subnet/cct.h"

/* How an output marks. */
struct vb_ib_congestion {
	uint32_t threshold;    /* bytes that wait at an output; 0: nothing is marked */
	uint32_t packet_min;   /* bytes; shorter packets are not marked */
	uint16_t marking_rate; /* of those that may be marked one in so many + 1 is */
	bool marks_victims;
};

/* A packet that was marked, or a BECN that led an index to its trigger. */
struct vb_ib_congestion_event {
	vb_time at;
	uint16_t slid, dlid;
	uint8_t sl;
	uint32_t qpn; /* that the packet is for */
};
#define VB_IB_EVENTS 15u /* as many as a log has room for. IBA A10.4.3.5 */

/* Of an output. */
struct vb_ib_marker {
	uint32_t skipped;
	uint64_t marks;
	struct vb_ib_congestion_event last[VB_IB_EVENTS]; /* number n in place n % VB_IB_EVENTS */
};

/* Of an adapter's port, for each service level. Where QPs have an index each, it only counts: the
 * adapter delays what it sends. */
struct vb_ib_source {
	struct vb_ib_source_level {
		struct vb_ccti ccti;
		vb_time next_at;
		struct vb_frame_fifo held;
	} sl[VB_SL_CNT];
	uint64_t becns;
	uint64_t strays;    /* BECNs for QPs that are not here: they slow nobody down */
	uint64_t events;    /* times that an index came to its trigger... */
	uint16_t event_sls; /* ... and the service levels where one did, as bits */
	struct vb_ib_congestion_event
	    last[VB_IB_EVENTS]; /* the last one is [(events - 1) % VB_IB_EVENTS] */
	uint16_t index_max;
};

/* A packet joins @waiting bytes at an output, which has credits or not: marks it or not. */
void vb_ib_marker_pass(struct vb_ib_marker *m, const struct vb_ib_congestion *c, struct vb_frame *f,
		       uint32_t waiting, bool has_credits, vb_time now);

/* A data packet with FECN; one with BECN. */
bool vb_ib_has_fecn(const struct vb_frame *f);
bool vb_ib_has_becn(const struct vb_frame *f);

/* The packet @f with BECN came, for a QP that is here: its service level slows down, unless its QP
 * does. */
void vb_ib_source_becn(struct vb_ib_source *s, const struct vb_cct *t, const struct vb_frame *f,
		       vb_time now);
/* The index of a level now; 0 where QPs have them. */
uint16_t vb_ib_source_index(struct vb_ib_source *s, const struct vb_cct *t, uint8_t sl,
			    vb_time now);
/* A packet is to be injected: it is kept, in order, until it is its time. */
void vb_ib_source_put(struct vb_ib_source *s, struct vb_frame *f);
/* The next packet whose time has come; the one behind it has to wait as the index says, at
 * @rate_bps. NULL: none, *at is when there will be one. */
struct vb_frame *vb_ib_source_take(struct vb_ib_source *s, const struct vb_cct *t,
				   uint64_t rate_bps, vb_time now, vb_time *at);
/* A packet has come for the core of an adapter. One with FECN, or with BECN that is no
 * notification, gets CE into its path, as a marked one of RoCE has. Of a datagram, whose GRH a
 * program sees, the core looks at the BTH itself. FAB-47 */
void vb_ib_mark_path(struct vb_frame *f);

#endif
