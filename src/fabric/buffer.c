/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounts of the shared packet memory. See buffer.h. */
#include "fabric/buffer.h"

#include "base/assert.h"
#include "fabric/frame.h"

uint32_t vb_pfc_headroom(uint64_t rate_bps, vb_dur delay, uint32_t frame_max)
{
	uint64_t on_cable = (2 * delay * (rate_bps / 1000) + 7999999) / 8000000;
	uint64_t pause = VB_FRAME_MIN + VB_FRAME_GAP;

	/* One frame more: the account is looked at per frame, so it may exceed the threshold by
	 * one. */
	return (uint32_t)(on_cable + 3 * ((uint64_t)frame_max + VB_FRAME_GAP) + pause);
}

uint64_t vb_buffer_threshold(const struct vb_buffer *b)
{
	if (b->cfg.xoff_bytes)
		return b->cfg.xoff_bytes;
	if (b->shared_used >= b->shared_total)
		return 0;
	return (b->shared_total - b->shared_used) * b->cfg.alpha_1024 / 1024;
}

bool vb_buffer_take(struct vb_buffer *b, struct vb_buffer_account *a, uint8_t prio,
		    uint32_t headroom, uint32_t len, bool *in_headroom)
{
	uint32_t room = b->cfg.reserve_bytes - a->reserved;
	uint32_t more = len > room ? len - room : 0;
	bool lossless = b->cfg.lossless >> prio & 1;

	VB_ASSERT_ALL(a->reserved <= b->cfg.reserve_bytes && (room == 0 || a->shared == 0));
	*in_headroom = false;
	if (lossless && (a->headroom || a->shared >= vb_buffer_threshold(b) ||
			 b->shared_used + more > b->shared_total)) {
		if (a->headroom + len > headroom)
			return false;
		*in_headroom = true;
		a->headroom += len;
		if (a->headroom > a->headroom_max)
			a->headroom_max = a->headroom;
	} else {
		if (b->shared_used + more > b->shared_total)
			return false;
		a->reserved += len - more;
		a->shared += more;
		b->shared_used += more;
	}
	b->used += len;
	VB_ASSERT_ALL(b->shared_used <= b->shared_total);
	VB_ASSERT_ALL(!*in_headroom || a->headroom <= headroom);
	if (b->used > b->used_max)
		b->used_max = b->used;
	return true;
}

void vb_buffer_give(struct vb_buffer *b, struct vb_buffer_account *a, uint32_t len,
		    bool in_headroom)
{
	uint32_t shared = len < a->shared ? len : a->shared;

	VB_ASSERT_ALL(b->used >= len);
	VB_ASSERT_ALL((in_headroom ? a->headroom : a->reserved + a->shared) >= len);
	b->used -= len;
	if (in_headroom) {
		a->headroom -= len;
		return;
	}
	VB_ASSERT_ALL(b->shared_used >= shared);
	a->shared -= shared;
	a->reserved -= len - shared;
	b->shared_used -= shared;
}

bool vb_buffer_wants_pause(const struct vb_buffer *b, const struct vb_buffer_account *a)
{
	return !a->paused && (a->headroom || a->shared >= vb_buffer_threshold(b));
}

bool vb_buffer_wants_resume(const struct vb_buffer *b, const struct vb_buffer_account *a)
{
	return a->paused && a->headroom == 0 &&
	       (a->shared == 0 || a->shared + b->cfg.xon_gap_bytes <= vb_buffer_threshold(b));
}
