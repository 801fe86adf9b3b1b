/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the lines of `verbena trace` go, and which calls have one. */
#ifndef VB_CALLS_OUTPUT_H
#define VB_CALLS_OUTPUT_H

#include "calls/call.h"

bool vb_output_wants(const char *verb);
bool vb_output_is_json(void);

/*
 * Writes a call as one line, by one write(2), so that threads and processes do not mix their lines.
 * A call that equals the last one of its thread is counted instead. The count, and the time that
 * those calls took, make a line before the next call that differs.
 */
void vb_output_line(const struct vb_call *c);

/* @text as it may stand within the quotes of a JSON string. */
void vb_output_quote(const char *text, char *to, size_t size);

#endif
