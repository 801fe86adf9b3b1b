/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether tables from outside make a tree of a multicast group. A switch copies a packet to all
 * ports of its entry but the one where it came in; so entries that lead around in a circle would
 * copy it for ever, and where one end of a cable is in the tree and the other is not, some members
 * are heard and do not hear. See fabric.h. IBA 18.2.4.3.1; FAB-02
 */
#include "scenario/fabric/fabric.h"

#include "wire/mad/smp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ROW 256u

struct tree_walk {
	const struct vb_fabric *f;
	uint32_t group;
	uint32_t *queue;   /* switches that have been reached */
	uint8_t *in;       /* ... and by which of their ports; 0: the first one */
	bool *was_reached; /* switches */
	uint32_t cnt;
	struct vb_fabric_error *err;
};

static const struct vb_topo_port *port_at(const struct vb_fabric *f, uint32_t sw, unsigned port)
{
	return &f->topo.node[f->node[f->host_cnt + sw]].port[port];
}

/* The entry of the switch has the port. */
static bool entry_has(const struct tree_walk *w, uint32_t sw, unsigned port)
{
	uint8_t number = w->f->number[(size_t)sw * ROW + port];

	return number &&
	       vb_port_mask_has(&w->f->mft[(size_t)sw * VB_SIM_GROUPS + w->group], number);
}

/* The switch that is node @i of the topology; VB_FABRIC_NONE: it is an adapter. */
static uint32_t switch_at(const struct vb_fabric *f, uint32_t i)
{
	const struct vb_fabric_guid *g = vb_fabric_find(f, f->topo.node[i].node_guid);

	return f->topo.node[i].type == VB_NODE_SWITCH ? g->node - f->host_cnt : VB_FABRIC_NONE;
}

static const char *switch_name(const struct tree_walk *w, uint32_t sw)
{
	return vb_fabric_name(w->f, w->f->host_cnt + sw);
}

/* Goes out by a port of the tree, to the switch there. */
static int port_follow(struct tree_walk *w, uint32_t sw, unsigned port)
{
	const struct vb_topo_port *p = port_at(w->f, sw, port);
	uint32_t far = switch_at(w->f, p->peer);

	if (far == VB_FABRIC_NONE)
		return 0;
	if (!entry_has(w, far, p->peer_port)) {
		snprintf(w->err->text, sizeof w->err->text,
			 "'%s' sends it to '%s', which sends none back", switch_name(w, sw),
			 switch_name(w, far));
		return -EINVAL;
	}
	if (w->was_reached[far]) {
		snprintf(w->err->text, sizeof w->err->text, "it comes to '%s' by two ways",
			 switch_name(w, far));
		return -EINVAL;
	}
	w->was_reached[far] = true;
	w->in[w->cnt] = (uint8_t)p->peer_port;
	w->queue[w->cnt++] = far;
	return 0;
}

/* All that hangs together with switch @first. */
static int tree_follow(struct tree_walk *w, uint32_t first)
{
	int bad = 0;

	w->queue[0] = first;
	w->was_reached[first] = true;
	w->cnt = 1;
	for (uint32_t i = 0; !bad && i < w->cnt; i++) {
		uint32_t sw = w->queue[i];
		unsigned ports = w->f->topo.node[w->f->node[w->f->host_cnt + sw]].port_cnt;

		for (unsigned p = 1; !bad && p <= ports; p++)
			if (p != w->in[i] && entry_has(w, sw, p))
				bad = port_follow(w, sw, p);
	}
	return bad;
}

/* The port of a switch to a host is in the tree. */
static int member_check(const struct tree_walk *w, uint32_t host)
{
	const struct vb_topo_port *p = &w->f->topo.node[w->f->node[host]].port[w->f->port[host]];
	uint32_t sw = switch_at(w->f, p->peer);

	if (sw != VB_FABRIC_NONE && w->was_reached[sw] && entry_has(w, sw, p->peer_port))
		return 0;
	snprintf(w->err->text, sizeof w->err->text, "it does not lead to host %u, '%s' port %u",
		 host, vb_fabric_name(w->f, host), w->f->port[host]);
	return -EINVAL;
}

int vb_fabric_check_group(const struct vb_fabric *f, uint32_t group, const uint32_t *member,
			  uint32_t member_cnt, struct vb_fabric_error *err)
{
	struct tree_walk w = {.f = f, .group = group, .err = err};
	uint32_t first = member ? member[0] : 0;
	int bad = -ENOMEM;

	*err = (struct vb_fabric_error){.line = 0};
	w.queue = calloc((size_t)f->switch_cnt + 1, sizeof *w.queue);
	w.in = calloc((size_t)f->switch_cnt + 1, 1);
	w.was_reached = calloc((size_t)f->switch_cnt + 1, sizeof *w.was_reached);
	if (w.queue && w.in && w.was_reached) {
		const struct vb_topo_node *n = &f->topo.node[f->node[first]];
		uint32_t sw = switch_at(f, n->port[f->port[first]].peer);

		/* Two hosts at one cable have no switch between them. */
		bad = sw == VB_FABRIC_NONE ? 0 : tree_follow(&w, sw);
		for (uint32_t i = 0; !bad && sw != VB_FABRIC_NONE && i < member_cnt; i++)
			bad = member_check(&w, member ? member[i] : i);
	}
	free(w.queue);
	free(w.in);
	free(w.was_reached);
	return bad;
}
