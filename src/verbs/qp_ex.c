/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended send interface. Work requests are gathered between ibv_wr_start and ibv_wr_complete
 * and posted together there, so that an abort, or an error in any of them, posts nothing; the lock
 * of the QP is held meanwhile, as the man page promises. man 3 ibv_wr_post
 */
#include "verbs/qp_ex.h"

#include <string.h>

struct ex_wr {
	struct vb_send_wr wr;
	struct vb_ah ah; /* a copy: the handle may go before the list is posted */
	struct vb_sge sge[];
};

struct verbena_batch {
	pthread_mutex_t mutex;
	uint32_t sge_max, inline_max;
	size_t stride;
	uint32_t cnt, cap;
	uint8_t *wrs;
	int err; /* of the first setter that failed, negative */
};

static struct verbena_qp *ex_of(struct ibv_qp_ex *qp)
{
	return vb_container_of(qp, struct verbena_qp, ibv);
}

static struct ex_wr *wr_at(const struct verbena_batch *b, uint32_t i)
{
	return (struct ex_wr *)(void *)(b->wrs + i * b->stride);
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct verbena_batch *b = ex_of(qp)->batch;

	pthread_mutex_lock(&b->mutex);
	b->cnt = 0;
	b->err = 0;
}

/* A new work request with what the application set in the ibv_qp_ex, or NULL after an error. */
static struct ex_wr *wr_new(struct ibv_qp_ex *qp, enum vb_wr_opcode opcode)
{
	struct verbena_batch *b = ex_of(qp)->batch;

	if (b->err)
		return NULL;
	if (b->cnt == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 4;
		uint8_t *wrs = realloc(b->wrs, cap * b->stride);

		if (!wrs) {
			b->err = -ENOMEM;
			return NULL;
		}
		b->wrs = wrs;
		b->cap = cap;
	}

	struct ex_wr *w = wr_at(b, b->cnt++);

	w->wr = (struct vb_send_wr){.wr_id = qp->wr_id, .opcode = opcode, .flags = qp->wr_flags};
	return w;
}

static struct ex_wr *wr_last(struct ibv_qp_ex *qp)
{
	struct verbena_batch *b = ex_of(qp)->batch;

