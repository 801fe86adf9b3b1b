/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of peers: requests find their listener by what the IP header in them names, and all else
 * becomes an event of its id. CMP-11, CMP-17, CMP-25, CMP-28, CMP-30, CMP-35, CMP-36, CMP-44,
 * CMP-45
 */
#include "ucma/priv.h"

#include <errno.h>

#define MRA_TIMEOUT 24 /* a duplicate is told to wait so long, 4.096 us * 2^n */
#define QPT_ANY 0

/* The content of a request, whether it is a REQ or a SIDR_REQ. */
struct request {
	uint64_t service_id;
	uint8_t qp_type;
	bool has_ip;            /* the private data begins with an IP header that can be true */
	struct vb_ucma_addr to; /* the GID here that it came to... */
	struct vb_gid from;     /* ... and the sender's; zeros: on InfiniBand it does not say */
	struct vb_ucma_ip_hdr ip;
	/* As the listener sees it: ends of the connection, and what the peer's program gave. */
	struct vb_ucma_addr src, dst;
	const uint8_t *user;
	uint32_t user_len;
};

static uint8_t qp_type_of(const struct vb_cm_req *r)
{
	switch (r->transport) {
	case VB_CM_TRANSPORT_RC:
		return VB_UCMA_QPT_RC;
	case VB_CM_TRANSPORT_UC:
		return VB_UCMA_QPT_UC;
	case VB_CM_TRANSPORT_EXT:
		return VB_UCMA_QPT_XRC_TGT;
	default:
		return QPT_ANY;
	}
}

/* Nobody connects from, or to, such addresses. A host's own are right: "lo" is a device. CMP-30 */
static bool addr_is_sane(const struct vb_ucma_addr *a)
{
	return !vb_ucma_addr_is_any(a) && !vb_gid_is_multicast(&a->gid) &&
	       !(a->family == VB_UCMA_AF_INET && a->gid.b[12] == 255);
}

/* Without a GRH a REQ says what GIDs its ends have, and a SIDR_REQ does not. */
static void request_ends(struct request *r, const struct vb_ucma *u, const struct vb_cm_event *ev)
{
	const struct vb_ucma_env *env = &u->cfg.env;
	bool is_req = ev->msg.attr == VB_CM_REQ;
	struct vb_ucma_ib_port port;

	r->to = vb_ucma_addr_of(&ev->path.dgid, 0);
	r->from = ev->path.sgid;
	if (vb_path_has_grh(&ev->path))
		return;
	if (is_req) {
		r->to = vb_ucma_addr_of(&ev->msg.req.primary.remote_gid, 0);
		r->from = ev->msg.req.primary.local_gid;
	} else if (vb_ucma_is_ib(u) && env->ib_port(env->ctx, ev->path.port, &port) == 0) {
		r->to = vb_ucma_addr_of(&port.local.gid, 0);
	}
}

static void request_read(struct request *r, const struct vb_ucma *u, const struct vb_cm_event *ev)
{
	bool is_sidr = ev->msg.attr == VB_CM_SIDR_REQ;

	*r = (struct request){0};
	r->has_ip = vb_ucma_ip_hdr_parse(&r->ip, ev->msg.private_data) == 0 &&
		    addr_is_sane(&r->ip.src) && addr_is_sane(&r->ip.dst);
	r->service_id = is_sidr ? ev->msg.sidr_req.service_id : ev->msg.req.service_id;
	r->qp_type = is_sidr ? (uint8_t)VB_UCMA_QPT_UD : qp_type_of(&ev->msg.req);
	r->ip.dst.port = (uint16_t)r->service_id;
	request_ends(r, u, ev);
}

/* Those who listen at addresses of IP see the ends that the header names; the others see GIDs.
 * CMP-50 */
static void request_view(struct request *r, const struct vb_cm_event *ev,
			 const struct vb_ucma_id *listener)
{
	bool is_ib = listener->src.family == VB_UCMA_AF_IB;
	uint32_t head = is_ib ? 0 : VB_UCMA_IP_HDR;

	r->user = ev->msg.private_data + head;
	r->user_len = vb_cm_private_len(ev->msg.attr) - head;
	r->src = r->ip.dst;
	r->dst = r->ip.src;
	if (!is_ib)
		return;
	r->src = (struct vb_ucma_addr){.family = VB_UCMA_AF_IB,
				       .port = (uint16_t)r->service_id,
				       .gid = r->to.gid,
				       .pkey = listener->src.pkey,
				       .sid = r->service_id,
				       .sid_mask = UINT64_MAX};
	r->dst = (struct vb_ucma_addr){.family = VB_UCMA_AF_IB,
				       .gid = r->from,
				       .pkey = listener->src.pkey,
				       .flow_info = ev->path.flow_label};
}

