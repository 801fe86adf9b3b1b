/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the instruction of a store. See store.h. */
#include "node/bell/store.h"

#include <stddef.h>
#include <string.h>

/* The mandatory prefix of an opcode, in the order of the two bits pp of VEX and EVEX. */
enum prefix { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2, ANY_PREFIX };

/* The bytes that an opcode writes. */
enum width {
	OF_OPERAND, /* 2, 4 or 8: by the prefix 66 and by REX.W */
	OF_REX_W,   /* 4, or 8 with REX.W */
	OF_VECTOR,  /* 16, 32 or 64: by VEX.L and EVEX.L'L */
	OF_4,
	OF_8
};

/* An opcode that stores to memory. */
struct opcode {
	uint8_t byte;
	bool is_0f; /* of the map 0F */
	enum prefix prefix;
	enum vb_store_source from;
	enum width width;
};

static const struct opcode opcodes[] = {
    {0x89, false, ANY_PREFIX, VB_STORE_REGISTER, OF_OPERAND},  /* MOV m, r */
    {0x87, false, ANY_PREFIX, VB_STORE_REGISTER, OF_OPERAND},  /* XCHG m, r */
    {0xc7, false, ANY_PREFIX, VB_STORE_IMMEDIATE, OF_OPERAND}, /* MOV m, imm */
    {0xc3, true, NO_PREFIX, VB_STORE_REGISTER, OF_REX_W},      /* MOVNTI */
    {0x7e, true, PREFIX_66, VB_STORE_VECTOR, OF_REX_W},        /* MOVD, MOVQ */
    {0xd6, true, PREFIX_66, VB_STORE_VECTOR, OF_8},            /* MOVQ */
    {0x13, true, NO_PREFIX, VB_STORE_VECTOR, OF_8},            /* MOVLPS */
    {0x13, true, PREFIX_66, VB_STORE_VECTOR, OF_8},            /* MOVLPD */
    {0x11, true, PREFIX_F3, VB_STORE_VECTOR, OF_4},            /* MOVSS */
    {0x11, true, PREFIX_F2, VB_STORE_VECTOR, OF_8},            /* MOVSD */
    {0x11, true, NO_PREFIX, VB_STORE_VECTOR, OF_VECTOR},       /* MOVUPS */
    {0x11, true, PREFIX_66, VB_STORE_VECTOR, OF_VECTOR},       /* MOVUPD */
    {0x29, true, NO_PREFIX, VB_STORE_VECTOR, OF_VECTOR},       /* MOVAPS */
    {0x29, true, PREFIX_66, VB_STORE_VECTOR, OF_VECTOR},       /* MOVAPD */
    {0x2b, true, NO_PREFIX, VB_STORE_VECTOR, OF_VECTOR},       /* MOVNTPS */
    {0x2b, true, PREFIX_66, VB_STORE_VECTOR, OF_VECTOR},       /* MOVNTPD */
    {0x7f, true, PREFIX_66, VB_STORE_VECTOR, OF_VECTOR},       /* MOVDQA */
    {0x7f, true, PREFIX_F3, VB_STORE_VECTOR, OF_VECTOR},       /* MOVDQU */
    {0x7f, true, PREFIX_F2, VB_STORE_VECTOR, OF_VECTOR},       /* VMOVDQU8, VMOVDQU16: EVEX alone */
    {0xe7, true, PREFIX_66, VB_STORE_VECTOR, OF_VECTOR},       /* MOVNTDQ */
};

/* An instruction as far as it has been read. */
struct reading {
	const uint8_t *at;
	enum prefix prefix;
	bool rex_w, rex_r;
	bool is_0f;
	bool is_evex;
	uint8_t reg_high; /* bit 4 of the register, EVEX.R' */
	uint8_t vector_bytes;
};

static enum prefix prefix_of(uint8_t byte)
{
	return byte == 0x66   ? PREFIX_66
	       : byte == 0xf3 ? PREFIX_F3
	       : byte == 0xf2 ? PREFIX_F2
			      : NO_PREFIX;
}

/* Prefixes that change nothing here: other segments, the size of addresses. */
static bool is_ignored(uint8_t byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
	       byte == 0x65 || byte == 0x67;
}

/* Legacy prefixes, REX and the escape 0F. */
static void read_legacy(struct reading *r)
{
	for (int i = 0; i < 14; i++, r->at++) {
		enum prefix p = prefix_of(*r->at);

		if (p != NO_PREFIX)
			r->prefix =
			    r->prefix == NO_PREFIX || r->prefix == PREFIX_66 ? p : r->prefix;
		else if (!is_ignored(*r->at))
			break;
	}
	if ((*r->at & 0xf0) == 0x40) {
		r->rex_w = *r->at & 8;
		r->rex_r = *r->at & 4;
		r->at++;
	}
	if (*r->at == 0x0f) {
		r->is_0f = true;
		r->at++;
	}
}

