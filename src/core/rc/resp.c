/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder: requests of RC, and the SEND and WRITE messages that UC shares. A request passes
 * PSN, then its place in the message, then length, rights and receive WQE; the first failure is the
 * answer. IBA 9.7.4, 9.9.3
 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/denial.h"
#include "core/obj/mw.h"
#include "core/qp/pkey.h"
#include "core/rc/rc.h"

#include <errno.h>
#include <string.h>

/* Middles are full, only the end of a message may be shorter or padded. IBA 9.7.4.1.6 */
static bool payload_fits(const struct vb_qp *qp, uint16_t flags, uint32_t len)
{
	if (!(flags & VB_OP_LAST))
		return len == qp->mtu;
	return len <= qp->mtu && (len > 0 || (flags & VB_OP_FIRST));
}

static void recv_finish(struct vb_qp *qp, const struct vb_hdr *hdr, uint32_t bytes,
			enum vb_wc_opcode opcode, vb_time now)
{
	struct vb_wc wc = {.opcode = opcode,
			   .byte_len = bytes,
			   .sl = qp->attr.path.sl,
			   .slid = qp->attr.path.dlid,
			   .dlid_path_bits = vb_qp_path_bits(qp, qp->attr.path.slid)};

	if (qp->ops->takes_srqs)
		wc.src_qpn = qp->attr.dest_qpn;

	uint16_t ext = vb_hdr_opcode(hdr)->ext;

	if (ext & VB_EXT_IMMDT) {
		wc.flags |= VB_WC_WITH_IMM;
		wc.imm = hdr->imm;
	} else if (ext & VB_EXT_IETH) {
		wc.flags |= VB_WC_WITH_INV;
		wc.imm = hdr->inv_rkey;
	}
	vb_recv_complete(qp, &wc, hdr->solicited, now);
}

VB_COLD static uint8_t rnr_syndrome(struct vb_qp *qp)
{
	vb_qp_count(qp, VB_COUNTER_out_of_buffer);
	return VB_SYNDROME_RNR | (qp->attr.min_rnr_timer & VB_SYNDROME_VALUE);
}

/* There is no receive WQE: one may come, but not from an SRQ that has failed. */
VB_COLD static enum vb_verdict lacks_receive(struct vb_qp *qp, uint8_t *syndrome)
{
	if (qp->srq && qp->srq->has_failed) {
		*syndrome = VB_NAK_REMOTE_OP;
		return VB_VERDICT_OPERATION;
	}
	*syndrome = rnr_syndrome(qp);
	return VB_VERDICT_NO_RECV_WQE;
}

static enum vb_verdict execute_send(struct vb_qp *qp, const struct vb_hdr *hdr,
				    const uint8_t *payload, uint32_t len, vb_time now,
				    uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;

	if (flags & VB_OP_FIRST) {
		if (!resp->rwqe_held && !vb_qp_take_rwqe(qp))
			return lacks_receive(qp, syndrome);
		resp->rcvd = 0;
		resp->msg = VB_MSG_SEND;
	}
	if (resp->rcvd + len > resp->rwqe->length) {
		vb_qp_count(qp, VB_COUNTER_resp_local_length_error);
		*syndrome = VB_NAK_INVALID_REQUEST; /* IBT-43 */
		return VB_VERDICT_LENGTH;
	}
	if (vb_mem_scatter(vb_recv_pd(qp), resp->rwqe->sge, resp->rwqe->sge_cnt, resp->rcvd,
			   payload, len)) {
		*syndrome = VB_NAK_REMOTE_OP;
		return VB_VERDICT_OPERATION;
	}
	if ((vb_hdr_opcode(hdr)->ext & VB_EXT_IETH) &&
	    vb_mw_invalidate(qp->pd, qp->qpn, hdr->inv_rkey)) {
		/* The message has arrived whole, and so it is acknowledged: the failure is the
		 * responder's own, class J. IBA 9.9.6.3 */
		resp->msn++;
		*syndrome = VB_SYNDROME_ACK;
		return VB_VERDICT_INVALIDATE;
	}
	resp->rcvd += len;
	if (flags & VB_OP_LAST) {
		resp->msg = VB_MSG_NONE;
		recv_finish(qp, hdr, (uint32_t)resp->rcvd, VB_WC_RECV, now);
	}
	return VB_VERDICT_OK;
}

