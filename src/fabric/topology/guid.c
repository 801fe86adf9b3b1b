/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives GUIDs to nodes and ports that have none, each only once in the topology. A port of an
 * adapter has its node's GUID and its number; a node without a GUID takes the next block of 256 in
 * which no GUID is. So the same text always gets the same GUIDs.
 */
#include "fabric/topology/build.h"
#include "fabric/topology/sort.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

#define BLOCK 256u

/* In the order in which they are believed. */
enum guid_kind { OF_NODE, OF_PORT, COMPUTED };

struct guid {
	uint64_t guid;
	uint32_t node;
	uint8_t port;
	enum guid_kind kind;
};

struct guid_list {
	struct guid *guid;
	uint32_t *order, cnt;
	uint64_t block; /* the next one to look at */
};

static void add_guid(struct guid_list *l, uint64_t guid, uint32_t node, uint8_t port,
		     enum guid_kind kind)
{
	l->order[l->cnt] = l->cnt;
	l->guid[l->cnt++] = (struct guid){guid, node, port, kind};
}

static void gather_guids(const struct vb_topo *t, struct guid_list *l)
{
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_topo_node *n = &t->node[i];

		if (n->node_guid)
			add_guid(l, n->node_guid, i, 0, OF_NODE);
		if (n->type == VB_NODE_SWITCH) {
			if (n->port[0].guid || n->node_guid)
				add_guid(l, n->port[0].guid ? n->port[0].guid : n->node_guid, i, 0,
					 OF_PORT);
			continue;
		}
		for (uint32_t p = 1; p <= n->port_cnt; p++) {
			if (n->port[p].guid)
				add_guid(l, n->port[p].guid, i, (uint8_t)p, OF_PORT);
			else if (n->node_guid)
				add_guid(l, n->node_guid + p, i, (uint8_t)p, COMPUTED);
		}
	}
}

static int compare_guids(const void *ctx, uint32_t a, uint32_t b)
{
	const struct guid_list *l = ctx;
	const struct guid *x = &l->guid[a], *y = &l->guid[b];

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* Takes the next block without a GUID; 0: there is none. */
static uint64_t take_block(struct guid_list *l)
{
	for (; l->block <= UINT64_MAX - BLOCK; l->block += BLOCK) {
		uint32_t from = 0, to = l->cnt;

		while (from < to) {
			uint32_t middle = from + (to - from) / 2;

			if (l->guid[l->order[middle]].guid < l->block)
				from = middle + 1;
			else
				to = middle;
		}
		if (from == l->cnt || l->guid[l->order[from]].guid - l->block >= BLOCK) {
			l->block += BLOCK;
			return l->block - BLOCK;
		}
	}
	return 0;
}

static int refuse_twice(struct vb_topo_build *b, const struct guid *first,
			const struct guid *second)
{
	return REFUSE(
	    b, b->place[second->node], "\"%\" and \"%\" in %%line % have the same GUID 0x%",
	    SAY_TEXT(b->t->node[second->node].name), SAY_TEXT(b->t->node[first->node].name),
	    SAY_LINE(b->place[first->node], b->place[second->node]), SAY_HEX(second->guid));
}

/* Ports whose computed GUID is used otherwise get one of a block. */
static int settle_ports(struct vb_topo_build *b, struct guid_list *l)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		const struct guid *g = &l->guid[l->order[i]],
				  *before = i ? &l->guid[l->order[i - 1]] : g;
		struct vb_topo_port *port = &b->t->node[g->node].port[g->port];
		bool used = i > 0 && before->guid == g->guid;

		if (used && g->kind == before->kind && g->kind != COMPUTED)
			return refuse_twice(b, before, g);
		if (g->kind == COMPUTED && used) {
			uint64_t block = take_block(l);

			if (!block)
				return REFUSE(b, b->place[g->node],
					      "there is no GUID left for \"%\"",
					      SAY_TEXT(b->t->node[g->node].name));
			port->guid = block + g->port;
		} else if (g->kind == COMPUTED) {
			port->guid = g->guid;
		}
	}
	return 0;
}

static int settle_nodes(struct vb_topo_build *b, struct guid_list *l)
{
	for (uint32_t i = 0; i < b->t->node_cnt; i++) {
		struct vb_topo_node *n = &b->t->node[i];

		if (!n->node_guid) {
			n->node_guid = take_block(l);
			for (uint32_t p = 1; p <= n->port_cnt && n->type != VB_NODE_SWITCH; p++) {
				if (!n->port[p].guid)
					n->port[p].guid = n->node_guid + p;
			}
		}
		if (!n->node_guid)
			return REFUSE(b, b->place[i], "there is no GUID left for \"%\"",
				      SAY_TEXT(n->name));
		if (!n->system_guid)
			n->system_guid = n->node_guid;
		if (n->type != VB_NODE_SWITCH)
			continue;
		if (!n->port[0].guid)
			n->port[0].guid = n->node_guid;
		for (uint32_t p = 1; p <= n->port_cnt; p++)
			n->port[p].guid = n->port[0].guid;
	}
	return 0;
}

int vb_topo_give_guids(struct vb_topo_build *b)
{
	struct guid_list l = {.block = b->cfg->guid_base ? b->cfg->guid_base : VB_TOPO_GUID_BASE};
	size_t room = 1 + (size_t)b->t->node_cnt * 2 + b->port_cnt;
	uint32_t *spare = vb_topo_scratch(b, room * sizeof *spare);
	int err;

	l.guid = vb_topo_scratch(b, room * sizeof *l.guid);
	l.order = vb_topo_scratch(b, room * sizeof *l.order);
	if (!spare || !l.guid || !l.order)
		return -ENOMEM;
	gather_guids(b->t, &l);
	vb_topo_sort(l.order, spare, l.cnt, compare_guids, &l);
	/* Nodes first: then the same GUIDs come out when they are written and read. */
	err = settle_nodes(b, &l);
	return err ? err : settle_ports(b, &l);
}
