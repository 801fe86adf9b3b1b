/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns: nobody who may send waits for ever, and nobody takes more than a turn. */
#include "core_env.h"

#define QPS 5u
#define TURN 32u

static struct env env;
static struct vb_tx_batch b;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 64);
}

/* A region without bytes, for messages that only their length counts of. */
static uint32_t long_key(void)
{
	struct vb_mr_attr a = {.iova = 0, .length = 1u << 30, .access = ENV_ACCESS};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	return vb_mr_lkey(mr);
}

static void post_long(struct vb_qp *qp, uint32_t key, uint32_t bytes)
{
	struct vb_sge sge = {0, bytes, key};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};

	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
}

/* QPs with equal work send equally, in turns. */
static void turns__are_equal(void **state)
{
	uint32_t sent[QPS] = {0}, run = 0, last = QPS, key;

	(void)state;
	setup();
	key = long_key();
	for (uint32_t i = 0; i < QPS; i++)
		post_long(env_rts(&env, VB_QPT_RC, 2, 0x21 + i), key, 1u << 20);
	for (uint32_t round = 0; round < 40; round++) {
		assert_int_equal(env_tx(&env, &b), VB_TX_BATCH_PKTS);
		for (uint32_t i = 0; i < b.cnt; i++) {
			uint32_t q = env_hdr(&b.pkt[i]).dqpn - 0x21;

			run = q == last ? run + 1 : 1;
			last = q;
			assert_true(run <= TURN);
			sent[q]++;
		}
		for (uint32_t i = 1; i < QPS; i++)
			assert_true(sent[i] <= sent[0] + TURN && sent[0] <= sent[i] + TURN);
	}
	env_close(&env);
}

/* One with little to send does not wait for one with much. */
static void turns__short_among_long(void **state)
{
	struct vb_qp *qp;
	uint32_t key, before = 0;

	(void)state;
	setup();
	key = long_key();
	for (uint32_t i = 0; i < 2; i++)
		post_long(env_rts(&env, VB_QPT_RC, 2, 0x21 + i), key, 1u << 28);
	qp = env_rts(&env, VB_QPT_RC, 2, 0x30);
	(void)env_tx(&env, &b);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	for (;;) {
		(void)env_tx(&env, &b);
		for (uint32_t i = 0; i < b.cnt; i++) {
			if (env_hdr(&b.pkt[i]).dqpn == 0x30) {
				assert_true(before + i <= 2 * TURN);
				env_close(&env);
				return;
			}
		}
		before += b.cnt;
		assert_true(before < 1000);
	}
}

/* The packets that leave in some batches: requests of the QP's own, and responses. */
static void count_both(uint32_t *requests, uint32_t *responses)
{
	*requests = *responses = 0;
	for (int round = 0; round < 8; round++) {
		(void)env_tx(&env, &b);
		for (uint32_t i = 0; i < b.cnt; i++) {
			struct vb_hdr h = env_hdr(&b.pkt[i]);

			++*(vb_hdr_opcode(&h)->flags & VB_OP_RESPONSE ? responses : requests);
		}
	}
}

/* A peer that always has READs under way does not keep the QP's own requests from leaving; nor do
 * those keep the responses back. */
static void turns__requests_and_responses(void **state)
{
	struct vb_qp *qp[2];
	uint32_t key, psn = 0, requests, responses;

	(void)state;
	setup();
	key = long_key();
	for (int i = 0; i < 2; i++) {
		qp[i] = env_rts(&env, VB_QPT_RC, 2, 0x21);
		for (int k = 0; k < 2; k++) {
			struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
					   .dqpn = vb_qp_number(qp[i]),
					   .psn = vb_psn(psn + (uint32_t)k * 4096),
					   .reth = {0, key, 4096 * 1024}};

			assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		}
	}
	(void)env_tx(&env, &b);
	assert_int_equal(env_send(&env, qp[0], 1, VB_WR_SEND, 8), 0);
	count_both(&requests, &responses);
	assert_int_equal(requests, 1);
	assert_int_equal(responses, 8 * VB_TX_BATCH_PKTS - 1);
	for (int i = 0; i < 2; i++)
		post_long(qp[i], key, 1u << 24);
	count_both(&requests, &responses);
	assert_true(requests > 2 * VB_TX_BATCH_PKTS && responses > 2 * VB_TX_BATCH_PKTS);
	env_close(&env);
}

