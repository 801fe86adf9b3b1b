/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter itself: ports, and what becomes of a packet before its QP sees it. Every fate is
 * counted once, and none harms. IBA 9.6.1; IBT-02, IBT-63, IBT-81
 */
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 256);
}

static void set_port__limits(void **state)
{
	struct vb_hca_port p = {.active_mtu = VB_MTU_512, .pkey = {VB_PKEY_DEFAULT}};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_hca_set_port(env.hca, 0, &p), -EINVAL);
	assert_int_equal(vb_hca_set_port(env.hca, VB_HCA_PORTS_MAX + 1, &p), -EINVAL);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.port = a.path.port = VB_HCA_PORTS_MAX;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), -EINVAL);
	assert_int_equal(vb_hca_set_port(env.hca, VB_HCA_PORTS_MAX, &p), 0);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), 0);
	a.path_mtu = VB_MTU_1024; /* more than the port has */
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), -EINVAL);
	a.path_mtu = VB_MTU_512;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), 0);
	/* The ports between have no link yet; those there were stay, whatever comes after. */
	a = env_attr(2, 0x21);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.port = a.path.port = 7;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), -EINVAL);
	assert_int_equal(vb_hca_set_port(env.hca, 1, &p), 0);
	a.port = a.path.port = VB_HCA_PORTS_MAX;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), 0);
	env_close(&env);
}

/* Settings of a new adapter hold for each port that it may get later, the last one too. */
static void create__settings_of_every_port(void **state)
{
	(void)state;
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 16);
	for (uint8_t port = 1; port <= VB_HCA_PORTS_MAX; port++)
		assert_true(vb_hca_recovery(env.hca, port)->selective_repeat_forced_en);
	env_close(&env);
}

/* The counters that went up since @before, as a set. */
static uint64_t counted(const struct vb_counters *before)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < VB_COUNTER_CNT; i++) {
		uint64_t d = env.counters.v[i] - before->v[i];

		assert_true(d <= 1);
		set |= d << i;
	}
	return set;
}

/* A GSO batch goes where its first packet's QPN says; those behind it that are another process's
 * are not packets for QPs that do not exist. */
static void packet__of_another_process(void **state)
{
	(void)state;
	setup();
	for (uint32_t base = 2; base < 255; base += 100) {
		struct vb_hca_config cfg = {.limits = vb_limits_default,
					    .qpn_base = base,
					    .qpn_stride = 256,
					    .port_cnt = 1,
					    .port[1] = {.active_mtu = VB_MTU_4096,
							.pkey = {VB_PKEY_DEFAULT},
							.counters = &env.counters},
					    .alloc = env_alloc,
					    .free = env_free,
					    .alloc_ctx = &env};
		struct vb_hca *hca;

		memset(&env.counters, 0, sizeof env.counters);
		assert_int_equal(vb_hca_create(&hca, &cfg, 0), 0);
		for (uint32_t low = 0; low < 255; low++) {
			struct vb_hdr h = {.opcode = 4, .pkey = 0xffff, .dqpn = 0x123400 + low};
			uint8_t pkt[VB_HDR_MAX] = {0};
			struct vb_path path = env_path(1);
			uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt);
			struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

			assert_int_equal(vb_hca_handle_packet(hca, &rx, 0), VB_VERDICT_QPN);
		}
		assert_int_equal(env.counters.v[VB_COUNTER_rx_qpn_miss], 1);
		assert_int_equal(env.counters.v[VB_COUNTER_rx_misrouted], 254);
		vb_hca_destroy(hca);
	}
	env_close(&env);
}

