/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids: numbers, groups that they have joined, and how they end. CMP-33 to CMP-36, CMP-44 */
#include "base/assert.h"
#include "ucma/priv.h"

#include <errno.h>

/* Numbers go round, so that a late command of a program does not meet another's id. */
static int number_draw(struct vb_ucma *u, uint32_t *out)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		uint32_t n = u->id_next++ % u->cfg.ids;

		if (!u->ids[n]) {
			*out = n;
			return 0;
		}
	}
	return -ENOMEM;
}

int vb_ucma_id_new(struct vb_ucma_file *f, uint16_t ps, uint8_t qp_type, struct vb_ucma_id **out)
{
	struct vb_ucma *u = f->u;
	struct vb_ucma_id *id;
	uint32_t n;
	int err = number_draw(u, &n);

	if (err)
		return err;
	id = vb_ucma_alloc(u, sizeof *id);
	if (!id)
		return -ENOMEM;
	id->u = u;
	id->file = f;
	id->number = n;
	id->state = VB_UCMA_IDLE;
	id->ps = id->space = ps;
	id->qp_type = qp_type;
	id->qkey = VB_UCMA_UDP_QKEY;
	id->psn = (uint32_t)vb_rng_next(&u->rng) & VB_PSN_MASK;
	vb_list_init(&id->in_port);
	vb_list_init(&id->in_service);
	vb_list_init(&id->mcs);
	vb_list_init(&id->touched);
	vb_list_append(&f->ids, &id->in_file);
	u->ids[n] = id;
	u->id_cnt++;
	vb_ucma_id_touch(id);
	*out = id;
	return 0;
}

int vb_ucma_id_find(struct vb_ucma_file *f, uint32_t number, struct vb_ucma_id **out)
{
	struct vb_ucma_id *id = number < f->u->cfg.ids ? f->u->ids[number] : NULL;

	/* Nobody can name an id that came by a request before its event is out. */
	if (!id || (id->listener && !id->is_out))
		return -ENOENT;
	if (id->file != f)
		return -EINVAL;
	*out = id;
	return 0;
}

void vb_ucma_mc_leave(struct vb_ucma_mc *mc)
{
	struct vb_ucma_id *id = mc->id;
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_list *l = id->file->events.next, *next;

	for (; l != &id->file->events; l = next) {
		struct vb_ucma_event *ev = vb_container_of(l, struct vb_ucma_event, link);

		next = l->next;
		if (ev->mc == mc)
			vb_ucma_event_free(ev);
	}
	vb_ucma_asks_cancel(id, mc);
	if (vb_ucma_is_ib(id->u))
		vb_ucma_ask_leave(mc);
	else if (mc->is_member)
		(void)env->group(env->ctx, &mc->at, &mc->gid, false);
	vb_ucma_mc_unkeep(mc);
	vb_list_remove(&mc->link);
	vb_ucma_free(id->u, mc);
}

/* Its unread events vanish; who asked to connect by one of them is refused. CMP-34 */
static void events_purge(struct vb_ucma_id *id, vb_time now)
{
	struct vb_ucma_file *f = id->file;
	struct vb_list *l = f->events.next;

	while (l != &f->events) {
		struct vb_ucma_event *ev = vb_container_of(l, struct vb_ucma_event, link);
		struct vb_ucma_id *request = ev->request;

		l = l->next;
		if (ev->id != id)
			continue;
		vb_ucma_event_free(ev);
		if (request)
			vb_ucma_id_end(request, now); /* it has no events of its own */
	}
}

/* The event of a request whose id ends by itself. */
static void request_forget(struct vb_ucma_id *id)
{
	struct vb_ucma_id *listener = id->listener;

	for (struct vb_list *l = listener->file->events.next; l != &listener->file->events;
	     l = l->next) {
		struct vb_ucma_event *ev = vb_container_of(l, struct vb_ucma_event, link);

		if (ev->request != id)
			continue;
		vb_ucma_event_free(ev);
		listener->backlog++;
		return;
	}
}

void vb_ucma_id_end(struct vb_ucma_id *id, vb_time now)
{
	struct vb_ucma *u = id->u;

	vb_ucma_id_assert(id);
	vb_ucma_id_remember(id, now);
	if (id->listener)
		request_forget(id);
	while (!vb_list_is_empty(&id->mcs))
		vb_ucma_mc_leave(vb_container_of(id->mcs.next, struct vb_ucma_mc, link));
	vb_ucma_asks_cancel(id, NULL);
	vb_ucma_unlisten(id, now);
	if (id->conn)
		vb_cm_conn_destroy(id->conn, now);
	vb_ucma_unbind(id);
	events_purge(id, now);
	vb_ucma_id_unkeep(id);
	vb_list_remove(&id->in_file);
	u->ids[id->number] = NULL;
	u->id_cnt--;
	vb_ucma_free(u, id);
}
