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
	do
		c->local_id = (uint32_t)(vb_rng_next(&cm->rng) >> 32);
	while (c->local_id == 0 || vb_cm_find(cm, VB_CM_BY_ID, 0, c->local_id));
	vb_cm_index_add(c, VB_CM_BY_ID, 0, c->local_id);
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

void vb_cm_peer_tell(struct vb_cm_conn *c, vb_time now)
{
	uint8_t guid[VB_CM_GUID_INFO_LEN];
	const struct vb_cm_private info = {guid, sizeof guid};

	switch (c->state) {
	case VB_CM_STATE_REQ_SENT:
	case VB_CM_STATE_MRA_REQ_RCVD:
		/* The GUID tells the peer, which may not know our ID yet, which REQ this is about.
		 */
		vb_cm_info_put_guid(guid, c->local_guid);
		vb_cm_reject_send(c, VB_CM_ABOUT_REQ, VB_CM_REJ_TIMEOUT, &info, NULL);
		vb_cm_conn_reset(c);
		break;
	case VB_CM_STATE_REQ_RCVD:
	case VB_CM_STATE_MRA_REQ_SENT:
		vb_cm_reject_send(c, VB_CM_ABOUT_REQ, VB_CM_REJ_CONSUMER, NULL, NULL);
		vb_cm_conn_reset(c);
		break;
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
		vb_cm_reject_send(c, VB_CM_ABOUT_OTHER, VB_CM_REJ_CONSUMER, NULL, NULL);
		vb_cm_conn_reset(c);
		break;
	case VB_CM_STATE_REP_RCVD:
	case VB_CM_STATE_MRA_REP_SENT:
		vb_cm_reject_send(c, VB_CM_ABOUT_REP, VB_CM_REJ_CONSUMER, NULL, NULL);
		vb_cm_timewait(c, now);
		break;
	case VB_CM_STATE_ESTABLISHED:
		c->retries = 0;
		vb_cm_dreq_send(c, NULL, now);
		break;
	case VB_CM_STATE_DREQ_RCVD:
		(void)vb_cm_disconnect(c, NULL, now);
		break;
	case VB_CM_STATE_SIDR_REQ_RCVD:
		(void)vb_cm_sidr_reply(c, &(struct vb_cm_sidr_reply){.status = VB_CM_SIDR_REJECT});
		break;
	case VB_CM_STATE_SIDR_REQ_SENT:
		vb_cm_conn_reset(c);
		break;
	case VB_CM_STATE_LISTEN:
	case VB_CM_STATE_IDLE:
	case VB_CM_STATE_DREQ_SENT:
	case VB_CM_STATE_TIMEWAIT:
	case VB_CM_STATE_CNT:
		break;
	}
}

void vb_cm_conn_destroy(struct vb_cm_conn *c, vb_time now)
{
	assert(!c->is_orphan);
	vb_cm_peer_tell(c, now);
	vb_cm_events_drop(c);
	c->owner = NULL;
	c->is_orphan = true;
	/* An orphan has something to say, or a timer, or it is never freed. */
	VB_ASSERT_ALL(c->state == VB_CM_STATE_LISTEN || c->state == VB_CM_STATE_IDLE ||
		      c->timer.pos != 0);
	if (c->state == VB_CM_STATE_LISTEN || (c->state == VB_CM_STATE_IDLE && !c->answer_due))
		vb_cm_conn_free(c);
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
