/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a layout, and its parts, see drawing.h. Lengths are pixels. */
#ifndef VB_EXPORT_FABRIC_PLACE_H
#define VB_EXPORT_FABRIC_PLACE_H

#include "export/fabric/graph.h"

#define VB_PLACE_MARGIN 24.0
#define VB_PLACE_HEAD 34.0 /* room for the title */
#define VB_PLACE_SWITCH_WIDTH 72.0
#define VB_PLACE_SWITCH_HEIGHT 28.0
#define VB_PLACE_GAP 8.0
#define VB_PLACE_HOST_BELOW 44.0 /* from a switch to its hosts */
#define VB_PLACE_COLUMNS_LEAST 2u
#define VB_PLACE_BEND 26.0

struct vb_place {
	struct vb_drawing *g;
	struct vb_graph n;
	uint32_t *parent;               /* of a host: its switch; VB_DRAWING_NOWHERE: none */
	uint32_t *hosts;                /* of a switch: how many it has... */
	uint32_t *placed;               /* ... and how many have their places */
	uint32_t columns;               /* of a block of hosts, at most */
	double host_width, host_height; /* with the room around them */
	double host_shift;              /* of a block, to the right */
	double cell_width, cell_height; /* of a grid */
};

static inline bool vb_place_is_host(const struct vb_place *p, uint32_t i)
{
	return p->g->node[i].kind == VB_DRAWING_HOST;
}

static inline void vb_place_put(struct vb_place *p, uint32_t i, double x, double y)
{
	p->g->node[i].x = x;
	p->g->node[i].y = y;
}

/* hosts.c: the size of the block of hosts of switch @sw, whose width is at least that of the
 * switch; the hosts below their switches, which have their places, and those without a switch below
 * all. */
uint32_t vb_place_columns(const struct vb_place *p, uint32_t hosts);
double vb_place_block_width(const struct vb_place *p, uint32_t sw);
double vb_place_block_height(const struct vb_place *p, uint32_t sw);
void vb_place_hosts(struct vb_place *p);

/* tiers.c: all nodes, and the size of the drawing. 0 or -ENOMEM. */
int vb_place_tiers(struct vb_place *p);
/* around.c: the same. */
void vb_place_grid(struct vb_place *p);
void vb_place_circle(struct vb_place *p);

#endif
