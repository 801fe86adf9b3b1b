/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests that a program writes into its queues by itself, with mlx5dv.h alone: every kind of
 * work of RC, receives, queues that go round and queues that are full, and bytes that are wrong.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include "core/obj/cq.h"
#include "raw_env.h"

#include <inttypes.h>

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

static void fill(size_t off, uint32_t len, uint8_t from)
{
	for (uint32_t i = 0; i < len; i++)
		buf[off + i] = (uint8_t)(from + i);
}

/* IBT-40 IBT-39 */
static void test_write(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	fill(0, 5000, 1);
	raw_begin(&a);
	raw_remote(&a, 100000);
	raw_data(&a, 0, 3000);
	raw_data(&a, 3000, 2000);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	struct mlx5_cqe64 e = raw_next_of(&a, MLX5_CQE_REQ, 0);

	assert_int_equal(be32toh(e.sop_drop_qpn) >> 24, MLX5_OPCODE_RDMA_WRITE);
	assert_memory_equal(buf, buf + 100000, 5000);
	raw_free(&a, &b);
}

/* IBT-38 IBT-43 */
static void test_send(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	fill(0, 100, 7);
	for (int i = 0; i < 3; i++)
		raw_receive(&b, 200000 + 1000u * (unsigned)i, 1000);
	raw_begin(&a);
	raw_data(&a, 0, 100);
	raw_post(&a, MLX5_OPCODE_SEND, 0, 0);
	raw_begin(&a);
	raw_inline(&a, "in the queue", 12);
	raw_post(&a, MLX5_OPCODE_SEND_IMM, MLX5_WQE_CTRL_SOLICITED, htobe32(0x01020304));
	raw_begin(&a);
	raw_remote(&a, 300000);
	raw_inline(&a, buf, 100);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE_IMM, SIGNALED | MLX5_WQE_CTRL_FENCE, htobe32(5));

	struct mlx5_cqe64 e = raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);

	assert_int_equal(be32toh(e.byte_cnt), 100);
	assert_memory_equal(buf, buf + 200000, 100);
	e = raw_next_of(&b, MLX5_CQE_RESP_SEND_IMM, 1);
	assert_int_equal(be32toh(e.byte_cnt), 12);
	assert_int_equal(be32toh(e.imm_inval_pkey), 0x01020304);
	assert_int_equal(mlx5dv_get_cqe_se(&e), 1);
	assert_memory_equal(buf + 201000, "in the queue", 12);
	e = raw_next_of(&b, MLX5_CQE_RESP_WR_IMM, 2);
	assert_int_equal(be32toh(e.imm_inval_pkey), 5);
	assert_memory_equal(buf, buf + 300000, 100);
	/* The last one alone is signaled: its index counts the blocks of those before it. */
	(void)raw_next_of(&a, MLX5_CQE_REQ, 2);
	raw_free(&a, &b);
}

/* IBT-41 IBT-42 */
static void test_read_and_atomics(void **state)
{
	uint64_t *word = (uint64_t *)(void *)(buf + 4096), *old = (uint64_t *)(void *)(buf + 8192);
	struct mlx5_wqe_atomic_seg *s;

	(void)state;
	raw_pair(&a, &b);
	fill(100000, 3000, 3);
	raw_begin(&a);
	raw_remote(&a, 100000);
	raw_data(&a, 0, 3000);
	raw_post(&a, MLX5_OPCODE_RDMA_READ, SIGNALED, 0);
	assert_int_equal(be32toh(raw_next_of(&a, MLX5_CQE_REQ, 0).byte_cnt), 3000);
	assert_memory_equal(buf, buf + 100000, 3000);

	*word = 40;
	raw_begin(&a);
	raw_remote(&a, 4096);
	s = raw_add(&a, sizeof *s);
	s->swap_add = htobe64(2);
	raw_data(&a, 8192, 8);
	raw_post(&a, MLX5_OPCODE_ATOMIC_FA, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 1);
	assert_int_equal(*word, 42);
	assert_int_equal(*old, 40);

	raw_begin(&a);
	raw_remote(&a, 4096);
	s = raw_add(&a, sizeof *s);
	s->swap_add = htobe64(77);
	s->compare = htobe64(42);
	raw_data(&a, 8192, 8);
	raw_post(&a, MLX5_OPCODE_ATOMIC_CS, SIGNALED, 0);
	assert_int_equal(be32toh(raw_next_of(&a, MLX5_CQE_REQ, 2).sop_drop_qpn) >> 24,
			 MLX5_OPCODE_ATOMIC_CS);
	assert_int_equal(*word, 77);
	assert_int_equal(*old, 42);
	raw_free(&a, &b);
}

