/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC rules that one packet or one work request shows: headers, completions, requests without an
 * answer, kinds of errors, and limits of a send queue. IBA 9.7, 9.9.3, 11.6
 */
#include "core/refusal.h"
#include "rc_env.h"

static bool memory_is_gone;

static int guard(void (*f)(void *arg), void *arg)
{
	if (memory_is_gone)
		return -EFAULT;
	f(arg);
	return 0;
}

static void setup_guarded(void)
{
	memory_is_gone = false;
	env_config(&env);
	env.cfg.guard = guard;
	env_open(&env, 256);
}

/* Packets say that their path has migrated: there is only one. IBA 9.2, 17.2.8.1 */
static void bth__says_migrated(void **state)
{
	struct vb_ah ah = {.path = env_path(2)};
	struct vb_sge sge;
	struct vb_send_wr wr = {
	    .sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND, .ah = &ah, .dqpn = 0x30};
	struct vb_qp *qp;

	(void)state;
	setup();
	ah.pd = env.pd;
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_qp_post_send(env_rts(&env, VB_QPT_UD, 2, 0), &wr, 0), 0);
	assert_true(answer().migrated);
	assert_int_equal(env_send(&env, env_rts(&env, VB_QPT_UC, 2, 0x21), 1, VB_WR_SEND, 8), 0);
	assert_true(answer().migrated);
	qp = rts(0, 0, 4);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_true(answer().migrated);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_true(answer().migrated);
	env_close(&env);
}

/* An answered READ ends with its last PSN: a duplicate READ request with the next PSN matches none,
 * and reads nothing. IBA 9.7.5.1.3 */
static void read__behind_the_end_of_one(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST, .psn = vb_psn(1)};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, 0, 0), VB_VERDICT_OK);
	(void)answer();
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 1, 8), VB_VERDICT_OK);
	(void)answer();
	h.dqpn = vb_qp_number(qp);
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.va = ENV_IOVA + qp->mtu;
	h.reth.len = qp->mtu;
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_DUPLICATE);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* A NAK asks for a dropped packet that is missing, even if its gap closed before the NAK left.
 * IBA 9.7.4.2 */
static void gap__closed_up_to_the_last_that_was_dropped(void **state)
{
	struct vb_hdr h;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 2, 8), VB_VERDICT_PSN);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 3, 8), VB_VERDICT_PSN);
	for (uint32_t psn = 0; psn < 3; psn++)
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, psn, 8), VB_VERDICT_OK);
	assert_true(env_tx(&env, &b) > 0);
	h = env_hdr(&b.pkt[b.cnt - 1]);
	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, 3);
	/* Nothing is missing any more. */
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 3, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome & VB_SYNDROME_CLASS, VB_SYNDROME_ACK);
	env_close(&env);
}

static void refused__access_is_counted(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			   .reth = {.va = ENV_IOVA, .rkey = 0xdead00, .len = 8}};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_ACCESS);
	assert_int_equal(env.counters.v[VB_COUNTER_resp_remote_access_errors], 1);
	env_close(&env);
}

/* The RETH of an ATOMIC WRITE says 8 bytes, as its payload has. IBA A19.4.2 */
static void atomic_write__of_another_length(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= 16; len += 4) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ATOMIC_WRITE,
				   .reth = {.va = ENV_IOVA, .len = len}};

		setup();
		h.dqpn = vb_qp_number(rts(0, 0, 4));
		h.reth.rkey = vb_mr_rkey(env.mr);
		assert_int_equal(env_rx(&env, 2, &h, 8),
				 len == 8 ? VB_VERDICT_OK : VB_VERDICT_LENGTH);
		env_close(&env);
	}
}

/* Missing pages of a registered region are the responder's own error, reported to its program.
 * IBA 9.9.3.1, 9.7.5.2.4 */
static void memory__that_is_gone_is_fatal(void **state)
{
	(void)state;
	for (int reads = 0; reads < 2; reads++) {
		struct vb_qp *qp;

		setup_guarded();
		qp = rts(0, 0, 4);
		memory_is_gone = true;
		assert_int_equal(
		    request(qp, reads ? VB_OP_READ_REQUEST : VB_OP_WRITE_ONLY, 0, reads ? 0 : 8),
		    reads ? VB_VERDICT_OK : VB_VERDICT_OPERATION);
		assert_int_equal(answer().aeth.syndrome, VB_NAK_REMOTE_OP);
		env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
		env_no_event(&env);
		env_close(&env);
	}
}

/* A SEND whose invalidation fails has arrived: its ACK has credits as every other. IBA 9.9.6.3 */
static void send_inv__that_fails_is_acknowledged(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY_INV, .inv_rkey = 0xdead00};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_sge sge;
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	sge = env_sge(&env, 0, 64);
	assert_int_equal(vb_srq_post(srq, &(struct vb_recv_wr){1, &sge, 1}), 0);
	qp = env_qp(&env, VB_QPT_RC, srq);
	env_up(&env, qp, &a, VB_QPS_RTS);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_INVALIDATE);
	h = answer();
	assert_int_equal(h.aeth.syndrome, VB_SYNDROME_ACK | VB_CREDIT_UNLIMITED);
	assert_int_equal(h.aeth.msn, 1);
	env_close(&env);
}

