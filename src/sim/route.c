/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shortest-path routes between switches, all of equal length kept for ECMP. A breadth-first search
 * from each switch that has hosts; a port leads closer when the switch behind it is one step
 * nearer.
 */
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

/* The ports of each switch: port[first[i] ... first[i + 1] - 1]. */
struct adjacency {
	uint32_t *first, *port;
};

struct search {
	struct vb_sim *s;
	struct adjacency adj;
	uint32_t *dist, *queue;
};

static uint32_t switch_behind(const struct vb_sim *s, uint32_t port)
{
	uint32_t node = s->port[vb_sim_peer(port)].owner;

	return node < s->host_cnt ? VB_SIM_NONE : node - s->host_cnt;
}

static void adjacency_fill(const struct vb_sim *s, struct adjacency *adj)
{
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		if (s->port[i].owner >= s->host_cnt)
			adj->first[s->port[i].owner - s->host_cnt + 1]++;
	}
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		adj->first[i + 1] += adj->first[i];
	/* Filled from behind, each switch's start moves down to its place. */
	for (uint32_t i = s->port_cnt; i-- > 0;) {
		if (s->port[i].owner >= s->host_cnt)
			adj->port[--adj->first[s->port[i].owner - s->host_cnt + 1]] = i;
	}
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		adj->first[i] = adj->first[i + 1];
	adj->first[s->switch_cnt] = 0;
	for (uint32_t i = 0; i < s->port_cnt; i++)
		adj->first[s->switch_cnt] += s->port[i].owner >= s->host_cnt;
}

static void search_run(struct search *f, uint32_t edge)
{
	uint32_t head = 0, tail = 0;

	memset(f->dist, 0xff, f->s->switch_cnt * sizeof *f->dist);
	f->dist[edge] = 0;
	f->queue[tail++] = edge;
	while (head < tail) {
		uint32_t at = f->queue[head++];

		for (uint32_t i = f->adj.first[at]; i < f->adj.first[at + 1]; i++) {
			uint32_t next = switch_behind(f->s, f->adj.port[i]);

			if (next == VB_SIM_NONE || f->dist[next] != UINT32_MAX)
				continue;
			f->dist[next] = f->dist[at] + 1;
			f->queue[tail++] = next;
		}
	}
}

static int ports_reserve(struct vb_sim *s, uint32_t more)
{
	if (s->route_port_cnt + more <= s->route_port_cap)
		return 0;

	uint32_t cap = s->route_port_cap * 2 + more + 64;
	uint32_t *ports = vb_sim_alloc(s, cap * sizeof *ports);

	if (!ports)
		return -ENOMEM;
	if (s->route_port_cnt)
		memcpy(ports, s->route_ports, s->route_port_cnt * sizeof *ports);
	vb_sim_free(s, s->route_ports);
	s->route_ports = ports;
	s->route_port_cap = cap;
	return 0;
}

/* The ports of switch @at that lead closer to @edge. Most switches use the same ones for many
 * destinations: @same is the group found before, which is shared if it is equal. */
static int group_add(struct search *f, uint32_t at, uint32_t edge, struct vb_sim_route *same)
{
	struct vb_sim *s = f->s;
	struct vb_sim_route r = {.first = s->route_port_cnt};
	int err = ports_reserve(s, f->adj.first[at + 1] - f->adj.first[at]);

	if (err)
		return err;
	for (uint32_t i = f->adj.first[at]; i < f->adj.first[at + 1]; i++) {
		uint32_t next = switch_behind(s, f->adj.port[i]);

		if (next != VB_SIM_NONE && f->dist[next] + 1 == f->dist[at])
			s->route_ports[r.first + r.cnt++] = f->adj.port[i];
	}
	if (same->cnt == r.cnt && memcmp(&s->route_ports[same->first], &s->route_ports[r.first],
					 r.cnt * sizeof *s->route_ports) == 0)
		r = *same;
	else
		s->route_port_cnt += r.cnt;
	*same = r;
	s->route[(size_t)at * s->switch_cnt + edge] = r;
	return 0;
}

static int routes_fill(struct search *f, struct vb_sim_route *same, const uint8_t *has_hosts)
{
	for (uint32_t edge = 0; edge < f->s->switch_cnt; edge++) {
		if (!has_hosts[edge])
			continue;
		search_run(f, edge);
		for (uint32_t at = 0; at < f->s->switch_cnt; at++) {
			if (f->dist[at] == UINT32_MAX)
				return -EINVAL; /* not connected */

			int err = at == edge ? 0 : group_add(f, at, edge, &same[at]);

			if (err)
				return err;
		}
	}
	return 0;
}

int vb_routes_create(struct vb_sim *s)
{
	size_t n = s->switch_cnt;
	struct search f = {.s = s};

	if (n == 0)
		return 0;
	s->route = vb_sim_alloc(s, n * n * sizeof *s->route);
	f.adj.first = vb_sim_alloc(s, (n + 1) * sizeof *f.adj.first);
	f.adj.port = vb_sim_alloc(s, s->port_cnt * sizeof *f.adj.port);
	f.dist = vb_sim_alloc(s, n * sizeof *f.dist);
	f.queue = vb_sim_alloc(s, n * sizeof *f.queue);

	struct vb_sim_route *same = vb_sim_alloc(s, n * sizeof *same);
	uint8_t *has_hosts = vb_sim_alloc(s, n);
	int err = -ENOMEM;

	if (s->route && f.adj.first && f.adj.port && f.dist && f.queue && same && has_hosts) {
		adjacency_fill(s, &f.adj);
		for (uint32_t i = 0; i < s->host_cnt; i++) {
			if (s->site[i].edge != VB_SIM_NONE)
				has_hosts[s->site[i].edge] = 1;
		}
		err = routes_fill(&f, same, has_hosts);
	}
	vb_sim_free(s, f.adj.first);
	vb_sim_free(s, f.adj.port);
	vb_sim_free(s, f.dist);
	vb_sim_free(s, f.queue);
	vb_sim_free(s, same);
	vb_sim_free(s, has_hosts);
	return err;
}
