/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alternate paths of connections: as REQ and LAP describe them, and the LAP and the APR by which
 * the two ends of an established connection agree on another one. There are none on RoCE, where
 * both messages are dropped. IBA 12.8, 12.9.8.7; CMP-26
 */
#include "base/assert.h"
#include "cm/priv.h"
#include "wire/ib/lrh.h"

#include <errno.h>
#include <string.h>

bool vb_cm_gid_is_usable(const struct vb_cm *cm, const struct vb_path *came,
			 const struct vb_gid *gid)
{
	if (cm->cfg.gid_is_local)
		return cm->cfg.gid_is_local(cm->cfg.gid_ctx, gid);
	return vb_gid_eq(gid, &came->dgid);
}

/* A port has it: it is not a group's, nor one that every port takes. IBA 4.1.1 */
static bool lid_is_port(uint16_t lid)
{
	return lid && lid < VB_LID_MULTICAST;
}

bool vb_cm_route_has_lids(const struct vb_cm_route *r)
{
	return lid_is_port(r->local_lid) && lid_is_port(r->remote_lid);
}

uint8_t vb_cm_ack_timeout(uint8_t ack_delay, uint8_t lifetime)
{
	/* Twice the lifetime of a packet, and the larger of both once more unless it is far larger.
	 */
	int t = lifetime + 1;

	if (t >= ack_delay)
		t += ack_delay >= t - 1;
	else
		t = ack_delay + (t >= ack_delay - 1);
	return (uint8_t)(t > 31 ? 31 : t);
}

struct vb_cm_route vb_cm_route_of(const struct vb_path *p, uint8_t rate, uint8_t ack_timeout)
{
	/* Over RoCE and through routers LIDs mean nothing at the other end. CMP-03 */
	bool routed = p->hop_limit > 1;

	return (struct vb_cm_route){.local_gid = p->sgid,
				    .remote_gid = p->dgid,
				    .local_lid = routed ? 0xffff : p->slid,
				    .remote_lid = routed ? 0xffff : p->dlid,
				    .flow_label = p->flow_label,
				    .rate = rate,
				    .traffic_class = p->traffic_class,
				    .hop_limit = p->hop_limit,
				    .sl = p->sl,
				    .subnet_local = !routed,
				    .ack_timeout = ack_timeout};
}

struct vb_cm_alt vb_cm_alt_of(const struct vb_cm_route *r, const struct vb_path *came)
{
	return (struct vb_cm_alt){.path = {.sgid = r->remote_gid,
					   .dgid = r->local_gid,
					   .flow_label = r->flow_label,
					   .slid = r->remote_lid,
					   .dlid = r->local_lid,
					   .port = came->port,
					   .sl = r->sl,
					   .traffic_class = r->traffic_class,
					   .hop_limit = r->hop_limit},
				  .rate = r->rate,
				  .ack_timeout = r->ack_timeout};
}

static bool lap_is_idle(const struct vb_cm_conn *c)
{
	return c->state == VB_CM_STATE_ESTABLISHED &&
	       (c->lap == VB_CM_LAP_UNINIT || c->lap == VB_CM_LAP_IDLE);
}

int vb_cm_load_alternate(struct vb_cm_conn *c, const struct vb_cm_alternate *a, vb_time now)
{
	struct vb_cm_msg m = {.attr = VB_CM_LAP,
			      .tid = (uint64_t)c->cm->cfg.hi_tid << 32 | c->local_id,
			      .local_id = c->local_id,
			      .remote_id = c->remote_id};

	if (!lap_is_idle(c) || !vb_path_has_lid(&c->qp.path) || !vb_path_has_lid(&a->path) ||
	    a->cm_timeout > 31 || vb_cm_private_put(&m, &a->private_data))
		return -EINVAL;
	c->lap_alt = (struct vb_cm_alt){
	    .path = a->path,
	    .rate = a->rate,
	    .ack_timeout = vb_cm_ack_timeout(c->cm->cfg.ack_delay, a->packet_lifetime)};
	m.lap = (struct vb_cm_lap){.remote_qpn = c->qp.remote_qpn,
				   .remote_cm_timeout = a->cm_timeout,
				   .alternate =
				       vb_cm_route_of(&a->path, a->rate, c->lap_alt.ack_timeout)};
	c->lap = VB_CM_LAP_SENT;
	vb_cm_send_request(c, &m, now);
	return 0;
}

static void apr_send(struct vb_cm_conn *c, uint8_t status, const struct vb_cm_private *info,
		     const struct vb_cm_private *p)
{
	struct vb_cm_msg m = {.attr = VB_CM_APR,
			      .tid = c->lap_tid,
			      .local_id = c->local_id,
			      .remote_id = c->remote_id,
			      .apr.status = status};
	int err = vb_cm_private_put(&m, p);

	assert(!err);
	(void)err;
	if (info && info->len) {
		assert(info->len <= VB_CM_INFO_LEN);
		m.apr.info_len = (uint8_t)info->len;
		memcpy(m.apr.info, info->data, info->len);
	}
	vb_cm_send_answer(c, &m);
}

