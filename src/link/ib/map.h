/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of an InfiniBand fabric, in memory that the fabric's process shares with the programs at
 * its nodes: nodes, ports, cables, LIDs and tables as the subnet manager has set them, by which a
 * sender finds the way of its packets itself. The process writes it, under a generation that is odd
 * meanwhile; programs read it.
 *
 * Behind it lies what programs write: the routes that each of them has found, with the packets that
 * it has sent by them, and the counters of ports that come of that. A sender adds to its own route
 * alone; the counters of the ports on the way are added up when somebody wants to know them. A port
 * is named by its number in the map. IBA 16.1.3.5, 18.2.4
 */
#ifndef VB_LINK_IB_MAP_H
#define VB_LINK_IB_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_IB_MAP_MAGIC 0x56424942u
#define VB_IB_MAP_VERSION 4u
#define VB_IB_PKEYS 32u
#define VB_IB_GUIDS 8u
#define VB_IB_LIDS 49152u      /* unicast LIDs: entries of a forwarding table */
#define VB_IB_MULTICASTS 1024u /* entries of a multicast table, from LID 0xC000 on */
#define VB_IB_MASK_WORDS 16u   /* of an entry: port @p is bit @p % 16 of word @p / 16 */
#define VB_IB_HOPS_MAX 64u     /* a packet that goes around in a circle ends there; LNK-29 */
#define VB_IB_SLS 16u
#define VB_IB_SLOTS 256u         /* of processes: the first ones of base/slot.h... */
#define VB_IB_SLOT_LAST 254u     /* ... up to this one */
#define VB_IB_CARRIER 1u         /* the slot of the fabric's process where it carries packets */
#define VB_IB_ROUTES 512u        /* that a process remembers: a power of two */
#define VB_IB_TREES 8u           /* of multicast, that a process remembers: a power of two */
#define VB_IB_BRANCHES 4096u     /* links of a tree: beyond them nothing is copied */
#define VB_IB_NOWHERE UINT32_MAX /* no port, no node */
#define VB_IB_PORT_NONE 255u     /* entry of a forwarding table */

struct vb_ib_map_node {
	uint32_t first_port; /* number of port 0; the others follow */
	uint32_t lft;        /* of a switch: place of its forwarding tables among them */
	uint16_t unicast_top, multicast_top;        /* the latter 0: all entries count */
	uint8_t multicast_primary, multicast_other; /* ports of groups without an entry; FAB-02 */
	uint8_t port_cnt;                           /* without port 0 */
	uint8_t is_switch;
	uint8_t is_router;
	uint8_t rsv[3];
};

struct vb_ib_map_port {
	uint32_t node;
	uint32_t peer;  /* at the other end of its cable; VB_IB_NOWHERE: no cable */
	uint32_t sl2vl; /* place of the first of its maps: a switch has one for each input port */
	uint16_t lid;   /* 0: none yet */
	uint8_t lmc, number;
	uint8_t may_send, may_receive; /* data, in the state that the link has */
	uint8_t mtu;                   /* NeighborMTU, code */
	uint8_t lane_cnt;              /* data lanes */
	uint8_t enforces_in, enforces_out;
	uint8_t rsv[2];
	uint16_t pkey[VB_IB_PKEYS];
	uint64_t prefix;            /* of its GIDs */
	uint64_t guid[VB_IB_GUIDS]; /* 0: none; a port of a switch but 0 has none at all */
};

struct vb_ib_map_lanes {
	uint8_t vl[VB_IB_SLS];
};

/* Ports to which packets with a multicast LID are copied. */
struct vb_ib_map_mask {
	uint16_t word[VB_IB_MASK_WORDS];
};

/* The counts that the data of programs adds to the counters of a port. */
struct vb_ib_map_counters {
	uint64_t xmit_data, rcv_data, xmit_packets, rcv_packets; /* words and packets */
	uint64_t xmit_discards, rcv_discards, relay_errors;
	uint64_t xmit_constraint, rcv_constraint; /* P_Keys at switches */
	uint64_t multicast_xmit, multicast_rcv;   /* of the packets */
	uint64_t barred;                          /* the last one of those: vb_ib_barred() */
	uint64_t not_routed, hops_ended;          /* at the port of a router. FAB-06 */
	uint64_t rsv[2];
};

/* The key that tells one route from another. */
struct vb_ib_key {
	uint32_t port; /* the sender's */
	uint16_t dlid, pkey;
	uint8_t sl;
	uint8_t mtu; /* code: the least one that the payload fits; 0: any does */
	uint8_t hop_limit;
	uint8_t is_from_link_local; /* by its SGID */
	uint8_t rsv[4];
	uint64_t prefix, guid; /* of its DGID; 0: it has no GRH, or is for a group */
};

/* SLID, DLID, P_Key and SL in one word, which is written at once. */
static inline uint64_t vb_ib_barred(uint16_t slid, uint16_t dlid, uint16_t pkey, uint8_t sl)
{
	return (uint64_t)slid << 48 | (uint64_t)dlid << 32 | (uint64_t)pkey << 16 | sl;
}

