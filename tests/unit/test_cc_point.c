/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control at QPs: marks, CNPs on the wire, what the limiter, the window and the mask
 * hold back, and the timer that ends it. */
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

/* Everything on, at 250 MHz and 40 Gb/s. */
static struct vb_cc_settings paper(void)
{
	struct vb_cc_settings s;

	vb_cc_settings_paper(&s, UINT64_C(40000000000));
	return s;
}

static struct vb_qp *open_with(const struct vb_cc_settings *s, enum vb_qp_type type)
{
	env_config(&env);
	env.cfg.cc = *s;
	env_open(&env, 256);
	return env_rts(&env, type, 2, 0x21);
}

static enum vb_verdict rx_marked(struct vb_qp *qp, uint8_t opcode, uint8_t tclass, uint8_t host,
				 uint32_t psn)
{
	struct vb_hdr h = {.opcode = opcode,
			   .pkey = VB_PKEY_DEFAULT,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn)};
	struct vb_path path = env_path(host);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	path.sgid = env_gid(host);
	path.dgid = env_gid(1);
	path.traffic_class = tclass;
	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

/* The peer acknowledges up to @psn. */
static void ack(struct vb_qp *qp, uint32_t psn)
{
	struct vb_hdr h = {.opcode = VB_OP_ACK,
			   .pkey = VB_PKEY_DEFAULT,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .aeth.syndrome = 0x1f};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
}

static uint32_t cnps(void)
{
	uint32_t n = 0;

	env_tx(&env, &b);
	for (uint32_t i = 0; i < b.cnt; i++)
		n += b.pkt[i].hdr[0] == VB_OPCODE_CNP;
	return n;
}

/* CC-03: the bytes of an adapter's CNP, but for QPN. facts B.3 */
static void cnp__format(void **state)
{
	static const uint8_t want[28] = {0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x00, 0x21};
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	/* It goes first, though a request waits. */
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 0);
	assert_true(env_tx(&env, &b) >= 2);
	assert_int_equal(b.pkt[0].hdr_len, sizeof want);
	assert_memory_equal(b.pkt[0].hdr, want, sizeof want);
	assert_int_equal(b.pkt[0].payload_len, 0);
	assert_int_equal(b.pkt[0].path->traffic_class, 0xc2);
	assert_true(vb_gid_eq(&b.pkt[0].path->dgid, &qp->attr.path.dgid));
	assert_int_equal(env.counters.v[VB_COUNTER_np_cnp_sent], 1);
	assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 1);
	/* Data is ECT(0), acknowledgements are not, and the QP's own class is as it was. */
	for (uint32_t i = 1; i < b.cnt; i++)
		assert_int_equal(b.pkt[i].path->traffic_class,
				 b.pkt[i].hdr[0] == VB_OP_WRITE_ONLY ? VB_ECN_ECT0 : 0);
	assert_int_equal(qp->attr.path.traffic_class, 0);
	env_close(&env);
}

/* CC-03, CC-04: how often, for what, and what draws none. */
static void mark__draws_cnps(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	for (uint8_t ecn = 0; ecn < 3; ecn++)
		rx_marked(qp, VB_OP_WRITE_ONLY, ecn, 2, ecn);
	assert_int_equal(cnps(), 0);
	rx_marked(qp, VB_OPCODE_CNP, VB_ECN_CE, 2, 0);
	assert_int_equal(cnps(), 0);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 3, 3); /* not from the peer */
	assert_int_equal(cnps(), 0);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 3);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 4);
	assert_int_equal(cnps(), 1);
	env.now = 50 * VB_USEC - 1;
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 5);
	assert_int_equal(cnps(), 0);
	env.now = 50 * VB_USEC;
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 6);
	assert_int_equal(cnps(), 1);
	/* The literal text: one for each. */
	s.np_min_cnp_us = 0;
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, env.now), 0);
	env.now = VB_SEC;
	for (uint32_t i = 7; i < 12; i++)
		rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, i);
	assert_int_equal(cnps(), 5);
	s.np_en = false;
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, env.now), 0);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 12);
	assert_int_equal(cnps(), 0);
	env_close(&env);
}

