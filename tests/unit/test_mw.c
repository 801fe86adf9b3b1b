/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows: the rules of binding, what a bound one allows, how it ends. IBA 10.6.7, IBT-82 */
#include "core_env.h"

static struct env env;
static struct vb_qp *qp;

#define RW (VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_WRITE)

static void setup(void)
{
	env_config(&env);
	env_open(&env, 64);
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
}

static struct vb_mw *mw_new(uint8_t type)
{
	struct vb_mw *mw;

	assert_int_equal(vb_mw_create(env.pd, type, &mw), 0);
	return mw;
}

/* The status of a bind of [@va, @va + @len) through @by. The next key byte is 0x77. */
static enum vb_wc_status bind_to(struct vb_qp *by, const struct vb_mw *mw, uint32_t lkey,
				 uint64_t va, uint64_t len, uint32_t access)
{
	struct vb_mw_bind b = {.rkey = vb_mw_rkey(mw),
			       .lkey = lkey,
			       .addr = va,
			       .length = len,
			       .access = access,
			       .key_byte = 0x77};

	return vb_mw_bind(by->pd, by->qpn, &b);
}

static enum vb_wc_status bind(const struct vb_mw *mw, uint64_t va, uint64_t len, uint32_t access)
{
	return bind_to(qp, mw, vb_mr_lkey(env.mr), va, len, access);
}

static int reach(struct vb_qp *by, const struct vb_mw *mw, uint64_t va, uint64_t len,
		 uint32_t access)
{
	uint8_t *p;

	return env_mem_remote(by, vb_mw_rkey(mw), va, len, access, &p);
}

static struct vb_mr *mr_with(struct vb_pd *pd, uint64_t iova, uint32_t access)
{
	struct vb_mr_attr a = {.iova = iova, .length = ENV_MEM, .host = env.mem, .access = access};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(pd, &a, &mr), 0);
	return mr;
}

static void mw_create__types(void **state)
{
	struct vb_mw *mw;

	(void)state;
	setup();
	assert_int_equal(vb_mw_create(env.pd, 0, &mw), -EINVAL);
	assert_int_equal(vb_mw_create(env.pd, 3, &mw), -EINVAL);
	mw = mw_new(1);
	assert_int_equal(reach(qp, mw, 0, 0, 0), -EACCES); /* unbound: nothing, of no length */
	env_close(&env);
}

static void bind__gives_what_it_says(void **state)
{
	struct vb_mw *mw;
	uint32_t old;

	(void)state;
	setup();
	for (uint8_t type = 1; type <= 2; type++) {
		mw = mw_new(type);
		old = vb_mw_rkey(mw);
		assert_int_equal(bind(mw, ENV_IOVA + 100, 50, VB_ACCESS_REMOTE_READ),
				 VB_WC_SUCCESS);
		assert_int_equal(vb_mw_rkey(mw), (old & ~0xffu) | 0x77);
		assert_null(vb_key_find(env.hca, old));
		assert_int_equal(reach(qp, mw, ENV_IOVA + 100, 50, VB_ACCESS_REMOTE_READ), 0);
		assert_int_equal(reach(qp, mw, ENV_IOVA + 100, 50, VB_ACCESS_REMOTE_WRITE),
				 -EACCES);
		assert_int_equal(reach(qp, mw, ENV_IOVA + 100, 51, VB_ACCESS_REMOTE_READ), -EACCES);
		assert_int_equal(reach(qp, mw, ENV_IOVA + 99, 1, VB_ACCESS_REMOTE_READ), -EACCES);
		assert_int_equal(reach(qp, mw, ENV_IOVA + 150, 1, VB_ACCESS_REMOTE_READ), -EACCES);
		/* A window is no region: it has no L_Key. */
		struct vb_sge sge = {ENV_IOVA + 100, 1, vb_mw_rkey(mw)};

		assert_int_equal(vb_mem_check(env.pd, &sge, 1, 0), -EACCES);
		assert_int_equal(vb_mw_destroy(mw), 0);
	}
	env_close(&env);
}

