/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester of RC over whole ranges, where the scripts show single numbers: credit codes, which
 * packets ask for an ACK, ghosts of ACKs, and every kind of completion. IBA 9.7; facts B.6;
 * IBT-07, IBT-09, IBT-44, IBT-47, IBT-65
 */
#include "rc_env.h"

/* facts B.6: code 0x00 ... 0x1e, 0x1f is no limit. */
static const uint32_t credits[31] = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

static void credit__codes(void **state)
{
	(void)state;
	for (uint8_t c = 0; c < 31; c++)
		assert_int_equal(vb_credit_decode(c), credits[c]);
	assert_int_equal(vb_credit_decode(31), UINT32_MAX);
	/* Rounded down, to the nearest that there is. */
	for (uint32_t n = 0; n < 70000; n++) {
		uint8_t c = vb_credit_encode(n);

		assert_true(c < 31 && credits[c] <= n);
		assert_true(c == 30 || credits[c + 1] > n);
	}
}

/* The last packet of a message asks for an ACK, and one in every 64 KiB; a READ request always
 * does. IBT-09 */
static void ackreq__in_long_messages(void **state)
{
	(void)state;
	for (unsigned m = VB_MTU_256; m <= VB_MTU_4096; m++) {
		uint32_t mtu = vb_mtu_bytes((enum vb_mtu)m), every = 65536 / mtu, k = 0;
		struct vb_mr_attr attr = {.length = 1u << 30, .access = ENV_ACCESS};
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_mr *mr;
		struct vb_qp *qp;

		setup();
		assert_int_equal(vb_mr_create(env.pd, &attr, &mr), 0);
		a.path_mtu = (enum vb_mtu)m;
		qp = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp, &a, VB_QPS_RTS);

		struct vb_sge sge = {0, 200000, vb_mr_lkey(mr)};
		struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND};
		uint32_t pkts = (200000 + mtu - 1) / mtu;

		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		wr.opcode = VB_WR_RDMA_READ;
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		while (env_tx(&env, &b)) {
			for (uint32_t i = 0; i < b.cnt; i++, k++)
				assert_int_equal(env_hdr(&b.pkt[i]).ack_req,
						 k + 1 >= pkts || (k + 1) % every == 0);
		}
		assert_int_equal(k, pkts + 1);
		env_close(&env);
	}
}

/* An ACK for any PSN that is not outstanding changes nothing: ghosts of before and of after. */
static void ack__ghosts(void **state)
{
	struct vb_qp *qp;
	uint32_t una = 0xfffffd;

	(void)state;
	setup();
	qp = rts(una, 0, 4);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 6);
	for (uint32_t off = 6; off < 0x1000000; off += off < 100 || off > 0xffff80 ? 1 : 99991) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .dqpn = vb_qp_number(qp),
				   .psn = vb_psn(una + off),
				   .aeth.syndrome = VB_CREDIT_UNLIMITED};
		enum vb_verdict v = env_rx(&env, 2, &h, 0);

		assert_int_equal(v, off < 0x800000 ? VB_VERDICT_UNEXPECTED : VB_VERDICT_DUPLICATE);
		h.aeth.syndrome = VB_NAK_REMOTE_ACCESS;
		assert_int_equal(env_rx(&env, 2, &h, 0), v);
	}
	env_no_wc(&env);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(vb_qp_unacked(qp), 6);

	struct vb_qp_attr got;

	vb_qp_query(qp, &got);
	assert_int_equal(got.sq_psn, (una + 6) & 0xffffff); /* the next to send */
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_RTS);
	env_close(&env);
}

/* The completion of each kind of work, at both ends. IBT-46, IBT-48, IBT-49,
 * IBT-55, IBT-56, IBT-58 */
static void completion__of_each_kind(void **state)
{
	static const struct {
		enum vb_wr_opcode op;
		uint32_t len;
		enum vb_wc_opcode send_op;
		bool receives;
		enum vb_wc_opcode recv_op;
		uint32_t recv_flags;
	} k[] = {
	    {0, 40, 1, false, 0, 0},   /* WRITE */
	    {1, 41, 1, true, 0x81, 2}, /* WRITE with Immediate */
	    {2, 42, 0, true, 0x80, 0}, /* SEND */
	    {3, 43, 0, true, 0x80, 2}, /* SEND with Immediate */
	    {4, 44, 2, false, 0, 0},   /* READ */
	    {5, 8, 3, false, 0, 0},    /* compare and swap */
	    {6, 8, 4, false, 0, 0},    /* fetch and add */
	};
	struct vb_qp *qp[2];

	(void)state;
	setup();
	env_pair(&env, VB_QPT_RC, qp);
	for (size_t i = 0; i < sizeof k / sizeof k[0]; i++) {
		struct vb_sge sge = env_sge(&env, 0, k[i].len);
		struct vb_send_wr wr = {.wr_id = 0x1122334455667788 + i, /* IBT-44 */
					.sge = &sge,
					.sge_cnt = 1,
					.opcode = k[i].op,
					.flags = VB_SEND_SIGNALED,
					.imm = 0xa1b2c3d4,
					.remote_addr = ENV_IOVA + 1024,
					.rkey = vb_mr_rkey(env.mr)};
		struct vb_wc wc;

		if (k[i].receives)
			assert_int_equal(env_recv(&env, qp[1], 99, 64), 0);
		assert_int_equal(vb_qp_post_send(qp[0], &wr, 0), 0);
		env_loop(&env);
		if (k[i].receives) {
			wc = env_wc(&env, 99, VB_WC_SUCCESS);
			assert_int_equal(wc.opcode, k[i].recv_op);
			assert_int_equal(wc.byte_len, k[i].len);
			assert_int_equal(wc.flags, k[i].recv_flags);
			assert_int_equal(wc.qpn, vb_qp_number(qp[1]));
			if (k[i].recv_flags)
				assert_int_equal(wc.imm, 0xa1b2c3d4);
		}
		wc = env_wc(&env, wr.wr_id, VB_WC_SUCCESS);
		assert_int_equal(wc.opcode, k[i].send_op);
		assert_int_equal(wc.qpn, vb_qp_number(qp[0]));
		if (k[i].op >= 4)
			assert_int_equal(wc.byte_len, k[i].len);
		env_no_wc(&env);
	}
	env_close(&env);
}

