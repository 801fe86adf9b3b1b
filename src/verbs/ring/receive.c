/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues and shared receive queues in a program's memory. Nothing rings for a receive: the
 * adapter looks at the doorbell record when it needs one, as hardware does. IBT-43
 */
#include "verbs/ring/ring.h"

#include <stdlib.h>
#include <string.h>

static struct vb_ring_slot *receive_slot(struct vb_ring_qp *r)
{
	struct vb_ring_slot *s = &r->rq_slot[r->rq_seen & (2 * r->rq_cnt - 1)];

	s->counter = r->rq_seen;
	s->is_datagram = r->queue.type == VB_QPT_UD;
	return s;
}

uint8_t *vb_ring_receive_wqe(const struct vb_ring_qp *r, uint32_t index)
{
	return r->rq + (size_t)(index & (r->rq_cnt - 1)) * r->rq_stride;
}

static void fetch_receives(struct vb_rq_source *s, struct vb_rq *rq)
{
	struct vb_ring_qp *r = vb_container_of(s, struct vb_ring_qp, source);
	uint16_t posted = (uint16_t)vb_record_get(r->record, VB_RECORD_RECEIVE);
	struct vb_sge sge[VB_RING_SGES];
	uint8_t copy[VB_RING_RECEIVE_BYTES];

	/* More than the queue holds: the oldest are overwritten, and what is there is taken. */
	while (r->rq_seen != posted) {
		struct vb_recv_wr wr = {.wr_id = (uintptr_t)receive_slot(r), .sge = sge};

		memcpy(copy, vb_ring_receive_wqe(r, r->rq_seen), r->rq_stride);
		wr.sge_cnt = vb_wqe_read_receive(copy, r->rq_stride, sge, r->rq_sges);
		if (!vb_rq_fetched(rq, &wr))
			break;
		r->rq_seen++;
	}
	if (r->shown)
		r->shown->rq_seen = r->rq_seen;
}

void vb_ring_source_init(struct vb_ring_qp *r)
{
	r->source.fetch = fetch_receives;
	if (r->rq)
		vb_qp_set_source(r->qp->core, &r->source);
}

int vb_ring_post_recv(struct vb_ring_qp *r, const struct vb_recv_wr *wr, vb_time now)
{
	struct vb_recv_wr mine = *wr;
	struct vb_ring_slot *slot;
	int err;

	vb_qp_fetch(r->qp->core, now);
	slot = receive_slot(r);
	slot->wr_id = wr->wr_id;
	mine.wr_id = (uintptr_t)slot;
	err = vb_qp_post_recv(r->qp->core, &mine, now);
	if (err)
		return err;
	vb_wqe_write_receive(vb_ring_receive_wqe(r, r->rq_seen), r->rq_stride, wr->sge,
			     wr->sge_cnt);
	r->rq_seen++;
	vb_record_put(r->record, VB_RECORD_RECEIVE, r->rq_seen);
	if (r->shown)
		r->shown->rq_seen = r->rq_seen;
	return 0;
}

uint8_t *vb_ring_srq_wqe(const struct vb_ring_srq *r, uint32_t index)
{
	return r->mem + (size_t)(index & (r->cnt - 1)) * r->stride;
}

static struct vb_ring_slot *srq_slot(struct vb_ring_srq *r, uint32_t index)
{
	struct vb_ring_slot *s = &r->slot[index & (r->cnt - 1)];

	s->counter = (uint16_t)(index & (r->cnt - 1));
	s->srq = r;
	return s;
}

/* A list that leads out of the SRQ, or is longer than it, is none: so hardware tells of a
 * catastrophic error of the SRQ. */
