/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests by functions: data that stands in several places. ibv_wr_post(3) */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <endian.h>
#include <string.h>

#define TO (512 << 10)
#define ROOM 64 /* bytes of inline data */

static struct verbs_end a, b;
static struct ibv_qp_ex *x;

/* A QP for the calls, connected to one that answers. */
static int open_pair(void **state)
{
	struct ibv_qp_init_attr_ex init = {
	    .cap = {.max_send_wr = 8, .max_send_sge = 3, .max_inline_data = ROOM},
	    .qp_type = IBV_QPT_RC,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};

	verbs_open(state);
	b = end_new(IBV_QPT_RC, NULL, NULL);
	a.cq = init.send_cq = init.recv_cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	init.pd = pd;
	a.qp = ibv_create_qp_ex(ctx, &init);
	assert_non_null(a.qp);
	x = ibv_qp_to_qp_ex(a.qp);
	verbs_connect(a.qp, b.qp, false);
	for (int i = 0; i < 4096; i++)
		buf[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

static int close_pair(void **state)
{
	ends_free(&a, &b);
	return verbs_close(state);
}

static void write_begin(void)
{
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
}

static struct ibv_data_buf data_at(size_t off, size_t len)
{
	return (struct ibv_data_buf){.addr = len ? buf + off : NULL, .length = len};
}

/* The bytes of a list follow each other, with nothing between them; the sum has a bound. */
static void set_inline_data_list__one_after_another(void **state)
{
	struct ibv_data_buf list[] = {data_at(0, 20), data_at(0, 0), data_at(1000, 13),
				      data_at(2000, ROOM - 33)};
	uint32_t given;

	(void)state;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf, 20);
	assert_memory_equal(buf + TO + 20, buf + 1000, 13);
	assert_memory_equal(buf + TO + 33, buf + 2000, ROOM - 33);
	assert_int_equal(buf[TO + ROOM], 0);

	/* One byte more than the QP was given: none of the parts is too long by itself. */
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	given = init.cap.max_inline_data;
	assert_true(given >= ROOM && given < 1000);
	list[3].length = given - 33 + 1;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	/* The excess piece is not even read. */
	list[3].addr = (void *)8;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
}

/* So do the bytes of SGEs. */
static void set_sge_list__one_after_another(void **state)
{
	struct ibv_sge list[] = {sge_at(0, 20), sge_at(0, 0), sge_at(1000, 13)};

	(void)state;
	write_begin();
	ibv_wr_set_sge_list(x, 3, list);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf, 20);
	assert_memory_equal(buf + TO + 20, buf + 1000, 13);
	assert_int_equal(buf[TO + 33], 0);
}

/* A list has up to max_send_sge SGEs. */
static void set_sge_list__number(void **state)
{
	struct ibv_sge list[40];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t most;

	(void)state;
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	most = init.cap.max_send_sge;
	assert_true(most >= 3 && most < 40);
	for (uint32_t i = 0; i < 40; i++)
		list[i] = sge_at(100 * i, 1);
	write_begin();
	ibv_wr_set_sge_list(x, most, list);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < most; i++)
		assert_int_equal(buf[TO + i], buf[100 * i]);
	write_begin();
	ibv_wr_set_sge_list(x, most + 1, list);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	/* Zero SGEs. */
	write_begin();
	ibv_wr_set_sge_list(x, 0, NULL);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
}

/* Operands to compare, to swap and to add have their places. */
static void atomics__operands_in_their_places(void **state)
{
	uint64_t *there = (uint64_t *)(void *)(buf + TO), *was = (uint64_t *)(void *)(buf + 8192);

	(void)state;
	*there = 5;
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_cmp_swp(x, mr->rkey, (uintptr_t)there, 5, 9);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)was, 8);
	ibv_wr_atomic_fetch_add(x, mr->rkey, (uintptr_t)there, 100);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)(was + 1), 8);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(wc_next(a.cq).opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(was[0], 5);
	assert_int_equal(was[1], 9);
	assert_int_equal(*there, 109);
}

/* Writes @cnt single bytes as one batch. */
static int write_batch(struct ibv_qp_ex *ex, uint32_t cnt)
{
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	for (uint32_t i = 0; i < cnt; i++) {
		ex->wr_id = i;
		ibv_wr_rdma_write(ex, mr->rkey, (uintptr_t)buf + TO + i);
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf + 3 * i, 1);
	}
	return ibv_wr_complete(ex);
}

