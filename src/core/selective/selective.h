/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat between two QPs that both offer it: the responder keeps requests that arrive
 * beyond the expected PSN, the requester sends again only what is missing; the requester keeps
 * answers to READs and atomics that arrive beyond the oldest missing one, and asks again only for
 * those that are missing. Everything else (a timeout, a peer that does not know it) stays
 * go-back-N.
 *
 * Agreement. A QP that offers it sets bit 6 of BTH byte 8, which is reserved, covered by the ICRC
 * and ignored by everybody else, in its requests. A responder that offers it too and has seen the
 * bit sets it in all that it sends. The first of it that the requester accepts decides for the
 * life of the connection: with the bit they have agreed; without it the requester never sets it
 * again.
 *
 * Report. While something is missing, what would be an ACK is a NAK "PSN sequence error" with the
 * bit and up to 44 bytes behind the AETH, in network order: word 0 has in its low half the extent
 * E, so that ePSN + E is one past the highest PSN that has arrived, and each word behind it is a
 * run of missing PSNs, offset from ePSN << 16 | count. Runs ascend, the first has offset 0. A run
 * that does not fit is reported once those before it have arrived. The NAK acknowledges what is
 * before ePSN, as any does; a report acknowledges nothing else: it only keeps packets from being
 * sent again, and after a timeout everything is.
 *
 * Answers. They need no report: the requester sees what is missing. It asks for a run of missing
 * answers with the READ request that has the PSN of the first of them (IBA 9.7.5.1.3), or with the
 * atomic once more. The responder answers what is asked again in the order in which it was asked,
 * ahead of what it answers for the first time. So an answer that was asked for again is lost once
 * more when one has arrived that was asked for later, unless that one was on its way already.
 *
 * Nothing is sent again twice for one sign of loss. A report that was overtaken undoes nothing, a
 * request that was sent again is lost only when something newer has arrived, and an answer that is
 * missing right after sending went back is one to the request that left before.
 */
#ifndef VB_CORE_SELECTIVE_SELECTIVE_H
#define VB_CORE_SELECTIVE_SELECTIVE_H

#include "core/qp/qp.h"

#define VB_SR_HOLES 64u   /* missing packets that a requester keeps account of */
#define VB_SR_RUNS 10u    /* of a report */
#define VB_SR_GAPS 64u    /* runs of missing answers that a requester keeps account of */
#define VB_SR_REPEATS 64u /* answers to be given again that a responder keeps account of */

/* A request packet that the peer misses. */
struct vb_sr_hole {
	struct vb_psn psn;
	struct vb_psn stamp; /* psn_max when it was sent again: psn_nxt may have gone back below
			      * what the peer has seen */
	bool resent;
};

/* Answers that are missing while later ones have arrived; all of one request. */
struct vb_sr_gap {
	struct vb_psn first;
	uint32_t pkts;
	uint32_t asked; /* number of the request that asked for them again; 0: none, it is due */
	struct vb_psn stamp; /* psn_max then: an answer to a later PSN has overtaken this */
	vb_time asked_at;
};

enum vb_sr_peer { VB_SR_OFFERED, VB_SR_AGREED, VB_SR_REFUSED };

/* Of one QP that offers it. */
struct vb_sr {
	/* Requester. */
	enum vb_sr_peer peer;
	uint32_t hole_cnt, due_cnt; /* due: not resent yet */
	struct vb_psn psn_told;     /* reports on all PSNs before it are in the account */
	uint32_t wqe;               /* where the last search for a PSN ended */
	struct vb_sr_hole hole[VB_SR_HOLES];
	/* The shortest round trip so far, from a packet that leaves for the first time to the first
	 * news of it or of a later one; VB_NEVER: none was seen. An answer that comes sooner after
	 * its gap was asked for was on its way already. */
	vb_dur rtt_min;
	bool probing;
	struct vb_psn probe;
	vb_time probe_at;
	/* Sending went back: all before back_end left again, the last of it at back_at. */
	bool went_back;
	struct vb_psn back_end;
	vb_time back_at;
	/* Requester, answers. While there is a gap or a kept answer, everything before psn_seen was
	 * answered or acknowledged, but for the gaps; before psn_high too, but what is missing
	 * there waits for room among the gaps. */
	uint32_t gap_cnt, gap_due_cnt, asked_cnt, got_cnt;
	struct vb_psn psn_seen, psn_high;
	struct vb_sr_gap gap[VB_SR_GAPS]; /* in PSN order */
	uint64_t got[VB_SR_WINDOW / 64];  /* answers in place, by PSN modulo the window */
	/* Responder. */
	bool speaks; /* the peer's requests carry the bit */
	uint32_t kept_cnt;
	struct vb_psn high; /* one past the highest PSN seen; not beyond ePSN: nothing is missing */
	uint64_t kept[VB_SR_WINDOW / 64]; /* by PSN modulo the window */
	uint16_t slot[VB_SR_WINDOW];
	uint32_t repeat_head, repeat_cnt;
	struct vb_run repeat[VB_SR_REPEATS]; /* ring, in the order in which they were asked for */
};

