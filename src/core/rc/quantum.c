/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides what a QP sends in a quantum, and in which order: requester, responder and CNPs. */
#include "core/cc/rate.h"
#include "core/rc/rc.h"
#include "core/sched/peer.h"

/*
 * One quantum; true when there is more. CNPs come first: they are what congestion waits for. READ
 * responses come next: a peer waits for them, and they free its window. But a quantum that they
 * filled is followed by one of requests, since a peer may have READs under way all the time. A mere
 * acknowledgement comes last: short as it is, it ends the GSO batch of the requests before it, and
 * a peer that polls for it finds that what was sent with it has arrived too.
 */
bool vb_rc_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	/* Each packet that leaves changes the peer's bytes in flight, and among many peers that
	 * line is cold: 8 % of bench/simulator fat-tree. */
	if (qp->peer)
		__builtin_prefetch(&qp->peer->inflight);
	qp->egress.batch = false;
	if (vb_rate_notify(qp, b, stop, now))
		return true;
	if (vb_resp_owes(qp) && !qp->owes_requests) {
		qp->owes_requests = vb_resp_transmit(qp, b, stop, now);
		if (qp->owes_requests)
			return true;
	}

	bool more = vb_req_transmit(qp, b, stop, now);

	/* Requests that only wait for a batch have not been served yet. */
	qp->owes_requests = qp->owes_requests && qp->egress.batch;
	return vb_resp_transmit(qp, b, stop + 1, now) || more;
}
