/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events out of the core. An object carries its own pending bits and stands in one queue, so no
 * event is ever lost and none needs memory: raising one twice before it is taken is one event, as
 * for the verbs (IBA 11.6.3).
 */
#include "core/obj/event.h"
#include "base/assert.h"

#include "core/adapter.h"

void vb_event_source_init(struct vb_event_source *s, enum vb_event_kind kind, void *owner)
{
	vb_list_init(&s->link);
	s->async_kind = kind;
	s->owner = owner;
}

static void source_enqueue(struct vb_hca *h, struct vb_event_source *s)
{
	if (vb_list_is_empty(&s->link))
		vb_list_append(&h->events, &s->link);
}

void vb_event_raise_async(struct vb_hca *h, struct vb_event_source *s, enum vb_async ev)
{
	s->async |= 1u << ev;
	source_enqueue(h, s);
}

void vb_event_raise_notify(struct vb_hca *h, struct vb_event_source *s)
{
	s->notify = true;
	source_enqueue(h, s);
}

void vb_event_raise_cnp(struct vb_hca *h, struct vb_event_source *s, uint32_t qpn, uint8_t port)
{
	s->cnp = true;
	s->cnp_qpn = qpn;
	s->cnp_port = port;
	source_enqueue(h, s);
}

static void take_cnp(struct vb_event_source *s, struct vb_event *ev)
{
	s->cnp = false;
	ev->kind = VB_EVENT_CNP;
	ev->qpn = s->cnp_qpn;
	ev->port = s->cnp_port;
}

bool vb_hca_poll_event(struct vb_hca *h, struct vb_event *ev)
{
	if (vb_list_is_empty(&h->events))
		return false;

	struct vb_event_source *s = vb_container_of(h->events.next, struct vb_event_source, link);

	*ev = (struct vb_event){.owner = s->owner};
	if (s->notify) {
		s->notify = false;
		ev->kind = VB_EVENT_CQ_NOTIFY;
	} else if (s->cnp) {
		take_cnp(s, ev);
	} else {
		VB_ASSERT(s->async != 0);
		ev->kind = s->async_kind;
		ev->async = (enum vb_async)__builtin_ctz(s->async);
		s->async &= s->async - 1;
	}
	/* A CQ notifies, and a QP has CNPs: no source has both. */
	if (s->async == 0)
		vb_list_remove(&s->link);
	return true;
}
