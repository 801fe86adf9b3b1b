/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other calls that take a path: they are made with the path in the broker's tree. Their answers
 * are true of that path; realpath(3) leads to the tree's own names.
 */
#include "files/calls.h"
#include "files/next.h"
#include "files/path/tree.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The path to make the call with, @p is for its text. */
static const char *path_for(const char *path, struct vb_tree_path *p)
{
	return vb_tree_has(AT_FDCWD, path, p) ? p->text : path;
}

int access(const char *path, int mode)
{
	struct vb_tree_path p;

	return VB_NEXT(access)(path_for(path, &p), mode);
}

int eaccess(const char *path, int mode)
{
	struct vb_tree_path p;

	return VB_NEXT(eaccess)(path_for(path, &p), mode);
}

int euidaccess(const char *path, int mode)
{
	struct vb_tree_path p;

	return VB_NEXT(euidaccess)(path_for(path, &p), mode);
}

int faccessat(int at, const char *path, int mode, int flags)
{
	struct vb_tree_path p;

	return VB_NEXT(faccessat)(at, vb_tree_has(at, path, &p) ? p.text : path, mode, flags);
}

ssize_t readlink(const char *path, char *to, size_t len)
{
	struct vb_tree_path p;

	return VB_NEXT(readlink)(path_for(path, &p), to, len);
}

ssize_t readlinkat(int at, const char *path, char *to, size_t len)
{
	struct vb_tree_path p;

	return VB_NEXT(readlinkat)(at, vb_tree_has(at, path, &p) ? p.text : path, to, len);
}

ssize_t __readlink_chk(const char *path, char *to, size_t len, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(__readlink_chk)(path_for(path, &p), to, len, size);
}

ssize_t __readlinkat_chk(int at, const char *path, char *to, size_t len, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(__readlinkat_chk)(at, vb_tree_has(at, path, &p) ? p.text : path, to, len,
					 size);
}

char *realpath(const char *path, char *to)
{
	struct vb_tree_path p;

	return VB_NEXT(realpath)(path_for(path, &p), to);
}

char *__realpath_chk(const char *path, char *to, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(__realpath_chk)(path_for(path, &p), to, size);
}

char *canonicalize_file_name(const char *path)
{
	struct vb_tree_path p;

	return VB_NEXT(canonicalize_file_name)(path_for(path, &p));
}

int chdir(const char *path)
{
	struct vb_tree_path p;

	return VB_NEXT(chdir)(path_for(path, &p));
}

ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(getxattr)(path_for(path, &p), name, value, size);
}

ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(lgetxattr)(path_for(path, &p), name, value, size);
}

ssize_t listxattr(const char *path, char *list, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(listxattr)(path_for(path, &p), list, size);
}

ssize_t llistxattr(const char *path, char *list, size_t size)
{
	struct vb_tree_path p;

	return VB_NEXT(llistxattr)(path_for(path, &p), list, size);
}

/* The C library opens these itself, in the child. */
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int fd, const char *path,
				     int flags, mode_t mode)
{
	struct vb_tree_path p;

	return VB_NEXT(posix_spawn_file_actions_addopen)(actions, fd, path_for(path, &p), flags,
							 mode);
}

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path)
{
	struct vb_tree_path p;

	return VB_NEXT(posix_spawn_file_actions_addchdir_np)(actions, path_for(path, &p));
}
