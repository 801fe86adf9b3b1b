/* SPDX-License-Identifier: BSD-2-Clause */
/* Words, numbers and names of one line of text. */
#ifndef VB_FABRIC_TOPOLOGY_LEX_H
#define VB_FABRIC_TOPOLOGY_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vb_lex {
	const char *line, *at, *end;
};

static inline bool vb_lex_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool vb_lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether a letter comes next. */
static inline bool vb_lex_is_letter(const struct vb_lex *l)
{
	return l->at < l->end &&
	       ((*l->at >= 'a' && *l->at <= 'z') || (*l->at >= 'A' && *l->at <= 'Z'));
}

void vb_lex_skip_blank(struct vb_lex *l);
/* Each takes what it is about and returns true, or takes nothing. */
bool vb_lex_char(struct vb_lex *l, char c);
bool vb_lex_text(struct vb_lex *l, const char *text);
/* Decimal, or hexadecimal after 0x; at most 64 bits. */
bool vb_lex_number(struct vb_lex *l, uint64_t *out);
/* Hexadecimal, with or without 0x. */
bool vb_lex_hex(struct vb_lex *l, uint64_t *out);
/* "text", without its quotes. */
bool vb_lex_quoted(struct vb_lex *l, const char **text, size_t *len);
/* Up to the next blank. */
bool vb_lex_word(struct vb_lex *l, struct vb_lex *word);
/* The last quote of what is left, NULL: there is none. */
const char *vb_lex_last_quote(const struct vb_lex *l);
/* Only blanks, or a comment, are left. */
bool vb_lex_ends(struct vb_lex *l);

static inline size_t vb_lex_column(const struct vb_lex *l)
{
	return (size_t)(l->at - l->line) + 1;
}

#endif
