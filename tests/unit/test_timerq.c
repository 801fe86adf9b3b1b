/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timer queue against the plainest model of one: an array of deadlines. And the timers that
 * stand in it: the local ACK timeout of every exponent and the whole RNR table.
 * IBA 9.7.6.1.3, 9.7.5.2.8; facts B.5, B.6; IBT-79, IBT-80
 */
#include "base/rng.h"
#include "core/rc/rc.h"
#include "core_env.h"

#define QPS 64u

static struct env env;
static struct vb_tx_batch b;
static struct vb_qp *qp[QPS];
static vb_time model[QPS][VB_TIMER_CNT];

static void setup(void)
{
	env_config(&env);
	env_open(&env, 64);
}

static vb_time model_earliest(void)
{
	vb_time t = VB_NEVER;

	for (uint32_t i = 0; i < QPS; i++) {
		for (uint32_t k = 0; k < VB_TIMER_CNT; k++)
			t = vb_time_min(t, model[i][k]);
	}
	return t;
}

/* Everything due at env.now has fired, and nothing else. Only RNR, ROOM and PACE timers are
 * used: what they do is put the QP back in the queue of those that may send. */
static void expect_fired(void)
{
	vb_hca_handle_timeout(env.hca, env.now);
	for (uint32_t i = 0; i < QPS; i++) {
		for (uint32_t k = 0; k < VB_TIMER_CNT; k++) {
			if (model[i][k] <= env.now)
				model[i][k] = VB_NEVER;
			assert_true(qp[i] == NULL || qp[i]->timer[k] == model[i][k]);
		}
	}
	/* It may say too early a time, when one was moved later; never too late a one. */
	assert_true(vb_hca_poll_timeout(env.hca) > env.now);
	assert_true(vb_hca_poll_timeout(env.hca) <= model_earliest());
}

static void random_step(struct vb_rng *rng)
{
	uint32_t i = (uint32_t)vb_rng_below(rng, QPS);
	uint32_t k = 1 + (uint32_t)vb_rng_below(rng, VB_TIMER_PACE);

	switch (vb_rng_below(rng, 8)) {
	case 0:
		vb_timer_stop(qp[i], (enum vb_timer)k);
		model[i][k] = VB_NEVER;
		break;
	case 1:
		vb_timerq_remove(qp[i]);
		for (k = 0; k < VB_TIMER_CNT; k++) {
			vb_timer_stop(qp[i], (enum vb_timer)k);
			model[i][k] = VB_NEVER;
		}
		break;
	case 2:
		env.now += vb_rng_below(rng, 16);
		expect_fired();
		break;
	default:
		/* Many of them equal. */
		model[i][k] = env.now + 1 + vb_rng_below(rng, 16) * vb_rng_below(rng, 16);
		vb_timer_set(qp[i], (enum vb_timer)k, model[i][k]);
	}
	assert_true(vb_hca_poll_timeout(env.hca) <= model_earliest());
}

static void timerq__against_a_model(void **state)
{
	struct vb_rng rng = vb_rng_stream(1, "timerq", 0);

	(void)state;
	setup();
	for (uint32_t i = 0; i < QPS; i++) {
		qp[i] = env_rts(&env, VB_QPT_UC, 2, 0x21);
		for (uint32_t k = 0; k < VB_TIMER_CNT; k++)
			model[i][k] = VB_NEVER;
	}
	for (uint32_t n = 0; n < 20000; n++)
		random_step(&rng);
	/* To the end, by what the queue itself says is next. */
	while (vb_hca_poll_timeout(env.hca) != VB_NEVER) {
		env.now = vb_hca_poll_timeout(env.hca);
		expect_fired();
	}
	assert_int_equal(model_earliest(), VB_NEVER);
	assert_int_equal(env.hca->heap_cnt, 0);
	env_close(&env);
}

/* Equal deadlines in the order of the QPNs, whatever the order they were set in. */
static void timerq__equal_deadlines(void **state)
{
	(void)state;
	setup();
	for (uint32_t i = 0; i < QPS; i++) {
		qp[i] = env_rts(&env, VB_QPT_UC, 2, 0x21);
		assert_int_equal(env_send(&env, qp[i], 1, VB_WR_SEND, 8), 0);
		vb_sched_remove(qp[i]);
	}
	for (uint32_t i = 0; i < QPS; i++)
		vb_timer_set(qp[i * 37 % QPS], VB_TIMER_RX_CREDIT, 1000);
	vb_hca_handle_timeout(env.hca, 999);
	assert_int_equal(env_tx(&env, &b), 0);
	vb_hca_handle_timeout(env.hca, 1000);
	assert_int_equal(env_tx(&env, &b), QPS);
	for (uint32_t i = 0; i < QPS; i++)
		assert_ptr_equal(b.pkt[i].path, &qp[i]->attr.path);
	env_close(&env);
}

/* Deadlines keep running while the queue grows for more QPs. */
static void timerq__grows(void **state)
{
	(void)state;
	setup();
	for (uint32_t i = 0; i < QPS; i++) {
		qp[i] = env_rts(&env, VB_QPT_UC, 2, 0x21);
		vb_timer_set(qp[i], VB_TIMER_RX_CREDIT, 1000 + i);
		assert_int_equal(env.hca->heap[1].key, 1000);
	}
	for (uint32_t i = 0; i < QPS; i++) {
		assert_int_equal(vb_hca_poll_timeout(env.hca), 1000 + i);
		vb_hca_handle_timeout(env.hca, 1000 + i);
		assert_int_equal(qp[i]->timer[VB_TIMER_RX_CREDIT], VB_NEVER);
	}
	env_close(&env);
}

