/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which QP may send: QPs with something to send stand in one queue and are served in turn,
 * a quantum each, so that one long message does not keep the others waiting and yet leaves in GSO
 * batches. A QP that is blocked (window, credit, fence, timer) is not in the queue; what unblocks
 * it puts it back.
 */
#include "core/sched/sched.h"

#include "base/assert.h"
#include "core/qp/qp.h"

void vb_sched_activate(struct vb_qp *qp)
{
	if (qp->is_active)
		return;
	VB_ASSERT_ALL(qp->state != VB_QPS_RESET);
	vb_list_remove(&qp->active); /* it may wait at its peer */
	vb_list_append(&qp->hca->active, &qp->active);
	qp->is_active = true;
}

void vb_sched_activate_first(struct vb_qp *qp)
{
	vb_list_remove(&qp->active);
	vb_list_append(qp->hca->active.next, &qp->active);
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

bool vb_batch_has_room(const struct vb_hca *h, const struct vb_tx_batch *b)
{
	return b->cnt < VB_TX_BATCH_PKTS && b->seg_cnt + h->cfg.limits.sge <= VB_TX_BATCH_SEGS;
}

bool vb_tx_may_emit(const struct vb_qp *qp, const struct vb_tx_batch *b, uint32_t stop)
{
	VB_ASSERT_ALL(b->seg_cnt <= VB_TX_BATCH_SEGS);
	return b->cnt < stop && vb_batch_has_room(qp->hca, b);
}
