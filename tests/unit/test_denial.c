/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each check by which a responder refuses a request, in the words that its user reads: which key,
 * right or bound, and by how much. IBA 9.7.4.1; core/denial.def
 */
#include "explain/denial.h"
#include "rc_env.h"

#include <stdio.h>

static struct vb_denial denied;
static uint32_t denied_cnt;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	denied = vb_denial_read(ev);
	denied_cnt++;
}

static void begin(void)
{
	env_config(&env);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_REFUSED, .emit = note_event};
	env_open(&env, 256);
	denied = (struct vb_denial){.check = VB_DENIAL_NONE};
	denied_cnt = 0;
}

/* One refusal was told, in these words. */
static void expect_denial(const char *words)
{
	struct vb_lines l = {.cnt = 0};

	vb_line(&l, "%s", "");
	vb_denial_say(&l, &denied);
	assert_string_equal(l.text[0], words);
	assert_int_equal(denied_cnt, 1);
	vb_denial_advise(&l, &denied);
	assert_int_equal(l.cnt, 2);
	assert_true(strlen(l.text[1]) > 10);
	assert_null(strchr(l.text[1], '$'));
	env_close(&env);
}

struct ask {
	uint8_t op;
	uint32_t rkey;
	uint64_t va;
	uint32_t dma_len, payload, psn, flush, inv;
};

static enum vb_verdict ask_for(struct vb_qp *qp, struct ask a)
{
	struct vb_hdr h = {.opcode = (uint8_t)(qp->ops->transport | a.op),
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(a.psn),
			   .flush = a.flush,
			   .xrc_srqn = 17,
			   .inv_rkey = a.inv};

	h.reth.rkey = h.atomic.rkey = a.rkey;
	h.reth.va = h.atomic.va = a.va;
	h.reth.len = a.dma_len;
	return env_rx(&env, 2, &h, a.payload);
}

/* An operation on memory; a WRITE carries as many bytes as it says. */
static struct ask rdma(uint8_t op, uint32_t rkey, uint64_t va, uint32_t len)
{
	return (struct ask){.op = op,
			    .rkey = rkey,
			    .va = va,
			    .dma_len = len,
			    .payload = op == VB_OP_WRITE_ONLY ? len : 0};
}

static struct vb_mr *region(struct vb_pd *pd, uint32_t access)
{
	struct vb_mr_attr a = {.iova = 0x1000, .length = 100, .host = env.mem, .access = access};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(pd, &a, &mr), 0);
	return mr;
}

/* An RDMA WRITE of 8 bytes to 0x1000 that does not get in, and what is said of it. */
static void write_denied(uint32_t rkey, const char *check)
{
	char words[400];

	assert_int_equal(ask_for(rts(0, 0, 4), rdma(VB_OP_WRITE_ONLY, rkey, 0x1000, 8)),
			 VB_VERDICT_ACCESS);
	assert_true(denied.is_fatal);
	snprintf(words, sizeof words, "RDMA WRITE of 8 bytes at 0x1000 under R_Key 0x%x: %s.", rkey,
		 check);
	expect_denial(words);
}

static void key__unknown(void **state)
{
	(void)state;
	begin();
	write_denied(vb_mr_rkey(env.mr) + 0x100,
		     "this program has no region and no window with that R_Key");
}

static void key__of_a_region_that_is_gone(void **state)
{
	struct vb_mr *mr;
	uint32_t rkey;

	(void)state;
	begin();
	mr = region(env.pd, ENV_ACCESS);
	rkey = vb_mr_rkey(mr);
	assert_int_equal(vb_mr_destroy(mr), 0);
	write_denied(rkey, "the region or window with that R_Key is gone: deregistered, or freed");
}

static void key__of_an_earlier_bind(void **state)
{
	struct vb_mw *mw;

	(void)state;
	begin();
	assert_int_equal(vb_mw_create(env.pd, 2, &mw), 0);
	write_denied(vb_mw_rkey(mw) ^ 1,
		     "the memory window has another key by now: it was bound again");
}

static void key__of_an_unbound_window(void **state)
{
	struct vb_mw *mw;

	(void)state;
	begin();
	assert_int_equal(vb_mw_create(env.pd, 2, &mw), 0);
	write_denied(vb_mw_rkey(mw), "the memory window with that R_Key is not bound");
}

