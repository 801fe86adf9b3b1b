/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of a DC initiator: their errors, what their channels share and what they do not. The
 * packets are in tests/script/dc. docs/dc.md; IBT-25
 */
#include "dc_env.h"

/* Every stream number can be in error, one after the other, but for the last, which is the QP's. */
static void dci__streams_in_error(void **state)
{
	struct vb_qp *dct, *dci;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 3, .log_errored = 2});
	for (uint16_t s = 0; s < 3; s++) {
		assert_int_equal(post(dci, s, VB_WR_SEND, 8, vb_qp_number(dct), 0, s), 0);
		assert_int_equal(post(dci, s, VB_WR_SEND, 8, vb_qp_number(dct), KEY, s), 0);
		env_loop(&env);
		(void)env_wc(&env, s, VB_WC_REM_ACCESS_ERR);
		(void)env_wc(&env, s, VB_WC_WR_FLUSH_ERR);
		assert_int_equal(vb_qp_get_state(dci), VB_QPS_RTS);
	}
	assert_int_equal(vb_dci_reset_stream(dci, 3), -EINVAL);
	assert_int_equal(vb_dci_reset_stream(dci, 1), 0);
	assert_int_equal(post(dci, 7, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 1), 0);
	env_loop(&env);
	(void)env_wc(&env, 7, VB_WC_SUCCESS);
	/* The third again, and the one that is too many. */
	for (uint16_t s = 3; s < 5; s++) {
		assert_int_equal(post(dci, s, VB_WR_SEND, 8, vb_qp_number(dct), 0, s), 0);
		env_loop(&env);
		(void)env_wc(&env, s, VB_WC_REM_ACCESS_ERR);
	}
	assert_int_equal(vb_qp_get_state(dci), VB_QPS_ERR);
	env_close(&env);
}

/* Runs until there is a completion. */
static void run_to_completion(void)
{
	for (env_loop(&env); vb_cq_is_empty(env.cq); env_loop(&env)) {
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
	}
}

/* A request behind a stream's failure has all the RNR retries that there are. */
static void dci__rnr_retries_after_an_error(void **state)
{
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *dct, *dci;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	a.rnr_retry = 1;
	assert_int_equal(env_modify(&env, dci, &a, VB_QPS_RESET), 0);
	env_up(&env, dci, &a, VB_QPS_RTS);
	assert_int_equal(post(dci, 1, VB_WR_SEND, 8, vb_qp_number(dct), KEY, 1), 0);
	run_to_completion();
	(void)env_wc(&env, 1, VB_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(vb_dci_reset_stream(dci, 1), 0);
	assert_int_equal(post(dci, 2, VB_WR_SEND, 8, vb_qp_number(dct), KEY, 1), 0);
	env_loop(&env);
	assert_int_equal(env.counters.v[VB_COUNTER_rnr_nak_retry_err], 3);
	env_no_wc(&env);
	post_srq(9, 64);
	run_to_completion();
	(void)env_wc(&env, 9, VB_WC_SUCCESS);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	env_close(&env);
}

/* A QP all of whose work is signaled has no channel whose work is not. IBT-60 */
static void dci__streams_are_all_signaled(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_DCI,
				  .dc = {.log_streams = 2, .log_errored = 2},
				  .cap = {.max_send_wr = 64, .max_send_sge = 4},
				  .sq_sig_all = true};
	struct vb_qp_attr a;
	struct vb_qp *dct, *dci;

	(void)state;
	setup();
	init.send_cq = env.cq;
	a = env_attr(1, 0);
	dct = target(KEY);
	assert_int_equal(vb_qp_create(env.pd, &init, &dci), 0);
	env_up(&env, dci, &a, VB_QPS_RTS);
	for (uint16_t s = 0; s < 4; s++) {
		struct vb_ah ah = {.pd = env.pd, .path = env_path(1)};
		struct vb_sge sge = env_sge(&env, 0, 8);
		struct vb_send_wr wr = {.wr_id = s,
					.sge = &sge,
					.sge_cnt = 1,
					.opcode = VB_WR_RDMA_WRITE,
					.remote_addr = ENV_IOVA + ENV_MEM / 2,
					.rkey = vb_mr_rkey(env.mr),
					.ah = &ah,
					.dqpn = vb_qp_number(dct),
					.dc_key = KEY,
					.dc_stream = s};

		assert_int_equal(vb_qp_post_send(dci, &wr, env.now), 0);
		env_loop(&env);
		(void)env_wc(&env, s, VB_WC_SUCCESS);
	}
	env_no_wc(&env);
	env_close(&env);
}

