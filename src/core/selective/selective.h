/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat between two QPs that both offer it: the responder keeps requests that arrive
 * beyond the expected PSN, READs and atomics too, the requester sends again only what is missing;
 * the requester keeps answers to READs and atomics that arrive beyond the oldest missing one, and
 * asks again only for those that are missing. Everything else (a timeout, a peer that does not know
 * it) stays go-back-N.
 *
 * Agreement. A QP that offers it sets bit 6 of BTH byte 8, which is reserved, covered by the ICRC
 * and ignored by everybody else, in its requests. A responder that offers it too and has seen the
 * bit sets it in all that it sends. The first of it that the requester accepts decides for the
 * life of the connection: with the bit they have agreed; without it the requester never sets it
 * again.
 *
 * Report. While something is missing, what would be an ACK is a NAK "PSN sequence error" with the
 * bit and up to 44 bytes behind the AETH, in network order:
 *
 *   word 0   number of the report << 16 | extent E: ePSN + E is one past the highest that arrived
 *   word 1   from << 16 | to: offsets from ePSN
 *   word 2   credits, as in the AETH of an ACK: the NAK has no place for them
 *   words    up to eight runs of missing PSNs, offset from ePSN << 16 | count, ascending
 *
 * From @from to before @to everything that no run names has arrived. A report that a new gap gave
 * rise to names the newest runs, so that each gap is named at once and several times over; where
 * not all fit, the others go on behind each other from ePSN to the end and begin again, so that in
 * the time in which so many packets come all of them are named. Nothing depends on a single report.
 * The NAK acknowledges what is before ePSN, as any does; a report acknowledges nothing else: it
 * only keeps packets from being sent again, and after a timeout everything is.
 *
 * Loss. A packet that is missing and known to be is a hole. A hole that was filled by sending again
 * is lost once more when a report names it and something that was sent later has arrived: a packet
 * that left for the first time, or another hole, by the order in which they left.
 *
 * Order. A hole that is filled sooner than a round trip after it was sent again was not lost but
 * overtaken. Then the newest packets are not believed to be missing: so many more each time, and
 * fewer with each hole that was lost.
 *
 * Silence. When nothing was heard for one and a half round trips, the oldest hole is sent again,
 * and the newest packet where no report has it: their arrival shows what else is missing. After
 * that the wait grows. The ACK timer runs beside this, and goes back.
 *
 * READs take up the PSNs of their answers. One that is kept counts as arrived with all of them, in
 * the extent and between runs.
 *
 * Answers. They need no report: the requester sees what is missing. It asks for a run of missing
 * answers with the READ request that has the PSN of the first of them (IBA 9.7.5.1.3), or with the
 * atomic once more. The responder answers what is asked again in the order in which it was asked,
 * ahead of what it answers for the first time. So an answer that was asked for again is lost once
 * more when one has arrived that was asked for later, unless that one was on its way already.
 *
 * Nothing is sent again twice for one sign of loss. A report that was overtaken names nothing, a
 * request that was sent again is lost only when something newer has arrived, and an answer that is
 * missing right after sending went back is one to the request that left before.
 *
 * Memory. The QP has tables of pages; the pages are of pools (pool.h), and are held only where
 * something is missing or early.
 */
#ifndef VB_CORE_SELECTIVE_SELECTIVE_H
#define VB_CORE_SELECTIVE_SELECTIVE_H

#include "core/qp/qp.h"

#define VB_SR_RING 65536u /* places of PSNs in tables; more than VB_SR_WINDOW */
#define VB_SR_RUNS 8u     /* of a report */
#define VB_SR_REPEATS 64u /* answers to be given again that a responder keeps account of */

#define VB_SR_PKT_MAX (VB_HDR_MAX + 4096u) /* a payload with its padding is not longer */

/* Responder: packets of a stretch of PSNs that are kept, and where. */
#define VB_SR_KEPT_PSNS 1024u
#define VB_SR_KEPT_PAGES (VB_SR_RING / VB_SR_KEPT_PSNS)
struct vb_sr_kept_page {
	uint64_t kept[VB_SR_KEPT_PSNS / 64];
	uint64_t read[VB_SR_KEPT_PSNS / 64]; /* of them, READs, which take up more than one PSN */
	uint32_t block[VB_SR_KEPT_PSNS];
};

/* Requester: a packet that the peer misses, or an answer that is missing here. */
struct vb_sr_hole {
	vb_time at;          /* when it was sent or asked for again */
	struct vb_psn stamp; /* psn_max then: psn_nxt may have gone back below what the peer has
			      * seen */
	uint32_t order;      /* how many were sent or asked for again before, by the QP */
	uint16_t prev, next; /* of its list; places in the ring */
};