	return b->err || b->cnt == 0 ? NULL : wr_at(b, b->cnt - 1);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	(void)wr_new(qp, VB_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	struct ex_wr *w = wr_new(qp, VB_WR_SEND_IMM);

	if (w)
		w->wr.imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct ex_wr *w = wr_new(qp, VB_WR_SEND_INV);

	if (w)
		w->wr.inv_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct ex_wr *w = wr_new(qp, VB_WR_LOCAL_INV);

	if (w)
		w->wr.inv_rkey = rkey;
}

static struct ex_wr *wr_remote(struct ibv_qp_ex *qp, enum vb_wr_opcode opcode, uint32_t rkey,
			       uint64_t addr)
{
	struct ex_wr *w = wr_new(qp, opcode);

	if (w) {
		w->wr.rkey = rkey;
		w->wr.remote_addr = addr;
	}
	return w;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)wr_remote(qp, VB_WR_RDMA_READ, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)wr_remote(qp, VB_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	struct ex_wr *w = wr_remote(qp, VB_WR_RDMA_WRITE_IMM, rkey, addr);

	if (w)
		w->wr.imm = imm;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	struct ex_wr *w = wr_remote(qp, VB_WR_COMPARE_SWAP, rkey, addr);

	if (w) {
		w->wr.compare_add = compare;
		w->wr.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct ex_wr *w = wr_remote(qp, VB_WR_FETCH_ADD, rkey, addr);

	if (w)
		w->wr.compare_add = add;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ex_wr *w = wr_last(qp);

	if (!w)
		return;
	w->ah = vb_container_of(ah, struct verbena_ah, ibv)->ah;
	w->wr.ah = &w->ah;
	w->wr.dqpn = qpn;
	w->wr.qkey = qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t cnt, const struct ibv_sge *list)
{
	struct verbena_batch *b = ex_of(qp)->batch;
	struct ex_wr *w = wr_last(qp);

	if (!w)
		return;
	if (cnt > b->sge_max) {
		b->err = -EINVAL;
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		w->sge[i] = (struct vb_sge){list[i].addr, list[i].length, list[i].lkey};
	w->wr.sge_cnt = (uint32_t)cnt;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {addr, length, lkey};

	wr_set_sge_list(qp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t cnt,
				    const struct ibv_data_buf *buf)
{
	struct verbena_batch *b = ex_of(qp)->batch;
	struct ex_wr *w = wr_last(qp);
	size_t len = 0;

	if (!w)
		return;

	uint8_t *data = (uint8_t *)&w->sge[b->sge_max ? b->sge_max : 1];

	for (size_t i = 0; i < cnt; i++) {
		if (buf[i].length > b->inline_max - len) {
			b->err = -EINVAL;
			return;
		}
		if (buf[i].length)
			memcpy(data + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	w->sge[0] = (struct vb_sge){.length = (uint32_t)len};
	w->wr.sge_cnt = 1;
	w->wr.flags |= VB_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(qp, 1, &buf);
}

/* The array may have moved since the setters: pointers into it are made now. */
static void wr_settle(const struct verbena_batch *b, struct ex_wr *w)
{
	w->wr.sge = w->sge;
	if (w->wr.ah)
		w->wr.ah = &w->ah;
	if (w->wr.flags & VB_SEND_INLINE)
		w->sge[0].addr = (uintptr_t)&w->sge[b->sge_max ? b->sge_max : 1];
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verbena_qp *qp = ex_of(ex);
	struct verbena_batch *b = qp->batch;
	struct ibv_context *c = ex->qp_base.context;
	int err = b->err;

	if (!err && !verbs_enter(c)) {
		err = -EIO;
	} else if (!err) {
		vb_time now = vb_engine_now();

		if (b->cnt > vb_qp_send_room(qp->qp))
			err = -ENOMEM;
		for (uint32_t i = 0; i < b->cnt && !err; i++) {
			wr_settle(b, wr_at(b, i));
			err = vb_qp_post_send(qp->qp, &wr_at(b, i)->wr, now);
		}
		vb_engine_doorbell(engine_of(c), qp->qp);
		verbs_leave(c);
	}
	pthread_mutex_unlock(&b->mutex);
	return -err;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	pthread_mutex_unlock(&ex_of(qp)->batch->mutex);
}

bool qp_ex_may_send(enum ibv_qp_type type, uint64_t ops)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
	uint64_t can = type == IBV_QPT_RC   ? rc
		       : type == IBV_QPT_UC ? uc
		       : type == IBV_QPT_UD ? ud
					    : 0;

	return (ops & ~can) == 0;
}

static void fill_ops(struct ibv_qp_ex *q, uint64_t ops)
{
	q->wr_start = wr_start;
	q->wr_complete = wr_complete;
	q->wr_abort = wr_abort;
	q->wr_set_sge = wr_set_sge;
	q->wr_set_sge_list = wr_set_sge_list;
	q->wr_set_inline_data = wr_set_inline_data;
	q->wr_set_inline_data_list = wr_set_inline_data_list;
	q->wr_set_ud_addr = wr_set_ud_addr;
	q->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : NULL;
	q->wr_send_imm = ops & IBV_QP_EX_WITH_SEND_WITH_IMM ? wr_send_imm : NULL;
	q->wr_send_inv = ops & IBV_QP_EX_WITH_SEND_WITH_INV ? wr_send_inv : NULL;
	q->wr_local_inv = ops & IBV_QP_EX_WITH_LOCAL_INV ? wr_local_inv : NULL;
	q->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_rdma_read : NULL;
	q->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_rdma_write : NULL;
	q->wr_rdma_write_imm = ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ? wr_rdma_write_imm : NULL;
	q->wr_atomic_cmp_swp = ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP ? wr_atomic_cmp_swp : NULL;
	q->wr_atomic_fetch_add =
	    ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ? wr_atomic_fetch_add : NULL;
}

int qp_ex_init(struct verbena_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct verbena_batch *b = calloc(1, sizeof *b);

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->mutex, NULL);
	b->sge_max = attr->cap.max_send_sge;
	b->inline_max = attr->cap.max_inline_data;
	b->stride = sizeof(struct ex_wr) + (b->sge_max ? b->sge_max : 1) * sizeof(struct vb_sge) +
		    ((b->inline_max + 7u) & ~(size_t)7);
	qp->batch = b;
	fill_ops(&qp->ibv, attr->send_ops_flags);
	return 0;
}

void qp_ex_free(struct verbena_qp *qp)
{
	if (!qp->batch)
		return;
	pthread_mutex_destroy(&qp->batch->mutex);
	free(qp->batch->wrs);
	free(qp->batch);
}
