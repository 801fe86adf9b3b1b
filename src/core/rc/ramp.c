/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window of a QP as the requester uses it: it follows the settings, and ramps up after a loss
 * or a pause. How it grows is the business of core/recover/window.h.
 */
#include "core/rc/rc.h"

void vb_req_trace_ramp(struct vb_qp *qp, enum vb_ramp_why why, vb_time now)
{
	vb_qp_trace(qp, VB_TRACE_SLOW_RESTART, now, why, qp->req.window.pkts,
		    qp->req.window.ramp_end, 0);
}

static void count_ramp(struct vb_qp *qp, bool was_ramping)
{
	vb_qp_count(qp, VB_COUNTER_roce_slow_restart);
	if (!was_ramping)
		vb_qp_count(qp, VB_COUNTER_roce_slow_restart_trans);
}

void vb_req_open_window(struct vb_qp *qp, vb_time now)
{
	const struct vb_rto_rules *rules = vb_qp_rules(qp);
	struct vb_window *w = &qp->req.window;

	if (w->epoch != rules->epoch) {
		vb_window_adopt(w, rules, qp->mtu);
		w->asked = qp->req.psn_una; /* nobody kept account while there was no window */
	}
	if (w->idle_since != VB_NEVER && qp->sq.nxt != qp->sq.tail) {
		bool was_ramping = w->ramp;

		if (vb_window_after_idle(w, rules, qp->mtu, now)) {
			w->asked = qp->req.psn_una;
			count_ramp(qp, was_ramping);
			vb_req_trace_ramp(qp, VB_RAMP_IDLE, now);
		}
	}
}

/* The packets in flight at the loss are sent again, and the window grows back to as many. */
void vb_req_slow_restart(struct vb_qp *qp, vb_time now)
{
	const struct vb_rto_rules *rules = vb_qp_rules(qp);
	struct vb_requester *req = &qp->req;
	bool was_ramping = req->window.ramp;

	if (rules->set.roce_slow_restart_en &&
	    vb_window_ramp(&req->window, rules, qp->mtu, vb_psn_span(req->psn_una, req->psn_max))) {
		count_ramp(qp, was_ramping);
		vb_req_trace_ramp(qp, VB_RAMP_LOSS, now);
	}
}
