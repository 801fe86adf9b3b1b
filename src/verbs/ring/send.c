/* SPDX-License-Identifier: BSD-2-Clause */
/* Send queues in a program's memory: from doorbells to work requests of the core. IBT-38...42 */
#include "verbs/ring/ring.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool vb_ring_is_on(void)
{
	static _Atomic int on; /* 0: nobody has asked; the environment does not change */
	int v = atomic_load_explicit(&on, memory_order_relaxed);

	if (!v) {
		v = getenv("VERBENA_MLX5DV") ? 1 : -1;
		atomic_store_explicit(&on, v, memory_order_relaxed);
	}
	return v > 0;
}

/* Indices have 16 bits, and a full queue must not look like an empty one. */
#define BLOCKS_MAX 32768u

/* A queue is planned if it is within the limits of the adapter; the core refuses any other. */
static bool plans_send(const struct vb_qp_init *core)
{
	const struct vb_limits *most = &vb_limits_default;
	const struct vb_qp_cap *cap = &core->cap;

	return core->type != VB_QPT_DCT && core->type != VB_QPT_XRC_TGT && cap->max_send_wr &&
	       cap->max_send_wr <= most->qp_wr && cap->max_send_sge <= most->sge &&
	       cap->max_inline_data <= most->inline_bytes;
}

static int plan_send(struct vb_ring_qp *r, struct vb_qp_init *core)
{
	struct vb_qp_cap *cap = &core->cap;
	uint32_t most = vb_limits_default.qp_wr;
	uint32_t bytes = vb_wqe_send_bytes(core->type, cap->max_send_sge ? cap->max_send_sge : 1,
					   cap->max_inline_data);
	uint32_t blocks = cap->max_send_wr * (bytes / VB_WQE_BLOCK);

	if (blocks > BLOCKS_MAX)
		return VB_IBV_WHY(EINVAL,
				  "max_send_wr %u needs %u blocks of 64 bytes, and a send queue in "
				  "the program's memory has %u at most",
				  cap->max_send_wr, blocks, BLOCKS_MAX);
	r->wr_max = cap->max_send_wr;
	r->sq_cnt = vb_ring_pow2(blocks);
	r->wr_deep = r->sq_cnt < most ? r->sq_cnt : most;
	cap->max_send_wr = r->wr_deep;
	if (cap->max_send_sge < VB_RING_SGES)
		cap->max_send_sge = VB_RING_SGES;
	if (cap->max_inline_data < VB_RING_INLINE)
		cap->max_inline_data = VB_RING_INLINE;
	return 0;
}

int vb_ring_qp_plan(struct vb_ring_qp *r, struct vb_qp_init *core, struct ibv_qp_init_attr *init)
{
	struct vb_qp_cap *cap = &core->cap;
	uint32_t most = vb_limits_default.qp_wr;
	int err = plans_send(core) ? plan_send(r, core) : 0;

	if (err)
		return err;
	if (!core->srq && core->recv_cq && cap->max_recv_wr && cap->max_recv_wr <= most) {
		uint32_t sges = cap->max_recv_sge ? cap->max_recv_sge : 1;
		uint32_t most_sges = vb_limits_default.sge;

		r->rq_cnt = vb_ring_pow2(cap->max_recv_wr);
		r->rq_stride = vb_ring_pow2(sges * VB_DATA_BYTES);
		cap->max_recv_wr = init->cap.max_recv_wr = r->rq_cnt;
		/* More than the adapter has is for the core to refuse. */
		if (sges <= most_sges)
			cap->max_recv_sge = r->rq_stride / VB_DATA_BYTES < most_sges
						? r->rq_stride / VB_DATA_BYTES
						: most_sges;
		r->rq_sges = cap->max_recv_sge;
	}
	/* The program is told what it may post by verbs. */
	r->cap = (struct vb_qp_cap){.max_send_wr = init->cap.max_send_wr,
				    .max_recv_wr = cap->max_recv_wr,
				    .max_send_sge = init->cap.max_send_sge,
				    .max_recv_sge = cap->max_recv_sge,
				    .max_inline_data = init->cap.max_inline_data};
	/* A WQE says by itself whether it has an entry. */
	r->sig_all = core->sq_sig_all;
	core->sq_sig_all = false;
	return 0;
}

