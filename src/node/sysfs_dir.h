/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of small text files, made and removed relative to open directories. */
#ifndef VB_NODE_SYSFS_DIR_H
#define VB_NODE_SYSFS_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes directory @name in @at and opens it. Returns a descriptor or a negative errno; a negative
 * @at is passed on, so that only the last of a chain needs to be checked. */
int vb_dir_make(int at, const char *name);

/* Writes file @name, text as printf has it. Errors show as missing files; there is nobody to tell.
 */
__attribute__((format(printf, 3, 4))) void vb_file_put(int at, const char *name, const char *fmt,
						       ...);

/* Rewrites the existing file @path in place. */
void vb_file_rewrite(const char *path, const char *text);

/* Removes @path and all below it, following no symbolic link. */
void vb_dir_remove(const char *path);

/* Whether @path does not exist, or is a directory of this user. */
bool vb_dir_is_ours(const char *path);

/* Puts directory @fresh in the place of @path in one step; the old one is removed. */
int vb_dir_replace(const char *fresh, const char *path);

/* Locks directory @path for as long as the descriptor that is returned stays open, or a negative
 * errno: -EWOULDBLOCK when somebody else has it. */
int vb_dir_lock(const char *path);

/* Removes the directories @prefix* of this user in @base that nobody has locked, but for @keep. */
void vb_dir_sweep(const char *base, const char *prefix, const char *keep);

#endif
