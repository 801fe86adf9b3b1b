/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnets of a simulated InfiniBand that routers join, as their managers would have set them:
 * prefixes, and in each subnet LIDs from 1 on, first of hosts, then of the ports of routers. The
 * paths between hosts come of that, and what routers decide, which is what those of live fabrics do
 * (wire/ib/hop.h). See priv.h. IBA 4.1.1, 19; items FAB-06, FAB-07
 */
#include "base/assert.h"
#include "sim/priv.h"
#include "wire/be.h"

#include <errno.h>
#include <string.h>

/* GUIDs of ports in their order are behind this one: locally administered. */
#define GUID_BASE UINT64_C(0x0200000000000000)

static uint64_t guid_of(uint32_t port)
{
	return GUID_BASE + port + 1;
}

static uint32_t subnet_at(const struct vb_sim *s, uint32_t port)
{
	return s->subnets->of_link[port / 2];
}

/* The line of a router's port. */
static const struct vb_port *line_at(const struct vb_sim *s, struct vb_router_at at)
{
	const struct vb_switch *sw = &s->sw[s->subnets->router_first + at.router];

	VB_ASSERT_ALL(at.port >= 1 && at.port <= sw->port_cnt);
	return sw->port[at.port - 1];
}

static uint8_t routers_port_cnt(const void *ctx, uint32_t n)
{
	const struct vb_sim *s = ctx;

	return (uint8_t)s->sw[s->subnets->router_first + n].port_cnt;
}

static struct vb_router_port routers_port(const void *ctx, struct vb_router_at at)
{
	const struct vb_sim *s = ctx;
	uint32_t id = line_at(s, at)->id;
	const struct vb_ib_switch *sw = &s->ib->sw[s->subnets->router_first + at.router];

	return (struct vb_router_port){.prefix = vb_sim_prefix(subnet_at(s, id)),
				       .guid = guid_of(id),
				       .lid = s->subnets->lid[id],
				       .is_up = sw->end[at.port - 1].port.state == VB_LINK_ACTIVE};
}

static uint16_t routers_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	const struct vb_sim *s = ctx;
	uint64_t id = guid - guid_of(0);

	return id < s->port_cnt && vb_sim_prefix(subnet_at(s, (uint32_t)id)) == prefix
		   ? s->subnets->lid[id]
		   : 0;
}

/* The subnets of cables, and those of switches, which are in one each. */
static int links_take(struct vb_sim *s)
{
	const struct vb_sim_topo *t = s->cfg.topo;
	struct vb_sim_subnets *n = s->subnets;

	memset(n->of_switch, 0xff, s->switch_cnt * sizeof *n->of_switch);
	for (uint32_t id = 0; id < s->port_cnt; id++) {
		uint32_t subnet = t->subnet[id / 2], sw = vb_sim_node_at(t, id) - s->host_cnt;

		if (subnet >= VB_HOP_SUBNETS_MAX)
			return -EINVAL;
		n->of_link[id / 2] = subnet;
		n->cnt = subnet >= n->cnt ? subnet + 1 : n->cnt;
		if (s->port[id].at_host || sw >= n->router_first)
			continue;
		if (n->of_switch[sw] != VB_SIM_NONE && n->of_switch[sw] != subnet)
			return -EINVAL;
		n->of_switch[sw] = subnet;
	}
	return 0;
}

/* The next LID of its subnet for port @id. */
static int lid_give(struct vb_sim *s, uint32_t id, uint32_t *next)
{
	uint32_t lid = VB_SIM_LID + next[subnet_at(s, id)]++;

	if (lid >= VB_LID_MULTICAST)
		return -EINVAL;
	s->subnets->lid[id] = (uint16_t)lid;
	if (lid >= s->subnets->lid_cap)
		s->subnets->lid_cap = lid + 1;
	return 0;
}

static int lids_give(struct vb_sim *s)
{
	uint32_t next[VB_HOP_SUBNETS_MAX] = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < s->host_cnt; i++)
		err = lid_give(s, s->host[i].port->id, next);
	for (uint32_t id = 0; !err && id < s->port_cnt; id++)
		if (vb_sim_node_at(s->cfg.topo, id) >= s->host_cnt + s->subnets->router_first)
			err = lid_give(s, id, next);
	return err;
}

