/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of InfiniBand at QPs: indices of their own, what waits for them, and
 * notifications by LID. FAB-47 FAB-48
 */
#include "cct_env.h"

#define RETH 16

/* The QP that a BECN names waits, and not another one of its port and service level. Further BECNs
 * lead it to the limit, and time back. */
static void index__is_that_of_a_qp(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC};

	(void)state;
	for (int t = 0; t < 2; t++) {
		struct vb_qp *hot, *cold;

		open_port(true);
		hot = qp_to(types[t], 2);
		cold = qp_to(types[t], 3);
		assert_int_equal(cnp(vb_qp_number(hot), 2), VB_VERDICT_OK);
		assert_int_equal(env_send(&env, hot, 1, VB_WR_RDMA_WRITE, 3 * MTU), 0);
		assert_int_equal(env_send(&env, cold, 2, VB_WR_RDMA_WRITE, 3 * MTU), 0);
		assert_int_equal(env_tx(&env, &b), 4);
		assert_int_equal(hot->req.block, VB_BLOCK_RATE);
		leave_at(1000 + 3 * (FRAME + RETH + MTU), 1);
		assert_int_equal(b.pkt[0].path->dlid, 2);
		leave_at(env.now + 3 * (FRAME + MTU), 1);
		assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);

		for (int i = 0; i < 9; i++)
			assert_int_equal(cnp(vb_qp_number(hot), 2), VB_VERDICT_OK);
		assert_int_equal(hot->cc.cct.ccti.index, 8);
		assert_int_equal(vb_hca_cct_index_max(env.hca, 1), 8);
		assert_int_equal(cold->cc.cct.ccti.index, 0);
		env.now += 9 * STEP;
		assert_int_equal(env_send(&env, hot, 3, VB_WR_RDMA_WRITE, 3 * MTU), 0);
		assert_int_equal(env_tx(&env, &b), 3);
		/* The largest index stays the largest, whatever comes after it. */
		assert_int_equal(cnp(vb_qp_number(cold), 3), VB_VERDICT_OK);
		assert_int_equal(cold->cc.cct.ccti.index, 2);
		assert_int_equal(vb_hca_cct_index_max(env.hca, 1), 8);
		env_close(&env);
	}
}

/* Where service levels have indices the port delays, and QPs do not. */
static void index__is_that_of_a_level(void **state)
{
	struct vb_qp *qp;

	(void)state;
	open_port(false);
	qp = qp_to(VB_QPT_RC, 2);
	assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 3 * MTU), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_ignored], 1);
	assert_int_equal(vb_hca_cct_index_max(env.hca, 1), 0);
	env_close(&env);
}

/* PortControl changes under way: what waited for its index goes on, and an index that comes back
 * begins with nothing. The same when there is no congestion control any more. */
static void index__comes_and_goes(void **state)
{
	struct vb_qp *qp;

	(void)state;
	for (int ends = 0; ends < 2; ends++) {
		open_port(true);
		qp = qp_to(VB_QPT_RC, 2);
		assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 2 * MTU), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_tx(&env, &b), 0);
		if (ends)
			assert_int_equal(vb_hca_set_port_cct(env.hca, 1, NULL), 0);
		else
			set_rules(false);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
		assert_int_equal(qp->cc.cct.ccti.index, 0);
		set_rules(true);
		assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_WRITE, 2 * MTU), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		env_close(&env);
	}
}

/* A port that no manager has set: no index can be but 0, and no packet is asked about it. */
static void index__without_a_table_is_none(void **state)
{
	struct vb_cct_rules r = rules_of(true);
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_RC, 2);
	assert_true(qp->cc.on);
	r.table.limit = 0;
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), 0);
	assert_false(qp->cc.on);
	assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_ignored], 1);
	env_close(&env);
}

/* A QP that comes late makes up for it, for as long as the rules say; one that waits looks again
 * half of that later, so that several packets leave together. */
