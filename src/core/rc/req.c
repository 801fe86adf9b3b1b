/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: which packet goes next, and what holds it back. It owns psn_una <= psn_nxt <=
 * psn_max and the place in the send queue that belongs to psn_nxt; req_emit.c says what a packet
 * is. Going back is moving psn_nxt to psn_una. IBA 9.7.2, 9.7.3, 10.8.3
 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/dc/dc.h"
#include "core/obj/mw.h"
#include "core/rc/rc.h"
#include "core/sched/peer.h"

#include <errno.h>

static bool window_is_full(const struct vb_qp *qp, const struct vb_swqe *w, uint32_t pkts)
{
	uint32_t window = qp->hca->cfg.peer_window_bytes;

	if (!qp->peer || window == 0 || qp->peer->inflight == 0)
		return false;

	uint64_t cost = (uint64_t)pkts * (qp->mtu + VB_PACKET_OVERHEAD);
	uint64_t whole = w->length + (uint64_t)w->pkts * VB_PACKET_OVERHEAD;

	return qp->peer->inflight + (cost < whole ? cost : whole) > window;
}

/* End-to-end credits: a message that takes a receive WQE waits for one, but for a probe when
 * nothing else is on its way. IBA 9.7.7.2 */
static bool credit_is_short(const struct vb_qp *qp, const struct vb_swqe *w)
{
	const struct vb_requester *req = &qp->req;

	if (!req->credit_limited || !vb_swqe_takes_recv(w) ||
	    (int32_t)(w->rsn - req->rsn_limit) <= 0)
		return false;
	return !vb_psn_eq(req->psn_una, req->psn_nxt);
}

/* What keeps the packet at psn_nxt of @w from leaving now. A GSO batch that began leaves whole. */
static enum vb_block req_gate(const struct vb_qp *qp, const struct vb_swqe *w, bool in_gso)
{
	const struct vb_requester *req = &qp->req;
	bool starts = vb_psn_eq(req->psn_nxt, w->first);
	uint32_t pkts = vb_req_emit_pkts(qp, w, req->psn_nxt);
	uint32_t span = vb_psn_span(req->psn_una, req->psn_nxt);

	/* SQD finishes the message under way and starts none. IBA 10.3.1.5 */
	if (qp->state == VB_QPS_SQD && starts && vb_psn_eq(req->psn_nxt, req->psn_max))
		return VB_BLOCK_STATE;
	if (!qp->ops->is_acked)
		return VB_BLOCK_NONE;
	if (starts && (w->flags & VB_SEND_FENCE) && req->rd_out)
		return VB_BLOCK_FENCE; /* IBA 10.8.3.3 */
	if (qp->ops->req) {
		enum vb_block block = qp->ops->req->gate(qp, w);

		if (block != VB_BLOCK_NONE)
			return block;
	}
	/* Where none is allowed, waiting would not help: sending fails. */
	if (vb_swqe_wants_response(w) && req->rd_out && req->rd_out >= qp->attr.max_rd_atomic)
		return VB_BLOCK_RD_ATOMIC;
	if (starts && credit_is_short(qp, w))
		return VB_BLOCK_CREDIT;
	if (span + pkts > VB_PSN_HALF || (qp->sr && qp->hca->repeat->is_full(qp, span, pkts)))
		return VB_BLOCK_PSN_WINDOW;
	if (vb_window_is_full(&req->window, req->psn_una, req->psn_nxt, pkts))
		return VB_BLOCK_TX_WINDOW;
	if (!in_gso && window_is_full(qp, w, pkts))
		return VB_BLOCK_WINDOW;
	return VB_BLOCK_NONE;
}

void vb_req_fail(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now)
{
	if (status != VB_WC_WR_FLUSH_ERR) /* of a stream of DC: the error came before */
		vb_qp_trace(qp, VB_TRACE_FAILED, now, status, vendor_err,
			    vb_sq_at(&qp->sq, qp->sq.head)->wr_id,
			    vb_sq_at(&qp->sq, qp->sq.head)->opcode);
	if (qp->ops->req && qp->state != VB_QPS_ERR &&
	    qp->ops->req->fail(qp, status, vendor_err, now))
		return;
	vb_send_complete(qp, status, vendor_err, now);
	if (qp->state == VB_QPS_ERR)
		return; /* the completion has overrun its CQ */
	if (qp->ops->is_acked)
		vb_qp_enter_err(vb_qp_whole(qp), now);
	else
		vb_qp_enter_sqe(qp, now);
}

