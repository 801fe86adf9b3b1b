/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of others as the commands print it: on a terminal, and in JSON. */
#ifndef VB_CMD_JSON_H
#define VB_CMD_JSON_H

#include <stdio.h>

struct vb_lines;

/* A string, with its quotes. */
void vb_json_text(FILE *f, const char *text);
/* The field @name with the list of @l, of an object that has a field already. */
void vb_json_lines(FILE *f, const char *name, const struct vb_lines *l);
/* Copies at most @size - 1 bytes; what is not printable becomes a question mark. */
void vb_printable(char *to, size_t size, const char *from);

#endif
