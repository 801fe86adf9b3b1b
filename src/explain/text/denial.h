/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for what a responder refused, and by which check: core/denial.h. */
#ifndef VB_EXPLAIN_TEXT_DENIAL_H
#define VB_EXPLAIN_TEXT_DENIAL_H

#include "core/denial.h"
#include "explain/text/words.h"

/* Appends "RDMA WRITE of 8 bytes to 0x... under R_Key 0x...: CHECK." to the last line of @l. */
void vb_denial_say(struct vb_lines *l, const struct vb_denial *d);
/* A word for programs, "key-stale"; NULL: no check is known. */
const char *vb_denial_word(const struct vb_denial *d);
/* Appends what can be done. */
void vb_denial_advise(struct vb_lines *l, const struct vb_denial *d);

#endif
