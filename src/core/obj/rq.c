/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive WQEs: the ring behind a QP's own receive queue and behind an SRQ, and shared receive
 * queues themselves. A WQE is copied to the QP when a message takes it, so that an SRQ's slot is
 * free again while the message arrives. IBA 10.2.9
 */
#include "base/assert.h"
#include "core/obj/pd.h"
#include "core/qp/qp.h"
#include "core/xrc/xrc.h"

#include <errno.h>
#include <string.h>

int vb_rq_init(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max, uint32_t sge_max)
{
	uint32_t size = vb_round_up_pow2(wr_max);

	VB_ASSERT(sge_max <= UINT16_MAX);
	rq->stride = (uint32_t)(sizeof(struct vb_rwqe) + sge_max * sizeof(struct vb_sge));
	rq->wr_max = wr_max;
	rq->sge_max = (uint16_t)sge_max;
	rq->mask = size - 1;
	rq->head = rq->tail = 0;
	rq->slots = NULL;
	rq->is_placed = false;
	rq->source = NULL;
	if (wr_max == 0)
		return 0;
	rq->slots = vb_alloc(h, size * rq->stride);
	return rq->slots ? 0 : -ENOMEM;
}

void vb_rq_free(struct vb_hca *h, struct vb_rq *rq)
{
	if (!rq->is_placed)
		vb_free(h, rq->slots);
	rq->slots = NULL;
	rq->is_placed = false;
}

size_t vb_rq_ring_size(const struct vb_rq *rq)
{
	return rq->slots ? ((size_t)rq->mask + 1) * rq->stride : 0;
}

void vb_rq_place_ring(struct vb_hca *h, struct vb_rq *rq, void *mem)
{
	if (!rq->slots)
		return;
	memcpy(mem, rq->slots, vb_rq_ring_size(rq));
	vb_rq_free(h, rq);
	rq->slots = mem;
	rq->is_placed = true;
}

static struct vb_rwqe *rq_at(const struct vb_rq *rq, uint32_t idx)
{
	return (struct vb_rwqe *)(rq->slots + (size_t)(idx & rq->mask) * rq->stride);
}

int vb_rq_post(struct vb_rq *rq, const struct vb_recv_wr *wr)
{
	if (wr->sge_cnt > rq->sge_max)
		return -EINVAL;
	if (vb_rq_cnt(rq) >= rq->wr_max)
		return -ENOMEM;

	struct vb_rwqe *w = rq_at(rq, rq->tail);

	VB_ASSERT_ALL(rq->slots && rq->wr_max <= rq->mask + 1);
	w->wr_id = wr->wr_id;
	w->sge_cnt = wr->sge_cnt;
	w->length = 0;
	for (uint32_t i = 0; i < wr->sge_cnt; i++) {
		w->sge[i] = wr->sge[i];
		w->length += wr->sge[i].length;
	}
	rq->tail++;
	return 0;
}

int vb_rq_resize(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max)
{
	uint32_t cnt = vb_rq_cnt(rq);
	struct vb_rq next;

	if (wr_max < cnt)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_USED, .value = wr_max, .bound = cnt);

	int err = vb_rq_init(h, &next, wr_max, rq->sge_max);

	if (err)
		return err;
	for (uint32_t i = 0; i < cnt; i++)
		memcpy(rq_at(&next, i), rq_at(rq, rq->head + i), rq->stride);
	next.tail = cnt;
	next.source = rq->source;
	vb_rq_free(h, rq);
	*rq = next;
	return 0;
}

void vb_rq_refill(struct vb_rq *rq)
{
	if (rq->source)
		rq->source->fetch(rq->source, rq);
}

bool vb_rq_fetched(struct vb_rq *rq, const struct vb_recv_wr *wr)
{
	return vb_rq_post(rq, wr) == 0;
}

void vb_srq_set_source(struct vb_srq *srq, struct vb_rq_source *s)
{
	srq->rq.source = s;
}

void vb_srq_fail(struct vb_srq *srq)
{
	if (srq->has_failed)
		return;
	srq->has_failed = true;
	srq->rq.source = NULL;
	vb_event_raise_async(srq->pd->hca, &srq->ev, VB_ASYNC_SRQ_ERR);
}

struct vb_rwqe *vb_rq_peek(struct vb_rq *rq)
{
	vb_rq_refill(rq);
	return vb_rq_cnt(rq) ? rq_at(rq, rq->head) : NULL;
}