/* However many channels there are, the room is that of the QP; and so is the end of all of them. */
static void dci__streams_share_the_room(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 4, .log_errored = 4});
	for (uint16_t n = 0; n < 64; n++) {
		assert_int_equal(vb_qp_send_room(dci), 64 - n);
		assert_int_equal(post(dci, n, VB_WR_SEND, 8, 0x30, KEY, n * 3 % 21), 0);
	}
	assert_int_equal(post(dci, 64, VB_WR_SEND, 8, 0x30, KEY, 99), -ENOMEM);
	assert_true(env_tx(&env, &b) > 32);

	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};

	assert_int_equal(vb_qp_modify(dci, &a, VB_QP_STATE, env.now), 0);
	for (uint16_t n = 0; n < 64; n++)
		(void)env_wc(&env, n, VB_WC_WR_FLUSH_ERR);
	env_no_wc(&env);
	assert_int_equal(vb_qp_send_room(dci), 64);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* A stream that finds its own channel taken keeps the one that it takes instead: two channels would
 * lose its order. docs/dc.md */
static void dci__a_stream_stays_in_one_channel(void **state)
{
	struct vb_qp *dci, *taken = NULL;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	assert_int_equal(post(dci, 0, VB_WR_SEND, 8, 0x30, KEY, 0), 0);
	assert_int_equal(post(dci, 1, VB_WR_SEND, 8, 0x30, KEY, 4), 0);
	for (uint32_t i = 1; i < 4; i++) {
		struct vb_qp *channel = dci->dci->streams->channel[i];

		if (channel->sq.tail != channel->sq.head)
			taken = channel;
	}
	assert_non_null(taken);
	for (uint16_t n = 2; n < 5; n++) {
		assert_ptr_equal(vb_dci_choose(dci, 4), taken);
		assert_int_equal(post(dci, n, VB_WR_SEND, 8, 0x30, KEY, 4), 0);
	}
	assert_int_equal(taken->sq.tail - taken->sq.head, 4);
	env_close(&env);
}

/* A stream keeps its channel also while the one it would look at first has nothing to do: its next
 * work goes behind its last. docs/dc.md */
static void dci__a_stream_stays_beside_an_empty_channel(void **state)
{
	struct vb_qp *dct, *dci;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
	assert_int_equal(post(dci, 0, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, 0x30, KEY, 2), 0);
	env_loop(&env);
	(void)env_wc(&env, 0, VB_WC_SUCCESS);
	env_no_wc(&env);

	struct vb_qp *const *channel = dci->dci->streams->channel;

	assert_true(channel[0]->sq.head == channel[0]->sq.tail);
	assert_ptr_equal(vb_dci_choose(dci, 2), channel[1]);
	env_close(&env);
}

/* Each channel has a deadline of its own: there is room for those of all initiators. */
static void dci__deadlines_of_many_streams(void **state)
{
	struct vb_qp *dci[12];

	(void)state;
	setup();
	for (uint32_t i = 0; i < 12; i++)
		dci[i] = initiator((struct vb_dc_init){.log_streams = 4, .log_errored = 4});
	for (uint32_t i = 0; i < 12; i++) {
		for (uint16_t s = 0; s < 16; s++)
			assert_int_equal(post(dci[i], s, VB_WR_SEND, 8, 0x30, KEY, s), 0);
	}
	while (env_tx(&env, &b))
		;
	for (uint32_t i = 0; i < 12; i += 2)
		assert_int_equal(vb_qp_destroy(dci[i]), 0);
	/* No target answers: each connect and each request comes again. */
	for (uint32_t again = 0, n; again < 2u * 6 * 16; again += n) {
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
		n = env_tx(&env, &b);
	}
	env_close(&env);
}

/* Channels have no numbers: their deadlines come on top of those of all QPs that there are numbers
 * for. */
