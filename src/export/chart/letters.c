/* SPDX-License-Identifier: BSD-2-Clause */
/* Widths of letters. See letters.h. */
#include "export/chart/letters.h"

#include "export/text/text.h"

#include <stdint.h>
#include <string.h>

static double letter_width(const char *letter, size_t len)
{
	if (len != 1)
		return 1;
	if (strchr("ijlI.,:;|!'()[] ft", *letter))
		return 0.4;
	if (strchr("mwMW%@", *letter))
		return 0.98;
	if ((*letter >= 'A' && *letter <= 'Z') || strchr("+<>=~#&", *letter))
		return 0.84;
	return 0.64;
}

double vb_letters_width(const char *text)
{
	double width = 0;

	for (size_t len; *text; text += len) {
		len = vb_utf8_len(text);
		len = len ? len : 1;
		width += letter_width(text, len);
	}
	return width;
}

size_t vb_letters_fit(const char *text, double width)
{
	size_t cnt = 0;
	double ellipsis = vb_letters_width(text) > width ? 1 : 0;

	if (ellipsis == 0)
		return SIZE_MAX;
	for (size_t len; *text; text += len, cnt++) {
		len = vb_utf8_len(text);
		len = len ? len : 1;
		ellipsis += letter_width(text, len);
		if (ellipsis > width)
			break;
	}
	return cnt + 1; /* the last one is the ellipsis */
}
