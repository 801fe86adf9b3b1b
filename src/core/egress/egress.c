/* SPDX-License-Identifier: BSD-2-Clause */
/* GSO batches and receiver credit, see egress.h. */
#include "core/egress/egress.h"

#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/hca.h"
#include "core/qp/qp.h"
#include "core/sched/sched.h"
#include "core/sched/timer.h"

/*
 * Packets of @w from psn_nxt on that had better leave together. The first one of a message may be
 * longer than the others, and then is no part of their GSO batch.
 */
static uint32_t gso_of(const struct vb_qp *qp, const struct vb_swqe *w)
{
	uint32_t at, most = qp->gso_pkts;

	if (!w || w->pkts <= 1 || most <= 1 || vb_swqe_wants_response(w))
		return 1;
	at = vb_psn_span(w->first, qp->req.psn_nxt);
	VB_ASSERT_ALL(at < w->pkts);
	if (at == 0)
		most++;
	if (most > VB_QUANTUM_PKTS)
		most = VB_QUANTUM_PKTS;
	return w->pkts - at < most ? w->pkts - at : most;
}

/*
 * For those packets that are not the first of this quantum there may be a place in the next one.
 * The first ones, which others that were owed may have left little of the quantum, go beyond its
 * end; or they wait for the next batch, and are first in it.
 */
bool vb_egress_find_place(struct vb_egress *out, struct vb_qp *qp)
{
	bool is_first = out->b->cnt == out->from;
	uint32_t end = out->b->cnt + out->gso;

	VB_ASSERT_ALL(out->gso > 1 && out->gso <= VB_QUANTUM_PKTS);
	if (is_first && end > out->stop)
		out->stop = end;
	qp->egress.batch = is_first && end > VB_TX_BATCH_PKTS;
	return end <= out->stop && end <= VB_TX_BATCH_PKTS;
}

/*
 * True while a part of a GSO batch waits for credit for the whole. Not for ever: others may take
 * what there is again and again.
 */
static bool gso_waits(struct vb_egress_wait *wait, const struct vb_egress *out, uint32_t mtu,
		      vb_time now)
{
	if (out->gso == 1)
		return false;
	if (out->credit >= (uint64_t)out->gso * mtu) {
		wait->gso_at = 0;
		return false;
	}
	if (!wait->gso_at)
		wait->gso_at = now;
	return now - wait->gso_at < VB_GSO_WAIT_NS;
}

/* A connected QP asks for credit once a quantum, one with a destination in each WQE once a message.
 */
bool vb_egress_ask(struct vb_egress *out, struct vb_qp *qp, const struct vb_swqe *w, vb_time now)
{
	const struct vb_hca_config *cfg = &qp->hca->cfg;

	out->gso = out->left ? 1 : gso_of(qp, w);
	if (!cfg->rx_credit)
		return false;
	if (!qp->ops->is_connected) {
		const struct vb_ud_dest *to = vb_swqe_ud(w);

		out->credit = cfg->rx_credit(cfg->receiver_ctx, &to->path, to->dqpn, now);
	} else if (out->credit == UINT64_MAX) {
		out->credit =
		    cfg->rx_credit(cfg->receiver_ctx, &qp->attr.path, qp->attr.dest_qpn, now);
	}
	if (out->credit >= qp->mtu && !gso_waits(&qp->egress, out, qp->mtu, now))
		return false;
	qp->req.block = VB_BLOCK_RX_CREDIT;
	vb_timer_set(qp, VB_TIMER_RX_CREDIT, vb_time_after(now, VB_RX_CREDIT_RETRY_NS));
	vb_qp_count(qp, VB_COUNTER_port_xmit_wait);
	return true;
}

void vb_egress_passed(struct vb_egress *out, struct vb_qp *qp, vb_time now)
{
	const struct vb_tx *tx = &out->b->pkt[out->b->cnt - 1];
	uint32_t len = vb_tx_wire_len(tx);

	vb_rate_request_left(qp, tx, now);
	if (out->credit <= UINT32_MAX)
		out->credit -= len < out->credit ? len : out->credit;
}
