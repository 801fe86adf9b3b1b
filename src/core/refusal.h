/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a verb was refused: the rule, and the values that break it. The core notes it where it
 * refuses; explain/text/refusal.h has the words. A call that succeeds pays nothing for it.
 */
#ifndef VB_CORE_REFUSAL_H
#define VB_CORE_REFUSAL_H

#include "base/cold.h"

#include <stdint.h>

struct vb_hca;

/* The rules; VB_REFUSAL_NONE: none is known. */
enum vb_refusal_rule {
	VB_REFUSAL_NONE,
#define REFUSAL(name, text, clause) VB_REFUSAL_##name,
#include "core/refusal.def"
#undef REFUSAL
};

struct vb_refusal {
	enum vb_refusal_rule rule;
	const char *name; /* of the attribute, as the verbs call it; or NULL. A literal. */
	uint64_t value;   /* what the caller asked for */
	uint64_t bound;   /* what there is instead */
	uint32_t mask;    /* enum vb_qp_attr_mask: the attributes it is about */
};

/* Why the last verb of @h that failed did; told once. VB_REFUSAL_NONE: nothing was noted since. */
struct vb_refusal vb_hca_take_refusal(struct vb_hca *h);

/* The core's own: notes why a verb of @h is refused with @err, which it returns. */
VB_COLD int vb_refuse(struct vb_hca *h, int err, struct vb_refusal why);
/* ... with the rule, and the fields that it has words for. */
#define VB_REFUSE(h, err, ...) vb_refuse(h, err, (struct vb_refusal){.rule = __VA_ARGS__})

#endif
