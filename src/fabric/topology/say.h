/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences with names and numbers in them, for a part of the program that has no stdio. */
#ifndef VB_FABRIC_TOPOLOGY_SAY_H
#define VB_FABRIC_TOPOLOGY_SAY_H

#include <stddef.h>
#include <stdint.h>

struct vb_say_arg {
	enum { VB_SAY_TEXT, VB_SAY_DEC, VB_SAY_HEX } kind;
	uint32_t digits; /* at least, with leading zeros */
	const char *text;
	size_t len;
	uint64_t number;
};
#define SAY_NOTHING                                                                                \
	{                                                                                          \
		.digits = 0                                                                        \
	} /* for a sentence without any */
#define SAY_DEC(n)                                                                                 \
	{                                                                                          \
		.kind = VB_SAY_DEC, .digits = 1, .number = (n)                                     \
	}
#define SAY_DEC4(n)                                                                                \
	{                                                                                          \
		.kind = VB_SAY_DEC, .digits = 4, .number = (n)                                     \
	}
#define SAY_HEX(n)                                                                                 \
	{                                                                                          \
		.kind = VB_SAY_HEX, .digits = 1, .number = (n)                                     \
	}
#define SAY_HEX16(n)                                                                               \
	{                                                                                          \
		.kind = VB_SAY_HEX, .digits = 16, .number = (n)                                    \
	}
#define SAY_TEXT(s)                                                                                \
	{                                                                                          \
		.kind = VB_SAY_TEXT, .text = (s), .len = strlen(s)                                 \
	}
#define SAY_PART(s, n)                                                                             \
	{                                                                                          \
		.kind = VB_SAY_TEXT, .text = (s), .len = (n)                                       \
	}

/* Text is gathered in @line and handed on when it is full, or by vb_say_flush(). */
struct vb_say {
	int (*sink)(void *ctx, const char *text, size_t len);
	void *ctx;
	int err; /* of the sink: then nothing more is handed on */
	uint32_t len;
	char line[512];
};

/* @template with each '%' replaced by the next of @arg. */
void vb_say(struct vb_say *s, const char *template, const struct vb_say_arg *arg);
int vb_say_flush(struct vb_say *s);

/* A sink that fills a string, cut at its size, with what cannot be printed as '?'. */
struct vb_say_buffer {
	char *at;
	size_t size, len;
};
int vb_say_to_buffer(void *ctx, const char *text, size_t len);

#endif
