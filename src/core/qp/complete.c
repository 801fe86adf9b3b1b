/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions, and what an error does to a QP: the state, the flush of both queues in order, and
 * the async events. IBA 10.3.1, 10.10.2, 10.7.3.1
 */
#include "base/assert.h"
#include "core/dc/dc.h"
#include "core/obj/cq.h"
#include "core/qp/qp.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"
#include "core/share/migration.h"

#include <errno.h>
#include <string.h>

static void count_error(struct vb_qp *qp, enum vb_wc_status status, enum vb_counter_id error,
			enum vb_counter_id flush)
{
	if (status != VB_WC_SUCCESS)
		vb_qp_count(qp, status == VB_WC_WR_FLUSH_ERR ? flush : error);
}

void vb_qp_fatal(struct vb_qp *qp, vb_time now)
{
	if (qp->state == VB_QPS_RESET || qp->state == VB_QPS_ERR)
		return;
	vb_qp_raise(qp, VB_ASYNC_QP_FATAL);
	vb_qp_enter_err(qp, now);
}

/* All QPs on @cq end, QP1 of each port too, which is in no table. IBA 11.6.3.1 */
VB_COLD static void end_users(const struct vb_hca *h, const struct vb_cq *cq, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap + h->cfg.port_cap; i++) {
		struct vb_qp *qp = i < h->qp_cap ? h->qp[i] : h->port[i - h->qp_cap + 1].gsi;

		if (qp && (qp->send_cq == cq || qp->recv_cq == cq))
			vb_qp_fatal(qp, now);
	}
}

/*
 * A CQ that overruns ends all QPs on it. It takes nothing more, and a QP that comes to it later
 * ends then: it may have been in RESET when the
 * others did, or be an XRC target that serves the SRQ of that CQ only now. Its peer must not hear
 * of success. IBA 9.9.3.1 class G
 */
static void cqe_push(struct vb_qp *qp, struct vb_cq *cq, const struct vb_wc *wc, bool solicited)
{
	int err = vb_cq_add(cq, wc, solicited);

	if (err == -ENOSPC)
		end_users(qp->hca, cq, wc->time);
	if (err)
		vb_qp_fatal(vb_qp_whole(qp), wc->time);
}

/* Work that is neither, as a bind, has no counter. */
static void count_send(struct vb_qp *qp, const struct vb_swqe *w, enum vb_wc_status status)
{
	switch ((enum vb_wc_opcode)vb_work[w->opcode].completion) {
	case VB_WC_SEND:
		vb_qp_count_completion(qp, VB_COUNTED_SEND, status, w->length);
		break;
	case VB_WC_RDMA_WRITE:
		vb_qp_count_completion(qp, VB_COUNTED_WRITE, status, w->length);
		break;
	case VB_WC_RDMA_READ:
		vb_qp_count_completion(qp, VB_COUNTED_READ, status, w->length);
		break;
	default:
		break;
	}
}

/* Completes the oldest send WQE. An error always makes a completion. IBA 10.7.3.1 */
void vb_send_complete(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now)
{
	struct vb_sq *sq = &qp->sq;
	const struct vb_swqe *w = vb_sq_at(sq, sq->head);

	VB_ASSERT(sq->head != sq->tail);
	count_error(qp, status, VB_COUNTER_req_cqe_error, VB_COUNTER_req_cqe_flush_error);
	if (sq->nxt == sq->head)
		sq->nxt++;
	VB_ASSERT_ALL(sq->nxt - sq->head <= sq->tail - sq->head);
	sq->head++;
	if (qp->is_counted)
		count_send(qp, w, status);
	if (status == VB_WC_SUCCESS && !(w->flags & VB_SEND_SIGNALED))
		return;

	struct vb_wc wc = {
	    .wr_id = w->wr_id,
	    .status = status,
	    .opcode = (enum vb_wc_opcode)vb_work[w->opcode].completion,
	    .vendor_err = vendor_err,
	    .byte_len = w->length,
	    .qpn = qp->qpn,
	    .qp = vb_qp_whole(qp),
	    .time = now,
	};

	vb_qp_trace(qp, VB_TRACE_COMPLETION, now, wc.wr_id, wc.status, wc.opcode, wc.byte_len);
	cqe_push(qp, qp->send_cq, &wc, false);
}

