/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: memory of the adapter that programs reach by the adapter only. This adapter's is
 * memory of the process, so it is no faster; programs that place counters and locks there run as
 * they are. ibv_alloc_dm(3)
 */
#include "verbs/priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DM_ALIGN 4 /* of offsets and lengths, as on the NICs that have such memory */
#define LOG_ALIGN_MAX 12

static int dm_check(const struct vb_ibv_dm *dm, uint64_t offset, size_t length)
{
	if (offset % DM_ALIGN || length % DM_ALIGN)
		return VB_IBV_WHY(EFAULT,
				  "offset %" PRIu64 " and length %zu are not both multiples of %d",
				  offset, length, DM_ALIGN);
	if (offset > dm->mem->length || length > dm->mem->length - offset)
		return VB_IBV_WHY(EFAULT,
				  "offset %" PRIu64 " and length %zu end behind the %zu bytes of "
				  "the device memory",
				  offset, length, dm->mem->length);
	return 0;
}

/* Memory of another process that has freed it is somebody else's by now. */
static int dm_check_owner(const struct vb_ibv_dm_mem *m)
{
	if (!m->lease || __atomic_load_n(m->lease, __ATOMIC_ACQUIRE) == m->leased)
		return 0;
	return VB_IBV_WHY(EFAULT, "the process that it is from has freed it (ibv_import_dm(3))");
}

static int memcpy_to_dm(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	int err = dm_check(dm, offset, length);

	if (!err)
		err = dm_check_owner(dm->mem);
	if (err)
		return vb_ibv_refuse(NULL, err, "ibv_memcpy_to_dm");
	memcpy(dm->mem->p + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	int err = dm_check(dm, offset, length);

	if (!err)
		err = dm_check_owner(dm->mem);
	if (err)
		return vb_ibv_refuse(NULL, err, "ibv_memcpy_from_dm");
	memcpy(to, dm->mem->p + offset, length);
	return 0;
}

static void dm_show(struct vb_ibv_dm *dm, struct ibv_context *context, uint32_t handle)
{
	dm->ibv = (struct ibv_dm){.context = context,
				  .memcpy_to_dm = memcpy_to_dm,
				  .memcpy_from_dm = memcpy_from_dm,
				  .handle = handle};
	vb_ibv_name(&dm->ibv);
}

/* A number for new memory, under which other processes find it. Under the lock. */
static uint32_t dm_number(struct vb_ibv_context *c, const struct vb_ibv_dm_mem *m)
{
	static uint32_t last;
	const struct vb_export_entry e = {.addr = (uintptr_t)m->p, .length = m->length};
	uint32_t handle = 0;

	/* More memories than places: then some cannot be found. */
	for (uint32_t i = 0; i < VB_EXPORT_DMS; i++) {
		handle = vb_ibv_handle(c, last++);
		if (vb_export_put(c->file->table, VB_EXPORT_DM, handle, &e))
			break;
	}
	return handle;
}

static int dm_attr_check(const struct ibv_alloc_dm_attr *attr)
{
	if (attr->comp_mask)
		return VB_IBV_WHY(EINVAL, "comp_mask is 0x%x, not 0", attr->comp_mask);
	if (!attr->length)
		return VB_IBV_WHY(EINVAL, "length is 0 (ibv_alloc_dm(3))");
	if (attr->log_align_req > LOG_ALIGN_MAX)
		return VB_IBV_WHY(EINVAL, "log_align_req %u is larger than %d", attr->log_align_req,
				  LOG_ALIGN_MAX);
	return 0;
}

/* The engine is not needed for it, so that a forked child has device memory as well. */
struct ibv_dm *vb_ibv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	uint32_t log_align = attr->log_align_req < 6 ? 6 : attr->log_align_req;

	int err = dm_attr_check(attr);

	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_alloc_dm");

	struct vb_ibv_dm *dm = vb_object_new(VB_OBJECT_DM, sizeof *dm);
	struct vb_ibv_dm_mem *m = calloc(1, sizeof *m);

	err = dm && m ? 0 : ENOMEM;

	if (!err) {
		vb_engine_lock(c->engine);
		err = vb_dm_arena_take(m, attr->length, (size_t)1 << log_align);
		if (!err) {
			m->refs = 1;
			dm->mem = m;
			dm_show(dm, context, dm_number(c, m));
			vb_list_append(&c->dms, &dm->link);
		}
		vb_engine_unlock(c->engine);
	}
	if (err) {
		free(m);
		vb_object_free(dm);
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_alloc_dm");
	}
	return &dm->ibv;
}

