/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues segment by segment and field by field, for readers that show them. Without trust: what is
 * shown may be half written.
 */
#include "wqe/wqe.h"

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

/* Numbers that name something, or are addresses, are hexadecimal to everybody. */
static bool is_hex(const struct vb_wqe_place *f, enum vb_wqe_field field)
{
	return f->bits >= 20 && field != VB_DATA_LENGTH && field != VB_KLM_LENGTH &&
	       field != VB_MKEY_LENGTH && field != VB_CQE_LENGTH && field != VB_CQE_TIME &&
	       field != VB_TITLE_CNT && field != VB_TITLE_TIME && field != VB_SENT_LENGTH &&
	       field != VB_RECEIVED_LENGTH;
}

static const char *word_of(enum vb_wqe_field field, uint64_t v)
{
	switch (field) {
	case VB_CTRL_OPCODE:
	case VB_CQE_WORK:
	case VB_ERROR_WORK:
	case VB_SENT_WORK:
		return vb_wqe_opcode_text((uint32_t)v);
	case VB_CQE_OPCODE:
	case VB_ERROR_OPCODE:
	case VB_TITLE_OPCODE:
		return vb_cqe_kind_text((uint32_t)v);
	case VB_ERROR_SYNDROME:
		return vb_cqe_syndrome_text((uint32_t)v);
	default:
		return NULL;
	}
}

/* @s as segment number @segment, which is at byte @from of the WQE, without its first @skip bytes.
 */
static void visit_behind(const struct vb_wqe_visitor *v, enum vb_wqe_segment segment,
			 const uint8_t *s, uint32_t from, uint32_t skip, uint32_t bytes)
{
	v->segment(v->ctx, segment_text[segment], s + skip, from + skip, bytes - skip);
	for (enum vb_wqe_field i = 0; i < VB_WQE_FIELD_CNT; i++) {
		const struct vb_wqe_place *f = &vb_wqe_place[i];
		struct vb_wqe_shown shown = {.name = field_text[i]};

		if (f->segment != segment || f->at < skip || f->at + f->bytes > bytes)
			continue;
		shown.value = vb_wqe_get(s, i);
		shown.word = word_of(i, shown.value);
		/* A field of 0 says nothing, but for those that always mean something. */
		if (shown.value == 0 && !shown.word && i != VB_CTRL_INDEX && i != VB_CQE_OWNER &&
		    i != VB_CQE_COUNTER && i != VB_TITLE_OWNER && i != VB_TITLE_COUNTER &&
		    i != VB_SENT_COUNTER && i != VB_RECEIVED_LENGTH)
			continue;
		shown.hex_digits = is_hex(f, i) ? (uint8_t)((f->bits + 3u) / 4) : 0;
		v->field(v->ctx, &shown);
	}
}

static void visit_segment(const struct vb_wqe_visitor *v, enum vb_wqe_segment segment,
			  const uint8_t *s, uint32_t from, uint32_t bytes)
{
	visit_behind(v, segment, s, from, 0, bytes);
}

const char *vb_wqe_opcode_text(uint32_t opcode)
{
	switch (opcode) {
#define WQE_OPCODE(name, number, work, text)                                                       \
	case (number):                                                                             \
		return text;
#include "wqe/opcode.def"
#undef WQE_OPCODE
	case VB_WQE_UMR:
		return "UMR, of a memory window";
	default:
		return "unknown";
	}
}

/* Which segments stand behind the control segment, in their order; ends by VB_SEGMENT_CNT. */
static void segments_of(enum vb_qp_type type, uint32_t opcode, enum vb_wqe_segment to[4])
{
	uint32_t n = 0;

	if (opcode == VB_WQE_UMR) {
		to[n++] = VB_SEGMENT_UMR;
		to[n++] = VB_SEGMENT_MKEY;
		to[n++] = VB_SEGMENT_KLM;
		to[n] = VB_SEGMENT_CNT;
		return;
	}
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
static void visit_data(const struct vb_wqe_visitor *v, const uint8_t *wqe, uint32_t at,
		       uint32_t end)
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
		visit_segment(v, segment, s, at, bytes);
		at += bytes;
	}
}

