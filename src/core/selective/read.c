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

#include <string.h>

static bool is_got(const struct vb_sr *sr, struct vb_psn psn)
{
	uint32_t i = psn.v % VB_SR_WINDOW;

	return sr->got[i / 64] >> i % 64 & 1;
}

/* Whether the answer with @psn is in place; it is forgotten. */
static bool take_got(struct vb_sr *sr, struct vb_psn psn)
{
	uint32_t i = psn.v % VB_SR_WINDOW;

	if (!sr->got_cnt || !is_got(sr, psn))
		return false;
	sr->got[i / 64] &= ~(UINT64_C(1) << i % 64);
	sr->got_cnt--;
	return true;
}

static void gap_remove(struct vb_sr *sr, uint32_t i)
{
	VB_ASSERT(i < sr->gap_cnt);
	VB_ASSERT_ALL(sr->gap_due_cnt <= sr->gap_cnt);
	sr->gap_due_cnt -= !sr->gap[i].asked;
	sr->gap_cnt--;
	memmove(&sr->gap[i], &sr->gap[i + 1], (sr->gap_cnt - i) * sizeof sr->gap[0]);
}

static void gap_lost(struct vb_qp *qp, struct vb_sr_gap *gap)
{
	if (!gap->asked)
		return;
	gap->asked = 0;
	qp->sr->gap_due_cnt++;
	vb_sched_activate(qp);
}

void vb_sr_trim_gaps(struct vb_sr *sr, struct vb_psn una)
{
	while (sr->gap_cnt && vb_psn_before(sr->gap[0].first, una)) {
		struct vb_sr_gap *gap = &sr->gap[0];
		uint32_t gone = vb_psn_span(gap->first, una);

		if (gone < gap->pkts) {
			gap->first = una;
			gap->pkts -= gone;
			return;
		}
		gap_remove(sr, 0);
	}
}

/* A request number that no request has had. */
static uint32_t asked_next(struct vb_sr *sr)
{
	if (++sr->asked_cnt == 0)
		sr->asked_cnt = 1;
	return sr->asked_cnt;
}

/* Adds a gap. When sending went back a moment ago, the answer that is missing belongs to the
 * request that left before that, and this one was asked for by the one that left then. */
static void gap_add(struct vb_qp *qp, struct vb_psn first, uint32_t pkts, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_gap *gap = &sr->gap[sr->gap_cnt++];

	VB_ASSERT(sr->gap_cnt <= VB_SR_GAPS);
	VB_ASSERT_ALL(pkts > 0);
	*gap = (struct vb_sr_gap){.first = first, .pkts = pkts};
	if (sr->went_back && vb_psn_before(first, sr->back_end) &&
	    vb_time_since(sr->back_at, now) < sr->rtt_min) {
		gap->asked = asked_next(sr);
		gap->stamp = qp->req.psn_max;
		gap->asked_at = sr->back_at;
	} else {
		sr->gap_due_cnt++;
	}
}

/* Answers that are missing in [psn_seen, psn_high), as gaps, as many as there is room for. */
static void find_gaps(struct vb_qp *qp, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn psn = sr->psn_seen, to = sr->psn_high;

	while (vb_psn_before(psn, to)) {
		struct vb_swqe *w = vb_sr_wqe_of(qp, psn);
		uint32_t left = vb_psn_span(psn, to), cnt = 0;

		if (!w)
			break;
		if (!vb_swqe_wants_response(w)) {
			psn = vb_swqe_end(w);
			continue;
		}
		if (is_got(sr, psn)) {
			psn = vb_psn_add(psn, 1);
			continue;
		}
		if (sr->gap_cnt == VB_SR_GAPS)
			break;
		if (left > vb_req_emit_pkts(qp, w, psn))
			left = vb_req_emit_pkts(qp, w, psn);
		while (cnt < left && !is_got(sr, vb_psn_add(psn, cnt)))
			cnt++;
		gap_add(qp, psn, cnt, now);
		psn = vb_psn_add(psn, cnt);
	}
	sr->psn_seen = vb_psn_before(to, psn) ? to : psn;
}

