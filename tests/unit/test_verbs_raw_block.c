/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed completion entries, which a program asks for by mlx5dv_create_cq(3): it reads blocks
 * of them as the kernel's driver does, and gets each completion once and in order.
 */
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE
#define ENTRIES 64u
#define BURST 24u
/* Longer than what an entry itself has room for, which is not compressed. */
#define LONG 40u

static struct raw_end a, b;

/* A block that is being read. */
static struct {
	struct mlx5_cqe64 title;
	uint8_t array[64];
	uint32_t cnt, at;
	uint32_t blocks; /* there have been */
} unzip;

static const struct mlx5dv_cq_init_attr compressed = {
    .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
    .cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH};

static struct ibv_cq *compressed_cq(struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = ENTRIES, .channel = channel};
	struct mlx5dv_cq_init_attr dv = compressed;
	struct ibv_cq_ex *cq = mlx5dv_create_cq(ctx, &attr, &dv);

	assert_non_null(cq);
	return ibv_cq_ex_to_cq(cq);
}

static struct verbs_end end_on(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 64,
						.max_recv_wr = 64,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = 128},
					.qp_type = IBV_QPT_RC,
					.send_cq = cq,
					.recv_cq = cq};
	struct verbs_end e = {.qp = ibv_create_qp(pd, &init), .cq = cq};

	assert_non_null(e.qp);
	return e;
}

/* Two ends, each with a CQ that compresses; that of b has the channel. */
static void ends_compressed(struct ibv_comp_channel *channel)
{
	memset(&unzip, 0, sizeof unzip);
	a = b = (struct raw_end){.at = 0};
	a.end = end_on(compressed_cq(NULL));
	b.end = end_on(compressed_cq(channel));
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
}

static void entry_read(struct raw_end *r)
{
	/* As the kernel's driver does it: entries of a block are the program's to mark as read. */
	raw_entry(r)->op_own = !!(r->read & r->cq.cqe_cnt);
	r->read++;
	__atomic_store_n(&r->cq.dbrec[0], htobe32(r->read & 0xffffff), __ATOMIC_RELEASE);
}

static const void *entry_bytes(const struct raw_end *r, uint32_t place)
{
	return (const uint8_t *)r->cq.buf + (place & (r->cq.cqe_cnt - 1)) * 64;
}

/* The next completion, out of a block or not. */
static struct mlx5_cqe64 next_unzipped(struct raw_end *r)
{
	struct mlx5_cqe64 e;
	const uint8_t *mini;

	if (unzip.at == unzip.cnt) {
		while (!raw_has_entry(r))
			assert_true(patience_left());
		e = *raw_entry(r);
		if ((e.op_own >> 2 & 3) != 3) {
			entry_read(r);
			return e;
		}
		unzip.title = e;
		unzip.cnt = be32toh(e.byte_cnt);
		unzip.at = 0;
		unzip.blocks++;
		assert_true(unzip.cnt >= 2 && unzip.cnt <= 64);
	}
	if (unzip.at % 8 == 0)
		memcpy(unzip.array, entry_bytes(r, r->read + (unzip.at == 0)), 64);
	mini = unzip.array + unzip.at % 8 * 8;
	e = unzip.title;
	memcpy(&e.byte_cnt, mini + 4, 4);
	if (e.op_own >> 4 == MLX5_CQE_REQ) {
		memcpy(&e.wqe_counter, mini, 2);
		e.sop_drop_qpn =
		    htobe32((uint32_t)mini[2] << 24 | (be32toh(e.sop_drop_qpn) & 0xffffff));
	} else {
		e.wqe_counter = htobe16((uint16_t)(be16toh(e.wqe_counter) + unzip.at));
	}
	e.op_own &= 0xf2;
	unzip.at++;
	entry_read(r);
	return e;
}

/* Puts a SEND of @len bytes, which its doorbell is to follow. */
static void put_send(uint32_t len, uint8_t flags)
{
	static const uint8_t data[128];

	raw_begin(&a);
	raw_inline(&a, data, len);
	raw_put(&a, MLX5_OPCODE_SEND, flags, 0);
}

/* IBT-44: receives in blocks, whose lengths and indices are those of each message, also when the
 * queue has gone round. */
