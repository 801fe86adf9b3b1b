/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connecting, accepting, rejecting and disconnecting, as programs ask for it. CMP-03 to CMP-07,
 * CMP-18, CMP-20, CMP-24, CMP-25, CMP-28, CMP-37
 */
#include "ucma/priv.h"

#include <errno.h>

#define CM_TIMEOUT 20 /* of answers, 4.096 us * 2^n: the value that newer kernels tell. CMP-08 */
#define CM_RETRIES 15
/* IBV_EVENT_COMM_EST and _PATH_MIG. */
enum { EVENT_COMM_EST = 4, EVENT_PATH_MIG = 6 };

/* The private data of a REQ or SIDR_REQ: the IP header, but where the addresses are those of AF_IB,
 * and what the program gave. */
struct request_data {
	uint8_t bytes[VB_CM_PRIVATE_MAX];
	struct vb_cm_private p;
};

static int request_data_make(struct request_data *d, const struct vb_ucma_id *id,
			     const struct vb_ucma_conn_param *param, enum vb_cm_attr attr)
{
	struct vb_ucma_ip_hdr h = {.src = id->src, .dst = id->dst};
	uint32_t head = id->src.family == VB_UCMA_AF_IB ? 0 : VB_UCMA_IP_HDR;

	if (param->private_data_len > vb_cm_private_len(attr) - head)
		return -EINVAL;
	if (head)
		vb_ucma_ip_hdr_emit(&h, d->bytes);
	memcpy(d->bytes + head, param->private_data, param->private_data_len);
	d->p = (struct vb_cm_private){d->bytes, head + param->private_data_len};
	return 0;
}

static enum vb_cm_transport transport_of(const struct vb_ucma_id *id)
{
	switch (id->qp_type) {
	case VB_UCMA_QPT_UC:
		return VB_CM_UC;
	case VB_UCMA_QPT_XRC_INI:
	case VB_UCMA_QPT_XRC_TGT:
		return VB_CM_XRC;
	default:
		return VB_CM_RC;
	}
}

static int send_req(struct vb_ucma_id *id, const struct vb_ucma_connect *b, vb_time now)
{
	const struct vb_ucma_conn_param *param = &b->param;
	struct request_data d;
	struct vb_cm_request r = {
	    .path = vb_ucma_path(id),
	    .service_id = vb_ucma_service_id(id, &id->dst),
	    .ca_guid = id->at.node_guid,
	    .transport = transport_of(id),
	    .qpn = param->qp_num & 0xffffff,
	    .rq_psn = vb_psn(id->psn),
	    .ece_vendor = b->ece.vendor_id & 0xffffff,
	    .ece_options = b->ece.attr_mod,
	    .pkey = vb_ucma_pkey(id),
	    .mtu = vb_ucma_mtu(id),
	    .rate = id->way.rate,
	    .packet_lifetime = vb_ucma_lifetime(id),
	    .responder_resources = param->responder_resources,
	    .initiator_depth = param->initiator_depth,
	    .retry_cnt = param->retry_count,
	    .rnr_retry = param->rnr_retry_count,
	    .cm_timeout = CM_TIMEOUT,
	    .max_cm_retries = CM_RETRIES,
	    .srq = param->srq != 0,
	    .flow_control = param->flow_control != 0,
	};
	int err = request_data_make(&d, id, param, VB_CM_REQ);

	r.private_data = d.p;
	return err ? err : vb_cm_connect(id->conn, &r, now);
}

static int send_sidr_req(struct vb_ucma_id *id, const struct vb_ucma_connect *b, vb_time now)
{
	struct request_data d;
	struct vb_cm_sidr_request r = {
	    .path = vb_ucma_path(id),
	    .service_id = vb_ucma_service_id(id, &id->dst),
	    .pkey = vb_ucma_pkey(id),
	    .cm_timeout = CM_TIMEOUT,
	    .max_cm_retries = CM_RETRIES,
	};
	int err = request_data_make(&d, id, &b->param, VB_CM_SIDR_REQ);

	r.private_data = d.p;
	return err ? err : vb_cm_sidr_request(id->conn, &r, now);
}

int vb_ucma_do_connect(struct vb_ucma_call *c)
{
	const struct vb_ucma_connect *b = c->body;
	struct vb_ucma_id *id = c->id;
	int err;

	if (!b->param.valid)
		return -EINVAL;
	err = vb_cm_conn_create(id->u->cm, id, &id->conn);
	if (err) {
		id->conn = NULL;
		return err;
	}
	id->srq = b->param.srq != 0;
	err =
	    id->qp_type == VB_UCMA_QPT_UD ? send_sidr_req(id, b, c->now) : send_req(id, b, c->now);
	if (err) {
		vb_cm_conn_destroy(id->conn, c->now);
		id->conn = NULL;
		return err;
	}
	id->state = VB_UCMA_CONNECTING;
	return 0;
}

