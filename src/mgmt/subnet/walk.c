/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a MAD from node to node: directed routes by their paths, others by LID and the
 * forwarding tables. Each hop asks the states of the link's ends, the lane that the service level
 * takes, and counts where a packet counts. Routers send on what has a GRH. IBA 14.2.2, 18.2.4, 19
 */
#include "base/assert.h"
#include "mgmt/smi.h"
#include "mgmt/subnet/priv.h"

#include "wire/ib/lrh.h"

/* Words of LRH, BTH, DETH, MAD and ICRC, and of a GRH. LNK-13 */
#define WORDS 72u
#define GRH_WORDS 10u
/* A loop in the tables ends here, as a packet's lifetime ends it on a wire. LNK-29 */
#define HOPS_MAX 256

static bool lid_is_of(const struct vb_port_info *p, uint16_t lid)
{
	return p->lid != 0 && lid >= p->lid && lid < p->lid + (1u << p->lmc);
}

/* Gives the MAD the lane that it takes out of @out. False: there is none. LNK-12, LNK-22 */
static bool lane_take(const struct vb_subnet *s, struct vb_subnet_mad *m,
		      struct vb_subnet_place out, uint8_t in_port)
{
	const struct vb_sma_port *p = &s->node[out.node].sma.port[out.port];
	const struct vb_sl2vl *map = &p->sl2vl[vb_subnet_is_switch(s, out.node) ? in_port : 0];
	int lane = m->on_qp0 ? VB_VL_MGMT : vb_sl2vl_lane(map, m->sl, p->link->config.data_cnt);

	if (lane < 0)
		return false;
	m->vl = (uint8_t)lane;
	VB_ASSERT_ALL(m->on_qp0 == (m->vl == VB_VL_MGMT));
	return true;
}

static uint32_t words_of(const struct vb_subnet_mad *m)
{
	return WORDS + (m->has_grh ? GRH_WORDS : 0);
}

static void tell_seen(const struct vb_subnet *s, const struct vb_subnet_place *out,
		      const struct vb_subnet_place *in, const struct vb_subnet_mad *m)
{
	VB_ASSERT_ALL(out || in);
	if (s->seen)
		s->seen(s->seen_ctx, out, in, m);
}

/* The MAD comes in by port @in. False: in the state that it has, the port takes none. */
static bool port_takes(struct vb_subnet *s, const struct vb_subnet_mad *m,
		       struct vb_subnet_place in)
{
	struct vb_subnet_port *to = vb_subnet_port(s, in);

	if (!vb_link_may_receive(to->link.state, !m->on_qp0)) {
		to->link.counters.rcv_discards++;
		return false;
	}
	to->link.counters.rcv_data += words_of(m);
	to->link.counters.rcv_packets++;
	return true;
}

/* The port has taken it. True: it is there now. */
static bool port_lets_in(struct vb_subnet *s, struct vb_subnet_mad *m, struct vb_subnet_place in,
			 vb_time now)
{
	struct vb_subnet_port *to = vb_subnet_port(s, in);

	if (!m->on_qp0 && to->link.state == VB_LINK_ARMED &&
	    vb_ib_port_link_event(&to->link, VB_LINK_DATA_CAME, now) == 0)
		vb_subnet_link_changed(s, in, now);
	m->at = in;
	return !vb_subnet_bars(s, m, in, false, now);
}

/* Over the cable of port @out. True: the MAD is at its other end now. */
static bool cross_link(struct vb_subnet *s, struct vb_subnet_mad *m, struct vb_subnet_place out,
		       uint8_t in_port, vb_time now)
{
	struct vb_subnet_port *from = vb_subnet_port(s, out);
	bool arrives;

	VB_ASSERT_ALL(from->has_cable && vb_subnet_port(s, from->peer)->has_cable);

	if (!vb_link_may_send(from->link.state, !m->on_qp0) || !lane_take(s, m, out, in_port)) {
		from->link.counters.xmit_discards++;
		return false;
	}
	if (vb_subnet_bars(s, m, out, true, now))
		return false;
	from->link.counters.xmit_data += words_of(m);
	from->link.counters.xmit_packets++;
	if (from->is_away) {
		tell_seen(s, &out, NULL, m);
		/* To another fabric, whose walk goes on when it has come there. */
		if (s->leave)
			s->leave(s->away_ctx, out, m);
		return false;
	}
	arrives = port_takes(s, m, from->peer);
	tell_seen(s, &out, arrives ? &from->peer : NULL, m);
	return arrives && port_lets_in(s, m, from->peer, now);
}

/* The packet is at the node, or at port 0 of the switch, of which LID it has. */
static bool arrives_at(struct vb_subnet_mad *m, const struct vb_port_info *own, uint8_t port)
{
	if (!lid_is_of(own, m->dlid))
		return false; /* LNK-03 */
	m->at.port = port;
	m->path_bits = (uint8_t)(m->dlid - own->lid);
	return true;
}

/* A packet for the node itself does not leave it: its LID, or none, which a port has that no
 * manager has seen. MAD-22, FAB-50 */
static bool stays_inside(struct vb_subnet_mad *m, const struct vb_port_info *own, uint8_t port)
{
	if (m->dlid != 0)
		return arrives_at(m, own, port);
	m->at.port = port;
	m->path_bits = 0;
	return true;
}