/* The fate of a packet, and the port that counts it. */
enum vb_ib_fate {
	VB_IB_ARRIVES, /* at @at */
	VB_IB_LOST,    /* nobody counts it: it came to an adapter, or to port 0, with another LID */
	VB_IB_NO_WAY,  /* the tables of the switch have none: relay_errors of @at */
	VB_IB_SENT_NOT,     /* state, lane, MTU, lifetime: xmit_discards of @at */
	VB_IB_RECEIVED_NOT, /* state: rcv_discards of @at */
	VB_IB_BARRED_OUT,   /* P_Key: xmit_constraint of @at */
	VB_IB_BARRED_IN,    /* P_Key: rcv_constraint of @at */
	VB_IB_NOT_ROUTED,   /* no GRH, or a DGID that leads nowhere: not_routed of @at */
	VB_IB_HOPS_ENDED,   /* hop limit: hops_ended of @at */
	VB_IB_PASSES,       /* a switch or a router sends it on */
};

struct vb_ib_hop {
	uint32_t out; /* the port it leaves... */
	uint32_t in;  /* ... and the one that receives it; VB_IB_NOWHERE: that did not */
	/* On that link: LIDs that a router gave it, 0: it has its own; the lane; routers that it
	 * has passed. */
	uint16_t slid, dlid;
	uint8_t vl, routers;
	uint8_t rsv[2];
};

struct vb_ib_route {
	struct vb_ib_key key;
	uint32_t generation; /* of the map; odd: the entry is not in use */
	uint32_t hop_cnt;
	uint32_t fate; /* enum vb_ib_fate */
	uint32_t at;
	uint32_t mtu;        /* code, the least on the way */
	uint32_t router_cnt; /* that it passes... */
	uint16_t slid, dlid; /* ... and the LIDs behind the last one */
	uint32_t rsv;
	struct vb_ib_hop hop[VB_IB_HOPS_MAX];
	/* Sent by it, counted by the sender alone, and what of that is in the counters of ports. */
	uint64_t packets, words;
	uint64_t taken_packets, taken_words; /* under the lock */
};

/* A copy of a multicast packet, over one link. */
struct vb_ib_branch {
	struct vb_ib_hop hop; /* out is VB_IB_NOWHERE: it did not leave */
	uint32_t fate, at;
};

/* The ways of the copies of a packet, in the order in which switches make them. */
struct vb_ib_tree {
	struct vb_ib_key key; /* zero: the entry is not in use */
	uint32_t generation;
	uint32_t branch_cnt;
	struct vb_ib_branch branch[VB_IB_BRANCHES];
	uint64_t packets, words; /* as those of a route */
	uint64_t taken_packets, taken_words;
};

/* The routes of a process. Its lock is held while an entry becomes another one or is added up. */
struct vb_ib_routes {
	uint32_t lock;
	uint32_t is_dirty; /* packets were counted since somebody added up */
	uint32_t node;     /* that the process is at; VB_IB_NOWHERE: the slot is free */
	uint32_t rsv[13];
	uint64_t
	    group[VB_IB_MULTICASTS / 64]; /* a bit for each multicast LID that its QPs listen to */
	struct vb_ib_route route[VB_IB_ROUTES];
	struct vb_ib_tree tree[VB_IB_TREES];
};

/* Places are bytes from the beginning. */
struct vb_ib_map {
	uint32_t magic, version;
	uint64_t size, shared_at; /* in all; the part that programs write begins there */
	uint32_t generation;
	uint32_t node_cnt, port_cnt, lft_cnt, lanes_cnt;
	/* Not 0: in real time. The process with this slot carries all packets, and senders look for
	 * no ways. */
	uint8_t carrier;
	uint8_t rsv[3];
	uint64_t nodes_at, ports_at, lanes_at, lfts_at, mfts_at, counters_at, routes_at;
};

/* The size that each part needs; @page: of memory. Fills in all but the generation. */
void vb_ib_map_lay_out(struct vb_ib_map *m, uint32_t node_cnt, uint32_t port_cnt, uint32_t lft_cnt,
		       uint32_t lanes_cnt, uint64_t page);
/* True: the parts of @m, of @size bytes, lie where vb_ib_map_lay_out() puts them. */
bool vb_ib_map_is_whole(const struct vb_ib_map *m, uint64_t size, uint64_t page);

static inline void *vb_ib_map_part(const struct vb_ib_map *m, uint64_t at)
{
	return (void *)((uintptr_t)m + at);
}

static inline struct vb_ib_map_node *vb_ib_map_nodes(const struct vb_ib_map *m)
{
	return vb_ib_map_part(m, m->nodes_at);
}

static inline struct vb_ib_map_port *vb_ib_map_ports(const struct vb_ib_map *m)
{
	return vb_ib_map_part(m, m->ports_at);
}

static inline struct vb_ib_map_lanes *vb_ib_map_lanes(const struct vb_ib_map *m)
{
	return vb_ib_map_part(m, m->lanes_at);
}

static inline uint8_t *vb_ib_map_lft(const struct vb_ib_map *m, uint32_t i)
{
	return (uint8_t *)vb_ib_map_part(m, m->lfts_at) + (size_t)i * VB_IB_LIDS;
}

static inline struct vb_ib_map_mask *vb_ib_map_mft(const struct vb_ib_map *m, uint32_t i)
{
	return (struct vb_ib_map_mask *)vb_ib_map_part(m, m->mfts_at) +
	       (size_t)i * VB_IB_MULTICASTS;
}

static inline struct vb_ib_map_counters *vb_ib_map_counters(const struct vb_ib_map *m)
{
	return vb_ib_map_part(m, m->counters_at);
}

static inline struct vb_ib_routes *vb_ib_map_routes(const struct vb_ib_map *m, uint32_t slot)
{
	return (struct vb_ib_routes *)vb_ib_map_part(m, m->routes_at) + slot;
}

#endif
