/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of QPs, see view.h. */
#include "core/view.h"

#include "core/dc/dc.h"
#include "core/obj/cq.h"
#include "core/qp/qp.h"
#include "core/sched/peer.h"
#include "core/selective/selective.h"

static void view_queues(const struct vb_qp *qp, struct vb_qp_view *v)
{
	const struct vb_requester *req = &qp->req;
	const struct vb_sq *sq = &qp->sq;

	v->posted = sq->tail - sq->head;
	v->unsent = sq->tail - sq->nxt;
	v->recvs = vb_rq_cnt(qp->srq ? &qp->srq->rq : &qp->rq);
	v->is_srq = qp->srq != NULL;
	/* XRC has half of what others have. */
	v->cq_overrun =
	    (qp->send_cq && qp->send_cq->overrun) || (qp->recv_cq && qp->recv_cq->overrun);
	v->owes_responses = qp->resp.res_pending != 0;
	if (v->posted == 0)
		return;

	const struct vb_swqe *w = vb_sq_at(sq, sq->head), *next = vb_sq_at(sq, sq->nxt);

	v->wr_id = w->wr_id;
	v->wr_opcode = w->opcode;
	v->remote_addr = w->remote_addr;
	v->rkey = w->rkey;
	v->length = w->length;
	v->acked = vb_psn_span(w->first, req->psn_una);
	v->credit_limited = req->credit_limited;
	if (v->unsent && req->credit_limited && (int32_t)(req->rsn_limit - next->rsn) >= 0)
		v->credits = req->rsn_limit - next->rsn + 1;
}

static void view_flow(const struct vb_qp *qp, struct vb_qp_view *v)
{
	const struct vb_requester *req = &qp->req;

	/* Of an initiator of DC: whom it is, or was, connected to. */
	if (qp->dci && qp->dci->has_dest) {
		v->attr.path = qp->dci->dest.to.path;
		v->attr.dest_qpn = qp->dci->dest.to.dqpn;
	}
	v->psn_una = req->psn_una.v;
	v->unacked = vb_psn_span(req->psn_una, req->psn_nxt);
	v->is_acked_once = req->psn_una.v != qp->attr.sq_psn;
	v->epsn = qp->resp.epsn.v;
	v->rd_out = req->rd_out;
	v->window_pkts = req->window.pkts < VB_CONTROL_PACKETS_MAX ? req->window.pkts : 0;
	v->is_ramping = req->window.ramp != 0;
	v->block = req->block;
	v->rnr_left = req->rnr_left;
	v->is_rnr_wait = req->state == VB_REQ_RNR_WAIT;
	v->is_recovering = req->recovering;
	v->is_queued = qp->is_active;
	v->is_draining = qp->state == VB_QPS_SQD && qp->sq_draining;
	v->is_selective = qp->sr && qp->sr->peer == VB_SR_AGREED;
	if (qp->peer) {
		v->peer_inflight = qp->peer->inflight;
		v->peer_window = qp->hca->cfg.peer_window_bytes;
	}
	if (vb_cc_has_rate(qp))
		v->rate_bps = vb_cc_bps((uint32_t)qp->cc.ctl.cc_rate << 8,
					qp->hca->port[qp->attr.port].cc.cc_clk_hz);
	else if (qp->cc.flow)
		v->rate_bps = qp->cc.flow->rate;
	else if (qp->cc.cct.on && qp->cc.cct.ccti.index)
		v->rate_bps = vb_cct_rate(qp);
	if (req->block == VB_BLOCK_PACE)
		v->rate_bps = qp->pace.kbps * UINT64_C(1000);
}

bool vb_hca_view(const struct vb_hca *h, uint32_t qpn, vb_time now, struct vb_qp_view *out)
{
	const struct vb_qp *qp = vb_qp_find(h, qpn), *channel;

	if (!qp)
		return false;
	/* Of an initiator with streams: the channel with its oldest work. */
	channel = vb_qp_oldest(qp);
	if (channel)
		qp = channel;
	*out = (struct vb_qp_view){
	    .at = now,
	    .qpn = qpn,
	    .type = qp->type,
	    .state = qp->state,
	    .attr = qp->attr,
	    .set = vb_qp_rules(qp)->set,
	    .rto = qp->rto,
	    .ack_at = qp->timer[VB_TIMER_ACK],
	    .rnr_at = qp->timer[VB_TIMER_RNR],
	    .pace_at = qp->timer[VB_TIMER_PACE],
	};
	out->attr.qp_state = qp->state;
	/* As if this process had run all the time since then. */
	out->rto.since = vb_time_after(out->rto.since, h->gaps);
	view_queues(qp, out);
	view_flow(qp, out);
	return true;
}

bool vb_hca_sample(struct vb_hca *h, uint32_t qpn, vb_time now, struct vb_qp_sample *out)
{
	struct vb_qp *qp = vb_qp_find(h, qpn), *channel;

	if (!qp)
		return false;
	channel = vb_qp_oldest(qp);
	if (channel)
		qp = channel;
	*out = (struct vb_qp_sample){.at = now,
				     .sgid = qp->attr.path.sgid,
				     .qpn = qpn,
				     .psn_una = qp->req.psn_una.v,
				     .epsn = qp->resp.epsn.v};
	if (!vb_cc_has_rate(qp))
		return true;

	const struct vb_cc *cc = vb_qp_cc(qp, now);

	out->clk_hz = h->port[qp->attr.port].cc.cc_clk_hz;
	out->rate = cc->cc_rate;
	out->target = vb_cc_target_rate(cc);
	out->alpha = vb_cc_alpha(cc);
	return true;
}