/* A QP that fails says why, and sends no CNP that it still owes. */
static void mark__of_a_qp_that_stops(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 0);
	rx_marked(qp, VB_OP_WRITE_LAST, 0, 2, 1); /* of no message */
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	assert_int_equal(cnps(), 0);
	assert_int_equal(b.cnt, 1);
	assert_int_equal(env_hdr(&b.pkt[0]).aeth.syndrome, VB_NAK_INVALID_REQUEST);
	env_close(&env);
}

/* A datagram that is marked draws no CNP: its sender has no rate that one could cut. facts B.3 */
static void mark__of_a_datagram_draws_none(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_UD);
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .pkey = VB_PKEY_DEFAULT,
			   .dqpn = vb_qp_number(qp),
			   .deth = {ENV_QKEY, 0x21}};
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	(void)state;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	path.sgid = env_gid(2);
	path.traffic_class = VB_ECN_CE;
	assert_int_equal(cnps(), 0);
	for (uint64_t i = 0; i < 3; i++) {
		env.now = i * VB_SEC;
		assert_int_equal(env_recv(&env, qp, i, 64), 0);
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
		(void)env_wc(&env, i, VB_WC_SUCCESS);
		assert_false(vb_hca_has_transmit(env.hca));
		assert_int_equal(cnps(), 0);
	}
	assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 3);
	assert_int_equal(env.counters.v[VB_COUNTER_np_cnp_sent], 0);
	env_close(&env);
}

/* CC-07: an event for whom it concerns, if it is wanted; several before it is taken are one. */
static void cnp__interrupts(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);
	struct vb_event ev;

	(void)state;
	while (vb_hca_poll_event(env.hca, &ev))
		;
	rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
	assert_false(vb_hca_poll_event(env.hca, &ev));
	s = (struct vb_cc_settings){.cnp_irq_en = true}; /* scheme 3 */
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), 0);
	rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
	rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
	assert_true(vb_hca_poll_event(env.hca, &ev));
	assert_int_equal(ev.kind, VB_EVENT_CNP);
	assert_int_equal(ev.qpn, vb_qp_number(qp));
	assert_int_equal(ev.port, 1);
	assert_false(vb_hca_poll_event(env.hca, &ev));
	/* Together with another event of the QP. */
	rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
	vb_event_raise_async(env.hca, &qp->ev, VB_ASYNC_COMM_EST);
	assert_true(vb_hca_poll_event(env.hca, &ev) && ev.kind == VB_EVENT_CNP);
	assert_true(vb_hca_poll_event(env.hca, &ev) && ev.kind == VB_EVENT_ASYNC_QP);
	assert_false(vb_hca_poll_event(env.hca, &ev));
	env_close(&env);
}

/* A CNP acts only if it is the peer's, in a state that receives; else it would be a weapon. */
static void cnp__is_checked(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC), *fresh, *ud;

	(void)state;
	assert_int_equal(rx_marked(qp, VB_OPCODE_CNP, 0, 3, 0), VB_VERDICT_SOURCE);
	assert_int_equal(vb_qp_cc(qp, 0)->cc_rate, 20480);
	assert_int_equal(rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0), VB_VERDICT_OK);
	assert_int_equal(vb_qp_cc(qp, 0)->cc_rate, 10250);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	fresh = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(rx_marked(fresh, VB_OPCODE_CNP, 0, 2, 0), VB_VERDICT_QP_STATE);
	ud = env_rts(&env, VB_QPT_UD, 2, 0x21);
	assert_int_equal(rx_marked(ud, VB_OPCODE_CNP, 0, 2, 0), VB_VERDICT_TRANSPORT);
	/* Off: heard and ignored. */
	s = (struct vb_cc_settings){0};
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), 0);
	assert_int_equal(rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_ignored], 1);
	s.np_cnp_dscp = 64;
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), -EINVAL);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 0, &s, 0), -EINVAL);
	env_close(&env);
}

