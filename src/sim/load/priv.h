/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the load: patterns (pattern.c), flows (flow.c), their messages (load.c),
 * connections (connect.c) and multicast groups (group.c). */
#ifndef VB_SIM_LOAD_PRIV_H
#define VB_SIM_LOAD_PRIV_H

#include "sim/eventq.h"
#include "sim/load/cores/note.h"
#include "sim/load/load.h"

#define VB_LOAD_NONE UINT32_MAX
#define VB_LOAD_QKEY 0x11111111u      /* of datagrams */
#define VB_LOAD_DC_KEY UINT64_C(0x5d) /* of DC targets */
#define VB_LOAD_WR_RECV (UINT64_C(1) << 63)
#define VB_LOAD_WR_GROUP (UINT64_C(1) << 62) /* with WR_RECV: of a member of a group */

/* One end of a connection. */
struct vb_load_side {
	struct vb_qp *qp;
	struct vb_mr *mr;
	struct vb_srq *srq;   /* XRC and DC, at dst */
	struct vb_xrcd *xrcd; /* XRC, at dst */
	uint8_t *mem;         /* depth slots of message_bytes; NULL: lengths only */
};

/* From a host to another one, or to a group: then side 1 is empty. The two hosts may be in
 * different parts of the simulation, so each end writes its own fields only, and reads of the
 * other's when it is still: in the timer, when flows begin, and at the end. */
struct vb_connection {
	uint32_t src, dst, flow; /* dst as in a flow */
	uint32_t next_idle;
	struct vb_load_side side[2]; /* 0: at src */
	uint32_t base;               /* messages that were posted so far */
	/* At src, of the flows that are here, by next: one, or of a shared connection several. The
	 * first of them is flow. */
	uint32_t posting; /* the first that has not posted all; VB_LOAD_NONE: all have */
	uint32_t last;
	uint32_t outstanding; /* messages of all of them */
	/* With a receive_delay: when slots are posted again, from late_first on, in turn. */
	vb_time *late;
	uint32_t late_first, late_cnt;
	bool broken; /* at src: it takes no other flow */
	bool is_shared;
	bool is_single; /* for one flow */
	uint8_t traffic_class;
	struct vb_path path; /* UD and DC: from src to dst */
	/* At dst: the same, and the flow that messages are of, until the next one begins. Of a
	 * shared connection they are in line, by next_in, up to inbound_last. */
	bool broken_there;
	uint32_t inbound, inbound_last;
};

/* A QP that is attached to a group, and receives. */
struct vb_load_member {
	uint32_t host;
	struct vb_qp *qp;
	struct vb_mr *mr;
	uint8_t *mem; /* NULL: lengths only */
	bool is_attached;
};

struct vb_load_group {
	struct vb_load_member *member;
	uint32_t member_cnt;
	uint16_t pkey;
	uint64_t sent, received;
};

/* Whether a host begins flows, up to the end of this phase. */
struct vb_load_phase {
	vb_time end;
	struct vb_rng rng;
	bool is_on;
};

struct vb_load_source {
	struct vb_load_pattern p;
	struct vb_rng rng;
	uint64_t next_q8; /* POISSON: next arrival, and mean gap, in 2^-8 ns */
	uint64_t gap_q8;
	uint32_t made; /* flows so far */
	/* POISSON, where cables of hosts have several rates: the sums of those of hosts 0 ... i, in
	 * kb/s; else NULL. */
	uint64_t *rate_sum;
	struct vb_load_phase *phase; /* POISSON with on and off: of each host; else NULL */
	struct vb_load_item item;    /* LIST: the next one */
	struct vb_graph *own_graph;  /* COLLECTIVE: p.graph, made here */
	struct vb_graph_run *run;    /* COLLECTIVE and GRAPH */
	/* Shapes whose flows follow from others: their connections, made as the first one begins;
	 * place_of() says which. NULL: not made. */
	uint32_t *connection;
};

/* The load of a part of the simulation. While parts are at work each touches its own alone. */
struct vb_load_part {
	/* Flows that follow from others begin at the instant at which they come to be: in line, by
	 * next. */
	uint32_t first, last;
	/* While parts are at work a new flow has one of these records, behind those of the load. */
	uint32_t draft_first, draft_cnt;
	vb_time turn_at;   /* that it waits for */
	uint64_t computed; /* in its turn: the computation that has ended, see note.h */
	struct vb_load_notes notes;
	int failure;
};

/* One that is told of flows that give their records away. */
struct vb_load_watcher {
	void (*fn)(void *ctx, const struct vb_flow *f);
	void *ctx;
};

struct vb_load {
	struct vb_sim *sim;
	struct vb_load_config cfg;
	struct vb_sim_memory memory;
	uint32_t host_cnt;
	/* The same, but where a host has several NICs: then host_cnt counts these. */
	uint32_t hosts;
	uint32_t *nic_turn; /* of vb_nic_choose() */
	struct vb_flow *flow;
	uint32_t flow_cnt;
	/* Flows of lists that are over, the first of them first: by step. */
	uint32_t over_first, over_last;
	uint64_t past_cnt; /* flows whose records others have now */
	struct vb_load_watcher watcher[2];
	struct vb_tally *tally; /* of them; NULL: nobody keeps one */
	struct vb_connection *connection;
	uint32_t connection_cnt;
	uint32_t *idle;    /* by host: idle connections from it */
	uint32_t *wrs;     /* by host: work requests that its QPs may have, up to CQE_MAX */
	struct vb_mr **mr; /* by host, when there are lengths only */
	struct vb_load_source source[VB_LOAD_PATTERNS_MAX];
	uint32_t source_cnt;
	struct vb_load_group group[VB_SIM_GROUPS];
	uint32_t group_cnt;
	struct vb_eventq starts; /* by flow; behind them sources, and connections that are late */
	void *starts_mem;
	struct vb_rng rng;
	uint64_t damaged;
	int failure;
	uint16_t sport;               /* of the next connection */
	uint32_t part_cnt, draft_max; /* drafts of a part */
	struct vb_load_part *part;
	uint64_t *moved; /* of each flow that another process has run, its bytes; NULL: not said */
};

