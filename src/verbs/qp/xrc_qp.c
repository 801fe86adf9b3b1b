/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target QPs of XRC: they belong to a domain, not to the process that made them. Each handle, from
 * ibv_create_qp_ex() or ibv_open_qp(), is as good as the other, and the QP goes with the last. One
 * of another process lives there, and here is a handle of it (core/share/open.h), which is asked
 * for what only the target knows. ibv_open_qp(3); IBT-22
 */
#include "verbs/priv.h"

#include <stdlib.h>
#include <string.h>

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

static int target_check(const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD))
		return VB_IBV_WHY(EINVAL, "qp_type is XRC_RECV, and comp_mask lacks "
					  "IBV_QP_INIT_ATTR_XRCD");
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return VB_IBV_WHY(EINVAL, "qp_type is XRC_RECV, which sends nothing, and comp_mask "
					  "has IBV_QP_INIT_ATTR_SEND_OPS_FLAGS");
	return 0;
}

struct vb_ibv_qp *vb_ibv_create_target(struct ibv_context *context,
				       const struct ibv_qp_init_attr_ex *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_xrcd *x = (struct vb_ibv_xrcd *)attr->xrcd;
	int err = target_check(attr);

	if (!err && vb_ibv_check_plain_in(attr->xrcd, VB_OBJECT_XRCD, context))
		err = ENOENT;
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_create_qp_ex");

	struct vb_ibv_qp *qp = handle_new(context, attr->qp_context);
	struct vb_qp_init core = {.type = VB_QPT_XRC_TGT, .xrcd = x->core, .owner = qp};

	if (!qp)
		return vb_ibv_null(ENOMEM);
	err = EIO;
	if (vb_ibv_enter(c)) {
		err = -vb_qp_create(NULL, &core, &qp->core);
		if (err)
			(void)vb_ibv_why_core(c, err);
		else
			handle_enter(c, qp, x);
		vb_ibv_leave(c);
	}
	if (err) {
		handle_free(qp);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_qp_ex");
	}
	return qp;
}

static int open_check(const struct ibv_qp_open_attr *attr, uint32_t needed)
{
	uint32_t more = attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT);

	if (more)
		return VB_IBV_WHY(EOPNOTSUPP, "comp_mask has 0x%x, which the adapter does not know",
				  more);
	if ((attr->comp_mask & needed) != needed)
		return VB_IBV_WHY(EINVAL,
				  "comp_mask 0x%x lacks IBV_QP_OPEN_ATTR_NUM, _XRCD or "
				  "_TYPE",
				  attr->comp_mask);
	if (attr->qp_type != IBV_QPT_XRC_RECV)
		return VB_IBV_WHY(EINVAL, "qp_type %u is not IBV_QPT_XRC_RECV (ibv_open_qp(3))",
				  attr->qp_type);
	return 0;
}

/* A target of the domain @x, in qp->core. Under the lock. Returns 0 or an errno. */
static int open_target(struct vb_ibv_context *c, struct vb_ibv_xrcd *x, uint32_t qpn,
		       struct vb_ibv_qp *qp)
{
	int err;

	x->user_cnt++; /* it stays while others have the lock */
	err = -vb_engine_open_target(c->engine, x->core, qpn, &qp->core);
	x->user_cnt--;
	if (err == EINVAL)
		return VB_IBV_WHY(err, "the domain has no target QP 0x%06x (ibv_open_qp(3))", qpn);
	return err ? VB_IBV_WHY(err, "the process that has QP 0x%06x does not answer: %s", qpn,
				strerrordesc_np(err))
		   : 0;
}

struct ibv_qp *vb_ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
	    IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_xrcd *x = (struct vb_ibv_xrcd *)attr->xrcd;
	int err = EIO;

	int wrong = open_check(attr, needed);

	if (!wrong && vb_ibv_check_plain_in(attr->xrcd, VB_OBJECT_XRCD, context))
		wrong = ENOENT;
	if (wrong)
		return VB_IBV_REFUSE_NULL(NULL, wrong, "ibv_open_qp");

	struct vb_ibv_qp *qp = handle_new(
	    context, attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL);

	if (!qp)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		err = open_target(c, x, attr->qp_num, qp);
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
		return VB_IBV_REFUSE_NULL(c, err, "ibv_open_qp");
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
