/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues as mlx5dv_init_obj(3) shows them, and the adapter's use of them at the edges: arming a CQ
 * with entries in it, receives that verbs and the program post by turns, and the table in which
 * `verbena explain --wqe` finds the queues.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include "descriptors.h"
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

static struct vb_ring_cq *ring_of(const struct raw_end *r)
{
	return ((struct vb_ibv_cq *)r->end.cq)->hw;
}

/* Each entry of a CQ that nobody has written to is invalid, also after a change of its size. */
static void cq__entries_are_invalid_at_first(void **state)
{
	(void)state;
	for (int resized = 0; resized < 2; resized++) {
		raw_pair(&a, &b);
		raw_free(&a, &b);
		a.end = end_new(IBV_QPT_RC, NULL, NULL);
		if (resized)
			assert_int_equal(ibv_resize_cq(a.end.cq, 1000), 0);
		raw_show(&a);
		assert_true(a.cq.cqe_cnt >= (resized ? 1000 : 256));
		for (a.read = 0; a.read < a.cq.cqe_cnt; a.read++)
			assert_int_equal(raw_entry(&a)->op_own >> 4, MLX5_CQE_INVALID);
		end_free(&a.end);
	}
}

/* Posts WRITEs until the CQ of a has @cnt entries, none marked as read. */
static void fill(uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, &i, 4);
		raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		while (!raw_has_entry(&a))
			assert_true(patience_left());
		a.read++;
	}
}

/* Arming a CQ gives an event at once for entries that the program has not read. */
static void arm__what_has_come(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, ch, NULL);
	b.end = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
	/* Fills the whole CQ. */
	fill(a.cq.cqe_cnt);
	a.read = 0;
	raw_arm(&a, MLX5_CQ_DB_REQ_NOT, 0);
	assert_true(raw_has_event(ch, a.end.cq, 5000));
	/* None of them is solicited. */
	raw_arm(&a, MLX5_CQ_DB_REQ_NOT_SOL, 1);
	assert_false(raw_has_event(ch, a.end.cq, 20));
	/* An index beyond the entries gives no event. */
	a.read = a.cq.cqe_cnt + 1;
	raw_arm(&a, MLX5_CQ_DB_REQ_NOT, 2);
	assert_false(raw_has_event(ch, a.end.cq, 20));
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