static void test_receives(void **state)
{
	uint16_t index = 0;

	(void)state;
	ends_compressed(NULL);
	/* Until a block has been seen and the queue has gone round three times. */
	for (uint32_t round = 0; round < 8 || unzip.blocks == 0; round++) {
		assert_true(round < 1000);
		for (uint32_t i = 0; i < BURST; i++)
			raw_receive(&b, 200000, 100);
		for (uint32_t i = 0; i < BURST; i++)
			put_send(LONG + i, i == BURST - 1 ? SIGNALED : 0);
		raw_ring(&a);
		for (uint32_t i = 0; i < BURST; i++, index++) {
			struct mlx5_cqe64 e = next_unzipped(&b);

			assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_SEND);
			assert_int_equal(be32toh(e.byte_cnt), LONG + i);
			assert_int_equal(be16toh(e.wqe_counter), index);
			assert_int_equal(be32toh(e.sop_drop_qpn) & 0xffffff, b.end.qp->qp_num);
			assert_true(be64toh(e.timestamp) != 0);
		}
		(void)raw_next(&a);
	}
	raw_free(&a, &b);
}

/* Entries that wait for their block's end are not lost when a program asks for its queues again.
 * mlx5dv_init_obj(3) */
static void test_shown_again(void **state)
{
	(void)state;
	ends_compressed(NULL);
	for (uint32_t round = 0; round < 8 || unzip.blocks == 0; round++) {
		assert_true(round < 1000);
		for (uint32_t i = 0; i < BURST; i++)
			raw_receive(&b, 200000, 100);
		for (uint32_t i = 0; i < BURST; i++)
			put_send(LONG + i, i == BURST - 1 ? SIGNALED : 0);
		raw_ring(&a);
		raw_show(&b);
		for (uint32_t i = 0; i < BURST; i++) {
			struct mlx5_cqe64 e = next_unzipped(&b);

			assert_int_equal(be32toh(e.byte_cnt), LONG + i);
			raw_show(&b);
		}
		(void)raw_next(&a);
	}
	raw_free(&a, &b);
}

/* Sends in blocks: each with the index and the opcode of its WQE. */
static void test_sends(void **state)
{
	(void)state;
	ends_compressed(NULL);
	for (uint32_t round = 0; round < 8 || unzip.blocks == 0; round++) {
		uint16_t index = a.sent;

		assert_true(round < 1000);
		for (uint32_t i = 0; i < BURST; i++)
			if (i % 3) {
				raw_begin(&a);
				raw_remote(&a, 100000);
				raw_inline(&a, &i, 4);
				raw_put(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
			} else {
				raw_receive(&b, 200000, 100);
				put_send(LONG, SIGNALED);
			}
		raw_ring(&a);
		for (uint32_t i = 0; i < BURST; i++) {
			struct mlx5_cqe64 e = next_unzipped(&a);

			assert_int_equal(e.op_own >> 4, MLX5_CQE_REQ);
			assert_int_equal(be16toh(e.wqe_counter), index);
			assert_int_equal(be32toh(e.sop_drop_qpn) >> 24,
					 i % 3 ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_SEND);
			assert_int_equal(be32toh(e.sop_drop_qpn) & 0xffffff, a.end.qp->qp_num);
			index++;
		}
		/* They are read by verbs, which see each of them as well. */
		for (uint32_t i = 0; i < BURST; i += 3) {
			struct ibv_wc wc = wc_next(b.end.cq);

			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.byte_len, LONG);
		}
	}
	raw_free(&a, &b);
}

/* A failure is an entry of its own, behind the block of what went well. */
static void test_failure(void **state)
{
	struct mlx5_cqe64 e;

	(void)state;
	ends_compressed(NULL);
	for (uint32_t i = 0; i < 5; i++) {
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, &i, 4);
		raw_put(&a, i == 3 ? 0x77 : MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	}
	raw_ring(&a);
	for (uint16_t i = 0; i < 5; i++) {
		e = next_unzipped(&a);
		assert_int_equal(e.op_own >> 4, i < 3 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR);
		assert_int_equal(be16toh(e.wqe_counter), i);
	}
	raw_free(&a, &b);
}

/* Before mlx5dv_init_obj() entries are plain, and a program that polls by verbs sees no difference.
 */
static void test_not_shown(void **state)
{
	struct verbs_end x = end_on(compressed_cq(NULL));
	struct mlx5dv_cq shown;
	struct mlx5dv_obj obj = {.cq = {x.cq, &shown}};
	struct ibv_sge sge = {(uintptr_t)buf, LONG, mr->lkey};
	struct ibv_recv_wr *bad_recv, recv = {.wr_id = 3, .sg_list = &sge, .num_sge = 1};
	const struct mlx5_cqe64 *e;
	struct ibv_wc wc;

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a.end.qp, x.qp, false);
	raw_show(&a);
	for (uint32_t i = 0; i < BURST; i++)
		assert_int_equal(ibv_post_recv(x.qp, &recv, &bad_recv), 0);
	for (uint32_t i = 0; i < BURST; i++)
		put_send(LONG, SIGNALED);
	raw_ring(&a);
	for (uint32_t i = 0; i < BURST; i++)
		(void)raw_next(&a);
	wc = wc_next(x.cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	e = shown.buf;
	for (uint32_t i = 0; i < BURST; i++) {
		assert_int_equal(e[i].op_own, MLX5_CQE_RESP_SEND << 4);
		assert_int_equal(be16toh(e[i].wqe_counter), i);
	}
	/* Shown twice it is no other. */
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_ptr_equal(shown.buf, e);
	ends_free(&a.end, &x);
}

