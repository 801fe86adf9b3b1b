/* SPDX-License-Identifier: BSD-2-Clause */
/* Why something failed, and what to do where something has run out: a line for the user. */
#ifndef VB_NODE_HOST_ERROR_HINTS_H
#define VB_NODE_HOST_ERROR_HINTS_H

#include <stddef.h>

/*
 * Writes "WHAT: REASON" into @why, WHAT by @format; with what to do if -@rc says that files, memory
 * or threads are short in the calling process. Returns what to fail with: @rc, but -ENOMEM instead
 * of -EAGAIN, which pthread_create(3) and clone(2) give and no man page of the verbs has.
 */
__attribute__((format(printf, 4, 5))) int vb_error_hint(char *why, size_t why_size, int rc,
							const char *format, ...);

#endif