/* A completion of a receive tells which of the port's LIDs it came to. IBA 11.4.2.1 */
static void completion__tells_of_lids(void **state)
{
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY, .psn = vb_psn(0), .pkey = VB_PKEY_DEFAULT};
	struct vb_path path = {.port = 1, .slid = 0x21, .dlid = 0x43, .sl = 5};
	struct vb_qp_attr a = env_attr(2, 0x21);
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *qp;
	struct vb_wc wc;

	(void)state;
	env_config(&env);
	env.cfg.port[1].lmc = 3;
	env_open(&env, 16);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.path = (struct vb_path){.port = 1, .slid = 0x43, .dlid = 0x21, .sl = 5};
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(env_recv(&env, qp, 1, 64), 0);
	h.dqpn = vb_qp_number(qp);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	wc = env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(wc.slid, 0x21);
	assert_int_equal(wc.dlid_path_bits, 3);
	assert_int_equal(wc.sl, 5);
	env_close(&env);
}

/* In SQD no work begins, not even a NOP. IBA 10.3.1.5 */
static void sqd__local_work_waits(void **state)
{
	struct vb_send_wr wr = {.wr_id = 7, .opcode = VB_WR_NOP, .flags = VB_SEND_SIGNALED};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_no_wc(&env);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 7, VB_WC_SUCCESS);
	env_close(&env);
}

/* The last packet of a message takes its own bytes of the window, not an MTU. */
static void window__is_of_bytes(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.peer_window_bytes = 1400;
	env_open(&env, 64);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 100), 0);
	assert_int_equal(env_tx(&env, &b), 1400 / (100 + VB_PACKET_OVERHEAD));
	env_close(&env);
}

/* The sum of a list has more bits than an SGE's length: a sum too long does not wrap. */
static void post_send__inline_list_that_wraps(void **state)
{
	struct vb_sge sge[2] = {{(uintptr_t)env.mem, 0x80000000u, 0},
				{(uintptr_t)env.mem, 0x80000008u, 0}};
	struct vb_send_wr wr = {
	    .sge = sge, .sge_cnt = 2, .opcode = VB_WR_SEND, .flags = VB_SEND_INLINE};

	(void)state;
	setup();
	assert_int_equal(vb_qp_post_send(rts(0, 0, 4), &wr, 0), -EINVAL);
	env_close(&env);
}

/* An ATOMIC WRITE may gather its bytes from several SGEs. IBA A19.4.2 */
static void post_send__atomic_write_of_two_sges(void **state)
{
	struct vb_sge sge[2];
	struct vb_send_wr wr = {.sge = sge, .sge_cnt = 2, .opcode = VB_WR_ATOMIC_WRITE};

	(void)state;
	setup();
	memcpy(env.mem, "01234567", 8);
	sge[0] = env_sge(&env, 5, 3);
	sge[1] = env_sge(&env, 0, 5);
	assert_int_equal(vb_qp_post_send(rts(0, 0, 4), &wr, 0), 0);
	memset(env.mem, 0, 8); /* it was fetched when it was posted */
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].payload_len, 8);
	assert_int_equal(b.pkt[0].seg_cnt, 1);
	assert_memory_equal(b.pkt[0].seg[0].p, "56701234", 8);
	env_close(&env);
}

/* Work that is bound to fail takes its place in the queue as other work does. */
static void post_failed__until_full(void **state)
{
	struct vb_send_wr wr = {.wr_id = 1, .opcode = VB_WR_SEND};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(vb_qp_post_failed(qp, &wr, VB_WC_LOC_LEN_ERR, 0), 0);
	assert_int_equal(vb_qp_post_failed(qp, &wr, VB_WC_LOC_LEN_ERR, 0), -ENOMEM);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 1, VB_WC_LOC_LEN_ERR);
	for (uint32_t i = 1; i < 16; i++)
		(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
	env_no_wc(&env);
	env_close(&env);
}

/* A piece of a READ is at least one packet, however small pieces are set. */
static void read__in_pieces_below_the_mtu(void **state)
{
	struct vb_hdr h;

	(void)state;
	env_config(&env);
	env.cfg.read_piece_bytes = 100;
	env_open(&env, 64);
	assert_int_equal(env_send(&env, rts(0, 0, 4), 1, VB_WR_RDMA_READ, 3000), 0);
	assert_true(env_tx(&env, &b) > 1);
	h = env_hdr(&b.pkt[0]);
	assert_int_equal(h.opcode, VB_TRANSPORT_RC | VB_OP_READ_REQUEST);
	assert_int_equal(h.reth.len, 1024);
	env_close(&env);
}

