/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: create, modify, query, destroy. man 3 ibv_create_qp, ibv_modify_qp */
#include "verbs/objects.h"
#include "verbs/qp_ex.h"

#include <string.h>

static struct verbena_qp *qp_of(struct ibv_qp *qp)
{
	return (struct verbena_qp *)(void *)qp;
}

static struct vb_cq *core_cq(struct ibv_cq *cq)
{
	return cq ? ((struct verbena_cq *)(void *)cq)->cq : NULL;
}

static int qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *a, struct verbena_qp **out)
{
	struct vb_qp_init init = {
	    .type = (enum vb_qp_type)a->qp_type,
	    .send_cq = core_cq(a->send_cq),
	    .recv_cq = core_cq(a->recv_cq),
	    .srq = a->srq ? vb_container_of(a->srq, struct verbena_srq, ibv)->srq : NULL,
	    .cap = {a->cap.max_send_wr, a->cap.max_recv_wr, a->cap.max_send_sge,
		    a->cap.max_recv_sge, a->cap.max_inline_data},
	    .sq_sig_all = a->sq_sig_all,
	};
	struct verbena_qp *qp = calloc(1, sizeof *qp);
	int err = qp ? 0 : -ENOMEM;

	init.owner = qp;
	if (!err && !verbs_enter(pd->context)) {
		err = -EIO;
	} else if (!err) {
		err = vb_qp_create(vb_container_of(pd, struct verbena_pd, ibv)->pd, &init, &qp->qp);
		verbs_leave(pd->context);
	}
	if (err) {
		free(qp);
		return err;
	}
	a->cap =
	    (struct ibv_qp_cap){init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
				init.cap.max_recv_sge, init.cap.max_inline_data};
	qp->sq_sig_all = a->sq_sig_all;

	struct ibv_qp *ibv = &qp->ibv.qp_base;

	*ibv = (struct ibv_qp){.context = pd->context,
			       .qp_context = a->qp_context,
			       .pd = pd,
			       .send_cq = a->send_cq,
			       .recv_cq = a->recv_cq,
			       .srq = a->srq,
			       .handle = vb_qp_number(qp->qp),
			       .qp_num = vb_qp_number(qp->qp),
			       .state = IBV_QPS_RESET,
			       .qp_type = a->qp_type};
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	*out = qp;
	return 0;
}

VERBS_API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {.qp_context = attr->qp_context,
					 .send_cq = attr->send_cq,
					 .recv_cq = attr->recv_cq,
					 .srq = attr->srq,
					 .cap = attr->cap,
					 .qp_type = attr->qp_type,
					 .sq_sig_all = attr->sq_sig_all};
	struct verbena_qp *qp;
	int err = qp_create(pd, &ex, &qp);

	if (err)
		return verbs_null(err);
	attr->cap = ex.cap;
	return &qp->ibv.qp_base;
}

struct ibv_qp *verbena_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known =
	    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	struct verbena_qp *qp;
	int err;

	(void)c;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return verbs_null(-EINVAL);
	if ((attr->comp_mask & ~known) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags))
		return verbs_null(-EOPNOTSUPP);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !qp_ex_may_send(attr->qp_type, attr->send_ops_flags))
		return verbs_null(-EOPNOTSUPP);
	err = qp_create(attr->pd, attr, &qp);
	if (err)
		return verbs_null(err);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = qp_ex_init(qp, attr);
		if (err) {
			ibv_destroy_qp(&qp->ibv.qp_base);
			return verbs_null(err);
		}
	}
	return &qp->ibv.qp_base;
}

VERBS_API struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return qp_of(qp)->batch ? &qp_of(qp)->ibv : NULL;
}

