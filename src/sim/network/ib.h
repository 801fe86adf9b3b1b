/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The properties of a simulated network of InfiniBand: lanes and their buffers, arbitration, and
 * how its switches find ways. Its hosts have the LIDs 1, 2 ... in their order; where routers join
 * several subnets each subnet has its own, and then those of its routers' ports.
 */
#ifndef VB_SIM_NETWORK_IB_H
#define VB_SIM_NETWORK_IB_H

#include "fabric/ib/arbiter.h"
#include "fabric/ib/node/deadlock.h"

/* How forwarding tables are filled. */
enum vb_sim_routing {
	VB_SIM_MIN_HOP, /* shortest ways, spread over ports; rings of links may deadlock */
	VB_SIM_UP_DOWN, /* no way goes up again once it went down, as seen from switch 0 */
	VB_SIM_LAYERS,  /* shortest ways; each gets a service level in which no ways form a ring */
};

#define VB_SIM_ANY_SL 0xffu
#define VB_SIM_PKEYS 8u   /* of a host */
#define VB_SIM_GROUPS 64u /* MLIDs from 0xC000 on */

/* Where ports of switches to hosts enforce the P_Keys of the host, as OpenSM's part_enforce. */
enum vb_sim_enforce {
	VB_SIM_ENFORCE_OFF,
	VB_SIM_ENFORCE_IN,
	VB_SIM_ENFORCE_OUT,
	VB_SIM_ENFORCE_BOTH,
};

/* Ways and lanes from outside, as a subnet manager has set them. Ports have their numbers in the
 * switch, from 0. Each array but the first may be NULL. */
struct vb_sim_ib_routes {
	const uint8_t *out; /* [switch * hosts + host]: port + 1, or VB_PORT_NONE */
	const uint8_t *sl;  /* [from * hosts + to]: VB_SIM_ANY_SL: the flow's own */
	const struct vb_sl2vl *const *sl2vl; /* of each switch: [input * ports + output] */
	const struct vb_sl2vl *host_sl2vl;   /* of each host */
	/* Multicast tables, [switch * VB_SIM_GROUPS + group], of the groups whose bit is set;
	 * others get trees of the simulator's. Port n is bit n + 1. */
	const struct vb_port_mask *mft;
	uint64_t mft_groups;
};

struct vb_sim_ib_config {
	bool is_used;
	/* [host * VB_SIM_PKEYS + i]: the tables of hosts, used while it is made; NULL: all are full
	 * members of the default partition. */
	const uint16_t *pkey;
	uint32_t enforce;                      /* enum vb_sim_enforce, with pkey */
	const struct vb_sim_ib_routes *routes; /* as long as the simulation; NULL: by routing */
	uint32_t routing;                      /* enum vb_sim_routing */
	uint8_t hop_limit;                     /* of packets into other subnets */
	struct vb_ib_congestion congestion;    /* threshold 0: there is none */
	struct vb_cct cct;                     /* with it: how hosts slow down */
	uint32_t lanes;                        /* data lanes of each link: 1, 2, 4, 8 or 15 */
	uint32_t lane_bytes;                   /* buffer of a lane at each input */
	uint32_t flow_loss_ppm; /* flow control packets that are lost, of a million */
	/* Packets that each switch damages inside, of a million: its VCRC is over the damage. */
	uint32_t damage_ppm;
	/* Switches begin to send a packet before they have all of it: a damaged one goes on, and
	 * ends as a bad one. Times are those of switches that have packets whole. */
	bool cut_through;
	uint8_t hoq_life;    /* of a switch's lane: 4.096 us * 2^n; above 19: no limit */
	uint8_t lifetime;    /* of a packet in a switch: the same. LNK-29 */
	uint8_t stall_count; /* packets dropped in a row that stall a lane; 0: none do */
	uint8_t high_limit;  /* of the high table, 4096 bytes each; 0: one packet */
	uint8_t weight[VB_ARB_PRIORITY_CNT][VB_VL_DATA_MAX]; /* by lane; all 0 of LOW: equal ones */
	uint8_t lane_of_sl[VB_SL_CNT];                       /* lane + 1; 0: sl % lanes */
};

/* Of an InfiniBand port. */
struct vb_sim_ib_stats {
	struct vb_ib_counters counters;
	uint64_t flow_sent;
	uint64_t marks; /* FECN; BECN that came, and where an index has been at most */
	uint64_t becns;
	uint64_t strays; /* BECN for QPs that did not take it, among the packets that came */
	uint32_t index_max;
	/* Of a port of a switch: packets that its P_Keys did not let in, or out; packets that came
	 * in by any port of the switch and had no way. */
	uint64_t rcv_constraint_errors, xmit_constraint_errors, relay_errors;
	uint64_t damaged; /* packets that the switch has damaged, whatever the port */
	/* Of a port of a router: its LID, else 0, and the prefix of its subnet; packets that came
	 * in there for another LID; without a GRH or a way; at the end of their hop limit. */
	uint16_t lid;
	uint64_t prefix;
	uint64_t misrouted, not_routed, hops_ended;
	uint32_t lane_cnt;
	uint32_t capacity; /* of a lane's buffer, blocks */
	struct vb_ib_lane_stats lane[VB_VL_DATA_MAX];
};

#endif
