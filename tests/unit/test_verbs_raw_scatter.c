/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Payload in completion entries: which messages and answers have it, where it stands, and how a
 * program allows or forbids it. MLX5_INLINE_SCATTER_32, MLX5_INLINE_SCATTER_64
 */
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE
#define NO_FLAGS 0u
#define RECEIVED 200000u
#define SECOND 2000u /* from the first SGE of a receive to its second one */

static struct raw_end a, b;

struct kind {
	enum ibv_qp_type type;
	uint32_t flags; /* of mlx5dv_create_qp() */
	uint16_t entry_bytes;
	bool sig_all;
	struct ibv_srq *srq;
};

static struct raw_end kind_on(const struct kind *k, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
	    .cap = {.max_send_wr = 16, .max_send_sge = 2, .max_recv_wr = 16, .max_recv_sge = 2},
	    .qp_type = k->type,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .srq = k->srq,
	    .sq_sig_all = k->sig_all,
	    .comp_mask = IBV_QP_INIT_ATTR_PD,
	    .pd = pd};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
					 .create_flags = k->flags};
	struct raw_end r = {.end = {.cq = cq}};

	r.end.qp = mlx5dv_create_qp(ctx, &attr, &dv);
	assert_non_null(r.end.qp);
	return r;
}

static struct raw_end kind_new(const struct kind *k)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					 .cqe_size = k->entry_bytes ? k->entry_bytes : 64};
	struct ibv_cq_ex *cq = mlx5dv_create_cq(ctx, &attr, &dv);

	assert_non_null(cq);
	return kind_on(k, ibv_cq_ex_to_cq(cq));
}

static void kinds_new(const struct kind *k)
{
	a = kind_new(k);
	b = kind_new(k);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
}

/* A receive of two SGEs, of which the first has @first bytes. Returns where it begins: every one
 * elsewhere. */
static size_t receive_in_two(struct raw_end *r, uint32_t first)
{
	size_t at = RECEIVED + 2 * SECOND * (r->received % 8);
	uint8_t *wqe =
	    (uint8_t *)r->qp.rq.buf + (r->received & (r->qp.rq.wqe_cnt - 1)) * r->qp.rq.stride;

	mlx5dv_set_data_seg((void *)wqe, first, mr->lkey, (uintptr_t)buf + at);
	mlx5dv_set_data_seg((void *)(wqe + 16), 1000, mr->lkey, (uintptr_t)buf + at + SECOND);
	r->received++;
	__atomic_store_n(&r->qp.dbrec[0], htobe32(r->received), __ATOMIC_RELEASE);
	return at;
}

static struct mlx5_cqe64 send_to_b(const void *data, uint32_t len, uint8_t opcode)
{
	uint16_t at = a.sent;

	raw_begin(&a);
	raw_inline(&a, data, len);
	raw_post(&a, opcode, SIGNALED, htobe32(7));
	assert_int_equal(raw_next_of(&a, MLX5_CQE_REQ, at).op_own & 0xc, 0);
	return raw_next(&b);
}

static uint32_t scatter_of(const struct mlx5_cqe64 *e)
{
	return e->op_own & (MLX5_INLINE_SCATTER_32 | MLX5_INLINE_SCATTER_64);
}

/* The entry that was read last, where it is in the queue. */
static const uint8_t *last_entry(struct raw_end *r)
{
	const uint8_t *e;

	r->read--;
	e = (const uint8_t *)raw_entry(r);
	r->read++;
	return e;
}