static void to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* An error of a request or a receive is an event for solicited arming too. IBA 11.4.2.2 */
static void arm__solicited_and_errors(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq;

	(void)state;
	for (int receive = 0; receive < 2; receive++) {
		a = b = (struct raw_end){.at = 0};
		a.end = end_new(IBV_QPT_RC, ch, NULL);
		b.end = end_new(IBV_QPT_RC, NULL, NULL);
		verbs_connect(a.end.qp, b.end.qp, false);
		raw_show(&a);
		cq = a.end.cq;
		if (receive) {
			raw_receive(&a, 0, 8);
			to_error(a.end.qp);
		} else {
			to_error(a.end.qp);
			raw_begin(&a);
			raw_remote(&a, 100000);
			raw_inline(&a, "gone", 4);
			raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		}
		while (!raw_has_entry(&a))
			assert_true(patience_left());
		assert_int_equal(raw_entry(&a)->op_own >> 4,
				 receive ? MLX5_CQE_RESP_ERR : MLX5_CQE_REQ_ERR);
		raw_arm(&a, MLX5_CQ_DB_REQ_NOT_SOL, 0);
		assert_true(raw_has_event(ch, cq, 5000));
		raw_free(&a, &b);
	}
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

static void send_byte(struct ibv_qp *qp, uint8_t byte)
{
	buf[0] = byte;
	post_send(qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 1);
}

/* Entries of a QP that has gone are gone: where they were, also at the end of the memory, a program
 * finds none. ibv_destroy_qp(3) */
static void cq__entries_of_a_qp_that_has_gone(void **state)
{
	(void)state;
	for (uint32_t before = 0; before < 300; before += 253) {
		struct raw_end r = {.end = end_new(IBV_QPT_RC, NULL, NULL)};
		struct ibv_qp_init_attr init = {.send_cq = r.end.cq,
						.recv_cq = r.end.cq,
						.cap = {4, 4, 1, 1, 0},
						.qp_type = IBV_QPT_RC};
		struct ibv_qp *gone = ibv_create_qp(pd, &init);

		to_init(r.end.qp);
		to_error(r.end.qp);
		for (uint32_t i = 0; i < before; i++) {
			post_recv(r.end.qp, i, 0, 8);
			(void)wc_next(r.end.cq);
		}
		to_init(gone);
		for (uint64_t i = 0; i < 3; i++)
			post_recv(gone, i, 0, 8);
		to_error(gone);
		post_recv(r.end.qp, 77, 0, 8);
		for (uint64_t i = 0; i < 2; i++)
			post_recv(gone, i, 0, 8);
		assert_int_equal(ibv_destroy_qp(gone), 0);
		raw_show(&r);
		r.read = be32toh(r.cq.dbrec[0]);
		assert_int_equal(r.read, before);
		(void)raw_next_of(&r, MLX5_CQE_RESP_ERR, (uint16_t)before);
		for (uint32_t i = 1; i < r.cq.cqe_cnt; i++, r.read++)
			assert_false(raw_has_entry(&r));
		end_free(&r.end);
	}
}

/* A change of size that fails leaves the CQ as it is, and takes no memory. */
static void resize_cq__refused(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	unsigned descriptors;

	(void)state;
	to_init(e.qp);
	for (uint64_t i = 0; i < 64; i++)
		post_recv(e.qp, i, 0, 8);
	to_error(e.qp);
	descriptors = descriptors_of(getpid());
	/* More often than a piece of memory, which has a descriptor, has pages. */
	for (int i = 0; i < 2500; i++)
		assert_int_equal(ibv_resize_cq(e.cq, 32), EINVAL);
	assert_int_equal(descriptors_of(getpid()), descriptors);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(wc_next(e.cq).wr_id, i);
	assert_int_equal(ibv_resize_cq(e.cq, 32), 0);
	end_free(&e);
}

/* A queue that was shown keeps its size, also when it is shown again. */
static void resize__of_what_was_shown(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct raw_end again;

	(void)state;
	raw_pair(&a, &b);
	assert_int_equal(ibv_resize_cq(a.end.cq, 1000), EBUSY);
	assert_non_null(strstr(verbena_refusal(), "reads the queue by itself"));
	init.attr.max_wr = 100;
	assert_int_equal(ibv_modify_srq(srq, &init.attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	assert_non_null(strstr(verbena_refusal(), "keeps its size"));
	again = a;
	raw_show(&again);
	assert_memory_equal(&again.qp, &a.qp, sizeof a.qp);
	assert_memory_equal(&again.cq, &a.cq, sizeof a.cq);
	raw_receive(&b, 8192, 8);
	send_byte(a.end.qp, 1);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* Receives that a program writes while its QP is in ERR are flushed, though no message comes. */
static void receive__flushed_in_error(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	to_error(b.end.qp);
	for (uint16_t i = 0; i < 20; i++) {
		raw_receive(&b, 0, 8);
		(void)raw_next_of(&b, MLX5_CQE_RESP_ERR, i);
	}
	raw_free(&a, &b);
}

/* Writes the program's next receive at s->head, in the list through the WQEs. */
static void srq_write(const struct mlx5dv_srq *s, uint16_t posted, size_t off)
{
	struct mlx5_wqe_srq_next_seg *next = (void *)((uint8_t *)s->buf + s->head * s->stride);
	struct mlx5_wqe_data_seg *d = (void *)(next + 1);

	mlx5dv_set_data_seg(d, 64, mr->lkey, (uintptr_t)buf + off);
	if (s->stride > 32)
		mlx5dv_set_data_seg(d + 1, 0, MLX5_INVALID_LKEY, 0);
	__atomic_store_n(s->dbrec, htobe32(posted), __ATOMIC_RELEASE);
}

/* Verbs post two receives, then the program one: each message goes to its own receive, also where
 * their number wraps. */
static void srq__verbs_and_program(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 7, .max_sge = 1}};

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct ibv_srq *srq = ibv_create_srq(pd, &init);
		struct vb_ring_srq *r = ((struct vb_ibv_srq *)srq)->hw;
		struct verbs_end from = end_new(IBV_QPT_RC, NULL, NULL),
				 to = end_new(IBV_QPT_RC, NULL, srq);
		struct mlx5dv_srq s = {.comp_mask = 0};
		struct mlx5dv_obj obj = {.srq = {srq, &s}};

		verbs_connect(from.qp, to.qp, false);
		if (round) { /* as after 65533 receives */
			r->seen = UINT16_MAX - 2;
			vb_record_put(r->record, 0, r->seen);
		}
		for (size_t i = 0; i < 2; i++) {
			struct ibv_sge sge = sge_at(8192 + 64 * i, 64);
			struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

			assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		}
		assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), 0);
		srq_write(&s, (uint16_t)(be32toh(*s.dbrec) + 1), 8192 + 128);
		memset(buf + 8192, 0, 192);
		for (uint8_t i = 0; i < 3; i++) {
			send_byte(from.qp, (uint8_t)(i + 1));
			assert_int_equal(wc_next(from.cq).status, IBV_WC_SUCCESS);
			assert_int_equal(wc_next(to.cq).status, IBV_WC_SUCCESS);
			assert_int_equal(buf[8192 + 64 * i], i + 1);
		}
		end_free(&from);
		end_free(&to);
		assert_int_equal(ibv_destroy_srq(srq), 0);
	}
}