/* Requester: what is missing in a stretch of PSNs, and which early answers are in place. */
#define VB_SR_HOLE_PSNS 256u
#define VB_SR_HOLE_PAGES (VB_SR_RING / VB_SR_HOLE_PSNS)
enum vb_sr_mark {
	VB_SR_HOLE,   /* it is missing */
	VB_SR_DUE,    /* ... and not sent again, or asked for again, yet */
	VB_SR_LATE,   /* ... or it was, and what left later has arrived */
	VB_SR_ANSWER, /* ... and an answer */
	VB_SR_GOT,    /* it is an early answer in place */
	VB_SR_MARKS
};
struct vb_sr_hole_page {
	uint64_t mark[VB_SR_MARKS][VB_SR_HOLE_PSNS / 64];
	struct vb_sr_hole hole[VB_SR_HOLE_PSNS];
};

struct vb_sr_list {
	uint16_t head, tail;
	uint32_t cnt;
};

enum vb_sr_peer { VB_SR_OFFERED, VB_SR_AGREED, VB_SR_REFUSED };

/* Of one QP that offers it. */
struct vb_sr {
	/* Requester. */
	enum vb_sr_peer peer;
	uint32_t hole_cnt, gap_cnt; /* packets that the peer misses; answers */
	uint32_t due_cnt;           /* of both */
	uint32_t got_cnt, page_cnt;
	struct vb_psn due_from; /* nothing before it is due */
	struct vb_psn trimmed;  /* nothing before it has a mark */
	uint32_t order;         /* of what is sent or asked for again next */
	uint32_t reorder;       /* the newest so many packets may only be out of order */
	uint32_t order_there; /* what was sent again before that is lost, if still missing there; */
	uint32_t order_here;  /* what was asked for again before that is, if still missing here */
	bool refilled;        /* by the last report, something that was sent again has arrived */
	bool reported;        /* there was a report, */
	uint16_t report;      /* and this is the number of the newest */
	struct vb_sr_list list[2]; /* holes sent again, and answers asked for again, that are
				    * not late, in the order in which they left */
	uint32_t wqe, wqe_end;     /* where the last search for a PSN ended; one past the newest WQE
				    * of which something was sent */
	uint16_t page[VB_SR_HOLE_PAGES]; /* 0: none; else one more than its number */
	/* The shortest round trip so far, from a packet that leaves for the first time to the first
	 * news of it or of a later one; VB_NEVER: none was seen. An answer that comes sooner after
	 * its gap was asked for was on its way already. */
	vb_dur rtt_min;
	vb_dur rtt;              /* the mean of late; 0: none was seen */
	uint32_t silent_cnt;     /* times in a row that nothing was heard for so long */
	struct vb_psn high_told; /* by reports, one past the highest PSN that has arrived */
	bool probing, probe_waits;
	struct vb_psn probe;
	vb_time probe_at;
	/* Sending went back: all before back_end left again, the last of it at back_at. */
	bool went_back;
	struct vb_psn back_end;
	vb_time back_at;
	/* Requester, answers. While one is missing or early, everything before psn_seen was
	 * answered or acknowledged, but for the holes; before psn_high too, but what is missing
	 * there waits for a page. */
	struct vb_psn psn_seen, psn_high;
	/* Responder. */
	bool speaks;        /* the peer's requests carry the bit */
	bool opened;        /* a gap that no report of the newest runs has named yet */
	bool newest;        /* the last report was of the newest runs */
	uint16_t report_nr; /* of the next report */
	struct vb_psn told; /* where the next report in turn begins */
	struct vb_psn high; /* one past the highest PSN seen; not beyond ePSN: nothing is missing */
	uint32_t kept_cnt, block_cnt; /* packets, and their blocks */
	uint32_t read_cnt;            /* READs among them */
	uint16_t kept_page[VB_SR_KEPT_PAGES];
	uint32_t repeat_head, repeat_cnt;
	struct vb_run repeat[VB_SR_REPEATS]; /* ring, in the order in which they were asked for */
};

/* The hooks that the HCA hangs in: hooks.c. */
extern const struct vb_repeat_hooks vb_sr_hooks;

/* resp.c, as the hooks offer and end have them. */
void vb_sr_offer(struct vb_qp *qp);
VB_COLD void vb_sr_end(struct vb_qp *qp);

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

/*
 * holes.c: the account of what is missing. PSNs are from psn_una to before psn_max.
 */