static void message_is(uint32_t len, uint32_t scatter)
{
	uint8_t data[80];
	struct mlx5_cqe64 e;
	size_t at;

	for (uint32_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(len + i);
	at = receive_in_two(&b, 5);
	e = send_to_b(data, len, MLX5_OPCODE_SEND);
	assert_int_equal(scatter_of(&e), scatter);
	assert_int_equal(be32toh(e.byte_cnt), len);
	if (scatter == MLX5_INLINE_SCATTER_32)
		assert_memory_equal(&e, data, len);
	else if (scatter)
		assert_memory_equal(last_entry(&b) - 64, data, len);
	/* The memory of the receive has it in any case. */
	assert_memory_equal(buf + at, data, len < 5 ? len : 5);
	if (len > 5)
		assert_memory_equal(buf + at + SECOND, data + 5, len - 5);
}

static void messages_are(const struct kind *k, uint32_t most, uint32_t scatter)
{
	struct mlx5_cqe64 e;

	kinds_new(k);
	message_is(1, scatter);
	message_is(most, scatter);
	message_is(most + 1, 0);
	(void)receive_in_two(&b, 5);
	e = send_to_b("four", 4, MLX5_OPCODE_SEND_IMM);
	assert_int_equal(scatter_of(&e), scatter);
	assert_int_equal(be32toh(e.imm_inval_pkey), 7);
	/* A message without a byte, and one whose bytes are elsewhere. */
	(void)receive_in_two(&b, 5);
	e = send_to_b("", 0, MLX5_OPCODE_SEND);
	assert_int_equal(scatter_of(&e), 0);
	(void)receive_in_two(&b, 5);
	raw_begin(&a);
	raw_remote(&a, 300000);
	raw_inline(&a, "elsewhere", 9);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE_IMM, 0, 0);
	e = raw_next(&b);
	assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_WR_IMM);
	assert_int_equal(scatter_of(&e), 0);
	raw_free(&a, &b);
}

static void test_messages(void **state)
{
	(void)state;
	messages_are(&(struct kind){.type = IBV_QPT_RC}, 32, MLX5_INLINE_SCATTER_32);
	messages_are(&(struct kind){.type = IBV_QPT_UC}, 32, MLX5_INLINE_SCATTER_32);
}

/* Of entries of 128 bytes the first half is there for it. */
static void test_messages_wide(void **state)
{
	(void)state;
	messages_are(&(struct kind){.type = IBV_QPT_RC, .entry_bytes = 128}, 64,
		     MLX5_INLINE_SCATTER_64);
}

static void test_forbidden(void **state)
{
	struct kind k = {.type = IBV_QPT_RC, .flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE};

	(void)state;
	messages_are(&k, 32, 0);
	setenv("MLX5_SCATTER_TO_CQE", "0", 1);
	k.flags = NO_FLAGS;
	messages_are(&k, 32, 0);
	k.flags = MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
	messages_are(&k, 32, MLX5_INLINE_SCATTER_32);
	/* Any other word is none. */
	setenv("MLX5_SCATTER_TO_CQE", "00", 1);
	k.flags = NO_FLAGS;
	messages_are(&k, 32, MLX5_INLINE_SCATTER_32);
	unsetenv("MLX5_SCATTER_TO_CQE");
}

static void test_flags_refused(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_RC,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = pd};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
					 .create_flags = MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE |
							 MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE};

	(void)state;
	errno = 0;
	assert_null(mlx5dv_create_qp(ctx, &attr, &dv));
	assert_int_equal(errno, EINVAL);
	dv.create_flags = MLX5DV_QP_CREATE_TUNNEL_OFFLOADS;
	assert_null(mlx5dv_create_qp(ctx, &attr, &dv));
	assert_int_equal(errno, EOPNOTSUPP);
	/* Streams are of a DCI. */
	dv = (struct mlx5dv_qp_init_attr){.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS};
	errno = 0;
	assert_null(mlx5dv_create_qp(ctx, &attr, &dv));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The last of its SGEs is in a second block. */
static struct mlx5_cqe64 read_of(uint32_t len, uint32_t rkey, uint8_t kind)
{
	uint16_t at = a.sent;
	struct mlx5_wqe_raddr_seg *s;

	memset(buf, 0, 100);
	raw_begin(&a);
	s = raw_add(&a, sizeof *s);
	s->raddr = htobe64((uintptr_t)buf + 100000);
	s->rkey = htobe32(rkey);
	raw_data(&a, 0, 3);
	raw_data(&a, 10, 1);
	raw_data(&a, 20, len - 4);
	raw_post(&a, MLX5_OPCODE_RDMA_READ, SIGNALED, 0);
	return raw_next_of(&a, kind, at);
}

