/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows. IBA 10.6.7 */
#include "verbs/priv.h"

#include <stdlib.h>

struct ibv_mw *vb_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_alloc_mw");

	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_ibv_mw *mw = vb_object_new(VB_OBJECT_MW, sizeof *mw);
	int err = EIO;

	if (!mw)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		err = -vb_mw_create(((struct vb_ibv_pd *)pd)->core, (uint8_t)type, &mw->core);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			vb_list_append(&c->mws, &mw->link);
			vb_ibv_pd_hold(pd);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(mw);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_alloc_mw");
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.rkey = vb_mw_rkey(mw->core);
	mw->ibv.handle = mw->ibv.rkey >> 8;
	mw->ibv.type = type;
	vb_ibv_name(&mw->ibv);
	return &mw->ibv;
}

int vb_ibv_dealloc_mw(struct ibv_mw *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_MW))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_dealloc_mw");

	struct vb_ibv_mw *mw = (struct vb_ibv_mw *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_dealloc_mw");

	(void)vb_mw_destroy(mw->core); /* it cannot fail: a window that is bound is unbound */
	vb_list_remove(&mw->link);
	vb_ibv_pd_drop(ibv->pd);
	vb_ibv_leave(c);
	vb_object_free(mw);
	return 0;
}

int vb_ibv_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct vb_send_wr w = {.wr_id = bind->wr_id, .flags = bind->send_flags};

	/* Only a window of type 2 can begin at 0. IBA o10-36.2.2 */
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) {
		vb_ibv_note_why(EINVAL, "a window of type 1 cannot be zero-based (IBA o10-36.2.2)");
		return vb_ibv_refuse(c, EINVAL, "ibv_bind_mw to QP 0x%06x", ibv->qp_num);
	}

	vb_ibv_bind_wr(&w, mw, rkey, &bind->bind_info);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_bind_mw");

	vb_time now = vb_clock_now();
	int err = -vb_ibv_post_core(qp, &w, now);

	if (!err) {
		vb_ibv_bound(mw, rkey);
		vb_engine_doorbell(c->engine, qp->core, now);
	} else if (err != ENOMEM) {
		(void)vb_ibv_why_core(c, err);
	}
	vb_ibv_leave(c);
	/* A full queue is how a program learns to wait. */
	if (err && err != ENOMEM)
		return vb_ibv_refuse(c, err, "ibv_bind_mw to QP 0x%06x", ibv->qp_num);
	return vb_ibv_result(err);
}
