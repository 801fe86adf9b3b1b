/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections end: DREQ and DREP, and what becomes of an object that its program gives up: what its
 * peer is told, which depends on the state, and what stays until that has been said.
 * IBA 12.9.8.4; CMP-19 to CMP-21
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <errno.h>

void vb_cm_dreq_send(struct vb_cm_conn *c, const struct vb_cm_private *p, vb_time now)
{
	/* The active side's DREQ continues its REQ's transaction; the passive side begins one.
	 * CMP-02 */
	struct vb_cm_msg m = {.attr = VB_CM_DREQ,
			      .tid = (uint64_t)c->cm->cfg.hi_tid << 32 | c->local_id,
			      .local_id = c->local_id,
			      .remote_id = c->remote_id,
			      .dreq = {c->qp.remote_qpn}};
	int err = vb_cm_private_put(&m, p);

	assert(!err);
	(void)err;
	vb_cm_state_set(c, VB_CM_STATE_DREQ_SENT);
	vb_cm_send_request(c, &m, now);
}

int vb_cm_disconnect(struct vb_cm_conn *c, const struct vb_cm_private *p, vb_time now)
{
	struct vb_cm_msg drep = {.attr = VB_CM_DREP,
				 .tid = c->dreq_tid,
				 .local_id = c->local_id,
				 .remote_id = c->remote_id};

	switch (c->state) {
	case VB_CM_STATE_ESTABLISHED:
		if (p && p->len > vb_cm_private_len(VB_CM_DREQ))
			return -EINVAL;
		vb_cm_dreq_send(c, p, now);
		return 0;
	case VB_CM_STATE_DREQ_RCVD:
		if (vb_cm_private_put(&drep, p))
			return -EINVAL;
		vb_cm_timewait(c, now);
		vb_cm_send_answer(c, &drep);
		return 0;
	case VB_CM_STATE_DREQ_SENT:
	case VB_CM_STATE_TIMEWAIT:
		return 0;
	default:
		return -ENOTCONN;
	}
}

void vb_cm_on_dreq(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		   vb_time now)
{
	if (m->dreq.remote_qpn != c->qp.local_qpn) {
		c->cm->cnt.rx_unmatched++;
		return;
	}
	switch (c->state) {
	case VB_CM_STATE_ESTABLISHED:
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
	case VB_CM_STATE_DREQ_SENT:
		if (vb_cm_event_message(c, NULL, path, m))
			return;
		vb_cm_stop_request(c);
		c->dreq_tid = m->tid;
		vb_cm_state_set(c, VB_CM_STATE_DREQ_RCVD);
		/* Nobody else answers for a connection that was given up. */
		if (c->is_orphan)
			(void)vb_cm_disconnect(c, NULL, now);
		return;
	case VB_CM_STATE_TIMEWAIT:
		vb_cm_duplicate(c, VB_CM_DREQ);
		if (c->answer_attr == VB_CM_DREP)
			vb_cm_answer_again(c);
		return;
	default:
		vb_cm_duplicate(c, VB_CM_DREQ);
	}
}

void vb_cm_on_drep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		   vb_time now)
{
	if (c->state != VB_CM_STATE_DREQ_SENT && c->state != VB_CM_STATE_DREQ_RCVD) {
		c->cm->cnt.rx_unmatched++;
		return;
	}
	if (vb_cm_event_message(c, NULL, path, m))
		return;
	vb_cm_timewait(c, now);
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
