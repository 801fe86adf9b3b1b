/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A subnet as its management sees it: nodes with their agents, ports joined by cables, and MADs
 * that go from node to node as the tables of the switches say, in no time. Each hop looks at the
 * states of the link and counts. It is a function of the MADs and the time: the holder of a subnet
 * hands it what programs send, takes what arrives for them, and passes the time. IBA 14.2, 18.2.4;
 * items FAB-01, FAB-04, FAB-09 to FAB-13, FAB-19, FAB-28, FAB-30, FAB-32 to FAB-38, FAB-50, LNK-22,
 * LNK-30 to LNK-33, LNK-38, LNK-39, MAD-22, FAB-08
 *
 * A router joins subnets, each with a manager of its own: MADs with a GRH pass it. FAB-06, FAB-07
 */
#ifndef VB_MGMT_SUBNET_H
#define VB_MGMT_SUBNET_H

#include "base/list.h"
#include "mgmt/cca.h"
#include "mgmt/device/device.h"
#include "mgmt/pma.h"
#include "mgmt/sma.h"
#include "mgmt/trap.h"
#include "wire/ib/hop.h"

#include <stddef.h>

#define VB_SUBNET_NODES_MAX 49151u
#define VB_SUBNET_PKEYS 32u
#define VB_SUBNET_GUIDS 8u
#define VB_SUBNET_LIDS 49152u      /* entries of a forwarding table */
#define VB_SUBNET_MULTICASTS 1024u /* entries of a multicast table */
#define VB_CAP_IS_SM (1u << 1)
#define VB_CAP_IS_TRAP (1u << 3)
#define VB_CAP_DEVICE_MGMT (1u << 19)

struct vb_subnet_place {
	uint32_t node;
	uint8_t port; /* of a switch 0 */
};

struct vb_subnet_port {
	struct vb_ib_port link;
	struct vb_subnet_place peer; /* at the other end of the cable */
	bool has_cable;
	bool is_plugged; /* the cable carries a signal */
	/* The other end is in another subnet machine: @peer is the port itself. @far is that end's
	 * word about itself; @falls counts how often the link went down by what happened here. */
	bool is_away;
	struct vb_subnet_far {
		bool is_there;   /* it wants a link, and knows of the last fall here */
		uint16_t speeds; /* that it has enabled: bits of enum vb_ib_speed... */
		uint8_t widths;  /* ... and of enum vb_ib_width */
	} far;
	uint32_t falls;
	uint16_t speed; /* enum vb_ib_speed, of the cable */
	uint8_t width;  /* enum vb_ib_width, of the cable */
	/* Errors of the link that traps have told of. FAB-33 */
	uint64_t told_integrity, told_overruns, told_silences;
	/* Of a router: packets that it dropped which came by this port, for no MAD tells of them:
	 * without a GRH or a way to their DGID, and at the end of their hop limit. FAB-06 */
	uint64_t not_routed, hops_ended;
};

struct vb_subnet_node {
	struct vb_sma_node sma;
	struct vb_lid_forward forward; /* of switches */
	struct vb_subnet_port *port;   /* by number; the first one is not used */
	struct vb_pma_node pma;
	struct vb_cca_node cca;
	struct vb_device_node device;
	struct vb_traps traps;
	struct vb_list waits;   /* among those with a deadline */
	struct vb_list changed; /* among those that vb_subnet_poll_change() tells of */
	uint32_t changes;       /* enum vb_sma_change, of all ports */
};

struct vb_subnet_mad;

struct vb_subnet {
	struct vb_subnet_node *node;
	uint32_t node_cnt, node_cap;
	struct vb_list waits, changed;
	vb_time due;                            /* of the first of those that wait, or before */
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory, or NULL */
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
	/* Brings the counters of the ports of @node up to date, where other packets than MADs go
	 * through the subnet. NULL: none do. */
	void (*count)(void *ctx, uint32_t node);
	void *count_ctx;
	/* A MAD has left by port @out, whose cable leads away. NULL: no cable does. */
	void (*leave)(void *ctx, struct vb_subnet_place out, const struct vb_subnet_mad *m);
	const struct vb_far_routers *far; /* ports that are away. NULL: no cable leads there */
	void *away_ctx;
	/* A MAD, as it is on the link, has left by port @out, and has come to port @in. Either is
	 * NULL: it was not seen there. NULL: nobody looks. */
	void (*seen)(void *ctx, const struct vb_subnet_place *out, const struct vb_subnet_place *in,
		     const struct vb_subnet_mad *m);
	void *seen_ctx;
};

