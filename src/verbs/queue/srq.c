/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <stdlib.h>

/* An SRQ of @pd, of the domain @xrcd and completing in @cq unless they are NULL. */
static struct ibv_srq *srq_create(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr,
				  struct vb_ibv_xrcd *xrcd, struct vb_ibv_cq *cq)
{
	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_srq");

	struct vb_srq_cap cap = {.wr_max = attr->max_wr, .sge_max = attr->max_sge};
	struct vb_pd *core_pd = ((struct vb_ibv_pd *)pd)->core;
	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_ibv_srq *srq = vb_object_new(VB_OBJECT_SRQ, sizeof *srq);
	uint32_t limit;
	int err = EIO;

	if (!srq)
		return vb_ibv_null(ENOMEM);
	vb_evq_node_init(&srq->async, VB_EVQ_SRQ);
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->xrcd = xrcd;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	if (vb_ibv_enter(c)) {
		/* srq_limit is for ibv_modify_srq() only. */
		err = xrcd
			  ? -vb_xrc_srq_create(core_pd, xrcd->core, cq->core, &cap, srq, &srq->core)
			  : -vb_srq_create(core_pd, cap.wr_max, cap.sge_max, 0, srq, &srq->core);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			srq->ibv.handle = vb_srq_number(srq->core);
			vb_ibv_name(&srq->ibv);
			vb_srq_query(srq->core, &attr->max_wr, &attr->max_sge, &limit);
			vb_list_append(&c->srqs, &srq->link);
			vb_ibv_pd_hold(pd);
			if (xrcd)
				xrcd->user_cnt++;
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(srq);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_srq");
	}
	err = vb_ibv_ring_get(&srq->ring, pd, vb_srq_ring_size(srq->core), VB_IBV_RING_SRQ);
	if (err) {
		(void)ibv_destroy_srq(&srq->ibv); /* has no users yet */
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_srq");
	}
	if (vb_ring_is_on() && vb_ibv_enter(c)) {
		err = vb_ring_srq_make(srq, attr->max_sge);
		vb_ibv_leave(c);
		if (err) {
			(void)ibv_destroy_srq(&srq->ibv);
			return VB_IBV_REFUSE_NULL(c, err, "ibv_create_srq");
		}
	}
	if (srq->ring.mem && vb_ibv_enter(c)) {
		vb_srq_place_ring(srq->core, srq->ring.mem);
		vb_ibv_leave(c);
	}
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return srq_create(pd, init->srq_context, &init->attr, NULL, NULL);
}

/* Whether the attributes go with the type; @xrc are those of an XRC SRQ. */
static int srq_ex_check(const struct ibv_srq_init_attr_ex *attr, enum ibv_srq_type type,
			uint32_t xrc)
{
	if (attr->comp_mask & ~xrc)
		return VB_IBV_WHY(EOPNOTSUPP, "comp_mask has 0x%x, which the adapter does not know",
				  attr->comp_mask & ~xrc);
	if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC)
		return VB_IBV_WHY(EOPNOTSUPP, "srq_type %u is none that the adapter has", type);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return VB_IBV_WHY(EINVAL, "comp_mask lacks IBV_SRQ_INIT_ATTR_PD");
	if (type == IBV_SRQT_XRC && attr->comp_mask != xrc)
		return VB_IBV_WHY(EINVAL,
				  "srq_type is XRC, and comp_mask lacks IBV_SRQ_INIT_ATTR_XRCD or "
				  "IBV_SRQ_INIT_ATTR_CQ");
	return 0;
}

