/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1 of the host: for which user a management datagram is. A REQ or SIDR_REQ is for the user who
 * has its service ID, every other message of the connection manager for the user whose part of the
 * communication IDs it names as the receiver's, a response for the user whose part its TID has. All
 * of that is the sender's word: a user's broker looks at what it gets as if there were no other one
 * before it. IBA 12.9.8, 13.4.6.4; CMP-13, CMP-17, MAD-08, MAD-09
 */
#include "node/carrier/state.h"
#include "node/cm/serve.h"
#include "node/host/clock.h"
#include "node/host/pace.h"
#include "wire/mad/rmpp.h"
#include "wire/mad/vendor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* MADs that are looked at before the others have their turn. */
#define GSI_MAX 64u

static void *gsi_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void gsi_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

int vb_carrier_gsi_open(struct vb_carrier *c)
{
	/* It connects nobody: it answers requests for which there is no listener. */
	struct vb_cm_config cfg = {.conns = 1, .alloc = gsi_alloc, .free = gsi_free};
	int rc;

	if (getrandom(&cfg.seed, sizeof cfg.seed, 0) != (ssize_t)sizeof cfg.seed)
		return -errno;
	rc = vb_cm_create(&c->gsi.cm, &cfg);
	if (!rc)
		rc = vb_carrier_link_open(c, VB_CARRIER_GSI_SOCKET, &c->gsi.link);
	if (!rc)
		rc = vb_carrier_watch(c, c->group.fd[VB_CARRIER_GSI_SOCKET], VB_CARRIER_ON_GSI, 0);
	c->gsi.listen_wait = vb_pace_slowness() * VB_CM_LISTEN_WAIT_NS;
	return rc;
}

void vb_carrier_gsi_close(struct vb_carrier *c)
{
	if (c->gsi.link)
		c->gsi.link->ops->close(c->gsi.link);
	if (c->gsi.cm)
		vb_cm_destroy(c->gsi.cm);
}

/* A MAD that came, and the packet in which it may go on. */
struct arrival {
	struct vb_tx tx;
	struct vb_seg seg;
	const uint8_t *mad;
	uint32_t len;
	struct vb_mad_hdr hdr;
};

/* QP1 takes this alone: a datagram of one packet, from a QP1, with its Q_Key. IBT-19 */
static bool arrival_read(struct arrival *a, const struct vb_rx *rx)
{
	struct vb_hdr h;

	if (!vb_tx_of_rx(rx, &a->tx, &a->seg) ||
	    vb_hdr_parse(&h, rx->pkt, rx->avail, rx->len) != VB_VERDICT_OK ||
	    h.opcode != (VB_TRANSPORT_UD | VB_OP_SEND_ONLY) || h.dqpn != VB_QPN_GSI ||
	    h.deth.qkey != VB_MAD_QKEY || h.deth.sqpn != VB_QPN_GSI || a->seg.len < VB_MAD_LEN)
		return false;
	a->tx.seg = &a->seg;
	a->mad = a->seg.p;
	a->len = a->seg.len;
	vb_mad_hdr_parse(&a->hdr, a->mad);
	return true;
}

static struct vb_carrier_recent *recent_at(struct vb_carrier *c, const struct vb_gid *gid,
					   uint32_t id)
{
	uint64_t hi, lo;

	memcpy(&hi, gid->b, sizeof hi);
	memcpy(&lo, gid->b + 8, sizeof lo);
	hi = vb_siphash(c->secret[0], c->secret[1], hi);
	return &c->gsi.recent[vb_siphash(c->secret[0] ^ hi, c->secret[1] ^ id, lo) %
			      VB_CARRIER_RECENT];
}

/* The request @id of @gid; NULL: it is not known, or too long ago. */
static const struct vb_carrier_recent *recent_find(struct vb_carrier *c, const struct vb_gid *gid,
						   uint32_t id)
{
	const struct vb_carrier_recent *r = recent_at(c, gid, id);

	return r->is_used && r->until > vb_clock_now() && r->id == id && vb_gid_eq(&r->gid, gid)
		   ? r
		   : NULL;
}

static bool is_request(const struct vb_cm_msg *m)
{
	return m->attr == VB_CM_REQ || m->attr == VB_CM_SIDR_REQ;
}