static void bind__refused(void **state)
{
	struct vb_pd *other;
	struct vb_mr *no_bind, *no_write, *based, *foreign;
	struct vb_mw *mw, *foreign_mw;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	assert_int_equal(vb_mw_create(other, 2, &foreign_mw), 0);
	no_bind = mr_with(env.pd, ENV_IOVA, ENV_ACCESS & ~(uint32_t)VB_ACCESS_MW_BIND);
	no_write = mr_with(env.pd, ENV_IOVA, VB_ACCESS_MW_BIND);
	based = mr_with(env.pd, 0, ENV_ACCESS | VB_ACCESS_ZERO_BASED);
	foreign = mr_with(other, ENV_IOVA, ENV_ACCESS);
	for (uint8_t type = 1; type <= 2; type++) {
		uint32_t key;

		mw = mw_new(type);
		key = vb_mw_rkey(mw);

		const struct {
			const struct vb_mw *mw;
			uint32_t lkey;
			uint64_t va, len;
			uint32_t access;
		} bad[] = {
		    {foreign_mw, vb_mr_lkey(env.mr), ENV_IOVA, 8, RW},
		    {mw, vb_mr_lkey(no_bind), ENV_IOVA, 8, RW},  /* C10-73 */
		    {mw, vb_mr_lkey(no_write), ENV_IOVA, 8, RW}, /* C10-74 */
		    {mw, vb_mr_lkey(no_write), ENV_IOVA, 8, VB_ACCESS_REMOTE_ATOMIC},
		    {mw, vb_mr_lkey(based), 0, 8, RW},
		    {mw, vb_mr_lkey(foreign), ENV_IOVA, 8, RW},
		    {mw, 0xdead00, ENV_IOVA, 8, RW},
		    {mw, vb_mw_rkey(mw), ENV_IOVA, 8, RW},         /* a window is no region */
		    {mw, vb_mr_lkey(env.mr), ENV_IOVA - 1, 8, RW}, /* C10-75 */
		    {mw, vb_mr_lkey(env.mr), ENV_IOVA + ENV_MEM - 7, 8, RW},
		    {mw, vb_mr_lkey(env.mr), ENV_IOVA, ENV_MEM + 1, RW},
		    {mw, vb_mr_lkey(env.mr), ENV_IOVA + 1, UINT64_MAX, RW},
		};
		for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
			assert_int_equal(bind_to(qp, bad[i].mw, bad[i].lkey, bad[i].va, bad[i].len,
						 bad[i].access),
					 VB_WC_MW_BIND_ERR);
			assert_int_equal(vb_mw_rkey(mw), key);
			assert_null(mw->mr);
		}
		/* A right that the region lacks matters only if the window gives it. */
		assert_int_equal(
		    bind_to(qp, mw, vb_mr_lkey(no_write), ENV_IOVA, 8, VB_ACCESS_REMOTE_READ),
		    VB_WC_SUCCESS);
		assert_int_equal(vb_mw_destroy(mw), 0);
	}
	assert_int_equal(env.mr->window_cnt, 0);
	env_close(&env);
}

