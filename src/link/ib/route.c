/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routes that a process remembers, and what it sent by them, see route.h. The counters of a
 * route only grow, and only their sender writes them; the holder of the lock adds their new counts
 * to the ports of the route. So a packet costs its sender two additions in memory that nobody else
 * writes, however long its way is.
 */
#include "link/ib/route.h"

#include <sched.h>
#include <string.h>

/* The holder of the lock needs it for some microseconds, unless it is stopped. */
#define LOCK_ATTEMPTS 1000u
/* A change of the map takes less; a process that was killed in the middle of one leaves it so. */
#define CHANGE_ATTEMPTS 1000u

static bool lock_routes(struct vb_ib_routes *all)
{
	for (uint32_t i = 0; i < LOCK_ATTEMPTS; i++) {
		uint32_t is = 0;

		if (__atomic_compare_exchange_n(&all->lock, &is, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		sched_yield();
	}
	return false;
}

static void unlock_routes(struct vb_ib_routes *all)
{
	__atomic_store_n(&all->lock, 0, __ATOMIC_RELEASE);
}

static void counter_add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

/* The facts that a trap of the switch tells of a packet with @key, which a port barred. FAB-36 */
static uint64_t barred_packet(const struct vb_ib_map *m, const struct vb_ib_key *key)
{
	uint16_t slid = key->port < m->port_cnt ? vb_ib_map_ports(m)[key->port].lid : 0;

	return vb_ib_barred(slid, key->dlid, key->pkey, key->sl);
}

/* @barred: as vb_ib_barred() has the packets. */
static void count_fate(const struct vb_ib_map *m, uint32_t at, uint32_t fate, uint64_t packets,
		       uint64_t barred)
{
	struct vb_ib_map_counters *c = &vb_ib_map_counters(m)[at];

	switch ((enum vb_ib_fate)fate) {
	case VB_IB_ARRIVES:
	case VB_IB_LOST:
	case VB_IB_PASSES:
		break;
	case VB_IB_NO_WAY:
		counter_add(&c->relay_errors, packets);
		break;
	case VB_IB_SENT_NOT:
		counter_add(&c->xmit_discards, packets);
		break;
	case VB_IB_RECEIVED_NOT:
		counter_add(&c->rcv_discards, packets);
		break;
	case VB_IB_NOT_ROUTED:
		counter_add(&c->not_routed, packets);
		break;
	case VB_IB_HOPS_ENDED:
		counter_add(&c->hops_ended, packets);
		break;
	case VB_IB_BARRED_OUT:
		__atomic_store_n(&c->barred, barred, __ATOMIC_RELAXED);
		counter_add(&c->xmit_constraint, packets);
		break;
	case VB_IB_BARRED_IN:
		__atomic_store_n(&c->barred, barred, __ATOMIC_RELAXED);
		counter_add(&c->rcv_constraint, packets);
		break;
	}
}

static void count_hop(const struct vb_ib_map *m, struct vb_ib_hop h, uint64_t packets,
		      uint64_t words)
{
	struct vb_ib_map_counters *all = vb_ib_map_counters(m);

	if (h.out < m->port_cnt) {
		counter_add(&all[h.out].xmit_packets, packets);
		counter_add(&all[h.out].xmit_data, words);
	}
	if (h.in < m->port_cnt) {
		counter_add(&all[h.in].rcv_packets, packets);
		counter_add(&all[h.in].rcv_data, words);
	}
}

/* The same of a tree. */
static void tree_add_up(const struct vb_ib_map *m, struct vb_ib_tree *t)
{
	struct vb_ib_map_counters *all = vb_ib_map_counters(m);
	uint64_t packets = __atomic_load_n(&t->packets, __ATOMIC_ACQUIRE) - t->taken_packets;
	uint64_t words = __atomic_load_n(&t->words, __ATOMIC_RELAXED) - t->taken_words;
	uint32_t cnt = t->branch_cnt < VB_IB_BRANCHES ? t->branch_cnt : VB_IB_BRANCHES;

	if (packets == 0 && words == 0)
		return;
	t->taken_packets += packets;
	t->taken_words += words;
	for (uint32_t i = 0; i < cnt; i++) {
		struct vb_ib_branch b = t->branch[i];

		count_hop(m, b.hop, packets, words);
		if (b.hop.out < m->port_cnt)
			counter_add(&all[b.hop.out].multicast_xmit, packets);
		if (b.hop.in < m->port_cnt)
			counter_add(&all[b.hop.in].multicast_rcv, packets);
		if (b.at < m->port_cnt)
			count_fate(m, b.at, b.fate, packets, barred_packet(m, &t->key));
	}
}

/* Adds the new counts of @r to the ports of its way. The other side may be anybody's: each number
 * is looked at. */
static void add_up(const struct vb_ib_map *m, struct vb_ib_route *r)
{
	uint64_t packets = __atomic_load_n(&r->packets, __ATOMIC_ACQUIRE) - r->taken_packets;
	uint64_t words = __atomic_load_n(&r->words, __ATOMIC_RELAXED) - r->taken_words;
	uint32_t hops = r->hop_cnt < VB_IB_HOPS_MAX ? r->hop_cnt : VB_IB_HOPS_MAX;

	if (packets == 0 && words == 0)
		return;
	r->taken_packets += packets;
	r->taken_words += words;
	for (uint32_t i = 0; i < hops; i++)
		count_hop(m, r->hop[i], packets, words);
	if (r->at < m->port_cnt)
		count_fate(m, r->at, r->fate, packets,
			   r->router_cnt ? vb_ib_barred(r->slid, r->dlid, r->key.pkey, r->key.sl)
					 : barred_packet(m, &r->key));
}

bool vb_ib_routes_add_up(const struct vb_ib_map *m, struct vb_ib_routes *all, bool has_ended)
{
	if (!__atomic_exchange_n(&all->is_dirty, 0, __ATOMIC_ACQ_REL))
		return true;
	if (has_ended)
		__atomic_store_n(&all->lock, 1, __ATOMIC_RELAXED);
	else if (!lock_routes(all)) {
		__atomic_store_n(&all->is_dirty, 1, __ATOMIC_RELEASE);
		return false;
	}
	for (uint32_t i = 0; i < VB_IB_ROUTES; i++)
		add_up(m, &all->route[i]);
	for (uint32_t i = 0; i < VB_IB_TREES; i++)
		tree_add_up(m, &all->tree[i]);
	unlock_routes(all);
	return true;
}

static uint32_t place_of(const struct vb_ib_key *key, uint32_t cnt)
{
	uint64_t a;

	memcpy(&a, key, sizeof a);
	a ^= (uint64_t)key->pkey << 40 ^ (uint64_t)key->sl << 20 ^ (uint64_t)key->mtu << 13 ^
	     key->guid;
	return (uint32_t)(a * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (cnt - 1);
}

/* Nobody writes the map, or this is given up. */
static uint32_t generation_at_rest(const struct vb_ib_map *m)
{
	uint32_t g = 0;

	for (uint32_t i = 0; i < CHANGE_ATTEMPTS; i++) {
		g = __atomic_load_n(&m->generation, __ATOMIC_ACQUIRE);
		if (!(g & 1))
			return g;
		sched_yield();
	}
	return g;
}

/* Finds *to, a route or a tree, by @walk, and the generation of the map that it is of. */
static void walk_at_rest(const struct vb_ib_map *m, const struct vb_ib_key *key,
			 void (*walk)(const struct vb_ib_map *m, const struct vb_ib_key *key,
				      void *to),
			 void *to, uint32_t *generation)
{
	for (uint32_t i = 0; i < CHANGE_ATTEMPTS; i++) {
		uint32_t g = generation_at_rest(m);

		walk(m, key, to);
		*generation = g;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&m->generation, __ATOMIC_RELAXED) == g)
			break;
	}
}

static void walk_route(const struct vb_ib_map *m, const struct vb_ib_key *key, void *to)
{
	vb_ib_walk(m, key, to);
}

static void walk_tree(const struct vb_ib_map *m, const struct vb_ib_key *key, void *to)
{
	vb_ib_walk_tree(m, key, to);
}

struct vb_ib_route *vb_ib_route_get(const struct vb_ib_map *m, struct vb_ib_routes *all,
				    const struct vb_ib_key *key)
{
	struct vb_ib_route *r = &all->route[place_of(key, VB_IB_ROUTES)];
	bool is_locked;

	if (__builtin_expect(r->generation == __atomic_load_n(&m->generation, __ATOMIC_ACQUIRE) &&
				 memcmp(&r->key, key, sizeof *key) == 0 && r->mtu != 0,
			     1))
		return r;
	/* The process of the fabric may be stopped in the middle of adding up: then one of the two
	 * counts what the other has, too. */
	is_locked = lock_routes(all);
	add_up(m, r);
	walk_at_rest(m, key, walk_route, r, &r->generation);
	if (is_locked)
		unlock_routes(all);
	return r;
}

struct vb_ib_tree *vb_ib_tree_get(const struct vb_ib_map *m, struct vb_ib_routes *all,
				  const struct vb_ib_key *key)
{
	struct vb_ib_tree *t = &all->tree[place_of(key, VB_IB_TREES)];
	bool is_locked;

	if (t->generation == __atomic_load_n(&m->generation, __ATOMIC_ACQUIRE) &&
	    memcmp(&t->key, key, sizeof *key) == 0)
		return t;
	is_locked = lock_routes(all);
	tree_add_up(m, t);
	walk_at_rest(m, key, walk_tree, t, &t->generation);
	if (is_locked)
		unlock_routes(all);
	return t;
}