static void run_bell(struct vb_bell *b, uint64_t value, vb_time now)
{
	/* The record says what is posted; the word only that there is something. */
	(void)value;
	vb_ring_run_send(vb_container_of(b, struct vb_ring_qp, bell), now);
}

/* Receives of a QP in error are flushed though no message comes, and a queue that was full, or not
 * ready to send, may go on. */
static bool look_at_queues(struct vb_bell *b, vb_time now)
{
	struct vb_ring_qp *r = vb_container_of(b, struct vb_ring_qp, bell);

	if (r->rq && vb_qp_get_state(r->qp->core) == VB_QPS_ERR)
		vb_qp_fetch(r->qp->core, now);
	vb_ring_run_send(r, now);
	return r->rq && vb_qp_get_state(r->qp->core) == VB_QPS_ERR;
}

static bool sends_are_idle(const struct vb_bell *b)
{
	return vb_qp_unacked(vb_container_of(b, struct vb_ring_qp, bell)->qp->core) == 0;
}

/* The adapter has read up to there. */
static void note_seen(const struct vb_ring_qp *r)
{
	if (r->shown)
		r->shown->sq_seen = r->sq_seen;
}

static struct vb_ring_slot *slots_new(uint32_t cnt)
{
	return cnt ? calloc(cnt, sizeof(struct vb_ring_slot)) : NULL;
}

int vb_ring_qp_make(struct vb_ring_qp *r, struct vb_ibv_qp *qp)
{
	size_t rq = (size_t)r->rq_cnt * r->rq_stride, sq = (size_t)r->sq_cnt * VB_WQE_BLOCK;

	r->qp = qp;
	r->queue = (struct vb_wqe_queue){.type = vb_qp_get_type(qp->core),
					 .qpn = qp->ibv.qp_num,
					 .is_signed = getenv("MLX5_QP_SIGNATURE") != NULL};
	r->bell.rung = run_bell;
	r->bell.looked = look_at_queues;
	r->bell.is_idle = sends_are_idle;
	VB_ASSERT(r->rq_stride <= VB_RING_RECEIVE_BYTES);
	rq = (rq + VB_WQE_BLOCK - 1) & ~(size_t)(VB_WQE_BLOCK - 1);
	r->mem_size = rq + sq + VB_RECORD_BYTES;
	r->mem = vb_ring_memory_get(r->mem_size);
	r->sq_slot = slots_new(r->sq_cnt);
	r->rq_slot = slots_new(2 * r->rq_cnt);
	if (!r->mem || (r->sq_cnt && !r->sq_slot) || (r->rq_cnt && !r->rq_slot))
		return ENOMEM;
	r->rq = r->rq_cnt ? r->mem : NULL;
	r->sq = r->sq_cnt ? r->mem + rq : NULL;
	r->record = r->mem + rq + sq;
	vb_ring_scatter_plan(r, 0);
	vb_ring_source_init(r);
	vb_ring_show(r);
	return 0;
}

void vb_ring_qp_free(struct vb_ring_qp *r, struct vb_engine *e)
{
	vb_ring_hide(r);
	vb_bell_close(e, &r->bell);
	vb_ring_memory_put(r->mem, r->mem_size);
	free(r->sq_slot);
	free(r->rq_slot);
	free(r);
}

