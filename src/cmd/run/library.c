/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding libverbena.so. Everything is relative, so that an installation can be moved. */
#include "cmd/run/library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int vb_library_names_path(char *path, size_t size)
{
	char library[PATH_MAX], name[PATH_MAX + 32];
	int err = vb_library_path(library, sizeof library);
	char *slash = strrchr(library, '/');

	if (err || !slash)
		return -ENOENT;
	*slash = 0;
	if ((size_t)snprintf(path, size, "%s/libverbena.d", library) >= size)
		return -ENOENT;
#ifdef VERBENA_RDMA_CORE
	/* It needs rdma-core's by the path that it had where this was built. */
	if (access(VERBENA_RDMA_CORE, R_OK))
		return -ENOENT;
#endif
	snprintf(name, sizeof name, "%s/libibverbs.so.1", path);
	return access(name, R_OK) ? -ENOENT : 0;
}

int vb_library_trace_path(char *path, size_t size)
{
	char library[PATH_MAX];
	int err = vb_library_path(library, sizeof library);
	char *slash = strrchr(library, '/');

	if (err || !slash)
		return -ENOENT;
	*slash = 0;
	if ((size_t)snprintf(path, size, "%s/libverbena.d/libverbena-trace.so", library) >= size)
		return -ENOENT;
	return access(path, R_OK) ? -ENOENT : 0;
}

bool vb_library_is_by_name(const char *path)
{
	return strchr(path, ' ');
}

int vb_library_path(char *path, size_t size)
{
	/* VERBENA_LIBDIR: the way from the installed bin to lib; both may be one of a multiarch. */
	static const char *const from_bin[] = {".", VERBENA_LIBDIR, "../lib"};
	char dir[PATH_MAX], folder[PATH_MAX], found[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);

	dir[n > 0 ? n : 0] = 0;
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof from_bin / sizeof from_bin[0]; i++) {
		/* By the name that is the same in all releases with this interface: an upgrade
		 * takes the file of the former one away from under the programs that run. */
		if ((size_t)snprintf(folder, sizeof folder, "%s/%s", dir, from_bin[i]) <
			sizeof folder &&
		    realpath(folder, found) &&
		    (size_t)snprintf(path, size, "%s/" VERBENA_LIBRARY, found) < size &&
		    access(path, R_OK) == 0)
			return 0;
	}
	snprintf(path, size, "%s/" VERBENA_LIBRARY, dir);
	return -ENOENT;
}
