/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: a ring of completions, arming, moderation, overrun. IBA 10.8.2, 11.4.2
 *
 * An overrun loses completions, so the verbs cannot go on as if nothing had happened: the CQ raises
 * CQ_ERR, and the caller that adds a completion learns that its QP, or every QP on the CQ, has to
 * end; polling reports the overrun after what was queued. IBA 9.9.3.1 class G, 11.6.3.3
 */
#include "core/obj/cq.h"

#include "base/assert.h"
#include "base/cold.h"
#include "core/adapter.h"

#include <errno.h>
#include <string.h>

int vb_cq_create(struct vb_hca *h, uint32_t cqe, void *owner, struct vb_cq **out)
{
	h->refusal.rule = VB_REFUSAL_NONE;
	if (cqe == 0 || cqe > h->cfg.limits.cqe)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_CQE, .value = cqe,
				 .bound = h->cfg.limits.cqe);
	if (h->cq_cnt >= h->cfg.limits.cq)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "CQs",
				 .bound = h->cfg.limits.cq);

	struct vb_cq *cq = vb_alloc(h, sizeof *cq);
	uint32_t size = vb_round_up_pow2(cqe);

	if (!cq)
		return -ENOMEM;
	cq->ring = vb_alloc(h, size * sizeof *cq->ring);
	if (!cq->ring) {
		vb_free(h, cq);
		return -ENOMEM;
	}
	cq->hca = h;
	cq->mask = size - 1;
	cq->number = ++h->number_next;
	vb_event_source_init(&cq->ev, VB_EVENT_ASYNC_CQ, owner);
	vb_list_init(&cq->held);
	h->cq_cnt++;
	vb_list_append(&h->cqs, &cq->link);
	*out = cq;
	return 0;
}

static void cq_ring_free(struct vb_cq *cq)
{
	if (!cq->is_placed)
		vb_free(cq->hca, cq->ring);
	cq->is_placed = false;
}

size_t vb_cq_ring_size(const struct vb_cq *cq)
{
	return ((size_t)cq->mask + 1) * sizeof *cq->ring;
}

void vb_cq_place_ring(struct vb_cq *cq, void *mem)
{
	memcpy(mem, cq->ring, vb_cq_ring_size(cq));
	cq_ring_free(cq);
	cq->ring = mem;
	cq->is_placed = true;
}

int vb_cq_resize(struct vb_cq *cq, uint32_t cqe)
{
	struct vb_hca *h = cq->hca;
	uint32_t cnt = cq->tail - cq->head;

	h->refusal.rule = VB_REFUSAL_NONE;
	if (cqe == 0 || cqe > h->cfg.limits.cqe)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_CQE, .value = cqe,
				 .bound = h->cfg.limits.cqe);
	if (cqe < cnt)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_CQE_USED, .value = cqe, .bound = cnt);

	uint32_t size = vb_round_up_pow2(cqe);
	struct vb_wc *ring = vb_alloc(cq->hca, size * sizeof *ring);

	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		ring[i] = cq->ring[(cq->head + i) & cq->mask];
	cq_ring_free(cq);
	cq->ring = ring;
	cq->mask = size - 1;
	cq->head = 0;
	cq->tail = cnt;
	return 0;
}

int vb_cq_destroy(struct vb_cq *cq)
{
	if (cq->refs)
		return -EBUSY;
	VB_ASSERT_ALL(cq->hca->cq_cnt > 0);
	vb_list_remove(&cq->ev.link);
	vb_list_remove(&cq->held);
	vb_list_remove(&cq->link);
	cq->hca->cq_cnt--;
	cq_ring_free(cq);
	vb_free(cq->hca, cq);
	return 0;
}

uint32_t vb_cq_size(const struct vb_cq *cq)
{
	return cq->mask + 1;
}

uint32_t vb_cq_number(const struct vb_cq *cq)
{
	return cq->number;
}

uint32_t vb_cq_head(const struct vb_cq *cq)
{
	return cq->head;
}

uint32_t vb_cq_tail(const struct vb_cq *cq)
{
	return cq->tail;
}

void vb_cq_set_mirror(struct vb_cq *cq, struct vb_cq_mirror *m)
{
	cq->mirror = m;
}

/* Drops the entries that were read in the other form. */
VB_COLD static void cq_follow_mirror(struct vb_cq *cq)
{
	uint32_t head = cq->mirror->taken(cq->mirror, cq->head, cq->tail);

	if (head - cq->head <= cq->tail - cq->head)
		cq->head = head;
}

bool vb_cq_is_empty(const struct vb_cq *cq)
{
	return cq->head == cq->tail;
}

int vb_cq_poll(struct vb_cq *cq, struct vb_wc *wc, int cnt)
{
	int n = 0;

	VB_ASSERT_ALL(cq->tail - cq->head <= cq->mask + 1);
	if (cq->mirror)
		cq_follow_mirror(cq);
	while (n < cnt && cq->head != cq->tail)
		wc[n++] = cq->ring[cq->head++ & cq->mask];
	if (cq->mirror && n)
		cq->mirror->polled(cq->mirror, cq->head);
	return n == 0 && cnt > 0 && cq->overrun ? -EOVERFLOW : n;
}

