/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices, regions and device memory that another context has, of this process or, by the table
 * behind its cmd_fd (export.h), of another one. Each process has an adapter of its own: what is
 * imported from another one is an object of this adapter's, with keys of its own, on the same
 * memory. It ends when the other process destroys its own. ibv_import_device(3), ibv_import_mr(3)
 */
#include "verbs/priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The open context whose command descriptor @st is of; NULL: none of this process. */
static struct vb_ibv_context *find_by_fd(const struct stat *st)
{
	for (struct vb_list *l = vb_ibv_contexts.next; l != &vb_ibv_contexts; l = l->next) {
		struct vb_ibv_context *c = vb_container_of(l, struct vb_ibv_context, link);

		if (vb_engine_is_alive(c->engine) && c->file->dev == st->st_dev &&
		    c->file->ino == st->st_ino)
			return c;
	}
	return NULL;
}

/* Another context on the objects of one that this process has open; NULL: it has none, or errno. */
static struct ibv_context *import_own(struct vb_engine *e, const struct stat *st, int cmd_fd)
{
	struct vb_ibv_context *c;

	vb_engine_lock(e);
	c = find_by_fd(st);
	if (c)
		c->file->open_cnt++; /* it stays until the new context holds it */
	vb_engine_unlock(e);
	if (!c)
		return vb_ibv_null(ENOENT); /* no refusal: it may be another process's */

	struct ibv_context *context = vb_ibv_context_open(c->dev, c->file, cmd_fd);
	int err = errno;

	vb_engine_lock(e);
	c->file->open_cnt--;
	vb_engine_unlock(e);
	errno = err;
	return context;
}

/* On those of another process. */
static struct ibv_context *import_other(const struct vb_export_table *t, int cmd_fd)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct vb_ibv_device *d = NULL;
	struct ibv_context *context = NULL;

	if (!list)
		return NULL;
	for (int i = 0; list[i] && !d; i++) {
		d = (struct vb_ibv_device *)list[i];
		d = d->guid == t->guid ? d : NULL;
	}

	struct vb_ibv_file *file = d ? vb_ibv_file_new(cmd_fd) : NULL;
	int err =
	    d ? errno
	      : VB_IBV_WHY(ENODEV, "its device, with GUID 0x%016" PRIx64 ", is not there", t->guid);

	if (file) {
		file->remote = t;
		context = vb_ibv_context_open(d, file, cmd_fd);
		err = errno;
		if (!context)
			free(file);
	}
	ibv_free_device_list(list);
	errno = err;
	return context;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	/* Of threads that import the same one, the second finds what the first has made. */
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const struct vb_export_table *t;
	struct ibv_context *context;
	struct vb_engine *e;
	struct stat st;

	if (fstat(cmd_fd, &st))
		return VB_IBV_REFUSE_NULL(
		    NULL, VB_IBV_WHY(errno, "cmd_fd %d: %s", cmd_fd, strerrordesc_np(errno)),
		    "ibv_import_device");

	int err = -vb_ibv_acquire(&e);

	if (err)
		return vb_ibv_null(err); /* which was said on standard error */
	pthread_mutex_lock(&mutex);
	context = import_own(e, &st, cmd_fd);
	err = errno;
	if (!context && err == ENOENT) {
		err = vb_import_table(cmd_fd, &t);
		context = err ? NULL : import_other(t, cmd_fd);
		if (!err && !context) {
			err = errno;
			vb_export_unmap(t);
		}
	}
	pthread_mutex_unlock(&mutex);
	vb_engine_release(e);
	return context ? context : VB_IBV_REFUSE_NULL(NULL, err, "ibv_import_device");
}

/* Maps the memory of what @e tells, for writing if it may be written. 0 or an errno. */
static int map_memory(const struct vb_export_table *t, const struct vb_export_entry *e, bool write,
		      struct vb_remote_memory *out)
{
	uint64_t end;

	if (e->length == 0 || e->length > SIZE_MAX ||
	    __builtin_add_overflow(e->addr, e->length, &end) || end > UINTPTR_MAX)
		return VB_IBV_WHY(EINVAL, "%" PRIu64 " bytes at 0x%" PRIx64 " are no memory",
				  e->length, e->addr);

	int err = -vb_remote_memory_map((pid_t)t->pid, e->addr, e->length, write, out);

	if (err)
		return VB_IBV_WHY(err == ENOENT || err == ESRCH ? EIO : err,
				  "the memory of process %u cannot be mapped here, as memory that "
				  "no file stands for cannot: %s (ibv_import_mr(3))",
				  t->pid, strerrordesc_np(err));
	err = vb_engine_check_memory(out->at, (size_t)e->length, write);
	if (!err)
		return 0;
	vb_remote_memory_unmap(out);
	return VB_IBV_WHY(err, "not all of the %" PRIu64 " bytes can be %s", e->length,
			  write ? "written" : "read");
}

/* The right to which an adapter writes. */
#define WRITES                                                                                     \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC |                \
	 VB_ACCESS_MW_BIND)

int vb_ibv_find_export(const struct vb_ibv_context *c, enum vb_export_kind kind, uint32_t handle,
		       struct vb_export_entry *e, const uint32_t **lease, uint32_t *leased)
{
	if (c->file->remote)
		return vb_import_find(c->file->remote, kind, handle, e, lease, leased);
	return VB_IBV_WHY(ENOENT, "no context on this device has an object with that handle");
}

