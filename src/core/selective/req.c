/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat at the requester: the account of what the peer misses. Holes stand in PSN order.
 * A hole that was filled by sending again is lost once more when something that was sent after it
 * has arrived and it is still missing. See selective.h.
 */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/recover/arm.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"
#include "wire/be.h"

#include <string.h>

#define AETH_END (VB_BTH_LEN + 4u)

void vb_sr_forget(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	sr->hole_cnt = sr->due_cnt = 0;
	sr->psn_told = qp->req.psn_una;
	sr->probing = sr->went_back = false;
	sr->gap_cnt = sr->gap_due_cnt = 0;
	sr->psn_seen = sr->psn_high = qp->req.psn_una;
}

/* Whether a request packet starts at @psn, which is from psn_una to before psn_nxt, so that a WQE
 * has it: within a READ most PSNs are those of its responses. */
static bool is_request(struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_swqe *w = vb_sr_wqe_of(qp, psn);

	VB_ASSERT(w);
	if (w->opcode != VB_WR_RDMA_READ)
		return true;

	uint32_t k = vb_psn_span(w->first, psn);

	return k == 0 || (qp->piece_pkts && k % qp->piece_pkts == 0);
}

/* The missing packets by the report, in the form that all checks have passed. */
struct report {
	const uint8_t *run;
	uint32_t run_cnt;
	struct vb_psn epsn, high; /* one past the highest that arrived */
};

static bool report_parse(const struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			 struct report *rep)
{
	uint32_t end = 0, extent;

	if (rx->avail < rx->len || rx->len < AETH_END + 8 || hdr->pad)
		return false;
	rep->run = rx->pkt + AETH_END + 4;
	rep->run_cnt = (rx->len - AETH_END) / 4 - 1;
	extent = be32_get(rx->pkt + AETH_END);
	if (extent > VB_SR_WINDOW)
		return false;
	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		uint32_t run = be32_get(rep->run + 4 * i), off = run >> 16, cnt = run & 0xffff;

		if (cnt == 0 || (i == 0 ? off != 0 : off <= end) || off + cnt > extent)
			return false;
		end = off + cnt;
	}
	rep->epsn = hdr->psn;
	rep->high = vb_psn_add(hdr->psn, extent);
	/* Nobody can have seen what was never sent. */
	return !vb_psn_before(qp->req.psn_max, rep->high);
}

/*
 * How far the report goes: packets missing beyond a run that had no room are not in it. From
 * psn_nxt on everything is about to be sent anyway.
 */
static struct vb_psn report_end(const struct vb_qp *qp, const struct report *rep)
{
	struct vb_psn end = rep->high;

	if (rep->run_cnt == VB_SR_RUNS) {
		uint32_t run = be32_get(rep->run + (VB_SR_RUNS - 1) * 4);

		end = vb_psn_add(rep->epsn, (run >> 16) + (run & 0xffff));
	}
	return vb_psn_before(qp->req.psn_nxt, end) ? qp->req.psn_nxt : end;
}

/* Whether a report says that @psn, which it reaches, is missing. */
static bool report_misses(const struct report *rep, struct vb_psn psn)
{
	uint32_t off = vb_psn_span(rep->epsn, psn);

	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		uint32_t run = be32_get(rep->run + 4 * i);

		if (off - (run >> 16) < (run & 0xffff))
			return true;
	}
	return false;
}

/*
 * Updates the known holes by a report: holes that it reaches and does not name have arrived; holes
 * that were sent again and are still missing are lost once more when a packet that left after them
 * has arrived. Reports overtake each other: an older one knows less, and undoes nothing.
 */
static bool holes_update(struct vb_sr *sr, const struct report *rep, struct vb_psn end)
{
	uint32_t cnt = 0;
	bool due = false;

	for (uint32_t i = 0; i < sr->hole_cnt; i++) {
		struct vb_sr_hole hole = sr->hole[i];

		if (vb_psn_before(hole.psn, rep->epsn))
			continue;
		if (vb_psn_before(hole.psn, end)) {
			if (!report_misses(rep, hole.psn))
				continue;
			if (hole.resent && vb_psn_before(hole.stamp, rep->high)) {
				hole.resent = false;
				due = true;
			}
		}
		sr->hole[cnt++] = hole;
	}
	sr->hole_cnt = cnt;
	return due;
}

