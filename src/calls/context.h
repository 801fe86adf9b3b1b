/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of a context as libverbena.so made it. */
#ifndef VB_CALLS_CONTEXT_H
#define VB_CALLS_CONTEXT_H

#include "calls/verbs/extended.h"

#include <infiniband/verbs.h>

struct vb_next_ops {
	struct ibv_context_ops old;
	struct verbs_context new;
};

/* Of the first context that was opened; they are the same in all. */
extern struct vb_next_ops vb_next_ops;

/* Each puts its functions before the operations of @v. */
void vb_calls_take_post(struct verbs_context *v);
void vb_calls_take_create(struct verbs_context *v);
void vb_calls_take_rest(struct verbs_context *v);

#endif
