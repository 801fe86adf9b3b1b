/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Going back: the ACK timer, what makes the requester send again, and what progress undoes. When to
 * wait and when to give up is the retransmission policy's business (core/recover). Going back is
 * moving psn_nxt to psn_una. IBA 9.7.6.1.3, 9.7.5.2.1
 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/dc/dc.h"
#include "core/qp/apm.h"
#include "core/rc/rc.h"

/* Tells the policy when this process has not run for a while since the timer was armed. */
static void notice_gap(struct vb_qp *qp)
{
	if (qp->rto.gaps != qp->hca->gaps)
		vb_rto_woke(&qp->rto);
}

/* An armed QP goes on by its alternate path, with all retries. IBA 17.2.8.1 */
static void give_up(struct vb_qp *qp, vb_time now, uint32_t why)
{
	if (qp->attr.path_mig_state == VB_MIG_ARMED) {
		vb_apm_migrate(qp, VB_APM_RETRIES, now);
		return;
	}
	vb_qp_count(qp, VB_COUNTER_retry_exceeded_err);
	vb_qp_trace(qp, VB_TRACE_RETRY_ENDED, now, why, qp->rto.timeout_cnt, vb_req_waited(qp, now),
		    qp->req.psn_una.v);
	vb_req_fail(qp, VB_WC_RETRY_EXC_ERR, why, now);
}

void vb_req_moved(struct vb_qp *qp, bool path, vb_time now)
{
	if (path && !vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt))
		vb_req_rewind(qp, now, VB_REWIND_MIGRATED);
}

void vb_req_retry(struct vb_qp *qp, vb_time now, uint32_t why)
{
	notice_gap(qp);
	if (vb_rto_gap(&qp->rto, vb_req_run_time(qp, now)))
		vb_req_rewind(qp, now, why);
	else
		give_up(qp, now, why);
}

/* Counts an adaptive timer that fired under the value it had. REG-34 */
static void count_fired(struct vb_qp *qp)
{
	struct vb_adp_fired *fired = qp->hca->cfg.port[qp->attr.port].adp_fired;
	unsigned slot;

	vb_qp_count(qp, VB_COUNTER_roce_adp_retrans_to);
	if (!fired)
		return;
	(void)vb_adp_timeout(&qp->rto, &vb_qp_rules(qp)->set, &slot);
	__atomic_store_n(&fired->slot[slot], fired->slot[slot] + 1, __ATOMIC_RELAXED);
}

static void on_ack_timer(struct vb_qp *qp, vb_time now)
{
	struct vb_rto *rto = &qp->rto;
	uint8_t from_exp = rto->cur_exp;
	vb_time ran = vb_req_run_time(qp, now);
	enum vb_rto_move move;

	notice_gap(qp);
	vb_qp_count(qp, VB_COUNTER_local_ack_timeout_err);
	vb_qp_trace(qp, VB_TRACE_TIMER_FIRED, now, qp->req.psn_una.v, rto->retry_left, rto->timeout,
		    vb_rto_budget(rto, ran));
	if (rto->adaptive)
		count_fired(qp);
	if (!vb_rto_timed_out(rto, vb_qp_rules(qp), ran, &move)) {
		give_up(qp, now, VB_REWIND_TIMEOUT);
		return;
	}
	if (rto->adaptive)
		vb_qp_count(qp, VB_COUNTER_roce_adp_retrans);
	vb_req_trace_move(qp, move, from_exp, now);
	vb_req_rewind(qp, now, VB_REWIND_TIMEOUT);
}

/* No ACK can have come yet, and a resend would wait behind what was sent; or nothing can leave at
 * all, because the receiver is full. */
static bool receiver_lags(const struct vb_qp *qp, vb_time now)
{
	const struct vb_hca_config *cfg = &qp->hca->cfg;
	const struct vb_path *path = &qp->attr.path;
	uint32_t dqpn = qp->attr.dest_qpn;

	if (qp->req.block == VB_BLOCK_RX_CREDIT)
		return true;
	if (qp->ops->req)
		path = qp->ops->req->receiver(qp, &dqpn);
	return cfg->unanswered && path && cfg->unanswered(cfg->receiver_ctx, path, dqpn, now);
}

void vb_req_on_timer(struct vb_qp *qp, enum vb_timer t, vb_time now)
{
	if (t != VB_TIMER_ACK) {
		if (t == VB_TIMER_RNR)
			qp->req.state = VB_REQ_ACTIVE;
		if (t == VB_TIMER_PROBE && qp->sr)
			qp->hca->repeat->silent(qp, receiver_lags(qp, now), now);
		else if (t == VB_TIMER_LINGER)
			qp->ops->req->lingered(qp);
		if (t == VB_TIMER_PACE)
			vb_rate_tick(qp, now);
		vb_sched_activate(qp);
		return;
	}
	if (receiver_lags(qp, now)) {
		vb_rto_excused(&qp->rto, vb_req_run_time(qp, now));
		vb_req_arm(qp, now);
		return;
	}
	on_ack_timer(qp, now);
}

void vb_req_on_progress(struct vb_qp *qp, struct vb_psn from, vb_time now)
{
	struct vb_requester *req = &qp->req;
	uint8_t from_exp = qp->rto.cur_exp;

	vb_qp_trace(qp, VB_TRACE_PROGRESS, now, from.v, req->psn_una.v, qp->rto.timeout_cnt,
		    vb_req_waited(qp, now));
	if (req->recovering)
		vb_qp_trace(qp, VB_TRACE_RECOVERED, now, req->psn_una.v, qp->rto.timeout_cnt,
			    vb_req_waited(qp, now), 0);
	vb_req_trace_move(qp,
			  vb_rto_progress(&qp->rto, vb_qp_rules(qp), req->psn_una, req->psn_nxt),
			  from_exp, now);
	req->rnr_left = qp->attr.rnr_retry;
	req->recovering = false;
	VB_ASSERT_ALL(!vb_psn_before(req->psn_una, from));
	VB_ASSERT_ALL(!vb_psn_before(req->psn_max, req->psn_una));
	if (qp->sr)
		qp->hca->repeat->progressed(qp, now);
	if (vb_psn_before(req->psn_nxt, req->psn_una)) {
		/* The packets about to be resent arrived after all. */
		req->psn_nxt = req->psn_una;
		qp->sq.nxt = qp->sq.head;
	}
	vb_rate_progressed(qp, from, now);
	if (vb_window_grow(&req->window, vb_psn_span(from, req->psn_una)))
		vb_req_trace_ramp(qp, VB_RAMP_END, now);
	vb_timer_stop(qp, VB_TIMER_ACK);
	if (vb_psn_eq(req->psn_una, req->psn_nxt))
		req->window.idle_since = now;
	else
		vb_req_arm(qp, now);
	vb_req_update_inflight(qp);
	vb_req_complete_local(qp, now);
	if (qp->ops->req && qp->sq.head == qp->sq.tail)
		qp->ops->req->idle(qp, now);
	if (qp->sq.nxt != qp->sq.tail && (qp->state == VB_QPS_RTS || qp->state == VB_QPS_SQD))
		vb_sched_activate(qp);
}
