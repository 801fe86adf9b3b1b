/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat at the requester: what reports say, and what is sent again. A report is taken as
 * far as it goes, whatever came of the others; its number tells whether it was overtaken. See
 * selective.h.
 */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/recover/arm.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"
#include "wire/be.h"

#define AETH_END (VB_BTH_LEN + 4u)
#define RUNS_AT (AETH_END + 12u)

void vb_sr_forget(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	vb_sr_holes_forget(qp);
	sr->reported = sr->probing = sr->went_back = false;
	sr->psn_seen = sr->psn_high = sr->high_told = qp->req.psn_una;
	vb_timer_stop(qp, VB_TIMER_PROBE);
}

/* The report, in the form that all checks have passed. PSNs from @from to before @to are named, as
 * far as they are missing. */
struct report {
	const uint8_t *run;
	uint32_t run_cnt;
	struct vb_psn epsn, from, to, high; /* high: one past the highest that arrived */
	uint16_t number;
	uint8_t credits;
};

/* Run @i of the report, offsets from ePSN. */
static void run_get(const struct report *rep, uint32_t i, uint32_t *from, uint32_t *to)
{
	uint32_t run = be32_get(rep->run + 4 * (size_t)i);

	*from = run >> 16;
	*to = *from + (run & 0xffff);
}

static bool report_parse(const struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			 struct report *rep)
{
	uint32_t extent, range, from, to, end;

	if (rx->avail < rx->len || rx->len < RUNS_AT || hdr->pad)
		return false;
	extent = be32_get(rx->pkt + AETH_END);
	range = be32_get(rx->pkt + AETH_END + 4);
	*rep = (struct report){.run = rx->pkt + RUNS_AT,
			       .run_cnt = (rx->len - RUNS_AT) / 4,
			       .epsn = hdr->psn,
			       .from = vb_psn_add(hdr->psn, range >> 16),
			       .to = vb_psn_add(hdr->psn, range & 0xffff),
			       .high = vb_psn_add(hdr->psn, extent & 0xffff),
			       .number = (uint16_t)(extent >> 16),
			       .credits = rx->pkt[AETH_END + 11] & VB_SYNDROME_VALUE};
	/* Nobody can have seen what was never sent. */
	if ((range >> 16) > (range & 0xffff) || (range & 0xffff) > (extent & 0xffff) ||
	    vb_psn_before(qp->req.psn_max, rep->high))
		return false;
	end = range >> 16;
	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		run_get(rep, i, &from, &to);
		if (from == to || (i ? from <= end : from < end) || to > (range & 0xffff))
			return false;
		end = to;
	}
	/* The expected packet is missing, whatever else is. */
	return (range >> 16) != 0 || (rep->run_cnt && be32_get(rep->run) >> 16 == 0);
}

/* Holes from @from to before @to, which a report covers and does not name, have arrived. */
static void holes_arrived(struct vb_qp *qp, struct vb_psn from, struct vb_psn to, vb_time now)
{
	struct vb_psn psn = vb_psn_later(from, qp->req.psn_una);

	while (qp->sr->hole_cnt && vb_psn_before(psn, to)) {
		psn = vb_sr_hole_next(qp, psn, to);
		if (!vb_psn_before(psn, to))
			return;
		if (!vb_sr_is(qp, psn, VB_SR_ANSWER))
			vb_sr_hole_came(qp, psn, now);
		psn = vb_psn_add(psn, 1);
	}
}

/* All of the report but its runs: it may be older than others. */
static void report_take_arrived(struct vb_qp *qp, const struct report *rep, vb_time now)
{
	struct vb_psn at = rep->from;
	uint32_t from, to;

	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		run_get(rep, i, &from, &to);
		holes_arrived(qp, at, vb_psn_add(rep->epsn, from), now);
		at = vb_psn_add(rep->epsn, to);
	}
	holes_arrived(qp, at, rep->to, now);
}

/* The first PSN from @psn of @w on at which a request packet starts: within a READ most PSNs are
 * those of its responses. */
static struct vb_psn next_request(const struct vb_qp *qp, const struct vb_swqe *w,
				  struct vb_psn psn)
{
	uint32_t k = vb_psn_span(w->first, psn);
	uint32_t piece = qp->piece_pkts ? qp->piece_pkts : w->pkts;
	uint32_t at;

