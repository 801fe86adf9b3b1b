/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An algorithm of congestion control at a QP: which events it gets, and that its rate, window,
 * timer and bursts hold, whatever it writes there.
 */
#include "cc_probe_env.h"

static void facts__of_a_flow(void **state)
{
	struct vb_qp *qp;

	(void)state;
	answers = false;
	qp = open_probe(0);
	assert_int_equal(seen.inits, 1);
	assert_int_equal(seen.facts.line_rate, LINE);
	assert_int_equal(seen.facts.packet_bytes, MTU);
	assert_int_equal(seen.facts.now, 1000);
	assert_int_equal(seen.value, 42);
	assert_memory_equal(&seen.found, &no_limit, sizeof no_limit);
	/* Without limits all leaves, and asks for ACKs as ever. */
	post(qp, 3, 2 * MTU);
	assert_int_equal(env_tx(&env, &b), 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(vb_tx_asks_ack(&b.pkt[i]), i % 2);
	assert_int_equal(seen.sents, 6);
	assert_int_equal(seen.sent.sent, 6 * MTU);
	assert_int_equal(seen.sent.bytes, vb_tx_wire_len(&b.pkt[5]));
	assert_int_equal(seen.sent.resent, 0);
	env_close(&env);
}

/* UC and UD have no ACKs, and so no algorithm. */
static void facts__not_without_acks(void **state)
{
	(void)state;
	(void)open_with(no_limit);
	seen.inits = 0;
	post(env_rts(&env, VB_QPT_UC, 2, 0x22), 1, 8);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(seen.inits + seen.sents, 0);
	env_close(&env);
}

/* The time from a packet's leaving to its ACK; bytes. */
static void round_trip__of_each_ack(void **state)
{
	struct vb_qp *qp = open_with(no_limit);

	(void)state;
	post(qp, 2, 2 * MTU);
	assert_int_equal(env_tx(&env, &b), 4);
	env.now += 7500;
	ack(qp, 1);
	assert_int_equal(seen.acks, 1);
	assert_int_equal(seen.ack.rtt, 7500);
	assert_int_equal(seen.ack.now, env.now);
	assert_int_equal(seen.ack.bytes, 2 * MTU);
	assert_int_equal(seen.ack.acked, 2 * MTU);
	assert_int_equal(seen.ack.sent, 4 * MTU);
	assert_int_equal(seen.ack.marked + seen.ack.hop_cnt, 0);
	/* The same again is none. */
	assert_int_equal(answer_rx(qp, 1, 0x1f, false), VB_VERDICT_DUPLICATE);
	assert_int_equal(seen.acks, 1);
	env.now += 500;
	ack(qp, 3);
	assert_int_equal(seen.ack.rtt, 8000);
	assert_int_equal(seen.ack.acked, 4 * MTU);
	env_close(&env);
}

/* Karn: what left twice has no round-trip time. */
static void round_trip__not_of_resends(void **state)
{
	struct vb_qp *qp = open_with(no_limit);

	(void)state;
	post(qp, 2, MTU);
	assert_int_equal(env_tx(&env, &b), 2);
	env.now += 10000;
	assert_int_equal(answer_rx(qp, 0, VB_NAK_PSN_SEQ, false), VB_VERDICT_OK);
	assert_int_equal(seen.naks, 1);
	assert_int_equal(seen.now, env.now);
	post(qp, 1, MTU);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(seen.sent.resent, 0); /* the third one is new */
	assert_int_equal(seen.sent.sent, 3 * MTU);
	env.now += 2000;
	ack(qp, 1);
	assert_int_equal(seen.ack.rtt, 0);
	assert_int_equal(seen.ack.bytes, 2 * MTU);
	ack(qp, 2);
	assert_int_equal(seen.ack.rtt, 2000);
	env_close(&env);
}

static void timeout__is_told(void **state)
{
	struct vb_qp *qp = open_with(no_limit);

	(void)state;
	post(qp, 1, MTU);
	assert_int_equal(env_tx(&env, &b), 1);
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(seen.timeouts, 1);
	assert_int_equal(seen.naks, 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(seen.sent.resent, 1);
	assert_int_equal(seen.sent.sent, MTU);
	/* A receiver that is not ready is not congested. */
	assert_int_equal(answer_rx(qp, 0, VB_SYNDROME_RNR | 1, false), VB_VERDICT_OK);
	assert_int_equal(seen.timeouts + seen.naks, 1);
	env_close(&env);
}

static void window__bounds_what_is_in_flight(void **state)
{
	struct verbena_cc_control out = no_limit;
	struct vb_qp *qp;

	(void)state;
	out.window = 3 * MTU + MTU / 2;
	qp = open_with(out);
	post(qp, 6, MTU);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(qp->req.block, VB_BLOCK_TX_WINDOW);
	assert_int_equal(env_tx(&env, &b), 0);
	want.window = 5 * MTU;
	ack(qp, 0);
	assert_int_equal(env_tx(&env, &b), 3); /* two were in flight */
	env_close(&env);
}

/* A window and a rate of nothing, and values that make no sense, leave one packet at 1 Mb/s. */
static void window__of_nothing_makes_progress(void **state)
{
	static const uint64_t windows[] = {0, 1, MTU - 1};
	static const uint64_t rates[] = {0, 1, 999999};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct verbena_cc_control out = {.rate = rates[i],
						 .window = windows[i],
						 .timer = VERBENA_CC_NONE,
						 .ack_bytes = UINT64_MAX};
		struct vb_qp *qp = open_with(out);

		post(qp, 4, MTU);
		for (uint32_t psn = 0; psn < 4; psn++) {
			vb_time from = env.now;

			assert_int_equal(env_tx(&env, &b), 1);
			assert_true(vb_tx_asks_ack(&b.pkt[0]));
			env.now += 1000;
			ack(qp, psn);
			if (psn == 3)
				break;
			assert_int_equal(env_tx(&env, &b), 0);
			assert_int_equal(qp->req.block, VB_BLOCK_RATE);
			env.now = vb_hca_poll_timeout(env.hca);
			vb_hca_handle_timeout(env.hca, env.now);
			/* The first one may begin a burst of one packet. */
			if (psn)
				assert_int_equal(env.now - from,
						 (uint64_t)vb_tx_wire_len(&b.pkt[0]) * 8000);
		}
		env_close(&env);
	}
}

static void rate__paces(void **state)
{
	struct verbena_cc_control out = no_limit;
	vb_time begin;
	struct vb_qp *qp;
	uint64_t bytes = 0;

	(void)state;
	out.rate = UINT64_C(3000000000);
	qp = open_with(out);
	post(qp, 12, 2 * MTU);
	begin = env.now;
	for (int i = 0; i < 24; i++) {
		assert_int_equal(env_tx(&env, &b), 1);
		bytes += vb_tx_wire_len(&b.pkt[0]);
		if (i == 23)
			break;
		assert_int_equal(env_tx(&env, &b), 0);
		env.now = vb_hca_poll_timeout(env.hca);
		vb_hca_handle_timeout(env.hca, env.now);
	}
	bytes -= vb_tx_wire_len(&b.pkt[0]);
	/* Fractions of a ns are carried. */
	assert_uint_in_range(env.now - begin, bytes * 8 / 3, bytes * 8 / 3 + 1);
	/* The line's rate and more is no limit. */
	want.rate = LINE;
	ack(qp, 1);
	want.rate = 1000000;
	post(qp, 2, MTU);
	assert_int_equal(env_tx(&env, &b), 1); /* the rate is asked again with each packet */
	env_close(&env);
}

/* Unused time of a rate is kept as the port says. */
static void rate__keeps_unused_time(void **state)
{
	struct verbena_cc_control out = no_limit;
	struct vb_qp *qp;

	(void)state;
	out.rate = UINT64_C(1000000000);
	qp = open_with(out);
	choice.keep = 30000; /* three packets and a half */
	env.now += 1000000;
	post(qp, 8, MTU);
	assert_int_equal(env_tx(&env, &b), 4);
	env_close(&env);
}

static void burst__leaves_whole(void **state)
{
	struct verbena_cc_control out = no_limit;
	struct vb_qp *qp;

	(void)state;
	out.rate = UINT64_C(1000000000);
	out.burst_bytes = 3 * MTU;
	qp = open_with(out);
	post(qp, 8, MTU);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(env_tx(&env, &b), 0);
	env.now = vb_hca_poll_timeout(env.hca);
	/* ... and the next one when all of it is paid for. */
	assert_uint_in_range(env.now - 1000, 3 * MTU * 8, 3 * (MTU + 64) * 8);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 3);
	env_close(&env);
}

