/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A drawing of a fabric: nodes and the cables between them, in tiers where switches are in tiers,
 * as in fat trees; else in a row, a grid or a circle. The same fabric gives the same drawing.
 */
#ifndef VB_EXPORT_FABRIC_DRAWING_H
#define VB_EXPORT_FABRIC_DRAWING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VB_DRAWING_NOWHERE UINT32_MAX

enum vb_drawing_kind { VB_DRAWING_HOST, VB_DRAWING_SWITCH, VB_DRAWING_ROUTER };

enum vb_drawing_shape {
	VB_DRAWING_TIERS,  /* switches above each other, hosts below */
	VB_DRAWING_ROW,    /* switches in a line, each joined to the next */
	VB_DRAWING_GRID,   /* a mesh or torus of one to three dimensions */
	VB_DRAWING_CIRCLE, /* a ring, or whatever is none of the others */
};

enum vb_drawing_state {
	VB_DRAWING_NONE, /* the cable is unplugged */
	VB_DRAWING_DOWN,
	VB_DRAWING_INIT,
	VB_DRAWING_ARMED,
	VB_DRAWING_ACTIVE,
};

/* Text may be any bytes. */
struct vb_drawing_node {
	const char *name, *title; /* the title shows where a pointer is: several lines */
	enum vb_drawing_kind kind;
	/* Of the layout: 0 for hosts, 1 for switches with hosts, and so on; then pixels, of its
	 * middle and its size. */
	uint32_t tier;
	uint32_t link; /* of a host: its first one; VB_DRAWING_NOWHERE: none */
	double x, y, width, height;
};

struct vb_drawing_link {
	uint32_t a, b; /* nodes; b VB_DRAWING_NOWHERE: it leads out of the fabric */
	const char *title;
	enum vb_drawing_state state; /* the lower one of both ends */
	double gbps;                 /* data that it carries; 0: it is down */
	double load; /* share of that, or of the most that a link has sent, 0 and up, of its busier
			direction; negative: not known */
	bool has_errors;
	/* Of the layout: its ends, and how far its middle is off the straight line, to the left. */
	double x1, y1, x2, y2, bend;
};

struct vb_drawing {
	const char *title;
	struct vb_drawing_node *node;
	struct vb_drawing_link *link;
	uint32_t node_cnt, link_cnt;
	enum vb_drawing_shape shape;
	uint32_t tier_cnt; /* with that of the hosts */
	uint32_t size[3];  /* of a grid */
	double width, height;
};

/* Finds the shape, the tiers, and of a grid its size. 0 or -ENOMEM. */
int vb_drawing_find_shape(struct vb_drawing *g);
/* ... and gives nodes and links their places. 0 or -ENOMEM. */
int vb_drawing_place(struct vb_drawing *g);

/* The property by which links have their colors. */
enum vb_drawing_color { VB_DRAWING_BY_STATE, VB_DRAWING_BY_RATE, VB_DRAWING_BY_LOAD };

/* Writes a drawing that has its places as an element of SVG, which stands alone and in a page: node
 * and link @i have the ids n@i and l@i. @load_name: the word for the load in the legend. 0 or -EIO.
 */
int vb_drawing_write(FILE *f, const struct vb_drawing *g, enum vb_drawing_color color,
		     const char *load_name);

/* The classes of links in the legend, from 0 on. */
#define VB_DRAWING_RATES 8u
#define VB_DRAWING_LOADS 6u
uint32_t vb_drawing_rate_class(double gbps);
uint32_t vb_drawing_load_class(double load);

#endif
