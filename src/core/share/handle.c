/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles of targets of other HCAs, and the questions about them. See open.h. */
#include "core/share/handle.h"

#include <errno.h>

bool vb_xrc_is_elsewhere(const struct vb_xrcd *x, uint32_t qpn)
{
	const struct vb_hca *h = x->hca;

	return h->cfg.xrc_send && x->name.ino && qpn &&
	       vb_slot_of_qpn(qpn) != vb_slot_of_qpn(h->cfg.qpn_base);
}

bool vb_qp_is_handle(const struct vb_qp *qp)
{
	return qp->opened != 0;
}

struct vb_qp *vb_xrc_handle_find(const struct vb_xrcd *x, uint32_t qpn)
{
	for (struct vb_list *l = x->targets.next; l != &x->targets; l = l->next) {
		struct vb_qp *qp = vb_container_of(l, struct vb_qp, target);

		if (qpn && qp->opened == qpn)
			return qp;
	}
	return NULL;
}

struct vb_qp *vb_xrcd_target(const struct vb_xrcd *x, uint32_t qpn)
{
	struct vb_qp *qp = vb_qp_find(x->hca, qpn);

	if (!qp)
		return vb_xrc_handle_find(x, qpn);
	return qp->xrcd == x && !vb_xrc_is_holder(qp) && !qp->opened ? qp : NULL;
}

static int owner_tell(const struct vb_xrcd *x, uint32_t qpn, enum vb_xrc_kind kind)
{
	struct vb_xrc_msg m = {.kind = kind, .qpn = qpn, .name = x->name};

	return vb_xrc_send(x->hca, vb_slot_of_qpn(qpn), &m, NULL);
}

/* The target is gone. */
static void handle_end(struct vb_qp *qp)
{
	if (!qp->opened_ended)
		vb_qp_raise(qp, VB_ASYNC_QP_FATAL);
	qp->opened_ended = true;
}

/* The answer about a target that is gone: as it was last heard of, but in error. */
static void tell_end(struct vb_xrc_ask *ask, const struct vb_qp *qp)
{
	ask->err = ask->mask ? -EIO : 0;
	ask->attr = qp->attr;
	ask->attr.qp_state = ask->attr.cur_qp_state = VB_QPS_ERR;
}

/* Nobody has what was asked for. */
static void ask_fail(struct vb_xrc_ask *ask, struct vb_qp *qp)
{
	ask->err = -ENOENT;
	if (!qp)
		return;
	handle_end(qp);
	tell_end(ask, qp);
}

void vb_xrc_ask_begin(struct vb_xrc_ask *ask, struct vb_xrcd *x, uint32_t qpn)
{
	struct vb_qp *qp = vb_xrc_handle_find(x, qpn);

	ask->xrcd = x;
	ask->qpn = qpn;
	ask->serial = ++x->hca->xrc_ask_serial;
	ask->events = 0;
	ask->err = -EINPROGRESS;
	vb_list_append(&x->hca->asks, &ask->link);
	if (qp && qp->opened_ended)
		tell_end(ask, qp);
}

void vb_xrc_ask_again(struct vb_xrc_ask *ask)
{
	struct vb_xrcd *x = ask->xrcd;
	struct vb_xrc_msg m = {.kind = ask->opens ? VB_XRC_OPEN : VB_XRC_ASK,
			       .qpn = ask->qpn,
			       .serial = ask->serial,
			       .name = x->name};
	struct vb_xrc_inquiry q = {.attr = ask->attr, .mask = ask->mask, .opens = ask->opens};
	int err;

	if (ask->err != -EINPROGRESS)
		return;
	err = vb_xrc_send(x->hca, vb_slot_of_qpn(ask->qpn), &m, &q);
	if (err && err != -EAGAIN)
		ask_fail(ask, vb_xrc_handle_find(x, ask->qpn));
}

void vb_xrc_ask_end(struct vb_xrc_ask *ask)
{
	vb_list_remove(&ask->link);
}

static struct vb_xrc_ask *opening_find(const struct vb_hca *h, uint32_t qpn)
{
	for (struct vb_list *l = h->asks.next; l != &h->asks; l = l->next) {
		struct vb_xrc_ask *ask = vb_container_of(l, struct vb_xrc_ask, link);

		if (ask->opens && ask->qpn == qpn)
			return ask;
	}
	return NULL;
}