/* Whether @id, which listens for its service, takes the request. */
static bool listener_takes(const struct vb_ucma_id *id, const struct request *r)
{
	bool is_ib = id->src.family == VB_UCMA_AF_IB;

	/* One whose device is gone listens no more, and can only be destroyed. CMP-51 */
	if (id->state != VB_UCMA_LISTENING || (!is_ib && !r->has_ip))
		return false;
	if (!vb_ucma_addr_is_any(&id->src))
		return vb_ucma_addr_eq(&id->src, is_ib ? &r->to : &r->ip.dst);
	return is_ib || !id->af_only || id->src.family == r->ip.dst.family;
}

/* The listener of the service that is meant: one with this address before one with any. */
static struct vb_ucma_id *listener_of(const struct vb_ucma_service *s, const struct request *r)
{
	struct vb_ucma_id *found = NULL;

	for (struct vb_list *l = s->ids.next; l != &s->ids; l = l->next) {
		struct vb_ucma_id *id = vb_container_of(l, struct vb_ucma_id, in_service);
		bool any = vb_ucma_addr_is_any(&id->src);

		if (!listener_takes(id, r))
			continue;
		if (!found || !any)
			found = id;
		if (!any)
			break;
	}
	return found && (found->qp_type == QPT_ANY || found->qp_type == r->qp_type) ? found : NULL;
}

/* Refuses a request that nobody here can be asked about. */
static void request_refuse(struct vb_cm_conn *conn, vb_time now)
{
	vb_cm_conn_destroy(conn, now); /* REJ 28, or SIDR_REP status 2. CMP-17, CMP-22 */
}

/* The way back to the peer: as its REQ says, or the way of its SIDR_REQ turned round. */
static void request_way(struct vb_ucma_id *id, const struct vb_cm_event *ev,
			const struct request *r)
{
	const struct vb_cm_req *req = &ev->msg.req;
	bool is_req = ev->msg.attr == VB_CM_REQ;

	id->way.path = is_req ? vb_cm_conn_qp(ev->conn)->path : vb_path_back(&ev->path);
	id->way.path.sgid = r->to.gid;
	id->way.path.dgid = r->from;
	if (!is_req)
		return;
	id->way.mtu = req->mtu;
	id->way.rate = req->primary.rate;
	id->way.lifetime = req->primary.ack_timeout ? req->primary.ack_timeout - 1 : 0;
}

/* The new id of a request, its end of the connection as the packets say. */
static struct vb_ucma_id *request_id(struct vb_ucma_id *listener, const struct vb_cm_event *ev,
				     const struct request *r)
{
	const struct vb_ucma_env *env = &listener->u->cfg.env;
	struct vb_ucma_id *id;
	struct vb_ucma_addr at = r->to;

	at.scope = listener->src.scope;
	if (vb_ucma_id_new(listener->file, listener->ps, r->qp_type, &id))
		return NULL;
	if (env->local(env->ctx, &at, &id->at)) {
		vb_ucma_id_end(id, 0);
		return NULL;
	}
	id->has_local = true;
	id->is_passive = true;
	if (vb_ucma_is_ib(id->u))
		request_way(id, ev, r);
	id->src = r->src;
	id->dst = r->dst;
	id->space = listener->space;
	id->tos = ev->path.traffic_class & (uint8_t)~VB_ECN_MASK;
	id->state = VB_UCMA_CONNECTING;
	id->listener = listener;
	return id;
}

static void conn_param_fill(struct vb_ucma_conn_param *to, const struct vb_cm_event *ev,
			    const struct request *r)
{
	const struct vb_cm_req *req = &ev->msg.req;

	memcpy(to->private_data, r->user, r->user_len);
	to->private_data_len = (uint8_t)r->user_len;
	to->qp_num = req->qpn;
	to->srq = req->srq;
	/* Seen from here: this side has to take what the peer sends at once. CMP-05 */
	to->responder_resources = req->init_depth;
	to->initiator_depth = req->resp_resources;
	to->flow_control = req->flow_control;
	to->retry_count = req->retry_cnt;
	to->rnr_retry_count = req->rnr_retry;
}

/* The event is the listener's and names the new id; its own begin when it is accepted. */
static bool request_tell(struct vb_ucma_id *listener, struct vb_ucma_id *id,
			 const struct vb_cm_event *ev, const struct request *r)
{
	struct vb_ucma_event *e = vb_ucma_event_add(listener, VB_UCMA_EV_CONNECT_REQUEST, 0);

	if (!e)
		return false;
	e->request = id;
	e->reply.id = id->number;
	if (ev->msg.attr == VB_CM_REQ) {
		conn_param_fill(&e->reply.conn, ev, r);
		e->reply.ece.vendor_id = ev->msg.req.ece_vendor;
		e->reply.ece.attr_mod = ev->msg.attr_mod;
	} else {
		memcpy(e->reply.ud.private_data, r->user, r->user_len);
		e->reply.ud.private_data_len = (uint8_t)r->user_len;
	}
	listener->backlog--;
	return true;
}

