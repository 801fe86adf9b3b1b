/* SPDX-License-Identifier: BSD-2-Clause */
/* How a QP stands, as `verbena explain` reads it: its PSNs, and whether its peer has ever answered.
 */
#include "core/view.h"
#include "core_env.h"

#define RQ_PSN 0x123456u
#define SQ_PSN 0xffffffu

static struct env env;
static struct vb_tx_batch b;

static struct vb_qp_view view_of(const struct vb_qp *qp)
{
	struct vb_qp_view v;

	assert_true(vb_hca_view(env.hca, vb_qp_number(qp), env.now, &v));
	return v;
}

/* A QP in RTS whose program has left bits above the 24 of its PSNs. */
static struct vb_qp *ready(void)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	env_config(&env);
	env_open(&env, 64);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.rq_psn = 0xff000000 | RQ_PSN;
	a.sq_psn = 0x89000000 | SQ_PSN;
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static void psns__have_24_bits(void **state)
{
	struct vb_qp_view v = view_of(ready());

	(void)state;
	assert_int_equal(v.attr.rq_psn, RQ_PSN);
	assert_int_equal(v.attr.sq_psn, SQ_PSN);
	assert_int_equal(v.epsn, RQ_PSN);
	assert_int_equal(v.psn_una, SQ_PSN);
	env_close(&env);
}

/* The first PSN that is not acknowledged moves with acknowledgements and with nothing else. */
static void acked_once__by_the_first_acknowledgement(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_hdr ack = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(SQ_PSN),
			     .aeth.syndrome = 31};
	struct vb_qp_view v = view_of(qp);

	(void)state;
	assert_false(v.is_acked_once);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	v = view_of(qp);
	assert_false(v.is_acked_once);
	assert_int_equal(v.psn_una, SQ_PSN);
	assert_int_equal(v.unacked, 2);
	(void)env_rx(&env, 2, &ack, 0);
	v = view_of(qp);
	assert_true(v.is_acked_once);
	assert_int_equal(v.psn_una, 0);
	assert_int_equal(v.unacked, 1);
	env_close(&env);
}

/* The request that a QP is at: the first one that is not answered. */
static void request__that_is_first(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_qp_view v;

	(void)state;
	assert_int_equal(env_send(&env, qp, 7, VB_WR_RDMA_WRITE, 24), 0);
	assert_int_equal(env_send(&env, qp, 8, VB_WR_SEND, 8), 0);
	v = view_of(qp);
	assert_int_equal(v.wr_id, 7);
	assert_int_equal(v.wr_opcode, VB_WR_RDMA_WRITE);
	assert_int_equal(v.remote_addr, ENV_IOVA + ENV_MEM / 2);
	assert_int_equal(v.rkey, vb_mr_rkey(env.mr));
	assert_int_equal(v.length, 24);
	env_close(&env);
}

/* Credits, of a queue that waits for some: how many more messages the peer takes. */
static void credits__up_to_the_limit(void **state)
{
	static const struct {
		bool is_limited;
		int limit; /* from the first message that is not sent on */
		uint32_t credits;
	} rows[] = {{true, -1, 0}, {true, 0, 1}, {true, 2, 3}, {false, 2, 0}};
	struct vb_qp *qp = ready();

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		qp->req.credit_limited = rows[i].is_limited;
		qp->req.rsn_limit = vb_sq_at(&qp->sq, qp->sq.nxt)->rsn + (uint32_t)rows[i].limit;
		assert_int_equal(view_of(qp).credit_limited, rows[i].is_limited);
		assert_int_equal(view_of(qp).credits, rows[i].credits);
	}
	env_close(&env);
}

static struct vb_trace_event seen[4];
static uint32_t seen_cnt;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	assert_true(seen_cnt < 4);
	seen[seen_cnt++] = *ev;
}

/* A trace has each change of state, with old and new state. */
static void state_trace__from_and_to(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);

	(void)state;
	env_config(&env);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_QP_STATE, .emit = note_event};
	env_open(&env, 64);
	seen_cnt = 0;
	env_up(&env, env_qp(&env, VB_QPT_RC, NULL), &a, VB_QPS_RTS);
	assert_int_equal(seen_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(seen[i].arg[0], VB_QPS_RESET + i);
		assert_int_equal(seen[i].arg[1], VB_QPS_RESET + i + 1);
	}
	env_close(&env);
}

/* A view shows an overrun of either CQ of a QP. */
static void overrun__of_either_cq(void **state)
{
	(void)state;
	for (int recv = 0; recv < 2; recv++) {
		struct vb_qp *qp = ready();
		struct vb_cq *other;

		assert_int_equal(vb_cq_create(env.hca, 4, NULL, &other), 0);
		assert_false(view_of(qp).cq_overrun);
		other->overrun = true;
		*(recv ? &qp->recv_cq : &qp->send_cq) = other;
		assert_true(view_of(qp).cq_overrun);
		*(recv ? &qp->recv_cq : &qp->send_cq) = env.cq;
		env_close(&env);
	}
}

