/* SPDX-License-Identifier: BSD-2-Clause */
/* The CRC register against one that is fed bit by bit, over every length and alignment that takes a
 * way of its own. */
#include "base/rng.h"
#include "cmocka_env.h"
/* For each way by itself, and not as the processor chooses. */
#include "wire/crc.c" /* NOLINT(bugprone-suspicious-include) */

#define LEN_MAX 5000
#define HEAD_MAX 80

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

typedef uint32_t copy_fn(uint32_t state, size_t head, uint8_t *to, const uint8_t *from, size_t len);

/*
 * The copy is the run, behind another one or by itself, and no byte beside it is written or counts;
 * of any length from @min, from any place to any.
 */
static void check_copy(copy_fn *copy, size_t min)
{
	struct vb_rng rng = vb_rng_stream(2, "crc", 0);
	static uint8_t to[LEN_MAX + 64 + HEAD_MAX];

	for (size_t len = min; len < LEN_MAX - 64; len += len < 1100 ? 1 : 37) {
		uint32_t reg = (uint32_t)vb_rng_next(&rng);
		size_t at = vb_rng_next(&rng) % 64, before = 1 + vb_rng_next(&rng) % 62;
		size_t head = len % (HEAD_MAX / 4 + 1) * 4, there = before + head;

		memset(to, 0x5a, there + len + 1);
		memcpy(to + before, bytes + LEN_MAX - head, head);
		assert_int_equal(copy(reg, head, to + there, bytes + at, len),
				 feed_bits(feed_bits(reg, to + before, head), bytes + at, len));
		assert_memory_equal(to + before, bytes + LEN_MAX - head, head);
		assert_memory_equal(to + there, bytes + at, len);
		assert_int_equal(to[before - 1], 0x5a);
		assert_int_equal(to[there + len], 0x5a);
	}
}

static uint32_t behind_isal(uint32_t state, size_t head, uint8_t *to, const uint8_t *from,
			    size_t len)
{
	return copy_isal(crc32_isal(state, to - head, head), to, from, len);
}

static void copy__every_length(void **state)
{
	(void)state;
	check_copy(vb_crc32_copy, 0);
	check_copy(behind_isal, 0);
}

#if defined(__x86_64__)
static uint32_t behind_wide(uint32_t state, size_t head, uint8_t *to, const uint8_t *from,
			    size_t len)
{
	return crc32_wide(crc32_isal(state, to - head, head), to, from, len);
}

static uint32_t no_copy(uint32_t state, size_t head, uint8_t *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
	return crc32_wide(crc32_isal(state, to - head, head), NULL, to, len);
}
#endif

/* Those that this processor has and does not choose. */
static void copy__every_way(void **state)
{
	(void)state;
#if defined(__x86_64__)
	if (multiplies_wide()) {
		check_copy(behind_wide, 128);
		check_copy(no_copy, 128);
	}
	if (multiplies_widest())
		check_copy(copy_widest, 256);
#endif
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
	    cmocka_unit_test(crc32__check_value), cmocka_unit_test(crc32__every_length),
	    cmocka_unit_test(copy__every_length), cmocka_unit_test(copy__every_way),
	    cmocka_unit_test(crc32__in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
