/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: what responses do to the requester. ACKs are cumulative; a READ response or atomic
 * ACK acknowledges everything before it; an acknowledgement that skips an unanswered READ or atomic
 * means that the answer was lost. No PSN from the wire is believed unless it lies among those that
 * were sent and are not yet acknowledged. IBA 9.7.5, 9.7.6, 9.9.2
 */
#include "core/rc/rc.h"
#include "core/recover/selective.h"

#include <errno.h>
#include <string.h>

/*
 * Acknowledges everything up to and with @psn, completing WQEs in order. False: an unanswered READ
 * or atomic stands in the way; psn_una is then its oldest missing PSN.
 */
static bool ack_up_to(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_requester *req = &qp->req;
	struct vb_sq *sq = &qp->sq;

	for (;;) {
		vb_req_complete_local(qp, now);
		if (sq->head == sq->tail || qp->state == VB_QPS_ERR)
			return true;

		const struct vb_swqe *w = vb_sq_at(sq, sq->head);
		struct vb_psn end = vb_swqe_end(w);

		if (w->pkts == 0 || vb_psn_before(psn, req->psn_una))
			return true;
		if (vb_swqe_wants_response(w))
			return false;
		if (vb_psn_before(psn, vb_psn_prev(end))) {
			req->psn_una = vb_psn_add(psn, 1);
			return true;
		}
		req->psn_una = end;
		req->rsn_acked = w->rsn;
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	}
}

/* The same gap is reported by every packet that was on its way when sending went back; only the
 * first report counts. */
static bool gap_is_known(const struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_requester *req = &qp->req;

	return vb_psn_eq(req->psn_nxt, req->psn_una) ||
	       (req->recovering && vb_psn_before(psn, req->recover));
}

