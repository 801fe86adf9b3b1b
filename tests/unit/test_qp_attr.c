/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of a modify: each value against its range, at both ends, and a refused modify
 * changes nothing. IBA 11.2.5.2, IBT-28, IBT-32, IBT-33
 */
#include "core_env.h"

static struct env env;

static void setup(void)
{
	env_config(&env);
	env.cfg.port_cnt = 2;
	env.cfg.port[1].active_mtu = VB_MTU_2048;
	env.cfg.port[1].pkey[2] = 0x8001;
	env.cfg.port[1].pkey[VB_PKEYS_MAX - 1] = 0x0002;
	env.cfg.port[1].pkey[4] = 0x8000; /* no P_Key: its base is 0 */
	env.cfg.limits.rd_atomic = 16;
	env_open(&env, 64);
}

/* With attribute @field of mask bit @bit at @value, from state @from to the next. */
struct value_case {
	enum vb_qp_state to;
	uint32_t bit;
	size_t offset, size;
	uint64_t good_first, good_last;
	uint64_t bad[3];
	uint32_t bad_cnt;
};

#define FIELD(name) offsetof(struct vb_qp_attr, name), sizeof(((struct vb_qp_attr *)0)->name)

static const struct value_case value_cases[] = {
    {VB_QPS_INIT, VB_QP_PORT, FIELD(port), 1, 1, {0, 3, 255}, 3},
    {VB_QPS_INIT, VB_QP_PKEY_INDEX, FIELD(pkey_index), 2, 2, {1, 4, VB_PKEYS_MAX}, 3},
    {VB_QPS_INIT, VB_QP_PKEY_INDEX, FIELD(pkey_index), 15, 15, {0xffff, 17, 3}, 3},
    {VB_QPS_RTR, VB_QP_PATH_MTU, FIELD(path_mtu), 1, 4, {0, 5, 6}, 3}, /* active: 2048 */
    {VB_QPS_RTR, VB_QP_DEST_QPN, FIELD(dest_qpn), 0xffffff, 0xffffff, {0x1000000, UINT32_MAX}, 2},
    {VB_QPS_RTR, VB_QP_MIN_RNR_TIMER, FIELD(min_rnr_timer), 0, 31, {32, 255}, 2},
    {VB_QPS_RTR, VB_QP_MAX_DEST_RD_ATOMIC, FIELD(max_dest_rd_atomic), 0, 16, {17, 255}, 2},
    {VB_QPS_RTS, VB_QP_TIMEOUT, FIELD(timeout), 0, 31, {32, 255}, 2},
    {VB_QPS_RTS, VB_QP_RETRY_CNT, FIELD(retry_cnt), 0, 7, {8, 255}, 2},
    {VB_QPS_RTS, VB_QP_RNR_RETRY, FIELD(rnr_retry), 0, 7, {8, 255}, 2},
    {VB_QPS_RTS, VB_QP_MAX_QP_RD_ATOMIC, FIELD(max_rd_atomic), 0, 16, {17, 255}, 2},
};

static void field_set(struct vb_qp_attr *a, const struct value_case *c, uint64_t v)
{
	memcpy((char *)a + c->offset, &v, c->size); /* little endian, as every machine it runs on */
}

static uint64_t field_get(const struct vb_qp_attr *a, const struct value_case *c)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)a + c->offset, c->size);
	return v;
}

/* Steps @qp with @v; 0 or the error. */
static int step(struct vb_qp *qp, const struct value_case *c, uint64_t v)
{
	struct vb_qp_attr a = env_attr(2, 0x21);

	field_set(&a, c, v);
	return env_modify(&env, qp, &a, c->to);
}

static void modify__each_value_at_its_limits(void **state)
{
	(void)state;
	setup();
	for (size_t i = 0; i < sizeof value_cases / sizeof value_cases[0]; i++) {
		const struct value_case *c = &value_cases[i];

		for (uint64_t v = c->good_first; v <= c->good_last; v++) {
			struct vb_qp *qp = env_qp(&env, VB_QPT_RC, NULL);
			struct vb_qp_attr a = env_attr(2, 0x21), before, after;

			env_up(&env, qp, &a, (enum vb_qp_state)(c->to - 1));
			vb_qp_query(qp, &before);
			for (uint32_t k = 0; k < c->bad_cnt; k++) {
				assert_int_equal(step(qp, c, c->bad[k]), -EINVAL);
				vb_qp_query(qp, &after);
				assert_memory_equal(&before, &after, sizeof after);
			}
			assert_int_equal(step(qp, c, v), 0);
			vb_qp_query(qp, &after);
			assert_int_equal(after.qp_state, c->to);
			assert_int_equal(field_get(&after, c), v);
			assert_int_equal(vb_qp_destroy(qp), 0);
		}
	}
	env_close(&env);
}