void vb_ring_qp_modified(struct vb_ring_qp *r, vb_time now)
{
	if (vb_qp_get_state(r->qp->core) != VB_QPS_RESET) {
		/* Of receives that a QP in error is to flush no doorbell may tell. */
		if (look_at_queues(&r->bell, now))
			vb_bells_wake(vb_ibv_ctx(r->qp->ibv.context)->engine);
		return;
	}
	r->sq_seen = r->rq_seen = 0;
	note_seen(r);
	if (r->shown)
		r->shown->rq_seen = 0;
	vb_record_put(r->record, VB_RECORD_RECEIVE, 0);
	vb_record_put(r->record, VB_RECORD_SEND, 0);
}

static struct vb_ring_slot *slot_of(const struct vb_ring_qp *r, uint8_t work, bool is_custom)
{
	struct vb_ring_slot *s = &r->sq_slot[r->sq_seen & (r->sq_cnt - 1)];

	s->counter = r->sq_seen;
	s->work = work;
	s->is_send = true;
	s->is_custom = is_custom;
	return s;
}

/* Where the segment of @w leads. False: nowhere. */
static bool find_path(struct vb_ring_qp *r, const struct vb_wqe_send *w, struct vb_ah *ah)
{
	struct vb_ibv_context *c = vb_ibv_ctx(r->qp->ibv.context);
	struct vb_qp_attr attr;
	struct ibv_ah_attr a = {.dlid = w->av.dlid,
				.sl = w->av.sl,
				.src_path_bits = w->av.path_bits,
				.static_rate = w->av.rate,
				.is_global = w->av.grh || !vb_ibv_is_ib(c),
				.grh = {.flow_label = w->av.flow_label,
					.sgid_index = w->av.sgid_index,
					.hop_limit = w->av.hop_limit,
					.traffic_class = w->av.traffic_class}};

	vb_qp_query(r->qp->core, &attr);
	/* The priority of Ethernet is in the upper three bits. */
	if (!vb_ibv_is_ib(c))
		a.sl = w->av.sl >> 1;
	a.port_num = (uint8_t)(attr.port - c->port + VB_IBV_PORT);
	memcpy(a.grh.dgid.raw, w->av.dgid.b, sizeof a.grh.dgid.raw);
	if (vb_ibv_path(c, &a, &ah->path))
		return false;
	ah->kbps = vb_ibv_path_kbps(c, &a);
	ah->pd = ((struct vb_ibv_pd *)r->qp->ibv.pd)->core;
	ah->path.udp_sport = vb_udp_sport(ah->path.flow_label, r->queue.qpn, w->wr.dqpn);
	return true;
}

struct vb_av vb_ring_av(struct vb_ibv_context *c, const struct vb_path *path)
{
	uint32_t port = (uint32_t)path->port - c->port + VB_IBV_PORT;
	bool is_ib = vb_ibv_is_ib(c);
	struct vb_av av = {.extended = true,
			   .dlid = is_ib ? path->dlid : path->udp_sport,
			   .sl = is_ib ? path->sl : (uint8_t)((path->sl & 7) << 1),
			   .grh = is_ib && vb_path_has_grh(path),
			   .flow_label = path->flow_label,
			   .traffic_class = path->traffic_class,
			   .hop_limit = path->hop_limit,
			   .dgid = path->dgid};

	for (uint32_t i = 0; i < c->gid_cnt && i < 256; i++) {
		const struct vb_gid *gid = vb_ibv_gid(c, port, i);

		if (gid && vb_gid_eq(gid, &path->sgid)) {
			av.sgid_index = (uint8_t)i;
			break;
		}
	}
	return av;
}

/* One that is no good takes its turn and fails, by what hardware says of such a WQE. */
static int post_bad(struct vb_ring_qp *r, struct vb_wqe_send *w, bool is_custom, vb_time now)
{
	struct vb_send_wr wr = {.wr_id = (uintptr_t)slot_of(r, w->opcode, is_custom),
				.opcode = VB_WR_SEND,
				.dc_stream = w->wr.dc_stream};

	return vb_qp_post_failed(r->qp->core, &wr, VB_WC_LOC_QP_OP_ERR, now);
}

