/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours in one array, see graph.h. */
#include "export/fabric/graph.h"

#include <stdlib.h>

int vb_graph_make(struct vb_graph *n, const struct vb_drawing *g)
{
	n->first = calloc(g->node_cnt + 2u, sizeof *n->first);
	n->peer = calloc(2u * (size_t)g->link_cnt + 1u, sizeof *n->peer);
	if (!n->first || !n->peer)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->link_cnt; i++) {
		if (g->link[i].b == VB_DRAWING_NOWHERE)
			continue;
		n->first[g->link[i].a + 2]++;
		n->first[g->link[i].b + 2]++;
	}
	for (uint32_t i = 2; i < g->node_cnt + 2u; i++)
		n->first[i] += n->first[i - 1];
	/* first[i + 1] goes from the first neighbour of i to behind its last one. */
	for (uint32_t i = 0; i < g->link_cnt; i++) {
		const struct vb_drawing_link *l = &g->link[i];

		if (l->b == VB_DRAWING_NOWHERE)
			continue;
		n->peer[n->first[l->a + 1]++] = l->b;
		n->peer[n->first[l->b + 1]++] = l->a;
	}
	return 0;
}

void vb_graph_free(struct vb_graph *n)
{
	free(n->first);
	free(n->peer);
	*n = (struct vb_graph){0};
}
