/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues; see evq.h. */
#include "verbs/queue/evq.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int vb_evq_open(struct vb_evq *q)
{
	q->fd = eventfd(0, EFD_CLOEXEC);
	if (q->fd < 0)
		return errno;
	pthread_mutex_init(&q->mutex, NULL);
	vb_list_init(&q->head);
	atomic_init(&q->seq, 0);
	q->waiter_cnt = q->taker_cnt = 0;
	q->is_shown = false;
	q->is_blocking = false;
	return 0;
}

void vb_evq_close(struct vb_evq *q)
{
	if (q->fd >= 0)
		close(q->fd);
	pthread_mutex_destroy(&q->mutex);
}

void vb_evq_abandon(struct vb_evq *q)
{
	pthread_mutex_lock(&q->mutex);
	q->fd = -1;
	pthread_mutex_unlock(&q->mutex);
}

void vb_evq_node_init(struct vb_evq_node *n, enum vb_evq_kind kind)
{
	*n = (struct vb_evq_node){.kind = kind};
	vb_list_init(&n->link);
}

static void show_event(struct vb_evq *q)
{
	/* Fails only at 2^64 - 2 events. */
	(void)eventfd_write(q->fd, 1);
	q->is_shown = true;
}

static void announce_event(struct vb_evq *q, struct vb_evq_node *n)
{
	if (vb_list_is_empty(&n->link))
		vb_list_append(&q->head, &n->link);
	if (!q->taker_cnt)
		show_event(q);
	atomic_fetch_add(&q->seq, 1);
	if (q->waiter_cnt)
		syscall(SYS_futex, &q->seq, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The queue has become empty: so has the descriptor. It is not, so the read does not wait. */
static void quiet_descriptor(struct vb_evq *q)
{
	eventfd_t cnt;

	if (vb_list_is_empty(&q->head) && q->is_shown) {
		(void)eventfd_read(q->fd, &cnt);
		q->is_shown = false;
	}
}

int vb_evq_may_wait(const struct vb_evq *q)
{
	int mode = fcntl(q->fd, F_GETFL);

	if (mode < 0)
		return errno;
	return mode & O_NONBLOCK ? EAGAIN : 0;
}

uint32_t vb_evq_begin_wait(struct vb_evq *q)
{
	pthread_mutex_lock(&q->mutex);
	q->taker_cnt++;
	pthread_mutex_unlock(&q->mutex);
	return atomic_load(&q->seq);
}

void vb_evq_end_wait(struct vb_evq *q)
{
	pthread_mutex_lock(&q->mutex);
	if (--q->taker_cnt == 0 && !q->is_shown && !vb_list_is_empty(&q->head))
		show_event(q);
	pthread_mutex_unlock(&q->mutex);
}

void vb_evq_push_notify(struct vb_evq *q, struct vb_evq_node *n)
{
	pthread_mutex_lock(&q->mutex);
	n->notify_cnt++;
	announce_event(q, n);
	pthread_mutex_unlock(&q->mutex);
}

void vb_evq_push_async(struct vb_evq *q, struct vb_evq_node *n, uint32_t set, uint32_t clear)
{
	pthread_mutex_lock(&q->mutex);
	n->async &= ~clear;
	if (set & ~n->async) {
		n->async |= set;
		announce_event(q, n);
	}
	pthread_mutex_unlock(&q->mutex);
}

int vb_evq_take(struct vb_evq *q, struct vb_evq_item *item)
{
	int err = EAGAIN;

	pthread_mutex_lock(&q->mutex);
	if (!vb_list_is_empty(&q->head)) {
		struct vb_evq_node *n = vb_container_of(q->head.next, struct vb_evq_node, link);

		item->node = n;
		item->async = n->async ? __builtin_ctz(n->async) : -1;
		if (n->async)
			n->async &= n->async - 1;
		else
			n->notify_cnt--;
		n->delivered++;
		/* An object with more events lets the others pass. */
		vb_list_remove(&n->link);
		if (n->async || n->notify_cnt)
			vb_list_append(&q->head, &n->link);
		quiet_descriptor(q);
		err = 0;
	}
	pthread_mutex_unlock(&q->mutex);
	return err;
}

int vb_evq_await(struct vb_evq *q, struct vb_evq_item *item)
{
	for (;;) {
		uint32_t seq = atomic_load(&q->seq);
		int err = vb_evq_take(q, item);

		if (err != EAGAIN)
			return err;
		err = vb_evq_may_wait(q);
		if (err)
			return err;
		pthread_mutex_lock(&q->mutex);
		q->waiter_cnt++;
		pthread_mutex_unlock(&q->mutex);
		err = 0;
		if (syscall(SYS_futex, &q->seq, FUTEX_WAIT_PRIVATE, seq, NULL, NULL, 0) < 0)
			err = errno;
		pthread_mutex_lock(&q->mutex);
		q->waiter_cnt--;
		pthread_mutex_unlock(&q->mutex);
		if (err == EINTR)
			return EINTR;
	}
}

uint32_t vb_evq_remove(struct vb_evq *q, struct vb_evq_node *n)
{
	uint32_t delivered;

	pthread_mutex_lock(&q->mutex);
	if (!vb_list_is_empty(&n->link)) {
		vb_list_remove(&n->link);
		quiet_descriptor(q);
	}
	n->notify_cnt = n->async = 0;
	delivered = n->delivered;
	pthread_mutex_unlock(&q->mutex);
	return delivered;
}
