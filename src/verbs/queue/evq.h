/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues, behind the descriptors of completion channels and of async events.
 *
 * An object has one node in a queue and counts its events there, so nothing is allocated and no
 * event can be lost. The descriptor (an eventfd) is readable exactly while the queue has events,
 * and each new event is a new edge for epoll. A reader does not read it: it waits on a futex, which
 * a signal handler installed with SA_RESTART does not interrupt, as a read() would behave.
 */
#ifndef VB_VERBS_QUEUE_EVQ_H
#define VB_VERBS_QUEUE_EVQ_H

#include "base/list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum vb_evq_kind { VB_EVQ_CQ, VB_EVQ_QP, VB_EVQ_SRQ, VB_EVQ_PORT };

struct vb_evq_node {
	struct vb_list link;
	enum vb_evq_kind kind; /* of the object around it */
	uint32_t notify_cnt;   /* completion events */
	uint32_t async;        /* bit (1 << enum ibv_event_type) */
	uint32_t delivered;    /* handed to the application, which has to acknowledge them */
};

struct vb_evq {
	pthread_mutex_t mutex; /* of the queue and its nodes */
	struct vb_list head;
	int fd;
	_Atomic uint32_t seq; /* +1 for each event; the futex */
	uint32_t waiter_cnt;
	uint32_t taker_cnt;       /* threads that will take the next event... */
	bool is_shown;            /* ... which the descriptor does not show then */
	_Atomic bool is_blocking; /* the descriptor's mode when it was asked for last */
};

/* One event out of a queue. */
struct vb_evq_item {
	struct vb_evq_node *node;
	int async; /* enum ibv_event_type, or -1 for a completion event */
};

/* Makes queue and descriptor. Returns 0 or an errno. */
int vb_evq_open(struct vb_evq *q);
void vb_evq_close(struct vb_evq *q);
/* The program has closed the descriptor, or is about to: nobody sees events any more. */
void vb_evq_abandon(struct vb_evq *q);

void vb_evq_node_init(struct vb_evq_node *n, enum vb_evq_kind kind);

/* Never waits. */
void vb_evq_push_notify(struct vb_evq *q, struct vb_evq_node *n);
/* Adds the events of @set and takes back those of @clear that nobody has seen. */
void vb_evq_push_async(struct vb_evq *q, struct vb_evq_node *n, uint32_t set, uint32_t clear);

/* Takes the next event. 0, or EAGAIN when there is none. */
int vb_evq_take(struct vb_evq *q, struct vb_evq_item *item);

/* 0 when the descriptor is in blocking mode; else EAGAIN, or another errno. */
int vb_evq_may_wait(const struct vb_evq *q);
/*
 * From begin to end the caller waits for seq to become another than begin returns, and takes what
 * is there then: the descriptor need not show it.
 */
uint32_t vb_evq_begin_wait(struct vb_evq *q);
void vb_evq_end_wait(struct vb_evq *q);

/* As vb_evq_take(), and waits when the descriptor is in blocking mode: also EINTR. */
int vb_evq_await(struct vb_evq *q, struct vb_evq_item *item);

/* Takes @n out. Returns how many of its events were delivered in all. */
uint32_t vb_evq_remove(struct vb_evq *q, struct vb_evq_node *n);

#endif
