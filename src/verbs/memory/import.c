/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices, regions and device memory that another context has, of this process or, by the table
 * behind its cmd_fd (export.h), of another one. Each process has an adapter of its own: what is
 * imported from another one is an object of this adapter's, with keys of its own, on the same
 * memory. It ends when the other process destroys its own. ibv_import_device(3), ibv_import_mr(3)
 */
#include "verbs/priv.h"

#include <stdlib.h>
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

/* Another context on the objects of one that this process has open; ENOENT: it has none. */
static struct ibv_context *import_own(struct vb_engine *e, const struct stat *st, int cmd_fd)
{
	struct vb_ibv_context *c;

	vb_engine_lock(e);
	c = find_by_fd(st);
	if (c)
		c->file->open_cnt++; /* it stays until the new context holds it */
	vb_engine_unlock(e);
	if (!c)
		return vb_ibv_null(ENOENT);

	struct ibv_context *context = vb_ibv_context_open(c->dev, c->file, cmd_fd);
	int err = errno;

	vb_engine_lock(e);
	c->file->open_cnt--;
	vb_engine_unlock(e);
	return context ? context : vb_ibv_null(err);
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
	int err = d ? errno : ENODEV;

	if (file) {
		file->remote = t;
		context = vb_ibv_context_open(d, file, cmd_fd);
		err = errno;
		if (!context)
			free(file);
	}
	ibv_free_device_list(list);
	return context ? context : vb_ibv_null(err);
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
		return NULL;

	int err = -vb_ibv_acquire(&e);

	if (err)
		return vb_ibv_null(err);
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
	return context ? context : vb_ibv_null(err);
}

/* Maps the memory of what @e tells, for writing if it may be written. 0 or an errno. */
static int map_memory(const struct vb_export_table *t, const struct vb_export_entry *e, bool write,
		      struct vb_remote_memory *out)
{
	uint64_t end;

	if (e->length == 0 || e->length > SIZE_MAX ||
	    __builtin_add_overflow(e->addr, e->length, &end) || end > UINTPTR_MAX)
		return EINVAL;

	int err = -vb_remote_memory_map((pid_t)t->pid, e->addr, e->length, write, out);

	if (err)
		return err == ENOENT || err == ESRCH ? EIO : err;
	err = vb_engine_check_memory(out->at, (size_t)e->length, write);
	if (err)
		vb_remote_memory_unmap(out);
	return err;
}

/* The right to which an adapter writes. */
#define WRITES                                                                                     \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC |                \
	 VB_ACCESS_MW_BIND)

struct ibv_mr *vb_ibv_mr_from_process(struct ibv_pd *pd, uint32_t handle)
{
	const struct vb_export_table *t = vb_ibv_ctx(pd->context)->file->remote;
	struct vb_ibv_mr_origin origin = {.handle = handle};
	struct vb_export_entry e;
	struct vb_mr_attr attr = {0};
	int err = vb_import_find(t, VB_EXPORT_MR, handle, &e, &attr.lease, &attr.leased);

	if (err)
		return vb_ibv_null(err);
	if (e.pd != pd->handle)
		return vb_ibv_null(EINVAL);
	/* All memory of one process is not that of another one. */
	if (e.kind == VB_MR_IMPLICIT)
		return vb_ibv_null(EOPNOTSUPP);
	if (e.kind != VB_MR_HOST && e.kind != VB_MR_NULL)
		return vb_ibv_null(EINVAL);
	attr.kind = e.kind == VB_MR_NULL ? VB_MR_NULL : VB_MR_HOST;
	attr.access = e.access;
	if (attr.kind == VB_MR_HOST) {
		err = map_memory(t, &e, e.access & WRITES, &origin.memory);
		if (err)
			return vb_ibv_null(err);
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
		return vb_ibv_null(err);
	}
	if (attr.kind == VB_MR_NULL) {
		mr->length = SIZE_MAX;
		mr->rkey = 0;
	}
	return mr;
}

int vb_ibv_dm_from_process(const struct vb_ibv_context *c, uint32_t handle,
			   struct vb_ibv_dm_mem **out)
{
	struct vb_ibv_dm_mem *m = calloc(1, sizeof *m);
	struct vb_export_entry e;
	int err =
	    m ? vb_import_find(c->file->remote, VB_EXPORT_DM, handle, &e, &m->lease, &m->leased)
	      : ENOMEM;

	if (!err)
		err = map_memory(c->file->remote, &e, true, &m->foreign);
	/* The adapter's memory is never like that. */
	if (!err && m->foreign.may_shrink) {
		vb_remote_memory_unmap(&m->foreign);
		err = EINVAL;
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