/* GSO batches of @most packets at MTU 1024. */
static void setup_gso(uint32_t most)
{
	env_config(&env);
	env.cfg.gso_bytes = most * (1024 + VB_BTH_LEN + VB_ICRC_LEN);
	env_open(&env, 64);
}

/* As many packets of each as a batch has, one after the other; QP k sends to 0x21 + k. */
static void expect_batch(const uint32_t *cnt, const uint32_t *to, uint32_t runs)
{
	uint32_t at = 0;

	(void)env_tx(&env, &b);
	for (uint32_t i = 0; i < runs; i++)
		for (uint32_t k = 0; k < cnt[i]; k++, at++) {
			assert_true(at < b.cnt);
			assert_int_equal(env_hdr(&b.pkt[at]).dqpn, 0x21 + to[i]);
		}
	assert_int_equal(b.cnt, at);
}

/* A GSO batch that does not fit what is left of the quantum or of the batch goes with the next one:
 * the first packet of a message and fifteen others. */
static void batch__not_torn_by_quantum_or_batch(void **state)
{
	struct vb_qp *qp[2];
	uint32_t key;

	(void)state;
	setup_gso(15);
	key = long_key();
	qp[0] = env_rts(&env, VB_QPT_RC, 2, 0x21);
	post_long(qp[0], key, 12 * 1024);
	for (int i = 0; i < 5; i++)
		post_long(qp[0], key, 16 * 1024);
	expect_batch((uint32_t[]){12 + 3 * 16}, (uint32_t[]){0}, 1);
	expect_batch((uint32_t[]){2 * 16}, (uint32_t[]){0}, 1);

	qp[1] = env_rts(&env, VB_QPT_RC, 2, 0x22); /* it is active already */
	for (int i = 0; i < 2; i++) {
		post_long(qp[i], key, 12 * 1024);
		post_long(qp[i], key, 16 * 1024);
		post_long(qp[i], key, 16 * 1024);
	}
	/* Work that does not fit the batch is first in the next one. */
	expect_batch((uint32_t[]){28, 28}, (uint32_t[]){1, 0}, 2);
	expect_batch((uint32_t[]){16, 16}, (uint32_t[]){1, 0}, 2);
	assert_false(vb_hca_has_transmit(env.hca));
	env_close(&env);
}

/* One that is longer than a turn goes on in the next turn; none that is longer than a batch is left
 * waiting for one that it fits. */
static void batch__longer_than_a_quantum(void **state)
{
	const uint32_t most[] = {TURN + 1, VB_TX_BATCH_PKTS, 10 * VB_TX_BATCH_PKTS};

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint32_t left[2] = {500, 500}, key;

		setup_gso(most[i]);
		key = long_key();
		for (uint32_t k = 0; k < 2; k++)
			post_long(env_rts(&env, VB_QPT_RC, 2, 0x21 + k), key, left[k] * 1024);
		while (env_tx(&env, &b)) {
			assert_true(b.cnt >= TURN || left[0] + left[1] < 2 * TURN);
			for (uint32_t k = 0; k < b.cnt; k++)
				left[env_hdr(&b.pkt[k]).dqpn - 0x21]--;
		}
		assert_int_equal(left[0], 0);
		assert_int_equal(left[1], 0);
		env_close(&env);
	}
}

/* Requests of three QPs in some batches; before each, QP 2 gets a short READ to answer, or all of
 * them a message to acknowledge. */