struct ibv_srq *vb_ibv_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t basic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t xrc = basic | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	enum ibv_srq_type type =
	    attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;

	int err = srq_ex_check(attr, type, xrc);

	if (err)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), err, "ibv_create_srq_ex");
	if (vb_ibv_check_in(attr->pd, VB_OBJECT_PD, context))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_srq_ex");
	if (type == IBV_SRQT_BASIC)
		return srq_create(attr->pd, attr->srq_context, &attr->attr, NULL, NULL);
	if (vb_ibv_check_plain_in(attr->xrcd, VB_OBJECT_XRCD, context) ||
	    vb_ibv_check_in(attr->cq, VB_OBJECT_CQ, context))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_srq_ex");
	return srq_create(attr->pd, attr->srq_context, &attr->attr,
			  (struct vb_ibv_xrcd *)attr->xrcd, (struct vb_ibv_cq *)attr->cq);
}

/* Both attributes or none. Under the lock. */
static int srq_modify(struct vb_ibv_context *c, struct vb_ibv_srq *srq,
		      const struct ibv_srq_attr *attr, int mask)
{
	uint32_t wr_max, sge_max, limit;
	int err = 0;

	if (mask & IBV_SRQ_MAX_WR && srq->hw)
		return VB_IBV_WHY(EOPNOTSUPP, "an SRQ as hardware has it keeps its size "
					      "(verbena run --mlx5dv)");
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return VB_IBV_WHY(EINVAL, "srq_attr_mask 0x%x has bits that are no attribute",
				  (unsigned)mask);
	vb_srq_query(srq->core, &wr_max, &sge_max, &limit);
	if (mask & IBV_SRQ_MAX_WR)
		wr_max = attr->max_wr;
	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > wr_max)
		return VB_IBV_WHY(EINVAL, "srq_limit %u is larger than max_wr %u", attr->srq_limit,
				  wr_max);
	if (mask & IBV_SRQ_MAX_WR) {
		if (mask & IBV_SRQ_LIMIT)
			(void)vb_srq_set_limit(srq->core, 0);
		err = -vb_srq_resize(srq->core, attr->max_wr);
		if (err)
			(void)vb_ibv_why_core(c, err);
		if (err && (mask & IBV_SRQ_LIMIT))
			(void)vb_srq_set_limit(srq->core, limit);
	}
	/* It cannot fail: the limit was looked at. */
	if (!err && (mask & IBV_SRQ_LIMIT))
		err = -vb_srq_set_limit(srq->core, attr->srq_limit);
	return err;
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct vb_ibv_srq *srq = (struct vb_ibv_srq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (vb_ibv_check(ibv, VB_OBJECT_SRQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_modify_srq");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_modify_srq");

	int err = srq_modify(c, srq, attr, mask);

	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_modify_srq of SRQ 0x%06x", ibv->handle) : 0;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct vb_ibv_srq *srq = (struct vb_ibv_srq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (vb_ibv_check(ibv, VB_OBJECT_SRQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_query_srq");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_srq");
	vb_srq_query(srq->core, &attr->max_wr, &attr->max_sge, &attr->srq_limit);
	vb_ibv_leave(c);
	return 0;
}

int vb_ibv_get_srq_num(struct ibv_srq *ibv, uint32_t *num)
{
	*num = ibv->handle;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_SRQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_srq");

	struct vb_ibv_srq *srq = (struct vb_ibv_srq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	uint32_t delivered = 0;

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_srq");

	int err = -vb_srq_destroy(srq->core);

	if (!err) {
		vb_list_remove(&srq->link);
		vb_ring_srq_free(srq->hw);
		vb_ibv_pd_drop(ibv->pd);
		if (srq->xrcd)
			srq->xrcd->user_cnt--;
		delivered = vb_ibv_forget_events(&c->async, &srq->async);
	}
	vb_ibv_leave(c);
	if (err) {
		vb_ibv_note_why(err, "QPs still use it (ibv_destroy_srq(3))");
		return vb_ibv_refuse(c, err, "ibv_destroy_srq of SRQ 0x%06x", ibv->handle);
	}
	vb_ibv_await_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, delivered);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	vb_ibv_ring_put(&srq->ring);
	vb_object_free(srq);
	return 0;
}
