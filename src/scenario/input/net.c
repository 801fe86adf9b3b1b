/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes, cables, and the checks of all of them. See net.h. */
#include "scenario/input/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void vb_net_free(struct vb_net *n)
{
	free(n->node);
	free(n->link);
	free(n->bucket);
	free(n->first);
	free(n->network);
	*n = (struct vb_net){.node = NULL};
}

/* @array with one more place, in a block that doubles. NULL: there is no memory for it. */
static void *room_make(void *array, uint32_t cnt, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *more;

	if (cnt < *cap)
		return array;
	more = realloc(array, want * size);
	if (more)
		*cap = want;
	return more;
}

static bool name_is(const struct vb_net_node *node, const char *name, size_t len)
{
	return strlen(node->name) == len && memcmp(node->name, name, len) == 0;
}

/* The bucket that has the name, or the free one where it would be. */
static uint32_t bucket_of(const struct vb_net *n, const char *name, size_t len)
{
	uint32_t at = vb_name_hash(name, len, n->key) & (n->bucket_cnt - 1);

	while (n->bucket[at] && !name_is(&n->node[n->bucket[at] - 1], name, len))
		at = (at + 1) & (n->bucket_cnt - 1);
	return at;
}

/* At most half of them are in use. */
static int buckets_grow(struct vb_net *n)
{
	uint32_t cnt = n->bucket_cnt ? 2 * n->bucket_cnt : 128;
	uint32_t *more;

	if (2 * n->node_cnt + 2 <= n->bucket_cnt)
		return 0;
	more = calloc(cnt, sizeof *more);
	if (!more)
		return -ENOMEM;
	if (!n->bucket)
		n->key = vb_name_key();
	free(n->bucket);
	n->bucket = more;
	n->bucket_cnt = cnt;
	for (uint32_t i = 0; i < n->node_cnt; i++)
		more[bucket_of(n, n->node[i].name, strlen(n->node[i].name))] = i + 1;
	return 0;
}

uint32_t vb_net_find(const struct vb_net *n, const char *name, size_t len)
{
	return n->bucket_cnt ? n->bucket[bucket_of(n, name, len)] - 1 : VB_NET_NONE;
}

static bool is_printable(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)name[i] < ' ' || name[i] == 0x7f)
			return false;
	return true;
}

int vb_net_add_node(struct vb_net *n, const char *name, size_t len, bool is_switch,
		    struct vb_net_place place, const struct vb_complaint *c)
{
	uint32_t there = vb_net_find(n, name, len);
	struct vb_net_node *node, *more;

	if (len == 0 || len >= VB_NET_NAME)
		return vb_complain(c, place.line, place.column,
				   "the name of a node has 1 to %d characters", VB_NET_NAME - 1);
	if (!is_printable(name, len))
		return vb_complain(c, place.line, place.column,
				   "the name of a node has no control characters");
	if (there != VB_NET_NONE)
		return vb_complain(c, place.line, place.column, "there is a node %s already",
				   n->node[there].name);
	if (n->node_cnt == VB_SIM_TOPO_NODES_MAX)
		return vb_complain(c, place.line, place.column,
				   "there are more than %u hosts and switches",
				   VB_SIM_TOPO_NODES_MAX);
	more = room_make(n->node, n->node_cnt, &n->node_cap, sizeof *more);
	if (!more)
		return -ENOMEM;
	n->node = more;
	if (buckets_grow(n))
		return -ENOMEM;
	node = &n->node[n->node_cnt];
	*node = (struct vb_net_node){.place = place, .is_switch = is_switch};
	memcpy(node->name, name, len);
	/* Of switches it is complete when the hosts have been counted. */
	node->number = is_switch ? n->node_cnt - n->host_cnt : n->host_cnt;
	n->host_cnt += !is_switch;
	n->bucket[bucket_of(n, name, len)] = ++n->node_cnt;
	return 0;
}

int vb_net_add_link(struct vb_net *n, const struct vb_net_link *link, const struct vb_complaint *c)
{
	struct vb_net_link *more;

	if (link->a == link->b)
		return vb_complain(c, link->place.line, link->place.column,
				   "a cable leads from %s to itself", n->node[link->a].name);
	if (n->link_cnt == VB_SIM_TOPO_LINKS_MAX)
		return vb_complain(c, link->place.line, link->place.column,
				   "there are more than %u cables", VB_SIM_TOPO_LINKS_MAX);
	more = room_make(n->link, n->link_cnt, &n->link_cap, sizeof *more);
	if (!more)
		return -ENOMEM;
	n->link = more;
	n->node[link->a].cable_cnt++;
	n->node[link->b].cable_cnt++;
	n->link[n->link_cnt++] = *link;
	return 0;
}

