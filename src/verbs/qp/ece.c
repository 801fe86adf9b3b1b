/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enhanced connection establishment: the options of a QP beyond the standard, so that a program
 * that connects two QPs can agree on what both have. The options are the core's VB_EXTENSION bits.
 * ibv_set_ece(3), ibv_query_ece(3)
 */
#include "verbs/priv.h"

int ibv_query_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_ece");
	*ece = (struct ibv_ece){.vendor_id = VB_IBV_VENDOR,
				.options = vb_qp_extensions(qp->core, c->port)};
	vb_ibv_leave(c);
	return 0;
}

/* The remaining options go back: options that this end does not have are no error. */
int ibv_set_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (ece->comp_mask || ece->vendor_id != VB_IBV_VENDOR)
		return vb_ibv_refuse(
		    c,
		    ece->comp_mask ? VB_IBV_WHY(EINVAL, "comp_mask is 0x%x, not 0", ece->comp_mask)
				   : VB_IBV_WHY(EINVAL,
						"vendor_id 0x%x is not the 0x%x that the QP offers "
						"(ibv_query_ece(3))",
						ece->vendor_id, VB_IBV_VENDOR),
		    "ibv_set_ece of QP 0x%06x", ibv->qp_num);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_set_ece");

	int err = -vb_qp_allow_extensions(qp->core, ece->options);

	if (err)
		(void)vb_ibv_why_core(c, err);
	else
		ece->options = vb_qp_extensions(qp->core, c->port);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_set_ece of QP 0x%06x", ibv->qp_num) : 0;
}
