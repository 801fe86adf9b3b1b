/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a packet through a fabric, by its map: found once, remembered until the map changes,
 * and counted. IBA 7.6, 10.9.3, 18.2.4, 19; items LNK-12, LNK-22, LNK-29, FAB-01, FAB-02, FAB-06,
 * FAB-50
 */
#ifndef VB_LINK_IB_ROUTE_H
#define VB_LINK_IB_ROUTE_H

#include "link/ib/map.h"
#include "wire/ib/hop.h"

/* Goes the way of a packet with @key. The map may change meanwhile: then what is found is of no
 * use, and no harm. */
void vb_ib_walk(const struct vb_ib_map *m, const struct vb_ib_key *key, struct vb_ib_route *r);
/* The same with the routers of the map as the caller knows them, who may know more LIDs. */
void vb_ib_walk_by(const struct vb_ib_map *m, const struct vb_routers *routers,
		   const struct vb_ib_key *key, struct vb_ib_route *r);

/* The lane of a packet with @sl, which came by port @in_port of the node (0: it begins there), out
 * of
 * @out. Below out->lane_cnt: one that carries data. LNK-12, LNK-22 */
#define VB_IB_NO_LANE 15u /* that of management */
uint8_t vb_ib_lane(const struct vb_ib_map *m, const struct vb_ib_map_port *out, uint8_t in_port,
		   uint8_t sl);

/* The fate of a packet with @key, which came by port @in_port of the node, on the link of its port
 * @out. VB_IB_PASSES: it is at the other end. */
struct vb_ib_branch vb_ib_cross(const struct vb_ib_map *m, const struct vb_ib_key *key,
				uint8_t in_port, uint32_t out);

/* Goes all ways of a packet with @key, whose DLID is a multicast LID. No port gets two copies. */
void vb_ib_walk_tree(const struct vb_ib_map *m, const struct vb_ib_key *key, struct vb_ib_tree *t);

/*
 * The route of @key among those of a process, which has counted what it sent by the one that had
 * the place before. Only that process calls it, one thread at a time.
 */
struct vb_ib_route *vb_ib_route_get(const struct vb_ib_map *m, struct vb_ib_routes *all,
				    const struct vb_ib_key *key);

/* The same of a multicast packet. */
struct vb_ib_tree *vb_ib_tree_get(const struct vb_ib_map *m, struct vb_ib_routes *all,
				  const struct vb_ib_key *key);

/* @packets with @words went by the route. The process of the route alone. */
static inline void vb_ib_route_count(struct vb_ib_routes *all, struct vb_ib_route *r,
				     uint64_t packets, uint64_t words)
{
	__atomic_store_n(&r->words, r->words + words, __ATOMIC_RELAXED);
	__atomic_store_n(&r->packets, r->packets + packets, __ATOMIC_RELEASE);
	__atomic_store_n(&all->is_dirty, 1, __ATOMIC_RELEASE);
}

static inline void vb_ib_tree_count(struct vb_ib_routes *all, struct vb_ib_tree *t,
				    uint64_t packets, uint64_t words)
{
	__atomic_store_n(&t->words, t->words + words, __ATOMIC_RELAXED);
	__atomic_store_n(&t->packets, t->packets + packets, __ATOMIC_RELEASE);
	__atomic_store_n(&all->is_dirty, 1, __ATOMIC_RELEASE);
}

/* Adds what a process has sent to the counters of the ports. @has_ended: it takes no lock any more.
 * False: the process has its lock and does not run; later, then. */
bool vb_ib_routes_add_up(const struct vb_ib_map *m, struct vb_ib_routes *all, bool has_ended);

#endif