static void acks__are_asked_for(void **state)
{
	static const struct {
		uint64_t window, bytes;
		uint32_t every;
	} cases[] = {{VERBENA_CC_NONE, 1, 1},
		     {VERBENA_CC_NONE, 2 * MTU, 2},
		     {8 * MTU, 0, 2},
		     {8 * MTU, 1, 1},
		     {2 * MTU, 4 * MTU, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct verbena_cc_control out = no_limit;
		struct vb_qp *qp;

		out.window = cases[i].window;
		out.ack_bytes = cases[i].bytes;
		qp = open_with(out);
		post(qp, 1, 8 * MTU); /* one message, whose end asks anyway */
		assert_true(env_tx(&env, &b) >= 2);
		for (uint32_t k = 0; k < b.cnt; k++)
			assert_int_equal(vb_tx_asks_ack(&b.pkt[k]), (k + 1) % cases[i].every == 0);
		env_close(&env);
	}
}

/* The timer comes when it was set to, 1 us from then at least, and only while there is work. */
static void timer__comes(void **state)
{
	struct verbena_cc_control out = no_limit;
	struct vb_qp *qp;

	(void)state;
	out.timer = 0;
	qp = open_with(out);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER); /* there is nothing to send */
	post(qp, 1, MTU);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(vb_hca_poll_timeout(env.hca), env.now + 1000);
	env.now += 1000;
	want.timer = env.now + 5000;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(seen.timers, 1);
	assert_int_equal(seen.now, env.now);
	assert_int_equal(seen.found.timer, VERBENA_CC_NONE);
	assert_int_equal(vb_hca_poll_timeout(env.hca), env.now + 5000);
	ack(qp, 0);
	env.now += 5000;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(seen.timers, 2);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
	env_close(&env);
}

