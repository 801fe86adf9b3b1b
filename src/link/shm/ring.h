/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of packets in shared memory, from one process to another: one writes, one reads, neither
 * makes a system call, and neither trusts the other.
 *
 * Packets travel in GSO batches of one path. The first word of a GSO batch says that it is there,
 * and the reader waits for that word alone: a writer that dies in the middle of a GSO batch has
 * written nothing. How far each side is, it keeps to itself; the reader only tells, in the head,
 * how much it has taken. The ring is mapped twice in a row (link/memory.h), so that a GSO batch
 * never wraps.
 *
 * Values that the reader finds are checked against the GSO batch's bounds, and copied first if they
 * decide anything: nothing that the writer changes afterwards leads outside of the ring.
 */
#ifndef VB_LINK_SHM_RING_H
#define VB_LINK_SHM_RING_H

#include "base/time.h"
#include "wire/hdr.h"
#include "wire/packet.h"

#include <stdint.h>

#define VB_RING_BYTES (2048u << 10) /* a power of two */
#define VB_RING_HEAD_BYTES 4096u    /* in front of them */
#define VB_RING_MAP_BYTES (VB_RING_HEAD_BYTES + 2 * VB_RING_BYTES)

/* A GSO batch is not longer, so that the reader begins while the writer is still at it. */
#define VB_RING_GSO_MAX (32u << 10)

/* A reader that has not moved for so long while the ring was full is stopped or gone. */
#define VB_RING_STUCK_NS (100 * VB_MSEC)

/* Payload up to this is copied twice, for the reader to have the packet in one piece. */
#define VB_RING_COPY_MAX 256u
#define VB_RING_COPY_BYTES (VB_HDR_MAX + VB_RING_COPY_MAX + 8)

/* The memory in front of the ring that the two sides share. */
struct vb_ring_head {
	uint64_t taken; /* bytes, written by the reader */
};

/* The writer's side. Starts as zero but for mem. */
struct vb_ring_tx {
	uint8_t *mem;   /* VB_RING_MAP_BYTES, see vb_memory_map_ring() */
	uint64_t head;  /* bytes ever written */
	uint64_t taken; /* bytes the reader had taken when last asked */
	vb_time since;  /* when that was last seen to move, or the ring was empty */
};

/* The reader's side. Starts as zero but for mem. */
struct vb_ring_rx {
	uint8_t *mem;
	uint64_t tail;    /* where the GSO batch at hand begins, or the next one */
	uint64_t taken;   /* the count that the writer has been told */
	uint32_t at, len; /* of the GSO batch at hand: bytes read, and in all */
	uint32_t left;    /* packets of it; 0: none is at hand */
	bool is_broken;   /* the writer writes what no writer writes: nothing more is read */
};

/* The path and interface that a GSO batch gives for its packets. */
struct vb_ring_way {
	struct vb_path path; /* port is the writer's own */
	uint32_t ifindex;    /* the writer's, of that port */
};

/*
 * Writes packets of @pkt that share the path of the first, as a GSO batch. Returns how many, at
 * most @cnt; 0: there is no room for even one.
 */
uint32_t vb_ring_put(struct vb_ring_tx *r, const struct vb_ring_way *way, const struct vb_tx *pkt,
		     uint32_t cnt, vb_time now);

/* Bytes that wait in the ring. Looks how far the reader is when there are many. */
uint32_t vb_ring_backlog(struct vb_ring_tx *r, vb_time now);

/* The same, and looks each time. */
uint32_t vb_ring_backlog_now(struct vb_ring_tx *r, vb_time now);

/* After vb_ring_put() returned 0: whether to wait for this reader is in vain. */
bool vb_ring_is_stuck(struct vb_ring_tx *r, vb_time now);

/* True when there is a packet to read. */
bool vb_ring_has_packets(const struct vb_ring_rx *r);

/*
 * Begins the next GSO batch, if none is at hand, and tells what it says in @way. False: there is
 * none.
 */
bool vb_ring_begin(struct vb_ring_rx *r, struct vb_ring_way *way);

/*
 * The next packet of the GSO batch at hand. @rx->path is left to the caller; headers, and payload
 * up to VB_RING_COPY_MAX, are copied to the VB_RING_COPY_BYTES at @copy, longer payload is read
 * where it is and stays until vb_ring_give_back(). False: the GSO batch ends here, or is broken.
 */
bool vb_ring_take(struct vb_ring_rx *r, struct vb_rx *rx, uint8_t *copy);

/* The packets taken so far are no longer needed: their room is the writer's again. */
void vb_ring_give_back(struct vb_ring_rx *r);

#endif
