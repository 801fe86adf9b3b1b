/* SPDX-License-Identifier: BSD-2-Clause */
/* NOPs in queues that a program writes by itself: test_verbs_raw_kinds.c has those of XRC and DC.
 */
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

/* Sends nothing and touches nothing, and completes in its turn, on each transport. IBT-38 */
static void test_nop(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct ibv_send_wr wr = {.opcode = (enum ibv_wr_opcode)16}, *bad;

	(void)state;
	for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
		raw_ends(&a, &b, types[i]);
		for (int round = 0; round < 200; round++) {
			uint16_t at = a.sent;
			struct mlx5_cqe64 e;

			raw_begin(&a);
			raw_post(&a, MLX5_OPCODE_NOP, 0, 0);
			/* A fenced one, and what stands behind its control segment is no data. */
			raw_begin(&a);
			*(__be32 *)raw_add(&a, 16) = htobe32(MLX5_INLINE_SEG | 500);
			raw_post(&a, MLX5_OPCODE_NOP, SIGNALED | MLX5_WQE_CTRL_FENCE, htobe32(7));
			e = raw_next_of(&a, MLX5_CQE_REQ, (uint16_t)(at + 1));
			assert_int_equal(be32toh(e.sop_drop_qpn) >> 24, MLX5_OPCODE_NOP);
		}
		/* No verb has it. */
		assert_int_equal(ibv_post_send(a.end.qp, &wr, &bad), EINVAL);
		raw_free(&a, &b);
	}
}

/* Waits for what was posted before it, as programs have it to flush a queue. */
static void test_nop_is_last(void **state)
{
	(void)state;
	raw_ends(&a, &b, IBV_QPT_RC);
	for (int round = 0; round < 100; round++) {
		raw_begin(&a);
		raw_remote(&a, 300000);
		raw_inline(&a, &round, sizeof round);
		raw_put(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
		raw_begin(&a);
		raw_post(&a, MLX5_OPCODE_NOP, SIGNALED, 0);
		(void)raw_next_of(&a, MLX5_CQE_REQ, (uint16_t)(2 * round + 1));
		assert_memory_equal(buf + 300000, &round, sizeof round);
	}
	raw_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {RAW_TEST(test_nop), RAW_TEST(test_nop_is_last)};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