/* The attributes that B.4 lets be optional are told back, and nothing else has moved. */
static void modify__optional_attributes(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21), got;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(vb_qp_modify(qp, &(struct vb_qp_attr){.access = 2, .min_rnr_timer = 9},
				      VB_QP_ACCESS_FLAGS | VB_QP_MIN_RNR_TIMER, 0),
			 0);
	vb_qp_query(qp, &got);
	assert_int_equal(got.access, 2);
	assert_int_equal(got.min_rnr_timer, 9);
	assert_int_equal(got.timeout, 14);
	a.qp_state = VB_QPS_SQD;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	a = env_attr(3, 0x99); /* DEST_QPN is for RTR alone */
	a.timeout = 5;
	a.retry_cnt = 1;
	a.rnr_retry = 2;
	a.max_rd_atomic = 3;
	a.max_dest_rd_atomic = 6;
	a.pkey_index = 2;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_AV | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
					  VB_QP_MAX_QP_RD_ATOMIC | VB_QP_MAX_DEST_RD_ATOMIC |
					  VB_QP_PKEY_INDEX | VB_QP_PORT,
				      0),
			 0);
	vb_qp_query(qp, &got);
	assert_int_equal(got.qp_state, VB_QPS_SQD);
	assert_memory_equal(&got.path, &a.path, sizeof a.path);
	assert_int_equal(got.timeout, 5);
	assert_int_equal(got.retry_cnt, 1);
	assert_int_equal(got.rnr_retry, 2);
	assert_int_equal(got.max_rd_atomic, 3);
	assert_int_equal(got.max_dest_rd_atomic, 6);
	assert_int_equal(got.pkey_index, 2);
	assert_int_equal(got.dest_qpn, 0x21);
	/* Each of the two numbers of the retry timer is in force by itself. */
	assert_int_equal(qp->rto.attr_retry, 1);
	a.retry_cnt = 6;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_RETRY_CNT, 0), 0);
	assert_int_equal(qp->rto.attr_retry, 6);
	a.timeout = 9;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_TIMEOUT, 0), 0);
	assert_int_equal(qp->rto.attr_timeout, 9);
	env_close(&env);
}

/* RoCE has neither alternate paths nor path migration; queues are not resized. */
static void modify__what_roce_lacks(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_ALT_PATH, 0), -EINVAL);
	a.path_mig_state = VB_MIG_MIGRATED; /* as a query says */
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_PATH_MIG_STATE, 0), 0);
	for (int m = VB_MIG_REARM; m <= VB_MIG_ARMED; m++) {
		a.path_mig_state = (enum vb_mig_state)m;
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_PATH_MIG_STATE, 0), -EINVAL);
	}
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_CAP, 0), -EINVAL);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_RATE_LIMIT, 0), -EINVAL);
	env_close(&env);
}

/* A PSN has 24 bits; the bits above them are ignored. */
static void modify__psn_has_24_bits(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21), got;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.rq_psn = 0xff123456;
	a.sq_psn = 0x89ffffff;
	env_up(&env, qp, &a, VB_QPS_RTS);
	vb_qp_query(qp, &got);
	assert_int_equal(got.rq_psn, 0x123456);
	assert_int_equal(got.sq_psn, 0xffffff);
	env_close(&env);
}

/* The path must leave by the port that the QP has. */
static void modify__path_of_another_port(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_INIT);
	a.path.port = 2;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), -EINVAL);
	a.path.port = 1;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), 0);
	/* Port 2 has no link: nothing says its MTU. */
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.port = 2;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), -EINVAL);
	env_close(&env);
}

/* CUR_STATE is what the consumer believes, and is refused when it is wrong. */
static void modify__cur_state(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_UC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTR);
	a.qp_state = VB_QPS_RTS;
	for (unsigned s = 0; s <= VB_QPS_CNT; s++) {
		a.cur_qp_state = (enum vb_qp_state)s;
		if (s == VB_QPS_RTR)
			continue;
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_CUR_STATE, 0), -EINVAL);
		assert_int_equal(
		    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_CUR_STATE | VB_QP_SQ_PSN, 0), -EINVAL);
	}
	a.cur_qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_CUR_STATE | VB_QP_SQ_PSN, 0), 0);
	a.qp_state = (enum vb_qp_state)VB_QPS_CNT;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), -EINVAL);
	env_close(&env);
}

