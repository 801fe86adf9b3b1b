/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a capture ring, see ring_reader.h and link/middle/capture.h. */
#include "node/client/ring_reader.h"

#include <string.h>

/* The writer may be this far beyond head already. */
#define WRITER_AHEAD VB_CAPTURE_REC_MAX
/* Looks at two words that belong together. */
#define READ_ATTEMPTS 1000

static uint64_t ring_head(const struct vb_capture_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

void vb_ring_reader_init(struct vb_ring_reader *r, const struct vb_capture_ring *ring,
			 bool from_start)
{
	r->ring = ring;
	r->tail = r->records = r->lost = 0;
	r->has_rec = false;
	if (from_start)
		return;
	r->tail = ring_head(ring);
	r->records = __atomic_load_n(&ring->records, __ATOMIC_RELAXED);
}

static void ring_copy(const struct vb_capture_ring *ring, uint64_t at, void *to, size_t len)
{
	size_t off = at % VB_CAPTURE_RING_BYTES, first = VB_CAPTURE_RING_BYTES - off;

	if (first > len)
		first = len;
	memcpy(to, ring->data + off, first);
	memcpy((uint8_t *)to + first, ring->data, len - first);
}

/* Goes on at the writer's place: where records start before it is not known. */
static void skip_to_head(struct vb_ring_reader *r)
{
	uint64_t records;
	int i = 0;

	/* Off by a record or two is what a writer gets that never holds still. */
	do {
		records = __atomic_load_n(&r->ring->records, __ATOMIC_ACQUIRE);
		r->tail = ring_head(r->ring);
	} while (__atomic_load_n(&r->ring->records, __ATOMIC_ACQUIRE) != records &&
		 ++i < READ_ATTEMPTS);
	if (records > r->records)
		r->lost += records - r->records;
	r->records = records;
}

static bool is_overrun(const struct vb_ring_reader *r)
{
	return ring_head(r->ring) - r->tail > VB_CAPTURE_RING_BYTES - WRITER_AHEAD;
}

static bool is_sound(const struct vb_capture_rec *rec)
{
	return rec->rec_len % 8 == 0 && rec->rec_len >= sizeof *rec &&
	       rec->rec_len <= VB_CAPTURE_REC_MAX && rec->len <= rec->rec_len - sizeof *rec;
}

bool vb_ring_reader_peek(struct vb_ring_reader *r)
{
	if (r->has_rec)
		return true;
	if (ring_head(r->ring) == r->tail)
		return false;
	if (!is_overrun(r)) {
		ring_copy(r->ring, r->tail, &r->rec, sizeof r->rec);
		if (is_sound(&r->rec)) {
			ring_copy(r->ring, r->tail + sizeof r->rec, r->data, r->rec.len);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			r->has_rec = !is_overrun(r);
		}
	}
	if (!r->has_rec)
		skip_to_head(r);
	return r->has_rec;
}

void vb_ring_reader_pop(struct vb_ring_reader *r)
{
	r->tail += r->rec.rec_len;
	r->records++;
	r->has_rec = false;
}
