/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC connections of the property tests: work is posted at random and carried out at once by a
 * reference executor, so that what every completion and every byte must be is known beforehand.
 */
#ifndef VB_TESTS_PROPERTY_RC_H
#define VB_TESTS_PROPERTY_RC_H

#include "world.h"

/* A posted request, in order; freed when its completion, or that of a later one, arrives. */
struct request {
	uint64_t wr_id;
	enum vb_wr_opcode opcode;
	bool signaled;
	enum vb_wc_status status; /* it must complete with */
	uint32_t slot;
	uint8_t *image;              /* what the slot must hold then; NULL: nothing is returned */
	uint32_t read_off, read_len; /* READ: its range, to be left alone meanwhile */
};

/* A message that must arrive at a receive queue, in order. */
struct message {
	uint8_t *data;
	uint32_t len; /* SEND: bytes in the buffer; WRITE: bytes announced */
	bool is_write, has_imm, solicited;
	uint32_t imm;
};

struct rc_side {
	struct side s;     /* first */
	struct mem local;  /* send slots */
	struct mem region; /* what the peer reads and writes */
	uint8_t *shadow;   /* what region must hold when all is done */
	uint32_t rkey;
	uint32_t depth, rd_atomic;
	uint8_t rnr_retry;
	uint32_t to_post; /* requests still to come */
	uint64_t posted, retired;
	uint32_t unsignaled; /* since the last signaled one */
	struct request *sq;  /* ring of depth */
	struct message *in;  /* ring of in_cap: expected */
	uint32_t in_head, in_tail, in_cap;
	uint32_t weight[VB_WR_CNT];
	vb_dur gap; /* between posts, at most */
	uint32_t len_max;
	bool sqd;    /* may visit SQD */
	bool breaks; /* an error is on its way: receive buffers come back flushed */
	enum vb_wc_status recv_status; /* of the first of them, then WR_FLUSH_ERR */
};

struct rc_params {
	uint32_t requests; /* per side */
	bool bidirectional, sqd;
	uint32_t depth_min, depth_max, len_max;
	uint8_t rnr_retry;
	vb_dur gap;
};

/* Connects two new sides between random hosts, with random attributes. */
void rc_connect(struct world *w, const struct rc_params *p);
/* Posts one request of @opcode and records what it must do. */
void rc_post(struct rc_side *s, enum vb_wr_opcode opcode, uint32_t len, bool signaled);
/* Posts @wr, which must fail with @status (not SUCCESS) and change nothing anywhere. */
void rc_post_doomed(struct rc_side *s, struct vb_send_wr *wr, enum vb_wc_status status);
bool rc_has_room(const struct rc_side *s);
bool rc_is_done(const struct rc_side *s);
/* Regions hold what the reference executor says; memory freed. */
void rc_close(struct rc_side *s);

void rc_act(struct side *side);
void rc_on_wc(struct world *w, struct side *side, const struct vb_wc *wc, struct pool *pool,
	      uint32_t buffer);
void rc_on_async(struct world *w, void *owner, enum vb_async async);

#endif
