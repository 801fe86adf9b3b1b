/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues in words: each segment as its bytes and as its fields. For people and without trust: what
 * is shown may be half written.
 */
#include "wqe/wqe.h"

#include <string.h>

static const char *const segment_text[VB_SEGMENT_CNT] = {
#define SEGMENT(name, bytes, text) [VB_SEGMENT_##name] = (text),
#define FIELD(...)
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
};

static const char *const field_text[VB_WQE_FIELD_CNT] = {
#define SEGMENT(name, bytes, text)
#define FIELD(segment, name, at, bytes, shift, bits, text) [VB_##segment##_##name] = (text),
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
};

/* Lines that are written one behind the other; what has no room is left out. */
struct page {
	char *to;
	size_t at, size;
};

static void add_text(struct page *p, const char *text)
{
	size_t len = strlen(text);

	if (p->at + len >= p->size)
		return;
	memcpy(p->to + p->at, text, len + 1);
	p->at += len;
}

static void add_hex(struct page *p, uint64_t v, uint32_t digits)
{
	char text[17];

	for (uint32_t i = digits; i-- > 0; v >>= 4)
		text[i] = "0123456789abcdef"[v & 15];
	text[digits] = 0;
	add_text(p, text);
}

static void add_number(struct page *p, uint64_t v)
{
	char text[21] = "";
	uint32_t at = sizeof text - 1;

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	add_text(p, text + at);
}

/* Numbers that name something, or are addresses, are hexadecimal to everybody. */
static bool is_hex(const struct vb_wqe_place *f, enum vb_wqe_field field)
{
	return f->bits >= 20 && field != VB_DATA_LENGTH && field != VB_CQE_LENGTH &&
	       field != VB_CQE_TIME;
}

static const char *word_of(enum vb_wqe_field field, uint64_t v)
{
	switch (field) {
	case VB_CTRL_OPCODE:
	case VB_CQE_WORK:
	case VB_ERROR_WORK:
		return vb_wqe_opcode_text((uint32_t)v);
	case VB_CQE_OPCODE:
	case VB_ERROR_OPCODE:
		return vb_cqe_kind_text((uint32_t)v);
	case VB_ERROR_SYNDROME:
		return vb_cqe_syndrome_text((uint32_t)v);
	default:
		return NULL;
	}
}

static void add_bytes(struct page *p, const uint8_t *s, uint32_t from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (i % 16 == 0) {
			add_text(p, i ? "\n    " : "    ");
			add_hex(p, from + i, 3);
			add_text(p, " ");
		}
		add_text(p, i % 4 ? "" : " ");
		add_hex(p, s[i], 2);
	}
}

/* @s as segment number @segment, which is at byte @from of the WQE. */
static void add_segment(struct page *p, enum vb_wqe_segment segment, const uint8_t *s,
			uint32_t from, uint32_t bytes)
{
	const char *between = "  ";

	add_bytes(p, s, from, bytes);
	add_text(p, "  ");
	add_text(p, segment_text[segment]);
	add_text(p, ":");
	for (enum vb_wqe_field i = 0; i < VB_WQE_FIELD_CNT; i++) {
		const struct vb_wqe_place *f = &vb_wqe_place[i];
		uint64_t v;
		const char *word;

		if (f->segment != segment || f->at + f->bytes > bytes)
			continue;
		v = vb_wqe_get(s, i);
		word = word_of(i, v);
		/* What is 0 says nothing, but for what always means something. */
		if (v == 0 && !word && i != VB_CTRL_INDEX && i != VB_CQE_OWNER &&
		    i != VB_CQE_COUNTER)
			continue;
		add_text(p, between + (between[0] == ' '));
		add_text(p, field_text[i]);
		add_text(p, is_hex(f, i) ? " 0x" : " ");
		if (is_hex(f, i))
			add_hex(p, v, (f->bits + 3u) / 4);
		else
			add_number(p, v);
		if (word) {
			add_text(p, " (");
			add_text(p, word);
			add_text(p, ")");
		}
		between = ", ";
	}
	add_text(p, "\n");
}

const char *vb_wqe_opcode_text(uint32_t opcode)
{
	switch (opcode) {
#define WQE_OPCODE(name, number, work, text)                                                       \
	case (number):                                                                             \
		return text;
#include "wqe/opcode.def"
#undef WQE_OPCODE
	case VB_WQE_LOCAL_INVAL:
		return "local invalidate";
	case VB_WQE_UMR:
		return "memory window bind";
	default:
		return "unknown";
	}
}