/* Adds the holes from psn_told to @end, as many as there is room for. True: there are some. */
static bool holes_add(struct vb_qp *qp, const struct report *rep, struct vb_psn end)
{
	struct vb_sr *sr = qp->sr;
	uint32_t before = sr->hole_cnt;

	for (uint32_t i = 0; i < rep->run_cnt; i++) {
		uint32_t run = be32_get(rep->run + 4 * i);

		for (uint32_t k = 0; k < (run & 0xffff); k++) {
			struct vb_psn psn = vb_psn_add(rep->epsn, (run >> 16) + k);

			if (!vb_psn_before(psn, end))
				break;
			if (vb_psn_before(psn, sr->psn_told) || !is_request(qp, psn))
				continue;
			if (sr->hole_cnt == VB_SR_HOLES) {
				sr->psn_told = psn;
				return sr->hole_cnt > before;
			}
			sr->hole[sr->hole_cnt++] = (struct vb_sr_hole){.psn = psn};
		}
	}
	sr->psn_told = vb_psn_later(sr->psn_told, end);
	return sr->hole_cnt > before;
}

/* Takes what @rep says into the account. *una_new: the oldest hole was not known yet. True: there
 * is something to send (again). */
static bool report_account(struct vb_qp *qp, const struct report *rep, bool *una_new)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn end = report_end(qp, rep);
	bool due;

	/* It may be from long ago, when PSNs were others. */
	if (vb_psn_span(qp->req.psn_una, sr->psn_told) >
	    vb_psn_span(qp->req.psn_una, qp->req.psn_max))
		sr->psn_told = qp->req.psn_una;
	due = holes_update(sr, rep, end);
	*una_new = sr->hole_cnt == 0;
	due |= holes_add(qp, rep, end);
	*una_new &= sr->hole_cnt > 0;
	sr->due_cnt = 0;
	for (uint32_t i = 0; i < sr->hole_cnt; i++)
		sr->due_cnt += !sr->hole[i].resent;
	return due;
}

bool vb_sr_take_report(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
		       vb_time now)
{
	struct report rep;
	bool una_new = false;

	if (qp->sr->peer != VB_SR_AGREED || !report_parse(qp, hdr, rx, &rep))
		return false;
	vb_sr_sample(qp->sr, rep.high, now);
	if (qp->req.state != VB_REQ_ACTIVE || !report_account(qp, &rep, &una_new))
		return true;
	vb_qp_trace(qp, VB_TRACE_MISSING, now, rep.epsn.v, rep.high.v, qp->sr->hole_cnt,
		    qp->sr->due_cnt);
	/* A new wait begins with the first report of a gap and with no later one: should nothing
	 * come of it, the timer fires. */
	if (una_new)
		vb_req_arm(qp, now);
	vb_sched_activate(qp);
	return true;
}

bool vb_sr_resend(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	uint32_t i = 0;

	if (sr->gap_due_cnt) {
		vb_sr_ask_again(qp, b, now);
		return true;
	}
	while (i < sr->hole_cnt && sr->hole[i].resent)
		i++;
	VB_ASSERT(i < sr->hole_cnt);

	struct vb_sr_hole *hole = &sr->hole[i];
	struct vb_swqe *w =
	    vb_psn_before(hole->psn, qp->req.psn_una) ? NULL : vb_sr_wqe_of(qp, hole->psn);

	hole->resent = true;
	VB_ASSERT_ALL(sr->due_cnt > 0 && sr->due_cnt <= sr->hole_cnt);
	hole->stamp = qp->req.psn_max;
	sr->due_cnt--;
	if (!w) /* acknowledged meanwhile */
		return true;
	if (vb_req_emit(qp, w, hole->psn, sr->due_cnt == 0, b) < 0)
		return false;
	vb_qp_count(qp, VB_COUNTER_retransmitted_packets);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, b->pkt[b->cnt - 1].hdr[0], hole->psn.v,
		    b->pkt[b->cnt - 1].payload_len, 1);
	return true;
}
