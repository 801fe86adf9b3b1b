/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that appears whole or not at all: written beside its name and renamed at the end. In place
 * of a file it may be a text in memory, for programs that read it while it grows.
 */
#ifndef VB_EXPORT_FILE_WHOLE_FILE_H
#define VB_EXPORT_FILE_WHOLE_FILE_H

#include <stdio.h>

#define VB_WHOLE_FILE_PATH 4096

struct vb_whole_file {
	FILE *f;
	char path[VB_WHOLE_FILE_PATH];        /* where it will be: links are followed */
	char beside[VB_WHOLE_FILE_PATH + 32]; /* "": the path is no file, such as /dev/stdout */
	char *text;                           /* in memory, up to the last fflush(); NULL: a file */
	size_t len;
};

/* Whether @path can be written, without a trace. 0 or a negative errno. */
int vb_whole_file_check(const char *path);

/* Begins the file, w->f is to be written to. 0 or a negative errno: there is nothing to end. */
int vb_whole_file_begin(struct vb_whole_file *w, const char *path);

/* The same of @dir/@name; with @dir NULL of a text. Then @w is not to be moved. */
int vb_whole_file_begin_in(struct vb_whole_file *w, const char *dir, const char *name);

/* Copies the text so far to @to. 0 or a negative errno; -ENOENT: it is a file. */
int vb_whole_file_copy(struct vb_whole_file *w, FILE *to);

/* Ends it: with @err 0 it takes its place, unless that fails; else nothing remains, as of a text.
 * @err or a negative errno. */
int vb_whole_file_end(struct vb_whole_file *w, int err);

#endif
