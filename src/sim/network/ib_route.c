/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the forwarding tables of InfiniBand switches as subnet managers do: by shortest ways, by
 * ways that go up and then down a tree, or by shortest ways whose pairs of switches are put into
 * layers so that no layer has a ring of waiting links. In a network with routers each subnet has
 * tables of its own; layers are of ways from end to end, for packets keep their service level at
 * routers. Schroeder et al., Autonet, 1991; Skeie et
 * al., LASH, 2002; Domke et al., DFSSSP, 2011
 */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define FAR UINT32_MAX

struct routing {
	struct vb_sim *s;
	uint32_t *dist;  /* to the destination */
	uint32_t *down;  /* the same, of ways that only go down */
	uint32_t *rank;  /* from the first switch of the subnet */
	uint32_t *queue; /* of switches */
	uint32_t *used;  /* LIDs that leave by a port, by its number in the simulation */
	uint16_t *first; /* of each switch the first LID of its hosts */
	uint64_t *after; /* layers: [layer][hop] bits of the hops that ways take behind it */
	uint8_t *seen;   /* of hops, in a search */
	uint32_t words;  /* of a row of after */
};

/* A way to a host: where that is in another subnet, first to a router. */
struct routing_way {
	uint32_t host;
	uint16_t dlid;
};

/* The switch that port @p of @at leads to, or VB_SIM_NONE. A router ends the subnet. */
static uint32_t switch_behind(const struct routing *r, uint32_t at, uint32_t p)
{
	uint32_t next = vb_sim_switch_behind(r->s, r->s->sw[at].port[p]);

	return next != VB_SIM_NONE && vb_sim_is_router(r->s, next) ? VB_SIM_NONE : next;
}

/* Switch @a is above @b. */
static bool is_above(const struct routing *r, uint32_t a, uint32_t b)
{
	return r->rank[a] != r->rank[b] ? r->rank[a] < r->rank[b] : a < b;
}

/* Steps from each switch to @to; with @up_only by links that go up from @to. Those that were found
 * before stay. */
static void search_more(struct routing *r, uint32_t to, uint32_t *dist, bool up_only)
{
	uint32_t head = 0, tail = 0;

	dist[to] = 0;
	r->queue[tail++] = to;
	while (head < tail) {
		uint32_t at = r->queue[head++];

		for (uint32_t p = 0; p < r->s->sw[at].port_cnt; p++) {
			uint32_t next = switch_behind(r, at, p);

			if (next == VB_SIM_NONE || dist[next] != FAR ||
			    (up_only && !is_above(r, next, at)))
				continue;
			dist[next] = dist[at] + 1;
			r->queue[tail++] = next;
		}
	}
}

static void search_run(struct routing *r, uint32_t to, uint32_t *dist, bool up_only)
{
	memset(dist, 0xff, r->s->switch_cnt * sizeof *dist);
	search_more(r, to, dist, up_only);
}

/* In each subnet the first switch is the top. */
static void ranks_fill(struct routing *r)
{
	search_run(r, 0, r->rank, false);
	for (uint32_t at = 1; r->s->subnets && at < r->s->subnets->router_first; at++)
		if (r->rank[at] == FAR)
			search_more(r, at, r->rank, false);
}

/* Steps of ways that go up as far as they have to, and then down. A switch above is asked
 * before the switches below it. */
static void up_down_run(struct routing *r, uint32_t to)
{
	uint32_t n = r->s->switch_cnt;
	bool grew = true;

	search_run(r, to, r->down, true);
	memcpy(r->dist, r->down, n * sizeof *r->dist);
	while (grew) {
		grew = false;
		for (uint32_t at = 0; at < n; at++) {
			for (uint32_t p = 0; r->down[at] == FAR && p < r->s->sw[at].port_cnt; p++) {
				uint32_t next = switch_behind(r, at, p);

				if (next == VB_SIM_NONE || !is_above(r, next, at) ||
				    r->dist[next] >= FAR - 1 || r->dist[next] + 1 >= r->dist[at])
					continue;
				r->dist[at] = r->dist[next] + 1;
				grew = true;
			}
		}
	}
}

