/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ibv_wr_*() functions: work requests built one after the other between ibv_wr_start() and
 * ibv_wr_complete(), which posts all of them or none. They gather in a batch of the QP, whose mutex
 * is held from start to complete, so that threads do not mix.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 4u
#define WHY_MAX 128 /* of the reasons below, with their numbers */

struct slot {
	struct vb_send_wr wr;
	struct vb_ah ah;
	struct ibv_mw *mw;   /* of a bind */
	uint8_t *custom;     /* a WQE as bytes: wr has only its wr_id; or NULL */
	struct vb_sge sge[]; /* max_send_sge of them, then max_inline_data bytes */
};

struct vb_wr_batch {
	pthread_mutex_t mutex;
	int err;           /* the first thing that went wrong since start, */
	char why[WHY_MAX]; /* in words unless it is ENOMEM, */
	uint64_t wr_id;    /* and in which work request */
	uint32_t cnt, cap, custom_cnt;
	uint32_t sge_max, inline_max, wr_max;
	size_t stride;
	uint8_t *slots;
};

static struct vb_wr_batch *batch_of(struct ibv_qp_ex *ex)
{
	return ((struct vb_ibv_qp *)ex)->batch;
}

/* The batch fails for a mistake in the last work request; the first one counts. Other verbs may be
 * called before ibv_wr_complete(), which tells it. */
__attribute__((cold, format(printf, 2, 3))) static void batch_refuse(struct ibv_qp_ex *ex,
								     const char *format, ...);
static void batch_refuse(struct ibv_qp_ex *ex, const char *format, ...)
{
	struct vb_wr_batch *b = batch_of(ex);
	va_list args;

	if (b->err)
		return;
	va_start(args, format);
	vsnprintf(b->why, sizeof b->why, format, args);
	va_end(args);
	b->err = EINVAL;
	b->wr_id = ex->wr_id;
}

static struct slot *slot_at(const struct vb_wr_batch *b, uint32_t i)
{
	return (struct slot *)(void *)(b->slots + b->stride * i);
}

static uint8_t *slot_inline(const struct vb_wr_batch *b, struct slot *s)
{
	return (uint8_t *)&s->sge[b->sge_max];
}

static bool batch_grow(struct vb_wr_batch *b)
{
	uint32_t cap = b->cap ? b->cap * 2 : SLOTS_FIRST;
	uint8_t *slots = b->cnt < b->wr_max ? realloc(b->slots, b->stride * cap) : NULL;

	if (!slots)
		return false;
	b->slots = slots;
	b->cap = cap;
	return true;
}

/* The flags of ex->wr_flags. INLINE says nothing: the setter of data tells whether it is inline.
 * ibv_wr_post(3) */
#define WR_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)

/* A slot more for work request ex->wr_id; NULL when the batch has failed. */
static struct slot *next_slot(struct ibv_qp_ex *ex, enum vb_wr_opcode opcode)
{
	struct vb_wr_batch *b = batch_of(ex);
	struct slot *s;

	if (!b->err && b->cnt == b->cap && !batch_grow(b))
		b->err = ENOMEM;
	if (b->err)
		return NULL;
	s = slot_at(b, b->cnt++);
	s->custom = NULL;
	s->wr = (struct vb_send_wr){.wr_id = ex->wr_id, .opcode = opcode};
	return s;
}

/* The next work request, with what all have; NULL when the batch has failed. */
static struct vb_send_wr *next_wr(struct ibv_qp_ex *ex, enum vb_wr_opcode opcode)
{
	struct slot *s;

	if (ex->wr_flags & ~(unsigned)(WR_FLAGS | IBV_SEND_INLINE))
		batch_refuse(ex, "wr_flags 0x%x has bits that are not known (ibv_wr_post(3))",
			     ex->wr_flags);
	s = next_slot(ex, opcode);
	if (!s)
		return NULL;
	s->wr.flags = ex->wr_flags & WR_FLAGS;
	return &s->wr;
}

void vb_wr_add_custom(struct ibv_qp_ex *ex, const void *wqe)
{
	struct slot *s = next_slot(ex, VB_WR_NOP);
	size_t len = (size_t)vb_wqe_blocks(wqe) * VB_WQE_BLOCK;
	size_t said = (size_t)vb_wqe_get(wqe, VB_CTRL_DS) * VB_WQE_UNIT;

	if (!s)
		return;
	s->custom = calloc(1, len);
	if (!s->custom) {
		batch_of(ex)->err = ENOMEM;
		return;
	}
	/* The program's bytes may change, or go, once this returns. */
	memcpy(s->custom, wqe, said < len ? said : len);
	batch_of(ex)->custom_cnt++;
}

