/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may send: QPs with something to send stand in one queue and take turns, each with a quota of
 * packets, so that one long message does not keep the others waiting and yet leaves in trains. A QP
 * that is blocked (window, credit, fence, timer) is not in the queue; what unblocks it puts it
 * back.
 */
#include "core/priv.h"
#include "core/rc/rc.h"

/* Packets a QP may send in one turn: as many as one UDP_SEGMENT train holds at MTU 4096, twice. */
#define TURN_PKTS 32u

void vb_sched_activate(struct vb_qp *qp)
{
	if (qp->is_active)
		return;
	vb_list_remove(&qp->active); /* it may wait at its peer */
	vb_list_append(&qp->hca->active, &qp->active);
	qp->is_active = true;
}

void vb_sched_remove(struct vb_qp *qp)
{
	vb_list_remove(&qp->active);
	qp->is_active = false;
}

bool vb_hca_has_transmit(const struct vb_hca *h)
{
	return !vb_list_is_empty(&h->active);
}

static bool batch_has_room(const struct vb_hca *h, const struct vb_tx_batch *b)
{
	return b->cnt < VB_TX_BATCH_PKTS && b->seg_cnt + h->cfg.limits.sge <= VB_TX_BATCH_SEGS;
}

bool vb_tx_may_emit(const struct vb_qp *qp, const struct vb_tx_batch *b, uint32_t stop)
{
	return b->cnt < stop && batch_has_room(qp->hca, b);
}

uint32_t vb_hca_poll_transmit(struct vb_hca *h, struct vb_tx_batch *b, vb_time now)
{
	while (batch_has_room(h, b) && !vb_list_is_empty(&h->active)) {
		struct vb_qp *qp = vb_container_of(h->active.next, struct vb_qp, active);
		uint32_t stop = b->cnt + TURN_PKTS;

		vb_sched_remove(qp);
		/* Responses first: a peer waits for them, and they free its window. */
		if (vb_resp_transmit(qp, b, stop, now) || vb_req_transmit(qp, b, stop, now))
			vb_sched_activate(qp);
		else if (qp->req.block == VB_BLOCK_WINDOW && !qp->is_active)
			vb_list_append(&qp->peer->waiting, &qp->active);
		else
			vb_peer_wake(h, qp->peer);
	}
	return b->cnt;
}
