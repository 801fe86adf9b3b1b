/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: posting. A WQE gets its PSNs, its place in the window and its receive credits
 * when it is posted, so that everything sent later is computed from it. IBA 10.8.2.4, 11.4.1.1
 */
#include "base/assert.h"
#include "core/dc/dc.h"
#include "core/obj/mem.h"
#include "core/sched/sched.h"

#include <errno.h>
#include <string.h>

int vb_sq_init(struct vb_qp *qp, const struct vb_qp_cap *cap)
{
	struct vb_sq *sq = &qp->sq;
	size_t data = cap->max_send_sge * sizeof(struct vb_sge);
	if (data < cap->max_inline_data)
		data = (cap->max_inline_data + 7u) & ~(size_t)7;
	sq->stride = sizeof(struct vb_swqe) + qp->ops->dest_bytes + data;
	sq->wr_max = cap->max_send_wr;
	sq->sge_max = cap->max_send_sge;
	sq->inline_max = cap->max_inline_data;
	if (sq->wr_max == 0)
		return 0;

	uint32_t size = vb_round_up_pow2(sq->wr_max);

	sq->mask = size - 1;
	sq->slots = vb_alloc(qp->hca, size * sq->stride);
	return sq->slots ? 0 : -ENOMEM;
}

void vb_sq_free(struct vb_qp *qp)
{
	if (!qp->sq.is_placed)
		vb_free(qp->hca, qp->sq.slots);
	qp->sq.slots = NULL;
	qp->sq.is_placed = false;
}

static size_t sq_ring_size(const struct vb_sq *sq)
{
	size_t size = sq->slots ? ((size_t)sq->mask + 1) * sq->stride : 0;

	return (size + 63) & ~(size_t)63; /* the next queue begins behind it */
}

size_t vb_qp_ring_size(const struct vb_qp *qp)
{
	size_t size = vb_rq_ring_size(&qp->rq);
	const struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		size += sq_ring_size(&channel->sq);
	return size;
}

void vb_qp_place_ring(struct vb_qp *qp, void *mem)
{
	uint8_t *to = mem;
	struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		struct vb_sq *sq = &channel->sq;

		if (!sq->slots)
			continue;
		memcpy(to, sq->slots, ((size_t)sq->mask + 1) * sq->stride);
		vb_sq_free(channel);
		sq->slots = to;
		sq->is_placed = true;
		to += sq_ring_size(sq);
	}
	vb_rq_place_ring(qp->hca, &qp->rq, to);
}

/* The row for the opcode of a work request that has passed vb_qp_send_check(). */
static const struct vb_work *work_of(const struct vb_send_wr *wr)
{
	return &vb_work[wr->opcode];
}

static uint64_t wr_length(const struct vb_send_wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->sge_cnt; i++)
		length += wr->sge[i].length;
	return length;
}

/* The errors that can be found without looking at the queue. IBA 11.4.1.1 immediate errors */
int vb_qp_send_check(const struct vb_qp *qp, const struct vb_send_wr *wr)
{
	struct vb_hca *h = qp->hca;

	/* Before the list is read: a count too large is the caller's mistake, not its list's
	 * length.
	 */
	if (wr->sge_cnt > qp->sq.sge_max)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_SGES, .value = wr->sge_cnt,
				 .bound = qp->sq.sge_max);
	switch (qp->state) {
	case VB_QPS_RTS:
	case VB_QPS_SQD:
	case VB_QPS_SQE:
	case VB_QPS_ERR:
		break;
	default: /* IBT-30 */
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_STATE, .value = qp->state);
	}
	if ((uint32_t)wr->opcode >= VB_WR_CNT || !(work_of(wr)->on & qp->ops->work_on))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_OPCODE, .value = wr->opcode);
	if (wr->flags & VB_SEND_INLINE) {
		if (!(work_of(wr)->traits & VB_WORK_INLINE))
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_NOT_INLINE, .value = wr->opcode);
		if (wr_length(wr) > qp->sq.inline_max)
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_INLINE, .value = wr_length(wr),
					 .bound = qp->sq.inline_max);
	}
	if (!qp->ops->is_connected && !wr->ah && !(work_of(wr)->traits & VB_WORK_LOCAL))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_NO_AH);
	if (work_of(wr)->traits & VB_WORK_NO_SGES && wr->sge_cnt)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_FLUSH, .value = wr->sge_cnt);
	return 0;
}

