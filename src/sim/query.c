/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be asked of a simulation. See sim.h. */
#include "sim/priv.h"

vb_time vb_sim_now(const struct vb_sim *s)
{
	return s->now;
}

vb_time vb_sim_next(const struct vb_sim *s)
{
	return s->dirty_first == VB_SIM_NONE ? vb_eventq_next(&s->events) : s->now;
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
	return s->port[port].rate_bps;
}

bool vb_sim_carries_data(const struct vb_sim *s)
{
	return s->cfg.carry_data;
}

uint32_t vb_sim_port_of(const struct vb_sim *s, uint32_t node, uint32_t idx)
{
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		if (s->port[i].owner == node && idx-- == 0)
			return i;
	}
	return UINT32_MAX;
}

uint32_t vb_sim_port_waiting(const struct vb_sim *s, uint32_t port)
{
	return s->port[port].depth;
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
	return s->host[host].port / 2;
}

uint32_t vb_sim_host_port(const struct vb_sim *s, uint32_t host)
{
	return s->host[host].port;
}

uint32_t vb_sim_port_peer(uint32_t port)
{
	return vb_sim_peer(port);
}

void vb_sim_port_stats(const struct vb_sim *s, uint32_t port, struct vb_port_stats *st)
{
	vb_port_stats_update(s, &s->port[port], st);
}

uint64_t vb_sim_hops(const struct vb_sim *s)
{
	return s->hops;
}

uint64_t vb_sim_events(const struct vb_sim *s)
{
	return s->event_cnt;
}

uint64_t vb_sim_digest(const struct vb_sim *s)
{
	return s->digest.h;
}

uint32_t vb_sim_packets_max(const struct vb_sim *s)
{
	return s->pool.used_max;
}

/* Time of @frame bytes and the gap behind them, rounded up. */
static vb_dur frame_ns(uint64_t rate_bps, uint64_t frame)
{
	return ((frame + VB_FRAME_GAP) * 8000000 + rate_bps / 1000 - 1) / (rate_bps / 1000);
}

/* A port of the way from @from to @to, given the one that came before; NULL at the end. Where there
 * is a choice, the first one: cables of one tier are alike. */
static const struct vb_sim_port *way_next(const struct vb_sim *s, const struct vb_sim_port *p,
					  uint32_t to)
{
	uint32_t node = s->port[vb_sim_peer(p->id)].owner;

	if (node < s->host_cnt)
		return NULL;

	uint32_t idx = node - s->host_cnt, edge = s->site[to].edge;

	if (edge == idx)
		return &s->port[vb_sim_peer(s->host[to].port)];
	return &s->port[s->route_ports[s->route[(size_t)idx * s->switch_cnt + edge].first]];
}

vb_dur vb_sim_ideal_ns(const struct vb_sim *s, uint32_t from, uint32_t to, uint64_t bytes,
		       uint32_t mtu)
{
	struct vb_path path = vb_sim_path(from, to, 0, 0);
	uint64_t pkts = bytes ? (bytes + mtu - 1) / mtu : 1;
	uint64_t first = bytes < mtu ? bytes : mtu;
	uint64_t whole = bytes + pkts * (vb_sim_frame(&path, VB_BTH_LEN + 64) - 64 + VB_FRAME_GAP) -
			 VB_FRAME_GAP;
	uint64_t slowest = UINT64_MAX;
	vb_dur ns = 0;

	for (const struct vb_sim_port *p = &s->port[s->host[from].port]; p;
	     p = way_next(s, p, to)) {
		if (p->rate_bps < slowest)
			slowest = p->rate_bps;
		ns += p->delay +
		      frame_ns(p->rate_bps, vb_sim_frame(&path, VB_BTH_LEN + (uint32_t)first));
	}
	ns -= frame_ns(slowest, vb_sim_frame(&path, VB_BTH_LEN + (uint32_t)first));
	return ns + frame_ns(slowest, whole);
}
