/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections are refused: REJ, from either side and to strangers. IBA 12.6.7, 12.9.8.5; CMP-16, 17
 */
#include "cm/priv.h"

#include <errno.h>
#include <string.h>

void vb_cm_reject_stray(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
			enum vb_cm_about about, uint16_t reason)
{
	struct vb_cm_msg rej = {.attr = VB_CM_REJ, .tid = m->tid, .remote_id = m->local_id};

	/* A REP names the request that it answers; a REQ has found nobody. */
	rej.local_id = about == VB_CM_ABOUT_REQ ? 0 : m->remote_id;
	rej.rej.about = (uint8_t)about;
	rej.rej.reason = reason;
	vb_cm_send_stray(cm, path, m->attr == VB_CM_REQ ? m->req.pkey : 0, &rej);
}

static struct vb_cm_msg rej_message(const struct vb_cm_conn *c, enum vb_cm_about about,
				    uint16_t reason)
{
	struct vb_cm_msg m = {
	    .attr = VB_CM_REJ, .tid = c->tid, .local_id = c->local_id, .remote_id = c->remote_id};

	m.rej.about = (uint8_t)about;
	m.rej.reason = reason;
	return m;
}

void vb_cm_reject_send(struct vb_cm_conn *c, enum vb_cm_about about, uint16_t reason,
		       const struct vb_cm_private *info, const struct vb_cm_private *p)
{
	struct vb_cm_msg m = rej_message(c, about, reason);
	int err = vb_cm_private_put(&m, p);

	assert(!err);
	(void)err;
	if (info && info->len) {
		assert(info->len <= VB_CM_INFO_LEN);
		m.rej.info_len = (uint8_t)info->len;
		memcpy(m.rej.info, info->data, info->len);
	}
	vb_cm_send_answer(c, &m);
}

int vb_cm_reject(struct vb_cm_conn *c, uint16_t reason, const struct vb_cm_private *info,
		 const struct vb_cm_private *p, vb_time now)
{
	if ((info && info->len > VB_CM_INFO_LEN) || (p && p->len > vb_cm_private_len(VB_CM_REJ)))
		return -EINVAL;
	switch (c->state) {
	case VB_CM_STATE_REQ_RCVD:
	case VB_CM_STATE_MRA_REQ_SENT:
		vb_cm_reject_send(c, VB_CM_ABOUT_REQ, reason, info, p);
		vb_cm_conn_reset(c);
		return 0;
	case VB_CM_STATE_REP_RCVD:
	case VB_CM_STATE_MRA_REP_SENT:
		vb_cm_reject_send(c, VB_CM_ABOUT_REP, reason, info, p);
		vb_cm_timewait(c, now);
		return 0;
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
		vb_cm_reject_send(c, VB_CM_ABOUT_OTHER, reason, info, p);
		vb_cm_conn_reset(c);
		return 0;
	default:
		return -EINVAL;
	}
}

void vb_cm_on_rej(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now)
{
	bool stale = m->rej.reason == VB_CM_REJ_STALE_CONN;

	/* Once there was a LAP the kernel's goes on as well. CMP-16 */
	if (c->lap != VB_CM_LAP_UNINIT && c->lap != VB_CM_LAP_SENT) {
		vb_cm_duplicate(c, VB_CM_REJ);
		return;
	}
	switch (c->state) {
	case VB_CM_STATE_REQ_SENT:
	case VB_CM_STATE_MRA_REQ_RCVD:
	case VB_CM_STATE_REQ_RCVD:
	case VB_CM_STATE_MRA_REQ_SENT:
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
		if (vb_cm_event_message(c, NULL, path, m))
			return;
		if (stale)
			vb_cm_timewait(c, now);
		else
			vb_cm_conn_reset(c);
		return;
	case VB_CM_STATE_REP_RCVD:
	case VB_CM_STATE_MRA_REP_SENT:
	case VB_CM_STATE_DREQ_SENT:
	case VB_CM_STATE_ESTABLISHED:
		if (vb_cm_event_message(c, NULL, path, m))
			return;
		vb_cm_timewait(c, now);
		return;
	default:
		vb_cm_duplicate(c, VB_CM_REJ);
	}
}
