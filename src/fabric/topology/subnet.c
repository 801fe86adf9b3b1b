/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnets of a topology, see topology.h: cables join two ports, and a switch joins all of its
 * own; adapters and routers join none. Ports that are joined have the same least one, which gives
 * the subnet its number at the end. IBA 3.2.2; FAB-07
 */
#include "base/assert.h"
#include "fabric/topology/topology.h"
#include "wire/mad/smp.h"

uint32_t vb_topo_port_cnt(const struct vb_topo *t)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++)
		cnt += t->node[i].port_cnt;
	return cnt;
}

/* The least port that @i is joined with so far. Shortens the way for those who ask again. */
static uint32_t subnet_root(uint32_t *of, uint32_t i)
{
	while (of[i] != i) {
		of[i] = of[of[i]];
		i = of[i];
	}
	return i;
}

static void subnet_join(uint32_t *of, uint32_t a, uint32_t b)
{
	a = subnet_root(of, a);
	b = subnet_root(of, b);
	if (a < b)
		of[b] = a;
	else
		of[a] = b;
}

/* The first port of a switch with a cable, which its others are joined with; else @port itself. */
static uint32_t switch_port(const struct vb_topo_node *n, uint32_t first, uint32_t port)
{
	for (uint32_t p = 1; n->type == VB_NODE_SWITCH && p < port; p++)
		if (n->port[p].peer != VB_TOPO_NO_PEER)
			return first + p - 1;
	return first + port - 1;
}

/* Gives the roots numbers, and then all others those of their roots. */
static uint32_t subnets_number(uint32_t *of, uint32_t cnt, uint32_t *place)
{
	uint32_t subnets = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		if (of[i] == VB_TOPO_NO_SUBNET)
			continue;
		place[i] = of[i] == i ? subnets++ : place[subnet_root(of, i)];
		VB_ASSERT_ALL(place[i] < subnets);
	}
	return subnets;
}

uint32_t vb_topo_subnets(const struct vb_topo *t, uint32_t *first, uint32_t *subnet,
			 uint32_t *scratch)
{
	uint32_t cnt = 0, at = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++) {
		first[i] = cnt;
		for (uint32_t p = 1; p <= t->node[i].port_cnt; p++, cnt++) {
			scratch[cnt] =
			    t->node[i].port[p].peer == VB_TOPO_NO_PEER ? VB_TOPO_NO_SUBNET : cnt;
			subnet[cnt] = VB_TOPO_NO_SUBNET;
		}
	}
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_topo_node *n = &t->node[i];

		for (uint32_t p = 1; p <= n->port_cnt; p++, at++) {
			if (scratch[at] == VB_TOPO_NO_SUBNET)
				continue;
			VB_ASSERT_ALL(n->port[p].peer_port >= 1);
			subnet_join(scratch, at, switch_port(n, first[i], p));
			subnet_join(scratch, at,
				    first[n->port[p].peer] + n->port[p].peer_port - 1u);
		}
	}
	return subnets_number(scratch, cnt, subnet);
}