/* The description of a node; names and GUIDs are the caller's to keep unique. */
struct vb_subnet_node_config {
	uint8_t type; /* enum vb_node_type */
	uint8_t port_cnt;
	uint64_t node_guid, system_guid;
	const uint64_t *port_guid; /* by port: that of 0 of a switch, of others those from 1 on */
	uint32_t vendor_id;
	uint16_t device_id;
	bool enhanced_port0; /* of a switch: port 0 has an LMC. FAB-05 */
	/* Of a target channel adapter: its controllers, which stay as they are as long as the
	 * subnet is open. NULL: it has none, and no device management agent. FAB-08 */
	const struct vb_topo_ioc *ioc;
	const char *description;
};

/* A MAD under way, or at the place where it arrived. */
struct vb_subnet_mad {
	uint8_t mad[VB_MAD_LEN];
	struct vb_subnet_place at; /* its sender, then its receiver */
	bool on_qp0;
	bool has_grh;
	/* On a link: its lane there, and that it is on the directed part of its route, so that its
	 * LRH has no LIDs. */
	bool by_path;
	uint8_t vl;
	uint8_t hops;          /* tunnels that it has passed */
	uint8_t sl, path_bits; /* path_bits: of the sender's LID, then of the receiver's */
	uint16_t slid, dlid;
	uint32_t src_qp, dst_qp, qkey;
	uint16_t pkey;
	uint8_t sgid[16], dgid[16];
	uint8_t hop_limit, traffic_class;
	uint32_t flow_label;
};

/* Room for @cap nodes. -ENOMEM. */
int vb_subnet_open(struct vb_subnet *s, uint32_t cap);
void vb_subnet_close(struct vb_subnet *s);

/* Adds a node; its links are down. Returns its number, or a negative errno. */
int vb_subnet_add(struct vb_subnet *s, const struct vb_subnet_node_config *c);

/* Puts a cable between two ports that have none, and the links train. */
int vb_subnet_join(struct vb_subnet *s, struct vb_subnet_place a, struct vb_subnet_place b,
		   uint16_t speed, uint8_t width, vb_time now);

/* Pulls the cable of @at, or puts it back. -ENOENT: the port has none. */
int vb_subnet_plug(struct vb_subnet *s, struct vb_subnet_place at, bool plugged, vb_time now);

/* The best that the cable of @at does from now on; the links train again. The support that the
 * ports report stays, so that one sees what they could do. A 0 leaves it as it is. -ENOENT: the
 * port has no cable. LNK-35 */
struct vb_subnet_limits {
	uint16_t speed; /* enum vb_ib_speed */
	uint8_t width;  /* enum vb_ib_width */
};
int vb_subnet_limit(struct vb_subnet *s, struct vb_subnet_place at,
		    const struct vb_subnet_limits *l, vb_time now);

/* A subnet manager is at the port, or has gone: the IsSM bit, and trap 144. MAD-17, FAB-34 */
void vb_subnet_set_manager(struct vb_subnet *s, struct vb_subnet_place at, bool is_manager,
			   vb_time now);

/* Somebody at the node, and no manager, changes its description (up to VB_SMA_NODE_DESC_LEN bytes),
 * its SystemImageGUID, or the speeds (all up to l->speed) and widths that a port has enabled; its
 * link trains again then. Trap 144 or 145. -ENOENT: the port has no cable, -EOPNOTSUPP: it does not
 * support that. FAB-19, FAB-34 */
void vb_subnet_set_description(struct vb_subnet *s, uint32_t node, const char *text, vb_time now);
void vb_subnet_set_system_guid(struct vb_subnet *s, uint32_t node, uint64_t guid, vb_time now);
int vb_subnet_enable(struct vb_subnet *s, struct vb_subnet_place at,
		     const struct vb_subnet_limits *l, vb_time now);

