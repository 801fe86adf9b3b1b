/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions that store, as bytes: how long each is, how many bytes it writes, and from where.
 * The bytes are an assembler's. Instructions that are no plain store are not taken for one.
 */
#include "cmocka_env.h"
#include "node/bell/store.h"

#include <string.h>

struct known {
	const char *text; /* in the syntax of AT&T */
	uint8_t code[16];
	uint8_t length, bytes;
	enum vb_store_source from;
	uint8_t reg;
	uint64_t imm;
};

#define GENERAL VB_STORE_REGISTER
#define VECTOR VB_STORE_VECTOR
#define IMMEDIATE VB_STORE_IMMEDIATE

static const struct known stores[] = {
    {"mov %rax,(%rdx)", {0x48, 0x89, 0x02}, 3, 8, GENERAL, 0, 0},
    {"mov %r9,0x800(%r12)", {0x4d, 0x89, 0x8c, 0x24, 0, 8, 0, 0}, 8, 8, GENERAL, 9, 0},
    {"mov %rcx,0x20(%rdi)", {0x48, 0x89, 0x4f, 0x20}, 4, 8, GENERAL, 1, 0},
    {"mov %rsi,(%rax,%rcx,8)", {0x48, 0x89, 0x34, 0xc8}, 4, 8, GENERAL, 6, 0},
    {"mov %rdi,0x7f(%rax,%rcx,1)", {0x48, 0x89, 0x7c, 0x08, 0x7f}, 5, 8, GENERAL, 7, 0},
    {"mov %rax,0x1000(,%rcx,1)", {0x48, 0x89, 0x04, 0x0d, 0, 0x10, 0, 0}, 8, 8, GENERAL, 0, 0},
    {"mov %rbx,0x11(%rip)", {0x48, 0x89, 0x1d, 0x11, 0, 0, 0}, 7, 8, GENERAL, 3, 0},
    {"mov %edx,(%rax)", {0x89, 0x10}, 2, 4, GENERAL, 2, 0},
    {"mov %r15d,(%r13)", {0x45, 0x89, 0x7d, 0x00}, 4, 4, GENERAL, 15, 0},
    {"mov %dx,(%rax)", {0x66, 0x89, 0x10}, 3, 2, GENERAL, 2, 0},
    {"mov %rax,%fs:(%rdx)", {0x64, 0x48, 0x89, 0x02}, 4, 8, GENERAL, 0, 0},
    {"mov %rax,(%edx)", {0x67, 0x48, 0x89, 0x02}, 4, 8, GENERAL, 0, 0},
    {"movq $-2,0x800(%rax)",
     {0x48, 0xc7, 0x80, 0, 8, 0, 0, 0xfe, 0xff, 0xff, 0xff},
     11,
     8,
     IMMEDIATE,
     0,
     UINT64_MAX - 1},
    {"movl $0x12345678,(%rax)",
     {0xc7, 0x00, 0x78, 0x56, 0x34, 0x12},
     6,
     4,
     IMMEDIATE,
     0,
     0x12345678},
    {"movw $0x1234,(%rax)", {0x66, 0xc7, 0x00, 0x34, 0x12}, 5, 2, IMMEDIATE, 0, 0x1234},
    {"movnti %rax,(%rdx)", {0x48, 0x0f, 0xc3, 0x02}, 4, 8, GENERAL, 0, 0},
    {"movnti %r8d,(%rdx)", {0x44, 0x0f, 0xc3, 0x02}, 4, 4, GENERAL, 8, 0},
    {"xchg %rax,(%rdx)", {0x48, 0x87, 0x02}, 3, 8, GENERAL, 0, 0},
    {"movq %xmm1,(%rax)", {0x66, 0x0f, 0xd6, 0x08}, 4, 8, VECTOR, 1, 0},
    {"movq %xmm2,(%rax), 7E", {0x66, 0x48, 0x0f, 0x7e, 0x10}, 5, 8, VECTOR, 2, 0},
    {"movd %xmm2,(%rax)", {0x66, 0x0f, 0x7e, 0x10}, 4, 4, VECTOR, 2, 0},
    {"movlps %xmm3,(%rax)", {0x0f, 0x13, 0x18}, 3, 8, VECTOR, 3, 0},
    {"movss %xmm0,(%rax)", {0xf3, 0x0f, 0x11, 0x00}, 4, 4, VECTOR, 0, 0},
    {"movsd %xmm9,(%rax)", {0xf2, 0x44, 0x0f, 0x11, 0x08}, 5, 8, VECTOR, 9, 0},
    {"movups %xmm0,(%rax)", {0x0f, 0x11, 0x00}, 3, 16, VECTOR, 0, 0},
    {"movaps %xmm0,(%rax)", {0x0f, 0x29, 0x00}, 3, 16, VECTOR, 0, 0},
    {"movntps %xmm0,(%rax)", {0x0f, 0x2b, 0x00}, 3, 16, VECTOR, 0, 0},
    {"movdqa %xmm4,(%rax)", {0x66, 0x0f, 0x7f, 0x20}, 4, 16, VECTOR, 4, 0},
    {"movdqu %xmm5,(%rax)", {0xf3, 0x0f, 0x7f, 0x28}, 4, 16, VECTOR, 5, 0},
    {"movntdq %xmm15,(%rax)", {0x66, 0x44, 0x0f, 0xe7, 0x38}, 5, 16, VECTOR, 15, 0},
    {"vmovdqu %ymm1,(%rax)", {0xc5, 0xfe, 0x7f, 0x08}, 4, 32, VECTOR, 1, 0},
    {"vmovdqu %xmm1,(%rax)", {0xc5, 0xfa, 0x7f, 0x08}, 4, 16, VECTOR, 1, 0},
    {"vmovups %ymm8,(%r8)", {0xc4, 0x41, 0x7c, 0x11, 0x00}, 5, 32, VECTOR, 8, 0},
    {"vmovntdq %ymm1,(%rax)", {0xc5, 0xfd, 0xe7, 0x08}, 4, 32, VECTOR, 1, 0},
    {"vmovq %xmm1,(%rax)", {0xc5, 0xf9, 0xd6, 0x08}, 4, 8, VECTOR, 1, 0},
    {"vmovdqu64 %zmm1,(%rax)", {0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x08}, 6, 64, VECTOR, 1, 0},
    {"vmovups %zmm17,0x40(%rax)", {0x62, 0xe1, 0x7c, 0x48, 0x11, 0x48, 0x01}, 7, 64, VECTOR, 17, 0},
    {"vmovdqu8 %ymm3,(%rax)", {0x62, 0xf1, 0x7f, 0x28, 0x7f, 0x18}, 6, 32, VECTOR, 3, 0},
};

