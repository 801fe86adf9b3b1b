/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events that a QP's traffic emits, each with all that it says: the material of `verbena
 * explain` and `verbena trace`. trace/events.def
 */
#include "rc_env.h"

#define FIRST 5u  /* of the requester */
#define AWAITS 9u /* the responder */
#define TIMEOUT UINT64_C(67108864)

static struct vb_trace_event seen[64];
static uint32_t seen_cnt, told;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	assert_true(seen_cnt < sizeof seen / sizeof seen[0]);
	seen[seen_cnt++] = *ev;
}

static uint64_t bit(enum vb_trace_id id)
{
	return UINT64_C(1) << id;
}

static struct vb_qp *start(const struct vb_recovery *set, const struct vb_cc_settings *cc,
			   uint64_t events)
{
	seen_cnt = told = 0;
	env_config(&env);
	if (set)
		env.cfg.recovery = *set;
	if (cc)
		env.cfg.cc = *cc;
	env.cfg.trace = (struct vb_trace){.mask = events, .emit = note_event};
	env_open(&env, 256);
	return rts(FIRST, AWAITS, 4);
}

/* The next event that was emitted; it is about @qp, and of now. */
static void expect_event(const struct vb_qp *qp, enum vb_trace_id id, uint64_t a, uint64_t b_,
			 uint64_t c, uint64_t d)
{
	const struct vb_trace_event *ev = &seen[told++];

	assert_true(told <= seen_cnt);
	assert_int_equal(ev->id, id);
	assert_int_equal(ev->qpn, vb_qp_number(qp));
	assert_true(ev->time == env.now);
	assert_true(ev->arg[0] == a && ev->arg[1] == b_ && ev->arg[2] == c && ev->arg[3] == d);
}

static void expect_no_event(void)
{
	assert_int_equal(told, seen_cnt);
}

static void acknowledged(const struct vb_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .aeth = {.syndrome = syndrome, .msn = msn}};

	(void)env_rx(&env, 2, &h, 0);
}

static void events__of_a_message(void **state)
{
	struct vb_qp *qp = start(NULL, NULL,
				 bit(VB_TRACE_PACKET_SENT) | bit(VB_TRACE_PACKET_RECEIVED) |
				     bit(VB_TRACE_TIMER_ARMED) | bit(VB_TRACE_PROGRESS) |
				     bit(VB_TRACE_COMPLETION));

	(void)state;
	env.now = 100;
	assert_int_equal(env_send(&env, qp, 77, VB_WR_RDMA_WRITE, 1500), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_WRITE_FIRST, FIRST, 1024, 0);
	expect_event(qp, VB_TRACE_TIMER_ARMED, 100 + TIMEOUT, TIMEOUT, FIRST, VB_NEVER);
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_WRITE_LAST, FIRST + 1, 476,
		     0);
	expect_no_event();
	env.now = 1100;
	acknowledged(qp, FIRST, 31, 0);
	expect_event(qp, VB_TRACE_PROGRESS, FIRST, FIRST + 1, 0, 1000);
	expect_event(qp, VB_TRACE_TIMER_ARMED, 1100 + TIMEOUT, TIMEOUT, FIRST + 1, VB_NEVER);
	expect_event(qp, VB_TRACE_PACKET_RECEIVED, VB_TRANSPORT_RC | VB_OP_ACK, FIRST, 16,
		     VB_VERDICT_OK);
	env.now = 1200;
	acknowledged(qp, FIRST + 1, 31, 1);
	expect_event(qp, VB_TRACE_COMPLETION, 77, VB_WC_SUCCESS, VB_WC_RDMA_WRITE, 1500);
	expect_event(qp, VB_TRACE_PROGRESS, FIRST + 1, FIRST + 2, 0, 100);
	expect_event(qp, VB_TRACE_PACKET_RECEIVED, VB_TRANSPORT_RC | VB_OP_ACK, FIRST + 1, 16,
		     VB_VERDICT_OK);
	expect_no_event();
	env_close(&env);
}

static void events__of_a_timeout(void **state)
{
	struct vb_qp *qp =
	    start(NULL, NULL,
		  bit(VB_TRACE_PACKET_SENT) | bit(VB_TRACE_TIMER_FIRED) | bit(VB_TRACE_REWOUND) |
		      bit(VB_TRACE_PROGRESS) | bit(VB_TRACE_RECOVERED));

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	(void)env_tx(&env, &b);
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_WRITE_ONLY, FIRST, 8, 0);
	for (uint64_t n = 1; n <= 2; n++) {
		env.now = n * TIMEOUT;
		vb_hca_handle_timeout(env.hca, env.now);
		expect_event(qp, VB_TRACE_TIMER_FIRED, FIRST, 8 - n, TIMEOUT, VB_NEVER);
		expect_event(qp, VB_TRACE_REWOUND, FIRST, FIRST + 1, VB_REWIND_TIMEOUT, 0);
		(void)env_tx(&env, &b);
		expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_WRITE_ONLY, FIRST, 8,
			     1);
	}
	env.now += 1000;
	acknowledged(qp, FIRST, 31, 1);
	expect_event(qp, VB_TRACE_PROGRESS, FIRST, FIRST + 1, 2, 2 * TIMEOUT + 1000);
	expect_event(qp, VB_TRACE_RECOVERED, FIRST + 1, 2, 2 * TIMEOUT + 1000, 0);
	expect_no_event();
	env_close(&env);
}

/* The end of the retries is told, with its cause, and so is the work that has failed. */
static void events__of_retries_that_end(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum vb_rewind_why why;
		enum vb_wc_status status;
		uint32_t vendor_err;
	} c[] = {
	    {VB_NAK_PSN_SEQ, VB_REWIND_NAK, VB_WC_RETRY_EXC_ERR, VB_REWIND_NAK},
	    {VB_SYNDROME_RNR | 3, VB_REWIND_RNR, VB_WC_RNR_RETRY_EXC_ERR, VB_SYNDROME_RNR | 3}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct vb_qp *qp = start(NULL, NULL,
					 bit(VB_TRACE_NAK_RECEIVED) | bit(VB_TRACE_REWOUND) |
					     bit(VB_TRACE_RETRY_ENDED) | bit(VB_TRACE_FAILED));

		qp->attr.retry_cnt = qp->rto.retry_left = qp->rto.attr_retry = 0;
		qp->attr.rnr_retry = qp->req.rnr_left = 0;
		env.now = 50;
		assert_int_equal(env_send(&env, qp, 99, VB_WR_SEND, 8), 0);
		(void)env_tx(&env, &b);
		env.now = 250;
		acknowledged(qp, FIRST, c[i].syndrome, 3);
		expect_event(qp, VB_TRACE_NAK_RECEIVED, c[i].syndrome, FIRST, 3, 0);
		expect_event(qp, VB_TRACE_RETRY_ENDED, c[i].why, 0, 200, FIRST);
		expect_event(qp, VB_TRACE_FAILED, c[i].status, c[i].vendor_err, 99, VB_WR_SEND);
		expect_no_event();
		env_close(&env);
	}
}

static void events__of_naks_that_are_forgiven(void **state)
{
	struct vb_qp *qp = start(NULL, NULL, bit(VB_TRACE_NAK_RECEIVED) | bit(VB_TRACE_REWOUND));

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	acknowledged(qp, FIRST, VB_NAK_PSN_SEQ, 0xabcdef);
	expect_event(qp, VB_TRACE_NAK_RECEIVED, VB_NAK_PSN_SEQ, FIRST, 0xabcdef, 0);
	expect_event(qp, VB_TRACE_REWOUND, FIRST, FIRST + 1, VB_REWIND_NAK, 0);
	(void)env_tx(&env, &b);
	acknowledged(qp, FIRST, VB_SYNDROME_RNR | 3, 1);
	expect_event(qp, VB_TRACE_NAK_RECEIVED, VB_SYNDROME_RNR | 3, FIRST, 1, 0);
	expect_event(qp, VB_TRACE_REWOUND, FIRST, FIRST + 1, VB_REWIND_RNR, 0);
	expect_no_event();
	env_close(&env);
}

/* A SEND that finds no receive, the same again, and a READ. */
static void events__of_a_responder(void **state)
{
	struct vb_qp *qp = start(NULL, NULL,
				 bit(VB_TRACE_PACKET_SENT) | bit(VB_TRACE_PACKET_RECEIVED) |
				     bit(VB_TRACE_NAK_SENT) | bit(VB_TRACE_COMPLETION));

	(void)state;
	qp->resp.msn = 6;
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, AWAITS, 8), VB_VERDICT_NO_RECV_WQE);
	expect_event(qp, VB_TRACE_PACKET_RECEIVED, VB_TRANSPORT_RC | VB_OP_SEND_ONLY, AWAITS, 20,
		     VB_VERDICT_NO_RECV_WQE);
	(void)answer();
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_ACK, AWAITS, 0, 0);
	expect_event(qp, VB_TRACE_NAK_SENT, VB_SYNDROME_RNR | 1, AWAITS, 6, 0);
	assert_int_equal(env_recv(&env, qp, 33, 64), 0);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, AWAITS, 8), VB_VERDICT_OK);
	expect_event(qp, VB_TRACE_COMPLETION, 33, VB_WC_SUCCESS, VB_WC_RECV, 8);
	expect_event(qp, VB_TRACE_PACKET_RECEIVED, VB_TRANSPORT_RC | VB_OP_SEND_ONLY, AWAITS, 20,
		     VB_VERDICT_OK);
	(void)answer();
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_ACK, AWAITS, 0, 0);
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, AWAITS + 1, 0), VB_VERDICT_OK);
	told++; /* received */
	(void)answer();
	expect_event(qp, VB_TRACE_PACKET_SENT, VB_TRANSPORT_RC | VB_OP_READ_RESP_ONLY, AWAITS + 1,
		     8, 0);
	expect_no_event();
	env_close(&env);
}

/* Answers of a READ are missing: how far it was looked, how many there are, and how many are due.
 */
static void events__of_missing_answers(void **state)
{
	const struct vb_recovery set = {.selective_repeat_forced_en = true};
	struct vb_qp *qp = start(&set, NULL, bit(VB_TRACE_MISSING));
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_RESP_MIDDLE,
			   .dqpn = vb_qp_number(qp),
			   .selective = true,
			   .aeth.syndrome = 31};

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_READ, 8 * 1024), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	h.psn = vb_psn(FIRST + 3);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
	expect_event(qp, VB_TRACE_MISSING, FIRST, FIRST + 4, 3, 3);
	assert_int_equal(env_tx(&env, &b), 1); /* asked for again */
	h.psn = vb_psn(FIRST + 6);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
	expect_event(qp, VB_TRACE_MISSING, FIRST, FIRST + 7, 5, 2);
	expect_no_event();
	env_close(&env);
}

/* The rate after a CNP. CC-11, CC-12 */
static void events__of_a_cnp(void **state)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_CNP, .becn = true};
	struct vb_cc_settings set;
	struct vb_qp *qp;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(40000000000));
	set.tx_wqe_ost_limit_en = true;
	qp = start(NULL, &set, bit(VB_TRACE_CNP_RECEIVED));
	h.dqpn = vb_qp_number(qp);
	for (int i = 0; i < 2; i++) {
		const struct vb_cc *cc = &qp->cc.ctl;

		env.now = (vb_time)i * 60 * VB_USEC;
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_true(cc->cc_rate < vb_cc_target_rate(cc));
		expect_event(qp, VB_TRACE_CNP_RECEIVED, cc->cc_rate, vb_cc_target_rate(cc),
			     vb_cc_alpha(cc), VB_CC_OST_REDUCED);
	}
	expect_no_event();
	env_close(&env);
}

/* The ladder step by step: how it moved, and between which values and ranges. ADP-12, ADP-13 */
static void events__of_the_ladder(void **state)
{
	struct vb_recovery set = {.roce_adp_retrans_en = true};
	struct vb_qp *qp = start(&set, NULL, bit(VB_TRACE_TIMER_MOVED));
	uint8_t exp = qp->rto.cur_exp;

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	(void)env_tx(&env, &b);
	expect_no_event();
	for (; exp < 17; exp++) {
		env.now = qp->timer[VB_TIMER_ACK];
		vb_hca_handle_timeout(env.hca, env.now);
		expect_event(qp, VB_TRACE_TIMER_MOVED,
			     exp == 13 ? VB_RTO_NEXT_RANGE : VB_RTO_DOUBLES, exp, exp + 1u,
			     exp >= 13);
		(void)env_tx(&env, &b);
	}
	acknowledged(qp, FIRST, 31, 1);
	expect_event(qp, VB_TRACE_TIMER_MOVED, VB_RTO_DECREMENTS, 17, 16, 1);
	expect_no_event();
	env_close(&env);
}

/* A ramp, from its beginning to its end. REG-07 */
static void events__of_a_ramp(void **state)
{
	struct vb_recovery set = {.roce_slow_restart_en = true, .slow_restart_bytes = 2048};
	struct vb_qp *qp = start(&set, NULL, bit(VB_TRACE_SLOW_RESTART));

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 5 * 1024), 0);
	assert_int_equal(env_tx(&env, &b), 5);
	env.now = TIMEOUT;
	vb_hca_handle_timeout(env.hca, env.now);
	expect_event(qp, VB_TRACE_SLOW_RESTART, VB_RAMP_LOSS, 2, 5, 0);
	assert_int_equal(env_tx(&env, &b), 2);
	acknowledged(qp, FIRST + 1, 31, 0);
	expect_no_event(); /* four of five */
	assert_int_equal(env_tx(&env, &b), 3);
	acknowledged(qp, FIRST + 2, 31, 0);
	expect_event(qp, VB_TRACE_SLOW_RESTART, VB_RAMP_END, 0, 5, 0);
	expect_no_event();
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(events__of_a_message),
	    cmocka_unit_test(events__of_a_timeout),
	    cmocka_unit_test(events__of_retries_that_end),
	    cmocka_unit_test(events__of_naks_that_are_forgiven),
	    cmocka_unit_test(events__of_a_responder),
	    cmocka_unit_test(events__of_missing_answers),
	    cmocka_unit_test(events__of_a_cnp),
	    cmocka_unit_test(events__of_the_ladder),
	    cmocka_unit_test(events__of_a_ramp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
