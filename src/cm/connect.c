/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections are made: REQ, REP, RTU, and MRA, by which a side asks for patience.
 * IBA 12.9.7, 12.9.8.1 to 12.9.8.3; CMP-02 to CMP-06, CMP-10 to CMP-15, CMP-18
 */
#include "cm/priv.h"

#include <errno.h>

#define RETRY_MAX 7
#define MTU_MAX 5

static uint8_t retry_limit(uint8_t n)
{
	return n > RETRY_MAX ? RETRY_MAX : n;
}

/* Messages between two connections that know each other. */
static struct vb_cm_msg conn_message(const struct vb_cm_conn *c, enum vb_cm_attr attr)
{
	return (struct vb_cm_msg){
	    .attr = attr, .tid = c->tid, .local_id = c->local_id, .remote_id = c->remote_id};
}

/* The peer of a REQ or a REP is now known by its ID and by its QP. */
static void peer_learn(struct vb_cm_conn *c, uint32_t id, uint64_t guid, uint32_t qpn)
{
	c->remote_id = id;
	c->remote_guid = guid;
	c->qp.remote_qpn = qpn;
	vb_cm_index_add(c, VB_CM_BY_REMOTE_ID, guid, id);
	vb_cm_index_add(c, VB_CM_BY_REMOTE_QPN, guid, qpn);
}

/*
 * The connection that is still there although its peer has begun another one with the same QP: the
 * peer has lost it. It is ended, and the new one is refused. IBA 12.4.1; CMP-14
 */
static bool stale_refuse(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
			 enum vb_cm_about about, uint64_t guid, uint32_t qpn, vb_time now)
{
	struct vb_cm_conn *old = vb_cm_find(cm, VB_CM_BY_REMOTE_QPN, guid, qpn);

	if (!old)
		return false;
	vb_cm_reject_stray(cm, path, m, about, VB_CM_REJ_STALE_CONN);
	if (old->state == VB_CM_STATE_ESTABLISHED)
		vb_cm_dreq_send(old, NULL, now);
	return true;
}

static struct vb_cm_req req_of(const struct vb_cm_request *r, const struct vb_cm_qp *qp)
{
	const struct vb_cm_alt *alt = &qp->alt;

	return (struct vb_cm_req){.service_id = r->service_id,
				  .ca_guid = r->ca_guid,
				  .ece_vendor = r->ece_vendor,
				  .qpn = r->qpn,
				  .psn = r->rq_psn.v,
				  .resp_resources = r->responder_resources,
				  .init_depth = r->initiator_depth,
				  .remote_cm_timeout = r->cm_timeout,
				  .local_cm_timeout = r->cm_timeout,
				  .max_cm_retries = r->max_cm_retries,
				  .transport = r->transport == VB_CM_RC   ? VB_CM_TRANSPORT_RC
					       : r->transport == VB_CM_UC ? VB_CM_TRANSPORT_UC
									  : VB_CM_TRANSPORT_EXT,
				  .ext_transport = r->transport == VB_CM_XRC ? VB_CM_EXT_XRC : 0,
				  .flow_control = r->flow_control,
				  .retry_cnt = retry_limit(r->retry_cnt),
				  .rnr_retry = retry_limit(r->rnr_retry),
				  .mtu = r->mtu,
				  .srq = r->srq,
				  .pkey = r->pkey,
				  .primary = vb_cm_route_of(&r->path, r->rate, qp->ack_timeout),
				  .alternate =
				      vb_path_has_lid(&alt->path)
					  ? vb_cm_route_of(&alt->path, alt->rate, alt->ack_timeout)
					  : (struct vb_cm_route){.rate = 0}};
}

int vb_cm_connect(struct vb_cm_conn *c, const struct vb_cm_request *r, vb_time now)
{
	struct vb_cm_msg m = {.attr = VB_CM_REQ, .local_id = c->local_id};

	if (c->state != VB_CM_STATE_IDLE || r->mtu == 0 || r->mtu > MTU_MAX || r->ca_guid == 0 ||
	    r->max_cm_retries > 15 || r->cm_timeout > 31 || vb_cm_private_put(&m, &r->private_data))
		return -EINVAL;
	c->tid = (uint64_t)c->cm->cfg.hi_tid << 32 | c->local_id;
	c->service_id = r->service_id;
	c->local_guid = r->ca_guid;
	c->qp = (struct vb_cm_qp){.path = r->path,
				  .transport = r->transport,
				  .local_qpn = r->qpn,
				  .rq_psn = r->rq_psn,
				  .pkey = r->pkey,
				  .mtu = r->mtu,
				  .rate = r->rate,
				  .responder_resources = r->responder_resources,
				  .initiator_depth = r->initiator_depth,
				  .retry_cnt = retry_limit(r->retry_cnt),
				  .ack_timeout =
				      vb_cm_ack_timeout(c->cm->cfg.ack_delay, r->packet_lifetime)};
	m.tid = c->tid;
	m.attr_mod = r->ece_options;
	if (vb_path_has_lid(&r->alt_path))
		c->qp.alt = (struct vb_cm_alt){
		    .path = r->alt_path,
		    .rate = r->alt_rate,
		    .ack_timeout = vb_cm_ack_timeout(c->cm->cfg.ack_delay, r->alt_packet_lifetime)};
	m.req = req_of(r, &c->qp);
	c->retries = r->max_cm_retries;
	c->wait_ns = 2 * vb_cm_span(r->packet_lifetime) + vb_cm_span(r->cm_timeout);
	vb_cm_state_set(c, VB_CM_STATE_REQ_SENT);
	vb_cm_send_request(c, &m, now);
	return 0;
}

