/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues and shared ones: capacity, order, limits, resizing. IBA 10.2.9, IBT-30, IBT-43 */
#include "core/xrc/xrc.h"
#include "core_env.h"

static struct env env;

static void setup(void)
{
	env_config(&env);
	env.cfg.limits.srq_wr = 16;
	env.cfg.limits.srq = 2;
	env.cfg.limits.sge = 4;
	env_open(&env, 64);
}

static struct vb_srq *srq_new(uint32_t wr, uint32_t sge, uint32_t limit)
{
	struct vb_srq *srq;

	assert_int_equal(vb_srq_create(env.pd, wr, sge, limit, &env, &srq), 0);
	return srq;
}

static int srq_post(struct vb_srq *srq, uint64_t wr_id, uint32_t sge_cnt)
{
	struct vb_sge sge[5];

	for (uint32_t i = 0; i < 5; i++)
		sge[i] = env_sge(&env, i * 8, 8);
	return vb_srq_post(srq, &(struct vb_recv_wr){wr_id, sge, sge_cnt});
}

/* A SEND of @len bytes arrives at @qp. */
static enum vb_verdict arrives(struct vb_qp *qp, uint32_t psn, uint32_t len)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn)};

	return env_rx(&env, 2, &h, len);
}

static struct vb_qp *rtr(struct vb_srq *srq)
{
	struct vb_qp *qp = env_qp(&env, VB_QPT_RC, srq);
	struct vb_qp_attr a = env_attr(2, 0x21);

	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static void post_recv__until_full(void **state)
{
	struct vb_sge sge[5] = {{0}};
	struct vb_qp *qp;

	(void)state;
	setup();
	for (uint32_t wr_max = 0; wr_max <= 9; wr_max++) {
		qp = env_qp_cap(&env, VB_QPT_RC, NULL,
				(struct vb_qp_cap){.max_recv_wr = wr_max, .max_recv_sge = 3});

		struct vb_qp_attr a = env_attr(2, 0x21);
		const struct vb_recv_wr too_many = {.sge = sge, .sge_cnt = 4};
		const struct vb_recv_wr wr = {.wr_id = 7, .sge = sge, .sge_cnt = 3};

		assert_int_equal(vb_qp_post_recv(qp, &wr, 0), -EINVAL); /* RESET */
		env_up(&env, qp, &a, VB_QPS_INIT);
		assert_int_equal(vb_qp_post_recv(qp, &too_many, 0), -EINVAL);
		for (uint32_t i = 0; i < wr_max; i++)
			assert_int_equal(vb_qp_post_recv(qp, &wr, 0), 0);
		assert_int_equal(vb_qp_post_recv(qp, &wr, 0), -ENOMEM);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* A receive WQE with room for the message to the byte, and with one byte less. IBT-43 */
static void receive__fits_exactly(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	for (uint32_t len = 0; len <= 16; len++) {
		qp = rtr(NULL);
		assert_int_equal(env_recv(&env, qp, 1, len), 0);
		assert_int_equal(arrives(qp, 0, len), VB_VERDICT_OK);
		assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).byte_len, len);
		assert_int_equal(env_recv(&env, qp, 2, len), 0);
		assert_int_equal(env_recv(&env, qp, 3, 64), 0);
		assert_int_equal(arrives(qp, 1, len + 1), VB_VERDICT_LENGTH);
		(void)env_wc(&env, 2, VB_WC_LOC_LEN_ERR);
		assert_int_equal(env.counters.v[VB_COUNTER_resp_cqe_error], len + 1);
		assert_int_equal(env.counters.v[VB_COUNTER_resp_local_length_error], len + 1);
		(void)env_wc(&env, 3, VB_WC_WR_FLUSH_ERR);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* A slot that is used again knows nothing of what it held. */
static void receive__slot_is_used_again(void **state)
{
	struct vb_qp_cap cap = {.max_recv_wr = 1, .max_recv_sge = 2};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp_cap(&env, VB_QPT_RC, NULL, cap);
	env_up(&env, qp, &a, VB_QPS_RTS);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(env_recv(&env, qp, i, 64), 0);
		assert_int_equal(arrives(qp, i, 64), VB_VERDICT_OK);
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	}
	assert_int_equal(env_recv(&env, qp, 4, 8), 0);
	assert_int_equal(arrives(qp, 3, 9), VB_VERDICT_LENGTH);
	(void)env_wc(&env, 4, VB_WC_LOC_LEN_ERR);
	env_close(&env);
}

static void srq_create__limits(void **state)
{
	struct vb_srq *srq, *second;
	uint32_t wr, sge, limit;

	(void)state;
	setup();
	assert_int_equal(vb_srq_create(env.pd, 0, 1, 0, NULL, &srq), -EINVAL);
	assert_int_equal(vb_srq_create(env.pd, 17, 1, 0, NULL, &srq), -EINVAL);
	assert_int_equal(vb_srq_create(env.pd, 16, 5, 0, NULL, &srq), -EINVAL);
	assert_int_equal(vb_srq_create(env.pd, 16, 4, 17, NULL, &srq), -EINVAL);
	srq = srq_new(16, 4, 16);
	vb_srq_query(srq, &wr, &sge, &limit);
	assert_true(wr == 16 && sge == 4 && limit == 16);
	second = srq_new(1, 0, 0);
	assert_int_not_equal(vb_srq_number(srq), vb_srq_number(second));
	assert_int_equal(vb_srq_create(env.pd, 1, 1, 0, NULL, &second), -ENOMEM);
	assert_int_equal(vb_srq_set_limit(srq, 17), -EINVAL);
	assert_int_equal(vb_srq_resize(srq, 16), 0); /* its limit, and the adapter's */
	assert_int_equal(vb_srq_set_limit(srq, 0), 0);
	assert_int_equal(vb_srq_destroy(srq), 0);
	assert_int_equal(vb_srq_create(env.pd, 1, 1, 0, NULL, &srq), 0);
	env_close(&env);
}

static void srq__is_shared_in_order(void **state)
{
	struct vb_qp *a, *b;
	struct vb_srq *srq;

	(void)state;
	setup();
	srq = srq_new(3, 4, 0);
	a = rtr(srq);
	b = rtr(srq);
	assert_int_equal(srq_post(srq, 1, 5), -EINVAL);
	assert_int_equal(srq_post(srq, 1, 1), 0);
	assert_int_equal(srq_post(srq, 2, 4), 0);
	assert_int_equal(srq_post(srq, 3, 0), 0);
	assert_int_equal(srq_post(srq, 4, 1), -ENOMEM);
	assert_int_equal(vb_qp_post_recv(a, &(struct vb_recv_wr){0}, 0), -EINVAL);
	assert_int_equal(arrives(b, 0, 8), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).qpn, vb_qp_number(b));
	assert_int_equal(arrives(a, 0, 32), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).qpn, vb_qp_number(a));
	assert_int_equal(arrives(a, 1, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 3, VB_WC_SUCCESS);
	assert_int_equal(arrives(a, 2, 0), VB_VERDICT_NO_RECV_WQE); /* RNR. IBT-77 */
	/* Receives that one QP's end leaves in the queue are the others'. */
	assert_int_equal(srq_post(srq, 5, 1), 0);
	assert_int_equal(
	    vb_qp_modify(a, &(struct vb_qp_attr){.qp_state = VB_QPS_ERR}, VB_QP_STATE, 0), 0);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_LAST_WQE_REACHED);
	env_no_event(&env);
	env_no_wc(&env);
	assert_int_equal(arrives(b, 1, 8), VB_VERDICT_OK);
	(void)env_wc(&env, 5, VB_WC_SUCCESS);
	env_close(&env);
}

