/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether verbena is in reach of a program: what can be told from its file. */
#ifndef VB_CMD_PROGRAM_H
#define VB_CMD_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

enum vb_program_kind {
	VB_PROGRAM_PLAIN,
	VB_PROGRAM_MISSING, /* it is not found */
	VB_PROGRAM_UNREAD,  /* its file cannot be read, or is of no kind that is known */
	VB_PROGRAM_SETUID,  /* set-user-ID or set-group-ID */
	VB_PROGRAM_CAPABLE, /* its file has capabilities(7) */
	VB_PROGRAM_STATIC,  /* linked statically */
	VB_PROGRAM_OTHER,   /* of another architecture than libverbena.so */
	VB_PROGRAM_GO,      /* a Go program with cgo */
	VB_PROGRAM_GO_STATIC
};

struct vb_program {
	enum vb_program_kind kind;
	bool is_out_of_reach; /* nothing is preloaded when this user runs it */
	/* The file: the program's, or of a script its interpreter's. */
	char path[PATH_MAX];
};

/* Looks at the program @name, which is found as execvp(3) finds it. */
void vb_program_look(const char *name, struct vb_program *p);

/* "it is linked statically, so that nothing can be preloaded", and what to do; "" for a plain one.
 */
const char *vb_program_words(enum vb_program_kind kind);
const char *vb_program_remedy(enum vb_program_kind kind);

#endif
