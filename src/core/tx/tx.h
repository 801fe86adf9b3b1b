/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that a QP sends: its headers, from what the QP is and what the caller sets. IBA 9.2 */
#ifndef VB_CORE_TX_TX_H
#define VB_CORE_TX_TX_H

#include "base/psn.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;
struct vb_swqe;

/* One more packet in @b with its BTH and DCETH prepared; the caller sets what else the opcode has
 * and emits @hdr. */
struct vb_tx *vb_tx_begin(struct vb_tx_batch *b, const struct vb_qp *qp, struct vb_hdr *hdr,
			  uint8_t op, struct vb_psn psn);
void vb_tx_finish(struct vb_tx *tx, const struct vb_hdr *hdr);

/* request.c: packet @psn of @w appended to @b; @ask: it asks for an ACK in any case. A pure
 * function of its arguments. Returns how many PSNs the packet takes (more than 1 for a READ
 * request), or -EACCES: an SGE is not usable. */
int vb_req_emit(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn, bool ask,
		struct vb_tx_batch *b);
/* The READ request or atomic that asks for the answers [@psn, @psn + @pkts) of @w again. */
void vb_req_emit_again(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn,
		       uint32_t pkts, struct vb_tx_batch *b);
/* PSNs that the packet at @psn takes. */
uint32_t vb_req_emit_pkts(const struct vb_qp *qp, const struct vb_swqe *w, struct vb_psn psn);

#endif