static void sqd_check_drained(struct vb_qp *qp)
{
	const struct vb_requester *req = &qp->req;
	const struct vb_qp *lane;

	if (qp->state != VB_QPS_SQD || !qp->sq_draining || !vb_psn_eq(req->psn_una, req->psn_max))
		return;
	/* Everything sent may be acknowledged while the rest of the message waits for the window.
	 */
	if (qp->sq.nxt != qp->sq.tail &&
	    !vb_psn_eq(req->psn_nxt, vb_sq_at(&qp->sq, qp->sq.nxt)->first))
		return;
	qp->sq_draining = false;
	qp = vb_qp_whole(qp);
	for (uint32_t i = 0; (lane = vb_qp_lane(qp, i)); i++) {
		if (lane->sq_draining)
			return;
	}
	if (qp->sqd_notify) {
		qp->sqd_notify = false;
		vb_qp_raise(qp, VB_ASYNC_SQ_DRAINED);
	}
}

VB_COLD static bool req_may_run_local(struct vb_qp *qp, const struct vb_swqe *w)
{
	if (w->flags & VB_SWQE_RAN)
		return true;
	if (qp->state == VB_QPS_SQD)
		return false;
	if ((w->flags & VB_SEND_FENCE) && qp->req.rd_out) {
		qp->req.block = VB_BLOCK_FENCE;
		return false;
	}
	return true;
}

/* A bind uses the fields of a WQE as vb_mw_create() says. */
VB_COLD static enum vb_wc_status run_bind(struct vb_qp *qp, const struct vb_swqe *w)
{
	struct vb_mw_bind bind = {.rkey = w->rkey,
				  .lkey = w->imm,
				  .addr = w->remote_addr,
				  .length = w->swap,
				  .access = (uint32_t)(w->compare_add >> 32),
				  .key_byte = (uint8_t)w->compare_add};

	return vb_mw_bind(qp->pd, qp->qpn, &bind);
}

/* Local work runs once, in the order of the queue; it completes with what was sent before it. */
VB_COLD static void req_run_local(struct vb_qp *qp, struct vb_swqe *w)
{
	if (!(w->flags & VB_SWQE_RAN)) {
		if (w->opcode == VB_WR_BIND_MW)
			w->status = (uint8_t)run_bind(qp, w);
		else if (vb_mw_invalidate(qp->pd, qp->qpn, w->imm))
			w->status = VB_WC_MW_BIND_ERR; /* any memory management error. 11.6.2 */
		w->flags |= VB_SWQE_RAN;
	}
	if (w->status == VB_WC_SUCCESS)
		qp->sq.nxt++;
}

void vb_req_complete_local(struct vb_qp *qp, vb_time now)
{
	struct vb_sq *sq = &qp->sq;

	while (sq->head != sq->tail && vb_sq_at(sq, sq->head)->flags & VB_SWQE_RAN &&
	       vb_sq_at(sq, sq->head)->status == VB_WC_SUCCESS)
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	if (sq->head == sq->nxt && sq->head != sq->tail) {
		const struct vb_swqe *w = vb_sq_at(sq, sq->head);

		if (w->status != VB_WC_SUCCESS) {
			vb_req_fail(qp, (enum vb_wc_status)w->status, 0, now);
			return;
		}
	}
	sqd_check_drained(qp);
}

/* Sends the packet at psn_nxt. False: it cannot be sent at all, and w->status says why. */
static bool req_send(struct vb_qp *qp, struct vb_swqe *w, struct vb_tx_batch *b, vb_time now)
{
	struct vb_requester *req = &qp->req;
	bool resend = vb_psn_before(req->psn_nxt, req->psn_max);
	bool responds = vb_swqe_wants_response(w);
	uint32_t access = w->traits & VB_WORK_FILLS_SGES ? VB_ACCESS_LOCAL_WRITE : 0;
	int pkts = 0;

	VB_ASSERT_ALL(w == vb_sq_at(&qp->sq, qp->sq.nxt) && req->state == VB_REQ_ACTIVE);
	if (responds && qp->attr.max_rd_atomic == 0) {
		w->status = VB_WC_LOC_QP_OP_ERR;
		return false;
	}
	if (vb_psn_eq(req->psn_nxt, w->first) && !(w->flags & VB_SEND_INLINE))
		pkts = vb_mem_check(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, access);
	if (pkts == 0)
		pkts = vb_req_emit(qp, w, req->psn_nxt,
				   vb_window_asks(&req->window, req->psn_nxt) || req->slow, b);
	if (pkts < 0) {
		w->status = VB_WC_LOC_PROT_ERR;
		return false;
	}
	if (resend)
		vb_qp_count(qp, VB_COUNTER_retransmitted_packets);
	if (qp->sr)
		qp->hca->repeat->sent(qp, resend, now);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, b->pkt[b->cnt - 1].hdr[0], req->psn_nxt.v,
		    b->pkt[b->cnt - 1].payload_len, resend);
	if (responds)
		req->rd_out++;
	req->psn_nxt = vb_psn_add(req->psn_nxt, (uint32_t)pkts);
	if (req->window.pkts && vb_tx_asks_ack(&b->pkt[b->cnt - 1]))
		req->window.asked = req->psn_nxt;
	req->psn_max = vb_psn_later(req->psn_max, req->psn_nxt);
	VB_ASSERT(vb_psn_span(w->first, req->psn_nxt) <= w->pkts);
	if (vb_psn_eq(req->psn_nxt, vb_swqe_end(w)))
		qp->sq.nxt++;
	return true;
}

