/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agents of the nodes at work: requests that arrive are answered and the answer goes back, what
 * they changed takes effect on the links and is told. IBA 14.2; items FAB-14, FAB-23, FAB-28,
 * FAB-35, FAB-49, MAD-08, MAD-22
 */
#include "mgmt/subnet/priv.h"

#include "mgmt/device/baseboard.h"
#include "wire/be.h"
#include "wire/ib/lrh.h"
#include "wire/pkey.h"

#include <string.h>

#define ANSWER_HOP_LIMIT 0xff /* as Linux has it: routers may be on the way back. FAB-06 */

/* Places of a notice's details. FAB-35 */
#define MKEY_DRSLID_AT 4
#define MKEY_METHOD_AT 6
#define MKEY_ATTR_AT 8
#define MKEY_MOD_AT 10
#define MKEY_KEY_AT 14
#define MKEY_HOPS_AT 23
#define MKEY_PATH_AT 24
#define MKEY_PATH_LEN 30
#define MKEY_DIRECTED 0x80
#define MKEY_TRUNCATED 0x40

/* The answer goes to where the question came from, with the P_Key of the port that let it in: that
 * of a full member who asks is not one of a limited member that answers. IBA 10.9.3 */
static void turn_back(struct vb_subnet *s, struct vb_subnet_mad *m)
{
	const uint16_t *pkeys = vb_subnet_sma_port(s, m->at)->pkey;
	uint32_t entry = vb_pkey_entry(pkeys, VB_SUBNET_PKEYS, m->pkey);
	uint16_t lid = m->slid;
	uint32_t qp = m->src_qp;
	uint8_t gid[16];

	if (!m->on_qp0 && entry < VB_SUBNET_PKEYS)
		m->pkey = pkeys[entry];
	m->slid = m->dlid;
	m->dlid = lid;
	m->src_qp = m->dst_qp;
	m->dst_qp = qp;
	memcpy(gid, m->sgid, sizeof gid);
	memcpy(m->sgid, m->dgid, sizeof gid);
	memcpy(m->dgid, gid, sizeof gid);
	m->hop_limit = ANSWER_HOP_LIMIT;
}

/* A directed route back begins where the request was answered. */
static void turn_mad_back(struct vb_subnet *s, struct vb_subnet_mad *m)
{
	struct vb_smp_route r;
	struct vb_mad_hdr h;

	turn_back(s, m);
	vb_mad_hdr_parse(&h, m->mad);
	if (h.mgmt_class != VB_MAD_CLASS_SUBN_DIRECTED)
		return;
	vb_smp_route_parse(&r, m->mad);
	if (r.dr_slid != VB_LID_PERMISSIVE || r.dr_dlid != VB_LID_PERMISSIVE)
		m->slid = vb_subnet_sma_port(s, m->at)->info.lid;
}

static void raise_mkey_trap(struct vb_subnet *s, const struct vb_subnet_mad *m, vb_time now)
{
	struct vb_subnet_node *n = &s->node[m->at.node];
	uint8_t details[VB_TRAP_DETAILS_LEN] = {0};
	struct vb_smp_route r;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, m->mad);
	vb_smp_route_parse(&r, m->mad);
	details[MKEY_METHOD_AT] = h.method;
	be16_put(details + MKEY_ATTR_AT, h.attr_id);
	be32_put(details + MKEY_MOD_AT, h.attr_mod);
	be64_put(details + MKEY_KEY_AT, r.mkey);
	if (h.mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED) {
		uint8_t hops = r.hop_cnt < MKEY_PATH_LEN ? r.hop_cnt : MKEY_PATH_LEN;

		be16_put(details + MKEY_DRSLID_AT, r.dr_slid);
		details[MKEY_HOPS_AT] =
		    (uint8_t)(MKEY_DIRECTED | (hops < r.hop_cnt ? MKEY_TRUNCATED : 0) |
			      (r.hop_cnt & 0x3f));
		memcpy(details + MKEY_PATH_AT, m->mad + 192, hops);
	}
	vb_trap_raise(&n->traps, VB_TRAP_MKEY, details, now);
}

/* The agent's changes, for the links and for the owner of the subnet. */
static void changes_apply(struct vb_subnet *s, const struct vb_subnet_mad *m,
			  const struct vb_sma_result *r, vb_time now)
{
	struct vb_subnet_node *n = &s->node[m->at.node];
	struct vb_subnet_place port = {m->at.node, r->port};

	if (r->changes & VB_SMA_MKEY_TRAP)
		raise_mkey_trap(s, m, now);
	if (r->changes & VB_SMA_TRAIN)
		vb_subnet_link_train(s, port, now);
	else if (r->changes & VB_SMA_STATE)
		vb_subnet_link_changed(s, port, now);
	vb_subnet_changed(s, n, r->changes & ~(uint32_t)(VB_SMA_MKEY_TRAP | VB_SMA_TRAIN));
	vb_subnet_waits(s, n);
}

