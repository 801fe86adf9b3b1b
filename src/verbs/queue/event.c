/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events on their way from the engine to the application: the engine's sink, async events, and the
 * rule that an object outlives the events that the application has not acknowledged.
 */
#include "node/bell/bell.h"
#include "node/wait/watch.h"
#include "verbs/priv.h"

struct vb_list vb_ibv_contexts = {&vb_ibv_contexts, &vb_ibv_contexts};

void vb_ibv_cq_watch(struct vb_ibv_cq *cq, bool is_armed)
{
	if (!cq->channel || cq->is_watched == is_armed)
		return;
	cq->is_watched = is_armed;
	vb_engine_arm(vb_ibv_ctx(cq->ibv.context)->engine, is_armed);
	if (is_armed)
		atomic_fetch_add(&vb_watch_armed, 1);
	else
		atomic_fetch_sub(&vb_watch_armed, 1);
}

static void on_event(void *ctx, const struct vb_event *ev)
{
	uint32_t bit = ev->kind == VB_EVENT_CQ_NOTIFY ? 0 : 1u << ev->async;

	(void)ctx;
	switch (ev->kind) {
	case VB_EVENT_CNP: /* not the program's: the engine keeps it */
		break;
	case VB_EVENT_CQ_NOTIFY: {
		struct vb_ibv_cq *cq = ev->owner;

		vb_ibv_cq_watch(cq, false);
		if (cq->channel)
			vb_evq_push_notify(&cq->channel->events, &cq->notify);
		break;
	}
	case VB_EVENT_ASYNC_CQ: {
		struct vb_ibv_cq *cq = ev->owner;

		vb_evq_push_async(&vb_ibv_ctx(cq->ibv.context)->async, &cq->async, bit, 0);
		break;
	}
	case VB_EVENT_ASYNC_QP: {
		struct vb_ibv_qp *qp = ev->owner, *handle = qp;

		/* Each handle of a target QP hears of it. */
		do {
			vb_evq_push_async(&vb_ibv_ctx(handle->ibv.context)->async, &handle->async,
					  bit, 0);
			handle = vb_container_of(handle->handles.next, struct vb_ibv_qp, handles);
		} while (handle != qp);
		/* It may be in error without a completion that tells the doorbells' thread. */
		if (qp->hw)
			vb_bells_wake(vb_ibv_ctx(qp->ibv.context)->engine);
		break;
	}
	case VB_EVENT_ASYNC_SRQ: {
		struct vb_ibv_srq *srq = ev->owner;

		vb_evq_push_async(&vb_ibv_ctx(srq->ibv.context)->async, &srq->async, bit, 0);
		break;
	}
	}
}

static void on_port_change(void *ctx)
{
	(void)ctx;
	for (struct vb_list *l = vb_ibv_contexts.next; l != &vb_ibv_contexts; l = l->next)
		vb_ibv_refresh(vb_container_of(l, struct vb_ibv_context, link));
}

const struct vb_engine_sink vb_ibv_sink = {.event = on_event, .port_change = on_port_change};

uint32_t vb_ibv_forget_events(struct vb_evq *q, struct vb_evq_node *n)
{
	return q ? vb_evq_remove(q, n) : 0;
}

void vb_ibv_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		       uint32_t delivered)
{
	pthread_mutex_lock(mutex);
	while (*completed != delivered)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_evq_item item;

	if (!vb_engine_is_alive(c->engine))
		return VB_IBV_REFUSE_FAIL(c, EIO, "ibv_get_async_event");

	int err = vb_evq_await(&c->async, &item);

	if (err)
		return vb_ibv_fail(err);
	event->event_type = (enum ibv_event_type)item.async;
	switch (item.node->kind) {
	case VB_EVQ_CQ:
		event->element.cq = &vb_container_of(item.node, struct vb_ibv_cq, async)->ibv;
		break;
	case VB_EVQ_QP:
		event->element.qp = &vb_container_of(item.node, struct vb_ibv_qp, async)->ibv;
		break;
	case VB_EVQ_SRQ:
		event->element.srq = &vb_container_of(item.node, struct vb_ibv_srq, async)->ibv;
		break;
	case VB_EVQ_PORT:
		event->element.port_num = VB_IBV_PORT + (int)(item.node - c->ports);
		break;
	}
	return 0;
}

static void acknowledge_events(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR: {
		struct ibv_cq *cq = event->element.cq;

		acknowledge_events(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	}
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: {
		struct ibv_qp *qp = event->element.qp;

		acknowledge_events(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	}
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: {
		struct ibv_srq *srq = event->element.srq;

		acknowledge_events(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	}
	default:
		break;
	}
}