/* Everything before @psn was answered, as vb_sr_answered() says. */
static void answers_note(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_requester *req = &qp->req;
	uint32_t known = sr->gap_cnt;

	if (vb_req_knows_gap(req, vb_psn_prev(psn)))
		return;
	for (uint32_t i = 0; i < known; i++) {
		if (vb_psn_before(sr->gap[i].stamp, psn))
			gap_lost(qp, &sr->gap[i]);
	}
	/* From psn_nxt on everything is about to be sent anyway. */
	if (vb_psn_before(req->psn_nxt, psn))
		psn = req->psn_nxt;
	sr->psn_high = vb_psn_later(sr->psn_high, psn);
	sr->psn_seen = vb_psn_later(sr->psn_seen, req->psn_una);
	if (!vb_psn_before(sr->psn_seen, sr->psn_high))
		return;
	find_gaps(qp, now);
	if (sr->gap_cnt == known)
		return;
	vb_qp_count(qp, VB_COUNTER_implied_nak_seq_err);
	vb_qp_trace(qp, VB_TRACE_MISSING, now, req->psn_una.v, sr->psn_seen.v, sr->gap_cnt,
		    sr->gap_due_cnt);
	/* A new wait begins with the gap. */
	if (known == 0)
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

/* The answer with @psn is out of gap @i. Both parts that are left stay as they were asked for.
 * True: there was room for them. */
static bool gap_split(struct vb_sr *sr, uint32_t i, struct vb_psn psn)
{
	struct vb_sr_gap *gap = &sr->gap[i];
	uint32_t before = vb_psn_span(gap->first, psn);
	struct vb_sr_gap rest = *gap;

	rest.first = vb_psn_add(psn, 1);
	rest.pkts = gap->pkts - before - 1;
	if (before == 0 && rest.pkts == 0) {
		gap_remove(sr, i);
		return true;
	}
	if (before == 0) {
		*gap = rest;
		return true;
	}
	if (rest.pkts && sr->gap_cnt == VB_SR_GAPS)
		return false;
	gap->pkts = before;
	if (rest.pkts == 0)
		return true;
	memmove(gap + 2, gap + 1, (sr->gap_cnt - i - 1) * sizeof *gap);
	gap[1] = rest;
	sr->gap_cnt++;
	return true;
}

/*
 * The answer with @psn, in gap @i, was asked for again and has come. When it answers that request,
 * and was not on its way before, what was asked for earlier is lost, and so is what comes before it
 * in the same run.
 */
static void gap_fill(struct vb_qp *qp, uint32_t i, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_gap *gap = &sr->gap[i];
	uint32_t before = vb_psn_span(gap->first, psn), asked = gap->asked;
	bool is_late = vb_time_since(gap->asked_at, now) < sr->rtt_min;

	for (uint32_t j = 0; j < sr->gap_cnt && !is_late; j++) {
		if (sr->gap[j].asked && (int32_t)(sr->gap[j].asked - asked) < 0)
			gap_lost(qp, &sr->gap[j]);
	}
	/* Without room for one more gap, the whole of it is asked for again. */
	if ((!gap_split(sr, i, psn) || before) && !is_late)
		gap_lost(qp, gap);
}

void vb_sr_got(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	uint32_t i = psn.v % VB_SR_WINDOW;

	vb_sr_sample(sr, vb_psn_add(psn, 1), now);
	gaps_begin(qp);
	sr->got[i / 64] |= UINT64_C(1) << i % 64;
	VB_ASSERT_ALL(sr->got_cnt < VB_SR_WINDOW);
	sr->got_cnt++;
	for (i = 0; i < sr->gap_cnt; i++) {
		if (vb_psn_span(sr->gap[i].first, psn) < sr->gap[i].pkts) {
			if (sr->gap[i].asked)
				gap_fill(qp, i, psn, now);
			break;
		}
	}
	answers_note(qp, vb_psn_add(psn, 1), now);
}

void vb_sr_ask_again(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_gap *gap = sr->gap;

	while (gap->asked)
		gap++;
	VB_ASSERT(gap < sr->gap + sr->gap_cnt);
	gap->asked = asked_next(sr);
	gap->stamp = qp->req.psn_max;
	gap->asked_at = now;
	sr->gap_due_cnt--;

	struct vb_swqe *w = vb_sr_wqe_of(qp, gap->first);

	VB_ASSERT(w && vb_swqe_wants_response(w));
	vb_req_emit_again(qp, w, gap->first, gap->pkts, b);
	vb_qp_count(qp, VB_COUNTER_retransmitted_packets);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, b->pkt[b->cnt - 1].hdr[0], gap->first.v, 0, 1);
}

struct vb_swqe *vb_sr_early_wqe(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

	/* The requester has no more in flight, see vb_repeat_hooks.is_full. */
	VB_ASSERT(!w || vb_psn_span(qp->req.psn_una, psn) < VB_SR_WINDOW);
	return w && !is_got(qp->sr, psn) ? w : NULL;
}

/* Takes the answers behind a missing answer. */
static void take_early(struct vb_qp *qp, vb_time now)
{
	const struct vb_sq *sq = &qp->sq;

	for (;;) {
		(void)vb_comp_ack_up_to(qp, vb_psn_prev(qp->sr->psn_seen), now);
		if (!qp->sr || sq->head == sq->tail)
			return;

		const struct vb_swqe *w = vb_sq_at(sq, sq->head);

		if (w->pkts == 0 || !vb_swqe_wants_response(w) ||
		    !take_got(qp->sr, qp->req.psn_una))
			return;
		vb_comp_una_answered(qp, w, now);
		if (!qp->sr) /* the completion has overrun its CQ */
			return;
	}
}

bool vb_sr_una_placed(struct vb_qp *qp, vb_time now)
{
	if (!vb_sr_is_behind(qp))
		return false;
	vb_sr_got(qp, qp->req.psn_una, now);
	take_early(qp, now);
	return true;
}