/* A REQ names the GID that it comes from, or where there is none the LID: else answers to it would
 * go to somebody who has not asked. */
static bool req_names_sender(const struct vb_path *path, const struct vb_cm_req *r)
{
	return vb_path_has_grh(path) ? vb_gid_eq(&r->primary.local_gid, &path->sgid)
				     : r->primary.local_lid == path->slid;
}

static bool req_has_alternate(const struct vb_cm_req *r)
{
	static const struct vb_gid none = {{0}};

	return !vb_gid_eq(&r->alternate.remote_gid, &none) || r->alternate.remote_lid;
}

/* The LIDs of a path that leads through a router mean nothing here. */
static bool alternate_has_lids(const struct vb_cm_route *r)
{
	return r->subnet_local ? vb_cm_route_has_lids(r) : r->local_lid && r->remote_lid;
}

/* 0, or why this REQ cannot be taken. CMP-17 */
static uint16_t req_refusal(const struct vb_cm *cm, const struct vb_path *path,
			    const struct vb_cm_req *r)
{
	static const struct vb_gid none = {{0}};

	if (!req_names_sender(path, r) || !vb_cm_gid_is_usable(cm, path, &r->primary.remote_gid))
		return VB_CM_REJ_INVALID_GID;
	if (!vb_gid_eq(&r->alternate.remote_gid, &none) &&
	    !vb_cm_gid_is_usable(cm, path, &r->alternate.remote_gid))
		return VB_CM_REJ_INVALID_ALT_GID;
	if (vb_path_has_lid(path) && req_has_alternate(r) && !alternate_has_lids(&r->alternate))
		return VB_CM_REJ_INVALID_ALT_LID;
	if (r->mtu == 0 || r->mtu > MTU_MAX)
		return VB_CM_REJ_INVALID_MTU;
	if (r->transport > VB_CM_TRANSPORT_UC &&
	    (r->transport != VB_CM_TRANSPORT_EXT || r->ext_transport != VB_CM_EXT_XRC))
		return VB_CM_REJ_INVALID_TRANSPORT;
	return 0;
}

/* The same REQ again: the answer was lost, or is not there yet. CMP-13 */
static void req_duplicate(struct vb_cm_conn *c)
{
	vb_cm_duplicate(c, VB_CM_REQ);
	if (c->state == VB_CM_STATE_MRA_REQ_SENT)
		vb_cm_answer_again(c);
}

static struct vb_cm_qp passive_qp(const struct vb_cm_req *r, const struct vb_path *came)
{
	struct vb_path path = vb_path_back(came);

	path.sgid = r->primary.remote_gid;
	path.dgid = r->primary.local_gid;
	path.flow_label = r->primary.flow_label;
	path.traffic_class = r->primary.traffic_class;
	path.hop_limit = r->primary.hop_limit;
	path.sl = r->primary.sl;
	return (struct vb_cm_qp){.path = path,
				 .transport = r->transport == VB_CM_TRANSPORT_RC   ? VB_CM_RC
					      : r->transport == VB_CM_TRANSPORT_UC ? VB_CM_UC
										   : VB_CM_XRC,
				 .sq_psn = vb_psn(r->psn),
				 .pkey = r->pkey,
				 .mtu = r->mtu,
				 .rate = r->primary.rate,
				 .responder_resources = r->init_depth,
				 .initiator_depth = r->resp_resources,
				 .retry_cnt = r->retry_cnt,
				 .rnr_retry = r->rnr_retry,
				 .ack_timeout = r->primary.ack_timeout,
				 .remote_srq = r->srq};
}

/* On RoCE an alternate path is not looked at. One that leads through a router has LIDs at the other
 * end that say nothing here, and the peer hears that there is none. */
