/* SPDX-License-Identifier: BSD-2-Clause */
/* One RC QP of the adapter under test, its peer's requests, and what it answers. */
#ifndef VB_TESTS_UNIT_RC_ENV_H
#define VB_TESTS_UNIT_RC_ENV_H

#include "core/rc/rc.h"
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

static inline void setup(void)
{
	env_config(&env);
	env_open(&env, 256);
}

static inline struct vb_qp *rts(uint32_t sq_psn, uint32_t rq_psn, uint8_t rd)
{
	struct vb_qp *qp = env_qp(&env, VB_QPT_RC, NULL);
	struct vb_qp_attr a = env_attr(2, 0x21);

	a.sq_psn = sq_psn;
	a.rq_psn = rq_psn;
	a.max_dest_rd_atomic = rd;
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static inline enum vb_verdict request(struct vb_qp *qp, uint8_t op, uint32_t psn, uint32_t len)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | op,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .ack_req = true};

	h.reth.va = h.atomic.va = ENV_IOVA;
	h.reth.rkey = h.atomic.rkey = vb_mr_rkey(env.mr);
	h.reth.len = op == VB_OP_READ_REQUEST ? 8 : len;
	h.atomic.swap_add = 1;
	return env_rx(&env, 2, &h, len);
}

/* The one packet that leaves now. */
static inline struct vb_hdr answer(void)
{
	assert_int_equal(env_tx(&env, &b), 1);
	return env_hdr(&b.pkt[0]);
}

#endif