static int send_rep(struct vb_ucma_id *id, const struct vb_ucma_accept *b, vb_time now)
{
	const struct vb_ucma_conn_param *param = &b->param;
	struct vb_cm_reply_param r = {
	    .ca_guid = id->at.node_guid,
	    .qpn = param->qp_num & 0xffffff,
	    .rq_psn = vb_psn(id->psn),
	    .ece_vendor = b->ece.vendor_id & 0xffffff,
	    .ece_options = b->ece.attr_mod,
	    .responder_resources = param->responder_resources,
	    .initiator_depth = param->initiator_depth,
	    .rnr_retry = param->rnr_retry_count,
	    .srq = param->srq != 0,
	    .flow_control = param->flow_control != 0,
	    .private_data = {param->private_data, param->private_data_len},
	};

	return vb_cm_reply(id->conn, &r, now);
}

static int send_sidr_rep(struct vb_ucma_id *id, const struct vb_ucma_accept *b)
{
	struct vb_cm_sidr_reply r = {
	    .status = VB_CM_SIDR_VALID,
	    .qpn = b->param.qp_num & 0xffffff,
	    .qkey = id->qkey,
	    .ece_vendor = b->ece.vendor_id & 0xffffff,
	    .ece_options = b->ece.attr_mod,
	    .private_data = {b->param.private_data, b->param.private_data_len},
	};

	return vb_cm_sidr_reply(id->conn, &r);
}

/* Its events begin with the news that there is no connection any more. CMP-51 */
static int accept_lost(struct vb_ucma_id *id, const struct vb_ucma_accept *b)
{
	id->is_lost = false;
	id->uid = b->uid;
	id->has_uid = true;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_UNREACHABLE, VB_UCMA_ETIMEDOUT);
	return 0;
}

int vb_ucma_do_accept(struct vb_ucma_call *c)
{
	const struct vb_ucma_accept *b = c->body;
	struct vb_ucma_id *id = c->id;
	int err;

	if (!id->conn)
		return -EINVAL;
	if (id->is_lost)
		return accept_lost(id, b);
	if (!b->param.valid) {
		/* After a REP: the QP is ready. */
		return vb_cm_ready(id->conn, NULL) ? -EINVAL : 0;
	}
	if (!id->is_passive)
		return -EINVAL;
	id->srq = b->param.srq != 0;
	err = id->qp_type == VB_UCMA_QPT_UD ? send_sidr_rep(id, b) : send_rep(id, b, c->now);
	if (err)
		return -EINVAL;
	id->uid = b->uid;
	id->has_uid = true;
	return 0;
}

int vb_ucma_do_reject(struct vb_ucma_call *c)
{
	const struct vb_ucma_reject *b = c->body;
	struct vb_cm_private p = {b->private_data, b->private_data_len};
	uint16_t reason = b->reason ? b->reason : VB_CM_REJ_CONSUMER;

	if (!c->id->conn || (reason != VB_CM_REJ_CONSUMER && reason != VB_CM_REJ_VENDOR_OPTION))
		return -EINVAL;
	if (c->id->is_lost)
		return 0; /* the peer has begun again */
	if (c->id->qp_type == VB_UCMA_QPT_UD) {
		struct vb_cm_sidr_reply r = {.status = VB_CM_SIDR_REJECT, .private_data = p};

		if (vb_cm_sidr_reply(c->id->conn, &r))
			return -EINVAL;
		reason = VB_CM_SIDR_REJECT;
	} else if (vb_cm_reject(c->id->conn, reason, NULL, &p, c->now)) {
		return -EINVAL;
	}
	vb_ucma_id_note(c->id, VB_UCMA_END_REJECTED_HERE, reason, c->now);
	return 0;
}

int vb_ucma_do_disconnect(struct vb_ucma_call *c)
{
	if (!c->id->conn)
		return -EINVAL;
	/* The result is ignored: the connection ends, and a second call is right, too. CMP-20 */
	if (c->id->qp_type != VB_UCMA_QPT_UD)
		(void)vb_cm_disconnect(c->id->conn, NULL, c->now);
	return 0;
}

int vb_ucma_do_notify(struct vb_ucma_call *c)
{
	const struct vb_ucma_notify *b = c->body;

	switch (b->event) {
	case EVENT_COMM_EST:
		return c->id->conn ? vb_cm_establish(c->id->conn) : -EINVAL;
	case EVENT_PATH_MIG: /* RoCE has no other path */
		if (!vb_ucma_is_ib(c->id->u))
			return 0;
		return c->id->conn ? vb_cm_migrate(c->id->conn) : -EINVAL;
	default:
		return 0;
	}
}