static void alternate_take(struct vb_cm_conn *c, const struct vb_cm_req *r,
			   const struct vb_path *came)
{
	if (!vb_path_has_lid(came) || !req_has_alternate(r))
		return;
	if (r->alternate.subnet_local)
		c->qp.alt = vb_cm_alt_of(&r->alternate, came);
	else
		c->failover = VB_CM_FAILOVER_UNSUPPORTED;
}

bool vb_cm_on_req(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now)
{
	const struct vb_cm_req *r = &m->req;
	struct vb_cm_conn *c = vb_cm_find(cm, VB_CM_BY_REMOTE_ID, r->ca_guid, m->local_id);
	struct vb_cm_conn *listener = vb_cm_find(cm, VB_CM_BY_SERVICE, 0, r->service_id);
	uint16_t refusal = req_refusal(cm, path, r);

	if (c) {
		req_duplicate(c);
		return true;
	}
	if (refusal) {
		vb_cm_reject_stray(cm, path, m, VB_CM_ABOUT_REQ, refusal);
		return true;
	}
	if (stale_refuse(cm, path, m, VB_CM_ABOUT_REQ, r->ca_guid, r->qpn, now))
		return true;
	if (!listener)
		return false;
	if (vb_cm_conn_create(cm, NULL, &c)) {
		cm->cnt.rx_no_room++;
		return true;
	}
	c->tid = m->tid;
	c->service_id = r->service_id;
	c->qp = passive_qp(r, path);
	alternate_take(c, r, path);
	c->retries = r->max_cm_retries;
	c->wait_ns = vb_cm_span(r->local_cm_timeout);
	if (vb_cm_event_message(c, listener, path, m)) {
		vb_cm_conn_free(c);
		return true;
	}
	peer_learn(c, m->local_id, r->ca_guid, r->qpn);
	vb_cm_state_set(c, VB_CM_STATE_REQ_RCVD);
	return true;
}

int vb_cm_delay(struct vb_cm_conn *c, uint8_t service_timeout)
{
	struct vb_cm_msg m = conn_message(c, VB_CM_MRA);
	bool passive = c->state == VB_CM_STATE_REQ_RCVD;

	if (c->state == VB_CM_STATE_ESTABLISHED && c->lap == VB_CM_LAP_RCVD) {
		m.tid = c->lap_tid;
		m.mra = (struct vb_cm_mra){VB_CM_ABOUT_OTHER, service_timeout};
		vb_cm_keep_answer(c, &m);
		c->lap = VB_CM_LAP_MRA_SENT;
		return 0;
	}
	if (!passive && c->state != VB_CM_STATE_REP_RCVD)
		return -EINVAL;
	m.mra.about = passive ? VB_CM_ABOUT_REQ : VB_CM_ABOUT_REP;
	m.mra.service_timeout = service_timeout;
	vb_cm_keep_answer(c, &m);
	vb_cm_state_set(c, passive ? VB_CM_STATE_MRA_REQ_SENT : VB_CM_STATE_MRA_REP_SENT);
	return 0;
}

void vb_cm_on_mra(struct vb_cm_conn *c, const struct vb_cm_msg *m, vb_time now)
{
	if (c->state == VB_CM_STATE_REQ_SENT && m->mra.about == VB_CM_ABOUT_REQ) {
		vb_cm_state_set(c, VB_CM_STATE_MRA_REQ_RCVD);
	} else if (c->state == VB_CM_STATE_REP_SENT && m->mra.about == VB_CM_ABOUT_REP) {
		vb_cm_state_set(c, VB_CM_STATE_MRA_REP_RCVD);
	} else if (c->lap == VB_CM_LAP_SENT && m->mra.about == VB_CM_ABOUT_OTHER) {
		c->lap = VB_CM_LAP_MRA_RCVD;
	} else {
		vb_cm_duplicate(c, VB_CM_MRA);
		return;
	}
	vb_cm_extend_wait(c, vb_cm_span(m->mra.service_timeout) + vb_cm_span(c->qp.ack_timeout),
			  now);
}

int vb_cm_reply(struct vb_cm_conn *c, const struct vb_cm_reply_param *r, vb_time now)
{
	struct vb_cm_msg m = conn_message(c, VB_CM_REP);
	bool xrc = c->qp.transport == VB_CM_XRC;

	if ((c->state != VB_CM_STATE_REQ_RCVD && c->state != VB_CM_STATE_MRA_REQ_SENT) ||
	    r->ca_guid == 0 || vb_cm_private_put(&m, &r->private_data))
		return -EINVAL;
	m.attr_mod = r->ece_options;
	m.rep = (struct vb_cm_rep){.ca_guid = r->ca_guid,
				   /* The initiator of XRC has no receives; its target's number has
				    * a field of its own. CMP-06 */
				   .qpn = xrc ? 0 : r->qpn,
				   .eecn = xrc ? r->qpn : 0,
				   .psn = r->rq_psn.v,
				   .resp_resources = r->responder_resources,
				   .init_depth = r->initiator_depth,
				   .target_ack_delay = c->cm->cfg.ack_delay,
				   .failover = c->failover,
				   .flow_control = r->flow_control,
				   .srq = xrc || r->srq,
				   .rnr_retry = retry_limit(r->rnr_retry),
				   .ece_high = (uint8_t)(r->ece_vendor >> 16),
				   .ece_middle = (uint8_t)(r->ece_vendor >> 8),
				   .ece_low = (uint8_t)r->ece_vendor};
	c->local_guid = r->ca_guid;
	c->qp.local_qpn = r->qpn;
	c->qp.rq_psn = r->rq_psn;
	c->qp.responder_resources = r->responder_resources;
	c->qp.initiator_depth = r->initiator_depth;
	vb_cm_state_set(c, VB_CM_STATE_REP_SENT);
	vb_cm_send_request(c, &m, now);
	return 0;
}