/* A READ counts as its answers: in the window, and against the rate. */
static void read__counts_as_its_answers(void **state)
{
	struct verbena_cc_control out = no_limit;
	struct vb_hdr h = {.opcode = VB_OP_READ_RESP_FIRST, .aeth.syndrome = 0x1f};
	struct vb_qp *qp;

	(void)state;
	out.window = 5 * MTU;
	qp = open_with(out);
	for (int i = 0; i < 2; i++)
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_READ, 4 * MTU), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(qp->req.block, VB_BLOCK_TX_WINDOW);
	assert_int_equal(seen.sent.sent, 4 * MTU);
	assert_uint_in_range(seen.sent.bytes, 4 * MTU, 4 * (MTU + 64));
	/* The first answer has the time of the request, others have none. */
	h.dqpn = vb_qp_number(qp);
	env.now += 9000;
	assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
	assert_int_equal(seen.ack.rtt, 9000);
	assert_int_equal(seen.ack.bytes, MTU);
	h.opcode = VB_OP_READ_RESP_MIDDLE;
	h.psn = vb_psn(1);
	assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
	assert_int_equal(seen.ack.rtt, 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(facts__of_a_flow),
	    cmocka_unit_test(facts__not_without_acks),
	    cmocka_unit_test(round_trip__of_each_ack),
	    cmocka_unit_test(round_trip__not_of_resends),
	    cmocka_unit_test(timeout__is_told),
	    cmocka_unit_test(window__bounds_what_is_in_flight),
	    cmocka_unit_test(window__of_nothing_makes_progress),
	    cmocka_unit_test(rate__paces),
	    cmocka_unit_test(rate__keeps_unused_time),
	    cmocka_unit_test(burst__leaves_whole),
	    cmocka_unit_test(acks__are_asked_for),
	    cmocka_unit_test(timer__comes),
	    cmocka_unit_test(read__counts_as_its_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
