/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of hosts below their switches, see place.h. */
#include "export/fabric/place.h"

#include <math.h>

uint32_t vb_place_columns(const struct vb_place *p, uint32_t hosts)
{
	return hosts < p->columns ? hosts : p->columns;
}

double vb_place_block_width(const struct vb_place *p, uint32_t sw)
{
	double hosts = vb_place_columns(p, p->hosts[sw]) * p->host_width;

	return fmax(hosts, VB_PLACE_SWITCH_WIDTH) + 2 * VB_PLACE_GAP;
}

double vb_place_block_height(const struct vb_place *p, uint32_t sw)
{
	uint32_t columns = vb_place_columns(p, p->hosts[sw]);
	uint32_t rows = columns ? (p->hosts[sw] + columns - 1) / columns : 0;

	return rows * p->host_height;
}

/* Hosts below their switches, in rows. */
void vb_place_hosts(struct vb_place *p)
{
	double y_lone = p->g->height + p->host_height, x_lone = VB_PLACE_MARGIN + p->host_width / 2;

	for (uint32_t i = 0; i < p->g->node_cnt; i++) {
		uint32_t sw = p->parent[i], columns, n, row;
		const struct vb_drawing_node *s;

		if (!vb_place_is_host(p, i))
			continue;
		if (sw == VB_DRAWING_NOWHERE) {
			vb_place_put(p, i, x_lone, y_lone);
			x_lone += p->host_width + VB_PLACE_GAP;
			p->g->width = fmax(p->g->width, x_lone);
			p->g->height = fmax(p->g->height, y_lone + p->host_height);
			continue;
		}
		columns = vb_place_columns(p, p->hosts[sw]);
		n = p->placed[sw]++;
		s = &p->g->node[sw];
		row = n / columns;
		vb_place_put(p, i,
			     s->x + p->host_shift +
				 ((n % columns) - (columns - 1) / 2.0) * p->host_width,
			     s->y + VB_PLACE_HOST_BELOW + (row + 0.5) * p->host_height);
	}
}
