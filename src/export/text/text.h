/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of others in files and on terminals: it may be any bytes up to a 0. A byte that begins no
 * character of UTF-8 becomes a question mark, and control characters lead nowhere. RFC 3629
 */
#ifndef VB_EXPORT_TEXT_H
#define VB_EXPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Bytes of the character at @text, 1 to 4; 0: none begins there. */
size_t vb_utf8_len(const char *text);

/* As the content of an element or an attribute of XML; control characters but ends of lines
 * are left out. */
void vb_text_xml(FILE *f, const char *text);
/* The first @max characters of it, the last one an ellipsis where there are more. */
void vb_text_xml_short(FILE *f, const char *text, size_t max);
/* For a terminal; control characters are question marks. */
void vb_text_plain(FILE *f, const char *text);
/* As a field of CSV, in quotes when it must be. RFC 4180 */
void vb_text_csv(FILE *f, const char *text);
/* As a string of JSON with its quotes, without a '<', so that it can stand in a page. RFC 8259 */
void vb_text_json(FILE *f, const char *text);

#endif