static void key__of_a_window_of_another_qp(void **state)
{
	struct vb_mw *mw;

	(void)state;
	begin();
	assert_int_equal(vb_mw_create(env.pd, 2, &mw), 0);
	mw->mr = env.mr;
	mw->access = VB_ACCESS_REMOTE_WRITE;
	mw->qpn = 0x4711;
	env.mr->window_cnt++;
	write_denied(vb_mw_rkey(mw),
		     "the memory window with that R_Key was bound through another QP");
}

static void key__of_another_pd(void **state)
{
	struct vb_pd *pd;

	(void)state;
	begin();
	assert_int_equal(vb_pd_create(env.hca, &pd), 0);
	write_denied(vb_mr_rkey(region(pd, ENV_ACCESS)),
		     "that R_Key is of another protection domain than the QP");
}

static void key__of_memory_that_was_lent(void **state)
{
	uint32_t lease = 1;
	struct vb_mr *mr;

	(void)state;
	begin();
	mr = region(env.pd, ENV_ACCESS);
	mr->lease = &lease;
	write_denied(vb_mr_rkey(mr), "the region's memory went with the process that lent it");
}

static void right__of_the_region(void **state)
{
	(void)state;
	begin();
	write_denied(vb_mr_rkey(region(env.pd, VB_ACCESS_REMOTE_READ)),
		     "the region or window with that R_Key lacks IBV_ACCESS_REMOTE_WRITE");
}

static void right__of_the_qp(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	qp->attr.access = VB_ACCESS_REMOTE_WRITE;
	assert_int_equal(ask_for(qp, rdma(VB_OP_READ_REQUEST, 0x77, 0x1000, 8)),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial("RDMA READ of 8 bytes at 0x1000 under R_Key 0x77: qp_access_flags of the QP "
		      "lacks IBV_ACCESS_REMOTE_READ.");
}

static void right__of_a_flush(void **state)
{
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	qp->attr.access = VB_ACCESS_FLUSH_GLOBAL;
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_FLUSH,
						  .rkey = 0x77,
						  .va = 0x1000,
						  .dma_len = 8,
						  .flush = VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT}),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial(
	    "FLUSH of 8 bytes at 0x1000 under R_Key 0x77: qp_access_flags of the QP lacks "
	    "IBV_ACCESS_FLUSH_PERSISTENT.");
}

/* Where a READ misses the region of 100 bytes at 0x1000, and how it is called. */
static void bounds(uint64_t va, uint32_t len, const char *check)
{
	char words[400];
	uint32_t rkey;

	begin();
	rkey = vb_mr_rkey(region(env.pd, ENV_ACCESS));
	assert_int_equal(ask_for(rts(0, 0, 4), rdma(VB_OP_READ_REQUEST, rkey, va, len)),
			 VB_VERDICT_ACCESS);
	snprintf(words, sizeof words,
		 "RDMA READ of %u bytes at 0x%llx under R_Key 0x%x: that %s the region or window.",
		 len, (unsigned long long)va, rkey, check);
	expect_denial(words);
}

static void bounds__by_how_much(void **state)
{
	(void)state;
	bounds(0x1000, 101, "ends 1 byte behind the end of");
	bounds(0x1000 + 96, 100, "ends 96 bytes behind the end of");
	bounds(0x1000 + 200, 8, "ends 108 bytes behind the end of");
	bounds(0xff8, 16, "begins 8 bytes before");
	bounds(UINT64_MAX - 3, 16, "ends 18446744073709547432 bytes behind the end of");
}

static void bytes__of_a_null_region(void **state)
{
	struct vb_mr_attr a = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};
	struct vb_mr *mr;

	(void)state;
	begin();
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	mr->access = ENV_ACCESS;
	write_denied(vb_mr_rkey(mr),
		     "that R_Key is a null region's, which has no bytes for a peer");
}

static int no_pages(void *ctx, void *p, size_t len, bool write)
{
	(void)ctx, (void)p, (void)len, (void)write;
	return -EFAULT;
}