/* CC-01, CC-33: packets leave one by one when the limiter says, by the timer alone. */
static void limiter__paces(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC};

	(void)state;
	for (int t = 0; t < 2; t++) {
		struct vb_cc_settings s = {.hw_rate_throttle_en = true,
					   .speed_limiter_en = true,
					   .cc_clk_hz = 250000000,
					   .dcqcn_max_rate = 65535,
					   .dcqcn_min_rate = 1,
					   .initial_rate = 1024}; /* a byte in 4 ns */
		struct vb_qp *qp = open_with(&s, types[t]);
		uint32_t sent = 0;

		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
		env.now = 100000;
		/* The window leaves one packet's worth of idle time. */
		assert_int_equal(env_tx(&env, &b), 1);
		sent = vb_tx_wire_len(&b.pkt[0]);
		for (int i = 1; i < 4; i++) {
			assert_int_equal(env_tx(&env, &b), 0);
			assert_false(vb_hca_has_transmit(env.hca));
			env.now = qp->timer[VB_TIMER_PACE];
			assert_uint_in_range(env.now, 95904 + sent * 4, 95904 + sent * 4 + 1);
			vb_hca_handle_timeout(env.hca, env.now);
			assert_int_equal(env_tx(&env, &b), 1);
			sent += vb_tx_wire_len(&b.pkt[0]);
		}
		env_close(&env);
	}
}

/* So slow that the ACK timer would fire in the middle of a message: each packet asks, and nothing
 * is sent again. CC-60 */
static void limiter__slow_packets_ask(void **state)
{
	struct vb_cc_settings s = {.hw_rate_throttle_en = true,
				   .speed_limiter_en = true,
				   .cc_clk_hz = 1000000,
				   .dcqcn_max_rate = 51200,
				   .initial_rate = 40}; /* a packet of 1 KiB in 27 ms */
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8192), 0);
	for (int i = 0; i < 8; i++) {
		if (i) {
			env.now = qp->timer[VB_TIMER_PACE];
			vb_hca_handle_timeout(env.hca, env.now);
		}
		assert_int_equal(env_tx(&env, &b), 1);
		assert_true(vb_tx_asks_ack(&b.pkt[0]));
		ack(qp, (uint32_t)i);
	}
	assert_int_equal(env.counters.v[VB_COUNTER_retransmitted_packets], 0);
	/* At a rate of some Mb/s the last one does. */
	vb_qp_set_cc_rate(qp, 51200, env.now);
	env.now += VB_SEC;
	assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_WRITE, 8192), 0);
	assert_true(env_tx(&env, &b) >= 1);
	assert_false(vb_tx_asks_ack(&b.pkt[0]));
	env_close(&env);
}

/* READ responses keep to the rate too, and the responder's wake-up is its own. */
static void limiter__paces_responses(void **state)
{
	struct vb_cc_settings s = {.hw_rate_throttle_en = true,
				   .speed_limiter_en = true,
				   .cc_clk_hz = 250000000,
				   .dcqcn_max_rate = 65535,
				   .initial_rate = 1,
				   .ecn_en = true};
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);
	struct vb_hdr h = {.opcode = VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .reth = {ENV_IOVA, vb_mr_rkey(env.mr), 3000}};

	(void)state;
	env.now = VB_SEC;
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(b.pkt[0].path->traffic_class, VB_ECN_ECT0);
		assert_int_equal(env_tx(&env, &b), 0);
		if (i == 2)
			break;
		assert_true(qp->timer[VB_TIMER_PACE] > env.now + 1000000);
		env.now = qp->timer[VB_TIMER_PACE];
		vb_hca_handle_timeout(env.hca, env.now);
	}
	env_close(&env);
}

/* The paper's values, but rates do not rise by themselves, and nothing waits for them. */
static struct vb_qp *open_without_increases(void)
{
	struct vb_cc_settings s = paper();

	s.dcqcn_nocnp_timer_th = 0;
	s.dcqcn_byte_cnt_th = 0;
	s.speed_limiter_en = false;
	return open_with(&s, VB_QPT_RC);
}