/* A failure says more in vendor_err than its status: the syndrome or the verdict. IBT-47 */
static void completion__vendor_err(void **state)
{
	static const uint8_t naks[] = {VB_NAK_INVALID_REQUEST,
				       VB_NAK_REMOTE_ACCESS,
				       VB_NAK_REMOTE_OP,
				       VB_NAK_INVALID_RD,
				       0x65,
				       0x7f};
	static const enum vb_wc_status status[] = {VB_WC_REM_INV_REQ_ERR, VB_WC_REM_ACCESS_ERR,
						   VB_WC_REM_OP_ERR,      VB_WC_REM_INV_RD_REQ_ERR,
						   VB_WC_BAD_RESP_ERR,    VB_WC_BAD_RESP_ERR};

	(void)state;
	setup();
	for (size_t i = 0; i < sizeof naks; i++) {
		struct vb_qp *qp = rts(0, 0, 4);
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .dqpn = vb_qp_number(qp),
				   .aeth.syndrome = naks[i]};

		assert_int_equal(env_send(&env, qp, 5, VB_WR_SEND, 8), 0);
		assert_int_equal(env_send(&env, qp, 6, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_wc(&env, 5, status[i]).vendor_err, naks[i]);
		assert_int_equal(env_wc(&env, 6, VB_WC_WR_FLUSH_ERR).vendor_err, 0);
		assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_error], i + 1);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* Only signaled work completes, but an error always does. IBT-60, IBT-65 */
static void completion__unsignaled_error(void **state)
{
	struct vb_sge sge;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	sge = env_sge(&env, 0, 8);

	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};

	for (wr.wr_id = 0; wr.wr_id < 3; wr.wr_id++)
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	h.psn = vb_psn(1);
	h.aeth.syndrome = VB_NAK_REMOTE_OP;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_REM_OP_ERR);
	(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
	(void)env_wc(&env, 3, VB_WC_WR_FLUSH_ERR);
	/* The one that failed and those behind it have counters of their own. */
	assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_error], 1);
	assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_flush_error], 2);
	env_close(&env);
}

/* No more than half of all PSNs are in flight, or what is old could not be told from what is new: a
 * READ takes one for each answer that it asks for. IBA 9.7.3.1 */
static void window__is_half_of_all_psns(void **state)
{
	struct vb_mr_attr attr = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};
	struct vb_qp_attr at = env_attr(2, 0x21);
	struct vb_mr *nowhere;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_mr_create(env.pd, &attr, &nowhere), 0);
	at.path_mtu = VB_MTU_256;
	at.sq_psn = 0xfffff0;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &at, VB_QPS_RTS);

	struct vb_sge sge = {0, 1u << 31, vb_mr_lkey(nowhere)};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_READ};

	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0); /* 2^23 answers */
	sge.length = 8;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(qp->req.block, VB_BLOCK_PSN_WINDOW);
	assert_int_equal(vb_psn_span(qp->req.psn_una, qp->req.psn_nxt), 1u << 23);
	/* The first answer makes room for one. */
	assert_int_equal(env_rx(&env, 2,
				&(struct vb_hdr){.opcode = VB_TRANSPORT_RC | VB_OP_READ_RESP_FIRST,
						 .dqpn = vb_qp_number(qp),
						 .psn = vb_psn(0xfffff0),
						 .aeth.syndrome = 0x1f},
				256),
			 VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, (0xfffff0 + (1u << 23)) & 0xffffff);
	env_close(&env);
}

static void no_receives(struct vb_rq_source *s, struct vb_rq *rq)
{
	(void)s;
	(void)rq;
}

/* Receives that lie in a program's memory are uncounted until one is needed: they promise nothing,
 * and limit nobody. IBA 9.7.7.2 */
static void credit__of_receives_in_memory(void **state)
{
	struct vb_rq_source source = {.fetch = no_receives};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY, .ack_req = true};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	vb_qp_set_source(qp, &source);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, VB_SYNDROME_ACK | VB_CREDIT_UNLIMITED);
	env_close(&env);
}

