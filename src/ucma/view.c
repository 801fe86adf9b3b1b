/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids for those who look on, see view.h. */
#include "ucma/view.h"

#include "ucma/priv.h"

void vb_ucma_file_set_user(struct vb_ucma_file *f, uint32_t pid, const char *name)
{
	size_t i = 0;

	f->pid = pid;
	for (; i + 1 < sizeof f->user && name[i]; i++)
		f->user[i] = name[i];
	f->user[i] = 0;
}

static void conn_show(const struct vb_cm_conn *c, struct vb_ucma_view *v)
{
	const struct vb_cm_qp *qp = vb_cm_conn_qp(c);
	struct vb_cm_request_view r;

	vb_cm_conn_request(c, &r);
	v->cm_state = (uint8_t)vb_cm_conn_state(c);
	v->local_qpn = qp->local_qpn;
	v->remote_qpn = qp->remote_qpn;
	v->request = (uint16_t)r.attr;
	v->sent = r.sent;
	v->since = r.since;
	v->next = r.next;
}

static void id_show(const struct vb_ucma_id *id, struct vb_ucma_view *v)
{
	memset(v, 0, sizeof *v);
	v->number = id->number;
	v->pid = id->file->pid;
	memcpy(v->user, id->file->user, sizeof v->user);
	v->src = id->src;
	v->dst = id->dst;
	v->ps = id->ps;
	v->qp_type = id->qp_type;
	v->hca_port = id->has_local ? id->at.hca_port : 0;
	v->is_listener = id->state == VB_UCMA_LISTENING;
	v->is_passive = id->is_passive;
	v->is_unread = id->listener != NULL;
	v->has_route = id->state == VB_UCMA_ROUTE_RESOLVED;
	v->end = (uint8_t)id->end;
	v->reason = id->end_reason;
	v->ended = id->ended;
	v->next = VB_NEVER;
	if (v->is_listener) {
		/* After a restart the largest that was seen is all that is known. */
		int32_t max = id->backlog > id->backlog_max ? id->backlog : id->backlog_max;

		v->backlog = (uint32_t)max;
		v->waiting = (uint32_t)(max - id->backlog);
		v->dropped = id->dropped;
	}
	if (id->conn)
		conn_show(id->conn, v);
}

/* It waits, or has failed: neither idle, nor listening in peace, nor connected. */
static bool is_telling(const struct vb_ucma_view *v)
{
	return v->end != VB_UCMA_END_NONE || v->dropped ||
	       (v->cm_state != VB_CM_STATE_IDLE && v->cm_state != VB_CM_STATE_ESTABLISHED);
}

static bool is_failure(enum vb_ucma_end end)
{
	return end == VB_UCMA_END_REJECTED || end == VB_UCMA_END_SIDR_REFUSED ||
	       end == VB_UCMA_END_UNREACHABLE || end == VB_UCMA_END_UNANSWERED;
}

void vb_ucma_id_note(struct vb_ucma_id *id, enum vb_ucma_end end, uint16_t reason, vb_time now)
{
	id->end = end;
	id->end_reason = reason;
	id->ended = now;
}

void vb_ucma_id_remember(struct vb_ucma_id *id, vb_time now)
{
	struct vb_ucma_past *p;
	struct vb_ucma_view *v;

	if (id->end == VB_UCMA_END_NONE && id->conn &&
	    vb_cm_conn_state(id->conn) != VB_CM_STATE_IDLE)
		vb_ucma_id_note(id, VB_UCMA_END_GIVEN_UP, 0, now);
	if (id->end == VB_UCMA_END_NONE)
		return;
	p = &id->u->past[is_failure(id->end)];
	v = &p->view[p->cnt++ % VB_UCMA_PAST];
	id_show(id, v);
	v->is_gone = 1;
	v->next = VB_NEVER;
}

static void view_add(struct vb_ucma_view *to, uint32_t room, uint32_t *n,
		     const struct vb_ucma_view *v)
{
	if (*n < room)
		to[*n] = *v;
	++*n;
}

static void views_of_ids(const struct vb_ucma *u, bool telling, struct vb_ucma_view *to,
			 uint32_t room, uint32_t *n)
{
	struct vb_ucma_view v;

	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		if (!u->ids[i])
			continue;
		id_show(u->ids[i], &v);
		if (is_telling(&v) == telling)
			view_add(to, room, n, &v);
	}
}

uint32_t vb_ucma_views(const struct vb_ucma *u, struct vb_ucma_view *to, uint32_t room)
{
	uint32_t n = 0;

	views_of_ids(u, true, to, room, &n);
	for (uint32_t k = 2; k-- > 0;)
		for (uint32_t i = 0; i < u->past[k].cnt && i < VB_UCMA_PAST; i++)
			view_add(to, room, &n, &u->past[k].view[i]);
	views_of_ids(u, false, to, room, &n);
	return n;
}
