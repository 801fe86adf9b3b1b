/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes why a verb was refused, see core/refusal.h. */
#include "core/adapter.h"

int vb_refuse(struct vb_hca *h, int err, struct vb_refusal why)
{
	h->refusal = why;
	return err;
}

const struct vb_refusal *vb_hca_refusal(const struct vb_hca *h)
{
	return &h->refusal;
}
