/* SPDX-License-Identifier: BSD-2-Clause */
/* The handles that an HCA has of targets of others, see open.h, for its neighbours in the core. */
#ifndef VB_CORE_SHARE_HANDLE_H
#define VB_CORE_SHARE_HANDLE_H

#include "core/share/open.h"

/* Sends @m, with @q behind it unless NULL; the errors of vb_hca_config.xrc_send. open.c */
int vb_xrc_send(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m,
		const struct vb_xrc_inquiry *q);

/* The handle of the target @qpn of another HCA in the domain; NULL: there is none. */
struct vb_qp *vb_xrc_handle_find(const struct vb_xrcd *x, uint32_t qpn);
/* A message from an owner. */
void vb_xrc_handle_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m);
void vb_xrc_handle_probe(struct vb_qp *qp);
/* Says that it goes. */
void vb_xrc_handle_close(struct vb_qp *qp);

#endif