/* The QP, or the channel of it with its oldest work; NULL: there is none. */
static struct vb_qp *working_qp(const struct vb_hca *h, uint32_t qpn)
{
	struct vb_qp *qp = vb_qp_find(h, qpn), *channel = qp ? vb_qp_oldest(qp) : NULL;

	return channel ? channel : qp;
}

static const struct vb_rq *taken_rq(const struct vb_qp *qp)
{
	return qp->srq ? &qp->srq->rq : &qp->rq;
}

static void span_set(struct vb_work_span *s, uint32_t mask, uint32_t done, uint32_t next,
		     uint32_t end)
{
	s->slots = mask + 1;
	s->first = end > s->slots ? end - s->slots : 0;
	s->done = done;
	s->next = next;
	s->end = end;
}

bool vb_hca_view_sends(const struct vb_hca *h, uint32_t qpn, struct vb_work_span *out)
{
	const struct vb_qp *qp = working_qp(h, qpn);

	if (!qp)
		return false;
	*out = (struct vb_work_span){.sges = qp->sq.sge_max};
	if (qp->sq.slots)
		span_set(out, qp->sq.mask, qp->sq.head, qp->sq.nxt, qp->sq.tail);
	return true;
}

bool vb_hca_view_receives(const struct vb_hca *h, uint32_t qpn, struct vb_work_span *out)
{
	const struct vb_qp *qp = vb_qp_find(h, qpn);

	if (!qp)
		return false;

	const struct vb_rq *rq = taken_rq(qp);

	*out = (struct vb_work_span){.sges = rq->sge_max, .is_srq = qp->srq != NULL};
	if (rq->slots)
		span_set(out, rq->mask, rq->head, rq->head, rq->tail);
	return true;
}

static void view_dest(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_send_view *out)
{
	if (qp->type == VB_QPT_XRC_INI)
		out->wr.srqn = ((const struct vb_xrc_dest *)vb_swqe_dest(w))->srqn;
	if (qp->ops->is_connected)
		return;
	out->has_path = true;
	out->path = vb_swqe_ud(w)->path;
	out->wr.dqpn = vb_swqe_ud(w)->dqpn;
	out->wr.qkey = vb_swqe_ud(w)->qkey;
	if (qp->dci) {
		const struct vb_dc_dest *to = vb_swqe_dest(w);

		out->wr.dc_key = to->key;
		out->wr.dc_stream = to->stream;
	}
}

void vb_hca_view_send(const struct vb_hca *h, uint32_t qpn, uint32_t i, struct vb_send_view *out)
{
	const struct vb_qp *qp = working_qp(h, qpn);
	const struct vb_swqe *w = vb_sq_at(&qp->sq, i);
	bool is_inline = w->flags & VB_SEND_INLINE;

	*out = (struct vb_send_view){
	    .wr = {.wr_id = w->wr_id,
		   .opcode = (enum vb_wr_opcode)w->opcode,
		   .flags = w->flags & ~(uint32_t)VB_SWQE_RAN,
		   .imm = w->imm,
		   .inv_rkey = w->imm,
		   .remote_addr = w->remote_addr,
		   .rkey = w->rkey,
		   .compare_add = w->compare_add,
		   .swap = w->swap,
		   .flush = w->imm,
		   .flush_len = (uint32_t)w->compare_add},
	    .inlined = {.addr = (uintptr_t)vb_swqe_data(qp, w), .length = w->length},
	};
	out->wr.sge = is_inline ? &out->inlined : vb_swqe_sge(qp, w);
	out->wr.sge_cnt = is_inline ? 1 : w->sge_cnt;
	view_dest(qp, w, out);
}

void vb_hca_view_receive(const struct vb_hca *h, uint32_t qpn, uint32_t i, struct vb_recv_wr *out)
{
	const struct vb_rq *rq = taken_rq(vb_qp_find(h, qpn));
	const struct vb_rwqe *w = (const void *)(rq->slots + (size_t)(i & rq->mask) * rq->stride);

	*out = (struct vb_recv_wr){.wr_id = w->wr_id, .sge = w->sge, .sge_cnt = w->sge_cnt};
}

uint32_t vb_hca_next_qpn(const struct vb_hca *h, uint32_t *pos)
{
	while (*pos < h->qp_cap) {
		const struct vb_qp *qp = h->qp[(*pos)++];

		if (qp && !qp->opened)
			return qp->qpn;
	}
	return 0;
}

enum vb_qp_wait vb_view_wait(const struct vb_qp_view *v)
{
	if (v->state != VB_QPS_RTS && v->state != VB_QPS_SQD)
		return VB_WAIT_STATE;
	if (v->is_rnr_wait)
		return VB_WAIT_RNR;
	if (v->is_queued)
		return VB_WAIT_TURN;
	if (v->unsent == 0)
		return v->unacked ? VB_WAIT_ACK : VB_WAIT_NOTHING;
	return VB_WAIT_BLOCK;
}
