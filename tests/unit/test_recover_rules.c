/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery and pacing at a QP, by rules that a single loss or setting shows: counters, traces,
 * bounds and wakeups. REG-07; docs/adaptive-retransmission.md
 */
#include "core/selective/selective.h"
#include "rc_env.h"

static struct vb_trace_event moved;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	moved = *ev;
}

/* Fires the ACK timer of @qp, and sends its packets again. */
static void time_out(struct vb_qp *qp)
{
	env.now = qp->timer[VB_TIMER_ACK];
	assert_true(env.now != VB_NEVER);
	vb_hca_handle_timeout(env.hca, env.now);
	(void)env_tx(&env, &b);
}

static void acked(struct vb_qp *qp, uint32_t psn, uint8_t syndrome)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .aeth.syndrome = syndrome};

	(void)env_rx(&env, 2, &h, 0);
}

/* A trace of the ladder has the old and the new step. */
static void timer_moved__from_and_to(void **state)
{
	struct vb_qp *qp;
	uint8_t from;

	(void)state;
	env_config(&env);
	vb_recovery_set_lossy(&env.cfg.recovery);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_TIMER_MOVED, .emit = note_event};
	env_open(&env, 64);
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	(void)env_tx(&env, &b);
	do {
		from = qp->rto.cur_exp;
		time_out(qp);
	} while (qp->rto.cur_exp == from);
	assert_int_equal(moved.arg[1], from);
	assert_int_equal(moved.arg[2], qp->rto.cur_exp);
	env_close(&env);
}

/* Timeouts are counted in a row: an ACK of the peer ends the row. */
static void timeouts__end_with_progress(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 8), 0);
	(void)env_tx(&env, &b);
	time_out(qp);
	time_out(qp);
	assert_int_equal(qp->rto.timeout_cnt, 2);
	assert_int_equal(env.counters.v[VB_COUNTER_local_ack_timeout_err], 2);
	assert_int_equal(env.counters.v[VB_COUNTER_roce_adp_retrans], 0); /* the timer is fixed */
	acked(qp, 0, 31);
	assert_int_equal(qp->rto.timeout_cnt, 0);
	env_close(&env);
}

/* A loss while the QP ramps up begins the ramp again: that is one restart more and no transition.
 * REG-07 */
static void slow_restart__amid_a_ramp(void **state)
{
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery =
	    (struct vb_recovery){.roce_slow_restart_en = true, .slow_restart_bytes = 2048};
	env_open(&env, 64);
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
	assert_int_equal(env_tx(&env, &b), 4);
	for (uint64_t n = 1; n <= 2; n++) {
		time_out(qp);
		assert_int_equal(b.cnt, 2);
		assert_int_equal(env.counters.v[VB_COUNTER_roce_slow_restart], n);
		assert_int_equal(env.counters.v[VB_COUNTER_roce_slow_restart_trans], 1);
	}
	env_close(&env);
}

/* A peer keeps VB_SR_WINDOW packets behind a hole: no more are in flight. */
static void selective__as_much_as_the_peer_keeps(void **state)
{
	struct vb_mr_attr attr = {.length = 1 << 25, .access = ENV_ACCESS};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_sge sge = {0, 70000 * 256, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	struct vb_mr *wide;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 64);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.path_mtu = VB_MTU_256;
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_non_null(qp->sr);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	while (env_tx(&env, &b))
		;
	assert_int_equal(vb_qp_unacked(qp), VB_SR_WINDOW);
	env_close(&env);
}

/* A QP's own retry count, set by register, stays when its program sets timeout and retry_cnt.
 * REG-18 */
static void modify__keeps_the_extended_count(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTR);
	vb_rto_set_extended(&qp->rto, vb_qp_rules(qp), 5);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTS), 0);
	assert_int_equal(qp->rto.attr_extended, 5);
	env_close(&env);
}

/* A window that is switched on knows of no earlier ACK requests: it counts from the first
 * unacknowledged packet, and asks after a quarter as ever. */
static void window__switched_on_between_messages(void **state)
{
	struct vb_recovery on = {.roce_tx_window_en = true, .tx_window_bytes = 64 * 1024};
	struct vb_mr_attr attr = {.length = 1 << 20, .access = ENV_ACCESS};
	struct vb_sge sge = {0, 100 * 1024, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	struct vb_mr *wide;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery = (struct vb_recovery){0};
	env_open(&env, 64);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	qp = rts(0, 0, 4);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	while (env_tx(&env, &b))
		;
	acked(qp, 99, 31);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &on), 0);
	sge.length = 16 * 1024;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_true(env_tx(&env, &b) > 1);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, 100);
	assert_false(env_hdr(&b.pkt[0]).ack_req);
	env_close(&env);
}

