/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enhanced connection establishment: what a QP offers beyond the standard, so that whoever connects
 * two of them can agree on what both have. The options are the core's VB_EXTENSION bits.
 * ibv_set_ece(3), ibv_query_ece(3)
 */
#include "verbs/priv.h"

int ibv_query_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_result(EIO);
	*ece = (struct ibv_ece){.vendor_id = VB_IBV_VENDOR,
				.options = vb_qp_extensions(qp->core, c->port)};
	vb_ibv_leave(c);
	return 0;
}

/* What is left of the options goes back: those that this end does not have are no error. */
int ibv_set_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (ece->comp_mask || ece->vendor_id != VB_IBV_VENDOR)
		return vb_ibv_result(EINVAL);
	if (!vb_ibv_enter(c))
		return vb_ibv_result(EIO);

	int err = -vb_qp_allow_extensions(qp->core, ece->options);

	if (!err)
		ece->options = vb_qp_extensions(qp->core, c->port);
	vb_ibv_leave(c);
	return vb_ibv_result(err);
}
