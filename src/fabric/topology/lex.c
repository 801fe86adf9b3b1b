/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes words, numbers and names from a line. See lex.h. */
#include "fabric/topology/lex.h"

#include <string.h>

void vb_lex_skip_blank(struct vb_lex *l)
{
	while (l->at < l->end && vb_lex_is_blank(*l->at))
		l->at++;
}

bool vb_lex_char(struct vb_lex *l, char c)
{
	if (l->at == l->end || *l->at != c)
		return false;
	l->at++;
	return true;
}

bool vb_lex_text(struct vb_lex *l, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(l->end - l->at) < len || memcmp(l->at, text, len) != 0)
		return false;
	l->at += len;
	return true;
}

/* 16 and more: it is no digit. */
static uint32_t digit_value(char c)
{
	if (vb_lex_is_digit(c))
		return (uint32_t)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (uint32_t)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (uint32_t)(c - 'A') + 10;
	return 16;
}

static bool digits_take(struct vb_lex *l, uint32_t base, uint64_t *out)
{
	const char *at = l->at;
	uint64_t n = 0;

	for (; at < l->end && digit_value(*at) < base; at++) {
		if (n > (UINT64_MAX - digit_value(*at)) / base)
			return false;
		n = n * base + digit_value(*at);
	}
	if (at == l->at)
		return false;
	l->at = at;
	*out = n;
	return true;
}

bool vb_lex_hex(struct vb_lex *l, uint64_t *out)
{
	const char *start = l->at;

	if (!vb_lex_text(l, "0x"))
		vb_lex_text(l, "0X");
	if (digits_take(l, 16, out))
		return true;
	l->at = start;
	return false;
}

bool vb_lex_number(struct vb_lex *l, uint64_t *out)
{
	if (l->end - l->at > 1 && l->at[0] == '0' && (l->at[1] == 'x' || l->at[1] == 'X'))
		return vb_lex_hex(l, out);
	return digits_take(l, 10, out);
}

bool vb_lex_quoted(struct vb_lex *l, const char **text, size_t *len)
{
	const char *close;

	if (l->at == l->end || *l->at != '"')
		return false;
	close = memchr(l->at + 1, '"', (size_t)(l->end - l->at - 1));
	if (!close)
		return false;
	*text = l->at + 1;
	*len = (size_t)(close - *text);
	l->at = close + 1;
	return true;
}

bool vb_lex_word(struct vb_lex *l, struct vb_lex *word)
{
	vb_lex_skip_blank(l);
	*word = *l;
	while (l->at < l->end && !vb_lex_is_blank(*l->at))
		l->at++;
	word->end = l->at;
	return word->at < word->end;
}

bool vb_lex_ends(struct vb_lex *l)
{
	vb_lex_skip_blank(l);
	return l->at == l->end || *l->at == '#';
}

const char *vb_lex_last_quote(const struct vb_lex *l)
{
	const char *at = l->end;

	while (at > l->at && at[-1] != '"')
		at--;
	return at > l->at ? at - 1 : NULL;
}