static void dci__deadlines_beside_all_qps(void **state)
{
	/* 0 is no QP's number, and one is the initiator's. */
	enum { NUMBERS = 32, STREAMS = 16, QPS = NUMBERS - 2 };
	struct vb_qp *dci;

	(void)state;
	env_config(&env);
	env.cfg.qpn_stride = (1u << 24) / NUMBERS;
	env_open(&env, 4096);
	dci = initiator((struct vb_dc_init){.log_streams = 4, .log_errored = 4});
	for (unsigned s = 0; s < STREAMS; s++)
		assert_int_equal(post(dci, (uint16_t)s, VB_WR_SEND, 8, 0x30, KEY, s), 0);
	for (uint32_t i = 0; i < QPS; i++)
		assert_int_equal(
		    env_send(&env, env_rts(&env, VB_QPT_RC, 2, 0x21), i, VB_WR_SEND, 8), 0);
	while (env_tx(&env, &b))
		;
	for (uint32_t again = 0, n; again < QPS + STREAMS; again += n) {
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
		n = env_tx(&env, &b);
		assert_true(n);
	}
	env_close(&env);
}

static void dci__streams_refused(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_DCI, .dc.log_streams = VB_DC_LOG_STREAMS_MAX + 1};
	struct vb_qp *qp;

	(void)state;
	setup();
	init.send_cq = env.cq;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	init.dc = (struct vb_dc_init){.log_streams = 1, .log_errored = VB_DC_LOG_ERRORED_MAX + 1};
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	/* A rate would be of all channels together. */
	qp = initiator((struct vb_dc_init){.log_streams = 1});
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN, 0, env.now), -EINVAL);
	qp = initiator((struct vb_dc_init){0});
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN, 0, env.now), 0);
	env_close(&env);
}

static void dci_reset_stream__of_another_type(void **state)
{
	(void)state;
	setup();
	assert_int_equal(vb_dci_reset_stream(env_qp(&env, VB_QPT_RC, NULL), 0), -EINVAL);
	assert_int_equal(vb_dci_reset_stream(target(KEY), 0), -EINVAL);
	env_close(&env);
}

/* A CNP names no channel: it is one, and slows down all those that send to where it comes from. */
static void dci__cnp_for_streams(void **state)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_CNP, .becn = true};
	struct vb_qp *dci;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	h.dqpn = vb_qp_number(dci);
	for (uint16_t s = 1; s <= 2; s++)
		assert_int_equal(post(dci, s, VB_WR_RDMA_WRITE, 8, 0x30, KEY, s), 0);
	assert_int_equal(env_rx(&env, 1, &h, 0), VB_VERDICT_SOURCE);
	assert_int_equal(env_tx(&env, &b), 2); /* the connects */

	uint16_t whole = vb_qp_cc(vb_qp_channel(dci, 1), env.now)->cc_rate;

	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_SOURCE);
	assert_int_equal(env_rx(&env, 1, &h, 0), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	assert_int_equal(vb_qp_cc(vb_qp_channel(dci, 0), env.now)->cc_rate, whole);
	for (uint32_t i = 1; i <= 2; i++)
		assert_true(vb_qp_cc(vb_qp_channel(dci, i), env.now)->cc_rate < whole);
	assert_int_equal(vb_qp_cc(vb_qp_channel(dci, 3), env.now)->cc_rate, whole);
	env_close(&env);
}

/* Of several streams in error each flushes its work, until it is reset itself. docs/dc.md */
static void dci__each_stream_in_error_flushes(void **state)
{
	struct vb_qp *dct, *dci;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 3, .log_errored = 2});
	for (uint16_t s = 0; s < 3; s++) {
		assert_int_equal(post(dci, s, VB_WR_SEND, 8, vb_qp_number(dct), 0, s), 0);
		env_loop(&env);
		(void)env_wc(&env, s, VB_WC_REM_ACCESS_ERR);
	}
	for (int reset = 0; reset < 2; reset++) {
		for (uint16_t s = 0; s < 3; s++) {
			assert_int_equal(
			    post(dci, s, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, s), 0);
			env_loop(&env);
			(void)env_wc(&env, s, reset && s == 1 ? VB_WC_SUCCESS : VB_WC_WR_FLUSH_ERR);
		}
		assert_int_equal(vb_dci_reset_stream(dci, 1), reset ? -EINVAL : 0);
	}
	env_close(&env);
}

