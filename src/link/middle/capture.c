/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of the capture ring. It overwrites the oldest records without asking; a reader copies
 * first and looks at head afterwards to learn whether what it copied was still whole.
 */
#include "link/middle/capture.h"

#include <stddef.h>
#include <string.h>

#define CAPTURE_BYTES_MAX (VB_CAPTURE_REC_MAX - (uint32_t)sizeof(struct vb_capture_rec))

_Static_assert((VB_CAPTURE_RING_BYTES & (VB_CAPTURE_RING_BYTES - 1)) == 0, "a power of two");
_Static_assert(sizeof(struct vb_capture_rec) % 8 == 0, "records stay aligned");
_Static_assert(offsetof(struct vb_capture_ring, head) % 8 == 0, "head is one aligned word");

/* Copies to ring position @pos, around the end of the ring. Returns the position behind. */
static uint64_t ring_put(struct vb_capture_ring *r, uint64_t pos, const void *p, size_t len)
{
	size_t at = (size_t)(pos & (VB_CAPTURE_RING_BYTES - 1));
	size_t first = VB_CAPTURE_RING_BYTES - at;

	if (len == 0)
		return pos;
	if (first > len)
		first = len;
	memcpy(r->data + at, p, first);
	memcpy(r->data, (const uint8_t *)p + first, len - first);
	return pos + len;
}

void vb_capture_put(struct vb_capture_ring *ring, struct vb_capture_rec *rec,
		    const struct vb_seg *seg, uint32_t seg_cnt)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED), pos = head;
	uint32_t left;

	rec->len = 0;
	for (uint32_t i = 0; i < seg_cnt && rec->len < CAPTURE_BYTES_MAX; i++)
		rec->len += seg[i].len;
	if (rec->len > CAPTURE_BYTES_MAX)
		rec->len = CAPTURE_BYTES_MAX;
	rec->rec_len = (uint32_t)sizeof *rec + ((rec->len + 7) & ~7u);
	/* The bytes below may overwrite an old record only after a reader can see, by the head of
	 * the record before this one, that this region is being written. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pos = ring_put(ring, pos, rec, sizeof *rec);
	left = rec->len;
	for (uint32_t i = 0; i < seg_cnt && left != 0; i++) {
		uint32_t n = seg[i].len < left ? seg[i].len : left;

		pos = ring_put(ring, pos, seg[i].p, n);
		left -= n;
	}
	__atomic_store_n(&ring->records, ring->records + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->head, head + rec->rec_len, __ATOMIC_RELEASE);
}

void vb_capture_write(struct vb_capture_ring *ring, const struct vb_link_tap *t,
		      uint64_t realtime_ns)
{
	struct vb_capture_rec rec = {.time_ns = realtime_ns,
				     .src = t->udp.src,
				     .dst = t->udp.dst,
				     .flow_label = t->flow_label,
				     .sport = t->udp.sport,
				     .dport = t->udp.dport,
				     .ip_id = t->udp.ip_id,
				     .traffic_class = t->traffic_class,
				     .hop_limit = t->hop_limit,
				     .sent = t->sent,
				     .port = t->port,
				     .mark = t->mark};

	vb_capture_put(ring, &rec, t->seg, t->seg_cnt);
}
