/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of RDMA devices, see path.h. path_resolution(7) */
#include "files/path/path.h"

#include <stdio.h>

#define PCI "/sys/devices/pci" VB_PCI_DOMAIN ":"
#define NODES "/class/dev/infiniband/"

static const struct {
	const char *host, *tree;
} folders[] = {
    {"/sys/class/infiniband", "/class/infiniband"},
    {"/sys/class/infiniband_verbs", "/class/infiniband_verbs"},
    {"/sys/class/infiniband_mad", "/class/infiniband_mad"},
    {"/sys/class/misc/rdma_cm", "/class/misc/rdma_cm"},
    {"/dev/infiniband", "/class/dev/infiniband"},
};

/* Device files with a number behind the name. */
static const struct {
	const char *name;
	enum vb_path_device device;
} numbered[] = {
    {"uverbs", VB_PATH_UVERBS},
    {"umad", VB_PATH_UMAD},
    {"issm", VB_PATH_ISSM},
};

/* Longer than any of the folders: what grows beyond is none of them. */
#define FOLDER_BYTES 64

/* Adds the part @p of @len bytes to @at. False: too long. */
static bool add_part(char *at, const char *p, size_t len)
{
	size_t have = strlen(at);

	if (len == 0 || (len == 1 && p[0] == '.'))
		return true;
	if (len == 2 && p[0] == '.' && p[1] == '.') {
		char *slash = strrchr(at, '/');

		if (slash)
			*slash = 0;
		return true;
	}
	if (have + len + 2 > FOLDER_BYTES)
		return false;
	at[have] = '/';
	memcpy(at + have + 1, p, len);
	at[have + 1 + len] = 0;
	return true;
}

/* The tree's name for the folder @at of the host's; NULL: it is none of ours. */
static const char *tree_folder(const char *at)
{
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		if (strcmp(at, folders[i].host) == 0)
			return folders[i].tree;
	return strncmp(at, PCI, strlen(PCI)) == 0 ? at + strlen("/sys") : NULL;
}

bool vb_path_in_tree(const char *path, const char *root, char *to, size_t size)
{
	char at[FOLDER_BYTES] = "";

	while (*path) {
		size_t len = strcspn(path, "/");
		const char *folder;

		if (!add_part(at, path, len))
			return false;
		path += len;
		folder = len ? tree_folder(at) : NULL;
		if (folder)
			return (size_t)snprintf(to, size, "%s%s%s", root, folder, path) < size;
		path += strspn(path, "/");
	}
	return false;
}

bool vb_path_is_setting(const char *path, bool is_fabric)
{
	const char *name = strrchr(path, '/');

	return strstr(path, "/cc_params/") ||
	       (is_fabric && name && strcmp(name, "/node_desc") == 0);
}

enum vb_path_device vb_path_device(const char *path, const char *root)
{
	size_t len = strlen(root);

	if (!len || strncmp(path, root, len) != 0 || strncmp(path + len, NODES, strlen(NODES)) != 0)
		return VB_PATH_NO_DEVICE;
	path += len + strlen(NODES);
	path += strspn(path, "/");
	if (strcmp(path, "rdma_cm") == 0)
		return VB_PATH_RDMA_CM;
	for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++)
		if (strncmp(path, numbered[i].name, strlen(numbered[i].name)) == 0 &&
		    !strchr(path, '/'))
			return numbered[i].device;
	return VB_PATH_NO_DEVICE;
}
