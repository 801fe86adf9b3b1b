/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways of a multicast packet through a fabric, see route.h: from the sender's port to the first
 * switch, and from each switch by the ports that its multicast table has for the LID. A table may
 * lead around in a circle, where each turn would make more copies: a switch that has copied the
 * packet once counts what comes back as a relay error, and so nobody gets it twice. IBA 18.2.4.3.3;
 * items FAB-02, FAB-57
 */
#include "link/ib/route.h"

#include "wire/ib/lrh.h"

#define MASK_BITS 16u

struct growth {
	const struct vb_ib_map *m;
	struct vb_ib_tree *t;
};

/* A switch made copies of it before: @in leads to that. */
static bool switch_was_passed(const struct growth *g, uint32_t in)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(g->m);

	for (uint32_t i = 0; i < g->t->branch_cnt; i++) {
		const struct vb_ib_branch *b = &g->t->branch[i];

		if (b->fate == VB_IB_PASSES && ports[b->at].node == ports[in].node)
			return true;
	}
	return false;
}

/* The fate of a copy that came to port @in. An adapter sends nothing on. */
static uint32_t fate_at(const struct growth *g, uint32_t in)
{
	uint32_t node = vb_ib_map_ports(g->m)[in].node;

	if (node >= g->m->node_cnt)
		return VB_IB_LOST;
	if (!vb_ib_map_nodes(g->m)[node].is_switch)
		return VB_IB_ARRIVES;
	return switch_was_passed(g, in) ? VB_IB_NO_WAY : VB_IB_PASSES;
}

/* A copy leaves by @out; the packet came by port @in_port of the node. */
static void branch_add(struct growth *g, uint8_t in_port, uint32_t out)
{
	struct vb_ib_branch b;

	if (g->t->branch_cnt == VB_IB_BRANCHES || out >= g->m->port_cnt)
		return;
	b = vb_ib_cross(g->m, &g->t->key, in_port, out);
	if (b.fate == VB_IB_PASSES)
		b.fate = fate_at(g, b.hop.in);
	g->t->branch[g->t->branch_cnt++] = b;
}

static bool mask_has(const struct vb_ib_map_mask *k, uint32_t port)
{
	return k->word[port / MASK_BITS] >> port % MASK_BITS & 1;
}

static bool mask_is_empty(const struct vb_ib_map_mask *k)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < VB_IB_MASK_WORDS; i++)
		all |= k->word[i];
	return all == 0;
}

/* The ports of switch @n for @lid, of which @in_port is one or not. False: there are none, and no
 * default port either. FAB-02 */
static bool group_ports(const struct vb_ib_map *m, const struct vb_ib_map_node *n, uint16_t lid,
			uint8_t in_port, struct vb_ib_map_mask *out)
{
	uint32_t entry = (uint32_t)lid - VB_LID_MULTICAST;
	uint8_t port;

	*out = (struct vb_ib_map_mask){{0}};
	if (n->lft < m->lft_cnt && entry < VB_IB_MULTICASTS &&
	    (n->multicast_top == 0 || lid <= n->multicast_top))
		*out = vb_ib_map_mft(m, n->lft)[entry];
	if (!mask_is_empty(out))
		return true;
	port = n->multicast_primary == in_port ? n->multicast_other : n->multicast_primary;
	if (port == VB_IB_PORT_NONE)
		return false;
	out->word[port / MASK_BITS] = (uint16_t)(1u << port % MASK_BITS);
	return true;
}

/* The switch where branch @i ends copies the packet. */
static void switch_copy(struct growth *g, uint32_t i)
{
	struct vb_ib_branch *b = &g->t->branch[i];
	const struct vb_ib_map_port *in = &vb_ib_map_ports(g->m)[b->at];
	const struct vb_ib_map_node *n = &vb_ib_map_nodes(g->m)[in->node];
	struct vb_ib_map_mask mask;

	if (!group_ports(g->m, n, g->t->key.dlid, in->number, &mask)) {
		b->fate = VB_IB_NO_WAY;
		return;
	}
	for (uint32_t p = 1; p <= n->port_cnt; p++)
		if (p != in->number && mask_has(&mask, p))
			branch_add(g, in->number, n->first_port + p);
}

void vb_ib_walk_tree(const struct vb_ib_map *m, const struct vb_ib_key *key, struct vb_ib_tree *t)
{
	struct growth g = {m, t};

	t->key = *key;
	t->branch_cnt = 0;
	branch_add(&g, 0, key->port);
	for (uint32_t i = 0; i < t->branch_cnt; i++)
		if (t->branch[i].fate == VB_IB_PASSES)
			switch_copy(&g, i);
}
