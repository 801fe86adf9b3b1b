/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a fabric, see drawing.h. The tier of a switch is its distance from the nearest host;
 * where links between switches of one tier are more than a few, it is no tree. A grid is found by
 * the order of its switches, in which meshes and tori are written down: number x + y * w.
 */
#include "export/fabric/graph.h"

#include <stdlib.h>

/* A tree may have a few links within a tier: one in so many. */
#define CROSS_SHARE 4u

static bool is_switch(const struct vb_drawing *g, uint32_t i)
{
	return i < g->node_cnt && g->node[i].kind == VB_DRAWING_SWITCH;
}

static bool joins_switches(const struct vb_drawing *g, const struct vb_drawing_link *l)
{
	return is_switch(g, l->a) && is_switch(g, l->b);
}

/* Distances from the hosts, over switches alone. */
static void tiers_measure(struct vb_drawing *g, const struct vb_graph *n, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < g->node_cnt; i++) {
		g->node[i].tier = VB_DRAWING_NOWHERE;
		if (g->node[i].kind != VB_DRAWING_HOST)
			continue;
		g->node[i].tier = 0;
		queue[tail++] = i;
	}
	while (head < tail) {
		uint32_t i = queue[head++];

		for (uint32_t k = n->first[i]; k < n->first[i + 1]; k++) {
			uint32_t peer = n->peer[k];

			if (!is_switch(g, peer) || g->node[peer].tier != VB_DRAWING_NOWHERE)
				continue;
			g->node[peer].tier = g->node[i].tier + 1;
			queue[tail++] = peer;
		}
	}
}

/* Switches without a way to a host are beside those with hosts; routers are above all. */
static void tiers_complete(struct vb_drawing *g)
{
	uint32_t top = 0;
	bool has_router = false;

	for (uint32_t i = 0; i < g->node_cnt; i++) {
		struct vb_drawing_node *n = &g->node[i];

		if (n->kind == VB_DRAWING_SWITCH && n->tier == VB_DRAWING_NOWHERE)
			n->tier = 1;
		if (n->kind != VB_DRAWING_ROUTER && n->tier > top)
			top = n->tier;
		has_router |= n->kind == VB_DRAWING_ROUTER;
	}
	for (uint32_t i = 0; i < g->node_cnt; i++)
		if (g->node[i].kind == VB_DRAWING_ROUTER)
			g->node[i].tier = top + 1;
	g->tier_cnt = top + 1 + has_router;
}

static bool is_tree(const struct vb_drawing *g)
{
	uint32_t cross = 0, all = 0;

	for (uint32_t i = 0; i < g->link_cnt; i++) {
		const struct vb_drawing_link *l = &g->link[i];

		if (!joins_switches(g, l))
			continue;
		all++;
		cross += g->node[l->a].tier == g->node[l->b].tier;
	}
	return cross == 0 || cross < all / CROSS_SHARE;
}

/* The place of each switch among the switches. */
static uint32_t switches_number(const struct vb_drawing *g, uint32_t *number)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < g->node_cnt; i++)
		number[i] = g->node[i].kind == VB_DRAWING_SWITCH ? cnt++ : 0;
	return cnt;
}

/* The two differ in one coordinate of a grid of @size, by one or around its edge. */
static bool are_neighbours(const uint32_t size[3], uint32_t a, uint32_t b)
{
	uint32_t differ = 0;

	for (int d = 0; d < 3; d++) {
		uint32_t x = a % size[d], y = b % size[d], by = x > y ? x - y : y - x;

		a /= size[d];
		b /= size[d];
		if (by == 0)
			continue;
		if (by != 1 && by != size[d] - 1)
			return false;
		differ++;
	}
	return differ == 1;
}

static bool size_fits(const struct vb_drawing *g, const uint32_t *number, const uint32_t size[3])
{
	for (uint32_t i = 0; i < g->link_cnt; i++) {
		const struct vb_drawing_link *l = &g->link[i];

		if (joins_switches(g, l) && l->a != l->b &&
		    !are_neighbours(size, number[l->a], number[l->b]))
			return false;
	}
	return true;
}

/* Two or three dimensions, of which each has two places at least. */
static bool grid_find(struct vb_drawing *g, const uint32_t *number, uint32_t cnt)
{
	for (uint32_t dims = 2; dims <= 3; dims++)
		for (uint32_t w = 2; w <= cnt / 2; w++) {
			if (cnt % w)
				continue;
			for (uint32_t h = dims == 2 ? cnt / w : 2; h <= cnt / w; h++) {
				uint32_t size[3] = {w, h, cnt / w / h};

				if (cnt / w % h || (dims == 3 && size[2] < 2) ||
				    !size_fits(g, number, size))
					continue;
				for (int d = 0; d < 3; d++)
					g->size[d] = size[d];
				return true;
			}
		}
	return false;
}

static enum vb_drawing_shape shape_of(struct vb_drawing *g, const uint32_t *number, uint32_t cnt)
{
	uint32_t row[3] = {cnt, 1, 1};
	bool is_closed = false;

	if (is_tree(g))
		return VB_DRAWING_TIERS;
	if (cnt > 1 && size_fits(g, number, row)) {
		for (uint32_t i = 0; i < g->link_cnt && cnt > 2; i++) {
			const struct vb_drawing_link *l = &g->link[i];

			is_closed |=
			    joins_switches(g, l) && (number[l->a] + cnt - 1 == number[l->b] ||
						     number[l->b] + cnt - 1 == number[l->a]);
		}
		return is_closed ? VB_DRAWING_CIRCLE : VB_DRAWING_ROW;
	}
	return grid_find(g, number, cnt) ? VB_DRAWING_GRID : VB_DRAWING_CIRCLE;
}

int vb_drawing_find_shape(struct vb_drawing *g)
{
	uint32_t *scratch = calloc(g->node_cnt + 1u, sizeof *scratch);
	struct vb_graph n = {0};
	int rc = vb_graph_make(&n, g);

	if (!scratch && !rc)
		rc = -ENOMEM;
	if (!rc) {
		tiers_measure(g, &n, scratch);
		tiers_complete(g);
		g->shape = shape_of(g, scratch, switches_number(g, scratch));
	}
	vb_graph_free(&n);
	free(scratch);
	return rc;
}