/* A queue goes round many times, with WQEs of one block and of several; so do the receive queue and
 * both completion queues, whose owner bit changes each time. */
static void test_wrap(void **state)
{
	uint8_t big[200];

	(void)state;
	raw_pair(&a, &b);
	memset(big, 0x5a, sizeof big);
	for (uint32_t i = 0; i < 1500; i++) {
		uint16_t index = a.sent;

		raw_receive(&b, 200000, 1000);
		big[0] = (uint8_t)i;
		raw_begin(&a);
		raw_inline(&a, big, i % 3 ? 10 + i % 100 : sizeof big);
		raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
		(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, (uint16_t)i);
		(void)raw_next_of(&a, MLX5_CQE_REQ, index);
		assert_int_equal(buf[200000], (uint8_t)i);
	}
	assert_true(a.sent > 4 * a.qp.sq.wqe_cnt);
	raw_free(&a, &b);
}

static struct vb_ring_qp *ring_of(const struct raw_end *r)
{
	return ((struct vb_ibv_qp *)r->end.qp)->hw;
}

/* The queues of @r as they are after so many requests and receives that the next index of each is
 * @next, and after so many entries that the next is at @place. */
static void go_on_from(struct raw_end *r, uint16_t next, uint32_t place)
{
	struct vb_ring_qp *ring = ring_of(r);
	struct vb_cq *cq = ((struct vb_ibv_cq *)r->end.cq)->core;

	assert_true(vb_ibv_enter(vb_ibv_ctx(ctx)));
	ring->sq_seen = ring->rq_seen = r->sent = r->received = next;
	vb_record_put(ring->record, VB_RECORD_SEND, next);
	vb_record_put(ring->record, VB_RECORD_RECEIVE, next);
	cq->head = cq->tail = r->read = place;
	r->cq.dbrec[0] = htobe32(place & 0xffffff);
	vb_ibv_leave(vb_ibv_ctx(ctx));
}

/* Message @i of a to b, both by a program's own bytes or by verbs; its completions have these
 * indices. */
static void message_of(uint16_t i, bool by_verbs)
{
	uint16_t index = a.sent, received = b.received;

	fill(0, 200, (uint8_t)i);
	if (by_verbs) {
		post_recv(b.end.qp, 1, 200000, 1000);
		b.received++;
		post_send(a.end.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 200);
		a.sent++;
	} else {
		raw_receive(&b, 200000, 1000);
		raw_begin(&a);
		raw_inline(&a, buf, 1 + 199u * (i % 2));
		raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	}
	(void)raw_next_of(&a, MLX5_CQE_REQ, index);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, received);
	assert_int_equal(buf[200000], (uint8_t)i);
}

/* Indices of 16 bits and places of 24 bits begin at 0 again amid the work of verbs and programs,
 * and a reader outside is told how far the adapter has read. */
static void test_counters_wrap(void **state)
{
	(void)state;
	for (uint32_t before = 1; before < 16; before *= 2) {
		uint16_t next = (uint16_t)(0u - before);

		raw_pair(&a, &b);
		go_on_from(&a, next, 0x1000000 - before);
		go_on_from(&b, next, 0x1000000 - before);
		/* More than a CQ has entries: those that were read are free again. */
		for (uint16_t i = 0; i < 300; i++) {
			message_of(i, i % 8 == 7);
			assert_int_equal(seen_of(ring_of(&a)->shown, true), a.sent);
			assert_int_equal(seen_of(ring_of(&b)->shown, false), b.received);
		}
		assert_int_equal(be32toh(a.qp.dbrec[1]) & 0xffff, a.sent);
		raw_free(&a, &b);
	}
}

