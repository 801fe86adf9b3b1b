/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat at the requester: the last packets that left may be lost, and nothing behind
 * them shows it. When nothing was heard for one and a half round trips, one of them leaves again.
 * The ACK timer, by which the QP goes back and counts retries, is not touched. See selective.h.
 */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"

/* The wait grows to four times one and a half round trips, and stays there for a while: where a
 * queue on the way is full, probes are lost as well. */
#define EXP_MAX 2u
#define STAYS 8u
#define SILENT_MAX 24u

static vb_dur silence_of(const struct vb_sr *sr)
{
	uint32_t n = sr->silent_cnt, exp = n < EXP_MAX ? n : EXP_MAX;

	VB_ASSERT(n <= SILENT_MAX);
	return (sr->rtt + sr->rtt / 2) << (n > STAYS ? exp + n - STAYS : exp);
}

void vb_sr_wait(struct vb_qp *qp, vb_time now)
{
	const struct vb_sr *sr = qp->sr;

	if (sr->peer == VB_SR_AGREED && sr->rtt)
		vb_timer_set(qp, VB_TIMER_PROBE, vb_time_after(now, silence_of(sr)));
}

void vb_sr_heard(struct vb_qp *qp, vb_time now)
{
	qp->sr->silent_cnt = 0;
	if (vb_psn_eq(qp->req.psn_una, qp->req.psn_max))
		vb_timer_stop(qp, VB_TIMER_PROBE);
	else
		vb_sr_wait(qp, now);
}

/* Whether the packet at @psn of @w may leave by itself: a READ that may not have arrived leaves
 * whole, or not at all. */
static bool stands_alone(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn)
{
	return w->opcode != VB_WR_RDMA_READ || !vb_psn_eq(psn, qp->req.psn_una) ||
	       vb_sr_is(qp, psn, VB_SR_HOLE) || vb_req_emit_pkts(qp, w, psn) == 1;
}

/* @psn is to leave once more. */
static void probe_with(struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

	VB_ASSERT(w);
	if (vb_sr_is(qp, psn, VB_SR_HOLE))
		vb_sr_hole_lost(qp, psn);
	else if (!vb_sr_is(qp, psn, VB_SR_GOT) && stands_alone(qp, w, psn) &&
		 vb_sr_has_room(qp, psn))
		vb_sr_hole_add(qp, psn, vb_swqe_wants_response(w));
}

void vb_sr_silent(struct vb_qp *qp, bool lags, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	const struct vb_requester *req = &qp->req;
	struct vb_psn last = vb_psn_prev(req->psn_max);

	/* When sending has gone back, all of it leaves anyway. */
	if (req->state != VB_REQ_ACTIVE || vb_psn_eq(req->psn_una, req->psn_max) ||
	    !vb_psn_eq(req->psn_nxt, req->psn_max) || sr->due_cnt)
		return;
	if (!lags) {
		if (sr->hole_cnt + sr->gap_cnt)
			probe_with(qp, req->psn_una);
		if (vb_psn_before(sr->high_told, req->psn_max))
			probe_with(qp, last);
		if (sr->silent_cnt < SILENT_MAX)
			sr->silent_cnt++;
	}
	vb_sr_wait(qp, now);
}
