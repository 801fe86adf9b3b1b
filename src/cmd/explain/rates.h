/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The series of the page of live QPs: how the QPs came on and which rates congestion control
 * allowed them, of the samples that each process writes as it runs (node/control/rates.c), and the
 * entries of their recorders (DFX), which keep them. Slot memory is another program's word.
 */
#ifndef VB_CMD_EXPLAIN_RATES_H
#define VB_CMD_EXPLAIN_RATES_H

#include "cmd/explain/explain.h"
#include "cmd/reg/dfx.h"
#include "export/series.h"

/* Series by the place of the QP in @which. */
enum vb_explain_series {
	VB_EXPLAIN_ACKED,    /* sum: PSNs that the peer acknowledged or answered */
	VB_EXPLAIN_EXPECTED, /* sum: PSNs of the peer's requests */
	VB_EXPLAIN_RATE,     /* kb/s that congestion control allows */
	VB_EXPLAIN_TARGET,   /* kb/s that it recovers to */
	VB_EXPLAIN_ALPHA,    /* /1024 */
	VB_EXPLAIN_SERIES_CNT
};

#define VB_EXPLAIN_RECORDERS 8u
struct vb_explain_rates {
	struct vb_series_set series;
	vb_time from; /* origin of the times in the series; VB_NEVER: there are none */
	struct vb_explain_recorder {
		uint32_t place; /* in @which */
		struct vb_dfx_window window;
	} recorder[VB_EXPLAIN_RECORDERS];
	uint32_t recorder_cnt;
};

/* Of the QPs @which; @first is the time of the first event that the page has, VB_NEVER: none. 0 or
 * -ENOMEM; without an adapter there is nothing in it. To be freed in any case. */
int vb_explain_rates(struct vb_explain_rates *r, const struct vb_qp_cases *c, const uint32_t *which,
		     uint32_t cnt, vb_time first);
void vb_explain_rates_free(struct vb_explain_rates *r);

#endif
