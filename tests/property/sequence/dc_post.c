/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting to initiators of DC: builds work requests from steps. See dc.h. */
#include "dc.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool can_do(uint8_t op)
{
	return op <= VB_WR_FETCH_ADD || op == VB_WR_SEND_INV || op == VB_WR_ATOMIC_WRITE;
}

static uint8_t fitting_defect(const struct dci *d, const struct dct *t, uint8_t op, uint32_t defect,
			      uint32_t len, uint32_t flags)
{
	/* The result of an atomic is missing when it is done already. */
	bool late = is_atomic(op) || flags & VB_SEND_INLINE || !len;

	switch ((enum defect)defect) {
	case DEFECT_RKEY:
	case DEFECT_BOUNDS:
	case DEFECT_RIGHT:
	case DEFECT_NULL:
		return needs_key(op, len) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_AWAY:
		return needs_key(op, len) && mem_is_paged(&t->region) ? (uint8_t)defect
								      : DEFECT_NONE;
	case DEFECT_LOCAL_AWAY:
		return mem_is_paged(&d->local) && !late ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_LOCAL_BOUNDS:
		if (d->local.kind == MEM_IMPLICIT)
			return late ? DEFECT_NONE : (uint8_t)defect;
		return len && !(flags & VB_SEND_INLINE) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_LKEY:
		return len && !(flags & VB_SEND_INLINE) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_ALIGN:
		return is_aligned(op) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_SRQN:
	case DEFECT_DOMAIN:
		return (uint8_t)defect;
	default:
		return DEFECT_NONE;
	}
}

/* Where it goes to, and what is wrong with that. */
static bool aim(struct play *p, struct dci *d, struct dct *t, struct dc_sent *w,
		struct vb_send_wr *wr, struct vb_rng *r)
{
	if (is_atomic(w->op)) {
		w->off = (uint32_t)(d - p->dc->dci) * 8;
		w->add = wr->compare_add =
		    vb_rng_below(r, 2) ? vb_rng_next(r) : d->link[w->target].cell;
		w->swap = wr->swap = vb_rng_next(r);
	} else if (w->op == VB_WR_RDMA_READ) {
		w->off = PATTERN_AT + vb_rng_below(r, PATTERN_LEN - w->bytes + 1);
	} else if (is_write(w->op)) {
		if (t->region.limit - t->region.used < w->bytes + 8)
			return false;
		if (is_aligned(w->op))
			t->region.used = (t->region.used + 7) & ~7u;
		w->off = t->region.used;
		if (!w->aim.target)
			t->region.used += w->bytes + vb_rng_below(r, 9);
	}
	wr->remote_addr = t->region.iova + w->off;
	wr->rkey = t->region.rkey;
	if (w->aim.target)
		slot_aim(p, t->host, t->qp, &w->aim, w->op, w->bytes, 0, (uint32_t)vb_rng_next(r),
			 wr);
	/* An address that regions share is right by chance: a key beyond all of them. */
	if (w->defect == DEFECT_RKEY)
		wr->rkey ^= 1u << (t->region.kind == MEM_PLAIN ? vb_rng_below(r, 32)
							       : 28 + vb_rng_below(r, 4));
	else if (w->defect == DEFECT_NULL)
		wr->rkey = vb_mr_rkey(p->null[t->host]);
	else if (w->defect == DEFECT_AWAY)
		wr->remote_addr = t->region.iova + AWAY_AT - (is_aligned(w->op) ? 0 : w->bytes - 1);
	else if (w->defect == DEFECT_BOUNDS)
		wr->remote_addr =
		    t->region.iova + t->region.size - w->bytes + (is_aligned(w->op) ? 8 : 1);
	else if (w->defect == DEFECT_RIGHT)
		wr->rkey = vb_mr_rkey(t->mem.mr), wr->remote_addr = t->mem.iova;
	else if (w->defect == DEFECT_ALIGN)
		wr->remote_addr += 1 + vb_rng_below(r, 7);
	else if (w->defect == DEFECT_SRQN)
		wr->dc_key ^= UINT64_C(1) << vb_rng_below(r, 64);
	return true;
}

