/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended reliable connection: RC whose two directions are QPs of their own. An initiator
 * (XRC_INI) is RC's requester, a target (XRC_TGT) RC's responder; each request names the SRQ it is
 * for in the XRCETH. The SRQ brings receive WQEs, the CQ and the PD in which keys are checked, so
 * processes that trust each other with a connection keep their memory apart. IBA A14; IBT-22,
 * IBT-23
 */
#ifndef VB_CORE_XRC_XRC_H
#define VB_CORE_XRC_XRC_H

#include "core/qp/qp.h"

struct vb_xrcd {
	struct vb_hca *hca;
	struct vb_list link;    /* in hca->xrcds */
	struct vb_list targets; /* QPs, by vb_qp.target */
	uint32_t refs;
	bool is_closed; /* but some of its targets are open elsewhere; it goes with the last */
	struct vb_xrcd_name name; /* zeros: of this HCA alone */
};

/* The open domain of that name, or NULL. */
struct vb_xrcd *vb_xrcd_find(const struct vb_hca *h, const struct vb_xrcd_name *name);
/* Something in it has gone: so does the domain when that was the last of a closed one. */
void vb_xrcd_shrink(struct vb_xrcd *x);

/* The PD of SRQ @srqn for requests that arrived at @qp; NULL: there is no such SRQ any more. */
struct vb_pd *vb_xrc_pd(const struct vb_qp *qp, uint32_t srqn);

/* A target is at work on no SRQ. */
void vb_xrc_let_go(struct vb_qp *qp);

/* The select operation of a target. */
enum vb_verdict vb_xrc_select(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);

#endif
