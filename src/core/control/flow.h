/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an algorithm of congestion control meets a QP: it is made when the QP becomes ready, hears
 * of what leaves and what is answered, and bounds the requester's window. All but vb_flow_start(),
 * vb_flow_end() and vb_flow_is_marked(): qp->cc.flow is not NULL.
 */
#ifndef VB_CORE_CONTROL_FLOW_H
#define VB_CORE_CONTROL_FLOW_H

#include "base/cold.h"
#include "core/control/control.h"
#include "core/view.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;

/* As the port's choice says: a new flow, or none. Without memory there is none. */
VB_COLD void vb_flow_start(struct vb_qp *qp, vb_time now);
VB_COLD void vb_flow_end(struct vb_qp *qp);

/* Data leaves as ECT(0) for it. */
bool vb_flow_is_marked(const struct vb_qp *qp);

/* The next packet is not paid for yet; a timer runs. */
bool vb_flow_is_early(struct vb_qp *qp, vb_time now);

/* The request @tx leaves. */
void vb_flow_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now);
/* An answer has come, and is accepted. */
void vb_flow_hear(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx);
/* It acknowledges the PSNs from @from to psn_una - 1. */
void vb_flow_progressed(struct vb_qp *qp, struct vb_psn from, vb_time now);
VB_COLD void vb_flow_lost(struct vb_qp *qp, enum vb_rewind_why why, vb_time now);
void vb_flow_tick(struct vb_qp *qp, vb_time now);
/* False: the algorithm takes no CNPs. */
VB_COLD bool vb_flow_cnp(struct vb_qp *qp, vb_time now);

/* A marked packet has come. False: it is to be answered by a CNP. */
bool vb_flow_takes_mark(struct vb_qp *qp, const struct vb_hdr *hdr);
/* The ACK @hdr in @tx leaves: it returns what came with data. */
void vb_flow_return(struct vb_qp *qp, struct vb_tx *tx, struct vb_hdr *hdr);

#endif
