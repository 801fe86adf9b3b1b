/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that QPs and CQs of extended calls have in themselves. Called under one lock. */
#ifndef VB_CALLS_VERBS_EXTENDED_H
#define VB_CALLS_VERBS_EXTENDED_H

#include "calls/call.h"

/* create.c: a QP that was made by attributes that grow goes through this library; and the
 * attributes as arguments. */
void vb_calls_take_new_qp(struct ibv_qp *qp);
void vb_calls_show_qp_ex(struct vb_call *c, const struct ibv_context *context,
			 const struct ibv_qp_init_attr_ex *init);

/* mlx5dv.c: what is known of an initiator, when its QP is destroyed, and when that is refused;
 * NULL: it is none. Without a QP it is to be freed. */
struct vb_initiator;
struct vb_initiator *vb_calls_take_out_initiator(const struct ibv_qp *qp);
void vb_calls_put_back_initiator(struct vb_initiator *i);

void vb_calls_take_qp(struct ibv_qp_ex *qp);
void vb_calls_take_cq(struct ibv_cq_ex *cq);

/* Puts @function into @field, where there is a function that it can hand on to. */
#define VB_CALLS_TAKE(field, function)                                                             \
	do {                                                                                       \
		if (field)                                                                         \
			(field) = (function);                                                      \
	} while (0)

#endif