/* The flags of the request in block @index of @qp, as its bytes have them. */
static uint8_t flags_at(const struct ibv_qp *qp, uint32_t index)
{
	const struct vb_ring_qp *ring = ((const struct vb_ibv_qp *)qp)->hw;
	const struct mlx5_wqe_ctrl_seg *c =
	    (const void *)(ring->sq + (size_t)(index & (ring->sq_cnt - 1)) * MLX5_SEND_WQE_BB);

	return c->fm_ce_se;
}

/* Each flag of verbs has its bit in the bytes that they write, whichever call it comes by.
 * ibv_post_send(3), ibv_wr_post(3) */
static void test_flags_of_verbs(void **state)
{
	static const struct {
		unsigned flag;
		uint8_t bits;
	} rows[] = {{0, 0},
		    {IBV_SEND_FENCE, MLX5_WQE_CTRL_FENCE},
		    {IBV_SEND_SIGNALED, MLX5_WQE_CTRL_CQ_UPDATE},
		    {IBV_SEND_SOLICITED, MLX5_WQE_CTRL_SOLICITED}};
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
	    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	    .qp_type = IBV_QPT_RC,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND,
	    .pd = pd,
	    .send_cq = cq,
	    .recv_cq = cq};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	uint32_t index = 0;

	(void)state;
	to_init(qp);
	for (uint64_t i = 0; i < 8; i++)
		post_recv(qp, i, 0, 8);
	to_rts(qp, qp->qp_num, false);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .send_flags = rows[i].flag};

		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		assert_int_equal(flags_at(qp, index++), rows[i].bits);
		ibv_wr_start(ex);
		ex->wr_flags = rows[i].flag;
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(flags_at(qp, index++), rows[i].bits);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The table for readers outside has room for so many QPs: one more works as well, and is in it when
 * there is room again. */
