/* SPDX-License-Identifier: BSD-2-Clause */
/* Judges the completions of DC, and what is in its memory at the end. See dc.h. */
#include "dc.h"

#include <stdlib.h>
#include <string.h>

#define BIT(status) (1u << (status))

static bool dct_lives(const struct dct *t)
{
	return t->qp && vb_qp_get_state(t->qp) == VB_QPS_RTR;
}

/* The statuses that @w may end with when nothing else has gone wrong. */
static uint32_t own_statuses(const struct play *p, const struct dc_sent *w)
{
	switch ((enum defect)w->defect) {
	case DEFECT_DOMAIN: /* the address handle is of another PD */
		return BIT(VB_WC_LOC_QP_OP_ERR);
	case DEFECT_LKEY:
	case DEFECT_LOCAL_BOUNDS:
	case DEFECT_LOCAL_AWAY:
		return BIT(VB_WC_LOC_PROT_ERR);
	case DEFECT_SRQN: /* the wrong key of the target */
	case DEFECT_RKEY:
	case DEFECT_BOUNDS:
	case DEFECT_RIGHT:
	case DEFECT_NULL:
	case DEFECT_AWAY:
		return BIT(VB_WC_REM_ACCESS_ERR);
	case DEFECT_ALIGN:
		return BIT(VB_WC_REM_INV_REQ_ERR);
	default:
		return slot_statuses(p, &w->aim, w->op, w->bytes);
	}
}

static uint32_t statuses(const struct play *p, const struct dci *d, const struct dc_sent *w)
{
	const struct dct *t = &p->dc->dct[w->target];
	uint32_t ok = own_statuses(p, w);

	/* The QP, or its stream, has failed before it. */
	if (d->is_ended || w->doomed)
		return BIT(VB_WC_WR_FLUSH_ERR) | (w->quiet ? BIT(VB_WC_SUCCESS) : 0);
	if (d->moved)
		ok |= BIT(VB_WC_WR_FLUSH_ERR);
	/* An error of its own is found before the target is asked. */
	if (ok & (BIT(VB_WC_LOC_QP_OP_ERR)))
		return ok;
	/* The target ends the connection of one that invalidates and says nothing. */
	if (!dct_lives(t) || w->life != t->life || p->wild || d->invalidates)
		ok |= BIT(VB_WC_RETRY_EXC_ERR);
	/* Half of it was acknowledged by a target that has forgotten it since. */
	if (w->life != t->life)
		ok |= BIT(VB_WC_REM_INV_REQ_ERR);
	/* A fatal NAK of a later request ends one whose answer was lost. */
	if (is_answered(w->op) && (p->wild || p->hits) && d->hurts)
		ok |= BIT(VB_WC_REM_ACCESS_ERR) | BIT(VB_WC_REM_INV_REQ_ERR);
	if (d->rnr < 7)
		ok |= BIT(VB_WC_RNR_RETRY_EXC_ERR);
	return ok;
}

/* Only this initiator changes the cell, one atomic after the other. */
static void check_atomic(const struct dci *d, const struct dc_sent *w, struct dc_link *l,
			 bool may_repeat)
{
	uint64_t known, old = buf_value(&d->local, &w->buf, &known);

	CHECK("self", known == UINT64_MAX);
	if (!l->cell_unsure && !may_repeat && old != l->cell)
		fail("bytes", "an atomic of DC returned %#llx instead of %#llx",
		     (unsigned long long)old, (unsigned long long)l->cell);
	l->cell_unsure = false;
	if (w->op == VB_WR_FETCH_ADD)
		l->cell = old + w->add;
	else
		l->cell = old == w->add ? w->swap : old;
}

static struct bytes bytes_of(const struct dc_sent *w)
{
	return (struct bytes){w->id, &w->buf, 0, w->bytes};
}

static bool region_holds(const struct mem *m, const struct dc_sent *w, bool whole)
{
	struct bytes is = bytes_of(w);

	return mem_holds(m, w->off, &is, whole);
}

/* The last that may arrive next. */
static uint32_t next_of(const struct dc_turn *l)
{
	return l->next_cnt ? l->next[l->next_cnt - 1] : 0;
}

