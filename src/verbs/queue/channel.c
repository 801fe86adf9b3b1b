/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels. */
#include "node/wait/watch.h"
#include "verbs/priv.h"

#include <stdlib.h>

/* How long a thread sleeps before the mode of its descriptor is asked for again. */
#define KNOWN_NS VB_MSEC

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_channel *ch = vb_object_new(VB_OBJECT_CHANNEL, sizeof *ch);
	int err;

	if (!ch)
		return vb_ibv_null(ENOMEM);
	err = vb_evq_open(&ch->events);
	if (err) {
		vb_object_free(ch);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_comp_channel");
	}
	ch->ibv.context = context;
	ch->ibv.fd = ch->events.fd;
	vb_object_name(ch, context, 0);
	if (!vb_ibv_enter(c)) {
		vb_evq_close(&ch->events);
		vb_object_free(ch);
		return VB_IBV_REFUSE_NULL(c, EIO, "ibv_create_comp_channel");
	}
	vb_list_append(&c->channels, &ch->link);
	vb_watch_channel(ch->ibv.fd, true);
	vb_ibv_leave(c);
	return &ch->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (vb_ibv_check_plain(channel, VB_OBJECT_CHANNEL))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_comp_channel");

	struct vb_ibv_channel *ch = (struct vb_ibv_channel *)channel;
	struct vb_ibv_context *c = vb_ibv_ctx(channel->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_comp_channel");

	int err = channel->refcnt
		      ? VB_IBV_WHY(EBUSY, "CQs have it: %d (ibv_destroy_comp_channel(3))",
				   channel->refcnt)
		      : 0;

	if (!err) {
		vb_list_remove(&ch->link);
		vb_watch_channel(ch->ibv.fd, false);
	}
	vb_ibv_leave(c);
	if (err)
		return vb_ibv_refuse(c, err, "ibv_destroy_comp_channel");
	vb_evq_close(&ch->events);
	vb_object_free(ch);
	return 0;
}

/* The next event, in blocking mode when there is one. 0, EINTR, or EAGAIN otherwise. */
static int await_event(struct vb_engine *e, struct vb_evq *q, struct vb_evq_item *item)
{
	/* Whether the program waits or polls its descriptor seldom changes: after a wait that was
	 * short it is not asked. */
	bool is_known = q->is_blocking;
	int err = is_known ? 0 : vb_evq_may_wait(q);

	q->is_blocking = !err;
	if (err) {
		vb_engine_lock(e);
		vb_engine_flush(e);
		vb_engine_expect_sleep(e);
		vb_engine_unlock(e);
		return err;
	}

	uint32_t seq = vb_evq_begin_wait(q);
	int slept = 0;

	while ((err = vb_evq_take(q, item)) == EAGAIN && !slept) {
		vb_time until = is_known ? vb_clock_now() + KNOWN_NS : VB_NEVER;

		slept = vb_engine_sleep(e, &q->seq, seq, until);
		seq = atomic_load(&q->seq);
		if (slept == ETIMEDOUT) {
			is_known = false;
			slept = vb_evq_may_wait(q);
			q->is_blocking = !slept;
		}
	}
	vb_evq_end_wait(q);
	if (err != EAGAIN)
		return err;
	return slept == EBUSY ? vb_evq_await(q, item) : slept;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct vb_ibv_channel *ch = (struct vb_ibv_channel *)channel;
	struct vb_ibv_context *c = vb_ibv_ctx(channel->context);
	struct vb_evq_item item;
	int err = vb_engine_is_alive(c->engine) ? vb_evq_take(&ch->events, &item) : EIO;

	if (err == EAGAIN)
		err = await_event(c->engine, &ch->events, &item);
	if (err)
		return vb_ibv_fail(err);
	*cq = &vb_container_of(item.node, struct vb_ibv_cq, notify)->ibv;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
