/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Payload in completion entries: what a short message, or the answer to a READ or an atomic,
 * brought stands in the entry as well, as adapters have it for QPs that allow it. It is read back
 * from where it was written, by the SGEs of the WQE; where they do not lead there any more the
 * entry has none. MLX5_INLINE_SCATTER_32, MLX5_INLINE_SCATTER_64; docs/mlx5dv.md
 */
#include "verbs/ring/ring.h"

#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

/* As for rdma-core's provider, "0" alone forbids it. */
static bool environment_allows(void)
{
	const char *v = getenv("MLX5_SCATTER_TO_CQE");

	return !v || strcmp(v, "0") != 0;
}

void vb_ring_scatter_plan(struct vb_ring_qp *r, uint32_t create_flags)
{
	enum vb_qp_type type = r->queue.type;
	bool forbids = create_flags & MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
	bool allows = create_flags & MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
	bool is_on = allows || (!forbids && environment_allows());

	r->scatters_receives = is_on && (type == VB_QPT_RC || type == VB_QPT_UC);
	/* Of a READ that makes no entry nobody would see the payload there. */
	r->scatters_reads = is_on && type == VB_QPT_RC && (allows || r->sig_all);
}

/* The SGEs of the receive of @s, at most VB_RING_SGES. Returns how many. */
static uint32_t receive_sges(struct vb_ring_qp *r, const struct vb_ring_slot *s, struct vb_sge *sge)
{
	const struct vb_ring_srq *srq = s->srq;
	uint8_t copy[VB_RING_RECEIVE_BYTES];

	if (srq) {
		memcpy(copy, vb_ring_srq_wqe(srq, s->counter), srq->stride);
		return vb_wqe_read_receive(copy + VB_NEXT_BYTES, srq->stride - VB_NEXT_BYTES, sge,
					   VB_RING_SGES);
	}
	memcpy(copy, vb_ring_receive_wqe(r, s->counter), r->rq_stride);
	return vb_wqe_read_receive(copy, r->rq_stride, sge, r->rq_sges);
}

static bool read_received(struct vb_ring_qp *r, const struct vb_ring_slot *s, uint8_t *to,
			  uint32_t len)
{
	struct ibv_pd *pd = s->srq ? s->srq->srq->ibv.pd : r->qp->ibv.pd;
	struct vb_sge sge[VB_RING_SGES];
	uint32_t cnt = receive_sges(r, s, sge);

	return vb_mem_read_back(((struct vb_ibv_pd *)pd)->core, sge, cnt, to, len) == 0;
}

static bool read_answer(struct vb_ring_qp *r, const struct vb_ring_slot *s, uint8_t *to,
			uint32_t len)
{
	uint8_t copy[VB_WQE_BYTES_MAX];
	struct vb_wqe_send w;
	uint32_t blocks;

	vb_ring_copy_blocks(r, s->counter, 1, copy);
	blocks = vb_wqe_blocks(copy);
	if (blocks > r->sq_cnt)
		return false;
	vb_ring_copy_blocks(r, s->counter, blocks, copy);
	return vb_wqe_read(&r->queue, copy, blocks, s->counter, &w) &&
	       vb_mem_read_back(((struct vb_ibv_pd *)r->qp->ibv.pd)->core, w.wr.sge, w.wr.sge_cnt,
				to, len) == 0;
}

static bool is_answer(const struct vb_wc *wc)
{
	return wc->opcode == VB_WC_RDMA_READ || wc->opcode == VB_WC_COMP_SWAP ||
	       wc->opcode == VB_WC_FETCH_ADD;
}

bool vb_ring_scatter_get(const struct vb_ring_slot *s, const struct vb_wc *wc, uint8_t *to,
			 uint32_t max)
{
	struct vb_ring_qp *r;

	/* Completions of a target of XRC have no QP: it belongs to a domain. */
	if (wc->status != VB_WC_SUCCESS || !wc->byte_len || wc->byte_len > max || !wc->qp)
		return false;
	r = ((struct vb_ibv_qp *)vb_qp_owner(wc->qp))->hw;
	if (s->is_send)
		return r->scatters_reads && is_answer(wc) && read_answer(r, s, to, wc->byte_len);
	return r->scatters_receives && wc->opcode == VB_WC_RECV &&
	       read_received(r, s, to, wc->byte_len);
}
