/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P_Keys and Q_Keys of management packets on their way, and the traps of those that do not fit, of
 * data as well. IBA 10.2.5, 10.9, 14.3.8; items FAB-36 to FAB-38, LNK-37
 */
#include "mgmt/subnet/priv.h"

#include "wire/be.h"
#include "wire/pkey.h"

#include <string.h>

#define SL_SHIFT 28

/* Places of the details of traps 257 and 258, and of 259. FAB-36 */
enum { SLID_AT = 2, DLID_AT = 4, KEY_AT = 6 };
enum { QP1_AT = 10, QP2_AT = 14, SGID_AT = 18, DGID_AT = 34 };
enum {
	SWITCH_QP1_AT = 8,
	SWITCH_QP2_AT = 12,
	SWITCH_SGID_AT = 16,
	SWITCH_DGID_AT = 32,
	PORT_AT = 50
};
/* DataValid of 259: LIDs, P_Key and SL; QPs; GIDs. */
enum { VALID_ALWAYS = 0x0f, VALID_QPS = 0x30, VALID_GIDS = 0xc0 };

static void end_details(uint8_t *d, const struct vb_subnet_bad_key *k)
{
	be32_put(d + KEY_AT, k->key);
	be32_put(d + QP1_AT, (uint32_t)k->sl << SL_SHIFT | k->src_qp);
	be32_put(d + QP2_AT, k->dst_qp);
	memcpy(d + SGID_AT, k->sgid, sizeof k->sgid);
	memcpy(d + DGID_AT, k->dgid, sizeof k->dgid);
}

static void switch_details(uint8_t *d, const struct vb_subnet_bad_key *k, uint8_t port)
{
	be16_put(d, (uint16_t)(VALID_ALWAYS | (k->has_qps ? VALID_QPS : 0) |
			       (k->has_grh ? VALID_GIDS : 0)));
	be16_put(d + KEY_AT, (uint16_t)k->key);
	be32_put(d + SWITCH_QP1_AT, (uint32_t)k->sl << SL_SHIFT | k->src_qp);
	be32_put(d + SWITCH_QP2_AT, k->dst_qp);
	memcpy(d + SWITCH_SGID_AT, k->sgid, sizeof k->sgid);
	memcpy(d + SWITCH_DGID_AT, k->dgid, sizeof k->dgid);
	d[PORT_AT] = port;
}

void vb_subnet_bad_key(struct vb_subnet *s, struct vb_subnet_place at, uint16_t trap,
		       const struct vb_subnet_bad_key *k, vb_time now)
{
	struct vb_subnet_node *n = &s->node[at.node];
	uint8_t details[VB_TRAP_DETAILS_LEN] = {0};

	be16_put(details + SLID_AT, k->slid);
	be16_put(details + DLID_AT, k->dlid);
	if (trap == VB_TRAP_SWITCH_PKEY)
		switch_details(details, k, at.port);
	else
		end_details(details, k);
	vb_trap_raise(&n->traps, trap, details, now);
	vb_subnet_waits(s, n);
}

static void raise_for_mad(struct vb_subnet *s, const struct vb_subnet_mad *m,
			  struct vb_subnet_place at, uint16_t trap, vb_time now)
{
	struct vb_subnet_bad_key k = {.slid = m->slid,
				      .dlid = m->dlid,
				      .key = trap == VB_TRAP_QKEY ? m->qkey : m->pkey,
				      .sl = m->sl,
				      .src_qp = m->src_qp,
				      .dst_qp = m->dst_qp,
				      .has_qps = true,
				      .has_grh = m->has_grh};

	if (m->has_grh) {
		memcpy(k.sgid, m->sgid, sizeof k.sgid);
		memcpy(k.dgid, m->dgid, sizeof k.dgid);
	}
	vb_subnet_bad_key(s, at, trap, &k, now);
}

bool vb_subnet_bars(struct vb_subnet *s, const struct vb_subnet_mad *m, struct vb_subnet_place at,
		    bool is_out, vb_time now)
{
	const struct vb_sma_port *p = vb_subnet_sma_port(s, at);
	struct vb_pma_port *c = &s->node[at.node].pma.port[at.port];

	if (m->on_qp0 || !vb_subnet_is_switch(s, at.node) ||
	    !(is_out ? p->info.enforce_out : p->info.enforce_in) ||
	    (is_out ? vb_pkey_passes : vb_pkey_is_member)(p->pkey, VB_SUBNET_PKEYS, m->pkey))
		return false;
	*(is_out ? &c->xmit_constraint_errors : &c->rcv_constraint_errors) += 1;
	raise_for_mad(s, m, at, VB_TRAP_SWITCH_PKEY, now);
	return true;
}

/* It stays at its end. IBA 14.2.5.6 */
static void violation_count(uint16_t *cnt)
{
	*cnt += *cnt < UINT16_MAX;
}

bool vb_subnet_keys_fit(struct vb_subnet *s, const struct vb_subnet_mad *m, vb_time now)
{
	struct vb_sma_port *p = vb_subnet_sma_port(s, m->at);

	if (m->on_qp0 || m->dst_qp != QP1)
		return true;
	if (!vb_pkey_passes(p->pkey, VB_SUBNET_PKEYS, m->pkey)) {
		violation_count(&p->info.pkey_violations);
		raise_for_mad(s, m, m->at, VB_TRAP_PKEY, now);
		return false;
	}
	if (m->qkey != VB_MAD_QKEY) {
		violation_count(&p->info.qkey_violations);
		raise_for_mad(s, m, m->at, VB_TRAP_QKEY, now);
		return false;
	}
	return true;
}
