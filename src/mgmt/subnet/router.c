/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routers of a fabric for its management packets: wire/ib/hop.h decides, by the prefixes, GUIDs
 * and LIDs that the subnet managers have set. A packet without a GRH is for the router's own QP1:
 * its subnet manager and the programs there ask it by LID. IBA 19; items FAB-06, FAB-07
 */
#include "mgmt/subnet/priv.h"

#include <string.h>

static uint8_t routers_port_cnt(const void *ctx, uint32_t n)
{
	const struct vb_subnet *s = ctx;
	const struct vb_node_info *info = &s->node[n].sma.info;

	return info->type == VB_NODE_ROUTER ? info->port_cnt : 0;
}

static struct vb_router_port routers_port(const void *ctx, struct vb_router_at at)
{
	const struct vb_subnet *s = ctx;
	const struct vb_sma_port *p = &s->node[at.router].sma.port[at.port];

	return (struct vb_router_port){.prefix = p->info.prefix,
				       .guid = p->guid[0],
				       .lid = p->info.lid,
				       .is_up = p->info.lid != 0 &&
						vb_link_may_send(p->link->state, true)};
}

static bool port_has_gid(const struct vb_sma_port *p, uint64_t prefix, uint64_t guid)
{
	if (!p->guid || p->info.lid == 0 || p->info.prefix != prefix)
		return false;
	for (uint32_t i = 0; i < p->info.guid_cap; i++)
		if (p->guid[i] == guid)
			return true;
	return false;
}

static uint16_t routers_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	const struct vb_subnet *s = ctx;

	for (uint32_t n = 0; guid != 0 && n < s->node_cnt; n++)
		for (unsigned i = 0; i <= s->node[n].sma.info.port_cnt; i++)
			if (port_has_gid(&s->node[n].sma.port[i], prefix, guid))
				return s->node[n].sma.port[i].info.lid;
	return 0;
}

static struct vb_path path_of(const struct vb_subnet_mad *m)
{
	struct vb_path p = {.slid = m->slid, .dlid = m->dlid, .hop_limit = m->hop_limit};

	if (m->has_grh) {
		memcpy(p.sgid.b, m->sgid, sizeof p.sgid.b);
		memcpy(p.dgid.b, m->dgid, sizeof p.dgid.b);
	}
	return p;
}

enum vb_hop_fate vb_subnet_route(struct vb_subnet *s, struct vb_subnet_mad *m, uint8_t *out)
{
	const struct vb_routers all = {.ctx = s,
				       .cnt = s->node_cnt,
				       .port_cnt = routers_port_cnt,
				       .port = routers_port,
				       .lid_of = routers_lid_of,
				       .far = s->far};
	struct vb_subnet_port *in = vb_subnet_port(s, m->at);
	struct vb_path path = path_of(m);
	const struct vb_hop_packet packet = vb_hop_packet_of(&path);
	struct vb_hop hop;
	enum vb_hop_fate fate =
	    vb_router_hop(&all, (struct vb_router_at){m->at.node, m->at.port}, &packet, &hop);

	VB_ASSERT_ALL(s->node[m->at.node].sma.info.type == VB_NODE_ROUTER && !m->on_qp0);
	*out = hop.port;
	if (fate == VB_HOP_NO_GRH)
		return VB_HOP_HERE;
	in->not_routed += fate == VB_HOP_NO_ROUTE;
	in->hops_ended += fate == VB_HOP_ENDED;
	if (fate != VB_HOP_ON)
		return fate;
	vb_hop_pass(&path, &hop, 1);
	m->slid = path.slid;
	m->dlid = path.dlid;
	m->hop_limit = path.hop_limit;
	return VB_HOP_ON;
}
