/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive WQEs: the queue of a QP or an SRQ, and SRQs, see rq.c. IBA 10.8.3 */
#ifndef VB_CORE_OBJ_RQ_H
#define VB_CORE_OBJ_RQ_H

#include "base/list.h"
#include "core/obj/event.h"
#include "core/types.h"

struct vb_hca;
struct vb_pd;

/* A receive WQE. */
struct vb_rwqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGEs */
	uint32_t sge_cnt;
	struct vb_sge sge[];
};

/* Receive WQEs in posting order, of a QP or an SRQ. */
struct vb_rq {
	uint8_t *slots;
	struct vb_rq_source *source; /* NULL: receives are posted */
	uint32_t stride;
	uint32_t mask, head, tail; /* run freely */
	uint32_t wr_max;
	uint16_t sge_max;
	bool is_placed; /* the ring is in memory of the caller */
};

struct vb_srq {
	struct vb_pd *pd;
	struct vb_list link; /* in hca->srqs */
	struct vb_event_source ev;
	struct vb_rq rq;
	uint32_t limit; /* 0: not armed */
	bool has_failed;
	uint32_t number, refs;
	struct vb_xrcd *xrcd; /* NULL: not an XRC SRQ; then there is no cq either */
	struct vb_cq *cq;
	void (*on_destroy)(struct vb_srq *srq); /* before it goes; or NULL */
};

int vb_rq_init(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max, uint32_t sge_max);
void vb_rq_free(struct vb_hca *h, struct vb_rq *rq);
size_t vb_rq_ring_size(const struct vb_rq *rq);
void vb_rq_place_ring(struct vb_hca *h, struct vb_rq *rq, void *mem);
int vb_rq_post(struct vb_rq *rq, const struct vb_recv_wr *wr);
int vb_rq_resize(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max);

struct vb_rq_source;

/* Before somebody looks at what there is. */
void vb_rq_refill(struct vb_rq *rq);

static inline uint32_t vb_rq_cnt(const struct vb_rq *rq)
{
	return rq->tail - rq->head;
}
struct vb_rwqe *vb_rq_peek(struct vb_rq *rq);
/* The oldest receive WQE has been taken; @srq: the SRQ of the queue, or NULL. */
void vb_rq_consume(struct vb_hca *h, struct vb_rq *rq, struct vb_srq *srq);

#endif