/* A QP waits for the nearest of: its state, an RNR timer, its turn, an answer. */
static void wait__is_for_the_nearest(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_qp_view v;

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	v = view_of(qp);
	assert_int_equal(vb_view_wait(&v), VB_WAIT_TURN);
	v.is_rnr_wait = true;
	assert_int_equal(vb_view_wait(&v), VB_WAIT_RNR);
	v.state = VB_QPS_RTR;
	assert_int_equal(vb_view_wait(&v), VB_WAIT_STATE);
	(void)env_tx(&env, &b);
	v = view_of(qp);
	assert_int_equal(vb_view_wait(&v), VB_WAIT_ACK);
	env_close(&env);
}

/* An SQD QP drains until all its packets are acknowledged. */
static void draining__until_the_last_acknowledgement(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_hdr ack = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(SQ_PSN),
			     .aeth.syndrome = 31};
	struct vb_qp_attr a = env_attr(2, 0x21);

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	assert_true(view_of(qp).is_draining);
	(void)env_rx(&env, 2, &ack, 0);
	assert_false(view_of(qp).is_draining);
	env_close(&env);
}

/* A view has an ACK timer's start by the clock, pauses of this process included. */
static void since__is_by_the_clock(void **state)
{
	struct vb_qp *qp = ready();

	(void)state;
	vb_hca_add_gap(env.hca, VB_SEC);
	env.now = 5 * VB_SEC;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(view_of(qp).rto.since, 5 * VB_SEC);
	env_close(&env);
}

/* The rate that congestion control allows, in bits a second. */
static void rate__of_congestion_control(void **state)
{
	struct vb_cc_settings s;
	struct vb_qp *qp;

	(void)state;
	vb_cc_settings_paper(&s, UINT64_C(40000000000));
	qp = ready();
	assert_int_equal(view_of(qp).rate_bps, 0);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), 0);
	assert_int_equal(view_of(qp).rate_bps, UINT64_C(40000000000));
	env_close(&env);
}

/* A view shows work in both directions. */
static void under_way__in_both_directions(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(RQ_PSN),
			   .reth = {.va = ENV_IOVA, .len = 8}};
	struct vb_hdr ack = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(SQ_PSN),
			     .aeth.syndrome = 31};

	(void)state;
	assert_false(view_of(qp).owes_responses);
	h.reth.rkey = vb_mr_rkey(env.mr);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_true(view_of(qp).owes_responses);
	(void)env_tx(&env, &b);
	assert_false(view_of(qp).owes_responses);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 3000), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_READ, 8), 0);
	assert_int_equal(env_send(&env, qp, 3, VB_WR_RDMA_READ, 8), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(view_of(qp).acked, 0);
	assert_int_equal(view_of(qp).rd_out, 2);
	(void)env_rx(&env, 2, &ack, 0);
	assert_int_equal(view_of(qp).acked, 1);
	env_close(&env);
}

/* A view shows an RNR timer's end and a ramp. */
static void waits__of_a_requester(void **state)
{
	struct vb_recovery set = {.roce_slow_restart_en = true, .slow_restart_bytes = 1024};
	struct vb_qp *qp = ready();
	struct vb_hdr rnr = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(SQ_PSN),
			     .aeth.syndrome = VB_SYNDROME_RNR | 14};
	struct vb_qp_view v;

	(void)state;
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &set), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 3000), 0);
	(void)env_tx(&env, &b);
	assert_false(view_of(qp).is_ramping);
	(void)env_rx(&env, 2, &rnr, 0);
	v = view_of(qp);
	assert_true(v.is_rnr_wait);
	assert_int_equal(v.rnr_at, vb_rnr_timer_ns(14));
	env.now = v.rnr_at;
	vb_hca_handle_timeout(env.hca, env.now);
	(void)env_tx(&env, &b);
	env.now = view_of(qp).ack_at;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_true(view_of(qp).is_ramping);
	env_close(&env);
}

/* A sample has a QP's rate, target, alpha and clock. */
static void sample__of_congestion_control(void **state)
{
	struct vb_cc_settings s;
	struct vb_qp_sample is;
	struct vb_qp *qp;

	(void)state;
	vb_cc_settings_paper(&s, UINT64_C(40000000000));
	qp = ready();
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &s, 0), 0);
	(void)vb_cc_on_cnp(&qp->cc.ctl, &s, 0);
	assert_true(vb_hca_sample(env.hca, vb_qp_number(qp), 0, &is));
	assert_int_equal(is.rate, qp->cc.ctl.cc_rate);
	assert_int_equal(is.target, vb_cc_target_rate(&qp->cc.ctl));
	assert_int_equal(is.alpha, vb_cc_alpha(&qp->cc.ctl));
	assert_true(is.rate < is.target && is.alpha > 0);
	assert_int_equal(is.clk_hz, s.cc_clk_hz);
	env_close(&env);
}

/* A paced QP shows when it may send. */
static void waits__for_its_rate(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_qp_view v;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, 8000, 1, 0), 0); /* 1 us a byte */
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 3000), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	v = view_of(qp);
	assert_int_equal(v.pace_at, vb_tx_wire_len(&b.pkt[0]) * VB_USEC);
	assert_int_equal(v.rate_bps, 8000000);
	env_close(&env);
}