/* The WQE at sq_seen, of which @pending blocks are posted. 0: it was taken; -ENOMEM, -EINVAL: not
 * now. */
static int take_wqe(struct vb_ring_qp *r, uint32_t pending, bool is_custom, vb_time now)
{
	uint8_t copy[VB_WQE_BYTES_MAX];
	struct vb_wqe_send w;
	struct vb_ah ah;
	uint32_t blocks;
	bool is_bad;
	int err = 0;

	vb_ring_copy_blocks(r, r->sq_seen, 1, copy);
	blocks = vb_wqe_blocks(copy);
	/* Longer than what is posted, or than the queue: this is no WQE of the program. */
	if (blocks > pending || blocks > r->sq_cnt)
		blocks = 1;
	vb_ring_copy_blocks(r, (uint16_t)(r->sq_seen + 1), blocks - 1, copy + VB_WQE_BLOCK);
	is_bad = !vb_wqe_read(&r->queue, copy, blocks, r->sq_seen, &w) ||
		 (w.has_av && !find_path(r, &w, &ah));
	if (!is_bad) {
		if (w.has_av)
			w.wr.ah = &ah;
		w.wr.wr_id = (uintptr_t)slot_of(r, w.opcode, is_custom);
		err = vb_qp_post_send(r->qp->core, &w.wr, now);
		is_bad = err == -EINVAL;
	}
	if (is_bad)
		err = post_bad(r, &w, is_custom, now);
	if (!err)
		r->sq_seen = (uint16_t)(r->sq_seen + blocks);
	return err;
}

static bool may_send(const struct vb_ring_qp *r)
{
	enum vb_qp_state s = vb_qp_get_state(r->qp->core);

	return s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE || s == VB_QPS_ERR;
}

void vb_ring_run_send(struct vb_ring_qp *r, vb_time now)
{
	uint16_t posted;
	bool any = false;

	if (!r->sq || !may_send(r))
		return;
	posted = (uint16_t)vb_record_get(r->record, VB_RECORD_SEND);
	while (r->sq_seen != posted) {
		uint32_t pending = (uint16_t)(posted - r->sq_seen);

		if (pending > r->sq_cnt) {
			/* Further than the queue is long: nobody can say what was meant. */
			struct vb_wqe_send w = {.fault = VB_WQE_FAULT_RING};

			if (post_bad(r, &w, false, now))
				break;
			any = true;
			r->sq_seen = posted;
			break;
		}
		if (take_wqe(r, pending, false, now))
			break;
		any = true;
	}
	note_seen(r);
	if (any)
		vb_engine_doorbell(vb_ibv_ctx(r->qp->ibv.context)->engine, r->qp->core, now);
}

uint32_t vb_ring_send_room(const struct vb_ring_qp *r)
{
	uint32_t queued = r->wr_deep - vb_qp_send_room(r->qp->core);

	return queued < r->wr_max ? r->wr_max - queued : 0;
}

int vb_ring_check_send(const struct vb_ring_qp *r, const struct vb_send_wr *wr)
{
	uint64_t length = 0;

	if (wr->sge_cnt > r->cap.max_send_sge)
		return -VB_IBV_WHY(EINVAL, "num_sge %u is larger than the %u of the queue",
				   wr->sge_cnt, r->cap.max_send_sge);
	for (uint32_t i = 0; i < wr->sge_cnt; i++)
		length += wr->sge[i].length;
	if (wr->flags & VB_SEND_INLINE && length > r->cap.max_inline_data)
		return -VB_IBV_WHY(
		    EINVAL, "IBV_SEND_INLINE of %" PRIu64 " bytes, and max_inline_data is %u",
		    length, r->cap.max_inline_data);
	return 0;
}

