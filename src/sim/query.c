/* SPDX-License-Identifier: BSD-2-Clause */
/* The queries of a simulation. See sim.h. */
#include "base/assert.h"
#include "sim/parts.h"
#include "sim/priv.h"

#include "wire/pkey.h"
#include <string.h>

struct vb_gid vb_sim_gid(uint32_t host)
{
	uint32_t n = VB_SIM_ADDRESS + host;

	return (struct vb_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (uint8_t)(n >> 24),
				(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
}

uint32_t vb_sim_host_of(const struct vb_gid *gid)
{
	return vb_gid_is_multicast(gid) ? UINT32_MAX : vb_address(gid) - VB_SIM_ADDRESS;
}

uint32_t vb_sim_receiver(const struct vb_sim *s, uint32_t from, const struct vb_path *path)
{
	const struct vb_sim_subnets *n = s->subnets;
	uint32_t port;

	if (!vb_path_has_lid(path))
		return vb_sim_host_of(&path->dgid);
	if (path->dlid >= VB_LID_MULTICAST)
		return UINT32_MAX;
	if (!n)
		return path->dlid - VB_SIM_LID;
	if (vb_path_has_grh(path))
		return vb_sim_port_host(s, &path->dgid);
	if (path->dlid >= n->lid_cap)
		return UINT32_MAX;
	port = n->port_of[(size_t)vb_sim_subnet(s, from) * n->lid_cap + path->dlid];
	return port != VB_SIM_NONE && s->port[port].at_host
		   ? vb_sim_host_number(s, (const struct vb_nic *)s->port[port].owner)
		   : UINT32_MAX;
}

struct vb_path vb_sim_path(uint32_t from, uint32_t to, uint16_t udp_sport, uint8_t traffic_class)
{
	return (struct vb_path){
	    .sgid = vb_sim_gid(from),
	    .dgid = vb_sim_gid(to),
	    .udp_sport = udp_sport,
	    .port = 1,
	    .traffic_class = traffic_class,
	    .hop_limit = 64,
	};
}

/* The switch at the cable of a host, or VB_SIM_NONE. */
static uint32_t switch_of_host(const struct vb_sim *s, uint32_t host)
{
	return vb_sim_switch_behind(s, s->host[host].port);
}

struct vb_path vb_sim_route(const struct vb_sim *s, uint32_t from, uint32_t to, uint16_t udp_sport,
			    uint8_t traffic_class)
{
	uint32_t a, b;
	uint8_t sl = traffic_class % VB_SL_CNT;
	struct vb_path p;

	if (!s->ib)
		return vb_sim_path(from, to, udp_sport, traffic_class);
	a = switch_of_host(s, from);
	b = switch_of_host(s, to);
	if (s->cfg.ib.routes && s->cfg.ib.routes->sl) {
		uint8_t own = s->cfg.ib.routes->sl[(size_t)from * s->host_cnt + to];

		sl = own == VB_SIM_ANY_SL ? sl : own;
	}
	if (s->ib->layer && a != VB_SIM_NONE && b != VB_SIM_NONE)
		sl = s->ib->layer[(size_t)a * s->switch_cnt + b];
	p = (struct vb_path){.slid = vb_sim_lid(s, from),
			     .dlid = vb_sim_dlid(s, vb_sim_subnet(s, from), to),
			     .port = 1,
			     .sl = sl};
	/* LNK-06: a GRH where the way leaves the subnet, and only there. */
	if (vb_sim_subnet(s, from) != vb_sim_subnet(s, to)) {
		p.sgid = vb_sim_port_gid(s, from);
		p.dgid = vb_sim_port_gid(s, to);
		p.hop_limit = s->cfg.ib.hop_limit;
	}
	return p;
}

uint16_t vb_sim_pkey_index(const struct vb_sim *s, uint32_t from, uint32_t to)
{
	const uint16_t *all = s->ib ? s->ib->pkey : NULL;
	const uint16_t *pkey, *peer;

	if (!all)
		return 0;
	pkey = all + (size_t)from * VB_SIM_PKEYS;
	peer = all + (size_t)to * VB_SIM_PKEYS;
	for (uint16_t i = 0; i < VB_SIM_PKEYS; i++)
		if (vb_pkey_passes(peer, VB_SIM_PKEYS, pkey[i]))
			return i;
	return 0;
}

uint16_t vb_sim_pkey_find(const struct vb_sim *s, uint32_t host, uint16_t pkey)
{
	static const uint16_t only[VB_SIM_PKEYS] = {VB_PKEY_DEFAULT};
	const uint16_t *table = only;

	if (!s->ib)
		return 0;
	if (s->ib->pkey)
		table = s->ib->pkey + (size_t)host * VB_SIM_PKEYS;
	for (uint16_t i = 0; i < VB_SIM_PKEYS; i++)
		if (vb_pkey_is_valid(table[i]) && ((table[i] ^ pkey) & 0x7fff) == 0)
			return i;
	return UINT16_MAX;
}

vb_time vb_sim_now(const struct vb_sim *s)
{
	return s->now;
}

vb_time vb_sim_next(const struct vb_sim *s)
{
	if (s->nics.first)
		return s->now;
	if (s->cut)
		return vb_sim_parts_next(s);
	return s->ib && vb_sim_ib_is_over(s) ? VB_NEVER : vb_sim_events_next(s);
}

uint32_t vb_sim_host_cnt(const struct vb_sim *s)
{
	return s->host_cnt;
}

uint32_t vb_sim_port_cnt(const struct vb_sim *s)
{
	return s->port_cnt;
}

uint64_t vb_sim_port_rate(const struct vb_sim *s, uint32_t port)
{
	return vb_sim_port(s, port)->rate_bps;
}

bool vb_sim_carries_data(const struct vb_sim *s)
{
	return s->cfg.carry_data;
}

uint32_t vb_sim_port_of(const struct vb_sim *s, uint32_t node, uint32_t idx)
{
	if (node < s->host_cnt)
		return idx == 0 ? s->host[node].port->id : UINT32_MAX;
	node -= s->host_cnt;
	if (node >= s->switch_cnt || idx >= s->sw[node].port_cnt)
		return UINT32_MAX;
	return s->sw[node].port[idx]->id;
}

uint32_t vb_sim_port_waiting(const struct vb_sim *s, uint32_t port)
{
	return vb_sim_port(s, port)->depth;
}

void vb_sim_priority_at(const struct vb_sim *s, uint32_t port, uint8_t prio, vb_time at,
			struct vb_sim_priority *out)
{
	const struct vb_port *p = vb_sim_port(s, port);

	VB_ASSERT_ALL(port < s->port_cnt && prio < VB_PRIORITY_CNT);
	*out = (struct vb_sim_priority){
	    .waiting = p->lane[prio].bytes, .holds = p->holds[prio], .held_ns = p->held_ns[prio]};
	if (p->held >> prio & 1)
		out->held_ns += vb_time_since(p->held_since[prio], at);
}

uint64_t vb_sim_seed(const struct vb_sim *s)
{
	return s->cfg.seed;
}

struct vb_hca *vb_sim_hca(struct vb_sim *s, uint32_t host)
{
	return s->host[host].hca;
}

struct vb_pd *vb_sim_pd(struct vb_sim *s, uint32_t host)
{
	return s->host[host].pd;
}

struct vb_cq *vb_sim_cq(struct vb_sim *s, uint32_t host)
{
	return s->host[host].cq;
}

const struct vb_counters *vb_sim_counters(const struct vb_sim *s, uint32_t host)
{
	return &s->host[host].counters;
}

uint32_t vb_sim_host_link(const struct vb_sim *s, uint32_t host)
{
	return s->host[host].port->id / 2;
}

uint32_t vb_sim_host_port(const struct vb_sim *s, uint32_t host)
{
	return s->host[host].port->id;
}

uint32_t vb_sim_port_peer(uint32_t port)
{
	return vb_sim_peer(port);
}

/* A port at the end as another process has it, which ran it; false: this one did. */
static bool port_from_elsewhere(const struct vb_sim *s, uint32_t port, struct vb_port *p)
{
	if (!s->cut || !s->cut->is_counted || vb_sim_part_is_here(s, s->cut->of_port[port]))
		return false;
	memcpy(p, s->cut->count[port].port, sizeof *p);
	p->cable.hooks = NULL;
	return true;
}

void vb_sim_port_stats(const struct vb_sim *s, uint32_t port, struct vb_port_stats *st)
{
	struct vb_port far;

	if (!port_from_elsewhere(s, port, &far)) {
		vb_port_stats_at(vb_sim_port(s, port), s->now, st);
		return;
	}
	vb_port_stats_at(&far, s->now, st);
	st->faults = s->cut->count[port].lost;
}

uint32_t vb_sim_port_storms(const struct vb_sim *s, uint32_t port)
{
	struct vb_port far;

	return port_from_elsewhere(s, port, &far) ? far.storm_cnt : vb_sim_port(s, port)->storm_cnt;
}

uint32_t vb_sim_part_cnt(const struct vb_sim *s)
{
	return s->cut ? s->cut->part_cnt : 1;
}

uint64_t vb_sim_hops(const struct vb_sim *s)
{
	uint64_t sum = s->hops;

	for (uint32_t i = 1; i < vb_sim_part_cnt(s); i++)
		sum += s->cut->part[i]->hops;
	return sum;
}

uint64_t vb_sim_events(const struct vb_sim *s)
{
	uint64_t sum = s->event_cnt;

	for (uint32_t i = 1; i < vb_sim_part_cnt(s); i++)
		sum += s->cut->part[i]->event_cnt;
	return sum;
}

uint64_t vb_sim_digest(const struct vb_sim *s)
{
	return vb_digest_nodes(s->digest, vb_sim_trace_nodes(s));
}

uint32_t vb_sim_packets_max(const struct vb_sim *s)
{
	uint32_t sum = s->pool.used_max;

	for (uint32_t i = 1; i < vb_sim_part_cnt(s); i++)
		sum += s->cut->part[i]->pool.used_max;
	return sum;
}

static uint32_t frame_gap(const struct vb_sim *s)
{
	return s->ib ? VB_FRAME_IB_GAP : VB_FRAME_GAP;
}

/* Time of @frame bytes and the gap behind them, rounded up. */
static vb_dur frame_ns(const struct vb_sim *s, uint64_t rate_bps, uint64_t frame)
{
	return ((frame + frame_gap(s)) * 8000000 + rate_bps / 1000 - 1) / (rate_bps / 1000);
}

/* The same through subnets, by the tables of their switches and by routers; @dlid as it is there.
 */
static const struct vb_port *routed_way_next(const struct vb_sim *s, const struct vb_port *p,
					     uint32_t to, uint16_t *dlid)
{
	const struct vb_port *in = &s->port[vb_sim_peer(p->id)];
	const struct vb_switch *sw = vb_sim_switch_at(s, in);
	uint8_t port;

	if (!sw)
		return NULL;
	port = vb_sim_is_router(s, s->switch_of[in->id])
		   ? vb_sim_router_step(s, s->switch_of[in->id], in->number + 1, to, dlid)
		   : s->ib->sw[s->switch_of[in->id]].forward.unicast[*dlid];
	return port == 0 || port == VB_PORT_NONE ? NULL : sw->port[port - 1];
}

/* A port of the way to host @to, given the one that came before; NULL at the end. Where there is a
 * choice, the first one: cables of one tier are alike. */
static const struct vb_port *way_next(const struct vb_sim *s, const struct vb_port *p, uint32_t to,
				      uint16_t *dlid)
{
	const struct vb_switch *sw = vb_sim_switch_at(s, vb_sim_port(s, vb_sim_peer(p->id)));
	const uint32_t *ports;

	if (s->subnets)
		return routed_way_next(s, p, to, dlid);
	if (!sw || vb_forward_hops(&sw->forward, VB_SIM_ADDRESS + to, &ports) == 0)
		return NULL;
	return sw->port[ports[0]];
}

/* Bytes of a frame with @len bytes BTH through pad. */
static uint64_t frame_bytes(const struct vb_sim *s, uint32_t from, uint32_t to, uint32_t len)
{
	struct vb_path path = vb_sim_route(s, from, to, 0, 0);

	return vb_frame_len(&path, len);
}

vb_dur vb_sim_ideal_ns(const struct vb_sim *s, uint32_t from, uint32_t to, uint64_t bytes,
		       uint32_t mtu)
{
	uint64_t pkts = bytes ? (bytes + mtu - 1) / mtu : 1;
	uint64_t first = bytes < mtu ? bytes : mtu;
	uint64_t longest = frame_bytes(s, from, to, VB_BTH_LEN + (uint32_t)first);
	uint64_t whole = bytes +
			 pkts * (frame_bytes(s, from, to, VB_BTH_LEN + 64) - 64 + frame_gap(s)) -
			 frame_gap(s);
	uint64_t slowest = UINT64_MAX;
	uint16_t dlid = vb_sim_route(s, from, to, 0, 0).dlid;
	vb_dur ns = 0;

	for (const struct vb_port *p = s->host[from].port; p; p = way_next(s, p, to, &dlid)) {
		if (p->rate_bps < slowest)
			slowest = p->rate_bps;
		ns += p->cable.delay + frame_ns(s, p->rate_bps, longest);
	}
	ns -= frame_ns(s, slowest, longest);
	return ns + frame_ns(s, slowest, whole);
}