static uint64_t service_of(const struct vb_cm_msg *m)
{
	return m->attr == VB_CM_REQ ? m->req.service_id : m->sidr_req.service_id;
}

/* The user whom a message of the connection manager is for. */
static uint32_t user_of_message(struct vb_carrier *c, const struct vb_path *path,
				const struct vb_cm_msg *m)
{
	uint32_t id = m->attr == VB_CM_SIDR_REP ? m->local_id : m->remote_id, user;
	const struct vb_carrier_recent *r = recent_find(c, &path->sgid, m->local_id);

	/* A repetition, for which there may be no listener any more. A user may send requests with
	 * IDs of others to a service of his own, and does not get those for other services then. */
	if (is_request(m))
		return r && r->service == service_of(m)
			   ? r->user
			   : vb_carrier_claimant(c, VB_CARRIER_SERVICE, service_of(m), &path->dgid);
	/* A sender that gives up, or was never answered, knows no ID of the receiver. CMP-09 */
	if (m->attr == VB_CM_REJ && id == 0)
		return r ? r->user : VB_CARRIER_USERS;
	user = id >> VB_CARRIER_ID_SHIFT;
	return user ? user - 1 : VB_CARRIER_USERS;
}

/* Hands it to the broker of @user, if he has one. */
static void user_give(struct vb_carrier *c, uint32_t user, const struct vb_tx *tx, vb_time now)
{
	if (user < VB_CARRIER_USERS && c->user[user].gsi)
		(void)vb_carrier_put(c, c->user[user].gsi, tx, 1, now);
	else if (user < VB_CARRIER_USERS)
		c->kept->user[user].counts.gsi_dropped++;
	else
		c->gsi.unmatched++;
}

static void request_refuse(struct vb_carrier *c, const struct vb_path *path, const uint8_t *mad,
			   vb_time now)
{
	vb_cm_handle_mad(c->gsi.cm, path, mad, now);
	c->gsi.refused++;
}

static void recent_note(struct vb_carrier *c, const struct vb_path *path, const struct vb_cm_msg *m,
			uint32_t user)
{
	*recent_at(c, &path->sgid, m->local_id) =
	    (struct vb_carrier_recent){.gid = path->sgid,
				       .service = service_of(m),
				       .id = m->local_id,
				       .user = user,
				       .until = vb_clock_now() + VB_CARRIER_RECENT_NS,
				       .is_used = true};
}

/* Nobody has the service yet: a listener may be about to come, src/cm/park. */
static void request_wait(struct vb_carrier *c, const struct arrival *a, const struct vb_cm_msg *m,
			 vb_time now)
{
	const struct vb_path *path = a->tx.path;

	if (vb_cm_park_has(&c->gsi.park, path, m->local_id))
		return;
	if (!vb_cm_park_add(&c->gsi.park, path, m, vb_time_after(now, c->gsi.listen_wait)))
		request_refuse(c, path, a->mad, now);
}

static void message_take(struct vb_carrier *c, const struct arrival *a, vb_time now)
{
	const struct vb_path *path = a->tx.path;
	struct vb_cm_msg m;
	uint32_t user;

	if (a->len != VB_MAD_LEN || vb_cm_msg_parse(&m, a->mad)) {
		c->gsi.bad++;
		return;
	}
	user = user_of_message(c, path, &m);
	if (user < VB_CARRIER_USERS) {
		if (is_request(&m))
			recent_note(c, path, &m, user);
		user_give(c, user, &a->tx, now);
	} else if (is_request(&m)) {
		request_wait(c, a, &m, now);
	} else if (m.attr == VB_CM_DREQ) {
		/* The connection is not there: so its peer's can end. CMP-19 */
		request_refuse(c, path, a->mad, now);
	} else if (m.attr != VB_CM_REJ || !vb_cm_park_forget(&c->gsi.park, path, m.local_id)) {
		c->gsi.unmatched++;
	}
}

