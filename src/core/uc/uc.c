/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UC: SEND and WRITE without acknowledgement. A gap in the PSNs, or a packet out of place, drops
 * the message it hits; the next first or only packet starts again with whatever PSN it has. Its
 * receive WQE stays with the QP for the next message. IBA 9.8.2; IBT-11, IBT-12
 */
#include "core/denial.h"
#include "core/rc/rc.h"

static enum vb_verdict uc_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;
	enum vb_verdict verdict;
	uint8_t syndrome;

	if (!(flags & VB_OP_REQUEST))
		return VB_VERDICT_UNEXPECTED;
	if (!vb_psn_eq(hdr->psn, resp->epsn)) {
		vb_qp_count(qp, VB_COUNTER_out_of_sequence);
		resp->msg = VB_MSG_DROPPED;
	}
	resp->epsn = vb_psn_add(hdr->psn, 1);
	if (flags & VB_OP_FIRST)
		resp->msg = VB_MSG_NONE;
	if (resp->msg == VB_MSG_DROPPED)
		return VB_VERDICT_PSN;
	verdict = vb_resp_execute(qp, hdr, rx, now, &syndrome);
	if (verdict == VB_VERDICT_OK)
		return verdict;

	bool lacks_srq = (flags & (VB_OP_SEND | VB_OP_RECV_WQE)) && !resp->rwqe_held && qp->srq &&
			 qp->srq->has_failed;
	bool is_fatal = lacks_srq ? verdict == VB_VERDICT_OPERATION
				  : (flags & VB_OP_SEND) && (verdict == VB_VERDICT_OPERATION ||
							     verdict == VB_VERDICT_LENGTH);

	if (verdict != VB_VERDICT_NO_RECV_WQE) {
		struct vb_denial d = vb_denial_find(qp, hdr, rx, verdict);

		d.is_fatal = is_fatal;
		vb_denial_trace(qp, &d, now);
	}
	resp->msg = VB_MSG_DROPPED;
	/* An error of the receive WQE itself ends the QP; others only the message. IBA 9.9.3.1.2 */
	if (is_fatal && lacks_srq) {
		vb_qp_fatal(qp, now);
	} else if (is_fatal) {
		vb_resp_complete_failed(qp, verdict, now);
		vb_qp_enter_err(qp, now);
	}
	return verdict;
}

const struct vb_transport_ops vb_uc_ops = {
    .transport = VB_TRANSPORT_UC,
    .is_connected = true,
    .has_rq = true,
    .work_on = VB_WORK_ON_UC,
    .recv = uc_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
};