/* An error that shows only as a completion, or SUCCESS. */
static enum vb_wc_status wr_status(const struct vb_qp *qp, const struct vb_send_wr *wr,
				   uint64_t length)
{
	if (qp->ops->req && qp->ops->req->is_bad(qp, wr->dc_stream))
		return VB_WC_WR_FLUSH_ERR;
	if (work_of(wr)->traits & VB_WORK_LOCAL)
		return VB_WC_SUCCESS;
	if (!qp->ops->is_connected && wr->ah->pd != qp->pd)
		return VB_WC_LOC_QP_OP_ERR;
	/* IBA 9.4.5, 11.6.2, A19.4.2 */
	if (work_of(wr)->traits & VB_WORK_OF_8_BYTES)
		return length != 8 ? VB_WC_LOC_LEN_ERR : VB_WC_SUCCESS;
	if (length > qp->hca->cfg.limits.msg_size)
		return VB_WC_LOC_LEN_ERR; /* C9-94 */
	if (!qp->ops->is_connected && !qp->ops->is_acked && length > qp->mtu)
		return VB_WC_LOC_LEN_ERR; /* C10-93.1.1 */
	return VB_WC_SUCCESS;
}

/* Where a work request goes that names its destination itself. */
static void dest_fill(struct vb_qp *qp, struct vb_swqe *w, const struct vb_send_wr *wr)
{
	static const struct vb_ah nowhere;
	const struct vb_ah *ah = wr->ah ? wr->ah : &nowhere; /* one that fails anyway has none */
	struct vb_ud_dest *to = vb_swqe_put_dest(w);
	/* A Q_Key with its top bit set stands for the QP's own. IBA 10.2.5 */
	uint32_t qkey = wr->qkey & 0x80000000u ? qp->attr.qkey : wr->qkey;

	*to = (struct vb_ud_dest){
	    .path = ah->path, .dqpn = wr->dqpn & 0xffffff, .qkey = qkey, .kbps = ah->kbps};
	if (wr->ah)
		vb_egress_find_home(qp->hca, &to->path);
	qp->pace.of_each |= ah->kbps != 0;
	if (qp->dci) {
		struct vb_dc_dest *dest = vb_swqe_put_dest(w);

		dest->key = wr->dc_key;
		dest->stream = qp->dci->streams ? wr->dc_stream : 0;
		dest->nr = 0;
	}
}

static void wqe_fill(struct vb_qp *qp, struct vb_swqe *w, const struct vb_send_wr *wr)
{
	w->wr_id = wr->wr_id;
	w->remote_addr = wr->remote_addr;
	w->rkey = wr->rkey;
	w->compare_add = wr->compare_add;
	w->swap = wr->swap;
	w->traits = work_of(wr)->traits;
	w->imm = w->traits & VB_WORK_INVALIDATES ? wr->inv_rkey : wr->imm;
	if (wr->opcode == VB_WR_FLUSH) {
		w->imm = wr->flush;
		w->compare_add = wr->flush_len;
	}
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)(wr->flags & (VB_SEND_FENCE | VB_SEND_SIGNALED | VB_SEND_SOLICITED |
					  VB_SEND_INLINE));
	if (qp->sq_sig_all)
		w->flags |= VB_SEND_SIGNALED;
	if (!qp->ops->is_connected) {
		dest_fill(qp, w, wr);
	} else if (qp->type == VB_QPT_XRC_INI) {
		*(struct vb_xrc_dest *)vb_swqe_put_dest(w) = (struct vb_xrc_dest){.srqn = wr->srqn};
	}

	uint8_t *data = (uint8_t *)(uintptr_t)vb_swqe_data(qp, w);

	if (w->flags & VB_SEND_INLINE) {
		w->sge_cnt = 0;
		for (uint32_t i = 0; i < wr->sge_cnt; i++) {
			if (wr->sge[i].length)
				memcpy(data, (const void *)(uintptr_t)wr->sge[i].addr,
				       wr->sge[i].length);
			data += wr->sge[i].length;
		}
		VB_ASSERT_ALL(data - vb_swqe_data(qp, w) <= (int64_t)qp->sq.inline_max);
	} else {
		w->sge_cnt = (uint16_t)wr->sge_cnt;
		if (wr->sge_cnt)
			memcpy(data, wr->sge, wr->sge_cnt * sizeof *wr->sge);
	}
}

/*
 * The value of an ATOMIC WRITE is fetched when it is posted and is in the WQE from then on: asking
 * for its answer again cannot fail.
 */
