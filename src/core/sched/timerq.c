/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of all QPs in one binary heap.
 *
 * Moving a deadline later, which every ACK does, costs nothing: the QP stays in the heap under its
 * old, earlier key and is put right when that key comes up. So a QP costs one heap operation per
 * timeout period, not one per packet, and none while it has no work.
 */
#include "base/assert.h"
#include "core/obj/cq.h"
#include "core/qp/qp.h"
#include "core/sched/invariants.h"

#include <errno.h>
#include <string.h>

int vb_timerq_reserve(struct vb_hca *h, uint32_t cnt)
{
	uint32_t cap = vb_round_up_pow2(cnt);
	struct vb_deadline *heap;

	if (cnt <= h->heap_cap)
		return 0;
	heap = vb_alloc(h, ((size_t)cap + 1) * sizeof *heap);
	if (!heap)
		return -ENOMEM;
	if (h->heap)
		memcpy(heap, h->heap, (h->heap_cnt + 1) * sizeof *heap);
	vb_free(h, h->heap);
	h->heap = heap;
	h->heap_cap = cap;
	return 0;
}

static void heap_put(struct vb_hca *h, uint32_t pos, struct vb_qp *qp)
{
	VB_ASSERT(pos >= 1 && pos <= h->heap_cnt && pos <= h->heap_cap);
	h->heap[pos] = (struct vb_deadline){qp->heap_key, qp};
	qp->heap_pos = pos;
}

static void heap_move(struct vb_hca *h, uint32_t to, uint32_t from)
{
	VB_ASSERT_ALL(h->heap[from].qp->heap_pos == from);
	h->heap[to] = h->heap[from];
	h->heap[to].qp->heap_pos = to;
}

/* Equal deadlines fire in QPN order, so that a run can be repeated. */
static bool heap_before(const struct vb_deadline *a, const struct vb_deadline *b)
{
	return a->key < b->key || (a->key == b->key && a->qp->qpn < b->qp->qpn);
}

static void heap_up(struct vb_hca *h, struct vb_qp *qp)
{
	const struct vb_deadline e = {qp->heap_key, qp};
	uint32_t pos = qp->heap_pos;

	while (pos > 1 && heap_before(&e, &h->heap[pos / 2])) {
		heap_move(h, pos, pos / 2);
		pos /= 2;
	}
	heap_put(h, pos, qp);
}

static void heap_down(struct vb_hca *h, struct vb_qp *qp)
{
	const struct vb_deadline e = {qp->heap_key, qp};
	uint32_t pos = qp->heap_pos;

	for (;;) {
		uint32_t child = pos * 2;

		if (child > h->heap_cnt)
			break;
		if (child < h->heap_cnt && heap_before(&h->heap[child + 1], &h->heap[child]))
			child++;
		if (!heap_before(&h->heap[child], &e))
			break;
		heap_move(h, pos, child);
		pos = child;
	}
	heap_put(h, pos, qp);
}

void vb_timerq_remove(struct vb_qp *qp)
{
	struct vb_hca *h = qp->hca;
	uint32_t pos = qp->heap_pos;

	if (pos == 0)
		return;
	VB_ASSERT(pos <= h->heap_cnt && h->heap[pos].qp == qp);

	struct vb_qp *last = h->heap[h->heap_cnt--].qp;

	qp->heap_pos = 0;
	if (last == qp)
		return;
	heap_put(h, pos, last);
	heap_up(h, last);
	heap_down(h, last);
	VB_ASSERT_ALL(last->heap_pos == 1 ||
		      !heap_before(&h->heap[last->heap_pos], &h->heap[last->heap_pos / 2]));
}

static vb_time qp_deadline(const struct vb_qp *qp)
{
	vb_time t = VB_NEVER;

	for (int i = 0; i < VB_TIMER_CNT; i++)
		t = vb_time_min(t, qp->timer[i]);
	return t;
}

void vb_timer_set(struct vb_qp *qp, enum vb_timer t, vb_time deadline)
{
	struct vb_hca *h = qp->hca;

	qp->timer[t] = deadline;
	VB_ASSERT_ALL(qp->state != VB_QPS_RESET || deadline == VB_NEVER);
	if (deadline == VB_NEVER)
		return;
	if (qp->heap_pos == 0) {
		qp->heap_key = deadline;
		heap_put(h, ++h->heap_cnt, qp);
		heap_up(h, qp);
	} else if (deadline < qp->heap_key) {
		qp->heap_key = deadline;
		heap_up(h, qp);
	}
}

void vb_timer_stop(struct vb_qp *qp, enum vb_timer t)
{
	qp->timer[t] = VB_NEVER;
}

vb_time vb_hca_poll_timeout(const struct vb_hca *h)
{
	return vb_time_min(h->held_due, h->heap_cnt ? h->heap[1].key : VB_NEVER);
}

void vb_hca_add_gap(struct vb_hca *h, vb_dur gap)
{
	h->gaps += gap;
}

void vb_hca_handle_timeout(struct vb_hca *h, vb_time now)
{
	while (h->heap_cnt && h->heap[1].key <= now) {
		struct vb_qp *qp = h->heap[1].qp;
		vb_time due = qp_deadline(qp);

		/* A key is never later than what it stands for. */
		VB_ASSERT_ALL(qp->heap_pos == 1 && due >= h->heap[1].key);
		if (due == VB_NEVER) {
			vb_timerq_remove(qp);
		} else if (due > now) {
			qp->heap_key = due;
			heap_down(h, qp);
		} else {
			/* A timer that fired is off; firing sets it again, later than now. */
			for (int i = 0; i < VB_TIMER_CNT; i++) {
				if (qp->timer[i] > now)
					continue;
				qp->timer[i] = VB_NEVER;
				qp->ops->on_timer(qp, (enum vb_timer)i, now);
				VB_ASSERT_ALL(qp->timer[i] > now);
			}
			vb_qp_assert(qp);
		}
	}
	vb_cq_on_time(h, now);
}
