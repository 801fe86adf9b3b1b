/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator, or one of its channels (streams.c): which target it is connected to. Work for
 * another target, or of another stream in the same channel, waits until what was sent is
 * acknowledged; to another target a disconnect and a connect leave then, and the requests behind
 * them: at once, or (full handshake) when the target has answered. After a loss the connect goes
 * first again: it says where to go on. facts B.8; IBT-25
 */
#include "core/dc/dc.h"

#include "base/assert.h"
#include "base/rng.h"
#include "core/cc/point.h"
#include "core/rc/rc.h"

#include <errno.h>

static int dci_create(struct vb_qp *qp, const struct vb_qp_init *init)
{
	int err = vb_dci_begin(qp, &init->dc);

	if (err || !init->dc.log_streams)
		return err;
	return vb_dci_streams_create(qp, &init->dc, &init->cap);
}

static void dci_release(struct vb_qp *qp)
{
	if (!qp->dci)
		return;
	if (qp->dci->streams && !qp->parent)
		vb_dci_streams_free(qp);
	vb_free(qp->hca, qp->dci);
}

static void dci_reset(struct vb_qp *qp, vb_time now)
{
	struct vb_dci *dci = qp->dci;
	struct vb_qp *channel;

	dci->state = VB_DCI_CLOSED;
	dci->has_dest = dci->leaving = false;
	for (uint32_t i = 1; (channel = vb_qp_channel(qp, i)); i++)
		vb_qp_reset(channel, now);
	if (dci->streams)
		dci->streams->bad_cnt = 0;
}

/* A NAK or RNR NAK of the connect or, which is the same, of the first request behind it. */
static bool says_no(const struct vb_qp *qp, const struct vb_hdr *hdr)
{
	return (hdr->opcode & VB_OP_MASK) == VB_OP_ACK &&
	       (hdr->aeth.syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_ACK &&
	       vb_psn_eq(hdr->psn, qp->req.psn_una);
}

static enum vb_verdict channel_recv(struct vb_qp *qp, const struct vb_hdr *hdr,
				    const struct vb_rx *rx, vb_time now)
{
	struct vb_dci *dci = qp->dci;

	if (!vb_dci_is_with(qp, rx->path) || hdr->dc.connection != qp->dc_connection ||
	    hdr->dc.sqpn != dci->dest.to.dqpn)
		return VB_VERDICT_SOURCE;
	if (dci->state == VB_DCI_CONNECTING &&
	    (qp->state == VB_QPS_RTS || qp->state == VB_QPS_SQD)) {
		bool is_idle = vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt);

		if (says_no(qp, hdr))
			return is_idle ? vb_comp_refused(qp, hdr, rx, now)
				       : vb_comp_recv(qp, hdr, rx, now);
		dci->state = VB_DCI_OPEN;
		if (is_idle)
			vb_timer_stop(qp, VB_TIMER_ACK);
		vb_sched_activate(qp);
	}
	return vb_comp_recv(qp, hdr, rx, now);
}

static enum vb_verdict dci_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now)
{
	struct vb_qp *channel = vb_qp_channel(qp, hdr->dc.channel);

	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_RESPONSE))
		return VB_VERDICT_UNEXPECTED;
	return channel ? channel_recv(channel, hdr, rx, now) : VB_VERDICT_SOURCE;
}

static const struct vb_req_hooks dci_hooks = {
    .choose = vb_dci_choose,
    .posted = vb_dci_posted,
    .is_bad = vb_dci_is_bad,
    .oldest = vb_qp_oldest,
    .gate = vb_dci_gate,
    .passed = vb_dci_go,
    .is_due = vb_dci_disconnects,
    .leads = vb_dci_connects,
    .send = vb_dci_send,
    .rewound = vb_dci_rewound,
    .idle = vb_dci_on_idle,
    .lingered = vb_dci_on_linger,
    .fail = vb_dci_fail,
    .receiver = vb_dci_receiver,
};

const struct vb_transport_ops vb_dci_ops = {
    .transport = VB_TRANSPORT_DC,
    .is_acked = true,
    .dest_bytes = sizeof(struct vb_dc_dest),
    .work_on = VB_WORK_ON_DC,
    .recv = dci_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .req = &dci_hooks,
    .create = dci_create,
    .release = dci_release,
    .reset = dci_reset,
    .is_with = vb_dci_is_with,
};