/* A batch is at most as large as the queue, of any size; a larger batch posts nothing. */
static void wr_complete__as_many_as_the_queue_has(void **state)
{
	static const uint32_t sizes[] = {1, 4, 5, 9, 33};

	(void)state;
	for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
		struct ibv_cq *cq = ibv_create_cq(ctx, 128, NULL, NULL, 0);
		struct ibv_qp_init_attr_ex init = {
		    .cap = {.max_send_wr = sizes[k], .max_send_sge = 1},
		    .qp_type = IBV_QPT_RC,
		    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		    .pd = pd,
		    .send_cq = cq,
		    .recv_cq = cq,
		};
		struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);
		uint32_t most = init.cap.max_send_wr;
		struct ibv_wc wc;

		assert_non_null(qp);
		to_init(qp);
		to_rts(qp, qp->qp_num, false);
		assert_int_equal(write_batch(ibv_qp_to_qp_ex(qp), most + 1), ENOMEM);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
		assert_int_equal(write_batch(ibv_qp_to_qp_ex(qp), most), 0);
		for (uint32_t i = 0; i < most; i++) {
			wc = wc_next(cq);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, i);
			assert_int_equal(buf[TO + i], buf[3 * i]);
		}
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
}

/* An abort drops the requests, with their mistakes. */
static void wr_abort__posts_nothing(void **state)
{
	struct ibv_wc wc;

	(void)state;
	write_begin();
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	ibv_wr_abort(x);
	ibv_wr_start(x);
	x->wr_flags = 1 << 20;
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	ibv_wr_abort(x);
	ibv_wr_start(x);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	assert_int_equal(buf[TO], 0);
	/* A setter needs a request before it: there is none. */
	ibv_wr_start(x);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	write_begin();
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
}

/* Two connected QPs with all that is asked of keys, on one CQ each. */
static void ends_of_keys(struct verbs_end *e)
{
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr_ex init = {
		    .cap = {4, 4, 1, 1, 0},
		    .qp_type = IBV_QPT_RC,
		    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		    .pd = pd,
		    .send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |
				      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM};

		init.send_cq = init.recv_cq = e[i].cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
		e[i].qp = ibv_create_qp_ex(ctx, &init);
		assert_non_null(e[i].qp);
	}
	verbs_connect(e[0].qp, e[1].qp, false);
}

/* Posts a SEND with, or a local, invalidate of @rkey, by functions or by a structure. */
static void invalidate(struct ibv_qp *qp, bool is_send, uint32_t rkey, bool by_functions)
{
	struct ibv_send_wr wr = {.opcode = is_send ? IBV_WR_SEND_WITH_INV : IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = rkey},
			   *bad;
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	if (!by_functions) {
		wr.sg_list = &sge;
		wr.num_sge = is_send;
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		return;
	}
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (is_send) {
		ibv_wr_send_inv(ex, rkey);
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 8);
	} else {
		ibv_wr_local_inv(ex, rkey);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
}

static enum ibv_wc_status write_by(struct verbs_end *e, uint32_t rkey)
{
	post_send(
	    e->qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {(uintptr_t)buf, rkey}},
	    8192, 8);
	return wc_next(e->cq).status;
}

static uint32_t bind_window(struct verbs_end *e, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {.mw = mw,
					     .rkey = ibv_inc_rkey(mw->rkey),
					     .bind_info = {.mr = mr,
							   .addr = (uintptr_t)buf,
							   .length = 64,
							   .mw_access_flags =
							       IBV_ACCESS_REMOTE_WRITE}}},
			   *bad;

	assert_int_equal(ibv_post_send(e->qp, &wr, &bad), 0);
	assert_int_equal(wc_next(e->cq).status, IBV_WC_SUCCESS);
	return mw->rkey;
}

/* A window's key is invalidated by the peer's message, whose completion says which, or by its own
 * QP. IBA 9.4.1.1.3, 10.6.7.2 */
