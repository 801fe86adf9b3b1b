/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of programs about an id: its addresses, its path, and the attributes of its QP in each
 * state. CMP-32, CMP-41 to CMP-43; IBA 15.2.5.16 */
#include "base/assert.h"
#include "ucma/priv.h"
#include "wire/be.h"

#include <errno.h>

/* Of enum ibv_qp_attr_mask and ibv_access_flags; src/verbs/abi_check.c has the same numbers. */
enum {
	MASK_STATE = 1 << 0,
	MASK_ACCESS = 1 << 3,
	MASK_PKEY_INDEX = 1 << 4,
	MASK_PORT = 1 << 5,
	MASK_QKEY = 1 << 6,
	MASK_AV = 1 << 7,
	MASK_PATH_MTU = 1 << 8,
	MASK_TIMEOUT = 1 << 9,
	MASK_RETRY_CNT = 1 << 10,
	MASK_RNR_RETRY = 1 << 11,
	MASK_RQ_PSN = 1 << 12,
	MASK_MAX_RD_ATOMIC = 1 << 13,
	MASK_ALT_PATH = 1 << 14,
	MASK_MIN_RNR_TIMER = 1 << 15,
	MASK_SQ_PSN = 1 << 16,
	MASK_MAX_DEST_RD_ATOMIC = 1 << 17,
	MASK_PATH_MIG_STATE = 1 << 18,
	MASK_DEST_QPN = 1 << 20,
};
enum { STATE_INIT = 1, STATE_RTR, STATE_RTS, STATE_ERR = 6 };
enum { MIG_REARM = 1 };
enum { ACCESS_REMOTE_WRITE = 2, ACCESS_REMOTE_READ = 4, ACCESS_REMOTE_ATOMIC = 8 };

static uint64_t guid_bytes(const struct vb_ucma_id *id)
{
	uint8_t b[8];
	uint64_t v;

	be64_put(b, id->has_local ? id->at.node_guid : 0);
	memcpy(&v, b, sizeof v);
	return v;
}

static uint16_t be16_of(uint16_t v)
{
	uint8_t b[2];

	be16_put(b, v);
	memcpy(&v, b, sizeof v);
	return v;
}

static uint32_t be32_of(uint32_t v)
{
	uint8_t b[4];

	be32_put(b, v);
	memcpy(&v, b, sizeof v);
	return v;
}

/* There is one path, from the resolved route on. */
static bool has_path(const struct vb_ucma_id *id)
{
	return id->has_local &&
	       (id->state & (VB_UCMA_ROUTE_RESOLVED | VB_UCMA_CONNECTING | VB_UCMA_DISCONNECTED));
}

int vb_ucma_do_query_route(struct vb_ucma_call *c)
{
	const struct vb_ucma_id *id = c->id;
	struct vb_ucma_route_reply *r = (void *)c->reply;
	struct vb_ucma_user_path *p = &r->path[0];
	struct vb_sa_path path;

	(void)vb_ucma_addr_emit(&id->src, r->src, sizeof r->src);
	(void)vb_ucma_addr_emit(&id->dst, r->dst, sizeof r->dst);
	if (!id->has_local)
		return 0;
	r->node_guid = guid_bytes(id);
	r->port_num = vb_ucma_port_num(id);
	r->device_index = id->at.device_index;
	path = vb_ucma_path_record(id);
	memcpy(p->sgid, path.sgid.b, sizeof p->sgid);
	memcpy(p->dgid, path.dgid.b, sizeof p->dgid);
	p->pkey = be16_of(path.pkey);
	if (!has_path(id))
		return 0;
	r->num_paths = 1;
	p->dlid = be16_of(path.dlid);
	p->slid = be16_of(path.slid);
	p->flow_label = be32_of(path.flow_label);
	p->reversible = path.reversible;
	p->mtu = path.mtu;
	p->hop_limit = path.hop_limit;
	p->traffic_class = path.traffic_class;
	p->sl = path.sl;
	p->mtu_selector = p->rate_selector = p->packet_life_time_selector = VB_SA_EXACTLY;
	p->rate = path.rate;
	p->packet_life_time = path.lifetime;
	return 0;
}

static void query_addr(const struct vb_ucma_id *id, struct vb_ucma_addr_reply *r)
{
	r->node_guid = guid_bytes(id);
	r->port_num = id->has_local ? vb_ucma_port_num(id) : 0;
	r->pkey = id->has_local ? be16_of(vb_ucma_pkey(id)) : 0;
	r->device_index = id->has_local ? id->at.device_index : 0;
	r->src_size = vb_ucma_addr_emit(&id->src, r->src, sizeof r->src);
	r->dst_size = vb_ucma_addr_emit(&id->dst, r->dst, sizeof r->dst);
}