/* The QP is gone; its deadlines are too. */
static void timerq__destroyed(void **state)
{
	(void)state;
	setup();
	for (uint32_t i = 0; i < 8; i++) {
		qp[i] = env_rts(&env, VB_QPT_RC, 2, 0x21);
		vb_timer_set(qp[i], VB_TIMER_RX_CREDIT, 1000 + i);
	}
	for (uint32_t i = 0; i < 8; i += 2)
		assert_int_equal(vb_qp_destroy(qp[i]), 0);
	assert_int_equal(vb_hca_poll_timeout(env.hca), 1001);
	for (uint32_t i = 1; i < 8; i += 2)
		assert_int_equal(vb_qp_destroy(qp[i]), 0);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
	vb_hca_handle_timeout(env.hca, VB_NEVER - 1);
	env_close(&env);
}

/* 4.096 us * 2^n to the nanosecond, 0 for ever. facts B.5 */
static void ack_timeout__every_exponent(void **state)
{
	(void)state;
	setup();
	env.now = 12345;
	for (uint8_t n = 0; n < 32; n++) {
		struct vb_qp_attr a = env_attr(2, 0x21);

		qp[0] = env_qp(&env, VB_QPT_RC, NULL);
		a.timeout = n;
		env_up(&env, qp[0], &a, VB_QPS_RTS);
		assert_int_equal(env_send(&env, qp[0], 1, VB_WR_SEND, 8), 0);
		assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(vb_hca_poll_timeout(env.hca),
				 n ? env.now + (UINT64_C(4096) << n) : VB_NEVER);
		assert_int_equal(vb_qp_destroy(qp[0]), 0);
	}
	env_close(&env);
}

/* 1 + retry_cnt transmissions, a timeout after each, then RETRY_EXC_ERR; 7 is seven. IBT-80 */
static void ack_timeout__retries(void **state)
{
	(void)state;
	setup();
	for (uint8_t retry = 0; retry < 8; retry++) {
		struct vb_qp_attr a = env_attr(2, 0x21);

		qp[0] = env_qp(&env, VB_QPT_RC, NULL);
		a.timeout = 5;
		a.retry_cnt = retry;
		env_up(&env, qp[0], &a, VB_QPS_RTS);
		assert_int_equal(env_send(&env, qp[0], 1, VB_WR_SEND, 8), 0);
		for (uint32_t i = 0; i <= retry; i++) {
			assert_int_equal(env_tx(&env, &b), 1);
			env_no_wc(&env);
			env.now += (4096 << 5) - 1;
			vb_hca_handle_timeout(env.hca, env.now);
			assert_int_equal(env_tx(&env, &b), 0);
			vb_hca_handle_timeout(env.hca, ++env.now);
		}
		(void)env_wc(&env, 1, VB_WC_RETRY_EXC_ERR);
		assert_int_equal(vb_qp_get_state(qp[0]), VB_QPS_ERR);
		assert_int_equal(vb_qp_destroy(qp[0]), 0);
	}
	env_close(&env);
}

/* The 32 codes as the standard has them, in milliseconds. facts B.6, IBT-79 */
static const double rnr_ms[32] = {
    655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,   0.32,
    0.48,   0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24,  15.36,
    20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
};

/* The wait is what the NAK says, whatever the QP's own timer code. IBT-78 */
static void rnr__every_code(void **state)
{
	(void)state;
	setup();
	for (uint8_t code = 0; code < 32; code++) {
		vb_dur wait = (vb_dur)(rnr_ms[code] * 1e6 + 0.5);
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .aeth.syndrome = VB_SYNDROME_RNR | code};

		assert_int_equal(vb_rnr_timer_ns(code), wait);
		qp[0] = env_qp(&env, VB_QPT_RC, NULL);
		a.timeout = 0;
		a.min_rnr_timer = 31 - code;
		env_up(&env, qp[0], &a, VB_QPS_RTS);
		assert_int_equal(env_send(&env, qp[0], 1, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		h.dqpn = vb_qp_number(qp[0]);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 0);
		assert_int_equal(vb_hca_poll_timeout(env.hca), env.now + wait);
		env.now += wait;
		vb_hca_handle_timeout(env.hca, env.now);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(vb_qp_destroy(qp[0]), 0);
	}
	env_close(&env);
}

/* The responder names its own code in the RNR NAK. */
static void rnr__code_of_the_responder(void **state)
{
	(void)state;
	setup();
	for (uint8_t code = 0; code < 32; code++) {
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY};

		qp[0] = env_qp(&env, VB_QPT_RC, NULL);
		a.min_rnr_timer = code;
		env_up(&env, qp[0], &a, VB_QPS_RTS);
		h.dqpn = vb_qp_number(qp[0]);
		assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_NO_RECV_WQE);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).aeth.syndrome, VB_SYNDROME_RNR | code);
		assert_int_equal(vb_qp_destroy(qp[0]), 0);
	}
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timerq__against_a_model),
	    cmocka_unit_test(timerq__equal_deadlines),
	    cmocka_unit_test(timerq__grows),
	    cmocka_unit_test(timerq__destroyed),
	    cmocka_unit_test(ack_timeout__every_exponent),
	    cmocka_unit_test(ack_timeout__retries),
	    cmocka_unit_test(rnr__every_code),
	    cmocka_unit_test(rnr__code_of_the_responder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
