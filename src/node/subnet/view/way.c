/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a packet from port to port, for those who look, see view.h: the same walk as that of
 * the packets themselves (link/ib/route.h), with the lane and the P_Key of each link.
 */
#include "node/subnet/view/view.h"

#include "link/ib/route.h"
#include "link/ib/routers.h"
#include "node/subnet/adapter/adapter.h"
#include "wire/pkey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOP_LIMIT 64u

static int key_parse(const char *text, struct vb_subnet_way_key *key)
{
	unsigned long n[5];
	char *end = (char *)(uintptr_t)text;

	for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
		const char *from = end;

		n[i] = strtoul(from, &end, 10);
		if (end == from)
			return -EINVAL;
	}
	if (*end || n[0] > UINT32_MAX || n[1] > UINT32_MAX || n[2] >= VB_IB_SLS || n[3] > 127 ||
	    n[4] > UINT16_MAX)
		return -EINVAL;
	*key = (struct vb_subnet_way_key){.from = (uint32_t)n[0],
					  .to = (uint32_t)n[1],
					  .sl = (uint8_t)n[2],
					  .path_bits = (uint8_t)n[3],
					  .pkey = (uint16_t)n[4]};
	return 0;
}

/* The first P_Key of @from that @to lets pass; without one its first. */
static uint16_t common_pkey(const struct vb_ib_map_port *from, const struct vb_ib_map_port *to)
{
	for (uint32_t i = 0; i < VB_IB_PKEYS; i++)
		if (vb_pkey_passes(to->pkey, VB_IB_PKEYS, from->pkey[i]))
			return from->pkey[i];
	return from->pkey[0];
}

/* The LID that the packet begins with: that of the port, or of the router that leads there. */
static uint16_t first_lid(const struct vb_ib_map *m, const struct vb_ib_map_port *from,
			  const struct vb_ib_map_port *to, uint8_t path_bits)
{
	const struct vb_routers all = vb_ib_map_routers(m);
	struct vb_router_at next;

	if (from->prefix == to->prefix)
		return to->lid ? (uint16_t)(to->lid + path_bits) : 0;
	if (!vb_routers_find(&all, from->prefix, to->prefix, &next))
		return 0;
	return all.port(all.ctx, next).lid;
}

static struct vb_ib_key key_of(const struct vb_ib_map *m, const struct vb_subnet_way_key *key)
{
	const struct vb_ib_map_port *from = &vb_ib_map_ports(m)[key->from];
	const struct vb_ib_map_port *to = &vb_ib_map_ports(m)[key->to];
	bool has_grh = from->prefix != to->prefix;

	return (struct vb_ib_key){
	    .port = key->from,
	    .dlid = first_lid(m, from, to, key->path_bits),
	    .pkey = key->pkey ? key->pkey : common_pkey(from, to),
	    .sl = key->sl,
	    .hop_limit = HOP_LIMIT,
	    .is_from_link_local = from->prefix == VB_PREFIX_LINK_LOCAL,
	    .prefix = has_grh ? to->prefix : 0,
	    .guid = has_grh ? to->guid[0] : 0,
	};
}

/* The entry of the port's table that lets the packet pass. */
static uint16_t entry_of(const struct vb_ib_map_port *p, uint16_t pkey)
{
	uint32_t i = vb_pkey_entry(p->pkey, VB_IB_PKEYS, pkey);

	return i < VB_IB_PKEYS ? p->pkey[i] : 0;
}

static void hop_write(const struct vb_ib_map *m, const struct vb_ib_route *r, uint32_t i,
		      uint8_t in_port, struct vb_subnet_way_hop *to)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(m);
	const struct vb_ib_hop *h = &r->hop[i];

	to->out = h->out;
	to->in = h->in;
	to->vl = vb_ib_lane(m, &ports[h->out], in_port, r->key.sl);
	to->enforces_out = ports[h->out].enforces_out;
	to->pkey_out = entry_of(&ports[h->out], r->key.pkey);
	if (h->in == VB_IB_NOWHERE)
		return;
	to->enforces_in = ports[h->in].enforces_in;
	to->pkey_in = entry_of(&ports[h->in], r->key.pkey);
}

/* The input port at the node of port @out; 0: the packet begins there, or was routed there. */
static uint8_t input_of(const struct vb_ib_map *m, const struct vb_ib_route *r, uint32_t hops)
{
	uint32_t in = hops ? r->hop[hops - 1].in : VB_IB_NOWHERE;

	return in < m->port_cnt ? vb_ib_map_ports(m)[in].number : 0;
}

static void way_fill(const struct vb_ib_map *m, const struct vb_ib_route *r,
		     struct vb_subnet_way *w)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(m);

	w->fate = r->fate;
	w->at = r->at;
	w->hop_cnt = r->hop_cnt;
	w->router_cnt = r->router_cnt;
	w->slid = ports[r->key.port].lid;
	w->dlid = r->key.dlid;
	w->pkey = r->key.pkey;
	w->last_slid = r->slid;
	w->last_dlid = r->dlid;
	w->sl = r->key.sl;
	w->has_grh = r->key.prefix != 0 || r->key.guid != 0;
	w->mtu = (uint8_t)(r->mtu < UINT8_MAX ? r->mtu : 0);
	w->prefix = r->key.prefix;
	w->guid = r->key.guid;
	for (uint32_t i = 0; i < r->hop_cnt && i < VB_IB_HOPS_MAX; i++)
		hop_write(m, r, i, input_of(m, r, i), &w->hop[i]);
	if (r->at < m->port_cnt) {
		w->vl = vb_ib_lane(m, &ports[r->at], input_of(m, r, r->hop_cnt), r->key.sl);
		w->lane_cnt = ports[r->at].lane_cnt;
	}
}

int vb_subnet_way_write(struct vb_subnet_daemon *d, const char *text, FILE *out, char *why,
			size_t why_size)
{
	struct vb_subnet_way_key question;
	struct vb_subnet_way w;
	struct vb_ib_route r;
	struct vb_ib_key key;
	const struct vb_ib_map *m;
	int rc = vb_subnet_adapter_need(d);

	if (rc)
		return rc;
	m = d->adapter->map;
	if (key_parse(text, &question) || question.from >= m->port_cnt ||
	    question.to >= m->port_cnt) {
		snprintf(why, why_size, "'%s' names no way", text);
		return -EINVAL;
	}
	memset(&r, 0, sizeof r);
	memset(&w, 0, sizeof w);
	key = key_of(m, &question);
	vb_ib_walk(m, &key, &r);
	way_fill(m, &r, &w);
	return fwrite(&w, sizeof w, 1, out) == 1 ? 0 : -EIO;
}
