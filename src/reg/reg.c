/* SPDX-License-Identifier: BSD-2-Clause */
/* The code that all registers have in common, see reg.h. */
#include "reg/reg.h"
#include "base/assert.h"

#include "reg/file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const char *vb_reg_access_name(uint8_t access)
{
	static const char *const names[] = {
	    [VB_REG_RW] = "RW", [VB_REG_RO] = "RO", [VB_REG_INDEX] = "INDEX", [VB_REG_W1] = "W1"};

	VB_ASSERT(access <= VB_REG_W1);
	return names[access];
}

/* Bytes that hold the field: its word, or two of them. */
static unsigned holder_bytes(const struct vb_reg *reg, const struct vb_reg_field *f)
{
	unsigned bytes = f->bit + f->width > reg->word * 8u ? 8 : reg->word;

	VB_ASSERT_ALL(f->width >= 1 && f->bit + f->width <= 64);
	VB_ASSERT_ALL(f->address % 4 == 0 && f->address + bytes <= reg->len);
	return bytes;
}

static uint64_t holder_read(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

uint64_t vb_reg_field_max(const struct vb_reg_field *f)
{
	return f->width == 64 ? UINT64_MAX : (UINT64_C(1) << f->width) - 1;
}

uint64_t vb_reg_field_get(const struct vb_reg *reg, const struct vb_reg_field *f,
			  const uint8_t *image)
{
	uint64_t v = holder_read(image + f->address, holder_bytes(reg, f));

	return v >> f->bit & vb_reg_field_max(f);
}

void vb_reg_field_put(const struct vb_reg *reg, const struct vb_reg_field *f, uint8_t *image,
		      uint64_t value)
{
	unsigned bytes = holder_bytes(reg, f);
	uint64_t max = vb_reg_field_max(f);
	uint64_t v = holder_read(image + f->address, bytes);

	v = (v & ~(max << f->bit)) | (value & max) << f->bit;
	for (unsigned i = bytes; i-- > 0; v >>= 8)
		image[f->address + i] = (uint8_t)v;
}

const char *vb_reg_field_name(const struct vb_reg_field *f)
{
	const char *name = f->path;

	for (const char *p = f->path; *p; p++)
		if (*p == '.')
			name = p + 1;
	return name;
}

static int lower_case(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool vb_reg_name_is(const char *name, const char *text, size_t len)
{
	if (strlen(name) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (lower_case(name[i]) != lower_case(text[i]))
			return false;
	return true;
}

const struct vb_reg_field *vb_reg_find(const struct vb_reg *reg, const char *name, size_t len,
				       unsigned *others)
{
	const struct vb_reg_field *found = NULL;

	*others = 0;
	for (unsigned i = 0; len && i < reg->field_cnt; i++) {
		const char *path = reg->field[i].path;
		size_t all = strlen(path);

		if (all < len || !vb_reg_name_is(path + (all - len), name, len) ||
		    (all > len && path[all - len - 1] != '.'))
			continue;
		if (found)
			++*others;
		else
			found = &reg->field[i];
	}
	return found;
}

static uint64_t member_get(const void *from, const struct vb_reg_field *f)
{
	const uint8_t *p = (const uint8_t *)from + f->at;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} v;

	memcpy(&v, p, f->size);
	switch (f->size) {
	case 1:
		return v.u8;
	case 2:
		return v.u16;
	case 4:
		return v.u32;
	default:
		assert(f->size == 8);
		return v.u64;
	}
}

static void member_put(void *to, const struct vb_reg_field *f, uint64_t v)
{
	uint8_t *p = (uint8_t *)to + f->at;
	uint8_t u8 = (uint8_t)v;
	uint16_t u16 = (uint16_t)v;
	uint32_t u32 = (uint32_t)v;
	const void *from = f->size == 1   ? (const void *)&u8
			   : f->size == 2 ? (const void *)&u16
			   : f->size == 4 ? (const void *)&u32
					  : (const void *)&v;

	VB_ASSERT_ALL(f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
	memcpy(p, from, f->size);
}

void vb_reg_load(const struct vb_reg *reg, const void *from, uint8_t *image)
{
	for (unsigned i = 0; i < reg->field_cnt; i++)
		if (reg->field[i].size)
			vb_reg_field_put(reg, &reg->field[i], image,
					 member_get(from, &reg->field[i]));
}

static bool may_write(const struct vb_reg_field *f)
{
	return f->access == VB_REG_RW || f->access == VB_REG_W1;
}

void vb_reg_store(const struct vb_reg *reg, const uint8_t *image, void *to)
{
	uint64_t selected = holder_read(image, reg->word);

	for (unsigned i = 0; i < reg->field_cnt; i++) {
		const struct vb_reg_field *f = &reg->field[i];

		VB_ASSERT_ALL(f->select == VB_REG_NO_SELECT || f->select < reg->word * 8);
		if (f->size && may_write(f) &&
		    (f->select == VB_REG_NO_SELECT || selected >> f->select & 1))
			member_put(to, f, vb_reg_field_get(reg, f, image));
	}
}

int vb_reg_broken(struct vb_reg_fault *fault, const struct vb_reg_field *f, uint64_t value,
		  const char *rule)
{
	VB_ASSERT_ALL(rule && rule[0]); /* who is refused is told why */
	*fault = (struct vb_reg_fault){f, rule, value};
	return -EINVAL;
}