void vb_cq_arm(struct vb_cq *cq, bool solicited_only)
{
	/* Arming for any completion is the stronger request and stays. IBA 11.4.2.2 */
	if (!solicited_only)
		cq->armed = VB_CQ_ARMED;
	else if (cq->armed == VB_CQ_UNARMED)
		cq->armed = VB_CQ_ARMED_SOLICITED;
}

static void cq_notify(struct vb_cq *cq)
{
	struct vb_hca *h = cq->hca;

	cq->armed = VB_CQ_UNARMED;
	cq->held_cnt = 0;
	vb_list_remove(&cq->held);
	if (vb_list_is_empty(&h->held))
		h->held_due = VB_NEVER;
	vb_event_raise_notify(h, &cq->ev);
}

void vb_cq_tell(struct vb_cq *cq)
{
	if (cq->armed != VB_CQ_UNARMED)
		cq_notify(cq);
}

static void cq_set_due(struct vb_cq *cq, vb_time due)
{
	cq->due = due;
	VB_ASSERT_ALL(cq->held_cnt > 0);
	cq->hca->held_due = vb_time_min(cq->hca->held_due, due);
}

/* One more entry of a moderated CQ that the event is for. */
static void cq_hold(struct vb_cq *cq, vb_time now)
{
	if (++cq->held_cnt >= cq->mod_cnt) {
		cq_notify(cq);
	} else if (cq->held_cnt == 1) {
		vb_list_append(&cq->hca->held, &cq->held);
		cq_set_due(cq, vb_time_after(now, cq->mod_period));
	}
}

void vb_cq_moderate(struct vb_cq *cq, uint16_t cnt, vb_dur period, vb_time now)
{
	bool moderated = cnt > 1 && period;

	cq->mod_cnt = moderated ? cnt : 0;
	cq->mod_period = period;
	if (!cq->held_cnt)
		return;
	/* Completions held now do not wait longer than the new rule has it. */
	if (!moderated || cq->held_cnt >= cnt)
		cq_notify(cq);
	else
		cq_set_due(cq, vb_time_min(cq->due, vb_time_after(now, period)));
}

void vb_cq_on_time(struct vb_hca *h, vb_time now)
{
	if (h->held_due > now)
		return;
	h->held_due = VB_NEVER;
	for (struct vb_list *l = h->held.next, *next; l != &h->held; l = next) {
		struct vb_cq *cq = vb_container_of(l, struct vb_cq, held);

		VB_ASSERT_ALL(cq->held_cnt > 0 && cq->armed != VB_CQ_UNARMED);
		next = l->next;
		if (cq->due <= now)
			cq_notify(cq);
		else
			h->held_due = vb_time_min(h->held_due, cq->due);
	}
}

int vb_cq_add(struct vb_cq *cq, const struct vb_wc *wc, bool solicited)
{
	if (cq->overrun)
		return -EOVERFLOW;
	if (cq->mirror && cq->tail - cq->head > cq->mask)
		cq_follow_mirror(cq);
	if (cq->tail - cq->head > cq->mask) {
		cq->overrun = true;
		vb_event_raise_async(cq->hca, &cq->ev, VB_ASYNC_CQ_ERR);
		return -ENOSPC;
	}

	struct vb_wc *entry = &cq->ring[cq->tail & cq->mask];

	/* In the order of the queue time does not go back, by whatever clock a completion's maker
	 * went. */
	if (wc->time > cq->newest)
		cq->newest = wc->time;
	*entry = *wc;
	entry->time = cq->newest;
	if (cq->mirror)
		cq->mirror->added(cq->mirror, cq->tail, entry, solicited);
	cq->tail++;
	if (cq->armed == VB_CQ_ARMED ||
	    (cq->armed == VB_CQ_ARMED_SOLICITED && (solicited || wc->status != VB_WC_SUCCESS))) {
		if (cq->mod_cnt)
			cq_hold(cq, wc->time);
		else
			cq_notify(cq);
	}
	return 0;
}

/* Takes the completions of a QP that is being destroyed out of the queue. */
void vb_cq_forget_qp(struct vb_cq *cq, const struct vb_qp *qp)
{
	uint32_t to = cq->head;

	if (cq->mirror && cq->mirror->is_read_elsewhere)
		return;
	for (uint32_t from = cq->head; from != cq->tail; from++) {
		const struct vb_wc *wc = &cq->ring[from & cq->mask];

		if (wc->qp == qp)
			continue;
		if (cq->mirror && from != to)
			cq->mirror->moved(cq->mirror, from, to);
		cq->ring[to++ & cq->mask] = *wc;
	}
	if (cq->mirror && to != cq->tail)
		cq->mirror->cut(cq->mirror, to, cq->tail);
	cq->tail = to;
}