/* Completes the receive WQE that the QP holds; @wc has what the packet says. */
void vb_recv_complete(struct vb_qp *qp, struct vb_wc *wc, bool solicited, vb_time now)
{
	VB_ASSERT(qp->resp.rwqe_held);
	qp->resp.rwqe_held = false;
	count_error(qp, wc->status, VB_COUNTER_resp_cqe_error, VB_COUNTER_resp_cqe_flush_error);
	wc->wr_id = qp->resp.rwqe->wr_id;
	wc->qpn = vb_xrc_number(qp);
	/* The receives of an XRC target belong to the SRQ and stay. */
	wc->qp = qp->xrcd ? NULL : vb_qp_whole(qp);
	wc->time = now;
	if (qp->is_counted)
		vb_qp_count_completion(qp, VB_COUNTED_RECV, wc->status, wc->byte_len);
	vb_qp_trace(qp, VB_TRACE_COMPLETION, now, wc->wr_id, wc->status, wc->opcode, wc->byte_len);
	cqe_push(qp, qp->recv_cq, wc, solicited);
}

bool vb_qp_take_rwqe(struct vb_qp *qp)
{
	struct vb_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	const struct vb_rwqe *w = vb_rq_peek(rq);

	if (!w)
		return false;
	VB_ASSERT(!qp->resp.rwqe_held && w->sge_cnt <= rq->sge_max);
	memcpy(qp->resp.rwqe, w, sizeof *w + w->sge_cnt * sizeof w->sge[0]);
	qp->resp.rwqe_held = true;
	vb_rq_consume(qp->hca, rq, qp->srq);
	return true;
}

void vb_recv_complete_error(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err,
			    vb_time now)
{
	struct vb_wc wc = {.status = status, .opcode = VB_WC_RECV, .vendor_err = vendor_err};

	vb_recv_complete(qp, &wc, false, now);
}

/* The QP, or the channel of it, with the WQE that was posted first; NULL: nothing is queued. */
static struct vb_qp *oldest_of(struct vb_qp *qp)
{
	if (qp->ops->req)
		return qp->ops->req->oldest(qp);
	return qp->sq.head == qp->sq.tail ? NULL : qp;
}

static void flush_send(struct vb_qp *qp, vb_time now)
{
	struct vb_qp *channel;

	while ((channel = oldest_of(qp)))
		vb_send_complete(channel, VB_WC_WR_FLUSH_ERR, 0, now);
	VB_ASSERT_ALL(qp->sq.head == qp->sq.tail && qp->sq.nxt == qp->sq.tail);
	/* A packet that never left takes no PSN: a UC or UD QP goes on from here. */
	qp->req.psn_una = qp->req.psn_max = qp->req.psn_post = qp->req.psn_nxt;
	qp->req.rd_out = 0;
	vb_req_update_inflight(qp);
}

static void flush_recv(struct vb_qp *qp, vb_time now)
{
	if (qp->resp.rwqe_held)
		vb_recv_complete_error(qp, VB_WC_WR_FLUSH_ERR, 0, now);
	if (qp->srq || !qp->ops->has_rq)
		return;
	while (vb_qp_take_rwqe(qp))
		vb_recv_complete_error(qp, VB_WC_WR_FLUSH_ERR, 0, now);
}

void vb_qp_enter_err(struct vb_qp *qp, vb_time now)
{
	bool enters = qp->state != VB_QPS_ERR;
	struct vb_qp *channel;

	if (enters) {
		vb_qp_set_state(qp, VB_QPS_ERR, now);
		vb_timer_stop(qp, VB_TIMER_ACK);
		vb_timer_stop(qp, VB_TIMER_RNR);
		vb_timer_stop(qp, VB_TIMER_RX_CREDIT);
		vb_timer_stop(qp, VB_TIMER_PACE);
		vb_timer_stop(qp, VB_TIMER_LINGER);
		qp->resp.ack_due = false;
		qp->resp.msg = VB_MSG_NONE;
		if (qp->sr)
			qp->hca->repeat->end(qp);
		if (qp->ops->fail)
			qp->ops->fail(qp, now);
	}
	flush_send(qp, now);
	for (uint32_t i = 1; (channel = vb_qp_channel(qp, i)); i++)
		vb_qp_enter_err(channel, now);
	flush_recv(qp, now);
	VB_ASSERT_ALL(!qp->sr && !qp->resp.rwqe_held && qp->state == VB_QPS_ERR);
	/* A QP that must still say NAK says it, behind the responses that come before it. */
	if (vb_resp_owes_nak(&qp->resp)) {
		vb_sched_activate(qp);
	} else {
		vb_sched_remove(qp);
	}
	vb_peer_wake(qp->hca, qp->peer); /* it may have been woken, and its turn is another's now */
	if (enters && qp->srq && !qp->xrcd)
		vb_qp_raise(qp, VB_ASYNC_QP_LAST_WQE_REACHED);
}

void vb_qp_enter_sqe(struct vb_qp *qp, vb_time now)
{
	vb_qp_set_state(qp, VB_QPS_SQE, now);
	flush_send(qp, now);
}
