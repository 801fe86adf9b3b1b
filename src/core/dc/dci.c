/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator, or one of its lanes (streams.c): which target it is connected to. Work for another
 * target, or of another stream in the same lane, waits until what was sent is acknowledged; to
 * another target a disconnect and a connect leave then, and the requests behind them: at once, or
 * (full handshake) when the target has answered. After a loss the connect goes first again: it says
 * where to go on. facts B.8; IBT-25
 */
#include "core/dc/dc.h"

#include "base/assert.h"
#include "base/rng.h"
#include "core/cc/point.h"
#include "core/rc/rc.h"

#include <errno.h>

static uint32_t incarnation(struct vb_hca *h)
{
	return (uint32_t)(vb_rng_stream(h->cfg.seed, "dc", 0).s + h->dci_cnt++) << 16;
}

int vb_dci_create(struct vb_qp *qp, const struct vb_dc_init *init, const struct vb_qp_cap *cap)
{
	qp->dci = vb_alloc(qp->hca, sizeof *qp->dci);
	if (!qp->dci)
		return -ENOMEM;
	qp->dci->full = init->full_handshake;
	qp->dci->by_adapter = init->by_adapter;
	qp->dc_connection = qp->parent ? qp->parent->dc_connection : incarnation(qp->hca);
	return init->log_streams && !qp->parent ? vb_dci_streams_create(qp, init, cap) : 0;
}

void vb_dci_free(struct vb_qp *qp)
{
	if (!qp->dci)
		return;
	if (qp->dci->streams && !qp->parent)
		vb_dci_streams_free(qp);
	vb_free(qp->hca, qp->dci);
}

/* The same initiator counts in the low half, another one of the same QPN begins with another high
 * half: so a target tells what is late from what is new. */
static uint32_t next_connection(uint32_t from)
{
	return (from & 0xffff0000) | (uint16_t)(from + 1);
}

void vb_dci_reset(struct vb_qp *qp, vb_time now)
{
	struct vb_dci *dci = qp->dci;
	struct vb_qp *lane;

	dci->state = VB_DCI_CLOSED;
	dci->has_dest = dci->leaving = false;
	for (uint32_t i = 1; (lane = vb_qp_lane(qp, i)); i++)
		vb_qp_reset(lane, now);
	if (dci->streams)
		dci->streams->bad_cnt = 0;
}

static bool target_eq(const struct vb_dc_dest *a, const struct vb_dc_dest *b)
{
	return a->to.dqpn == b->to.dqpn && a->key == b->key && a->to.path.port == b->to.path.port &&
	       vb_gid_eq(&a->to.path.dgid, &b->to.path.dgid) &&
	       vb_gid_eq(&a->to.path.sgid, &b->to.path.sgid);
}

bool vb_dci_is_with(const struct vb_qp *qp, const struct vb_path *path)
{
	const struct vb_path *own = &qp->dci->dest.to.path;

	return qp->dci->has_dest && vb_gid_eq(&path->sgid, &own->dgid) &&
	       vb_gid_eq(&path->dgid, &own->sgid);
}

void vb_dci_leave(struct vb_qp *qp)
{
	struct vb_dci *dci = qp->dci;

	if (dci->has_dest && dci->state != VB_DCI_CLOSED) {
		dci->left = dci->dest;
		dci->left_connection = qp->dc_connection;
		dci->leaving = true;
	}
	dci->has_dest = false;
}

static bool is_at(const struct vb_dci *dci, const struct vb_dc_dest *dest)
{
	return dci->has_dest && target_eq(&dci->dest, dest);
}

enum vb_block vb_dci_gate(const struct vb_qp *qp, const struct vb_swqe *w)
{
	const struct vb_dci *dci = qp->dci;
	const struct vb_dc_dest *dest = vb_swqe_dest(w);
	bool is_there = is_at(dci, dest);

	/* What is in flight is of one stream: it alone fails with the oldest. */
	if ((!is_there || dci->dest.stream != dest->stream) &&
	    !vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt))
		return VB_BLOCK_CONNECT;
	if (vb_swqe_wants_response(w) && qp->req.rd_out >= VB_DCT_RESOURCES)
		return VB_BLOCK_RD_ATOMIC; /* more no target has */
	return is_there && dci->full && dci->state == VB_DCI_CONNECTING ? VB_BLOCK_CONNECT
									: VB_BLOCK_NONE;
}