/* RoCEv2 source ports begin with 0xc000: a path with that port is spread, a path below is not.
 * REG-07 (adaptive_routing_forced_en) */
static void spread__from_the_first_port_on(void **state)
{
	(void)state;
	for (uint16_t port = 0xbfff; port <= 0xc000; port++) {
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_qp *qp;

		env_config(&env);
		env.cfg.recovery.adaptive_routing_forced_en = true;
		env_open(&env, 16);
		a.path.udp_sport = port;
		qp = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp, &a, VB_QPS_RTS);
		assert_int_equal(qp->cc.spread != NULL, port == 0xc000);
		env_close(&env);
	}
}

/* Packets that the limiter held back leave at once when it is switched off. */
static void set_cc__wakes_who_was_held_back(void **state)
{
	struct vb_cc_settings off = {0};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(10000000));
	env_open(&env, 64);
	qp = rts(0, 0, 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 4096), 0);
	while (env_tx(&env, &b))
		;
	assert_true(vb_qp_unacked(qp) < 16);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &off, env.now), 0);
	while (env_tx(&env, &b))
		;
	assert_int_equal(vb_qp_unacked(qp), 16);
	env_close(&env);
}

static uint16_t home_now;

static uint16_t find_home(void *ctx, const struct vb_path *path)
{
	(void)ctx;
	(void)path;
	return home_now;
}

/* Addresses of the host have changed: each QP that may send or answer finds its peer's home again,
 * also for packets that congestion may mark. */
static void find_homes__of_all_that_are_connected(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *rtr, *sends;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env.cfg.find_home = find_home;
	env_open(&env, 16);
	home_now = 5;
	rtr = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, rtr, &a, VB_QPS_RTR);
	sends = rts(0, 0, 4);
	home_now = 6;
	vb_hca_find_homes(env.hca);
	assert_int_equal(rtr->attr.path.home, 6);
	assert_int_equal(env_send(&env, sends, 1, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->traffic_class & VB_ECN_MASK, VB_ECN_ECT0);
	assert_int_equal(b.pkt[0].path->home, 6);
	env_close(&env);
}

/* CNPs beyond one quantum leave in the next one. CC-04 */
static void cnps__more_than_a_turn(void **state)
{
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			   .pkey = VB_PKEY_DEFAULT,
			   .reth = {.va = ENV_IOVA, .len = 8}};
	uint32_t sent = 0;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env.cfg.cc.np_min_cnp_us = 0; /* a CNP per mark */
	env_open(&env, 64);
	h.dqpn = vb_qp_number(rts(0, 0, 4));
	h.reth.rkey = vb_mr_rkey(env.mr);
	path.sgid = env_gid(2);
	path.traffic_class = VB_ECN_CE;
	for (uint32_t i = 0; i < 3 * VB_QUANTUM_PKTS; i++) {
		h.psn = vb_psn(i);
		rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	}
	while (env_tx(&env, &b)) {
		for (uint32_t i = 0; i < b.cnt; i++)
			sent += b.pkt[i].hdr[0] == VB_OPCODE_CNP;
	}
	assert_int_equal(sent, 3 * VB_QUANTUM_PKTS);
	env_close(&env);
}

static uint32_t ramps[2];

static void note_ramp(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	ramps[0] += ev->arg[0] == VB_RAMP_LOSS;
	ramps[1] += ev->arg[0] == VB_RAMP_IDLE;
}

/* A ramp after a loss and a ramp after a pause are traced, each with its cause. */
static void slow_restart__is_traced(void **state)
{
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery = (struct vb_recovery){.roce_slow_restart_en = true,
						.roce_slow_restart_idle_en = true,
						.slow_restart_bytes = 2048,
						.tx_window_bytes = 1 << 20,
						.idle_restart_ns = VB_MSEC};
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_SLOW_RESTART, .emit = note_ramp};
	env_open(&env, 64);
	memset(ramps, 0, sizeof ramps);
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
	(void)env_tx(&env, &b);
	assert_int_equal(ramps[0] + ramps[1], 0);
	time_out(qp);
	assert_true(ramps[0] == 1 && ramps[1] == 0);
	acked(qp, 3, 31);
	env.now += VB_SEC;
	assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_WRITE, 4096), 0);
	(void)env_tx(&env, &b);
	assert_true(ramps[0] == 1 && ramps[1] == 1);
	env_close(&env);
}

