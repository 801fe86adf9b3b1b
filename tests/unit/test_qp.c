/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs as objects: what may be created, which numbers they get, and that nothing remembers
 * one that is gone. IBA 10.2.3, 10.2.4; IBT-19, IBT-27, IBT-35, IBT-36, IBT-99
 */
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 256);
}

static int create(struct vb_qp_init init, struct vb_qp **qp)
{
	if (!init.send_cq)
		init.send_cq = env.cq;
	if (!init.recv_cq)
		init.recv_cq = env.cq;
	return vb_qp_create(env.pd, &init, qp);
}

static void qp_create__limits_are_exact(void **state)
{
	struct vb_limits *l = &env.cfg.limits;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	l->qp_wr = 8;
	l->sge = 3;
	l->inline_bytes = 16;
	env_open(&env, 16);

	const struct vb_qp_cap max = {8, 8, 3, 3, 16};
	const struct {
		struct vb_qp_cap cap;
		int rc;
	} c[] = {
	    {max, 0},
	    {{0, 0, 0, 0, 0}, 0},
	    {{9, 8, 3, 3, 16}, -EINVAL},
	    {{8, 9, 3, 3, 16}, -EINVAL},
	    {{8, 8, 4, 3, 16}, -EINVAL},
	    {{8, 8, 3, 4, 16}, -EINVAL},
	    {{8, 8, 3, 3, 17}, -EINVAL},
	    {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, -EINVAL},
	};

	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
		assert_int_equal(
		    create((struct vb_qp_init){.type = VB_QPT_RC, .cap = c[i].cap}, &qp), c[i].rc);
	env_close(&env);
}

/* A QP gets what it asks for, but a queue with WQEs has an SGE for them and takes as much inline
 * data as its SGEs take room, and a QP of an SRQ has no receive queue. */
static void qp_create__says_what_it_gives(void **state)
{
	static const struct {
		bool srq;
		struct vb_qp_cap asked, given;
	} c[] = {
	    {false, {5, 6, 2, 3, 33}, {5, 6, 2, 3, 33}},
	    {false, {5, 6, 2, 3, 31}, {5, 6, 2, 3, 32}},
	    {false, {5, 6, 0, 0, 0}, {5, 6, 1, 1, 16}},
	    {false, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}},
	    {true, {5, 6, 2, 3, 0}, {5, 0, 2, 0, 32}},
	    {true, {5, UINT32_MAX, 2, UINT32_MAX, 0}, {5, 0, 2, 0, 32}}, /* of no matter */
	};
	struct vb_qp_attr got;
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		struct vb_qp_init init = {.type = VB_QPT_RC,
					  .send_cq = env.cq,
					  .recv_cq = env.cq,
					  .srq = c[i].srq ? srq : NULL,
					  .cap = c[i].asked};

		assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
		assert_memory_equal(&init.cap, &c[i].given, sizeof init.cap);
		vb_qp_query(qp, &got);
		assert_memory_equal(&got.cap, &c[i].given, sizeof got.cap);
	}
	env_close(&env);
}

static void qp_create__types(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	for (unsigned t = 0; t <= VB_QPT_GSI; t++) {
		bool has = t == VB_QPT_RC || t == VB_QPT_UC || t == VB_QPT_UD;
		bool is_refused = t == VB_QPT_XRC_INI || t == VB_QPT_XRC_TGT || t == VB_QPT_GSI;

		/* The halves of XRC take no receive CQ; a QP1 has a port. */
		assert_int_equal(create((struct vb_qp_init){.type = (enum vb_qp_type)t}, &qp),
				 has          ? 0
				 : is_refused ? -EINVAL
					      : -EOPNOTSUPP);
		if (has)
			assert_int_equal(vb_qp_get_type(qp), t);
	}

	struct vb_qp_init init = {.type = VB_QPT_RC, .send_cq = env.cq};

	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	init = (struct vb_qp_init){.type = VB_QPT_RC, .recv_cq = env.cq};
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	/* A target of DC has an SRQ and no send queue, an initiator has no receive queue. */
	init = (struct vb_qp_init){.type = VB_QPT_DCT, .send_cq = env.cq, .recv_cq = env.cq};
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	init = (struct vb_qp_init){.type = VB_QPT_DCI, .send_cq = env.cq, .recv_cq = env.cq};
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	init = (struct vb_qp_init){.type = VB_QPT_DCI, .send_cq = env.cq, .dc.log_errored = 9};
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	env_close(&env);
}