static bool local_buffer(struct play *p, struct dci *d, struct dc_sent *w, const uint32_t *a,
			 uint32_t flags, uint32_t salt)
{
	struct vb_sge *last;

	if (!buf_take(&d->local, &w->buf, w->bytes, 1 + (a[DCPOST_SGES] - 1) % SGES_MAX, salt))
		return false;
	if (salt % 8 == 7 && !w->defect && !is_atomic(w->op) && !(flags & VB_SEND_INLINE))
		buf_null(&w->buf, vb_mr_lkey(p->null[d->host]), salt);
	if (w->op != VB_WR_RDMA_READ && !is_atomic(w->op))
		buf_fill(&d->local, &w->buf, w->id);
	if (w->defect != DEFECT_LKEY && w->defect != DEFECT_LOCAL_BOUNDS &&
	    w->defect != DEFECT_LOCAL_AWAY)
		return true;
	last = &w->buf.sge[w->buf.sge_cnt - 1];
	for (; last > w->buf.sge && last->length == 0; last--)
		;
	if (w->defect == DEFECT_LKEY)
		last->lkey ^= 0x100;
	else if (w->defect == DEFECT_LOCAL_AWAY)
		last->addr =
		    d->local.iova + AWAY_AT - (w->op == VB_WR_RDMA_READ ? 0 : last->length - 1);
	else
		last->addr = d->local.iova + d->local.size - last->length + 1;
	return true;
}

/* The result of the call must follow from the state and the room. */
static bool submit(struct play *p, struct dci *d, struct dc_sent *w, struct vb_send_wr *wr)
{
	struct vb_sge sge[SGES_MAX];
	int want = vb_qp_send_room(d->qp) == 0 ? -ENOMEM : 0;

	memcpy(sge, w->buf.sge, sizeof sge);
	wr->sge = sge;
	wr->sge_cnt = w->buf.sge_cnt;
	wr->wr_id = ID_DC | ID_OF(d - p->dc->dci, 0, d->sent_cnt);
	if (wr->flags & VB_SEND_INLINE)
		for (uint32_t i = 0; i < wr->sge_cnt; i++)
			sge[i].addr = (uintptr_t)d->local.base + (sge[i].addr - d->local.iova);

	int err = vb_qp_post_send(d->qp, wr, vb_sim_now(p->sim));

	if (err != want)
		fail("call", "posting opcode %u to an initiator gives %d instead of %d", w->op, err,
		     want);
	if (wr->flags & VB_SEND_INLINE) /* taken already */
		memset(d->local.base + w->buf.off, 0xee, w->buf.span);
	vb_sim_touch(p->sim, d->host);
	return err == 0;
}

static void refused(struct play *p, struct dci *d, const struct vb_send_wr *as, uint8_t op)
{
	struct vb_send_wr wr = *as;

	wr.opcode = (enum vb_wr_opcode)op;
	CHECK("call", vb_qp_post_send(d->qp, &wr, vb_sim_now(p->sim)) == -EINVAL);
	wr.opcode = VB_WR_SEND;
	wr.ah = NULL;
	CHECK("call", vb_qp_post_send(d->qp, &wr, vb_sim_now(p->sim)) == -EINVAL);
}

static uint32_t flags_of(const struct dci *d, uint8_t op, uint32_t bytes, uint32_t wanted)
{
	uint32_t flags = wanted & (VB_SEND_FENCE | VB_SEND_SIGNALED | VB_SEND_SOLICITED);
	bool returns = op == VB_WR_RDMA_READ || is_atomic(op);

	/* Room comes back with a completion only, but every other one has one. */
	if (d->sent_cnt && !d->sent[d->sent_cnt - 1].signaled)
		flags |= VB_SEND_SIGNALED;
	if (wanted & VB_SEND_INLINE && !returns && bytes <= 64)
		flags |= VB_SEND_INLINE;
	return flags;
}

