/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NAKs and gaps as the requester of a reliable connection takes them: by which it goes back and
 * sends again, and by which it ends. core/rc/comp.c; IBA 9.7.5.2
 */
#include "rc_env.h"

static enum vb_verdict response(struct vb_qp *qp, uint8_t op, uint32_t psn, uint8_t syndrome,
				uint32_t len)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | op,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .aeth.syndrome = syndrome};

	return env_rx(&env, 2, &h, len);
}

static void time_passes(const struct vb_qp *qp)
{
	env.now = qp->timer[VB_TIMER_ACK];
	assert_true(env.now != VB_NEVER);
	vb_hca_handle_timeout(env.hca, env.now);
}

/* A request that a READ response acknowledges before a gap is progress: the gap is a new one, after
 * which sending goes back again. IBA 9.7.5.2.3 */
static void implied_nak__behind_progress(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 0, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_READ, 8), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_READ, 8), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	time_passes(qp);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(response(qp, VB_OP_READ_RESP_ONLY, 2, 31, 8), VB_VERDICT_OK);
	(void)env_wc(&env, 0, VB_WC_SUCCESS);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, 1);
	env_close(&env);
}

/* A NAK that a READ without its response stands before. A fatal one ends the QP at once, by its own
 * reason, for the responder is in ERR and will not answer the READ: the READ is the oldest, and
 * fails. One that asks for packets again, or to wait, says that the READ's response was lost, and
 * sending goes back to the READ. IBA 9.7.5.2.1 */
static void nak__behind_an_unanswered_read(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum vb_wc_status status; /* VB_WC_SUCCESS: sent again */
		unsigned counter;         /* VB_COUNTER_CNT: none */
	} rows[] = {
	    {VB_NAK_PSN_SEQ, VB_WC_SUCCESS, VB_COUNTER_implied_nak_seq_err},
	    {VB_SYNDROME_RNR | 1, VB_WC_SUCCESS, VB_COUNTER_implied_nak_seq_err},
	    {VB_NAK_INVALID_REQUEST, VB_WC_REM_INV_REQ_ERR, VB_COUNTER_req_remote_invalid_request},
	    {VB_NAK_REMOTE_ACCESS, VB_WC_REM_ACCESS_ERR, VB_COUNTER_req_remote_access_errors},
	    {VB_NAK_REMOTE_OP, VB_WC_REM_OP_ERR, VB_COUNTER_CNT},
	    {VB_NAK_INVALID_RD, VB_WC_REM_INV_RD_REQ_ERR, VB_COUNTER_CNT},
	    {VB_NAK_INVALID_RD + 1, VB_WC_BAD_RESP_ERR, VB_COUNTER_CNT},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
		enum vb_wc_status status = rows[i / 2].status;
		bool is_atomic = i % 2;
		struct vb_qp *qp;

		setup();
		qp = rts(0, 0, 4);
		assert_int_equal(
		    env_send(&env, qp, 1, is_atomic ? VB_WR_FETCH_ADD : VB_WR_RDMA_READ, 8), 0);
		assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_WRITE, 8), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		assert_int_equal(response(qp, VB_OP_ACK, 1, rows[i / 2].syndrome, 0),
				 VB_VERDICT_OK);
		assert_int_equal(env.counters.v[VB_COUNTER_implied_nak_seq_err],
				 status == VB_WC_SUCCESS);
		if (rows[i / 2].counter != VB_COUNTER_CNT)
			assert_int_equal(env.counters.v[rows[i / 2].counter], 1);
		if (status != VB_WC_SUCCESS) {
			(void)env_wc(&env, 1, status);
			(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
			assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
			assert_int_equal(env_tx(&env, &b), 0);
		} else {
			env_no_wc(&env);
			assert_int_equal(env_tx(&env, &b), 2);
			assert_int_equal(env_hdr(&b.pkt[0]).psn.v, 0);
		}
		env_close(&env);
	}
}

/* A NAK that arrives when everything is to be sent again anyway costs no retry. IBA 9.7.5.2.1 */
static void nak__behind_a_timeout(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	a.retry_cnt = 1;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	time_passes(qp); /* the one retry */
	assert_int_equal(response(qp, VB_OP_ACK, 0, VB_NAK_PSN_SEQ, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(response(qp, VB_OP_ACK, 0, 31, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* A NAK behind a time in which this process did not run is followed by a retransmission, whatever
 * was spent; any other NAK without a retry is the end. core/recover/rto.h */
static void nak__behind_a_wake_up(void **state)
{
	(void)state;
	for (int slept = 0; slept < 2; slept++) {
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_qp *qp;

		setup();
		a.retry_cnt = 0;
		qp = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp, &a, VB_QPS_RTS);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		if (slept)
			vb_hca_add_gap(env.hca, VB_SEC);
		env.now = VB_SEC;
		assert_int_equal(response(qp, VB_OP_ACK, 0, VB_NAK_PSN_SEQ, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), slept);
		if (slept)
			env_no_wc(&env);
		else
			(void)env_wc(&env, 1, VB_WC_RETRY_EXC_ERR);
		env_close(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(implied_nak__behind_progress),
	    cmocka_unit_test(nak__behind_an_unanswered_read),
	    cmocka_unit_test(nak__behind_a_timeout),
	    cmocka_unit_test(nak__behind_a_wake_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
