/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live capture: copies packets that the UDP link shows to its tap into a ring in shared memory,
 * from which `verbena capture` writes a pcapng file. The writer never waits: a reader that falls
 * behind loses the oldest packets and can tell how many.
 */
#ifndef VB_LINK_MIDDLE_CAPTURE_H
#define VB_LINK_MIDDLE_CAPTURE_H

#include "link/link.h"

#define VB_CAPTURE_RING_BYTES (8u << 20) /* power of two */

#define VB_CAPTURE_REC_MAX 16384 /* the longest record; bytes of a packet beyond it are cut off */

/* One captured packet in the ring: this, then len bytes (BTH through ICRC), padded to 8. */
struct vb_capture_rec {
	uint64_t time_ns; /* CLOCK_REALTIME */
	struct vb_gid src, dst;
	uint32_t flow_label;
	uint16_t sport, dport;
	uint16_t ip_id;
	uint8_t traffic_class, hop_limit;
	uint8_t sent;     /* 1: by this host, 0: received */
	uint8_t port;     /* HCA port */
	uint16_t mark;    /* what a fault did to it, see link/middle/fault.h */
	uint32_t len;     /* bytes that follow, without padding */
	uint32_t rec_len; /* this record with bytes and padding; a multiple of 8 */
};

struct vb_capture_ring {
	uint32_t enabled; /* written by the broker: nonzero while someone captures */
	uint32_t rsv;
	uint64_t head;    /* bytes ever written; release-stored after each record */
	uint64_t records; /* ever written, stored before head: so a reader can tell what it lost */
	uint8_t data[VB_CAPTURE_RING_BYTES];
};

/* Writes a record with @rec, whose lengths are filled in here, and the bytes of @seg. */
void vb_capture_put(struct vb_capture_ring *ring, struct vb_capture_rec *rec,
		    const struct vb_seg *seg, uint32_t seg_cnt);

/* The same of a packet that was tapped. */
void vb_capture_write(struct vb_capture_ring *ring, const struct vb_link_tap *t,
		      uint64_t realtime_ns);

#endif
