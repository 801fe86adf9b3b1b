/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of conditions that programs of the system tests cannot go on without. */
#ifndef VB_TESTS_SYSTEM_VERBS_NEED_H
#define VB_TESTS_SYSTEM_VERBS_NEED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program, and says why, unless @cond. */
#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond,     \
				strerror(errno));                                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
