/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that looks at doorbells, when there is nothing to do: a store to any page wakes it,
 * and what no doorbell tells is found all the same. Where pages can be protected, and where they
 * cannot and it takes naps. userfaultfd(2), node/bell/bell.h
 */
#include "deny.h"
#include "descriptors.h"
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

static void write_from(struct raw_end *r, uint16_t i)
{
	raw_begin(r);
	raw_remote(r, 100000);
	raw_inline(r, "wake", 4);
	raw_post(r, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	(void)raw_next_of(r, MLX5_CQE_REQ, i);
}

/* Each QP has a page of its own, and a store to any of them is noticed after a while of rest. */
static void test_wakes_by_every_page(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	for (uint16_t i = 0; i < 4; i++) {
		usleep(20000); /* long enough for it to rest; nothing hangs on it */
		write_from(&b, i);
		usleep(20000);
		write_from(&a, i);
	}
	raw_free(&a, &b);
}

/* A WRITE by a key that the peer does not have: both QPs are in error then. */
static void write_by_a_wrong_key(struct raw_end *r)
{
	struct mlx5_wqe_raddr_seg *s;

	raw_begin(r);
	s = raw_add(r, sizeof *s);
	s->raddr = htobe64((uintptr_t)buf);
	s->rkey = htobe32(~mr->rkey);
	raw_inline(r, "lost", 4);
	raw_post(r, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	assert_int_equal(raw_next(r).op_own >> 4, MLX5_CQE_REQ_ERR);
}

static void expect_flushed(struct raw_end *r)
{
	const struct mlx5_cqe64 e = raw_next(r);

	assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_ERR);
	assert_int_equal(((const struct mlx5_err_cqe *)(const void *)&e)->syndrome,
			 MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
}

/* A receive that is posted to a QP in error is flushed, IBA 10.3.1.7. No doorbell tells of it: it
 * is looked for, right after the last doorbell and for as long as the QP is in error. */
static void test_flushes_without_a_doorbell(void **state)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	(void)state;
	raw_pair(&a, &b);
	for (int round = 0; round < 20; round++) {
		write_by_a_wrong_key(&a);
		for (int i = 0; i < 3; i++) {
			usleep(round ? 300 : 30000); /* nothing hangs on it */
			raw_receive(&a, 200000, 100);
			expect_flushed(&a);
		}
		assert_int_equal(ibv_modify_qp(a.end.qp, &reset, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(b.end.qp, &reset, IBV_QP_STATE), 0);
		a.sent = a.received = 0;
		verbs_connect(a.end.qp, b.end.qp, false);
	}
	raw_free(&a, &b);
}

/* What the thread has open goes with the adapter. */
static void test_leaves_no_descriptors(void **state)
{
	unsigned before;

	for (int i = 0; i < 2; i++) {
		before = descriptors_of(getpid());
		assert_int_equal(raw_open(state), 0);
		raw_pair(&a, &b);
		raw_free(&a, &b);
		assert_int_equal(verbs_close(state), 0);
	}
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {RAW_TEST(test_wakes_by_every_page),
					   RAW_TEST(test_flushes_without_a_doorbell),
					   cmocka_unit_test(test_leaves_no_descriptors)};
	int failed;

	VERBS_MAIN_OR_SKIP();
	failed = cmocka_run_group_tests_name("protected pages", tests, NULL, NULL);
	if (deny_call(SYS_userfaultfd, 0, UINT32_MAX, EPERM))
		failed += cmocka_run_group_tests_name("naps", tests, NULL, NULL);
	return failed;
}