static void fetch_value(struct vb_qp *qp, struct vb_swqe *w, const struct vb_send_wr *wr)
{
	uint8_t *to = (uint8_t *)(uintptr_t)vb_swqe_data(qp, w), value[8] = {0};
	struct vb_seg seg[sizeof value];
	int cnt;

	if (!(w->traits & VB_WORK_FETCHED) || w->flags & VB_SEND_INLINE || w->status)
		return;
	cnt = vb_mem_gather(qp->pd, wr->sge, wr->sge_cnt, 0, sizeof value, 0, seg, sizeof value);
	if (cnt < 0) {
		w->status = VB_WC_LOC_PROT_ERR;
		return;
	}
	for (int i = 0, off = 0; i < cnt; off += (int)seg[i++].len) {
		if (seg[i].p)
			memcpy(value + off, seg[i].p, seg[i].len);
	}
	memcpy(to, value, sizeof value);
	w->flags |= VB_SEND_INLINE;
	w->sge_cnt = 0;
}

/* Gives the WQE its PSNs and its place in window and credits. */
static void wqe_place(struct vb_qp *qp, struct vb_swqe *w, uint32_t length)
{
	struct vb_requester *req = &qp->req;

	w->length = length;
	w->pkts = length <= qp->mtu ? 1 : (uint32_t)(((uint64_t)length + qp->mtu - 1) / qp->mtu);
	if (vb_swqe_is_local(w) || w->status != VB_WC_SUCCESS)
		w->pkts = 0;
	VB_ASSERT_ALL(w->pkts <= VB_PSN_HALF);
	w->first = req->psn_post;
	w->charge = req->charge_post;
	if (vb_swqe_takes_recv(w))
		req->rsn_post++;
	w->rsn = req->rsn_post;
	req->psn_post = vb_psn_add(req->psn_post, w->pkts);
	if (w->pkts)
		req->charge_post += length + (uint64_t)w->pkts * VB_PACKET_OVERHEAD;
}

/* Takes @wr, which was checked, or is bound to fail with @status. There is room. */
static void sq_add(struct vb_qp *qp, const struct vb_send_wr *wr, enum vb_wc_status status,
		   vb_time now)
{
	const struct vb_req_hooks *hooks = qp->ops->req;
	struct vb_qp *channel = hooks ? hooks->choose(qp, wr->dc_stream) : qp;
	struct vb_sq *sq = &channel->sq;
	struct vb_swqe *w = vb_sq_at(sq, sq->tail);
	uint64_t length = wr_length(wr);

	VB_ASSERT(sq->tail - sq->head <= sq->mask);
	w->status = (uint8_t)(status ? status : wr_status(channel, wr, length));
	wqe_fill(channel, w, wr);
	fetch_value(channel, w, wr);
	wqe_place(channel, w, w->status == VB_WC_SUCCESS ? (uint32_t)length : 0);
	sq->tail++;
	if (hooks)
		hooks->posted(channel, w);
	if (qp->state == VB_QPS_ERR)
		vb_qp_enter_err(qp, now);
	else if (qp->state == VB_QPS_SQE)
		vb_qp_enter_sqe(qp, now);
	else
		vb_sched_activate(channel);
}

int vb_qp_post_send(struct vb_qp *qp, const struct vb_send_wr *wr, vb_time now)
{
	int err = vb_qp_send_check(qp, wr);

	if (err)
		return err;
	if (vb_qp_send_room(qp) == 0)
		return -ENOMEM;
	sq_add(qp, wr, VB_WC_SUCCESS, now);
	return 0;
}

int vb_qp_post_failed(struct vb_qp *qp, const struct vb_send_wr *wr, enum vb_wc_status status,
		      vb_time now)
{
	const struct vb_send_wr bare = {
	    .wr_id = wr->wr_id, .opcode = wr->opcode, .dc_stream = wr->dc_stream};
	int err = vb_qp_send_check(
	    qp, &(struct vb_send_wr){.opcode = VB_WR_SEND, .ah = &(struct vb_ah){.pd = qp->pd}});

	VB_ASSERT(status != VB_WC_SUCCESS);
	if (err)
		return err;
	if (vb_qp_send_room(qp) == 0)
		return -ENOMEM;
	sq_add(qp, &bare, status, now);
	return 0;
}

uint32_t vb_qp_send_room(const struct vb_qp *qp)
{
	uint32_t room = qp->sq.wr_max;
	const struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		room -= channel->sq.tail - channel->sq.head;
	VB_ASSERT_ALL(room <= qp->sq.wr_max); /* the channels have no more than one queue has */
	return room;
}
