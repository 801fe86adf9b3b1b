/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places of queues are counted without end, and the count wraps as PSNs do: work that is lost
 * around either wrap is sent again and completes once, in its order. IBA 9.7.2, 10.8.2
 */
#include "core/selective/selective.h"
#include "core_env.h"

#define WORKS 12u
#define LEN 3000u

static struct env env;
static uint32_t sent; /* packets so far */

/* Packet @tx arrives at the adapter that sent it. */
static void packet_arrives(const struct vb_tx *tx)
{
	uint8_t pkt[VB_HDR_MAX + 4096 + 3] = {0};
	struct vb_path path = *tx->path;
	uint32_t len = tx->hdr_len;

	memcpy(pkt, tx->hdr, tx->hdr_len);
	for (uint32_t k = 0; k < tx->seg_cnt; k++) {
		memcpy(pkt + len, tx->seg[k].p, tx->seg[k].len);
		len += tx->seg[k].len;
	}
	len += tx->pad;

	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
}

/* Runs until @cnt works are complete; of the first 30 packets every @lost-th does not arrive. */
static void run_with_loss(struct vb_cq *cq, uint32_t cnt, uint32_t lost)
{
	static struct vb_tx_batch b;

	while (vb_cq_tail(cq) - vb_cq_head(cq) < cnt) {
		if (env_tx(&env, &b) == 0) {
			env.now = vb_hca_poll_timeout(env.hca);
			assert_true(env.now != VB_NEVER);
			vb_hca_handle_timeout(env.hca, env.now);
			continue;
		}
		for (uint32_t i = 0; i < b.cnt; i++) {
			if (++sent > 30 || sent % lost)
				packet_arrives(&b.pkt[i]);
		}
	}
}

/* A QP towards @dqpn of this adapter whose PSNs and places are about to wrap. */
static void up(struct vb_qp *qp, uint32_t dqpn)
{
	struct vb_qp_attr a = env_attr(1, dqpn);

	a.sq_psn = a.rq_psn = 0xfffff8;
	env_up(&env, qp, &a, VB_QPS_RTS);
	qp->sq.head = qp->sq.nxt = qp->sq.tail = UINT32_MAX - 4;
	qp->rq.head = qp->rq.tail = UINT32_MAX - 2;
}

static void exchange(bool selective, uint32_t lost)
{
	struct vb_qp *qp[2];
	struct vb_cq *cq;
	struct vb_wc wc;

	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = selective;
	env_open(&env, 64);
	sent = 0;
	qp[0] = env_qp(&env, VB_QPT_RC, NULL);
	cq = env.cq;
	assert_int_equal(vb_cq_create(env.hca, 64, NULL, &env.cq), 0);
	qp[1] = env_qp(&env, VB_QPT_RC, NULL);
	up(qp[0], vb_qp_number(qp[1]));
	up(qp[1], vb_qp_number(qp[0]));
	for (uint32_t i = 0; i < WORKS; i++) {
		enum vb_wr_opcode op = i % 3 == 2   ? VB_WR_RDMA_READ
				       : i % 3 == 1 ? VB_WR_RDMA_WRITE
						    : VB_WR_SEND;

		if (op == VB_WR_SEND)
			assert_int_equal(env_recv(&env, qp[1], i, 4096), 0);
		assert_int_equal(env_send(&env, qp[0], i, op, LEN), 0);
	}
	run_with_loss(cq, WORKS, lost);
	for (uint32_t i = 0; i < WORKS; i++) {
		assert_int_equal(vb_cq_poll(cq, &wc, 1), 1);
		assert_int_equal(wc.status, VB_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
	}
	for (uint32_t i = 0; i < WORKS; i += 3)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_no_wc(&env);
	assert_int_equal(qp[0]->sq.head, UINT32_MAX - 4 + WORKS);
	assert_int_equal(qp[1]->rq.head, UINT32_MAX - 2 + WORKS / 3);
	env_close(&env);
}

/* Any packet may be lost, and either way recovers it. */
static void works__around_the_wrap(void **state)
{
	(void)state;
	for (uint32_t lost = 2; lost < 12; lost++) {
		exchange(false, lost);
		exchange(true, lost);
	}
}

/* Work that fails is followed by that which was posted after it, to the last. */
static void works__flushed_around_the_wrap(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	up(qp, 0x33);
	for (uint32_t i = 0; i < WORKS; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 8), 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(env_recv(&env, qp, 100 + i, 8), 0);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	for (uint32_t i = 0; i < WORKS; i++)
		(void)env_wc(&env, i, VB_WC_WR_FLUSH_ERR);
	for (uint32_t i = 0; i < 8; i++)
		(void)env_wc(&env, 100 + i, VB_WC_WR_FLUSH_ERR);
	env_no_wc(&env);
	env_close(&env);
}

/* Receives of an SRQ keep their order when it gets another size. */
static void srq__resized_around_the_wrap(void **state)
{
	struct vb_recv_wr wr = {0};
	struct vb_srq *srq;

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 8, 1, 0, NULL, &srq), 0);
	srq->rq.head = srq->rq.tail = UINT32_MAX - 1;
	for (wr.wr_id = 0; wr.wr_id < 5; wr.wr_id++)
		assert_int_equal(vb_srq_post(srq, &wr), 0);
	assert_int_equal(vb_srq_resize(srq, 4), -EINVAL);
	assert_int_equal(vb_srq_resize(srq, 5), 0);
	assert_int_equal(vb_srq_post(srq, &wr), -ENOMEM);
	assert_int_equal(vb_srq_resize(srq, 32), 0);
	assert_int_equal(vb_srq_post(srq, &wr), 0);
	for (uint64_t i = 0; i < 6; i++) {
		const struct vb_rwqe *w = vb_rq_peek(&srq->rq);

		assert_non_null(w);
		assert_int_equal(w->wr_id, i);
		vb_rq_consume(env.hca, &srq->rq, srq);
	}
	assert_null(vb_rq_peek(&srq->rq));
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(works__around_the_wrap),
	    cmocka_unit_test(works__flushed_around_the_wrap),
	    cmocka_unit_test(srq__resized_around_the_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