static void packet__each_fate_is_counted(void **state)
{
	static const struct {
		uint8_t opcode, tver;
		uint16_t pkey;
		uint8_t from;
		int32_t dqpn; /* beside the QP's own */
		int32_t cut;  /* bytes less at the end */
		uint32_t len;
		enum vb_verdict verdict;
		uint64_t counters;
	} c[] = {
#define C(name) (UINT64_C(1) << VB_COUNTER_##name)
	    {4, 0, 0xffff, 2, 0, 0, 8, VB_VERDICT_NO_RECV_WQE, C(out_of_buffer) | C(rx_dropped)},
	    {4, 0, 0xffff, 2, 0, 12, 0, VB_VERDICT_TRUNCATED, C(port_rcv_errors)},
	    {4, 0, 0xffff, 2, 0, 1, 8, VB_VERDICT_PAD, C(port_rcv_errors)},
	    {4, 1, 0xffff, 2, 0, 0, 8, VB_VERDICT_TVER, C(port_rcv_errors)},
	    {0x1f, 0, 0xffff, 2, 0, 0, 8, VB_VERDICT_OPCODE, C(port_rcv_errors)},
	    {0xe4, 0, 0xffff, 2, 0, 0, 8, VB_VERDICT_OPCODE, C(port_rcv_errors)},
	    {4, 0, 0x1234, 2, 0, 0, 8, VB_VERDICT_PKEY, C(port_rcv_constraint_errors)},
	    {4, 0, 0xffff, 2, 1, 0, 8, VB_VERDICT_QPN, C(rx_qpn_miss)},
	    {4, 0, 0xffff, 9, 0, 0, 8, VB_VERDICT_SOURCE, C(rx_dropped)},
	    {0x24, 0, 0xffff, 2, 0, 0, 8, VB_VERDICT_TRANSPORT, C(rx_dropped)},
	    {0x11, 0, 0xffff, 2, 0, 0, 0, VB_VERDICT_UNEXPECTED, C(rx_dropped)},
#undef C
	};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		struct vb_path path = env_path(1);
		uint8_t pkt[VB_HDR_MAX + 64] = {0};
		struct vb_counters before;
		struct vb_qp *qp;

		setup();
		qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
		path.sgid = env_gid(c[i].from);

		struct vb_hdr h = {
		    .opcode = 4, .pkey = c[i].pkey, .dqpn = vb_qp_number(qp) + (uint32_t)c[i].dqpn};
		uint32_t len;

		if (c[i].opcode == 0x11 || c[i].opcode == 0x24)
			h.opcode = c[i].opcode;
		len = (uint32_t)vb_hdr_emit(&h, pkt) + c[i].len - (uint32_t)c[i].cut;
		pkt[0] = c[i].opcode;
		pkt[1] |= c[i].tver;
		before = env.counters;

		struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), c[i].verdict);
		if (counted(&before) != c[i].counters)
			fail_msg("case %zu counts %#llx", i, (unsigned long long)counted(&before));
		env_close(&env);
	}
}

/* A connected QP has one peer, and one address of its own for it: a packet that was for another GID
 * of the port is not its. IBT-02 */
static void packet__for_another_gid(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC};
	static const uint8_t transport[] = {VB_TRANSPORT_RC, VB_TRANSPORT_UC};

	(void)state;
	for (int t = 0; t < 2; t++) {
		struct vb_path path = env_path(1);
		uint8_t pkt[VB_HDR_MAX] = {0};
		struct vb_hdr h = {.opcode = transport[t] | VB_OP_SEND_ONLY,
				   .pkey = VB_PKEY_DEFAULT};
		struct vb_rx rx = {.pkt = pkt, .path = &path};
		struct vb_qp *qp;

		setup();
		qp = env_rts(&env, types[t], 2, 0x21);
		h.dqpn = vb_qp_number(qp);
		rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
		assert_int_equal(env_recv(&env, qp, 1, 8), 0);
		path.sgid = env_gid(2);
		path.dgid = env_gid(3);
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_SOURCE);
		env_no_wc(&env);
		path.dgid = env_gid(1);
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
		(void)env_wc(&env, 1, VB_WC_SUCCESS);
		env_close(&env);
	}
}

/* CE is counted, and is no reason to drop. */
static void packet__with_ce(void **state)
{
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX] = {0};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY, .pkey = VB_PKEY_DEFAULT};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	path.sgid = env_gid(2);
	h.dqpn = vb_qp_number(qp);
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt);
		struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

		path.traffic_class = (uint8_t)(0x68 | ecn);
		assert_int_equal(env_recv(&env, qp, ecn, 8), 0);
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
		(void)env_wc(&env, ecn, VB_WC_SUCCESS);
		h.psn = vb_psn_add(h.psn, 1);
		assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], ecn == 3);
	}
	env_close(&env);
}

/* A CNP is counted and nothing else, whatever the QP. */
static void packet__cnp(void **state)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_CNP};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTR);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_ignored] +
			     env.counters.v[VB_COUNTER_rp_cnp_handled],
			 1);
	env_no_event(&env);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* The first packet from the peer in RTR, once, of a connected QP. IBT-63 */