/* A PathRecord as it stands in a MAD. */
static void query_path(const struct vb_ucma_id *id, struct vb_ucma_path_reply *r)
{
	struct vb_sa_path path = vb_ucma_path_record(id);

	if (!has_path(id))
		return;
	r->num_paths = 1;
	r->path.flags = VB_UCMA_PATH_FLAGS;
	vb_sa_path_emit(&path, r->path.record);
}

/* An address by its GID, as struct sockaddr_ib. */
static uint16_t emit_gid(const struct vb_ucma_id *id, const struct vb_ucma_addr *a,
			 const struct vb_gid *g, uint8_t *bytes, uint32_t room)
{
	struct vb_ucma_addr ib = {.family = VB_UCMA_AF_IB,
				  .gid = *g,
				  .pkey = VB_UCMA_PKEY_DEFAULT,
				  .sid = vb_ucma_service_id(id, a),
				  .sid_mask = UINT64_MAX};

	return vb_ucma_addr_emit(a->family == VB_UCMA_AF_IB ? a : &ib, bytes, room);
}

static void query_gid(const struct vb_ucma_id *id, struct vb_ucma_addr_reply *r)
{
	const struct vb_gid *peer = vb_ucma_is_ib(id->u) ? &id->way.path.dgid : &id->dst.gid;

	query_addr(id, r);
	r->src_size = emit_gid(id, &id->src, &id->at.gid, r->src, sizeof r->src);
	r->dst_size = emit_gid(id, &id->dst, peer, r->dst, sizeof r->dst);
}

