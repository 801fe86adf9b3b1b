/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariants of a QP: its rings, the order of its PSNs, what is counted in two places, what its
 * state allows. A fault of one of them is found here at once and not when a peer has been told it.
 */
#include "core/sched/invariants.h"

#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/sched/peer.h"

#ifdef VB_ASSERTS_ALL

/* @psn lies among those of @w, or is where a WQE without PSNs stands. */
static bool is_in(const struct vb_swqe *w, struct vb_psn psn)
{
	uint32_t k = vb_psn_span(w->first, psn);

	return w->pkts ? k < w->pkts : k == 0;
}

static void assert_sq(const struct vb_qp *qp)
{
	const struct vb_sq *sq = &qp->sq;
	uint32_t cnt = sq->tail - sq->head;

	VB_ASSERT_ALL((sq->mask & (sq->mask + 1)) == 0);
	VB_ASSERT_ALL(cnt <= sq->wr_max);
	VB_ASSERT_ALL(cnt == 0 || cnt <= sq->mask + 1);
	VB_ASSERT_ALL(cnt == 0 || sq->slots);
	VB_ASSERT_ALL(sq->nxt - sq->head <= cnt);
	for (uint32_t i = sq->head; i != sq->nxt; i++) {
		const struct vb_swqe *w = vb_sq_at(sq, i);

		VB_ASSERT_ALL(w->opcode < VB_WR_CNT);
		VB_ASSERT_ALL(vb_work[w->opcode].on & qp->ops->work_on);
		VB_ASSERT_ALL(w->traits == vb_work[w->opcode].traits);
		VB_ASSERT_ALL(w->pkts || w->traits & VB_WORK_LOCAL || w->status);
		VB_ASSERT_ALL(w->sge_cnt <= sq->sge_max);
		/* Inline data is in the WQE itself, and names no region. */
		VB_ASSERT_ALL(!(w->flags & VB_SEND_INLINE) || w->sge_cnt == 0);
	}
}

static void assert_rq(const struct vb_qp *qp)
{
	const struct vb_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	uint32_t cnt = vb_rq_cnt(rq);

	VB_ASSERT_ALL((rq->mask & (rq->mask + 1)) == 0);
	VB_ASSERT_ALL(cnt <= rq->wr_max);
	VB_ASSERT_ALL(cnt == 0 || rq->slots);
	VB_ASSERT_ALL(!qp->srq || qp->srq->limit <= rq->wr_max);
	VB_ASSERT_ALL(!qp->resp.rwqe_held || qp->resp.rwqe);
}

/* psn_una, psn_nxt and psn_max in this order, and where the send queue says. */
static void assert_psns(const struct vb_qp *qp)
{
	const struct vb_requester *req = &qp->req;
	const struct vb_sq *sq = &qp->sq;

	VB_ASSERT_ALL(vb_psn_span(req->psn_una, req->psn_max) <= VB_PSN_HALF);
	VB_ASSERT_ALL(vb_psn_span(req->psn_una, req->psn_nxt) <=
		      vb_psn_span(req->psn_una, req->psn_max));
	if (sq->head == sq->tail)
		VB_ASSERT_ALL(vb_psn_eq(req->psn_una, req->psn_post));
	else
		VB_ASSERT_ALL(is_in(vb_sq_at(sq, sq->head), req->psn_una));
	if (sq->nxt == sq->tail)
		VB_ASSERT_ALL(vb_psn_eq(req->psn_nxt, req->psn_post));
	else
		VB_ASSERT_ALL(is_in(vb_sq_at(sq, sq->nxt), req->psn_nxt));
	if (vb_psn_eq(req->psn_una, req->psn_nxt)) {
		VB_ASSERT_ALL(req->rd_out == 0);
		VB_ASSERT_ALL(req->inflight == 0);
	}
	if (!qp->ops->is_acked)
		VB_ASSERT_ALL(vb_psn_eq(req->psn_una, req->psn_nxt));
	VB_ASSERT_ALL((int32_t)(req->rsn_post - req->rsn_acked) >= 0);
}

/* The bytes in flight, and the timer that watches over them. */
static void assert_flight(const struct vb_qp *qp)
{
	const struct vb_requester *req = &qp->req;

	if (qp->peer) {
		VB_ASSERT_ALL(qp->peer->refs > 0);
		VB_ASSERT_ALL(qp->peer->inflight >= req->inflight);
	} else {
		VB_ASSERT_ALL(req->inflight == 0);
	}
	if (vb_psn_eq(req->psn_una, req->psn_nxt) || qp->state == VB_QPS_ERR)
		return;
	VB_ASSERT_ALL(qp->timer[VB_TIMER_ACK] != VB_NEVER || qp->rto.timeout == VB_NEVER);
	VB_ASSERT_ALL(req->state == VB_REQ_ACTIVE);
}