/* Once for each arming, when fewer than the limit are left. */
static void srq__limit_event(void **state)
{
	struct vb_qp *qp;
	struct vb_srq *srq;
	struct vb_qp_view view;
	uint32_t wr, sge, limit;

	(void)state;
	setup();
	srq = srq_new(8, 1, 2);
	qp = rtr(srq);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(srq_post(srq, i, 1), 0);
	/* The receives of the QP are the SRQ's. */
	assert_true(vb_hca_view(env.hca, vb_qp_number(qp), env.now, &view));
	assert_true(view.is_srq && view.recvs == 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(arrives(qp, i, 8), VB_VERDICT_OK);
	env_no_event(&env); /* two are left */
	assert_int_equal(arrives(qp, 3, 8), VB_VERDICT_OK);
	env_event(&env, VB_EVENT_ASYNC_SRQ, VB_ASYNC_SRQ_LIMIT_REACHED);
	vb_srq_query(srq, &wr, &sge, &limit);
	assert_int_equal(limit, 0);
	assert_int_equal(arrives(qp, 4, 8), VB_VERDICT_OK);
	env_no_event(&env);
	/* Armed anew, the next that is taken tells. */
	assert_int_equal(srq_post(srq, 9, 1), 0);
	assert_int_equal(vb_srq_set_limit(srq, 8), 0);
	env_no_event(&env);
	assert_int_equal(arrives(qp, 5, 8), VB_VERDICT_OK);
	env_event(&env, VB_EVENT_ASYNC_SRQ, VB_ASYNC_SRQ_LIMIT_REACHED);
	env_no_event(&env);
	/* The event of one that is gone went with it. */
	assert_int_equal(srq_post(srq, 10, 1), 0);
	assert_int_equal(vb_srq_set_limit(srq, 8), 0);
	assert_int_equal(arrives(qp, 6, 8), VB_VERDICT_OK);
	assert_int_equal(vb_qp_destroy(qp), 0);
	assert_int_equal(vb_srq_destroy(srq), 0);
	env_no_event(&env);
	env_close(&env);
}

static void srq_resize__keeps_what_is_posted(void **state)
{
	struct vb_qp *qp;
	struct vb_srq *srq;

	(void)state;
	setup();
	srq = srq_new(4, 2, 0);
	qp = rtr(srq);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(srq_post(srq, i, 2), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(arrives(qp, i, 8), VB_VERDICT_OK);
	for (uint64_t i = 3; i < 6; i++) /* around the end of the ring */
		assert_int_equal(srq_post(srq, i, 2), 0);
	assert_int_equal(vb_srq_resize(srq, 0), -EINVAL);
	assert_int_equal(vb_srq_resize(srq, 17), -EINVAL);
	assert_int_equal(vb_srq_set_limit(srq, 0), 0);
	assert_int_equal(vb_srq_resize(srq, 3), -EINVAL);              /* four are in it */
	assert_int_equal(vb_srq_resize(srq_new(4, 1, 4), 3), -EINVAL); /* below its limit */
	assert_int_equal(vb_srq_resize(srq, 4), 0);
	assert_int_equal(vb_srq_resize(srq, 5), 0);
	assert_int_equal(srq_post(srq, 6, 2), 0);
	assert_int_equal(srq_post(srq, 7, 2), -ENOMEM);
	for (uint32_t i = 2; i < 7; i++)
		assert_int_equal(arrives(qp, i, 16), VB_VERDICT_OK);
	for (uint64_t i = 0; i < 7; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_no_wc(&env);
	env_close(&env);
}

/* A QP takes an SRQ of any PD, in which the keys of its receives are then. IBT-82; IBA 10.2.9 */
static void srq__in_use_and_of_another_domain(void **state)
{
	struct vb_srq *srq;
	struct vb_pd *other;
	struct vb_qp *qp;

	(void)state;
	setup();
	srq = srq_new(4, 1, 0);
	qp = rtr(srq);
	assert_int_equal(vb_srq_destroy(srq), -EBUSY);
	assert_int_equal(vb_qp_destroy(qp), 0);
	assert_int_equal(vb_srq_destroy(srq), 0);
	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	assert_int_equal(vb_srq_create(other, 4, 1, 0, NULL, &srq), 0);

	struct vb_qp_init init = {
	    .type = VB_QPT_RC, .send_cq = env.cq, .recv_cq = env.cq, .srq = srq};

	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	assert_int_equal(vb_pd_destroy(other), -EBUSY);
	assert_int_equal(vb_qp_destroy(qp), 0);
	assert_int_equal(vb_srq_destroy(srq), 0);
	assert_int_equal(vb_pd_destroy(other), 0);
	env_close(&env);
}

/* Each SRQ of XRC has a number of its own, which is not 0; one that was freed comes again when all
 * others had their turn, and nobody gets one that is in use. IBA A14 */
static void xrc_srq__numbers(void **state)
{
	enum { NUMBERS = 32 };
	const struct vb_srq_cap cap = {.wr_max = 1, .sge_max = 1};
	struct vb_srq *s[NUMBERS] = {NULL}, *by_number[NUMBERS] = {NULL};
	struct vb_xrcd *x;
	uint32_t k;

	(void)state;
	env_config(&env);
	env.cfg.qpn_stride = (1u << 24) / NUMBERS;
	env_open(&env, 16);
	assert_int_equal(vb_xrcd_create(env.hca, &x), 0);
	for (uint32_t i = 1; i < NUMBERS; i++) {
		assert_int_equal(vb_xrc_srq_create(env.pd, x, env.cq, &cap, NULL, &s[i]), 0);
		k = vb_srq_number(s[i]) / env.cfg.qpn_stride;
		assert_uint_in_range(k, 1, NUMBERS - 1);
		assert_null(by_number[k]);
		by_number[k] = s[i];
	}
	assert_int_equal(vb_xrc_srq_create(env.pd, x, env.cq, &cap, NULL, &s[0]), -ENOMEM);
	k = vb_srq_number(s[7]);
	assert_int_equal(vb_srq_destroy(s[7]), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, x, env.cq, &cap, NULL, &s[7]), 0);
	assert_int_equal(vb_srq_number(s[7]), k);
	env_close(&env);
}

/* The SGEs of a receive may be 4 GiB and more together: it has room for any message. */
static void receive__of_4_gib(void **state)
{
	struct vb_mr_attr a = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY};
	struct vb_sge sge[2] = {{0, 1u << 31, 0}, {0, 1u << 31, 0}};
	struct vb_mr *nowhere;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	assert_int_equal(vb_mr_create(env.pd, &a, &nowhere), 0);
	sge[0].lkey = sge[1].lkey = vb_mr_lkey(nowhere);
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(vb_qp_post_recv(qp, &(struct vb_recv_wr){1, sge, 2}, 0), 0);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).byte_len, 8);
	env_close(&env);
}

