/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet @psn of a send WQE: a pure function of the WQE, the PSN and the QP's constants.
 * Nothing is changed by sending, so a resend is the same call again, and a READ is taken up in the
 * middle by asking for the request at a later PSN. IBA 9.4, 9.6, 9.7
 */
#include "base/assert.h"
#include "core/cc/point.h"
#include "core/obj/mem.h"
#include "core/qp/qp.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"

#include <errno.h>

uint32_t vb_req_emit_pkts(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn)
{
	uint32_t k = vb_psn_span(w->first, psn);

	VB_ASSERT(k < w->pkts);
	if (!(w->traits & VB_WORK_IN_PIECES))
		return 1;

	uint32_t n = w->pkts - k;
	uint32_t piece = qp->piece_pkts;

	if (piece && n > piece - k % piece)
		n = piece - k % piece;
	return n;
}

/* Payload of packet k; appends its runs. */
static int emit_payload(const struct vb_qp *qp, const struct vb_swqe *w, uint32_t k,
			struct vb_tx_batch *b, struct vb_tx *tx)
{
	uint64_t off = (uint64_t)k * qp->mtu;
	uint32_t len = w->length - (uint32_t)off < qp->mtu ? w->length - (uint32_t)off : qp->mtu;
	int cnt = 0;

	if (w->flags & VB_SEND_INLINE && len) {
		b->seg[b->seg_cnt] = (struct vb_seg){vb_swqe_data(qp, w) + off, len};
		cnt = 1;
	} else if (len) {
		cnt = vb_mem_gather(qp->pd, vb_swqe_sge(qp, w), w->sge_cnt, off, len, 0,
				    &b->seg[b->seg_cnt], VB_TX_BATCH_SEGS - b->seg_cnt);
	}
	if (cnt < 0)
		return cnt;
	tx->seg_cnt = (uint8_t)cnt;
	VB_ASSERT(b->seg_cnt + (uint32_t)cnt <= VB_TX_BATCH_SEGS);
	tx->payload_len = len;
	b->seg_cnt += (uint32_t)cnt;
	return 0;
}

static void emit_ext(const struct vb_qp *qp, const struct vb_swqe *w, uint32_t k, uint32_t pkts,
		     struct vb_hdr *hdr)
{
	uint16_t ext = vb_hdr_opcode(hdr)->ext;
	uint64_t off = (uint64_t)k * qp->mtu;

	if (ext & VB_EXT_RETH) {
		uint64_t len = w->length - off;

		if (w->traits & VB_WORK_IN_PIECES && len > (uint64_t)pkts * qp->mtu)
			len = (uint64_t)pkts * qp->mtu;
		hdr->reth.va = w->remote_addr + off;
		hdr->reth.rkey = w->rkey;
		hdr->reth.len = (uint32_t)len;
	}
	if (ext & VB_EXT_FETH) {
		hdr->flush = w->imm;
		hdr->reth.len = (uint32_t)w->compare_add;
	}
	if (ext & VB_EXT_ATOMICETH) {
		hdr->atomic.va = w->remote_addr;
		hdr->atomic.rkey = w->rkey;
		hdr->atomic.swap_add = w->opcode == VB_WR_COMPARE_SWAP ? w->swap : w->compare_add;
		hdr->atomic.compare = w->opcode == VB_WR_COMPARE_SWAP ? w->compare_add : 0;
	}
	if (ext & VB_EXT_IMMDT)
		hdr->imm = w->imm;
	if (ext & VB_EXT_IETH)
		hdr->inv_rkey = w->imm;
	if (ext & VB_EXT_XRCETH)
		hdr->xrc_srqn = ((const struct vb_xrc_dest *)vb_swqe_dest(w))->srqn;
	if (ext & VB_EXT_DCETH)
		hdr->dqpn = vb_swqe_ud(w)->dqpn;
	if (ext & VB_EXT_DETH) {
		hdr->dqpn = vb_swqe_ud(w)->dqpn;
		hdr->deth.qkey = vb_swqe_ud(w)->qkey;
		hdr->deth.sqpn = qp->qpn;
	}
}

static int emit_request(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn,
			uint32_t pkts, bool ask, struct vb_tx_batch *b)
{
	uint32_t k = vb_psn_span(w->first, psn);
	bool last = k + pkts == w->pkts;
	const struct vb_work *row = &vb_work[w->opcode];
	uint8_t op = w->pkts == 1 ? row->only
		     : k == 0     ? row->first
		     : last       ? row->last
				  : row->middle;
	uint32_t seg_cnt = b->seg_cnt;
	struct vb_hdr hdr;
	struct vb_tx *tx = vb_tx_begin(b, qp, &hdr, op, psn);

	if (qp->cc.spread)
		tx->path = vb_cc_path_of(&qp->cc, psn);
	else if (qp->cc.ect)
		tx->path = &qp->cc.data_path;
	else if (!qp->ops->is_connected)
		tx->path = &vb_swqe_ud(w)->path;
	if (vb_hdr_opcode(&hdr)->flags & VB_OP_PAYLOAD) {
		int err = emit_payload(qp, w, k, b, tx);

		if (err) {
			b->cnt--;
			b->seg_cnt = seg_cnt;
			return -EACCES;
		}
		hdr.pad = (uint8_t)(-tx->payload_len & 3);
	}
	/* The last packet always asks; within a message enough ask to keep the window moving. */
	hdr.ack_req = qp->ops->is_acked &&
		      (ask || last || vb_swqe_wants_response(w) || (k + 1) % qp->ack_every == 0);
	hdr.selective = vb_sr_announces(qp);
	VB_ASSERT_ALL(k + pkts <= w->pkts);
	hdr.solicited = last && (w->flags & VB_SEND_SOLICITED) && vb_swqe_takes_recv(w);
	emit_ext(qp, w, k, pkts, &hdr);
	vb_tx_finish(tx, &hdr);
	return (int)pkts;
}

int vb_req_emit(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn, bool ask,
		struct vb_tx_batch *b)
{
	return emit_request(qp, w, psn, vb_req_emit_pkts(qp, w, psn), ask, b);
}

void vb_req_emit_again(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn,
		       uint32_t pkts, struct vb_tx_batch *b)
{
	VB_ASSERT(vb_swqe_wants_response(w) && pkts <= vb_req_emit_pkts(qp, w, psn));
	(void)emit_request(qp, w, psn, pkts, true, b); /* fails only where there is payload */
}