void vb_wqe_walk_send(enum vb_qp_type type, const uint8_t *wqe, uint32_t blocks,
		      const struct vb_wqe_visitor *v)
{
	uint32_t at = VB_CTRL_BYTES, end = (uint32_t)vb_wqe_get(wqe, VB_CTRL_DS) * VB_WQE_UNIT;
	uint32_t opcode = (uint32_t)vb_wqe_get(wqe, VB_CTRL_OPCODE);
	enum vb_wqe_segment behind[4];

	if (end > blocks * VB_WQE_BLOCK)
		end = blocks * VB_WQE_BLOCK;
	segments_of(type, opcode, behind);
	visit_segment(v, VB_SEGMENT_CTRL, wqe, 0, VB_CTRL_BYTES);
	if (opcode == VB_WQE_NOP)
		return;
	for (uint32_t i = 0; behind[i] != VB_SEGMENT_CNT; i++) {
		uint32_t bytes = bytes_of(behind[i]);

		if (at + bytes > end)
			return;
		visit_segment(v, behind[i], wqe + at, at, bytes);
		at += bytes;
	}
	visit_data(v, wqe, at, end);
}

void vb_wqe_walk_receive(const uint8_t *wqe, size_t bytes, bool is_srq,
			 const struct vb_wqe_visitor *v)
{
	uint32_t at = 0;

	if (is_srq && bytes >= VB_NEXT_BYTES) {
		visit_segment(v, VB_SEGMENT_NEXT, wqe, 0, VB_NEXT_BYTES);
		at = VB_NEXT_BYTES;
	}
	for (; at + VB_DATA_BYTES <= bytes; at += VB_DATA_BYTES) {
		if (vb_wqe_get(wqe + at, VB_DATA_LKEY) == VB_WQE_LKEY_END &&
		    vb_wqe_get(wqe + at, VB_DATA_LENGTH) == 0)
			break;
		visit_segment(v, VB_SEGMENT_DATA, wqe + at, at, VB_DATA_BYTES);
	}
}

void vb_cqe_walk(const uint8_t *entry, uint32_t bytes, const struct vb_wqe_visitor *v)
{
	uint32_t from = bytes - VB_CQE_BYTES, skip = 0;
	const uint8_t *cqe = entry + from;
	uint32_t kind = (uint32_t)vb_wqe_get(cqe, VB_CQE_OPCODE);
	bool failed = kind == VB_CQE_REQUEST_ERROR || kind == VB_CQE_RECEIVE_ERROR;
	uint64_t scatter = vb_wqe_get(cqe, VB_CQE_SCATTER);

	if (scatter == VB_CQE_COMPRESSED && !failed) {
		visit_segment(v, VB_SEGMENT_TITLE, cqe, from, VB_CQE_BYTES);
		return;
	}
	if (scatter == 1) {
		skip = VB_CQE_DATA;
		visit_segment(v, VB_SEGMENT_PAYLOAD, cqe, from, skip);
	} else if (scatter && from) {
		visit_segment(v, VB_SEGMENT_PAYLOAD, entry, 0, from);
	}
	visit_behind(v, failed ? VB_SEGMENT_ERROR : VB_SEGMENT_CQE, cqe, from, skip, VB_CQE_BYTES);
}

void vb_cqe_walk_array(const uint8_t *array, uint32_t cnt, bool sends,
		       const struct vb_wqe_visitor *v)
{
	for (uint32_t i = 0; i < cnt && i < VB_MINI_CNT; i++)
		visit_segment(v, sends ? VB_SEGMENT_SENT : VB_SEGMENT_RECEIVED,
			      array + (size_t)i * VB_MINI_BYTES, i * VB_MINI_BYTES, VB_MINI_BYTES);
}
