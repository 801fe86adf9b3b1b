/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places of nodes, see drawing.h. Hosts stand in a block below their switch, or outside of it in a
 * circle; the blocks decide how far switches are apart. In tiers, switches of a pod stand together,
 * and those above at the middle of what they join. Nothing here is at random.
 */
#include "export/fabric/place.h"

#include <math.h>
#include <stdlib.h>

#define LEGEND 44.0      /* room for it */
#define SMALL_NODES 200u /* of more nodes, hosts are smaller */
#define PARALLEL_GAP 5.0

static void parents_find(struct vb_place *p)
{
	struct vb_drawing *g = p->g;

	for (uint32_t i = 0; i < g->node_cnt; i++) {
		bool is_small = g->node_cnt > SMALL_NODES;

		g->node[i].width =
		    vb_place_is_host(p, i) ? (is_small ? 42 : 58) : VB_PLACE_SWITCH_WIDTH;
		g->node[i].height =
		    vb_place_is_host(p, i) ? (is_small ? 12 : 18) : VB_PLACE_SWITCH_HEIGHT;
		p->host_width = (is_small ? 42 : 58) + (is_small ? 4 : VB_PLACE_GAP);
		p->host_height = (is_small ? 12 : 18) + (is_small ? 4 : VB_PLACE_GAP);
		p->parent[i] = VB_DRAWING_NOWHERE;
		g->node[i].link = VB_DRAWING_NOWHERE;
		for (uint32_t k = p->n.first[i]; vb_place_is_host(p, i) && k < p->n.first[i + 1];
		     k++)
			if (!vb_place_is_host(p, p->n.peer[k])) {
				p->parent[i] = p->n.peer[k];
				p->hosts[p->n.peer[k]]++;
				break;
			}
	}
}

/* The ends of a link: at the lower edge of the upper node and the upper one of the lower, or in the
 * middle of nodes at the same height. */
static void link_place(struct vb_place *p, struct vb_drawing_link *l)
{
	const struct vb_drawing_node *a = &p->g->node[l->a], *b = &p->g->node[l->b], *u = a, *d = b;
	double gap =
	    p->g->shape == VB_DRAWING_GRID ? p->cell_width * 1.5 : VB_PLACE_SWITCH_WIDTH * 1.7;

	if (a->y > b->y) {
		u = b;
		d = a;
	}
	l->x1 = u->x;
	l->y1 = u->y + (d->y - u->y > d->height ? u->height / 2 : 0);
	l->x2 = d->x;
	l->y2 = d->y - (d->y - u->y > d->height ? d->height / 2 : 0);
	/* Across others of the same row or column: around them. */
	if (p->g->shape == VB_DRAWING_CIRCLE || vb_place_is_host(p, l->a) ||
	    vb_place_is_host(p, l->b))
		return;
	if (fabs(a->y - b->y) < 1 && fabs(a->x - b->x) > gap)
		l->bend = VB_PLACE_BEND + fabs(a->x - b->x) * 0.04;
	else if (p->g->shape == VB_DRAWING_GRID && fabs(a->x - b->x) < 1 &&
		 fabs(a->y - b->y) > p->cell_height * 1.5)
		l->bend = -2.2 * VB_PLACE_BEND;
}

/* A link that leads out of the fabric ends beside its node. */
static void tunnel_place(struct vb_place *p, struct vb_drawing_link *l)
{
	const struct vb_drawing_node *a = &p->g->node[l->a];

	l->x1 = a->x;
	l->y1 = a->y - a->height / 2;
	l->x2 = a->x + 18;
	l->y2 = a->y - a->height / 2 - 24;
}

static uint32_t end_low(const struct vb_drawing_link *l)
{
	return l->a < l->b ? l->a : l->b;
}

static uint32_t end_high(const struct vb_drawing_link *l)
{
	return l->a < l->b ? l->b : l->a;
}

static int compare_links(const void *a, const void *b)
{
	const struct vb_drawing_link *x = *(struct vb_drawing_link *const *)a;
	const struct vb_drawing_link *y = *(struct vb_drawing_link *const *)b;

	if (end_low(x) != end_low(y))
		return end_low(x) < end_low(y) ? -1 : 1;
	if (end_high(x) != end_high(y))
		return end_high(x) < end_high(y) ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Cables between the same two nodes are beside each other. */
static int parallels_part(struct vb_drawing *g)
{
	struct vb_drawing_link **all = calloc(g->link_cnt + 1u, sizeof *all);

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->link_cnt; i++)
		all[i] = &g->link[i];
	qsort(all, g->link_cnt, sizeof(struct vb_drawing_link *), compare_links);
	for (uint32_t i = 0, n; i < g->link_cnt; i += n) {
		for (n = 1; i + n < g->link_cnt && end_low(all[i]) == end_low(all[i + n]) &&
			    end_high(all[i]) == end_high(all[i + n]);)
			n++;
		for (uint32_t k = 0; k < n; k++) {
			struct vb_drawing_link *l = all[i + k];
			double by = (k - (n - 1) / 2.0) * PARALLEL_GAP;
			bool is_flat = fabs(l->x2 - l->x1) > fabs(l->y2 - l->y1);

			l->x1 += is_flat ? 0 : by;
			l->x2 += is_flat ? 0 : by;
			l->y1 += is_flat ? by : 0;
			l->y2 += is_flat ? by : 0;
		}
	}
	free(all);
	return 0;
}

static int links_place(struct vb_place *p)
{
	for (uint32_t i = p->g->link_cnt; i-- > 0;) {
		struct vb_drawing_link *l = &p->g->link[i];

		if (vb_place_is_host(p, l->a))
			p->g->node[l->a].link = i;
		if (l->b != VB_DRAWING_NOWHERE && vb_place_is_host(p, l->b))
			p->g->node[l->b].link = i;

		l->bend = 0;
		if (l->b == VB_DRAWING_NOWHERE)
			tunnel_place(p, l);
		else
			link_place(p, l);
	}
	return parallels_part(p->g);
}

static int nodes_place(struct vb_place *p)
{
	int rc = 0;

	parents_find(p);
	if (p->g->shape == VB_DRAWING_GRID)
		vb_place_grid(p);
	else if (p->g->shape == VB_DRAWING_CIRCLE)
		vb_place_circle(p);
	else
		rc = vb_place_tiers(p);
	p->g->width += VB_PLACE_MARGIN;
	p->g->height += VB_PLACE_MARGIN + LEGEND;
	return rc;
}

int vb_drawing_place(struct vb_drawing *g)
{
	struct vb_place p = {.g = g};
	int rc = vb_drawing_find_shape(g);

	if (!rc)
		rc = vb_graph_make(&p.n, g);
	p.parent = calloc(3u * ((size_t)g->node_cnt + 1u), sizeof *p.parent);
	if (!rc && !p.parent)
		rc = -ENOMEM;
	if (!rc) {
		p.hosts = p.parent + g->node_cnt + 1;
		p.placed = p.hosts + g->node_cnt + 1;
		rc = nodes_place(&p);
	}
	if (!rc)
		rc = links_place(&p);
	vb_graph_free(&p.n);
	free(p.parent);
	return rc;
}
