/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate of a QP, see rate.h. */
#include "core/cc/rate.h"

#include "core/sched/pace.h"
#include "core/sched/timer.h"
#include "core/tx/tx.h"

bool vb_rate_asks_ack(const struct vb_qp *qp)
{
	uint32_t bytes = qp->ack_every * (qp->mtu + VB_HDR_MAX);

	if (qp->pace.kbps && vb_pace_cost(qp, bytes) > qp->rto.timeout / 4)
		return true;
	return qp->cc.on && vb_cc_asks(qp);
}

bool vb_rate_holds(struct vb_qp *qp, const struct vb_swqe *w, vb_time now)
{
	if (qp->cc.on && vb_cc_holds(qp, w, now))
		return true;
	if (!qp->pace.kbps)
		return false;

	vb_time at = vb_pace_at(qp, now);

	if (at <= now)
		return false;
	qp->req.block = VB_BLOCK_PACE;
	if (at < qp->timer[VB_TIMER_PACE])
		vb_timer_set(qp, VB_TIMER_PACE, at);
	return true;
}

void vb_rate_begin_work(struct vb_qp *qp, const struct vb_swqe *w)
{
	if (!qp->pace.of_each)
		return;
	vb_pace_take_path(qp, vb_swqe_ud(w)->kbps);
	qp->req.slow = vb_rate_asks_ack(qp);
}

void vb_rate_count_request(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	if (qp->cc.on)
		vb_cc_sent(qp, tx, now);
	if (qp->cc.flow)
		vb_flow_sent(qp, tx, now);
	if (qp->pace.kbps)
		vb_pace_sent(qp, vb_tx_wire_len(tx), now);
}

bool vb_rate_delays_response(struct vb_qp *qp, bool is_first, vb_time now)
{
	if (is_first)
		vb_cc_begins(qp, now);
	return vb_cc_is_early(qp, now);
}
