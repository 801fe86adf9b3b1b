/* SPDX-License-Identifier: BSD-2-Clause */
/* A register of congestion control as a word of 64 bits, and fields of it. */
#include "base/assert.h"
#include "reg/csr/priv.h"

/* The image of a register of the CSR space is one word. */
static inline bool is_word(const struct vb_reg *reg)
{
	return reg->word == 8 && reg->len == 8;
}

static void to_image(uint64_t word, uint8_t *image)
{
	for (unsigned i = 8; i-- > 0; word >>= 8)
		image[i] = (uint8_t)word;
}

static uint64_t of_image(const uint8_t *image)
{
	uint64_t word = 0;

	for (unsigned i = 0; i < 8; i++)
		word = word << 8 | image[i];
	return word;
}

uint64_t vb_csr_field_get(const struct vb_reg *reg, const struct vb_reg_field *f, uint64_t word)
{
	uint8_t image[8];

	VB_ASSERT_ALL(is_word(reg));
	to_image(word, image);
	return vb_reg_field_get(reg, f, image);
}

uint64_t vb_csr_field_put(const struct vb_reg *reg, const struct vb_reg_field *f, uint64_t word,
			  uint64_t value)
{
	uint8_t image[8];

	VB_ASSERT_ALL(is_word(reg));
	to_image(word, image);
	vb_reg_field_put(reg, f, image, value);
	return of_image(image);
}

uint64_t vb_csr_load(const struct vb_reg *reg, const void *from)
{
	uint8_t image[8] = {0};

	VB_ASSERT(is_word(reg));
	vb_reg_load(reg, from, image);
	return of_image(image);
}

void vb_csr_store(const struct vb_reg *reg, uint64_t word, void *to)
{
	uint8_t image[8];

	VB_ASSERT(is_word(reg));
	to_image(word, image);
	vb_reg_store(reg, image, to);
}