/* LOCAL_WRITE says nothing of a window, but programs name it. */
static void bind__rights_that_windows_lack(void **state)
{
	struct vb_mw *mw;

	(void)state;
	setup();
	mw = mw_new(2);
	assert_int_equal(bind(mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ | VB_ACCESS_LOCAL_WRITE),
			 VB_WC_SUCCESS);
	assert_int_equal(reach(qp, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reach(qp, mw, ENV_IOVA, 8, VB_ACCESS_LOCAL_WRITE), -EACCES);
	env_close(&env);
}

static void bind__type_1_again_and_empty(void **state)
{
	struct vb_mw *mw;
	uint32_t key;

	(void)state;
	setup();
	mw = mw_new(1);
	assert_int_equal(bind(mw, ENV_IOVA, 8, RW), VB_WC_SUCCESS);
	assert_int_equal(bind(mw, ENV_IOVA + 8, 8, RW), VB_WC_SUCCESS);
	assert_int_equal(env.mr->window_cnt, 1);
	assert_int_equal(reach(qp, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(reach(qp, mw, ENV_IOVA + 8, 8, VB_ACCESS_REMOTE_READ), 0);
	/* One that fails leaves it as it was. */
	key = vb_mw_rkey(mw);
	assert_int_equal(bind(mw, ENV_IOVA - 1, 8, RW), VB_WC_MW_BIND_ERR);
	assert_int_equal(vb_mw_rkey(mw), key);
	assert_int_equal(reach(qp, mw, ENV_IOVA + 8, 8, VB_ACCESS_REMOTE_READ), 0);
	/* o10-36.2.2 */
	assert_int_equal(bind(mw, ENV_IOVA, 8, RW | VB_ACCESS_ZERO_BASED), VB_WC_MW_BIND_ERR);
	/* Any QP of the domain may use it, but not invalidate it. */
	assert_int_equal(
	    reach(env_qp(&env, VB_QPT_RC, NULL), mw, ENV_IOVA + 8, 8, VB_ACCESS_REMOTE_READ), 0);
	assert_int_equal(vb_mw_invalidate(qp->pd, qp->qpn, key), -EACCES);
	assert_int_equal(bind(mw, 0, 0, 0), VB_WC_SUCCESS);
	assert_int_equal(reach(qp, mw, ENV_IOVA + 8, 8, VB_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(env.mr->window_cnt, 0);
	env_close(&env);
}

static void bind__type_2_once_until_invalidated(void **state)
{
	struct vb_qp *second;
	struct vb_mw *mw;

	(void)state;
	setup();
	second = env_qp(&env, VB_QPT_RC, NULL);
	mw = mw_new(2);
	assert_int_equal(bind(mw, ENV_IOVA, 0, RW), VB_WC_MW_BIND_ERR); /* o10-37.2.40 */
	assert_int_equal(bind(mw, ENV_IOVA, 8, RW), VB_WC_SUCCESS);
	assert_int_equal(bind(mw, ENV_IOVA, 8, RW), VB_WC_MW_BIND_ERR); /* o10-37.2.30 */
	assert_int_equal(bind(mw, ENV_IOVA, 0, RW), VB_WC_MW_BIND_ERR);
	/* It serves the QP it was bound through, and no other. */
	assert_int_equal(reach(qp, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reach(second, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(vb_mw_invalidate(second->pd, second->qpn, vb_mw_rkey(mw)), -EACCES);
	assert_int_equal(vb_mw_invalidate(qp->pd, qp->qpn, vb_mw_rkey(mw) ^ 1), -EACCES);
	assert_int_equal(vb_mw_invalidate(qp->pd, qp->qpn, vb_mr_rkey(env.mr)), -EACCES);
	assert_int_equal(vb_mw_invalidate(qp->pd, qp->qpn, vb_mw_rkey(mw)), 0);
	assert_int_equal(vb_mw_invalidate(qp->pd, qp->qpn, vb_mw_rkey(mw)), -EACCES);
	assert_int_equal(reach(qp, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(bind_to(second, mw, vb_mr_lkey(env.mr), ENV_IOVA, 8, RW), VB_WC_SUCCESS);
	assert_int_equal(reach(second, mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), 0);
	env_close(&env);
}

/* A peer's address 0 is the first byte of the window. */
static void bind__type_2_zero_based(void **state)
{
	struct vb_mw *mw;
	uint8_t *p;

	(void)state;
	setup();
	mw = mw_new(2);
	assert_int_equal(bind(mw, ENV_IOVA + 100, 50, RW | VB_ACCESS_ZERO_BASED), VB_WC_SUCCESS);
	assert_int_equal(env_mem_remote(qp, vb_mw_rkey(mw), 0, 50, VB_ACCESS_REMOTE_WRITE, &p), 0);
	assert_ptr_equal(p, (uint8_t *)env.mem + 100);
	assert_int_equal(env_mem_remote(qp, vb_mw_rkey(mw), 49, 1, VB_ACCESS_REMOTE_WRITE, &p), 0);
	assert_ptr_equal(p, (uint8_t *)env.mem + 149);
	assert_int_equal(reach(qp, mw, 49, 2, VB_ACCESS_REMOTE_WRITE), -EACCES);
	assert_int_equal(reach(qp, mw, ENV_IOVA + 100, 1, VB_ACCESS_REMOTE_WRITE), -EACCES);
	env_close(&env);
}

static void region__with_windows_stays(void **state)
{
	struct vb_mw *mw;

	(void)state;
	setup();
	mw = mw_new(2);
	assert_int_equal(bind(mw, ENV_IOVA, 8, RW), VB_WC_SUCCESS);
	assert_int_equal(vb_mr_destroy(env.mr), -EBUSY);
	assert_int_equal(vb_mr_modify(env.mr, env.pd, ENV_ACCESS), -EBUSY);
	assert_int_equal(vb_mw_destroy(mw), 0);
	assert_int_equal(vb_mr_modify(env.mr, env.pd, ENV_ACCESS), 0);
	assert_int_equal(vb_mr_destroy(env.mr), 0);
	env_close(&env);
}

static struct vb_send_wr bind_wr(const struct vb_mw *mw, uint32_t flags)
{
	return (struct vb_send_wr){.wr_id = 2,
				   .opcode = VB_WR_BIND_MW,
				   .flags = VB_SEND_SIGNALED | flags,
				   .rkey = vb_mw_rkey(mw),
				   .imm = vb_mr_lkey(env.mr),
				   .remote_addr = ENV_IOVA,
				   .swap = 8,
				   .compare_add = (uint64_t)RW << 32 | 0x77};
}

/* In the send queue, binding and invalidating take their turn; a failure is a completion and ends
 * the QP. IBA 11.6.2 */
static void send_queue__binds_and_invalidates(void **state)
{
	struct vb_tx_batch b;
	struct vb_mw *mw;

	(void)state;
	setup();
	mw = mw_new(2);

	struct vb_send_wr wr = bind_wr(mw, 0);

	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).opcode, VB_WC_BIND_MW);
	wr = (struct vb_send_wr){.wr_id = 2,
				 .opcode = VB_WR_LOCAL_INV,
				 .flags = VB_SEND_SIGNALED,
				 .inv_rkey = vb_mw_rkey(mw)};
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	wr.wr_id = 3;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0); /* nothing is left to invalidate */
	wr.wr_id = 4;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).opcode, VB_WC_LOCAL_INV);
	(void)env_wc(&env, 3, VB_WC_MW_BIND_ERR);
	(void)env_wc(&env, 4, VB_WC_WR_FLUSH_ERR);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	env_close(&env);
}

/* Local work completes with the sends around it, in order, by one ACK for all. */
static void send_queue__local_work_among_sends(void **state)
{
	struct vb_tx_batch b;
	struct vb_mw *mw;

	(void)state;
	setup();
	mw = mw_new(2);

	struct vb_send_wr wr = bind_wr(mw, 0);
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(1),
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};

	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_send(&env, qp, 3, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[1]).psn.v, 1); /* local work takes no PSN */
	env_no_wc(&env);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	for (uint64_t i = 1; i <= 3; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_close(&env);
}

/* A fence keeps local work behind READs that are not answered; without one it does not wait.
 * IBA 10.8.3.3 */
static void send_queue__fenced_bind(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_RESP_ONLY,
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};
	struct vb_tx_batch b;

	(void)state;
	for (int fenced = 0; fenced < 2; fenced++) {
		struct vb_send_wr wr;
		struct vb_mw *mw;

		setup();
		mw = mw_new(2);
		wr = bind_wr(mw, fenced ? VB_SEND_FENCE : 0);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_READ, 8), 0);
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		assert_int_equal(env_send(&env, qp, 3, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), fenced ? 1 : 2);
		assert_int_equal(mw->mr != NULL, !fenced);
		h.dqpn = vb_qp_number(qp);
		assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), fenced ? 1 : 0);
		assert_non_null(mw->mr);
		(void)env_wc(&env, 1, VB_WC_SUCCESS);
		(void)env_wc(&env, 2, VB_WC_SUCCESS);
		env_close(&env);
	}
}

