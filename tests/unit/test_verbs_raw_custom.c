/* SPDX-License-Identifier: BSD-2-Clause */
/* WQEs that a program builds and verbs post: mlx5dv_wr_raw_wqe(), see mlx5dv_wr_post(3). */
#include "raw_env.h"

#include <stdio.h>
#include <string.h>

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE
#define THERE 300000u

static struct raw_end a, b;
static struct mlx5dv_qp_ex *dv;
static struct ibv_qp_ex *ex;

static struct ibv_qp *custom_qp(enum ibv_qp_type type, struct ibv_cq *cq, uint32_t max_wr)
{
	struct ibv_qp_init_attr_ex attr = {
	    .cap = {.max_send_wr = max_wr, .max_send_sge = 1, .max_recv_wr = 16, .max_recv_sge = 1},
	    .qp_type = type,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND,
	    .pd = pd};
	struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					   .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE};

	return mlx5dv_create_qp(ctx, &attr, &mlx5);
}

static void custom_new(enum ibv_qp_type type)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 256, NULL, NULL, 0);

	assert_non_null(cq);
	a = (struct raw_end){.end = {.qp = custom_qp(type, cq, 32), .cq = cq}};
	assert_non_null(a.end.qp);
	b = (struct raw_end){.end = end_new(type, NULL, NULL)};
	verbs_connect(a.end.qp, b.end.qp, false);
	ex = ibv_qp_to_qp_ex(a.end.qp);
	dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	assert_non_null(dv);
	assert_non_null(dv->wr_raw_wqe);
}

/* A WRITE of @value in a.wqe. Index, QPN and signature are wrong: they are the driver's to set. */
static void build_write(uint64_t value, uint8_t flags, uint8_t ds)
{
	raw_begin(&a);
	raw_remote(&a, THERE);
	raw_inline(&a, &value, sizeof value);
	mlx5dv_set_ctrl_seg((void *)a.wqe, 0x7777, MLX5_OPCODE_RDMA_WRITE, 0, 0x123456, flags, ds,
			    0x55, 0);
}

static void post_custom(uint64_t wr_id)
{
	ex->wr_id = wr_id;
	mlx5dv_wr_raw_wqe(dv, a.wqe);
}

static uint64_t value_there(void)
{
	uint64_t v;

	memcpy(&v, buf + THERE, sizeof v);
	return v;
}

static void wc_is(uint64_t wr_id, enum ibv_wc_status status, int opcode)
{
	struct ibv_wc wc = wc_next(a.end.cq);

	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	if (status == IBV_WC_SUCCESS)
		assert_int_equal(wc.opcode, opcode);
}

/* Each raw WQE takes its place among the work requests of the batch, round and round, and completes
 * as MLX5DV_WC_RAW_WQE with any opcode. IBT-38 */
