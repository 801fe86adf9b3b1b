/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes cables of ends: each end names the other by the name of its node, and what both say of the
 * cable and of each other has to agree. Where only one end speaks, it speaks for both.
 */
#include "fabric/topology/build.h"
#include "fabric/topology/sort.h"
#include "wire/ib/rate.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

static int compare_aliases(const void *ctx, uint32_t a, uint32_t b)
{
	const struct vb_topo_build *build = ctx;

	return strcmp(build->alias[a].name, build->alias[b].name);
}

static int order_aliases(struct vb_topo_build *b, uint32_t **out)
{
	uint32_t *at = vb_topo_scratch(b, (b->alias_cnt + 1) * sizeof *at);
	uint32_t *spare = vb_topo_scratch(b, (b->alias_cnt + 1) * sizeof *spare);

	if (!at || !spare)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->alias_cnt; i++)
		at[i] = i;
	vb_topo_sort(at, spare, b->alias_cnt, compare_aliases, b);
	for (uint32_t i = 1; i < b->alias_cnt; i++) {
		if (compare_aliases(b, at[i - 1], at[i]) == 0)
			return REFUSE(b, b->alias[at[i]].place,
				      "the name \"%\" of a port is in %%line % already",
				      SAY_TEXT(b->alias[at[i]].name),
				      SAY_LINE(b->alias[at[i - 1]].place, b->alias[at[i]].place));
	}
	*out = at;
	return 0;
}

