/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections as objects: from their creation to the end of their timewait. IBA 12.9.5, 12.9.8.4
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <errno.h>

static const char *const state_names[] = {
#define STATE(name) [VB_CM_STATE_##name] = #name,
#include "cm/state.def"
#undef STATE
};

const char *vb_cm_state_name(enum vb_cm_state s)
{
	return state_names[s];
}

static bool transition_is_legal(enum vb_cm_state from, enum vb_cm_state to)
{
#define TRANSITION(a, b)                                                                           \
	if (from == VB_CM_STATE_##a && to == VB_CM_STATE_##b)                                      \
		return true;
#include "cm/transition.def"
#undef TRANSITION
	return false;
}

void vb_cm_state_set(struct vb_cm_conn *c, enum vb_cm_state to)
{
	assert(transition_is_legal(c->state, to));
	c->state = to;
	c->lap = VB_CM_LAP_UNINIT; /* what was asked for is of a connection that is established */
}

/*
 * Gives @c a communication ID that nobody can guess and that is not in use; 0 means "none" in a
 * REJ. Each connection that an object makes has its own, or a late answer to an earlier REQ would
 * be taken for one to the last.
 */
static void id_draw(struct vb_cm_conn *c)
{
	struct vb_cm *cm = c->cm;

	vb_cm_index_remove(c, VB_CM_BY_ID);
	do {
		c->local_id = (uint32_t)(vb_rng_next(&cm->rng) >> 32);
		if (cm->id_part)
			c->local_id = (uint32_t)cm->id_part << 24 | (c->local_id & 0xffffff);
	} while (c->local_id == 0 || vb_cm_find(cm, VB_CM_BY_ID, 0, c->local_id));
	vb_cm_index_add(c, VB_CM_BY_ID, 0, c->local_id);
}

void vb_cm_set_id_part(struct vb_cm *cm, uint8_t part)
{
	cm->id_part = part;
}

int vb_cm_conn_create(struct vb_cm *cm, void *owner, struct vb_cm_conn **out)
{
	struct vb_cm_conn *c;

	if (cm->conn_cnt == cm->cfg.conns)
		return -ENOMEM;
	c = cm->cfg.alloc(cm->cfg.alloc_ctx, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->cm = cm;
	c->owner = owner;
	c->state = VB_CM_STATE_IDLE;
	id_draw(c);
	c->timer.order = c->local_id;
	vb_list_init(&c->tx);
	for (int i = 0; i < VB_CM_EVENT_KIND_CNT; i++)
		vb_list_init(&c->raised[i].link);
	vb_list_append(&cm->all, &c->all);
	cm->conn_cnt++;
	*out = c;
	return 0;
}

void vb_cm_conn_free(struct vb_cm_conn *c)
{
	struct vb_cm *cm = c->cm;

	vb_cm_events_drop(c);
	vb_heap_remove(&cm->timers, &c->timer);
	for (int i = 0; i < VB_CM_INDEX_CNT; i++)
		vb_cm_index_remove(c, (enum vb_cm_index)i);
	vb_list_remove(&c->tx);
	vb_list_remove(&c->all);
	assert(cm->conn_cnt > 0);
	cm->conn_cnt--;
	cm->cfg.free(cm->cfg.alloc_ctx, c);
}

void vb_cm_stop_request(struct vb_cm_conn *c)
{
	c->request_due = false;
	if (!c->answer_due)
		vb_list_remove(&c->tx);
	VB_ASSERT_ALL(vb_list_is_empty(&c->tx) == !c->answer_due);
	vb_heap_set(&c->cm->timers, &c->timer, VB_NEVER);
}

/* The peer is forgotten: what it sends from now on is new. */
static void peer_forget(struct vb_cm_conn *c)
{
	vb_cm_index_remove(c, VB_CM_BY_REMOTE_ID);
	vb_cm_index_remove(c, VB_CM_BY_REMOTE_QPN);
}

void vb_cm_conn_reset(struct vb_cm_conn *c)
{
	vb_cm_stop_request(c);
	peer_forget(c);
	c->remote_id = 0;
	VB_ASSERT_ALL(!c->request_due && c->timer.pos == 0);
	vb_cm_state_set(c, VB_CM_STATE_IDLE);
	if (c->is_orphan && !c->answer_due)
		vb_cm_conn_free(c);
	else
		id_draw(c);
}

void vb_cm_timewait(struct vb_cm_conn *c, vb_time now)
{
	vb_cm_stop_request(c);
	peer_forget(c);
	vb_cm_state_set(c, VB_CM_STATE_TIMEWAIT);
	vb_heap_set(&c->cm->timers, &c->timer, vb_time_after(now, vb_cm_span(c->qp.ack_timeout)));
}

int vb_cm_listen(struct vb_cm_conn *c, uint64_t service_id)
{
	if (c->state != VB_CM_STATE_IDLE)
		return -EINVAL;
	if (vb_cm_find(c->cm, VB_CM_BY_SERVICE, 0, service_id))
		return -EADDRINUSE;
	vb_cm_state_set(c, VB_CM_STATE_LISTEN);
	VB_ASSERT_ALL(!c->request_due && !c->answer_due);
	c->service_id = service_id;
	vb_cm_index_add(c, VB_CM_BY_SERVICE, 0, service_id);
	vb_cm_park_hear(&c->cm->park, service_id);
	return 0;
}

void *vb_cm_conn_owner(const struct vb_cm_conn *c)
{
	return c->owner;
}

void vb_cm_conn_set_owner(struct vb_cm_conn *c, void *owner)
{
	c->owner = owner;
}

enum vb_cm_state vb_cm_conn_state(const struct vb_cm_conn *c)
{
	return c->state;
}

uint32_t vb_cm_conn_id(const struct vb_cm_conn *c)
{
	return c->local_id;
}

void vb_cm_conn_request(const struct vb_cm_conn *c, struct vb_cm_request_view *out)
{
	bool waits = c->state != VB_CM_STATE_IDLE && c->state != VB_CM_STATE_TIMEWAIT;

	*out = (struct vb_cm_request_view){.attr = c->request_attr,
					   .sent = c->request_sent,
					   .since = c->request_since,
					   .next = waits && c->timer.pos ? c->timer.due : VB_NEVER};
}

const struct vb_cm_qp *vb_cm_conn_qp(const struct vb_cm_conn *c)
{
	return &c->qp;
}

void vb_cm_conn_drop(struct vb_cm_conn *c)
{
	assert(c->state == VB_CM_STATE_REQ_RCVD || c->state == VB_CM_STATE_SIDR_REQ_RCVD);
	vb_cm_stop_request(c);
	vb_cm_conn_free(c);
}
