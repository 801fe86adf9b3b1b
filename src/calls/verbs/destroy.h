/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that end an object: they all look alike. */
#ifndef VB_CALLS_VERBS_DESTROY_H
#define VB_CALLS_VERBS_DESTROY_H

#include "calls/call.h"
#include "calls/objects.h"

/*
 * A function @verb that hands on to @next. The number goes first, because another thread may get
 * the address for an object of its own as soon as this one is gone; where the call fails it stays.
 */
#define VB_CALLS_DESTROY(storage, function, verb, next, type, kind, name)                          \
	storage int function(struct type *object)                                                  \
	{                                                                                          \
		struct vb_call c;                                                                  \
		uint32_t number;                                                                   \
		int rc;                                                                            \
                                                                                                   \
		vb_call_begin(&c, verb);                                                           \
		vb_call_object(&c, name, kind, object);                                            \
		number = vb_calls_object_remove(object);                                           \
		vb_call_go(&c);                                                                    \
		rc = (next)(object);                                                               \
		vb_call_done(&c);                                                                  \
		if (rc && number)                                                                  \
			vb_calls_object_restore(kind, object, number);                             \
		vb_call_end_error(&c, rc);                                                         \
		return rc;                                                                         \
	}

/* One that has an entry point. */
#define VB_CALLS_DESTROY_ENTRY(verb, type, kind, name)                                             \
	VB_CALLS_DESTROY(, verb, #verb, vb_next_verbs()->verb, type, kind, name)

#endif
