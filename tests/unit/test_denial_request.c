/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each check of a request that is none of its memory, in the words that its user reads.
 * IBA 9.7.4.1, 9.9.3; core/denial.def
 */
#include "denial_env.h"

static void reads__one_too_many(void **state)
{
	struct ask a = rdma(VB_OP_READ_REQUEST, 0, ENV_IOVA, 8);
	struct vb_qp *qp;

	(void)state;
	begin();
	a.rkey = vb_mr_rkey(env.mr);
	qp = rts(0, 0, 1);
	assert_int_equal(ask_for(qp, a), VB_VERDICT_OK);
	a.psn = 1;
	assert_int_equal(ask_for(qp, a), VB_VERDICT_RESOURCE);
	denied.key = 1;
	expect_denial(
	    "RDMA READ of 8 bytes at 0x10000 under R_Key 0x1: it is one more READ or atomic "
	    "at once than max_dest_rd_atomic 1 allows.");
}

static void receive__too_short(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	assert_int_equal(env_recv(&env, qp, 1, 1500), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_FIRST, .payload = 1024}),
			 VB_VERDICT_OK);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_LAST, .payload = 500, .psn = 1}),
			 VB_VERDICT_LENGTH);
	expect_denial(
	    "SEND: the receive that it took has room for 1500 bytes, at least 24 too few.");
}

static void receive__with_a_wrong_key(void **state)
{
	struct vb_mr *mr;
	struct vb_sge sge;
	struct vb_recv_wr wr = {.sge = &sge, .sge_cnt = 1};
	struct vb_qp *qp;
	char words[400];

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	mr = region(env.pd, VB_ACCESS_REMOTE_READ);
	sge = (struct vb_sge){.addr = 0x1000, .length = 16, .lkey = vb_mr_lkey(mr)};
	assert_int_equal(vb_qp_post_recv(qp, &wr, env.now), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8}),
			 VB_VERDICT_OPERATION);
	snprintf(
	    words, sizeof words,
	    "SEND, received into 16 bytes at 0x1000 under L_Key 0x%x: the region or window with "
	    "that L_Key lacks IBV_ACCESS_LOCAL_WRITE.",
	    sge.lkey);
	expect_denial(words);
}

static void packet__of_another_path_mtu(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	assert_int_equal(env_recv(&env, qp, 1, 4096), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 2048}),
			 VB_VERDICT_OVERSIZED);
	assert_true(denied.is_fatal);
	expect_denial(
	    "SEND: its packet carries 1 KiB more than the path MTU of the QP, 1024 bytes.");
	begin();
	qp = rts(0, 0, 4);
	assert_int_equal(env_recv(&env, qp, 1, 4096), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_FIRST, .payload = 512}),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial(
	    "SEND: a packet amid the message carries 512 bytes less than the path MTU of the "
	    "QP, 1024 bytes.");
}

/* Of a WRITE, too, it is the packet that is wrong, and not the range. */
static void packet__too_short_of_a_write(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), (struct ask){.op = VB_OP_WRITE_FIRST,
							    .rkey = vb_mr_rkey(env.mr),
							    .va = ENV_IOVA,
							    .dma_len = 2048,
							    .payload = 256}),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial("RDMA WRITE: a packet amid the message carries 768 bytes less than the path "
		      "MTU of the QP, 1024 bytes.");
}

static void message__out_of_place_or_length(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), (struct ask){.op = VB_OP_SEND_LAST, .payload = 8}),
			 VB_VERDICT_SEQUENCE);
	expect_denial("SEND: its packet does not go on with the message before it.");
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), (struct ask){.op = VB_OP_WRITE_ONLY,
							    .rkey = vb_mr_rkey(env.mr),
							    .va = ENV_IOVA,
							    .dma_len = 16,
							    .payload = 8}),
			 VB_VERDICT_LENGTH);
	denied.key = 1;
	expect_denial(
	    "RDMA WRITE of 16 bytes at 0x10000 under R_Key 0x1: its packets do not carry as "
	    "many bytes as its RETH says.");
}

