/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection of an initiator, or of one of its channels: where it is, what leaves before the
 * requests, and when it ends. After a loss the connect goes first again: it says where to go on.
 * facts B.8; IBT-25
 */
#include "base/assert.h"
#include "base/rng.h"
#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/rc/rc.h"

#include <errno.h>

static uint32_t draw_incarnation(struct vb_hca *h)
{
	return (uint32_t)(vb_rng_stream(h->cfg.seed, "dc", 0).s + h->dci_cnt++) << 16;
}

int vb_dci_begin(struct vb_qp *qp, const struct vb_dc_init *init)
{
	qp->dci = vb_alloc(qp->hca, sizeof *qp->dci);
	if (!qp->dci)
		return -ENOMEM;
	qp->dci->full = init->full_handshake;
	qp->dci->by_adapter = init->by_adapter;
	qp->dc_connection = qp->parent ? qp->parent->dc_connection : draw_incarnation(qp->hca);
	return 0;
}

/* The same initiator counts in the low half, another one of the same QPN begins with another high
 * half: so a target tells what is late from what is new. */
static uint32_t next_connection(uint32_t from)
{
	return (from & 0xffff0000) | (uint16_t)(from + 1);
}

static bool target_eq(const struct vb_dc_dest *a, const struct vb_dc_dest *b)
{
	return a->to.dqpn == b->to.dqpn && a->key == b->key && a->to.path.port == b->to.path.port &&
	       vb_path_same_ends(&a->to.path, &b->to.path);
}

bool vb_dci_is_with(const struct vb_qp *qp, const struct vb_path *path)
{
	const struct vb_path *own = &qp->dci->dest.to.path;

	return qp->dci->has_dest && vb_path_is_back(path, own);
}

void vb_dci_leave(struct vb_qp *qp)
{
	struct vb_dci *dci = qp->dci;

	if (dci->has_dest && dci->state != VB_DCI_CLOSED) {
		dci->left = dci->dest;
		dci->left_connection = qp->dc_connection;
		VB_ASSERT_ALL(dci->left.to.dqpn == qp->attr.dest_qpn);
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

	/* All packets in flight are of one stream: it alone fails with the oldest. */
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
static void emit_connect(const struct vb_qp *qp, bool disconnects, struct vb_tx_batch *b)
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

	emit_connect(qp, disconnects, b);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, VB_OPCODE_DC_CONNECT, qp->req.psn_nxt.v, 0, 0);
	if (disconnects) {
		dci->leaving = false;
		return;
	}
	dci->state = VB_DCI_CONNECTING;
	VB_ASSERT_ALL(dci->has_dest);
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

void vb_dci_rewound(struct vb_qp *qp, enum vb_rewind_why why)
{
	if (why != VB_REWIND_RNR || qp->dci->state == VB_DCI_CONNECTING)
		qp->dci->state = VB_DCI_CLOSED;
}

const struct vb_path *vb_dci_receiver(const struct vb_qp *qp, uint32_t *dqpn)
{
	*dqpn = qp->dci->dest.to.dqpn;
	return qp->dci->has_dest ? &qp->dci->dest.to.path : NULL;
}

bool vb_dci_disconnects(const struct vb_qp *qp)
{
	return qp->dci->leaving;
}

bool vb_dci_connects(const struct vb_qp *qp)
{
	return qp->dci->state == VB_DCI_CLOSED;
}