static void comm_est__once(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC, VB_QPT_UD};
	static const uint8_t transport[] = {VB_TRANSPORT_RC, VB_TRANSPORT_UC, VB_TRANSPORT_UD};

	(void)state;
	for (int t = 0; t < 3; t++) {
		struct vb_hdr h = {.opcode = transport[t] | VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY};
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_qp *qp;

		setup();
		qp = env_qp(&env, types[t], NULL);
		h.dqpn = vb_qp_number(qp);
		for (int round = 0; round < 2; round++) {
			env_up(&env, qp, &a, VB_QPS_RTR);
			if (types[t] != VB_QPT_UD)
				(void)env_rx(&env, 9, &h, 8);
			env_no_event(&env);
			for (int i = 0; i < 3; i++)
				(void)env_rx(&env, 2, &h, 8);
			if (types[t] != VB_QPT_UD)
				env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_COMM_EST);
			env_no_event(&env);
			assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
		}
		/* From RTS on it would be no news. */
		env_up(&env, qp, &a, VB_QPS_RTS);
		(void)env_rx(&env, 2, &h, 8);
		env_no_event(&env);
		env_close(&env);
	}
}

/* A QP with a receive that has come to @s as QPs do, or NULL: those of the type never do. */
static struct vb_qp *qp_in(enum vb_qp_type type, enum vb_qp_state s)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	if (s == VB_QPS_SQE && type == VB_QPT_RC)
		return NULL;
	qp = env_qp(&env, type, NULL);
	if (s == VB_QPS_RESET)
		return qp;
	env_up(&env, qp, &a, s == VB_QPS_INIT || s == VB_QPS_RTR ? s : VB_QPS_RTS);
	assert_int_equal(env_recv(&env, qp, 1, 4096), 0);
	if (s == VB_QPS_ERR)
		vb_qp_enter_err(qp, 0);
	else if (s == VB_QPS_SQE)
		vb_qp_enter_sqe(qp, 0);
	else if (s == VB_QPS_SQD)
		assert_int_equal(
		    vb_qp_modify(qp, &(struct vb_qp_attr){.qp_state = s}, VB_QP_STATE, 0), 0);
	assert_int_equal(vb_qp_get_state(qp), s);
	return qp;
}

/* Everything that a first byte can say, to QPs of all kinds in all states: only a QP that receives
 * and knows the operation does anything. */
static void packet__every_opcode_in_every_state(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC, VB_QPT_UD};
	static const uint8_t transport[] = {VB_TRANSPORT_RC, VB_TRANSPORT_UC, VB_TRANSPORT_UD};

	(void)state;
	setup();
	for (uint32_t i = 0; i < 3u * VB_QPS_CNT * 256 * 3; i++) {
		static const uint32_t lens[] = {0, 8, 1024};
		uint32_t t = i % 3, s = i / 3 % VB_QPS_CNT, op = i / 3 / VB_QPS_CNT % 256;
		uint32_t len = lens[i / 3 / VB_QPS_CNT / 256];
		bool receives =
		    s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE;
		struct vb_qp *qp = qp_in(types[t], (enum vb_qp_state)s);
		struct vb_path path = env_path(1);
		uint8_t pkt[1200] = {0};

		if (!qp)
			continue;

		struct vb_hdr h = {.opcode = 4,
				   .pkey = VB_PKEY_DEFAULT,
				   .dqpn = vb_qp_number(qp),
				   .ack_req = true};
		uint32_t total = (uint32_t)vb_hdr_emit(&h, pkt) + 32 + len;
		struct vb_rx rx = {.pkt = pkt, .len = total, .avail = total, .path = &path};
		enum vb_verdict v;

		path.sgid = env_gid(2);
		pkt[0] = (uint8_t)op;
		v = vb_hca_handle_packet(env.hca, &rx, 0);
		if (v != VB_VERDICT_OPCODE && v != VB_VERDICT_TRUNCATED && v != VB_VERDICT_PAD) {
			if ((op & VB_TRANSPORT_MASK) != transport[t])
				assert_int_equal(v, VB_VERDICT_TRANSPORT);
			else if (!receives)
				assert_int_equal(v, VB_VERDICT_QP_STATE);
		}
		(void)env_tx(&env, &b);
		assert_int_equal(vb_qp_destroy(qp), 0);
		while (vb_hca_poll_event(env.hca, &(struct vb_event){0}))
			continue;
	}
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(set_port__limits),
	    cmocka_unit_test(create__settings_of_every_port),
	    cmocka_unit_test(packet__each_fate_is_counted),
	    cmocka_unit_test(packet__of_another_process),
	    cmocka_unit_test(packet__for_another_gid),
	    cmocka_unit_test(packet__with_ce),
	    cmocka_unit_test(packet__cnp),
	    cmocka_unit_test(comm_est__once),
	    cmocka_unit_test(packet__every_opcode_in_every_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
