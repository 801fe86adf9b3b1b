/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a packet from port to port, see route.h. */
#include "link/ib/route.h"

#include "link/ib/routers.h"
#include "wire/pkey.h"

/* A packet under way. */
struct walk {
	const struct vb_ib_map *m;
	const struct vb_routers *routers;
	struct vb_ib_route *r;
	uint32_t at;     /* the port where it is */
	uint8_t in_port; /* number of that at its node; 0: it begins here, or was routed here */
};

static void end_walk(struct walk *w, enum vb_ib_fate fate, uint32_t at)
{
	w->r->fate = fate;
	w->r->at = at;
}

static bool lid_is_of(const struct vb_ib_map_port *p, uint16_t lid)
{
	return p->lid != 0 && lid >= p->lid && lid < p->lid + (1u << (p->lmc & 7));
}

uint8_t vb_ib_lane(const struct vb_ib_map *m, const struct vb_ib_map_port *out, uint8_t in_port,
		   uint8_t sl)
{
	uint32_t place = out->sl2vl;
	bool is_switch = out->node < m->node_cnt && vb_ib_map_nodes(m)[out->node].is_switch;

	if (is_switch)
		place += in_port;
	return place < m->lanes_cnt ? vb_ib_map_lanes(m)[place].vl[sl % VB_IB_SLS] : VB_IB_NO_LANE;
}

struct vb_ib_branch vb_ib_cross(const struct vb_ib_map *m, const struct vb_ib_key *key,
				uint8_t in_port, uint32_t out)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(m), *p = &ports[out];
	struct vb_ib_branch b = {.hop = {.out = VB_IB_NOWHERE, .in = VB_IB_NOWHERE}, .at = out};
	uint8_t lane = vb_ib_lane(m, p, in_port, key->sl);
	uint32_t peer = p->peer;

	b.fate = VB_IB_SENT_NOT;
	if (!p->may_send || peer >= m->port_cnt || lane >= p->lane_cnt || key->mtu > p->mtu)
		return b;
	b.fate = VB_IB_BARRED_OUT;
	if (p->enforces_out && !vb_pkey_passes(p->pkey, VB_IB_PKEYS, key->pkey))
		return b;
	b.hop.out = out;
	b.hop.vl = lane;
	b.at = peer;
	b.fate = VB_IB_RECEIVED_NOT;
	if (!ports[peer].may_receive)
		return b;
	b.hop.in = peer;
	b.fate =
	    ports[peer].enforces_in && !vb_pkey_is_member(ports[peer].pkey, VB_IB_PKEYS, key->pkey)
		? VB_IB_BARRED_IN
		: VB_IB_PASSES;
	return b;
}

/* Over the cable of port @out. */
static bool cross_link(struct walk *w, uint32_t out)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(w->m);
	struct vb_ib_branch b;

	if (w->r->hop_cnt == VB_IB_HOPS_MAX) {
		end_walk(w, VB_IB_SENT_NOT, out);
		return false;
	}
	b = vb_ib_cross(w->m, &w->r->key, w->in_port, out);
	if (b.hop.out != VB_IB_NOWHERE) {
		if (w->r->mtu > ports[out].mtu)
			w->r->mtu = ports[out].mtu;
		b.hop.routers = (uint8_t)w->r->router_cnt;
		if (w->r->router_cnt) {
			b.hop.slid = w->r->slid;
			b.hop.dlid = w->r->dlid;
		}
		w->r->hop[w->r->hop_cnt++] = b.hop;
	}
	if (b.fate != VB_IB_PASSES) {
		end_walk(w, b.fate, b.at);
		return false;
	}
	w->at = b.hop.in;
	w->in_port = ports[b.hop.in].number;
	return true;
}

/* The port by which switch @n sends it on, which may be its own port 0; VB_IB_NOWHERE: none. FAB-01
 */
