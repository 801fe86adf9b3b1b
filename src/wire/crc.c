/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 by ISA-L; and what it lacks, for long runs on processors that multiply without carry in
 * wide registers: 32 bytes at a time without AVX-512, which it wants for more than 16, twice as
 * fast; and a copy on the way, which costs next to nothing, with what lies before it. Gopal et al.,
 * "Fast CRC computation for generic polynomials using PCLMULQDQ"
 */
#include "wire/crc.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <stdbool.h>
#include <string.h>

/* ISA-L takes and returns the complement. */
static inline uint32_t crc32_isal(uint32_t state, const uint8_t *p, size_t len)
{
	return len != 0 ? ~crc32_gzip_refl(~state, p, len) : state;
}

static inline uint32_t copy_isal(uint32_t state, uint8_t *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
	return crc32_isal(state, to, len);
}

#if defined(__x86_64__)

#include <immintrin.h>

#define FOLD_MIN 384 /* below, ISA-L is as fast */

/*
 * The factors that carry a 128-bit remainder n bits further: x^(n+32) and x^(n-32) modulo the
 * polynomial, reflected, times x. Four registers are folded at once, so n is what they hold
 * together; or, of the bytes before a copy, one part of 128 bits after the other.
 */
#define FOLD_128 INT64_C(0x0ccaa009e), INT64_C(0x1751997d0)
#define FOLD_1024 INT64_C(0x14a7fe880), INT64_C(0x1e88ef372)
#define FOLD_2048 INT64_C(0x1322d1430), INT64_C(0x11542778a)

#define WIDE __attribute__((target("avx2,pclmul,vpclmulqdq")))
#define WIDEST __attribute__((target("avx512f,avx512bw,avx512vl,pclmul,vpclmulqdq")))

/* Carries all 128-bit parts of @a on by what @k stands for, and adds @next there. */
WIDE static inline __m256i fold_wide(__m256i a, __m256i k, __m256i next)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(a, k, 0x00),
						 _mm256_clmulepi64_epi128(a, k, 0x11)),
				next);
}

WIDEST static inline __m128i fold_once(__m128i a, __m128i k, __m128i next)
{
	return _mm_ternarylogic_epi64(_mm_clmulepi64_si128(a, k, 0x00),
				      _mm_clmulepi64_si128(a, k, 0x11), next, 0x96);
}

WIDEST static inline __m512i fold_widest(__m512i a, __m512i k, __m512i next)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00),
					 _mm512_clmulepi64_epi128(a, k, 0x11), next,
					 0x96 /* their sum */);
}

/* Keeps the compiler from reading again what somebody may have changed meanwhile: the bytes copied
 * and the bytes fed are the same. */
#define READ_ONCE(r) __asm__("" : "+v"(r))

/* The bytes at @i of @p, which are copied to @to unless that is NULL. */
WIDE static inline __m256i take_wide(uint8_t *to, const uint8_t *p, size_t i)
{
	__m256i r = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));

	READ_ONCE(r);
	if (to)
		_mm256_storeu_si256((__m256i *)(void *)(to + i), r);
	return r;
}

WIDEST static inline __m512i take_widest(uint8_t *to, const uint8_t *p, size_t i)
{
	__m512i r = _mm512_loadu_si512(p + i);

	READ_ONCE(r);
	_mm512_storeu_si512(to + i, r);
	return r;
}