static void check_done(struct play *p, struct dci *d, const struct dc_sent *w)
{
	struct dct *t = &p->dc->dct[w->target];
	struct bytes pattern = {t->pattern, NULL, w->off - PATTERN_AT, w->bytes}, is = bytes_of(w);

	if (w->aim.target) {
		slot_check(p, &w->aim, w->op, &d->local, &w->buf, &is);
		return;
	}
	if (w->op == VB_WR_RDMA_READ && !buf_holds(&d->local, &w->buf, &pattern, true, 0))
		fail("bytes", "a READ of DC of %u bytes returned others", w->bytes);
	if (is_atomic(w->op))
		check_atomic(d, w, &d->link[w->target], w->life != t->life);
	if (is_write(w->op) && !region_holds(&t->region, w, true))
		fail("bytes", "a WRITE of DC of %u bytes completed, and they are not there",
		     w->bytes);
	if (takes_receive(w->op) && w->op != VB_WR_SEND_INV && w->life == t->life &&
	    !p->queue[t->host].lost && vb_cq_is_empty(p->queue[t->host].cq) &&
	    next_of(&d->link[w->target].turn[w->stream]) <= (uint32_t)(w - d->sent))
		fail("once", "a message of DC completed before it was received");
}

/* Its stream fails with it, or the QP. docs/dc.md */
static void on_failed(const struct play *p, struct dci *d, const struct dc_sent *w)
{
	d->trouble = true;
	if (d->moved || w->result == VB_WC_WR_FLUSH_ERR)
		return;
	if (d->bad_cnt + 1 >= d->bad_max) {
		/* Those of other streams may have succeeded before it, and nothing has said so. */
		for (uint32_t i = d->retired; i < d->sent_cnt; i++)
			d->sent[i].quiet = d->sent[i].stream != w->stream && !d->sent[i].signaled &&
					   statuses(p, d, &d->sent[i]) & BIT(VB_WC_SUCCESS);
		d->is_ended = true;
		return;
	}
	d->bad[w->stream] = true;
	d->bad_cnt++;
	for (uint32_t i = (uint32_t)(w - d->sent) + 1; i < d->sent_cnt; i++)
		d->sent[i].doomed |= d->sent[i].stream == w->stream;
}

static void retire(struct play *p, struct dci *d, struct dc_sent *w, enum vb_wc_status status)
{
	w->done = true;
	w->result = (uint8_t)status;
	slot_retired(&w->aim, w->op, status, &d->writer[w->stream]);
	while (d->retired < d->sent_cnt && d->sent[d->retired].done)
		d->retired++;
	if (status == VB_WC_SUCCESS) {
		check_done(p, d, w);
		return;
	}
	if (is_atomic(w->op) && !w->defect && !w->aim.target)
		d->link[w->target].cell_unsure = true;
	on_failed(p, d, w);
}

/* One without a completion of its own has succeeded. */
static void retire_quietly(struct play *p, struct dci *d, struct dc_sent *w)
{
	if (!(statuses(p, d, w) & BIT(VB_WC_SUCCESS)))
		fail("status", "request %u of an initiator succeeded, and must not",
		     (uint32_t)(w - d->sent));
	retire(p, d, w, VB_WC_SUCCESS);
}

static void on_sent(struct play *p, struct dci *d, uint32_t n, const struct vb_wc *wc)
{
	struct dc_sent *w = &d->sent[n];

	if (n >= d->sent_cnt || w->done || w->void_)
		fail("once", "request %u of an initiator completes %s", n,
		     n >= d->sent_cnt ? "" : "twice");
	for (uint32_t i = d->retired; i < n; i++) {
		struct dc_sent *u = &d->sent[i];

		if (u->done || u->stream != w->stream)
			continue;
		if (u->signaled)
			fail("order", "request %u of an initiator completes before request %u", n,
			     i);
		retire_quietly(p, d, u);
	}
	if (!(statuses(p, d, w) & BIT(wc->status)))
		fail("status",
		     "request %u of an initiator (opcode %u, %u bytes, defect %u, stream %u) ends "
		     "with status %d, and only the set %#x is right; vendor_err %u",
		     n, w->op, w->bytes, w->defect, w->stream, wc->status, statuses(p, d, w),
		     wc->vendor_err);
	if (wc->status == VB_WC_SUCCESS && (!w->signaled || wc->opcode != wc_opcode_of(w->op)))
		fail("status", "request %u of an initiator completes as opcode %d, signaled %d", n,
		     wc->opcode, w->signaled);
	retire(p, d, w, wc->status);
}

static bool is_message(const struct dct *t, const struct dc_sent *w, const struct buf *b,
		       const struct vb_wc *wc)
{
	bool write = w->op == VB_WR_RDMA_WRITE_IMM, imm = w->op == VB_WR_SEND_IMM || write;
	struct bytes is = bytes_of(w);

	if (wc->opcode != (write ? VB_WC_RECV_RDMA_WITH_IMM : VB_WC_RECV) ||
	    wc->byte_len != w->bytes ||
	    (wc->flags & VB_WC_WITH_IMM) != (imm ? VB_WC_WITH_IMM : 0) ||
	    (imm && wc->imm != w->imm))
		return false;
	if (write && w->aim.target)
		return true;
	return write ? region_holds(&t->region, w, true) : buf_holds(&t->mem, b, &is, true, 0);
}