/* The port heard no flow control packets for too long: its link recovers, and trap 131.
 * -ENETDOWN: it is not active. LNK-20, FAB-33 */
int vb_subnet_flow_silence(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);

/* Carries the MAD from m->at to where it is received. False: it was lost on the way. */
bool vb_subnet_carry(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now);

/* Carries the MAD, lets the agents of nodes answer, and carries the answer back. True: @m is at a
 * place whose programs it is for. */
bool vb_subnet_send(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now);

/* The same for a MAD that comes in by port m->at, whose cable leads away. */
bool vb_subnet_receive(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now);

/* Puts the end of a cable that leads away into a port that has none, -EBUSY; or takes it out. */
int vb_subnet_join_away(struct vb_subnet *s, struct vb_subnet_place at, uint16_t speed,
			uint8_t width, vb_time now);
void vb_subnet_part_away(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);
/* The port's word for the other end. @is_there: it wants a link, or has one. */
struct vb_subnet_far vb_subnet_near_end(struct vb_subnet *s, struct vb_subnet_place at);
/* The other end says this of itself; @restarted: and its link went down meanwhile. The link here
 * goes down, or comes up. */
void vb_subnet_far_end(struct vb_subnet *s, struct vb_subnet_place at,
		       const struct vb_subnet_far *far, bool restarted, vb_time now);

/* packet.c: a MAD as bytes of a link, LRH through VCRC. Returns their number, up to
 * VB_SUBNET_PACKET_MAX. FAB-12, LNK-13 */
#define VB_SUBNET_PACKET_MAX (VB_SMP_LEN + VB_GRH_LEN)
uint32_t vb_subnet_mad_emit(const struct vb_subnet_mad *m, uint8_t out[VB_SUBNET_PACKET_MAX]);
/* Reads it; the place and the hops are the caller's. -EBADMSG: it is no management packet, or one
 * that may not travel on its lane. */
int vb_subnet_mad_parse(struct vb_subnet_mad *m, const uint8_t *in, uint32_t len);

/* A packet whose key somebody did not take: trap VB_TRAP_PKEY, VB_TRAP_QKEY or VB_TRAP_SWITCH_PKEY
 * of the node at @at, which has counted it. FAB-36 */
struct vb_subnet_bad_key {
	uint16_t slid, dlid;
	uint32_t key;
	uint8_t sl;
	bool has_qps, has_grh; /* that is known */
	uint32_t src_qp, dst_qp;
	uint8_t sgid[16], dgid[16];
};
void vb_subnet_bad_key(struct vb_subnet *s, struct vb_subnet_place at, uint16_t trap,
		       const struct vb_subnet_bad_key *k, vb_time now);

/* The port has counted an error beyond its threshold: @trap is VB_TRAP_LINK_INTEGRITY or
 * VB_TRAP_BUFFER_OVERRUN, which a threshold of 0 turns off. FAB-33 */
void vb_subnet_link_error(struct vb_subnet *s, struct vb_subnet_place at, uint16_t trap,
			  vb_time now);

/* Tells by traps what the data path of the port has counted since the last call: errors beyond its
 * thresholds, and a neighbour that was silent for too long. FAB-33 */
void vb_subnet_tell_errors(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);

/* Makes the answer of a MAD that no program at its receiver takes: that of the node's baseboard
 * management agent, or that its class or attribute is not there. False: there is none. MAD-08,
 * FAB-49 */
bool vb_subnet_refuse(struct vb_subnet *s, struct vb_subnet_mad *m);

/* A trap that a node sends now. */
bool vb_subnet_poll_trap(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now);

/* A node with changes that its owner has to hear of; they are taken. FAB-23 */
bool vb_subnet_poll_change(struct vb_subnet *s, uint32_t *node, uint32_t *changes);

/* When vb_subnet_handle_timeout() is to be called, and all traps be taken after it. */
vb_time vb_subnet_poll_timeout(const struct vb_subnet *s);
void vb_subnet_handle_timeout(struct vb_subnet *s, vb_time now);

static inline struct vb_sma_port *vb_subnet_sma_port(struct vb_subnet *s, struct vb_subnet_place at)
{
	return &s->node[at.node].sma.port[at.port];
}

#endif
