/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the forward tables of the switches with shortest paths, all of equal length kept for ECMP
 * and other choices among them.
 * The hosts at a switch are its subnet. A breadth-first search from each switch that has hosts; a
 * port leads closer when the switch behind it is one step nearer.
 */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

struct search {
	struct vb_sim *s;
	uint32_t *dist, *queue;
	struct vb_hop_set *same; /* of each switch, the set found last */
};

static void search_run(struct search *f, uint32_t edge)
{
	uint32_t head = 0, tail = 0;

	memset(f->dist, 0xff, f->s->switch_cnt * sizeof *f->dist);
	f->dist[edge] = 0;
	f->queue[tail++] = edge;
	while (head < tail) {
		uint32_t at = f->queue[head++];
		const struct vb_switch *sw = &f->s->sw[at];

		for (uint32_t i = 0; i < sw->port_cnt; i++) {
			uint32_t next = vb_sim_switch_behind(f->s, sw->port[i]);

			if (next == VB_SIM_NONE || f->dist[next] != UINT32_MAX)
				continue;
			f->dist[next] = f->dist[at] + 1;
			VB_ASSERT_ALL(tail < f->s->switch_cnt);
			f->queue[tail++] = next;
		}
	}
}

static int hops_reserve(struct vb_sim *s, uint32_t more)
{
	if (s->hop_cnt + more <= s->hop_cap)
		return 0;

	uint32_t cap = s->hop_cap * 2 + more + 64;
	uint32_t *hop = vb_sim_alloc(s, cap * sizeof *hop);

	if (!hop)
		return -ENOMEM;
	if (s->hop_cnt)
		memcpy(hop, s->hop, s->hop_cnt * sizeof *hop);
	vb_sim_free(s, s->hop);
	s->hop = hop;
	s->hop_cap = cap;
	return 0;
}

/* The ports of switch @at that lead closer to @edge. Most switches use the same ones for many
 * destinations: the set found before is shared if it is equal. */
static int set_add(struct search *f, uint32_t at, uint32_t edge)
{
	struct vb_sim *s = f->s;
	const struct vb_switch *sw = &s->sw[at];
	struct vb_hop_set r = {.first = s->hop_cnt}, *same = &f->same[at];
	int err = hops_reserve(s, sw->port_cnt);

	if (err)
		return err;
	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		uint32_t next = vb_sim_switch_behind(s, sw->port[i]);

		if (next != VB_SIM_NONE && f->dist[next] + 1 == f->dist[at])
			s->hop[r.first + r.cnt++] = i;
	}
	/* A destination that can be reached is one step nearer by some port. */
	VB_ASSERT_ALL(r.cnt > 0 && r.first + r.cnt <= s->hop_cap);
	if (r.cnt != 0 && same->cnt == r.cnt &&
	    memcmp(&s->hop[same->first], &s->hop[r.first], r.cnt * sizeof *s->hop) == 0)
		r = *same;
	else
		s->hop_cnt += r.cnt;
	*same = r;
	s->hop_set[(size_t)at * s->switch_cnt + edge] = r;
	return 0;
}

/* With @may_part a switch that cannot be reached has no next hops. */
static int sets_fill(struct search *f, const uint8_t *has_hosts, bool may_part)
{
	for (uint32_t edge = 0; edge < f->s->switch_cnt; edge++) {
		if (!has_hosts[edge])
			continue;
		search_run(f, edge);
		for (uint32_t at = 0; at < f->s->switch_cnt; at++) {
			bool is_behind = f->dist[at] != UINT32_MAX;

			if (!is_behind && !may_part)
				return -EINVAL; /* not connected */

			int err = at == edge || !is_behind ? 0 : set_add(f, at, edge);

			if (err)
				return err;
		}
	}
	return 0;
}

static int map_fill(struct vb_sim *s)
{
	s->map = (struct vb_forward_map){VB_SIM_ADDRESS, s->host_cnt, NULL};
	s->map.site = vb_sim_alloc(s, s->host_cnt * sizeof *s->map.site);
	if (!s->map.site)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->host_cnt; i++) {
		const struct vb_port *p = &s->port[vb_sim_peer(s->host[i].port->id)];
		const struct vb_switch *sw = vb_sim_switch_at(s, p);

		s->map.site[i] = (struct vb_forward_site){
		    sw ? vb_sim_switch_number(s, sw) : VB_FORWARD_NONE, p->number};
	}
	return 0;
}

/* The tables are one array that switches share. */
static void tables_give(struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		struct vb_forward *fw = &s->sw[i].forward;

		fw->map = &s->map;
		fw->subnet = i;
		fw->set = s->hop_set + (size_t)i * s->switch_cnt;
		fw->hop = s->hop;
	}
}

static int sets_create(struct vb_sim *s, bool may_part)
{
	size_t n = s->switch_cnt;
	struct search f = {.s = s};
	uint8_t *has_hosts;
	int err = -ENOMEM;

	s->hop_set = vb_sim_alloc(s, n * n * sizeof *s->hop_set);
	f.dist = vb_sim_alloc(s, n * sizeof *f.dist);
	f.queue = vb_sim_alloc(s, n * sizeof *f.queue);
	f.same = vb_sim_alloc(s, n * sizeof *f.same);
	has_hosts = vb_sim_alloc(s, n);
	if (s->hop_set && f.dist && f.queue && f.same && has_hosts) {
		for (uint32_t i = 0; i < s->host_cnt; i++) {
			if (s->map.site[i].subnet != VB_FORWARD_NONE)
				has_hosts[s->map.site[i].subnet] = 1;
		}
		err = sets_fill(&f, has_hosts, may_part);
	}
	tables_give(s);
	vb_sim_free(s, f.dist);
	vb_sim_free(s, f.queue);
	vb_sim_free(s, f.same);
	vb_sim_free(s, has_hosts);
	return err;
}

/* The state of choices among next hops, where ECMP does not make them. */
static int multipath_create(struct vb_sim *s)
{
	const struct vb_multipath_config *c = &s->cfg.sw.multipath;
	size_t size = vb_multipath_size(c, s->switch_cnt);

	if (c->kind == VB_MULTIPATH_ECMP)
		return 0;
	s->multipath = vb_sim_alloc(s, s->switch_cnt * size);
	if (!s->multipath)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		s->sw[i].multipath = (struct vb_multipath *)((char *)s->multipath + i * size);
		vb_multipath_init(s->sw[i].multipath, c, s->switch_cnt,
				  vb_rng_stream(s->cfg.seed, "multipath", i));
	}
	return 0;
}

int vb_sim_routes_create(struct vb_sim *s)
{
	int err = map_fill(s);

	if (err || s->switch_cnt == 0)
		return err;
	err = sets_create(s, false);
	return err ? err : multipath_create(s);
}

int vb_sim_routes_follow(struct vb_sim *s)
{
	int err;

	if (s->switch_cnt == 0)
		return 0;
	vb_sim_free(s, s->hop_set);
	vb_sim_free(s, s->hop);
	vb_sim_free(s, s->tree);
	s->hop_set = NULL;
	s->hop = NULL;
	s->tree = NULL;
	s->hop_cnt = s->hop_cap = 0;
	err = sets_create(s, true);
	if (!err && s->ib)
		err = vb_sim_ib_route(s);
	if (!err)
		err = vb_sim_trees_create(s);
	if (!err && s->ib)
		vb_sim_ib_groups_follow(s);
	return err;
}
