/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields as operators write them, in the language of mlxreg and mstreg:
 *
 *   name=value,name=value            of a register that is known by name
 *   ADDRESS.BIT:SIZE=value,...       of any register; ADDRESS in bytes, BIT 0 the lowest
 *
 * Numbers are decimal, 0x hexadecimal or 0 octal.
 */
#ifndef VB_REG_TEXT_H
#define VB_REG_TEXT_H

#include "reg/reg.h"

enum vb_reg_text_error {
	VB_REG_TEXT_OK,
	VB_REG_TEXT_FORM,      /* @at is not of this form */
	VB_REG_TEXT_NUMBER,    /* @at is no number, or above 32 bits */
	VB_REG_TEXT_NEGATIVE,  /* @at */
	VB_REG_TEXT_NO_FIELD,  /* @at */
	VB_REG_TEXT_NOT_INDEX, /* the field @at is no index */
	VB_REG_TEXT_TWICE,     /* the index @at was given before */
	VB_REG_TEXT_READ_ONLY, /* the field @at */
	VB_REG_TEXT_WIDE,      /* @a is too large for @at, which has @b bits */
	VB_REG_TEXT_SIZE,      /* @a is not 1...32 bits */
	VB_REG_TEXT_ADDRESS,   /* @a lies outside of the register */
	VB_REG_TEXT_ALIGN,     /* @a is no multiple of 4 */
	VB_REG_TEXT_BITS,      /* @a + @b are more than 32 bits */
};

struct vb_reg_text_fault {
	enum vb_reg_text_error error;
	const char *at; /* into the text */
	int len;
	uint32_t a, b;
};

/*
 * Writes the fields of @text into @image. @only_indexes: each must be one, and once. 0 or -EINVAL;
 * then @image may have changed. An empty text has no fields.
 */
int vb_reg_text_apply(const struct vb_reg *reg, const char *text, bool only_indexes, uint8_t *image,
		      struct vb_reg_text_fault *fault);

/* The same for the raw form and an image of @len bytes. */
int vb_reg_text_apply_raw(const char *text, uint8_t *image, size_t len,
			  struct vb_reg_text_fault *fault);

/* The value of a hexadecimal digit, 99 for any other character. */
int vb_reg_text_digit(char c);

/* Reads one number of at most 32 bits. */
int vb_reg_text_number(const char *text, size_t len, uint32_t *out,
		       struct vb_reg_text_fault *fault);

/* The next "name=value" of *text, which moves behind it: false at the end. */
bool vb_reg_text_next(const char **text, const char **name, size_t *name_len);

#endif