/* After a packet left: an acked one waits for its ACK, another is done when its last packet left.
 */
static void req_sent(struct vb_qp *qp, vb_time now)
{
	struct vb_requester *req = &qp->req;

	if (qp->ops->is_acked) {
		vb_req_update_inflight(qp);
		if (qp->timer[VB_TIMER_ACK] == VB_NEVER)
			vb_req_arm(qp, now);
		return;
	}
	req->psn_una = req->psn_nxt;
	VB_ASSERT_ALL(qp->sq.nxt - qp->sq.head <= qp->sq.tail - qp->sq.head);
	while (qp->sq.head != qp->sq.nxt)
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	sqd_check_drained(qp);
}

/*
 * Packets of @w from psn_nxt on that had better leave together. The first one of a message may be
 * longer than the others, and then is no part of their GSO batch.
 */
static uint32_t gso_of(const struct vb_qp *qp, const struct vb_swqe *w)
{
	uint32_t at, most = qp->gso_pkts;

	if (w->pkts <= 1 || most <= 1 || vb_swqe_wants_response(w))
		return 1;
	at = vb_psn_span(w->first, qp->req.psn_nxt);
	VB_ASSERT_ALL(at < w->pkts);
	if (at == 0)
		most++;
	if (most > VB_TURN_PKTS)
		most = VB_TURN_PKTS;
	return w->pkts - at < most ? w->pkts - at : most;
}

/*
 * True when @gso packets have a place together. For those that are not the first of this turn
 * it may be in the next one. The first ones, which others that were owed may have left little of
 * the turn, go beyond *stop; or they wait for the next batch, and are first in it.
 */
static bool gso_fits(struct vb_requester *req, const struct vb_tx_batch *b, bool is_first,
		     uint32_t gso, uint32_t *stop)
{
	uint32_t end = b->cnt + gso;

	VB_ASSERT_ALL(gso >= 1 && gso <= VB_TURN_PKTS);
	if (gso == 1)
		return true;
	if (is_first && end > *stop)
		*stop = end;
	req->waits_batch = is_first && end > VB_TX_BATCH_PKTS;
	return end <= *stop && end <= VB_TX_BATCH_PKTS;
}

/*
 * True while a part of @gso waits for room for the whole. Not for ever: others may take what
 * there is again and again.
 */
static bool gso_waits(struct vb_requester *req, uint32_t gso, uint64_t room, uint32_t mtu,
		      vb_time now)
{
	if (gso == 1)
		return false;
	if (room >= (uint64_t)gso * mtu) {
		req->gso_at = 0;
		return false;
	}
	if (!req->gso_at)
		req->gso_at = now;
	return now - req->gso_at < VB_GSO_WAIT_NS;
}

/*
 * True while the receiver cannot take another packet, or not the whole of @gso. *room is what
 * it could take when asked, which is once a turn, for UD once a message. The timer lets the QP look
 * again.
 */
static bool room_is_short(struct vb_qp *qp, const struct vb_swqe *w, uint32_t gso, uint64_t *room,
			  vb_time now)
{
	const struct vb_hca_config *cfg = &qp->hca->cfg;

	if (!cfg->room)
		return false;
	if (!qp->ops->is_connected) {
		const struct vb_ud_dest *to = vb_swqe_ud(w);

		*room = cfg->room(cfg->room_ctx, &to->path, to->dqpn, now);
	} else if (*room == UINT64_MAX) {
		*room = cfg->room(cfg->room_ctx, &qp->attr.path, qp->attr.dest_qpn, now);
	}
	if (*room >= qp->mtu && !gso_waits(&qp->req, gso, *room, qp->mtu, now))
		return false;
	qp->req.block = VB_BLOCK_ROOM;
	vb_timer_set(qp, VB_TIMER_ROOM, vb_time_after(now, VB_ROOM_RETRY_NS));
	vb_qp_count(qp, VB_COUNTER_port_xmit_wait);
	return true;
}

