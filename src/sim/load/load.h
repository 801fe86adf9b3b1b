/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work for the hosts of a simulation: flows of SEND, WRITE, READ or atomics between pairs of hosts,
 * posted through the verbs as a program would, and what became of each.
 *
 * A flow is a number of bytes in messages, of which a few are outstanding at a time. It runs on an
 * RC (or UC) connection of its own; connections that have become idle are used again. A flow to a
 * multicast group is of datagrams, whatever the others are.
 */
#ifndef VB_SIM_LOAD_LOAD_H
#define VB_SIM_LOAD_LOAD_H

#include "sim/load/draw.h"
#include "sim/load/graph/collective/collective.h"
#include "sim/load/nic/nic.h"
#include "sim/sim.h"

enum vb_load_op { VB_LOAD_SEND, VB_LOAD_WRITE, VB_LOAD_READ, VB_LOAD_ATOMIC, VB_LOAD_OP_CNT };

enum vb_load_shape {
	VB_LOAD_SINGLE,      /* one flow, src to dst */
	VB_LOAD_INCAST,      /* the hosts behind dst, flows of them, to dst at once */
	VB_LOAD_PERMUTATION, /* each host sends to one, each receives from one */
	VB_LOAD_ALL_TO_ALL,  /* each host sends to each other */
	VB_LOAD_POISSON,     /* flows arrive at random between random hosts */
	VB_LOAD_PING_PONG,   /* flows messages to and fro between src and dst */
	VB_LOAD_MULTICAST,   /* flows members of group, from src on, send to it */
	VB_LOAD_LIST,        /* flows that a list has, one after the other */
	VB_LOAD_COLLECTIVE,  /* a collective of bytes between the hosts */
	VB_LOAD_GRAPH,       /* a graph of messages and computation */
	VB_LOAD_SHAPE_CNT
};

#define VB_LOAD_PATTERNS_MAX 64u  /* of one load */
#define VB_LOAD_OWN_CLASS 0x100u  /* the lower 8 bits are a traffic class */
#define VB_LOAD_GROUP 0x80000000u /* in vb_flow.dst: the lower bits are a group */

/* A flow of a list, not to a group. */
struct vb_load_item {
	uint32_t src, dst; /* hosts, or with VB_LOAD_NIC NICs */
	uint64_t bytes;
	vb_time start;          /* from that of the pattern on; not before the item before it */
	uint16_t traffic_class; /* with VB_LOAD_OWN_CLASS; 0: that of the pattern */
	uint8_t op;             /* VB_LOAD_OP_CNT: drawn from the mix */
};

/* A list is asked for its next item when the one before it has begun. 1, 0: there are no more, or
 * a negative errno, which ends the pattern as a failure of the load. */
struct vb_load_list {
	int (*next)(void *ctx, struct vb_load_item *item);
	void *ctx;
};

struct vb_load_pattern {
	enum vb_load_shape shape;
	uint32_t hosts;    /* the first so many; 0: all */
	uint32_t src, dst; /* hosts, or with VB_LOAD_NIC NICs */
	/* INCAST and MULTICAST senders, POISSON arrivals, PING_PONG messages. */
	uint32_t flows;
	uint32_t group;                   /* MULTICAST: in the order of vb_load_add_group() */
	uint64_t bytes;                   /* of a flow */
	const struct vb_size_dist *sizes; /* POISSON: instead of bytes; NULL: bytes */
	uint32_t load_ppm;                /* POISSON: share of every host's cable that flows fill */
	/* POISSON: mean times for which a host begins flows, in turn with times for which it does
	 * not; the load is the mean over both. 0, 0: always. */
	vb_dur on, off;
	uint32_t mix[VB_LOAD_OP_CNT]; /* weights of the operations; all 0: WRITE */
	uint32_t parallel;            /* ALL_TO_ALL: flows of one host at a time; 0: all at once */
	uint16_t traffic_class; /* of its flows, with VB_LOAD_OWN_CLASS; 0: that of the load */
	vb_time start;
	const struct vb_load_list *list; /* LIST: to stay while the load does */
	/* Each flow has a connection that no other one has had or will have; else flows take idle
	 * ones, and flows of a graph from one host to another share one. */
	bool new_connections;
	/* COLLECTIVE: kind, algorithm and what these take; ranks, bytes and seed come from the
	 * pattern and the simulation. */
	struct vb_collective collective;
	const struct vb_graph *graph; /* GRAPH: to stay while the load does; its ranks are hosts */
	/* COLLECTIVE and GRAPH: so often (0: once), and the time from the end of one to the begin
	 * of the next. */
	uint32_t iterations;
	vb_dur pause;
};