static void on_request(struct vb_ucma *u, const struct vb_cm_event *ev, vb_time now)
{
	struct vb_ucma_service *s = ev->listener ? vb_cm_conn_owner(ev->listener) : NULL;
	struct vb_ucma_id *listener, *id;
	struct request r;

	request_read(&r, u, ev);
	listener = s ? listener_of(s, &r) : NULL;
	if (!listener) {
		request_refuse(ev->conn, now);
		return;
	}
	request_view(&r, ev, listener);
	id = listener->backlog > 0 ? request_id(listener, ev, &r) : NULL;
	if (!id) {
		listener->dropped += listener->backlog <= 0;
		/* It counts as lost, and its repetition may find room. CMP-36 */
		if (ev->msg.attr == VB_CM_REQ)
			vb_cm_conn_drop(ev->conn);
		else
			request_refuse(ev->conn, now);
		return;
	}
	vb_cm_conn_set_owner(ev->conn, id);
	id->conn = ev->conn;
	if (!request_tell(listener, id, ev, &r)) {
		id->listener = NULL;
		id->conn = NULL;
		vb_ucma_id_end(id, now);
		vb_cm_conn_drop(ev->conn);
		return;
	}
	if (ev->msg.attr == VB_CM_REQ)
		(void)vb_cm_delay(ev->conn, MRA_TIMEOUT); /* it is in REQ_RCVD */
	vb_ucma_id_assert(id);
	vb_ucma_file_assert(listener->file);
}

/* Private data as the field has it, whatever the peer put there. CMP-45 */
static void private_fill(struct vb_ucma_conn_param *to, const struct vb_cm_msg *m)
{
	uint32_t len = vb_cm_private_len(m->attr);

	memcpy(to->private_data, m->private_data, len);
	to->private_data_len = (uint8_t)len;
}

static void on_rep(struct vb_ucma_id *id, const struct vb_cm_event *ev)
{
	const struct vb_cm_rep *rep = &ev->msg.rep;
	struct vb_ucma_event *e = vb_ucma_event_add(id, VB_UCMA_EV_CONNECT_RESPONSE, 0);

	(void)vb_cm_delay(ev->conn, MRA_TIMEOUT); /* it is in REP_RCVD */
	if (!e)
		return;
	private_fill(&e->reply.conn, &ev->msg);
	e->reply.conn.qp_num = vb_cm_conn_qp(ev->conn)->remote_qpn;
	e->reply.conn.srq = rep->srq;
	e->reply.conn.responder_resources = rep->init_depth;
	e->reply.conn.initiator_depth = rep->resp_resources;
	e->reply.conn.flow_control = rep->flow_control;
	e->reply.conn.rnr_retry_count = rep->rnr_retry;
	e->reply.ece.vendor_id =
	    (uint32_t)rep->ece_high << 16 | (uint32_t)rep->ece_middle << 8 | (uint32_t)rep->ece_low;
	e->reply.ece.attr_mod = ev->msg.attr_mod;
}

static void on_rej(struct vb_ucma_id *id, const struct vb_cm_event *ev)
{
	struct vb_ucma_event *e;

	/* Nobody has refused it: it was being made when the process before ended. CMP-51 */
	if (id->is_resumed) {
		(void)vb_ucma_event_add(id, VB_UCMA_EV_UNREACHABLE, VB_UCMA_ETIMEDOUT);
		return;
	}
	e = vb_ucma_event_add(id, VB_UCMA_EV_REJECTED, ev->msg.rej.reason);
	if (e)
		private_fill(&e->reply.conn, &ev->msg);
}

static void on_sidr_rep(struct vb_ucma_id *id, const struct vb_cm_event *ev)
{
	const struct vb_cm_sidr_rep *rep = &ev->msg.sidr_rep;
	struct vb_path path = vb_ucma_path(id);
	struct vb_ucma_event *e;
	uint32_t len = vb_cm_private_len(VB_CM_SIDR_REP);

	if (rep->status != VB_CM_SIDR_VALID) {
		(void)vb_ucma_event_add(id, VB_UCMA_EV_UNREACHABLE, rep->status);
		return;
	}
	e = vb_ucma_event_add(id, VB_UCMA_EV_ESTABLISHED, 0);
	if (!e)
		return;
	e->reply.ud.qp_num = rep->qpn;
	e->reply.ud.qkey = rep->qkey;
	e->reply.ud.ah = vb_ucma_ah(id, &path);
	memcpy(e->reply.ud.private_data, ev->msg.private_data, len);
	e->reply.ud.private_data_len = (uint8_t)len;
	e->reply.ece.vendor_id = (uint32_t)rep->ece_high << 8 | (uint32_t)rep->ece_low;
	e->reply.ece.attr_mod = ev->msg.attr_mod;
}