/* Port @p of @at leads closer. */
static bool leads_closer(const struct routing *r, uint32_t at, uint32_t p)
{
	uint32_t next = switch_behind(r, at, p);

	if (next == VB_SIM_NONE || r->dist[at] == FAR || r->dist[next] == FAR ||
	    r->dist[next] + 1 != r->dist[at])
		return false;
	if (r->s->cfg.ib.routing != VB_SIM_UP_DOWN)
		return true;
	/* Down where that is a way all along, else up. */
	return r->down[at] != FAR ? r->down[next] != FAR && is_above(r, at, next)
				  : is_above(r, next, at);
}

/* The port of @at for a LID: of those that lead closer the one that the fewest LIDs use. */
static uint8_t port_choose(struct routing *r, uint32_t at)
{
	uint32_t best = FAR, best_used = FAR;

	for (uint32_t p = 0; p < r->s->sw[at].port_cnt; p++) {
		uint32_t used = r->used[r->s->sw[at].port[p]->id];

		if (used < best_used && leads_closer(r, at, p)) {
			best = p;
			best_used = used;
		}
	}
	if (best == FAR)
		return VB_PORT_NONE;
	r->used[r->s->sw[at].port[best]->id]++;
	return (uint8_t)(best + 1);
}

/* The switch is in the subnet of @site, to which ways lead. */
static bool is_within(const struct routing *r, uint32_t at, const struct vb_forward_site *site)
{
	const struct vb_sim_subnets *n = r->s->subnets;

	return !n || n->of_switch[at] == n->of_switch[site->subnet];
}

/* Ways to @lid at @site: those to the LID @like, unless that is 0. */
static void lid_fill(struct routing *r, uint32_t lid, const struct vb_forward_site *site,
		     uint16_t like)
{
	struct vb_sim_ib *ib = r->s->ib;

	for (uint32_t at = 0; at < r->s->switch_cnt; at++) {
		uint8_t *entry = &ib->sw[at].forward.unicast[lid];

		if (!is_within(r, at, site))
			continue;
		if (at == site->subnet)
			*entry = (uint8_t)(site->port + 1);
		else if (like)
			*entry = ib->sw[at].forward.unicast[like];
		else
			*entry = port_choose(r, at);
	}
}

/* Distances of ways to a switch. */
static void ways_search(struct routing *r, uint32_t to)
{
	if (r->s->cfg.ib.routing == VB_SIM_UP_DOWN)
		up_down_run(r, to);
	else
		search_run(r, to, r->dist, false);
}

/* The ports of routers have LIDs as hosts have. */
static void routers_fill(struct routing *r)
{
	const struct vb_sim *s = r->s;

	for (uint32_t id = 0; s->subnets && id < s->port_cnt; id++) {
		const struct vb_port *far = &s->port[vb_sim_peer(id)];
		struct vb_forward_site site;

		if (s->port[id].at_host || !vb_sim_is_router(s, s->switch_of[id]) || far->at_host ||
		    vb_sim_is_router(s, s->switch_of[far->id]))
			continue;
		site = (struct vb_forward_site){s->switch_of[far->id], far->number};
		ways_search(r, site.subnet);
		lid_fill(r, s->subnets->lid[id], &site, 0);
	}
}