bool vb_xrc_is_opening(const struct vb_xrcd *x, uint32_t qpn)
{
	return opening_find(x->hca, qpn) != NULL;
}

int vb_xrc_handle_create(const struct vb_xrc_ask *ask, struct vb_qp **out)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .xrcd = ask->xrcd};
	int err = vb_qp_create(NULL, &init, out);

	if (err) {
		(void)owner_tell(ask->xrcd, ask->qpn,
				 VB_XRC_CLOSE); /* or it finds out by its probe */
		return err;
	}
	(*out)->opened = ask->qpn;
	(*out)->attr = ask->attr;
	for (uint32_t ev = 0; ev < 32; ev++) {
		if (ask->events >> ev & 1)
			vb_qp_raise(*out, (enum vb_async)ev);
	}
	return 0;
}

static void on_answer(struct vb_hca *h, const struct vb_xrcd *x, const struct vb_xrc_msg *m)
{
	const struct vb_xrc_inquiry *q = (const struct vb_xrc_inquiry *)(const void *)(m + 1);
	struct vb_qp *qp = vb_xrc_handle_find(x, m->qpn);

	for (struct vb_list *l = h->asks.next; l != &h->asks; l = l->next) {
		struct vb_xrc_ask *ask = vb_container_of(l, struct vb_xrc_ask, link);

		if (ask->serial != m->serial || ask->qpn != m->qpn || ask->xrcd != x ||
		    ask->err != -EINPROGRESS)
			continue;
		if (q->err == -ENOENT) {
			ask_fail(ask, qp);
			continue;
		}
		/* Nothing else is an end. */
		ask->err = q->err > 0 || q->err == -EINPROGRESS ? -EPROTO : q->err;
		if (q->attr.port > h->cfg.port_cap || q->attr.path.port > h->cfg.port_cap ||
		    q->attr.alt.path.port > h->cfg.port_cap)
			ask->err = -EPROTO;
		ask->attr = q->attr;
		if (qp && ask->err == 0)
			qp->attr = q->attr;
	}
	/* It was given up, so nobody has it. */
	if (q->opens && q->err == 0 && !qp && !opening_find(h, m->qpn))
		(void)owner_tell(x, m->qpn, VB_XRC_CLOSE);
}

static void on_event(struct vb_hca *h, struct vb_qp *qp, const struct vb_xrc_msg *m)
{
	struct vb_xrc_ask *ask = opening_find(h, m->qpn);

	for (uint32_t ev = 0; qp && ev < 32; ev++) {
		if (m->events >> ev & (VB_XRC_TOLD >> ev) & 1)
			vb_qp_raise(qp, (enum vb_async)ev);
	}
	if (!qp && ask)
		ask->events |= m->events & VB_XRC_TOLD;
}

void vb_xrc_handle_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m)
{
	const struct vb_xrcd *x = vb_xrcd_find(h, &m->name);
	struct vb_qp *qp = x ? vb_xrc_handle_find(x, m->qpn) : NULL;

	if (vb_slot_of_qpn(m->qpn) != peer)
		return;
	if (m->kind == VB_XRC_STILL && !qp && !opening_find(h, m->qpn)) {
		struct vb_xrc_msg to = *m;

		to.kind = VB_XRC_CLOSE;
		(void)vb_xrc_send(h, peer, &to, NULL); /* it asks again */
	}
	if (m->kind == VB_XRC_ANSWER && x)
		on_answer(h, x, m);
	if (m->kind == VB_XRC_EVENT)
		on_event(h, qp, m);
	if (m->kind == VB_XRC_OVER && qp)
		handle_end(qp);
}

void vb_xrc_handle_probe(struct vb_qp *qp)
{
	int err = qp->opened_ended ? 0 : owner_tell(qp->xrcd, qp->opened, VB_XRC_HOLD);

	if (err && err != -EAGAIN)
		handle_end(qp);
}

void vb_xrc_handle_close(struct vb_qp *qp)
{
	if (!qp->opened_ended)
		(void)owner_tell(qp->xrcd, qp->opened,
				 VB_XRC_CLOSE); /* or it finds out by its probe */
	qp->opened = 0;
}
