/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators and targets of DC of one adapter that talk to each other. docs/dc.md */
#ifndef VB_TESTS_UNIT_DC_ENV_H
#define VB_TESTS_UNIT_DC_ENV_H

#include "core/dc/dc.h"
#include "core_env.h"

#define KEY UINT64_C(0x1122334455667788)

static struct env env;
static struct vb_srq *srq;
static struct vb_tx_batch b;

static inline void setup(void)
{
	env_config(&env);
	env_open(&env, 4096);
	assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
}

static inline struct vb_qp *target(uint64_t key)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_DCT, .send_cq = env.cq, .recv_cq = env.cq, .srq = srq, .dc.key = key};
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	return qp;
}

static inline struct vb_qp *initiator(struct vb_dc_init dc)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_DCI,
	    .send_cq = env.cq,
	    .dc = dc,
	    .cap = {.max_send_wr = 64, .max_send_sge = 4, .max_inline_data = 64}};
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static inline void post_srq(uint64_t wr_id, uint32_t length)
{
	struct vb_sge sge = env_sge(&env, ENV_MEM / 2, length);
	struct vb_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

	assert_int_equal(vb_srq_post(srq, &wr), 0);
}

/* Work of @qp for target @dctn of this adapter. */
static inline int post(struct vb_qp *qp, uint64_t wr_id, enum vb_wr_opcode op, uint32_t length,
		       uint32_t dctn, uint64_t key, uint16_t stream)
{
	struct vb_ah ah = {.pd = env.pd, .path = env_path(1)};
	struct vb_sge sge = env_sge(&env, 0, length);
	struct vb_send_wr wr = {.wr_id = wr_id,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = op,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = ENV_IOVA + ENV_MEM / 2,
				.rkey = vb_mr_rkey(env.mr),
				.compare_add = 3,
				.ah = &ah,
				.dqpn = dctn,
				.dc_key = key,
				.dc_stream = stream};

	return vb_qp_post_send(qp, &wr, env.now);
}

#endif
