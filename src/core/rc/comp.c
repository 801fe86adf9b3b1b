/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: responses at the requester. ACKs are cumulative; a READ response or atomic
 * ACK acknowledges everything before it; an acknowledgement that skips an unanswered READ or atomic
 * means that the answer was lost. No PSN from the wire is believed unless it lies among those that
 * were sent and are not yet acknowledged. IBA 9.7.5, 9.7.6, 9.9.2
 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/rc/rc.h"

#include <errno.h>
#include <string.h>

bool vb_comp_ack_up_to(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_requester *req = &qp->req;
	struct vb_sq *sq = &qp->sq;

	for (;;) {
		vb_req_complete_local(qp, now);
		if (sq->head == sq->tail || qp->state == VB_QPS_ERR)
			return true;

		const struct vb_swqe *w = vb_sq_at(sq, sq->head);
		struct vb_psn end = vb_swqe_end(w);

		if (w->pkts == 0)
			return true;
		if (qp->sr && qp->hca->repeat->una_came(qp)) {
			vb_comp_una_answered(qp, w, now);
			continue;
		}
		if (vb_psn_before(psn, req->psn_una))
			return true;
		if (vb_swqe_wants_response(w))
			return false;
		if (vb_psn_before(psn, vb_psn_prev(end))) {
			VB_ASSERT_ALL(vb_psn_before(psn, req->psn_max));
			req->psn_una = vb_psn_add(psn, 1);
			return true;
		}
		req->psn_una = end;
		VB_ASSERT_ALL(!vb_psn_before(req->psn_max, end));
		req->rsn_acked = w->rsn;
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	}
}

VB_COLD static enum vb_verdict on_implied_nak(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	if (vb_req_knows_gap(&qp->req, psn))
		return VB_VERDICT_DUPLICATE;
	vb_qp_count(qp, VB_COUNTER_implied_nak_seq_err);
	vb_req_retry(qp, now, VB_REWIND_IMPLIED_NAK);
	return VB_VERDICT_OK;
}

static void take_credits(struct vb_qp *qp, uint8_t syndrome)
{
	uint32_t credits = vb_credit_decode(syndrome & VB_SYNDROME_VALUE);
	struct vb_requester *req = &qp->req;

	req->credit_limited = credits != UINT32_MAX;
	if (req->credit_limited)
		req->rsn_limit = req->rsn_acked + credits;
	if (req->block == VB_BLOCK_CREDIT)
		vb_sched_activate(qp);
}

/* Both have agreed that only what is missing is sent again. */
static inline bool is_selective(const struct vb_qp *qp)
{
	return qp->sr && qp->hca->repeat->has_agreed(qp);
}

static enum vb_verdict recv_ack(struct vb_qp *qp, const struct vb_hdr *hdr, vb_time now)
{
	struct vb_psn una = qp->req.psn_una;
	bool clear = vb_comp_ack_up_to(qp, hdr->psn, now);

	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_OK;
	if (!vb_psn_eq(una, qp->req.psn_una))
		vb_req_on_progress(qp, una, now);
	if (!clear && is_selective(qp)) {
		qp->hca->repeat->answered(qp, vb_psn_add(hdr->psn, 1), now);
		return VB_VERDICT_OK;
	}
	if (!clear)
		return on_implied_nak(qp, hdr->psn, now);
	take_credits(qp, hdr->aeth.syndrome);
	return VB_VERDICT_OK;
}

static void on_rnr_nak(struct vb_qp *qp, uint8_t syndrome, vb_time now)
{
	struct vb_requester *req = &qp->req;

	if (req->state == VB_REQ_RNR_WAIT)
		return;
	vb_qp_count(qp, VB_COUNTER_rnr_nak_retry_err);
	if (req->rnr_left == 0) {
		vb_qp_count(qp, VB_COUNTER_rnr_retry_exceeded_err);
		vb_qp_trace(qp, VB_TRACE_RETRY_ENDED, now, VB_REWIND_RNR, qp->rto.timeout_cnt,
			    vb_req_waited(qp, now), req->psn_una.v);
		vb_req_fail(qp, VB_WC_RNR_RETRY_EXC_ERR, syndrome, now);
		return;
	}
	if (qp->attr.rnr_retry != 7) /* IBT-80: 7 is for ever */
		req->rnr_left--;
	vb_req_rewind(qp, now, VB_REWIND_RNR);
	vb_rto_paused(&qp->rto);
	req->state = VB_REQ_RNR_WAIT;
	vb_timer_set(qp, VB_TIMER_RNR,
		     vb_time_after(now, vb_rnr_timer_ns(syndrome & VB_SYNDROME_VALUE)));
}

static enum vb_wc_status status_of_nak(uint8_t syndrome)
{
	switch (syndrome) {
	case VB_NAK_INVALID_REQUEST:
		return VB_WC_REM_INV_REQ_ERR;
	case VB_NAK_REMOTE_ACCESS:
		return VB_WC_REM_ACCESS_ERR;
	case VB_NAK_REMOTE_OP:
		return VB_WC_REM_OP_ERR;
	case VB_NAK_INVALID_RD:
		return VB_WC_REM_INV_RD_REQ_ERR;
	default:
		return VB_WC_BAD_RESP_ERR; /* a reserved code */
	}
}

