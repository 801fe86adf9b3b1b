/* SPDX-License-Identifier: BSD-2-Clause */
/* The table by which `verbena explain --wqe` finds the queues of this process; see
 * node/shared/queues.h. A process with more QPs than it has room for shows the first ones. */
#include "verbs/ring/ring.h"

#include <unistd.h>

static struct vb_queues *table; /* under the lock */
static pid_t maker;             /* a child of fork() makes its own */

static struct vb_queues *table_of(struct vb_engine *e)
{
	if (table && maker == getpid()) {
		/* The slot may be another one by now. */
		vb_engine_slot(e)->queues = (uintptr_t)table;
		return table;
	}
	table = vb_ring_memory_get(sizeof *table);
	maker = getpid();
	if (table) {
		table->cnt = VB_QUEUES_MAX;
		__atomic_store_n(&table->magic, VB_QUEUES_MAGIC, __ATOMIC_RELEASE);
		vb_engine_slot(e)->queues = (uintptr_t)table;
	}
	return table;
}

static struct vb_queue_cq cq_entry(const struct ibv_cq *ibv)
{
	const struct vb_ring_cq *r = ibv ? ((const struct vb_ibv_cq *)ibv)->hw : NULL;

	return r ? (struct vb_queue_cq){.entries = (uintptr_t)r->mem,
					.record = (uintptr_t)r->record,
					.cnt = r->cnt,
					.entry_bytes = r->entry_bytes,
					.compresses = r->block != NULL}
		 : (struct vb_queue_cq){0};
}

void vb_ring_show(struct vb_ring_qp *r)
{
	const struct vb_ibv_qp *qp = r->qp;
	const struct vb_ring_srq *srq = qp->ibv.srq ? ((struct vb_ibv_srq *)qp->ibv.srq)->hw : NULL;
	struct vb_queues *t = table_of(vb_ibv_ctx(qp->ibv.context)->engine);

	for (uint32_t i = 0; t && i < VB_QUEUES_MAX && !r->shown; i++)
		if (t->entry[i].qpn == 0)
			r->shown = &t->entry[i];
	if (!r->shown)
		return;
	*r->shown = (struct vb_queue_entry){.type = r->queue.type,
					    .sq = (uintptr_t)r->sq,
					    .rq = (uintptr_t)r->rq,
					    .record = (uintptr_t)r->record,
					    .sq_cnt = r->sq_cnt,
					    .rq_cnt = r->rq_cnt,
					    .rq_stride = r->rq_stride,
					    .is_raw = r->is_raw,
					    .sq_seen = r->sq_seen,
					    .rq_seen = r->rq_seen,
					    .send_cq = cq_entry(qp->ibv.send_cq),
					    .recv_cq = cq_entry(qp->ibv.recv_cq)};
	if (srq) {
		r->shown->srq = (uintptr_t)srq->mem;
		r->shown->srq_record = (uintptr_t)srq->record;
		r->shown->srq_cnt = srq->cnt;
		r->shown->srq_stride = srq->stride;
	}
	__atomic_store_n(&r->shown->qpn, r->queue.qpn, __ATOMIC_RELEASE);
}

void vb_ring_hide(struct vb_ring_qp *r)
{
	if (r->shown)
		__atomic_store_n(&r->shown->qpn, 0, __ATOMIC_RELEASE);
	r->shown = NULL;
}

void vb_ring_show_cq(const struct vb_ring_cq *r)
{
	const struct vb_ibv_context *c = vb_ibv_ctx(r->cq->ibv.context);

	for (struct vb_list *l = c->qps.next; l != &c->qps; l = l->next) {
		const struct vb_ibv_qp *qp = vb_container_of(l, struct vb_ibv_qp, link);

		if (qp->hw && qp->hw->shown &&
		    (qp->ibv.send_cq == &r->cq->ibv || qp->ibv.recv_cq == &r->cq->ibv))
			vb_ring_show(qp->hw);
	}
}
