/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections that outlive the machine: what of an object is written down, and an object that goes
 * on from it. One that was being made is idle again, for its peer has an answer to nobody; but one
 * whose REP was sent may be established at the peer, so the REP is repeated and draws the RTU, or a
 * REJ. CMP-51
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <errno.h>

void vb_cm_conn_save(const struct vb_cm_conn *c, struct vb_cm_saved *s)
{
	*s = (struct vb_cm_saved){.state = (uint8_t)c->state,
				  .answer = (uint16_t)c->answer_attr,
				  .local_id = c->local_id,
				  .remote_id = c->remote_id,
				  .tid = c->tid,
				  .dreq_tid = c->dreq_tid,
				  .local_guid = c->local_guid,
				  .remote_guid = c->remote_guid,
				  .qp = c->qp,
				  .retries = c->retries,
				  .wait_ns = c->wait_ns};
}

const uint8_t *vb_cm_conn_rep(const struct vb_cm_conn *c)
{
	return vb_cm_waits_for_rtu(c) ? c->request : NULL;
}

/* The communication ID that it had. */
static void local_id_take(struct vb_cm_conn *c, uint32_t local_id)
{
	vb_cm_index_remove(c, VB_CM_BY_ID);
	c->local_id = local_id;
	c->timer.order = local_id;
	vb_cm_index_add(c, VB_CM_BY_ID, 0, local_id);
}

/* The peer is known again, unless another connection has come to know it meanwhile. */
static void peer_index(struct vb_cm_conn *c)
{
	struct vb_cm *cm = c->cm;

	if (!vb_cm_find(cm, VB_CM_BY_REMOTE_ID, c->remote_guid, c->remote_id))
		vb_cm_index_add(c, VB_CM_BY_REMOTE_ID, c->remote_guid, c->remote_id);
	if (!vb_cm_find(cm, VB_CM_BY_REMOTE_QPN, c->remote_guid, c->qp.remote_qpn))
		vb_cm_index_add(c, VB_CM_BY_REMOTE_QPN, c->remote_guid, c->qp.remote_qpn);
}

static void qp_fill(struct vb_cm_conn *c, const struct vb_cm_saved *s)
{
	c->qp = s->qp;
	c->qp.ack_timeout &= 31;
	c->qp.alt.ack_timeout &= 31;
	c->qp.rq_psn = vb_psn(s->qp.rq_psn.v);
	c->qp.sq_psn = vb_psn(s->qp.sq_psn.v);
}

static void conn_fill(struct vb_cm_conn *c, const struct vb_cm_saved *s)
{
	local_id_take(c, s->local_id);
	c->state = (enum vb_cm_state)s->state;
	VB_ASSERT_ALL(c->timer.pos == 0 && !c->request_due && !c->answer_due);
	c->remote_id = s->remote_id;
	c->tid = s->tid;
	c->dreq_tid = s->dreq_tid;
	c->local_guid = s->local_guid;
	c->remote_guid = s->remote_guid;
	c->retries = s->retries;
	c->wait_ns = s->wait_ns;
}

/* The peer may not have had the last answer, and sends its message again then. CMP-15, CMP-19 */
static void answer_restore(struct vb_cm_conn *c, uint16_t attr)
{
	struct vb_cm_msg m = {.attr = attr,
			      .tid = attr == VB_CM_DREP ? c->dreq_tid : c->tid,
			      .local_id = c->local_id,
			      .remote_id = c->remote_id};

	if (attr != VB_CM_RTU && attr != VB_CM_DREP)
		return;
	vb_cm_keep_answer(c, &m);
	c->answer_sent_once = true;
}

/* False: @rep is none of @c's. */
static bool rep_restore(struct vb_cm_conn *c, const uint8_t *rep, vb_time now)
{
	struct vb_cm_msg m;

	if (!rep || vb_cm_msg_parse(&m, rep) || m.attr != VB_CM_REP || m.local_id != c->local_id ||
	    m.remote_id != c->remote_id)
		return false;
	c->state = VB_CM_STATE_REP_SENT;
	peer_index(c);
	vb_cm_send_request(c, &m, now);
	return true;
}

int vb_cm_conn_restore(struct vb_cm *cm, void *owner, const struct vb_cm_saved *s,
		       const uint8_t rep[VB_MAD_LEN], vb_time now, struct vb_cm_conn **out)
{
	struct vb_cm_conn *c;
	int err;

	if (s->state >= VB_CM_STATE_CNT || s->state == VB_CM_STATE_LISTEN || s->local_id == 0 ||
	    vb_cm_find(cm, VB_CM_BY_ID, 0, s->local_id))
		return -EINVAL;
	err = vb_cm_conn_create(cm, owner, &c);
	if (err)
		return err;
	*out = c;
	qp_fill(c, s);
	switch ((enum vb_cm_state)s->state) {
	case VB_CM_STATE_IDLE:
		return 0;
	case VB_CM_STATE_REQ_RCVD:
	case VB_CM_STATE_MRA_REQ_SENT:
	case VB_CM_STATE_SIDR_REQ_RCVD:
		return -ECONNRESET; /* the peer repeats its request, which is a new one then */
	default:
		break;
	}
	conn_fill(c, s);
	answer_restore(c, s->answer);
	switch (c->state) {
	case VB_CM_STATE_TIMEWAIT:
		vb_heap_set(&cm->timers, &c->timer,
			    vb_time_after(now, vb_cm_span(c->qp.ack_timeout)));
		return 0;
	case VB_CM_STATE_DREQ_SENT:
		/* Whether the peer has heard it is not known: it is asked again. */
		c->state = VB_CM_STATE_ESTABLISHED;
		peer_index(c);
		return vb_cm_disconnect(c, NULL, now);
	case VB_CM_STATE_ESTABLISHED:
	case VB_CM_STATE_DREQ_RCVD:
		peer_index(c);
		return 0;
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
		if (rep_restore(c, rep, now))
			return 0;
		vb_cm_peer_tell(c, now);
		return -ECONNRESET;
	default:
		vb_cm_peer_tell(c, now);
		return -ECONNRESET;
	}
}