/* An initiator that goes takes the deadlines of its channels along: the next one finds room. */
static void dci__gives_its_deadlines_back(void **state)
{
	uint32_t room = 0;

	(void)state;
	setup();
	for (uint32_t i = 0; i < 50; i++) {
		struct vb_qp *dci =
		    initiator((struct vb_dc_init){.log_streams = 4, .log_errored = 4});

		assert_int_equal(vb_qp_destroy(dci), 0);
		if (i)
			assert_int_equal(env.hca->heap_cap, room);
		room = env.hca->heap_cap;
	}
	env_close(&env);
}

/* Unacknowledged packets are counted over all channels. */
static void dci__unacked_of_all_channels(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	for (uint16_t s = 0; s < 3; s++)
		assert_int_equal(post(dci, s, VB_WR_RDMA_WRITE, 3000, 0x30, KEY, s), 0);
	while (env_tx(&env, &b))
		;
	assert_int_equal(vb_qp_unacked(dci), 9);
	env_close(&env);
}

/* The count of what was posted wraps: work is flushed in its order all the same. */
static void dci__flushed_in_order_when_the_count_wraps(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	dci->dci->streams->post_cnt = UINT32_MAX - 1;
	for (uint16_t n = 0; n < 4; n++)
		assert_int_equal(post(dci, n, VB_WR_SEND, 8, 0x30, KEY, 3 - n), 0);
	assert_int_equal(vb_qp_modify(dci, &a, VB_QP_STATE, 0), 0);
	for (uint16_t n = 0; n < 4; n++)
		(void)env_wc(&env, n, VB_WC_WR_FLUSH_ERR);
	env_close(&env);
}

/* Each channel has a queue of its own, also in memory of the program: work that was posted before
 * goes along, and is what it was. */
static void dci__queues_in_memory_of_the_program(void **state)
{
	static _Alignas(64) uint8_t mem[1 << 16];
	struct vb_qp *dct, *dci;
	uint32_t blocks, done = 0;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
	for (uint16_t n = 0; n < 4; n++)
		assert_int_equal(post(dci, n, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, n & 1),
				 0);
	assert_true(vb_qp_ring_size(dci) <= sizeof mem);
	blocks = env.blocks;
	vb_qp_place_ring(dci, mem);
	assert_int_equal(env.blocks, blocks - 2);
	for (uint16_t n = 4; n < 8; n++)
		assert_int_equal(post(dci, n, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, n & 1),
				 0);
	env_loop(&env);
	for (uint16_t n = 0; n < 8; n++) {
		struct vb_wc wc;

		assert_int_equal(vb_cq_poll(env.cq, &wc, 1), 1);
		assert_int_equal(wc.status, VB_WC_SUCCESS);
		done |= 1u << wc.wr_id;
	}
	assert_int_equal(done, 0xff);
	env_no_wc(&env);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dci__streams_in_error),
	    cmocka_unit_test(dci__rnr_retries_after_an_error),
	    cmocka_unit_test(dci__streams_are_all_signaled),
	    cmocka_unit_test(dci__streams_share_the_room),
	    cmocka_unit_test(dci__a_stream_stays_in_one_channel),
	    cmocka_unit_test(dci__a_stream_stays_beside_an_empty_channel),
	    cmocka_unit_test(dci__deadlines_of_many_streams),
	    cmocka_unit_test(dci__deadlines_beside_all_qps),
	    cmocka_unit_test(dci__streams_refused),
	    cmocka_unit_test(dci_reset_stream__of_another_type),
	    cmocka_unit_test(dci__cnp_for_streams),
	    cmocka_unit_test(dci__each_stream_in_error_flushes),
	    cmocka_unit_test(dci__gives_its_deadlines_back),
	    cmocka_unit_test(dci__unacked_of_all_channels),
	    cmocka_unit_test(dci__flushed_in_order_when_the_count_wraps),
	    cmocka_unit_test(dci__queues_in_memory_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