static void assert_resources(const struct vb_responder *resp)
{
	uint32_t pending = 0;

	VB_ASSERT_ALL(resp->res_cnt <= resp->res_cap);
	VB_ASSERT_ALL(resp->res_tail < resp->res_cap || resp->res_tail == 0);
	VB_ASSERT_ALL(resp->res_cap == 0 || resp->res);
	for (uint32_t i = 0; i < resp->res_cap; i++) {
		const struct vb_resource *r = &resp->res[i];

		if (!vb_resource_is_pending(r))
			continue;
		pending++;
		VB_ASSERT_ALL(r->pkts > 0);
		VB_ASSERT_ALL(r->kind < VB_RESOURCE_KINDS);
		VB_ASSERT_ALL(vb_psn_span(r->first, r->run.start) < r->pkts);
		VB_ASSERT_ALL(vb_psn_span(r->run.start, r->run.nxt) <
			      vb_psn_span(r->run.start, r->run.end));
		VB_ASSERT_ALL(vb_psn_span(r->first, r->run.end) <= r->pkts);
	}
	VB_ASSERT_ALL(pending == resp->res_pending);
}

static void assert_resp(const struct vb_qp *qp)
{
	const struct vb_responder *resp = &qp->resp;

	assert_resources(resp);
	VB_ASSERT_ALL(resp->epsn.v <= VB_PSN_MASK);
	/* The receive WQE of an XRC target may have gone with its SRQ, or be with another HCA. */
	VB_ASSERT_ALL(resp->msg != VB_MSG_SEND || resp->rwqe_held || qp->xrcd);
	if (!qp->ops->is_acked) {
		VB_ASSERT_ALL(!resp->ack_due && resp->state == VB_RESP_IN_ORDER);
		VB_ASSERT_ALL(!resp->credit_zero && resp->res_pending == 0);
	} else {
		VB_ASSERT_ALL(resp->msg <= VB_MSG_WRITE);
		VB_ASSERT_ALL(resp->state < VB_RESP_STATES);
		VB_ASSERT_ALL(resp->state < VB_RESP_FAILS || qp->state == VB_QPS_ERR);
		VB_ASSERT_ALL(resp->state != VB_RESP_REPORTS || qp->sr || qp->state == VB_QPS_ERR);
	}
}

/* Where the QP stands: the queue of turns, the heap of deadlines. */
static void assert_place(const struct vb_qp *qp)
{
	const struct vb_hca *h = qp->hca;

	VB_ASSERT_ALL(!qp->is_active || !vb_list_is_empty(&qp->active));
	VB_ASSERT_ALL(qp->heap_pos <= h->heap_cnt);
	VB_ASSERT_ALL(qp->heap_pos == 0 || h->heap[qp->heap_pos].qp == qp);
	VB_ASSERT_ALL(qp->heap_pos == 0 || h->heap[qp->heap_pos].key == qp->heap_key);
	for (int i = 0; i < VB_TIMER_CNT; i++) {
		VB_ASSERT_ALL(qp->timer[i] == VB_NEVER || qp->heap_pos);
		VB_ASSERT_ALL(qp->timer[i] >= qp->heap_key || qp->heap_pos == 0);
	}
}

static void assert_state(const struct vb_qp *qp)
{
	VB_ASSERT_ALL(qp->state < VB_QPS_CNT);
	VB_ASSERT_ALL(qp->mtu >= 256 && qp->mtu <= 4096);
	VB_ASSERT_ALL(qp->attr.port <= qp->hca->cfg.port_cap);
	if (qp->state == VB_QPS_RESET || qp->state == VB_QPS_ERR)
		VB_ASSERT_ALL(qp->sq.head == qp->sq.tail);
	if (qp->state == VB_QPS_RESET || qp->state == VB_QPS_INIT) {
		VB_ASSERT_ALL(qp->req.inflight == 0);
		VB_ASSERT_ALL(!qp->sr && qp->resp.res_pending == 0);
	}
	if (qp->state == VB_QPS_RESET) {
		VB_ASSERT_ALL(!qp->is_active && qp->heap_pos == 0 && !qp->peer);
		VB_ASSERT_ALL(vb_rq_cnt(&qp->rq) == 0);
	}
}

void vb_qp_assert(const struct vb_qp *qp)
{
	assert_state(qp);
	assert_sq(qp);
	assert_rq(qp);
	assert_psns(qp);
	assert_flight(qp);
	assert_resp(qp);
	assert_place(qp);
}

#endif