static uint32_t port_on(const struct walk *w, const struct vb_ib_map_node *n)
{
	uint16_t dlid = w->r->dlid;
	uint8_t out;

	if (dlid == 0 || dlid > n->unicast_top || dlid >= VB_IB_LIDS || n->lft >= w->m->lft_cnt)
		return VB_IB_NOWHERE;
	out = vb_ib_map_lft(w->m, n->lft)[dlid];
	return out > n->port_cnt || out == w->in_port || n->first_port + out >= w->m->port_cnt
		   ? VB_IB_NOWHERE
		   : n->first_port + out;
}

/* The router, whose LID it has, sends it on, or it ends here. FAB-06 */
static bool pass_router(struct walk *w)
{
	const struct vb_ib_map_port *in = &vb_ib_map_ports(w->m)[w->at];
	const struct vb_ib_map_node *n = &vb_ib_map_nodes(w->m)[in->node];
	struct vb_hop hop;

	switch (vb_ib_route_hop(w->m, w->routers, &w->r->key, w->at, w->r->router_cnt, &hop)) {
	case VB_HOP_ON:
		break;
	case VB_HOP_HERE:
		end_walk(w, VB_IB_ARRIVES, w->at);
		return false;
	case VB_HOP_ENDED:
		end_walk(w, VB_IB_HOPS_ENDED, w->at);
		return false;
	case VB_HOP_NO_GRH:
	case VB_HOP_NO_ROUTE:
		end_walk(w, VB_IB_NOT_ROUTED, w->at);
		return false;
	}
	w->r->slid = hop.slid;
	w->r->dlid = hop.dlid;
	w->r->router_cnt++;
	w->in_port = 0;
	return cross_link(w, n->first_port + hop.port);
}

/* One node. False: the way ends here. */
static bool pass_node(struct walk *w)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(w->m), *own = &ports[w->at];
	const struct vb_ib_map_node *n;
	uint32_t out = w->at;
	bool is_end;

	if (own->node >= w->m->node_cnt) {
		end_walk(w, VB_IB_LOST, w->at);
		return false;
	}
	n = &vb_ib_map_nodes(w->m)[own->node];
	if (n->is_switch) {
		out = port_on(w, n);
		if (out == VB_IB_NOWHERE) {
			end_walk(w, VB_IB_NO_WAY, w->at);
			return false;
		}
	}
	/* It stays at the adapter, or at port 0 of the switch, if that has the LID. LNK-03 */
	is_end = n->is_switch ? out == n->first_port : w->in_port != 0;
	if (is_end && n->is_router && lid_is_of(own, w->r->dlid))
		return pass_router(w);
	if (is_end || (!n->is_switch && lid_is_of(own, w->r->dlid))) {
		end_walk(w, lid_is_of(&ports[out], w->r->dlid) ? VB_IB_ARRIVES : VB_IB_LOST, out);
		return false;
	}
	return cross_link(w, out);
}

void vb_ib_walk(const struct vb_ib_map *m, const struct vb_ib_key *key, struct vb_ib_route *r)
{
	const struct vb_routers routers = vb_ib_map_routers(m);

	vb_ib_walk_by(m, &routers, key, r);
}

void vb_ib_walk_by(const struct vb_ib_map *m, const struct vb_routers *routers,
		   const struct vb_ib_key *key, struct vb_ib_route *r)
{
	struct walk w = {.m = m, .routers = routers, .r = r, .at = key->port};

	r->key = *key;
	r->hop_cnt = 0;
	r->mtu = UINT8_MAX;
	r->router_cnt = 0;
	r->slid = 0;
	r->dlid = key->dlid;
	/* A packet from a port to itself does not leave it, but the port has to be at work. */
	if (key->port >= m->port_cnt || !vb_ib_map_ports(m)[key->port].may_send) {
		end_walk(&w, key->port >= m->port_cnt ? VB_IB_LOST : VB_IB_SENT_NOT, key->port);
		return;
	}
	while (pass_node(&w))
		;
}
