/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a fuzz target's input, taken from the front: zeros follow the last one. */
#ifndef VB_TESTS_FUZZ_INPUT_H
#define VB_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

struct fuzz_input {
	const uint8_t *at;
	size_t len;
};

static inline void take_bytes(struct fuzz_input *in, void *to, size_t size)
{
	size_t n = in->len < size ? in->len : size;

	memset(to, 0, size);
	memcpy(to, in->at, n);
	in->at += n;
	in->len -= n;
}

static inline uint8_t take_byte(struct fuzz_input *in)
{
	uint8_t b;

	take_bytes(in, &b, 1);
	return b;
}

#endif
