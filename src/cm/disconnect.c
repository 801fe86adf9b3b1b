/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections end: DREQ and DREP. IBA 12.9.8.4; CMP-19 to CMP-21 */
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
