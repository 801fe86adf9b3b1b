/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status of files: a file of the broker's tree is looked at there, and a file that stands for a
 * device is shown as that character device. stat(2), statx(2)
 */
#include "files/calls.h"
#include "files/fd.h"
#include "files/next.h"
#include "files/path/tree.h"
#include "node/sysfs/device_node.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#define DEVICE_MODE (S_IFCHR | 0666)

/* On the machines that this is for they are one struct with two names. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat and stat64 have one layout");
_Static_assert(offsetof(struct stat, st_size) == offsetof(struct stat64, st_size),
	       "stat and stat64 have one layout");

static void show_device(struct stat *st, dev_t rdev)
{
	st->st_mode = DEVICE_MODE;
	st->st_rdev = rdev;
	st->st_size = 0;
	st->st_blocks = 0;
}

/* Returns the result @rc of a call that has filled in @st. */
static int show_path(int rc, struct stat *st)
{
	if (!rc && vb_tree_is_node(st->st_dev, st->st_mode))
		show_device(st, (dev_t)st->st_size);
	return rc;
}

static int show_fd(int rc, int fd, struct stat *st)
{
	struct vb_fd f;

	if (!rc && !vb_fd_is_plain(fd) && vb_fd_get(fd, &f) == VB_FD_RDMA_CM)
		show_device(st, makedev(VB_RDMA_CM_MAJOR, VB_RDMA_CM_MINOR));
	return show_path(rc, st);
}

/* Of a call that takes AT_EMPTY_PATH. */
static int show_at(int rc, int at, const char *path, int flags, struct stat *st)
{
	return flags & AT_EMPTY_PATH && path && !path[0] ? show_fd(rc, at, st) : show_path(rc, st);
}

int stat(const char *path, struct stat *st)
{
	struct vb_tree_path p;

	return show_path(VB_NEXT(stat)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st), st);
}

int lstat(const char *path, struct stat *st)
{
	struct vb_tree_path p;

	return show_path(VB_NEXT(lstat)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st), st);
}

int fstat(int fd, struct stat *st)
{
	return show_fd(VB_NEXT(fstat)(fd, st), fd, st);
}

int fstatat(int at, const char *path, struct stat *st, int flags)
{
	struct vb_tree_path p;
	int rc = VB_NEXT(fstatat)(at, vb_tree_has(at, path, &p) ? p.text : path, st, flags);

	return show_at(rc, at, path, flags, st);
}

int stat64(const char *path, struct stat64 *st)
{
	struct vb_tree_path p;

	return show_path(VB_NEXT(stat64)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st),
			 (struct stat *)st);
}

int lstat64(const char *path, struct stat64 *st)
{
	struct vb_tree_path p;

	return show_path(VB_NEXT(lstat64)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st),
			 (struct stat *)st);
}

int fstat64(int fd, struct stat64 *st)
{
	return show_fd(VB_NEXT(fstat64)(fd, st), fd, (struct stat *)st);
}

int fstatat64(int at, const char *path, struct stat64 *st, int flags)
{
	struct vb_tree_path p;
	int rc = VB_NEXT(fstatat64)(at, vb_tree_has(at, path, &p) ? p.text : path, st, flags);

	return show_at(rc, at, path, flags, (struct stat *)st);
}

int __xstat(int version, const char *path, struct stat *st)
{
	struct vb_tree_path p;

	return show_path(
	    VB_NEXT(__xstat)(version, vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st), st);
}

int __lxstat(int version, const char *path, struct stat *st)
{
	struct vb_tree_path p;

	return show_path(
	    VB_NEXT(__lxstat)(version, vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st), st);
}

int __fxstat(int version, int fd, struct stat *st)
{
	return show_fd(VB_NEXT(__fxstat)(version, fd, st), fd, st);
}

int __fxstatat(int version, int at, const char *path, struct stat *st, int flags)
{
	struct vb_tree_path p;
	const char *is = vb_tree_has(at, path, &p) ? p.text : path;

	return show_at(VB_NEXT(__fxstatat)(version, at, is, st, flags), at, path, flags, st);
}

int __xstat64(int version, const char *path, struct stat64 *st)
{
	struct vb_tree_path p;

	return show_path(
	    VB_NEXT(__xstat64)(version, vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st),
	    (struct stat *)st);
}

int __lxstat64(int version, const char *path, struct stat64 *st)
{
	struct vb_tree_path p;

	return show_path(
	    VB_NEXT(__lxstat64)(version, vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, st),
	    (struct stat *)st);
}

int __fxstat64(int version, int fd, struct stat64 *st)
{
	return show_fd(VB_NEXT(__fxstat64)(version, fd, st), fd, (struct stat *)st);
}

int __fxstatat64(int version, int at, const char *path, struct stat64 *st, int flags)
{
	struct vb_tree_path p;
	const char *is = vb_tree_has(at, path, &p) ? p.text : path;

	return show_at(VB_NEXT(__fxstatat64)(version, at, is, st, flags), at, path, flags,
		       (struct stat *)st);
}

int statx(int at, const char *path, int flags, unsigned mask, struct statx *sx)
{
	struct vb_tree_path p;
	const char *is = vb_tree_has(at, path, &p) ? p.text : path;
	int rc = VB_NEXT(statx)(at, is, flags, mask | STATX_MODE | STATX_SIZE | STATX_TYPE, sx);
	struct stat st = {0};

	if (rc)
		return rc;
	st.st_dev = makedev(sx->stx_dev_major, sx->stx_dev_minor);
	st.st_mode = sx->stx_mode;
	st.st_size = (off_t)sx->stx_size;
	(void)show_at(0, at, path, flags, &st);
	if (S_ISCHR(st.st_mode) && !S_ISCHR(sx->stx_mode)) {
		sx->stx_mode = (uint16_t)st.st_mode;
		sx->stx_size = sx->stx_blocks = 0;
		sx->stx_rdev_major = major(st.st_rdev);
		sx->stx_rdev_minor = minor(st.st_rdev);
	}
	return rc;
}
