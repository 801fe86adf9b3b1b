/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each check of the memory that a request names, in the words that its user reads: which key, right
 * or bound, and by how much. IBA 9.7.4.1; core/denial.def
 */
#include "denial_env.h"

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

/* A FLUSH may begin at any byte. IBA A19 */
static void flush__of_no_kind_at_an_odd_address(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ask_for(rts(0, 0, 4), (struct ask){.op = VB_OP_FLUSH,
							    .rkey = 0x77,
							    .va = 0x1001,
							    .dma_len = 8,
							    .flush = 0x100}),
			 VB_VERDICT_INVALID_REQUEST);
	expect_denial("FLUSH of 8 bytes at 0x1001 under R_Key 0x77: it is malformed, or the QP has "
		      "no such operation.");
}

/* Only the right that is missing is named, of a region and of a window. */
static void right__of_two_that_a_flush_needs(void **state)
{
	const uint32_t both = VB_ACCESS_FLUSH_GLOBAL | VB_ACCESS_FLUSH_PERSISTENT;
	struct ask a = {.op = VB_OP_FLUSH,
			.va = 0x1000,
			.dma_len = 8,
			.flush = VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT};
	struct vb_mw *mw;
	struct vb_qp *qp;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		a.rkey = vb_mr_rkey(region(env.pd, VB_ACCESS_FLUSH_GLOBAL));
		if (i == 1) {
			assert_int_equal(vb_mw_create(env.pd, 1, &mw), 0);
			mw->mr = env.mr;
			mw->access = VB_ACCESS_FLUSH_GLOBAL;
			env.mr->window_cnt++;
			a.rkey = vb_mw_rkey(mw);
		}
		qp = rts(0, 0, 4);
		qp->attr.access = both;
		assert_int_equal(ask_for(qp, a), VB_VERDICT_ACCESS);
		denied.key = 1;
		expect_denial("FLUSH of 8 bytes at 0x1000 under R_Key 0x1: the region or window "
			      "with that R_Key "
			      "lacks IBV_ACCESS_FLUSH_PERSISTENT.");
	}
}

static void right__of_an_atomic_write(void **state)
{
	struct ask a = rdma(VB_OP_ATOMIC_WRITE, 0x77, 0x1000, 8);
	struct vb_qp *qp;

	(void)state;
	begin();
	qp = rts(0, 0, 4);
	qp->attr.access = VB_ACCESS_REMOTE_READ;
	a.payload = 8;
	assert_int_equal(ask_for(qp, a), VB_VERDICT_INVALID_REQUEST);
	expect_denial("ATOMIC WRITE of 8 bytes at 0x1000 under R_Key 0x77: qp_access_flags of the "
		      "QP lacks IBV_ACCESS_REMOTE_WRITE.");
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

/* A WRITE with immediate takes a receive, too, and hears of an SRQ that has failed. */
static void receive__of_an_srq_that_failed(void **state)
{
	const uint8_t op[] = {VB_OP_SEND_ONLY, VB_OP_WRITE_ONLY_IMM};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
		qp = env_qp(&env, VB_QPT_RC, srq);
		env_up(&env, qp, &a, VB_QPS_RTS);
		vb_srq_fail(srq);
		assert_int_equal(ask_for(qp, (struct ask){.op = op[i],
							  .rkey = vb_mr_rkey(env.mr),
							  .va = ENV_IOVA,
							  .dma_len = i ? 8 : 0,
							  .payload = 8}),
				 VB_VERDICT_OPERATION);
		assert_int_equal(denied.check, VB_DENIAL_SRQ_FAILED);
		env_close(&env);
	}
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

/* A packet amid a message: the place is that of its own bytes. */
static void bytes__of_a_later_packet(void **state)
{
	struct ask a = {.op = VB_OP_WRITE_FIRST, .va = ENV_IOVA, .dma_len = 1032, .payload = 1024};
	struct vb_qp *qp;
	char words[400];

	(void)state;
	begin();
	a.rkey = vb_mr_rkey(env.mr);
	qp = rts(0, 0, 4);
	assert_int_equal(ask_for(qp, a), VB_VERDICT_OK);
	env.hca->cfg.guard = no_memory;
	assert_int_equal(ask_for(qp, (struct ask){.op = VB_OP_WRITE_LAST, .payload = 8, .psn = 1}),
			 VB_VERDICT_OPERATION);
	env.hca->cfg.guard = NULL;
	snprintf(words, sizeof words,
		 "RDMA WRITE of 8 bytes at 0x10400 under R_Key 0x%x: the memory is registered, and "
		 "unmapped or read-only by now.",
		 a.rkey);
	expect_denial(words);
}

/* An XRC target, and an SRQ of its domain. */
static struct vb_qp *xrc_target(struct vb_srq **srq)
{
	const struct vb_srq_cap cap = {.wr_max = 4, .sge_max = 1};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	a.max_dest_rd_atomic = 4;
	assert_int_equal(vb_xrcd_create(env.hca, &init.xrcd), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, init.xrcd, env.cq, &cap, NULL, srq), 0);
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	return qp;
}

/* The bytes of a READ go while it is answered; over XRC they are in the SRQ's PD. */
static void bytes__unmapped_before_the_answer(void **state)
{
	struct ask read = rdma(VB_OP_READ_REQUEST, 0, ENV_IOVA, 8);
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	for (int xrc = 0; xrc < 2; xrc++) {
		begin();
		read.rkey = vb_mr_rkey(env.mr);
		qp = xrc ? xrc_target(&srq) : rts(0, 0, 4);
		if (xrc)
			read.srqn = vb_srq_number(srq);
		assert_int_equal(ask_for(qp, read), VB_VERDICT_OK);
		if (xrc) /* a request for another SRQ came since */
			assert_int_equal(vb_pd_create(env.hca, &qp->pd), 0);
		env.hca->cfg.guard = no_memory;
		assert_int_equal(answer().aeth.syndrome, VB_NAK_REMOTE_OP);
		env.hca->cfg.guard = NULL;
		denied.key = 1;
		expect_denial("RDMA READ of 8 bytes at 0x10000 under R_Key 0x1: the memory is "
			      "registered, and unmapped or read-only by now.");
	}
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
	    cmocka_unit_test(flush__of_no_kind_at_an_odd_address),
	    cmocka_unit_test(right__of_two_that_a_flush_needs),
	    cmocka_unit_test(right__of_an_atomic_write),
	    cmocka_unit_test(bounds__by_how_much),
	    cmocka_unit_test(bytes__of_a_null_region),
	    cmocka_unit_test(bytes__on_demand_that_are_not_there),
	    cmocka_unit_test(receive__of_an_srq_that_failed),
	    cmocka_unit_test(bytes__that_were_unmapped),
	    cmocka_unit_test(bytes__of_a_granted_read),
	    cmocka_unit_test(bytes__of_a_later_packet),
	    cmocka_unit_test(bytes__unmapped_before_the_answer),
	    cmocka_unit_test(atomic__misaligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
