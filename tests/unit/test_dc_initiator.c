/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A DC initiator and a peer that this test plays: accepted answers, waits, streams that share
 * channels, and resets. docs/dc.md; IBT-25
 */
#include "dc_env.h"

#define DCTN 0x30u

/* The target's answer to the last packet of @qp, an initiator or a channel of it. */
static enum vb_verdict answer(const struct vb_qp *qp, uint32_t psn, uint8_t syndrome, uint32_t from)
{
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_DC | VB_OP_ACK,
	    .dqpn = qp->qpn,
	    .psn = vb_psn(psn),
	    .aeth.syndrome = syndrome,
	    .dc = {.channel = qp->dc_channel, .sqpn = from, .connection = qp->dc_connection}};

	return env_rx(&env, 1, &h, 0);
}

#define ACK (VB_SYNDROME_ACK | VB_CREDIT_UNLIMITED)

static int write8(struct vb_qp *qp, uint64_t wr_id, uint16_t stream)
{
	return post(qp, wr_id, VB_WR_RDMA_WRITE, 8, DCTN, KEY, stream);
}

/* READs beyond the room of a target wait, however many the initiator may have under way. */
static void dci__reads_that_a_target_has_room_for(void **state)
{
	struct vb_qp *dci;

	(void)state;
	env_config(&env);
	env.cfg.limits.rd_atomic = 64;
	env_open(&env, 64);
	dci = initiator((struct vb_dc_init){0});
	dci->attr.max_rd_atomic = 64;
	for (uint32_t i = 0; i < VB_DCT_RESOURCES + 4; i++)
		assert_int_equal(post(dci, i, VB_WR_RDMA_READ, 8, DCTN, KEY, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1 + VB_DCT_RESOURCES); /* the connect, too */
	env_close(&env);
}

/* The low half of a connection's number counts up and wraps; the high half, which names the
 * initiator, stays. docs/dc.md */
static void dci__connections_wrap(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){0});
	dci->dc_connection = 0x5ffff;
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OPCODE_DC_CONNECT);
	assert_int_equal(env_hdr(&b.pkt[0]).dc.connection, 0x50000);
	env_close(&env);
}

/* Another target of the same host cannot answer. */
static void dci__hears_only_its_target(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(answer(dci, 0, ACK, DCTN + 1), VB_VERDICT_SOURCE);
	env_no_wc(&env);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* Full handshake: the request behind an answered connect gets its whole timeout. */
static void dci__request_waits_its_own_time(void **state)
{
	struct vb_qp *dci;
	vb_dur timeout;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.full_handshake = true});
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	timeout = dci->timer[VB_TIMER_ACK];
	env.now = timeout / 2;
	(void)answer(dci, 0xffffff, ACK, DCTN);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(dci->timer[VB_TIMER_ACK], timeout / 2 + timeout);
	env_close(&env);
}

