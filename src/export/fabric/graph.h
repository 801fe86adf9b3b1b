/* SPDX-License-Identifier: BSD-2-Clause */
/* The neighbours of each node of a drawing (drawing.h), in the order of links. */
#ifndef VB_EXPORT_FABRIC_GRAPH_H
#define VB_EXPORT_FABRIC_GRAPH_H

#include "export/fabric/drawing.h"

#include <errno.h>

struct vb_graph {
	uint32_t *first; /* by node: its neighbours are @peer[first] up to that of the next node */
	uint32_t *peer;  /* node */
};

/* 0 or -ENOMEM; then vb_graph_free() is in order as well. */
int vb_graph_make(struct vb_graph *n, const struct vb_drawing *g);
void vb_graph_free(struct vb_graph *n);

#endif
