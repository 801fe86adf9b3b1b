/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective repeat as the hooks of RC (core/qp/repeat.h), and the short ones of them. */
#include "core/selective/selective.h"

#define HOLES_FEW 256u /* packets that may be missing whatever is in flight */

/*
 * The peer keeps so much behind a hole, and no more. Where more than half of what is in flight has
 * been lost, a queue on the way is full: what is missing goes first, or what arrives now would wait
 * for it in the peer's memory.
 */
static bool window_is_full(const struct vb_qp *qp, uint32_t span, uint32_t pkts)
{
	const struct vb_sr *sr = qp->sr;

	if (!vb_sr_announces(qp) || span == 0)
		return false;
	return span + pkts > VB_SR_WINDOW || (sr->hole_cnt > HOLES_FEW && sr->hole_cnt > span / 2);
}

/* The first answer says whether the peer knows it, and how long a round trip is. */
static bool wants_answer(const struct vb_qp *qp)
{
	return qp->sr->peer == VB_SR_OFFERED && vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt);
}

static void packet_sent(struct vb_qp *qp, bool again, vb_time now)
{
	struct vb_sr *sr = qp->sr;

	if ((int32_t)(qp->sq.nxt + 1 - sr->wqe_end) > 0)
		sr->wqe_end = qp->sq.nxt + 1;
	vb_sr_wait(qp, now);
	if (again) {
		sr->went_back = true;
		sr->back_end = vb_psn_add(qp->req.psn_nxt, 1);
		sr->back_at = now;
	} else if (!sr->probing) {
		sr->probing = true;
		sr->probe_waits = vb_swqe_wants_response(vb_sq_at(&qp->sq, qp->sq.nxt));
		sr->probe = qp->req.psn_nxt;
		sr->probe_at = now;
	}
}

static bool resend_is_due(const struct vb_qp *qp)
{
	return qp->sr->due_cnt;
}

static void una_progressed(struct vb_qp *qp, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn una = qp->req.psn_una;

	if (sr->went_back && !vb_psn_before(una, sr->back_end))
		sr->went_back = false;
	vb_sr_sample(sr, una, now);
	vb_sr_trim(qp, una);
	sr->high_told = vb_psn_later(sr->high_told, una);
	vb_sr_heard(qp, now);
}

static void peer_accepted(struct vb_qp *qp, const struct vb_hdr *hdr)
{
	if (qp->sr->peer == VB_SR_OFFERED)
		qp->sr->peer = hdr->selective ? VB_SR_AGREED : VB_SR_REFUSED;
}

static bool peer_has_agreed(const struct vb_qp *qp)
{
	return qp->sr->peer == VB_SR_AGREED;
}

static void peer_heard(struct vb_qp *qp)
{
	qp->sr->speaks = true;
}

static bool peer_speaks(const struct vb_qp *qp)
{
	return qp->sr->speaks;
}

static struct vb_run *next_repeat(const struct vb_qp *qp)
{
	return qp->sr->repeat_cnt ? &qp->sr->repeat[qp->sr->repeat_head] : NULL;
}

static void repeat_done(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	VB_ASSERT(sr->repeat_cnt > 0);
	sr->repeat_head = (sr->repeat_head + 1) % VB_SR_REPEATS;
	sr->repeat_cnt--;
}

const struct vb_repeat_hooks vb_sr_hooks = {
    .offer = vb_sr_offer,
    .end = vb_sr_end,
    .is_full = window_is_full,
    .asks = wants_answer,
    .sent = packet_sent,
    .is_due = resend_is_due,
    .resend = vb_sr_resend,
    .silent = vb_sr_silent,
    .rewound = vb_sr_forget,
    .progressed = una_progressed,
    .accepted = peer_accepted,
    .has_agreed = peer_has_agreed,
    .reported = vb_sr_take_report,
    .answered = vb_sr_answered,
    .early_wqe = vb_sr_early_wqe,
    .early_placed = vb_sr_got,
    .una_came = vb_sr_una_came,
    .una_placed = vb_sr_una_placed,
    .heard = peer_heard,
    .speaks = peer_speaks,
    .keep = vb_sr_keep,
    .went_on = vb_sr_went_on,
    .misses = vb_sr_misses,
    .report = vb_sr_emit_report,
    .repeat = vb_sr_repeat,
    .next_repeat = next_repeat,
    .repeat_done = repeat_done,
};
