/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that come again and again: how much of a READ's answer they draw, for whoever means it
 * ill and for whoever loses much. IBA 9.7.5.1.3
 */
#include "rc_env.h"

/* A READ request of @len bytes of the region's beginning. */
static enum vb_verdict read_request(struct vb_qp *qp, uint32_t psn, uint32_t len)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn)};

	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.len = len;
	return env_rx(&env, 2, &h, 0);
}

/* The payload of all that goes out now. */
static uint64_t bytes_out(void)
{
	uint64_t sum = 0;

	while (env_tx(&env, &b))
		for (uint32_t i = 0; i < b.cnt; i++)
			sum += b.pkt[i].payload_len;
	return sum;
}

/* Requests of a READ that come again and again draw 64 answers, and then 64 in each second: short
 * ones as long ones. */
static void read__is_repeated_within_bounds(void **state)
{
	static const uint32_t lens[] = {4000, 8, 0};

	(void)state;
	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		uint32_t len = lens[i], answered = 0;
		struct vb_qp *qp;

		setup();
		qp = rts(0, 100, 4);
		assert_int_equal(read_request(qp, 100, len), VB_VERDICT_OK);
		assert_int_equal(bytes_out(), len);
		for (int n = 0; n < 1000; n++) {
			assert_int_equal(read_request(qp, 100, len), VB_VERDICT_DUPLICATE);
			answered += env_tx(&env, &b) != 0;
			assert_true(bytes_out() <= len);
		}
		assert_int_equal(answered, 64);
		assert_int_equal(env.counters.v[VB_COUNTER_rx_read_refused], 1000 - 64);
		/* A 64th of a second later there is one more. */
		env.now += VB_SEC / 64 + VB_MSEC;
		assert_int_equal(read_request(qp, 100, len), VB_VERDICT_DUPLICATE);
		assert_int_equal(env_tx(&env, &b) != 0, 1);
		(void)bytes_out();
		assert_int_equal(read_request(qp, 100, len), VB_VERDICT_DUPLICATE);
		assert_int_equal(env_tx(&env, &b), 0);
		env.now += 10 * VB_SEC;
		answered = 0;
		for (int n = 0; n < 100; n++) {
			assert_int_equal(read_request(qp, 100, len), VB_VERDICT_DUPLICATE);
			answered += env_tx(&env, &b) != 0;
			(void)bytes_out();
		}
		assert_int_equal(answered, 64);
		/* A new one has its own. */
		assert_int_equal(read_request(qp, 100 + (len > 1024 ? 4 : 1), len), VB_VERDICT_OK);
		assert_int_equal(bytes_out(), len);
		env_close(&env);
	}
}

/* The last PSN that leaves now, by one batch. */
static uint32_t last_psn_out(void)
{
	assert_true(env_tx(&env, &b) > 0);
	return env_hdr(&b.pkt[b.cnt - 1]).psn.v;
}

/*
 * A requester that asks for all the rest of a READ after each loss, and loses much, has little of
 * each answer sent before its next request: only that counts, and no request is refused.
 */
static void read__is_repeated_for_who_loses_much(void **state)
{
	const uint32_t len = 8u << 20, pkts = len / 1024;
	struct vb_mr_attr a = {.iova = 0, .length = len, .access = ENV_ACCESS};
	uint32_t psn = 0, rounds = 0;
	struct vb_qp *qp;
	struct vb_mr *mr;

	(void)state;
	setup();
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0); /* without bytes */
	qp = rts(0, 0, 4);
	for (;; rounds++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
				   .dqpn = vb_qp_number(qp),
				   .psn = vb_psn(psn),
				   .reth = {.va = (uint64_t)psn * 1024,
					    .rkey = vb_mr_rkey(mr),
					    .len = (pkts - psn) * 1024}};
		enum vb_verdict v = env_rx(&env, 2, &h, 0);

		assert_int_equal(v, rounds ? VB_VERDICT_DUPLICATE : VB_VERDICT_OK);
		if (last_psn_out() == pkts - 1)
			break;
		psn += 5; /* the others are lost */
	}
	assert_int_equal(env.counters.v[VB_COUNTER_rx_read_refused], 0);
	assert_true(rounds > 1000);
	env_close(&env);
}

/* A request that replaces the answer of the one before pays for the part that had left. */
static void read__replaced_answers_are_within_bounds(void **state)
{
	const uint32_t len = 512u << 10;
	struct vb_mr_attr a = {.iova = 0, .length = len, .access = ENV_ACCESS};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST};
	uint64_t sum = 0;
	struct vb_mr *mr;

	(void)state;
	setup();
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	h.dqpn = vb_qp_number(rts(0, 0, 4));
	h.reth.rkey = vb_mr_rkey(mr);
	h.reth.len = len;
	for (int n = 0; n < 5000; n++) {
		(void)env_rx(&env, 2, &h, 0);
		(void)env_tx(&env, &b);
		for (uint32_t i = 0; i < b.cnt; i++)
			sum += b.pkt[i].payload_len;
	}
	assert_uint_in_range(sum, UINT64_C(64) * len, UINT64_C(65) * len);
	assert_true(env.counters.v[VB_COUNTER_rx_read_refused] > 1000);
	env_close(&env);
}

/* Atomics that come again are small, and are answered each time. */
static void atomic__is_repeated_without_bounds(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 7, 4);
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 7, 0), VB_VERDICT_OK);
	assert_int_equal(answer().psn.v, 7);
	for (int n = 0; n < 1000; n++) {
		assert_int_equal(request(qp, VB_OP_FETCH_ADD, 7, 0), VB_VERDICT_DUPLICATE);
		assert_int_equal(answer().psn.v, 7);
	}
	assert_int_equal(env.counters.v[VB_COUNTER_rx_read_refused], 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(read__is_repeated_within_bounds),
	    cmocka_unit_test(read__is_repeated_for_who_loses_much),
	    cmocka_unit_test(read__replaced_answers_are_within_bounds),
	    cmocka_unit_test(atomic__is_repeated_without_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