/* VEX of two and of three bytes, and EVEX: R is there as its complement. */
static bool read_vex(struct reading *r)
{
	uint8_t first = *r->at++, payload = *r->at++;
	uint8_t map = first == 0xc5 ? 1 : payload & (first == 0x62 ? 7 : 0x1f);

	r->is_0f = true;
	r->rex_r = !(payload & 0x80);
	r->is_evex = first == 0x62;
	if (r->is_evex)
		r->reg_high = payload & 0x10 ? 0 : 16;
	if (first != 0xc5) {
		payload = *r->at++;
		r->rex_w = payload & 0x80;
	}
	r->prefix = (enum prefix)(payload & 3);
	r->vector_bytes = payload & 4 && !r->is_evex ? 32 : 16;
	if (r->is_evex) {
		payload = *r->at++;
		r->vector_bytes = (uint8_t)(16u << (payload >> 5 & 3));
		/* With a mask or with rounding it is no plain store. */
		if (payload & 0x97 || r->vector_bytes > 64)
			return false;
	}
	return map == 1;
}

static const struct opcode *opcode_find(const struct reading *r, bool is_vex)
{
	for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
		const struct opcode *o = &opcodes[i];

		if (o->byte != *r->at || o->is_0f != r->is_0f)
			continue;
		if (o->prefix != ANY_PREFIX && o->prefix != r->prefix)
			continue;
		/* Of EVEX alone; and general registers have no VEX. */
		if (o->byte == 0x7f && o->prefix == PREFIX_F2 && !r->is_evex)
			continue;
		return is_vex && o->from != VB_STORE_VECTOR ? NULL : o;
	}
	return NULL;
}

static uint8_t bytes_of(const struct opcode *o, const struct reading *r)
{
	switch (o->width) {
	case OF_4:
		return 4;
	case OF_8:
		return 8;
	case OF_VECTOR:
		return r->vector_bytes;
	case OF_OPERAND:
		if (!r->rex_w && r->prefix == PREFIX_66)
			return 2;
		break;
	case OF_REX_W:
		break;
	}
	return r->rex_w ? 8 : 4;
}

/* The bytes of ModRM, SIB and displacement, from ModRM on. 0: the operand is a register. */
static uint32_t operand_bytes(const uint8_t *modrm)
{
	uint8_t mod = *modrm >> 6, rm = *modrm & 7;
	uint32_t n = 1;

	if (mod == 3)
		return 0;
	if (rm == 4) {
		n++;
		if (mod == 0 && (modrm[1] & 7) == 5)
			return n + 4;
	}
	if (mod == 0)
		return rm == 5 ? n + 4 : n;
	return n + (mod == 1 ? 1 : 4);
}

/* The immediate of MOV, whose sign goes on to 8 bytes. */
static uint64_t immediate_of(const uint8_t *code, uint8_t bytes)
{
	uint64_t short_one = 0;
	int32_t wide;

	if (bytes == 2) {
		memcpy(&short_one, code, 2);
		return short_one;
	}
	memcpy(&wide, code, 4);
	return (uint64_t)(int64_t)wide;
}

bool vb_store_read(const uint8_t *code, struct vb_store *out)
{
	struct reading r = {.at = code, .vector_bytes = 16};
	const struct opcode *o;
	bool is_vex;
	uint32_t n;

	read_legacy(&r);
	is_vex = !r.is_0f && (*r.at == 0xc4 || *r.at == 0xc5 || *r.at == 0x62);
	if (is_vex && (r.prefix != NO_PREFIX || !read_vex(&r)))
		return false;
	o = opcode_find(&r, is_vex);
	if (!o)
		return false;
	n = operand_bytes(++r.at);
	if (n == 0)
		return false;
	*out =
	    (struct vb_store){.from = o->from,
			      .reg = (uint8_t)((*r.at >> 3 & 7) | (r.rex_r ? 8 : 0) | r.reg_high),
			      .bytes = bytes_of(o, &r),
			      .exchanges = o->byte == 0x87};
	r.at += n;
	if (o->from == VB_STORE_IMMEDIATE) {
		/* MOV is the opcode's extension 0. */
		if (out->reg & 7)
			return false;
		out->imm = immediate_of(r.at, out->bytes);
		r.at += out->bytes == 2 ? 2 : 4;
	}
	out->instruction_bytes = (uint8_t)(r.at - code);
	return out->instruction_bytes <= 15;
}