void vb_dci_go(struct vb_qp *qp, const struct vb_swqe *w)
{
	struct vb_dci *dci = qp->dci;
	const struct vb_dc_dest *dest = vb_swqe_dest(w);

	if (is_at(dci, dest)) {
		dci->dest.stream = dest->stream;
		return;
	}
	VB_ASSERT(vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt));
	vb_dci_leave(qp);
	dci->dest = *dest;
	dci->has_dest = true;
	dci->state = VB_DCI_CLOSED;
	if (dci->by_adapter)
		dci->full = !vb_qp_rules(qp)->set.dc_half_handshake_en; /* REG-07 */
	qp->dc_connection = next_connection(qp->dc_connection);
	qp->attr.path = dest->to.path;
	qp->attr.dest_qpn = dest->to.dqpn;
	vb_cc_refresh(qp);
}

/* A disconnect from where it was, or the connect that goes before the request at psn_nxt. */
static void emit(const struct vb_qp *qp, bool disconnects, struct vb_tx_batch *b)
{
	const struct vb_dci *dci = qp->dci;
	const struct vb_dc_dest *dest = disconnects ? &dci->left : &dci->dest;
	struct vb_hdr hdr;
	struct vb_tx *tx = vb_tx_begin(b, qp, &hdr, 0, qp->req.psn_nxt);

	hdr.opcode = VB_OPCODE_DC_CONNECT;
	hdr.dqpn = dest->to.dqpn;
	hdr.solicited = disconnects;
	if (disconnects) {
		hdr.dc.connection = dci->left_connection;
	} else {
		hdr.dc.full = dci->full;
		hdr.dc.qpn = qp->qpn;
		hdr.dc.first = qp->req.psn_nxt;
		hdr.dc.key = dest->key;
	}
	/* That of the WQE stays as it is until the packet has left. */
	tx->path =
	    disconnects ? &dci->left.to.path : &vb_swqe_ud(vb_sq_at(&qp->sq, qp->sq.nxt))->path;
	vb_tx_finish(tx, &hdr);
}

void vb_dci_send(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	struct vb_dci *dci = qp->dci;
	bool disconnects = dci->leaving;

	emit(qp, disconnects, b);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, VB_OPCODE_DC_CONNECT, qp->req.psn_nxt.v, 0, 0);
	if (disconnects) {
		dci->leaving = false;
		return;
	}
	dci->state = VB_DCI_CONNECTING;
	/* It is resent as requests are. */
	if (qp->timer[VB_TIMER_ACK] == VB_NEVER)
		vb_req_arm(qp, now);
}

void vb_dci_on_idle(struct vb_qp *qp, vb_time now)
{
	vb_timer_set(qp, VB_TIMER_LINGER, vb_time_after(now, VB_DCI_LINGER));
}

void vb_dci_on_linger(struct vb_qp *qp)
{
	if (qp->sq.head != qp->sq.tail || !vb_psn_eq(qp->req.psn_una, qp->req.psn_nxt))
		return;
	vb_dci_leave(qp);
	vb_sched_activate(qp);
}

/* A NAK or RNR NAK of the connect or, which is the same, of the first request behind it. */
static bool says_no(const struct vb_qp *qp, const struct vb_hdr *hdr)
{
	return (hdr->opcode & VB_OP_MASK) == VB_OP_ACK &&
	       (hdr->aeth.syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_ACK &&
	       vb_psn_eq(hdr->psn, qp->req.psn_una);
}

static enum vb_verdict lane_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now)
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
	struct vb_qp *lane = vb_qp_lane(qp, hdr->dc.lane);

	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_RESPONSE))
		return VB_VERDICT_UNEXPECTED;
	return lane ? lane_recv(lane, hdr, rx, now) : VB_VERDICT_SOURCE;
}

const struct vb_transport_ops vb_dci_ops = {
    .transport = VB_TRANSPORT_DC,
    .is_acked = true,
    .dest_bytes = sizeof(struct vb_dc_dest),
    .work_on = VB_WORK_ON_DC,
    .recv = dci_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
};
