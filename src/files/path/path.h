/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which paths stand for files of an RDMA device, and where the broker's tree has them. Text only:
 * nothing here looks at a file. node/sysfs/sysfs.h says what is in the tree.
 */
#ifndef VB_FILES_PATH_PATH_H
#define VB_FILES_PATH_PATH_H

#include "node/sysfs/device_node.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Of a path in the tree; a longer one is left to the host, which has no such file. */
#define VB_PATH_BYTES 1024

enum vb_path_device {
	VB_PATH_NO_DEVICE,
	VB_PATH_RDMA_CM,
	VB_PATH_UVERBS,
	VB_PATH_UMAD,
	VB_PATH_ISSM,
};

/* Whether @path can be one of ours, or become one with the directory that it is relative to. All
 * that most paths cost. */
static inline bool vb_path_may_be_ours(const char *path)
{
	return strstr(path, "infiniband") || strstr(path, "rdma_cm") || strstr(path, "uverbs") ||
	       strstr(path, "/pci" VB_PCI_DOMAIN ":");
}

/*
 * Finds the absolute @path in the tree below @root: true, and @to has where. Below the folders that
 * are ours nothing is changed of the path; "." and ".." before them are taken as text.
 */
bool vb_path_in_tree(const char *path, const char *root, char *to, size_t size);

/* Whether @path, in the tree, is a file that takes settings; all others can only be read.
 * @is_fabric: the tree is that of a fabric's node, which takes a description. FAB-19 */
bool vb_path_is_setting(const char *path, bool is_fabric);

/* Which device the absolute @path, in the tree below @root, stands for. */
enum vb_path_device vb_path_device(const char *path, const char *root);

#endif
