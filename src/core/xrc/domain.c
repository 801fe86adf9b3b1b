/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC domains and the SRQs in them, which peers find by number. IBA A14.2; IBT-22 */
#include "core/xrc/xrc.h"

#include "core/obj/cq.h"
#include "core/obj/pd.h"

#include <errno.h>

#define SRQ_CAP_FIRST 16u

int vb_xrcd_create(struct vb_hca *h, struct vb_xrcd **out)
{
	h->refusal.rule = VB_REFUSAL_NONE;
	if (h->xrcd_cnt >= h->cfg.limits.pd)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "XRC domains",
				 .bound = h->cfg.limits.pd);

	struct vb_xrcd *x = vb_alloc(h, sizeof *x);

	if (!x)
		return -ENOMEM;
	x->hca = h;
	vb_list_init(&x->targets);
	vb_list_append(&h->xrcds, &x->link);
	h->xrcd_cnt++;
	*out = x;
	return 0;
}

static void domain_free(struct vb_xrcd *x)
{
	vb_list_remove(&x->link);
	x->hca->xrcd_cnt--;
	vb_free(x->hca, x);
}

void vb_xrcd_shrink(struct vb_xrcd *x)
{
	if (x->is_closed && !x->refs)
		domain_free(x);
}

/* Numbers are spread as those of QPs are: they tell the processes of a host apart. */
static uint32_t srqn_of(const struct vb_hca *h, uint32_t k)
{
	return h->cfg.qpn_base + k * h->cfg.qpn_stride;
}

static struct vb_srq **srq_slot(const struct vb_hca *h, uint32_t srqn)
{
	return &h->xsrq[(srqn - h->cfg.qpn_base) / h->cfg.qpn_stride & (h->xsrq_cap - 1)];
}

static struct vb_srq *srq_find(const struct vb_hca *h, uint32_t srqn)
{
	struct vb_srq *srq = h->xsrq_cap ? *srq_slot(h, srqn) : NULL;

	return srq && srq->number == srqn ? srq : NULL;
}

static int table_grow(struct vb_hca *h)
{
	uint32_t old = h->xsrq_cap, cap = old ? old * 2 : SRQ_CAP_FIRST;
	struct vb_srq **from = h->xsrq, **table = vb_alloc(h, cap * sizeof(struct vb_srq *));

	if (!table)
		return -ENOMEM;
	h->xsrq = table;
	h->xsrq_cap = cap;
	/* Two numbers that differ modulo the old size differ modulo the new one. */
	for (uint32_t i = 0; i < old; i++) {
		if (from[i])
			*srq_slot(h, from[i]->number) = from[i];
	}
	vb_free(h, from);
	return 0;
}

/* Gives the SRQ a number, the longest unused one first. */
static int srq_insert(struct vb_hca *h, struct vb_srq *srq)
{
	if (h->xsrq_cnt * 2 >= h->xsrq_cap && h->xsrq_cap < h->qp_k_cnt) {
		int err = table_grow(h);

		if (err)
			return err;
	}
	for (uint32_t tries = 0; tries < h->qp_k_cnt; tries++) {
		uint32_t k = h->xsrq_k_next++ % h->qp_k_cnt;
		struct vb_srq **slot = srq_slot(h, srqn_of(h, k));

		if (*slot || srqn_of(h, k) == 0)
			continue;
		*slot = srq;
		srq->number = srqn_of(h, k);
		h->xsrq_cnt++;
		return 0;
	}
	return -ENOMEM;
}

/* An XRC SRQ that goes loses its number, and the targets that were at work on it. */
static void srq_removed(struct vb_srq *srq)
{
	struct vb_hca *h = srq->xrcd->hca;

	for (struct vb_list *l = srq->xrcd->targets.next; l != &srq->xrcd->targets; l = l->next) {
		struct vb_qp *qp = vb_container_of(l, struct vb_qp, target);

		if (qp->srq == srq)
			vb_xrc_let_go(qp);
	}
	*srq_slot(h, srq->number) = NULL;
	h->xsrq_cnt--;
	srq->xrcd->refs--;
	srq->cq->refs--;
}

int vb_xrc_srq_create(struct vb_pd *pd, struct vb_xrcd *x, struct vb_cq *cq,
		      const struct vb_srq_cap *cap, void *owner, struct vb_srq **out)
{
	struct vb_srq *srq;
	int err = vb_srq_create(pd, cap->wr_max, cap->sge_max, 0, owner, &srq);

	if (err)
		return err;
	err = srq_insert(pd->hca, srq);
	if (err) {
		(void)vb_srq_destroy(srq); /* nobody uses it */
		return err;
	}
	srq->xrcd = x;
	srq->cq = cq;
	srq->on_destroy = srq_removed;
	x->refs++;
	cq->refs++;
	*out = srq;
	return 0;
}

struct vb_pd *vb_xrc_pd(const struct vb_qp *qp, uint32_t srqn)
{
	const struct vb_srq *srq = srq_find(qp->hca, srqn);

	return srq && srq->xrcd == qp->xrcd ? srq->pd : NULL;
}

void vb_xrc_let_go(struct vb_qp *qp)
{
	/* A receive WQE that the target holds goes with its SRQ. The message goes on to be one, so
	 * that its next packet finds the SRQ missing. */
	qp->resp.rwqe_held = false;
	qp->srq = NULL;
	qp->pd = NULL;
	qp->recv_cq = NULL;
}

enum vb_verdict vb_xrc_select(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome)
{
	struct vb_srq *srq = srq_find(qp->hca, hdr->xrc_srqn);

	*syndrome = VB_NAK_INVALID_REQUEST;
	/* One message is for one SRQ. */
	if (qp->resp.msg != VB_MSG_NONE && hdr->xrc_srqn != qp->resp.srqn)
		return VB_VERDICT_SEQUENCE;
	if (!srq || srq->xrcd != qp->xrcd)
		return VB_VERDICT_XRC;
	qp->resp.srqn = hdr->xrc_srqn;
	qp->srq = srq;
	qp->pd = srq->pd;
	qp->recv_cq = srq->cq;
	return VB_VERDICT_OK;
}