/* The user of a request of another class; VB_CARRIER_USERS: it is the host's to answer. */
static uint32_t user_of_request(struct vb_carrier *c, const struct arrival *a)
{
	static const struct vb_gid any;
	struct vb_vendor_msg m;
	uint32_t oui = vb_mad_class_has_oui(a->hdr.mgmt_class) ? vb_mad_oui(a->mad) : 0, slot;

	if (a->hdr.mgmt_class != VB_MAD_CLASS_VERBENA)
		return vb_carrier_claimant(c, VB_CARRIER_CLASS,
					   vb_carrier_class_key(a->hdr.mgmt_class,
								a->hdr.class_version, a->hdr.method,
								oui),
					   &any);
	if (vb_vendor_parse(&m, a->mad) || m.attr != VB_VENDOR_QP)
		return VB_CARRIER_USERS;
	slot = vb_slot_of_qpn(m.qp.qpn);
	if (slot < VB_SLOT_WIDE)
		return VB_CARRIER_USERS;
	/* His broker tells of QPs of programs that have ended, too. */
	slot = c->kept->byte_user[vb_carrier_byte_of(slot)];
	return slot && c->user[slot - 1].gsi ? slot - 1 : VB_CARRIER_USERS;
}

static void other_take(struct vb_carrier *c, const struct arrival *a, vb_time now)
{
	uint32_t user = (uint8_t)(a->hdr.tid >> VB_CARRIER_TID_SHIFT);
	uint8_t answer[VB_MAD_LEN];
	struct vb_path back;

	if (vb_mad_is_response(&a->hdr)) {
		user_give(c, user ? user - 1 : VB_CARRIER_USERS, &a->tx, now);
		return;
	}
	user = user_of_request(c, a);
	if (user < VB_CARRIER_USERS) {
		user_give(c, user, &a->tx, now);
	} else if (a->len % 4 == 0 &&
		   vb_agent_answer(&c->gsi.agent, &c->slots, a->tx.path, a->mad, now, answer)) {
		back = vb_path_back(a->tx.path);
		vb_carrier_mad_send(c, &back, answer, a->len);
		c->gsi.answered++;
	} else {
		c->gsi.unmatched++;
	}
}

static void answers_send(struct vb_carrier *c)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_path path;
	uint16_t pkey; /* RoCE has one partition for QP1. IBA A17.9 */

	while (vb_cm_poll_transmit(c->gsi.cm, &path, &pkey, mad))
		vb_carrier_mad_send(c, &path, mad, VB_MAD_LEN);
}

void vb_carrier_gsi_packets(struct vb_carrier *c)
{
	static struct vb_rx rx[GSI_MAX];
	vb_time now = vb_clock_now();
	uint32_t cnt = c->gsi.link->ops->recv(c->gsi.link, rx, GSI_MAX, now);
	struct arrival a;

	c->gsi.has_more = !vb_link_is_emptied(c->gsi.link);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!arrival_read(&a, &rx[i]))
			c->gsi.bad++;
		else if (a.hdr.mgmt_class == VB_MAD_CLASS_CM && a.hdr.method == VB_MAD_METHOD_SEND)
			message_take(c, &a, now);
		else
			other_take(c, &a, now);
	}
	answers_send(c);
}

void vb_carrier_gsi_hear(struct vb_carrier *c, uint64_t service_id)
{
	vb_cm_park_hear(&c->gsi.park, service_id);
}

/* A request that has waited, as a packet again. */
static void waiting_give(struct vb_carrier *c, const struct vb_cm_parked *p, uint32_t user,
			 const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	const struct vb_seg seg = {mad, VB_MAD_LEN};
	struct vb_tx tx;

	vb_carrier_mad_frame(&tx, &p->path, &seg, 1);
	recent_note(c, &p->path, &p->msg, user);
	user_give(c, user, &tx, now);
}

void vb_carrier_gsi_timeouts(struct vb_carrier *c, vb_time now)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_cm_parked p;
	uint32_t user;

	while (vb_cm_park_take(&c->gsi.park, &p, now)) {
		vb_cm_msg_emit(&p.msg, mad);
		user = user_of_message(c, &p.path, &p.msg);
		if (user < VB_CARRIER_USERS)
			waiting_give(c, &p, user, mad, now);
		else
			request_refuse(c, &p.path, mad, now);
	}
	answers_send(c);
}

vb_time vb_carrier_gsi_due(const struct vb_carrier *c)
{
	return vb_cm_park_due(&c->gsi.park);
}
