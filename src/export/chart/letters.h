/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How wide texts are, before anybody has chosen a font: as wide as in DejaVu Sans, which is wider
 * than Helvetica, Arial and their copies. So what has room by this has room in each of them.
 */
#ifndef VB_EXPORT_CHART_LETTERS_H
#define VB_EXPORT_CHART_LETTERS_H

#include <stddef.h>

/* Of UTF-8 text, in letters' heights ("em"). */
double vb_letters_width(const char *text);
/* How many characters of it have room in @width; all: SIZE_MAX. */
size_t vb_letters_fit(const char *text, double width);

#endif
