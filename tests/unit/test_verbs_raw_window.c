/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows that a program binds and invalidates by writing UMR WQEs: the peer reaches what
 * was bound, with the rights that were given, and nothing else; and verbs that do the same leave
 * the same bytes in the queue.
 */
#include "raw_env.h"
#include "verbs/refuse.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE
#define AT 50000u
#define BYTES 4096u

static struct raw_end a, b;

static void add_umr(struct raw_end *r, int type, uint8_t key, uint32_t bytes, uint8_t access)
{
	const struct ibv_sge range = {(uintptr_t)buf + AT, bytes, mr->lkey};

	raw_begin(r);
	raw_window(r, type, key, &range, access);
}

/* The peer writes by @rkey. Returns the kind of its completion. */
static uint8_t peer_writes(uint32_t rkey, size_t off, uint32_t value)
{
	struct mlx5_wqe_raddr_seg *s;

	raw_begin(&b);
	s = raw_add(&b, sizeof *s);
	*s = (struct mlx5_wqe_raddr_seg){.raddr = htobe64((uintptr_t)buf + off),
					 .rkey = htobe32(rkey)};
	raw_inline(&b, &value, sizeof value);
	raw_post(&b, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	return raw_next(&b).op_own >> 4;
}

static void assert_bound(uint32_t rkey)
{
	static uint32_t value;

	value++;
	assert_int_equal(peer_writes(rkey, AT + BYTES - 4, value), MLX5_CQE_REQ);
	assert_memory_equal(buf + AT + BYTES - 4, &value, sizeof value);
}

static void bind_and_write(enum ibv_mw_type type, uint8_t access)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	uint16_t at = a.sent;

	assert_non_null(mw);
	add_umr(&a, type, (uint8_t)rkey, BYTES, access);
	raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(mw->rkey));
	struct mlx5_cqe64 e = raw_next_of(&a, MLX5_CQE_REQ, at);

	assert_int_equal(be32toh(e.sop_drop_qpn) >> 24, MLX5_OPCODE_UMR);
	assert_bound(rkey);
	at = a.sent;
	add_umr(&a, type, 0, 0, 0);
	raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(rkey));
	(void)raw_next_of(&a, MLX5_CQE_REQ, at);
	assert_int_equal(peer_writes(rkey, AT, 1), MLX5_CQE_REQ_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* Each type is bound, reached by the peer, and reached no more. */
static void test_bind_and_free(void **state)
{
	(void)state;
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		raw_pair(&a, &b);
		bind_and_write((enum ibv_mw_type)type,
			       MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE);
		raw_free(&a, &b);
	}
}

/* A window gives what its bytes give. */
static void test_rights(void **state)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	(void)state;
	raw_pair(&a, &b);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	add_umr(&a, 2, (uint8_t)rkey, BYTES, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ);
	raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(mw->rkey));
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	assert_int_equal(peer_writes(rkey, AT, 1), MLX5_CQE_REQ_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	raw_free(&a, &b);
}

/* A bind that is refused ends in an error, and the window stays free: bytes of the other type, a
 * key that names no window, an invalidation of a window that is not bound. */
static void test_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct ibv_mw *mw;
		struct mlx5_err_cqe *err;
		struct mlx5_cqe64 e;

		raw_pair(&a, &b);
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		add_umr(&a, i == 0 ? 1 : 2, 7, i == 2 ? 0 : BYTES,
			MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE);
		raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(i == 1 ? mr->rkey : mw->rkey));
		e = raw_next_of(&a, MLX5_CQE_REQ_ERR, 0);
		err = (void *)&e;
		assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_MW_BIND_ERR);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		raw_free(&a, &b);
	}
}

/* A UMR for a key that is no window's is at fault: the adapter has no such keys. */
static void test_other_umr(void **state)
{
	struct mlx5_wqe_umr_ctrl_seg *umr = (void *)(a.wqe + 16);
	struct mlx5_cqe64 e;
	struct mlx5_err_cqe *err = (void *)&e;

	(void)state;
	raw_pair(&a, &b);
	add_umr(&a, 2, 7, BYTES, 0);
	umr->klm_octowords = htobe16(8);
	raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(mr->rkey));
	e = raw_next_of(&a, MLX5_CQE_REQ_ERR, 0);
	assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	raw_free(&a, &b);
}

/* Verbs leave the bytes in the queue that a program writes itself, and both go on in turns. */
static void test_bind_by_verbs(void **state)
{
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw;
	uint32_t old;

	(void)state;
	raw_pair(&a, &b);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	old = mw->rkey;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(old);
	wr.bind_mw.bind_info =
	    (struct ibv_mw_bind_info){.mr = mr,
				      .addr = (uintptr_t)buf + AT,
				      .length = BYTES,
				      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	assert_int_equal(ibv_post_send(a.end.qp, &wr, &bad), 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	add_umr(&a, 2, (uint8_t)mw->rkey, BYTES, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE);
	((struct mlx5_wqe_umr_ctrl_seg *)(void *)(a.wqe + 16))->flags |=
	    MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE;
	assert_memory_equal((uint8_t *)a.qp.sq.buf + 16, a.wqe + 16, a.at - 16);
	assert_int_equal(be32toh(((struct mlx5_wqe_ctrl_seg *)a.qp.sq.buf)->imm), old);
	a.sent = (uint16_t)be32toh(a.qp.dbrec[1]);
	assert_int_equal(a.sent, 3);
	assert_bound(mw->rkey);
	/* ... and the program takes it back by its own bytes. */
	add_umr(&a, 2, 0, 0, 0);
	raw_post(&a, MLX5_OPCODE_UMR, SIGNALED, htobe32(mw->rkey));
	(void)raw_next_of(&a, MLX5_CQE_REQ, 3);
	assert_int_equal(peer_writes(mw->rkey, AT, 1), MLX5_CQE_REQ_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	raw_free(&a, &b);
}

/* A queue has room for a bind in each of its places, and more blocks than indices tell apart are
 * refused. */
static void test_room(void **state)
{
	struct ibv_qp_init_attr init = {.cap = {8192, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp;

	(void)state;
	raw_pair(&a, &b);
	init.send_cq = init.recv_cq = a.end.cq;
	qp = ibv_create_qp(pd, &init);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	init.cap.max_send_wr = 8193;
	assert_null(ibv_create_qp(pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(verbena_refusal(), "32768 at most"));
	/* More than the adapter has is refused as without queues in memory. */
	init.cap.max_inline_data = 100000;
	assert_null(ibv_create_qp(pd, &init));
	assert_non_null(strstr(verbena_refusal(), "max_inline_data"));
	init.cap.max_inline_data = 0;
	init.cap.max_send_sge = 100;
	assert_null(ibv_create_qp(pd, &init));
	assert_non_null(strstr(verbena_refusal(), "max_send_sge"));
	raw_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {RAW_TEST(test_bind_and_free), RAW_TEST(test_rights),
					   RAW_TEST(test_refused),       RAW_TEST(test_other_umr),
					   RAW_TEST(test_bind_by_verbs), RAW_TEST(test_room)};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
