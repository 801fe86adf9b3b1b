/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that has queues as hardware has them: it writes WQEs, doorbell records and doorbells by
 * itself and reads completion entries, with rdma-core's mlx5dv.h and with no verb in between.
 */
#ifndef VB_TESTS_UNIT_RAW_ENV_H
#define VB_TESTS_UNIT_RAW_ENV_H

#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include "verbs_env.h"

#include <infiniband/mlx5dv.h>
#include <poll.h>

struct raw_end {
	struct verbs_end end;
	struct mlx5dv_qp qp;
	struct mlx5dv_cq cq;
	uint16_t sent, received;        /* blocks and receives posted */
	uint32_t read;                  /* entries */
	uint32_t bf;                    /* which of the two doorbells is next */
	_Alignas(16) uint8_t wqe[1024]; /* the WQE that is being built */
	uint32_t at;
};

static inline void raw_show(struct raw_end *r)
{
	struct mlx5dv_obj obj = {.qp = {r->end.qp, &r->qp}, .cq = {r->end.cq, &r->cq}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
	assert_non_null(r->qp.sq.buf);
	assert_int_equal(r->qp.sq.stride, MLX5_SEND_WQE_BB);
	assert_int_equal(r->qp.bf.size, 256);
	assert_int_equal((uintptr_t)r->qp.bf.reg % 512, 0);
}

static inline void raw_pair(struct raw_end *a, struct raw_end *b)
{
	*a = *b = (struct raw_end){.at = 0};
	ends_new(&a->end, &b->end);
	raw_show(a);
	raw_show(b);
}

static inline void raw_ends(struct raw_end *a, struct raw_end *b, enum ibv_qp_type type)
{
	*a = *b = (struct raw_end){.at = 0};
	a->end = end_new(type, NULL, NULL);
	b->end = end_new(type, NULL, NULL);
	verbs_connect(a->end.qp, b->end.qp, false);
	raw_show(a);
	raw_show(b);
}

static inline void raw_free(struct raw_end *a, struct raw_end *b)
{
	ends_free(&a->end, &b->end);
}

static inline void *raw_add(struct raw_end *r, uint32_t bytes)
{
	void *p = r->wqe + r->at;

	memset(p, 0, bytes);
	r->at += bytes;
	return p;
}

/* Begins a WQE: the control segment is filled in when it is posted. */
static inline void raw_begin(struct raw_end *r)
{
	r->at = 0;
	memset(r->wqe, 0, sizeof r->wqe);
	(void)raw_add(r, sizeof(struct mlx5_wqe_ctrl_seg));
}

static inline void raw_remote(struct raw_end *r, size_t off)
{
	struct mlx5_wqe_raddr_seg *s = raw_add(r, sizeof *s);

	s->raddr = htobe64((uintptr_t)buf + off);
	s->rkey = htobe32(mr->rkey);
}

static inline void raw_data(struct raw_end *r, size_t off, uint32_t len)
{
	mlx5dv_set_data_seg(raw_add(r, 16), len, mr->lkey, (uintptr_t)buf + off);
}

static inline void raw_inline(struct raw_end *r, const void *data, uint32_t len)
{
	struct mlx5_wqe_inl_data_seg *s = raw_add(r, (4 + len + 15) / 16 * 16);

	s->byte_count = htobe32(len | MLX5_INLINE_SEG);
	memcpy(s + 1, data, len);
}

/* The segment of an address handle, as mlx5dv_init_obj() shows it. */
static inline struct mlx5_wqe_av av_of(struct ibv_ah *ah)
{
	struct mlx5dv_ah out;
	struct mlx5dv_obj obj = {.ah = {ah, &out}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	return *out.av;
}

static inline void raw_send_to(struct raw_end *r, struct mlx5_wqe_av av, uint32_t qpn)
{
	struct mlx5_wqe_datagram_seg *s;

	raw_begin(r);
	s = raw_add(r, sizeof *s);
	av.dqp_dct = htobe32(qpn | MLX5_EXTENDED_UD_AV);
	s->av = av;
}

/* Adds the segments that bind a window of type @type to @range, or free it if @range has no bytes.
 */
static inline void raw_window(struct raw_end *r, int type, uint8_t key, const struct ibv_sge *range,
			      uint8_t access)
{
	struct mlx5_wqe_umr_ctrl_seg *umr = raw_add(r, sizeof *umr);
	struct mlx5_wqe_mkey_context_seg *mkey = raw_add(r, sizeof *mkey);
	struct mlx5_wqe_umr_klm_seg *klm;
	uint64_t mask = MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			(type == IBV_MW_TYPE_2 ? MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN : 0u);
	bool of_qp = type == IBV_MW_TYPE_2 && range->length;

	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET;
	umr->mkey_mask = htobe64(mask);
	mkey->qpn_mkey = htobe32((of_qp ? r->end.qp->qp_num << 8 : 0xffffff00) | key);
	if (!range->length) {
		mkey->free = MLX5_WQE_MKEY_CONTEXT_FREE;
		return;
	}
	umr->klm_octowords = htobe16(4);
	umr->mkey_mask = htobe64(mask | MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN |
				 MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |
				 0xfu * MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE);
	mkey->access_flags = access;
	mkey->start_addr = htobe64(range->addr);
	mkey->len = htobe64(range->length);
	klm = raw_add(r, 64);
	*klm = (struct mlx5_wqe_umr_klm_seg){htobe32(range->length), htobe32(range->lkey),
					     htobe64(range->addr)};
}

/* Copies what is built to its place in the queue, which goes round, with the control segment. */
static inline void raw_put(struct raw_end *r, uint8_t opcode, uint8_t flags, uint32_t imm)
{
	uint32_t blocks = (r->at + 63) / 64, mask = r->qp.sq.wqe_cnt - 1;

	mlx5dv_set_ctrl_seg((void *)r->wqe, r->sent, opcode, 0, r->end.qp->qp_num, flags,
			    (uint8_t)((r->at + 15) / 16), 0, imm);
	for (uint32_t i = 0; i < blocks; i++)
		memcpy((uint8_t *)r->qp.sq.buf + ((r->sent + i) & mask) * 64u, r->wqe + i * 64, 64);
	r->sent = (uint16_t)(r->sent + blocks);
}

/* The doorbell record and then the doorbell, in turns at both places. */
static inline void raw_ring(struct raw_end *r)
{
	uint64_t word;

	memcpy(&word, r->wqe, sizeof word);
	__atomic_store_n(&r->qp.dbrec[1], htobe32(r->sent), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)(void *)((uint8_t *)r->qp.bf.reg + r->bf), word,
			 __ATOMIC_RELEASE);
	r->bf ^= r->qp.bf.size;
}

static inline void raw_post(struct raw_end *r, uint8_t opcode, uint8_t flags, uint32_t imm)
{
	raw_put(r, opcode, flags, imm);
	raw_ring(r);
}

static inline void raw_receive(struct raw_end *r, size_t off, uint32_t len)
{
	struct mlx5_wqe_data_seg *s =
	    (void *)((uint8_t *)r->qp.rq.buf +
		     (r->received & (r->qp.rq.wqe_cnt - 1)) * r->qp.rq.stride);

	mlx5dv_set_data_seg(s, len, mr->lkey, (uintptr_t)buf + off);
	if (r->qp.rq.stride > 16)
		mlx5dv_set_data_seg(s + 1, 0, MLX5_INVALID_LKEY, 0);
	r->received++;
	__atomic_store_n(&r->qp.dbrec[0], htobe32(r->received), __ATOMIC_RELEASE);
}

static inline struct mlx5_cqe64 *raw_entry(const struct raw_end *r)
{
	return (void *)((uint8_t *)r->cq.buf + (r->read & (r->cq.cqe_cnt - 1)) * r->cq.cqe_size +
			r->cq.cqe_size - 64);
}

static inline bool raw_has_entry(const struct raw_end *r)
{
	uint8_t last = __atomic_load_n(&raw_entry(r)->op_own, __ATOMIC_ACQUIRE);

	return (last & 1) == !!(r->read & r->cq.cqe_cnt) && last >> 4 != MLX5_CQE_INVALID;
}

/* The next entry, which is copied, and the CQ told that it was read. Makes no call. */
static inline struct mlx5_cqe64 raw_next(struct raw_end *r)
{
	struct mlx5_cqe64 e;

	while (!raw_has_entry(r))
		assert_true(patience_left());
	e = *raw_entry(r);
	r->read++;
	__atomic_store_n(&r->cq.dbrec[0], htobe32(r->read & 0xffffff), __ATOMIC_RELEASE);
	return e;
}

static inline struct mlx5_cqe64 raw_next_of(struct raw_end *r, uint8_t kind, uint16_t counter)
{
	struct mlx5_cqe64 e = raw_next(r);

	assert_int_equal(e.op_own >> 4, kind);
	assert_int_equal(be16toh(e.wqe_counter), counter);
	assert_int_equal(be32toh(e.sop_drop_qpn) & 0xffffff, r->end.qp->qp_num);
	return e;
}

/* Arms the CQ as a program does it: the doorbell record, then the doorbell. */
static inline void raw_arm(struct raw_end *r, uint32_t what, uint32_t sn)
{
	uint32_t word = (sn & 3) << 28 | what | (r->read & 0xffffff);
	uint64_t bell = htobe64((uint64_t)word << 32 | r->cq.cqn);

	r->cq.dbrec[1] = htobe32(word);
	__atomic_store_n((uint64_t *)(void *)((uint8_t *)r->cq.cq_uar + MLX5_CQ_DOORBELL), bell,
			 __ATOMIC_RELEASE);
}

static inline bool raw_has_event(struct ibv_comp_channel *ch, struct ibv_cq *cq, int patience_ms)
{
	struct pollfd p = {ch->fd, POLLIN, 0};
	struct ibv_cq *got;
	void *context;

	if (poll(&p, 1, patience_ms) <= 0)
		return false;
	assert_int_equal(ibv_get_cq_event(ch, &got, &context), 0);
	assert_ptr_equal(got, cq);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* The QP in the table by which verbena explain --wqe finds queues; NULL: it is not there. */
static inline const struct vb_queue_entry *table_entry(uint32_t qpn)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const struct vb_queues *t = (const struct vb_queues *)(uintptr_t)slot->queues;

	assert_non_null(t);
	assert_int_equal(t->magic, VB_QUEUES_MAGIC);
	for (uint32_t i = 0; i < t->cnt; i++)
		if (t->entry[i].qpn == qpn)
			return &t->entry[i];
	return NULL;
}

/* How far the adapter has read sends, or receives, by the table. It is told after the completions.
 */
static inline uint32_t seen_of(const struct vb_queue_entry *e, bool sends)
{
	uint32_t seen;

	assert_true(vb_ibv_enter(vb_ibv_ctx(ctx)));
	seen = sends ? e->sq_seen : e->rq_seen;
	vb_ibv_leave(vb_ibv_ctx(ctx));
	return seen;
}

/* With queues as hardware has them; a test may have said who rings. */
static inline int raw_open(void **state)
{
	setenv("VERBENA_MLX5DV", "1", 0);
	return verbs_open(state);
}

#define RAW_TEST(f) cmocka_unit_test_setup_teardown(f, raw_open, verbs_close)

/* A shared receive queue as a program keeps it: a list through the WQEs. */
struct raw_srq {
	struct mlx5dv_srq dv;
	uint16_t posted;
};

static inline struct mlx5_wqe_srq_next_seg *srq_wqe(const struct raw_srq *s, uint32_t i)
{
	return (void *)((uint8_t *)s->dv.buf + i * s->dv.stride);
}

static inline void srq_show(struct raw_srq *s, struct ibv_srq *ibv)
{
	struct mlx5dv_obj obj = {.srq = {ibv, &s->dv}};

	*s = (struct raw_srq){.dv = {.comp_mask = MLX5DV_SRQ_MASK_SRQN}};
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), 0);
	assert_int_equal(s->dv.comp_mask, MLX5DV_SRQ_MASK_SRQN);
	assert_int_equal(s->dv.srqn, ibv->handle);
}

static inline uint32_t srq_post(struct raw_srq *s, size_t off, uint32_t len)
{
	uint32_t i = s->dv.head;
	struct mlx5_wqe_data_seg *d = (void *)(srq_wqe(s, i) + 1);

	assert_int_not_equal(s->dv.head, s->dv.tail);
	mlx5dv_set_data_seg(d, len, mr->lkey, (uintptr_t)buf + off);
	if (s->dv.stride > 32)
		mlx5dv_set_data_seg(d + 1, 0, MLX5_INVALID_LKEY, 0);
	s->dv.head = be16toh(srq_wqe(s, i)->next_wqe_index);
	s->posted++;
	__atomic_store_n(s->dv.dbrec, htobe32(s->posted), __ATOMIC_RELEASE);
	return i;
}

static inline void srq_put_back(struct raw_srq *s, uint16_t i)
{
	srq_wqe(s, s->dv.tail)->next_wqe_index = htobe16(i);
	s->dv.tail = i;
}

#endif