static void invalidate__by_message_and_by_oneself(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		bool is_send = i & 1, by_functions = i & 2;
		struct verbs_end e[2];
		struct ibv_wc wc;
		uint32_t rkey;

		ends_of_keys(e);
		rkey = bind_window(&e[1], mw);
		assert_int_equal(write_by(&e[0], rkey), IBV_WC_SUCCESS);
		post_recv(e[1].qp, 1, 4096, 64);
		invalidate(e[!is_send].qp, is_send, rkey, by_functions);
		wc = wc_next(e[!is_send].cq);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, is_send ? IBV_WC_SEND : IBV_WC_LOCAL_INV);
		if (is_send) {
			wc = wc_next(e[1].cq);
			assert_true(wc.status == IBV_WC_SUCCESS && wc.byte_len == 8);
			assert_int_equal(wc.wc_flags & (IBV_WC_WITH_INV | IBV_WC_WITH_IMM),
					 IBV_WC_WITH_INV);
			assert_int_equal(wc.invalidated_rkey, rkey);
		}
		assert_int_equal(write_by(&e[0], rkey), IBV_WC_REM_ACCESS_ERR);
		ends_free(&e[0], &e[1]);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
	}
}

/* A write's immediate reaches the peer's receive, in the order of its bytes. */
static void rdma_write_imm__by_functions(void **state)
{
	struct verbs_end e[2];
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;

	(void)state;
	ends_of_keys(e);
	ex = ibv_qp_to_qp_ex(e[0].qp);
	post_recv(e[1].qp, 7, 4096, 64);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(ex, mr->rkey, (uintptr_t)buf + TO, htobe32(0x12345678));
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = wc_next(e[1].cq);
	assert_true(wc.wr_id == 7 && wc.byte_len == 16);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wc_flags & (IBV_WC_WITH_INV | IBV_WC_WITH_IMM), IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0x12345678);
	assert_memory_equal(buf + TO, buf, 16);
	assert_int_equal(wc_next(e[0].cq).opcode, IBV_WC_RDMA_WRITE);
	ends_free(&e[0], &e[1]);
}

/* The last refusal of this process, as it is kept. */
static const char *kept_words(void)
{
	const struct vb_slot_shm *s = vb_engine_slot(vb_ibv_ctx(ctx)->engine);

	return s->explain.refused[(s->explain.refused_cnt - 1) % VB_REFUSED_CNT].text;
}

/* Of several mistakes in a batch the first one is told, and the work request that it is in; and
 * nothing of the batch is posted. A full batch has no words, and is not kept. */
static void wr_complete__tells_the_first_mistake(void **state)
{
	const struct ibv_sge sge[4] = {sge_at(0, 8), sge_at(0, 8), sge_at(0, 8), sge_at(0, 8)};
	struct ibv_wc wc;
	const char *why;
	uint32_t kept;

	(void)state;
	write_begin();
	for (uint64_t id = 0; id < 3; id++) {
		x->wr_id = 70 + id;
		x->wr_flags |= id == 2 ? 1u << 20 : 0;
		ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
		if (id == 1)
			ibv_wr_set_sge_list(x, 4, sge);
		if (id == 2)
			ibv_wr_set_inline_data(x, buf, 5000);
	}
	errno = 0;
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	assert_int_equal(errno, EINVAL);
	why = verbena_refusal();
	assert_true(why && strstr(why, "num_sge 4 is larger than"));
	assert_non_null(strstr(kept_words(), "ibv_wr_complete of wr_id 71 to QP"));
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	/* A mistake that the core finds is told of the request that it is in. */
	write_begin();
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	x->wr_id = 81;
	ibv_wr_atomic_fetch_add(x, mr->rkey, (uintptr_t)buf + TO, 1);
	ibv_wr_set_inline_data(x, buf, 8);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	why = verbena_refusal();
	assert_true(why && strstr(why, "IBV_SEND_INLINE does not go with opcode 6"));
	assert_non_null(strstr(kept_words(), "ibv_wr_complete of wr_id 81 to QP"));
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	kept = vb_engine_slot(vb_ibv_ctx(ctx)->engine)->explain.refused_cnt;
	write_begin();
	for (int i = 0; i < 64; i++)
		ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	errno = 0;
	assert_int_equal(ibv_wr_complete(x), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	assert_null(verbena_refusal());
	assert_int_equal(vb_engine_slot(vb_ibv_ctx(ctx)->engine)->explain.refused_cnt, kept);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    PAIR_TEST(set_inline_data_list__one_after_another),
	    PAIR_TEST(set_sge_list__one_after_another),
	    PAIR_TEST(set_sge_list__number),
	    PAIR_TEST(wr_complete__as_many_as_the_queue_has),
	    PAIR_TEST(wr_abort__posts_nothing),
	    PAIR_TEST(atomics__operands_in_their_places),
	    PAIR_TEST(wr_complete__tells_the_first_mistake),
	    PAIR_TEST(invalidate__by_message_and_by_oneself),
	    PAIR_TEST(rdma_write_imm__by_functions),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
