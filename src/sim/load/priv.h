/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the load: patterns (pattern.c), flows (flow.c), their messages (load.c) and
 * connections (connect.c). */
#ifndef VB_SIM_LOAD_PRIV_H
#define VB_SIM_LOAD_PRIV_H

#include "sim/eventq.h"
#include "sim/load/load.h"

#define VB_LOAD_NONE UINT32_MAX
#define VB_LOAD_QKEY 0x11111111u      /* of datagrams */
#define VB_LOAD_DC_KEY UINT64_C(0x5d) /* of DC targets */
#define VB_LOAD_WR_RECV (UINT64_C(1) << 63)

/* One end of a connection. */
struct vb_load_side {
	struct vb_qp *qp;
	struct vb_mr *mr;
	struct vb_srq *srq;   /* XRC and DC, at dst */
	struct vb_xrcd *xrcd; /* XRC, at dst */
	uint8_t *mem;         /* depth slots of message_bytes; NULL: lengths only */
};

struct vb_connection {
	uint32_t src, dst, flow;
	uint32_t next_idle;
	struct vb_load_side side[2]; /* 0: at src */
	uint32_t base;               /* messages of flows that were here before: slots go round */
	/* With a receive_delay: when slots are posted again, from late_first on, in turn. */
	vb_time *late;
	uint32_t late_first, late_cnt;
	bool broken;
	uint8_t traffic_class;
	struct vb_path path; /* UD and DC: from src to dst */
};

struct vb_load_source {
	struct vb_load_pattern p;
	struct vb_rng rng;
	uint64_t next_q8; /* POISSON: next arrival, and mean gap, in 2^-8 ns */
	uint64_t gap_q8;
	uint32_t made; /* flows so far */
};

struct vb_load {
	struct vb_sim *sim;
	struct vb_load_config cfg;
	struct vb_sim_memory memory;
	uint32_t host_cnt;
	struct vb_flow *flow;
	uint32_t flow_cnt;
	struct vb_connection *connection;
	uint32_t connection_cnt;
	uint32_t *idle;    /* by host: idle connections from it */
	struct vb_mr **mr; /* by host, when there are lengths only */
	struct vb_load_source source[VB_LOAD_PATTERNS_MAX];
	uint32_t source_cnt;
	struct vb_eventq starts; /* by flow; behind them sources, and connections that are late */
	void *starts_mem;
	struct vb_rng rng;
	uint64_t damaged;
	int failure;
	uint16_t sport; /* of the next connection */
};

/* Of a message at either end: a datagram that is received has room for a GRH before it. */
static inline uint32_t vb_load_slot_bytes(const struct vb_load *l)
{
	return l->cfg.message_bytes + (l->cfg.type == VB_QPT_UD ? VB_GRH_LEN : 0);
}

/* connect.c: a connection for @f, an idle one or a new one. */
int vb_load_connect(struct vb_load *l, struct vb_flow *f, uint32_t flow);
void vb_load_disconnect(struct vb_load *l, struct vb_flow *f);
/* Posts the receive WQE for slot @slot at the far end. */
int vb_load_post_recv(struct vb_load *l, uint32_t connection, uint32_t slot);

/* Posts it again now or when it is its time. */
int vb_load_repost(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now);
/* Posts those of @connection whose time has come. */
void vb_load_post_late(struct vb_load *l, uint32_t connection, vb_time now);

/* flow.c: appends a flow that starts at @start. */
int vb_load_flow_new(struct vb_load *l, const struct vb_flow *f);
void vb_load_arm(struct vb_load *l);

/* pattern.c: the pattern's next step after @flow has arrived or ended, and its next arrival. */
void vb_pattern_on_delivered(struct vb_load *l, uint32_t flow, vb_time now);
void vb_pattern_on_done(struct vb_load *l, uint32_t flow, vb_time now);
void vb_pattern_on_arrival(struct vb_load *l, struct vb_load_source *src, vb_time now);

#endif