static void custom__takes_its_turn(void **state)
{
	(void)state;
	custom_new(IBV_QPT_RC);
	for (uint64_t i = 1; i <= 100; i++) {
		assert_int_equal(ibv_post_recv(b.end.qp, &(struct ibv_recv_wr){.wr_id = i},
					       &(struct ibv_recv_wr *){0}),
				 0);
		ibv_wr_start(ex);
		build_write(i, SIGNALED, 3);
		post_custom(1000 + i);
		/* The program's copy of the WQE is its own again. */
		memset(a.wqe, 0xee, sizeof a.wqe);
		ex->wr_id = 2000 + i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		build_write(i * i, SIGNALED, 3);
		post_custom(3000 + i);
		assert_int_equal(ibv_wr_complete(ex), 0);
		wc_is(1000 + i, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
		wc_is(2000 + i, IBV_WC_SUCCESS, IBV_WC_SEND);
		wc_is(3000 + i, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
		assert_int_equal(value_there(), i * i);
		assert_int_equal(wc_next(b.end.cq).wr_id, i);
	}
	raw_free(&a, &b);
}

/* Whether it has an entry, it says itself: wr_flags are not heard. mlx5dv_wr_post(3) */
static void custom__flags_are_its_own(void **state)
{
	(void)state;
	custom_new(IBV_QPT_RC);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	build_write(7, 0, 3);
	post_custom(1);
	ex->wr_flags = 1u << 30; /* is no flag */
	build_write(8, SIGNALED, 3);
	post_custom(2);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc_is(2, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
	assert_int_equal(value_there(), 8);
	raw_free(&a, &b);
}

/* The bytes in the queue are those that the program gave, with index, QPN and, where the QP has
 * them, signature. */
static void custom__index_qpn_and_signature_are_set(void **state)
{
	(void)state;
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		const uint8_t *there;
		uint8_t all = 0;

		if (is_signed)
			setenv("MLX5_QP_SIGNATURE", "1", 1);
		custom_new(IBV_QPT_RC);
		unsetenv("MLX5_QP_SIGNATURE");
		raw_show(&a);
		for (uint64_t i = 0; i < 3; i++) {
			ibv_wr_start(ex);
			build_write(i, SIGNALED, 3);
			post_custom(i);
			assert_int_equal(ibv_wr_complete(ex), 0);
			wc_is(i, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
		}
		there = (const uint8_t *)a.qp.sq.buf + (size_t)2 * 64;
		assert_int_equal(be32toh(*(const __be32 *)(const void *)there),
				 2 << 8 | MLX5_OPCODE_RDMA_WRITE);
		assert_int_equal(be32toh(*(const __be32 *)(const void *)(there + 4)),
				 a.end.qp->qp_num << 8 | 3);
		assert_memory_equal(there + 16, a.wqe + 16, 32);
		for (int i = 0; i < 48; i++)
			all ^= there[i];
		if (is_signed)
			assert_int_equal(all, 0xff);
		else
			assert_int_equal(there[8], 0);
		assert_int_equal(be32toh(a.qp.dbrec[1]), 3);
		raw_free(&a, &b);
	}
}

/* A wrong one completes in error, with its wr_id, as one that the program writes itself. */
static void custom__wrong_one_completes_in_error(void **state)
{
	static const struct {
		uint8_t opcode, ds;
	} wrong[] = {{MLX5_OPCODE_RDMA_WRITE, 0},
		     {MLX5_OPCODE_RDMA_WRITE, 200},
		     {0x7f, 3},
		     {MLX5_OPCODE_RDMA_WRITE, 1}};

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		custom_new(IBV_QPT_RC);
		ibv_wr_start(ex);
		build_write(1, SIGNALED, wrong[i].ds);
		a.wqe[3] = wrong[i].opcode;
		post_custom(77);
		build_write(2, SIGNALED, 3);
		post_custom(78);
		assert_int_equal(ibv_wr_complete(ex), 0);
		wc_is(77, IBV_WC_LOC_QP_OP_ERR, 0);
		wc_is(78, IBV_WC_WR_FLUSH_ERR, 0);
		raw_free(&a, &b);
	}
}

/* A WQE that was left over would complete first. */
static void one_is_posted(void)
{
	ibv_wr_start(ex);
	build_write(4, SIGNALED, 3);
	post_custom(4);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc_is(4, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
}

/* The last batch was refused for work request @wr_id, with @words. */
static void refused_is(uint64_t wr_id, const char *words)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const char *why = verbena_refusal(), *kept;
	char verb[64];

	kept = slot->explain.refused[(slot->explain.refused_cnt - 1) % VB_REFUSED_CNT].text;
	snprintf(verb, sizeof verb, "ibv_wr_complete of wr_id %u to QP", (unsigned)wr_id);
	assert_non_null(strstr(kept, verb));
	assert_non_null(why);
	assert_ptr_equal(strstr(why, words), why);
}

/* All of a batch are posted, or none. */
static void custom__none_of_a_batch_that_fails(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp *qp = custom_qp(IBV_QPT_RC, cq, 1);

	(void)state;
	custom_new(IBV_QPT_RC);
	ibv_wr_start(ex);
	build_write(1, SIGNALED, 3);
	post_custom(1);
	ibv_wr_abort(ex);
	one_is_posted();
	ibv_wr_start(ex);
	build_write(2, SIGNALED, 3);
	post_custom(2);
	ex->wr_flags = 1u << 30;
	ibv_wr_send(ex);
	ex->wr_flags = 0;
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	/* As many as the queue takes, and one more. */
	ibv_wr_start(ex);
	for (int i = 0; i < 33; i++)
		post_custom(3);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	assert_int_equal(value_there(), 4);
	one_is_posted();
	raw_free(&a, &b);

	/* Before the QP may send; and a WQE that is longer than the queue. */
	ex = ibv_qp_to_qp_ex(qp);
	dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	ibv_wr_start(ex);
	post_custom(5);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	refused_is(5, "the QP is in RESET");
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	ibv_wr_start(ex);
	build_write(6, SIGNALED, 63);
	post_custom(6);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	refused_is(6, "the WQE has 16 blocks of 64 bytes, and the queue ");
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* UC and UD take them, too: here a datagram to an address handle's segment. */
static void custom__of_each_transport(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct mlx5_wqe_av av = av_of(ah);

	(void)state;
	custom_new(IBV_QPT_UC);
	ibv_wr_start(ex);
	build_write(5, SIGNALED, 3);
	post_custom(1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc_is(1, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
	raw_free(&a, &b);

	custom_new(IBV_QPT_UD);
	av.key.qkey.qkey = htobe32(0x11111111);
	assert_int_equal(
	    ibv_post_recv(
		b.end.qp,
		&(struct ibv_recv_wr){.wr_id = 9,
				      .num_sge = 1,
				      .sg_list = &(struct ibv_sge){(uintptr_t)buf, 100, mr->lkey}},
		&(struct ibv_recv_wr *){0}),
	    0);
	raw_send_to(&a, av, b.end.qp->qp_num);
	raw_inline(&a, "datagram", 8);
	mlx5dv_set_ctrl_seg((void *)a.wqe, 0, MLX5_OPCODE_SEND, 0, 0, SIGNALED, 5, 0, 0);
	ibv_wr_start(ex);
	post_custom(2);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc_is(2, IBV_WC_SUCCESS, MLX5DV_WC_RAW_WQE);
	assert_int_equal(wc_next(b.end.cq).wr_id, 9);
	assert_memory_equal(buf + 40, "datagram", 8);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	raw_free(&a, &b);
}

static void create__what_is_not_there_is_refused(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {.cap = {.max_send_wr = 1, .max_send_sge = 1},
					   .qp_type = IBV_QPT_RC,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = pd};
	struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					   .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE |
							     MLX5DV_QP_EX_WITH_MEMCPY};
	struct ibv_qp *qp;

	(void)state;
	assert_null(mlx5dv_create_qp(ctx, &attr, &mlx5));
	assert_int_equal(errno, EOPNOTSUPP);
	mlx5.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	assert_null(mlx5dv_create_qp(ctx, &attr, &mlx5));
	assert_int_equal(errno, EINVAL);
	/* None was asked for. */
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	mlx5.send_ops_flags = 0;
	qp = mlx5dv_create_qp(ctx, &attr, &mlx5);
	assert_non_null(qp);
	assert_null(mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(qp)));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(custom__takes_its_turn),
	    RAW_TEST(custom__flags_are_its_own),
	    RAW_TEST(custom__index_qpn_and_signature_are_set),
	    RAW_TEST(custom__wrong_one_completes_in_error),
	    RAW_TEST(custom__none_of_a_batch_that_fails),
	    RAW_TEST(custom__of_each_transport),
	    RAW_TEST(create__what_is_not_there_is_refused),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