/* Cut to a fraction, 1 ms ago. */
static void cut_down(struct vb_qp *qp)
{
	for (int i = 0; i < 5; i++) {
		rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
		env.now += 50 * VB_USEC;
	}
	assert_true(vb_cc_current_rate(vb_qp_cc(qp, env.now)) < 2000);
	env.now += VB_MSEC;
}

/* An idle connection does not hand its cut rate to the next flow: that begins as on a new QP. A
 * packet sent again after a time is no new flow. */
static void flow__begins_at_the_first_rate(void **state)
{
	struct vb_qp *qp = open_without_increases();

	(void)state;
	for (unsigned waits = 0; waits < 2; waits++) {
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		cut_down(qp);
		/* Not acknowledged: the flow goes on, by timeout or by another message. */
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
		if (waits) {
			env.now = qp->timer[VB_TIMER_ACK];
			vb_hca_handle_timeout(env.hca, env.now);
		}
		assert_true(env_tx(&env, &b) >= 1);
		assert_true(vb_cc_current_rate(&qp->cc.ctl) < 2000);
		ack(qp, 3 * waits + 1);
		cut_down(qp);
		env.now += VB_MSEC;
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(vb_cc_current_rate(&qp->cc.ctl), 20480);
		ack(qp, 3 * waits + 2);
	}
	env_close(&env);
}

/* The same of answers to READs. */
static void flow__of_responses_begins_at_the_first_rate(void **state)
{
	struct vb_qp *qp = open_without_increases();
	struct vb_hdr h = {.opcode = VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .reth = {ENV_IOVA, vb_mr_rkey(env.mr), 3000}};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		h.psn = vb_psn(3 * i);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 3);
		assert_int_equal(vb_cc_current_rate(&qp->cc.ctl), 20480);
		cut_down(qp);
	}
	env_close(&env);
}

/* CC-05, CC-08: sixteen WQEs outstanding, eight after a CNP; an ACK lets the next one go. */
static void window__bounds_wqes(void **state)
{
	struct vb_cc_settings s = {.tx_wqe_ost_limit_en = true, .cnp_timer_thrd = 20};
	struct vb_hdr ack = {.opcode = VB_OP_ACK, .aeth.syndrome = VB_CREDIT_UNLIMITED};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.cc = s;
	env_open(&env, 256);
	qp = env_qp_cap(&env, VB_QPT_RC, NULL, (struct vb_qp_cap){40, 1, 1, 1, 0});
	struct vb_qp_attr a = env_attr(2, 0x21);

	env_up(&env, qp, &a, VB_QPS_RTS);
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 16);
	assert_int_equal(qp->req.block, VB_BLOCK_OST);
	rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0);
	ack.dqpn = vb_qp_number(qp);
	ack.psn = vb_psn(7);
	assert_int_equal(env_rx(&env, 2, &ack, 0), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 0); /* eight are out */
	ack.psn = vb_psn(9);
	assert_int_equal(env_rx(&env, 2, &ack, 0), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 2);
	env.now = 20 * VB_USEC;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 8);
	env_close(&env);
}

/* CC-01: a QP that waits for the limiter is said to wait for its rate, not for the window. */
static void rate__blocks(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	vb_qp_set_cc_rate(qp, 1, env.now);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 256), 0);
	while (env_tx(&env, &b))
		;
	assert_int_equal(qp->req.block, VB_BLOCK_RATE);
	env_close(&env);
}

/* CC-47: masked, no WQE is begun; unmasked, it goes on by itself. */
static void mask__blocks(void **state)
{
	struct vb_cc_settings s = {0};
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	assert_false(qp->cc.on);
	vb_qp_set_sq_arb_mask(qp, true);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(qp->req.block, VB_BLOCK_MASK);
	vb_qp_set_sq_arb_mask(qp, false);
	assert_int_equal(env_tx(&env, &b), 1);
	env_close(&env);
}

