/* SPDX-License-Identifier: BSD-2-Clause */
/* Decimal numbers with units, as people write settings of congestion control. */
#ifndef VB_CORE_CONTROL_NUMBER_H
#define VB_CORE_CONTROL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A unit that may follow a number, and its value; a list ends with a NULL. */
struct vb_unit {
	const char *name;
	uint64_t factor;
};

extern const struct vb_unit vb_units_rate[]; /* "bps" to "Tbps" */

/* @text, of @len characters, is @word. */
bool vb_word_is(const char *word, const char *text, size_t len);

/* The decimal number *mantissa / *divisor at the beginning of *text, of which the unit is left
 * there. False: there is none, or it is too long. */
bool vb_number_read(const char **text, size_t *len, uint64_t *mantissa, uint64_t *divisor);

/* The factor of the unit @text, of @len characters; 0: there is no such one. */
uint64_t vb_unit_factor(const struct vb_unit *units, const char *text, size_t len);

/* All of @text is a number with one of @units: *value, rounded down. False: it is not, or does not
 * fit. */
bool vb_number_with_unit(const struct vb_unit *units, const char *text, size_t len,
			 uint64_t *value);

#endif
