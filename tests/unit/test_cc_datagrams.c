/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control of InfiniBand at QPs of datagrams: who is told of their marks, and what they
 * wait for. FAB-47 */
#include "cct_env.h"
#include "wire/ib/lrh.h"

#define DETH 8
#define GROUP_LID (VB_LID_MULTICAST + 1)

static enum vb_verdict datagram(const struct vb_qp *qp, uint16_t lid, uint32_t sqpn, bool fecn,
				bool becn)
{
	return arrives(lid,
		       (struct vb_hdr){.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				       .dqpn = vb_qp_number(qp),
				       .fecn = fecn,
				       .becn = becn,
				       .deth = {ENV_QKEY, sqpn}},
		       8);
}

static void ud_send(struct vb_qp *qp, uint32_t length)
{
	struct vb_ah ah = {.pd = env.pd, .path = path_to(5)};
	struct vb_sge sge = env_sge(&env, 0, length);
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.ah = &ah,
				.dqpn = QPN_PEER,
				.qkey = ENV_QKEY};

	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
}

/* One answer for each marked datagram, to the QP that sent it, whether there is a receive for it or
 * not. */
static void datagrams__are_answered_one_by_one(void **state)
{
	static const struct {
		uint16_t lid;
		uint32_t sqpn;
	} from[] = {{2, 0x31}, {2, 0x31}, {3, 0x31}, {2, 0x32}, {2, 0x31}};
	struct vb_qp *qp;
	uint32_t told[3] = {0};

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	assert_int_equal(env_recv(&env, qp, 1, 100), 0);
	assert_int_equal(datagram(qp, 2, 0x31, false, false), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 0);
	for (size_t i = 0; i < sizeof from / sizeof from[0]; i++)
		assert_int_equal(datagram(qp, from[i].lid, from[i].sqpn, true, false),
				 VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(env_tx(&env, &b), 5);
	for (uint32_t i = 0; i < b.cnt; i++) {
		struct vb_hdr h = env_hdr(&b.pkt[i]);

		assert_int_equal(h.opcode, VB_OPCODE_CNP_IB);
		assert_true(h.becn && !h.fecn);
		assert_int_equal(b.pkt[i].path->slid, OWN_LID);
		told[0] += b.pkt[i].path->dlid == 2 && h.dqpn == 0x31;
		told[1] += b.pkt[i].path->dlid == 3 && h.dqpn == 0x31;
		told[2] += b.pkt[i].path->dlid == 2 && h.dqpn == 0x32;
	}
	assert_true(told[0] == 3 && told[1] == 1 && told[2] == 1);
	assert_int_equal(env.counters.v[VB_COUNTER_np_cnp_sent], 5);
	assert_int_equal(env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 5);
	assert_int_equal(env.counters.v[VB_COUNTER_np_marks_unanswered], 0);
	env_close(&env);
}

/* An answer has the service level of the mark that it is for, whoever sends by several. */
static void datagrams__of_several_service_levels(void **state)
{
	static const uint8_t levels[] = {0, 4, 0, 4, 4};
	uint32_t told[2] = {0};
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	for (size_t i = 0; i < sizeof levels; i++) {
		struct vb_path from = {.port = 1, .slid = 2, .dlid = OWN_LID, .sl = levels[i]};
		struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				   .dqpn = vb_qp_number(qp),
				   .fecn = true,
				   .deth = {ENV_QKEY, 0x31}};

		assert_int_equal(arrives_by(from, h, 8), VB_VERDICT_NO_RECV_WQE);
	}
	assert_int_equal(env_tx(&env, &b), 5);
	for (uint32_t i = 0; i < b.cnt; i++) {
		assert_true(b.pkt[i].path->sl == 0 || b.pkt[i].path->sl == 4);
		told[b.pkt[i].path->sl / 4]++;
	}
	assert_true(told[0] == 2 && told[1] == 3);
	env_close(&env);
}

/* A QP whose send queue has failed forgets whom it had to tell: when it sends again, an answer is
 * for the sender of a later mark. */
static void datagrams__of_a_send_queue_that_failed(void **state)
{
	struct vb_sge sge;
	struct vb_ah ah;
	struct vb_send_wr wr = {.wr_id = 7,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.ah = &ah,
				.dqpn = QPN_PEER,
				.qkey = ENV_QKEY};
	struct vb_qp_attr again = {.qp_state = VB_QPS_RTS};
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	ah = (struct vb_ah){.pd = env.pd, .path = path_to(5)};
	sge = env_sge(&env, 0, 8);
	sge.lkey ^= 0x100;
	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 7, VB_WC_LOC_PROT_ERR);
	assert_int_equal(qp->state, VB_QPS_SQE);
	for (int i = 0; i < 2; i++)
		(void)datagram(qp, 2, 0x31, true, false);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(vb_qp_modify(qp, &again, VB_QP_STATE, env.now), 0);
	(void)datagram(qp, 3, 0x32, true, false);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->dlid, 3);
	assert_int_equal(env_hdr(&b.pkt[0]).dqpn, 0x32);
	env_close(&env);
}

/* More senders than can be told: the first ones are, and the others are counted. A QP that stops
 * tells nobody any more. */
