/* SPDX-License-Identifier: BSD-2-Clause */
/* The routers of a fabric by its map, see routers.h. The map may be another one at any moment, so
 * each number is looked at before it leads anywhere. */
#include "link/ib/routers.h"

static const struct vb_ib_map_port *port_at(const struct vb_ib_map *m, struct vb_router_at at)
{
	uint64_t i = (uint64_t)vb_ib_map_nodes(m)[at.router].first_port + at.port;

	return i < m->port_cnt ? &vb_ib_map_ports(m)[i] : NULL;
}

static uint8_t routers_port_cnt(const void *ctx, uint32_t n)
{
	const struct vb_ib_map_node *node = &vb_ib_map_nodes(ctx)[n];

	return node->is_router ? node->port_cnt : 0;
}

static struct vb_router_port routers_port(const void *ctx, struct vb_router_at at)
{
	const struct vb_ib_map_port *p = port_at(ctx, at);

	if (!p)
		return (struct vb_router_port){.is_up = false};
	return (struct vb_router_port){.prefix = p->prefix,
				       .guid = p->guid[0],
				       .lid = p->lid,
				       .is_up = p->lid != 0 && p->may_send};
}

static bool port_has_guid(const struct vb_ib_map_port *p, uint64_t guid)
{
	for (uint32_t i = 0; i < VB_IB_GUIDS; i++)
		if (p->guid[i] == guid)
			return true;
	return false;
}

static uint16_t routers_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	const struct vb_ib_map *m = ctx;
	const struct vb_ib_map_port *p = vb_ib_map_ports(m);

	for (uint32_t i = 0; guid != 0 && i < m->port_cnt; i++)
		if (p[i].lid != 0 && p[i].prefix == prefix && port_has_guid(&p[i], guid))
			return p[i].lid;
	return 0;
}

struct vb_routers vb_ib_map_routers(const struct vb_ib_map *m)
{
	return (struct vb_routers){.ctx = m,
				   .cnt = m->node_cnt,
				   .port_cnt = routers_port_cnt,
				   .port = routers_port,
				   .lid_of = routers_lid_of};
}

enum vb_hop_fate vb_ib_route_hop(const struct vb_ib_map *m, const struct vb_routers *all,
				 const struct vb_ib_key *key, uint32_t in, uint32_t passed,
				 struct vb_hop *out)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(m)[in];
	const struct vb_hop_packet packet = {
	    .has_grh = key->prefix != 0 || key->guid != 0,
	    .is_from_link_local = key->is_from_link_local,
	    .hop_limit = (uint8_t)(key->hop_limit > passed ? key->hop_limit - passed : 0),
	    .prefix = key->prefix,
	    .guid = key->guid};

	return vb_router_hop(all, (struct vb_router_at){p->node, p->number}, &packet, out);
}
