/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of a text that a user brings, with their places: words stand between blanks, and a word
 * that begins with '#' and the rest of its line are a comment. A text may be whole or one line.
 */
#ifndef VB_SCENARIO_INPUT_TOKENS_H
#define VB_SCENARIO_INPUT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vb_token {
	const char *text; /* without a zero behind it */
	uint32_t len;
	uint32_t line, column; /* from 1 */
};

struct vb_tokens {
	const char *at, *end, *line_begin;
	uint32_t line;
};

/* Complaints: "FILE:LINE:COLUMN: ...". */
struct vb_complaint {
	const char *file;
	char *text;
	size_t size;
};

/* @line: the number of its first line. */
struct vb_tokens vb_tokens_of(const char *text, size_t len, uint32_t line);

/* The next word. False: there is none, and @word has the place of the end. */
bool vb_tokens_next(struct vb_tokens *w, struct vb_token *word);

/* Says what is wrong; returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int vb_complain(const struct vb_complaint *c, uint32_t line,
						      uint32_t column, const char *fmt, ...);

/* A word that complaints may show: at most 40 characters of it, which can be printed. */
#define VB_TOKEN_SHOWN 48
const char *vb_token_show(const struct vb_token *word, char shown[VB_TOKEN_SHOWN]);

/* The word with a zero behind it. False: it does not fit. */
bool vb_token_copy(const struct vb_token *word, char *to, size_t size);
bool vb_token_is(const struct vb_token *word, const char *text);

/* A hash of a name, for a table with a key of its own: without the key nobody can write a text
 * whose names all fall on one place. A key is drawn at random. */
uint64_t vb_name_key(void);
uint32_t vb_name_hash(const char *name, size_t len, uint64_t key);

/* A whole number up to @max. */
bool vb_token_number(const struct vb_token *word, uint64_t max, uint64_t *out);

/* A decimal number such as 12, 0.5 or 1e-5, times 10^@digits, rounded; digits is 0 to 9. False: it
 * is none, or too large. */
bool vb_token_decimal(const struct vb_token *word, unsigned digits, uint64_t *out);

#endif
