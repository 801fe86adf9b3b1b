/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routers of other fabrics, of whose ports the tunnels tell: with them this fabric's routers
 * find ways through several routers, and its managers the router that leads to a prefix. A peer
 * makes the process remember no more than its table has, and look at no more routers than fit here.
 * FAB-06, FAB-07
 */
#include "link/ib/routers.h"
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/tunnel/tunnel.h"

#include <stdlib.h>
#include <string.h>

#define ROUTERS_MAX 256u
#define PORTS_MAX 254u

struct vb_routers vb_subnet_map_routers(const struct vb_subnet_daemon *d)
{
	struct vb_routers all = vb_ib_map_routers(d->adapter->map);

	all.far = &d->far;
	return all;
}

static const struct vb_subnet_tunnel *tunnel_of(const struct vb_list *l)
{
	return vb_container_of(l, const struct vb_subnet_tunnel, node);
}

static bool is_own_router(const struct vb_subnet_daemon *d, uint64_t guid)
{
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		if (d->topo->node[i].type == VB_NODE_ROUTER && d->topo->node[i].node_guid == guid)
			return true;
	return false;
}

static uint32_t entries_cnt(const struct vb_subnet_daemon *d)
{
	uint32_t cnt = 0;

	for (const struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
		for (uint32_t i = 0; i < tunnel_of(l)->table.theirs.cnt; i++)
			cnt += tunnel_of(l)->table.theirs.entry[i].router != 0;
	return cnt;
}

/* By router, then by GID. */
static int compare_ports(const void *a, const void *b)
{
	const struct vb_tunnel_entry *x = a, *y = b;

	if (x->router != y->router)
		return x->router < y->router ? -1 : 1;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return x->hops - y->hops;
}

static void entries_gather(const struct vb_subnet_daemon *d, struct vb_tunnel_entry *e)
{
	uint32_t n = 0;

	for (const struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
		for (uint32_t i = 0; i < tunnel_of(l)->table.theirs.cnt; i++)
			if (tunnel_of(l)->table.theirs.entry[i].router != 0)
				e[n++] = tunnel_of(l)->table.theirs.entry[i];
	qsort(e, n, sizeof *e, compare_ports);
}

/* Behind those that are there: the ports of one router, from @e on. Returns how many entries they
 * were. */
static uint32_t router_add(struct vb_subnet_daemon *d, const struct vb_tunnel_entry *e,
			   uint32_t left)
{
	struct vb_far_router *r = &d->far_router[d->far.cnt];
	bool is_known = d->far.cnt == ROUTERS_MAX || is_own_router(d, e->router);
	uint32_t i = 0;

	*r = (struct vb_far_router){.port = d->far_port + d->far_port_cnt};
	for (; i < left && e[i].router == e->router; i++) {
		/* The nearest of those that several tunnels tell of. */
		if (is_known || r->port_cnt == PORTS_MAX ||
		    (i && e[i].guid == e[i - 1].guid && e[i].prefix == e[i - 1].prefix))
			continue;
		d->far_port[d->far_port_cnt + r->port_cnt++] =
		    (struct vb_router_port){.prefix = e[i].prefix,
					    .guid = e[i].guid,
					    .lid = e[i].lid,
					    .is_up = e[i].lid != 0};
	}
	d->far_port_cnt += r->port_cnt;
	d->far.cnt += r->port_cnt != 0;
	return i;
}

void vb_subnet_far_routers_clear(struct vb_subnet_daemon *d)
{
	free(d->far_router);
	free(d->far_port);
	d->far_router = NULL;
	d->far_port = NULL;
	d->far_port_cnt = 0;
	d->far = (struct vb_far_routers){.ctx = d, .lid_of = vb_subnet_far_lid};
}

static void routers_make(struct vb_subnet_daemon *d)
{
	uint32_t cnt = entries_cnt(d);
	struct vb_tunnel_entry *e;

	vb_subnet_far_routers_clear(d);
	if (cnt == 0)
		return;
	e = malloc(cnt * sizeof *e);
	d->far_port = malloc(cnt * sizeof *d->far_port);
	d->far_router = malloc((ROUTERS_MAX + 1) * sizeof *d->far_router);
	if (e && d->far_port && d->far_router) {
		entries_gather(d, e);
		for (uint32_t i = 0; i < cnt;)
			i += router_add(d, e + i, cnt - i);
		d->far.router = d->far_router;
	} else {
		vb_subnet_far_routers_clear(d);
	}
	free(e);
}

static void prefix_add(uint64_t *prefix, uint32_t *cnt, uint64_t more)
{
	for (uint32_t i = 0; i < *cnt; i++)
		if (prefix[i] == more)
			return;
	if (more != 0 && *cnt < VB_HOP_SUBNETS_MAX)
		prefix[(*cnt)++] = more;
}

/* The prefixes of all subnets that a router has a port in. */
static uint32_t prefixes_of(const struct vb_routers *all, uint64_t prefix[VB_HOP_SUBNETS_MAX])
{
	uint32_t cnt = 0;

	for (uint32_t n = 0; n < all->cnt; n++)
		for (unsigned p = 1; p <= all->port_cnt(all->ctx, n); p++) {
			struct vb_router_port port =
			    vb_routers_port(all, (struct vb_router_at){n, (uint8_t)p});

			if (port.is_up)
				prefix_add(prefix, &cnt, port.prefix);
		}
	for (uint32_t n = 0; n < all->far->cnt; n++)
		for (uint32_t p = 0; p < all->far->router[n].port_cnt; p++)
			prefix_add(prefix, &cnt, all->far->router[n].port[p].prefix);
	return cnt;
}

void vb_subnet_far_routers_follow(struct vb_subnet_daemon *d)
{
	uint64_t prefix[VB_HOP_SUBNETS_MAX];
	struct vb_subnet_routes told;
	struct vb_routers all;

	routers_make(d);
	if (!d->routes_told)
		return;
	all = vb_subnet_map_routers(d);
	told = (struct vb_subnet_routes){&all, prefix, prefixes_of(&all, prefix)};
	d->routes_told(d->routes_ctx, &told);
}