static struct mlx5_cqe64 fetch_add(void)
{
	uint16_t at = a.sent;
	struct mlx5_wqe_atomic_seg *s;

	*(uint64_t *)(void *)(buf + 4096) = UINT64_C(0x0123456789abcdef);
	raw_begin(&a);
	raw_remote(&a, 4096);
	s = raw_add(&a, sizeof *s);
	s->swap_add = htobe64(1);
	raw_data(&a, 8192, 8);
	raw_post(&a, MLX5_OPCODE_ATOMIC_FA, SIGNALED, 0);
	return raw_next_of(&a, MLX5_CQE_REQ, at);
}

static void answers_are(const struct kind *k, uint32_t most, uint32_t scatter)
{
	struct mlx5_cqe64 e;
	const uint8_t *at;

	kinds_new(k);
	for (uint32_t i = 0; i < 100; i++)
		buf[100000 + i] = (uint8_t)(i + 1);
	for (int round = 0; round < 20; round++) {
		e = read_of(most, mr->rkey, MLX5_CQE_REQ);
		at = scatter == MLX5_INLINE_SCATTER_64 ? last_entry(&a) - 64 : (uint8_t *)&e;
		assert_int_equal(scatter_of(&e), scatter);
		if (scatter)
			assert_memory_equal(at, buf + 100000, most);
		assert_memory_equal(buf, buf + 100000, 3);
		assert_memory_equal(buf + 10, buf + 100003, 1);
		assert_memory_equal(buf + 20, buf + 100004, most - 4);
		e = read_of(most + 1, mr->rkey, MLX5_CQE_REQ);
		assert_int_equal(scatter_of(&e), 0);
		e = fetch_add();
		at = scatter == MLX5_INLINE_SCATTER_64 ? last_entry(&a) - 64 : (uint8_t *)&e;
		assert_int_equal(scatter_of(&e), scatter);
		if (scatter)
			assert_memory_equal(at, buf + 8192, 8);
		assert_int_equal(*(uint64_t *)(void *)(buf + 8192), UINT64_C(0x0123456789abcdef));
	}
	/* A sender's entry holds no payload. */
	(void)receive_in_two(&b, 5);
	(void)send_to_b("sent", 4, MLX5_OPCODE_SEND);
	/* A READ that fails has brought nothing. */
	e = read_of(most, mr->rkey ^ 0x100, MLX5_CQE_REQ_ERR);
	assert_int_equal(scatter_of(&e), 0);
	raw_free(&a, &b);
}

/* READs and atomics: where every WQE makes an entry, or where the program allows it. */
static void test_answers(void **state)
{
	(void)state;
	answers_are(&(struct kind){.type = IBV_QPT_RC}, 32, 0);
	answers_are(&(struct kind){.type = IBV_QPT_RC, .sig_all = true}, 32,
		    MLX5_INLINE_SCATTER_32);
	answers_are(&(struct kind){.type = IBV_QPT_RC,
				   .flags = MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE,
				   .entry_bytes = 128},
		    64, MLX5_INLINE_SCATTER_64);
	answers_are(&(struct kind){.type = IBV_QPT_RC,
				   .flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
				   .sig_all = true},
		    32, 0);
}

/* Receives of an SRQ, the second of which is not at its beginning. */
static void test_srq(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 1}};
	struct kind k = {.type = IBV_QPT_RC, .srq = ibv_create_srq(pd, &init)};

	(void)state;
	assert_non_null(k.srq);
	kinds_new(&k);
	for (uint64_t i = 0; i < 20; i++) {
		struct ibv_sge sge = sge_at(RECEIVED + 1000 * i, 100);
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;
		struct mlx5_cqe64 e;

		assert_int_equal(ibv_post_srq_recv(k.srq, &wr, &bad), 0);
		e = send_to_b(&i, sizeof i, MLX5_OPCODE_SEND);
		assert_int_equal(scatter_of(&e), MLX5_INLINE_SCATTER_32);
		assert_memory_equal(&e, &i, sizeof i);
		assert_memory_equal(buf + RECEIVED + 1000 * i, &i, sizeof i);
	}
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_srq(k.srq), 0);
}

