/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective repeat: which WQE a PSN belongs to. See selective.h. */
#include "core/qp/qp.h"
#include "core/selective/selective.h"

/* Searched from where the last one was found. */
struct vb_swqe *vb_sr_wqe_of(struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_sq *sq = &qp->sq;
	uint32_t *idx = &qp->sr->wqe;

	if (*idx - sq->head >= sq->tail - sq->head || vb_psn_before(psn, vb_sq_at(sq, *idx)->first))
		*idx = sq->head;
	for (; *idx != sq->tail; ++*idx) {
		struct vb_swqe *w = vb_sq_at(sq, *idx);

		if (w->pkts && vb_psn_span(w->first, psn) < w->pkts)
			return w;
	}
	return NULL;
}