/* It never arrived, and never will. */
static bool has_failed(const struct play *p, const struct dci *d, const struct dc_sent *w)
{
	/* No window that an initiator could name serves a target, so none is invalidated: IBA
	 * 10.6.7.2.5, 9.9.6.3 */
	return w->void_ || w->op == VB_WR_SEND_INV || (w->done && w->result != VB_WC_SUCCESS) ||
	       !vb_cq_is_empty(p->queue[d->host].cq);
}

static void add_next(struct dc_turn *l, uint32_t n)
{
	uint32_t at = l->next_cnt;

	for (; at > 0 && l->next[at - 1] >= n; at--)
		if (l->next[at - 1] == n)
			return;
	if (l->next_cnt == DC_NEXT)
		return;
	memmove(&l->next[at + 1], &l->next[at], (l->next_cnt - at) * sizeof l->next[0]);
	l->next[at] = n;
	l->next_cnt++;
}

/* Requests of the stream of @d from @next on that may be what has arrived at @t; *now: what may
 * come then. */
static void find_from(const struct play *p, const struct dci *d, uint32_t stream,
		      const struct dct *t, const struct buf *b, const struct vb_wc *wc,
		      uint32_t next, struct dc_turn *now)
{
	for (uint32_t i = next; i < d->sent_cnt; i++) {
		const struct dc_sent *w = &d->sent[i];

		if (w->stream != stream || w->target != t - p->dc->dct || !takes_receive(w->op))
			continue;
		if (w->op != VB_WR_SEND_INV && is_message(t, w, b, wc))
			add_next(now, i + 1);
		/* One that failed may have arrived all the same. */
		if (!has_failed(p, d, w))
			break;
	}
}

/* A message of the stream of @d has arrived at @t. False: it cannot be one. */
static bool find_message(const struct play *p, struct dci *d, uint32_t stream, const struct dct *t,
			 const struct buf *b, const struct vb_wc *wc)
{
	struct dc_turn *l = &d->link[t - p->dc->dct].turn[stream], now = {0};

	find_from(p, d, stream, t, b, wc, l->next_cnt ? l->next[0] : 0, &now);
	for (uint32_t i = 1; i < l->next_cnt; i++)
		find_from(p, d, stream, t, b, wc, l->next[i], &now);
	/* A target that was reset knows no more what it had carried out. */
	for (uint32_t i = d->retired; now.next_cnt == 0 && i < next_of(l); i++) {
		const struct dc_sent *w = &d->sent[i];

		if (w->stream == stream && w->target == t - p->dc->dct && takes_receive(w->op) &&
		    w->life != t->life && is_message(t, w, b, wc))
			add_next(&now, i + 1);
	}
	if (now.next_cnt == 0)
		return false;
	memcpy(l->next, now.next, sizeof l->next);
	l->next_cnt = now.next_cnt;
	return true;
}

static void on_message(struct play *p, struct dct *t, const struct buf *b, const struct vb_wc *wc)
{
	uint32_t stream = 0;
	struct dci *d = p->dc->dci;

	while (d < p->dc->dci + DCIS_MAX && !(d->exists && d->qpn == wc->src_qpn))
		d++;
	if (d == p->dc->dci + DCIS_MAX)
		fail("once", "a message of DC is from %#x, which is no initiator", wc->src_qpn);
	while (stream < d->streams && !find_message(p, d, stream, t, b, wc))
		stream++;
	if (stream == d->streams)
		fail("once",
		     "%u bytes (opcode %d, flags %u) arrived at a target that nobody sent, or not "
		     "in this turn; next of the first stream is request %u of %#x",
		     wc->byte_len, wc->opcode, wc->flags, next_of(&d->link[t - p->dc->dct].turn[0]),
		     d->qpn);
}

static void on_received(struct play *p, struct dct *t, uint32_t n, const struct vb_wc *wc)
{
	struct posted *r = &t->recv[n];
	bool trouble = t->moved, hurts = false;
	uint32_t ok = 0;

	CHECK("once", n < DC_SRQ_WRS && r->buf.span && !r->done);
	r->done = true;
	if (wc->status == VB_WC_SUCCESS) {
		on_message(p, t, &r->buf, wc);
	} else {
		for (uint32_t i = 0; i < DCIS_MAX; i++) {
			trouble |= p->dc->dci[i].trouble || p->dc->dci[i].void_cnt;
			hurts |= p->dc->dci[i].hurts_ever;
		}
		if (trouble || hurts || p->wild)
			ok |= BIT(VB_WC_WR_FLUSH_ERR);
		if (hurts)
			ok |= BIT(VB_WC_LOC_ACCESS_ERR) | BIT(VB_WC_REM_INV_REQ_ERR);
		if (!(ok & BIT(wc->status)))
			fail("status",
			     "a receive of a target ends with status %d, and only the set %#x is "
			     "right",
			     wc->status, ok);
	}
	memset(t->mem.base + r->buf.off, CANARY, r->buf.span);
	t->posted--;
}

