/* SPDX-License-Identifier: BSD-2-Clause */
/* An algorithm meets a QP. See flow.h. */
#include "core/control/flow.h"

#include "base/assert.h"
#include "core/qp/qp.h"

#define PSN_AT 9u /* in the BTH */

static const struct vb_cc_choice *port_choice(const struct vb_qp *qp)
{
	return qp->hca->port[qp->attr.port].choice;
}

static uint32_t flow_needs(const struct vb_qp *qp)
{
	return qp->cc.flow->choice->algorithm->needs;
}

/* The window of the algorithm becomes the requester's bound. */
static void window_apply(struct vb_qp *qp)
{
	const struct vb_control *c = qp->cc.flow;

	vb_window_control(&qp->req.window, c->window, c->every);
}

/* The algorithm's timer runs while something is in flight or waits. */
static void timer_arm(struct vb_qp *qp)
{
	vb_time at = qp->cc.flow->out.timer;

	if (at >= qp->timer[VB_TIMER_PACE])
		return;
	if (qp->sq.head != qp->sq.tail)
		vb_timer_set(qp, VB_TIMER_PACE, at);
}

void vb_flow_start(struct vb_qp *qp, vb_time now)
{
	const struct vb_cc_choice *choice = port_choice(qp);

	vb_flow_end(qp);
	if (!choice || !choice->algorithm || !qp->ops->is_acked)
		return;
	qp->cc.flow = vb_alloc(qp->hca, vb_control_size(choice));
	if (!qp->cc.flow)
		return;
	vb_control_begin(qp->cc.flow, choice, qp->mtu, qp->req.psn_una, qp->req.psn_max, now);
	/* Nobody was asked for an ACK as the window needs it. */
	qp->req.window.asked = qp->req.psn_una;
	window_apply(qp);
}

void vb_flow_end(struct vb_qp *qp)
{
	vb_free(qp->hca, qp->cc.flow);
	qp->cc.flow = NULL;
	vb_window_control(&qp->req.window, 0, 0);
}

bool vb_flow_is_marked(const struct vb_qp *qp)
{
	return qp->cc.flow && flow_needs(qp) & (VERBENA_CC_NEEDS_ECN | VERBENA_CC_NEEDS_CNP);
}

bool vb_flow_is_early(struct vb_qp *qp, vb_time now)
{
	vb_time at = vb_control_send_at(qp->cc.flow, now);

	if (at <= now)
		return false;
	if (at < qp->timer[VB_TIMER_PACE])
		vb_timer_set(qp, VB_TIMER_PACE, at);
	return true;
}

void vb_flow_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	const uint8_t *p = tx->hdr + PSN_AT;
	struct vb_psn psn = vb_psn((uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]);
	uint32_t psns = vb_psn_span(psn, qp->req.psn_nxt);
	uint64_t bytes = vb_tx_wire_len(tx);

	/* A READ takes the PSNs of its answers, which take the way back. */
	if (psns < VB_PSN_HALF && vb_opcode[tx->hdr[0]].flags & VB_OP_READ)
		bytes += (uint64_t)psns * (qp->mtu + VB_BTH_LEN + VB_ICRC_LEN);
	vb_control_sent(qp->cc.flow, psn, psns < VB_PSN_HALF ? psns : 0, bytes, now);
	window_apply(qp);
	timer_arm(qp);
}

void vb_flow_hear(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	bool ce = (rx->path->traffic_class & VB_ECN_MASK) == VB_ECN_CE;
	bool is_data = vb_hdr_opcode(hdr)->flags & VB_OP_PAYLOAD;

	/* An answer with data has met the marks itself. */
	vb_control_hear(qp->cc.flow, hdr->psn, is_data ? ce : hdr->becn, rx->telemetry);
}

void vb_flow_progressed(struct vb_qp *qp, struct vb_psn from, vb_time now)
{
	uint32_t cnt = vb_psn_span(from, qp->req.psn_una);

	VB_ASSERT(cnt > 0 && cnt < VB_PSN_HALF);
	vb_control_acked(qp->cc.flow, cnt, now);
	window_apply(qp);
	timer_arm(qp);
}

void vb_flow_lost(struct vb_qp *qp, enum vb_rewind_why why, vb_time now)
{
	if (why == VB_REWIND_TIMEOUT)
		vb_control_timeout(qp->cc.flow, now);
	else if (why == VB_REWIND_NAK || why == VB_REWIND_IMPLIED_NAK)
		vb_control_nak(qp->cc.flow, now);
	window_apply(qp);
	timer_arm(qp);
}

void vb_flow_tick(struct vb_qp *qp, vb_time now)
{
	(void)vb_control_tick(qp->cc.flow, now);
	window_apply(qp);
	timer_arm(qp);
}

bool vb_flow_cnp(struct vb_qp *qp, vb_time now)
{
	vb_control_cnp(qp->cc.flow, now);
	window_apply(qp);
	timer_arm(qp);
	return qp->cc.flow->choice->algorithm->on_cnp != NULL;
}

bool vb_flow_takes_mark(struct vb_qp *qp, const struct vb_hdr *hdr)
{
	if (!(flow_needs(qp) & VERBENA_CC_NEEDS_ECN))
		return false;
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_RESPONSE))
		vb_control_take_data(qp->cc.flow, true, NULL);
	return true;
}

void vb_flow_return(struct vb_qp *qp, struct vb_tx *tx, struct vb_hdr *hdr)
{
	hdr->becn = vb_control_return_mark(qp->cc.flow);
	tx->telemetry = vb_control_return_telemetry(qp->cc.flow);
}
