/* SPDX-License-Identifier: BSD-2-Clause */
/* The send rate of a QP, see pace.c. All but vb_pace_take_path(): qp->pace.kbps is not
 * 0. */
#ifndef VB_CORE_SCHED_PACE_H
#define VB_CORE_SCHED_PACE_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_qp;

/* The rate that the consumer and the path have set, see core/qp/pace.c. */
struct vb_pace {
	uint32_t kbps;     /* in force, the lower one; 0: none */
	uint32_t set_kbps; /* the consumer's */
	bool of_each;      /* work may go by paths with rates of their own: UD, DCI */
	uint32_t burst;    /* bytes; 0: a usual one */
	uint32_t rest;     /* of the last division by kbps */
	vb_time next;      /* when the account is paid */
};

/* The path that the QP sends on takes @kbps, 0: any rate. */
void vb_pace_take_path(struct vb_qp *qp, uint32_t kbps);
/* A request packet of @bytes, at most 2^17, leaves. */
void vb_pace_sent(struct vb_qp *qp, uint32_t bytes, vb_time now);
/* When the QP may send, or had better look again; @now: at once. */
vb_time vb_pace_at(const struct vb_qp *qp, vb_time now);
/* The time that @bytes take at the rate. */
vb_dur vb_pace_cost(const struct vb_qp *qp, uint32_t bytes);

#endif
