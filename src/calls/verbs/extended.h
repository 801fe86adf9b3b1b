/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that QPs and CQs of extended calls have in themselves. Called under one lock. */
#ifndef VB_CALLS_VERBS_EXTENDED_H
#define VB_CALLS_VERBS_EXTENDED_H

#include <infiniband/verbs.h>

void vb_calls_take_qp(struct ibv_qp_ex *qp);
void vb_calls_take_cq(struct ibv_cq_ex *cq);

/* Puts @function into @field, where there is a function that it can hand on to. */
#define VB_CALLS_TAKE(field, function)                                                             \
	do {                                                                                       \
		if (field)                                                                         \
			(field) = (function);                                                      \
	} while (0)

#endif