static void bytes__on_demand_that_are_not_there(void **state)
{
	(void)state;
	begin();
	env.hca->cfg.page_in = no_pages;
	write_denied(vb_mr_rkey(region(env.pd, ENV_ACCESS | VB_ACCESS_ON_DEMAND)),
		     "the memory of the on-demand region is not there");
}

static int no_memory(void (*f)(void *arg), void *arg)
{
	(void)f, (void)arg;
	return -EFAULT;
}

static void bytes__that_were_unmapped(void **state)
{
	(void)state;
	begin();
	env.hca->cfg.guard = no_memory;
	assert_int_equal(
	    ask_for(rts(0, 0, 4), rdma(VB_OP_WRITE_ONLY, vb_mr_rkey(env.mr), ENV_IOVA, 8)),
	    VB_VERDICT_OPERATION);
	env.hca->cfg.guard = NULL;
	denied.key = 1;
	expect_denial("RDMA WRITE of 8 bytes at 0x10000 under R_Key 0x1: the memory is registered, "
		      "and unmapped or read-only by now.");
}

/* Of a READ that was granted the memory is taken away before its answer. */
static void bytes__of_a_granted_read(void **state)
{
	struct vb_mr *mr;
	char words[400];
	uint32_t rkey;

	(void)state;
	begin();
	mr = region(env.pd, ENV_ACCESS);
	rkey = vb_mr_rkey(mr);
	assert_int_equal(ask_for(rts(0, 0, 4), rdma(VB_OP_READ_REQUEST, rkey, 0x1000, 8)),
			 VB_VERDICT_OK);
	assert_int_equal(vb_mr_destroy(mr), 0);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_REMOTE_ACCESS);
	snprintf(words, sizeof words,
		 "RDMA READ of 8 bytes at 0x1000 under R_Key 0x%x: the region or window with that "
		 "R_Key is gone: deregistered, or freed.",
		 rkey);
	expect_denial(words);
}

static void atomic__misaligned(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), rdma(VB_OP_FETCH_ADD, 0x77, 0x1004, 8)),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial("fetch and add of 8 bytes at 0x1004 under R_Key 0x77: its address is not a "
		      "multiple of 8.");
	begin();
	/* Here, not there. */
	struct vb_mr_attr a = {
	    .iova = 0x1000, .length = 64, .host = (uint8_t *)env.mem + 4, .access = ENV_ACCESS};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	assert_int_equal(ask_for(rts(0, 0, 4), rdma(VB_OP_COMPARE_SWAP, vb_mr_rkey(mr), 0x1000, 8)),
			 VB_VERDICT_ACCESS);
	denied.key = 1;
	expect_denial("compare and swap of 8 bytes at 0x1000 under R_Key 0x1: its address is not a "
		      "multiple of 8.");
}

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
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_SEND_ONLY, .payload = 8}),
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(key__unknown),
	    cmocka_unit_test(key__of_a_region_that_is_gone),
	    cmocka_unit_test(key__of_an_earlier_bind),
	    cmocka_unit_test(key__of_an_unbound_window),
	    cmocka_unit_test(key__of_a_window_of_another_qp),
	    cmocka_unit_test(key__of_another_pd),
	    cmocka_unit_test(key__of_memory_that_was_lent),
	    cmocka_unit_test(right__of_the_region),
	    cmocka_unit_test(right__of_the_qp),
	    cmocka_unit_test(right__of_a_flush),
	    cmocka_unit_test(bounds__by_how_much),
	    cmocka_unit_test(bytes__of_a_null_region),
	    cmocka_unit_test(bytes__on_demand_that_are_not_there),
	    cmocka_unit_test(bytes__that_were_unmapped),
	    cmocka_unit_test(bytes__of_a_granted_read),
	    cmocka_unit_test(atomic__misaligned),
	    cmocka_unit_test(reads__one_too_many),
	    cmocka_unit_test(receive__too_short),
	    cmocka_unit_test(receive__with_a_wrong_key),
	    cmocka_unit_test(packet__of_another_path_mtu),
	    cmocka_unit_test(message__out_of_place_or_length),
	    cmocka_unit_test(invalidate__of_no_window),
	    cmocka_unit_test(xrc__no_such_srq),
	    cmocka_unit_test(uc__drops_and_goes_on),
	    cmocka_unit_test(rnr__is_no_refusal),
	    cmocka_unit_test(event__of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
