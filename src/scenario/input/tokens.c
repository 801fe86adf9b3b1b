/* SPDX-License-Identifier: BSD-2-Clause */
/* Words, numbers and complaints. See tokens.h. */
#include "scenario/input/tokens.h"

#include "base/prf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct vb_tokens vb_tokens_of(const char *text, size_t len, uint32_t line)
{
	return (struct vb_tokens){text, text + len, text, line};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* To the next word or the end. */
static void blanks_skip(struct vb_tokens *w)
{
	while (w->at < w->end && (is_blank(*w->at) || *w->at == '#')) {
		if (*w->at == '#') {
			while (w->at < w->end && *w->at != '\n')
				w->at++;
			continue;
		}
		if (*w->at++ == '\n') {
			w->line++;
			w->line_begin = w->at;
		}
	}
}

bool vb_tokens_next(struct vb_tokens *w, struct vb_token *word)
{
	blanks_skip(w);
	*word = (struct vb_token){
	    .text = w->at, .line = w->line, .column = (uint32_t)(w->at - w->line_begin) + 1};
	while (w->at < w->end && !is_blank(*w->at))
		w->at++;
	word->len = (uint32_t)(w->at - word->text);
	return word->len > 0;
}

int vb_complain(const struct vb_complaint *c, uint32_t line, uint32_t column, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(c->text, c->size, "%s:%u:%u: ", c->file, line, column);

	if (n < 0 || (size_t)n >= c->size)
		return -EINVAL;
	va_start(ap, fmt);
	(void)vsnprintf(c->text + n, c->size - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

const char *vb_token_show(const struct vb_token *word, char shown[VB_TOKEN_SHOWN])
{
	uint32_t n = word->len < 40 ? word->len : 40;

	for (uint32_t i = 0; i < n; i++)
		shown[i] =
		    (char)(word->text[i] >= ' ' && word->text[i] < 0x7f ? word->text[i] : '?');
	snprintf(shown + n, 4, "%s", n < word->len ? "..." : "");
	return shown;
}

bool vb_token_copy(const struct vb_token *word, char *to, size_t size)
{
	if (word->len >= size)
		return false;
	memcpy(to, word->text, word->len);
	to[word->len] = '\0';
	return true;
}

bool vb_token_is(const struct vb_token *word, const char *text)
{
	return strlen(text) == word->len && memcmp(word->text, text, word->len) == 0;
}

uint64_t vb_name_key(void)
{
	uint64_t key;

	/* Without random numbers it is a hash all the same. */
	return getrandom(&key, sizeof key, 0) == (ssize_t)sizeof key ? key : 0;
}

uint32_t vb_name_hash(const char *name, size_t len, uint64_t key)
{
	uint64_t h = len;

	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		size_t cnt = len - i < sizeof(uint64_t) ? len - i : sizeof(uint64_t);
		uint64_t part = 0;

		memcpy(&part, name + i, cnt);
		h = vb_siphash(key, h, part);
	}
	return (uint32_t)h;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool vb_token_number(const struct vb_token *word, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < word->len; i++) {
		uint64_t digit = (uint64_t)(word->text[i] - '0');

		if (!is_digit(word->text[i]) || digit > max || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return word->len > 0;
}

/* Behind the 'e': "-5", "+3", "12". */
static bool exponent_read(const char *s, const char *end, int *out)
{
	bool minus = s < end && *s == '-';
	int e = 0;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	if (s == end)
		return false;
	for (; s < end; s++) {
		if (!is_digit(*s) || e > 999)
			return false;
		e = e * 10 + (*s - '0');
	}
	*out = minus ? -e : e;
	return true;
}

/* @m times 10^@e, rounded. */
static bool power_apply(uint64_t m, int e, uint64_t *out)
{
	uint64_t half = 0;

	for (; e > 0 && m; e--) {
		if (m > UINT64_MAX / 10)
			return false;
		m *= 10;
	}
	for (; e < 0 && (m || half); e++) {
		half = m % 10 >= 5;
		m /= 10;
	}
	*out = m + half;
	return true;
}

bool vb_token_decimal(const struct vb_token *word, unsigned digits, uint64_t *out)
{
	const char *s = word->text, *end = s + word->len;
	bool any = false, point = false;
	int e = 0, own = 0;
	uint64_t m = 0;

	for (; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		any = true;
		if (m >= UINT64_C(100000000000000000)) { /* more digits say nothing */
			e += !point;
			continue;
		}
		m = m * 10 + (uint64_t)(*s - '0');
		e -= point;
	}
	if (!any || (s < end && ((*s != 'e' && *s != 'E') || !exponent_read(s + 1, end, &own))))
		return false;
	return power_apply(m, e + own + (int)digits, out);
}
