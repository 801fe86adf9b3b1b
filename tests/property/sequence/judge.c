/* SPDX-License-Identifier: BSD-2-Clause */
/* Judges completions and memory against the model. See play.h. */
#include "dc.h"

#include <stdlib.h>
#include <string.h>

#define BIT(status) (1u << (status))

bool end_lives(const struct end *e)
{
	if (!receiver_of(e) || e->was_dead)
		return false;

	enum vb_qp_state s = vb_qp_get_state(receiver_of(e));

	return s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE;
}

/* The statuses that @w may end with when nothing else has gone wrong. */
static uint32_t sound_statuses(struct play *p, struct end *e, const struct sent *w)
{
	struct end *to = peer_of(e);
	bool rc = e->conn->reliable;
	uint32_t ok = BIT(VB_WC_SUCCESS);

	switch ((enum defect)w->defect) {
	case DEFECT_LKEY:
	case DEFECT_LOCAL_BOUNDS:
	case DEFECT_LOCAL_AWAY:
		return BIT(VB_WC_LOC_PROT_ERR);
	case DEFECT_RKEY:
	case DEFECT_BOUNDS:
	case DEFECT_RIGHT:
	case DEFECT_NULL:
	case DEFECT_AWAY:
		return !needs_key(w->op, w->bytes) || !rc ? ok : BIT(VB_WC_REM_ACCESS_ERR);
	case DEFECT_DOMAIN:
		return BIT(VB_WC_REM_ACCESS_ERR);
	case DEFECT_SRQN:
	case DEFECT_ALIGN:
		return BIT(VB_WC_REM_INV_REQ_ERR);
	default:
		break;
	}
	if (w->op == VB_WR_BIND_MW || w->op == VB_WR_LOCAL_INV)
		return window_says(p, &w->aim, w->op, &ok) ? ok : ok | BIT(VB_WC_MW_BIND_ERR);
	if (!rc)
		return ok;
	if (w->target)
		ok = slot_statuses(p, &w->aim, w->op, w->bytes);
	if (!takes_receive(w->op) || !(ok & BIT(VB_WC_SUCCESS)) || w->op == VB_WR_RDMA_WRITE_IMM)
		return ok;
	if (to->was_dead)
		return to->spoilt ? ok | BIT(VB_WC_REM_INV_REQ_ERR) | BIT(VB_WC_REM_OP_ERR) : ok;
	/* A SEND takes a certain receive, unless they are shared. */
	if (!e->conn->srq && to->recv_epoch + w->recvs < to->recv_cnt) {
		const struct posted *r = &to->recv[to->recv_epoch + w->recvs];

		if (r->buf.len < w->bytes)
			return BIT(VB_WC_REM_INV_REQ_ERR) | (r->defect ? BIT(VB_WC_REM_OP_ERR) : 0);
		if (r->defect && w->bytes)
			return BIT(VB_WC_REM_OP_ERR);
	}
	return ok;
}

/* ... and what is gone in between. */
static uint32_t own_statuses(struct play *p, struct end *e, const struct sent *w)
{
	uint32_t ok = sound_statuses(p, e, w);
	bool told = w->op != VB_WR_LOCAL_INV && w->op != VB_WR_BIND_MW;

	/* The SRQ is missing when the request comes, or (the keys are of its PD) when the peer
	 * answers it. */
	if (e->conn->is_xrc && told && w->srq_life != p->srq[peer_of(e)->host][w->srq].life)
		ok |= BIT(VB_WC_REM_INV_REQ_ERR) |
		      (w->op == VB_WR_RDMA_READ ? BIT(VB_WC_REM_ACCESS_ERR) : 0);
	return ok;
}

/* ... and what earlier errors, and the state of the peer and of the network, add. */
static uint32_t statuses(struct play *p, struct end *e, const struct sent *w)
{
	struct end *to = peer_of(e);
	uint32_t ok = own_statuses(p, e, w);
	bool acked = e->conn->reliable && w->op != VB_WR_LOCAL_INV && w->op != VB_WR_BIND_MW;

	if (e->moved || e->failed || (!e->conn->is_xrc && (to->hurts || e->spoilt)))
		ok |= BIT(VB_WC_WR_FLUSH_ERR);
	if (acked && (!end_lives(to) || p->wild || e->conn->unsure))
		ok |= BIT(VB_WC_RETRY_EXC_ERR);
	/* A fatal NAK of a later request ends a READ or atomic whose answer was lost. */
	if (is_answered(w->op) && (p->wild || p->hits) && (e->hurts || to->spoilt))
		ok |=
		    BIT(VB_WC_REM_ACCESS_ERR) | BIT(VB_WC_REM_INV_REQ_ERR) | BIT(VB_WC_REM_OP_ERR);
	if (acked && e->conn->rnr < 7)
		ok |= BIT(VB_WC_RNR_RETRY_EXC_ERR);
	return ok;
}