/* A QP takes its register values when the access closes. */
static void cc_close__writes_back(void **state)
{
	struct vb_cc_access at;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	vb_qp_cc_open(qp, &at);
	assert_false(at.sq_arb_mask);
	at.sq_arb_mask = true;
	at.extended_retry_count = 9;
	vb_qp_cc_close(qp, &at);
	assert_true(qp->cc.sq_arb_mask);
	assert_int_equal(qp->rto.attr_extended, 9);
	env_close(&env);
}

/* A ramp after a pause counts from the unacknowledged packets too, if no window was before it. */
static void slow_restart__after_a_pause_begins_an_account(void **state)
{
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery = (struct vb_recovery){.roce_slow_restart_en = true,
						.roce_slow_restart_idle_en = true,
						.slow_restart_bytes = 32 * 256,
						.tx_window_bytes = 1 << 20,
						.idle_restart_ns = VB_MSEC};
	env_open(&env, 64);

	struct vb_qp_attr a = env_attr(2, 0x21);

	a.path_mtu = VB_MTU_256;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 4096), 0);
		while (env_tx(&env, &b))
			;
		acked(qp, 16 * (uint32_t)i + 15, 31);
	}
	env.now += VB_SEC;
	assert_int_equal(env_send(&env, qp, 4, VB_WR_RDMA_WRITE, 4096), 0);
	assert_true(env_tx(&env, &b) > 0);
	assert_int_equal(qp->req.window.pkts, 32);
	assert_false(env_hdr(&b.pkt[0]).ack_req);
	env_close(&env);
}

/* Timers that fired are counted at the port of the QP. REG-34 */
static void fired__at_the_port_of_the_qp(void **state)
{
	static struct vb_adp_fired fired[3];
	struct vb_qp_attr a = env_attr(2, 0x21);
	uint64_t cnt[3] = {0};
	struct vb_qp *qp;

	(void)state;
	memset(fired, 0, sizeof fired);
	env_config(&env);
	vb_recovery_set_lossy(&env.cfg.recovery);
	env.cfg.port_cnt = 2;
	env.cfg.port[2] = env.cfg.port[1];
	for (int port = 1; port <= 2; port++)
		env.cfg.port[port].adp_fired = &fired[port];
	env_open(&env, 64);
	a.port = a.path.port = 2;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	(void)env_tx(&env, &b);
	time_out(qp);
	for (int port = 1; port <= 2; port++)
		for (unsigned i = 0; i < VB_ADP_FIRED_SLOTS; i++)
			cnt[port] += fired[port].slot[i];
	assert_int_equal(cnt[1], 0);
	assert_int_equal(cnt[2], 1);
	env_close(&env);
}

/* Settings of recovery for the whole adapter are those of each port, the last too. */
static void set_recovery__of_every_port(void **state)
{
	struct vb_recovery set = {.ack_dscp = 5};

	(void)state;
	setup();
	assert_int_equal(vb_hca_set_recovery(env.hca, &set, 0), 0);
	for (uint8_t port = 1; port <= VB_HCA_PORTS_MAX; port++)
		assert_int_equal(vb_hca_recovery(env.hca, port)->ack_dscp, 5);
	set.ack_dscp = VB_DSCP_MAX + 1;
	assert_int_equal(vb_hca_set_recovery(env.hca, &set, 0), -EINVAL);
	assert_int_equal(vb_hca_recovery(env.hca, 1)->ack_dscp, 5);
	env_close(&env);
}

/* A QP with a window asks for READs in pieces of half of it, of whole packets, also where the
 * window is the usual one. REG-07 (roce_tx_window_en) */