static void count_beside(enum vb_mtu mtu, bool is_read, uint32_t sent[3])
{
	struct vb_qp *qp[3];
	uint32_t key = long_key();

	for (uint32_t i = 0; i < 3; i++) {
		struct vb_qp_attr a = env_attr(2, 0x21 + i);

		a.path_mtu = mtu;
		qp[i] = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp[i], &a, VB_QPS_RTS);
		post_long(qp[i], key, 1u << 27);
		sent[i] = 0;
	}
	for (uint32_t round = 0; round < 60; round++) {
		for (uint32_t i = is_read ? 2 : 0; i < 3; i++) {
			struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | (is_read ? VB_OP_READ_REQUEST
										: VB_OP_WRITE_ONLY),
					   .dqpn = vb_qp_number(qp[i]),
					   .psn = vb_psn(round),
					   .ack_req = true,
					   .reth = {0, key, is_read ? 8 : 0}};

			assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		}
		(void)env_tx(&env, &b);
		for (uint32_t i = 0; i < b.cnt; i++) {
			struct vb_hdr h = env_hdr(&b.pkt[i]);

			if (!(vb_hdr_opcode(&h)->flags & VB_OP_RESPONSE))
				sent[h.dqpn - 0x21]++;
		}
	}
}

/* Responses take part of a turn or of a batch, but do not cost the requests theirs: GSO batches
 * that would no longer fit the rest. */
static void batch__beside_responses(void **state)
{
	const enum vb_mtu mtu[] = {VB_MTU_1024, VB_MTU_2048, VB_MTU_4096};
	uint32_t sent[3];

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		setup_gso(62);
		count_beside(mtu[i / 2], i % 2, sent);
		for (uint32_t k = 0; k < 3; k++)
			assert_uint_in_range(sent[k], 60 * TURN / 3, 60 * VB_TX_BATCH_PKTS / 2);
		env_close(&env);
	}
}

/* One that was first for its GSO batch, and then has to answer first, has had its turn by that. */
static void batch__gives_way_to_responses(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST};
	struct vb_qp *qp[2];

	(void)state;
	setup_gso(62);
	h.reth.rkey = long_key();
	h.reth.len = 40 * 1024;
	for (uint32_t i = 0; i < 2; i++)
		qp[i] = env_rts(&env, VB_QPT_RC, 2, 0x21 + i);
	post_long(qp[0], h.reth.rkey, 12 * 1024);
	post_long(qp[1], h.reth.rkey, 1u << 20);
	expect_batch((uint32_t[]){12, TURN}, (uint32_t[]){0, 1}, 2);
	h.dqpn = vb_qp_number(qp[1]);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	post_long(qp[0], h.reth.rkey, 1u << 20);
	expect_batch((uint32_t[]){TURN, TURN}, (uint32_t[]){1, 0}, 2);
	env_close(&env);
}

/* A turn of requests that responses have made them owed is not used up by waiting for a batch, in
 * which responses are first again. */
static void batch__owed_after_responses(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST, .reth.len = 1u << 20};
	uint32_t sent = 0;

	(void)state;
	setup_gso(62);
	h.reth.rkey = long_key();
	for (uint32_t i = 0; i < 4; i++) {
		struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x21 + i);

		if (i == 0) {
			h.dqpn = vb_qp_number(qp);
			assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
			post_long(qp, h.reth.rkey, 1u << 20);
		}
		for (int k = 0; i != 0 && k < 16; k++)
			post_long(qp, h.reth.rkey, 20 * 1024); /* one to a turn */
	}
	for (uint32_t round = 0; round < 12; round++) {
		(void)env_tx(&env, &b);
		for (uint32_t i = 0; i < b.cnt; i++) {
			h = env_hdr(&b.pkt[i]);
			sent += h.dqpn == 0x21 && !(vb_hdr_opcode(&h)->flags & VB_OP_RESPONSE);
		}
	}
	assert_true(sent >= 3 * TURN);
	env_close(&env);
}