/* Sends BURST messages, of which number @solicited asks for an event, and waits for the receives.
 */
static void send_burst(uint32_t solicited)
{
	for (uint32_t i = 0; i < BURST; i++)
		raw_receive(&b, 200000, 100);
	for (uint32_t i = 0; i < BURST; i++)
		put_send(LONG, (uint8_t)((i == solicited ? MLX5_WQE_CTRL_SOLICITED : 0u) |
					 (i == BURST - 1 ? SIGNALED : 0u)));
	raw_ring(&a);
	(void)raw_next(&a);
}

/* A CQ that is armed for solicited completions looks at those that the program has not read, in
 * blocks as well. */
static void test_solicited(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);

	(void)state;
	ends_compressed(ch);
	send_burst(4);
	/* Read up to number 3: the fifth is still to come. */
	for (uint32_t i = 0; i < 4; i++)
		(void)next_unzipped(&b);
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT_SOL, 0);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	assert_int_equal(next_unzipped(&b).op_own & 2, 2);
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT_SOL, 1);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	for (uint32_t i = 5; i < BURST; i++)
		assert_int_equal(next_unzipped(&b).op_own & 2, 0);
	send_burst(BURST);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	/* A program that is told of a completion finds it. */
	raw_receive(&b, 200000, 100);
	put_send(LONG, SIGNALED | MLX5_WQE_CTRL_SOLICITED);
	raw_ring(&a);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	for (uint32_t i = 0; i <= BURST; i++) {
		assert_true(unzip.at < unzip.cnt || raw_has_entry(&b));
		assert_int_equal(next_unzipped(&b).op_own & 2, i == BURST ? 2 : 0);
	}
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* A message that was solicited before the program began to read by itself counts as well. */
static void test_solicited_before(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_on(compressed_cq(ch));
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	for (uint32_t i = 0; i < 2; i++) {
		struct ibv_recv_wr *bad, wr = {.wr_id = i};

		assert_int_equal(ibv_post_recv(b.end.qp, &wr, &bad), 0);
		put_send(0, (uint8_t)(SIGNALED | (i ? MLX5_WQE_CTRL_SOLICITED : 0)));
	}
	raw_ring(&a);
	(void)raw_next(&a);
	(void)raw_next(&a);
	raw_show(&b);
	b.read = 1;
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT_SOL, 0);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	b.read = 2;
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT_SOL, 1);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* The devices say how long blocks get and which forms there are, and refuse others. */
static void test_refused(void **state)
{
	static const struct {
		uint8_t format;
		uint16_t size;
		int err;
	} rows[] = {{MLX5DV_CQE_RES_FORMAT_HASH, 64, 0},
		    {MLX5DV_CQE_RES_FORMAT_CSUM, 64, 0},
		    {MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX, 64, EINVAL},
		    {0, 64, EINVAL},
		    {MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM, 64, EINVAL},
		    {MLX5DV_CQE_RES_FORMAT_HASH, 128, EOPNOTSUPP},
		    {MLX5DV_CQE_RES_FORMAT_HASH, 96, EINVAL}};
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct mlx5dv_context caps = {.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION};

	(void)state;
	assert_int_equal(mlx5dv_query_device(ctx, &caps), 0);
	assert_int_equal(caps.comp_mask, MLX5DV_CONTEXT_MASK_CQE_COMPRESION);
	assert_int_equal(caps.cqe_comp_caps.max_num, 64);
	assert_int_equal(caps.cqe_comp_caps.supported_format,
			 MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct mlx5dv_cq_init_attr dv = {.comp_mask =
						     MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE |
						     MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
						 .cqe_comp_res_format = rows[i].format,
						 .cqe_size = rows[i].size};
		struct ibv_cq_ex *cq;

		errno = 0;
		cq = mlx5dv_create_cq(ctx, &attr, &dv);
		assert_int_equal(cq == NULL, rows[i].err != 0);
		assert_int_equal(cq ? 0 : errno, rows[i].err);
		if (cq)
			assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_receives),         RAW_TEST(test_shown_again), RAW_TEST(test_sends),
	    RAW_TEST(test_failure),          RAW_TEST(test_not_shown),   RAW_TEST(test_solicited),
	    RAW_TEST(test_solicited_before), RAW_TEST(test_refused),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
