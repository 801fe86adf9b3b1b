/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directories of small text files, made and removed relative to open directories. A directory in
 * which other users may make entries, too, is a base; in it this user has one folder of its own,
 * which nobody else may enter. Nothing is opened without a look at its owner, no symbolic link is
 * followed, and no FIFO is waited for.
 */
#ifndef VB_NODE_SYSFS_DIR_H
#define VB_NODE_SYSFS_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the base @path. -EPERM: another user could put something in the place of what is made
 * there. Returns a descriptor or a negative errno. */
int vb_dir_open_base(const char *path);

/*
 * Makes folder @name in @base, mode 0700, or takes over the one that a process of this user, now
 * gone, has left. It is locked for as long as the descriptor that is returned stays open.
 * -EWOULDBLOCK: a process of this user has it; other negative errnos: it is somebody else's, or no
 * folder. Nothing is taken away for it.
 */
int vb_dir_claim(int base, const char *name);

/* Opens directory @name of this user in @at. -EPERM: it is another user's. */
int vb_dir_open(int at, const char *name);

/* Makes directory @name in @at and opens it. Returns a descriptor or a negative errno; a negative
 * @at is passed on, so that only the last of a chain needs to be checked. */
int vb_dir_make(int at, const char *name);

/* Opens the directory @path below @at, one part after the other; makes what is missing when @make.
 */
int vb_dir_walk(int at, const char *path, bool make);

/* Opens the regular file @name of this user, or of root, in @at. A negative errno, never a wait. */
int vb_file_open(int at, const char *name, int flags);

/* Writes file @name, text as printf has it. Errors show as missing files; there is nobody to tell.
 */
__attribute__((format(printf, 3, 4))) void vb_file_put(int at, const char *name, const char *fmt,
						       ...);

/* Rewrites the existing file @name in place. */
void vb_file_rewrite(int at, const char *name, const char *text);

/* Removes all below the folder @fd. */
void vb_dir_empty(int fd);

/* Removes @name of @at, a directory of this user, and all below. */
void vb_dir_remove(int at, const char *name);

/* Puts directory @fresh in the place of @name in one step; the old one is removed. @at is a folder
 * that nobody else may enter. */
int vb_dir_replace(int at, const char *fresh, const char *name);

/* Removes the folders @prefix* of this user in @base that nobody has locked, but for @keep. */
void vb_dir_sweep(int base, const char *prefix, const char *keep);

#endif