static void datagrams__of_too_many(void **state)
{
	struct vb_qp_attr a = env_attr(2, QPN_PEER);
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	for (uint16_t i = 0; i < VB_CCT_NOTES + 8; i++)
		(void)datagram(qp, 0x100 + i, 0x31, true, false);
	assert_int_equal(env_tx(&env, &b), VB_CCT_NOTES);
	for (uint16_t i = 0; i < VB_CCT_NOTES; i++)
		assert_int_equal(b.pkt[i].path->dlid, 0x100 + i);
	assert_int_equal(env.counters.v[VB_COUNTER_np_marks_unanswered], 8);
	(void)datagram(qp, 0x100, 0x31, true, false);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_ERR), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* Answers go to one QP: not to groups, nowhere, or to senders that the QP does not hear. */
static void datagrams__that_nobody_answers(void **state)
{
	static const uint16_t lids[] = {0, 0xc000, 0xfffe, 0xffff, 2, 2};
	static const uint32_t qpns[] = {0x31, 0x31, 0x31, 0x31, 0, 0xffffff};
	static const struct vb_gid gid = {{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 1}};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .fecn = true,
			   .becn = true,
			   .pkey = VB_PKEY_DEFAULT,
			   .deth = {ENV_QKEY, 0x31}};
	struct vb_path path = {.port = 1, .slid = 2, .dlid = GROUP_LID, .dgid = gid};
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	for (size_t i = 0; i < sizeof lids / sizeof lids[0]; i++)
		(void)datagram(qp, lids[i], qpns[i], true, false);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(env.counters.v[VB_COUNTER_np_marks_unanswered], 6);
	h.dqpn = vb_qp_number(qp);
	h.deth.qkey ^= 1;
	assert_int_equal(arrives(2, h, 8), VB_VERDICT_QKEY);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(qp->cc.cct.ccti.index, 0);

	h.deth.qkey ^= 1;
	h.dqpn = VB_QPN_MULTICAST;
	assert_int_equal(vb_qp_attach_mcast(qp, &gid, GROUP_LID), 0);
	assert_int_equal(env_recv(&env, qp, 1, 100), 0);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(env.counters.v[VB_COUNTER_np_marks_unanswered], 6);
	assert_int_equal(qp->cc.cct.ccti.index, 0);
	assert_int_equal(vb_qp_detach_mcast(qp, &gid, GROUP_LID), 0);
	env_close(&env);
}

/* The GRH in front of a marked datagram is as it was sent, and tells the answer its way. */
static void datagrams__with_a_grh(void **state)
{
	struct vb_path path = {.port = 1,
			       .slid = 2,
			       .dlid = OWN_LID,
			       .sl = 4,
			       .traffic_class = 0x48,
			       .sgid = {{0xfe, 0x80, [15] = 2}},
			       .dgid = {{0xfe, 0x80, [15] = 1}}};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .fecn = true,
			   .pkey = VB_PKEY_DEFAULT,
			   .deth = {ENV_QKEY, 0x31}};
	const uint8_t *grh = (const uint8_t *)env.mem + ENV_MEM / 2;
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *qp;

	(void)state;
	open_port(true);
	qp = qp_to(VB_QPT_UD, 2);
	assert_int_equal(env_recv(&env, qp, 1, 100), 0);
	h.dqpn = vb_qp_number(qp);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal((grh[0] << 8 | grh[1]) >> 4 & 0xff, 0x48);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).flags, VB_WC_GRH);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_true(vb_gid_eq(&b.pkt[0].path->dgid, &path.sgid));
	assert_int_equal(b.pkt[0].path->sl, 4);
	env_close(&env);
}

/* A QP of datagrams has an index, too: a notification, or a datagram with BECN, slows down what it
 * sends, whoever that is for. */
static void datagrams__wait_for_their_index(void **state)
{
	(void)state;
	for (int how = 0; how < 2; how++) {
		struct vb_qp *qp;

		open_port(true);
		qp = qp_to(VB_QPT_UD, 2);
		if (how == 0)
			assert_int_equal(cnp(vb_qp_number(qp), 2), VB_VERDICT_OK);
		else
			assert_int_equal(datagram(qp, 2, 0x31, false, true),
					 VB_VERDICT_NO_RECV_WQE);
		ud_send(qp, MTU);
		ud_send(qp, MTU);
		assert_int_equal(env_tx(&env, &b), 1);
		leave_at(1000 + 3 * (FRAME + DETH + MTU), 1);
		env_close(&env);
	}
}

/* Without the notification point, or without such rules, nobody is told; rules that come later are
 * enough. */
static void datagrams__without_congestion_control(void **state)
{
	struct vb_cc_settings off = {0};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.cc.np_en = true;
	env_open(&env, 16);
	qp = qp_to(VB_QPT_UD, 2);
	(void)datagram(qp, 2, 0x31, true, true);
	assert_int_equal(env_tx(&env, &b), 0);
	set_rules(false);
	(void)datagram(qp, 2, 0x31, true, true);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &off, 0), 0);
	(void)datagram(qp, 2, 0x31, true, true);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(datagrams__are_answered_one_by_one),
	    cmocka_unit_test(datagrams__of_several_service_levels),
	    cmocka_unit_test(datagrams__of_a_send_queue_that_failed),
	    cmocka_unit_test(datagrams__of_too_many),
	    cmocka_unit_test(datagrams__that_nobody_answers),
	    cmocka_unit_test(datagrams__with_a_grh),
	    cmocka_unit_test(datagrams__wait_for_their_index),
	    cmocka_unit_test(datagrams__without_congestion_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