static void index__lets_late_packets_make_up(void **state)
{
	struct vb_cct_rules r = rules_of(true);
	uint32_t line = FRAME + MTU;
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	r.keep = 6ull * line;
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), 0);
	qp = qp_to(VB_QPT_UC, 2);
	env.now = 100000;
	assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8 * MTU), 0);
	/* Six times a packet, and each packet costs three: the first two, and the one that is
	 * begun. */
	assert_int_equal(env_tx(&env, &b), 2);
	assert_true(qp->cc.cct.next == 100000 + RETH * 3);
	leave_at(qp->cc.cct.next + r.keep / 2, 2);
	env_close(&env);
}

/* READ responses keep to the index as well, and acknowledgements do not wait for it. */
static void index__holds_responses(void **state)
{
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_RC, 2);
	assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
	assert_int_equal(arrives(2,
				 (struct vb_hdr){.opcode = VB_OP_READ_REQUEST,
						 .dqpn = vb_qp_number(qp),
						 .reth = {ENV_IOVA, vb_mr_rkey(env.mr), 3 * MTU}},
				 0),
			 VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	leave_at(1000 + 3 * (FRAME + 4 + MTU), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OP_READ_RESP_MIDDLE);
	leave_at(env.now + 3 * (FRAME + MTU), 1);
	assert_int_equal(arrives(2,
				 (struct vb_hdr){.opcode = VB_OP_WRITE_ONLY,
						 .dqpn = vb_qp_number(qp),
						 .psn = vb_psn(3),
						 .ack_req = true,
						 .reth = {ENV_IOVA, vb_mr_rkey(env.mr), 8}},
				 8),
			 VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OP_ACK);
	env_close(&env);
}

/* A peer may say it in a packet of its own: an acknowledgement with BECN. One for a packet that was
 * marked as well is both. */
static void becn__comes_in_any_packet(void **state)
{
	struct vb_hdr ack = {.opcode = VB_OP_ACK, .becn = true, .aeth.syndrome = 0x1f};
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_RC, 2);
	ack.dqpn = vb_qp_number(qp);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(arrives(3, ack, 0), VB_VERDICT_SOURCE);
	assert_int_equal(qp->cc.cct.ccti.index, 0);
	assert_int_equal(arrives(2, ack, 0), VB_VERDICT_OK);
	assert_int_equal(qp->cc.cct.ccti.index, 2);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 0);
	ack.fecn = true;
	assert_int_equal(arrives(2, ack, 0), VB_VERDICT_DUPLICATE);
	assert_int_equal(qp->cc.cct.ccti.index, 4);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OPCODE_CNP_IB);
	assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 1);
	env_close(&env);
}

/* An index that comes to its trigger is an event, with the other end where there is one. */
static void index__tells_of_its_trigger(void **state)
{
	static struct vb_cct_events events, seen;
	struct vb_qp *rc, *ud;

	(void)state;
	memset(&events, 0, sizeof events);
	env_config(&env);
	env.cfg.port[1].cct_events = &events;
	env_open(&env, 16);
	set_rules(true);
	rc = qp_to(VB_QPT_RC, 2);
	ud = qp_to(VB_QPT_UD, 2);
	env.now = 77;
	for (int i = 0; i < 5; i++)
		assert_int_equal(cnp(vb_qp_number(rc), 2), VB_VERDICT_OK);
	assert_true(vb_cct_events_read(&events, &seen));
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.last[0].qpn, vb_qp_number(rc));
	assert_int_equal(seen.last[0].remote_qpn, QPN_PEER);
	assert_int_equal(seen.last[0].lid, 2);
	assert_int_equal(seen.last[0].service, VB_CCT_RC);
	assert_true(seen.last[0].at == 77);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cnp(vb_qp_number(ud), 2), VB_VERDICT_OK);
	assert_true(vb_cct_events_read(&events, &seen));
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.last[1].qpn, vb_qp_number(ud));
	assert_int_equal(seen.last[1].remote_qpn | seen.last[1].lid, 0);
	assert_int_equal(seen.last[1].service, VB_CCT_UD);
	env_close(&env);
}

