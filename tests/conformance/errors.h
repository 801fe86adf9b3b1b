/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The matrix of operations and faults: what completes with which status on both sides, in which
 * state both QPs end, whether data has moved, and which asynchronous event comes. The table is
 * errors.def; errors_play.c plays it through the functions below, of which there are two sets: over
 * libibverbs on a device (errors_verbs.c), and on two hosts of the simulator (errors_sim.c).
 *
 * Statuses, states, opcodes, rights and events are numbers of <infiniband/verbs.h>, which are the
 * core's too.
 */
#ifndef VB_TESTS_CONFORMANCE_ERRORS_H
#define VB_TESTS_CONFORMANCE_ERRORS_H

#include "core/types.h"

#include <stddef.h>

/* Each side has a block of memory; the region that a case names is the middle third. */
#define REGION 4096u
#define BLOCK (3 * REGION)

enum side { REQUESTER, RESPONDER, SIDES };

/* How a case differs from one that succeeds. */
struct setup {
	enum vb_qp_type type; /* of the requester; XRC_INI: the responder's is XRC_TGT */
	bool has_srq;         /* the responder's QP; one of XRC always */
	uint32_t qp_access;
	enum vb_qp_state state[SIDES]; /* how far each QP is brought */
};

struct region {
	uint32_t lkey, rkey;
	void *handle;
};

struct window {
	uint8_t type;
	uint32_t rkey;
	void *handle;
};

/* A work request whose SGEs are all of the same bytes and key. */
struct work {
	uint64_t wr_id;
	enum vb_wr_opcode opcode;
	uint32_t flags; /* set of enum vb_send_flag; what is posted is signaled */
	uint8_t *addr;
	uint32_t len, lkey, sge_cnt;
	uint64_t remote_addr;
	uint32_t rkey, inv_rkey, qkey;
	uint32_t srqn_error; /* by which the number of the SRQ is wrong */
	/* A bind: of this window to addr and len in this region. Posting it sets the window's key.
	 */
	struct window *window;
	const struct region *region;
	uint32_t access;
	bool of_other_pd; /* the address handle */
	bool by_other_qp; /* of the same side, which the responder has */
};

struct done {
	uint64_t wr_id;
	enum vb_wc_status status;
};

/* What is asked of a queue. */
#define SGE_MAX 2u
#define INLINE_MAX 64u
#define QUEUE_WRS 4u
#define QKEY 0x11111111u
#define DONE_MAX 32u

#define NOTHING (-1000)

/* @quiet_ms: when nothing has completed for so long, nothing will. */
void open_device(const char *name, uint32_t quiet_ms);
void close_device(void);
uint32_t mtu_bytes(void);
uint32_t message_max(void);
bool device_has(enum vb_qp_type type, enum vb_wr_opcode opcode);

/* Two protection domains a side, a CQ a side, one QP a side, connected to each other; and one more
 * of the responder's, which knows the requester's, but is not known to it. */
void open_world(const struct setup *s);
void close_world(void);
uint8_t *block_of(enum side side);
/* The address by which the other side names a byte of the block. */
uint64_t address_of(enum side side, const uint8_t *p);
struct region register_region(enum side side, bool other_pd, uint32_t access);
void deregister_region(struct region *r);
struct window allocate_window(enum side side, bool other_pd, uint8_t type);
void free_window(struct window *w);
/* What the requester's send queue has in fact: requests, SGEs of each, bytes of inline data. */
struct send_room {
	uint32_t wrs, sges, inline_bytes;
} send_room(void);

/* 0 or the errno of the verb; *bad: the verb named this request as the one that was refused. */
int post_send(enum side side, const struct work *w, bool *bad);
/* To the responder. */
int post_receive(const struct work *w);
void set_srq_limit(uint32_t limit);

/* Goes on until both sides have so many completions and nothing more happens. */
void settle(const uint32_t want[SIDES]);
uint32_t completions_of(enum side side, struct done *done, uint32_t max);
/* Nothing has completed yet. */
void forget_completions(void);
enum vb_qp_state state_of(enum side side);
/* The first event of the side's QP or SRQ other than COMM_EST, or NOTHING. */
int event_of(enum side side);

#endif