static void test_more_than_the_table_shows(void **state)
{
	static struct ibv_qp *qp[VB_QUEUES_MAX];
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	(void)state;
	for (uint32_t i = 0; i < VB_QUEUES_MAX; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		assert_non_null(qp[i]);
		assert_non_null(((struct vb_ibv_qp *)qp[i])->hw->shown);
	}
	raw_pair(&a, &b);
	assert_true(!ring_of(&a)->shown && !ring_of(&b)->shown);
	message_of(0, false);
	message_of(1, true);
	assert_int_equal(ibv_destroy_qp(qp[7]), 0);
	raw_show(&a);
	assert_ptr_equal(ring_of(&a)->shown, ((struct vb_ibv_qp *)qp[6])->hw->shown + 1);
	assert_int_equal(ring_of(&a)->shown->qpn, a.end.qp->qp_num);
	raw_free(&a, &b);
	for (uint32_t i = 0; i < VB_QUEUES_MAX; i++)
		if (i != 7)
			assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* As many as the queue holds by one doorbell, which the last one alone reports. */
static void test_full(void **state)
{
	uint32_t n;

	(void)state;
	raw_pair(&a, &b);
	n = a.qp.sq.wqe_cnt;
	for (int round = 0; round < 3; round++) {
		memset(buf + 100000, 0, n);
		for (uint32_t i = 0; i < n; i++) {
			raw_begin(&a);
			raw_remote(&a, 100000 + i);
			raw_inline(&a, "x", 1);
			raw_put(&a, MLX5_OPCODE_RDMA_WRITE, i + 1 == n ? SIGNALED : 0, 0);
		}
		raw_ring(&a);
		(void)raw_next_of(&a, MLX5_CQE_REQ, (uint16_t)(a.sent - 1));
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(buf[100000 + i], 'x');
	}
	raw_free(&a, &b);
}

/* The WQE that was just posted fails with @syndrome, as the adapter says it. */
static void fails(uint16_t counter, uint8_t syndrome)
{
	struct mlx5_cqe64 e = raw_next_of(&a, MLX5_CQE_REQ_ERR, counter);

	assert_int_equal(((struct mlx5_err_cqe *)(void *)&e)->syndrome, syndrome);
}

/* A pair, and a WRITE that is ready to be spoilt. */
static void begin_bad(void)
{
	raw_pair(&a, &b);
	raw_begin(&a);
	raw_remote(&a, 100000);
	raw_data(&a, 0, 8);
}

static void end_bad(void)
{
	/* A request posted behind it is flushed, also when it comes later, without any verb. */
	raw_begin(&a);
	raw_inline(&a, "x", 1);
	raw_post(&a, MLX5_OPCODE_SEND, 0, 0);
	fails((uint16_t)(a.sent - 1), MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	raw_receive(&a, 0, 8);
	struct mlx5_cqe64 e = raw_next_of(&a, MLX5_CQE_RESP_ERR, 0);

	assert_int_equal(((struct mlx5_err_cqe *)(void *)&e)->syndrome,
			 MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	/* The peer has not heard of it. */
	raw_begin(&b);
	raw_inline(&b, "x", 1);
	assert_int_equal(ibv_query_qp(b.end.qp, &(struct ibv_qp_attr){.qp_state = 0}, 0,
				      &(struct ibv_qp_init_attr){.cap = {0}}),
			 0);
	assert_int_equal(b.end.qp->state, IBV_QPS_RTS);
	raw_free(&a, &b);
}

/* IBT-38 IBT-57 */
static void test_bad(void **state)
{
	(void)state;
	begin_bad(); /* an opcode that is not known */
	raw_post(&a, 0x3f, 0, 0);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* no DS at all */
	a.at = 0;
	raw_put(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	a.sent = 1;
	raw_ring(&a);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* a DS that goes beyond what is posted */
	raw_put(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	((uint8_t *)a.qp.sq.buf)[7] = 63;
	raw_ring(&a);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* an index that is stale */
	raw_put(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	((uint8_t *)a.qp.sq.buf)[2] = 9;
	raw_ring(&a);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* inline data that go beyond the WQE */
	a.at = 32;
	raw_inline(&a, buf, 12);
	a.wqe[35] = 200;
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* a doorbell that is further than the queue is long */
	raw_put(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	a.sent = (uint16_t)(a.qp.sq.wqe_cnt + 1);
	raw_ring(&a);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	end_bad();
	begin_bad(); /* a key that is none */
	a.at = 32;
	mlx5dv_set_data_seg(raw_add(&a, 16), 8, mr->lkey + 1, (uintptr_t)buf);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	fails(0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	end_bad();
}

/* IBT-57: errors that a peer finds. */
static void test_refused(void **state)
{
	struct mlx5_wqe_raddr_seg *s;

	(void)state;
	raw_pair(&a, &b);
	raw_begin(&a);
	s = raw_add(&a, sizeof *s);
	s->raddr = htobe64((uintptr_t)buf);
	s->rkey = htobe32(mr->rkey + 1);
	raw_data(&a, 0, 8);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, 0, 0);
	fails(0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	raw_free(&a, &b);
}

/* A WQE that is posted before the QP may send is executed when it may. */
static void test_early(void **state)
{
	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_new(IBV_QPT_RC, NULL, NULL);
	raw_show(&a);
	raw_show(&b);
	raw_receive(&b, 200000, 100);
	raw_begin(&a);
	raw_inline(&a, "early", 5);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	verbs_connect(a.end.qp, b.end.qp, false);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	raw_free(&a, &b);
}

/* One queue by verbs, another one by hand, and both ways in one: indices go on. */
static void test_mixed(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 99, .opcode = IBV_WR_SEND};
	struct ibv_wc wc;

	(void)state;
	a = b = (struct raw_end){.at = 0};
	ends_new(&a.end, &b.end);
	/* Posted before the queue is shown. */
	post_recv(b.end.qp, 5, 200000, 100);
	post_send(a.end.qp, wr, 0, 50);
	wc = wc_next(a.end.cq);
	assert_int_equal(wc.wr_id, 99);
	wc = wc_next(b.end.cq);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.byte_len, 50);
	raw_show(&a);
	raw_show(&b);
	a.sent = (uint16_t)be32toh(a.qp.dbrec[1]);
	b.received = (uint16_t)be32toh(b.qp.dbrec[0]);
	a.read = be32toh(a.cq.dbrec[0]);
	b.read = be32toh(b.cq.dbrec[0]);
	assert_int_equal(a.sent, 1);
	assert_int_equal(b.received, 1);
	assert_int_equal(a.read, 1);
	raw_receive(&b, 201000, 100);
	raw_receive(&b, 202000, 100);
	raw_begin(&a);
	raw_inline(&a, "by hand", 7);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 1);
	/* A request that verbs post stands there as bytes, and its entry as well. */
	post_send(a.end.qp, wr, 0, 60);
	assert_int_equal(be32toh(a.qp.dbrec[1]), 3);
	struct mlx5_wqe_data_seg *d = (void *)((uint8_t *)a.qp.sq.buf + 2 * 64 + 16);

	assert_int_equal(be32toh(d->byte_count), 60);
	assert_int_equal(be32toh(d->lkey), mr->lkey);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 2);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 1);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 2);
	raw_free(&a, &b);
}

/* To RESET and back: queues begin at 0 again. */
static void test_reset(void **state)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	(void)state;
	raw_pair(&a, &b);
	for (int i = 0; i < 3; i++) {
		raw_receive(&b, 200000, 100);
		raw_begin(&a);
		raw_inline(&a, "again", 5);
		raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
		(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
		(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
		assert_int_equal(ibv_modify_qp(a.end.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(b.end.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(be32toh(a.qp.dbrec[1]), 0);
		assert_int_equal(be32toh(b.qp.dbrec[0]), 0);
		a.sent = b.received = 0;
		verbs_connect(a.end.qp, b.end.qp, false);
	}
	raw_free(&a, &b);
}

/* The thread that looks at doorbells parks, and the next store wakes it; and while it is parked the
 * process does next to nothing. */
static void test_idle(void **state)
{
	struct timespec before, after;

	(void)state;
	raw_pair(&a, &b);
	for (int i = 0; i < 5; i++) {
		usleep(20000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
		usleep(200000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
		assert_true((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
				before.tv_nsec <
			    20000000);
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, "wake", 4);
		raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		(void)raw_next_of(&a, MLX5_CQE_REQ, (uint16_t)i);
	}
	raw_free(&a, &b);
}

/* Whether the mapping that @p is in has a flag of proc(5)'s VmFlags. */
static bool mapping_has(const void *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t from, to;
	bool is_ours = false, found = false;
	char line[4096];

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			is_ours = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (is_ours && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, flag) != NULL;
	}
	fclose(f);
	return found;
}

/* A child that is forked has no queues: it would write into those of its parent. */
static void test_not_of_a_child(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	assert_true(mapping_has(a.qp.sq.buf, " dc"));
	assert_true(mapping_has(a.cq.buf, " dc"));
	assert_false(mapping_has(&a, " dc"));
	raw_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_write),
	    RAW_TEST(test_send),
	    RAW_TEST(test_read_and_atomics),
	    RAW_TEST(test_wrap),
	    RAW_TEST(test_counters_wrap),
	    RAW_TEST(test_more_than_the_table_shows),
	    RAW_TEST(test_flags_of_verbs),
	    RAW_TEST(test_full),
	    RAW_TEST(test_bad),
	    RAW_TEST(test_refused),
	    RAW_TEST(test_early),
	    RAW_TEST(test_mixed),
	    RAW_TEST(test_reset),
	    RAW_TEST(test_idle),
	    RAW_TEST(test_not_of_a_child),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