/* The notification of InfiniBand is a BTH: opcode 0x80, BECN, PSN 0. Each link has its own. */
static void cnp__of_a_connection(void **state)
{
	static const uint8_t want[12] = {0x80, 0x00, 0xff, 0xff, 0x40, 0x00, 0x00, QPN_PEER};
	struct vb_hdr h = {.opcode = VB_OP_WRITE_ONLY, .fecn = true};
	struct vb_qp *qp, *roce;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UC, 2);
	h.opcode |= VB_TRANSPORT_UC;
	h.dqpn = vb_qp_number(qp);
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.va = ENV_IOVA;
	for (uint32_t i = 0; i < 3; i++) {
		h.psn = vb_psn(i);
		assert_int_equal(arrives(2, h, 0), VB_VERDICT_OK);
	}
	assert_int_equal(env_tx(&env, &b), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(b.pkt[i].hdr_len, sizeof want);
		assert_memory_equal(b.pkt[i].hdr, want, sizeof want);
		assert_int_equal(b.pkt[i].payload_len, 0);
		assert_int_equal(b.pkt[i].path->dlid, 2);
	}
	h = (struct vb_hdr){.opcode = VB_OPCODE_CNP, .becn = true, .dqpn = vb_qp_number(qp)};
	assert_int_equal(arrives(2, h, 0), VB_VERDICT_TRANSPORT);
	roce = env_rts(&env, VB_QPT_RC, 2, QPN_PEER);
	h = (struct vb_hdr){.opcode = VB_OPCODE_CNP_IB, .becn = true, .dqpn = vb_qp_number(roce)};
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_TRANSPORT);
	env_close(&env);
}

/* Forged notifications: for QPs that are not there, or from elsewhere. */
static void cnp__of_strangers(void **state)
{
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_RC, 2);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(cnp(0x1000 + i, 2), VB_VERDICT_QPN);
	assert_int_equal(cnp(vb_qp_number(qp), 3), VB_VERDICT_SOURCE);
	assert_int_equal(env.counters.v[VB_COUNTER_rx_qpn_miss], 1000);
	assert_int_equal(vb_hca_cct_index_max(env.hca, 1), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

static void rules__that_are_none(void **state)
{
	struct vb_cct_rules r = rules_of(true);

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	assert_int_equal(vb_hca_set_port_cct(env.hca, 0, &r), -EINVAL);
	assert_int_equal(vb_hca_set_port_cct(env.hca, VB_HCA_PORTS_MAX + 1, &r), -EINVAL);
	r.table.limit = VB_CCT_LEN;
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), -EINVAL);
	assert_non_null(strstr(vb_cct_check(&r), "limit"));
	r = rules_of(true);
	r.rate_bps = 0;
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), -EINVAL);
	assert_non_null(strstr(vb_cct_check(&r), "slow"));
	assert_null(vb_hca_cct(env.hca, 1));
	r = rules_of(true);
	env.fail_at = env.calls + 1;
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), -ENOMEM);
	assert_null(vb_hca_cct(env.hca, 1));
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), 0);
	assert_true(vb_hca_cct(env.hca, 1)->table.by_qp);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(index__is_that_of_a_qp),
	    cmocka_unit_test(index__is_that_of_a_level),
	    cmocka_unit_test(index__comes_and_goes),
	    cmocka_unit_test(index__without_a_table_is_none),
	    cmocka_unit_test(index__lets_late_packets_make_up),
	    cmocka_unit_test(index__holds_responses),
	    cmocka_unit_test(becn__comes_in_any_packet),
	    cmocka_unit_test(index__tells_of_its_trigger),
	    cmocka_unit_test(cnp__of_a_connection),
	    cmocka_unit_test(cnp__of_strangers),
	    cmocka_unit_test(rules__that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
