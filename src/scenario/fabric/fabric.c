/* SPDX-License-Identifier: BSD-2-Clause */
/* A topology of nodes and ports as one of hosts and switches, see fabric.h. */
#include "scenario/fabric/fabric.h"

#include "base/assert.h"
#include "wire/ib/hop.h"
#include "wire/ib/rate.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW 256u /* of f->number */

/* A node of its own, where an adapter is a host for each port. */
static bool is_relay(const struct vb_topo_node *n)
{
	return n->type == VB_NODE_SWITCH || n->type == VB_NODE_ROUTER;
}

static bool has_cable(const struct vb_topo_node *n, unsigned port)
{
	return n->port[port].peer != VB_TOPO_NO_PEER;
}

static unsigned cable_cnt(const struct vb_topo_node *n)
{
	unsigned cnt = 0;

	for (unsigned p = 1; p <= n->port_cnt; p++)
		cnt += has_cable(n, p);
	return cnt;
}

/* Hosts are ports of adapters, switches and routers are nodes; what has no cable is not there. */
static void nodes_count(struct vb_fabric *f)
{
	for (uint32_t i = 0; i < f->topo.node_cnt; i++) {
		unsigned cables = cable_cnt(&f->topo.node[i]);

		if (is_relay(&f->topo.node[i]))
			f->switch_cnt += cables > 0;
		else
			f->host_cnt += cables;
		f->router_cnt += f->topo.node[i].type == VB_NODE_ROUTER && cables > 0;
	}
}

static int memory_get(struct vb_fabric *f)
{
	size_t nodes = (size_t)f->host_cnt + f->switch_cnt + 1;

	f->node = calloc(nodes, sizeof *f->node);
	f->port = calloc(nodes, 1);
	f->number = calloc((size_t)f->switch_cnt + 1, ROW);
	f->port_cnt = calloc((size_t)f->switch_cnt + 1, sizeof *f->port_cnt);
	f->guid = calloc(2 * nodes, sizeof *f->guid);
	return f->node && f->port && f->number && f->port_cnt && f->guid ? 0 : -ENOMEM;
}

static void guid_add(struct vb_fabric *f, uint64_t guid, uint32_t node)
{
	f->guid[f->guid_cnt++] = (struct vb_fabric_guid){guid, node};
}

/* Switch or router @sw is node @i of the topology. */
static void relay_number(struct vb_fabric *f, uint32_t sw, uint32_t i)
{
	const struct vb_topo_node *n = &f->topo.node[i];

	f->node[f->host_cnt + sw] = i;
	guid_add(f, n->node_guid, f->host_cnt + sw);
	if (n->type == VB_NODE_SWITCH && n->port[0].guid != n->node_guid)
		guid_add(f, n->port[0].guid, f->host_cnt + sw);
}

/* @first: of each node of topo the host of its first cable, or the switch. */
static void nodes_number(struct vb_fabric *f, uint32_t *first)
{
	uint32_t host = 0, sw = 0, router = f->switch_cnt - f->router_cnt;

	for (uint32_t i = 0; i < f->topo.node_cnt; i++) {
		const struct vb_topo_node *n = &f->topo.node[i];

		if (cable_cnt(n) == 0)
			continue;
		first[i] = host;
		if (is_relay(n)) {
			uint32_t at = n->type == VB_NODE_ROUTER ? router++ : sw++;

			first[i] = f->host_cnt + at;
			relay_number(f, at, i);
		}
		for (unsigned p = 1; !is_relay(n) && p <= n->port_cnt; p++) {
			if (!has_cable(n, p))
				continue;
			f->node[host] = i;
			f->port[host] = (uint8_t)p;
			guid_add(f, n->node_guid, host);
			if (n->port[p].guid != n->node_guid)
				guid_add(f, n->port[p].guid, host);
			host++;
		}
	}
}

