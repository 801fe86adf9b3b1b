/* SPDX-License-Identifier: BSD-2-Clause */
/* The CRC register against one that is fed bit by bit, over every length and alignment that takes a
 * way of its own. */
#include "base/rng.h"
#include "cmocka_env.h"
#include "wire/crc.h"

#define LEN_MAX 5000

static uint8_t bytes[LEN_MAX + 64];

static uint32_t feed_bits(uint32_t reg, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint32_t in = (reg ^ (uint32_t)(p[i] >> bit)) & 1;

			reg = reg >> 1 ^ (0xedb88320 & (0u - in));
		}
	return reg;
}

static void crc32__check_value(void **state)
{
	(void)state;
	assert_int_equal(~vb_crc32(0xffffffff, (const uint8_t *)"123456789", 9), 0xcbf43926);
}

static void crc32__every_length(void **state)
{
	struct vb_rng rng = vb_rng_stream(1, "crc", 0);

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)vb_rng_next(&rng);
	for (size_t len = 0; len < LEN_MAX; len += len < 1100 ? 1 : 37) {
		uint32_t reg = (uint32_t)vb_rng_next(&rng);
		size_t at = len % 64;

		assert_int_equal(vb_crc32(reg, bytes + at, len), feed_bits(reg, bytes + at, len));
	}
}

/* A run in pieces is the run. */
static void crc32__in_pieces(void **state)
{
	uint32_t whole = vb_crc32(7, bytes, LEN_MAX);

	(void)state;
	for (size_t cut = 0; cut <= LEN_MAX; cut += 113)
		assert_int_equal(vb_crc32(vb_crc32(7, bytes, cut), bytes + cut, LEN_MAX - cut),
				 whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(crc32__check_value),
	    cmocka_unit_test(crc32__every_length),
	    cmocka_unit_test(crc32__in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
