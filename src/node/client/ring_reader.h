/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads one client's capture ring without disturbing its writer, which never waits. Everything in
 * the ring is another program's word: lengths are checked, and a record counts only when the writer
 * was not near it while it was copied.
 */
#ifndef VB_NODE_CLIENT_RING_READER_H
#define VB_NODE_CLIENT_RING_READER_H

#include "link/middle/capture.h"

struct vb_ring_reader {
	const struct vb_capture_ring *ring;
	uint64_t tail;    /* as ring->head counts */
	uint64_t records; /* as ring->records counts: taken or lost */
	uint64_t lost;    /* records that were overwritten before they could be read */
	bool has_rec;     /* rec and data are the next record */
	struct vb_capture_rec rec;
	uint8_t data[VB_CAPTURE_REC_MAX];
};

/* Starts with what is written after now, or, when @from_start, with the first record ever. */
void vb_ring_reader_init(struct vb_ring_reader *r, const struct vb_capture_ring *ring,
			 bool from_start);

/* True when there is a next record, in r->rec and r->data. */
bool vb_ring_reader_peek(struct vb_ring_reader *r);

/* Goes on to the record behind. */
void vb_ring_reader_pop(struct vb_ring_reader *r);

#endif