/* An RNR NAK that comes during the wait that another one began tells nothing new: it costs no
 * retry. IBA 9.7.5.2.8 */
static void rnr__again_during_the_wait(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .aeth.syndrome = VB_SYNDROME_RNR | 14};
	struct vb_qp *qp;
	vb_time due;

	(void)state;
	setup();
	a.rnr_retry = 1;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	due = qp->timer[VB_TIMER_RNR];
	env.now = due / 2;
	for (int i = 0; i < 3; i++)
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	assert_int_equal(env.counters.v[VB_COUNTER_rnr_nak_retry_err], 1);
	assert_int_equal(qp->timer[VB_TIMER_RNR], due);
	env.now = due;
	vb_hca_handle_timeout(env.hca, due);
	assert_int_equal(env_tx(&env, &b), 1);
	env_close(&env);
}

/* The answer to a FLUSH or an ATOMIC WRITE is a READ response without payload; a responder may not
 * send one with payload. IBA A19.4.1, 9.9.2.4 */
static void response__to_a_flush_is_empty(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= 8; len += 8) {
		struct vb_send_wr wr = {.wr_id = 1,
					.opcode = VB_WR_FLUSH,
					.flags = VB_SEND_SIGNALED,
					.flush = VB_FLUSH_GLOBAL,
					.flush_len = 8};
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_RESP_ONLY,
				   .aeth.syndrome = VB_CREDIT_UNLIMITED};
		struct vb_qp *qp;

		setup();
		qp = rts(0, 0, 4);
		h.dqpn = vb_qp_number(qp);
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_rx(&env, 2, &h, len), len ? VB_VERDICT_LENGTH : VB_VERDICT_OK);
		(void)env_wc(&env, 1, len ? VB_WC_BAD_RESP_ERR : VB_WC_SUCCESS);
		env_close(&env);
	}
}

/* The bytes of each message are counted from none, and a message of several packets does not end
 * with an empty one. IBA 9.7.4.1.6 */
static void message__bytes_of_each(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_FIRST};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(env_recv(&env, qp, i, ENV_MEM / 2), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(request(qp, i == 1 ? VB_OP_SEND_ONLY : VB_OP_WRITE_ONLY_IMM, i, 8),
				 VB_VERDICT_OK);
		assert_int_equal(env_wc(&env, i, VB_WC_SUCCESS).byte_len, 8);
	}
	h.psn = vb_psn(3);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
	h.opcode = VB_TRANSPORT_RC | VB_OP_SEND_LAST;
	h.psn = vb_psn(4);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_INVALID_REQUEST);
	env_close(&env);
}

/* Messages are counted without end: credits hold across the wrap of the count. IBA 9.7.7.2 */
static void credit__count_wraps(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK, .aeth.syndrome = 2};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	qp->req.rsn_post = qp->req.rsn_acked = UINT32_MAX - 3;
	assert_int_equal(env_send(&env, qp, 0, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	for (uint64_t i = 1; i < 7; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_SEND, 8), 0);
	for (uint32_t psn = 2; psn <= 6; psn += 2) { /* two at a time */
		assert_int_equal(env_tx(&env, &b), 2);
		assert_int_equal(env_hdr(&b.pkt[1]).psn.v, psn);
		h.psn = vb_psn(psn);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	}
	env_close(&env);
}

/* The DSCP that ACKs are given leaves the ECN bits of the QP's path. REG-08 */
static void ack_dscp__leaves_the_ecn_bits(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.recovery = (struct vb_recovery){.ack_dscp_force = true, .ack_dscp = 48};
	env_open(&env, 64);
	a.path.traffic_class = 0x0a;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	(void)answer();
	assert_int_equal(b.pkt[0].path->traffic_class, 0xc2);
	env_close(&env);
}

/* Work that takes no receive solicits no event, whatever its flags. IBA 9.2.3 */
static void solicited__only_where_a_receive_is_taken(void **state)
{
	struct vb_send_wr wr = {.flags = VB_SEND_SOLICITED};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (int imm = 0; imm < 2; imm++) {
		wr.opcode = imm ? VB_WR_RDMA_WRITE_IMM : VB_WR_RDMA_WRITE;
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).solicited, imm);
	}
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(credit__codes),
	    cmocka_unit_test(ackreq__in_long_messages),
	    cmocka_unit_test(ack__ghosts),
	    cmocka_unit_test(window__is_half_of_all_psns),
	    cmocka_unit_test(completion__of_each_kind),
	    cmocka_unit_test(completion__vendor_err),
	    cmocka_unit_test(completion__unsignaled_error),
	    cmocka_unit_test(credit__of_receives_in_memory),
	    cmocka_unit_test(rnr__again_during_the_wait),
	    cmocka_unit_test(response__to_a_flush_is_empty),
	    cmocka_unit_test(message__bytes_of_each),
	    cmocka_unit_test(credit__count_wraps),
	    cmocka_unit_test(ack_dscp__leaves_the_ecn_bits),
	    cmocka_unit_test(solicited__only_where_a_receive_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
