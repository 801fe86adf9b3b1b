/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet on its way to a QP: everything that it must pass before the transport sees it. IBA 9.6.1
 */
#include "core/cc/point.h"
#include "core/qp/apm.h"
#include "core/qp/pkey.h"
#include "core/qp/qp.h"
#include "core/sched/invariants.h"

static bool state_receives(enum vb_qp_state s)
{
	return s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE;
}

/* Everything that can be said before the transport looks. IBA 9.6.1 */
static enum vb_verdict packet_check(struct vb_qp *qp, const struct vb_hdr *hdr,
				    const struct vb_rx *rx, vb_time now)
{
	const struct vb_path *from = rx->path;

	if (!state_receives(qp->state))
		return VB_VERDICT_QP_STATE;
	/* Only now does it say to which path the packet has to belong. */
	if (qp->attr.path_mig_state != VB_MIG_MIGRATED && !vb_apm_take(qp, hdr, from, now))
		return VB_VERDICT_SOURCE;
	if (from->port != qp->attr.port && from->port != qp->hca->cfg.port[qp->attr.port].parent)
		return VB_VERDICT_SOURCE;
	if (vb_qp_pkey_index(qp, hdr->pkey) < 0)
		return VB_VERDICT_PKEY;
	if (qp->ops->is_connected && !vb_path_is_back(from, &qp->attr.path))
		return VB_VERDICT_SOURCE;
	return VB_VERDICT_OK;
}

/* RoCE has CNPs of its own, for QPs that have a peer; by InfiniBand any QP that sends may get one.
 * IBA A10.3.2, A17.9.3 */
static bool is_cnp_for(const struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from)
{
	if (vb_path_has_lid(from))
		return hdr->opcode == VB_OPCODE_CNP_IB;
	return hdr->opcode == VB_OPCODE_CNP && (qp->ops->is_connected || qp->ops->is_with);
}

/* Of another transport: a CNP, or no packet for the QP. Marked or not, it draws none. CC-04 */
VB_COLD static enum vb_verdict cnp_deliver(struct vb_qp *qp, const struct vb_hdr *hdr,
					   const struct vb_rx *rx, vb_time now)
{
	enum vb_verdict v = VB_VERDICT_TRANSPORT;

	if (is_cnp_for(qp, hdr, rx->path))
		v = packet_check(qp, hdr, rx, now);
	if (v != VB_VERDICT_OK)
		return v;
	return qp->ops->on_cnp ? qp->ops->on_cnp(qp, hdr, rx, now)
			       : vb_cc_take_cnp(qp, rx->path, now);
}

enum vb_verdict vb_qp_deliver(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			      vb_time now)
{
	enum vb_verdict v;

	if ((hdr->opcode & VB_TRANSPORT_MASK) != qp->ops->transport)
		return cnp_deliver(qp, hdr, rx, now);
	v = packet_check(qp, hdr, rx, now);
	if (v != VB_VERDICT_OK)
		return v;
	if ((rx->path->traffic_class & VB_ECN_MASK) == VB_ECN_CE)
		vb_cc_take_mark(qp, hdr, rx->path, now);
	if (qp->state == VB_QPS_RTR && !qp->comm_est && qp->ops->is_connected) {
		qp->comm_est = true;
		vb_qp_raise(qp, VB_ASYNC_COMM_EST);
	}
	v = qp->ops->recv(qp, hdr, rx, now);
	vb_qp_assert(qp);
	return v;
}