/* All bytes of @w. */
static struct bytes bytes_of(const struct sent *w)
{
	return (struct bytes){w->id, &w->buf, 0, w->bytes};
}

static bool region_is(const struct mem *m, const struct sent *w, bool whole)
{
	struct bytes is = bytes_of(w);

	return mem_holds(m, w->off, &is, whole);
}

static void check_atomic(const struct end *e, const struct sent *w)
{
	uint64_t known, old = buf_value(&e->local, &w->buf, &known);

	if ((old ^ w->old) & known)
		fail("bytes", "an atomic returned %#llx instead of %#llx", (unsigned long long)old,
		     (unsigned long long)w->old);
}

/* Whether success of @w means that it was received: whether an invalidation was carried out is
 * told to the responder alone. IBA 9.9.6.3 */
static bool is_received(const struct play *p, const struct sent *w)
{
	uint32_t says;

	return takes_receive(w->op) &&
	       (w->op != VB_WR_SEND_INV ||
		(window_says(p, &w->aim, w->op, &says) && says & BIT(VB_WC_SUCCESS)));
}

/* The effects of success on memory, and (@received) on the receiver. */
static void check_done(struct play *p, struct end *e, const struct sent *w, bool received)
{
	struct end *to = peer_of(e);
	bool rc = e->conn->reliable;

	if (w->target) {
		struct bytes is = bytes_of(w);

		slot_check(p, &w->aim, w->op, &e->local, &w->buf, &is);
	}
	if (w->target || w->defect)
		return;
	if (w->op == VB_WR_RDMA_READ) {
		const struct sent *of = w->reads ? &e->sent[w->reads - 1] : NULL;
		struct bytes is = {of ? of->id : to->pattern, of ? &of->buf : NULL,
				   w->off - (of ? of->off : PATTERN_AT), w->bytes};

		if (!buf_holds(&e->local, &w->buf, &is, true, 0))
			fail("bytes", "a READ of %u bytes returned others", w->bytes);
	} else if (is_atomic(w->op)) {
		check_atomic(e, w);
	} else if (rc && is_write(w->op) && !region_is(&to->region, w, true)) {
		fail("bytes", "a WRITE of %u bytes completed, and they are not there", w->bytes);
	}
	if (rc && received && w->epoch_in == to->recv_life && to->qp && !p->queue[to->host].lost &&
	    vb_cq_is_empty(p->queue[to->host].cq) && to->in_next <= (uint32_t)(w - e->sent))
		fail("once", "a message completed before it was received");
}

static void retire(struct play *p, struct end *e, struct sent *w, enum vb_wc_status status)
{
	bool received = is_received(p, w);

	w->result = (uint8_t)status;
	window_retired(p, w, true);
	w->done = true;
	/* Behind what the peer refused it carries out nothing. */
	slot_retired(&w->aim, w->op,
		     status == VB_WC_WR_FLUSH_ERR && e->is_refused ? VB_WC_REM_OP_ERR : status,
		     &e->writer);
	e->is_refused |= status == VB_WC_REM_ACCESS_ERR || status == VB_WC_REM_INV_REQ_ERR ||
			 status == VB_WC_REM_OP_ERR;
	if (status == VB_WC_SUCCESS)
		check_done(p, e, w, received);
	else if (status != VB_WC_WR_FLUSH_ERR)
		e->failed = true;
	e->retired++;
}

enum vb_wc_opcode wc_opcode_of(uint8_t op)
{
	static const uint8_t opcode[VB_WR_CNT] = {
	    [VB_WR_RDMA_WRITE] = VB_WC_RDMA_WRITE, [VB_WR_RDMA_WRITE_IMM] = VB_WC_RDMA_WRITE,
	    [VB_WR_RDMA_READ] = VB_WC_RDMA_READ,   [VB_WR_COMPARE_SWAP] = VB_WC_COMP_SWAP,
	    [VB_WR_FETCH_ADD] = VB_WC_FETCH_ADD,   [VB_WR_LOCAL_INV] = VB_WC_LOCAL_INV,
	    [VB_WR_BIND_MW] = VB_WC_BIND_MW,       [VB_WR_ATOMIC_WRITE] = VB_WC_ATOMIC_WRITE,
	    [VB_WR_FLUSH] = VB_WC_FLUSH,
	};