static void on_nak(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx, vb_time now)
{
	uint8_t syndrome = hdr->aeth.syndrome;
	int credits = -1;

	if (syndrome == VB_NAK_PSN_SEQ) {
		vb_qp_count(qp, VB_COUNTER_packet_seq_err);
		if (qp->sr && qp->hca->repeat->reported(qp, hdr, rx, &credits, now)) {
			vb_rate_lost(qp, VB_REWIND_NAK, now);
			if (credits >= 0)
				take_credits(qp, (uint8_t)credits);
			return;
		}
		if (!vb_psn_eq(qp->req.psn_nxt, qp->req.psn_una))
			vb_req_retry(qp, now, VB_REWIND_NAK);
		return;
	}
	if (syndrome == VB_NAK_REMOTE_ACCESS)
		vb_qp_count(qp, VB_COUNTER_req_remote_access_errors);
	else if (syndrome == VB_NAK_INVALID_REQUEST)
		vb_qp_count(qp, VB_COUNTER_req_remote_invalid_request);
	vb_req_fail(qp, status_of_nak(syndrome), syndrome, now);
}

enum vb_verdict vb_comp_refused(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now)
{
	uint8_t syndrome = hdr->aeth.syndrome;

	if (qp->sq.head == qp->sq.tail)
		return VB_VERDICT_UNEXPECTED;
	if ((syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR)
		on_rnr_nak(qp, syndrome, now);
	else
		on_nak(qp, hdr, rx, now);
	return VB_VERDICT_OK;
}

/* A NAK names the PSN that was expected: everything before it has arrived. IBA 9.7.5.2.1 */
VB_COLD static enum vb_verdict recv_nak(struct vb_qp *qp, const struct vb_hdr *hdr,
					const struct vb_rx *rx, vb_time now)
{
	struct vb_psn una = qp->req.psn_una;
	uint8_t syndrome = hdr->aeth.syndrome;

	vb_qp_trace(qp, VB_TRACE_NAK_RECEIVED, now, syndrome, hdr->psn.v, hdr->aeth.msn, 0);

	bool clear = vb_comp_ack_up_to(qp, vb_psn_prev(hdr->psn), now);

	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_OK;
	if (!vb_psn_eq(una, qp->req.psn_una))
		vb_req_on_progress(qp, una, now);
	/* A lost READ response comes first: the NAK's request will be repeated, and so will it. A
	 * fatal one will not: the responder is in ERR, so the oldest WQE fails for that reason. */
	bool fatal =
	    (syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK && syndrome != VB_NAK_PSN_SEQ;

	if (!clear && syndrome == VB_NAK_PSN_SEQ && is_selective(qp))
		qp->hca->repeat->answered(qp, hdr->psn, now);
	else if (!clear && !fatal)
		return on_implied_nak(qp, hdr->psn, now);
	return vb_comp_refused(qp, hdr, rx, now);
}

void vb_comp_una_answered(struct vb_qp *qp, const struct vb_swqe *w, vb_time now)
{
	struct vb_requester *req = &qp->req;

	if (vb_req_emit_pkts(qp, w, req->psn_una) == 1 && req->rd_out)
		req->rd_out--; /* the last one of its request */
	req->psn_una = vb_psn_add(req->psn_una, 1);
	VB_ASSERT(!vb_psn_before(req->psn_max, req->psn_una));
	if (vb_psn_eq(req->psn_una, vb_swqe_end(w))) {
		req->rsn_acked = w->rsn;
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	}
}

/* The PSN was right and the packet is not what a responder may send. IBA 9.9.2.4 */
VB_COLD static enum vb_verdict bad_response(struct vb_qp *qp, enum vb_verdict why, vb_time now)
{
	vb_req_fail(qp, VB_WC_BAD_RESP_ERR, why, now);
	return why;
}

static enum vb_verdict place_read(struct vb_qp *qp, const struct vb_swqe *w,
				  const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	uint32_t k = vb_psn_span(w->first, hdr->psn);
	uint64_t off = (uint64_t)k * qp->mtu;
	uint32_t want = w->length - (uint32_t)off < qp->mtu ? w->length - (uint32_t)off : qp->mtu;
	bool ends = vb_req_emit_pkts(qp, w, hdr->psn) == 1;
	bool last = vb_hdr_opcode(hdr)->flags & VB_OP_LAST;
	uint32_t len;
	const uint8_t *payload = vb_rx_payload(hdr, rx, &len);

	if (!(w->traits & VB_WORK_FILLS_SGES))
		return len ? VB_VERDICT_LENGTH : VB_VERDICT_OK; /* that it came is the answer */
	if (len != want)
		return VB_VERDICT_LENGTH;
	/* An answer asked for again with selective repeat may end anywhere. */
	if (ends ? !last : last && !is_selective(qp))
		return VB_VERDICT_SEQUENCE;
	if (vb_mem_scatter(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, off, payload, len))
		return VB_VERDICT_OPERATION;
	return VB_VERDICT_OK;
}

/* Puts the answer, which has a PSN of @w, where it belongs. OPERATION: the memory is gone. */
static enum vb_verdict answer_place(struct vb_qp *qp, const struct vb_swqe *w,
				    const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	uint64_t orig = hdr->atomic_orig;
	bool atomic = (hdr->opcode & VB_OP_MASK) == VB_OP_ATOMIC_ACK;

	if (!vb_swqe_wants_response(w) || atomic != ((w->traits & VB_WORK_ATOMIC) != 0))
		return VB_VERDICT_SEQUENCE;
	if (!atomic)
		return place_read(qp, w, hdr, rx);
	/* The result lands in host order. IBT-69 */
	if (vb_mem_scatter(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, 0, &orig, sizeof orig))
		return VB_VERDICT_OPERATION;
	return VB_VERDICT_OK;
}

/* An answer beyond a missing one. Errors are reported when its turn comes. */
VB_COLD static enum vb_verdict recv_early(struct vb_qp *qp, const struct vb_hdr *hdr,
					  const struct vb_rx *rx, vb_time now)
{
	const struct vb_swqe *w = qp->hca->repeat->early_wqe(qp, hdr->psn);
	enum vb_verdict verdict;

	if (!w)
		return VB_VERDICT_DUPLICATE;
	verdict = answer_place(qp, w, hdr, rx);
	if (verdict == VB_VERDICT_OK)
		qp->hca->repeat->early_placed(qp, hdr->psn, now);
	return verdict;
}

/* An answer. Before it, everything is acknowledged. */
static enum vb_verdict recv_response(struct vb_qp *qp, const struct vb_hdr *hdr,
				     const struct vb_rx *rx, vb_time now)
{
	struct vb_requester *req = &qp->req;
	struct vb_psn una = req->psn_una;
	bool clear = vb_comp_ack_up_to(qp, vb_psn_prev(hdr->psn), now);

	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_UNEXPECTED;
	if (!vb_psn_eq(una, req->psn_una))
		vb_req_on_progress(qp, una, now);
	una = req->psn_una;
	if (!clear && !vb_psn_eq(una, hdr->psn))
		return is_selective(qp) ? recv_early(qp, hdr, rx, now)
					: on_implied_nak(qp, hdr->psn, now);
	if (!vb_psn_eq(una, hdr->psn) || qp->sq.head == qp->sq.tail)
		return VB_VERDICT_UNEXPECTED;

	const struct vb_swqe *w = vb_sq_at(&qp->sq, qp->sq.head);

	if (w->pkts == 0)
		return VB_VERDICT_UNEXPECTED;

	enum vb_verdict verdict = answer_place(qp, w, hdr, rx);

	if (verdict == VB_VERDICT_OPERATION) {
		vb_req_fail(qp, VB_WC_LOC_PROT_ERR, 0, now);
		return VB_VERDICT_OK;
	}
	if (verdict != VB_VERDICT_OK)
		return bad_response(qp, verdict, now);
	if (!qp->sr || !qp->hca->repeat->una_placed(qp, now))
		vb_comp_una_answered(qp, w, now);
	if (vb_hdr_opcode(hdr)->ext & VB_EXT_AETH)
		take_credits(qp, hdr->aeth.syndrome);
	vb_req_on_progress(qp, una, now);
	return VB_VERDICT_OK;
}

enum vb_verdict vb_comp_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			     vb_time now)
{
	struct vb_requester *req = &qp->req;
	uint8_t op = hdr->opcode & VB_OP_MASK;
	uint8_t class = hdr->aeth.syndrome & VB_SYNDROME_CLASS;

	if (qp->state != VB_QPS_RTS && qp->state != VB_QPS_SQD)
		return VB_VERDICT_QP_STATE;
	if (!vb_psn_before(hdr->psn, req->psn_max))
		return VB_VERDICT_UNEXPECTED; /* never sent */
	if (vb_psn_before(hdr->psn, req->psn_una)) {
		/* An old ACK. The newest of them may bring credits. IBA 9.7.7.2.4 */
		if (op == VB_OP_ACK && class == VB_SYNDROME_ACK &&
		    vb_psn_eq(hdr->psn, vb_psn_prev(req->psn_una)))
			take_credits(qp, hdr->aeth.syndrome);
		return VB_VERDICT_DUPLICATE;
	}
	if (qp->sr)
		qp->hca->repeat->accepted(qp, hdr);
	vb_rate_hear(qp, hdr, rx);
	if (op != VB_OP_ACK)
		return recv_response(qp, hdr, rx, now);
	return class == VB_SYNDROME_ACK ? recv_ack(qp, hdr, now) : recv_nak(qp, hdr, rx, now);
}
