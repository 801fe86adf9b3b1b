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

/* The reason why the packet at psn_nxt of @w may not leave now. A GSO batch that began leaves
 * whole. */
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
	const struct vb_qp *channel;

	if (qp->state != VB_QPS_SQD || !qp->sq_draining || !vb_psn_eq(req->psn_una, req->psn_max))
		return;
	/* Everything sent may be acknowledged while the rest of the message waits for the window.
	 */
	if (qp->sq.nxt != qp->sq.tail &&
	    !vb_psn_eq(req->psn_nxt, vb_sq_at(&qp->sq, qp->sq.nxt)->first))
		return;
	qp->sq_draining = false;
	qp = vb_qp_whole(qp);
	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		if (channel->sq_draining)
			return;
	}
	if (qp->sqd_notify)
		vb_qp_raise(qp, VB_ASYNC_SQ_DRAINED);
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
				  .type = VB_MW_BIND_TYPE(w->compare_add),
				  .key_byte = (uint8_t)w->compare_add};

	return vb_mw_bind(qp->pd, qp->qpn, &bind);
}

/* Local work runs once, in the order of the queue; it completes with what was sent before it. */
VB_COLD static void req_run_local(struct vb_qp *qp, struct vb_swqe *w)
{
	if (!(w->flags & VB_SWQE_RAN)) {
		if (w->opcode == VB_WR_BIND_MW)
			w->status = (uint8_t)run_bind(qp, w);
		else if (w->opcode == VB_WR_LOCAL_INV && vb_mw_invalidate(qp->pd, qp->qpn, w->imm))
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

/* The packet at psn_nxt asks for an ACK, whatever its place in the message. */
static bool packet_asks(const struct vb_qp *qp)
{
	const struct vb_requester *req = &qp->req;

	return vb_window_asks(&req->window, req->psn_nxt) || req->slow ||
	       (qp->sr && qp->hca->repeat->asks(qp));
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
		pkts = vb_req_emit(qp, w, req->psn_nxt, packet_asks(qp), b);
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

/* The packet at psn_nxt of @w, or the connect that goes before it. Returns how many of @w left. */
static uint32_t send_next(struct vb_qp *qp, struct vb_swqe *w, struct vb_egress *out, vb_time now)
{
	if (qp->ops->req && qp->ops->req->leads(qp)) {
		qp->ops->req->send(qp, out->b, now);
		vb_egress_passed(out, qp, now);
		return 0;
	}
	if (!req_send(qp, w, out->b, now))
		return 0;
	vb_egress_passed(out, qp, now);
	req_sent(qp, now);
	return 1;
}

/* A packet that the peer has reported missing. */
static void send_missing(struct vb_qp *qp, struct vb_egress *out, vb_time now)
{
	uint32_t cnt = out->b->cnt;

	if (!qp->hca->repeat->resend(qp, out->b, now)) {
		/* Its memory is gone; it fails in its turn. */
		vb_req_rewind(qp, now, VB_REWIND_NAK);
		return;
	}
	if (out->b->cnt > cnt)
		vb_egress_passed(out, qp, now);
}

static void begin_transmit(struct vb_qp *qp, bool limited, vb_time now)
{
	if (qp->ops->is_acked && (qp->req.window.idle_since != VB_NEVER ||
				  qp->req.window.epoch != vb_qp_rules(qp)->epoch))
		vb_req_open_window(qp, now);
	qp->req.slow = limited && vb_rate_asks_ack(qp);
	qp->req.block = VB_BLOCK_STATE;
}

bool vb_req_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	const struct vb_req_hooks *hooks = qp->ops->req;
	struct vb_sq *sq = &qp->sq;
	bool is_plain = qp->gso_pkts <= 1 && !qp->hca->cfg.rx_credit;
	struct vb_egress out = vb_egress_begin(b, stop, is_plain);
	bool limited = vb_rate_is_limited(qp);

	begin_transmit(qp, limited, now);
	while ((qp->state == VB_QPS_RTS || qp->state == VB_QPS_SQD) &&
	       qp->req.state == VB_REQ_ACTIVE) {
		if (hooks && hooks->is_due(qp)) {
			if (!vb_tx_may_emit(qp, b, out.stop))
				return true;
			hooks->send(qp, b, now);
			continue;
		}
		if (qp->sr && qp->hca->repeat->is_due(qp)) {
			if ((limited && vb_rate_holds(qp, NULL, now)) ||
			    vb_egress_is_short(&out, qp, NULL, now))
				return false;
			if (!vb_tx_may_emit(qp, b, out.stop))
				return true;
			send_missing(qp, &out, now);
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
		qp->req.block = req_gate(qp, w, out.left);
		if (qp->req.block != VB_BLOCK_NONE)
			return false;
		if (hooks)
			hooks->passed(qp, w);
		if (limited) {
			vb_rate_begin_work(qp, w);
			if (vb_rate_holds(qp, w, now))
				return false;
		}

		if (vb_egress_is_short(&out, qp, w, now))
			return false;
		if (hooks && hooks->is_due(qp))
			continue;
		if (!vb_egress_fits(&out, qp) || !vb_tx_may_emit(qp, b, out.stop))
			return true;
		vb_egress_advance(&out, send_next(qp, w, &out, now));
	}
	return false;
}
