/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target QPs of XRC: they belong to a domain, not to who made them. Each handle, from
 * ibv_create_qp_ex() or ibv_open_qp(), is as good as the other, and the QP goes with the last. One
 * of another process lives there, and here is a handle of it (core/share/open.h), which is asked
 * for what only the target knows. ibv_open_qp(3); IBT-22
 */
#include "verbs/priv.h"

#include <stdlib.h>

/* A handle of the core's QP that it has been given, which is in the domain of @x. */
static void handle_enter(struct vb_ibv_context *c, struct vb_ibv_qp *qp, struct vb_ibv_xrcd *x)
{
	struct vb_ibv_qp *first = vb_qp_owner(qp->core);

	qp->xrcd = x;
	x->user_cnt++;
	qp->is_remote = vb_qp_is_handle(qp->core);
	if (!first)
		vb_qp_set_owner(qp->core, qp);
	if (qp->is_remote || (first && first != qp)) {
		vb_ibv_name(&qp->ibv);
		vb_list_append(&c->qps, &qp->link);
	} else {
		vb_ibv_qp_enlist(c, qp);
	}
	if (first && first != qp) {
		qp->csr_index = first->csr_index;
		vb_list_append(&first->handles, &qp->handles);
	}
}

static struct vb_ibv_qp *handle_new(struct ibv_context *context, void *qp_context)
{
	struct vb_ibv_qp *qp = vb_object_new(VB_OBJECT_QP, sizeof *qp);
	struct ibv_qp_init_attr show = {.qp_context = qp_context, .qp_type = IBV_QPT_XRC_RECV};

	if (qp)
		vb_ibv_qp_show(qp, context, &show);
	return qp;
}

static void handle_free(struct vb_ibv_qp *qp)
{
	pthread_mutex_destroy(&qp->ibv.mutex);
	pthread_cond_destroy(&qp->ibv.cond);
	vb_object_free(qp);
}

struct vb_ibv_qp *vb_ibv_create_target(struct ibv_context *context,
				       const struct ibv_qp_init_attr_ex *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_xrcd *x = (struct vb_ibv_xrcd *)attr->xrcd;
	int err = EIO;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return vb_ibv_null(EINVAL);
	if (x->ibv.context != context || !vb_object_is_named(x, context, 0))
		return vb_ibv_null(ENOENT);

	struct vb_ibv_qp *qp = handle_new(context, attr->qp_context);
	struct vb_qp_init core = {.type = VB_QPT_XRC_TGT, .xrcd = x->core, .owner = qp};

	if (!qp)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		err = -vb_qp_create(NULL, &core, &qp->core);
		if (!err) {
			handle_enter(c, qp, x);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		handle_free(qp);
		return vb_ibv_null(err);
	}
	return qp;
}

struct ibv_qp *vb_ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
	    IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_xrcd *x = (struct vb_ibv_xrcd *)attr->xrcd;
	int err = EIO;

	if (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT))
		return vb_ibv_null(EOPNOTSUPP);
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV)
		return vb_ibv_null(EINVAL);
	if (x->ibv.context != context || !vb_object_is_named(x, context, 0))
		return vb_ibv_null(ENOENT);

	struct vb_ibv_qp *qp = handle_new(
	    context, attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL);

	if (!qp)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		x->user_cnt++; /* it stays while others have the lock */
		err = -vb_engine_open_target(c->engine, x->core, attr->qp_num, &qp->core);
		x->user_cnt--;
		if (!err) {
			struct vb_qp_attr now;

			vb_qp_query(qp->core, &now);
			qp->ibv.qp_num = qp->ibv.handle = attr->qp_num;
			qp->ibv.state = (enum ibv_qp_state)now.qp_state;
			handle_enter(c, qp, x);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		handle_free(qp);
		return vb_ibv_null(err);
	}
	return &qp->ibv;
}

bool vb_ibv_target_put(struct vb_ibv_qp *qp)
{
	if (!qp->xrcd)
		return true;
	qp->xrcd->user_cnt--;
	qp->xrcd = NULL;
	if (vb_list_is_empty(&qp->handles))
		return true;
	if (vb_qp_owner(qp->core) == qp)
		vb_qp_set_owner(qp->core,
				vb_container_of(qp->handles.next, struct vb_ibv_qp, handles));
	vb_list_remove(&qp->handles);
	return false;
}