/* Each queue completes to its own CQ. IBT-27 */
static void qp__two_queues_two_cqs(void **state)
{
	struct vb_qp *qp[2];
	struct vb_cq *recv;
	struct vb_wc wc;

	(void)state;
	setup();
	assert_int_equal(vb_cq_create(env.hca, 16, NULL, &recv), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(create((struct vb_qp_init){.type = VB_QPT_RC,
							    .recv_cq = recv,
							    .cap = {4, 4, 1, 1, 0}},
					&qp[i]),
				 0);
	for (int i = 0; i < 2; i++) {
		struct vb_qp_attr a = env_attr(1, vb_qp_number(qp[!i]));

		env_up(&env, qp[i], &a, VB_QPS_RTS);
	}
	assert_int_equal(env_recv(&env, qp[1], 7, 8), 0);
	assert_int_equal(env_send(&env, qp[0], 6, VB_WR_SEND, 8), 0);
	env_loop(&env);
	wc = env_wc(&env, 6, VB_WC_SUCCESS);
	assert_int_equal(wc.qpn, vb_qp_number(qp[0])); /* IBT-49 */
	assert_int_equal(wc.opcode, VB_WC_SEND);
	env_no_wc(&env);
	assert_int_equal(vb_cq_poll(recv, &wc, 1), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.qpn, vb_qp_number(qp[1]));
	assert_int_equal(wc.opcode, VB_WC_RECV);
	assert_true(vb_cq_is_empty(recv));
	/* One that goes takes what it has in both along. */
	assert_int_equal(env_recv(&env, qp[1], 9, 8), 0);
	assert_int_equal(env_send(&env, qp[1], 8, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_send(&env, qp[0], 6, VB_WR_SEND, 8), 0);
	env_loop(&env);
	assert_int_equal(vb_qp_destroy(qp[1]), 0);
	assert_true(vb_cq_is_empty(recv));
	(void)env_wc(&env, 6, VB_WC_SUCCESS);
	env_no_wc(&env);
	env_close(&env);
}

/* IBT-99: 24 bits, each one QP's; 0, 1 and 0xffffff are nobody's (IBT-19). */
static void qpn__space(void **state)
{
	enum { CNT = 40 };
	struct vb_qp *qp[CNT];

	(void)state;
	env_config(&env);
	env.cfg.qpn_first = 0xfffff0; /* wraps */
	env_open(&env, 16);
	for (uint32_t i = 0; i < CNT; i++) {
		uint32_t qpn;

		qp[i] = env_qp(&env, VB_QPT_UD, NULL);
		qpn = vb_qp_number(qp[i]);
		assert_true(qpn > 1 && qpn < 0xffffff);
		assert_ptr_equal(vb_qp_find(env.hca, qpn), qp[i]);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(qpn, vb_qp_number(qp[k]));
	}
	assert_int_equal(vb_qp_number(qp[15]), 2); /* 0xfffff0...0xfffffe, then on from 2 */
	assert_null(vb_qp_find(env.hca, 0));
	assert_null(vb_qp_find(env.hca, 1));
	assert_null(vb_qp_find(env.hca, 0xffffff));
	env_close(&env);
}

/* The processes of a host have every stride-th number; those of another find nobody. */
static void qpn__stride(void **state)
{
	struct vb_qp *qp[70];

	(void)state;
	env_config(&env);
	env.cfg.qpn_base = 5;
	env.cfg.qpn_stride = 256;
	env.cfg.qpn_first = 0xfff0;
	env.cfg.limits.qp = 70;
	env_open(&env, 16);
	for (uint32_t i = 0; i < 70; i++) {
		qp[i] = env_qp(&env, VB_QPT_UD, NULL);
		assert_int_equal(vb_qp_number(qp[i]) % 256, 5);
		assert_int_equal(vb_qp_number(qp[i]) >> 8, (0xfff0 + i) & 0xffff);
	}
	for (uint32_t i = 0; i < 70; i++) {
		assert_ptr_equal(vb_qp_find(env.hca, vb_qp_number(qp[i])), qp[i]);
		for (uint32_t d = 1; d < 256; d++)
			assert_null(vb_qp_find(env.hca, vb_qp_number(qp[i]) + d));
	}

	struct vb_qp *more;

	assert_int_equal(create((struct vb_qp_init){.type = VB_QPT_UD}, &more), -ENOMEM);
	/* CMP-21: a number that was freed comes again when all the others had their turn, but for
	 * those that would lie beside one in use: which no program does within a timewait. */
	assert_int_equal(vb_qp_destroy(qp[33]), 0);
	for (uint32_t i = 0;; i++) {
		assert_int_equal(create((struct vb_qp_init){.type = VB_QPT_UD}, &more), 0);
		if (vb_qp_number(more) >> 8 == ((0xfff0 + 33) & 0xffff)) {
			assert_true(i > 0x10000 / 4);
			break;
		}
		assert_int_equal(vb_qp_destroy(more), 0);
	}
	env_close(&env);
}

/* A QP with everything under way: requests sent and waiting, responses to send, a receive half
 * filled, timers, an event, completions. */
static struct vb_qp *busy_qp(void)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	uint32_t qpn = vb_qp_number(qp);
	struct vb_hdr read = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			      .dqpn = qpn,
			      .reth = {ENV_IOVA, vb_mr_rkey(env.mr), 4096}};
	struct vb_hdr first = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_SEND_FIRST, .dqpn = qpn, .psn = vb_psn(4)};

	assert_int_equal(env_recv(&env, qp, 1, 4000), 0);
	assert_int_equal(env_recv(&env, qp, 2, 4000), 0);
	for (uint64_t i = 10; i < 14; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_READ, 16), 0);
	assert_int_equal(env_send(&env, qp, 14, VB_WR_SEND, 4000), 0);
	assert_int_equal(env_tx(&env, &b), 8);
	assert_int_equal(env_send(&env, qp, 15, VB_WR_SEND, 4000), 0);
	assert_int_equal(env_rx(&env, 2, &read, 0), VB_VERDICT_OK);
	assert_int_equal(env_rx(&env, 2, &first, 1024), VB_VERDICT_OK);
	vb_cq_arm(env.cq, false);
	return qp;
}