static void fetch_shared(struct vb_rq_source *s, struct vb_rq *rq)
{
	struct vb_ring_srq *r = vb_container_of(s, struct vb_ring_srq, source);
	uint16_t posted = (uint16_t)vb_record_get(r->record, 0);
	struct vb_sge sge[VB_RING_SGES];
	uint8_t copy[VB_RING_RECEIVE_BYTES];

	if ((uint16_t)(posted - r->seen) > r->cnt) {
		vb_srq_fail(r->srq->core);
		return;
	}
	while (r->seen != posted) {
		struct vb_recv_wr wr = {.wr_id = (uintptr_t)srq_slot(r, r->next), .sge = sge};
		uint32_t next;

		memcpy(copy, vb_ring_srq_wqe(r, r->next), r->stride);
		wr.sge_cnt = vb_wqe_read_receive(copy + VB_NEXT_BYTES, r->stride - VB_NEXT_BYTES,
						 sge, VB_RING_SGES);
		if (!vb_rq_fetched(rq, &wr))
			break;
		next = (uint32_t)vb_wqe_get(copy, VB_NEXT_INDEX);
		r->next = next & (r->cnt - 1);
		r->seen++;
		if (next != r->next) {
			vb_srq_fail(r->srq->core);
			return;
		}
	}
}

int vb_ring_srq_make(struct vb_ibv_srq *srq, uint32_t sge_max)
{
	struct vb_ring_srq *r = calloc(1, sizeof *r);
	uint32_t wr_max, sges, limit;

	if (!r)
		return ENOMEM;
	srq->hw = r;
	vb_srq_query(srq->core, &wr_max, &sges, &limit);
	r->srq = srq;
	r->cnt = vb_ring_pow2(wr_max + 1);
	r->stride = vb_ring_pow2(VB_NEXT_BYTES + (sge_max ? sge_max : 1) * VB_DATA_BYTES);
	r->mem_size = (size_t)r->cnt * r->stride + VB_RECORD_BYTES;
	r->mem = vb_ring_memory_get(r->mem_size);
	r->slot = calloc(r->cnt, sizeof *r->slot);
	if (!r->mem || !r->slot || r->stride > VB_RING_RECEIVE_BYTES)
		return ENOMEM;
	r->record = r->mem + (size_t)r->cnt * r->stride;
	r->tail = r->cnt - 1;
	for (uint32_t i = 0; i < r->cnt; i++)
		vb_wqe_put(vb_ring_srq_wqe(r, i), VB_NEXT_INDEX, (i + 1) & (r->cnt - 1));
	r->source.fetch = fetch_shared;
	vb_srq_set_source(srq->core, &r->source);
	return 0;
}

void vb_ring_srq_free(struct vb_ring_srq *r)
{
	if (!r)
		return;
	vb_ring_memory_put(r->mem, r->mem_size);
	free(r->slot);
	free(r);
}

int vb_ring_post_srq(struct vb_ring_srq *r, const struct vb_recv_wr *wr)
{
	struct vb_recv_wr mine = *wr;
	uint32_t index = r->head;
	struct vb_ring_slot *slot = srq_slot(r, index);
	int err;

	if (r->head == r->tail)
		return -ENOMEM;
	mine.wr_id = (uintptr_t)slot;
	err = vb_srq_post(r->srq->core, &mine);
	if (err)
		return err;
	slot->wr_id = wr->wr_id;
	vb_wqe_write_receive(vb_ring_srq_wqe(r, index) + VB_NEXT_BYTES, r->stride - VB_NEXT_BYTES,
			     wr->sge, wr->sge_cnt);
	r->next = r->head =
	    (uint32_t)vb_wqe_get(vb_ring_srq_wqe(r, index), VB_NEXT_INDEX) & (r->cnt - 1);
	r->seen++;
	vb_record_put(r->record, 0, r->seen);
	return 0;
}

void vb_ring_srq_put(struct vb_ring_srq *r, uint16_t index)
{
	if (r->is_raw)
		return;
	vb_wqe_put(vb_ring_srq_wqe(r, r->tail), VB_NEXT_INDEX, index);
	r->tail = index;
}
