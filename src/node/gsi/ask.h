/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions from observers to other hosts' adapters: their MADs leave by the broker's QP1, again
 * after each timeout, and the answers go back to them. Nothing is asked that no observer wants to
 * know.
 */
#ifndef VB_NODE_GSI_ASK_H
#define VB_NODE_GSI_ASK_H

#include "node/client/msg.h"

struct vb_broker;
struct vb_conn;

#define VB_ASKS_MAX 64

struct vb_ask {
	uint64_t tid;      /* 0: this place is free */
	uint32_t conn;     /* of the observer... */
	vb_time since;     /* ... which began then */
	uint32_t tag;      /* the observer's name for the question */
	uint32_t left;     /* attempts */
	vb_time due, sent; /* CLOCK_MONOTONIC */
	struct vb_broker_ask a;
};

struct vb_asks {
	struct vb_ask ask[VB_ASKS_MAX];
};

/* Question @m of observer @c. */
void vb_asks_begin(struct vb_broker *b, struct vb_conn *c, const struct vb_broker_msg *m,
		   vb_time now);
/* A MAD of @len bytes has come by @path, and not for the connection manager: a response, perhaps
 * forged, or what the agent answers (agent.h). */
void vb_asks_take_mad(struct vb_broker *b, const struct vb_path *path,
		      const uint8_t mad[VB_MAD_LEN], uint32_t len, vb_time now);
/* Whether an observer waits for this MAD, whose header is @h. */
bool vb_asks_expect(struct vb_broker *b, const struct vb_path *path, const struct vb_mad_hdr *h);
void vb_asks_timeouts(struct vb_broker *b, vb_time now);
/* When to call that; VB_NEVER: nothing is asked. */
vb_time vb_asks_due(const struct vb_asks *asks);

#endif
