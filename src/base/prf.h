/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that nobody can tell from those before them who does not know the seed: SipHash-2-4
 * (Aumasson, Bernstein 2012) of a counter. For what peers must not guess; the seed is then secret.
 */
#ifndef VB_BASE_PRF_H
#define VB_BASE_PRF_H

#include <stdint.h>

/* The purposes that numbers are drawn for; each has its own numbers. */
enum vb_prf_domain {
	VB_PRF_KEY = 1,
	VB_PRF_WAKEUP, /* the name of a wakeup endpoint, link/shm/wakeup.h */
};

static inline uint64_t vb_prf_rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static inline void vb_prf_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = vb_prf_rotl(v[1], 13) ^ v[0];
	v[3] = vb_prf_rotl(v[3], 16) ^ v[2];
	v[0] = vb_prf_rotl(v[0], 32) + v[3];
	v[2] += v[1];
	v[1] = vb_prf_rotl(v[1], 17) ^ v[2];
	v[3] = vb_prf_rotl(v[3], 21) ^ v[0];
	v[2] = vb_prf_rotl(v[2], 32);
}

/* SipHash-2-4 of the 8 bytes of @m, little-endian, with the key @k0, @k1. */
static inline uint64_t vb_siphash(uint64_t k0, uint64_t k1, uint64_t m)
{
	uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
			 k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
	const uint64_t block[2] = {m, UINT64_C(8) << 56};

	for (int i = 0; i < 2; i++) {
		v[3] ^= block[i];
		vb_prf_round(v);
		vb_prf_round(v);
		v[0] ^= block[i];
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		vb_prf_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Number @n of @domain. */
static inline uint64_t vb_prf(uint64_t seed, enum vb_prf_domain domain, uint64_t n)
{
	return vb_siphash(seed, (uint64_t)domain, n);
}

#endif
