/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the QPs that have something to send, one after the other, until the batch is full, or
 * none has more.
 */
#include "base/assert.h"
#include "core/qp/pkey.h"
#include "core/qp/qp.h"
#include "core/sched/invariants.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"

/*
 * Takes back what a quantum has added to @b, from @cnt and @seg_cnt on: the QP's entry of the P_Key
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

static bool serve_qp(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	uint32_t cnt = b->cnt, seg_cnt = b->seg_cnt;
	bool more = qp->ops->transmit(qp, b, cnt + VB_QUANTUM_PKTS, now);

	VB_ASSERT(b->cnt <= VB_TX_BATCH_PKTS && b->seg_cnt <= VB_TX_BATCH_SEGS);
	VB_ASSERT_ALL(b->cnt >= cnt && b->seg_cnt >= seg_cnt);
	if (!vb_pkey_is_valid(vb_qp_pkey(qp)))
		drop_packets(qp, b, cnt, seg_cnt);
	vb_qp_assert(qp);
	return more;
}

uint32_t vb_hca_poll_transmit(struct vb_hca *h, struct vb_tx_batch *b, vb_time now)
{
	while (vb_batch_has_room(h, b) && !vb_list_is_empty(&h->active)) {
		struct vb_qp *qp = vb_container_of(h->active.next, struct vb_qp, active);

		vb_sched_remove(qp);
		if (serve_qp(qp, b, now)) {
			if (qp->egress.batch) {
				vb_sched_activate_first(qp);
				break;
			}
			vb_sched_activate(qp);
		} else if (qp->req.block == VB_BLOCK_WINDOW && !qp->is_active) {
			VB_ASSERT(qp->peer);
			VB_ASSERT_ALL(qp->peer->inflight > 0); /* or nobody would wake it */
			vb_list_append(&qp->peer->waiting, &qp->active);
		} else {
			vb_peer_wake(h, qp->peer);
		}
	}
	return b->cnt;
}
