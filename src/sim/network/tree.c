/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the trees along which switches send what goes to a group: each is found by a breadth-first
 * search from a switch in the middle, and ends at the hosts; switches that lead to no host are not
 * in it. There are a few, from different roots, so that groups do not all take the same cables. No
 * tree goes through a router: each subnet has its own.
 */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

struct growth {
	struct vb_sim *s;
	uint32_t *queue;  /* switches in the order in which they were reached */
	uint32_t *up;     /* of each the number of its port towards the root; of that VB_SIM_NONE */
	uint8_t *reached; /* 1: it is in the queue, 2: it leads to a host */
	uint32_t tree;
};

static uint64_t *tree_of(const struct growth *g, const struct vb_switch *sw)
{
	const struct vb_forward *fw = &sw->forward;

	return g->s->tree + (fw->tree - g->s->tree) + (size_t)g->tree * fw->tree_words;
}

static void port_add(const struct growth *g, const struct vb_switch *sw, uint32_t port)
{
	VB_ASSERT_ALL(port < sw->port_cnt && port / 64 < sw->forward.tree_words);
	tree_of(g, sw)[port / 64] |= UINT64_C(1) << port % 64;
}

/* Puts the switches behind one into the queue; true: a host is behind one of its ports. */
static bool switch_reach(struct growth *g, uint32_t at, uint32_t *tail)
{
	const struct vb_switch *sw = &g->s->sw[at];
	bool leads = false;

	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		const struct vb_port *far = vb_sim_port(g->s, vb_sim_peer(sw->port[i]->id));
		uint32_t next = vb_sim_switch_behind(g->s, sw->port[i]);

		if (sw->port[i]->to_host) {
			port_add(g, sw, i);
			leads = true;
		} else if (next == VB_SIM_NONE || vb_sim_is_router(g->s, next)) {
			continue; /* the cable is apart, or the subnet ends */
		} else if (!g->reached[next]) {
			g->reached[next] = 1;
			g->up[next] = far->number;
			VB_ASSERT_ALL(*tail < g->s->switch_cnt);
			g->queue[(*tail)++] = next;
		}
	}
	return leads;
}

/* All that hangs together with a switch, behind the @head switches in the queue. Returns how many
 * there are then. */
static uint32_t root_grow(struct growth *g, uint32_t root, uint32_t head)
{
	uint32_t tail = head;

	g->reached[root] = 1;
	g->up[root] = VB_SIM_NONE;
	g->queue[tail++] = root;
	for (; head < tail; head++) {
		if (switch_reach(g, g->queue[head], &tail))
			g->reached[g->queue[head]] = 2;
	}
	return head;
}

static void tree_grow(struct growth *g, uint32_t root)
{
	uint32_t head;

	memset(g->reached, 0, g->s->switch_cnt);
	head = root_grow(g, root, 0);
	for (uint32_t i = 0; g->s->subnets && i < g->s->subnets->router_first; i++)
		if (!g->reached[i])
			head = root_grow(g, i, head);
	/* From the ends to the root: what leads to a host hangs at the switch above it. */
	while (head-- > 0) {
		const struct vb_switch *sw = &g->s->sw[g->queue[head]], *parent;
		const struct vb_port *up, *above;

		if (g->reached[g->queue[head]] != 2 || g->up[g->queue[head]] == VB_SIM_NONE)
			continue;
		up = sw->port[g->up[g->queue[head]]];
		above = vb_sim_port(g->s, vb_sim_peer(up->id));
		parent = vb_sim_switch_at(g->s, above);
		VB_ASSERT_ALL(parent && g->reached[vb_sim_switch_number(g->s, parent)] != 0);
		g->reached[vb_sim_switch_number(g->s, parent)] = 2;
		port_add(g, sw, up->number);
		port_add(g, parent, above->number);
	}
}

/* True when no host hangs at it. */
static bool is_in_the_middle(const struct vb_switch *sw)
{
	for (uint32_t i = 0; i < sw->port_cnt; i++)
		if (sw->port[i]->to_host)
			return false;
	return true;
}

/* The root of tree @tree: one of the switches in the middle, or of all if there are none. */
static uint32_t root_of(const struct vb_sim *s, uint32_t tree)
{
	uint32_t cnt = 0, n, all = s->subnets ? s->subnets->router_first : s->switch_cnt;

	for (uint32_t i = 0; i < all; i++)
		cnt += is_in_the_middle(&s->sw[i]);
	if (cnt == 0)
		return (uint32_t)((uint64_t)tree * all / VB_SIM_TREES);
	n = (uint32_t)((uint64_t)(VB_SIM_TREES - tree) * cnt - 1) / VB_SIM_TREES;
	for (uint32_t i = 0;; i++)
		if (is_in_the_middle(&s->sw[i]) && n-- == 0)
			return i;
}

static int trees_reserve(struct vb_sim *s)
{
	size_t words = 0;

	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		struct vb_forward *fw = &s->sw[i].forward;

		fw->tree_cnt = VB_SIM_TREES;
		fw->tree_words = (s->sw[i].port_cnt + 63) / 64;
		words += (size_t)VB_SIM_TREES * fw->tree_words;
	}
	s->tree = vb_sim_alloc(s, words * sizeof *s->tree);
	if (!s->tree)
		return -ENOMEM;
	words = 0;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		struct vb_forward *fw = &s->sw[i].forward;

		fw->tree = s->tree + words;
		words += (size_t)VB_SIM_TREES * fw->tree_words;
	}
	return 0;
}

int vb_sim_trees_create(struct vb_sim *s)
{
	struct growth g = {.s = s};
	int err = s->switch_cnt ? trees_reserve(s) : 0;

	if (err || s->switch_cnt == 0 || vb_sim_is_router(s, 0))
		return err;
	g.queue = vb_sim_alloc(s, s->switch_cnt * sizeof *g.queue);
	g.up = vb_sim_alloc(s, s->switch_cnt * sizeof *g.up);
	g.reached = vb_sim_alloc(s, s->switch_cnt);
	if (g.queue && g.up && g.reached) {
		for (; g.tree < VB_SIM_TREES; g.tree++)
			tree_grow(&g, root_of(s, g.tree));
	} else {
		err = -ENOMEM;
	}
	vb_sim_free(s, g.queue);
	vb_sim_free(s, g.up);
	vb_sim_free(s, g.reached);
	return err;
}
