/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why packets do not get from one node of an InfiniBand fabric to another: the way that a packet
 * took through the tables of switches, with the facts of each port on it, and the first cause that
 * breaks it, in words. The causes are the rows of path/cause.def. The fabric's process gathers the
 * facts (node/subnet/path/); nothing here looks anything up. IBA 7.2.7, 7.6, 10.9, 14.2.4, 18.2.4;
 * items LNK-12, LNK-22, LNK-29, LNK-30, FAB-01, FAB-02, FAB-06, FAB-16
 */
#ifndef VB_EXPLAIN_PATH_PATH_H
#define VB_EXPLAIN_PATH_PATH_H

#include "explain/explain.h"
#include "wire/mad/pma.h"

#define VB_PATH_NODE_LEN 72u /* a node's name with the byte that ends it */
#define VB_PATH_HOPS_MAX 64u /* links; a packet that goes around in a circle ends there */
#define VB_PATH_PKEYS 32u
#define VB_PATH_PROGRAMS 8u
#define VB_PATH_NO_PORT 255u      /* an entry of a forwarding table */
#define VB_PATH_MULTICAST 0xc000u /* the first multicast LID */

/* A port, as the subnet manager has set it and as it counts. Of switches the M_Key is that of port
 * 0. */
struct vb_path_port {
	char node[VB_PATH_NODE_LEN]; /* empty: there is no such port */
	uint32_t id;                 /* number among all ports of the fabric */
	uint8_t type;                /* of the node: enum vb_node_type */
	uint8_t number;
	uint8_t state, phys; /* enum vb_link_state, enum vb_phys_state */
	bool has_cable, is_plugged;
	bool is_away; /* its cable is a tunnel to another fabric */
	uint8_t lmc;
	uint16_t lid, sm_lid;
	uint8_t mtu;      /* NeighborMTU, code */
	uint8_t lane_cnt; /* operational data lanes */
	bool enforces_in, enforces_out;
	uint16_t pkey[VB_PATH_PKEYS];
	uint64_t counter[VB_PMA_COUNTERS]; /* as perfquery shows them; XmitWait in ticks */
	uint64_t not_routed, hops_ended;   /* of a router's port */
	uint16_t pkey_violations, qkey_violations;
	/* Its M_Key. */
	bool has_mkey;
	uint8_t mkey_protect;
	uint16_t mkey_lease;      /* seconds; 0: for ever */
	uint16_t mkey_violations; /* SMPs that were refused */
	vb_dur mkey_ends;         /* until the lease ends; VB_NEVER: it does not run */
	/* The last SMP that was refused, where a trap tells of it. */
	bool has_refused;
	uint8_t refused_method;
	uint16_t refused_attr;
};

/* A link on the way. */
struct vb_path_hop {
	struct vb_path_port out; /* by which it leaves... */
	struct vb_path_port in;  /* ... and the other end of the cable */
	uint8_t in_port;         /* number of the port by which it came to this node; 0: none */
	uint8_t vl;              /* of its SL, by the SL2VL map of the two ports */
	/* In real time, of that lane at @out: how many bytes wait, and for how long the first
	 * packet has had no credits, by the clock; 0: it has. */
	uint32_t waiting;
	vb_dur stalled;
};

/* The subnet manager, or what there is of one. */
struct vb_path_manager {
	/* The node whose port has the bit IsSM; empty: none has. */
	char node[VB_PATH_NODE_LEN];
	uint16_t refused; /* SMPs that this node itself refused for their M_Key */
};

/* Where a packet ended, as the walk through the tables says. */
enum vb_path_end {
	VB_PATH_ARRIVES,
	VB_PATH_NO_LID,    /* the receiver has none, or no router leads to it: nothing was sent */
	VB_PATH_ELSEWHERE, /* at @at: an adapter, or port 0 of a switch, with another LID */
	VB_PATH_NO_WAY,    /* the table of the switch at @at has none */
	VB_PATH_SENT_NOT,  /* hop[hop_cnt - 1].out: state, lane, MTU, too many links */
	VB_PATH_RECEIVED_NOT, /* hop[hop_cnt - 1].in: state */
	VB_PATH_BARRED_OUT,   /* hop[hop_cnt - 1].out: P_Key */
	VB_PATH_BARRED_IN,    /* hop[hop_cnt - 1].in: P_Key */
	VB_PATH_NOT_ROUTED,   /* by the router at @at */
	VB_PATH_HOPS_ENDED,   /* there: its hop limit */
	VB_PATH_NO_COPY,      /* of a multicast packet: the switch at @at makes none for the port
			       * hop[hop_cnt - 1].out */
	VB_PATH_NO_TREE,      /* no copies of it come to the switch of hop[hop_cnt - 1].out */
	VB_PATH_END_CNT
};