static enum vb_verdict execute_write(struct vb_qp *qp, const struct vb_hdr *hdr,
				     const uint8_t *payload, uint32_t len, vb_time now,
				     uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;
	bool first = flags & VB_OP_FIRST, last = flags & VB_OP_LAST;
	uint64_t va = first ? hdr->reth.va : resp->va;
	uint64_t left = first ? hdr->reth.len : resp->left;
	uint32_t rkey = first ? hdr->reth.rkey : resp->rkey;
	uint64_t check =
	    first ? left : len; /* the whole range at once, before any byte is written */
	struct vb_remote to = vb_qp_remote(qp, rkey, va, check, VB_ACCESS_REMOTE_WRITE);
	uint8_t *p = NULL;

	if (first)
		vb_qp_count(qp, VB_COUNTER_rx_write_requests);
	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!(qp->attr.access & VB_ACCESS_REMOTE_WRITE) || left > qp->hca->cfg.limits.msg_size)
		return VB_VERDICT_INVALID_REQUEST;
	if (check && vb_mem_remote(&to, &p)) {
		*syndrome = VB_NAK_REMOTE_ACCESS;
		return VB_VERDICT_ACCESS;
	}
	if (last ? len != left : len >= left) {
		vb_qp_count(qp, VB_COUNTER_resp_local_length_error);
		return VB_VERDICT_LENGTH; /* DMALen is the length of the message. C9-92 */
	}
	/* The receive WQE is taken at the last packet. IBT-67 */
	if ((flags & VB_OP_RECV_WQE) && !resp->rwqe_held && !vb_qp_take_rwqe(qp))
		return lacks_receive(qp, syndrome);
	if (p && payload && vb_mem_write(qp->hca, p, payload, len)) {
		*syndrome = VB_NAK_REMOTE_OP;
		return VB_VERDICT_OPERATION;
	}
	if (first)
		resp->rcvd = 0;
	resp->msg = last ? VB_MSG_NONE : VB_MSG_WRITE;
	resp->va = va + len;
	resp->left = left - len;
	resp->rkey = rkey;
	resp->rcvd += len;
	if (flags & VB_OP_RECV_WQE)
		recv_finish(qp, hdr, (uint32_t)resp->rcvd, VB_WC_RECV_RDMA_WITH_IMM, now);
	return VB_VERDICT_OK;
}

enum vb_verdict vb_resp_execute(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;
	enum vb_msg_kind kind = flags & VB_OP_SEND ? VB_MSG_SEND : VB_MSG_WRITE;
	uint32_t len;
	const uint8_t *payload = vb_rx_payload(hdr, rx, &len);

	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!(flags & (VB_OP_SEND | VB_OP_WRITE)))
		return VB_VERDICT_INVALID_REQUEST;
	if (resp->msg != (flags & VB_OP_FIRST ? VB_MSG_NONE : kind))
		return VB_VERDICT_SEQUENCE;
	if (!payload_fits(qp, flags, len))
		return len > qp->mtu ? VB_VERDICT_OVERSIZED : VB_VERDICT_INVALID_REQUEST;
	return kind == VB_MSG_SEND ? execute_send(qp, hdr, payload, len, now, syndrome)
				   : execute_write(qp, hdr, payload, len, now, syndrome);
}

void vb_resp_fail(struct vb_qp *qp, uint8_t syndrome, vb_time now)
{
	struct vb_responder *resp = &qp->resp;

	vb_resp_owe_nak(resp, VB_RESP_FAILS, syndrome);
	if (syndrome == VB_NAK_REMOTE_ACCESS)
		vb_qp_count(qp, VB_COUNTER_resp_remote_access_errors);
	vb_qp_enter_err(qp, now);
}

void vb_resp_complete_failed(struct vb_qp *qp, enum vb_verdict why, vb_time now)
{
	enum vb_wc_status status = why == VB_VERDICT_LENGTH      ? VB_WC_LOC_LEN_ERR
				   : why == VB_VERDICT_OPERATION ? VB_WC_LOC_PROT_ERR
				   : why == VB_VERDICT_ACCESS    ? VB_WC_LOC_ACCESS_ERR
								 : VB_WC_REM_INV_REQ_ERR;

	vb_recv_complete_error(qp, status, why, now);
}

/*
 * A request that cannot be carried out: RNR NAK and wait, or NAK and ERR. The receive WQE of the
 * message says why; without one an async event does. IBA 9.9.3.1
 */
