/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of a context as libverbena.so made it: those of later structures, and those of old. */
#ifndef VB_CALLS_CONTEXT_H
#define VB_CALLS_CONTEXT_H

#include <infiniband/verbs.h>

struct vb_next_ops {
	struct ibv_context_ops old;
	struct verbs_context new;
};

/* Of the first context that was opened; they are the same in all. */
extern struct vb_next_ops vb_next_ops;

/* Put themselves before those of @v. */
void vb_calls_take_post(struct verbs_context *v);
void vb_calls_take_create(struct verbs_context *v);
void vb_calls_take_rest(struct verbs_context *v);

/* Puts @function into @field, where there is a function that it can hand on to. */
#define VB_CALLS_TAKE(field, function)                                                             \
	do {                                                                                       \
		if (field)                                                                         \
			(field) = (function);                                                      \
	} while (0)

#endif
