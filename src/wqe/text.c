/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues in words: each segment as its bytes and as its fields.
 */
#include "wqe/wqe.h"

#include <string.h>

static void add_text(struct vb_wqe_page *p, const char *text)
{
	size_t len = strlen(text);

	if (p->at + len >= p->size)
		return;
	memcpy(p->to + p->at, text, len + 1);
	p->at += len;
}

static void add_hex(struct vb_wqe_page *p, uint64_t v, uint32_t digits)
{
	char text[17];

	for (uint32_t i = digits; i-- > 0; v >>= 4)
		text[i] = "0123456789abcdef"[v & 15];
	text[digits] = 0;
	add_text(p, text);
}

static void add_number(struct vb_wqe_page *p, uint64_t v)
{
	char text[21] = "";
	uint32_t at = sizeof text - 1;

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	add_text(p, text + at);
}

static void add_bytes(struct vb_wqe_page *p, const uint8_t *s, uint32_t from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (i % 16 == 0) {
			add_text(p, i ? "\n    " : "    ");
			add_hex(p, from + i, 3);
			add_text(p, " ");
		}
		add_text(p, i % 4 ? "" : " ");
		add_hex(p, s[i], 2);
	}
}

static void show_segment(void *ctx, const char *name, const uint8_t *s, uint32_t from,
			 uint32_t bytes)
{
	struct vb_wqe_page *p = ctx;

	if (p->between)
		add_text(p, "\n");
	add_bytes(p, s, from, bytes);
	add_text(p, "  ");
	add_text(p, name);
	add_text(p, ":");
	p->between = " ";
}

static void show_field(void *ctx, const struct vb_wqe_shown *f)
{
	struct vb_wqe_page *p = ctx;

	add_text(p, p->between);
	add_text(p, f->name);
	add_text(p, f->hex_digits ? " 0x" : " ");
	if (f->hex_digits)
		add_hex(p, f->value, f->hex_digits);
	else
		add_number(p, f->value);
	if (f->word) {
		add_text(p, " (");
		add_text(p, f->word);
		add_text(p, ")");
	}
	p->between = ", ";
}

void vb_wqe_page_begin(struct vb_wqe_page *p, char *to, size_t size)
{
	if (size)
		to[0] = 0;
	*p = (struct vb_wqe_page){.visitor = {p, show_segment, show_field}, .to = to, .size = size};
}

size_t vb_wqe_page_end(struct vb_wqe_page *p)
{
	if (p->between)
		add_text(p, "\n");
	return p->at;
}