static void store__is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
		const struct known *k = &stores[i];
		struct vb_store s;

		if (!vb_store_read(k->code, &s) || s.instruction_bytes != k->length ||
		    s.bytes != k->bytes || s.from != k->from || s.reg != k->reg ||
		    s.imm != k->imm || s.exchanges != (k->code[1] == 0x87))
			fail_msg("%s", k->text);
	}
}

static const struct {
	const char *text;
	uint8_t code[16];
} others[] = {
    {"mov (%rdx),%rax", {0x48, 0x8b, 0x02}},
    {"mov %rax,%rdx", {0x48, 0x89, 0xc2}},
    {"movb %al,(%rdx)", {0x88, 0x02}},
    {"add %rax,(%rdx)", {0x48, 0x01, 0x02}},
    {"xbegin, C7 /7", {0xc7, 0xf8, 0, 0, 0, 0}},
    {"C7 /1", {0xc7, 0x08, 0, 0, 0, 0}},
    {"lock xadd %rax,(%rdx)", {0xf0, 0x48, 0x0f, 0xc1, 0x02}},
    {"movsq", {0x48, 0xa5}},
    {"rep movsb", {0xf3, 0xa4}},
    {"push (%rdx)", {0xff, 0x32}},
    {"movdqu (%rax),%xmm5", {0xf3, 0x0f, 0x6f, 0x28}},
    {"movq %mm0,(%rax)", {0x0f, 0x7f, 0x00}},
    {"movdir64b (%rax),%rdx", {0x66, 0x0f, 0x38, 0xf8, 0x10}},
    {"vmovdqu8 with a mask", {0x62, 0xf1, 0x7f, 0x29, 0x7f, 0x18}},
    {"vmovdqu8 that rounds", {0x62, 0xf1, 0x7f, 0x58, 0x7f, 0x18}},
    {"vmovdqu8 that zeroes", {0x62, 0xf1, 0x7f, 0xc8, 0x7f, 0x18}},
    {"movnti with VEX", {0xc5, 0xf8, 0xc3, 0x02}},
    {"vmaskmovps, map 0F38", {0xc4, 0xe2, 0x7d, 0x2e, 0x08}},
    {"F2 0F 7F without EVEX", {0xf2, 0x0f, 0x7f, 0x00}},
    {"prefixes without an end",
     {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
      0x66}},
};

static void other__is_no_store(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		struct vb_store s;

		if (vb_store_read(others[i].code, &s))
			fail_msg("%s", others[i].text);
	}
}

/* Reading goes no further than an instruction does, whatever its bytes are: 15. */
static void reading__ends(void **state)
{
	uint32_t x = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint8_t code[15 + 8];
		struct vb_store s;

		memset(code, 0x90, sizeof code);
		for (int k = 0; k < 15; k++) {
			x = x * 1103515245u + 12345u;
			code[k] = (uint8_t)(x >> 16);
		}
		if (i % 2)
			code[0] = (uint8_t[]){0x48, 0x66, 0xc5, 0x62}[i / 2 % 4];
		if (vb_store_read(code, &s))
			assert_uint_in_range(s.instruction_bytes, 2, 15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(store__is_read),
	    cmocka_unit_test(other__is_no_store),
	    cmocka_unit_test(reading__ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