bool vb_sr_is(const struct vb_qp *qp, struct vb_psn psn, enum vb_sr_mark mark);
/* The hole @psn, which there is. */
struct vb_sr_hole *vb_sr_hole_at(struct vb_qp *qp, struct vb_psn psn);
/* True: @psn has, or gets, a page; false: there is none left. */
bool vb_sr_has_room(struct vb_qp *qp, struct vb_psn psn);
/* @psn is missing, and due. There is room for it. */
void vb_sr_hole_add(struct vb_qp *qp, struct vb_psn psn, bool is_answer);
/* The hole @psn was lost once more. */
void vb_sr_hole_lost(struct vb_qp *qp, struct vb_psn psn);
/* The hole @psn, which was due, was sent or asked for again; @stamp as the hole has it. */
void vb_sr_hole_sent(struct vb_qp *qp, struct vb_psn psn, struct vb_psn stamp, vb_time now);
void vb_sr_hole_remove(struct vb_qp *qp, struct vb_psn psn);
/* The hole @psn was filled: its packet has arrived. */
void vb_sr_hole_filled(struct vb_qp *qp, struct vb_psn psn);
/* The same, and the news of it is here at once: it says how long a round trip is. */
void vb_sr_hole_came(struct vb_qp *qp, struct vb_psn psn, vb_time now);
/* The first hole from @psn on, or one not before @end where there is none before it. */
struct vb_psn vb_sr_hole_next(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end);
/*
 * Holes, or answers, that were sent or asked for again are late when what left later has arrived: a
 * PSN before @high, or another one of them. That one may have been on its way before, so a round
 * trip has to have passed.
 */
void vb_sr_holes_late(struct vb_qp *qp, bool are_answers, struct vb_psn high, vb_time now);
/* The first PSN from @psn on that is news when the peer says that it is missing: it is no hole, or
 * a late one. */
struct vb_psn vb_sr_hole_news(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end);
/* The first hole that is due; there is one. */
struct vb_psn vb_sr_hole_due(struct vb_qp *qp);
/* The answer @psn is in place, or is taken from there. There is room for it. */
void vb_sr_got_set(struct vb_qp *qp, struct vb_psn psn);
void vb_sr_got_clear(struct vb_qp *qp, struct vb_psn psn);
/* Nothing before @una is missing or early any more. */
void vb_sr_trim(struct vb_qp *qp, struct vb_psn una);
/* Nothing is missing. Answers in place stay. */
void vb_sr_holes_forget(struct vb_qp *qp);
/* Gives all pages back. */
void vb_sr_holes_end(struct vb_qp *qp);

/* A round trip took so long. */
static inline void vb_sr_took(struct vb_sr *sr, vb_dur took)
{
	sr->rtt = sr->rtt ? sr->rtt - sr->rtt / 4 + took / 4 : took;
}

/* Something before @psn has reached the peer, and the news of it is here. */
static inline void vb_sr_sample(struct vb_sr *sr, struct vb_psn psn, vb_time now)
{
	if (!sr->probing || !vb_psn_before(sr->probe, psn))
		return;

	sr->rtt_min = vb_time_min(sr->rtt_min, vb_time_since(sr->probe_at, now));
	/* An answer that was asked for the first time waits for those before it. */
	if (sr->rtt == 0 || !sr->probe_waits)
		vb_sr_took(sr, vb_time_since(sr->probe_at, now));
	sr->probing = false;
}

/*
 * probe.c: what was sent last may be lost, with nothing behind it to show that.
 */
/* Something leaves: waits for news of it. */
void vb_sr_wait(struct vb_qp *qp, vb_time now);
/* There is news: waits for more, if anything is outstanding. */
void vb_sr_heard(struct vb_qp *qp, vb_time now);
/* There was none, as the hooks have it. */
VB_COLD void vb_sr_silent(struct vb_qp *qp, bool lags, vb_time now);

/* A sequence error NAK, what it acknowledges done. False: it is no report, or not a right one. */
VB_COLD bool vb_sr_take_report(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       int *credits, vb_time now);
/* The next packet that is due, into @b, unless it is not missing any more or sending went back. */
VB_COLD bool vb_sr_resend(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
/* Sending goes back: there is nothing to select. Answers in place stay. */
VB_COLD void vb_sr_forget(struct vb_qp *qp);
/* The WQE of an unacknowledged PSN, or NULL. */
VB_COLD struct vb_swqe *vb_sr_wqe_of(struct vb_qp *qp, struct vb_psn psn);

/* Requester, answers (read.c), as the hooks have them. */
VB_COLD struct vb_swqe *vb_sr_early_wqe(struct vb_qp *qp, struct vb_psn psn);
VB_COLD void vb_sr_got(struct vb_qp *qp, struct vb_psn psn, vb_time now);
bool vb_sr_una_came(struct vb_qp *qp);
VB_COLD bool vb_sr_una_placed(struct vb_qp *qp, vb_time now);
/* Everything before @psn was answered or acknowledged: answers that have not come are lost. */
VB_COLD void vb_sr_answered(struct vb_qp *qp, struct vb_psn psn, vb_time now);
/* Asks for the answers of @w that are due from @psn on, in @b. */
VB_COLD void vb_sr_ask_again(struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn,
			     struct vb_tx_batch *b, vb_time now);

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
VB_COLD void vb_sr_emit_report(struct vb_qp *qp, struct vb_tx *tx, uint8_t credits);

#endif
