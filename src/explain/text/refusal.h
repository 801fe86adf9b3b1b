/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for why the core refused a verb, core/refusal.h. */
#ifndef VB_EXPLAIN_TEXT_REFUSAL_H
#define VB_EXPLAIN_TEXT_REFUSAL_H

#include "core/refusal.h"

#include <stddef.h>

/* Writes "path_mtu 4096 is larger than ... (IBA 11.2.5.2)", cut at @size; empty without a rule. */
void vb_refusal_words(const struct vb_refusal *r, char *to, size_t size);

#endif
