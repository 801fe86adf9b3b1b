/* SPDX-License-Identifier: BSD-2-Clause */
/* The send rate of a QP, see pace.c. All but vb_pace_take_path(): qp->pace.kbps is not
 * 0. */
#ifndef VB_CORE_QP_PACE_H
#define VB_CORE_QP_PACE_H

#include "core/priv.h"

/* The path that the QP sends on takes @kbps, 0: any rate. */
void vb_pace_take_path(struct vb_qp *qp, uint32_t kbps);
/* A request packet of @bytes, at most 2^17, leaves. */
void vb_pace_sent(struct vb_qp *qp, uint32_t bytes, vb_time now);
/* When the QP may send, or had better look again; @now: at once. */
vb_time vb_pace_at(const struct vb_qp *qp, vb_time now);
/* The time that @bytes take at the rate. */
vb_dur vb_pace_cost(const struct vb_qp *qp, uint32_t bytes);

#endif