struct pair {
	uint32_t low, high, link;
};

static int pair_compare(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high < y->high ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

static int pairs_check(const struct vb_net *n, const struct vb_complaint *c)
{
	struct pair *pair = calloc((size_t)n->link_cnt + 1, sizeof *pair);
	int bad = 0;

	if (!pair)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->link_cnt; i++) {
		const struct vb_net_link *l = &n->link[i];

		pair[i] = (struct pair){l->a < l->b ? l->a : l->b, l->a < l->b ? l->b : l->a, i};
	}
	qsort(pair, n->link_cnt, sizeof *pair, pair_compare);
	for (uint32_t i = 1; !bad && i < n->link_cnt; i++) {
		const struct vb_net_link *l = &n->link[pair[i].link];

		if (pair[i].low == pair[i - 1].low && pair[i].high == pair[i - 1].high &&
		    !l->is_again)
			bad = vb_complain(c, l->place.line, l->place.column,
					  "there is a cable from %s to %s already, in line %u",
					  n->node[l->a].name, n->node[l->b].name,
					  n->link[pair[i - 1].link].place.line);
	}
	free(pair);
	return bad;
}

static uint32_t root_of(uint32_t *up, uint32_t i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

static int parts_check(const struct vb_net *n, const struct vb_complaint *c)
{
	uint32_t *up = calloc((size_t)n->node_cnt + 1, sizeof *up), apart = 0;

	if (!up)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->node_cnt; i++)
		up[i] = i;
	for (uint32_t i = 0; i < n->link_cnt; i++)
		up[root_of(up, n->link[i].a)] = root_of(up, n->link[i].b);
	for (uint32_t i = 1; i < n->node_cnt && apart == 0; i++)
		if (root_of(up, i) != root_of(up, 0))
			apart = i;
	free(up);
	return apart ? vb_complain(c, n->node[apart].place.line, n->node[apart].place.column,
				   "%s cannot be reached from %s", n->node[apart].name,
				   n->node[0].name)
		     : 0;
}

int vb_net_check(struct vb_net *n, const struct vb_complaint *c)
{
	int bad;

	for (uint32_t i = 0; i < n->node_cnt; i++) {
		const struct vb_net_node *node = &n->node[i];

		if (node->cable_cnt == 0)
			return vb_complain(c, node->place.line, node->place.column,
					   "%s %s has no cable",
					   node->is_switch ? "switch" : "host", node->name);
	}
	if (n->host_cnt == 0)
		return vb_complain(c, 1, 1, "there is no host");
	bad = pairs_check(n, c);
	return bad ? bad : parts_check(n, c);
}

void vb_net_cable_complete(struct vb_cable *c, const struct vb_cable *like)
{
	if (c->rate_bps == VB_NET_RATE_UNSAID)
		c->rate_bps = like->rate_bps;
	if (c->delay == VB_NET_DELAY_UNSAID)
		c->delay = like->delay;
	if (c->mtu == VB_NET_MTU_UNSAID)
		c->mtu = like->mtu;
}

/* The node of the simulator: of a host its next NIC. */
static uint32_t number_of(const struct vb_net *n, uint32_t node, uint32_t *next)
{
	const struct vb_net_node *of = &n->node[node];

	return of->is_switch ? n->first[n->host_cnt] + of->number
			     : n->first[of->number] + next[of->number]++;
}

int vb_net_make(const struct vb_net *n, const struct vb_cable *cable, const struct vb_cable *trunk,
		const struct vb_sim_memory *m, struct vb_sim_topo *out)
{
	uint32_t *next = calloc((size_t)n->host_cnt + 1, sizeof *next),
		 nics = n->first[n->host_cnt];

	*out = (struct vb_sim_topo){
	    .host_cnt = nics, .switch_cnt = n->node_cnt - n->host_cnt, .memory = *m};
	out->link = next ? m->alloc(m->ctx, ((size_t)n->link_cnt + 1) * sizeof *out->link) : NULL;
	for (uint32_t i = 0; out->link && i < n->link_cnt; i++) {
		const struct vb_net_link *l = &n->link[i];
		uint32_t a = number_of(n, l->a, next), b = number_of(n, l->b, next);
		struct vb_cable c = l->cable;

		vb_net_cable_complete(&c, a < nics || b < nics ? cable : trunk);
		/* The first node of a cable is a host where there is one. */
		out->link[out->link_cnt++] = b < nics && a >= nics
						 ? (struct vb_sim_topo_link){b, a, c}
						 : (struct vb_sim_topo_link){a, b, c};
	}
	free(next);
	return out->link ? 0 : -ENOMEM;
}