/* A packet left: what it took of the receiver's room and of the QP's rate. */
static inline void req_left(struct vb_qp *qp, uint64_t *room, const struct vb_tx *tx, vb_time now)
{
	uint32_t len = vb_tx_wire_len(tx);

	vb_rate_request_left(qp, tx, now);
	if (*room <= UINT32_MAX)
		*room -= len < *room ? len : *room;
}

/* The packet at psn_nxt of @w, or the connect that goes before it. Returns how many of @w left. */
static uint32_t send_next(struct vb_qp *qp, struct vb_swqe *w, uint64_t *room,
			  struct vb_tx_batch *b, vb_time now)
{
	if (qp->ops->req && qp->ops->req->leads(qp)) {
		qp->ops->req->send(qp, b, now);
		req_left(qp, room, &b->pkt[b->cnt - 1], now);
		return 0;
	}
	if (!req_send(qp, w, b, now))
		return 0;
	req_left(qp, room, &b->pkt[b->cnt - 1], now);
	req_sent(qp, now);
	return 1;
}

/* A packet that the peer has reported missing. */
static void send_missing(struct vb_qp *qp, uint64_t *room, struct vb_tx_batch *b, vb_time now)
{
	uint32_t cnt = b->cnt;

	if (!qp->hca->repeat->resend(qp, b, now)) {
		/* Its memory is gone; it fails in its turn. */
		vb_req_rewind(qp, now, VB_REWIND_NAK);
		return;
	}
	if (b->cnt > cnt)
		req_left(qp, room, &b->pkt[b->cnt - 1], now);
}

bool vb_req_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	const struct vb_req_hooks *hooks = qp->ops->req;
	struct vb_sq *sq = &qp->sq;
	uint64_t room = UINT64_MAX;
	uint32_t from = b->cnt, left = 0; /* left of the GSO batch under way */
	bool limited = vb_rate_is_limited(qp);

	if (qp->ops->is_acked && (qp->req.window.idle_since != VB_NEVER ||
				  qp->req.window.epoch != vb_qp_rules(qp)->epoch))
		vb_req_open_window(qp, now);
	qp->req.slow = limited && vb_rate_asks_ack(qp);
	qp->req.block = VB_BLOCK_STATE;
	while ((qp->state == VB_QPS_RTS || qp->state == VB_QPS_SQD) &&
	       qp->req.state == VB_REQ_ACTIVE) {
		if (hooks && hooks->is_due(qp)) {
			if (!vb_tx_may_emit(qp, b, stop))
				return true;
			hooks->send(qp, b, now);
			continue;
		}
		if (qp->sr && qp->hca->repeat->is_due(qp)) {
			if ((limited && vb_rate_holds(qp, NULL, now)) ||
			    room_is_short(qp, NULL, 1, &room, now))
				return false;
			if (!vb_tx_may_emit(qp, b, stop))
				return true;
			send_missing(qp, &room, b, now);
			continue;
		}
		if (sq->nxt == sq->tail) {
			qp->req.block = VB_BLOCK_EMPTY;
			return false;
		}

		struct vb_swqe *w = vb_sq_at(sq, sq->nxt);

		if (vb_swqe_is_local(w) && w->status == VB_WC_SUCCESS) {
			if (!req_may_run_local(qp, w))
				return false;
			req_run_local(qp, w);
			vb_req_complete_local(qp, now);
			continue;
		}
		if (w->status != VB_WC_SUCCESS) {
			qp->req.block = VB_BLOCK_FAILED;
			vb_req_complete_local(qp, now);
			return false;
		}
		qp->req.block = req_gate(qp, w, left);
		if (qp->req.block != VB_BLOCK_NONE)
			return false;
		if (hooks)
			hooks->passed(qp, w);
		if (limited) {
			vb_rate_begin_work(qp, w);
			if (vb_rate_holds(qp, w, now))
				return false;
		}

		uint32_t gso = left ? 1 : gso_of(qp, w);

		if (room_is_short(qp, w, gso, &room, now))
			return false;
		if (hooks && hooks->is_due(qp))
			continue;
		if (!gso_fits(&qp->req, b, b->cnt == from, gso, &stop) ||
		    !vb_tx_may_emit(qp, b, stop))
			return true;
		left = (left ? left : gso) - send_next(qp, w, &room, b, now);
	}
	return false;
}
