/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of the fabric for the programs at its nodes (link/ib/map.h): made of all nodes when the
 * first program asks for the adapter, and again of a node when something was set there. A part that
 * is the same as before leaves the generation as it is, so that routes are not looked for again.
 */
#include "node/subnet/adapter/adapter.h"

#include "link/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_MAP "verbena-fabric"

/* SL2VL maps of one port: of a switch one for each port where packets come in. */
static uint32_t lanes_of_port(const struct vb_topo_node *n)
{
	return n->type == VB_NODE_SWITCH ? n->port_cnt + 1u : 1u;
}

static void sizes_sum(const struct vb_topo *t, struct vb_ib_map *m)
{
	uint32_t ports = 0, lfts = 0, lanes = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_topo_node *n = &t->node[i];

		ports += n->port_cnt + 1u;
		lfts += n->type == VB_NODE_SWITCH;
		lanes += (n->port_cnt + 1u) * lanes_of_port(n);
	}
	vb_ib_map_lay_out(m, t->node_cnt, ports, lfts, lanes, (uint64_t)sysconf(_SC_PAGESIZE));
}

uint32_t vb_subnet_map_port(const struct vb_subnet_adapter *a, struct vb_subnet_place at)
{
	return vb_ib_map_nodes(a->map)[at.node].first_port + at.port;
}

/* Sets the fields that never change. */
static void nodes_number(struct vb_subnet_daemon *d, struct vb_subnet_adapter *a)
{
	uint32_t port = 0, lft = 0, lanes = 0;

	for (uint32_t i = 0; i < d->topo->node_cnt; i++) {
		const struct vb_topo_node *n = &d->topo->node[i];

		vb_ib_map_nodes(a->map)[i] =
		    (struct vb_ib_map_node){.first_port = port,
					    .lft = lft,
					    .port_cnt = n->port_cnt,
					    .is_switch = n->type == VB_NODE_SWITCH,
					    .is_router = n->type == VB_NODE_ROUTER};
		lft += n->type == VB_NODE_SWITCH;
		for (unsigned p = 0; p <= n->port_cnt; p++, port++, lanes += lanes_of_port(n))
			a->first_lanes[port] = lanes;
	}
}

/* Copies @size bytes, if they are others. *is_open: the generation is odd already. */
static void part_write(struct vb_ib_map *m, void *to, const void *from, size_t size, bool *is_open)
{
	if (memcmp(to, from, size) == 0)
		return;
	if (!*is_open) {
		__atomic_store_n(&m->generation, m->generation + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		*is_open = true;
	}
	memcpy(to, from, size);
}

static void port_write(struct vb_subnet_daemon *d, struct vb_subnet_place at, bool *is_open)
{
	struct vb_subnet_adapter *a = d->adapter;
	struct vb_sma_node *n = &d->subnet.node[at.node].sma;
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];
	const struct vb_sma_port *s = &n->port[at.port];
	uint32_t number = vb_subnet_map_port(a, at);
	bool is_switch = n->info.type == VB_NODE_SWITCH;
	struct vb_ib_map_port next;

	memset(&next, 0, sizeof next);
	next.node = at.node;
	next.number = at.port;
	next.peer = VB_IB_NOWHERE;
	next.sl2vl = a->first_lanes[number];
	next.lid = is_switch && at.port ? 0 : s->info.lid;
	next.lmc = s->info.lmc;
	next.mtu = s->info.neighbor_mtu;
	if (s->link) {
		if (p->has_cable && !p->is_away)
			next.peer = vb_subnet_map_port(a, p->peer);
		next.may_send = vb_link_may_send(s->link->state, true);
		next.may_receive = vb_link_may_receive(s->link->state, true);
		next.lane_cnt = (uint8_t)s->link->config.data_cnt;
		next.enforces_in = is_switch && s->info.enforce_in;
		next.enforces_out = is_switch && s->info.enforce_out;
	}
	memcpy(next.pkey, s->pkey, sizeof next.pkey);
	if (s->guid) {
		next.prefix = s->info.prefix;
		memcpy(next.guid, s->guid, sizeof next.guid);
	}
	part_write(a->map, &vb_ib_map_ports(a->map)[number], &next, sizeof next, is_open);
	_Static_assert(sizeof(struct vb_ib_map_lanes) == sizeof(struct vb_sl2vl), "one table");
	part_write(a->map, &vb_ib_map_lanes(a->map)[next.sl2vl], s->sl2vl,
		   lanes_of_port(&d->topo->node[at.node]) * sizeof *s->sl2vl, is_open);
}

void vb_subnet_map_follow(struct vb_subnet_daemon *d, uint32_t node)
{
	struct vb_ib_map *m = d->adapter->map;
	struct vb_subnet_node *n = &d->subnet.node[node];
	struct vb_ib_map_node next = vb_ib_map_nodes(m)[node];
	bool is_switch = n->sma.info.type == VB_NODE_SWITCH, is_open = false;

	for (unsigned p = is_switch ? 0 : 1; p <= n->sma.info.port_cnt; p++)
		port_write(d, (struct vb_subnet_place){node, (uint8_t)p}, &is_open);
	if (is_switch) {
		uint32_t cnt = n->forward.unicast_top + 1u;

		next.unicast_top = n->forward.unicast_top;
		next.multicast_top = n->forward.multicast_top;
		next.multicast_primary = n->forward.multicast_primary;
		next.multicast_other = n->forward.multicast_other;
		part_write(m, &vb_ib_map_nodes(m)[node], &next, sizeof next, &is_open);
		_Static_assert(sizeof(struct vb_ib_map_mask) == sizeof(struct vb_port_mask),
			       "one table");
		part_write(m, vb_ib_map_mft(m, next.lft), n->forward.multicast,
			   VB_IB_MULTICASTS * sizeof *n->forward.multicast, &is_open);
		part_write(m, vb_ib_map_lft(m, next.lft), n->forward.unicast,
			   cnt < VB_IB_LIDS ? cnt : VB_IB_LIDS, &is_open);
	}
	if (is_open)
		__atomic_store_n(&m->generation, m->generation + 1, __ATOMIC_RELEASE);
}

int vb_subnet_map_make(struct vb_subnet_daemon *d, struct vb_subnet_adapter *a)
{
	struct vb_ib_map head = {.generation = 0};
	void *p;

	_Static_assert(VB_IB_PKEYS == VB_SUBNET_PKEYS && VB_IB_LIDS == VB_SUBNET_LIDS &&
			   VB_IB_MULTICASTS == VB_SUBNET_MULTICASTS &&
			   VB_IB_SLOT_LAST < VB_IB_SLOTS && VB_IB_GUIDS == VB_SUBNET_GUIDS,
		       "the map has room for all");
	sizes_sum(d->topo, &head);
	a->first_lanes = calloc(head.port_cnt, sizeof *a->first_lanes);
	if (!a->first_lanes)
		return -ENOMEM;
	a->map_fd = vb_memory_new(MEMORY_MAP, head.size, &p);
	if (a->map_fd < 0)
		return a->map_fd;
	a->map = p;
	*a->map = head;
	for (uint32_t i = 0; i < VB_IB_SLOTS; i++)
		vb_ib_map_routes(a->map, i)->node = VB_IB_NOWHERE;
	nodes_number(d, a);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		vb_subnet_map_follow(d, i);
	return 0;
}

void vb_subnet_map_close(struct vb_subnet_adapter *a)
{
	if (a->map)
		vb_memory_unmap(a->map, a->map->size);
	if (a->map_fd >= 0)
		close(a->map_fd);
	free(a->first_lanes);
}