/* Once for each connection, whichever side began. CMP-20 */
static void on_disconnect(struct vb_ucma_id *id, int32_t status)
{
	if (id->state != VB_UCMA_CONNECTING)
		return;
	id->state = VB_UCMA_DISCONNECTED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_DISCONNECTED, status);
}

static void on_message(struct vb_ucma_id *id, const struct vb_cm_event *ev)
{
	switch (ev->msg.attr) {
	case VB_CM_REP:
		on_rep(id, ev);
		break;
	case VB_CM_RTU:
		id->is_resumed = false;
		(void)vb_ucma_event_add(id, VB_UCMA_EV_ESTABLISHED, 0);
		break;
	case VB_CM_REJ:
		on_rej(id, ev);
		break;
	case VB_CM_DREQ:
	case VB_CM_DREP:
		on_disconnect(id, 0);
		break;
	case VB_CM_SIDR_REP:
		on_sidr_rep(id, ev);
		break;
	case VB_CM_LAP: /* librdmacm has no event for it, and no call that loads a path */
		(void)vb_cm_answer_alternate(ev->conn, VB_CM_APR_UNSUPPORTED, NULL, NULL);
		break;
	default:
		break;
	}
}

/* Notes how the connection ended, as an event says it. */
static void end_note(struct vb_ucma_id *id, const struct vb_cm_event *ev, vb_time now)
{
	const struct vb_cm_msg *m = &ev->msg;
	bool is_message = ev->kind == VB_CM_EVENT_MESSAGE;

	if (is_message && m->attr == VB_CM_REJ)
		vb_ucma_id_note(id, VB_UCMA_END_REJECTED, m->rej.reason, now);
	else if (is_message && m->attr == VB_CM_DREQ)
		vb_ucma_id_note(id, VB_UCMA_END_PEER, 0, now);
	else if (is_message && m->attr == VB_CM_DREP)
		vb_ucma_id_note(id, VB_UCMA_END_HERE, 0, now);
	else if (is_message && m->attr == VB_CM_SIDR_REP && m->sidr_rep.status != VB_CM_SIDR_VALID)
		vb_ucma_id_note(id, VB_UCMA_END_SIDR_REFUSED, m->sidr_rep.status, now);
	else if (ev->kind == VB_CM_EVENT_UNREACHABLE)
		vb_ucma_id_note(
		    id, m->attr == VB_CM_DREQ ? VB_UCMA_END_UNANSWERED : VB_UCMA_END_UNREACHABLE, 0,
		    now);
}

void vb_ucma_on_event(struct vb_ucma *u, const struct vb_cm_event *ev, vb_time now)
{
	struct vb_ucma_id *id;

	if (ev->kind == VB_CM_EVENT_MESSAGE &&
	    (ev->msg.attr == VB_CM_REQ || ev->msg.attr == VB_CM_SIDR_REQ)) {
		on_request(u, ev, now);
		return;
	}
	id = vb_cm_conn_owner(ev->conn);
	vb_ucma_id_touch(id);
	if (id->state == VB_UCMA_REMOVED)
		return;
	end_note(id, ev, now);
	switch (ev->kind) {
	case VB_CM_EVENT_MESSAGE:
		on_message(id, ev);
		break;
	case VB_CM_EVENT_ESTABLISHED:
		id->is_resumed = false;
		(void)vb_ucma_event_add(id, VB_UCMA_EV_ESTABLISHED, 0);
		break;
	case VB_CM_EVENT_UNREACHABLE:
		if (ev->msg.attr == VB_CM_DREQ)
			on_disconnect(id, VB_UCMA_ETIMEDOUT);
		else
			(void)vb_ucma_event_add(id, VB_UCMA_EV_UNREACHABLE, VB_UCMA_ETIMEDOUT);
		break;
	case VB_CM_EVENT_TIMEWAIT_EXIT:
		if (id->state == VB_UCMA_DISCONNECTED)
			(void)vb_ucma_event_add(id, VB_UCMA_EV_TIMEWAIT_EXIT, 0);
		break;
	default:
		break;
	}
	vb_ucma_id_assert(id);
	vb_ucma_file_assert(id->file);
}