static void tables_fill(struct routing *r)
{
	const struct vb_sim *s = r->s;
	/* All hosts of a switch go one way in layers, which are of pairs of switches. */
	bool spreads = s->cfg.ib.routing != VB_SIM_LAYERS;
	uint32_t last = VB_FORWARD_NONE;

	ranks_fill(r);
	for (uint32_t i = 0; i < s->host_cnt; i++) {
		const struct vb_forward_site *site = &s->map.site[i];
		uint16_t lid = vb_sim_lid(s, i), *first = &r->first[site->subnet];

		if (vb_sim_is_router(s, site->subnet))
			continue;
		if (site->subnet != last)
			ways_search(r, site->subnet);
		last = site->subnet;
		lid_fill(r, lid, site, spreads ? 0 : *first);
		if (*first == 0)
			*first = lid;
	}
	routers_fill(r);
}

/* The way of packets from a host at switch @at. */
static struct routing_way way_begin(const struct routing *r, uint32_t at, uint32_t host)
{
	struct routing_way w = {.host = host};

	if (!r->s->subnets)
		w.dlid = vb_sim_lid(r->s, host);
	else if (!vb_sim_is_router(r->s, at))
		w.dlid = vb_sim_dlid(r->s, r->s->subnets->of_switch[at], host);
	return w;
}

/* The hop behind switch @at on the way, which has come by port @in, 0: begins there; VB_IB_NO_HOP:
 * the way ends, at a host or nowhere. */
static uint32_t next_hop(const struct routing *r, uint32_t at, uint32_t in, struct routing_way *w)
{
	const struct vb_ib_switch *sw = &r->s->ib->sw[at];
	uint8_t port = sw->router ? vb_sim_router_step(r->s, at, in, w->host, &w->dlid)
				  : sw->forward.unicast[w->dlid];

	return port == 0 || port == VB_PORT_NONE ? VB_IB_NO_HOP : sw->end[port - 1].hop;
}

static uint64_t *row_of(const struct routing *r, uint32_t layer, uint32_t hop)
{
	return r->after + ((size_t)layer * r->s->ib->hop_cnt + hop) * r->words;
}

/* Hop @to can be come to from hop @from in the layer. */
static bool leads_to(const struct routing *r, uint32_t layer, uint32_t from, uint32_t to)
{
	uint32_t head = 0, tail = 0;

	memset(r->seen, 0, r->s->ib->hop_cnt);
	r->queue[tail++] = from;
	r->seen[from] = 1;
	while (head < tail) {
		const uint64_t *row = row_of(r, layer, r->queue[head++]);

		if (row[to / 64] >> to % 64 & 1)
			return true;
		for (uint32_t w = 0; w < r->words; w++)
			for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
				uint32_t next = w * 64 + (uint32_t)__builtin_ctzll(bits);

				if (r->seen[next])
					continue;
				r->seen[next] = 1;
				r->queue[tail++] = next;
			}
	}
	return from == to;
}

/* The first hop whose step to the next one would close a ring in the layer, where steps before it
 * have been added; VB_IB_NO_HOP: all were. */
static uint32_t way_add(const struct routing *r, uint32_t layer, uint32_t at, uint32_t host,
			uint64_t *added, uint32_t *added_cnt)
{
	struct routing_way w = way_begin(r, at, host);
	uint32_t hop = next_hop(r, at, 0, &w);

	while (hop != VB_IB_NO_HOP) {
		const struct vb_ib_hop *h = &r->s->ib->hop[hop];
		uint32_t sw = (uint32_t)(h->far - r->s->ib->sw);
		uint32_t next = next_hop(r, sw, h->far_port + 1, &w);
		uint64_t *row = row_of(r, layer, hop);

		if (next != VB_IB_NO_HOP && !(row[next / 64] >> next % 64 & 1)) {
			if (leads_to(r, layer, next, hop))
				return hop;
			row[next / 64] |= UINT64_C(1) << next % 64;
			added[(*added_cnt)++] = (uint64_t)hop << 32 | next;
		}
		hop = next;
	}
	return VB_IB_NO_HOP;
}

