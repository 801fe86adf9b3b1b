/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's tree as this process sees it. The first path of ours that a program asks for reaches
 * the broker, which is started when there is none; the connection then holds the tree in place for
 * as long as the process lives.
 */
#ifndef VB_FILES_PATH_TREE_H
#define VB_FILES_PATH_TREE_H

#include "files/path/path.h"

#include <stdatomic.h>
#include <sys/stat.h>

/* A path that a call was given, and what it stands for. */
struct vb_tree_path {
	enum vb_path_device device;
	char text[VB_PATH_BYTES];
};

/* The file system that the tree is on; 0: this process has not reached it. */
extern _Atomic(dev_t) vb_tree_dev;

/* Whether @path, relative to the directory @at as openat(2) has it, is in the tree: then @to says
 * where. Keeps errno. */
bool vb_tree_find(int at, const char *path, struct vb_tree_path *to);

static inline bool vb_tree_has(int at, const char *path, struct vb_tree_path *to)
{
	return path && vb_path_may_be_ours(path) && vb_tree_find(at, path, to);
}

/* Whether @st, of a file that was just looked at, is that of a file which stands for a device. */
static inline bool vb_tree_is_node(dev_t dev, mode_t mode)
{
	return dev == atomic_load_explicit(&vb_tree_dev, memory_order_relaxed) && dev &&
	       S_ISREG(mode) && mode & S_ISVTX;
}

#endif