/* A batch that is full keeps nothing back for good. */
static void transmit__into_a_batch_with_little_room(void **state)
{
	uint32_t psn = 0;

	(void)state;
	setup();
	post_long(env_rts(&env, VB_QPT_RC, 2, 0x21), long_key(), 100 * 1024);
	assert_true(vb_hca_has_transmit(env.hca));
	while (psn < 100) {
		b.cnt = VB_TX_BATCH_PKTS - 1;
		b.seg_cnt = 0;
		assert_int_equal(vb_hca_poll_transmit(env.hca, &b, 0), VB_TX_BATCH_PKTS);
		assert_int_equal(env_hdr(&b.pkt[b.cnt - 1]).psn.v, psn++);
	}
	assert_int_equal(env_tx(&env, &b), 0);
	assert_false(vb_hca_has_transmit(env.hca));
	env_close(&env);
}

/* As many segments as a batch has, whatever the SGEs. */
static void transmit__runs_out_of_segments(void **state)
{
	struct vb_qp_cap cap = {.max_send_wr = 64, .max_send_sge = 32};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_sge sge[32];
	struct vb_qp *qp;
	uint32_t got = 0;

	(void)state;
	setup();
	qp = env_qp_cap(&env, VB_QPT_RC, NULL, cap);
	env_up(&env, qp, &a, VB_QPS_RTS);
	for (uint32_t i = 0; i < 32; i++)
		sge[i] = env_sge(&env, i * 8, 3);
	for (uint64_t i = 0; i < 64; i++) {
		struct vb_send_wr wr = {.sge = sge, .sge_cnt = 32, .opcode = VB_WR_SEND};

		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	}
	while (env_tx(&env, &b)) {
		assert_true(b.seg_cnt <= VB_TX_BATCH_SEGS);
		for (uint32_t i = 0; i < b.cnt; i++)
			assert_int_equal(b.pkt[i].payload_len, 96);
		got += b.cnt;
	}
	assert_int_equal(got, 64);
	env_close(&env);
}

/* The packets of a QP whose P_Key has left the table do not leave, nor do their segments.
 * IBA 10.9.3 */
static void transmit__without_a_pkey(void **state)
{
	struct vb_hca_port port;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_UC, 2, 0x21);
	port = env.cfg.port[1];
	memset(port.pkey, 0, sizeof port.pkey);
	assert_int_equal(vb_hca_set_port(env.hca, 1, &port), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 3000), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(b.seg_cnt, 0);
	assert_int_equal(env.counters.v[VB_COUNTER_port_xmit_constraint_errors], 3);
	/* Those of others that are in the batch by then do. */
	port.pkey[0] = VB_PKEY_DEFAULT;
	assert_int_equal(vb_hca_set_port(env.hca, 1, &port), 0);
	qp->attr.pkey_index = 1;
	assert_int_equal(
	    env_send(&env, env_rts(&env, VB_QPT_UC, 3, 0x22), 1, VB_WR_RDMA_WRITE, 3000), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 3000), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_true(b.seg_cnt >= 3);
	assert_int_equal(env.counters.v[VB_COUNTER_port_xmit_constraint_errors], 6);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(turns__are_equal),
	    cmocka_unit_test(turns__short_among_long),
	    cmocka_unit_test(turns__requests_and_responses),
	    cmocka_unit_test(batch__not_torn_by_quantum_or_batch),
	    cmocka_unit_test(batch__longer_than_a_quantum),
	    cmocka_unit_test(batch__beside_responses),
	    cmocka_unit_test(batch__gives_way_to_responses),
	    cmocka_unit_test(batch__owed_after_responses),
	    cmocka_unit_test(transmit__into_a_batch_with_little_room),
	    cmocka_unit_test(transmit__runs_out_of_segments),
	    cmocka_unit_test(transmit__without_a_pkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
