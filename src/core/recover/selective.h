/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat between two QPs that both offer it: the responder keeps requests that arrive
 * beyond the expected PSN, the requester sends again only what is missing. Everything else (READ
 * responses, a timeout, a peer that does not know it) stays go-back-N.
 *
 * Agreement. A QP that offers it sets bit 6 of BTH byte 8, which is reserved, covered by the ICRC
 * and ignored by everybody else, in its requests. A responder that offers it too and has seen the
 * bit sets it in its ACKs and NAKs. The first ACK that the requester accepts decides for the life
 * of the connection: with the bit they have agreed; without it the requester never sets it again.
 *
 * Report. While something is missing, what would be an ACK is a NAK "PSN sequence error" with the
 * bit and up to 44 bytes behind the AETH, in network order: word 0 has in its low half the extent
 * E, so that ePSN + E is one past the highest PSN that has arrived, and each word behind it is a
 * run of missing PSNs, offset from ePSN << 16 | count. Runs ascend, the first has offset 0. A run
 * that does not fit is reported once those before it have arrived. The NAK acknowledges what is
 * before ePSN, as any does; a report acknowledges nothing else: it only keeps packets from being
 * sent again, and after a timeout everything is.
 */
#ifndef VB_CORE_RECOVER_SELECTIVE_H
#define VB_CORE_RECOVER_SELECTIVE_H

#include "core/priv.h"

#define VB_SR_WINDOW 4096u /* PSNs from the expected one on that may be kept; a power of 2 */
#define VB_SR_HOLES 64u    /* missing packets that a requester keeps account of */
#define VB_SR_RUNS 10u     /* of a report */

/* A request packet that the peer misses. */
struct vb_sr_hole {
	struct vb_psn psn;
	struct vb_psn stamp; /* psn_nxt when it was sent again */
	bool resent;
};

enum vb_sr_peer { VB_SR_OFFERED, VB_SR_AGREED, VB_SR_REFUSED };

/* Of one QP that offers it. */
struct vb_sr {
	/* Requester. */
	enum vb_sr_peer peer;
	uint32_t hole_cnt, due_cnt; /* due: not resent yet */
	uint32_t wqe;               /* where the last search for a PSN ended */
	struct vb_sr_hole hole[VB_SR_HOLES];
	/* Responder. */
	bool speaks; /* the peer's requests carry the bit */
	uint32_t kept_cnt;
	struct vb_psn high; /* one past the highest PSN seen; not beyond ePSN: nothing is missing */
	uint64_t kept[VB_SR_WINDOW / 64]; /* by PSN modulo the window */
	uint16_t slot[VB_SR_WINDOW];
};

/* Makes @qp, which reaches RTR, offer selective repeat. Without memory it does not; no error. */
void vb_sr_offer(struct vb_qp *qp);
/* Forgets everything and does not offer it any more. */
void vb_sr_end(struct vb_qp *qp);
void vb_sr_pool_free(struct vb_hca *h);

/* Requester: whether its packets carry the bit. */
static inline bool vb_sr_announces(const struct vb_qp *qp)
{
	return qp->sr && qp->sr->peer != VB_SR_REFUSED;
}

/* Something waits to be sent again. */
static inline bool vb_sr_is_due(const struct vb_qp *qp)
{
	return qp->sr && qp->sr->due_cnt;
}

/* Whether @pkts more PSNs behind the @span in flight are more than the peer keeps behind a hole. */
static inline bool vb_sr_is_full(const struct vb_qp *qp, uint32_t span, uint32_t pkts)
{
	return vb_sr_announces(qp) && span && span + pkts > VB_SR_WINDOW;
}

/* All before @una was acknowledged. */
static inline void vb_sr_on_progress(struct vb_qp *qp, struct vb_psn una)
{
	struct vb_sr *sr = qp->sr;

	if (sr && sr->hole_cnt && vb_psn_before(sr->hole[sr->hole_cnt - 1].psn, una))
		sr->hole_cnt = sr->due_cnt = 0;
}

/* An accepted ACK or NAK. */
static inline void vb_sr_on_ack(struct vb_qp *qp, const struct vb_hdr *hdr)
{
	if (qp->sr && qp->sr->peer == VB_SR_OFFERED)
		qp->sr->peer = hdr->selective ? VB_SR_AGREED : VB_SR_REFUSED;
}

/* A sequence error NAK, what it acknowledges done. False: it is no report, or not a right one. */
bool vb_sr_take_report(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
		       vb_time now);
/* The next packet that is due, into @b, unless it is not missing any more or sending went back. */
void vb_sr_resend(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
/* Sending goes back: there is nothing to select. */
void vb_sr_forget(struct vb_qp *qp);

/* Responder: a request beyond the expected PSN. The verdict is OK when it is kept. */
enum vb_verdict vb_sr_keep(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx);
/* The kept packet whose PSN is now the expected one; its bytes stay until vb_sr_release(). */
bool vb_sr_next(struct vb_qp *qp, struct vb_hdr *hdr, struct vb_rx *rx);
void vb_sr_release(struct vb_qp *qp, struct vb_psn psn);
/* The request at @from was carried out: up to the expected PSN nothing is kept or missing. */
void vb_sr_advance(struct vb_qp *qp, struct vb_psn from);
/* A report in place of an ACK is due. */
static inline bool vb_sr_misses(const struct vb_qp *qp)
{
	return qp->sr && qp->sr->speaks && vb_psn_before(qp->resp.epsn, qp->sr->high);
}
/* Appends the report to a NAK that has been made. */
void vb_sr_emit_report(const struct vb_qp *qp, struct vb_tx *tx);

#endif
