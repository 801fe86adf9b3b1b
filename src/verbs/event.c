/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and async events. Each has an eventfd that counts what was not fetched, so
 * that an application can poll it, make it non-blocking or sleep in it; the events themselves stand
 * in lists under the engine's lock. A CQ that was armed once has one event, so nothing grows.
 * man 3 ibv_get_cq_event, ibv_get_async_event
 */
#include "verbs/objects.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct async_event {
	struct vb_list link;
	struct ibv_async_event ev;
};

/* Contexts of this process, under the engine's lock. */
static struct vb_list contexts = {&contexts, &contexts};

static void fd_count(int fd)
{
	/* Fails only at 2^64 - 2 events. */
	(void)!write(fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void raise_async(struct verbena_context *c, const struct ibv_async_event *ev)
{
	struct async_event *n = malloc(sizeof *n);

	if (!n)
		return;
	n->ev = *ev;
	vb_list_append(&c->async, &n->link);
	fd_count(c->vctx.context.async_fd);
}

static void on_notify(struct verbena_cq *cq)
{
	struct ibv_comp_channel *ibv = cq->ibv.channel;

	if (!ibv)
		return;
	if (cq->ready_cnt++ == 0)
		vb_list_append(&vb_container_of(ibv, struct verbena_channel, ibv)->ready,
			       &cq->ready);
	fd_count(ibv->fd);
}

static void on_event(void *ctx, const struct vb_event *ev)
{
	struct ibv_async_event a = {.event_type = (enum ibv_event_type)ev->async};
	struct ibv_context *c = NULL;

	(void)ctx;
	switch (ev->kind) {
	case VB_EVENT_CQ_NOTIFY:
		on_notify(ev->owner);
		return;
	case VB_EVENT_ASYNC_CQ:
		a.element.cq = ibv_cq_ex_to_cq(&((struct verbena_cq *)ev->owner)->ibv);
		c = a.element.cq->context;
		break;
	case VB_EVENT_ASYNC_QP:
		a.element.qp = &((struct verbena_qp *)ev->owner)->ibv.qp_base;
		c = a.element.qp->context;
		break;
	case VB_EVENT_ASYNC_SRQ:
		a.element.srq = &((struct verbena_srq *)ev->owner)->ibv;
		c = a.element.srq->context;
		break;
	}
	if (c)
		raise_async(ctx_of(c), &a);
}

static void on_port_change(void *ctx)
{
	(void)ctx;
	for (struct vb_list *l = contexts.next; l != &contexts; l = l->next) {
		struct verbena_context *c = vb_container_of(l, struct verbena_context, link);
		struct ibv_async_event ev = {.element.port_num = 1};
		struct vb_device d;
		uint32_t up = device_read(c->port - 1u, c->engine, &d) ? d.is_up : 0;

		if (up != c->was_up) {
			ev.event_type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
			raise_async(c, &ev);
		}
		c->was_up = up;
		ev.event_type = IBV_EVENT_GID_CHANGE;
		raise_async(c, &ev);
	}
}

void events_attach(struct verbena_context *c)
{
	static const struct vb_engine_sink sink = {on_event, on_port_change, NULL};
	struct vb_device d;

	vb_list_init(&c->async);
	vb_engine_lock(c->engine);
	c->was_up = device_read(c->port - 1u, c->engine, &d) ? d.is_up : 0;
	vb_list_append(&contexts, &c->link);
	vb_engine_set_sink(c->engine, &sink);
	vb_engine_unlock(c->engine);
}

void events_detach(struct verbena_context *c)
{
	bool alive = verbs_enter(&c->vctx.context);

	vb_list_remove(&c->link);
	while (!vb_list_is_empty(&c->async)) {
		struct async_event *n = vb_container_of(c->async.next, struct async_event, link);

		vb_list_remove(&n->link);
		free(n);
	}
	if (alive)
		verbs_leave(&c->vctx.context);
}

void events_forget(struct verbena_context *c, const void *element)
{
	for (struct vb_list *l = c->async.next, *next; l != &c->async; l = next) {
		struct async_event *n = vb_container_of(l, struct async_event, link);

		next = l->next;
		if (n->ev.element.cq != element)
			continue;
		vb_list_remove(l);
		free(n);
	}
}

VERBS_API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct verbena_channel *ch = calloc(1, sizeof *ch);
	int fd = ch ? eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC) : -1;

	if (fd < 0) {
		free(ch);
		return NULL;
	}
	vb_list_init(&ch->ready);
	ch->ibv.context = context;
	ch->ibv.fd = fd;
	return &ch->ibv;
}

VERBS_API int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	if (ibv->refcnt)
		return EBUSY;
	close(ibv->fd);
	free(vb_container_of(ibv, struct verbena_channel, ibv));
	return 0;
}

VERBS_API int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
	struct verbena_channel *ch = vb_container_of(ibv, struct verbena_channel, ibv);
	struct verbena_cq *ready = NULL;
	uint64_t cnt;

	/* A CQ that was destroyed leaves its count behind: then sleep again. */
	while (!ready) {
		if (read(ibv->fd, &cnt, sizeof cnt) != sizeof cnt)
			return -1;
		if (!verbs_enter(ibv->context)) {
			errno = EIO;
			return -1;
		}
		if (!vb_list_is_empty(&ch->ready)) {
			ready = vb_container_of(ch->ready.next, struct verbena_cq, ready);
			vb_list_remove(&ready->ready);
			if (--ready->ready_cnt)
				vb_list_append(&ch->ready, &ready->ready);
			ready->comp_events++;
		}
		verbs_leave(ibv->context);
	}
	*cq = ibv_cq_ex_to_cq(&ready->ibv);
	*cq_context = ready->ibv.cq_context;
	return 0;
}

VERBS_API void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int cnt)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += cnt;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* Counts an event as handed out, so that destroying its object waits for the acknowledgement. */
static void hand_out(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		((struct verbena_cq *)(void *)ev->element.cq)->async_events++;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		vb_container_of(ev->element.srq, struct verbena_srq, ibv)->async_events++;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		vb_container_of(ev->element.qp, struct verbena_qp, ibv.qp_base)->async_events++;
		break;
	default:
		break;
	}
}

VERBS_API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct verbena_context *c = ctx_of(context);
	struct async_event *n = NULL;
	uint64_t cnt;

	while (!n) {
		if (read(context->async_fd, &cnt, sizeof cnt) != sizeof cnt)
			return -1;
		if (!verbs_enter(context)) {
			errno = EIO;
			return -1;
		}
		if (!vb_list_is_empty(&c->async)) {
			n = vb_container_of(c->async.next, struct async_event, link);
			vb_list_remove(&n->link);
			hand_out(&n->ev);
		}
		verbs_leave(context);
	}
	*event = n->ev;
	free(n);
	return 0;
}

static void ack_one(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

VERBS_API void ibv_ack_async_event(struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack_one(&ev->element.cq->mutex, &ev->element.cq->cond,
			&ev->element.cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack_one(&ev->element.srq->mutex, &ev->element.srq->cond,
			&ev->element.srq->events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack_one(&ev->element.qp->mutex, &ev->element.qp->cond,
			&ev->element.qp->events_completed);
		break;
	default:
		break;
	}
}
