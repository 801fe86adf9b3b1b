/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of QPs in captures, see rates.h. */
#include "cmd/capture/rates.h"

#include "core/cc/settings.h"

#include <stdio.h>
#include <string.h>

static struct vb_qp_sample *place_of(struct vb_capture_rates *r, uint64_t k)
{
	return &r->wait[k & (VB_CAPTURE_RATES - 1)];
}

static void take_samples(struct vb_capture_rates *r, uint32_t slot, const struct vb_rates_shm *from)
{
	uint64_t end = __atomic_load_n(&from->cnt, __ATOMIC_ACQUIRE), first = vb_rates_first(from);
	struct vb_qp_sample s;

	/* Less than before: the slot has another owner. */
	if (r->next[slot] > end)
		r->next[slot] = 0;
	if (r->next[slot] < first)
		r->next[slot] = first;
	for (; r->next[slot] < end; r->next[slot]++) {
		if (!vb_rates_read(from, r->next[slot], &s) || !s.clk_hz)
			continue;
		*place_of(r, r->taken++) = s;
		/* No packet for so long: the oldest go. */
		if (r->taken - r->written > VB_CAPTURE_RATES)
			r->written = r->taken - VB_CAPTURE_RATES;
	}
}

void vb_capture_rates_look(struct vb_capture_rates *r, const struct vb_broker_observer *o,
			   bool from_start)
{
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT; k++) {
		if (!o->slot[k])
			continue;
		if (!r->begun[k] && !from_start)
			r->next[k] = __atomic_load_n(&o->slot[k]->rates.cnt, __ATOMIC_ACQUIRE);
		r->begun[k] = true;
		take_samples(r, k, &o->slot[k]->rates);
	}
}

static uint32_t kbps_of(uint16_t units, uint32_t clk_hz)
{
	uint64_t kbps = vb_cc_bps((uint32_t)units << 8, clk_hz) / 1000;

	return kbps < UINT32_MAX ? (uint32_t)kbps : UINT32_MAX;
}

void vb_capture_rates_tell(struct vb_capture_rates *r, uint64_t time_ns, uint64_t ahead_ns,
			   char *comment, size_t size)
{
	size_t at = strlen(comment);

	for (unsigned i = 0; i < VB_CAPTURE_RATES_PER_PACKET && r->written < r->taken; i++) {
		const struct vb_qp_sample *s = place_of(r, r->written);
		struct vb_rate_note n = {.gid = s->sgid,
					 .qpn = s->qpn & 0xffffff,
					 .rate_kbps = kbps_of(s->rate, s->clk_hz),
					 .target_kbps = kbps_of(s->target, s->clk_hz),
					 .alpha = s->alpha & 1023};
		char text[VB_RATE_COMMENT_MAX];

		if (s->at + ahead_ns > time_ns)
			return;
		n.before = time_ns - (s->at + ahead_ns);
		vb_rate_comment(&n, text);
		if (at + strlen(text) + 2 > size)
			return;
		at += (size_t)snprintf(comment + at, size - at, "%s%s", at ? "\n" : "", text);
		r->written++;
	}
}
