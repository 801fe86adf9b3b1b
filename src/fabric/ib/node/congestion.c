/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks, and delays of sources, see congestion.h. */
#include "fabric/ib/node/congestion.h"

#include "base/assert.h"
#include "wire/be.h"
#include "wire/opcode.h"

/* Bytes of the BTH. */
#define BTH_MARKS 4
#define BTH_DQPN 5
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

static struct vb_ib_congestion_event event_of(const struct vb_frame *f, vb_time now)
{
	return (struct vb_ib_congestion_event){.at = now,
					       .slid = f->path.slid,
					       .dlid = f->path.dlid,
					       .sl = f->path.sl,
					       .qpn = be24_get(f->bytes + BTH_DQPN)};
}

void vb_ib_marker_pass(struct vb_ib_marker *m, const struct vb_ib_congestion *c, struct vb_frame *f,
		       uint32_t waiting, bool has_credits, vb_time now)
{
	if (!c->threshold || waiting <= c->threshold || (!has_credits && !c->marks_victims) ||
	    f->prio == VB_VL_MGMT || f->frame_len < c->packet_min)
		return;
	if (m->skipped++ < c->marking_rate)
		return;
	m->skipped = 0;
	m->last[m->marks++ % VB_IB_EVENTS] = event_of(f, now);
	f->bytes[BTH_MARKS] |= FECN;
}

void vb_ib_mark_path(struct vb_frame *f)
{
	uint8_t transport = f->bytes[0] & VB_TRANSPORT_MASK;
	bool is_answer = vb_ib_has_becn(f) && transport != VB_TRANSPORT_CNP;

	if (transport != VB_TRANSPORT_UD && (vb_ib_has_fecn(f) || is_answer))
		f->path.traffic_class |= VB_ECN_CE;
}

uint16_t vb_ib_source_index(struct vb_ib_source *s, const struct vb_cct *t, uint8_t sl, vb_time now)
{
	struct vb_ccti *i = &s->sl[sl].ccti;

	if (t->by_qp)
		*i = (struct vb_ccti){.since = now};
	return t->by_qp ? 0 : vb_ccti_at(i, t, sl, now);
}

void vb_ib_source_becn(struct vb_ib_source *s, const struct vb_cct *t, const struct vb_frame *f,
		       vb_time now)
{
	uint8_t sl = f->path.sl % VB_SL_CNT;
	struct vb_ccti *i = &s->sl[sl].ccti;

	VB_ASSERT_ALL(t->limit < VB_CCT_LEN);
	s->becns++;
	if (t->by_qp)
		return;
	if (vb_ccti_becn(i, t, sl, now)) {
		s->last[s->events++ % VB_IB_EVENTS] = event_of(f, now);
		s->event_sls |= (uint16_t)(1u << sl);
	}
	if (i->index > s->index_max)
		s->index_max = i->index;
}

void vb_ib_source_put(struct vb_ib_source *s, struct vb_frame *f)
{
	vb_frame_fifo_push(&s->sl[f->path.sl % VB_SL_CNT].held, f);
}

/* The time that the packet takes on the line, and the delay behind it. */
static vb_dur packet_delay(const struct vb_cct *t, uint16_t index, const struct vb_frame *f,
			   uint64_t rate_bps)
{
	uint64_t ns = (f->frame_len + VB_FRAME_IB_GAP) * UINT64_C(8000000) / (rate_bps / 1000);

	return vb_cct_delay(t, index, ns);
}

/* The next packet of a level; NULL: none, and *at is lowered. */
static struct vb_frame *level_take(struct vb_ib_source *s, const struct vb_cct *t, uint8_t sl,
				   uint64_t rate_bps, vb_time now, vb_time *at)
{
	struct vb_ib_source_level *l = &s->sl[sl];
	struct vb_frame *f;
	uint16_t index;

	if (!l->held.head)
		return NULL;
	/* QPs that have got their own indices meanwhile wait elsewhere. */
	if (l->next_at > now && !t->by_qp) {
		*at = vb_time_min(*at, l->next_at);
		return NULL;
	}
	f = vb_frame_fifo_pop(&l->held);
	index = vb_ib_source_index(s, t, sl, now);
	/* Without congestion the line alone paces. */
	l->next_at = index ? vb_time_after(now, packet_delay(t, index, f, rate_bps)) : now;
	return f;
}

struct vb_frame *vb_ib_source_take(struct vb_ib_source *s, const struct vb_cct *t,
				   uint64_t rate_bps, vb_time now, vb_time *at)
{
	*at = VB_NEVER;
	for (uint8_t sl = 0; sl < VB_SL_CNT; sl++) {
		struct vb_frame *f = level_take(s, t, sl, rate_bps, now, at);

		if (f)
			return f;
	}
	return NULL;
}
