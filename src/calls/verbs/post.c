/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests and completions. ibv_post_send(3), ibv_poll_cq(3), ibv_bind_mw(3) */
#include "calls/context.h"
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

#include <pthread.h>

/* The request at which a list was refused. */
static void show_bad(struct vb_call *c, int rc, const uint64_t *wr_id)
{
	if (!rc || !wr_id)
		return;
	vb_call_results(c);
	vb_call_number(c, "bad_wr_id", (int64_t)*wr_id);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_post_send");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_send_list(&c, qp->qp_type, wr);
	vb_call_go(&c);
	rc = vb_next_ops.old.post_send(qp, wr, bad_wr);
	vb_call_done(&c);
	show_bad(&c, rc, rc && *bad_wr ? &(*bad_wr)->wr_id : NULL);
	vb_call_end_error(&c, rc);
	return rc;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_post_recv");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_recv_list(&c, wr);
	vb_call_go(&c);
	rc = vb_next_ops.old.post_recv(qp, wr, bad_wr);
	vb_call_done(&c);
	show_bad(&c, rc, rc && *bad_wr ? &(*bad_wr)->wr_id : NULL);
	vb_call_end_error(&c, rc);
	return rc;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_post_srq_recv");
	vb_call_object(&c, "srq", VB_KIND_SRQ, srq);
	vb_call_recv_list(&c, wr);
	vb_call_go(&c);
	rc = vb_next_ops.old.post_srq_recv(srq, wr, bad_wr);
	vb_call_done(&c);
	show_bad(&c, rc, rc && *bad_wr ? &(*bad_wr)->wr_id : NULL);
	vb_call_end_error(&c, rc);
	return rc;
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct vb_call c;
	int cnt;

	vb_call_begin(&c, "ibv_poll_cq");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_number(&c, "num_entries", num_entries);
	vb_call_go(&c);
	cnt = vb_next_ops.old.poll_cq(cq, num_entries, wc);
	vb_call_done(&c);
	if (cnt > 0) {
		vb_call_results(&c);
		vb_call_wc_list(&c, wc, cnt);
	}
	vb_call_end_count(&c, cnt);
	return cnt;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_req_notify_cq");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_number(&c, "solicited_only", solicited_only);
	vb_call_go(&c);
	rc = vb_next_ops.old.req_notify_cq(cq, solicited_only);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct vb_call c;
	struct ibv_mw *mw;

	vb_call_begin(&c, "ibv_alloc_mw");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_name(&c, "type", vb_names_mw_type, type);
	vb_call_go(&c);
	mw = vb_next_ops.old.alloc_mw(pd, type);
	vb_call_done(&c);
	if (mw) {
		vb_call_results(&c);
		vb_call_hex(&c, "rkey", mw->rkey);
	}
	vb_call_end_object(&c, VB_KIND_MW, mw);
	return mw;
}

VB_CALLS_DESTROY(static, dealloc_mw, "ibv_dealloc_mw", vb_next_ops.old.dealloc_mw, ibv_mw,
		 VB_KIND_MW, "mw")

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_bind_mw");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_object(&c, "mw", VB_KIND_MW, mw);
	vb_call_number(&c, "wr_id", (int64_t)bind->wr_id);
	vb_call_flags(&c, "send_flags", bind->send_flags, vb_names_send);
	vb_call_bind_info(&c, &bind->bind_info);
	vb_call_go(&c);
	rc = vb_next_ops.old.bind_mw(qp, mw, bind);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_hex(&c, "rkey", mw->rkey);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

void vb_calls_take_post(struct verbs_context *v)
{
	struct ibv_context_ops *ops = &v->context.ops;

	VB_CALLS_TAKE(ops->post_send, post_send);
	VB_CALLS_TAKE(ops->post_recv, post_recv);
	VB_CALLS_TAKE(ops->post_srq_recv, post_srq_recv);
	VB_CALLS_TAKE(ops->poll_cq, poll_cq);
	VB_CALLS_TAKE(ops->req_notify_cq, req_notify_cq);
	VB_CALLS_TAKE(ops->alloc_mw, alloc_mw);
	VB_CALLS_TAKE(ops->dealloc_mw, dealloc_mw);
	VB_CALLS_TAKE(ops->bind_mw, bind_mw);
}

void vb_calls_take_context(struct ibv_context *context)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct verbs_context *v = verbs_get_ctx(context);

	/* The fields that this header knows; libverbena.so has them all. */
	if (!v)
		return;
	pthread_mutex_lock(&mutex);
	if (context->ops.poll_cq != poll_cq) {
		vb_next_ops.old = context->ops;
		vb_next_ops.new = *v;
		vb_calls_take_post(v);
		vb_calls_take_create(v);
		vb_calls_take_rest(v);
	}
	pthread_mutex_unlock(&mutex);
}
