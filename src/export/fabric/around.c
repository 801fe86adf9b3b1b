/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches in a grid, with hosts below each, or in a circle, with hosts outside of it; see place.h.
 */
#include "export/fabric/place.h"

#include <math.h>

#define PI 3.14159265358979323846
#define RADIUS_LEAST 150.0
#define OUTSIDE 78.0 /* from a switch of a circle to its hosts */

/* Routers of a grid or circle, of which there are few: in a row above. */
static void routers_place(struct vb_place *p)
{
	double x = VB_PLACE_MARGIN + VB_PLACE_SWITCH_WIDTH / 2;

	for (uint32_t i = 0; i < p->g->node_cnt; i++) {
		if (p->g->node[i].kind != VB_DRAWING_ROUTER)
			continue;
		vb_place_put(p, i, x, VB_PLACE_HEAD + VB_PLACE_SWITCH_HEIGHT / 2);
		x += VB_PLACE_SWITCH_WIDTH + VB_PLACE_GAP;
	}
	p->g->width = fmax(p->g->width, x);
}

/* Switch number @i of a grid: at its coordinates, the third of which are grids side by side. */
void vb_place_grid(struct vb_place *p)
{
	struct vb_drawing *g = p->g;
	double width = VB_PLACE_SWITCH_WIDTH + 40, height = VB_PLACE_SWITCH_HEIGHT + 50;
	uint32_t number = 0;

	p->columns = VB_PLACE_COLUMNS_LEAST;
	for (uint32_t i = 0; i < g->node_cnt; i++) {
		if (g->node[i].kind != VB_DRAWING_SWITCH)
			continue;
		width = fmax(width, vb_place_block_width(p, i) + p->host_width + 40);
		height = fmax(height, VB_PLACE_SWITCH_HEIGHT + VB_PLACE_HOST_BELOW +
					  vb_place_block_height(p, i) + 24);
	}
	p->host_shift = p->host_width / 2 + VB_PLACE_GAP;
	p->cell_width = width;
	p->cell_height = height;
	for (uint32_t i = 0; i < g->node_cnt; i++) {
		uint32_t x = number % g->size[0], y = number / g->size[0] % g->size[1];
		uint32_t z = number / g->size[0] / g->size[1];

		if (g->node[i].kind != VB_DRAWING_SWITCH)
			continue;
		vb_place_put(p, i,
			     VB_PLACE_MARGIN + VB_PLACE_BEND + z * (g->size[0] * width + 60) +
				 (x + 0.5) * width,
			     VB_PLACE_HEAD + VB_PLACE_MARGIN + VB_PLACE_BEND +
				 VB_PLACE_SWITCH_HEIGHT + y * height);
		number++;
	}
	g->width =
	    VB_PLACE_MARGIN + 2 * VB_PLACE_BEND + g->size[2] * (g->size[0] * width + 60) - 60;
	g->height = VB_PLACE_HEAD + VB_PLACE_MARGIN + 2 * VB_PLACE_BEND + g->size[1] * height;
	vb_place_hosts(p);
	routers_place(p);
}

void vb_place_circle(struct vb_place *p)
{
	struct vb_drawing *g = p->g;
	double pitch = VB_PLACE_SWITCH_WIDTH + 24, radius, rows = 0, middle;
	uint32_t cnt = 0, number = 0;

	for (uint32_t i = 0; i < g->node_cnt; i++) {
		double columns = ceil(sqrt(p->hosts[i]));

		cnt += g->node[i].kind == VB_DRAWING_SWITCH;
		pitch = fmax(pitch, columns * p->host_width);
		rows = fmax(rows, columns);
	}
	radius = fmax(RADIUS_LEAST, cnt * pitch / (2 * PI));
	middle = radius + OUTSIDE + rows * p->host_width + VB_PLACE_MARGIN;
	for (uint32_t i = 0; i < g->node_cnt; i++)
		if (g->node[i].kind == VB_DRAWING_SWITCH) {
			double a = 2 * PI * number++ / cnt - PI / 2;

			vb_place_put(p, i, middle + radius * cos(a),
				     VB_PLACE_HEAD + middle + radius * sin(a));
		}
	for (uint32_t i = 0; i < g->node_cnt; i++) {
		uint32_t sw = p->parent[i], columns, n, row;
		double out, along, dx, dy;

		if (!vb_place_is_host(p, i) || sw == VB_DRAWING_NOWHERE)
			continue;
		columns = (uint32_t)ceil(sqrt(p->hosts[sw]));
		n = p->placed[sw]++;
		row = n / columns;
		out = radius + OUTSIDE + row * p->host_width;
		along = ((n % columns) - (columns - 1) / 2.0) * p->host_width;
		dx = (g->node[sw].x - middle) / radius;
		dy = (g->node[sw].y - VB_PLACE_HEAD - middle) / radius;
		vb_place_put(p, i, middle + out * dx - along * dy,
			     VB_PLACE_HEAD + middle + out * dy + along * dx);
	}
	g->width = 2 * middle;
	g->height = VB_PLACE_HEAD + 2 * middle;
	routers_place(p);
}