static const struct vb_topo_alias *find_alias(const struct vb_topo_build *b, const uint32_t *order,
					      const char *name)
{
	uint32_t from = 0, to = b->alias_cnt;

	while (order && from < to) {
		uint32_t middle = from + (to - from) / 2;
		int way = strcmp(name, b->alias[order[middle]].name);

		if (way == 0)
			return &b->alias[order[middle]];
		if (way < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* Finds the node that an end leads to. */
static int find_peer(struct vb_topo_build *b, struct vb_topo_end *e, const uint32_t *aliases)
{
	const struct vb_topo *t = b->t;
	const char *own = t->node[e->node].name;
	const struct vb_topo_alias *alias;

	if (e->peer_name && strchr(e->peer_name, '@')) {
		alias = find_alias(b, aliases, e->peer_name);
		e->peer = alias ? alias->node : VB_TOPO_NO_PEER;
		e->peer_port = alias ? alias->port : 0;
	} else if (e->peer_name) {
		e->peer = vb_topo_index(t, e->peer_name);
	}
	if (e->peer == VB_TOPO_NO_PEER)
		return REFUSE(
		    b, e->place, "port % of \"%\" leads to \"%\", but there is no such node",
		    SAY_DEC(e->port), SAY_TEXT(own), SAY_TEXT(e->peer_name ? e->peer_name : ""));
	if (e->peer_port > t->node[e->peer].port_cnt)
		return REFUSE(
		    b, e->place,
		    "port % of \"%\" leads to port % of \"%\", which has ports 1 to % only",
		    SAY_DEC(e->port), SAY_TEXT(own), SAY_DEC(e->peer_port),
		    SAY_TEXT(t->node[e->peer].name), SAY_DEC(t->node[e->peer].port_cnt));
	if (e->peer == e->node && e->peer_port == e->port)
		return REFUSE(b, e->place, "port % of \"%\" leads to itself", SAY_DEC(e->port),
			      SAY_TEXT(own));
	return 0;
}

/* The other end, or a new one for a port of which nothing was said. */
static int find_other(struct vb_topo_build *b, uint32_t index)
{
	struct vb_topo_end e = b->end[index];
	const struct vb_topo *t = b->t;
	uint32_t other = t->node[e.peer].port[e.peer_port].peer;
	const struct vb_topo_end *o;

	if (other == VB_TOPO_NO_PEER) {
		struct vb_topo_end silent = {.node = e.peer,
					     .port = e.peer_port,
					     .silent = true,
					     .peer = e.node,
					     .peer_port = e.port,
					     .other = index,
					     .place = e.place};

		b->end[index].other = b->end_cnt;
		return vb_topo_add_end(b, &silent);
	}
	o = &b->end[other];
	b->end[index].other = other;
	if (o->peer == e.node && o->peer_port == e.port)
		return 0;
	if (o->silent)
		return REFUSE(b, e.place,
			      "port % of \"%\" leads to port % of \"%\", but so does port % of "
			      "\"%\" in %%line %",
			      SAY_DEC(e.port), SAY_TEXT(t->node[e.node].name), SAY_DEC(e.peer_port),
			      SAY_TEXT(t->node[e.peer].name), SAY_DEC(o->peer_port),
			      SAY_TEXT(t->node[o->peer].name), SAY_LINE(o->place, e.place));
	return REFUSE(
	    b, e.place,
	    "port % of \"%\" leads to port % of \"%\", but by %%line % that leads to port % "
	    "of \"%\"",
	    SAY_DEC(e.port), SAY_TEXT(t->node[e.node].name), SAY_DEC(e.peer_port),
	    SAY_TEXT(t->node[e.peer].name), SAY_LINE(o->place, e.place), SAY_DEC(o->peer_port),
	    SAY_TEXT(t->node[o->peer].name));
}

static uint32_t both_allow(uint32_t a, uint32_t b)
{
	return a && b ? a & b : a | b;
}

/* The wider and faster of what both ends allow. */
static int agree_rate(struct vb_topo_build *b, const struct vb_topo_end *e,
		      const struct vb_topo_end *o, struct vb_topo_port *port)
{
	uint32_t width = both_allow(e->width, o->width), speed = both_allow(e->speed, o->speed);

	if (!e->width && !o->width)
		width = both_allow(e->usual_width, o->usual_width);
	if (!e->speed && !o->speed)
		speed = both_allow(e->usual_speed, o->usual_speed);
	if ((e->width || o->width || e->usual_width || o->usual_width) && !width)
		return REFUSE(b, e->place,
			      "port % of \"%\" has a width that its other end in %%line % has not",
			      SAY_DEC(e->port), SAY_TEXT(b->t->node[e->node].name),
			      SAY_LINE(o->place, e->place));
	if ((e->speed || o->speed || e->usual_speed || o->usual_speed) && !speed)
		return REFUSE(b, e->place,
			      "port % of \"%\" has a speed that its other end in %%line % has not",
			      SAY_DEC(e->port), SAY_TEXT(b->t->node[e->node].name),
			      SAY_LINE(o->place, e->place));
	port->width = b->cfg->width ? b->cfg->width : VB_IB_4X;
	port->speed = b->cfg->speed ? b->cfg->speed : VB_IB_EDR;
	for (uint32_t bit = VB_IB_1X, most = 0; bit <= VB_IB_2X; bit *= 2) {
		if (width & bit && vb_ib_lanes(bit) > most) {
			most = vb_ib_lanes(bit);
			port->width = (uint8_t)bit;
		}
	}
	for (uint32_t bit = VB_IB_SDR; bit <= VB_IB_XDR; bit *= 2)
		port->speed = speed & bit ? (uint16_t)bit : port->speed;
	return 0;
}

/* The port that has the LID and the GUID of @port. */
static struct vb_topo_port *managed_port(struct vb_topo_node *n, uint8_t port)
{
	return &n->port[n->type == VB_NODE_SWITCH ? 0 : port];
}

/* Line @e says that its other end has this LID and this GUID. */
static int agree_identity(struct vb_topo_build *b, const struct vb_topo_end *e)
{
	struct vb_topo_node *n = &b->t->node[e->peer];
	struct vb_topo_port *port = managed_port(n, e->peer_port);
	uint64_t guid = port->guid;

	if (!guid && n->type == VB_NODE_SWITCH)
		guid = n->node_guid;
	if (e->peer_lid && port->lid && e->peer_lid != port->lid)
		return REFUSE(b, e->place, "LID % for \"%\", which has LID % by another line",
			      SAY_DEC(e->peer_lid), SAY_TEXT(n->name), SAY_DEC(port->lid));
	if (e->peer_guid && guid && e->peer_guid != guid)
		return REFUSE(
		    b, e->place, "GUID 0x% for port % of \"%\", which has 0x% by another line",
		    SAY_HEX(e->peer_guid), SAY_DEC(e->peer_port), SAY_TEXT(n->name), SAY_HEX(guid));
	if (e->peer_lid)
		port->lid = e->peer_lid;
	if (e->peer_guid)
		port->guid = e->peer_guid;
	return 0;
}

static int join_cable(struct vb_topo_build *b, const struct vb_topo_end *e,
		      const struct vb_topo_end *o)
{
	struct vb_topo_port rate = {0}, *port = &b->t->node[e->node].port[e->port];
	int err = agree_rate(b, e, o, &rate);

	if (!err)
		err = agree_identity(b, e);
	if (!err)
		err = agree_identity(b, o);
	if (err)
		return err;
	port->peer = o->node;
	port->peer_port = o->port;
	port->width = rate.width;
	port->speed = rate.speed;
	port = &b->t->node[o->node].port[o->port];
	port->peer = e->node;
	port->peer_port = e->port;
	port->width = rate.width;
	port->speed = rate.speed;
	b->t->link_cnt++;
	return 0;
}

int vb_topo_join_ends(struct vb_topo_build *b)
{
	uint32_t *aliases = NULL, said = b->end_cnt;
	int err = order_aliases(b, &aliases);

	for (uint32_t i = 0; !err && i < said; i++)
		err = find_peer(b, &b->end[i], aliases);
	for (uint32_t i = 0; !err && i < said; i++)
		err = find_other(b, i);
	for (uint32_t i = 0; !err && i < said; i++) {
		if (i < b->end[i].other)
			err = join_cable(b, &b->end[i], &b->end[b->end[i].other]);
	}
	return err;
}
