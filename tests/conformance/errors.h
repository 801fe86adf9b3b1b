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

/* The completions in the CQ of a side, by a QP that is not of the case, before the QPs of the case
 * are brought up. FULL: as many as it takes. OVERRUN: one more. */
enum cq_room { CQ_ROOM, CQ_FULL, CQ_OVERRUN };
#define FILL_WR_ID UINT64_C(1000000)

/* How a case differs from one that succeeds. */
struct setup {
	enum vb_qp_type
	    type;     /* of the requester; of XRC_INI and DCI the responder's is the target */
	bool has_srq; /* the responder's QP; a target always */
	bool srq_of_other_pd, srq_of_other_domain;
	bool has_streams;    /* the DCI: one of them may be in error */
	bool has_group;      /* the requester sends to a multicast group */
	bool is_member;      /* the responder's QP, of the group */
	uint32_t dest_error; /* by which the number of the QP that the requester knows is wrong */
	uint32_t qp_access;
	enum cq_room cq[SIDES];
	uint8_t rd_atomic[SIDES];      /* max_rd_atomic, max_dest_rd_atomic */
	enum vb_qp_state state[SIDES]; /* how far each QP is brought; a DCT not beyond RTR */
	bool has_other[SIDES];         /* QPs: of that side one more */
	bool other_of_other_pd;
	bool builds; /* the requester posts by ibv_wr_*(3) */
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

/* A work request whose SGEs are all of the same bytes, and of the same key but for the last. */
struct work {
	uint64_t wr_id;
	enum vb_wr_opcode opcode;
	uint32_t flags; /* set of enum vb_send_flag; posted work is signaled */
	uint8_t *addr;
	uint32_t len, lkey, sge_cnt;
	uint64_t remote_addr;
	uint32_t last_lkey_error; /* by which the L_Key of the last SGE is another one */
	uint32_t rkey, inv_rkey, qkey;
	/* By which the numbers of the SRQ and (UD and DC) the QP, and the key of a DCT are wrong.
	 */
	uint32_t srqn_error, qpn_error, dc_key_error;
	uint32_t flush; /* FLUSH: set of enum vb_flush; of len bytes */
	/* A bind: of this window to addr and len in this region. Posting it sets the window's key.
	 */
	struct window *window;
	const struct region *region;
	uint32_t region_error; /* by which its keys are wrong */
	uint32_t access;
	bool of_other_pd; /* the address handle */
	bool by_other_qp; /* of the same side */
	/* DC: of the responder, which is no target. With a group: its QP, in place of all. */
	bool to_other_qp;
};

struct done {
	uint64_t wr_id;
	enum vb_wc_status status;
};

/* The sizes that are asked of a queue. */
#define SGE_MAX 2u
#define INLINE_MAX 64u
#define QUEUE_WRS 4u
#define PATH_MTU VB_MTU_1024 /* of all but UD, which has the port's */
#define PATH_MTU_BYTES 1024u
#define QKEY 0x11111111u
#define DC_KEY UINT64_C(0xfeed)
#define DONE_MAX 32u
/* More than an adapter takes in one request. */
#define SGES_MAX 256u

#define NOTHING (-1000)

/*
 * @quiet_ms: when nothing has completed for so long, nothing will; QPs wait half as long for an
 * ACK.
 * @patience_ms: how long something may take that must complete.
 */
void open_device(const char *name, uint32_t quiet_ms, uint32_t patience_ms);
void close_device(void);
uint32_t mtu_bytes(void);
uint32_t message_max(void);
bool device_has(enum vb_qp_type type, enum vb_wr_opcode opcode);
/* Whether ibv_wr_*(3) is one more way to post. */
bool device_builds(enum vb_qp_type type);

/*
 * Two protection domains a side, a CQ a side, one QP a side, connected to each other; and one more
 * of a side that has another, of RC or UC, which knows the peer's QP, but is not known to it.
 */
void open_world(const struct setup *s);
void close_world(void);
struct region register_region(enum side side, bool other_pd, uint32_t access);
void deregister_region(struct region *r);
struct window allocate_window(enum side side, bool other_pd, uint8_t type);
void free_window(struct window *w);
/* The real sizes of the requester's send queue: requests, SGEs of each, bytes of inline data. */
struct send_room {
	uint32_t wrs, sges, inline_bytes;
} send_room(void);

/*
 * @cnt requests whose wr_ids count up, in one list where the verb takes lists. 0 or the errno of
 * the verb, which then has named the one behind @taken as that which was refused; by ibv_wr_*(3) it
 * takes all or none.
 */
int post_send(enum side side, const struct work *w, uint32_t cnt, uint32_t *taken);
/* The same to the responder. */
int post_receives(const struct work *w, uint32_t cnt, uint32_t *taken);
/* The real sizes of the receive queue, or the SRQ. */
struct receive_room {
	uint32_t wrs, sges;
} receive_room(void);
void set_srq_limit(uint32_t limit);

/* The results that must come: so many completions and these events at each side, and *@moved
 * (unless NULL) is no longer @was. */
struct awaited {
	uint32_t done[SIDES], events[SIDES];
	const uint8_t *moved;
	uint8_t was;
};
/* Goes on until all that is there, and nothing more happens. */
void settle(const struct awaited *a);
/* Takes what is in the CQs that had no room, which nothing else polls. */
void empty_cqs(void);
enum vb_qp_state state_of(enum side side);
/* Puts the QP into ERR. */
void end_qp(enum side side);

/* The sides' memory. */
bool open_blocks(void);
void close_blocks(void);
uint8_t *block_of(enum side side);
/* The address by which the other side names a byte of the block. */
uint64_t address_of(enum side side, const uint8_t *p);

/*
 * The notes of both sets of functions about a side (errors_side.c): its completions, and the events
 * of its QP, SRQ and CQ other than COMM_EST. A new world begins with none.
 */
void note_nothing(void);
void note_completion(enum side side, uint64_t wr_id, enum vb_wc_status status);
void note_event(enum side side, uint32_t event);
uint32_t completions_of(enum side side, struct done *done, uint32_t max);
uint32_t completion_cnt(enum side side);
/* Nothing has completed yet. */
void forget_completions(void);
uint32_t events_of(enum side side); /* set of 1 << enum vb_async */

/* The attributes, and the way to a state: steps that a QP of the side goes through. */
struct step {
	enum vb_qp_state state;
	uint32_t mask; /* set of enum vb_qp_attr_mask, without STATE */
};
#define STEPS_MAX 4u
uint32_t steps_to(enum vb_qp_type type, enum vb_qp_state to, struct step step[STEPS_MAX]);
/* The type of a QP of the side, or of the other QP there. */
enum vb_qp_type qp_type(const struct setup *s, enum side side, bool is_other);

#endif
