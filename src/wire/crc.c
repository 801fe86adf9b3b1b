/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 by ISA-L, which folds 16 bytes at a time; and, for long runs on processors that multiply
 * without carry in 256-bit registers but have no AVX-512 (which ISA-L wants), 32 bytes at a time:
 * twice as fast. Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ"
 */
#include "wire/crc.h"

#include <isa-l/crc.h>
#include <stdbool.h>

/* ISA-L takes and returns the complement. */
static uint32_t crc32_isal(uint32_t state, const uint8_t *p, size_t len)
{
	return ~crc32_gzip_refl(~state, p, len);
}

#if defined(__x86_64__)

#include <immintrin.h>

#define BLOCK 128    /* bytes folded at once: four registers */
#define FOLD_MIN 384 /* below, ISA-L is as fast */

/*
 * What carries a 128-bit remainder n bits further: x^(n+32) and x^(n-32) modulo the polynomial,
 * reflected, times x.
 */
#define FOLD_1024 INT64_C(0x14a7fe880), INT64_C(0x1e88ef372)
#define FOLD_256 INT64_C(0x15a546366), INT64_C(0x0f1da05aa)
#define FOLD_128 INT64_C(0x0ccaa009e), INT64_C(0x1751997d0)

#define WIDE __attribute__((target("avx2,pclmul,vpclmulqdq")))

/* Carries both halves of @a on by what @k stands for, and adds @next there. */
WIDE static inline __m256i fold_two(__m256i a, __m256i k, __m256i next)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(a, k, 0x00),
						 _mm256_clmulepi64_epi128(a, k, 0x11)),
				next);
}

WIDE static inline __m256i load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* @len >= BLOCK. */
WIDE static uint32_t crc32_wide(uint32_t state, const uint8_t *p, size_t len)
{
	const __m256i far = _mm256_set_epi64x(FOLD_1024, FOLD_1024);
	const __m256i near = _mm256_set_epi64x(FOLD_256, FOLD_256);
	const __m128i last = _mm_set_epi64x(FOLD_128);
	__m256i a = load(p), b = load(p + 32), c = load(p + 64), d = load(p + 96);
	uint8_t rest[16];
	__m128i x, y;

	a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)));
	for (p += BLOCK, len -= BLOCK; len >= BLOCK; p += BLOCK, len -= BLOCK) {
		a = fold_two(a, far, load(p));
		b = fold_two(b, far, load(p + 32));
		c = fold_two(c, far, load(p + 64));
		d = fold_two(d, far, load(p + 96));
	}
	b = fold_two(a, near, b);
	c = fold_two(b, near, c);
	d = fold_two(c, near, d);
	x = _mm256_castsi256_si128(d);
	y = _mm_xor_si128(_mm_clmulepi64_si128(x, last, 0x00), _mm_clmulepi64_si128(x, last, 0x11));
	y = _mm_xor_si128(y, _mm256_extracti128_si256(d, 1));
	/* What has been folded is a message of 16 bytes with the same remainder. */
	_mm_storeu_si128((__m128i *)(void *)rest, y);
	state = crc32_isal(0, rest, sizeof rest);
	return len != 0 ? crc32_isal(state, p, len) : state;
}

/* With AVX-512, ISA-L is as fast by itself. */
static bool has_wide_multiply(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2") &&
	       !__builtin_cpu_supports("avx512f");
}

uint32_t vb_crc32(uint32_t state, const uint8_t *p, size_t len)
{
	if (len >= FOLD_MIN && has_wide_multiply())
		return crc32_wide(state, p, len);
	return crc32_isal(state, p, len);
}

#else

uint32_t vb_crc32(uint32_t state, const uint8_t *p, size_t len)
{
	return crc32_isal(state, p, len);
}

#endif
