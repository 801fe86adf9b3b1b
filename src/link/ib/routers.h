/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routers of a fabric as its map shows them (map.h), for the decision of wire/ib/hop.h. A LID
 * is looked for among all ports: senders come here only for a way that no route has yet, routers in
 * real time with each packet. FAB-06
 */
#ifndef VB_LINK_IB_ROUTERS_H
#define VB_LINK_IB_ROUTERS_H

#include "link/ib/map.h"
#include "wire/ib/hop.h"

/* All routers of the map, which is there as long as they are. */
struct vb_routers vb_ib_map_routers(const struct vb_ib_map *m);

/* The decision of the router, of @all, at whose port @in a packet with @key has arrived, which has
 * passed @passed routers. */
enum vb_hop_fate vb_ib_route_hop(const struct vb_ib_map *m, const struct vb_routers *all,
				 const struct vb_ib_key *key, uint32_t in, uint32_t passed,
				 struct vb_hop *out);

#endif
