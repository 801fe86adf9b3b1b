/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router's hop: by which of its ports a packet with a GRH goes on into another subnet, and what
 * changes in its headers. Data of programs, management packets and simulated frames take the same
 * decision, each with the knowledge of ports that it has. The standard leaves open how routers tell
 * each other which subnets they lead to, and how they find the LID of a GID; here they see the
 * prefixes and LIDs that the subnet managers have set. IBA 4.1.1, 8.3, 19; items FAB-06, FAB-07,
 * LNK-06
 */
#ifndef VB_WIRE_IB_HOP_H
#define VB_WIRE_IB_HOP_H

#include "wire/path.h"

/* The prefix of subnets whose manager has set none. Routers forward no packet from or to it. */
#define VB_PREFIX_LINK_LOCAL UINT64_C(0xfe80000000000000)
/* The prefix of the first subnet, of several, where Verbena gives prefixes; the others count on.
 * They are site-local. IBA 4.1.1 */
#define VB_PREFIX_FIRST UINT64_C(0xfec0000000000001)
/* Subnets that a search for a way looks at. */
#define VB_HOP_SUBNETS_MAX 64u

/* A port of a router, as the manager of its subnet has set it. */
struct vb_router_port {
	uint64_t prefix; /* of its subnet */
	uint64_t guid;
	uint16_t lid;
	bool is_up; /* it has a LID, and its link carries data */
};

/* A port of a node, both by number. */
struct vb_router_at {
	uint32_t router;
	uint8_t port;
};

/* A router of another fabric: its ports that carry data, from number 1 on. */
struct vb_far_router {
	const struct vb_router_port *port;
	uint8_t port_cnt;
};

/* Other fabrics, to which tunnels lead. The answers may be others at each call. */
struct vb_far_routers {
	const void *ctx;
	/* The LID of the port there with this GID. 0: no port has it. */
	uint16_t (*lid_of)(const void *ctx, uint64_t prefix, uint64_t guid);
	const struct vb_far_router *router;
	uint32_t cnt;
};

/* All routers of a fabric. Their numbers are below @cnt, which counts other nodes as well; those of
 * other fabrics have numbers from @cnt on. */
struct vb_routers {
	const void *ctx; /* of the calls */
	uint32_t cnt;
	/* Ports of node @n, whose numbers are 1 and up; 0: it is no router. */
	uint8_t (*port_cnt)(const void *ctx, uint32_t n);
	struct vb_router_port (*port)(const void *ctx, struct vb_router_at at);
	/* The LID of the port with this GID. 0: no port has it. */
	uint16_t (*lid_of)(const void *ctx, uint64_t prefix, uint64_t guid);
	const struct vb_far_routers *far; /* NULL: there are none */
};

/* The facts of a packet that a router looks at. */
struct vb_hop_packet {
	bool has_grh;
	bool is_from_link_local; /* by its SGID */
	uint8_t hop_limit;
	uint64_t prefix, guid; /* of its DGID */
};

enum vb_hop_fate {
	VB_HOP_ON,       /* it goes on by @out */
	VB_HOP_HERE,     /* it is for the port @out->port of the router itself */
	VB_HOP_NO_GRH,   /* dropped, or for the router itself: nothing says where it goes */
	VB_HOP_ENDED,    /* dropped: its hop limit is 0 or 1 */
	VB_HOP_NO_ROUTE, /* dropped: for its own subnet, for one that is not known, for no port */
};

/* The link by which a packet goes on. */
struct vb_hop {
	uint8_t port;        /* of the router */
	uint16_t slid, dlid; /* of the new LRH */
};

/* The port of a router of this fabric or another one. */
struct vb_router_port vb_routers_port(const struct vb_routers *r, struct vb_router_at at);

/* The port of a router in subnet @from that leads to subnet @to over the fewest routers, the first
 * such. False: none leads there. */
bool vb_routers_find(const struct vb_routers *r, uint64_t from, uint64_t to,
		     struct vb_router_at *next);

/* The fate of a packet that has come to router @in->router by its port @in->port. */
enum vb_hop_fate vb_router_hop(const struct vb_routers *r, struct vb_router_at in,
			       const struct vb_hop_packet *p, struct vb_hop *out);

/* The headers behind @hops hops, of which @last was the last one. SL and all that the ICRC covers
 * stay; the VCRC is made anew with the packet, as on each link. LNK-08 */
static inline void vb_hop_pass(struct vb_path *p, const struct vb_hop *last, uint32_t hops)
{
	p->slid = last->slid;
	p->dlid = last->dlid;
	p->hop_limit = (uint8_t)(p->hop_limit - hops);
}

static inline uint64_t vb_gid_half(const uint8_t *b)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | b[i];
	return v;
}

/* The two halves of a GID. */
static inline uint64_t vb_gid_prefix(const struct vb_gid *g)
{
	return vb_gid_half(g->b);
}

static inline uint64_t vb_gid_guid(const struct vb_gid *g)
{
	return vb_gid_half(g->b + 8);
}

/* The facts of a packet with this path. */
static inline struct vb_hop_packet vb_hop_packet_of(const struct vb_path *p)
{
	return (struct vb_hop_packet){.has_grh = vb_path_has_grh(p),
				      .is_from_link_local =
					  vb_gid_prefix(&p->sgid) == VB_PREFIX_LINK_LOCAL,
				      .hop_limit = p->hop_limit,
				      .prefix = vb_gid_prefix(&p->dgid),
				      .guid = vb_gid_guid(&p->dgid)};
}

#endif
