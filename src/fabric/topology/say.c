/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts names and numbers into sentences. See say.h. */
#include "fabric/topology/say.h"

#include <string.h>

static void put_text(struct vb_say *s, const char *text, size_t len)
{
	while (len > 0) {
		size_t n = sizeof s->line - s->len;

		if (n > len)
			n = len;
		memcpy(s->line + s->len, text, n);
		s->len += (uint32_t)n;
		text += n;
		len -= n;
		if (s->len == sizeof s->line)
			vb_say_flush(s);
	}
}

static void put_number(struct vb_say *s, uint64_t n, uint32_t base, uint32_t digits)
{
	char text[20];
	uint32_t at = sizeof text;

	do {
		text[--at] = "0123456789abcdef"[n % base];
		n /= base;
	} while (at > 0 && (n > 0 || sizeof text - at < digits));
	put_text(s, text + at, sizeof text - at);
}

void vb_say(struct vb_say *s, const char *template, const struct vb_say_arg *arg)
{
	while (*template) {
		size_t plain = strcspn(template, "%");

		put_text(s, template, plain);
		template += plain;
		if (!*template)
			break;
		template ++;
		if (arg->kind == VB_SAY_TEXT)
			put_text(s, arg->text, arg->len);
		else
			put_number(s, arg->number, arg->kind == VB_SAY_HEX ? 16 : 10, arg->digits);
		arg++;
	}
}

int vb_say_flush(struct vb_say *s)
{
	if (!s->err && s->len > 0)
		s->err = s->sink(s->ctx, s->line, s->len);
	s->len = 0;
	return s->err;
}

int vb_say_to_buffer(void *ctx, const char *text, size_t len)
{
	struct vb_say_buffer *b = ctx;

	for (size_t i = 0; i < len && b->len + 1 < b->size; i++) {
		unsigned char c = (unsigned char)text[i];

		b->at[b->len++] = text[i];
		if (c < ' ' || c == 0x7f)
			b->at[b->len - 1] = '?';
	}
	if (b->size > 0)
		b->at[b->len] = '\0';
	return 0;
}