/* Writes a WQE to where the next one is read. */
static void put_blocks(const struct vb_ring_qp *r, const uint8_t *wqe, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		memcpy(r->sq + (size_t)((r->sq_seen + i) & (r->sq_cnt - 1)) * VB_WQE_BLOCK,
		       wqe + (size_t)i * VB_WQE_BLOCK, VB_WQE_BLOCK);
}

int vb_ring_post_send(struct vb_ring_qp *r, const struct vb_send_wr *wr, vb_time now)
{
	uint8_t bytes[VB_WQE_BYTES_MAX];
	struct vb_send_wr mine = *wr;
	struct vb_ring_slot *slot;
	uint32_t blocks;
	struct vb_av av;
	int err;

	if (!r->sq)
		return vb_qp_post_send(r->qp->core, wr, now);
	/* Before it comes what was written before it. */
	vb_ring_run_send(r, now);
	err = vb_qp_send_check(r->qp->core, wr);
	if (err)
		return err;
	if (vb_ring_send_room(r) == 0)
		return -ENOMEM;
	if (r->sig_all)
		mine.flags |= VB_SEND_SIGNALED;
	slot = slot_of(r, 0, false);
	mine.wr_id = (uintptr_t)slot;
	err = vb_qp_post_send(r->qp->core, &mine, now);
	if (err)
		return err;
	slot->wr_id = wr->wr_id;
	mine.wr_id = wr->wr_id;
	if (wr->ah)
		av = vb_ring_av(vb_ibv_ctx(r->qp->ibv.context), &wr->ah->path);
	blocks = vb_wqe_write(&r->queue, &mine, wr->ah ? &av : NULL, r->sq_seen, bytes);
	if (blocks == 0 || blocks > r->sq_cnt)
		blocks = 1;
	slot->work = (uint8_t)vb_wqe_get(bytes, VB_CTRL_OPCODE);
	put_blocks(r, bytes, blocks);
	r->sq_seen = (uint16_t)(r->sq_seen + blocks);
	vb_record_put(r->record, VB_RECORD_SEND, r->sq_seen);
	note_seen(r);
	return 0;
}

int vb_ring_check_custom(const struct vb_ring_qp *r, const uint8_t *wqe)
{
	uint32_t blocks = vb_wqe_blocks(wqe);

	if (blocks > r->sq_cnt)
		return -VB_IBV_WHY(EINVAL, "the WQE has %u blocks of 64 bytes, and the queue %u",
				   blocks, r->sq_cnt);
	return 0;
}

int vb_ring_post_custom(struct vb_ring_qp *r, const uint8_t *wqe, uint64_t wr_id, vb_time now)
{
	uint32_t blocks = vb_wqe_blocks(wqe);
	uint32_t len = (uint32_t)vb_wqe_get(wqe, VB_CTRL_DS) * VB_WQE_UNIT;
	uint8_t bytes[VB_WQE_BYTES_MAX] = {0};
	int err;

	vb_ring_run_send(r, now);
	if (vb_ring_send_room(r) == 0)
		return -ENOMEM;
	/* Of one with a wrong DS there is nothing behind its block. */
	if (len > blocks * VB_WQE_BLOCK)
		len = blocks * VB_WQE_BLOCK;
	memcpy(bytes, wqe, len);
	vb_wqe_put(bytes, VB_CTRL_INDEX, r->sq_seen);
	vb_wqe_put(bytes, VB_CTRL_QPN, r->queue.qpn);
	vb_wqe_put(bytes, VB_CTRL_SIGNATURE, 0);
	if (r->queue.is_signed)
		vb_wqe_put(bytes, VB_CTRL_SIGNATURE, vb_wqe_signature(bytes, len));
	put_blocks(r, bytes, blocks);
	r->sq_slot[r->sq_seen & (r->sq_cnt - 1)].wr_id = wr_id;
	err = take_wqe(r, blocks, true, now);
	if (err)
		return err;
	vb_record_put(r->record, VB_RECORD_SEND, r->sq_seen);
	note_seen(r);
	return 0;
}
