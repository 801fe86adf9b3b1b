/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective repeat: which WQE a PSN belongs to. See selective.h. */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/selective/selective.h"

static bool has_psn(const struct vb_swqe *w, struct vb_psn psn)
{
	return w->pkts && vb_psn_span(w->first, psn) < w->pkts;
}

/* Where the last one was found, or by halving: the first PSNs of WQEs ascend. */
struct vb_swqe *vb_sr_wqe_of(struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_sq *sq = &qp->sq;
	struct vb_sr *sr = qp->sr;
	uint32_t cnt = sq->tail - sq->head, sent = sr->wqe_end - sq->head, low = 0;

	/* Behind what was sent are PSNs of other rounds. */
	cnt = sent < cnt ? sent : cnt;
	if (sr->wqe - sq->head < cnt && has_psn(vb_sq_at(sq, sr->wqe), psn))
		return vb_sq_at(sq, sr->wqe);
	if (cnt == 0)
		return NULL;

	struct vb_psn base = vb_sq_at(sq, sq->head)->first;
	uint32_t span = vb_psn_span(base, psn);

	/* The last one whose first PSN is not behind @psn. */
	while (cnt - low > 1) {
		uint32_t mid = low + (cnt - low) / 2;

		if (vb_psn_span(base, vb_sq_at(sq, sq->head + mid)->first) <= span)
			low = mid;
		else
			cnt = mid;
	}
	sr->wqe = sq->head + low;
	return has_psn(vb_sq_at(sq, sr->wqe), psn) ? vb_sq_at(sq, sr->wqe) : NULL;
}
