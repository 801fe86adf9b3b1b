/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events for the consumer, in the order in which they happened. An event with a message needs
 * memory; without memory the message counts as lost, and the peer repeats it. IBA 12.9.2
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <errno.h>

int vb_cm_event_message(struct vb_cm_conn *c, struct vb_cm_conn *listener,
			const struct vb_path *path, const struct vb_cm_msg *m)
{
	const struct vb_cm_config *cfg = &c->cm->cfg;
	struct vb_cm_pending_msg *p;

	if (c->is_orphan)
		return 0;
	p = cfg->alloc(cfg->alloc_ctx, sizeof *p);
	if (!p) {
		c->cm->cnt.rx_no_room++;
		return -ENOMEM;
	}
	p->pending.conn = c;
	p->pending.kind = VB_CM_EVENT_MESSAGE;
	p->listener = listener;
	p->path = *path;
	p->msg = *m;
	vb_list_append(&c->cm->events, &p->pending.link);
	return 0;
}

void vb_cm_event_raise(struct vb_cm_conn *c, enum vb_cm_event_kind kind)
{
	struct vb_cm_pending *p = &c->raised[kind];

	assert(kind != VB_CM_EVENT_MESSAGE);
	if (c->is_orphan)
		return;
	p->conn = c;
	p->kind = kind;
	vb_list_remove(&p->link);
	vb_list_append(&c->cm->events, &p->link);
}

static struct vb_cm_pending_msg *message_of(struct vb_cm_pending *p)
{
	assert(p->kind == VB_CM_EVENT_MESSAGE);
	return vb_container_of(p, struct vb_cm_pending_msg, pending);
}

/* Takes an event off the queue, with its memory if it has some. */
static void pending_release(struct vb_cm_pending *p)
{
	const struct vb_cm_config *cfg = &p->conn->cm->cfg;

	vb_list_remove(&p->link);
	if (p->kind == VB_CM_EVENT_MESSAGE)
		cfg->free(cfg->alloc_ctx, message_of(p));
}

void vb_cm_events_drop(struct vb_cm_conn *c)
{
	struct vb_list *l = c->cm->events.next;

	while (l != &c->cm->events) {
		struct vb_cm_pending *p = vb_container_of(l, struct vb_cm_pending, link);

		l = l->next;
		if (p->kind == VB_CM_EVENT_MESSAGE && message_of(p)->listener == c)
			message_of(p)->listener = NULL;
		if (p->conn == c)
			pending_release(p);
	}
}

bool vb_cm_poll_event(struct vb_cm *cm, struct vb_cm_event *ev)
{
	struct vb_cm_pending *p;

	if (vb_list_is_empty(&cm->events))
		return false;
	p = vb_container_of(cm->events.next, struct vb_cm_pending, link);
	VB_ASSERT_ALL(!p->conn->is_orphan);
	*ev = (struct vb_cm_event){.kind = p->kind, .conn = p->conn, .path = p->conn->qp.path};
	if (p->kind == VB_CM_EVENT_MESSAGE) {
		ev->listener = message_of(p)->listener;
		ev->path = message_of(p)->path;
		ev->msg = message_of(p)->msg;
	} else {
		ev->msg.attr = p->conn->request_attr;
	}
	pending_release(p);
	return true;
}
