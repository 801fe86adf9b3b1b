/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the connected transports: requester (req.c, req_emit.c, rewind.c), completer
 * (comp.c) and responder (resp.c, resp_read.c, ack.c). RC uses all of them; UC and UD use the
 * requester, and UC the message part of the responder.
 */
#ifndef VB_CORE_RC_RC_H
#define VB_CORE_RC_RC_H

#include "core/obj/mem.h"
#include "core/qp/qp.h"
#include "core/recover/arm.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"
#include "core/tx/tx.h"

/* req.c. Both transmit calls return true when there is more than the batch or quantum took. */
bool vb_req_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);
/* Fails the oldest WQE: a completion with @status, then ERR. */
VB_COLD void vb_req_fail(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err,
			 vb_time now);
/* Completes local WQEs and a failed one that have become the oldest. */
void vb_req_complete_local(struct vb_qp *qp, vb_time now);

/* rewind.c */
void vb_req_on_timer(struct vb_qp *qp, enum vb_timer t, vb_time now);
VB_COLD void vb_req_rewind(struct vb_qp *qp, vb_time now, uint32_t why);
/* Sends again from psn_una if the policy allows; else fails the oldest WQE with RETRY_EXC_ERR. */
VB_COLD void vb_req_retry(struct vb_qp *qp, vb_time now, uint32_t why);
/* The QP has another path: what is in flight on the old one leaves again. */
VB_COLD void vb_req_moved(struct vb_qp *qp, bool path, vb_time now);
/* The PSNs from @from to psn_una - 1 were acknowledged: reload retries, restart the timer, look at
 * the queue again. */
void vb_req_on_progress(struct vb_qp *qp, struct vb_psn from, vb_time now);

/* The same gap is reported by every packet that was on its way when sending went back; only the
 * first report counts. */
static inline bool vb_req_knows_gap(const struct vb_requester *req, struct vb_psn psn)
{
	return vb_psn_eq(req->psn_nxt, req->psn_una) ||
	       (req->recovering && vb_psn_before(psn, req->recover));
}

/* ramp.c */
/* Before sending: the window follows the settings, and ramps up after a pause. */
void vb_req_open_window(struct vb_qp *qp, vb_time now);
/* After a loss: the packets in flight are sent again, and the window grows back to as many. */
VB_COLD void vb_req_slow_restart(struct vb_qp *qp, vb_time now);
void vb_req_trace_ramp(struct vb_qp *qp, enum vb_ramp_why why, vb_time now);

/* comp.c */
/*
 * Acknowledges everything up to and with @psn, completing WQEs in order. False: an unanswered READ
 * or atomic stands in the way; psn_una is then its oldest missing PSN.
 */
bool vb_comp_ack_up_to(struct vb_qp *qp, struct vb_psn psn, vb_time now);
/* The answer with psn_una, which belongs to @w, the oldest WQE, is in place. */
void vb_comp_una_answered(struct vb_qp *qp, const struct vb_swqe *w, vb_time now);
enum vb_verdict vb_comp_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			     vb_time now);
/* A NAK or RNR NAK of the oldest WQE. */
VB_COLD enum vb_verdict vb_comp_refused(struct vb_qp *qp, const struct vb_hdr *hdr,
					const struct vb_rx *rx, vb_time now);

/* The payload of a packet, NULL where it is absent, and how long it is. */
static inline const uint8_t *vb_rx_payload(const struct vb_hdr *hdr, const struct vb_rx *rx,
					   uint32_t *len)
{
	uint32_t hdr_len = vb_hdr_opcode(hdr)->hdr_len;

	*len = rx->len - hdr_len - hdr->pad;
	if (rx->body)
		return rx->body;
	return rx->avail < rx->len ? NULL : rx->pkt + hdr_len;
}

/* READs or atomics wait for their answers, or for another one. */
static inline bool vb_resp_owes(const struct vb_qp *qp)
{
	return qp->resp.res_pending || (qp->sr && qp->hca->repeat->next_repeat(qp));
}

/* resp.c */
/* A request with the expected PSN. */
enum vb_verdict vb_resp_in_order(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now);
enum vb_verdict vb_resp_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			     vb_time now);
/*
 * Carries out a SEND or WRITE packet whose PSN is the expected one. Not OK: *syndrome is the NAK or
 * RNR NAK that answers it where requests are acknowledged.
 */
enum vb_verdict vb_resp_execute(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now, uint8_t *syndrome);
/* Completes the receive WQE of the message that failed with the status that @why stands for. */
VB_COLD void vb_resp_complete_failed(struct vb_qp *qp, enum vb_verdict why, vb_time now);
/* Ends the QP with @syndrome, which it still says. */
VB_COLD void vb_resp_fail(struct vb_qp *qp, uint8_t syndrome, vb_time now);

/* True for requests that a response of their own answers, and not an ACK. */
static inline bool vb_op_is_answered(const struct vb_hdr *hdr)
{
	uint8_t op = hdr->opcode & VB_OP_MASK;

	return vb_hdr_opcode(hdr)->flags & (VB_OP_READ | VB_OP_ATOMIC) ||
	       op == VB_OP_ATOMIC_WRITE || op == VB_OP_FLUSH;
}

/* The access that a request for @qp asks for. */
static inline struct vb_remote vb_qp_remote(const struct vb_qp *qp, uint32_t rkey, uint64_t va,
					    uint64_t len, uint32_t access)
{
	return (struct vb_remote){.hca = qp->hca,
				  .pd = qp->pd,
				  .qpn = qp->qpn,
				  .rkey = rkey,
				  .access = access,
				  .va = va,
				  .len = len};
}

/* resp_read.c: READs, atomics, ATOMIC WRITEs and FLUSHes. */
enum vb_verdict vb_resp_read(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
enum vb_verdict vb_resp_atomic(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
enum vb_verdict vb_resp_atomic_write(struct vb_qp *qp, const struct vb_hdr *hdr,
				     const struct vb_rx *rx, uint8_t *syndrome);
/* The rights that a FLUSH of these types needs. */
uint32_t vb_flush_access(uint32_t flush);
enum vb_verdict vb_resp_flush(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
VB_COLD enum vb_verdict vb_resp_duplicate(struct vb_qp *qp, const struct vb_hdr *hdr, vb_time now);
/* Packets of the answer to a READ of @len bytes. */
uint32_t vb_resp_read_pkts(const struct vb_qp *qp, uint32_t len);
/* The oldest READ or atomic whose answer is not all sent, or NULL. */
struct vb_resource *vb_resp_pending(struct vb_qp *qp);
/* The one that has the answer with @psn, or NULL. */
struct vb_resource *vb_resp_resource(struct vb_responder *resp, struct vb_psn psn);

/* quantum.c: the transmit operation of all transports. */
bool vb_rc_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);

/* ack.c: everything the responder sends. */
bool vb_resp_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);
uint8_t vb_credit_encode(uint32_t wqe_cnt);
/* Receive WQEs that a credit code stands for; UINT32_MAX: no limit. */
uint32_t vb_credit_decode(uint8_t code);

#endif
