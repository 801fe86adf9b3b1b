/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation and destruction. Their attributes are in attr.c. */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <inttypes.h>
#include <stdlib.h>

static struct vb_qp_cap cap_of(const struct ibv_qp_cap *cap)
{
	return (struct vb_qp_cap){.max_send_wr = cap->max_send_wr,
				  .max_recv_wr = cap->max_recv_wr,
				  .max_send_sge = cap->max_send_sge,
				  .max_recv_sge = cap->max_recv_sge,
				  .max_inline_data = cap->max_inline_data};
}

static void cap_show(struct ibv_qp_cap *to, const struct vb_qp_cap *cap)
{
	to->max_send_wr = cap->max_send_wr;
	to->max_recv_wr = cap->max_recv_wr;
	to->max_send_sge = cap->max_send_sge;
	to->max_recv_sge = cap->max_recv_sge;
	to->max_inline_data = cap->max_inline_data;
}

/* The types of the core that are none of the verbs' cannot be asked for; 0 is no type. */
static enum vb_qp_type type_of(enum ibv_qp_type type)
{
	return (unsigned)type < VB_QPT_GSI ? (enum vb_qp_type)type : (enum vb_qp_type)0;
}

/* Programs that have DC ask mlx5dv for it where a device says that it is of mlx5's, and call these
 * verbs otherwise, which have none. */
static void tell_of_dc(enum ibv_qp_type type)
{
	static _Atomic bool said;

	if (type == IBV_QPT_DRIVER && !vb_ibv_is_mlx5())
		vb_ibv_complain(&said, "a QP of DC needs devices that say they are of mlx5's: "
				       "\"verbena run --dc half\"");
}

static bool sends_only(enum vb_qp_type type)
{
	return type == VB_QPT_XRC_INI || type == VB_QPT_DCI;
}

/*
 * Checks the parts of a QP: 0, EINVAL when one is missing, ENOENT when one is no such object of
 * the same context. Initiators receive nothing, targets send nothing.
 */
static int parts_check(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
		       enum vb_qp_type type)
{
	bool sends = type != VB_QPT_DCT, receives = !sends_only(type);

	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return ENOENT;
	if ((sends && !init->send_cq) || (receives && !init->recv_cq) ||
	    (type == VB_QPT_DCT && !init->srq))
		return VB_IBV_WHY(EINVAL, "%s is NULL",
				  sends && !init->send_cq      ? "send_cq"
				  : receives && !init->recv_cq ? "recv_cq"
							       : "srq");
	if ((sends && vb_ibv_check_in(init->send_cq, VB_OBJECT_CQ, pd->context)) ||
	    (receives && vb_ibv_check_in(init->recv_cq, VB_OBJECT_CQ, pd->context)))
		return ENOENT;
	return receives && init->srq ? vb_ibv_check_in(init->srq, VB_OBJECT_SRQ, pd->context) : 0;
}

/* The core's part. Returns 0 or an errno. */
static int qp_create_core(struct vb_ibv_context *c, struct vb_ibv_qp *qp, struct ibv_pd *pd,
			  struct vb_qp_init *core)
{
	if (!vb_ibv_enter(c))
		return EIO;

	int err = -vb_qp_create(((struct vb_ibv_pd *)pd)->core, core, &qp->core);

	if (err)
		(void)vb_ibv_why_core(c, err);
	if (!err) {
		vb_ibv_qp_enlist(c, qp);
		vb_ibv_pd_hold(pd);
		if (core->type == VB_QPT_UD)
			vb_engine_make_grh(c->engine);
	}
	vb_ibv_leave(c);
	return err;
}

/* The queues as hardware has them, of a QP that was made. Returns 0 or an errno. */
static int make_rings(struct vb_ibv_context *c, struct vb_ibv_qp *qp, struct vb_qp_cap *cap)
{
	int err;

	if (!qp->hw)
		return 0;
	if (!vb_ibv_enter(c))
		return EIO;
	err = vb_ring_qp_make(qp->hw, qp);
	*cap = qp->hw->cap;
	vb_ibv_leave(c);
	return err;
}

/* QPs of DC are made by mlx5dv's call. */
static void *refuse_qp(struct vb_ibv_context *c, int err, const struct vb_dc_init *dc)
{
	return VB_IBV_REFUSE_NULL(c, err, dc ? "mlx5dv_create_qp" : "ibv_create_qp");
}

static struct vb_ibv_qp *qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
				   enum vb_qp_type type, const struct vb_dc_init *dc, bool with_wr)
{
	int err = parts_check(pd, init, type);

	if (err)
		return refuse_qp(NULL, err, dc);

	struct vb_ibv_qp *qp = vb_object_new(VB_OBJECT_QP, sizeof *qp);

	if (!qp)
		return vb_ibv_null(ENOMEM);

	struct vb_qp_init core = {
	    .type = type,
	    .dc = dc ? *dc : (struct vb_dc_init){0},
	    .cap = cap_of(&init->cap),
	    .sq_sig_all = init->sq_sig_all != 0,
	    .owner = qp,
	};