/* An iteration of a graph. */
struct vb_load_lap {
	vb_time begin;
	vb_time end; /* when all operations have ended: sends with their completions */
};

struct vb_load_config {
	/* Flows that have a record at once. Those of lists give theirs to new ones when they are
	 * over; the others keep them. */
	uint32_t flows_max, connections_max;
	uint32_t message_bytes; /* at most so many in one work request; > 0 */
	uint32_t depth;         /* work requests outstanding per flow, 1...1024 */
	enum vb_qp_type type; /* RC, XRC_INI, DCI; UC, without READs and atomics; UD, with SENDs of
				 a packet each */
	enum vb_mtu mtu;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic;
	uint8_t traffic_class;
	vb_dur receive_delay; /* from a message's arrival until its receive is posted again */
	/* Where hosts have several NICs, to stay while the load does; NULL: a host of the
	 * simulation is one. */
	const struct vb_nics *nics;
};

/* A multicast group, whose members receive: each host that is listed, as often as it is. */
struct vb_load_group_config {
	const uint32_t *member; /* hosts; NULL: all */
	uint32_t member_cnt;
	uint16_t pkey; /* InfiniBand: its partition, 0: the default one; all members are in it */
};

/* Counts of the messages of a group. */
struct vb_load_group_stats {
	uint32_t members;
	uint64_t sent;          /* messages */
	uint64_t due, received; /* by all members: due is sent times members */
};

struct vb_flow {
	uint32_t src, dst; /* hosts of the simulation; dst: or VB_LOAD_GROUP and a group */
	uint64_t bytes;
	vb_time start;
	vb_time delivered; /* SEND: all of it has arrived, at each member; else VB_NEVER */
	vb_time done;      /* the last work request completed; VB_NEVER: not yet */
	uint32_t posted, completed, received; /* messages; received: by all members together */
	uint32_t connection;                  /* index; UINT32_MAX: none */
	/* LIST and graphs: when it is over, the next one that is. Of graphs before that: the
	 * operation. */
	uint32_t step;
	uint32_t next;    /* behind it on a connection that flows share; UINT32_MAX: none is */
	uint32_t next_in; /* the same at the receiving end, which learns of it later */
	uint32_t base;    /* messages of its connection before its first one: slots go round */
	uint32_t number;  /* in the order in which they began to be */
	uint16_t pattern;
	uint16_t traffic_class; /* LIST: its own, with VB_LOAD_OWN_CLASS; 0: the pattern's */
	uint8_t op;
	uint8_t status; /* enum vb_wc_status of the first that failed */
	uint8_t seen;   /* enum vb_load_note_kind that have been taken: of load/cores/note.h */
};

struct vb_load;

int vb_load_create(struct vb_load **out, struct vb_sim *sim, const struct vb_load_config *cfg,
		   const struct vb_sim_memory *memory);
/* To be called before the simulation is destroyed. */
void vb_load_destroy(struct vb_load *l);

/* The setting that does not fit @hosts hosts, as "... takes 2 hosts ..."; NULL: none. */
const char *vb_load_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
			  uint32_t hosts);

/* The property of a load, or of a pattern @p of it (NULL: of none), that keeps a simulation in one
 * part, as "has flows that ..."; @data: payloads have bytes; @lookahead: as of
 * vb_sim_lookahead(), 0 as long as nothing is known. NULL: there is none, it can be run in several.
 */