/* CC-46: software's rate holds at once, also for a QP that waits. */
static void rate__by_software(void **state)
{
	struct vb_cc_settings s = {.hw_rate_throttle_en = true,
				   .speed_limiter_en = true,
				   .cc_clk_hz = 250000000,
				   .dcqcn_max_rate = 65535,
				   .initial_rate = 1};
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	env.now = 1000;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
	assert_true(env_tx(&env, &b) >= 1);
	assert_int_equal(env_tx(&env, &b), 0);
	vb_qp_set_cc_rate(qp, 65535, env.now);
	env.now += 300;
	assert_true(env_tx(&env, &b) >= 1);
	env_close(&env);
}

/* Zeros: nothing is asked, held back, marked or answered. */
static void off__is_off(void **state)
{
	struct vb_cc_settings s = {0};
	struct vb_qp *qp = open_with(&s, VB_QPT_RC);

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
	assert_int_equal(env_tx(&env, &b), 4);
	assert_ptr_equal(b.pkt[0].path, &qp->attr.path);
	rx_marked(qp, VB_OP_WRITE_ONLY, VB_ECN_CE, 2, 0);
	assert_int_equal(cnps(), 0);
	assert_int_equal(qp->timer[VB_TIMER_PACE], VB_NEVER);
	assert_false(qp->cc.on || qp->cc.ect);
	env_close(&env);
}

/* Settings of a port are for its QPs: the rate of one at another port stays what it is. */
static void set_port_cc__of_one_port(void **state)
{
	struct vb_cc_settings s = paper();
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp, *other;
	uint16_t rate;

	(void)state;
	env_config(&env);
	env.cfg.port_cnt = 2;
	env.cfg.port[2] = env.cfg.port[1];
	env_open(&env, 64);
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	other = env_qp(&env, VB_QPT_RC, NULL);
	a.port = a.path.port = 2;
	env_up(&env, other, &a, VB_QPS_RTS);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), 0);
	assert_int_equal(rx_marked(qp, VB_OPCODE_CNP, 0, 2, 0), VB_VERDICT_OK);
	rate = vb_qp_cc(qp, 0)->cc_rate;
	assert_true(rate < s.dcqcn_max_rate);
	assert_false(other->cc.on);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 2, &s, 0), 0);
	assert_int_equal(vb_qp_cc(qp, 0)->cc_rate, rate);
	assert_true(other->cc.on);
	assert_int_equal(vb_qp_cc(other, 0)->cc_rate, s.dcqcn_max_rate);
	env_close(&env);
}

/* The recorder of a QP's events is made once, and goes with the QP. */
static void recorder__goes_with_its_qp(void **state)
{
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(vb_qp_cc_make_recorder(qp), 0);
	assert_int_equal(vb_qp_cc_make_recorder(qp), 0);
	assert_int_equal(vb_qp_destroy(qp), 0);
	env_close(&env); /* counts the blocks */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cnp__format),
	    cmocka_unit_test(mark__draws_cnps),
	    cmocka_unit_test(mark__of_a_qp_that_stops),
	    cmocka_unit_test(mark__of_a_datagram_draws_none),
	    cmocka_unit_test(cnp__is_checked),
	    cmocka_unit_test(cnp__interrupts),
	    cmocka_unit_test(limiter__paces),
	    cmocka_unit_test(limiter__slow_packets_ask),
	    cmocka_unit_test(limiter__paces_responses),
	    cmocka_unit_test(flow__begins_at_the_first_rate),
	    cmocka_unit_test(flow__of_responses_begins_at_the_first_rate),
	    cmocka_unit_test(window__bounds_wqes),
	    cmocka_unit_test(rate__blocks),
	    cmocka_unit_test(mask__blocks),
	    cmocka_unit_test(rate__by_software),
	    cmocka_unit_test(off__is_off),
	    cmocka_unit_test(set_port_cc__of_one_port),
	    cmocka_unit_test(recorder__goes_with_its_qp),
	};

	return cmocka_run_group_tests_name("cc_point", tests, NULL, NULL);
}
