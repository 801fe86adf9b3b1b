/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes why a verb was refused, see core/refusal.h. */
#include "core/adapter.h"

int vb_refuse(struct vb_hca *h, int err, struct vb_refusal why)
{
	h->refusal = why;
	return err;
}

struct vb_refusal vb_hca_take_refusal(struct vb_hca *h)
{
	struct vb_refusal last = h->refusal;

	h->refusal = (struct vb_refusal){0};
	return last;
}
