/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP of a service of datagrams: SIDR_REQ and SIDR_REP. IBA 12.11; CMP-24 */
#include "cm/priv.h"

#include <errno.h>

/* A request is known by its sender's ID and GID, or LID. SIDR messages name no adapter. */
static uint64_t sidr_key(const struct vb_cm *cm, const struct vb_path *back)
{
	const struct vb_gid gid = vb_path_receiver(back);
	uint64_t half[2];

	static_assert(sizeof half == sizeof gid.b, "a GID is two keys");
	for (uint32_t i = 0; i < 2; i++) {
		half[i] = 0;
		for (uint32_t j = 0; j < 8; j++)
			half[i] = half[i] << 8 | gid.b[i * 8 + j];
	}
	return vb_cm_hash(cm, half[0], half[1]);
}

int vb_cm_sidr_request(struct vb_cm_conn *c, const struct vb_cm_sidr_request *r, vb_time now)
{
	struct vb_cm_msg m = {.attr = VB_CM_SIDR_REQ,
			      .tid = (uint64_t)c->cm->cfg.hi_tid << 32 | c->local_id,
			      .local_id = c->local_id,
			      .sidr_req = {.pkey = r->pkey, .service_id = r->service_id}};

	if (c->state != VB_CM_STATE_IDLE || r->cm_timeout > 31 ||
	    vb_cm_private_put(&m, &r->private_data))
		return -EINVAL;
	c->tid = m.tid;
	c->service_id = r->service_id;
	c->qp = (struct vb_cm_qp){.path = r->path, .pkey = r->pkey};
	c->retries = r->max_cm_retries;
	c->wait_ns = vb_cm_span(r->cm_timeout);
	vb_cm_state_set(c, VB_CM_STATE_SIDR_REQ_SENT);
	vb_cm_send_request(c, &m, now);
	return 0;
}

static struct vb_cm_msg sidr_answer(const struct vb_cm_msg *req, enum vb_cm_sidr_status status)
{
	struct vb_cm_msg m = {.attr = VB_CM_SIDR_REP, .tid = req->tid, .local_id = req->local_id};

	m.sidr_rep.status = (uint8_t)status;
	m.sidr_rep.service_id = req->sidr_req.service_id;
	return m;
}

void vb_cm_sidr_refuse(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m)
{
	struct vb_cm_msg rep = sidr_answer(m, VB_CM_SIDR_UNSUPPORTED);

	vb_cm_send_stray(cm, path, m->sidr_req.pkey, &rep);
}

bool vb_cm_on_sidr_req(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m)
{
	struct vb_cm_conn *listener = vb_cm_find(cm, VB_CM_BY_SERVICE, 0, m->sidr_req.service_id);
	const struct vb_path back = vb_path_back(path);
	uint64_t from = sidr_key(cm, &back);
	struct vb_cm_conn *c = vb_cm_find(cm, VB_CM_BY_REMOTE_ID, from, m->local_id);

	if (c) {
		vb_cm_port_of(cm, path)->rx_duplicates[vb_cm_counter(VB_CM_SIDR_REQ)]++;
		return true;
	}
	if (!listener)
		return false;
	if (vb_cm_conn_create(cm, NULL, &c)) {
		cm->cnt.rx_no_room++;
		return true;
	}
	c->tid = m->tid;
	c->remote_id = m->local_id;
	c->service_id = m->sidr_req.service_id;
	c->qp.path = back;
	c->qp.pkey = m->sidr_req.pkey;
	if (vb_cm_event_message(c, listener, path, m)) {
		vb_cm_conn_free(c);
		return true;
	}
	vb_cm_index_add(c, VB_CM_BY_REMOTE_ID, from, m->local_id);
	vb_cm_state_set(c, VB_CM_STATE_SIDR_REQ_RCVD);
	return true;
}

int vb_cm_sidr_reply(struct vb_cm_conn *c, const struct vb_cm_sidr_reply *r)
{
	const struct vb_cm_msg req = {
	    .tid = c->tid, .local_id = c->remote_id, .sidr_req = {.service_id = c->service_id}};
	struct vb_cm_msg m = sidr_answer(&req, r->status);

	if (c->state != VB_CM_STATE_SIDR_REQ_RCVD || vb_cm_private_put(&m, &r->private_data))
		return -EINVAL;
	m.attr_mod = r->ece_options;
	m.sidr_rep.qpn = r->qpn;
	m.sidr_rep.qkey = r->qkey;
	m.sidr_rep.ece_high = (uint16_t)(r->ece_vendor >> 8);
	m.sidr_rep.ece_low = (uint8_t)r->ece_vendor;
	vb_cm_send_answer(c, &m);
	vb_cm_conn_reset(c);
	return 0;
}

void vb_cm_on_sidr_rep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m)
{
	if (c->state != VB_CM_STATE_SIDR_REQ_SENT) {
		vb_cm_duplicate(c, VB_CM_SIDR_REP);
		return;
	}
	if (vb_cm_event_message(c, NULL, path, m))
		return;
	vb_cm_conn_reset(c);
}
