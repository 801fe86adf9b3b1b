/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls with attributes that grow: ibv_create_qp_ex(3), ibv_create_cq_ex(3), ibv_create_srq_ex(3),
 * ibv_open_qp(3), ibv_open_xrcd(3). */
#include "calls/context.h"
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

#include <pthread.h>

#define NEXT vb_next_ops.new

static pthread_mutex_t take_mutex = PTHREAD_MUTEX_INITIALIZER;

void vb_calls_take_new_qp(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = vb_next_verbs()->ibv_qp_to_qp_ex(qp);

	if (!ex)
		return;
	pthread_mutex_lock(&take_mutex);
	vb_calls_take_qp(ex);
	pthread_mutex_unlock(&take_mutex);
}

void vb_calls_show_qp_ex(struct vb_call *c, const struct ibv_context *context,
			 const struct ibv_qp_init_attr_ex *init)
{
	vb_call_object(c, "context", VB_KIND_CTX, context);
	vb_call_name(c, "qp_type", vb_names_qp_type, init->qp_type);
	vb_call_hex(c, "comp_mask", init->comp_mask);
	if (init->comp_mask & IBV_QP_INIT_ATTR_PD)
		vb_call_object(c, "pd", VB_KIND_PD, init->pd);
	if (init->comp_mask & IBV_QP_INIT_ATTR_XRCD)
		vb_call_object(c, "xrcd", VB_KIND_XRCD, init->xrcd);
	if (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		vb_call_hex(c, "send_ops_flags", init->send_ops_flags);
	vb_call_object(c, "send_cq", VB_KIND_CQ, init->send_cq);
	vb_call_object(c, "recv_cq", VB_KIND_CQ, init->recv_cq);
	if (init->srq)
		vb_call_object(c, "srq", VB_KIND_SRQ, init->srq);
	vb_call_qp_cap(c, "cap", &init->cap);
	vb_call_number(c, "sq_sig_all", init->sq_sig_all);
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	struct vb_call c;
	struct ibv_qp *qp;

	vb_call_begin(&c, "ibv_create_qp_ex");
	vb_calls_show_qp_ex(&c, context, init);
	vb_call_go(&c);
	qp = NEXT.create_qp_ex(context, init);
	vb_call_done(&c);
	if (qp) {
		vb_calls_take_new_qp(qp);
		vb_call_results(&c);
		vb_call_qp_cap(&c, "cap", &init->cap);
	}
	vb_call_end_object(&c, VB_KIND_QP, qp);
	return qp;
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct vb_call c;
	struct ibv_qp *qp;

	vb_call_begin(&c, "ibv_open_qp");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_hex(&c, "qp_num", attr->qp_num);
	vb_call_object(&c, "xrcd", VB_KIND_XRCD, attr->xrcd);
	vb_call_name(&c, "qp_type", vb_names_qp_type, attr->qp_type);
	vb_call_go(&c);
	qp = NEXT.open_qp(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_QP, qp);
	return qp;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	struct vb_call c;
	struct ibv_cq_ex *cq;

	vb_call_begin(&c, "ibv_create_cq_ex");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "cqe", init->cqe);
	vb_call_object(&c, "channel", VB_KIND_CHANNEL, init->channel);
	vb_call_number(&c, "comp_vector", init->comp_vector);
	vb_call_hex(&c, "wc_flags", init->wc_flags);
	vb_call_hex(&c, "comp_mask", init->comp_mask);
	vb_call_go(&c);
	cq = NEXT.create_cq_ex(context, init);
	vb_call_done(&c);
	if (cq) {
		pthread_mutex_lock(&take_mutex);
		vb_calls_take_cq(cq);
		pthread_mutex_unlock(&take_mutex);
		vb_call_results(&c);
		vb_call_number(&c, "cqe", cq->cqe);
	}
	vb_call_end_object(&c, VB_KIND_CQ, cq);
	return cq;
}

static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_modify_cq");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_number(&c, "cq_count", attr->moderate.cq_count);
	vb_call_number(&c, "cq_period", attr->moderate.cq_period);
	vb_call_go(&c);
	rc = NEXT.modify_cq(cq, attr);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
	struct vb_call c;
	struct ibv_srq *srq;

	vb_call_begin(&c, "ibv_create_srq_ex");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		vb_call_name(&c, "srq_type", vb_names_srq_type, init->srq_type);
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_PD)
		vb_call_object(&c, "pd", VB_KIND_PD, init->pd);
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_XRCD)
		vb_call_object(&c, "xrcd", VB_KIND_XRCD, init->xrcd);
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_CQ)
		vb_call_object(&c, "cq", VB_KIND_CQ, init->cq);
	vb_call_number(&c, "max_wr", init->attr.max_wr);
	vb_call_number(&c, "max_sge", init->attr.max_sge);
	vb_call_go(&c);
	srq = NEXT.create_srq_ex(context, init);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_SRQ, srq);
	return srq;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct vb_call c;
	struct ibv_xrcd *xrcd;

	vb_call_begin(&c, "ibv_open_xrcd");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "fd", attr->fd);
	vb_call_hex(&c, "oflags", (unsigned)attr->oflags);
	vb_call_go(&c);
	xrcd = NEXT.open_xrcd(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_XRCD, xrcd);
	return xrcd;
}

VB_CALLS_DESTROY(static, close_xrcd, "ibv_close_xrcd", NEXT.close_xrcd, ibv_xrcd, VB_KIND_XRCD,
		 "xrcd")

void vb_calls_take_create(struct verbs_context *v)
{
	VB_CALLS_TAKE(v->create_qp_ex, create_qp_ex);
	VB_CALLS_TAKE(v->open_qp, open_qp);
	VB_CALLS_TAKE(v->create_cq_ex, create_cq_ex);
	VB_CALLS_TAKE(v->modify_cq, modify_cq);
	VB_CALLS_TAKE(v->create_srq_ex, create_srq_ex);
	VB_CALLS_TAKE(v->open_xrcd, open_xrcd);
	VB_CALLS_TAKE(v->close_xrcd, close_xrcd);
}
