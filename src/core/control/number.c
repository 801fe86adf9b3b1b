/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers with units. See number.h. */
#include "core/control/number.h"

#include "base/assert.h"

#include <string.h>

const struct vb_unit vb_units_rate[] = {
    {"bps", 1},
    {"kbps", 1000},
    {"Mbps", 1000000},
    {"Gbps", 1000000000},
    {"Tbps", UINT64_C(1000000000000)},
    {NULL, 0},
};

bool vb_word_is(const char *word, const char *text, size_t len)
{
	return strlen(word) == len && memcmp(word, text, len) == 0;
}

bool vb_number_read(const char **text, size_t *len, uint64_t *mantissa, uint64_t *divisor)
{
	bool digits = false, point = false;

	*mantissa = 0;
	*divisor = 1;
	for (; *len; ++*text, --*len) {
		char c = **text;

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		if (*mantissa > UINT64_MAX / 100 || *divisor > UINT64_MAX / 100)
			return false;
		*mantissa = *mantissa * 10 + (uint64_t)(c - '0');
		*divisor *= point ? 10 : 1;
		digits = true;
	}
	VB_ASSERT_ALL(*divisor > 0);
	return digits;
}

uint64_t vb_unit_factor(const struct vb_unit *units, const char *text, size_t len)
{
	for (; units->name; units++)
		if (vb_word_is(units->name, text, len))
			return units->factor;
	return 0;
}

bool vb_number_with_unit(const struct vb_unit *units, const char *text, size_t len, uint64_t *value)
{
	uint64_t mantissa, divisor, factor;

	if (!vb_number_read(&text, &len, &mantissa, &divisor))
		return false;
	factor = vb_unit_factor(units, text, len);
	if (factor == 0 || mantissa > UINT64_MAX / factor)
		return false;
	*value = mantissa * factor / divisor;
	return true;
}
