/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. Several ibv_pd may stand for one PD of the core: imports and parent domains,
 * ibv_import_pd(3), ibv_alloc_parent_domain(3). The core's goes with the last of them.
 */
#include "verbs/priv.h"

#include <stdlib.h>

/* A number for a new PD, under which other processes find it. Under the lock. */
static uint32_t pd_number(struct vb_ibv_context *c)
{
	static uint32_t last;
	const struct vb_export_entry none = {0};
	uint32_t handle;

	/* There are fewer PDs than places, so one is free. */
	do {
		handle = vb_ibv_handle(c, last++);
	} while (!vb_export_put(c->file->table, VB_EXPORT_PD, handle, &none));
	return handle;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_pd *pd = vb_object_new(VB_OBJECT_PD, sizeof *pd);
	uint32_t *refs = calloc(1, sizeof *refs);
	int err = pd && refs ? EIO : ENOMEM;

	if (err == EIO && vb_ibv_enter(c)) {
		err = -vb_pd_create(vb_engine_hca(c->engine), &pd->core);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			/* Whole when it can be found: another thread may import it. */
			*refs = 1;
			pd->core_refs = refs;
			pd->ibv.context = context;
			pd->ibv.handle = pd_number(c);
			vb_ibv_name(&pd->ibv);
			vb_list_append(&c->pds, &pd->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(pd);
		free(refs);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_alloc_pd");
	}
	return &pd->ibv;
}

int vb_ibv_pd_free(struct vb_ibv_pd *pd)
{
	int err = pd->user_cnt ? -VB_IBV_WHY(EBUSY,
					     "objects that were created with it are there: "
					     "%u (ibv_dealloc_pd(3))",
					     pd->user_cnt)
			       : 0;

	if (!err && *pd->core_refs == 1) {
		err = vb_pd_destroy(pd->core);
		if (!err) {
			vb_export_drop(vb_ibv_ctx(pd->ibv.context)->file->table, VB_EXPORT_PD,
				       pd->ibv.handle);
			free(pd->core_refs);
		}
	} else if (!err) {
		--*pd->core_refs;
	}
	if (err)
		return err;
	if (pd->parent)
		vb_ibv_pd_drop(&pd->parent->ibv);
	if (pd->td)
		pd->td->user_cnt--;
	vb_object_free(pd);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_PD))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_dealloc_pd");

	struct vb_ibv_pd *pd = (struct vb_ibv_pd *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_dealloc_pd");
	vb_list_remove(&pd->link);

	int err = -vb_ibv_pd_free(pd);

	if (err)
		vb_list_append(&c->pds, &pd->link);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_dealloc_pd") : 0;
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

/* The first import of a PD of another process: one of this adapter's stands for it, which regions
 * are imported into. 0 or an errno. */
static int pd_from_process(struct vb_ibv_context *c, struct vb_ibv_pd *pd, uint32_t handle)
{
	struct vb_export_entry e;
	const uint32_t *lease;
	uint32_t leased, *refs;
	int err = vb_ibv_find_export(c, VB_EXPORT_PD, handle, &e, &lease, &leased);

	if (err)
		return err;
	refs = calloc(1, sizeof *refs);
	if (!refs)
		return ENOMEM;
	err = -vb_pd_create(vb_engine_hca(c->engine), &pd->core);
	if (!err) {
		pd->core_refs = refs;
		return 0;
	}
	free(refs);
	return vb_ibv_why_core(c, err);
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_pd *pd = vb_object_new(VB_OBJECT_PD, sizeof *pd), *from;
	int err = pd ? EIO : ENOMEM;

	if (pd && vb_ibv_enter(c)) {
		from = pd_find(c, handle);
		err = from ? 0 : pd_from_process(c, pd, handle);
		if (from) {
			pd->core = from->core;
			pd->core_refs = from->core_refs;
		}
		if (!err) {
			pd->ibv = (struct ibv_pd){.context = context, .handle = handle};
			++*pd->core_refs;
			vb_ibv_name(&pd->ibv);
			vb_list_append(&c->pds, &pd->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(pd);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_import_pd of handle 0x%x", handle);
	}
	return &pd->ibv;
}

/* The application's objects that still use it keep it, until the device is closed. */
void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)ibv_dealloc_pd(pd);
}