/* UC: the rest of a message behind a refused packet is dropped. IBA 9.8.2 */
static void uc__rest_of_a_refused_message(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UC | VB_OP_WRITE_FIRST,
			   .reth = {.va = ENV_IOVA, .rkey = 0xdead00, .len = 3000}};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_UC, 2, 0x21);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_ACCESS);
	h.opcode = VB_TRANSPORT_UC | VB_OP_WRITE_MIDDLE;
	h.psn = vb_psn(1);
	assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_PSN);
	env_close(&env);
}

/* A state that does not exist is refused as such, not as one that the QP is not in. */
static void modify__cur_state_that_is_none(void **state)
{
	struct vb_qp_attr a = {.cur_qp_state = (enum vb_qp_state)VB_QPS_CNT};

	(void)state;
	setup();
	assert_int_equal(vb_qp_modify(rts(0, 0, 4), &a, VB_QP_CUR_STATE, 0), -EINVAL);
	assert_int_equal(env.hca->refusal.rule, VB_REFUSAL_NO_STATE);
	assert_string_equal(env.hca->refusal.name, "cur_qp_state");
	env_close(&env);
}

/* UC counts packets out of sequence, UD datagrams longer than a receive. */
static void uc_and_ud__count_what_they_drop(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UC | VB_OP_SEND_LAST, .psn = vb_psn(5)};
	struct vb_qp *ud;

	(void)state;
	setup();
	h.dqpn = vb_qp_number(env_rts(&env, VB_QPT_UC, 2, 0x21));
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_PSN);
	assert_int_equal(env.counters.v[VB_COUNTER_out_of_sequence], 1);
	ud = env_rts(&env, VB_QPT_UD, 2, 0);
	assert_int_equal(env_recv(&env, ud, 1, 47), 0); /* 40 of them are the GRH's */
	h = (struct vb_hdr){.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			    .dqpn = vb_qp_number(ud),
			    .deth.qkey = ENV_QKEY};
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_LENGTH);
	assert_int_equal(env.counters.v[VB_COUNTER_resp_local_length_error], 1);
	env_close(&env);
}

/* A work request that binds a window of type 2 binds no other. IBA 10.6.7.2.2 */
static void bind__of_another_type(void **state)
{
	struct vb_send_wr wr = {.wr_id = 2,
				.opcode = VB_WR_BIND_MW,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = ENV_IOVA,
				.swap = 8,
				.compare_add = (uint64_t)VB_ACCESS_REMOTE_READ << 32 | 2 << 8 | 7};
	struct vb_mw *mw;

	(void)state;
	setup();
	assert_int_equal(vb_mw_create(env.pd, 1, &mw), 0);
	wr.rkey = vb_mw_rkey(mw);
	wr.imm = vb_mr_lkey(env.mr);
	assert_int_equal(vb_qp_post_send(rts(0, 0, 4), &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 2, VB_WC_MW_BIND_ERR);
	env_close(&env);
}

/* Each READ response has the MSN of its own request, whatever came after that. IBA 9.7.5.1.4 */
static void read__msn_of_each(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (uint32_t psn = 0; psn < 3; psn++)
		assert_int_equal(
		    request(qp, psn == 1 ? VB_OP_FETCH_ADD : VB_OP_READ_REQUEST, psn, 0),
		    VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(env_hdr(&b.pkt[i]).aeth.msn, i + 1);
	env_close(&env);
}

/* An ACK that is due when a request fails does not leave any more: the NAK says the same.
 * IBA 9.7.5.2.1 */
static void refused__behind_an_ack_that_is_due(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			   .psn = vb_psn(1),
			   .reth = {.va = ENV_IOVA, .rkey = 0xdead00, .len = 8}};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_ACCESS);
	h = answer();
	assert_int_equal(h.aeth.syndrome, VB_NAK_REMOTE_ACCESS);
	assert_int_equal(h.psn.v, 1);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bth__says_migrated),
	    cmocka_unit_test(read__behind_the_end_of_one),
	    cmocka_unit_test(gap__closed_up_to_the_last_that_was_dropped),
	    cmocka_unit_test(refused__access_is_counted),
	    cmocka_unit_test(atomic_write__of_another_length),
	    cmocka_unit_test(memory__that_is_gone_is_fatal),
	    cmocka_unit_test(send_inv__that_fails_is_acknowledged),
	    cmocka_unit_test(completion__tells_of_lids),
	    cmocka_unit_test(sqd__local_work_waits),
	    cmocka_unit_test(window__is_of_bytes),
	    cmocka_unit_test(post_send__inline_list_that_wraps),
	    cmocka_unit_test(post_send__atomic_write_of_two_sges),
	    cmocka_unit_test(post_failed__until_full),
	    cmocka_unit_test(read__in_pieces_below_the_mtu),
	    cmocka_unit_test(uc__rest_of_a_refused_message),
	    cmocka_unit_test(modify__cur_state_that_is_none),
	    cmocka_unit_test(uc_and_ud__count_what_they_drop),
	    cmocka_unit_test(bind__of_another_type),
	    cmocka_unit_test(read__msn_of_each),
	    cmocka_unit_test(refused__behind_an_ack_that_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
