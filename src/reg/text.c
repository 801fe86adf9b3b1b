/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fields from text, see text.h. */
#include "reg/text.h"
#include "base/assert.h"

#include <errno.h>
#include <string.h>

struct span {
	const char *at;
	size_t len;
};

static int text_error(struct vb_reg_text_fault *fault, enum vb_reg_text_error error, struct span s)
{
	fault->error = error;
	fault->at = s.at;
	fault->len = s.len > 1000 ? 1000 : (int)s.len;
	return -EINVAL;
}

/* Cuts @s in two at the only @c there may be; neither half may be empty. */
static bool cut_span(struct span s, char c, struct span *left, struct span *right)
{
	const char *p = memchr(s.at, c, s.len);

	if (!p)
		return false;
	VB_ASSERT_ALL(p >= s.at && p < s.at + s.len);
	*left = (struct span){s.at, (size_t)(p - s.at)};
	*right = (struct span){p + 1, s.len - left->len - 1};
	return left->len && right->len && !memchr(right->at, c, right->len);
}

int vb_reg_text_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

int vb_reg_text_number(const char *text, size_t len, uint32_t *out, struct vb_reg_text_fault *fault)
{
	struct span s = {text, len};
	uint64_t v = 0;
	size_t i = 0;
	int base = 10;

	if (len && text[0] == '-')
		return text_error(fault, VB_REG_TEXT_NEGATIVE, s);
	if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		i = 2;
	} else if (len > 1 && text[0] == '0') {
		base = 8;
		i = 1;
	}
	if (i == len)
		return text_error(fault, VB_REG_TEXT_NUMBER, s);
	for (; i < len; i++) {
		int d = vb_reg_text_digit(text[i]);

		if (d >= base)
			return text_error(fault, VB_REG_TEXT_NUMBER, s);
		v = v * (unsigned)base + (unsigned)d;
		if (v > UINT32_MAX)
			return text_error(fault, VB_REG_TEXT_NUMBER, s);
	}
	*out = (uint32_t)v;
	return 0;
}

/* The next of the parts between commas. */
static bool next_part(const char **text, struct span *s)
{
	if (!**text)
		return false;
	s->at = *text;
	s->len = 0;
	while (s->at[s->len] && s->at[s->len] != ',')
		s->len++;
	*text = s->at + s->len;
	if (**text)
		++*text;
	return true;
}

bool vb_reg_text_next(const char **text, const char **name, size_t *name_len)
{
	struct span part, value, left;

	while (next_part(text, &part))
		if (cut_span(part, '=', &left, &value)) {
			*name = left.at;
			*name_len = left.len;
			return true;
		}
	return false;
}

static int apply_field(const struct vb_reg *reg, struct span name, uint32_t value,
		       bool only_indexes, uint64_t *seen, uint8_t *image,
		       struct vb_reg_text_fault *fault)
{
	unsigned others;
	const struct vb_reg_field *f = vb_reg_find(reg, name.at, name.len, &others);

	if (!f)
		return text_error(fault, VB_REG_TEXT_NO_FIELD, name);
	if (only_indexes) {
		uint64_t bit = UINT64_C(1) << ((f - reg->field) & 63);

		if (f->access != VB_REG_INDEX)
			return text_error(fault, VB_REG_TEXT_NOT_INDEX, name);
		if (*seen & bit)
			return text_error(fault, VB_REG_TEXT_TWICE, name);
		*seen |= bit;
	}
	if (f->access == VB_REG_RO)
		return text_error(fault, VB_REG_TEXT_READ_ONLY, name);
	if (value > vb_reg_field_max(f)) {
		fault->a = value;
		fault->b = f->width;
		return text_error(fault, VB_REG_TEXT_WIDE, name);
	}
	vb_reg_field_put(reg, f, image, value);
	return 0;
}

int vb_reg_text_apply(const struct vb_reg *reg, const char *text, bool only_indexes, uint8_t *image,
		      struct vb_reg_text_fault *fault)
{
	struct span part, name, number;
	uint64_t seen = 0;

	*fault = (struct vb_reg_text_fault){0};
	while (next_part(&text, &part)) {
		uint32_t value;

		if (!cut_span(part, '=', &name, &number))
			return text_error(fault, VB_REG_TEXT_FORM, part);
		int err = vb_reg_text_number(number.at, number.len, &value, fault);
		if (!err)
			err = apply_field(reg, name, value, only_indexes, &seen, image, fault);
		if (err)
			return err;
	}
	return 0;
}

static int wrong_place(struct vb_reg_text_fault *fault, enum vb_reg_text_error error, uint32_t a,
		       uint32_t b)
{
	fault->error = error;
	fault->a = a;
	fault->b = b;
	return -EINVAL;
}

/* "ADDRESS.BIT:SIZE=value" */
static int apply_raw(struct span part, uint8_t *image, size_t len, struct vb_reg_text_fault *fault)
{
	struct span place, number, location, size_text, address_text, bit_text;
	uint32_t value, size, address, bit, word = 0;

	if (!cut_span(part, '=', &place, &number))
		return text_error(fault, VB_REG_TEXT_FORM, part);
	if (!cut_span(place, ':', &location, &size_text))
		return text_error(fault, VB_REG_TEXT_FORM, place);
	if (!cut_span(location, '.', &address_text, &bit_text))
		return text_error(fault, VB_REG_TEXT_FORM, location);
	if (vb_reg_text_number(number.at, number.len, &value, fault) ||
	    vb_reg_text_number(size_text.at, size_text.len, &size, fault) ||
	    vb_reg_text_number(address_text.at, address_text.len, &address, fault) ||
	    vb_reg_text_number(bit_text.at, bit_text.len, &bit, fault))
		return -EINVAL;
	if (size < 1 || size > 32)
		return wrong_place(fault, VB_REG_TEXT_SIZE, size, 0);
	if (address % 4)
		return wrong_place(fault, VB_REG_TEXT_ALIGN, address, 0);
	if (address >= len || len - address < 4)
		return wrong_place(fault, VB_REG_TEXT_ADDRESS, address, 0);
	if (bit > 32 - size)
		return wrong_place(fault, VB_REG_TEXT_BITS, bit, size);

	uint32_t mask = size == 32 ? UINT32_MAX : (1u << size) - 1;

	if (value > mask) {
		fault->a = value;
		fault->b = size;
		return text_error(fault, VB_REG_TEXT_WIDE, place);
	}
	for (int i = 0; i < 4; i++)
		word = word << 8 | image[address + (unsigned)i];
	word = (word & ~(mask << bit)) | value << bit;
	for (unsigned i = 4; i-- > 0; word >>= 8)
		image[address + i] = (uint8_t)word;
	return 0;
}

int vb_reg_text_apply_raw(const char *text, uint8_t *image, size_t len,
			  struct vb_reg_text_fault *fault)
{
	struct span part;

	*fault = (struct vb_reg_text_fault){0};
	while (next_part(&text, &part)) {
		int err = apply_raw(part, image, len, fault);

		if (err)
			return err;
	}
	return 0;
}