const char *vb_load_parts_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
				bool data, vb_dur lookahead);

/* The same of a group that a pattern names, "has group 3: there are 2"; NULL: nothing, or it names
 * none. */
const char *vb_load_group_wrong(const struct vb_load *l, const struct vb_load_pattern *p);

/* Adds a group; they are numbered as they come. -EINVAL: a member is no host or not in the
 * partition, there are VB_SIM_GROUPS already, or the simulation is in parts; -ENOMEM. */
int vb_load_add_group(struct vb_load *l, const struct vb_load_group_config *c);
uint32_t vb_load_group_cnt(const struct vb_load *l);
void vb_load_group_stats(const struct vb_load *l, uint32_t group, struct vb_load_group_stats *st);
/* The host of a member. */
uint32_t vb_load_group_member(const struct vb_load *l, uint32_t group, uint32_t member);

/* Adds a pattern. -EINVAL: vb_load_wrong(), vb_load_group_wrong(), or in a simulation in parts
 * vb_load_parts_wrong(); -ENOMEM: more flows than
 * flows_max. */
int vb_load_add(struct vb_load *l, const struct vb_load_pattern *p);
static inline bool vb_flow_is_to_group(const struct vb_flow *f)
{
	return f->dst & VB_LOAD_GROUP;
}

/* Of the pattern number @pattern, in the order in which they were added, which is a COLLECTIVE or a
 * GRAPH: its graph; NULL: it is neither. */
const struct vb_graph *vb_load_graph(const struct vb_load *l, uint32_t pattern);
/* The same: the iterations that are over, *cnt of them, the sizes and kinds of a COLLECTIVE (NULL
 * of a GRAPH), and the bytes that the receives of a host have taken in all. */
const struct vb_load_lap *vb_load_laps(const struct vb_load *l, uint32_t pattern, uint32_t *cnt);
const struct vb_collective *vb_load_collective(const struct vb_load *l, uint32_t pattern);
uint64_t vb_load_graph_received(const struct vb_load *l, uint32_t pattern, uint32_t host);
/* ... the iterations that it is to have. */
uint32_t vb_load_iterations(const struct vb_load *l, uint32_t pattern);
uint32_t vb_load_pattern_cnt(const struct vb_load *l);

/* Adds one flow, not to a group; @src and @dst are as in a pattern. */
int vb_load_add_flow(struct vb_load *l, uint32_t src, uint32_t dst, enum vb_load_op op,
		     uint64_t bytes, vb_time start);

/* 0, or why no more flows could be started: -ENOMEM, a limit was reached. */
int vb_load_failure(const struct vb_load *l);

/* Flows that have a record, those that have given it away, and the record of one. */
uint32_t vb_load_flow_cnt(const struct vb_load *l);
uint64_t vb_load_past_cnt(const struct vb_load *l);
const struct vb_flow *vb_load_flow(const struct vb_load *l, uint32_t i);
/* Is told of each flow that is over and gives its record away. */
void vb_load_watch_past(struct vb_load *l, void (*fn)(void *ctx, const struct vb_flow *f),
			void *ctx);
/* Bytes of @f, which has not failed, that have completed or, in packets of RC, were acknowledged.
 */
uint64_t vb_load_flow_completed(const struct vb_load *l, const struct vb_flow *f);
/* Messages whose bytes were not those that were sent; 0, or something is badly wrong. */
uint64_t vb_load_damaged(const struct vb_load *l);
uint32_t vb_load_mtu_bytes(const struct vb_load *l);

/* Connections that exist; their number only grows. */
uint32_t vb_load_connection_cnt(const struct vb_load *l);
/* Host and QPN of an end of one; @side 0 posts the work of its flows. A group is host UINT32_MAX,
 * QPN VB_QPN_MULTICAST. */
void vb_load_end(const struct vb_load *l, uint32_t connection, int side, uint32_t *host,
		 uint32_t *qpn);

/* The flow that runs on it; UINT32_MAX: none does. */
uint32_t vb_load_connection_flow(const struct vb_load *l, uint32_t connection);

#endif
