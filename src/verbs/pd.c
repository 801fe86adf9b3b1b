/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains. */
#include "verbs/priv.h"

#include <stdlib.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_pd *pd = calloc(1, sizeof *pd);
	static _Atomic uint32_t handle;
	int err = EIO;

	if (!pd)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		err = -vb_pd_create(vb_engine_hca(c->engine), &pd->core);
		if (!err)
			vb_list_append(&c->pds, &pd->link);
		vb_ibv_leave(c);
	}
	if (err) {
		free(pd);
		return vb_ibv_null(err);
	}
	pd->ibv.context = context;
	pd->ibv.handle = atomic_fetch_add(&handle, 1);
	return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_ibv_pd *pd = (struct vb_ibv_pd *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return EIO;

	int err = pd->ah_cnt ? EBUSY : -vb_pd_destroy(pd->core);

	if (!err)
		vb_list_remove(&pd->link);
	vb_ibv_leave(c);
	if (!err)
		free(pd);
	return err;
}
