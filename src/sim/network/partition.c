/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cuts a network into parts that are run at once. Nodes that may not be parted are one cluster;
 * clusters with hosts are shared out in the order of their hosts, so that neighbours stay together,
 * and the switches above go where most of their cables do, or where the least is to do. See
 * parts.h.
 */
#include "base/assert.h"
#include "sim/parts.h"

#include <assert.h>
#include <string.h>

/* The work of a node, in that of a port: an adapter makes its packets and takes them apart. */
#define PORT_WORK 1u
#define HOST_WORK 3u

#define UNASSIGNED UINT16_MAX
/* Delays from which on cables are cut that are tried before any cable may be. */
#define DELAYS_MAX 16u
/* A part may have so much more than its share, in percent. */
#define EXCESS_PERCENT 20u

struct cutting {
	const struct vb_sim_topo *t;
	const bool *keep;
	uint32_t nodes, parts;
	uint32_t *parent; /* of each node in its cluster: union-find */
	uint64_t *work;   /* of each cluster, by its root */
	uint16_t *part;   /* the same: UNASSIGNED */
	uint32_t *cables; /* [root * parts + part]: from a cluster to a part */
	uint64_t load[VB_SIM_PARTS_MAX];
};

static uint32_t root_of(struct cutting *c, uint32_t node)
{
	while (c->parent[node] != node) {
		c->parent[node] = c->parent[c->parent[node]];
		node = c->parent[node];
	}
	return node;
}

/* Cables of hosts are never cut, nor are such that a frame takes no time on. */
static bool may_cut(const struct cutting *c, uint32_t link, vb_dur delay_min)
{
	const struct vb_sim_topo_link *l = &c->t->link[link];

	return l->a >= c->t->host_cnt && l->b >= c->t->host_cnt && !(c->keep && c->keep[link]) &&
	       l->cable.delay > 0 && l->cable.delay >= delay_min;
}

static void clusters_make(struct cutting *c, vb_dur delay_min)
{
	for (uint32_t i = 0; i < c->nodes; i++) {
		c->parent[i] = i;
		c->work[i] = 0;
		c->part[i] = UNASSIGNED;
	}
	for (uint32_t i = 0; i < c->t->link_cnt; i++)
		if (!may_cut(c, i, delay_min))
			c->parent[root_of(c, c->t->link[i].a)] = root_of(c, c->t->link[i].b);
	for (uint32_t i = 0; i < c->t->link_cnt; i++) {
		c->work[root_of(c, c->t->link[i].a)] += PORT_WORK;
		c->work[root_of(c, c->t->link[i].b)] += PORT_WORK;
	}
	for (uint32_t i = 0; i < c->t->host_cnt; i++)
		c->work[root_of(c, i)] += HOST_WORK;
}

static void cluster_assign(struct cutting *c, uint32_t root, uint32_t part)
{
	VB_ASSERT_ALL(part < c->parts && c->part[root] == UNASSIGNED);
	c->part[root] = (uint16_t)part;
	c->load[part] += c->work[root];
}

static void hosts_share(struct cutting *c)
{
	uint64_t all = 0, before = 0;

	for (uint32_t i = 0; i < c->t->host_cnt; i++) {
		uint32_t root = root_of(c, i);

		if (c->part[root] != UNASSIGNED)
			continue;
		all += c->work[root];
		c->part[root] = 0; /* seen */
	}
	assert(all > 0); /* there is a host */
	for (uint32_t i = 0; i < c->t->host_cnt; i++)
		c->part[root_of(c, i)] = UNASSIGNED;
	for (uint32_t i = 0; i < c->t->host_cnt; i++) {
		uint32_t root = root_of(c, i);

		if (c->part[root] != UNASSIGNED)
			continue;
		cluster_assign(c, root, (uint32_t)((before + c->work[root] / 2) * c->parts / all));
		before += c->work[root];
	}
}

/* Counts cables from clusters that are in no part to those that are. */
static void cables_count(struct cutting *c)
{
	memset(c->cables, 0, (size_t)c->nodes * c->parts * sizeof *c->cables);
	for (uint32_t i = 0; i < c->t->link_cnt; i++) {
		uint32_t a = root_of(c, c->t->link[i].a), b = root_of(c, c->t->link[i].b);

		if (c->part[a] == UNASSIGNED && c->part[b] != UNASSIGNED)
			c->cables[(size_t)a * c->parts + c->part[b]]++;
		if (c->part[b] == UNASSIGNED && c->part[a] != UNASSIGNED)
			c->cables[(size_t)b * c->parts + c->part[a]]++;
	}
}