static void read__in_pieces_of_half_a_window(void **state)
{
	static const struct {
		uint32_t window, piece;
	} rows[] = {{0, VB_TX_WINDOW_BYTES / 2}, {64 * 1024, 32 * 1024}, {7000, 3072}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vb_mr_attr attr = {.length = 1 << 22, .access = ENV_ACCESS};
		struct vb_sge sge = {0, 1 << 22, 0};
		struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_READ};
		struct vb_mr *wide;

		env_config(&env);
		env.cfg.recovery = (struct vb_recovery){.roce_tx_window_en = true,
							.tx_window_bytes = rows[i].window};
		env_open(&env, 64);
		assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
		sge.lkey = vb_mr_lkey(wide);
		assert_int_equal(vb_qp_post_send(rts(0, 0, 4), &wr, 0), 0);
		assert_true(env_tx(&env, &b) > 0);
		assert_int_equal(env_hdr(&b.pkt[0]).reth.len, rows[i].piece);
		env_close(&env);
	}
}

/* A packet of another host, with CE or without. */
static void arrives(const struct vb_qp *qp, struct vb_hdr h, uint8_t ecn, uint32_t len)
{
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	path.sgid = env_gid(2);
	path.traffic_class = ecn;
	h.dqpn = vb_qp_number(qp);
	h.pkey = VB_PKEY_DEFAULT;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + len;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
}

/* A CNP leaves before the work of all QPs that had their turn coming. A CNP that is marked itself
 * draws none. CC-04 */
static void cnp__before_the_work_of_others(void **state)
{
	struct vb_hdr write = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			       .reth = {.va = ENV_IOVA, .len = 8}};
	struct vb_qp *busy, *marked;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	busy = rts(0, 0, 4);
	marked = rts(0, 0, 4);
	write.reth.rkey = vb_mr_rkey(env.mr);
	assert_int_equal(env_send(&env, busy, 1, VB_WR_RDMA_WRITE, 8), 0);
	arrives(marked, write, VB_ECN_CE, 8);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(b.pkt[0].hdr[0], VB_OPCODE_CNP);
	env.now = VB_SEC;
	arrives(marked, (struct vb_hdr){.opcode = VB_OPCODE_CNP, .becn = true}, VB_ECN_CE, 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* A ramp under way ends when slow restart is switched off: what was held back leaves. REG-07 */
static void slow_restart__switched_off(void **state)
{
	struct vb_recovery off = {0};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery =
	    (struct vb_recovery){.roce_slow_restart_en = true, .slow_restart_bytes = 1024};
	env_open(&env, 64);
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8192), 0);
	assert_int_equal(env_tx(&env, &b), 8);
	time_out(qp);
	assert_int_equal(b.cnt, 1);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &off), 0);
	acked(qp, 0, 31);
	assert_int_equal(env_tx(&env, &b), 7);
	env_close(&env);
}

/* The pause before a ramp is the usual one where the settings name none. REG-07 */
static void slow_restart__after_the_usual_pause(void **state)
{
	(void)state;
	for (uint32_t early = 0; early < 2; early++) {
		struct vb_qp *qp;

		env_config(&env);
		env.cfg.recovery = (struct vb_recovery){.roce_slow_restart_en = true,
							.roce_slow_restart_idle_en = true,
							.slow_restart_bytes = 1024};
		env_open(&env, 64);
		qp = rts(0, 0, 4);
		env.now = VB_IDLE_RESTART_NS - early;
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 4096), 0);
		(void)env_tx(&env, &b);
		assert_int_equal(qp->req.window.pkts, early ? 0 : 1);
		env_close(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timer_moved__from_and_to),
	    cmocka_unit_test(timeouts__end_with_progress),
	    cmocka_unit_test(slow_restart__amid_a_ramp),
	    cmocka_unit_test(selective__as_much_as_the_peer_keeps),
	    cmocka_unit_test(modify__keeps_the_extended_count),
	    cmocka_unit_test(window__switched_on_between_messages),
	    cmocka_unit_test(spread__from_the_first_port_on),
	    cmocka_unit_test(set_cc__wakes_who_was_held_back),
	    cmocka_unit_test(find_homes__of_all_that_are_connected),
	    cmocka_unit_test(cnps__more_than_a_turn),
	    cmocka_unit_test(slow_restart__is_traced),
	    cmocka_unit_test(cc_close__writes_back),
	    cmocka_unit_test(slow_restart__after_a_pause_begins_an_account),
	    cmocka_unit_test(fired__at_the_port_of_the_qp),
	    cmocka_unit_test(set_recovery__of_every_port),
	    cmocka_unit_test(read__in_pieces_of_half_a_window),
	    cmocka_unit_test(cnp__before_the_work_of_others),
	    cmocka_unit_test(slow_restart__switched_off),
	    cmocka_unit_test(slow_restart__after_the_usual_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
