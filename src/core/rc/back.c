/* SPDX-License-Identifier: BSD-2-Clause */
/* Going back is moving psn_nxt to psn_una: what is behind it leaves again. IBA 9.7.5.2.1 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/rc/rc.h"

void vb_req_rewind(struct vb_qp *qp, vb_time now, uint32_t why)
{
	struct vb_requester *req = &qp->req;
	struct vb_sq *sq = &qp->sq;

	VB_ASSERT_ALL(vb_psn_span(req->psn_una, req->psn_nxt) <=
		      vb_psn_span(req->psn_una, req->psn_max));
	VB_ASSERT_ALL(qp->ops->is_acked);
	if (why != VB_REWIND_RNR)
		vb_req_slow_restart(qp, now);
	vb_rate_lost(qp, (enum vb_rewind_why)why, now);
	if (qp->ops->req)
		qp->ops->req->rewound(qp, (enum vb_rewind_why)why);
	if (qp->sr)
		qp->hca->repeat->rewound(qp);
	req->window.asked = req->psn_una;

	vb_qp_trace(qp, VB_TRACE_REWOUND, now, req->psn_una.v, req->psn_nxt.v, why, 0);
	req->recover = req->psn_max;
	req->recovering = true;
	req->psn_nxt = req->psn_una;
	req->rd_out = 0;
	/* Local WQEs before the old place have run; head is the first one that sends. */
	for (uint32_t i = sq->head; i != sq->nxt; i++) {
		if (vb_sq_at(sq, i)->pkts) {
			sq->nxt = i;
			VB_ASSERT_ALL(vb_psn_span(vb_sq_at(sq, i)->first, req->psn_una) <
				      vb_sq_at(sq, i)->pkts);
			break;
		}
	}
	vb_timer_stop(qp, VB_TIMER_ACK);
	vb_req_update_inflight(qp);
	vb_sched_activate(qp);
}