/* Nobody can import it any more, from here or from another process. Under the lock. */
static void dm_withdraw(const struct vb_ibv_dm *dm)
{
	dm->mem->is_freed = true;
	vb_export_drop(vb_ibv_ctx(dm->ibv.context)->file->table, VB_EXPORT_DM, dm->ibv.handle);
}

int vb_ibv_free_dm(struct ibv_dm *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_DM))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_free_dm");

	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	int err = 0;

	vb_engine_lock(c->engine);
	if (dm->mem->mr_cnt && !dm->mem->is_freed)
		err = VB_IBV_WHY(EBUSY, "regions are registered in it: %u (ibv_free_dm(3))",
				 dm->mem->mr_cnt);
	if (!err) {
		dm_withdraw(dm);
		vb_list_remove(&dm->link);
		vb_ibv_dm_mem_put(dm->mem);
	}
	vb_engine_unlock(c->engine);
	if (err)
		return vb_ibv_refuse(NULL, err, "ibv_free_dm");
	vb_object_free(dm);
	return 0;
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
	struct vb_ibv_dm *dm = vb_object_new(VB_OBJECT_DM, sizeof *dm);
	int err = 0;

	if (!dm)
		return vb_ibv_null(ENOMEM);
	vb_engine_lock(c->engine);
	dm->mem = dm_find(c, handle);
	if (dm->mem)
		dm->mem->refs++;
	else
		err = vb_ibv_dm_from_process(c, handle, &dm->mem);
	if (!err) {
		dm_show(dm, context, handle);
		vb_list_append(&c->dms, &dm->link);
	}
	vb_engine_unlock(c->engine);
	if (err) {
		vb_object_free(dm);
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_import_dm of handle 0x%x", handle);
	}
	return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *ibv)
{
	if (!vb_object_is(ibv, VB_OBJECT_DM))
		return;

	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	vb_engine_lock(c->engine);
	vb_list_remove(&dm->link);
	if (dm->mem->refs == 1)
		dm_withdraw(dm);
	vb_ibv_dm_mem_put(dm->mem);
	vb_engine_unlock(c->engine);
	vb_object_free(dm);
}

#define DM_ACCESS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

static int dm_mr_check(const struct ibv_pd *pd, const struct vb_ibv_dm *dm, unsigned access)
{
	if (vb_ibv_check(pd, VB_OBJECT_PD) || vb_ibv_check(&dm->ibv, VB_OBJECT_DM))
		return ENOENT;
	if (!(access & IBV_ACCESS_ZERO_BASED))
		return VB_IBV_WHY(EINVAL, "access lacks IBV_ACCESS_ZERO_BASED (ibv_reg_dm_mr(3))");
	if (pd->context->device != dm->ibv.context->device)
		return VB_IBV_WHY(EINVAL, "pd is of %s, and dm of %s", pd->context->device->name,
				  dm->ibv.context->device->name);
	if (access & ~(unsigned)DM_ACCESS)
		return VB_IBV_WHY(EOPNOTSUPP, "access has 0x%x, rights that device memory has not",
				  access & ~(unsigned)DM_ACCESS);
	return vb_ibv_access_check(access);
}

struct ibv_mr *vb_ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
				size_t length, unsigned int access)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;
	int err = dm_mr_check(pd, dm, access);

	/* None at all is taken: pyverbs' tests register that, and adapters let them. */
	if (!err && dm_check(dm, offset, length))
		err = vb_ibv_why_as(EINVAL);
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_reg_dm_mr");

	struct vb_mr_attr attr = {.length = length,
				  .host = dm->mem->p + offset,
				  .access = access,
				  .lease = dm->mem->lease,
				  .leased = dm->mem->leased};

	return vb_ibv_mr_create(pd, &attr, dm->mem, NULL);
}
