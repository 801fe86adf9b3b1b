/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that appears whole or not at all: written beside its name and renamed at the end. */
#ifndef VB_CMD_WHOLE_FILE_H
#define VB_CMD_WHOLE_FILE_H

#include <stdio.h>

#define VB_WHOLE_FILE_PATH 4096

struct vb_whole_file {
	FILE *f;
	char path[VB_WHOLE_FILE_PATH];        /* where it will be: links are followed */
	char beside[VB_WHOLE_FILE_PATH + 32]; /* "": the path is no file, such as /dev/stdout */
};

/* Whether @path can be written, without a trace. 0 or a negative errno. */
int vb_whole_file_check(const char *path);

/* Begins the file, w->f is to be written to. 0 or a negative errno: there is nothing to end. */
int vb_whole_file_begin(struct vb_whole_file *w, const char *path);

/* Ends it: with @err 0 it takes its place, unless that fails; else nothing remains. @err or a
 * negative errno. */
int vb_whole_file_end(struct vb_whole_file *w, int err);

#endif