void dc_completion(struct play *p, struct dc *dc, uint32_t host, const struct vb_wc *wc)
{
	uint32_t n = (uint32_t)wc->wr_id, slot = (uint32_t)(wc->wr_id >> 40) & 0xffff;

	if (wc->wr_id & ID_RECV) {
		CHECK("once", dc && slot < DCTS_MAX && dc->dct[slot].qp == wc->qp &&
				  dc->dct[slot].host == host && dc->dct[slot].qpn == wc->qpn);
		on_received(p, &dc->dct[slot], n, wc);
		return;
	}
	CHECK("once", dc && slot < DCIS_MAX && dc->dci[slot].qp == wc->qp &&
			  dc->dci[slot].host == host && dc->dci[slot].qpn == wc->qpn);
	on_sent(p, &dc->dci[slot], n, wc);
}

void dci_void(struct dci *d)
{
	for (; d->retired < d->sent_cnt; d->retired++) {
		struct dc_sent *w = &d->sent[d->retired];

		if (w->done)
			continue;
		w->void_ = true;
		slot_retired(&w->aim, w->op, VB_WC_WR_FLUSH_ERR, &d->writer[w->stream]);
		d->void_cnt++;
		if (is_atomic(w->op) && !w->aim.target)
			d->link[w->target].cell_unsure = true;
	}
}

void dci_check(struct play *p, const struct dc *dc, struct dci *d)
{
	if (!d->qp || p->queue[d->host].lost)
		return;

	enum vb_qp_state s = vb_qp_get_state(d->qp);

	(void)dc;
	/* Those without a completion of their own have succeeded. */
	for (uint32_t i = d->retired; i < d->sent_cnt && vb_qp_send_room(d->qp) >= d->depth; i++)
		if (!d->sent[i].done && !d->sent[i].signaled)
			retire_quietly(p, d, &d->sent[i]);
	if (d->retired != d->sent_cnt)
		fail("stuck",
		     "request %u (opcode %u) of %u of an initiator does not complete; QP "
		     "state %d",
		     d->retired, d->sent[d->retired].op, d->sent_cnt, s);
	if (s != (d->moved || d->is_ended ? VB_QPS_ERR : VB_QPS_RTS))
		fail("status", "an initiator is in state %d; streams in error %u of %u", s,
		     d->bad_cnt, d->bad_max);
}

/* Every byte of the region is what it was, or what a request wrote there. */
void dct_check(struct play *p, const struct dc *dc, const struct dct *t)
{
	uint32_t slot = (uint32_t)(t - dc->dct);
	uint8_t *written = play_alloc(t->region.size);

	if (t->qp && !p->queue[t->host].lost && vb_qp_get_state(t->qp) == VB_QPS_ERR &&
	    !t->last_wqe)
		fail("stuck", "a target has ended, and no event says so");
	for (uint32_t i = 0; i < DCIS_MAX; i++) {
		const struct dci *d = &dc->dci[i];
		uint64_t cell;

		memcpy(&cell, t->region.base + i * 8, 8);
		if (!d->link[slot].cell_unsure && d->exists && cell != d->link[slot].cell)
			fail("bytes", "a cell of atomics holds %#llx instead of %#llx",
			     (unsigned long long)cell, (unsigned long long)d->link[slot].cell);
		for (uint32_t k = 0; k < d->sent_cnt; k++) {
			const struct dc_sent *w = &d->sent[k];

			if (w->target != slot || !is_write(w->op) || w->aim.target ||
			    (w->defect && w->defect != DEFECT_LOCAL_AWAY &&
			     w->defect != DEFECT_LOCAL_BOUNDS))
				continue;
			if (!region_holds(&t->region, w, w->done && w->result == VB_WC_SUCCESS))
				fail("bytes", "a WRITE of DC of %u bytes left others", w->bytes);
			memset(written + w->off, 1, w->bytes);
		}
	}
	for (uint32_t i = 0; i < PATTERN_LEN; i++)
		if (t->region.base[PATTERN_AT + i] != byte_of(t->pattern, i))
			fail("guard", "a byte that nobody writes was written");
	/* Before what is away, a WRITE of which the end is there may have left its begin. */
	for (uint32_t i = PATTERN_AT + PATTERN_LEN; i < t->region.size; i++)
		if (!written[i] && t->region.base[i] != CANARY && !(i >= SCRATCH_AT && i < AWAY_AT))
			fail("guard", "a byte of a target's region was written that nobody wrote");
	free(written);
}
