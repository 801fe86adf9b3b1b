/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. Polling is what drives the engine: a queue that is empty lets the engine
 * receive and send, and is looked at again.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <stdlib.h>

/* Completions taken from the core at once. */
#define BATCH 16
/* A queue that is never empty still lets the engine work, once in so many polls. */
#define POLLS_PER_PROGRESS 16u
/* Entries of a CQ at least. Adapters give more than one, too, and programs rely on it: ib_send_lat
 * -e asks for one, has both CQs on one channel and polls its send CQ once for each message, after
 * whichever event came first. Where the next message comes before the ACK of the last one, the
 * completion of that stays until the next poll, and the next one comes to it. */
#define CQE_MIN 2

static uint32_t cqe_at_least(int cqe)
{
	return (uint32_t)(cqe < CQE_MIN ? CQE_MIN : cqe);
}

static int cq_check(const struct ibv_context *context, int cqe,
		    const struct ibv_comp_channel *channel, int comp_vector)
{
	int err = channel ? vb_ibv_check_plain_in(channel, VB_OBJECT_CHANNEL, context) : 0;

	if (err)
		return err;
	if (cqe <= 0)
		return VB_IBV_WHY(EINVAL, "cqe %d is not above 0 (ibv_create_cq(3))", cqe);
	if (comp_vector < 0 || comp_vector >= context->num_comp_vectors)
		return VB_IBV_WHY(EINVAL, "comp_vector %d is not from 0 to %d (ibv_create_cq(3))",
				  comp_vector, context->num_comp_vectors - 1);
	return 0;
}

struct vb_ibv_cq *vb_ibv_cq_create(struct ibv_context *context, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int comp_vector,
				   struct ibv_pd *parent)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	int err = cq_check(context, cqe, channel, comp_vector);

	if (err)
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_cq");

	struct vb_ibv_cq *cq = vb_object_new(VB_OBJECT_CQ, sizeof *cq);

	if (!cq)
		return vb_ibv_null(ENOMEM);
	err = EIO;
	vb_evq_node_init(&cq->notify, VB_EVQ_CQ);
	vb_evq_node_init(&cq->async, VB_EVQ_CQ);
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->channel = (struct vb_ibv_channel *)channel;
	cq->ibv.cq_context = cq_context;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_mutex_init(&cq->poll_mutex, NULL);
	if (vb_ibv_enter(c)) {
		err = -vb_cq_create(vb_engine_hca(c->engine), cqe_at_least(cqe), cq, &cq->core);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			cq->ibv.handle = vb_cq_number(cq->core);
			cq->ibv.cqe = (int)vb_cq_size(cq->core);
			vb_ibv_name(&cq->ibv);
			if (vb_ring_is_on())
				err = vb_ring_cq_make(cq);
			vb_list_append(&c->cqs, &cq->link);
			vb_engine_slot(c->engine)->cq_cnt++;
			if (channel)
				channel->refcnt++;
			if (parent)
				vb_ibv_pd_hold(parent);
		}
		vb_ibv_leave(c);
	}
	if (err && !cq->core) {
		vb_object_free(cq);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_cq");
	}
	cq->parent = parent;
	if (!err)
		err = vb_ibv_ring_get(&cq->ring, parent, vb_cq_ring_size(cq->core), VB_IBV_RING_CQ);
	if (err) {
		(void)ibv_destroy_cq(&cq->ibv); /* has no users yet */
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_cq");
	}
	if (cq->ring.mem && vb_ibv_enter(c)) {
		vb_cq_place_ring(cq->core, cq->ring.mem);
		vb_ibv_leave(c);
	}
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct vb_ibv_cq *cq =
	    vb_ibv_cq_create(context, cqe, cq_context, channel, comp_vector, NULL);

	return cq ? &cq->ibv : NULL;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (vb_ibv_check(ibv, VB_OBJECT_CQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_resize_cq");
	if (cqe <= 0)
		return vb_ibv_refuse(
		    c, VB_IBV_WHY(EINVAL, "cqe %d is less than 1 (ibv_resize_cq(3))", cqe),
		    "ibv_resize_cq");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_resize_cq");
	/* Posted work may be done, and have completions that a smaller CQ has no room for. */
	if ((uint32_t)cqe < vb_cq_size(cq->core))
		vb_engine_flush(c->engine);

	int err = cq->hw ? vb_ring_cq_resize(cq->hw, cqe_at_least(cqe))
			 : -vb_cq_resize(cq->core, cqe_at_least(cqe));

	/* One that a program reads by itself has said why, and of memory there is nothing to say.
	 */
	if (err == EINVAL)
		(void)vb_ibv_why_core(c, err);
	if (!err)
		ibv->cqe = (int)vb_cq_size(cq->core);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_resize_cq") : 0;
}

int vb_ibv_modify_cq(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (vb_ibv_check(ibv, VB_OBJECT_CQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_modify_cq");
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return vb_ibv_refuse(c,
				     VB_IBV_WHY(EINVAL,
						"attr_mask 0x%x is not IBV_CQ_ATTR_MODERATE",
						attr->attr_mask),
				     "ibv_modify_cq");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_modify_cq");
	vb_cq_moderate(cq->core, attr->moderate.cq_count, attr->moderate.cq_period * VB_USEC,
		       vb_clock_now());
	vb_engine_progress(c->engine);
	vb_ibv_leave(c);
	return 0;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_CQ))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_cq");

	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_ibv_channel *ch = cq->channel;

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_cq");

	uint32_t notified = 0, asyncs = 0;
	int err = -vb_cq_destroy(cq->core);

	if (!err) {
		vb_list_remove(&cq->link);
		vb_ring_cq_free(cq->hw, c->engine);
		vb_ibv_cq_watch(cq, false);
		vb_engine_slot(c->engine)->cq_cnt--;
		notified = vb_ibv_forget_events(ch ? &ch->events : NULL, &cq->notify);
		asyncs = vb_ibv_forget_events(&c->async, &cq->async);
		if (ch)
			ch->ibv.refcnt--;
		if (cq->parent)
			vb_ibv_pd_drop(cq->parent);
	}
	vb_ibv_leave(c);
	if (err) {
		vb_ibv_note_why(err, "QPs or SRQs still use it (ibv_destroy_cq(3))");
		return vb_ibv_refuse(c, err, "ibv_destroy_cq");
	}
	vb_ibv_await_acks(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, notified);
	vb_ibv_await_acks(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, asyncs);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&cq->poll_mutex);
	vb_ibv_ring_put(&cq->ring);
	vb_object_free(cq);
	return 0;
}

