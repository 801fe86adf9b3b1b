/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of work queue elements and completion entries in memory, made of wqe/layout.def: what
 * is where, and the only functions that read and write fields of them.
 */
#ifndef VB_WQE_LAYOUT_H
#define VB_WQE_LAYOUT_H

#include <stdint.h>

enum vb_wqe_segment {
#define SEGMENT(name, bytes, text) VB_SEGMENT_##name,
#define FIELD(...)
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
	VB_SEGMENT_CNT
};

/* VB_CTRL_BYTES and so on. */
enum {
#define SEGMENT(name, bytes, text) VB_##name##_BYTES = (bytes),
#define FIELD(...)
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
};

enum vb_wqe_field {
#define SEGMENT(name, bytes, text)
#define FIELD(segment, name, ...) VB_##segment##_##name,
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
	VB_WQE_FIELD_CNT
};

struct vb_wqe_place {
	uint8_t segment, at, bytes, shift, bits;
};

/* In the header, so that a field that is named takes no longer to read than by hand. */
static const struct vb_wqe_place vb_wqe_place[VB_WQE_FIELD_CNT] = {
#define SEGMENT(name, bytes, text)
#define FIELD(segment, name, at, bytes, shift, bits, text)                                         \
	[VB_##segment##_##name] = {VB_SEGMENT_##segment, at, bytes, shift, bits},
#include "wqe/layout.def"
#undef SEGMENT
#undef FIELD
};

static inline uint64_t vb_wqe_number(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

static inline uint64_t vb_wqe_mask(const struct vb_wqe_place *f)
{
	return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

/* A field of the segment that begins at @segment. */
static inline uint64_t vb_wqe_get(const uint8_t *segment, enum vb_wqe_field field)
{
	const struct vb_wqe_place *f = &vb_wqe_place[field];

	return vb_wqe_number(segment + f->at, f->bytes) >> f->shift & vb_wqe_mask(f);
}

/* Sets it and leaves the others; bits of @value that the field lacks are dropped. */
static inline void vb_wqe_put(uint8_t *segment, enum vb_wqe_field field, uint64_t value)
{
	const struct vb_wqe_place *f = &vb_wqe_place[field];
	uint64_t mask = vb_wqe_mask(f) << f->shift;
	uint64_t v =
	    (vb_wqe_number(segment + f->at, f->bytes) & ~mask) | (value << f->shift & mask);

	for (uint32_t i = f->bytes; i-- > 0; v >>= 8)
		segment[f->at + i] = (uint8_t)v;
}

#endif