	if (w->opcode != VB_WR_RDMA_READ)
		return psn;
	at = (k + piece - 1) / piece * piece;
	return vb_psn_add(w->first, at < w->pkts ? at : w->pkts);
}

/* PSNs from @psn to before @end are missing. False: there is no room for more. */
static bool run_take(struct vb_qp *qp, struct vb_psn psn, struct vb_psn end)
{
	const struct vb_swqe *w = NULL;

	for (;;) {
		psn = vb_sr_hole_news(qp, psn, end);
		if (!vb_psn_before(psn, end))
			return true;
		if (vb_sr_is(qp, psn, VB_SR_LATE)) {
			vb_sr_hole_lost(qp, psn);
			continue;
		}
		if (!w || vb_psn_span(w->first, psn) >= w->pkts)
			w = vb_sr_wqe_of(qp, psn);
		VB_ASSERT(w);

		struct vb_psn next = next_request(qp, w, psn);

		if (!vb_psn_eq(next, psn)) {
			psn = next;
			continue;
		}
		if (!vb_sr_has_room(qp, psn))
			return false;
		vb_sr_hole_add(qp, psn, false);
	}
}

/* The runs of the report. From psn_nxt on everything is about to be sent anyway, and the newest
 * packets may have been overtaken where others were. */
static void report_take_named(struct vb_qp *qp, const struct report *rep, vb_time now)
{
	struct vb_psn most = vb_psn(rep->high.v - qp->sr->reorder);
	uint32_t from, to;

	if (vb_psn_before(qp->req.psn_nxt, most))
		most = qp->req.psn_nxt;

	vb_sr_holes_late(qp, false, rep->high, now);
	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		run_get(rep, i, &from, &to);

		struct vb_psn psn = vb_psn_later(vb_psn_add(rep->epsn, from), qp->req.psn_una);
		struct vb_psn end = vb_psn_add(rep->epsn, to);

		if (vb_psn_before(most, end))
			end = most;
		if (!run_take(qp, psn, end))
			return;
	}
}

/* True: no report that left later was here before. */
static bool report_is_newest(struct vb_sr *sr, const struct report *rep)
{
	if (sr->reported && (int16_t)(rep->number - sr->report) <= 0)
		return false;
	sr->reported = true;
	sr->report = rep->number;
	return true;
}

bool vb_sr_take_report(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
		       int *credits, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct report rep;
	bool is_first = sr->hole_cnt == 0, opens;
	uint32_t due;

	if (sr->peer != VB_SR_AGREED || !report_parse(qp, hdr, rx, &rep))
		return false;
	vb_sr_sample(sr, rep.high, now);
	if (qp->req.state != VB_REQ_ACTIVE)
		return true;
	sr->refilled = false;
	report_take_arrived(qp, &rep, now);
	due = sr->due_cnt;
	if (report_is_newest(sr, &rep)) {
		report_take_named(qp, &rep, now);
		*credits = rep.credits;
	}
	opens = is_first && sr->hole_cnt;
	/* A new wait begins with the first report of a gap, and when something that was sent again
	 * has arrived: should nothing come of it, the timer fires. */
	if (opens || sr->refilled)
		vb_req_arm(qp, now);
	if (opens || sr->refilled || vb_psn_before(sr->high_told, rep.high))
		vb_sr_heard(qp, now);
	sr->high_told = vb_psn_later(sr->high_told, rep.high);
	if (sr->due_cnt > due)
		vb_qp_trace(qp, VB_TRACE_MISSING, now, rep.epsn.v, rep.high.v, sr->hole_cnt,
			    sr->due_cnt);
	if (sr->due_cnt || sr->refilled)
		vb_sched_activate(qp);
	return true;
}

bool vb_sr_resend(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	struct vb_psn psn = vb_sr_hole_due(qp);
	struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

	VB_ASSERT(w && !vb_psn_before(psn, qp->req.psn_una));
	if (vb_sr_is(qp, psn, VB_SR_ANSWER)) {
		vb_sr_ask_again(qp, w, psn, b, now);
		return true;
	}
	vb_sr_hole_sent(qp, psn, qp->req.psn_max, now);
	vb_sr_wait(qp, now);
	if (vb_req_emit(qp, w, psn, true, b) < 0)
		return false;
	vb_qp_count(qp, VB_COUNTER_retransmitted_packets);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, b->pkt[b->cnt - 1].hdr[0], psn.v,
		    b->pkt[b->cnt - 1].payload_len, 1);
	return true;
}
