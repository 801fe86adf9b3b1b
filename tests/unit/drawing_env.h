/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawings (export/fabric/drawing.h) of the topologies that `verbena fabric up` takes. */
#ifndef VB_TESTS_UNIT_DRAWING_ENV_H
#define VB_TESTS_UNIT_DRAWING_ENV_H

#include "cmocka_env.h"
#include "export/fabric/drawing.h"
#include "fabric/topology/topology.h"
#include "wire/mad/smp.h"

#include <stdlib.h>
#include <string.h>

static struct vb_topo drawn;

static inline void *drawing_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void drawing_release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static inline enum vb_drawing_kind drawing_kind(uint8_t type)
{
	return type == VB_NODE_SWITCH   ? VB_DRAWING_SWITCH
	       : type == VB_NODE_ROUTER ? VB_DRAWING_ROUTER
					: VB_DRAWING_HOST;
}

/* @text: a shape, or a topology. Ends by drawing_end(). */
static inline struct vb_drawing drawing_of(const char *text)
{
	const struct vb_topo_config cfg = {.alloc = drawing_alloc, .free = drawing_release};
	struct vb_drawing g = {.title = "t"};
	char why[256];

	if (vb_topo_is_shape(text)
		? vb_topo_shape(&drawn, &cfg, text, why, sizeof why)
		: vb_topo_parse(&drawn, &cfg, text, strlen(text), why, sizeof why))
		fail_msg("%s", why);
	g.node_cnt = drawn.node_cnt;
	g.node = calloc(g.node_cnt, sizeof *g.node);
	g.link = calloc(drawn.link_cnt + 1u, sizeof *g.link);
	for (uint32_t i = 0; i < g.node_cnt; i++) {
		const struct vb_topo_node *n = &drawn.node[i];

		g.node[i] = (struct vb_drawing_node){
		    .name = n->name, .title = n->name, .kind = drawing_kind(n->type)};
		for (unsigned p = 1; p <= n->port_cnt; p++)
			if (n->port[p].peer != VB_TOPO_NO_PEER &&
			    (n->port[p].peer > i ||
			     (n->port[p].peer == i && n->port[p].peer_port > p)))
				g.link[g.link_cnt++] =
				    (struct vb_drawing_link){.a = i,
							     .b = n->port[p].peer,
							     .title = "l",
							     .state = VB_DRAWING_ACTIVE,
							     .gbps = 100,
							     .load = -1};
	}
	return g;
}

static inline void drawing_end(struct vb_drawing *g)
{
	free(g->node);
	free(g->link);
	vb_topo_free(&drawn);
}

/* The node of this name. */
static inline const struct vb_drawing_node *drawing_node(const struct vb_drawing *g,
							 const char *name)
{
	for (uint32_t i = 0; i < g->node_cnt; i++)
		if (strcmp(g->node[i].name, name) == 0)
			return &g->node[i];
	fail_msg("there is no node '%s'", name);
	return NULL;
}

#endif
