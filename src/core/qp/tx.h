/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that a QP sends: its headers, from what the QP is and what the caller sets. IBA 9.2 */
#ifndef VB_CORE_QP_TX_H
#define VB_CORE_QP_TX_H

#include "base/psn.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;

/* One more packet in @b with its BTH and DCETH prepared; the caller sets what else the opcode has
 * and emits @hdr. */
struct vb_tx *vb_tx_begin(struct vb_tx_batch *b, const struct vb_qp *qp, struct vb_hdr *hdr,
			  uint8_t op, struct vb_psn psn);
void vb_tx_finish(struct vb_tx *tx, const struct vb_hdr *hdr);

#endif
