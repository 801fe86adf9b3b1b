/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals of the network to an algorithm of congestion control: marks and records of switches,
 * which ACKs return, and CNPs. And when a QP has an algorithm.
 */
#include "cc_probe_env.h"

static void *no_memory(void *ctx, size_t size)
{
	(void)ctx, (void)size;
	return NULL;
}

/* A marked packet of data is told by BECN in the next ACK, and not by a CNP; the requester counts
 * what that ACK acknowledges. */
static void marks__return_in_acks(void **state)
{
	struct vb_hdr h = {.opcode = VB_OP_WRITE_ONLY, .ack_req = true};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *qp;

	(void)state;
	want = no_limit;
	answers = true;
	qp = open_probe(VERBENA_CC_NEEDS_ECN);
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	h.dqpn = vb_qp_number(qp);
	h.pkey = VB_PKEY_DEFAULT;
	for (uint32_t psn = 0; psn < 3; psn++) {
		h.psn = vb_psn(psn);
		rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
		path.traffic_class = psn == 1 ? VB_ECN_CE : VB_ECN_ECT0;
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OP_ACK);
		assert_int_equal(env_hdr(&b.pkt[0]).becn, psn == 1);
		assert_int_equal(b.pkt[0].path->traffic_class, 0);
	}
	/* Data is ECT(0). */
	post(qp, 2, 2 * MTU);
	assert_int_equal(env_tx(&env, &b), 4);
	assert_int_equal(b.pkt[0].path->traffic_class, VB_ECN_ECT0);
	assert_int_equal(answer_rx(qp, 1, 0x1f, true), VB_VERDICT_OK);
	assert_int_equal(seen.ack.marked, 2 * MTU);
	ack(qp, 3);
	assert_int_equal(seen.ack.marked, 0);
	env_close(&env);
}

/* A mark on an ACK is about the way of ACKs, which no data takes: the peer is not told to slow
 * down for it. */
static void mark__of_a_response(void **state)
{
	struct vb_hdr h = {.opcode = VB_OP_ACK, .pkey = VB_PKEY_DEFAULT, .aeth.syndrome = 0x1f};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *qp;

	(void)state;
	want = no_limit;
	answers = true;
	qp = open_probe(VERBENA_CC_NEEDS_ECN);
	post(qp, 1, MTU);
	assert_int_equal(env_tx(&env, &b), 1);
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	path.traffic_class = VB_ECN_CE;
	h.dqpn = vb_qp_number(qp);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	h = (struct vb_hdr){
	    .opcode = VB_OP_WRITE_ONLY, .ack_req = true, .dqpn = h.dqpn, .pkey = h.pkey};
	path.traffic_class = VB_ECN_ECT0;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OP_ACK);
	assert_false(env_hdr(&b.pkt[0]).becn);
	env_close(&env);
}

/* Records of switches come with data, and leave with the next ACK; they come back to the
 * algorithm. */
static void telemetry__returns_in_acks(void **state)
{
	struct vb_telemetry t = {.hop_cnt = 2, .hop = {{.at = 5, .rate = 7}, {.queue_bytes = 9}}};
	struct vb_hdr h = {.opcode = VB_OP_WRITE_ONLY, .ack_req = true, .pkey = VB_PKEY_DEFAULT};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &path, .telemetry = &t};
	struct vb_qp *qp;

	(void)state;
	want = no_limit;
	answers = true;
	qp = open_probe(VERBENA_CC_NEEDS_INT);
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	h.dqpn = vb_qp_number(qp);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_non_null(b.pkt[0].telemetry);
	assert_int_equal(b.pkt[0].telemetry->is_return, 1);
	assert_int_equal(b.pkt[0].telemetry->hop_cnt, 2);
	assert_int_equal(b.pkt[0].telemetry->hop[0].rate, 7);

	post(qp, 1, MTU);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_null(b.pkt[0].telemetry);
	h = (struct vb_hdr){.opcode = VB_OP_ACK,
			    .dqpn = vb_qp_number(qp),
			    .pkey = VB_PKEY_DEFAULT,
			    .aeth.syndrome = 0x1f};
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	t.hop_cnt = 200; /* more than there is room for */
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(seen.ack.hop_cnt, VERBENA_CC_HOPS_MAX);
	assert_int_equal(seen.hop[1].queue_bytes, 9);
	env_close(&env);
}

static void cnp__is_told(void **state)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_CNP, .becn = true};
	struct vb_qp *qp;

	(void)state;
	want = no_limit;
	answers = true;
	qp = open_probe(VERBENA_CC_NEEDS_CNP);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_int_equal(seen.cnps, 1);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	env_close(&env);
}

/* Without memory for it a QP goes on without an algorithm. */
static void memory__of_a_flow(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp = open_with(no_limit);

	(void)state;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RESET), 0);
	assert_null(qp->cc.flow);
	env_up(&env, qp, &a, VB_QPS_INIT);
	qp->hca->cfg.alloc = no_memory;
	vb_flow_start(qp, env.now);
	qp->hca->cfg.alloc = env_alloc;
	assert_null(qp->cc.flow);
	env_close(&env);
}

static void choice__of_a_port(void **state)
{
	struct vb_cc_choice wrong = {.algorithm = &probe};

	(void)state;
	(void)open_with(no_limit);
	assert_int_equal(vb_hca_set_port_choice(env.hca, 0, &choice), -EINVAL);
	assert_int_equal(vb_hca_set_port_choice(env.hca, VB_HCA_PORTS_MAX + 1, &choice), -EINVAL);
	assert_int_equal(vb_hca_set_port_choice(env.hca, 1, &wrong), -EINVAL); /* no line */
	assert_int_equal(vb_hca_set_port_choice(env.hca, 1, NULL), 0);
	seen.inits = 0;
	post(env_rts(&env, VB_QPT_RC, 2, 0x22), 1, 8);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(seen.inits + seen.sents, 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(marks__return_in_acks), cmocka_unit_test(telemetry__returns_in_acks),
	    cmocka_unit_test(cnp__is_told),          cmocka_unit_test(memory__of_a_flow),
	    cmocka_unit_test(choice__of_a_port),     cmocka_unit_test(mark__of_a_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