/* The layer of the ways from switch @at to @host: the first one in which they close no ring. */
static int layer_choose(const struct routing *r, uint32_t at, uint32_t host, uint64_t *added)
{
	for (uint32_t layer = 0; layer < r->s->cfg.ib.lanes; layer++) {
		uint32_t cnt = 0;

		if (way_add(r, layer, at, host, added, &cnt) == VB_IB_NO_HOP)
			return (int)layer;
		while (cnt-- > 0)
			row_of(r, layer, (uint32_t)(added[cnt] >> 32))[(uint32_t)added[cnt] / 64] &=
			    ~(UINT64_C(1) << (uint32_t)added[cnt] % 64);
	}
	return -EINVAL;
}

/* Of each pair of switches with hosts. */
static int layers_fill(struct routing *r)
{
	struct vb_sim *s = r->s;
	uint32_t hops = s->ib->hop_cnt, n = s->switch_cnt;
	uint64_t *added = vb_sim_alloc(s, (hops + 1) * sizeof *added);
	int err = added ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < s->host_cnt; i++) {
		uint32_t to = s->map.site[i].subnet;

		if (r->first[to] && r->first[to] != vb_sim_lid(s, i))
			continue;
		for (uint32_t at = 0; at < n; at++) {
			int layer = at == to ? 0 : layer_choose(r, at, i, added);

			if (layer < 0) {
				err = layer;
				break;
			}
			s->ib->layer[(size_t)at * n + to] = (uint8_t)layer;
		}
	}
	vb_sim_free(s, added);
	return err;
}

static int layers_create(struct routing *r)
{
	struct vb_sim *s = r->s;
	size_t hops = s->ib->hop_cnt, n = s->switch_cnt;
	int err = -ENOMEM;

	s->ib->layer = vb_sim_alloc(s, n * n);
	r->words = (uint32_t)(hops + 63) / 64;
	r->after = vb_sim_alloc(s, (s->cfg.ib.lanes * hops * r->words + 1) * sizeof *r->after);
	r->seen = vb_sim_alloc(s, hops + 1);
	if (s->ib->layer && r->after && r->seen)
		err = layers_fill(r);
	vb_sim_free(s, r->after);
	vb_sim_free(s, r->seen);
	return err;
}

/* They are what they are: nobody makes others when a link changes. */
static void routes_take(struct vb_sim *s, const struct vb_sim_ib_routes *routes)
{
	for (uint32_t at = 0; at < s->switch_cnt; at++)
		for (uint32_t i = 0; i < s->host_cnt; i++)
			s->ib->sw[at].forward.unicast[VB_SIM_LID + i] =
			    routes->out[(size_t)at * s->host_cnt + i];
}

int vb_sim_ib_route(struct vb_sim *s)
{
	size_t n = s->switch_cnt;
	struct routing r = {.s = s};
	int err = -ENOMEM;

	if (s->cfg.ib.routes)
		routes_take(s, s->cfg.ib.routes);
	if (n == 0 || s->cfg.ib.routes)
		return 0;
	r.dist = vb_sim_alloc(s, n * sizeof *r.dist);
	r.down = vb_sim_alloc(s, n * sizeof *r.down);
	r.rank = vb_sim_alloc(s, n * sizeof *r.rank);
	r.used = vb_sim_alloc(s, s->port_cnt * sizeof *r.used);
	r.first = vb_sim_alloc(s, n * sizeof *r.first);
	r.queue = vb_sim_alloc(s, (n + s->ib->hop_cnt + 1) * sizeof *r.queue);
	if (r.dist && r.down && r.rank && r.used && r.first && r.queue) {
		tables_fill(&r);
		/* Connections keep the service levels that they began with. */
		err = s->cfg.ib.routing == VB_SIM_LAYERS && !s->ib->layer ? layers_create(&r) : 0;
	}
	vb_sim_free(s, r.dist);
	vb_sim_free(s, r.down);
	vb_sim_free(s, r.rank);
	vb_sim_free(s, r.used);
	vb_sim_free(s, r.first);
	vb_sim_free(s, r.queue);
	return err;
}