/* Which segments stand behind the control segment, in their order; ends by VB_SEGMENT_CNT. */
static void segments_of(enum vb_qp_type type, uint32_t opcode, enum vb_wqe_segment to[4])
{
	uint32_t n = 0;

	if (type == VB_QPT_UD || type == VB_QPT_DCI)
		to[n++] = VB_SEGMENT_AV;
	if (type == VB_QPT_XRC_INI)
		to[n++] = VB_SEGMENT_XRC;
	if (opcode == VB_WQE_RDMA_WRITE || opcode == VB_WQE_RDMA_WRITE_IMM ||
	    opcode == VB_WQE_RDMA_READ || opcode == VB_WQE_ATOMIC_CS || opcode == VB_WQE_ATOMIC_FA)
		to[n++] = VB_SEGMENT_RADDR;
	if (opcode == VB_WQE_ATOMIC_CS || opcode == VB_WQE_ATOMIC_FA)
		to[n++] = VB_SEGMENT_ATOMIC;
	to[n] = VB_SEGMENT_CNT;
}

static uint32_t bytes_of(enum vb_wqe_segment segment)
{
	static const uint8_t bytes[VB_SEGMENT_CNT] = {
#define SEGMENT(name, bytes, text) [VB_SEGMENT_##name] = (bytes),
#define FIELD(...)
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
	};

	return bytes[segment];
}

/* Data segments and inline data up to @end. */
static void add_data(struct page *p, const uint8_t *wqe, uint32_t at, uint32_t end)
{
	while (at + VB_WQE_UNIT <= end) {
		const uint8_t *s = wqe + at;
		uint32_t bytes = VB_DATA_BYTES;
		enum vb_wqe_segment segment = VB_SEGMENT_DATA;

		if (vb_wqe_get(s, VB_INLINE_FLAG)) {
			bytes = VB_INLINE_BYTES + (uint32_t)vb_wqe_get(s, VB_INLINE_LENGTH);
			bytes = (bytes + VB_WQE_UNIT - 1) & ~(VB_WQE_UNIT - 1);
			if (bytes > end - at)
				bytes = end - at;
			segment = VB_SEGMENT_INLINE;
		}
		add_segment(p, segment, s, at, bytes);
		at += bytes;
	}
}

size_t vb_wqe_show_send(enum vb_qp_type type, const uint8_t *wqe, uint32_t blocks, char *to,
			size_t size)
{
	struct page p = {to, 0, size};
	uint32_t at = VB_CTRL_BYTES, end = (uint32_t)vb_wqe_get(wqe, VB_CTRL_DS) * VB_WQE_UNIT;
	uint32_t opcode = (uint32_t)vb_wqe_get(wqe, VB_CTRL_OPCODE);
	enum vb_wqe_segment behind[4];

	if (size)
		to[0] = 0;
	if (end > blocks * VB_WQE_BLOCK)
		end = blocks * VB_WQE_BLOCK;
	segments_of(type, opcode, behind);
	add_segment(&p, VB_SEGMENT_CTRL, wqe, 0, VB_CTRL_BYTES);
	if (opcode == VB_WQE_NOP)
		return p.at;
	for (uint32_t i = 0; behind[i] != VB_SEGMENT_CNT; i++) {
		uint32_t bytes = bytes_of(behind[i]);

		if (at + bytes > end)
			return p.at;
		add_segment(&p, behind[i], wqe + at, at, bytes);
		at += bytes;
	}
	add_data(&p, wqe, at, end);
	return p.at;
}

size_t vb_wqe_show_receive(const uint8_t *wqe, size_t bytes, bool is_srq, char *to, size_t size)
{
	struct page p = {to, 0, size};
	uint32_t at = 0;

	if (size)
		to[0] = 0;
	if (is_srq && bytes >= VB_NEXT_BYTES) {
		add_segment(&p, VB_SEGMENT_NEXT, wqe, 0, VB_NEXT_BYTES);
		at = VB_NEXT_BYTES;
	}
	for (; at + VB_DATA_BYTES <= bytes; at += VB_DATA_BYTES) {
		if (vb_wqe_get(wqe + at, VB_DATA_LKEY) == VB_WQE_LKEY_END &&
		    vb_wqe_get(wqe + at, VB_DATA_LENGTH) == 0)
			break;
		add_segment(&p, VB_SEGMENT_DATA, wqe + at, at, VB_DATA_BYTES);
	}
	return p.at;
}

size_t vb_cqe_show(const uint8_t *cqe, char *to, size_t size)
{
	struct page p = {to, 0, size};
	uint32_t kind = (uint32_t)vb_wqe_get(cqe, VB_CQE_OPCODE);
	bool failed = kind == VB_CQE_REQUEST_ERROR || kind == VB_CQE_RECEIVE_ERROR;

	if (size)
		to[0] = 0;
	add_segment(&p, failed ? VB_SEGMENT_ERROR : VB_SEGMENT_CQE, cqe, 0, VB_CQE_BYTES);
	return p.at;
}