static int attr_from(struct verbena_context *c, struct verbena_qp *qp, const struct ibv_qp_attr *a,
		     int mask, struct vb_qp_attr *to)
{
	*to = (struct vb_qp_attr){
	    .qp_state = (enum vb_qp_state)a->qp_state,
	    .cur_qp_state = (enum vb_qp_state)a->cur_qp_state,
	    .path_mtu = (enum vb_mtu)a->path_mtu,
	    .qkey = a->qkey,
	    .rq_psn = a->rq_psn,
	    .sq_psn = a->sq_psn,
	    .dest_qpn = a->dest_qp_num,
	    .access = a->qp_access_flags,
	    .pkey_index = a->pkey_index,
	    .en_sqd_async_notify = a->en_sqd_async_notify,
	    .max_rd_atomic = a->max_rd_atomic,
	    .max_dest_rd_atomic = a->max_dest_rd_atomic,
	    .min_rnr_timer = a->min_rnr_timer,
	    .port = c->port,
	    .timeout = a->timeout,
	    .retry_cnt = a->retry_cnt,
	    .rnr_retry = a->rnr_retry,
	};
	if ((mask & IBV_QP_PORT) && a->port_num != 1)
		return -EINVAL;
	if (mask & IBV_QP_AV) {
		int err = path_from_attr(c, &a->ah_attr, &to->path);

		if (err)
			return err;
		to->path.udp_sport =
		    vb_udp_sport(to->path.flow_label, qp->ibv.qp_base.qp_num, a->dest_qp_num);
	}
	return 0;
}

VERBS_API int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct verbena_qp *qp = qp_of(ibv);
	struct vb_qp_attr a;
	int err = attr_from(ctx_of(ibv->context), qp, attr, mask, &a);

	if (err)
		return -err;
	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_qp_modify(qp->qp, &a, (uint32_t)mask, vb_engine_now());
	if (!err) {
		ibv->state = (enum ibv_qp_state)vb_qp_get_state(qp->qp);
		if (mask & IBV_QP_AV)
			qp->sgid_index = attr->ah_attr.grh.sgid_index;
		/* It may flush, drain or start to send. */
		vb_engine_progress(engine_of(ibv->context));
	}
	verbs_leave(ibv->context);
	return -err;
}

VERBS_API int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
			   struct ibv_qp_init_attr *init)
{
	struct verbena_qp *qp = qp_of(ibv);
	struct vb_qp_attr a;

	(void)mask; /* more than was asked for may be given */
	if (!verbs_enter(ibv->context))
		return EIO;
	vb_qp_query(qp->qp, &a);
	verbs_leave(ibv->context);
	ibv->state = (enum ibv_qp_state)a.qp_state;
	*attr = (struct ibv_qp_attr){
	    .qp_state = (enum ibv_qp_state)a.qp_state,
	    .cur_qp_state = (enum ibv_qp_state)a.cur_qp_state,
	    .path_mtu = (enum ibv_mtu)a.path_mtu,
	    .path_mig_state = IBV_MIG_MIGRATED,
	    .qkey = a.qkey,
	    .rq_psn = a.rq_psn,
	    .sq_psn = a.sq_psn,
	    .dest_qp_num = a.dest_qpn,
	    .qp_access_flags = a.access,
	    .cap = {a.cap.max_send_wr, a.cap.max_recv_wr, a.cap.max_send_sge, a.cap.max_recv_sge,
		    a.cap.max_inline_data},
	    .pkey_index = a.pkey_index,
	    .en_sqd_async_notify = a.en_sqd_async_notify,
	    .sq_draining = a.sq_draining,
	    .max_rd_atomic = a.max_rd_atomic,
	    .max_dest_rd_atomic = a.max_dest_rd_atomic,
	    .min_rnr_timer = a.min_rnr_timer,
	    .port_num = a.port ? 1 : 0,
	    .timeout = a.timeout,
	    .retry_cnt = a.retry_cnt,
	    .rnr_retry = a.rnr_retry,
	};
	path_to_attr(&a.path, qp->sgid_index, &attr->ah_attr);
	*init = (struct ibv_qp_init_attr){.qp_context = ibv->qp_context,
					  .send_cq = ibv->send_cq,
					  .recv_cq = ibv->recv_cq,
					  .srq = ibv->srq,
					  .cap = attr->cap,
					  .qp_type = ibv->qp_type,
					  .sq_sig_all = qp->sq_sig_all};
	return 0;
}

VERBS_API int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct verbena_qp *qp = qp_of(ibv);

	if (!verbs_enter(ibv->context))
		return EIO;
	vb_qp_destroy(qp->qp);
	events_forget(ctx_of(ibv->context), ibv);
	verbs_leave(ibv->context);
	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != qp->async_events)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	qp_ex_free(qp);
	free(qp);
	return 0;
}
