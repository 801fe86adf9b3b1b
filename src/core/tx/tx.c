/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts a packet of a QP into a batch, see tx.h. */
#include "core/tx/tx.h"
#include "base/assert.h"

#include "core/qp/pkey.h"
#include "core/qp/qp.h"

struct vb_tx *vb_tx_begin(struct vb_tx_batch *b, const struct vb_qp *qp, struct vb_hdr *hdr,
			  uint8_t op, struct vb_psn psn)
{
	struct vb_tx *tx = &b->pkt[b->cnt++];

	VB_ASSERT(b->cnt <= VB_TX_BATCH_PKTS);
	tx->path = &qp->attr.path;
	tx->seg = &b->seg[b->seg_cnt];
	tx->telemetry = NULL;
	tx->payload_len = 0;
	tx->seg_cnt = 0;
	tx->pad = 0;
	/* Not the whole of it: clearing what is not written to the wire takes its time. */
	hdr->opcode = (uint8_t)(qp->ops->transport | op);
	hdr->pad = 0;
	hdr->migrated = qp->attr.path_mig_state == VB_MIG_MIGRATED;
	hdr->solicited = hdr->ack_req = hdr->fecn = hdr->becn = hdr->selective = false;
	hdr->pkey = vb_qp_pkey(qp);
	hdr->dqpn = qp->attr.dest_qpn;
	hdr->psn = psn;
	if (qp->ops->transport == VB_TRANSPORT_DC) {
		hdr->dc.channel = qp->dc_channel;
		hdr->dc.sqpn = qp->qpn;
		hdr->dc.connection = qp->dc_connection;
	}
	return tx;
}

void vb_tx_finish(struct vb_tx *tx, const struct vb_hdr *hdr)
{
	tx->pad = hdr->pad;
	tx->hdr_len = (uint8_t)vb_hdr_emit(hdr, tx->hdr);
}