/* An extension for both ends is offered if the port says so and the consumer does not refuse it. */
static void extensions__offered_and_refused(void **state)
{
	struct vb_recovery set = {.selective_repeat_forced_en = true};
	const uint32_t sr = VB_EXTENSION_SELECTIVE_REPEAT;
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp, *uc;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	uc = env_qp(&env, VB_QPT_UC, NULL);
	assert_int_equal(vb_qp_extensions(qp, 1), 0);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &set), 0);
	assert_int_equal(vb_qp_extensions(qp, 1), sr);
	assert_int_equal(vb_qp_extensions(uc, 1), 0);
	assert_int_equal(vb_qp_allow_extensions(qp, ~sr), 0);
	assert_int_equal(vb_qp_extensions(qp, 1), 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	assert_null(qp->sr);
	assert_int_equal(vb_qp_allow_extensions(qp, sr), -EINVAL);
	assert_int_equal(vb_qp_extensions(qp, 1), 0);
	/* RESET takes the refusal back. */
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
	assert_int_equal(vb_qp_extensions(qp, 1), sr);
	env_up(&env, qp, &a, VB_QPS_RTR);
	assert_non_null(qp->sr);
	assert_int_equal(vb_qp_extensions(qp, 1), sr);
	/* A later setting of the port is for QPs that come later. */
	set.selective_repeat_forced_en = false;
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &set), 0);
	assert_int_equal(vb_qp_extensions(qp, 1), sr);
	env_close(&env);
}

/* SQ_DRAINED is for a program that asks for it with the attribute in its mask. IBA 10.3.1.5,
 * ibv_modify_qp(3) */
static void sqd__notifies_who_asks(void **state)
{
	(void)state;
	for (int asks = 0; asks < 2; asks++) {
		struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .en_sqd_async_notify = 1};
		struct vb_qp *qp;

		setup();
		qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
		assert_int_equal(
		    vb_qp_modify(qp, &a, VB_QP_STATE | (asks ? VB_QP_EN_SQD_ASYNC_NOTIFY : 0), 0),
		    0);
		if (asks)
			env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_SQ_DRAINED);
		env_no_event(&env);
		env_close(&env);
	}
}

/* A QP drains in SQD only: one that went on before it was drained does not say so any more. */
static void query__drains_in_sqd_only(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD}, got;
	struct vb_tx_batch b;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	vb_qp_query(qp, &got);
	assert_true(got.sq_draining);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	vb_qp_query(qp, &got);
	assert_false(got.sq_draining);
	env_close(&env);
}

/* RESET ends the rate that was set, and what the peer was heard of: a QP that is used again is as
 * a new one. IBA 10.3.1.1 */
static void reset__ends_rate_and_communication(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	h.dqpn = vb_qp_number(qp);
	for (int again = 0; again < 2; again++) {
		env_up(&env, qp, &a, VB_QPS_RTR);
		assert_int_equal(vb_qp_rate(qp), 0);
		assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN, 0, 0), 0);
		h.psn = vb_psn(0);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_COMM_EST);
		env_no_event(&env);
		assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
		assert_int_equal(qp->pace.kbps, 0);
	}
	env_close(&env);
}

/* A path that is set in SQD is that of all packets, also of data that may be marked. */
static void sqd__another_path(void **state)
{
	struct vb_qp_attr a = env_attr(3, 0x21);
	struct vb_cc_settings set;
	struct vb_tx_batch b;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&set, UINT64_C(40000000000));
	env.cfg.cc = set;
	env_open(&env, 64);
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_AV, 0), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->traffic_class & VB_ECN_MASK, VB_ECN_ECT0);
	assert_int_equal(b.pkt[0].path->dgid.b[15], 3);
	env_close(&env);
}

/* A QP of an SRQ says once that it takes no more receives, however often it flushes. IBA 11.6.3.5
 */
static void error__last_wqe_reached_once(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	qp = env_qp(&env, VB_QPT_RC, srq);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_ERR), 0);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_LAST_WQE_REACHED);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
	env_no_event(&env);
	env_close(&env);
}

/* An rnr_retry that is set in SQD holds for what is in flight. IBA 11.2.5.2 */
static void sqd__another_rnr_retry(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_hdr rnr = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .aeth.syndrome = VB_SYNDROME_RNR | 14};
	struct vb_tx_batch b;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	rnr.dqpn = vb_qp_number(qp);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	a.rnr_retry = 0;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_RNR_RETRY, 0), 0);
	assert_int_equal(env_rx(&env, 2, &rnr, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_RNR_RETRY_EXC_ERR);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(modify__each_value_at_its_limits),
	    cmocka_unit_test(modify__optional_attributes),
	    cmocka_unit_test(modify__what_roce_lacks),
	    cmocka_unit_test(modify__psn_has_24_bits),
	    cmocka_unit_test(modify__path_of_another_port),
	    cmocka_unit_test(modify__cur_state),
	    cmocka_unit_test(extensions__offered_and_refused),
	    cmocka_unit_test(sqd__notifies_who_asks),
	    cmocka_unit_test(query__drains_in_sqd_only),
	    cmocka_unit_test(reset__ends_rate_and_communication),
	    cmocka_unit_test(sqd__another_path),
	    cmocka_unit_test(error__last_wqe_reached_once),
	    cmocka_unit_test(sqd__another_rnr_retry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
