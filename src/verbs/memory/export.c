/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of a context, for other processes to import: see export.h. memfd_create(2) */
#include "verbs/memory/export.h"

#include "link/memory.h"
#include "node/host/process.h"
#include "node/host/remote_memory.h"
#include "verbs/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define TABLE_NAME "verbena uverbs"

int vb_export_open(uint64_t guid, struct vb_export_table **out)
{
	void *p;
	int fd = vb_memory_new(TABLE_NAME, sizeof **out, &p);

	*out = NULL;
	if (fd == -EFBIG) {
		/* Programs duplicate it and compare: an inode of its own is what they need. */
		fd = memfd_create(TABLE_NAME, MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (fd < 0)
		return fd;

	struct vb_export_table *t = p;

	/* No part of what the process leaves behind when it dumps core. */
	(void)madvise(t, sizeof *t, MADV_DONTDUMP);
	t->version = VB_EXPORT_VERSION;
	t->pid = (uint32_t)getpid();
	t->pid_start = vb_process_start(getpid());
	t->guid = guid;
	__atomic_store_n(&t->magic, VB_EXPORT_MAGIC, __ATOMIC_RELEASE);
	/* From here on it is written through this mapping only; a kernel before 5.1 lets others. */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	*out = t;
	return fd;
}

void vb_export_close(struct vb_export_table *t)
{
	if (t)
		__atomic_store_n(&t->is_closed, 1, __ATOMIC_RELEASE);
}

void vb_export_unmap(const struct vb_export_table *t)
{
	vb_memory_unmap(t, sizeof *t);
}

/* The place of @handle. */
static const struct vb_export_slot *slot_of(const struct vb_export_table *t,
					    enum vb_export_kind kind, uint32_t handle)
{
	switch (kind) {
	case VB_EXPORT_PD:
		return &t->pd[handle % VB_EXPORT_PDS];
	case VB_EXPORT_DM:
		return &t->dm[handle % VB_EXPORT_DMS];
	default:
		return &t->mr[handle % VB_EXPORT_MRS];
	}
}

bool vb_export_put(struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle,
		   const struct vb_export_entry *e)
{
	if (!t)
		return true;

	struct vb_export_slot *s = (struct vb_export_slot *)slot_of(t, kind, handle);

	if (s->generation & 1)
		return false;
	s->handle = handle;
	s->entry = *e;
	__atomic_store_n(&s->generation, s->generation + 1, __ATOMIC_RELEASE);
	return true;
}

void vb_export_drop(struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle)
{
	struct vb_export_slot *s = t ? (struct vb_export_slot *)slot_of(t, kind, handle) : NULL;

	if (!s || !(s->generation & 1) || s->handle != handle || t->is_closed)
		return;
	__atomic_store_n(&s->generation, s->generation + 1, __ATOMIC_RELEASE);
	/* Before what comes next there is written. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Nobody vouches any more for what the table says. */
static bool is_over(const struct vb_export_table *t)
{
	return __atomic_load_n(&t->is_closed, __ATOMIC_ACQUIRE) || !t->pid_start ||
	       vb_process_start((pid_t)t->pid) != t->pid_start;
}

static int why_over(void)
{
	return VB_IBV_WHY(EIO, "the process that it is from has closed the device, or has ended");
}

int vb_import_table(int cmd_fd, const struct vb_export_table **out)
{
	const struct vb_export_table *t;
	struct statfs fs;
	void *p;
	int err;

	/* A file of huge pages could be sealed as well, and reading a hole of it be a signal. */
	if (fstatfs(cmd_fd, &fs))
		return VB_IBV_WHY(errno, "cmd_fd %d: %s", cmd_fd, strerrordesc_np(errno));
	err = fs.f_type == TMPFS_MAGIC ? -vb_memory_map(cmd_fd, sizeof *t, false, &p) : -1;
	if (err)
		return VB_IBV_WHY(err < 0 ? EINVAL : err,
				  "cmd_fd %d is that of no context (ibv_import_device(3))", cmd_fd);
	t = p;
	if (__atomic_load_n(&t->magic, __ATOMIC_ACQUIRE) != VB_EXPORT_MAGIC ||
	    t->version != VB_EXPORT_VERSION || t->pid == 0 || t->pid > INT32_MAX)
		err = VB_IBV_WHY(EINVAL, "cmd_fd %d is that of no context of this version", cmd_fd);
	else if (is_over(t))
		err = why_over();
	if (err)
		vb_export_unmap(t);
	else
		*out = t;
	return err;
}

int vb_import_find(const struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle,
		   struct vb_export_entry *e, const uint32_t **lease, uint32_t *leased)
{
	const struct vb_export_slot *s = slot_of(t, kind, handle);
	uint32_t before = __atomic_load_n(&s->generation, __ATOMIC_ACQUIRE);
	uint32_t named = s->handle;

	*e = s->entry;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!(before & 1) || __atomic_load_n(&s->generation, __ATOMIC_RELAXED) != before ||
	    named != handle)
		return VB_IBV_WHY(ENOENT, "the process that it is from has no such object");
	*lease = &s->generation;
	*leased = before;
	return is_over(t) ? why_over() : 0;
}
