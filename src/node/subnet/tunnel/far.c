/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports behind tunnels: what this fabric tells of its own and of those behind its other
 * tunnels, and what it has heard. IP addresses and LIDs of far ports are looked for here; a port of
 * this fabric goes before one that a peer tells of. FAB-06, FAB-56
 */
#include "node/subnet/cm/cm.h"
#include "node/subnet/tunnel/tunnel.h"

#include <stdlib.h>
#include <string.h>

/* A list that is being made. */
struct draft {
	struct vb_tunnel_entry *e;
	uint32_t cnt, room;
};

static void draft_add(struct draft *f, const struct vb_tunnel_entry *e)
{
	if (f->cnt < f->room)
		f->e[f->cnt++] = *e;
}

/* The GUID of the node, if it is a router and the port carries data; else 0. */
static uint64_t router_of(const struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	const struct vb_topo_node *n = &d->topo->node[at.node];
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];

	return n->type == VB_NODE_ROUTER && at.port && vb_link_may_send(p->link.state, true)
		   ? n->node_guid
		   : 0;
}

static void own_ports(struct vb_subnet_daemon *d, struct draft *f)
{
	for (uint32_t i = 0; i < d->subnet.node_cnt; i++)
		for (unsigned p = 0; p <= d->topo->node[i].port_cnt; p++) {
			struct vb_subnet_place at = {i, (uint8_t)p};
			const struct vb_sma_port *s = vb_subnet_sma_port(&d->subnet, at);

			if (s->guid && s->info.lid)
				draft_add(f, &(struct vb_tunnel_entry){
						 .prefix = s->info.prefix,
						 .guid = s->guid[0],
						 .ipv4 = vb_subnet_address_of(d, at),
						 .lid = s->info.lid,
						 .router = router_of(d, at)});
		}
}

static void far_ports(const struct vb_subnet_tunnel *but, struct draft *f)
{
	const struct vb_subnet_daemon *d = but->d;

	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next) {
		const struct vb_subnet_tunnel *t =
		    vb_container_of(l, const struct vb_subnet_tunnel, node);

		for (uint32_t i = 0; t != but && i < t->table.theirs.cnt; i++) {
			struct vb_tunnel_entry e = t->table.theirs.entry[i];

			if (++e.hops < VB_TUNNEL_HOPS_MAX)
				draft_add(f, &e);
		}
	}
}

/* By GID, the nearest first. */
static int compare_entries(const void *a, const void *b)
{
	const struct vb_tunnel_entry *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return x->hops - y->hops;
}

/* Each GID once. */
static void draft_sort(struct draft *f)
{
	uint32_t kept = 0;

	qsort(f->e, f->cnt, sizeof *f->e, compare_entries);
	for (uint32_t i = 0; i < f->cnt; i++)
		if (kept == 0 || f->e[i].guid != f->e[kept - 1].guid ||
		    f->e[i].prefix != f->e[kept - 1].prefix)
			f->e[kept++] = f->e[i];
	f->cnt = kept;
}

void vb_subnet_tunnel_tell(struct vb_subnet_tunnel *t)
{
	struct draft f = {.room = 4 * VB_TUNNEL_TABLE_MAX};

	f.e = malloc(f.room * sizeof *f.e);
	if (!f.e)
		return;
	own_ports(t->d, &f);
	far_ports(t, &f);
	draft_sort(&f);
	if (vb_tunnel_table_set(&t->table, f.e, f.cnt))
		t->end.is_due = true;
	free(f.e);
}

void vb_subnet_tunnel_send_table(struct vb_subnet_tunnel *t, bool again)
{
	const struct vb_tunnel_hello *h = &t->end.theirs;
	uint8_t bytes[VB_TUNNEL_HDR_LEN + VB_TUNNEL_CHUNK_LEN +
		      VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN];
	uint32_t len;

	if (!t->end.is_met || t->is_twin ||
	    !vb_tunnel_table_lacks(&t->table, h->heard_table, h->heard_cnt, again))
		return;
	for (uint32_t i = 0; i < VB_TUNNEL_WINDOW; i++) {
		len = vb_tunnel_table_poll(&t->table, bytes + VB_TUNNEL_HDR_LEN);
		if (len == 0)
			return;
		vb_tunnel_head(&t->end, VB_TUNNEL_TABLE, 0, bytes);
		vb_subnet_tunnel_put(t, bytes, VB_TUNNEL_HDR_LEN + len);
	}
}

uint16_t vb_subnet_far_lid(const void *ctx, uint64_t prefix, uint64_t guid)
{
	const struct vb_subnet_daemon *d = ctx;

	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next) {
		const struct vb_tunnel_entry *e = vb_tunnel_table_by_gid(
		    &vb_container_of(l, const struct vb_subnet_tunnel, node)->table, prefix, guid);

		if (e)
			return e->lid;
	}
	return 0;
}

bool vb_subnet_far_gid(const struct vb_subnet_daemon *d, uint32_t ipv4, uint64_t *prefix,
		       uint64_t *guid)
{
	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next) {
		const struct vb_tunnel_entry *e = vb_tunnel_table_by_ipv4(
		    &vb_container_of(l, const struct vb_subnet_tunnel, node)->table, ipv4);

		if (!e)
			continue;
		*prefix = e->prefix;
		*guid = e->guid;
		return true;
	}
	return false;
}