	return (enum vb_wc_opcode)opcode[op];
}

static void on_sent(struct play *p, struct end *e, uint32_t n, const struct vb_wc *wc)
{
	struct sent *w = &e->sent[n];

	if (n >= e->sent_cnt || w->done || w->void_)
		fail("once", "request %u completes %s", n, n >= e->sent_cnt ? "" : "twice");
	/* In order; those without a completion of their own have succeeded. */
	while (e->retired < n) {
		struct sent *u = &e->sent[e->retired];

		if (!u->void_ && u->signaled)
			fail("order", "request %u completes before request %u", n, e->retired);
		if (!u->void_ && !(own_statuses(p, e, u) & BIT(VB_WC_SUCCESS)))
			fail("status", "request %u succeeded, and must not", e->retired);
		retire(p, e, u, VB_WC_SUCCESS);
	}
	if (!(statuses(p, e, w) & BIT(wc->status)))
		fail("status",
		     "request %u (opcode %u, %u bytes, defect %u) ends with status %d, and only "
		     "the set %#x is right; vendor_err %u",
		     n, w->op, w->bytes, w->defect, wc->status, statuses(p, e, w), wc->vendor_err);
	if (wc->status == VB_WC_SUCCESS && (!w->signaled || wc->opcode != wc_opcode_of(w->op)))
		fail("status", "request %u completes as opcode %d, signaled %d", n, wc->opcode,
		     w->signaled);
	if (!e->conn->reliable && wc->status != VB_WC_SUCCESS && wc->status != VB_WC_WR_FLUSH_ERR &&
	    (vb_qp_get_state(e->qp) == VB_QPS_RTS || vb_qp_get_state(e->qp) == VB_QPS_SQD))
		fail("status", "a QP is in state %d after an error of its send queue",
		     vb_qp_get_state(e->qp));
	if (w->op == VB_WR_BIND_MW && wc->status == VB_WC_SUCCESS)
		for (uint32_t i = 0; i < MWS_MAX; i++)
			if (p->mw[i].mw && p->mw[i].host == e->host)
				p->mw[i].rkey = vb_mw_rkey(p->mw[i].mw);
	retire(p, e, w, wc->status);
}

void end_settle(struct play *p, struct end *e)
{
	for (; e->retired < e->sent_cnt && !e->sent[e->retired].signaled;) {
		struct sent *w = &e->sent[e->retired];

		if (!(own_statuses(p, e, w) & BIT(VB_WC_SUCCESS)))
			fail("status", "request %u succeeded, and must not", e->retired);
		retire(p, e, w, VB_WC_SUCCESS);
	}
}

/* True when buffer @b of @m holds message @w of @from as @wc says. */
static bool is_message(const struct end *e, const struct sent *w, const struct mem *m,
		       const struct buf *b, const struct vb_wc *wc)
{
	bool write = w->op == VB_WR_RDMA_WRITE_IMM, ud = e->conn->type == VB_QPT_UD;
	bool imm = w->op == VB_WR_SEND_IMM || write, inv = w->op == VB_WR_SEND_INV;
	uint32_t skip = ud ? VB_GRH_LEN : 0;
	uint32_t flags =
	    (imm ? VB_WC_WITH_IMM : 0u) | (inv ? VB_WC_WITH_INV : 0u) | (ud ? VB_WC_GRH : 0u);

	if (wc->opcode != (write ? VB_WC_RECV_RDMA_WITH_IMM : VB_WC_RECV) ||
	    wc->byte_len != w->bytes + skip ||
	    (wc->flags & (VB_WC_WITH_IMM | VB_WC_WITH_INV | VB_WC_GRH)) != flags ||
	    ((imm || inv) && wc->imm != w->imm))
		return false;
	/* An unreliable message that broke off leaves its bytes behind the next one's. */
	if (!write)
		return buf_holds(m, b, &(struct bytes){w->id, &w->buf, 0, w->bytes},
				 e->conn->reliable, skip);
	return !e->conn->reliable || b->sge_cnt == 0 || b->nulls & 1 ||
	       m->base[b->sge[0].addr - m->iova] == CANARY || b->sge[0].length == 0;
}