static void wc_show(struct ibv_wc *to, const struct vb_wc *wc)
{
	to->wr_id = wc->wr_id;
	to->status = (enum ibv_wc_status)wc->status;
	to->opcode = (enum ibv_wc_opcode)wc->opcode;
	to->vendor_err = wc->vendor_err;
	to->byte_len = wc->byte_len;
	to->invalidated_rkey = wc->imm; /* or imm_data: one place */
	to->qp_num = wc->qpn;
	to->src_qp = wc->src_qpn;
	to->wc_flags = wc->flags;
	to->pkey_index = wc->pkey_index;
	to->slid = wc->slid;
	to->sl = wc->sl;
	to->dlid_path_bits = wc->dlid_path_bits;
}

static void drive_engine(struct vb_ibv_context *c, struct vb_ibv_cq *cq)
{
	if (vb_cq_is_empty(cq->core) || ++cq->poll_cnt % POLLS_PER_PROGRESS == 0)
		vb_engine_progress(c->engine);
}

int vb_ibv_poll_cq(struct ibv_cq *ibv, int cnt, struct ibv_wc *to)
{
	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_wc wc[BATCH];
	enum vb_wait_idle idle;
	int got = 0, n;

	if (cnt < 0)
		return -vb_ibv_refuse(c, VB_IBV_WHY(EINVAL, "num_entries %d is below 0", cnt),
				      "ibv_poll_cq");
	if (!vb_ibv_enter(c))
		return -EIO;
	drive_engine(c, cq);
	do {
		n = vb_cq_poll(cq->core, wc, cnt - got < BATCH ? cnt - got : BATCH);
		for (int i = 0; i < n; i++)
			wc_show(&to[got++], &wc[i]);
	} while (n == BATCH && got < cnt);
	idle = vb_engine_polled(c->engine, got != 0);
	vb_ibv_leave(c);
	vb_engine_idle(c->engine, idle);
	return n < 0 && got == 0 ? n : got;
}

int vb_ibv_poll_one(struct vb_ibv_cq *cq)
{
	struct vb_ibv_context *c = vb_ibv_ctx(cq->ibv.context);

	if (!vb_ibv_enter(c))
		return EIO;
	drive_engine(c, cq);

	int n = vb_cq_poll(cq->core, &cq->wc, 1);
	enum vb_wait_idle idle = vb_engine_polled(c->engine, n != 0);

	vb_ibv_leave(c);
	vb_engine_idle(c->engine, idle);
	if (n < 0)
		return -n;
	return n ? 0 : ENOENT;
}

int vb_ibv_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_req_notify_cq");
	vb_cq_arm(cq->core, solicited_only != 0);
	vb_ibv_cq_watch(cq, true);
	vb_engine_expect_sleep(c->engine);
	vb_ibv_leave(c);
	return 0;
}