/* Which port has a LID. */
static int lids_index(struct vb_sim *s)
{
	struct vb_sim_subnets *n = s->subnets;
	size_t bytes = (size_t)n->cnt * n->lid_cap * sizeof *n->port_of;

	n->port_of = vb_sim_alloc(s, bytes);
	if (!n->port_of)
		return -ENOMEM;
	memset(n->port_of, 0xff, bytes);
	for (uint32_t id = 0; id < s->port_cnt; id++)
		if (n->lid[id])
			n->port_of[(size_t)subnet_at(s, id) * n->lid_cap + n->lid[id]] = id;
	return 0;
}

int vb_sim_subnets_create(struct vb_sim *s)
{
	const struct vb_sim_topo *t = s->cfg.topo;
	struct vb_sim_subnets *n;
	int err;

	if (t->router_cnt == 0)
		return 0;
	if (!s->cfg.ib.is_used || s->cfg.ib.routes || t->router_cnt > t->switch_cnt || !t->subnet)
		return -EINVAL;
	for (uint32_t i = 0; i < s->host_cnt; i++)
		if (!s->host[i].port)
			return -EINVAL;
	n = s->subnets = vb_sim_alloc(s, sizeof *n);
	if (!n)
		return -ENOMEM;
	n->router_first = t->switch_cnt - t->router_cnt;
	n->of_link = vb_sim_alloc(s, (t->link_cnt + 1) * sizeof *n->of_link);
	n->of_switch = vb_sim_alloc(s, s->switch_cnt * sizeof *n->of_switch);
	n->lid = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *n->lid);
	n->router = vb_sim_alloc(s, t->router_cnt * sizeof *n->router);
	if (!n->of_link || !n->of_switch || !n->lid || !n->router)
		return -ENOMEM;
	n->all = (struct vb_routers){.ctx = s,
				     .cnt = t->router_cnt,
				     .port_cnt = routers_port_cnt,
				     .port = routers_port,
				     .lid_of = routers_lid_of};
	for (uint32_t i = 0; i < t->router_cnt; i++)
		n->router[i] = (struct vb_ib_router){&n->all, i};
	err = links_take(s);
	if (!err)
		err = lids_give(s);
	return err ? err : lids_index(s);
}

void vb_sim_subnets_destroy(struct vb_sim *s)
{
	struct vb_sim_subnets *n = s->subnets;

	if (!n)
		return;
	vb_sim_free(s, n->of_link);
	vb_sim_free(s, n->of_switch);
	vb_sim_free(s, n->lid);
	vb_sim_free(s, n->port_of);
	vb_sim_free(s, n->router);
	vb_sim_free(s, n);
}

uint16_t vb_sim_lid(const struct vb_sim *s, uint32_t host)
{
	return s->subnets ? s->subnets->lid[s->host[host].port->id] : (uint16_t)(VB_SIM_LID + host);
}

uint32_t vb_sim_lid_cap(const struct vb_sim *s)
{
	return s->subnets ? s->subnets->lid_cap : VB_SIM_LID + s->host_cnt;
}

uint32_t vb_sim_subnet(const struct vb_sim *s, uint32_t host)
{
	return s->subnets ? subnet_at(s, s->host[host].port->id) : 0;
}

struct vb_gid vb_sim_port_gid(const struct vb_sim *s, uint32_t host)
{
	uint32_t id = s->host[host].port->id;
	struct vb_gid gid;

	be64_put(gid.b, vb_sim_prefix(subnet_at(s, id)));
	be64_put(gid.b + 8, guid_of(id));
	return gid;
}

uint32_t vb_sim_port_host(const struct vb_sim *s, const struct vb_gid *gid)
{
	uint64_t id = vb_gid_guid(gid) - guid_of(0);

	if (id >= s->port_cnt || !s->port[id].at_host)
		return VB_SIM_NONE;
	return vb_sim_host_number(s, (const struct vb_nic *)s->port[id].owner);
}

/* The LID of some router in the subnet; 0: there is none. */
static uint16_t router_lid(const struct vb_sim *s, uint32_t subnet)
{
	const struct vb_sim_subnets *n = s->subnets;

	for (uint32_t lid = VB_SIM_LID; lid < n->lid_cap; lid++) {
		uint32_t id = n->port_of[(size_t)subnet * n->lid_cap + lid];

		if (id != VB_SIM_NONE && !s->port[id].at_host)
			return (uint16_t)lid;
	}
	return 0;
}

