/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the machine instruction by which a program stores to a page of doorbells: how long it is
 * and which bytes it writes. Only the forms that compilers and memcpy() use for such a store are
 * known, of x86-64. Intel SDM, volume 2, chapter 2 and the instructions' own pages.
 */
#ifndef VB_NODE_BELL_STORE_H
#define VB_NODE_BELL_STORE_H

#include <stdbool.h>
#include <stdint.h>

/* Where the bytes of a store are. */
enum vb_store_source {
	VB_STORE_REGISTER, /* in general register @reg */
	VB_STORE_VECTOR,   /* in vector register @reg, from its lowest byte on */
	VB_STORE_IMMEDIATE /* in @imm */
};

struct vb_store {
	enum vb_store_source from;
	uint8_t reg;
	uint8_t instruction_bytes;
	uint8_t bytes;  /* that are written: 2 to 64 */
	bool exchanges; /* the register takes what was there (XCHG) */
	uint64_t imm;
};

/*
 * Reads the instruction at @code, byte by byte and no further than it goes. False: it is not a
 * store that is known here.
 */
bool vb_store_read(const uint8_t *code, struct vb_store *out);

#endif