static void destroy__with_work_outstanding(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK};
	struct vb_qp *qp;

	(void)state;
	setup();
	for (int i = 0; i < 3; i++) {
		uint32_t blocks = env.blocks;

		qp = busy_qp();
		h.dqpn = vb_qp_number(qp);
		if (i == 1) /* its completions and its event go too */
			assert_int_equal(vb_qp_modify(qp,
						      &(struct vb_qp_attr){.qp_state = VB_QPS_ERR},
						      VB_QP_STATE, 0),
					 0);
		assert_int_equal(vb_qp_destroy(qp), 0);
		/* The tables of QPs, timers and peers came with the first. */
		assert_int_equal(env.blocks, blocks + (i == 0 ? 3 : 0));
		env_no_wc(&env);
		assert_int_equal(env_tx(&env, &b), 0);
		assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_QPN);
		assert_int_equal(env.hca->peer_cnt, 0);
		while (vb_hca_poll_event(env.hca, &(struct vb_event){0}))
			continue;
	}
	env_close(&env);
}

/* RESET forgets as thoroughly, and the QP starts anew. IBT-36 */
static void reset__with_work_outstanding(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21), got, fresh;
	struct vb_qp *qp;

	(void)state;
	setup();
	vb_qp_query(env_qp(&env, VB_QPT_RC, NULL), &fresh);
	qp = busy_qp();
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
	env_no_wc(&env);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
	vb_qp_query(qp, &got);
	assert_memory_equal(&got, &fresh, sizeof got);
	a.sq_psn = 77;
	a.rq_psn = 88;
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(vb_qp_send_room(qp), 16);
	for (uint64_t i = 0; i < 16; i++) /* the receives are forgotten too */
		assert_int_equal(env_recv(&env, qp, i, 8), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, 77);
	env_close(&env);
}

/* A register's value for the QP alone ends with RESET; then the adapter's holds. REG-18 */
static void reset__extended_retry_count(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_cc_access at;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	vb_qp_cc_open(qp, &at);
	assert_int_equal(at.extended_retry_count, 0);
	at.extended_retry_count = 5;
	vb_qp_cc_close(qp, &at);
	/* Other steps leave it alone. */
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	vb_qp_cc_open(qp, &at);
	assert_int_equal(at.extended_retry_count, 5);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
	env_up(&env, qp, &a, VB_QPS_RTS);
	vb_qp_cc_open(qp, &at);
	assert_int_equal(at.extended_retry_count, 0);
	env_close(&env);
}