struct vb_path_program {
	uint32_t pid;
	char comm[16];
};

/* A question with its answer. Of another process: vb_path_heal() first. */
struct vb_path_view {
	char fabric[32];
	uint32_t real_time; /* links are slowed down so many times; 0: data takes no time */
	struct vb_path_port from, to;
	uint16_t slid, dlid, pkey; /* @dlid: behind the last router that it came to... */
	uint16_t slid_last;        /* ... and the SLID there */
	uint16_t dlid_sent;        /* the DLID that it was sent with; 0: it was not */
	uint8_t sl, mtu;           /* @mtu: code that the path has to have; 0: any */
	bool has_grh;
	uint8_t hop_limit;
	bool no_router;        /* none leads from the sender's subnet to the receiver's */
	uint64_t from_prefix;  /* of the sender's subnet */
	uint64_t prefix, guid; /* of its DGID */
	bool has_owner;    /* some port has the LID where it was to go, behind the last router */
	uint32_t end;      /* enum vb_path_end */
	uint8_t mtu_found; /* code: the least on the way */
	uint8_t entry;     /* NO_WAY: of the forwarding table at @at, VB_PATH_NO_PORT: none */
	uint8_t at_port_cnt;
	uint16_t at_top; /* ... and LinearFDBTop there */
	uint32_t hop_cnt, router_cnt;
	struct vb_path_hop hop[VB_PATH_HOPS_MAX + 1];
	struct vb_path_port at; /* where it ended */
	struct vb_path_manager manager;
	struct vb_path_program stopped[VB_PATH_PROGRAMS]; /* programs at the receiver's node */
	uint32_t stopped_cnt;
};

enum vb_path_cause {
#define CAUSE(id, word, brief, counters, what, advice) VB_PATH_CAUSE_##id,
#include "explain/path/cause.def"
#undef CAUSE
	VB_PATH_CAUSE_CNT
};
/* "init", "no-entry", ... */
const char *vb_path_cause_word(enum vb_path_cause cause);

/* Makes strings end and numbers stay in their ranges. */
void vb_path_heal(struct vb_path_view *v);
void vb_path_port_heal(struct vb_path_port *p);

struct vb_path_verdict {
	enum vb_path_cause cause;
	enum vb_explain_rank rank;
	/* The port that breaks the path, and the other end of its cable; a node that is empty:
	 * there is none. */
	struct vb_path_port at, far;
	uint8_t in_port, vl; /* of the link there */
	vb_dur stalled;      /* CREDITS */
};

/* The first cause that breaks the path, in the order of the way; or WELL, or AWAY. */
void vb_path_judge(const struct vb_path_view *v, struct vb_path_verdict *out);
/* The same of the tables and links alone: why the packet ends where it does, whatever its sender
 * and its receiver make of it. WELL: it arrives. */
void vb_path_judge_way(const struct vb_path_view *v, struct vb_path_verdict *out);
/* It gets to the port that it is for. */
static inline bool vb_path_arrives(const struct vb_path_view *v)
{
	return v->end == VB_PATH_ARRIVES && v->at.id == v->to.id;
}
/* The links that it passed: the last one of v->hop may be a link that it did not take. */
uint32_t vb_path_links(const struct vb_path_view *v);
/* Why the link of a port carries no data; WELL: it does. */
enum vb_path_cause vb_path_judge_link(const struct vb_path_port *p,
				      const struct vb_path_manager *manager);

/* The cause in words, the counters of its place, and what can be done. */
void vb_path_explain(const struct vb_path_view *v, struct vb_explanation *out);
/* Why it ends where it does, to go on behind this place: "its link is INIT". No line: it arrives.
 */
void vb_path_reason(const struct vb_path_view *v, struct vb_lines *out);
/* Appends it to an explanation of something else. */
void vb_path_say(const struct vb_path_view *v, const struct vb_path_verdict *is,
		 struct vb_explanation *out);
/* The same of a port by itself: its link, and the SMPs that its node refused. @far: the other end
 * of the cable. */
void vb_path_explain_port(const struct vb_path_port *p, const struct vb_path_port *far,
			  const char *fabric, const struct vb_path_manager *manager,
			  struct vb_explanation *out);

const char *vb_path_state(uint8_t state); /* "INIT" */

#endif
