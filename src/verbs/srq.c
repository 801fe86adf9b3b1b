/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. man 3 ibv_create_srq, ibv_post_srq_recv */
#include "verbs/objects.h"

#include <string.h>

static struct ibv_srq *srq_create(struct ibv_pd *pd, struct ibv_srq_attr *a, void *srq_context)
{
	struct verbena_srq *srq = calloc(1, sizeof *srq);
	int err = srq ? 0 : -ENOMEM;

	if (!err && !verbs_enter(pd->context)) {
		err = -EIO;
	} else if (!err) {
		err = vb_srq_create(vb_container_of(pd, struct verbena_pd, ibv)->pd, a->max_wr,
				    a->max_sge, a->srq_limit, srq, &srq->srq);
		if (!err)
			vb_srq_query(srq->srq, &a->max_wr, &a->max_sge, &a->srq_limit);
		verbs_leave(pd->context);
	}
	if (err) {
		free(srq);
		return verbs_null(err);
	}
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = vb_srq_number(srq->srq);
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	return &srq->ibv;
}

VERBS_API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return srq_create(pd, &init->attr, init->srq_context);
}

struct ibv_srq *verbena_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr)
{
	(void)c;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return verbs_null(-EINVAL);
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type != IBV_SRQT_BASIC)
		return verbs_null(-EOPNOTSUPP);
	return srq_create(attr->pd, &attr->attr, attr->srq_context);
}

static struct verbena_srq *srq_of(struct ibv_srq *srq)
{
	return vb_container_of(srq, struct verbena_srq, ibv);
}

VERBS_API int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct vb_srq *srq = srq_of(ibv)->srq;
	int err = 0;

	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (!verbs_enter(ibv->context))
		return EIO;
	if (mask & IBV_SRQ_MAX_WR)
		err = vb_srq_resize(srq, attr->max_wr);
	if (!err && (mask & IBV_SRQ_LIMIT))
		err = vb_srq_set_limit(srq, attr->srq_limit);
	verbs_leave(ibv->context);
	return -err;
}

VERBS_API int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	if (!verbs_enter(ibv->context))
		return EIO;
	memset(attr, 0, sizeof *attr);
	vb_srq_query(srq_of(ibv)->srq, &attr->max_wr, &attr->max_sge, &attr->srq_limit);
	verbs_leave(ibv->context);
	return 0;
}

VERBS_API int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct verbena_srq *srq = srq_of(ibv);
	int err;

	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_srq_destroy(srq->srq);
	if (!err)
		events_forget(ctx_of(ibv->context), ibv);
	verbs_leave(ibv->context);
	if (err)
		return -err;
	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != srq->async_events)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(srq);
	return 0;
}

int verbena_get_srq_num(struct ibv_srq *ibv, uint32_t *num)
{
	*num = ibv->handle;
	return 0;
}