int vb_cm_answer_alternate(struct vb_cm_conn *c, uint8_t status, const struct vb_cm_private *info,
			   const struct vb_cm_private *p)
{
	if ((c->lap != VB_CM_LAP_RCVD && c->lap != VB_CM_LAP_MRA_SENT) ||
	    (info && info->len > VB_CM_INFO_LEN) || (p && p->len > vb_cm_private_len(VB_CM_APR)))
		return -EINVAL;
	if (status == VB_CM_APR_LOADED)
		c->qp.alt = c->lap_alt;
	c->lap = VB_CM_LAP_IDLE;
	apr_send(c, status, info, p);
	return 0;
}

/* The status that refuses a LAP, whatever the consumer says of it. IBA 12.8.2 */
static enum vb_cm_apr_status lap_refusal(const struct vb_cm_conn *c, const struct vb_path *path,
					 const struct vb_cm_lap *lap)
{
	const struct vb_cm_route *r = &lap->alternate;
	struct vb_cm_alt alt = vb_cm_alt_of(r, path);
	static const struct vb_gid none = {{0}};

	if (lap->remote_qpn != c->qp.local_qpn)
		return VB_CM_APR_INVALID_QPN;
	if (!vb_gid_eq(&r->remote_gid, &none) && !vb_cm_gid_is_usable(c->cm, path, &r->remote_gid))
		return VB_CM_APR_INVALID_GID;
	if (!vb_cm_route_has_lids(r) || !r->subnet_local)
		return VB_CM_APR_INVALID_LID;
	if (alt.path.slid == c->qp.path.slid && alt.path.dlid == c->qp.path.dlid &&
	    alt.path.sl == c->qp.path.sl)
		return VB_CM_APR_IS_CURRENT;
	return VB_CM_APR_LOADED;
}

/*
 * The same LAP again: its answer was lost, or is not there yet. All LAPs of a connection may have
 * one transaction ID, so the path tells which LAP was answered. The consumer is asked again about a
 * LAP that it refused.
 */
static bool lap_is_duplicate(struct vb_cm_conn *c, const struct vb_path *path,
			     const struct vb_cm_msg *m)
{
	struct vb_cm_alt alt = vb_cm_alt_of(&m->lap.alternate, path);

	switch (c->lap) {
	case VB_CM_LAP_RCVD:
		return true;
	case VB_CM_LAP_MRA_SENT:
		vb_cm_answer_again(c);
		return true;
	case VB_CM_LAP_IDLE:
		if (c->answer_attr != VB_CM_APR || c->lap_tid != m->tid ||
		    !vb_path_has_lid(&alt.path) || !vb_path_same_ends(&alt.path, &c->qp.alt.path))
			return false;
		vb_cm_answer_again(c);
		return true;
	default:
		return false;
	}
}

void vb_cm_on_lap(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m)
{
	enum vb_cm_apr_status refusal;

	if (!vb_path_has_lid(path) || c->state != VB_CM_STATE_ESTABLISHED ||
	    vb_cm_waits_for_apr(c)) {
		c->cm->cnt.rx_unmatched++;
		return;
	}
	VB_ASSERT_ALL(!c->is_orphan); /* given up, it would have left ESTABLISHED */
	if (lap_is_duplicate(c, path, m)) {
		vb_cm_duplicate(c, VB_CM_LAP);
		return;
	}
	refusal = lap_refusal(c, path, &m->lap);
	if (refusal == VB_CM_APR_LOADED && vb_cm_event_message(c, NULL, path, m))
		return;
	c->lap_tid = m->tid;
	c->lap_alt = vb_cm_alt_of(&m->lap.alternate, path);
	c->lap = VB_CM_LAP_RCVD;
	if (refusal != VB_CM_APR_LOADED) {
		c->lap = VB_CM_LAP_IDLE;
		apr_send(c, (uint8_t)refusal, NULL, NULL);
	}
}

void vb_cm_on_apr(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m)
{
	if (!vb_path_has_lid(path) || !vb_cm_waits_for_apr(c)) {
		c->cm->cnt.rx_unmatched++;
		return;
	}
	if (vb_cm_event_message(c, NULL, path, m))
		return;
	vb_cm_stop_request(c);
	c->lap = VB_CM_LAP_IDLE;
	if (m->apr.status == VB_CM_APR_LOADED)
		c->qp.alt = c->lap_alt;
}

int vb_cm_migrate(struct vb_cm_conn *c)
{
	struct vb_cm_qp *qp = &c->qp;
	struct vb_cm_alt old = {.path = qp->path, .rate = qp->rate, .ack_timeout = qp->ack_timeout};

	if (!lap_is_idle(c) || !vb_path_has_lid(&qp->alt.path))
		return -EINVAL;
	qp->path = qp->alt.path;
	qp->rate = qp->alt.rate;
	qp->ack_timeout = qp->alt.ack_timeout;
	qp->alt = old;
	c->lap = VB_CM_LAP_IDLE;
	return 0;
}

bool vb_cm_conn_has_lap(const struct vb_cm_conn *c)
{
	return c->lap != VB_CM_LAP_UNINIT;
}