/* An SMP that the agent of the node serves: SMInfo, traps and answers are for a manager. */
static bool serve_smp(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	struct vb_subnet_node *n = &s->node[m->at.node];
	struct vb_sma_result r;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, m->mad);
	r = vb_sma_handle(&n->sma, m->mad, m->at.port, now);
	if (h.method == VB_MAD_METHOD_SET && r.respond)
		r.changes |= VB_SMA_SET;
	if (h.method == VB_MAD_METHOD_TRAP_REPRESS && !(r.changes & VB_SMA_MKEY_TRAP))
		vb_trap_repress(&n->traps, h.tid);
	changes_apply(s, m, &r, now);
	return r.respond;
}

/* Whether an agent of the node serves the class. That of baseboard management comes after those of
 * programs, see vb_subnet_refuse(). */
static bool class_is_served(const struct vb_subnet_node *n, uint8_t mgmt_class)
{
	return mgmt_class == VB_MAD_CLASS_PERF || mgmt_class == VB_MAD_CLASS_IBCC ||
	       (mgmt_class == VB_MAD_CLASS_DEVICE && n->device.ioc);
}

/* A manager of congestion control has heard a trap; the other agents of QP1 send none. */
static bool is_heard(const struct vb_mad_hdr *h)
{
	return h->mgmt_class == VB_MAD_CLASS_IBCC && h->method == VB_MAD_METHOD_TRAP_REPRESS;
}

static bool serve_congestion(struct vb_subnet *s, struct vb_subnet_mad *m, uint8_t method,
			     vb_time now)
{
	struct vb_subnet_node *n = &s->node[m->at.node];
	struct vb_cca_sender from = {.slid = m->slid, .qpn = m->src_qp};
	bool is_answered;

	if (m->has_grh) {
		from.prefix = be64_get(m->sgid);
		from.guid = be64_get(m->sgid + 8);
	}
	if (method == VB_MAD_METHOD_SET)
		vb_subnet_changed(s, n, VB_SMA_SET);
	is_answered = vb_cca_handle(&n->cca, m->mad, m->at.port, &from, now);
	vb_subnet_waits(s, n);
	return is_answered;
}

/* The node's own agent answers the MAD that has arrived. False: none does; *is_taken: one had it.
 */
static bool serve_mad(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now, bool *is_taken)
{
	struct vb_subnet_node *n = &s->node[m->at.node];
	struct vb_mad_hdr h;
	bool asks, is_answered;

	vb_mad_hdr_parse(&h, m->mad);
	asks = h.method == VB_MAD_METHOD_GET || h.method == VB_MAD_METHOD_SET;
	*is_taken =
	    m->on_qp0
		? h.attr_id != VB_SMP_SM_INFO && (asks || h.method == VB_MAD_METHOD_TRAP_REPRESS)
		: (asks || is_heard(&h)) && m->dst_qp == QP1 && class_is_served(n, h.mgmt_class);
	if (!*is_taken)
		return false;
	if (m->on_qp0)
		return serve_smp(s, m, now);
	if (h.mgmt_class == VB_MAD_CLASS_DEVICE)
		return vb_device_handle(&n->device, m->mad, m->at.port);
	if (s->count)
		s->count(s->count_ctx, m->at.node);
	if (h.mgmt_class == VB_MAD_CLASS_IBCC)
		return serve_congestion(s, m, h.method, now);
	is_answered = vb_pma_handle(&n->pma, m->mad, now);
	vb_subnet_waits(s, n);
	return is_answered;
}

/* The MAD has arrived at m->at. */
static bool serve_arrived(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	bool is_taken;

	if (!serve_mad(s, m, now, &is_taken))
		return !is_taken;
	turn_mad_back(s, m);
	return vb_subnet_carry(s, m, now);
}

bool vb_subnet_send(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	return vb_subnet_carry(s, m, now) && serve_arrived(s, m, now);
}

bool vb_subnet_receive(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	return vb_subnet_enter(s, m, now) && serve_arrived(s, m, now);
}

bool vb_subnet_refuse(struct vb_subnet *s, struct vb_subnet_mad *m)
{
	struct vb_mad_hdr h;
	struct vb_smp_route r;
	bool directed;

	if (!m->on_qp0 && vb_baseboard_handle(m->mad, s->node[m->at.node].cca.resp_time)) {
		turn_back(s, m);
		return true;
	}
	vb_mad_hdr_parse(&h, m->mad);
	if (h.method != VB_MAD_METHOD_GET && h.method != VB_MAD_METHOD_SET)
		return false;
	directed = h.mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED;
	vb_smp_route_parse(&r, m->mad);
	h.method = VB_MAD_METHOD_GET_RESP;
	h.status = VB_MAD_STATUS_UNSUPPORTED;
	vb_mad_hdr_emit(&h, m->mad);
	if (directed) {
		r.returning = true;
		r.status = VB_MAD_STATUS_UNSUPPORTED;
		vb_smp_route_emit(&r, m->mad);
	}
	turn_back(s, m);
	return true;
}