void vb_rq_consume(struct vb_hca *h, struct vb_rq *rq, struct vb_srq *srq)
{
	VB_ASSERT(vb_rq_cnt(rq) > 0);
	rq->head++;
	if (srq && srq->limit && vb_rq_cnt(rq) < srq->limit) {
		srq->limit = 0; /* one event for each time it is armed */
		vb_event_raise_async(h, &srq->ev, VB_ASYNC_SRQ_LIMIT_REACHED);
	}
}

int vb_srq_create(struct vb_pd *pd, uint32_t wr_max, uint32_t sge_max, uint32_t limit, void *owner,
		  struct vb_srq **out)
{
	struct vb_hca *h = pd->hca;

	h->refusal.rule = VB_REFUSAL_NONE;
	if (wr_max == 0 || wr_max > h->cfg.limits.srq_wr)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_WR, .value = wr_max,
				 .bound = h->cfg.limits.srq_wr);
	if (sge_max > h->cfg.limits.sge)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_CAP, .name = "attr.max_sge",
				 .value = sge_max, .bound = h->cfg.limits.sge);
	if (limit > wr_max)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_CAP, .name = "attr.srq_limit",
				 .value = limit, .bound = wr_max);
	if (h->srq_cnt >= h->cfg.limits.srq)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "SRQs",
				 .bound = h->cfg.limits.srq);

	struct vb_srq *srq = vb_alloc(h, sizeof *srq);

	if (!srq)
		return -ENOMEM;

	int err = vb_rq_init(h, &srq->rq, wr_max, sge_max ? sge_max : 1);

	if (err) {
		vb_free(h, srq);
		return err;
	}
	srq->pd = pd;
	srq->limit = limit;
	srq->number = ++h->number_next;
	vb_event_source_init(&srq->ev, VB_EVENT_ASYNC_SRQ, owner);
	pd->refs++;
	h->srq_cnt++;
	vb_list_append(&h->srqs, &srq->link);
	*out = srq;
	return 0;
}

int vb_srq_set_limit(struct vb_srq *srq, uint32_t limit)
{
	if (limit > srq->rq.wr_max)
		return -EINVAL;
	srq->limit = limit;
	return 0;
}

int vb_srq_resize(struct vb_srq *srq, uint32_t wr_max)
{
	struct vb_hca *h = srq->pd->hca;

	h->refusal.rule = VB_REFUSAL_NONE;
	if (wr_max == 0 || wr_max > h->cfg.limits.srq_wr)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_WR, .value = wr_max,
				 .bound = h->cfg.limits.srq_wr);
	if (wr_max < srq->limit)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SRQ_CAP, .name = "attr.srq_limit",
				 .value = srq->limit, .bound = wr_max);
	return vb_rq_resize(h, &srq->rq, wr_max);
}

void vb_srq_query(const struct vb_srq *srq, uint32_t *wr_max, uint32_t *sge_max, uint32_t *limit)
{
	*wr_max = srq->rq.wr_max;
	*sge_max = srq->rq.sge_max;
	*limit = srq->limit;
}

int vb_srq_destroy(struct vb_srq *srq)
{
	struct vb_hca *h = srq->pd->hca;

	if (srq->refs)
		return -EBUSY;
	VB_ASSERT_ALL(h->srq_cnt > 0 && srq->pd->refs > 0);
	if (srq->on_destroy)
		srq->on_destroy(srq);
	vb_list_remove(&srq->ev.link);
	vb_list_remove(&srq->link);
	srq->pd->refs--;
	h->srq_cnt--;
	vb_rq_free(h, &srq->rq);
	vb_free(h, srq);
	return 0;
}

int vb_srq_post(struct vb_srq *srq, const struct vb_recv_wr *wr)
{
	if (srq->has_failed)
		return VB_REFUSE(srq->pd->hca, -EINVAL, VB_REFUSAL_SRQ_FAILED);

	int err = vb_rq_post(&srq->rq, wr);

	return err == -EINVAL ? VB_REFUSE(srq->pd->hca, err, VB_REFUSAL_WR_SGES,
					  .value = wr->sge_cnt, .bound = srq->rq.sge_max)
			      : err;
}

size_t vb_srq_ring_size(const struct vb_srq *srq)
{
	return vb_rq_ring_size(&srq->rq);
}

void vb_srq_place_ring(struct vb_srq *srq, void *mem)
{
	vb_rq_place_ring(srq->pd->hca, &srq->rq, mem);
}

uint32_t vb_srq_number(const struct vb_srq *srq)
{
	return srq->number;
}