static enum vb_verdict on_implied_nak(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	if (gap_is_known(qp, psn))
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

static enum vb_verdict recv_ack(struct vb_qp *qp, const struct vb_hdr *hdr, vb_time now)
{
	struct vb_psn una = qp->req.psn_una;
	bool clear = ack_up_to(qp, hdr->psn, now);

	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_OK;
	if (!vb_psn_eq(una, qp->req.psn_una))
		vb_req_on_progress(qp, una, now);
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
			    vb_time_since(qp->rto.since, now), req->psn_una.v);
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

	if (syndrome == VB_NAK_PSN_SEQ) {
		vb_qp_count(qp, VB_COUNTER_packet_seq_err);
		if (vb_sr_take_report(qp, hdr, rx, now))
			return;
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

/* A NAK names the PSN that was expected: everything before it has arrived. IBA 9.7.5.2.1 */
static enum vb_verdict recv_nak(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now)
{
	struct vb_psn una = qp->req.psn_una;
	uint8_t syndrome = hdr->aeth.syndrome;

	vb_qp_trace(qp, VB_TRACE_NAK_RECEIVED, now, syndrome, hdr->psn.v, hdr->aeth.msn, 0);

	bool clear = ack_up_to(qp, vb_psn_prev(hdr->psn), now);

	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_OK;
	if (!vb_psn_eq(una, qp->req.psn_una))
		vb_req_on_progress(qp, una, now);
	/* A lost READ response comes first: the NAK's request will be repeated, and so will it. A
	 * fatal one will not: the responder is in ERR, so the oldest WQE fails for that reason. */
	bool fatal =
	    (syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK && syndrome != VB_NAK_PSN_SEQ;

	if (!clear && !fatal)
		return on_implied_nak(qp, hdr->psn, now);
	if (qp->sq.head == qp->sq.tail)
		return VB_VERDICT_UNEXPECTED;
	if ((syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR)
		on_rnr_nak(qp, syndrome, now);
	else
		on_nak(qp, hdr, rx, now);
	return VB_VERDICT_OK;
}

/*
 * Finds the WQE to which a response with @psn belongs, acknowledging what lies before.
 * NULL: the response is not the next one; *verdict says what became of it.
 */
static struct vb_swqe *response_owner(struct vb_qp *qp, struct vb_psn psn, vb_time now,
				      enum vb_verdict *verdict)
{
	struct vb_psn una = qp->req.psn_una;
	bool clear = ack_up_to(qp, vb_psn_prev(psn), now);

	*verdict = VB_VERDICT_UNEXPECTED;
	if (qp->state == VB_QPS_ERR)
		return NULL;
	if (!vb_psn_eq(una, qp->req.psn_una))
		vb_req_on_progress(qp, una, now);
	if (!vb_psn_eq(qp->req.psn_una, psn)) {
		if (!clear)
			*verdict = on_implied_nak(qp, psn, now);
		return NULL;
	}
	if (qp->sq.head == qp->sq.tail)
		return NULL;

	struct vb_swqe *w = vb_sq_at(&qp->sq, qp->sq.head);

	return w->pkts ? w : NULL;
}

static void response_done(struct vb_qp *qp, struct vb_swqe *w, const struct vb_hdr *hdr,
			  bool request_done, vb_time now)
{
	struct vb_requester *req = &qp->req;
	struct vb_psn una = req->psn_una;

	req->psn_una = vb_psn_add(una, 1);
	if (request_done && req->rd_out)
		req->rd_out--;
	if (vb_psn_eq(req->psn_una, vb_swqe_end(w))) {
		req->rsn_acked = w->rsn;
		vb_send_complete(qp, VB_WC_SUCCESS, 0, now);
	}
	if (vb_hdr_opcode(hdr)->ext & VB_EXT_AETH)
		take_credits(qp, hdr->aeth.syndrome);
	vb_req_on_progress(qp, una, now);
}

/* The PSN was right and the packet is not what a responder may send. IBA 9.9.2.4 */
static enum vb_verdict bad_response(struct vb_qp *qp, enum vb_verdict why, vb_time now)
{
	vb_req_fail(qp, VB_WC_BAD_RESP_ERR, why, now);
	return why;
}

static enum vb_verdict recv_read_response(struct vb_qp *qp, const struct vb_hdr *hdr,
					  const struct vb_rx *rx, vb_time now)
{
	enum vb_verdict verdict;
	struct vb_swqe *w = response_owner(qp, hdr->psn, now, &verdict);

	if (!w)
		return verdict;
	if (w->opcode != VB_WR_RDMA_READ)
		return bad_response(qp, VB_VERDICT_SEQUENCE, now);

	uint32_t k = vb_psn_span(w->first, hdr->psn);
	uint64_t off = (uint64_t)k * qp->mtu;
	uint32_t want = w->length - (uint32_t)off < qp->mtu ? w->length - (uint32_t)off : qp->mtu;
	bool ends = k + 1 == w->pkts || (qp->piece_pkts && (k + 1) % qp->piece_pkts == 0);
	uint32_t len;
	const uint8_t *payload = vb_rx_payload(hdr, rx, &len);

	if (len != want)
		return bad_response(qp, VB_VERDICT_LENGTH, now);
	if (ends != ((vb_hdr_opcode(hdr)->flags & VB_OP_LAST) != 0))
		return bad_response(qp, VB_VERDICT_SEQUENCE, now);
	if (vb_mem_scatter(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, off, payload, len)) {
		vb_req_fail(qp, VB_WC_LOC_PROT_ERR, 0, now);
		return VB_VERDICT_OK;
	}
	response_done(qp, w, hdr, ends, now);
	return VB_VERDICT_OK;
}

static enum vb_verdict recv_atomic_ack(struct vb_qp *qp, const struct vb_hdr *hdr, vb_time now)
{
	enum vb_verdict verdict;
	struct vb_swqe *w = response_owner(qp, hdr->psn, now, &verdict);
	uint64_t orig = hdr->atomic_orig;

	if (!w)
		return verdict;
	if (w->opcode != VB_WR_COMPARE_SWAP && w->opcode != VB_WR_FETCH_ADD)
		return bad_response(qp, VB_VERDICT_SEQUENCE, now);
	/* The result lands in host order. IBT-69 */
	if (vb_mem_scatter(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, 0, &orig, sizeof orig)) {
		vb_req_fail(qp, VB_WC_LOC_PROT_ERR, 0, now);
		return VB_VERDICT_OK;
	}
	response_done(qp, w, hdr, true, now);
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
	switch (op) {
	case VB_OP_ACK:
		vb_sr_on_ack(qp, hdr);
		return class == VB_SYNDROME_ACK ? recv_ack(qp, hdr, now)
						: recv_nak(qp, hdr, rx, now);
	case VB_OP_ATOMIC_ACK:
		return recv_atomic_ack(qp, hdr, now);
	default:
		return recv_read_response(qp, hdr, rx, now);
	}
}