/* An SRQ takes the number of receives that the program was told; its list in memory has one place
 * more. */
static void srq__as_many_as_was_told(void **state)
{
	static const uint32_t sizes[] = {1, 7, 8, 9, 64};

	(void)state;
	for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
		struct ibv_srq_init_attr init = {.attr = {.max_wr = sizes[k], .max_sge = 1}};
		struct ibv_srq *srq = ibv_create_srq(pd, &init);
		struct ibv_sge sge = sge_at(0, 8);
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;

		assert_non_null(srq);
		for (uint32_t i = 0; i < init.attr.max_wr; i++)
			assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
		assert_ptr_equal(bad, &wr);
		assert_int_equal(ibv_destroy_srq(srq), 0);
	}
}

/* A receive that the program wrote comes before a receive that a verb posts later. */
static void receive__verbs_after_program(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	memset(buf + 8192, 0, 128);
	raw_receive(&b, 8192, 64);
	post_recv(b.end.qp, 7, 8256, 64);
	for (uint8_t i = 0; i < 2; i++) {
		send_byte(a.end.qp, (uint8_t)(i + 1));
		(void)raw_next(&a);
		(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, i);
		assert_int_equal(buf[8192 + 64 * i], i + 1);
	}
	raw_free(&a, &b);
}

/* With sq_sig_all a request without a signal flag completes. */
static void send__all_signaled(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.cap = {4, 4, 1, 1, 0},
					.qp_type = IBV_QPT_RC,
					.sq_sig_all = 1};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {.wr_id = 5,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {(uintptr_t)buf + 64, mr->rkey}},
			   *bad;

	(void)state;
	assert_non_null(qp);
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(wc_next(cq).wr_id, 5);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int write_batch(struct ibv_qp_ex *ex, uint32_t cnt)
{
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	for (uint32_t i = 0; i < cnt; i++) {
		ibv_wr_rdma_write(ex, mr->rkey, (uintptr_t)buf + 64);
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 8);
	}
	return ibv_wr_complete(ex);
}

/* A QP takes the requests, inline bytes and SGEs that the program was told of, whatever its memory
 * has. */
static void send__as_much_as_was_told(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
	    .cap = {.max_send_wr = 5, .max_send_sge = 1},
	    .qp_type = IBV_QPT_RC,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	    .pd = pd,
	    .send_cq = cq,
	    .recv_cq = cq,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);
	struct ibv_sge sge = sge_at(0, init.cap.max_inline_data + 1), list[40];
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)buf + 65536, mr->rkey}},
			   *bad;

	(void)state;
	assert_non_null(qp);
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	assert_int_equal(write_batch(ibv_qp_to_qp_ex(qp), init.cap.max_send_wr + 1), ENOMEM);
	assert_int_equal(write_batch(ibv_qp_to_qp_ex(qp), init.cap.max_send_wr), 0);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	sge.length--;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 40; i++)
		list[i] = sge_at(i, 1);
	wr.sg_list = list;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.num_sge = (int)init.cap.max_send_sge + 1;
	assert_true(wr.num_sge <= 40);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.num_sge--;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* CQ entries have 64 or 128 bytes, and the program sees which. */
