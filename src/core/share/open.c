/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a target that other HCAs have open. See open.h; their side is handle.c. */
#include "core/share/open.h"
#include "base/assert.h"

#include "core/share/handle.h"

#include <errno.h>

static struct vb_xrc_msg message_about(const struct vb_qp *qp, enum vb_xrc_kind kind)
{
	return (struct vb_xrc_msg){.kind = kind, .qpn = qp->qpn, .name = qp->xrcd->name};
}

static struct vb_qp *target_find(const struct vb_hca *h, const struct vb_xrc_msg *m)
{
	struct vb_qp *qp = vb_qp_find(h, m->qpn);

	return qp && qp->xrcd && !qp->opened && !vb_xrc_is_holder(qp) &&
		       qp->xrcd->name.ino == m->name.ino && qp->xrcd->name.dev == m->name.dev
		   ? qp
		   : NULL;
}

static struct vb_xrc_opener *opener_find(const struct vb_qp *qp, uint32_t peer)
{
	const struct vb_list *head = qp->openers ? &qp->openers->list : NULL;

	for (struct vb_list *l = head ? head->next : NULL; l != head; l = l->next) {
		struct vb_xrc_opener *o = vb_container_of(l, struct vb_xrc_opener, link);

		if (o->peer == peer)
			return o;
	}
	return NULL;
}

/* Returns 0, also when it was there; -ENOMEM. */
static int opener_add(struct vb_qp *qp, uint32_t peer)
{
	struct vb_hca *h = qp->hca;
	struct vb_xrc_opener *o;

	if (opener_find(qp, peer))
		return 0;
	if (!qp->openers) {
		qp->openers = vb_alloc(h, sizeof *qp->openers);
		if (!qp->openers)
			return -ENOMEM;
		qp->openers->qp = qp;
		vb_list_init(&qp->openers->link);
		vb_list_init(&qp->openers->list);
	}
	o = vb_alloc(h, sizeof *o);
	if (!o)
		return -ENOMEM;
	o->peer = peer;
	vb_list_append(&qp->openers->list, &o->link);
	return 0;
}

/* The target goes with the last one, unless somebody here has it. */
static void opener_remove(struct vb_qp *qp, struct vb_xrc_opener *o)
{
	vb_list_remove(&o->link);
	vb_free(qp->hca, o);
	if (!vb_list_is_empty(&qp->openers->list))
		return;
	vb_list_remove(&qp->openers->link);
	if (qp->openers->is_orphan)
		(void)vb_qp_destroy(qp); /* of multicast it knows nothing */
}

static void ask_answer(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_xrc_inquiry q = *(const struct vb_xrc_inquiry *)(const void *)(m + 1);
	struct vb_qp *qp = target_find(h, m);
	struct vb_xrc_msg to = *m;

	q.opens = m->kind == VB_XRC_OPEN;
	/* The HCA that asks has it open. */
	q.err = qp ? opener_add(qp, peer) : -ENOENT;
	if (!q.err) {
		struct vb_xrc_opener *o = opener_find(qp, peer);

		VB_ASSERT(o);
		if (q.opens) {
			o->serial = 0; /* it may be the next process with that slot */
		} else if (q.mask) {
			if ((int32_t)(m->serial - o->serial) > 0) {
				o->serial = m->serial;
				o->err = vb_qp_modify(qp, &q.attr, q.mask, now);
			}
			q.err = o->err;
		}
	}
	q.attr = (struct vb_qp_attr){0};
	if (qp)
		vb_qp_query(qp, &q.attr);
	to.kind = VB_XRC_ANSWER;
	/* Lost, when there is no room: the HCA that waits for it asks again. */
	(void)vb_xrc_send(h, peer, &to, &q);
}

static void owner_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m)
{
	struct vb_qp *qp = target_find(h, m);
	struct vb_xrc_opener *o = qp ? opener_find(qp, peer) : NULL;

	if (m->kind == VB_XRC_CLOSE) {
		if (o)
			opener_remove(qp, o);
	} else if (qp) {
		(void)opener_add(qp, peer); /* without memory: at its next probe */
	} else {
		struct vb_xrc_msg to = *m;

		to.kind = VB_XRC_OVER;
		(void)vb_xrc_send(h, peer, &to, NULL);
	}
}