static void on_message(struct play *p, struct end *e, const struct mem *m, const struct buf *b,
		       uint32_t srq, const struct vb_wc *wc)
{
	struct end *from = peer_of(e);
	bool rc = e->conn->reliable, ud = e->conn->type == VB_QPT_UD;
	uint32_t group = 0, *next = &e->in_next;
	/* A UC message of one packet counts as new wherever it comes from. IBA 9.8.2.2 */
	uint32_t i = ud || (!rc && (p->disorder || e->conn->unsure)) ? 0 : e->in_next;

	if (ud)
		from = group_sender(p, e, m, b, wc, &group);
	if (group) {
		next = group_next(p, e, from, group);
		e->group_got += from->host != e->host;
		i = p->disorder || !from->conn->first_life || !e->conn->first_life ? 0 : *next;
	}
	for (; i < from->sent_cnt; i++) {
		struct sent *w = &from->sent[i];

		if (!takes_receive(w->op) || w->group != group)
			continue;
		if (is_message(e, w, m, b, wc)) {
			uint32_t says;

			if (w->op == VB_WR_SEND_INV && !w->done &&
			    window_says(p, &w->aim, w->op, &says) && !(says & BIT(VB_WC_SUCCESS)))
				fail("status", "message %u invalidates what it cannot", i);
			if (w->op == VB_WR_RDMA_WRITE_IMM && !w->target && !w->defect && w->bytes &&
			    !region_is(&e->region, w, true))
				fail("bytes", "a WRITE with immediate was told before its bytes");
			if (e->conn->is_xrc && (srq != w->srq || wc->src_qpn != from->qpn))
				fail("once",
				     "message %u, to SRQ %u of the host, arrives at %u, from %#x",
				     i, w->srq, srq, wc->src_qpn);
			*next = i + 1;
			return;
		}
		if (rc)
			fail("bytes",
			     "side %u received %u bytes (opcode %d, flags %u) that are not message "
			     "%u of %u bytes, opcode %u",
			     e->side, wc->byte_len, wc->opcode, wc->flags, i, w->bytes, w->op);
	}
	fail("once", "%u bytes arrived that nobody sent, or that had arrived before", wc->byte_len);
}

static void on_received(struct play *p, struct end *e, struct posted *r, const struct mem *m,
			uint32_t srq, const struct vb_wc *wc)
{
	struct end *from = peer_of(e);
	uint32_t ok = 0;

	if (!r->buf.len && !r->buf.span)
		fail("once", "a receive completes that was not posted");
	if (r->done)
		fail("once", "a receive completes twice");
	r->done = true;
	if (wc->status == VB_WC_SUCCESS) {
		on_message(p, e, m, &r->buf, srq, wc);
		return;
	}
	if ((e->conn->is_xrc ? e->tgt_moved : e->moved || e->failed) || from->hurts || e->spoilt ||
	    vb_qp_get_state(receiver_of(e)) == VB_QPS_ERR)
		ok |= BIT(VB_WC_WR_FLUSH_ERR);
	if (e->spoilt)
		ok |= BIT(VB_WC_LOC_LEN_ERR) | BIT(VB_WC_LOC_PROT_ERR);
	if (from->hurts)
		ok |= BIT(VB_WC_LOC_QP_OP_ERR) | BIT(VB_WC_REM_INV_REQ_ERR) |
		      BIT(VB_WC_LOC_ACCESS_ERR);
	if (!(ok & BIT(wc->status)))
		fail("status",
		     "a receive of %u bytes ends with status %d, and only the set %#x is right",
		     r->buf.len, wc->status, ok);
}

