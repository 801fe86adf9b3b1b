/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of others, character by character, see text.h. RFC 3629 */
#include "export/text/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

static bool byte_continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* The ranges of the second byte keep out long forms, surrogates, and what is beyond U+10FFFF. */
size_t vb_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return s[0] != 0;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	if (s[0] == 0xed)
		high = 0x9f;
	if (s[0] == 0xf0)
		low = 0x90;
	if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (!byte_continues(s[i]))
			return 0;
	return len;
}

/* Of ASCII and of the block behind it. */
static bool is_control(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	return (len == 1 && (s[0] < ' ' || s[0] == 0x7f)) ||
	       (len == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_beyond_xml(const char *text, size_t len)
{
	return len == 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe;
}

static void put_xml(FILE *f, const char *text, size_t len)
{
	if (is_control(text, len) && *text != '\n')
		return;
	if (len == 0 || is_beyond_xml(text, len))
		putc('?', f);
	else if (len == 1 && strchr("<>&\"'", *text))
		fprintf(f, "&#%d;", *text);
	else
		fwrite(text, 1, len, f);
}

void vb_text_xml(FILE *f, const char *text)
{
	vb_text_xml_short(f, text, SIZE_MAX);
}

void vb_text_xml_short(FILE *f, const char *text, size_t max)
{
	for (size_t n = 1, len; *text; text += len ? len : 1, n++) {
		len = vb_utf8_len(text);
		if (n >= max && text[len ? len : 1]) {
			fputs(ELLIPSIS, f);
			return;
		}
		put_xml(f, text, len);
	}
}

void vb_text_plain(FILE *f, const char *text)
{
	for (size_t len; *text; text += len ? len : 1) {
		len = vb_utf8_len(text);
		if (len == 0 || is_control(text, len))
			putc('?', f);
		else
			fwrite(text, 1, len, f);
	}
}

void vb_text_json(FILE *f, const char *text)
{
	putc('"', f);
	for (size_t len; *text; text += len ? len : 1) {
		len = vb_utf8_len(text);
		if (len == 0)
			putc('?', f);
		else if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else if (len == 1 && (*text < ' ' || *text == '<' || *text == 0x7f))
			fprintf(f, "\\u%04x", (unsigned)*text);
		else
			fwrite(text, 1, len, f);
	}
	putc('"', f);
}

void vb_text_csv(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\n")]) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++)
		fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
	putc('"', f);
}