static void message__too_long(void **state)
{
	static const struct {
		struct ask ask;
		const char *words;
	} cases[] = {
	    {{.op = VB_OP_READ_REQUEST, .va = 0x1001, .dma_len = 0x80000001},
	     "RDMA READ of 2147483649 bytes at 0x1001 under R_Key 0x77"},
	    {{.op = VB_OP_WRITE_FIRST, .va = 0x1000, .dma_len = 0x80000001, .payload = 1024},
	     "RDMA WRITE of 2147483649 bytes at 0x1000 under R_Key 0x77"},
	    {{.op = VB_OP_WRITE_ONLY, .va = 0x1000, .dma_len = 0x80000001, .payload = 8},
	     "RDMA WRITE of 2147483649 bytes at 0x1000 under R_Key 0x77"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ask a = cases[i].ask;
		char words[400];

		begin();
		a.rkey = 0x77;
		assert_int_equal(ask_for(rts(0, 0, 4), a), VB_VERDICT_INVALID_REQUEST);
		snprintf(words, sizeof words, "%s: it is longer than a message may be.",
			 cases[i].words);
		expect_denial(words);
	}
}

static void invalidate__of_no_window(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	assert_int_equal(env_recv(&env, qp, 1, 64), 0);
	assert_int_equal(
	    ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY_INV, .payload = 8, .inv = 0x1234}),
	    VB_VERDICT_INVALIDATE);
	expect_denial(
	    "SEND: R_Key 0x1234, which it was to invalidate, is no window of type 2 that is "
	    "bound through this QP.");
}

static void xrc__no_such_srq(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	begin();
	assert_int_equal(vb_xrcd_create(env.hca, &init.xrcd), 0);
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8, .srqn = 17}),
			 VB_VERDICT_XRC);
	expect_denial("SEND: the XRC domain has no SRQ of number 17.");
}

/* UC drops what it may not do and goes on. */
static void uc__drops_and_goes_on(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = env_rts(&env, VB_QPT_UC, 2, 0x21);
	assert_int_equal(ask_for(qp, rdma(VB_OP_WRITE_ONLY, 0x7700, 0x1000, 8)), VB_VERDICT_ACCESS);
	assert_false(denied.is_fatal);
	assert_int_equal(qp->state, VB_QPS_RTS);
	expect_denial(
	    "RDMA WRITE of 8 bytes at 0x1000 under R_Key 0x7700: this program has no region "
	    "and no window with that R_Key.");
	/* A receive that is missing is no refusal. */
	begin();
	qp = env_rts(&env, VB_QPT_UC, 2, 0x21);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8}),
			 VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(denied_cnt, 0);
	assert_int_equal(env_recv(&env, qp, 1, 4), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8, .psn = 1}),
			 VB_VERDICT_LENGTH);
	assert_true(denied.is_fatal);
	expect_denial("SEND: the receive that it took has room for 4 bytes, at least 4 too few.");
}

/* Nor is an RNR NAK. */
static void rnr__is_no_refusal(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8}),
			 VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(denied_cnt, 0);
	env_close(&env);
}

/* An event is another program's word: no check that there is not. */
static void event__of_any_bytes(void **state)
{
	struct vb_trace_event ev = {.id = VB_TRACE_REFUSED};
	struct vb_lines l = {.cnt = 0};

	(void)state;
	for (uint64_t check = 0; check < 256; check++) {
		ev.arg[0] = check | UINT64_C(0xffffffffffffff00);
		denied = vb_denial_read(&ev);
		assert_true(denied.check < VB_DENIAL_CNT);
		l.cnt = 0;
		vb_line(&l, "%s", "");
		vb_denial_say(&l, &denied);
		assert_true((check > 0 && check < VB_DENIAL_CNT) ==
			    (vb_denial_word(&denied) != NULL));
	}
}

/* The region of a receive may be gone by the time a message comes for it. */
static void receive__with_a_key_that_is_gone(void **state)
{
	struct vb_mr *mr;
	struct vb_sge sge;
	struct vb_recv_wr wr = {.sge = &sge, .sge_cnt = 1};
	struct vb_qp *qp;
	char words[400];

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	mr = region(env.pd, VB_ACCESS_LOCAL_WRITE);
	sge = (struct vb_sge){.addr = 0x1000, .length = 16, .lkey = vb_mr_lkey(mr)};
	assert_int_equal(vb_qp_post_recv(qp, &wr, env.now), 0);
	assert_int_equal(vb_mr_destroy(mr), 0);
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8}),
			 VB_VERDICT_OPERATION);
	snprintf(words, sizeof words,
		 "SEND, received into 16 bytes at 0x1000 under L_Key 0x%x: the region or window "
		 "with that L_Key is gone: deregistered, or freed.",
		 sge.lkey);
	expect_denial(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads__one_too_many),
	    cmocka_unit_test(receive__too_short),
	    cmocka_unit_test(receive__with_a_wrong_key),
	    cmocka_unit_test(packet__of_another_path_mtu),
	    cmocka_unit_test(packet__too_short_of_a_write),
	    cmocka_unit_test(message__out_of_place_or_length),
	    cmocka_unit_test(message__too_long),
	    cmocka_unit_test(invalidate__of_no_window),
	    cmocka_unit_test(xrc__no_such_srq),
	    cmocka_unit_test(uc__drops_and_goes_on),
	    cmocka_unit_test(rnr__is_no_refusal),
	    cmocka_unit_test(event__of_any_bytes),
	    cmocka_unit_test(receive__with_a_key_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
