/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the ACK timer, see arm.h. IBA 9.7.6.1.3 */
#include "core/recover/arm.h"

void vb_req_trace_move(struct vb_qp *qp, enum vb_rto_move move, uint8_t from_exp, vb_time now)
{
	if (move != VB_RTO_STAYS)
		vb_qp_trace(qp, VB_TRACE_TIMER_MOVED, now, move, from_exp, qp->rto.cur_exp,
			    qp->rto.range);
}

void vb_req_arm(struct vb_qp *qp, vb_time now)
{
	const struct vb_rto_rules *rules = vb_qp_rules(qp);
	uint8_t from_exp = qp->rto.cur_exp;

	vb_req_trace_move(qp, vb_rto_adopt(&qp->rto, rules), from_exp, now);
	vb_time end = vb_rto_arm(&qp->rto, rules, vb_req_run_time(qp, now));

	qp->rto.gaps = qp->hca->gaps;
	vb_timer_set(qp, VB_TIMER_ACK, vb_time_after(end, qp->hca->gaps));
	vb_qp_trace(qp, VB_TRACE_TIMER_ARMED, now, qp->timer[VB_TIMER_ACK], qp->rto.timeout,
		    qp->req.psn_una.v, vb_rto_budget(&qp->rto, vb_req_run_time(qp, now)));
}
