/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches in tiers, or in a row, see drawing.h: a pod's switches together, and the switches above
 * at the middle of what they join, spread over the whole width.
 */
#include "export/fabric/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_WANTED 1500.0 /* as long as hosts have room in it side by side */
#define WIDTH_LEAST 400.0
#define TIER_GAP 114.0
#define TIER_SHARE 14.0 /* of the width: links of wide tiers are less flat so */

/* An order of nodes, by a number of each. */
struct rank {
	double key;
	uint32_t node;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Side by side as long as there is room, then in fewer columns. */
static void columns_choose(struct vb_place *p)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < p->g->node_cnt; i++)
		if (p->hosts[i] > most)
			most = p->hosts[i];
	for (p->columns = most; p->columns > VB_PLACE_COLUMNS_LEAST; p->columns--) {
		double width = 0;

		for (uint32_t i = 0; i < p->g->node_cnt; i++)
			if (p->g->node[i].tier == 1)
				width += vb_place_block_width(p, i);
		if (width <= WIDTH_WANTED)
			break;
	}
}

/* Marks, from switch @i on, the switches below tier @top that are joined. */
static void pod_mark(const struct vb_place *p, uint32_t i, uint32_t top, uint32_t pod,
		     uint32_t *mark, uint32_t *stack)
{
	uint32_t cnt = 0;

	stack[cnt++] = i;
	mark[i] = pod;
	while (cnt) {
		uint32_t at = stack[--cnt];

		for (uint32_t k = p->n.first[at]; k < p->n.first[at + 1]; k++) {
			uint32_t peer = p->n.peer[k];

			if (vb_place_is_host(p, peer) || p->g->node[peer].tier >= top || mark[peer])
				continue;
			mark[peer] = pod;
			stack[cnt++] = peer;
		}
	}
}

/* The switches with hosts, a pod's together. */
static uint32_t leaves_rank(const struct vb_place *p, struct rank *rank, uint32_t *mark,
			    uint32_t *stack)
{
	struct vb_drawing *g = p->g;
	uint32_t cnt = 0, pod = 0, top = g->tier_cnt - 1;

	memset(mark, 0, g->node_cnt * sizeof *mark);
	for (uint32_t i = 0; i < g->node_cnt; i++) {
		if (vb_place_is_host(p, i) || g->node[i].tier != 1)
			continue;
		if (top > 2 && !mark[i])
			pod_mark(p, i, top, ++pod, mark, stack);
		rank[cnt++] = (struct rank){mark[i], i};
	}
	qsort(rank, cnt, sizeof *rank, compare_ranks);
	return cnt;
}

static uint32_t tier_rank(const struct vb_place *p, struct rank *rank, uint32_t tier)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->g->node_cnt; i++) {
		double sum = 0, n = 0;

		if (vb_place_is_host(p, i) || p->g->node[i].tier != tier)
			continue;
		for (uint32_t k = p->n.first[i]; k < p->n.first[i + 1]; k++)
			if (p->g->node[p->n.peer[k]].tier < tier) {
				sum += p->g->node[p->n.peer[k]].x;
				n++;
			}
		rank[cnt++] = (struct rank){n > 0 ? sum / n : 0, i};
	}
	qsort(rank, cnt, sizeof *rank, compare_ranks);
	return cnt;
}

/* The switches with hosts, side by side at height 0, as far apart as their blocks need. Returns the
 * height of the highest block. */
static double leaves_place(struct vb_place *p, const struct rank *rank, uint32_t cnt)
{
	double x = VB_PLACE_MARGIN, high = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		double width = vb_place_block_width(p, rank[i].node);

		vb_place_put(p, rank[i].node, x + width / 2, 0);
		x += width;
		high = fmax(high, vb_place_block_height(p, rank[i].node));
	}
	p->g->width = fmax(x, VB_PLACE_MARGIN + WIDTH_LEAST);
	return high;
}

/* @y: the height of the tier. */
static void tier_place(struct vb_place *p, const struct rank *rank, uint32_t cnt, double y)
{
	double span =
	    fmax(p->g->width - VB_PLACE_MARGIN, cnt * (VB_PLACE_SWITCH_WIDTH + 2 * VB_PLACE_GAP));

	for (uint32_t i = 0; i < cnt; i++)
		vb_place_put(p, rank[i].node, VB_PLACE_MARGIN + (i + 0.5) * span / cnt, y);
	p->g->width = VB_PLACE_MARGIN + span;
}

static void switches_place(struct vb_place *p, struct rank *rank, uint32_t *mark, uint32_t *stack)
{
	struct vb_drawing *g = p->g;
	uint32_t top = g->tier_cnt ? g->tier_cnt - 1 : 0, cnt = leaves_rank(p, rank, mark, stack);
	double high, gap, y = VB_PLACE_HEAD + VB_PLACE_MARGIN;

	columns_choose(p);
	high = leaves_place(p, rank, cnt);
	gap = fmax(TIER_GAP, g->width / TIER_SHARE);
	for (uint32_t t = 2; t <= top; t++)
		tier_place(p, rank, tier_rank(p, rank, t), -(t - 1.0) * gap);
	y += top ? (top - 1) * gap : 0;
	for (uint32_t i = 0; i < g->node_cnt; i++)
		g->node[i].y += vb_place_is_host(p, i) ? 0 : y;
	g->height = y + (top ? VB_PLACE_SWITCH_HEIGHT / 2 : 0) +
		    (high > 0 ? VB_PLACE_HOST_BELOW + high : 0);
	vb_place_hosts(p);
}

int vb_place_tiers(struct vb_place *p)
{
	uint32_t cnt = p->g->node_cnt;
	uint32_t *mark = calloc(2u * (size_t)cnt + 1u, sizeof *mark);
	struct rank *rank = calloc(cnt + 1u, sizeof *rank);
	int rc = mark && rank ? 0 : -ENOMEM;

	if (!rc)
		switches_place(p, rank, mark, mark + cnt);
	free(mark);
	free(rank);
	return rc;
}
