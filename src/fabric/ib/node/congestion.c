/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks, and delays of sources, see congestion.h. */
#include "fabric/ib/node/congestion.h"

#include "base/assert.h"

#define BTH_MARKS 4 /* byte of the BTH */
#define FECN 0x80u
#define BECN 0x40u

bool vb_ib_has_fecn(const struct vb_frame *f)
{
	return f->bytes[BTH_MARKS] & FECN;
}

bool vb_ib_has_becn(const struct vb_frame *f)
{
	return f->bytes[BTH_MARKS] & BECN;
}

void vb_ib_marker_pass(struct vb_ib_marker *m, const struct vb_ib_congestion *c, struct vb_frame *f,
		       uint32_t waiting, bool has_credits)
{
	if (!c->threshold || waiting <= c->threshold || (!has_credits && !c->marks_victims) ||
	    f->prio == VB_VL_MGMT)
		return;
	if (m->skipped++ < c->marking_rate)
		return;
	m->skipped = 0;
	m->marks++;
	f->bytes[BTH_MARKS] |= FECN;
}

uint16_t vb_ib_source_index(struct vb_ib_source *s, const struct vb_ib_congestion *c, uint8_t sl,
			    vb_time now)
{
	struct vb_ib_source_level *l = &s->sl[sl];
	uint64_t steps = l->index && c->timer ? (now - l->since) / c->timer : 0;

	l->since = l->index ? l->since + steps * c->timer : now;
	l->index = steps < l->index ? (uint16_t)(l->index - steps) : 0;
	return l->index;
}

void vb_ib_source_becn(struct vb_ib_source *s, const struct vb_ib_congestion *c, uint8_t sl,
		       vb_time now)
{
	uint32_t index = vb_ib_source_index(s, c, sl, now) + (uint32_t)c->increase;

	VB_ASSERT_ALL(c->limit < VB_CCT_LEN);
	s->becns++;
	s->sl[sl].index = (uint16_t)(index < c->limit ? index : c->limit);
	if (s->sl[sl].index > s->index_max)
		s->index_max = s->sl[sl].index;
}

void vb_ib_source_put(struct vb_ib_source *s, struct vb_frame *f)
{
	vb_frame_fifo_push(&s->sl[f->path.sl % VB_SL_CNT].held, f);
}

/* The time that the packet takes on the line, and the delay behind it. */
static vb_dur packet_delay(const struct vb_ib_congestion *c, uint16_t index,
			   const struct vb_frame *f, uint64_t rate_bps)
{
	uint64_t ns = (f->frame_len + VB_FRAME_IB_GAP) * UINT64_C(8000000) / (rate_bps / 1000);
	uint32_t entry = c->cct[index], multiplier = entry & ((1u << VB_CCT_SHIFT) - 1);

	return ns + (ns * multiplier >> (entry >> VB_CCT_SHIFT));
}

struct vb_frame *vb_ib_source_take(struct vb_ib_source *s, const struct vb_ib_congestion *c,
				   uint64_t rate_bps, vb_time now, vb_time *at)
{
	*at = VB_NEVER;
	for (uint8_t sl = 0; sl < VB_SL_CNT; sl++) {
		struct vb_ib_source_level *l = &s->sl[sl];
		struct vb_frame *f;
		uint16_t index;

		if (!l->held.head)
			continue;
		if (l->next_at > now) {
			*at = vb_time_min(*at, l->next_at);
			continue;
		}
		f = vb_frame_fifo_pop(&l->held);
		index = vb_ib_source_index(s, c, sl, now);
		/* Without congestion the line alone paces. */
		l->next_at = index ? vb_time_after(now, packet_delay(c, index, f, rate_bps)) : now;
		return f;
	}
	return NULL;
}
