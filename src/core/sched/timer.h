/* SPDX-License-Identifier: BSD-2-Clause */
/* The timers of a QP, and the queue of their deadlines, see timerq.c. */
#ifndef VB_CORE_SCHED_TIMER_H
#define VB_CORE_SCHED_TIMER_H

#include "base/time.h"

struct vb_hca;
struct vb_qp;

enum vb_timer {
	VB_TIMER_ACK,
	VB_TIMER_RNR,
	VB_TIMER_RX_CREDIT,
	VB_TIMER_PACE,
	VB_TIMER_LINGER,                  /* of DC */
	VB_TIMER_PROBE = VB_TIMER_LINGER, /* of selective repeat, which DC does not have */
	VB_TIMER_CNT
};

/* An entry of the timer queue; the key is qp->heap_key, and comparing two fetches no QP. */
struct vb_deadline {
	vb_time key;
	struct vb_qp *qp;
};

int vb_timerq_reserve(struct vb_hca *h, uint32_t cnt);
void vb_timer_set(struct vb_qp *qp, enum vb_timer t, vb_time deadline);
void vb_timer_stop(struct vb_qp *qp, enum vb_timer t);
void vb_timerq_remove(struct vb_qp *qp);

#endif