static int guid_compare(const void *a, const void *b)
{
	const struct vb_fabric_guid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

const struct vb_fabric_guid *vb_fabric_find(const struct vb_fabric *f, uint64_t guid)
{
	uint32_t low = 0, high = f->guid_cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (f->guid[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->guid_cnt && f->guid[low].guid == guid ? &f->guid[low] : NULL;
}

/* The node of port @port of topo's node @i, whose first host or switch is @first. */
static uint32_t end_at(const struct vb_fabric *f, const uint32_t *first, uint32_t i, unsigned port)
{
	const struct vb_topo_node *n = &f->topo.node[i];
	uint32_t at = first[i];

	for (unsigned p = 1; !is_relay(n) && p < port; p++)
		at += has_cable(n, p);
	return at;
}

/* It gets the next number of its switch: the simulator counts ports by cables. */
static void port_number(struct vb_fabric *f, uint32_t end, unsigned port)
{
	if (end < f->host_cnt)
		return;
	end -= f->host_cnt;
	f->number[(size_t)end * ROW + port] = (uint8_t)++f->port_cnt[end];
}

/* The cable of that port is counted at its other end, which comes before. */
static bool is_other_end(const struct vb_fabric *f, uint32_t i, unsigned port)
{
	const struct vb_topo_port *p = &f->topo.node[i].port[port];

	return p->peer < i || (p->peer == i && p->peer_port < port);
}

/* The cable of that port, unless the other end has it. */
static int cable_add(struct vb_fabric *f, const uint32_t *first, uint32_t i, unsigned port,
		     const struct vb_cable *cable, const struct vb_cable *trunk,
		     struct vb_sim_topo *out, struct vb_fabric_error *err)
{
	const struct vb_topo_port *p = &f->topo.node[i].port[port];
	uint32_t a = end_at(f, first, i, port), b = end_at(f, first, p->peer, p->peer_port);
	bool at_host = a < f->host_cnt || b < f->host_cnt;
	struct vb_cable c = at_host ? *cable : *trunk;

	if (is_other_end(f, i, port))
		return 0;
	if (p->peer == i) {
		snprintf(err->text, sizeof err->text, "port %u of '%s' leads to the same node",
			 port, f->topo.node[i].name);
		return -EINVAL;
	}
	c.rate_bps = vb_ib_payload_bps(p->speed, p->width);
	port_number(f, a, port);
	port_number(f, b, p->peer_port);
	/* The first node of a cable is a host where there is one. */
	out->link[out->link_cnt++] = b < f->host_cnt ? (struct vb_sim_topo_link){b, a, c}
						     : (struct vb_sim_topo_link){a, b, c};
	return 0;
}

/* The subnets of cables, where routers join them. */
static int subnets_add(const struct vb_fabric *f, uint32_t *first, uint32_t *subnet, uint32_t *more,
		       struct vb_sim_topo *out, struct vb_fabric_error *err)
{
	uint32_t cnt = vb_topo_subnets(&f->topo, first, subnet, more), link = 0;

	if (cnt > VB_HOP_SUBNETS_MAX) {
		snprintf(err->text, sizeof err->text,
			 "there are %u subnets, and routers look at %u at most", cnt,
			 VB_HOP_SUBNETS_MAX);
		return -EINVAL;
	}
	/* In the order in which cables were added. */
	for (uint32_t i = 0; i < f->topo.node_cnt; i++)
		for (unsigned p = 1; p <= f->topo.node[i].port_cnt; p++)
			if (has_cable(&f->topo.node[i], p) && !is_other_end(f, i, p))
				out->subnet[link++] = subnet[first[i] + p - 1];
	VB_ASSERT_ALL(link == out->link_cnt);
	out->router_cnt = f->router_cnt;
	return 0;
}

static int subnets_make(const struct vb_fabric *f, struct vb_sim_topo *out,
			const struct vb_sim_memory *m, struct vb_fabric_error *err)
{
	size_t ports = (size_t)vb_topo_port_cnt(&f->topo) + 1;
	uint32_t *first, *subnet, *more;
	int bad = -ENOMEM;

	if (f->router_cnt == 0)
		return 0;
	out->subnet = m->alloc(m->ctx, ((size_t)out->link_cnt + 1) * sizeof *out->subnet);
	first = calloc((size_t)f->topo.node_cnt + 1, sizeof *first);
	subnet = calloc(ports, sizeof *subnet);
	more = calloc(ports, sizeof *more);
	if (out->subnet && first && subnet && more)
		bad = subnets_add(f, first, subnet, more, out, err);
	free(first);
	free(subnet);
	free(more);
	return bad;
}

static uint32_t root_of(uint32_t *up, uint32_t i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

/* Everything hangs together. */
static int parts_check(const struct vb_fabric *f, const struct vb_sim_topo *t,
		       struct vb_fabric_error *err)
{
	uint32_t nodes = t->host_cnt + t->switch_cnt;
	uint32_t *up = calloc(nodes, sizeof *up), apart = 0;

	if (!up)
		return -ENOMEM;
	for (uint32_t i = 0; i < nodes; i++)
		up[i] = i;
	for (uint32_t i = 0; i < t->link_cnt; i++)
		up[root_of(up, t->link[i].a)] = root_of(up, t->link[i].b);
	for (uint32_t i = 1; i < nodes && apart == 0; i++)
		if (root_of(up, i) != root_of(up, 0))
			apart = i;
	free(up);
	if (apart == 0)
		return 0;
	snprintf(err->text, sizeof err->text, "'%s' cannot be reached from '%s'",
		 vb_fabric_name(f, apart), vb_fabric_name(f, 0));
	return -EINVAL;
}

static int cables_add(struct vb_fabric *f, const struct vb_cable *cable,
		      const struct vb_cable *trunk, struct vb_sim_topo *out,
		      const struct vb_sim_memory *m, struct vb_fabric_error *err)
{
	uint32_t *first = calloc((size_t)f->topo.node_cnt + 1, sizeof *first);
	int bad = first ? 0 : -ENOMEM;

	*out = (struct vb_sim_topo){
	    .host_cnt = f->host_cnt, .switch_cnt = f->switch_cnt, .memory = *m};
	out->link = m->alloc(m->ctx, (f->topo.link_cnt + 1) * sizeof *out->link);
	if (!out->link)
		bad = -ENOMEM;
	if (!bad)
		nodes_number(f, first);
	for (uint32_t i = 0; !bad && i < f->topo.node_cnt; i++)
		for (unsigned p = 1; !bad && p <= f->topo.node[i].port_cnt; p++)
			if (has_cable(&f->topo.node[i], p))
				bad = cable_add(f, first, i, p, cable, trunk, out, err);
	free(first);
	return bad;
}

int vb_fabric_create(struct vb_fabric *f, struct vb_topo *topo, const struct vb_cable *cable,
		     const struct vb_cable *trunk, struct vb_sim_topo *out,
		     const struct vb_sim_memory *m, struct vb_fabric_error *err)
{
	int bad;

	*f = (struct vb_fabric){.topo = *topo};
	*topo = (struct vb_topo){0};
	*err = (struct vb_fabric_error){.line = 0};
	nodes_count(f);
	if (f->host_cnt == 0) {
		snprintf(err->text, sizeof err->text, "no adapter has a cable");
		bad = -EINVAL;
	} else {
		bad = memory_get(f);
	}
	if (!bad)
		bad = cables_add(f, cable, trunk, out, m, err);
	if (!bad)
		bad = subnets_make(f, out, m, err);
	if (!bad)
		bad = parts_check(f, out, err);
	if (!bad)
		qsort(f->guid, f->guid_cnt, sizeof *f->guid, guid_compare);
	return bad;
}

const char *vb_fabric_router(const struct vb_fabric *f)
{
	return f->router_cnt ? vb_fabric_name(f, f->host_cnt + f->switch_cnt - f->router_cnt)
			     : NULL;
}

const char *vb_fabric_name(const struct vb_fabric *f, uint32_t node)
{
	return f->topo.node[f->node[node]].name;
}

void vb_fabric_free(struct vb_fabric *f)
{
	for (uint32_t i = 0; f->sl2vl && i < f->switch_cnt; i++)
		free(f->sl2vl[i]);
	free(f->sl2vl);
	free(f->host_sl2vl);
	free(f->mft);
	free(f->out);
	free(f->sl);
	free(f->host_of_lid);
	free(f->guid);
	free(f->port_cnt);
	free(f->number);
	free(f->port);
	free(f->node);
	if (f->topo.free)
		vb_topo_free(&f->topo);
	*f = (struct vb_fabric){.topo = {.node = NULL}};
}