/* An SRQ with an armed limit does not become smaller than that. ibv_modify_srq(3) */
static void srq_resize__not_below_the_limit(void **state)
{
	uint32_t wr_max, sge_max, limit;
	struct vb_srq *srq;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	assert_int_equal(vb_srq_create(env.pd, 8, 1, 5, NULL, &srq), 0);
	assert_int_equal(vb_srq_resize(srq, 4), -EINVAL);
	vb_srq_query(srq, &wr_max, &sge_max, &limit);
	assert_true(wr_max == 8 && limit == 5);
	assert_int_equal(vb_srq_resize(srq, 5), 0);
	assert_int_equal(vb_srq_set_limit(srq, 6), -EINVAL);
	assert_int_equal(vb_srq_set_limit(srq, 0), 0);
	assert_int_equal(vb_srq_resize(srq, 4), 0);
	env_close(&env);
}

/* Each XRC SRQ is found by its number, however many have come since. IBA A14.2 */
static void xrc_srq__found_among_many(void **state)
{
	enum { CNT = 40 }; /* the table grows more than once */
	const struct vb_srq_cap cap = {.wr_max = 1, .sge_max = 1};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	struct vb_srq *s[CNT];
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	assert_int_equal(vb_xrcd_create(env.hca, &init.xrcd), 0);
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	for (int i = 0; i < CNT; i++)
		assert_int_equal(vb_xrc_srq_create(env.pd, init.xrcd, env.cq, &cap, NULL, &s[i]),
				 0);
	for (int i = 0; i < CNT; i++)
		assert_ptr_equal(vb_xrc_pd(qp, vb_srq_number(s[i])), env.pd);
	env_close(&env);
}

