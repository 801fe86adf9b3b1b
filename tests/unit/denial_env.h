/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that a responder refuses, and the words that are told of them. */
#ifndef VB_TESTS_UNIT_DENIAL_ENV_H
#define VB_TESTS_UNIT_DENIAL_ENV_H

#include "explain/text/denial.h"
#include "rc_env.h"

#include <stdio.h>

static struct vb_denial denied;
static uint32_t denied_cnt;

static inline void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	denied = vb_denial_read(ev);
	denied_cnt++;
}

static inline void begin(void)
{
	env_config(&env);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_REFUSED, .emit = note_event};
	env_open(&env, 256);
	denied = (struct vb_denial){.check = VB_DENIAL_NONE};
	denied_cnt = 0;
}

/* One refusal was told, in these words. */
static inline void expect_denial(const char *words)
{
	struct vb_lines l = {.cnt = 0};

	vb_line(&l, "%s", "");
	vb_denial_say(&l, &denied);
	assert_string_equal(l.text[0], words);
	assert_int_equal(denied_cnt, 1);
	vb_denial_advise(&l, &denied);
	assert_int_equal(l.cnt, 2);
	assert_true(strlen(l.text[1]) > 10);
	assert_null(strchr(l.text[1], '$'));
	env_close(&env);
}

struct ask {
	uint8_t op;
	uint32_t rkey;
	uint64_t va;
	uint32_t dma_len, payload, psn, flush, inv, srqn;
};

static inline enum vb_verdict ask_for(struct vb_qp *qp, struct ask a)
{
	struct vb_hdr h = {.opcode = (uint8_t)(qp->ops->transport | a.op),
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(a.psn),
			   .flush = a.flush,
			   .xrc_srqn = a.srqn,
			   .inv_rkey = a.inv};

	h.reth.rkey = h.atomic.rkey = a.rkey;
	h.reth.va = h.atomic.va = a.va;
	h.reth.len = a.dma_len;
	return env_rx(&env, 2, &h, a.payload);
}

/* An operation on memory; a WRITE carries as many bytes as it says. */
static inline struct ask rdma(uint8_t op, uint32_t rkey, uint64_t va, uint32_t len)
{
	return (struct ask){.op = op,
			    .rkey = rkey,
			    .va = va,
			    .dma_len = len,
			    .payload = op == VB_OP_WRITE_ONLY ? len : 0};
}

static inline struct vb_mr *region(struct vb_pd *pd, uint32_t access)
{
	struct vb_mr_attr a = {.iova = 0x1000, .length = 100, .host = env.mem, .access = access};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(pd, &a, &mr), 0);
	return mr;
}

#endif