/* The part with the most cables to a cluster, and of those the one with the least to do;
 * UNASSIGNED: there are none. */
static uint32_t part_next_to(const struct cutting *c, uint32_t root)
{
	const uint32_t *cables = &c->cables[(size_t)root * c->parts];
	uint32_t best = 0;

	for (uint32_t i = 1; i < c->parts; i++)
		if (cables[i] > cables[best] ||
		    (cables[i] == cables[best] && c->load[i] < c->load[best]))
			best = i;
	return cables[best] ? best : UNASSIGNED;
}

/* Tier by tier, as seen from the hosts. Switches that lead to no host go to the first part. */
static void switches_share(struct cutting *c)
{
	bool more = true;

	while (more) {
		more = false;
		cables_count(c);
		for (uint32_t i = c->t->host_cnt; i < c->nodes; i++) {
			uint32_t part;

			if (root_of(c, i) != i || c->part[i] != UNASSIGNED)
				continue;
			part = part_next_to(c, i);
			if (part == UNASSIGNED)
				continue;
			cluster_assign(c, i, part);
			more = true;
		}
	}
	for (uint32_t i = c->t->host_cnt; i < c->nodes; i++)
		if (c->part[root_of(c, i)] == UNASSIGNED)
			cluster_assign(c, root_of(c, i), 0);
}

/* Shares the network out where cables of @delay_min and more may be cut. Returns the excess of the
 * largest part over its share, in percent. */
static uint64_t network_share(struct cutting *c, vb_dur delay_min)
{
	uint64_t all = 0, most = 0;

	memset(c->load, 0, sizeof c->load);
	clusters_make(c, delay_min);
	hosts_share(c);
	switches_share(c);
	for (uint32_t i = 0; i < c->parts; i++) {
		all += c->load[i];
		most = c->load[i] > most ? c->load[i] : most;
	}
	assert(all > 0);
	VB_ASSERT_ALL(most * c->parts >= all);
	return most * c->parts * 100 / all - 100;
}

/* The longest delay below @below of a cable that may be cut; 0: there is none. */
static vb_dur delay_below(const struct cutting *c, vb_dur below)
{
	vb_dur longest = 0;

	for (uint32_t i = 0; i < c->t->link_cnt; i++) {
		vb_dur delay = c->t->link[i].cable.delay;

		if (may_cut(c, i, 0) && delay < below && delay > longest)
			longest = delay;
	}
	return longest;
}

/* Numbers the parts that have nodes, and says which node is in which. */
static uint32_t parts_number(struct cutting *c, uint16_t *part_of)
{
	uint16_t number[VB_SIM_PARTS_MAX];
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < c->parts; i++)
		number[i] = c->load[i] ? (uint16_t)cnt++ : 0;
	for (uint32_t i = 0; i < c->nodes; i++)
		part_of[i] = number[c->part[root_of(c, i)]];
	VB_ASSERT_ALL(cnt >= 1 && cnt <= c->parts);
	return cnt;
}

static uint32_t cut_best(struct cutting *c, uint16_t *part_of)
{
	vb_dur delay = delay_below(c, VB_NEVER);

	for (uint32_t i = 0; delay > 0 && i < DELAYS_MAX; i++) {
		if (network_share(c, delay) <= EXCESS_PERCENT)
			return parts_number(c, part_of);
		delay = delay_below(c, delay);
	}
	(void)network_share(c, 0);
	return parts_number(c, part_of);
}

uint32_t vb_sim_partition(const struct vb_sim_topo *t, uint32_t parts, const bool *keep,
			  uint16_t *part_of)
{
	const struct vb_sim_memory *m = &t->memory;
	struct cutting c = {.t = t, .keep = keep, .nodes = t->host_cnt + t->switch_cnt};
	uint32_t cnt = 0;

	c.parts = parts < 1 ? 1 : parts > VB_SIM_PARTS_MAX ? VB_SIM_PARTS_MAX : parts;
	c.parent = m->alloc(m->ctx, c.nodes * sizeof *c.parent);
	c.work = m->alloc(m->ctx, c.nodes * sizeof *c.work);
	c.part = m->alloc(m->ctx, c.nodes * sizeof *c.part);
	c.cables = m->alloc(m->ctx, (size_t)c.nodes * c.parts * sizeof *c.cables);
	if (c.parent && c.work && c.part && c.cables)
		cnt = cut_best(&c, part_of);

	void *const all[] = {c.parent, c.work, c.part, c.cables};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i])
			m->free(m->ctx, all[i]);
	return cnt;
}
