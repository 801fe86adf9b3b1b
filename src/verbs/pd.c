/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. Several ibv_pd may stand for one PD of the core: imports and parent domains,
 * ibv_import_pd(3), ibv_alloc_parent_domain(3). The core's goes with the last of them.
 */
#include "verbs/priv.h"

#include <stdlib.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_pd *pd = calloc(1, sizeof *pd);
	uint32_t *refs = calloc(1, sizeof *refs);
	static _Atomic uint32_t handle;
	int err = pd && refs ? EIO : ENOMEM;

	if (err == EIO && vb_ibv_enter(c)) {
		err = -vb_pd_create(vb_engine_hca(c->engine), &pd->core);
		if (!err) {
			/* Whole when it can be found: another thread may import it. */
			*refs = 1;
			pd->core_refs = refs;
			pd->ibv.context = context;
			pd->ibv.handle = atomic_fetch_add(&handle, 1);
			vb_list_append(&c->pds, &pd->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		free(pd);
		free(refs);
		return vb_ibv_null(err);
	}
	return &pd->ibv;
}

int vb_ibv_pd_free(struct vb_ibv_pd *pd)
{
	int err = pd->user_cnt ? -EBUSY : 0;

	if (!err && *pd->core_refs == 1) {
		err = vb_pd_destroy(pd->core);
		if (!err)
			free(pd->core_refs);
	} else if (!err) {
		--*pd->core_refs;
	}
	if (err)
		return err;
	if (pd->parent)
		vb_ibv_pd_drop(&pd->parent->ibv);
	if (pd->td)
		pd->td->user_cnt--;
	free(pd);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_ibv_pd *pd = (struct vb_ibv_pd *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return EIO;
	vb_list_remove(&pd->link);

	int err = -vb_ibv_pd_free(pd);

	if (err)
		vb_list_append(&c->pds, &pd->link);
	vb_ibv_leave(c);
	return err;
}

/* The PD with @handle in the contexts that share a file with @c. Under the lock. */
static struct vb_ibv_pd *pd_find(struct vb_ibv_context *c, uint32_t handle)
{
	for (struct vb_list *f = c->file->contexts.next; f != &c->file->contexts; f = f->next) {
		struct vb_list *pds = &vb_container_of(f, struct vb_ibv_context, in_file)->pds;

		for (struct vb_list *l = pds->next; l != pds; l = l->next) {
			struct vb_ibv_pd *pd = vb_container_of(l, struct vb_ibv_pd, link);

			if (pd->ibv.handle == handle)
				return pd;
		}
	}
	return NULL;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_pd *pd = calloc(1, sizeof *pd), *from;
	int err = pd ? EIO : ENOMEM;

	if (pd && vb_ibv_enter(c)) {
		from = pd_find(c, handle);
		err = from ? 0 : ENOENT;
		if (from) {
			pd->ibv = (struct ibv_pd){.context = context, .handle = handle};
			pd->core = from->core;
			pd->core_refs = from->core_refs;
			++*pd->core_refs;
			vb_list_append(&c->pds, &pd->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		free(pd);
		return vb_ibv_null(err);
	}
	return &pd->ibv;
}

/* What the application has still created with it keeps it, until the device is closed. */
void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)ibv_dealloc_pd(pd);
}
