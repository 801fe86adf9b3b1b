/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection that its program gives up: what the peer is told, which depends on the
 * state, and what stays until that has been said. IBA 12.9.8.4
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <assert.h>

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