VB_COLD static void refuse(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			   enum vb_verdict why, uint8_t syndrome, vb_time now)
{
	struct vb_responder *resp = &qp->resp;

	if ((syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_RNR) {
		struct vb_denial d = vb_denial_find(qp, hdr, rx, why);

		vb_denial_trace(qp, &d, now);
		/* A WRITE with immediate takes its receive all the same. IBA 11.6.2 */
		if (why == VB_VERDICT_ACCESS && vb_hdr_opcode(hdr)->flags & VB_OP_RECV_WQE &&
		    !resp->rwqe_held)
			(void)vb_qp_take_rwqe(qp); /* if there is one */
		if (resp->rwqe_held)
			vb_resp_complete_failed(qp, why, now);
		else if (syndrome == VB_NAK_INVALID_REQUEST)
			vb_qp_raise(qp, VB_ASYNC_QP_REQ_ERR);
		else if (syndrome == VB_NAK_REMOTE_ACCESS)
			vb_qp_raise(qp, VB_ASYNC_QP_ACCESS_ERR);
		else if (syndrome == VB_NAK_REMOTE_OP)
			vb_qp_raise(qp, VB_ASYNC_QP_FATAL);
		vb_resp_fail(qp, syndrome, now);
		return;
	}
	/* Packets behind this request are dropped until it comes again. */
	vb_resp_owe_nak(resp, VB_RESP_REFUSES, syndrome);
	vb_sched_activate(qp);
}

/* Beyond the expected PSN: one NAK, then silence until the expected one arrives. IBA 9.7.4.2 */
VB_COLD static enum vb_verdict on_gap(struct vb_qp *qp, const struct vb_hdr *hdr,
				      const struct vb_rx *rx)
{
	struct vb_responder *resp = &qp->resp;

	vb_qp_count(qp, VB_COUNTER_out_of_sequence);
	if (!vb_resp_is_silent(resp) || vb_psn_before(resp->dropped, hdr->psn))
		resp->dropped = hdr->psn;
	if (!vb_resp_is_silent(resp)) {
		if (qp->sr && qp->hca->repeat->speaks(qp))
			return qp->hca->repeat->keep(qp, hdr, rx);
		vb_resp_owe_nak(resp, VB_RESP_REFUSES, VB_NAK_PSN_SEQ);
		vb_sched_activate(qp);
	}
	return VB_VERDICT_PSN;
}

/* A request with the expected PSN and a place to go: not OK comes with the NAK in *syndrome. */
static enum vb_verdict carry_out(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;

	if (vb_op_is_answered(hdr)) {
		*syndrome = VB_NAK_INVALID_REQUEST;
		if (resp->msg != VB_MSG_NONE)
			return VB_VERDICT_SEQUENCE;
		if (flags & VB_OP_READ)
			return vb_resp_read(qp, hdr, syndrome);
		if ((hdr->opcode & VB_OP_MASK) == VB_OP_FLUSH)
			return vb_resp_flush(qp, hdr, syndrome);
		return flags & VB_OP_ATOMIC ? vb_resp_atomic(qp, hdr, syndrome)
					    : vb_resp_atomic_write(qp, hdr, rx, syndrome);
	}

	enum vb_verdict verdict = vb_resp_execute(qp, hdr, rx, now, syndrome);

	if (verdict != VB_VERDICT_OK)
		return verdict;
	resp->epsn = vb_psn_add(resp->epsn, 1);
	if (flags & VB_OP_LAST)
		resp->msn++;
	if (hdr->ack_req) {
		resp->ack_due = true;
		resp->ack_psn = hdr->psn;
		vb_sched_activate(qp);
	}
	return VB_VERDICT_OK;
}

/* The expected packet arrived before the NAK for it left. Packets dropped behind it still need one:
 * nothing else says so before the requester's timer does. */
VB_COLD static void ask_for_dropped(struct vb_qp *qp)
{
	struct vb_responder *resp = &qp->resp;

	if (vb_psn_before(resp->dropped, resp->epsn))
		return;
	vb_resp_owe_nak(resp, VB_RESP_REFUSES, VB_NAK_PSN_SEQ);
	vb_sched_activate(qp);
}

enum vb_verdict vb_resp_in_order(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now)
{
	struct vb_responder *resp = &qp->resp;
	bool is_gap = vb_resp_owes_nak(resp) && resp->nak_syndrome == VB_NAK_PSN_SEQ;
	enum vb_verdict verdict = VB_VERDICT_OK;
	uint8_t syndrome;

	VB_ASSERT_ALL(vb_psn_eq(hdr->psn, resp->epsn) && qp->state != VB_QPS_ERR);
	/* A NAK still due for it has lost its cause. */
	if (resp->state != VB_RESP_IN_ORDER)
		vb_resp_enter(resp, VB_RESP_IN_ORDER);
	if (qp->ops->select)
		verdict = qp->ops->select(qp, hdr, &syndrome);
	if (verdict == VB_VERDICT_OK)
		verdict = carry_out(qp, hdr, rx, now, &syndrome);
	/* A completion above may have overrun the CQ and with it ended the QP. */
	if (qp->state == VB_QPS_ERR)
		return verdict;
	if (verdict != VB_VERDICT_OK)
		refuse(qp, hdr, rx, verdict, syndrome, now);
	else if (is_gap && !(qp->sr && qp->hca->repeat->speaks(qp)))
		ask_for_dropped(qp);
	return verdict;
}

enum vb_verdict vb_resp_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			     vb_time now)
{
	int32_t ahead = vb_psn_diff(hdr->psn, qp->resp.epsn);
	bool owed = vb_resp_owes_nak(&qp->resp);
	enum vb_verdict verdict;

	vb_rate_take_data(qp, rx);
	if (qp->sr && hdr->selective)
		qp->hca->repeat->heard(qp);
	if (ahead > 0)
		return on_gap(qp, hdr, rx);
	if (ahead < 0)
		return vb_resp_duplicate(qp, hdr, now);
	verdict = vb_resp_in_order(qp, hdr, rx, now);
	if (qp->sr)
		qp->hca->repeat->went_on(qp, hdr->psn, verdict, owed, now);
	return verdict;
}
