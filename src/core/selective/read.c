/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat of answers, at the requester: READ responses and atomic ACKs that arrive beyond
 * the oldest missing one are placed at once and remembered in a bitmap; the runs between them are
 * asked for again. psn_una stays at the oldest missing answer, so nothing completes early and the
 * responder's memory of answered requests (IBA 9.7.5.1.3) holds all that can be asked for. See
 * selective.h.
 */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/rc/rc.h"
#include "core/recover/arm.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"

/* The answer with @psn, which is missing, is lost again, or was not asked for yet. When sending
 * went back a moment ago, the answer that is missing belongs to the request that left before that,
 * and this one was asked for by the one that left then. */
static void gap_add(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;

	/* The request was reported missing before, and its answer is now. */
	if (vb_sr_is(qp, psn, VB_SR_HOLE))
		vb_sr_hole_remove(qp, psn);
	vb_sr_hole_add(qp, psn, true);
	if (sr->went_back && vb_psn_before(psn, sr->back_end) &&
	    vb_time_since(sr->back_at, now) < sr->rtt_min)
		vb_sr_hole_sent(qp, psn, qp->req.psn_max, sr->back_at);
}

/* Answers that are missing in [psn_seen, psn_high), as holes, as many as there is room for. True:
 * there are some. */
static bool find_gaps(struct vb_qp *qp, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn psn = sr->psn_seen, to = sr->psn_high;
	bool found = false;

	while (vb_psn_before(psn, to)) {
		const struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

		if (!w)
			break;

		struct vb_psn end = vb_swqe_end(w);

		if (!vb_swqe_wants_response(w)) {
			psn = end;
			continue;
		}
		for (; vb_psn_before(psn, end) && vb_psn_before(psn, to);
		     psn = vb_psn_add(psn, 1)) {
			if (vb_sr_is(qp, psn, VB_SR_GOT))
				continue;
			if (!vb_sr_has_room(qp, psn)) {
				sr->psn_seen = psn;
				return found;
			}
			gap_add(qp, psn, now);
			found = true;
		}
	}
	sr->psn_seen = vb_psn_before(to, psn) ? to : psn;
	return found;
}

/* Everything before @psn was answered, as vb_sr_answered() says. */
static void answers_note(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_requester *req = &qp->req;
	bool is_first = sr->gap_cnt == 0;

	if (vb_req_knows_gap(req, vb_psn_prev(psn)))
		return;
	vb_sr_holes_late(qp, true, psn, now);
	if (sr->due_cnt)
		vb_sched_activate(qp);
	/* From psn_nxt on everything is about to be sent anyway. */
	if (vb_psn_before(req->psn_nxt, psn))
		psn = req->psn_nxt;
	sr->psn_high = vb_psn_later(sr->psn_high, psn);
	sr->psn_seen = vb_psn_later(sr->psn_seen, req->psn_una);
	if (!vb_psn_before(sr->psn_seen, sr->psn_high))
		return;
	if (!find_gaps(qp, now))
		return;
	vb_qp_count(qp, VB_COUNTER_implied_nak_seq_err);
	vb_qp_trace(qp, VB_TRACE_MISSING, now, req->psn_una.v, sr->psn_seen.v, sr->gap_cnt,
		    sr->due_cnt);
	/* A new wait begins with the gap. */
	if (is_first)
		vb_req_arm(qp, now);
	vb_sched_activate(qp);
}

/* Before the first gap there is nothing to remember. */
static void gaps_begin(struct vb_qp *qp)
{
	if (!vb_sr_is_behind(qp))
		qp->sr->psn_seen = qp->sr->psn_high = qp->req.psn_una;
}

void vb_sr_answered(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	vb_sr_sample(qp->sr, psn, now);
	gaps_begin(qp);
	answers_note(qp, psn, now);
}

/* The answer with @psn has come. */
static void answer_came(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	vb_sr_sample(qp->sr, vb_psn_add(psn, 1), now);
	gaps_begin(qp);
	vb_sr_heard(qp, now);
	if (!vb_sr_is(qp, psn, VB_SR_HOLE))
		return;
	/* Something came of it: a new wait begins. */
	if (!vb_sr_is(qp, psn, VB_SR_DUE))
		vb_req_arm(qp, now);
	vb_sr_hole_came(qp, psn, now);
}

void vb_sr_got(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	answer_came(qp, psn, now);
	vb_sr_got_set(qp, psn);
	answers_note(qp, vb_psn_add(psn, 1), now);
}

void vb_sr_ask_again(struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn,
		     struct vb_tx_batch *b, vb_time now)
{
	uint32_t cnt = 0, most = vb_req_emit_pkts(qp, w, psn);

	VB_ASSERT(vb_swqe_wants_response(w));
	do {
		vb_sr_hole_sent(qp, vb_psn_add(psn, cnt), qp->req.psn_max, now);
		cnt++;
	} while (cnt < most && vb_sr_is(qp, vb_psn_add(psn, cnt), VB_SR_DUE) &&
		 vb_sr_is(qp, vb_psn_add(psn, cnt), VB_SR_ANSWER));
	vb_sr_wait(qp, now);
	vb_req_emit_again(qp, w, psn, cnt, b);
	vb_qp_count(qp, VB_COUNTER_retransmitted_packets);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, b->pkt[b->cnt - 1].hdr[0], psn.v, 0, 1);
}

struct vb_swqe *vb_sr_early_wqe(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

	/* The requester has no more in flight, see vb_repeat_hooks.is_full. */
	VB_ASSERT(!w || vb_psn_span(qp->req.psn_una, psn) < VB_SR_WINDOW);
	return w && !vb_sr_is(qp, psn, VB_SR_GOT) && vb_sr_has_room(qp, psn) ? w : NULL;
}

/* Asked wherever psn_una moves: nobody asks again for what is in place. */
bool vb_sr_una_came(struct vb_qp *qp)
{
	struct vb_psn una = qp->req.psn_una;

	if (qp->sr->got_cnt == 0 || !vb_sr_is(qp, una, VB_SR_GOT))
		return false;
	vb_sr_got_clear(qp, una);
	return true;
}

bool vb_sr_una_placed(struct vb_qp *qp, vb_time now)
{
	struct vb_psn una = qp->req.psn_una;

	if (!vb_sr_is_behind(qp))
		return false;
	VB_ASSERT_ALL(!vb_sr_is(qp, una, VB_SR_GOT));
	answer_came(qp, una, now);
	answers_note(qp, vb_psn_add(una, 1), now);
	vb_comp_una_answered(qp, vb_sq_at(&qp->sq, qp->sq.head), now);
	if (qp->sr) /* the completion has not overrun its CQ */
		(void)vb_comp_ack_up_to(qp, vb_psn_prev(qp->sr->psn_seen), now);
	return true;
}