/* Whether the region @e can be one of @pd here. Returns 0 or an errno. */
static int exported_mr_check(const struct vb_export_entry *e, const struct ibv_pd *pd)
{
	if (e->pd != pd->handle)
		return VB_IBV_WHY(EINVAL,
				  "the region is of another protection domain, handle 0x%x "
				  "(ibv_import_mr(3))",
				  e->pd);
	if (e->kind == VB_MR_IMPLICIT)
		return VB_IBV_WHY(EOPNOTSUPP, "it is all memory of another process, which is not "
					      "that of this one");
	if (e->kind != VB_MR_HOST && e->kind != VB_MR_NULL)
		return VB_IBV_WHY(EINVAL, "it is of no kind that is known here, %u", e->kind);
	return 0;
}

/* The region with @handle of the process that the context of @pd is imported from. */
static struct ibv_mr *import_from_process(struct ibv_pd *pd, uint32_t handle)
{
	const struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_ibv_mr_origin origin = {.handle = handle};
	struct vb_export_entry e;
	struct vb_mr_attr attr = {0};
	int err = vb_ibv_find_export(c, VB_EXPORT_MR, handle, &e, &attr.lease, &attr.leased);

	if (!err)
		err = exported_mr_check(&e, pd);
	if (!err && e.kind == VB_MR_HOST)
		err = map_memory(c->file->remote, &e, e.access & WRITES, &origin.memory);
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_import_mr of handle 0x%x", handle);
	attr.kind = e.kind == VB_MR_NULL ? VB_MR_NULL : VB_MR_HOST;
	attr.access = e.access;
	if (attr.kind == VB_MR_HOST) {
		attr.iova = e.iova;
		attr.length = e.length;
		attr.host = origin.memory.at;
		/* Then a hole is an error of the access. */
		if (origin.memory.may_shrink)
			attr.access |= VB_ACCESS_ON_DEMAND;
	}

	struct ibv_mr *mr = vb_ibv_mr_create(pd, &attr, NULL, &origin);

	if (!mr) {
		err = errno;
		vb_remote_memory_unmap(&origin.memory);
		errno = err;
		return NULL;
	}
	if (attr.kind == VB_MR_NULL) {
		mr->length = SIZE_MAX;
		mr->rkey = 0;
	}
	return mr;
}

/* The region with @handle in the contexts that share a file with @c. Under the lock. */
static struct vb_ibv_mr *mr_find(struct vb_ibv_context *c, uint32_t handle)
{
	for (struct vb_list *f = c->file->contexts.next; f != &c->file->contexts; f = f->next) {
		struct vb_list *mrs = &vb_container_of(f, struct vb_ibv_context, in_file)->mrs;

		for (struct vb_list *l = mrs->next; l != mrs; l = l->next) {
			struct vb_ibv_mr *mr = vb_container_of(l, struct vb_ibv_mr, link);

			if (mr->ibv.handle == handle && mr->share->core)
				return mr;
		}
	}
	return NULL;
}

/* Whether @from can be imported into @pd of @c. Returns 0 or an errno. */
static int mr_import_check(const struct vb_ibv_context *c, const struct vb_ibv_mr *from,
			   const struct ibv_pd *pd)
{
	if (!from)
		return c->file->remote ? ENODATA /* it may be the other process's */
				       : vb_ibv_why_gone(VB_OBJECT_MR);
	if (((struct vb_ibv_pd *)from->ibv.pd)->core != ((const struct vb_ibv_pd *)pd)->core)
		return VB_IBV_WHY(EINVAL, "the region is of another protection domain "
					  "(ibv_import_mr(3))");
	return 0;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_ibv_mr *mr = vb_object_new(VB_OBJECT_MR, sizeof *mr), *from;
	int err = mr ? EIO : ENOMEM;

	if (mr && vb_ibv_enter(c)) {
		from = mr_find(c, handle);
		err = mr_import_check(c, from, pd);
		if (!err) {
			*mr = *from;
			mr->ibv.context = pd->context;
			mr->ibv.pd = pd;
			mr->ibv.addr = NULL; /* not applicable, ibv_import_mr(3) */
			vb_ibv_name(&mr->ibv);
			mr->share->refs++;
			if (mr->dm) {
				mr->dm->mr_cnt++;
				mr->dm->refs++;
			}
			if (mr->dmah)
				atomic_fetch_add(&mr->dmah->user_cnt, 1);
			vb_ibv_pd_hold(pd);
			vb_list_append(&c->mrs, &mr->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(mr);
		if (err == ENODATA)
			return import_from_process(pd, handle);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_import_mr of handle 0x%x", handle);
	}
	return &mr->ibv;
}

int vb_ibv_dm_from_process(const struct vb_ibv_context *c, uint32_t handle,
			   struct vb_ibv_dm_mem **out)
{
	struct vb_ibv_dm_mem *m = calloc(1, sizeof *m);
	struct vb_export_entry e;
	int err =
	    m ? vb_ibv_find_export(c, VB_EXPORT_DM, handle, &e, &m->lease, &m->leased) : ENOMEM;

	if (!err)
		err = map_memory(c->file->remote, &e, true, &m->foreign);
	/* The adapter's memory is never like that. */
	if (!err && m->foreign.may_shrink) {
		vb_remote_memory_unmap(&m->foreign);
		err = VB_IBV_WHY(EINVAL, "the device memory of the other process may shrink");
	}
	if (err) {
		free(m);
		return err;
	}
	m->p = m->foreign.at;
	m->length = (size_t)e.length;
	m->refs = 1;
	*out = m;
	return 0;
}