/* Of a message at either end: a datagram that is received has room for a GRH before it. */
static inline uint32_t vb_load_slot_bytes(const struct vb_load *l)
{
	return l->cfg.message_bytes + (l->cfg.type == VB_QPT_UD ? VB_GRH_LEN : 0);
}

static inline bool vb_connection_is_to_group(const struct vb_connection *c)
{
	return c->dst & VB_LOAD_GROUP;
}

static inline struct vb_load_group *vb_load_group_of(struct vb_load *l, uint32_t dst)
{
	return &l->group[dst & ~VB_LOAD_GROUP];
}

/* Of a message to a group, which is a packet. */
static inline uint32_t vb_load_datagram_bytes(const struct vb_load *l)
{
	uint32_t mtu = vb_mtu_bytes(l->cfg.mtu);

	return l->cfg.message_bytes < mtu ? l->cfg.message_bytes : mtu;
}

/* group.c: a message has come to the member that @wc is of. */
void vb_load_group_received(struct vb_load *l, const struct vb_wc *wc, vb_time now);
void vb_load_groups_destroy(struct vb_load *l);

static inline struct vb_load_part *vb_load_part_of(const struct vb_load *l, uint32_t host)
{
	return &l->part[vb_sim_part_of(l->sim, host)];
}

/* Other processes run parts of the simulation. */
static inline bool vb_load_has_ranks(const struct vb_load *l)
{
	return l->part_cnt > 1 &&
	       !(vb_sim_is_part_here(l->sim, 0) && vb_sim_is_part_here(l->sim, 1));
}

/* More cannot be done in the part of @host. */
static inline void vb_load_fail(struct vb_load *l, uint32_t host, int err)
{
	vb_load_part_of(l, host)->failure = err;
}

/* cores/settle.c: @kind has come about of @flow, at @host: is taken now, or when all parts are
 * still. */
void vb_load_note(struct vb_load *l, uint32_t host, enum vb_load_note_kind kind, uint32_t flow);
/* Takes what parts have noted, in the order in which it came about. */
void vb_load_notes_settle(struct vb_load *l);

/* connect.c: a connection for @f, an idle one, a shared one or a new one. */
int vb_load_connect(struct vb_load *l, struct vb_flow *f, uint32_t flow);
/* All connections of a pattern whose flows follow from others, before its first flow begins. */
int vb_load_source_connect(struct vb_load *l, struct vb_load_source *s);
/* connect.c: makes room in the CQ of @host for so many completions more, up to 4096: they are taken
 * after each event. -ENOMEM. */
int vb_load_cq_reserve(struct vb_load *l, uint32_t host, uint32_t wrs);
/* @f has left it: the next one is the first there. Of src. */
void vb_load_leave(struct vb_load *l, struct vb_flow *f);
/* Others may have the connection of @f, which has left it. */
void vb_load_give_back(struct vb_load *l, const struct vb_flow *f);
/* @flow is in line at the receiving end of its shared connection. */
void vb_load_await(struct vb_load *l, uint32_t flow);
/* Flow @to is where @from was. */
void vb_load_rename(struct vb_load *l, uint32_t from, uint32_t to);
/* Posts the receive WQE for slot @slot at the far end. */
int vb_load_post_recv(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now);

/* Posts it again now or when it is its time. */
int vb_load_repost(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now);
/* Posts those of @connection whose time has come. */
void vb_load_post_late(struct vb_load *l, uint32_t connection, vb_time now);

/* flow.c: a record and a number for @f; VB_LOAD_NONE: there are none, and the load has failed. */
uint32_t vb_load_flow_enrol(struct vb_load *l, const struct vb_flow *f);
/* flow.c: appends a flow that starts at @start. */
int vb_load_flow_new(struct vb_load *l, const struct vb_flow *f);
/* The same of one that follows from another one and begins now, at f->start: in the part of its
 * source, behind all that happens there at this instant. */
void vb_load_flow_follow(struct vb_load *l, const struct vb_flow *f);
/* Messages that @f takes, and the most that one of them moves. */
uint32_t vb_load_message_cnt(const struct vb_load *l, const struct vb_flow *f);
uint64_t vb_load_message_unit(const struct vb_load *l, const struct vb_flow *f);
void vb_load_arm(struct vb_load *l);
/* The turn of part @part comes at @at, or before. */
void vb_load_turn_by(struct vb_load *l, uint32_t part, vb_time at);
/* Source number @source has its turn at @at; VB_NEVER: it has none. */
void vb_load_source_wait(struct vb_load *l, uint32_t source, vb_time at);
/* Messages that were sent arrive, and their completions say so. */
bool vb_load_is_reliable(const struct vb_load *l, const struct vb_flow *f);

/* pattern.c: its flows follow from others that have arrived, or are done. */
bool vb_pattern_is_closed_loop(const struct vb_load_pattern *p);
/* pattern.c: the pattern's next step after @flow has arrived or ended, and its next arrival. */
void vb_pattern_on_delivered(struct vb_load *l, uint32_t flow, vb_time now);
void vb_pattern_on_done(struct vb_load *l, uint32_t flow, vb_time now);
void vb_pattern_on_arrival(struct vb_load *l, struct vb_load_source *src, vb_time now);

#endif