/* The MAD has come to an adapter or a router. True: it stays here, or is lost; else it leaves by
 * out->port. FAB-06 */
static bool ends_here(struct vb_subnet *s, struct vb_subnet_mad *m, struct vb_subnet_place *out,
		      bool *arrives)
{
	const struct vb_sma_node *n = &s->node[m->at.node].sma;
	enum vb_hop_fate fate;

	*arrives = arrives_at(m, &n->port[m->at.port].info, m->at.port);
	if (!*arrives || m->on_qp0 || n->info.type != VB_NODE_ROUTER)
		return true;
	fate = vb_subnet_route(s, m, &out->port);
	*arrives = fate == VB_HOP_HERE;
	return fate != VB_HOP_ON;
}

/* To the node that owns the LID. @is_local: the MAD begins at m->at. */
static bool walk_by_lid(struct vb_subnet *s, struct vb_subnet_mad *m, bool is_local, vb_time now)
{
	for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
		struct vb_subnet_node *n = &s->node[m->at.node];
		struct vb_subnet_place out = m->at;
		uint8_t in_port = is_local ? 0 : m->at.port;
		bool is_switch = vb_subnet_is_switch(s, m->at.node), arrives;
		const struct vb_port_info *own = &n->sma.port[is_switch ? 0 : m->at.port].info;

		m->by_path = false;
		if (is_local && stays_inside(m, own, is_switch ? 0 : m->at.port))
			return true;
		if (!is_switch && !is_local && ends_here(s, m, &out, &arrives))
			return arrives;
		if (is_switch) {
			out.port = vb_lid_forward_unicast(&n->forward, m->dlid, in_port);
			if (out.port == 0)
				return arrives_at(m, own, 0); /* FAB-01 */
			if (out.port > n->sma.info.port_cnt) {
				if (in_port != 0)
					n->pma.port[in_port].switch_relay_errors++;
				return false;
			}
		}
		if (!n->port[out.port].has_cable || !cross_link(s, m, out, in_port, now))
			return false;
		is_local = false;
	}
	return false;
}

/* The LID part of a directed route that comes first, if there is one. FAB-13 */
static bool begins_by_lid(const struct vb_subnet_mad *m)
{
	struct vb_smp_route r;

	vb_smp_route_parse(&r, m->mad);
	return (r.returning ? r.dr_dlid : r.dr_slid) != VB_LID_PERMISSIVE;
}

/* On the directed part of a route. @is_local: the MAD begins at m->at; @by_lid: a part with LIDs
 * has ended there. */
static bool walk_directed(struct vb_subnet *s, struct vb_subnet_mad *m, bool is_local, bool by_lid,
			  vb_time now)
{
	for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
		struct vb_sma_node *n = &s->node[m->at.node].sma;
		struct vb_smi_node node = {vb_subnet_is_switch(s, m->at.node), n->info.port_cnt};
		uint8_t in_port = is_local && !by_lid ? VB_SMI_LOCAL : m->at.port;
		struct vb_smi_step step;

		step = vb_smi_forward(m->mad, &node, in_port, by_lid);
		if (step.where == VB_SMI_DISCARD)
			return false;
		if (step.where == VB_SMI_AGENT || step.where == VB_SMI_MANAGER)
			return true;
		if (step.where == VB_SMI_LID) {
			m->dlid = step.lid;
			m->slid = n->port[0].info.lid;
			if (!walk_by_lid(s, m, true, now))
				return false;
			by_lid = true;
			is_local = false;
			continue;
		}
		m->by_path = true;
		if (!s->node[m->at.node].port[step.port].has_cable ||
		    !cross_link(s, m, (struct vb_subnet_place){m->at.node, step.port}, in_port,
				now))
			return false;
		is_local = by_lid = false;
	}
	return false;
}

/* VL15 leads to QP 0, and data lanes to all other QPs. LNK-12 */
static bool lane_leads_to_qp(const struct vb_subnet_mad *m)
{
	return m->on_qp0 == (m->dst_qp == 0);
}

static bool is_directed(const struct vb_subnet_mad *m)
{
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, m->mad);
	return m->on_qp0 && h.mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED;
}

bool vb_subnet_carry(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	bool directed = is_directed(m), by_lid = !directed || begins_by_lid(m);
	bool arrives = !by_lid || walk_by_lid(s, m, true, now);

	if (arrives && directed)
		arrives = walk_directed(s, m, true, by_lid, now);
	return arrives && lane_leads_to_qp(m) && vb_subnet_keys_fit(s, m, now);
}

bool vb_subnet_enter(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	bool directed = is_directed(m), by_lid = !directed || m->dlid != VB_LID_PERMISSIVE;
	bool arrives = port_takes(s, m, m->at);

	if (arrives)
		tell_seen(s, NULL, &m->at, m);
	arrives = arrives && port_lets_in(s, m, m->at, now);
	if (arrives && by_lid)
		arrives = walk_by_lid(s, m, false, now);
	if (arrives && directed)
		arrives = walk_directed(s, m, false, by_lid, now);
	return arrives && lane_leads_to_qp(m) && vb_subnet_keys_fit(s, m, now);
}
