/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: memory of the adapter that programs reach by the adapter only. This adapter's is
 * memory of the process, so it is no faster; programs that place counters and locks there run as
 * they are. ibv_alloc_dm(3)
 */
#include "verbs/priv.h"

#include <stdlib.h>
#include <string.h>

#define DM_ALIGN 4 /* of offsets and lengths, as on the NICs that have such memory */
#define LOG_ALIGN_MAX 12

static uint64_t dm_used; /* bytes, of this process. Under the lock */

static int dm_check(const struct vb_ibv_dm *dm, uint64_t offset, size_t length)
{
	if (offset % DM_ALIGN || length % DM_ALIGN || offset > dm->mem->length ||
	    length > dm->mem->length - offset)
		return EFAULT;
	return 0;
}

static int memcpy_to_dm(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	int err = dm_check(dm, offset, length);

	if (!err)
		memcpy(dm->mem->p + offset, from, length);
	return err;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	int err = dm_check(dm, offset, length);

	if (!err)
		memcpy(to, dm->mem->p + offset, length);
	return err;
}

static void dm_show(struct vb_ibv_dm *dm, struct ibv_context *context, uint32_t handle)
{
	dm->ibv = (struct ibv_dm){.context = context,
				  .memcpy_to_dm = memcpy_to_dm,
				  .memcpy_from_dm = memcpy_from_dm,
				  .handle = handle};
}

static struct vb_ibv_dm_mem *dm_mem_new(size_t length, uint32_t log_align)
{
	struct vb_ibv_dm_mem *m = calloc(1, sizeof *m);
	size_t align = (size_t)1 << log_align;
	size_t size = (length + align - 1) & ~(align - 1);

	if (!m)
		return NULL;
	m->p = aligned_alloc(align, size);
	if (!m->p) {
		free(m);
		return NULL;
	}
	memset(m->p, 0, size);
	m->length = length;
	m->refs = 1;
	return m;
}

void vb_ibv_dm_mem_put(struct vb_ibv_dm_mem *m)
{
	if (--m->refs)
		return;
	dm_used -= m->length;
	free(m->p);
	free(m);
}

/* The engine is not needed for it, so that a forked child has device memory as well. */
struct ibv_dm *vb_ibv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	uint32_t log_align = attr->log_align_req < 6 ? 6 : attr->log_align_req;
	static _Atomic uint32_t handle;

	if (attr->comp_mask || !attr->length || log_align > LOG_ALIGN_MAX)
		return vb_ibv_null(EINVAL);
	if (attr->length > VB_DM_SIZE)
		return vb_ibv_null(ENOMEM);

	struct vb_ibv_dm *dm = calloc(1, sizeof *dm);
	struct vb_ibv_dm_mem *m = dm_mem_new(attr->length, log_align);
	bool fits = false;

	if (dm && m) {
		dm->mem = m;
		dm_show(dm, context, atomic_fetch_add(&handle, 1));
		vb_engine_lock(c->engine);
		fits = attr->length <= VB_DM_SIZE - dm_used;
		if (fits) {
			dm_used += attr->length;
			vb_list_append(&c->dms, &dm->link);
		}
		vb_engine_unlock(c->engine);
	}
	if (!fits) {
		if (m)
			free(m->p);
		free(m);
		free(dm);
		return vb_ibv_null(ENOMEM);
	}
	return &dm->ibv;
}

int vb_ibv_free_dm(struct ibv_dm *ibv)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	int err = 0;

	vb_engine_lock(c->engine);
	if (dm->mem->mr_cnt && !dm->mem->is_freed)
		err = EBUSY;
	if (!err) {
		dm->mem->is_freed = true;
		vb_list_remove(&dm->link);
		vb_ibv_dm_mem_put(dm->mem);
	}
	vb_engine_unlock(c->engine);
	if (!err)
		free(dm);
	return err;
}

/* The device memory with @handle in the contexts that share a file with @c. Under the lock. */
static struct vb_ibv_dm_mem *dm_find(struct vb_ibv_context *c, uint32_t handle)
{
	for (struct vb_list *f = c->file->contexts.next; f != &c->file->contexts; f = f->next) {
		struct vb_list *dms = &vb_container_of(f, struct vb_ibv_context, in_file)->dms;

		for (struct vb_list *l = dms->next; l != dms; l = l->next) {
			struct vb_ibv_dm *dm = vb_container_of(l, struct vb_ibv_dm, link);

			if (dm->ibv.handle == handle && !dm->mem->is_freed)
				return dm->mem;
		}
	}
	return NULL;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_dm *dm = calloc(1, sizeof *dm);

	if (!dm)
		return vb_ibv_null(ENOMEM);
	vb_engine_lock(c->engine);
	dm->mem = dm_find(c, handle);
	if (dm->mem) {
		dm->mem->refs++;
		dm_show(dm, context, handle);
		vb_list_append(&c->dms, &dm->link);
	}
	vb_engine_unlock(c->engine);
	if (!dm->mem) {
		free(dm);
		return vb_ibv_null(ENOENT);
	}
	return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *ibv)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	vb_engine_lock(c->engine);
	vb_list_remove(&dm->link);
	vb_ibv_dm_mem_put(dm->mem);
	vb_engine_unlock(c->engine);
	free(dm);
}

#define DM_ACCESS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

struct ibv_mr *vb_ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
				size_t length, unsigned int access)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;

	if (!(access & IBV_ACCESS_ZERO_BASED) || pd->context->device != ibv->context->device)
		return vb_ibv_null(EINVAL);
	if (access & ~(unsigned)DM_ACCESS)
		return vb_ibv_null(EOPNOTSUPP);
	if (dm_check(dm, offset, length))
		return vb_ibv_null(EINVAL);

	struct vb_mr_attr attr = {.length = length, .host = dm->mem->p + offset, .access = access};

	return vb_ibv_mr_create(pd, &attr, dm->mem);
}
