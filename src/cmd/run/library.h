/* SPDX-License-Identifier: BSD-2-Clause */
/* Where libverbena.so is, seen from this program. */
#ifndef VB_CMD_RUN_LIBRARY_H
#define VB_CMD_RUN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The folder of what stands in for libibverbs.so.1 where a program opens that while it runs.
 * Returns 0, or -ENOENT: this machine has no rdma-core for it to stand before. */
int vb_library_names_path(char *path, size_t size);

/* The path of libverbena-trace.so, which is in libverbena.d beside libverbena.so. Returns 0 or
 * -ENOENT. */
int vb_library_trace_path(char *path, size_t size);

/* LD_PRELOAD has spaces between its entries. A library below a folder with one in its name is
 * preloaded by its own name alone, and LD_LIBRARY_PATH, which has colons, leads to it. */
bool vb_library_is_by_name(const char *path);

/* The path of libverbena.so: beside this program (build directory), or where it was installed
 * relative to it. Returns 0, or -ENOENT; then @path has the place looked at first. */
int vb_library_path(char *path, size_t size);

#endif
