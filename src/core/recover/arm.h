/* SPDX-License-Identifier: BSD-2-Clause */
/* The ACK timer of a QP: started, and the time it goes by. See rto.h. */
#ifndef VB_CORE_RECOVER_ARM_H
#define VB_CORE_RECOVER_ARM_H

#include "core/qp/qp.h"

/* @now without the time in which this process did not run: the clock of core/recover/rto.h. */
static inline vb_time vb_req_run_time(const struct vb_qp *qp, vb_time now)
{
	return vb_time_since(qp->hca->gaps, now);
}

/* Since when the peer has been waited for, as far as this process ran. */
static inline vb_dur vb_req_waited(const struct vb_qp *qp, vb_time now)
{
	return vb_time_since(qp->rto.since, vb_req_run_time(qp, now));
}

/* Starts the ACK timer. */
void vb_req_arm(struct vb_qp *qp, vb_time now);
/* The value of the timer has moved by @move from @from_exp on. */
void vb_req_trace_move(struct vb_qp *qp, enum vb_rto_move move, uint8_t from_exp, vb_time now);

#endif
