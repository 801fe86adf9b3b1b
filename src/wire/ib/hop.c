/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decision of a router, see hop.h. A search begins at the subnet that the packet is for: the
 * routers there lead from their other subnets to it, the routers in those from further ones, and so
 * on. IBA 19
 */
#include "wire/ib/hop.h"

#include "base/assert.h"

/* A subnet from which there is a way: by the router port @by, which is in it. */
struct reach {
	uint64_t prefix;
	struct vb_router_at by;
};

struct search {
	const struct vb_routers *r;
	struct reach reach[VB_HOP_SUBNETS_MAX]; /* nearest first; the first is where it leads */
	uint32_t cnt;
};

static uint32_t routers_end(const struct vb_routers *r)
{
	return r->cnt + (r->far ? r->far->cnt : 0);
}

static uint8_t ports_of(const struct vb_routers *r, uint32_t n)
{
	return n < r->cnt ? r->port_cnt(r->ctx, n) : r->far->router[n - r->cnt].port_cnt;
}

struct vb_router_port vb_routers_port(const struct vb_routers *r, struct vb_router_at at)
{
	const struct vb_far_router *far;

	if (at.router < r->cnt)
		return r->port(r->ctx, at);
	VB_ASSERT(at.router < routers_end(r));
	far = &r->far->router[at.router - r->cnt];
	VB_ASSERT(at.port >= 1 && at.port <= far->port_cnt);
	return far->port[at.port - 1];
}

static bool reach_has(const struct search *s, uint32_t cnt, uint64_t prefix)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (s->reach[i].prefix == prefix)
			return true;
	return false;
}

/* The first port of router @n in one of the first @cnt subnets. 0: it has none. */
static uint8_t port_within(const struct search *s, uint32_t n, uint32_t cnt)
{
	uint8_t ports = ports_of(s->r, n);

	for (unsigned i = 1; i <= ports; i++) {
		struct vb_router_port p =
		    vb_routers_port(s->r, (struct vb_router_at){n, (uint8_t)i});

		if (p.is_up && reach_has(s, cnt, p.prefix))
			return (uint8_t)i;
	}
	return 0;
}

/* Router @n leads from all its subnets to those that are in reach. */
static void reach_extend(struct search *s, uint32_t n)
{
	uint8_t ports = ports_of(s->r, n);

	for (unsigned i = 1; i <= ports; i++) {
		struct vb_router_at at = {n, (uint8_t)i};
		struct vb_router_port p = vb_routers_port(s->r, at);

		if (!p.is_up || p.prefix == VB_PREFIX_LINK_LOCAL ||
		    reach_has(s, s->cnt, p.prefix) || s->cnt == VB_HOP_SUBNETS_MAX)
			continue;
		s->reach[s->cnt++] = (struct reach){p.prefix, at};
	}
	VB_ASSERT_ALL(s->cnt >= 1 && s->cnt <= VB_HOP_SUBNETS_MAX);
}

/* One router further. False: there is nothing further. */
static bool reach_grow(struct search *s)
{
	uint32_t before = s->cnt;

	for (uint32_t n = 0; n < routers_end(s->r); n++)
		if (ports_of(s->r, n) && port_within(s, n, before))
			reach_extend(s, n);
	return s->cnt > before;
}

bool vb_routers_find(const struct vb_routers *r, uint64_t from, uint64_t to,
		     struct vb_router_at *next)
{
	struct search s = {.r = r, .reach = {{.prefix = to}}, .cnt = 1};

	if (from == to || from == VB_PREFIX_LINK_LOCAL || to == VB_PREFIX_LINK_LOCAL)
		return false;
	do {
		for (uint32_t i = 1; i < s.cnt; i++)
			if (s.reach[i].prefix == from) {
				*next = s.reach[i].by;
				return true;
			}
	} while (reach_grow(&s));
	return false;
}

/* The port of router @n by which packets to subnet @to leave, and the router after it; @next is
 * @n's own where the subnet is at that port. */
static bool port_towards(const struct vb_routers *r, uint32_t n, uint64_t to, uint8_t *port,
			 struct vb_router_at *next)
{
	struct search s = {.r = r, .reach = {{.prefix = to}}, .cnt = 1};

	do {
		*port = port_within(&s, n, s.cnt);
		if (*port)
			break;
	} while (reach_grow(&s));
	if (!*port)
		return false;
	*next = (struct vb_router_at){n, *port};
	for (uint32_t i = 1; i < s.cnt; i++)
		if (s.reach[i].prefix == vb_routers_port(r, *next).prefix) {
			*next = s.reach[i].by;
			break;
		}
	return true;
}

/* The port of the router that has the GID. 0: none has. */
static uint8_t own_port(const struct vb_routers *r, uint32_t n, const struct vb_hop_packet *p)
{
	uint8_t ports = r->port_cnt(r->ctx, n);

	for (unsigned i = 1; i <= ports; i++) {
		struct vb_router_port own = r->port(r->ctx, (struct vb_router_at){n, (uint8_t)i});

		if (own.guid == p->guid && own.prefix == p->prefix)
			return (uint8_t)i;
	}
	return 0;
}

/* The LID of the port that the packet is for; 0: nobody knows it. */
static uint16_t port_lid(const struct vb_routers *r, const struct vb_hop_packet *p)
{
	uint16_t lid = r->lid_of(r->ctx, p->prefix, p->guid);

	return lid == 0 && r->far ? r->far->lid_of(r->far->ctx, p->prefix, p->guid) : lid;
}

enum vb_hop_fate vb_router_hop(const struct vb_routers *r, struct vb_router_at in,
			       const struct vb_hop_packet *p, struct vb_hop *out)
{
	struct vb_router_port from = r->port(r->ctx, in);
	struct vb_router_at next;

	VB_ASSERT_ALL(in.router < r->cnt && in.port >= 1 &&
		      in.port <= r->port_cnt(r->ctx, in.router));
	*out = (struct vb_hop){.port = in.port};
	if (!p->has_grh)
		return VB_HOP_NO_GRH;
	out->port = own_port(r, in.router, p);
	if (out->port)
		return VB_HOP_HERE;
	if (p->prefix == from.prefix || p->is_from_link_local || p->prefix == VB_PREFIX_LINK_LOCAL)
		return VB_HOP_NO_ROUTE;
	if (p->hop_limit <= 1)
		return VB_HOP_ENDED;
	/* By the port where it came in as well, to a router there that is nearer. */
	if (!port_towards(r, in.router, p->prefix, &out->port, &next))
		return VB_HOP_NO_ROUTE;
	VB_ASSERT_ALL(out->port >= 1 && out->port <= r->port_cnt(r->ctx, in.router));
	out->slid = r->port(r->ctx, (struct vb_router_at){in.router, out->port}).lid;
	out->dlid = next.router == in.router ? port_lid(r, p) : vb_routers_port(r, next).lid;
	return out->dlid ? VB_HOP_ON : VB_HOP_NO_ROUTE;
}