/* Receives are those of the SRQ, for a QP that has one. */
static void recvs__of_the_srq(void **state)
{
	struct vb_qp *qp = ready(), *with;
	struct vb_sge sge = env_sge(&env, 0, 8);
	struct vb_srq *srq;

	(void)state;
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	with = env_qp(&env, VB_QPT_RC, srq);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(vb_srq_post(srq, &(struct vb_recv_wr){i, &sge, 1}), 0);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	assert_int_equal(view_of(with).recvs, 3);
	assert_true(view_of(with).is_srq);
	assert_int_equal(view_of(qp).recvs, 1);
	assert_false(view_of(qp).is_srq);
	env_close(&env);
}

/* Bytes in flight are those of all QPs to the address, beside what there may be. */
static void in_flight__to_the_address(void **state)
{
	struct vb_qp *qp = ready(), *other;

	(void)state;
	env.hca->cfg.peer_window_bytes = 1 << 20;
	other = env_rts(&env, VB_QPT_RC, 2, 0x22);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 100), 0);
	assert_int_equal(env_send(&env, other, 1, VB_WR_RDMA_WRITE, 1000), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(view_of(qp).peer_inflight, 1100 + 2 * VB_PACKET_OVERHEAD);
	assert_int_equal(view_of(qp).peer_window, 1 << 20);
	env_close(&env);
}

/* A QP recovers from when it goes back until something is acknowledged. */
static void recovering__until_something_is_acknowledged(void **state)
{
	struct vb_qp *qp = ready();
	struct vb_hdr ack = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(SQ_PSN),
			     .aeth.syndrome = 31};

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	assert_false(view_of(qp).is_recovering);
	env.now = view_of(qp).ack_at;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_true(view_of(qp).is_recovering);
	(void)env_tx(&env, &b);
	(void)env_rx(&env, 2, &ack, 0);
	assert_false(view_of(qp).is_recovering);
	env_close(&env);
}

/* Selective repeat is shown once both ends have agreed on it, not when this one offers it. */
static void selective__once_both_have_agreed(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_hdr ack = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_ACK, .selective = true, .aeth.syndrome = 31};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 64);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	ack.dqpn = vb_qp_number(qp);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	assert_false(view_of(qp).is_selective);
	assert_int_equal(env_rx(&env, 2, &ack, 0), VB_VERDICT_OK);
	assert_true(view_of(qp).is_selective);
	env_close(&env);
}

/* RNR NAKs that are forgiven still, down from rnr_retry. */
static void rnr_left__goes_down(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_hdr rnr = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .aeth.syndrome = VB_SYNDROME_RNR | 14};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	a.rnr_retry = 3;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	rnr.dqpn = vb_qp_number(qp);
	assert_int_equal(view_of(qp).rnr_left, 3);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	(void)env_tx(&env, &b);
	(void)env_rx(&env, 2, &rnr, 0);
	assert_int_equal(view_of(qp).rnr_left, 2);
	env_close(&env);
}

static uint32_t no_room(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	(void)ctx;
	(void)path;
	(void)dqpn;
	(void)now;
	return 0;
}

/* A QP whose receiver has no room waits for that. */
static void waits__for_room_at_the_receiver(void **state)
{
	struct vb_qp *qp = ready();

	(void)state;
	env.hca->cfg.rx_credit = no_room;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(view_of(qp).block, VB_BLOCK_RX_CREDIT);
	env_close(&env);
}

/* There is no view of a QP that does not exist, and no sample. */
static void view__of_no_qp(void **state)
{
	uint32_t qpn = vb_qp_number(ready()) + 1;
	struct vb_qp_sample is;
	struct vb_qp_view v;

	(void)state;
	assert_false(vb_hca_view(env.hca, qpn, 0, &v));
	assert_false(vb_hca_sample(env.hca, qpn, 0, &is));
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(psns__have_24_bits),
	    cmocka_unit_test(acked_once__by_the_first_acknowledgement),
	    cmocka_unit_test(request__that_is_first),
	    cmocka_unit_test(credits__up_to_the_limit),
	    cmocka_unit_test(state_trace__from_and_to),
	    cmocka_unit_test(overrun__of_either_cq),
	    cmocka_unit_test(wait__is_for_the_nearest),
	    cmocka_unit_test(draining__until_the_last_acknowledgement),
	    cmocka_unit_test(since__is_by_the_clock),
	    cmocka_unit_test(rate__of_congestion_control),
	    cmocka_unit_test(under_way__in_both_directions),
	    cmocka_unit_test(waits__of_a_requester),
	    cmocka_unit_test(sample__of_congestion_control),
	    cmocka_unit_test(waits__for_its_rate),
	    cmocka_unit_test(recvs__of_the_srq),
	    cmocka_unit_test(in_flight__to_the_address),
	    cmocka_unit_test(recovering__until_something_is_acknowledged),
	    cmocka_unit_test(selective__once_both_have_agreed),
	    cmocka_unit_test(rnr_left__goes_down),
	    cmocka_unit_test(waits__for_room_at_the_receiver),
	    cmocka_unit_test(view__of_no_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