	core.send_cq =
	    ((struct vb_ibv_cq *)(type == VB_QPT_DCT ? init->recv_cq : init->send_cq))->core;
	if (type == VB_QPT_DCT)
		core.cap = (struct vb_qp_cap){0};
	if (sends_only(type)) {
		core.cap.max_recv_wr = core.cap.max_recv_sge = 0;
	} else {
		core.recv_cq = ((struct vb_ibv_cq *)init->recv_cq)->core;
		core.srq = init->srq ? ((struct vb_ibv_srq *)init->srq)->core : NULL;
	}
	if (vb_ring_is_on()) {
		qp->hw = calloc(1, sizeof *qp->hw);
		err = qp->hw ? vb_ring_qp_plan(qp->hw, &core, init) : ENOMEM;
	}
	vb_ibv_qp_show(qp, pd->context, init);
	qp->ibv.pd = pd;
	if (!err)
		err = qp_create_core(vb_ibv_ctx(pd->context), qp, pd, &core);

	if (err) {
		free(qp->hw);
		vb_object_free(qp);
		return refuse_qp(vb_ibv_ctx(pd->context), err, dc);
	}
	err = make_rings(vb_ibv_ctx(pd->context), qp, &core.cap);
	qp->cap = core.cap;
	if (!err)
		err = vb_ibv_ring_get(&qp->ring, pd, vb_qp_ring_size(qp->core), VB_IBV_RING_QP);
	if (!err && qp->ring.mem && vb_ibv_enter(vb_ibv_ctx(pd->context))) {
		vb_qp_place_ring(qp->core, qp->ring.mem);
		vb_ibv_leave(vb_ibv_ctx(pd->context));
	}
	if (!err && with_wr)
		err = vb_wr_batch_init(qp);
	if (err) {
		(void)ibv_destroy_qp(&qp->ibv); /* has no events yet */
		return refuse_qp(vb_ibv_ctx(pd->context), err, dc);
	}
	cap_show(&init->cap, &core.cap);
	return qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	tell_of_dc(init->qp_type);

	struct vb_ibv_qp *qp = qp_create(pd, init, type_of(init->qp_type), NULL, false);

	return qp ? &qp->ibv : NULL;
}

static uint64_t send_ops_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return VB_WR_OPS_RC;
	case IBV_QPT_UC:
		return VB_WR_OPS_CONNECTED;
	case IBV_QPT_UD:
		return VB_WR_OPS_UD;
	default:
		return 0;
	}
}

/* Whether the adapter knows all that is asked for. Returns 0 or an errno. */
static int known_check(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_XRCD;
	uint64_t ops = attr->send_ops_flags & ~send_ops_of(attr->qp_type);

	if (attr->comp_mask & ~known)
		return VB_IBV_WHY(EOPNOTSUPP, "comp_mask has 0x%x, which the adapter does not know",
				  attr->comp_mask & ~known);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return VB_IBV_WHY(EOPNOTSUPP, "create_flags are 0x%x, and the adapter has none",
				  attr->create_flags);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && ops)
		return VB_IBV_WHY(EOPNOTSUPP,
				  "send_ops_flags have 0x%" PRIx64 ", which QPs of type %u lack",
				  ops, attr->qp_type);
	return 0;
}

struct ibv_qp *vb_ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	bool with_wr = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	tell_of_dc(attr->qp_type);

	int wrong = known_check(attr);

	if (wrong)
		return VB_IBV_REFUSE_NULL(NULL, wrong, "ibv_create_qp_ex");
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		struct vb_ibv_qp *target = vb_ibv_create_target(context, attr);

		/* It has no PD, and shows the one that came along: librdmacm takes it from there.
		 */
		if (target && (attr->comp_mask & IBV_QP_INIT_ATTR_PD))
			target->ibv.pd = attr->pd;
		return target ? &target->ibv : NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return VB_IBV_REFUSE_NULL(NULL,
					  VB_IBV_WHY(EINVAL, "comp_mask lacks IBV_QP_INIT_ATTR_PD"),
					  "ibv_create_qp_ex");
	if (vb_ibv_check_in(attr->pd, VB_OBJECT_PD, context))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_qp_ex");

	/* The extended attributes begin with the plain ones. */
	struct vb_ibv_qp *qp = qp_create(attr->pd, (struct ibv_qp_init_attr *)attr,
					 type_of(attr->qp_type), NULL, with_wr);

	return qp ? &qp->ibv : NULL;
}

struct vb_ibv_qp *vb_ibv_create_dc(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
				   enum vb_qp_type type, const struct vb_dc_init *dc, bool with_wr)
{
	return qp_create(pd, init, type, dc, with_wr);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;

	return qp->batch ? &qp->ex : NULL;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_qp");

	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_qp");
	/* Posted work and due acknowledgements leave first. A QP in ERR sends no more. */
	if (vb_qp_get_state(qp->core) != VB_QPS_ERR)
		vb_engine_flush(c->engine);

	uint32_t delivered = 0;
	bool is_last = vb_ibv_target_put(qp);
	int err = is_last ? -vb_qp_destroy(qp->core) : 0;

	if (err) {
		(void)vb_ibv_why_core(c, err);
	} else {
		vb_list_remove(&qp->link);
		if (ibv->qp_type != IBV_QPT_XRC_RECV)
			vb_ibv_pd_drop(ibv->pd);
		if (is_last)
			vb_ibv_qp_delist(c->engine, qp);
		if (qp->hw)
			vb_ring_qp_free(qp->hw, c->engine);
		delivered = vb_ibv_forget_events(&c->async, &qp->async);
	}
	vb_ibv_leave(c);
	if (err)
		return vb_ibv_refuse(c, err, "ibv_destroy_qp of QP 0x%06x", ibv->qp_num);
	vb_ibv_await_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, delivered);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	vb_wr_batch_free(qp->batch);
	vb_ibv_ring_put(&qp->ring);
	free(qp->dv);
	vb_object_free(qp);
	return 0;
}