int vb_xrc_open_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	bool inquires = m->kind == VB_XRC_OPEN || m->kind == VB_XRC_ASK || m->kind == VB_XRC_ANSWER;

	if (m->state_len != (inquires ? sizeof(struct vb_xrc_inquiry) : 0) || m->pkt_len)
		return -EPROTO;
	if (m->kind >= VB_XRC_ANSWER)
		vb_xrc_handle_take(h, peer, m);
	else if (inquires)
		ask_answer(h, peer, m, now);
	else
		owner_take(h, peer, m);
	return 0;
}

void vb_xrc_tell_openers(struct vb_qp *qp, enum vb_async ev)
{
	struct vb_xrc_openers *os = qp->openers;

	if (!(VB_XRC_TOLD >> ev & 1) || vb_list_is_empty(&os->list))
		return;
	for (struct vb_list *l = os->list.next; l != &os->list; l = l->next)
		vb_container_of(l, struct vb_xrc_opener, link)->events |= 1u << ev;
	if (vb_list_is_empty(&os->link))
		vb_list_append(&qp->hca->openers, &os->link);
}

/* True: somebody could not be told. */
static bool openers_tell(struct vb_xrc_openers *os)
{
	bool waits = false;

	for (struct vb_list *l = os->list.next, *next; l != &os->list; l = next) {
		struct vb_xrc_opener *o = vb_container_of(l, struct vb_xrc_opener, link);
		struct vb_xrc_msg m = message_about(os->qp, VB_XRC_EVENT);

		next = l->next;
		m.events = o->events;

		int err = m.events ? vb_xrc_send(os->qp->hca, o->peer, &m, NULL) : 0;

		/* The probe finds an HCA that is not there. */
		if (err != -EAGAIN)
			o->events = 0;
		waits |= err == -EAGAIN;
	}
	return waits;
}

void vb_xrc_openers_run(struct vb_hca *h)
{
	struct vb_list todo;

	vb_list_init(&todo);
	while (!vb_list_is_empty(&h->openers)) {
		struct vb_list *l = h->openers.next;
		struct vb_xrc_openers *os = vb_container_of(l, struct vb_xrc_openers, link);

		vb_list_remove(l);
		if (openers_tell(os))
			vb_list_append(&todo, l);
	}
	while (!vb_list_is_empty(&todo)) {
		struct vb_list *l = todo.next;

		vb_list_remove(l);
		vb_list_append(&h->openers, l);
	}
}

/* One of those that have the target open is asked, each time the next. */
static void openers_probe(struct vb_qp *qp)
{
	struct vb_list *list = &qp->openers->list, *first = list->next;
	struct vb_xrc_opener *o = vb_container_of(first, struct vb_xrc_opener, link);
	struct vb_xrc_msg m = message_about(qp, VB_XRC_STILL);

	if (vb_list_is_empty(list))
		return;
	vb_list_remove(first);
	vb_list_append(list, first);

	int err = vb_xrc_send(qp->hca, o->peer, &m, NULL);

	if (err && err != -EAGAIN)
		opener_remove(qp, o);
}

void vb_xrc_open_probe(struct vb_qp *qp)
{
	if (qp->opened)
		vb_xrc_handle_probe(qp);
	else if (qp->openers)
		openers_probe(qp);
}

bool vb_xrc_outlives(struct vb_qp *qp)
{
	if (qp->opened)
		vb_xrc_handle_close(qp);
	if (!qp->openers || vb_list_is_empty(&qp->openers->list))
		return false;
	qp->openers->is_orphan = true;
	qp->ev.owner = NULL;
	vb_list_remove(&qp->ev.link);
	qp->ev.async = 0;
	return true;
}

void vb_xrc_end_openers(struct vb_qp *qp)
{
	struct vb_xrc_openers *os = qp->openers;
	struct vb_xrc_msg m = message_about(qp, VB_XRC_OVER);

	while (!vb_list_is_empty(&os->list)) {
		struct vb_list *l = os->list.next;
		struct vb_xrc_opener *o = vb_container_of(l, struct vb_xrc_opener, link);

		(void)vb_xrc_send(qp->hca, o->peer, &m, NULL); /* or its probe finds nobody */
		vb_list_remove(l);
		vb_free(qp->hca, o);
	}
	vb_list_remove(&os->link);
}