/* An XRC SRQ is made as a whole or not at all, wherever memory runs out. */
static void xrc_srq__without_memory(void **state)
{
	const struct vb_srq_cap cap = {.wr_max = 1, .sge_max = 1};
	struct vb_xrcd *x;
	struct vb_srq *s;
	uint32_t n;

	(void)state;
	for (n = 1;; n++) {
		int err;

		env_config(&env);
		env_open(&env, 16);
		assert_int_equal(vb_xrcd_create(env.hca, &x), 0);
		env.fail_at = env.calls + n;
		err = vb_xrc_srq_create(env.pd, x, env.cq, &cap, NULL, &s);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(env.hca->srq_cnt, 0);
		assert_int_equal(vb_xrcd_destroy(x), 0);
		env_close(&env);
	}
	assert_true(n > 2); /* the SRQ has memory, and so has the table of numbers */
	env_close(&env);
}

/* An SRQ that goes takes along the receives of its own messages, and of no other's. IBA A14.2 */
static void xrc_srq__leaves_messages_of_others(void **state)
{
	const struct vb_srq_cap cap = {.wr_max = 4, .sge_max = 1};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_sge sge;
	struct vb_recv_wr wr = {.wr_id = 7, .sge = &sge, .sge_cnt = 1};
	struct vb_srq *s[2];
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_FIRST};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	assert_int_equal(vb_xrcd_create(env.hca, &init.xrcd), 0);
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_xrc_srq_create(env.pd, init.xrcd, env.cq, &cap, NULL, &s[i]),
				 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	sge = env_sge(&env, 0, 2048);
	assert_int_equal(vb_srq_post(s[0], &wr), 0);
	h.dqpn = vb_qp_number(qp);
	h.xrc_srqn = vb_srq_number(s[0]);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
	assert_int_equal(vb_srq_destroy(s[1]), 0);
	h.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_LAST;
	h.psn = vb_psn(1);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 7, VB_WC_SUCCESS).byte_len, 1024 + 8);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(post_recv__until_full),
	    cmocka_unit_test(receive__fits_exactly),
	    cmocka_unit_test(receive__slot_is_used_again),
	    cmocka_unit_test(srq_create__limits),
	    cmocka_unit_test(xrc_srq__numbers),
	    cmocka_unit_test(srq__is_shared_in_order),
	    cmocka_unit_test(srq__limit_event),
	    cmocka_unit_test(srq_resize__keeps_what_is_posted),
	    cmocka_unit_test(srq__in_use_and_of_another_domain),
	    cmocka_unit_test(receive__of_4_gib),
	    cmocka_unit_test(srq_resize__not_below_the_limit),
	    cmocka_unit_test(xrc_srq__found_among_many),
	    cmocka_unit_test(xrc_srq__without_memory),
	    cmocka_unit_test(xrc_srq__leaves_messages_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