static void create_cq__sizes_of_entries(void **state)
{
	static const struct {
		uint16_t size;
		uint32_t shown; /* 0: refused */
	} rows[] = {{64, 64}, {128, 128}, {0, 0}, {32, 0}, {63, 0}, {192, 0}, {256, 0}};
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
						 .cqe_size = rows[i].size};
		struct ibv_cq_ex *cq;
		struct mlx5dv_cq shown;

		errno = 0;
		cq = mlx5dv_create_cq(ctx, &attr, &dv);
		assert_int_equal(cq != NULL, rows[i].shown != 0);
		if (!cq) {
			assert_int_equal(errno, EINVAL);
			continue;
		}

		struct mlx5dv_obj obj = {.cq = {ibv_cq_ex_to_cq(cq), &shown}};

		assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
		assert_int_equal(shown.cqe_size, rows[i].shown);
		assert_int_equal(shown.cqe_cnt, 16);
		assert_int_equal(shown.comp_mask, 0);
		assert_int_equal(shown.cqn, vb_cq_number(((struct vb_ibv_cq *)cq)->core));
		assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	}

	struct mlx5dv_cq_init_attr more = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE << 1};

	errno = 0;
	assert_null(mlx5dv_create_cq(ctx, &attr, &more));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* One unknown type among known types is a mistake, and nothing is shown. */
static void init_obj__of_what_is_not_known(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct mlx5dv_qp qp = {.comp_mask = 77};
	struct mlx5dv_obj obj = {.qp = {e.qp, &qp}};

	(void)state;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | 1 << 20), EINVAL);
	assert_int_equal(qp.comp_mask, 77);
	e.qp->handle++;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), ENOENT);
	e.qp->handle--;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	assert_int_equal(qp.comp_mask, 0);
	end_free(&e);
}

/* A QP in RESET has read nothing: verbena explain --wqe goes by the table. */
static void table__begins_anew_with_reset(void **state)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	const struct vb_queue_entry *e;

	(void)state;
	raw_pair(&a, &b);
	e = table_entry(a.end.qp->qp_num);
	assert_non_null(e);
	raw_receive(&a, 0, 64);
	raw_begin(&b);
	raw_data(&b, 1000, 64);
	raw_post(&b, MLX5_OPCODE_SEND, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_RESP_SEND, 0);
	fill(2);
	assert_int_equal(seen_of(e, true), 2);
	assert_int_equal(seen_of(e, false), 1);
	assert_int_equal(ibv_modify_qp(a.end.qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(seen_of(e, true), 0);
	assert_int_equal(seen_of(e, false), 0);
	raw_free(&a, &b);
}

/* The table has each QP while it exists, with the addresses of its queues. */
static void table__tells_where_queues_are(void **state)
{
	const struct vb_queue_entry *e, *other;
	struct ibv_cq *send;
	uint64_t was;
	uint32_t qpn;

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_new(IBV_QPT_RC, NULL, NULL);
	qpn = a.end.qp->qp_num;
	e = table_entry(qpn);
	other = table_entry(b.end.qp->qp_num);
	assert_true(e && other && e != other);
	assert_int_equal(e->is_raw, 0);
	was = e->recv_cq.entries;
	assert_true(was == (uintptr_t)ring_of(&a)->mem && was == e->send_cq.entries);
	assert_true(other->recv_cq.entries != was);
	assert_int_equal(ibv_resize_cq(a.end.cq, 2000), 0);
	assert_true(e->recv_cq.entries == (uintptr_t)ring_of(&a)->mem);
	assert_true(e->send_cq.entries == e->recv_cq.entries);
	assert_true(e->recv_cq.cnt >= 2000 && e->recv_cq.entry_bytes == 64);
	raw_show(&a);
	assert_true(e->sq == (uintptr_t)a.qp.sq.buf && e->rq == (uintptr_t)a.qp.rq.buf);
	assert_true(e->record == (uintptr_t)a.qp.dbrec);
	assert_int_equal(e->sq_cnt, a.qp.sq.wqe_cnt);
	assert_int_equal(e->rq_cnt, a.qp.rq.wqe_cnt);
	assert_int_equal(e->rq_stride, a.qp.rq.stride);
	assert_int_equal(e->is_raw, 1);
	assert_int_equal(e->srq, 0);
	assert_int_equal(ibv_destroy_qp(a.end.qp), 0);
	assert_null(table_entry(qpn));
	assert_non_null(table_entry(b.end.qp->qp_num));
	/* A QP with different CQs to send and receive. */
	assert_int_equal(ibv_destroy_cq(a.end.cq), 0);
	a.end.cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = b.end.cq,
					.recv_cq = a.end.cq,
					.cap = {4, 4, 1, 1, 0},
					.qp_type = IBV_QPT_RC};

	send = b.end.cq;
	a.end.qp = ibv_create_qp(pd, &init);
	e = table_entry(a.end.qp->qp_num);
	assert_non_null(e);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_resize_cq(i ? send : a.end.cq, 500), 0);
		assert_true(e->recv_cq.entries == (uintptr_t)ring_of(&a)->mem);
		assert_true(e->send_cq.entries == (uintptr_t)ring_of(&b)->mem);
	}
	end_free(&a.end);
	end_free(&b.end);
}