/* Before RTR and after an error a QP has no controller, and registers are told so. REG-18 */
static void cc_open__runs(void **state)
{
	static const enum vb_qp_state path[] = {VB_QPS_INIT, VB_QPS_RTR, VB_QPS_RTS,
						VB_QPS_SQD,  VB_QPS_ERR, VB_QPS_RESET};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_cc_access at;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
		assert_int_equal(env_modify(&env, qp, &a, path[i]), 0);
		vb_qp_cc_open(qp, &at);
		assert_int_equal(at.state, path[i]);
		assert_int_equal(at.runs, i >= 1 && i <= 3);
	}
	env_close(&env);
}

/* A QP that waited for a timer, or for credits, waits for nothing after RESET. */
static void reset__of_one_that_waits(void **state)
{
	static const uint8_t syndromes[] = {VB_SYNDROME_RNR | 20, VB_SYNDROME_ACK | 0};

	(void)state;
	for (size_t i = 0; i < sizeof syndromes; i++) {
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .aeth.syndrome = syndromes[i]};
		struct vb_qp *qp;

		setup();
		qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
		h.dqpn = vb_qp_number(qp);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
		env_up(&env, qp, &a, VB_QPS_RTS);
		for (uint64_t k = 0; k < 3; k++)
			assert_int_equal(env_send(&env, qp, k, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 3);
		env_close(&env);
	}
}

/* The events of a QP go with it. */
static void destroy__takes_its_events(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	qp = env_qp(&env, VB_QPT_RC, srq);
	env_up(&env, qp, &a, VB_QPS_INIT);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_ERR), 0); /* the last WQE is reached */
	assert_int_equal(vb_qp_destroy(qp), 0);
	env_no_event(&env);
	env_close(&env);
}

/* ERR completes everything: sends in order, receives in order, the half filled one first. IBT-57 */
static void err__flushes_in_order(void **state)
{
	struct vb_wc wc[16];
	struct vb_qp *qp;
	int n;

	(void)state;
	setup();
	qp = busy_qp();
	assert_int_equal(
	    vb_qp_modify(qp, &(struct vb_qp_attr){.qp_state = VB_QPS_ERR}, VB_QP_STATE, 0), 0);
	n = vb_cq_poll(env.cq, wc, 16);
	assert_int_equal(n, 8);

	uint64_t send = 10, recv = 1;

	for (int i = 0; i < n; i++) {
		assert_int_equal(wc[i].status, VB_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].qpn, vb_qp_number(qp));
		assert_int_equal(wc[i].wr_id, wc[i].wr_id < 10 ? recv++ : send++);
	}
	assert_int_equal(send, 16);
	assert_int_equal(recv, 3);
	assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_flush_error], 6);
	assert_int_equal(env.counters.v[VB_COUNTER_resp_cqe_flush_error], 2);
	assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_error], 0);
	assert_int_equal(env.counters.v[VB_COUNTER_resp_cqe_error], 0);
	/* No timer speaks again. */
	vb_hca_handle_timeout(env.hca, 1000 * VB_SEC);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
	assert_int_equal(env_tx(&env, &b), 0);
	env_no_wc(&env);
	env_close(&env);
}

/* Destroying the adapter takes everything left in it. */
static void hca_destroy__takes_all(void **state)
{
	struct vb_srq *srq;
	struct vb_mw *mw;

	(void)state;
	setup();
	(void)busy_qp();
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	(void)env_qp(&env, VB_QPT_UD, srq);
	assert_int_equal(vb_mw_create(env.pd, 2, &mw), 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(qp_create__limits_are_exact),
	    cmocka_unit_test(qp_create__says_what_it_gives),
	    cmocka_unit_test(qp_create__types),
	    cmocka_unit_test(qp__two_queues_two_cqs),
	    cmocka_unit_test(qpn__space),
	    cmocka_unit_test(qpn__stride),
	    cmocka_unit_test(destroy__with_work_outstanding),
	    cmocka_unit_test(reset__with_work_outstanding),
	    cmocka_unit_test(reset__extended_retry_count),
	    cmocka_unit_test(cc_open__runs),
	    cmocka_unit_test(reset__of_one_that_waits),
	    cmocka_unit_test(destroy__takes_its_events),
	    cmocka_unit_test(err__flushes_in_order),
	    cmocka_unit_test(hca_destroy__takes_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