/* Of a region without bytes nothing can be read back. */
static void test_nothing_there(void **state)
{
	struct ibv_mr *none = ibv_alloc_null_mr(pd);
	struct mlx5_wqe_data_seg *s;
	struct mlx5_cqe64 e;

	(void)state;
	assert_non_null(none);
	kinds_new(&(struct kind){.type = IBV_QPT_RC});
	s = b.qp.rq.buf;
	mlx5dv_set_data_seg(s, 100, none->lkey, 0);
	mlx5dv_set_data_seg(s + 1, 0, MLX5_INVALID_LKEY, 0);
	b.received++;
	__atomic_store_n(&b.qp.dbrec[0], htobe32(b.received), __ATOMIC_RELEASE);
	e = send_to_b("gone", 4, MLX5_OPCODE_SEND);
	assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_SEND);
	assert_int_equal(scatter_of(&e), 0);
	raw_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(none), 0);
}

/* A message of 9 bytes from @from, which waits until it has arrived. */
static void say(struct raw_end *from, const char *text)
{
	memcpy(buf, text, 9);
	post_send(from->end.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 9);
	assert_int_equal(wc_next(from->end.cq).status, IBV_WC_SUCCESS);
}

/* Entries that move, as the CQ grows or as a QP of older ones goes, keep their payload. */
static void test_entries_move(void **state)
{
	const struct kind k = {.type = IBV_QPT_RC, .entry_bytes = 128};
	struct raw_end other = kind_new(&k), on_same;
	struct mlx5dv_obj obj = {.cq = {NULL, &b.cq}};

	(void)state;
	a = kind_new(&k);
	b = kind_new(&k);
	on_same = kind_on(&k, b.end.cq);
	verbs_connect(a.end.qp, b.end.qp, false);
	verbs_connect(other.end.qp, on_same.end.qp, false);
	post_recv(b.end.qp, 1, RECEIVED, 100);
	post_recv(on_same.end.qp, 2, RECEIVED, 100);
	say(&a, "the first");
	say(&other, "the other");
	assert_int_equal(ibv_resize_cq(b.end.cq, 40), 0);
	assert_int_equal(ibv_destroy_qp(b.end.qp), 0);
	obj.cq.in = b.end.cq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	b.end.qp = on_same.end.qp;
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	assert_memory_equal(last_entry(&b) - 64, "the other", 9);
	raw_free(&a, &b);
	end_free(&other.end);
}

/* A datagram's entry needs those bytes for its sender. */
static void test_datagram(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_send_wr wr = {
	    .opcode = IBV_WR_SEND,
	    .wr.ud = {.ah = ibv_create_ah(pd, &attr), .remote_qkey = 0x11111111}};
	struct mlx5_cqe64 e;

	(void)state;
	kinds_new(&(struct kind){.type = IBV_QPT_UD, .entry_bytes = 128});
	(void)receive_in_two(&b, 5);
	wr.wr.ud.remote_qpn = b.end.qp->qp_num;
	post_send(a.end.qp, wr, 0, 8);
	e = raw_next(&b);
	assert_int_equal(scatter_of(&e), 0);
	assert_int_equal(be32toh(e.byte_cnt), 48);
	assert_int_equal(be32toh(e.flags_rqpn) & 0xffffff, a.end.qp->qp_num);
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_messages),      RAW_TEST(test_messages_wide), RAW_TEST(test_forbidden),
	    RAW_TEST(test_flags_refused), RAW_TEST(test_answers),       RAW_TEST(test_srq),
	    RAW_TEST(test_nothing_there), RAW_TEST(test_datagram),      RAW_TEST(test_entries_move),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