void play_completion(struct play *p, uint32_t host, const struct vb_wc *wc)
{
	uint32_t n = (uint32_t)wc->wr_id, conn = (uint32_t)(wc->wr_id >> 40) & 0xffff;
	struct end *e = NULL;

	p->count.completions++;
	if (wc->wr_id & ID_DC) {
		dc_completion(p, p->dc, host, wc);
		return;
	}
	/* The QP says whose completion it is; with an SRQ nothing else does. */
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; i < 2; i++) {
			struct end *x = &p->conn[c].end[i];

			/* The receives of a target belong to the SRQ, and name no QP. */
			if (p->conn[c].exists && x->qp && x->host == host &&
			    (wc->qp ? x->qp == wc->qp : x->tgt && vb_qp_number(x->tgt) == wc->qpn))
				e = x;
		}
	if (!e || (wc->qp && e->qpn != wc->qpn))
		fail("once", "a completion of a QP that does not exist");
	if (wc->wr_id & ID_SRQ) {
		uint32_t which = n / SRQ_WRS;
		struct srq *s = &p->srq[host][which];

		n %= SRQ_WRS;
		CHECK("once", conn == host && which < SRQS && n < s->wrs && e->conn->srq &&
				  e->conn->is_xrc == (which != SRQ_PLAIN));
		on_received(p, e, &s->recv[n], &s->mem, which, wc);
		memset(s->mem.base + s->recv[n].buf.off, CANARY, s->recv[n].buf.span);
		s->posted--;
		return;
	}
	CHECK("once", &p->conn[conn] == e->conn && (wc->wr_id >> 39 & 1) == e->side);
	if (!(wc->wr_id & ID_RECV)) {
		on_sent(p, e, n, wc);
		return;
	}
	if (n != e->recv_done)
		fail("order", "receive %u completes, and %u is next", n, e->recv_done);
	CHECK("once", n < e->recv_cnt);
	on_received(p, e, &e->recv[n], &e->local, SRQS, wc);
	e->recv_done++;
}

void end_void(struct play *p, struct end *e)
{
	for (; e->retired < e->sent_cnt; e->retired++) {
		e->sent[e->retired].void_ = true;
		slot_retired(&e->sent[e->retired].aim, e->sent[e->retired].op, VB_WC_WR_FLUSH_ERR,
			     &e->writer);
		window_retired(p, &e->sent[e->retired], false);
	}
	e->recv_done = e->recv_cnt;
}

/* The cell holds what some number of its atomics, in order, made of it: all that were told, maybe
 * some that were not. */
static void check_cell(struct end *e, uint32_t cell)
{
	const struct end *from = peer_of(e);
	uint64_t v = e->cell_start[cell], got, found = 0;
	bool told = false;

	memcpy(&got, e->region.base + cell * 8, sizeof got);
	found = got == v;
	for (uint32_t i = from->epoch; i < from->sent_cnt; i++) {
		const struct sent *w = &from->sent[i];

		if (!is_atomic(w->op) || w->off != cell * 8 || w->target || w->defect)
			continue;
		told = w->done && w->result == VB_WC_SUCCESS;
		if (w->op == VB_WR_FETCH_ADD)
			v = w->old + w->add;
		else
			v = w->old == w->add ? w->swap : w->old;
		found = (found && !told) || got == v;
	}
	if (!found)
		fail("bytes", "the cell of atomics holds %#llx, which no order of them makes",
		     (unsigned long long)got);
}

/* Every byte of the region is what it was, or what a request wrote there. */
void end_check(struct play *p, struct end *e)
{
	const struct end *from = peer_of(e);
	uint32_t at = PATTERN_AT + PATTERN_LEN;

	(void)p;
	for (uint32_t i = 0; i < CELLS; i++)
		check_cell(e, i);
	for (uint32_t i = 0; i < PATTERN_LEN; i++)
		if (e->region.base[PATTERN_AT + i] != byte_of(e->pattern, i))
			fail("guard", "a byte that nobody writes was written");
	for (uint32_t i = 0; i < from->sent_cnt; i++) {
		const struct sent *w = &from->sent[i];

		if (!is_write(w->op) || w->target)
			continue;
		if (at < w->off && !is_canary(e->region.base + at, w->off - at))
			fail("guard", "a byte was written between two WRITEs");
		if (w->defect && w->defect != DEFECT_LOCAL_AWAY &&
		    w->defect != DEFECT_LOCAL_BOUNDS &&
		    !is_canary(e->region.base + w->off, w->bytes))
			fail("guard", "a WRITE that is refused wrote");
		if (!region_is(&e->region, w,
			       e->conn->reliable && w->done && !w->defect &&
				   w->result == VB_WC_SUCCESS))
			fail("bytes", "a WRITE of %u bytes left others", w->bytes);
		at = w->off + w->bytes;
	}
	/* Before what is away, a WRITE of which the end is there may have left its begin. */
	if (!is_canary(e->region.base + at, SCRATCH_AT - at) ||
	    !is_canary(e->region.base + AWAY_AT, AWAY_BYTES))
		fail("guard", "a byte was written behind the last WRITE");
	if (!is_canary(e->local.base + AWAY_AT, AWAY_BYTES))
		fail("guard", "a byte was written that is away");
}