static struct dc_sent *new_sent(struct dci *d, uint32_t slot)
{
	if (d->sent_cnt == d->sent_cap) {
		d->sent_cap = d->sent_cap ? d->sent_cap * 2 : 64;
		d->sent = realloc(d->sent, d->sent_cap * sizeof *d->sent);
		CHECK("memory", d->sent);
	}
	d->sent[d->sent_cnt] =
	    (struct dc_sent){.id = (uint64_t)(slot + 3) << 32 | (d->sent_cnt * 7919u)};
	return &d->sent[d->sent_cnt];
}

static bool post_one(struct play *p, struct dci *d, struct dct *t, const uint32_t *a, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "dc", 0);
	struct dc_sent *w = new_sent(d, (uint32_t)(d - p->dc->dci));
	struct vb_ah ah = {.pd = vb_sim_pd(p->sim, d->host),
			   .path =
			       vb_sim_path(d->host, t->host, (uint16_t)(0xc000 + t->qpn % 8), 2)};
	struct vb_send_wr wr = {.opcode = (enum vb_wr_opcode)a[DCPOST_OP],
				.ah = &ah,
				.dqpn = t->qpn,
				.dc_key = t->key,
				.inv_rkey = salt & 1 ? p->mw[salt / 2 % MWS_MAX].rkey
						     : (uint32_t)vb_rng_next(&r)};

	w->op = (uint8_t)a[DCPOST_OP];
	if (!can_do(w->op)) {
		refused(p, d, &wr, w->op);
		return false;
	}
	w->bytes = is_aligned(w->op) ? 8 : a[DCPOST_LEN] % 9001;
	/* Streams overtake each other: atomics, which share a cell, are of one, and the length of a
	 * message says of which it is. */
	w->stream = is_atomic(w->op) ? 0 : (uint8_t)(a[DCPOST_STREAM] % d->streams);
	if (d->bad_max && takes_receive(w->op))
		w->bytes = (w->bytes % 8993 & ~7u) | w->stream;
	wr.flags = flags_of(d, w->op, w->bytes, a[DCPOST_FLAGS]);
	w->defect = fitting_defect(d, t, w->op, a[DCPOST_DEFECT], w->bytes, wr.flags);
	if (is_remote(w->op) && !w->defect)
		w->aim.target = (uint8_t)(a[DCPOST_TARGET] % TARGET_CNT);
	w->target = (uint8_t)(t - p->dc->dct);
	w->life = t->life;
	w->doomed = d->bad[w->stream];
	w->imm = (uint32_t)vb_rng_next(&r);
	w->signaled = wr.flags & VB_SEND_SIGNALED;
	wr.imm = w->op == VB_WR_SEND_INV ? 0 : w->imm;
	/* Without streams the number of one is ignored. */
	wr.dc_stream = (uint16_t)(d->bad_max ? w->stream : a[DCPOST_STREAM]);
	if (w->defect == DEFECT_DOMAIN)
		ah.pd = p->away[d->host];
	if (!local_buffer(p, d, w, a, wr.flags, salt) || !aim(p, d, t, w, &wr, &r))
		return false;
	/* A stream fails with what is refused: not too often. */
	if ((w->aim.target && salt % 8 && slot_doubts(&w->aim, w->op, w->bytes)) ||
	    !submit(p, d, w, &wr))
		return false;
	d->invalidates |= w->op == VB_WR_SEND_INV;
	d->hurts |= w->defect || w->aim.target || d->invalidates;
	window_posted(p, &w->aim, w->op);
	slot_posted(p, &w->aim, w->op, &d->writer[w->stream]);
	d->hurts_ever |= d->hurts;
	d->sent_cnt++;
	return true;
}

void play_dc_post(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	struct dci *d = p->dc ? &p->dc->dci[a[DCPOST_DCI] % DCIS_MAX] : NULL;
	struct dct *t = p->dc ? &p->dc->dct[a[DCPOST_DCT] % DCTS_MAX] : NULL;

	if (!d || !d->qp || !t->exists || d->host == t->host || p->queue[d->host].lost)
		return;
	for (uint32_t i = 0; i < a[DCPOST_CNT] && i < 8; i++)
		if (!post_one(p, d, t, a, a[DCPOST_SALT] + i))
			return;
}