/* @len >= 128; @to may be NULL. */
WIDE static uint32_t crc32_wide(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	const __m256i k = _mm256_set_epi64x(FOLD_1024, FOLD_1024);
	__m256i a = take_wide(to, p, 0), b = take_wide(to, p, 32), c = take_wide(to, p, 64),
		d = take_wide(to, p, 96), r[4];
	size_t i;

	a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)));
	for (i = sizeof r; i + sizeof r <= len; i += sizeof r) {
		a = fold_wide(a, k, take_wide(to, p, i));
		b = fold_wide(b, k, take_wide(to, p, i + 32));
		c = fold_wide(c, k, take_wide(to, p, i + 64));
		d = fold_wide(d, k, take_wide(to, p, i + 96));
	}
	/* The folded registers are a message that leaves the same remainder. */
	r[0] = a, r[1] = b, r[2] = c, r[3] = d;
	state = crc32_isal(0, (const uint8_t *)r, sizeof r);
	return to ? copy_isal(state, to + i, p + i, len - i) : crc32_isal(state, p + i, len - i);
}

/*
 * The value to add to the 128 bits behind @end when the register @state has been fed the @head
 * bytes before that. They are filled up in front, where zeros leave a register of zero as it is.
 */
WIDEST static inline __m128i feed_head(uint32_t state, const uint8_t *end, size_t head)
{
	const __m128i k = _mm_set_epi64x(FOLD_128);
	size_t blank = -head % sizeof k;
	const uint8_t *p = end - head - blank;
	__m128i a;

	if (!head)
		return _mm_cvtsi32_si128((int)state);
	a = _mm_maskz_loadu_epi8((__mmask16)(0xffffu << blank), p);
	a = _mm_xor_si128(a, _mm_maskz_set1_epi32((__mmask8)(1u << blank / 4), (int)state));
	for (p += sizeof k; p != end; p += sizeof k)
		a = fold_once(a, k, _mm_loadu_si128((const __m128i *)(const void *)p));
	return fold_once(a, k, _mm_setzero_si128());
}

/* @len >= 256. */
WIDEST static uint32_t copy_widest(uint32_t state, size_t head, uint8_t *to, const uint8_t *p,
				   size_t len)
{
	const __m512i k = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_2048));
	__m512i before = _mm512_zextsi128_si512(feed_head(state, to, head));
	__m512i a = take_widest(to, p, 0), b = take_widest(to, p, 64), c = take_widest(to, p, 128),
		d = take_widest(to, p, 192), r[4];
	size_t i;

	a = _mm512_xor_si512(a, before);
	for (i = sizeof r; i + sizeof r <= len; i += sizeof r) {
		a = fold_widest(a, k, take_widest(to, p, i));
		b = fold_widest(b, k, take_widest(to, p, i + 64));
		c = fold_widest(c, k, take_widest(to, p, i + 128));
		d = fold_widest(d, k, take_widest(to, p, i + 192));
	}
	r[0] = a, r[1] = b, r[2] = c, r[3] = d;
	state = crc32_isal(0, (const uint8_t *)r, sizeof r);
	return copy_isal(state, to + i, p + i, len - i);
}

static bool multiplies_wide(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
}

static bool multiplies_widest(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl");
}

uint32_t vb_crc32(uint32_t state, const uint8_t *p, size_t len)
{
	/* With AVX-512, ISA-L is as fast by itself. */
	if (len >= FOLD_MIN && multiplies_wide() && !multiplies_widest())
		return crc32_wide(state, NULL, p, len);
	return crc32_isal(state, p, len);
}

uint32_t vb_crc32_copy(uint32_t state, size_t head, uint8_t *to, const uint8_t *from, size_t len)
{
	assert(head % 4 == 0);
	if (len >= FOLD_MIN && multiplies_widest())
		return copy_widest(state, head, to, from, len);
	state = crc32_isal(state, to - head, head);
	if (len >= FOLD_MIN && multiplies_wide())
		return crc32_wide(state, to, from, len);
	return copy_isal(state, to, from, len);
}

#else

uint32_t vb_crc32(uint32_t state, const uint8_t *p, size_t len)
{
	return crc32_isal(state, p, len);
}

uint32_t vb_crc32_copy(uint32_t state, size_t head, uint8_t *to, const uint8_t *from, size_t len)
{
	return copy_isal(crc32_isal(state, to - head, head), to, from, len);
}

#endif
