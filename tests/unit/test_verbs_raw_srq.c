/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues whose list a program writes by itself, and lists that are none. */
#include "raw_env.h"

#include <sys/mman.h>

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

/* IBT-43: receives of an SRQ, of two QPs in turns, so that WQEs come back out of order. */
static void test_srq(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct raw_srq s;

	(void)state;
	assert_non_null(srq);
	srq_show(&s, srq);
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_new(IBV_QPT_RC, NULL, srq);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
	for (int round = 0; round < 40; round++) {
		uint32_t index[3];
		struct mlx5_cqe64 e;

		for (unsigned i = 0; i < 3; i++)
			index[i] = srq_post(&s, 200000 + 1000 * i, 100);
		for (unsigned i = 0; i < 3; i++) {
			uint16_t at = a.sent;
			char text[2] = {(char)('a' + round % 26), (char)('0' + i)};

			raw_begin(&a);
			raw_inline(&a, text, 2);
			raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
			(void)raw_next_of(&a, MLX5_CQE_REQ, at);
			assert_memory_equal(buf + 200000 + 1000 * i - 0, text, 2);
		}
		for (int i = 0; i < 3; i++) {
			e = raw_next_of(&b, MLX5_CQE_RESP_SEND, (uint16_t)index[i]);
			assert_int_equal(be32toh(e.srqn_uidx), srq->handle);
		}
		/* The last one first. */
		for (int i = 3; i-- > 0;)
			srq_put_back(&s, (uint16_t)index[i]);
	}
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void expect_async(enum ibv_event_type type, struct ibv_srq *srq)
{
	struct ibv_async_event ev;

	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	assert_int_equal(ev.event_type, type);
	if (srq)
		assert_ptr_equal(ev.element.srq, srq);
	ibv_ack_async_event(&ev);
}

/*
 * IBT-63: a list that leads out of the SRQ, after @good receives or, when that is -1, by a doorbell
 * record that is further ahead than the SRQ is long, is a catastrophic error of it. Nothing else is
 * reached; a QP of it ends when it needs one more.
 */
static void srq_breaks(enum ibv_qp_type type, int good, uint32_t posted)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_recv_wr wr = {.num_sge = 0}, *bad;
	struct mlx5_cqe64 e;
	struct raw_srq s;

	srq_show(&s, srq);
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(type, NULL, NULL);
	b.end = end_new(type, NULL, srq);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
	if (good >= 0)
		srq_wqe(&s, 0)->next_wqe_index = htobe16(0xfff8);
	mlx5dv_set_data_seg((void *)(srq_wqe(&s, 0) + 1), 100, mr->lkey, (uintptr_t)buf + 200000);
	__atomic_store_n(s.dv.dbrec, htobe32(posted), __ATOMIC_RELEASE);
	for (int i = 0; i < 1 + (good > 0); i++) {
		raw_begin(&a);
		raw_inline(&a, "x", 1);
		raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
		if (i < good) {
			(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
			(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
		}
	}
	expect_async(IBV_EVENT_SRQ_ERR, srq);
	expect_async(IBV_EVENT_QP_FATAL, NULL);
	expect_async(IBV_EVENT_QP_LAST_WQE_REACHED, NULL);
	e = raw_next_of(&a, type == IBV_QPT_RC ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ, good > 0);
	if (type == IBV_QPT_RC)
		assert_int_equal(((struct mlx5_err_cqe *)(void *)&e)->syndrome,
				 MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_srq_broken(void **state)
{
	(void)state;
	srq_breaks(IBV_QPT_RC, -1, 60000);
	srq_breaks(IBV_QPT_RC, -1, 9); /* it has 8 */
	srq_breaks(IBV_QPT_RC, 1, 3);
	srq_breaks(IBV_QPT_UC, -1, 60000);
	srq_breaks(IBV_QPT_UC, -1, 9);
	srq_breaks(IBV_QPT_UC, 1, 3);
}

/* The adapter's copy is a plain one, as DMA is: the thread sanitizer would call this a race. */
__attribute__((no_sanitize("thread"))) static bool byte_has_come(size_t off, uint8_t value)
{
	return ((volatile uint8_t *)buf)[off] == value;
}

/* A WRITE takes no receive. One that memory does not take any more is dropped, as on any UC QP, and
 * the failure of the SRQ ends nothing. IBA 9.9.3 */
static void test_write_beside_a_broken_srq(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *gone = ibv_reg_mr(pd, p, page, ALL_ACCESS);
	struct verbs_end from = end_new(IBV_QPT_UC, NULL, NULL),
			 to = end_new(IBV_QPT_UC, NULL, srq);
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};
	struct raw_srq s;

	(void)state;
	verbs_connect(from.qp, to.qp, false);
	srq_show(&s, srq);
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_UC, NULL, NULL);
	b.end = end_new(IBV_QPT_UC, NULL, srq);
	verbs_connect(a.end.qp, b.end.qp, false);
	__atomic_store_n(s.dv.dbrec, htobe32(60000), __ATOMIC_RELEASE);
	post_send(a.end.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 16);
	expect_async(IBV_EVENT_SRQ_ERR, srq);
	expect_async(IBV_EVENT_QP_FATAL, NULL);
	expect_async(IBV_EVENT_QP_LAST_WQE_REACHED, NULL);
	assert_non_null(gone);
	assert_int_equal(munmap(p, page), 0);
	wr.wr.rdma.remote_addr = (uintptr_t)p;
	wr.wr.rdma.rkey = gone->rkey;
	post_send(from.qp, wr, 4096, 16);
	memset(buf + 4096, 'w', 16);
	wr.wr.rdma.remote_addr = (uintptr_t)buf + 300000;
	wr.wr.rdma.rkey = mr->rkey;
	post_send(from.qp, wr, 4096, 16);
	while (!byte_has_come(300015, 'w')) {
		struct ibv_wc wc;

		assert_int_equal(ibv_poll_cq(to.cq, 1, &wc), 0);
		assert_true(patience_left());
	}
	raw_free(&a, &b);
	ends_free(&from, &to);
	assert_int_equal(ibv_dereg_mr(gone), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_srq),
	    RAW_TEST(test_srq_broken),
	    RAW_TEST(test_write_beside_a_broken_srq),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