/* The work requests are posted, or will never be. */
static void batch_clear(struct vb_wr_batch *b)
{
	for (uint32_t i = 0; i < b->cnt && b->custom_cnt; i++) {
		struct slot *s = slot_at(b, i);

		b->custom_cnt -= s->custom != NULL;
		free(s->custom);
	}
	b->cnt = 0;
}

/* The work request that a setter means; NULL when the batch has failed. */
static struct slot *last_slot(struct ibv_qp_ex *ex)
{
	struct vb_wr_batch *b = batch_of(ex);

	if (!b->cnt)
		batch_refuse(ex, "a setter comes before any work request (ibv_wr_post(3))");
	return b->err ? NULL : slot_at(b, b->cnt - 1);
}

static void wr_rdma(struct ibv_qp_ex *ex, enum vb_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		    uint32_t imm)
{
	struct vb_send_wr *w = next_wr(ex, opcode);

	if (w) {
		w->rkey = rkey;
		w->remote_addr = addr;
		w->imm = imm;
	}
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, VB_WR_RDMA_WRITE, rkey, addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	wr_rdma(ex, VB_WR_RDMA_WRITE_IMM, rkey, addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, VB_WR_RDMA_READ, rkey, addr, 0);
}

static void wr_atomic(struct ibv_qp_ex *ex, enum vb_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		      uint64_t compare_add, uint64_t swap)
{
	struct vb_send_wr *w = next_wr(ex, opcode);

	if (w) {
		w->rkey = rkey;
		w->remote_addr = addr;
		w->compare_add = compare_add;
		w->swap = swap;
	}
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	wr_atomic(ex, VB_WR_COMPARE_SWAP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	wr_atomic(ex, VB_WR_FETCH_ADD, rkey, addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	(void)next_wr(ex, VB_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct vb_send_wr *w = next_wr(ex, VB_WR_SEND_IMM);

	if (w)
		w->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct vb_send_wr *w = next_wr(ex, VB_WR_SEND_INV);

	if (w)
		w->inv_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct vb_send_wr *w = next_wr(ex, VB_WR_LOCAL_INV);

	if (w)
		w->inv_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct vb_send_wr *w = next_wr(ex, VB_WR_BIND_MW);

	if (!w)
		return;
	if (mw->type == IBV_MW_TYPE_2) {
		vb_ibv_bind_wr(w, mw, rkey, info);
		last_slot(ex)->mw = mw;
	} else {
		/* That has a verb of its own. */
		batch_refuse(ex, "the window is not of type 2 (IBA o10-37.2.34)");
	}
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct slot *s = last_slot(ex);

	if (!s)
		return;
	s->ah = ((struct vb_ibv_ah *)ah)->core;
	s->ah.path.udp_sport = vb_udp_sport(s->ah.path.flow_label, ex->qp_base.qp_num, qpn);
	s->wr.ah = &s->ah; /* only says that there is one; see post_batch() */
	s->wr.dqpn = qpn;
	s->wr.qkey = qkey;
}

void vb_wr_set_dc(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t dctn, uint64_t key,
		  uint16_t stream)
{
	struct slot *s = last_slot(ex);

	wr_set_ud_addr(ex, ah, dctn, 0);
	if (s) {
		s->wr.dc_key = key;
		s->wr.dc_stream = stream;
	}
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct slot *s = last_slot(ex);

	if (s)
		s->wr.srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t cnt, const struct ibv_sge *list)
{
	struct vb_wr_batch *b = batch_of(ex);
	struct slot *s = last_slot(ex);

	if (!s)
		return;
	if (cnt > b->sge_max) {
		batch_refuse(ex, "num_sge %zu is larger than the %u of the queue (ibv_wr_post(3))",
			     cnt, b->sge_max);
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		s->sge[i] = (struct vb_sge){list[i].addr, list[i].length, list[i].lkey};
	s->wr.sge_cnt = (uint32_t)cnt;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

/* The data is copied here: the caller's buffers are free again when this returns. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t cnt,
				    const struct ibv_data_buf *list)
{
	struct vb_wr_batch *b = batch_of(ex);
	struct slot *s = last_slot(ex);
	size_t len = 0;

	if (!s)
		return;
	for (size_t i = 0; i < cnt; i++) {
		if (list[i].length > b->inline_max - len) {
			batch_refuse(ex,
				     "inline data of %zu bytes, and max_inline_data is %u "
				     "(ibv_wr_post(3))",
				     len + list[i].length, b->inline_max);
			return;
		}
		if (list[i].length)
			memcpy(slot_inline(b, s) + len, list[i].addr, list[i].length);
		len += list[i].length;
	}
	s->wr.flags |= VB_SEND_INLINE;
	s->wr.sge_cnt = 1;
	s->sge[0] = (struct vb_sge){.length = (uint32_t)len}; /* addr: post_batch() */
}

/* A write of 8 bytes that are visible at once. They are copied here, as inline data. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	struct ibv_data_buf buf = {.addr = (void *)(uintptr_t)value, .length = sizeof(uint64_t)};

	wr_rdma(ex, VB_WR_ATOMIC_WRITE, rkey, addr, 0);
	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct vb_wr_batch *b = batch_of(ex);

	pthread_mutex_lock(&b->mutex);
	b->err = 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	batch_clear(batch_of(ex));
	pthread_mutex_unlock(&batch_of(ex)->mutex);
}

/* Posts the batch or, when any of it is wrong, nothing; under the engine's lock. */
static int post_batch(struct vb_ibv_qp *qp, struct vb_wr_batch *b, vb_time now)
{
	uint32_t room = qp->hw ? vb_ring_send_room(qp->hw) : vb_qp_send_room(qp->core);
	int err = b->cnt > room ? ENOMEM : 0;

	for (uint32_t i = 0; i < b->cnt && !err; i++) {
		struct slot *s = slot_at(b, i);

		/* Slots move while the batch grows, so pointers into them are made here. */
		s->wr.sge = s->sge;
		if (s->wr.flags & VB_SEND_INLINE && s->wr.sge_cnt)
			s->sge[0].addr = (uintptr_t)slot_inline(b, s);
		if (s->wr.ah)
			s->wr.ah = &s->ah;
		err = -vb_qp_send_check(qp->core, &s->wr);
		if (err)
			(void)vb_ibv_why_core(vb_ibv_ctx(qp->ibv.context), err);
		else if (s->custom)
			err = -vb_ring_check_custom(qp->hw, s->custom);
		if (err)
			b->wr_id = s->wr.wr_id;
	}
	for (uint32_t i = 0; i < b->cnt && !err; i++) {
		struct slot *s = slot_at(b, i);

		err = s->custom ? -vb_ring_post_custom(qp->hw, s->custom, s->wr.wr_id, now)
				: -vb_ibv_post_core(qp, &s->wr, now);
		if (!err && s->wr.opcode == VB_WR_BIND_MW)
			vb_ibv_bound(s->mw, (uint32_t)s->wr.compare_add);
	}
	return err;
}

/* A full queue tells a program to wait: no mistake. */
static int refuse_batch(struct vb_ibv_context *c, int err, const struct ibv_qp *qp, uint64_t wr_id)
{
	if (err == ENOMEM)
		return vb_ibv_result(err);
	return vb_ibv_refuse(c, err, "ibv_wr_complete of wr_id %" PRIu64 " to QP 0x%06x", wr_id,
			     qp->qp_num);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ex;
	struct vb_ibv_context *c = vb_ibv_ctx(ex->qp_base.context);
	struct vb_wr_batch *b = qp->batch;
	int err = b->err;
	uint64_t wr_id;

	if (!err && b->cnt) {
		if (vb_ibv_enter(c)) {
			vb_time now = vb_clock_now();

			err = post_batch(qp, b, now);
			if (!err)
				vb_engine_doorbell(c->engine, qp->core, now);
			vb_ibv_leave(c);
		} else {
			err = EIO;
		}
	} else if (err && err != ENOMEM) {
		vb_ibv_note_why(err, "%s", b->why);
	}
	wr_id = b->wr_id;
	batch_clear(b);
	pthread_mutex_unlock(&b->mutex);
	return err ? refuse_batch(c, err, &ex->qp_base, wr_id) : 0;
}

static void set_functions(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

/* VERBS_QP_EX of rdma-core's enum verbs_qp_mask, which no header for programs has. */
#define RDMA_CORE_QP_EX 2

int vb_wr_batch_init(struct vb_ibv_qp *qp)
{
	struct vb_wr_batch *b = calloc(1, sizeof *b);

	if (!b)
		return ENOMEM;
	pthread_mutex_init(&b->mutex, NULL);
	b->sge_max = qp->cap.max_send_sge ? qp->cap.max_send_sge : 1;
	b->inline_max = qp->cap.max_inline_data;
	b->wr_max = qp->cap.max_send_wr;
	b->stride = sizeof(struct slot) + b->sge_max * sizeof(struct vb_sge) + b->inline_max;
	b->stride = (b->stride + 15) & ~(size_t)15;
	set_functions(&qp->ex);
	qp->rdma_core[0] = qp->rdma_core[1] = RDMA_CORE_QP_EX;
	qp->batch = b;
	return 0;
}

void vb_wr_batch_free(struct vb_wr_batch *b)
{
	if (!b)
		return;
	batch_clear(b);
	pthread_mutex_destroy(&b->mutex);
	free(b->slots);
	free(b);
}
