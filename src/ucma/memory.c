/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of ids, events and files, as the configuration gives it. */
#include "ucma/priv.h"

void *vb_ucma_alloc(struct vb_ucma *u, size_t size)
{
	return u->cfg.cm.alloc(u->cfg.cm.alloc_ctx, size);
}

void vb_ucma_free(struct vb_ucma *u, void *p)
{
	u->cfg.cm.free(u->cfg.cm.alloc_ctx, p);
}