static uint32_t rep_qpn(const struct vb_cm_conn *c, const struct vb_cm_rep *r)
{
	return c->qp.transport == VB_CM_XRC ? r->eecn : r->qpn;
}

/* The same REP again: the RTU was lost, or is not there yet. CMP-15 */
static void rep_duplicate(struct vb_cm_conn *c, const struct vb_cm_msg *m)
{
	vb_cm_duplicate(c, VB_CM_REP);
	if (c->remote_id == m->local_id &&
	    ((c->state == VB_CM_STATE_ESTABLISHED && c->answer_attr == VB_CM_RTU) ||
	     c->state == VB_CM_STATE_MRA_REP_SENT))
		vb_cm_answer_again(c);
}

void vb_cm_on_rep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now)
{
	const struct vb_cm_rep *r = &m->rep;
	uint32_t qpn = rep_qpn(c, r);

	if (c->state != VB_CM_STATE_REQ_SENT && c->state != VB_CM_STATE_MRA_REQ_RCVD) {
		rep_duplicate(c, m);
		return;
	}
	if (stale_refuse(c->cm, path, m, VB_CM_ABOUT_REP, r->ca_guid, qpn, now))
		return;
	if (vb_cm_find(c->cm, VB_CM_BY_REMOTE_ID, r->ca_guid, m->local_id)) {
		c->cm->cnt.rx_unmatched++;
		return;
	}
	if (vb_cm_event_message(c, NULL, path, m))
		return;
	vb_cm_stop_request(c);
	peer_learn(c, m->local_id, r->ca_guid, qpn);
	c->qp.sq_psn = vb_psn(r->psn);
	c->qp.responder_resources = r->init_depth;
	c->qp.initiator_depth = r->resp_resources;
	c->qp.rnr_retry = r->rnr_retry;
	c->qp.remote_srq = r->srq;
	if (r->failover != VB_CM_FAILOVER_ACCEPTED)
		c->qp.alt = (struct vb_cm_alt){.rate = 0};
	c->qp.ack_timeout =
	    vb_cm_ack_timeout(r->target_ack_delay, c->qp.ack_timeout ? c->qp.ack_timeout - 1 : 0);
	vb_cm_state_set(c, VB_CM_STATE_REP_RCVD);
}

int vb_cm_ready(struct vb_cm_conn *c, const struct vb_cm_private *p)
{
	struct vb_cm_msg m = conn_message(c, VB_CM_RTU);

	if ((c->state != VB_CM_STATE_REP_RCVD && c->state != VB_CM_STATE_MRA_REP_SENT) ||
	    vb_cm_private_put(&m, p))
		return -EINVAL;
	vb_cm_send_answer(c, &m);
	vb_cm_state_set(c, VB_CM_STATE_ESTABLISHED);
	return 0;
}

bool vb_cm_waits_for_rtu(const struct vb_cm_conn *c)
{
	return c->state == VB_CM_STATE_REP_SENT || c->state == VB_CM_STATE_MRA_REP_RCVD;
}

void vb_cm_on_rtu(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m)
{
	if (!vb_cm_waits_for_rtu(c)) {
		vb_cm_duplicate(c, VB_CM_RTU);
		return;
	}
	if (vb_cm_event_message(c, NULL, path, m))
		return;
	vb_cm_stop_request(c);
	vb_cm_state_set(c, VB_CM_STATE_ESTABLISHED);
}

int vb_cm_establish(struct vb_cm_conn *c)
{
	if (c->state == VB_CM_STATE_ESTABLISHED)
		return -EISCONN;
	if (!vb_cm_waits_for_rtu(c))
		return -EINVAL;
	vb_cm_stop_request(c);
	vb_cm_state_set(c, VB_CM_STATE_ESTABLISHED);
	vb_cm_event_raise(c, VB_CM_EVENT_ESTABLISHED);
	return 0;
}