/* A reset of the QP ends the errors of its streams. */
static void reset__ends_errors_of_streams(void **state)
{
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	assert_int_equal(write8(dci, 1, 5), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(answer(vb_qp_channel(dci, 1), 0, VB_NAK_REMOTE_ACCESS, DCTN),
			 VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_REM_ACCESS_ERR);
	assert_true(vb_dci_is_bad(dci, 5));
	assert_int_equal(env_modify(&env, dci, &a, VB_QPS_RESET), 0);
	assert_false(vb_dci_is_bad(dci, 5));
	assert_int_equal(vb_dci_reset_stream(dci, 5), -EINVAL);
	env_close(&env);
}

/* A stream that fails while it waits for a receive of its target leaves no timer of that wait
 * behind: what comes next does not wait. */
static void stream__fails_amid_an_rnr_wait(void **state)
{
	struct vb_qp *dci, *channel;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	channel = vb_qp_channel(dci, 1);
	assert_int_equal(write8(dci, 1, 5), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(answer(channel, 0, VB_SYNDROME_RNR | 14, DCTN), VB_VERDICT_OK);
	assert_int_not_equal(channel->timer[VB_TIMER_RNR], VB_NEVER);
	assert_int_equal(answer(channel, 0, VB_NAK_REMOTE_ACCESS, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_REM_ACCESS_ERR);
	assert_int_equal(channel->timer[VB_TIMER_RNR], VB_NEVER);
	assert_int_equal(write8(dci, 2, 3), 0);
	assert_true(env_tx(&env, &b) > 0);
	env_close(&env);
}

/* Places in the queue of a channel wrap: the stream that has the channel, and one that is a guest
 * there, keep it as long as their work is queued. docs/dc.md */
static void stream__keeps_its_channel_around_the_wrap(void **state)
{
	struct vb_qp *dci, *channel[2];

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	for (uint32_t i = 0; i < 2; i++) {
		channel[i] = vb_qp_channel(dci, i);
		channel[i]->sq.head = channel[i]->sq.nxt = channel[i]->sq.tail = UINT32_MAX - 1;
		channel[i]->dci->own_end = channel[i]->dci->other_end = UINT32_MAX - 1;
	}
	assert_int_equal(write8(dci, 1, 4), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(write8(dci, 2 + i, 5), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(write8(dci, 5 + i, 7), 0); /* there is no channel for it alone */
	assert_int_equal(channel[0]->sq.tail, UINT32_MAX);
	assert_int_equal(channel[1]->sq.tail, 4);
	(void)env_tx(&env, &b);
	assert_int_equal(answer(channel[0], 0, ACK, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	/* The first channel is empty. */
	assert_int_equal(write8(dci, 8, 5), 0);
	assert_int_equal(write8(dci, 9, 7), 0);
	assert_int_equal(channel[0]->sq.tail, UINT32_MAX);
	assert_int_equal(channel[1]->sq.tail, 6);
	/* A stream that has nothing queued takes it. */
	assert_int_equal(write8(dci, 10, 9), 0);
	assert_int_equal(channel[0]->sq.tail, 0);
	env_close(&env);
}

/* Work that a channel had 2^31 places ago is not queued there any more, whose ever it was. */
static void stream__leaves_its_channel_for_good(void **state)
{
	static const uint32_t ago[] = {1u << 31, (1u << 31) + 64, UINT32_MAX - 63};

	(void)state;
	for (size_t i = 0; i < sizeof ago / sizeof ago[0]; i++) {
		struct vb_qp *dci, *other;
		struct vb_sq *sq;

		setup();
		dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
		other = vb_qp_channel(dci, 1);
		sq = &dci->sq;
		for (uint16_t stream = 0; stream < 3; stream++) /* the last as a guest of 0 */
			assert_int_equal(write8(dci, stream, stream), 0);
		assert_int_equal(sq->tail, 2);
		(void)env_tx(&env, &b);
		assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
		assert_int_equal(answer(other, 0, ACK, DCTN), VB_VERDICT_OK);
		while (env_tx(&env, &b))
			;
		assert_int_equal(answer(dci, 1, ACK, DCTN), VB_VERDICT_OK);
		assert_int_equal(sq->head, 2);
		sq->head = sq->nxt = sq->tail = sq->head + ago[i];
		assert_int_equal(write8(dci, 3, 0), 0);
		assert_int_equal(sq->tail, ago[i] + 3);
		assert_int_equal(write8(dci, 4, 2), 0);
		assert_int_equal(sq->tail, ago[i] + 3); /* it is in the empty channel, alone */
		env_close(&env);
	}
}

static uint32_t failures;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	failures += ev->id == VB_TRACE_FAILED;
}

/* Work flushed behind a stream's failure is no failure of its own: a trace tells of one. */
static void stream__fails_once(void **state)
{
	struct vb_qp *dci;

	(void)state;
	env_config(&env);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_FAILED, .emit = note_event};
	env_open(&env, 64);
	failures = 0;
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(write8(dci, i, 0), 0);
	(void)env_tx(&env, &b);
	(void)answer(dci, 0, VB_NAK_REMOTE_ACCESS, DCTN);
	while (env_tx(&env, &b))
		;
	(void)env_wc(&env, 0, VB_WC_REM_ACCESS_ERR);
	(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
	(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
	assert_int_equal(failures, 1);
	env_close(&env);
}

/* Work that fails before it has a PSN leaves the connection as it is: no target misses anything. */
static void stream__fails_without_a_packet(void **state)
{
	struct vb_ah ah = {.path = env_path(1)};
	struct vb_send_wr wr = {
	    .wr_id = 2, .opcode = VB_WR_SEND, .ah = &ah, .dqpn = DCTN, .dc_key = KEY};
	struct vb_qp *dci;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &ah.pd), 0); /* not the QP's */
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(vb_qp_post_send(dci, &wr, env.now), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 2, VB_WC_LOC_QP_OP_ERR);
	assert_int_equal(vb_dci_reset_stream(dci, 0), 0);
	assert_int_equal(write8(dci, 3, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1); /* and no connect */
	env_close(&env);
}

/* A stream whose oldest work waits in another's channel stays there, though a channel is empty by
 * now: its work stays in order. */
static void stream__stays_where_its_oldest_work_is(void **state)
{
	struct vb_qp *dci, *other;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	other = vb_qp_channel(dci, 1);
	for (uint16_t stream = 0; stream < 3; stream++) /* the third is a guest of the first */
		assert_int_equal(write8(dci, stream, stream), 0);
	assert_int_equal(dci->sq.tail - dci->sq.head, 2);
	(void)env_tx(&env, &b);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	assert_int_equal(answer(other, 0, ACK, DCTN), VB_VERDICT_OK);
	assert_int_equal(dci->sq.tail - dci->sq.head, 1);
	assert_int_equal(other->sq.tail - other->sq.head, 0);
	assert_int_equal(write8(dci, 3, 2), 0);
	assert_int_equal(dci->sq.tail - dci->sq.head, 2);
	env_close(&env);
}

/* An RNR NAK of a later request shows that the connect has arrived: only the request is sent
 * again. */
static void dci__rnr_of_a_later_request(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){0});
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(post(dci, i, VB_WR_SEND, 8, DCTN, KEY, 0), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(answer(dci, 1, VB_SYNDROME_RNR | 1, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 0, VB_WC_SUCCESS);
	env.now = dci->timer[VB_TIMER_RNR];
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_TRANSPORT_DC | VB_OP_SEND_ONLY);
	env_close(&env);
}

/* Each channel of each initiator has its own allowance of bytes under way. */
static void dci__allowances_are_not_shared(void **state)
{
	struct vb_qp *dci[2], *qp[4];

	(void)state;
	env_config(&env);
	env.cfg.qpn_stride = 256; /* numbers differ in their middle byte */
	env_open(&env, 64);
	for (int i = 0; i < 2; i++) {
		dci[i] = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
		for (uint32_t k = 0; k < 2; k++)
			qp[2 * i + (int)k] = vb_qp_channel(dci[i], k);
	}
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < i; k++)
			assert_ptr_not_equal(qp[i]->peer, qp[k]->peer);
	}
	env_close(&env);
}

/* A register's retry count holds for all channels. REG-18 */
static void cc_close__of_all_channels(void **state)
{
	struct vb_cc_access at;
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
	vb_qp_cc_open(dci, &at);
	at.extended_retry_count = 9;
	vb_qp_cc_close(dci, &at);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(vb_qp_channel(dci, i)->rto.attr_extended, 9);
	env_close(&env);
}

/* A disconnect that is due is forgotten by RESET. IBA 10.3.1.1 */
static void reset__forgets_a_disconnect(void **state)
{
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env.now = dci->timer[VB_TIMER_LINGER];
	vb_hca_handle_timeout(env.hca, env.now);
	assert_true(vb_dci_disconnects(dci));
	assert_int_equal(env_modify(&env, dci, &a, VB_QPS_RESET), 0);
	env_up(&env, dci, &a, VB_QPS_RTS);
	assert_int_equal(write8(dci, 2, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OPCODE_DC_CONNECT);
	assert_false(env_hdr(&b.pkt[0]).solicited);
	env_close(&env);
}

/* SQ_DRAINED comes when the last channel is drained. IBA 10.3.1.5 */
static void sqd__all_channels_drain(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .en_sqd_async_notify = 1};
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
	for (uint16_t s = 0; s < 2; s++)
		assert_int_equal(write8(dci, s, s), 0);
	assert_int_equal(env_tx(&env, &b), 4);
	assert_int_equal(vb_qp_modify(dci, &a, VB_QP_STATE | VB_QP_EN_SQD_ASYNC_NOTIFY, 0), 0);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	env_no_event(&env);
	assert_int_equal(answer(vb_qp_channel(dci, 1), 0, ACK, DCTN), VB_VERDICT_OK);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_SQ_DRAINED);
	env_no_event(&env);
	env_close(&env);
}

/* Software's rate holds for all channels. CC-46 */
static void set_cc_rate__of_all_channels(void **state)
{
	struct vb_qp *dci;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 1});
	vb_qp_set_cc_rate(dci, 77, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(vb_qp_cc(vb_qp_channel(dci, i), 0)->cc_rate, 77);
	env_close(&env);
}

/* The same target by another port of this adapter is another connection. */
static void dci__connects_anew_by_another_port(void **state)
{
	struct vb_ah ah = {.path = env_path(1)};
	struct vb_send_wr wr = {.opcode = VB_WR_RDMA_WRITE, .ah = &ah, .dqpn = DCTN, .dc_key = KEY};
	struct vb_qp *dci;

	(void)state;
	setup();
	ah.pd = env.pd;
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(write8(dci, 1, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(answer(dci, 0, ACK, DCTN), VB_VERDICT_OK);
	ah.path.port = 2;
	assert_int_equal(vb_qp_post_send(dci, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 3); /* a disconnect, a connect and the WRITE */
	assert_int_equal(env_hdr(&b.pkt[1]).opcode, VB_OPCODE_DC_CONNECT);
	assert_int_equal(b.pkt[1].path->port, 2);
	assert_int_equal(b.pkt[2].path->port, 2);
	env_close(&env);
}

/* Where the adapter decides, dc_half_handshake_en says whether a connect waits for its answer.
 * REG-07 */
static void dci__handshake_of_the_adapter(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		env_config(&env);
		env.cfg.recovery.dc_half_handshake_en = half;
		env_open(&env, 64);
		assert_int_equal(write8(initiator((struct vb_dc_init){.by_adapter = true}), 1, 0),
				 0);
		assert_int_equal(env_tx(&env, &b), half ? 2 : 1);
		assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OPCODE_DC_CONNECT);
		assert_int_equal(env_hdr(&b.pkt[0]).dc.full, !half);
		env_close(&env);
	}
}

/* A mask that is lifted lets all channels go on. */
static void sq_arb_mask__of_all_channels(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 2});
	vb_qp_set_sq_arb_mask(dci, true);
	for (uint16_t stream = 0; stream < 4; stream++)
		assert_int_equal(write8(dci, stream, stream), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	vb_qp_set_sq_arb_mask(dci, false);
	assert_int_equal(env_tx(&env, &b), 8); /* four connects */
	env_close(&env);
}

/* READs of a stream that fails are not under way any more: others may have as many as before. */
static void stream__fails_with_its_reads(void **state)
{
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 1, .log_errored = 2});
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post(dci, i, VB_WR_RDMA_READ, 8, DCTN, KEY, 0), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(dci->req.rd_out, 3);
	(void)answer(dci, 0, VB_NAK_REMOTE_ACCESS, DCTN);
	(void)env_wc(&env, 0, VB_WC_REM_ACCESS_ERR);
	assert_int_equal(dci->req.rd_out, 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dci__reads_that_a_target_has_room_for),
	    cmocka_unit_test(dci__connections_wrap),
	    cmocka_unit_test(dci__hears_only_its_target),
	    cmocka_unit_test(dci__request_waits_its_own_time),
	    cmocka_unit_test(reset__ends_errors_of_streams),
	    cmocka_unit_test(stream__fails_amid_an_rnr_wait),
	    cmocka_unit_test(stream__keeps_its_channel_around_the_wrap),
	    cmocka_unit_test(stream__leaves_its_channel_for_good),
	    cmocka_unit_test(stream__fails_once),
	    cmocka_unit_test(stream__fails_without_a_packet),
	    cmocka_unit_test(stream__stays_where_its_oldest_work_is),
	    cmocka_unit_test(dci__rnr_of_a_later_request),
	    cmocka_unit_test(dci__allowances_are_not_shared),
	    cmocka_unit_test(cc_close__of_all_channels),
	    cmocka_unit_test(reset__forgets_a_disconnect),
	    cmocka_unit_test(sqd__all_channels_drain),
	    cmocka_unit_test(set_cc_rate__of_all_channels),
	    cmocka_unit_test(dci__connects_anew_by_another_port),
	    cmocka_unit_test(dci__handshake_of_the_adapter),
	    cmocka_unit_test(sq_arb_mask__of_all_channels),
	    cmocka_unit_test(stream__fails_with_its_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
