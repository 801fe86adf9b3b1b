/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the lines of `verbena trace` go, and which calls have one. */
#ifndef VB_CALLS_OUTPUT_H
#define VB_CALLS_OUTPUT_H

#include "calls/call.h"

bool vb_output_wants(const char *verb);
bool vb_output_is_json(void);

/*
 * Writes a call as one line, by one write(2), so that threads and processes do not mix theirs. A
 * call that is just as this thread's last one is counted; how many there were, and how long they
 * took, is a line before the next one that differs.
 */
void vb_output_line(const struct vb_call *c);

/* @text as it may stand within the quotes of a JSON string. */
void vb_output_quote(const char *text, char *to, size_t size);

#endif
