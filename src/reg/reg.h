/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers described by tables: from one row of a table come where a field lies in the register's
 * image, who may write it, which member of the adapter's settings it shows, what it is called and
 * what the documentation says of it. reg.c has what is common to all of them; each register adds
 * its rules.
 *
 * An image is the register as it travels: bytes, words of 4 or 8 bytes in big-endian order, bit 0
 * the least significant one of a word. REG-01...37
 */
#ifndef VB_REG_REG_H
#define VB_REG_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_REG_BYTES_MAX 0x90 /* of any register's image */

enum vb_reg_access {
	VB_REG_RW,
	VB_REG_RO,    /* what a SET has there is ignored; to name it is an error. REG-35 */
	VB_REG_INDEX, /* says which part of the register a GET or SET is about. REG-06 */
	VB_REG_W1,    /* writing 1 does something; reads 0. CC-43 */
};

/* The name --show_reg and the documentation have for it. */
const char *vb_reg_access_name(uint8_t access);

/* The unit of a value, for readers that show it. */
enum vb_reg_unit { VB_REG_PLAIN, VB_REG_RATE, VB_REG_RATE_Q8 /* of rate units, 1/256 of them */ };

#define VB_REG_NO_SELECT 0xff

struct vb_reg_field {
	/* Parts joined by dots; the last is the name, the others tell fields of one name apart. */
	const char *path;
	const char *text; /* what it does, one sentence without its end */
	uint32_t address; /* of the word, in bytes from the start of the image */
	uint8_t bit;      /* lowest one in the word */
	uint8_t width;    /* bits; more than the word has left: it lies in two words, upper first */
	uint8_t access;   /* enum vb_reg_access */
	uint8_t unit;     /* enum vb_reg_unit */
	/* Bit of word 0 without which a SET leaves the field alone, or VB_REG_NO_SELECT. */
	uint8_t select;
	/* The member that it shows, of struct vb_reg_file or, in registers of a QP, of struct
	 * vb_csr_view: 1, 2, 4 or 8 bytes; size 0: none. */
	uint16_t at, size;
};

struct vb_reg_file;
struct vb_reg_env;

/* The rule that a GET or SET breaks, as half a sentence ("must be ..."), of a field unless NULL. */
struct vb_reg_fault {
	const struct vb_reg_field *field;
	const char *rule;
	uint64_t value; /* of the field, when it was to be set */
};

struct vb_reg {
	const char *name, *text;
	uint32_t id;
	uint8_t word;            /* bytes of a word: 4 or 8 */
	uint16_t len, len_short; /* bytes of the image, two of them accepted. REG-16 */
	uint16_t field_cnt;
	const struct vb_reg_field *field; /* in the order of the words, each from bit 0 up */
	/* Fills what vb_reg_load() has not; @image has the indexes. May be NULL. */
	int (*get)(const struct vb_reg *reg, struct vb_reg_file *file, const struct vb_reg_env *env,
		   uint8_t *image, struct vb_reg_fault *fault);
	/* Changes @file as a whole or not at all. NULL: the register cannot be set. */
	int (*set)(const struct vb_reg *reg, struct vb_reg_file *file, const struct vb_reg_env *env,
		   const uint8_t *image, struct vb_reg_fault *fault);
};

/* The fields of an image. A value that is too wide is cut to the width. */
uint64_t vb_reg_field_get(const struct vb_reg *reg, const struct vb_reg_field *f,
			  const uint8_t *image);
void vb_reg_field_put(const struct vb_reg *reg, const struct vb_reg_field *f, uint8_t *image,
		      uint64_t value);
uint64_t vb_reg_field_max(const struct vb_reg_field *f);

/* The part of the path behind the last dot. */
const char *vb_reg_field_name(const struct vb_reg_field *f);

/*
 * The field that @name of @len bytes means: a whole path, or the last parts of one, in upper or
 * lower case. The first one when there are several; *others says how many more. NULL: none.
 */
const struct vb_reg_field *vb_reg_find(const struct vb_reg *reg, const char *name, size_t len,
				       unsigned *others);

/* Shows in the fields of @image the members of @from, of the struct that the register's table is
 * about. */
void vb_reg_load(const struct vb_reg *reg, const void *from, uint8_t *image);

/* Takes over into @to what @image may change: fields of access RW and W1 that are selected. */
void vb_reg_store(const struct vb_reg *reg, const uint8_t *image, void *to);

/* -EINVAL, with @fault filled. */
int vb_reg_broken(struct vb_reg_fault *fault, const struct vb_reg_field *f, uint64_t value,
		  const char *rule);

/* True when @name is @text, whatever the case of its letters. */
bool vb_reg_name_is(const char *name, const char *text, size_t len);

#endif