/* ... how long entries are, and where the SRQ is. */
static void table__of_wide_entries_and_an_srq(void **state)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 7, .max_sge = 1}};
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					 .cqe_size = 128};
	struct ibv_qp_init_attr init = {.send_cq = ibv_create_cq(ctx, 32, NULL, NULL, 0),
					.recv_cq =
					    ibv_cq_ex_to_cq(mlx5dv_create_cq(ctx, &attr, &dv)),
					.srq = ibv_create_srq(pd, &srq_init),
					.cap = {4, 4, 1, 1, 0},
					.qp_type = IBV_QPT_UC};
	const struct vb_ring_srq *srq = ((struct vb_ibv_srq *)init.srq)->hw;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	const struct vb_queue_entry *e = table_entry(qp->qp_num);

	(void)state;
	assert_non_null(e);
	assert_int_equal(e->type, VB_QPT_UC);
	assert_int_equal(e->send_cq.entry_bytes, 64);
	assert_int_equal(e->send_cq.cnt, 32);
	assert_int_equal(e->recv_cq.entry_bytes, 128);
	assert_true(e->recv_cq.cnt == 16 && e->rq_cnt == 0);
	assert_true(e->srq == (uintptr_t)srq->mem && e->srq_record == (uintptr_t)srq->record);
	assert_int_equal(e->srq_cnt, srq->cnt);
	assert_int_equal(e->srq_stride, srq->stride);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
	assert_int_equal(ibv_destroy_cq(init.send_cq), 0);
	assert_int_equal(ibv_destroy_cq(init.recv_cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(cq__entries_are_invalid_at_first),  RAW_TEST(arm__what_has_come),
	    RAW_TEST(arm__solicited_and_errors),         RAW_TEST(receive__flushed_in_error),
	    RAW_TEST(receive__verbs_after_program),      RAW_TEST(srq__verbs_and_program),
	    RAW_TEST(srq__as_many_as_was_told),          RAW_TEST(send__all_signaled),
	    RAW_TEST(send__as_much_as_was_told),         RAW_TEST(create_cq__sizes_of_entries),
	    RAW_TEST(init_obj__of_what_is_not_known),    RAW_TEST(table__begins_anew_with_reset),
	    RAW_TEST(table__tells_where_queues_are),     RAW_TEST(resize_cq__refused),
	    RAW_TEST(table__of_wide_entries_and_an_srq), RAW_TEST(resize__of_what_was_shown),
	    RAW_TEST(cq__entries_of_a_qp_that_has_gone),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