/* The hooks that the HCA hangs in: hooks.c. */
extern const struct vb_repeat_hooks vb_sr_hooks;

/* resp.c, as the hooks offer and end have them. */
void vb_sr_offer(struct vb_qp *qp);
VB_COLD void vb_sr_end(struct vb_qp *qp);
void vb_sr_pool_free(struct vb_hca *h);

/* Requester: whether its packets carry the bit. */
static inline bool vb_sr_announces(const struct vb_qp *qp)
{
	return qp->sr && qp->sr->peer != VB_SR_REFUSED;
}

/* An answer is missing while later ones are in place. */
static inline bool vb_sr_is_behind(const struct vb_qp *qp)
{
	return qp->sr && (qp->sr->gap_cnt || qp->sr->got_cnt);
}

/* read.c: gaps before @una are none any more. */
VB_COLD void vb_sr_trim_gaps(struct vb_sr *sr, struct vb_psn una);

/* Something before @psn has reached the peer, and the news of it is here. */
static inline void vb_sr_sample(struct vb_sr *sr, struct vb_psn psn, vb_time now)
{
	if (!sr->probing || !vb_psn_before(sr->probe, psn))
		return;
	sr->rtt_min = vb_time_min(sr->rtt_min, vb_time_since(sr->probe_at, now));
	sr->probing = false;
}

/* A sequence error NAK, what it acknowledges done. False: it is no report, or not a right one. */
VB_COLD bool vb_sr_take_report(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now);
/* The next packet that is due, into @b, unless it is not missing any more or sending went back. */
VB_COLD bool vb_sr_resend(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
/* Sending goes back: there is nothing to select. Answers in place stay. */
VB_COLD void vb_sr_forget(struct vb_qp *qp);
/* The WQE of an unacknowledged PSN, or NULL. */
VB_COLD struct vb_swqe *vb_sr_wqe_of(struct vb_qp *qp, struct vb_psn psn);

/* Requester, answers (read.c), as the hooks have them. */
VB_COLD struct vb_swqe *vb_sr_early_wqe(struct vb_qp *qp, struct vb_psn psn);
VB_COLD void vb_sr_got(struct vb_qp *qp, struct vb_psn psn, vb_time now);
VB_COLD bool vb_sr_una_placed(struct vb_qp *qp, vb_time now);
/* Everything before @psn was answered or acknowledged: answers that have not come are lost. */
VB_COLD void vb_sr_answered(struct vb_qp *qp, struct vb_psn psn, vb_time now);
/* Asks for the next run of answers that is due, in @b. */
VB_COLD void vb_sr_ask_again(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);

/* Responder: a request beyond the expected PSN. The verdict is OK when it is kept. */
VB_COLD enum vb_verdict vb_sr_keep(struct vb_qp *qp, const struct vb_hdr *hdr,
				   const struct vb_rx *rx);
/* The request at @psn was carried out, or failed: goes on with what was kept behind it. */
void vb_sr_went_on(struct vb_qp *qp, struct vb_psn psn, enum vb_verdict verdict, bool owed,
		   vb_time now);
/* A report in place of an ACK is due. */
static inline bool vb_sr_misses(const struct vb_qp *qp)
{
	return qp->sr->speaks && vb_psn_before(qp->resp.epsn, qp->sr->high);
}
/* A repeated request for [@start, @end) of @r. False: it is for the resource itself to answer. */
VB_COLD bool vb_sr_repeat(struct vb_qp *qp, const struct vb_resource *r, struct vb_psn start,
			  struct vb_psn end);
/* Appends the report to a NAK that has been made. */
VB_COLD void vb_sr_emit_report(const struct vb_qp *qp, struct vb_tx *tx);

#endif