/* Requests that were sent are sent again in SQD too, past local work between, which runs once; the
 * queue is drained when all of them are acknowledged. IBT-34 */
static void send_queue__drains_past_local_work(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .en_sqd_async_notify = 1}, got;
	struct vb_tx_batch b;
	struct vb_send_wr wr;
	struct vb_mw *mw;

	(void)state;
	setup();
	mw = mw_new(2);
	wr = bind_wr(mw, 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_send(&env, qp, 3, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_EN_SQD_ASYNC_NOTIFY, 0), 0);
	assert_int_equal(env_send(&env, qp, 4, VB_WR_SEND, 8), 0);
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 2);
	vb_qp_query(qp, &got);
	assert_int_equal(got.sq_draining, 1);
	env_no_event(&env);

	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(1),
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};

	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	for (uint64_t i = 1; i <= 3; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_no_wc(&env);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_SQ_DRAINED);
	env_no_event(&env);
	vb_qp_query(qp, &got);
	assert_int_equal(got.sq_draining, 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* SEND with Invalidate ends the window at its last packet, and the completion names it. IBT-56 */
static void send_inv__ends_the_window(void **state)
{
	struct vb_qp *pair[2];
	struct vb_mw *mw;
	struct vb_wc wc;

	(void)state;
	setup();
	env_pair(&env, VB_QPT_RC, pair);
	mw = mw_new(2);
	assert_int_equal(bind_to(pair[1], mw, vb_mr_lkey(env.mr), ENV_IOVA, 8, RW), VB_WC_SUCCESS);

	struct vb_sge sge = env_sge(&env, 0, 1500); /* two packets */
	struct vb_send_wr wr = {.wr_id = 1,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND_INV,
				.flags = VB_SEND_SIGNALED,
				.inv_rkey = vb_mw_rkey(mw)};

	assert_int_equal(env_recv(&env, pair[1], 2, 2000), 0);
	assert_int_equal(env_recv(&env, pair[1], 3, 2000), 0);
	assert_int_equal(vb_qp_post_send(pair[0], &wr, 0), 0);
	env_loop(&env);
	wc = env_wc(&env, 2, VB_WC_SUCCESS);
	assert_int_equal(wc.flags, VB_WC_WITH_INV);
	assert_int_equal(wc.imm, vb_mw_rkey(mw));
	assert_int_equal(wc.byte_len, 1500);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(reach(pair[1], mw, ENV_IOVA, 8, VB_ACCESS_REMOTE_READ), -EACCES);
	env_close(&env);
}

/*
 * Nothing to invalidate: the message has arrived and is acknowledged, whether that was asked for or
 * not; the receive completes in error, and the responder's QP is in ERR. Class J, IBA 9.9.6.3
 */
static void send_inv__of_nothing(void **state)
{
	struct vb_qp *pair[2];

	(void)state;
	for (uint32_t signaled = 0; signaled < 2; signaled++) {
		struct vb_sge sge;

		setup();
		env_pair(&env, VB_QPT_RC, pair);
		sge = env_sge(&env, 0, 8);

		struct vb_send_wr wr = {.wr_id = 1,
					.sge = &sge,
					.sge_cnt = 1,
					.opcode = VB_WR_SEND_INV,
					.flags = signaled ? VB_SEND_SIGNALED : 0,
					.inv_rkey = 0x12345678};

		assert_int_equal(env_recv(&env, pair[1], 2, 64), 0);
		assert_int_equal(env_recv(&env, pair[1], 3, 64), 0);
		assert_int_equal(vb_qp_post_send(pair[0], &wr, 0), 0);
		env_loop(&env);
		(void)env_wc(&env, 2, VB_WC_REM_INV_REQ_ERR);
		(void)env_wc(&env, 3, VB_WC_WR_FLUSH_ERR);
		if (signaled)
			(void)env_wc(&env, 1, VB_WC_SUCCESS);
		assert_int_equal(vb_qp_get_state(pair[0]), VB_QPS_RTS);
		assert_int_equal(vb_qp_get_state(pair[1]), VB_QPS_ERR);
		/* The message has arrived: it counts. IBA 9.7.7.1 */
		assert_int_equal(pair[1]->resp.msn, 1);
		env_no_event(&env);
		assert_int_equal(env.counters.v[VB_COUNTER_resp_remote_access_errors], 0);
		assert_int_equal(env.counters.v[VB_COUNTER_req_remote_access_errors], 0);
		env_close(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mw_create__types),
	    cmocka_unit_test(bind__gives_what_it_says),
	    cmocka_unit_test(bind__refused),
	    cmocka_unit_test(bind__rights_that_windows_lack),
	    cmocka_unit_test(bind__type_1_again_and_empty),
	    cmocka_unit_test(bind__type_2_once_until_invalidated),
	    cmocka_unit_test(bind__type_2_zero_based),
	    cmocka_unit_test(region__with_windows_stays),
	    cmocka_unit_test(send_queue__binds_and_invalidates),
	    cmocka_unit_test(send_queue__local_work_among_sends),
	    cmocka_unit_test(send_queue__fenced_bind),
	    cmocka_unit_test(send_queue__drains_past_local_work),
	    cmocka_unit_test(send_inv__ends_the_window),
	    cmocka_unit_test(send_inv__of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
