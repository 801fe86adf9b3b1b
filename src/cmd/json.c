/* SPDX-License-Identifier: BSD-2-Clause */
/* Text as JSON and for a terminal, see json.h. RFC 8259 */
#include "cmd/json.h"

#include "explain/explain.h"
#include "export/text/text.h"

void vb_json_text(FILE *f, const char *text)
{
	vb_text_json(f, text);
}

void vb_json_lines(FILE *f, const char *name, const struct vb_lines *l)
{
	fprintf(f, ",\n   \"%s\": [", name);
	for (uint32_t i = 0; i < l->cnt; i++) {
		fputs(i ? ", " : "", f);
		vb_json_text(f, l->text[i]);
	}
	putc(']', f);
}

void vb_printable(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; i + 1 < size && from[i]; i++)
		to[i] = (char)(from[i] < ' ' || from[i] > '~' ? '?' : from[i]);
	to[i] = 0;
}
