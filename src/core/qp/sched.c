/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may send: QPs with something to send stand in one queue and take turns, each with a quota of
 * packets, so that one long message does not keep the others waiting and yet leaves in trains. A QP
 * that is blocked (window, credit, fence, timer) is not in the queue; what unblocks it puts it
 * back.
 */
#include "core/cc/point.h"
#include "core/obj/pkey.h"
#include "core/rc/rc.h"
#include "core/selective/selective.h"

void vb_sched_activate(struct vb_qp *qp)
{
	if (qp->is_active)
		return;
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

static bool batch_has_room(const struct vb_hca *h, const struct vb_tx_batch *b)
{
	return b->cnt < VB_TX_BATCH_PKTS && b->seg_cnt + h->cfg.limits.sge <= VB_TX_BATCH_SEGS;
}

bool vb_tx_may_emit(const struct vb_qp *qp, const struct vb_tx_batch *b, uint32_t stop)
{
	return b->cnt < stop && batch_has_room(qp->hca, b);
}

/*
 * One turn; true when there is more. CNPs come first: they are what congestion waits for. READ
 * responses come next: a peer waits for them, and they free its window. But a turn that they filled
 * is followed by one of requests, since a peer may have READs under way all the time. A mere
 * acknowledgement comes last: short as it is, it ends the train of the requests before it, and a
 * peer that polls for it finds that what was sent with it has arrived too.
 */
static bool qp_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	qp->req.waits_batch = false;
	if (qp->cc.cnp_due && vb_cc_send_cnps(qp, b, stop, now))
		return true;
	if (vb_resp_owes(qp) && !qp->owes_requests) {
		qp->owes_requests = vb_resp_transmit(qp, b, stop, now);
		if (qp->owes_requests)
			return true;
	}

	bool more = vb_req_transmit(qp, b, stop, now);

	/* Those that only wait have not had their turn yet. */
	qp->owes_requests = qp->owes_requests && qp->req.waits_batch;
	return vb_resp_transmit(qp, b, stop + 1, now) || more;
}

/*
 * Takes back what a turn has added to @b, from @cnt and @seg_cnt on: the QP's entry of the P_Key
 * table is empty, since the table has changed. To the QP, which stays as it is, the packets are
 * lost. IBA 10.9.3
 */
static void drop_packets(const struct vb_qp *qp, struct vb_tx_batch *b, uint32_t cnt,
			 uint32_t seg_cnt)
{
	vb_count_add(vb_port_counters(qp->hca, qp->attr.port),
		     VB_COUNTER_port_xmit_constraint_errors, b->cnt - cnt);
	b->cnt = cnt;
	b->seg_cnt = seg_cnt;
}

static bool take_turn(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	uint32_t cnt = b->cnt, seg_cnt = b->seg_cnt;
	bool more = qp_transmit(qp, b, cnt + VB_TURN_PKTS, now);

	if (!vb_pkey_is_valid(vb_qp_pkey(qp)))
		drop_packets(qp, b, cnt, seg_cnt);
	return more;
}

uint32_t vb_hca_poll_transmit(struct vb_hca *h, struct vb_tx_batch *b, vb_time now)
{
	while (batch_has_room(h, b) && !vb_list_is_empty(&h->active)) {
		struct vb_qp *qp = vb_container_of(h->active.next, struct vb_qp, active);

		vb_sched_remove(qp);
		if (take_turn(qp, b, now)) {
			if (qp->req.waits_batch) {
				vb_sched_activate_first(qp);
				break;
			}
			vb_sched_activate(qp);
		} else if (qp->req.block == VB_BLOCK_WINDOW && !qp->is_active) {
			vb_list_append(&qp->peer->waiting, &qp->active);
		} else {
			vb_peer_wake(h, qp->peer);
		}
	}
	return b->cnt;
}
