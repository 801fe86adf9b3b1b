/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and polling. man 3 ibv_create_cq, ibv_poll_cq, ibv_req_notify_cq */
#include "verbs/objects.h"

/* A CQ that is never found empty still drives the engine once in so many polls. */
#define POLLS_FULL_MAX 16u

VERBS_API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				       struct ibv_comp_channel *channel, int comp_vector)
{
	struct verbena_cq *cq = NULL;
	int err =
	    cqe < 1 || comp_vector < 0 || comp_vector >= context->num_comp_vectors ? -EINVAL : 0;

	if (!err) {
		cq = calloc(1, sizeof *cq);
		err = cq ? 0 : -ENOMEM;
	}
	if (!err && !verbs_enter(context)) {
		err = -EIO;
	} else if (!err) {
		err = vb_cq_create(vb_engine_hca(engine_of(context)), (uint32_t)cqe, cq, &cq->cq);
		if (!err && channel)
			channel->refcnt++;
		verbs_leave(context);
	}
	if (err) {
		free(cq);
		return verbs_null(err);
	}
	vb_list_init(&cq->ready);
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = cq_context;
	cq->ibv.cqe = (int)vb_cq_size(cq->cq);
	cq->ibv.handle = vb_cq_number(cq->cq);
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	return ibv_cq_ex_to_cq(&cq->ibv);
}

static struct verbena_cq *cq_of(struct ibv_cq *cq)
{
	return (struct verbena_cq *)(void *)cq;
}

VERBS_API int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct verbena_cq *cq = cq_of(ibv);
	int err;

	if (cqe < 1)
		return EINVAL;
	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_cq_resize(cq->cq, (uint32_t)cqe);
	ibv->cqe = (int)vb_cq_size(cq->cq);
	verbs_leave(ibv->context);
	return -err;
}

VERBS_API int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct verbena_cq *cq = cq_of(ibv);
	int err;

	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_cq_destroy(cq->cq);
	if (!err) {
		vb_list_remove(&cq->ready);
		events_forget(ctx_of(ibv->context), ibv);
		if (ibv->channel)
			ibv->channel->refcnt--;
	}
	verbs_leave(ibv->context);
	if (err)
		return -err;
	/* Events that were taken must be acknowledged first, or the caller races with itself. */
	pthread_mutex_lock(&ibv->mutex);
	while (ibv->comp_events_completed != cq->comp_events ||
	       ibv->async_events_completed != cq->async_events)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(cq);
	return 0;
}

static void wc_copy(const struct vb_wc *from, struct ibv_wc *to)
{
	to->wr_id = from->wr_id;
	to->status = (enum ibv_wc_status)from->status;
	to->opcode = (enum ibv_wc_opcode)from->opcode;
	to->vendor_err = from->vendor_err;
	to->byte_len = from->byte_len;
	to->imm_data = from->imm;
	to->qp_num = from->qpn;
	to->src_qp = from->src_qpn;
	to->wc_flags = from->flags;
	to->pkey_index = from->pkey_index;
	to->slid = from->slid;
	to->sl = from->sl;
	to->dlid_path_bits = from->dlid_path_bits;
}

int verbena_poll_cq(struct ibv_cq *ibv, int cnt, struct ibv_wc *wc)
{
	struct verbena_cq *cq = cq_of(ibv);
	struct vb_wc entry;
	int n = 0, got = 0;

	if (!verbs_enter(ibv->context))
		return -EIO;
	if (vb_cq_is_empty(cq->cq) || ++cq->polls_full >= POLLS_FULL_MAX) {
		cq->polls_full = 0;
		vb_engine_progress(engine_of(ibv->context));
	}
	while (n < cnt && (got = vb_cq_poll(cq->cq, &entry, 1)) == 1)
		wc_copy(&entry, &wc[n++]);
	verbs_leave(ibv->context);
	return n == 0 && got < 0 ? -1 : n;
}

int verbena_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	if (!verbs_enter(ibv->context))
		return EIO;
	vb_cq_arm(cq_of(ibv)->cq, solicited_only);
	vb_engine_expect_sleep(engine_of(ibv->context));
	verbs_leave(ibv->context);
	return 0;
}

struct ibv_cq_ex *verbena_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr)
{
	(void)c, (void)attr;
	return verbs_null(-EOPNOTSUPP);
}
