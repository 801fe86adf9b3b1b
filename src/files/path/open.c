/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening files and directories by path: what is in the broker's tree is opened there, device files
 * as the devices that they stand for. open(2), fopen(3), opendir(3)
 */
#include "files/calls.h"
#include "files/cm/cm.h"
#include "files/next.h"
#include "files/path/tree.h"
#include "files/umad/umad.h"
#include "node/wait/uverbs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The mode behind @flags, which is there only when a file may be made. */
#define OPEN_MODE(mode, flags)                                                                     \
	do {                                                                                       \
		va_list ap;                                                                        \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                         \
			va_start(ap, flags);                                                       \
			(mode) = va_arg(ap, mode_t);                                               \
			va_end(ap);                                                                \
		}                                                                                  \
	} while (0)

/* As with sysfs, no file is made or changed but those that take settings. */
static int refuse_writing(const struct vb_tree_path *p)
{
	if (vb_path_is_setting(p->text, getenv("VERBENA_FABRIC") != NULL))
		return 0;
	errno = EACCES;
	return -1;
}

static int enter_events(int fd)
{
	const struct vb_fd f = {.kind = VB_FD_EVENTS};

	return vb_fd_enter(fd, &f);
}

/* open(2) of what is in the tree. */
static int open_in_tree(const struct vb_tree_path *p, int flags)
{
	struct vb_fd f = {.kind = VB_FD_UVERBS};
	int fd, was = errno;

	if (p->device != VB_PATH_NO_DEVICE && flags & O_DIRECTORY) {
		errno = ENOTDIR;
		return -1;
	}
	if (p->device == VB_PATH_RDMA_CM && !(flags & O_PATH))
		return (int)vb_call_result(vb_cm_open(flags), was);
	if ((p->device == VB_PATH_UMAD || p->device == VB_PATH_ISSM) && !(flags & O_PATH))
		return (int)vb_call_result(vb_umad_open(p, flags), was);
	if (p->device == VB_PATH_NO_DEVICE && (flags & O_ACCMODE) != O_RDONLY && refuse_writing(p))
		return -1;
	flags &= ~(O_CREAT | O_EXCL | (p->device == VB_PATH_UVERBS ? O_TRUNC | O_ACCMODE : 0));
	fd = VB_NEXT(open)(p->text, flags);
	if (fd >= 0 && p->device == VB_PATH_UVERBS && !(flags & O_PATH)) {
		atomic_store(&vb_uverbs_enter_event, enter_events);
		(void)vb_fd_enter(fd, &f);
	}
	return fd;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	struct vb_tree_path p;

	OPEN_MODE(mode, flags);
	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, flags)
					       : VB_NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	struct vb_tree_path p;

	OPEN_MODE(mode, flags);
	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, flags)
					       : VB_NEXT(open64)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	mode_t mode = 0;
	struct vb_tree_path p;

	OPEN_MODE(mode, flags);
	return vb_tree_has(at, path, &p) ? open_in_tree(&p, flags)
					 : VB_NEXT(openat)(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
	mode_t mode = 0;
	struct vb_tree_path p;

	OPEN_MODE(mode, flags);
	return vb_tree_has(at, path, &p) ? open_in_tree(&p, flags)
					 : VB_NEXT(openat64)(at, path, flags, mode);
}

int __open_2(const char *path, int flags)
{
	struct vb_tree_path p;

	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, flags)
					       : VB_NEXT(__open_2)(path, flags);
}

int __open64_2(const char *path, int flags)
{
	struct vb_tree_path p;

	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, flags)
					       : VB_NEXT(__open64_2)(path, flags);
}

int __openat_2(int at, const char *path, int flags)
{
	struct vb_tree_path p;

	return vb_tree_has(at, path, &p) ? open_in_tree(&p, flags)
					 : VB_NEXT(__openat_2)(at, path, flags);
}

int __openat64_2(int at, const char *path, int flags)
{
	struct vb_tree_path p;

	return vb_tree_has(at, path, &p) ? open_in_tree(&p, flags)
					 : VB_NEXT(__openat64_2)(at, path, flags);
}

int creat(const char *path, mode_t mode)
{
	struct vb_tree_path p;

	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, O_WRONLY | O_CREAT | O_TRUNC)
					       : VB_NEXT(creat)(path, mode);
}

int creat64(const char *path, mode_t mode)
{
	struct vb_tree_path p;

	return vb_tree_has(AT_FDCWD, path, &p) ? open_in_tree(&p, O_WRONLY | O_CREAT | O_TRUNC)
					       : VB_NEXT(creat64)(path, mode);
}

/* Whether a stream of ours may not have @mode. */
static bool is_refused(const struct vb_tree_path *p, const char *mode)
{
	return (mode[0] != 'r' || strchr(mode, '+')) && refuse_writing(p);
}

FILE *fopen(const char *path, const char *mode)
{
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(fopen)(path, mode);
	return is_refused(&p, mode) ? NULL : VB_NEXT(fopen)(p.text, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(fopen64)(path, mode);
	return is_refused(&p, mode) ? NULL : VB_NEXT(fopen64)(p.text, mode);
}

FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(freopen)(path, mode, stream);
	return is_refused(&p, mode) ? NULL : VB_NEXT(freopen)(p.text, mode, stream);
}

FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(freopen64)(path, mode, stream);
	return is_refused(&p, mode) ? NULL : VB_NEXT(freopen64)(p.text, mode, stream);
}

DIR *opendir(const char *path)
{
	struct vb_tree_path p;

	return VB_NEXT(opendir)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path);
}

int scandir(const char *path, struct dirent ***list, int (*wanted)(const struct dirent *),
	    int (*order)(const struct dirent **, const struct dirent **))
{
	struct vb_tree_path p;

	return VB_NEXT(scandir)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, list, wanted,
				order);
}

int scandir64(const char *path, struct dirent64 ***list, int (*wanted)(const struct dirent64 *),
	      int (*order)(const struct dirent64 **, const struct dirent64 **))
{
	struct vb_tree_path p;

	return VB_NEXT(scandir64)(vb_tree_has(AT_FDCWD, path, &p) ? p.text : path, list, wanted,
				  order);
}

int scandirat(int at, const char *path, struct dirent ***list, int (*wanted)(const struct dirent *),
	      int (*order)(const struct dirent **, const struct dirent **))
{
	struct vb_tree_path p;

	return VB_NEXT(scandirat)(at, vb_tree_has(at, path, &p) ? p.text : path, list, wanted,
				  order);
}

int scandirat64(int at, const char *path, struct dirent64 ***list,
		int (*wanted)(const struct dirent64 *),
		int (*order)(const struct dirent64 **, const struct dirent64 **))
{
	struct vb_tree_path p;

	return VB_NEXT(scandirat64)(at, vb_tree_has(at, path, &p) ? p.text : path, list, wanted,
				    order);
}