uint16_t vb_sim_dlid(const struct vb_sim *s, uint32_t subnet, uint32_t to)
{
	uint32_t own = vb_sim_subnet(s, to);
	struct vb_router_at next;

	if (own == subnet)
		return vb_sim_lid(s, to);
	/* While no way is left, its packets end at a router. */
	if (!vb_routers_find(&s->subnets->all, vb_sim_prefix(subnet), vb_sim_prefix(own), &next))
		return router_lid(s, subnet);
	return routers_port(s, next).lid;
}

uint8_t vb_sim_router_step(const struct vb_sim *s, uint32_t sw, uint32_t in, uint32_t to,
			   uint16_t *dlid)
{
	const struct vb_sim_subnets *n = s->subnets;
	const struct vb_hop_packet packet = {.has_grh = true,
					     .hop_limit = UINT8_MAX,
					     .prefix = vb_sim_prefix(vb_sim_subnet(s, to)),
					     .guid = guid_of(s->host[to].port->id)};
	struct vb_router_at at = {sw - n->router_first, (uint8_t)in};
	struct vb_hop hop;

	VB_ASSERT_ALL(vb_sim_is_router(s, sw) && in <= s->sw[sw].port_cnt);
	if (in == 0) {
		for (at.port = 1; at.port <= s->sw[sw].port_cnt; at.port++)
			if (routers_port(s, at).prefix != packet.prefix)
				break;
		if (at.port > s->sw[sw].port_cnt)
			return 0;
	}
	if (vb_router_hop(&n->all, at, &packet, &hop) != VB_HOP_ON)
		return 0;
	*dlid = hop.dlid;
	return hop.port;
}

/* The port of a router by which packets from subnet @a to a host come into its subnet; VB_SIM_NONE:
 * no way leads there. */
static uint32_t way_end(const struct vb_sim *s, uint32_t a, uint32_t host)
{
	const struct vb_sim_subnets *n = s->subnets;
	uint32_t b = vb_sim_subnet(s, host);
	struct vb_router_at at;

	if (!vb_routers_find(&n->all, vb_sim_prefix(a), vb_sim_prefix(b), &at))
		return VB_SIM_NONE;
	for (uint32_t i = 0; i < n->cnt; i++) {
		uint32_t sw = n->router_first + at.router, id, next;
		uint16_t dlid;
		uint8_t port = vb_sim_router_step(s, sw, at.port, host, &dlid);

		if (port == 0)
			return VB_SIM_NONE;
		id = s->sw[sw].port[port - 1]->id;
		if (subnet_at(s, id) == b)
			return id;
		next = n->port_of[(size_t)subnet_at(s, id) * n->lid_cap + dlid];
		at = (struct vb_router_at){s->switch_of[next] - n->router_first,
					   (uint8_t)(s->port[next].number + 1)};
	}
	return VB_SIM_NONE;
}

/* A host of the subnet; VB_SIM_NONE: it has none. Hosts have the first LIDs. */
static uint32_t first_host(const struct vb_sim *s, uint32_t subnet)
{
	const struct vb_sim_subnets *n = s->subnets;
	uint32_t id = n->port_of[(size_t)subnet * n->lid_cap + VB_SIM_LID];

	if (id == VB_SIM_NONE || !s->port[id].at_host)
		return VB_SIM_NONE;
	return vb_sim_host_number(s, (const struct vb_nic *)s->port[id].owner);
}

/* Packets from subnet @a to @b come by the router to which @b's go. */
static bool is_one_way(const struct vb_sim *s, uint32_t a, uint32_t b)
{
	uint32_t host = first_host(s, b);
	struct vb_router_at back;

	if (host == VB_SIM_NONE || first_host(s, a) == VB_SIM_NONE ||
	    !vb_routers_find(&s->subnets->all, vb_sim_prefix(b), vb_sim_prefix(a), &back))
		return true;
	return way_end(s, a, host) == line_at(s, back)->id;
}

int vb_sim_subnets_check(const struct vb_sim *s)
{
	uint32_t cnt = s->subnets ? s->subnets->cnt : 0;

	for (uint32_t a = 0; a < cnt; a++)
		for (uint32_t b = 0; b < cnt; b++)
			if (a != b && !is_one_way(s, a, b))
				return -EXDEV;
	return 0;
}