/* How long the shortest reply is depends on what is asked for. CMP-32 */
int vb_ucma_do_query(struct vb_ucma_call *c)
{
	const struct vb_ucma_query *q = c->body;

	switch (q->option) {
	case VB_UCMA_QUERY_ADDR:
	case VB_UCMA_QUERY_GID:
		if (c->room < offsetof(struct vb_ucma_addr_reply, device_index))
			return -ENOSPC;
		c->reply_len = sizeof(struct vb_ucma_addr_reply);
		if (q->option == VB_UCMA_QUERY_ADDR)
			query_addr(c->id, (void *)c->reply);
		else
			query_gid(c->id, (void *)c->reply);
		return 0;
	case VB_UCMA_QUERY_PATH:
		if (c->room < offsetof(struct vb_ucma_path_reply, path))
			return -ENOSPC;
		c->reply_len = sizeof(struct vb_ucma_path_reply);
		query_path(c->id, (void *)c->reply);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Before there is a connection, and for UD. CMP-41 */
static void attr_alone(const struct vb_ucma_id *id, struct vb_ucma_qp_attr *a)
{
	a->mask = MASK_STATE | MASK_PKEY_INDEX | MASK_PORT;
	if (id->qp_type == VB_UCMA_QPT_UD) {
		a->mask |= MASK_QKEY;
		a->qkey = id->qkey;
	} else {
		a->mask |= MASK_ACCESS;
	}
}

static void attr_init(const struct vb_cm_qp *qp, struct vb_ucma_qp_attr *a)
{
	a->mask = MASK_STATE | MASK_ACCESS | MASK_PKEY_INDEX | MASK_PORT;
	a->access = ACCESS_REMOTE_WRITE;
	if (qp->responder_resources)
		a->access |= ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;
}

/* The port of the id's device that has @lid. False: none has it. */
static bool port_of_lid(const struct vb_ucma_id *id, uint16_t lid, struct vb_ucma_ib_port *out)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;

	for (uint8_t n = 1; n < UINT8_MAX; n++)
		if (env->ib_port(env->ctx, n, out) == 0 && out->lid &&
		    (lid ^ out->lid) >> out->lmc == 0)
			return true;
	return false;
}

/* The alternate path, where the two ends have agreed on one that begins at a port of the device.
 * False: there is none. CMP-26 */
static bool attr_alternate(const struct vb_ucma_id *id, const struct vb_cm_alt *alt,
			   struct vb_ucma_qp_attr *a)
{
	struct vb_ucma_ib_port port;

	if (!vb_ucma_is_ib(id->u) || !vb_path_has_lid(&alt->path) ||
	    !port_of_lid(id, alt->path.slid, &port))
		return false;
	VB_ASSERT_ALL(port.lid != 0 && port.lmc <= 7 && port.local.hca_port != 0);
	a->mask |= MASK_ALT_PATH;
	a->alt_ah = vb_ucma_ah(id, &alt->path);
	a->alt_ah.sgid_index = (uint8_t)port.local.gid_index;
	a->alt_ah.src_path_bits = (uint8_t)(alt->path.slid & ((1u << port.lmc) - 1));
	a->alt_ah.static_rate = alt->rate;
	a->alt_ah.port_num = a->alt_port_num = port.local.hca_port;
	a->alt_pkey_index = vb_ucma_pkey_index_at(&port, vb_ucma_pkey(id));
	a->alt_timeout = id->ack_timeout_set ? id->ack_timeout : alt->ack_timeout;
	return true;
}

static void attr_rtr(const struct vb_ucma_id *id, const struct vb_cm_qp *qp,
		     struct vb_ucma_qp_attr *a)
{
	a->mask = MASK_STATE | MASK_AV | MASK_PATH_MTU | MASK_DEST_QPN | MASK_RQ_PSN;
	a->ah = vb_ucma_ah(id, &qp->path);
	a->path_mtu = qp->mtu < id->at.mtu ? qp->mtu : id->at.mtu;
	a->dest_qp_num = qp->remote_qpn;
	a->rq_psn = id->psn;
	if (id->qp_type == VB_UCMA_QPT_RC || id->qp_type == VB_UCMA_QPT_XRC_TGT) {
		a->mask |= MASK_MAX_DEST_RD_ATOMIC | MASK_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = qp->responder_resources;
	}
	(void)attr_alternate(id, &qp->alt, a);
}

/* The QP has got its alternate path on the way to RTR, and is to be armed; one that was in RTS when
 * its two ends agreed on another one gets that. CMP-26 */
static void attr_migration(const struct vb_ucma_id *id, const struct vb_cm_qp *qp,
			   struct vb_ucma_qp_attr *a)
{
	struct vb_ucma_qp_attr alternate = *a;

	if (!attr_alternate(id, &qp->alt, &alternate))
		return;
	if (vb_cm_conn_has_lap(id->conn)) {
		*a = alternate;
		a->mask = MASK_ALT_PATH;
	}
	a->mask |= MASK_PATH_MIG_STATE;
	a->path_mig_state = MIG_REARM;
}

static void attr_rts(const struct vb_ucma_id *id, const struct vb_cm_qp *qp,
		     struct vb_ucma_qp_attr *a)
{
	a->mask = MASK_STATE | MASK_SQ_PSN;
	a->sq_psn = qp->sq_psn.v;
	if (id->qp_type == VB_UCMA_QPT_RC || id->qp_type == VB_UCMA_QPT_XRC_INI) {
		a->mask |= MASK_RETRY_CNT | MASK_RNR_RETRY | MASK_MAX_RD_ATOMIC;
		a->retry_cnt = qp->retry_cnt;
		a->rnr_retry = qp->rnr_retry;
		a->max_rd_atomic = qp->initiator_depth;
	}
	if (id->qp_type != VB_UCMA_QPT_UC) {
		a->mask |= MASK_TIMEOUT;
		a->timeout = id->ack_timeout_set ? id->ack_timeout : qp->ack_timeout;
	}
	attr_migration(id, qp, a);
}

/* The peer's QP is known from its REQ or REP on, and to the active side no earlier. CMP-42 */
static bool knows_peer(const struct vb_ucma_id *id)
{
	switch (vb_cm_conn_state(id->conn)) {
	case VB_CM_STATE_IDLE:
		return id->is_lost;
	case VB_CM_STATE_LISTEN:
	case VB_CM_STATE_REQ_SENT:
	case VB_CM_STATE_MRA_REQ_RCVD:
		return false;
	default:
		return true;
	}
}

int vb_ucma_do_init_qp_attr(struct vb_ucma_call *c)
{
	const struct vb_ucma_init_qp_attr *b = c->body;
	const struct vb_ucma_id *id = c->id;
	struct vb_ucma_qp_attr *a = (void *)c->reply;

	if (b->qp_state > STATE_ERR || !id->has_local)
		return -EINVAL;
	a->qp_state = b->qp_state;
	a->port_num = vb_ucma_port_num(id);
	a->pkey_index = vb_ucma_pkey_index(id);
	if (!id->conn || id->qp_type == VB_UCMA_QPT_UD) {
		attr_alone(id, a);
		return 0;
	}
	const struct vb_cm_qp *qp = vb_cm_conn_qp(id->conn);

	if (b->qp_state == STATE_INIT) {
		attr_init(qp, a);
		return 0;
	}
	if (!knows_peer(id))
		return -EINVAL;
	switch (b->qp_state) {
	case STATE_RTR:
		attr_rtr(id, qp, a);
		return 0;
	case STATE_RTS:
		attr_rts(id, qp, a);
		return 0;
	default:
		return -EINVAL;
	}
}
