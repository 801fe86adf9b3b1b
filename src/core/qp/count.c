/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion counters: how many work requests of a QP, or bytes of them, are done, whether or not
 * they make an entry of a CQ. ibv_qp_attach_comp_cntr(3); a QP without one pays for one flag.
 */
#include "core/dc/dc.h"
#include "core/qp/qp.h"

#include <errno.h>

_Static_assert(VB_COUNTED_CNT == sizeof(((struct vb_qp *)0)->cntr) / sizeof(void *), "one of each");

int vb_qp_attach_comp_cntr(struct vb_qp *qp, struct vb_comp_cntr *c, uint32_t which)
{
	if (which == 0 || which >> VB_COUNTED_CNT || qp->parent || qp->dci || qp->dct || qp->xrcd)
		return -EOPNOTSUPP;
	if (qp->state != VB_QPS_RESET && qp->state != VB_QPS_INIT)
		return -EINVAL;
	for (uint32_t i = 0; i < VB_COUNTED_CNT; i++) {
		if (which >> i & 1 && qp->cntr[i])
			return -EBUSY;
	}
	for (uint32_t i = 0; i < VB_COUNTED_CNT; i++) {
		if (which >> i & 1) {
			qp->cntr[i] = c;
			c->use_cnt++;
		}
	}
	qp->is_counted = true;
	return 0;
}

void vb_qp_detach_comp_cntrs(struct vb_qp *qp)
{
	for (uint32_t i = 0; i < VB_COUNTED_CNT; i++) {
		if (qp->cntr[i])
			qp->cntr[i]->use_cnt--;
		qp->cntr[i] = NULL;
	}
	qp->is_counted = false;
}

void vb_qp_count_completion(struct vb_qp *qp, enum vb_counted which, enum vb_wc_status status,
			    uint32_t bytes)
{
	struct vb_comp_cntr *c = qp->cntr[which];

	if (!c)
		return;
	if (status != VB_WC_SUCCESS)
		c->failed++;
	else
		c->done += c->counts_bytes ? bytes : 1;
}
