/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of protobuf. See wire.h. */
#include "scenario/input/chakra/wire.h"

#include "base/assert.h"

#define FIELD_MAX ((1u << 29) - 1)

static bool wire_fail(struct vb_wire *w, const uint8_t *at, const char *wrong)
{
	w->at = at;
	w->wrong = wrong;
	return false;
}

bool vb_wire_varint(struct vb_wire *w, uint64_t *v)
{
	const uint8_t *begin = w->at;

	VB_ASSERT(w->at <= w->end && !w->wrong);
	*v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (w->at == w->end)
			return wire_fail(w, begin, "a number goes beyond the end");
		byte = *w->at++;
		if (shift == 63 && byte > 1)
			break;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return wire_fail(w, begin, "a number has more than 64 bits");
}

bool vb_wire_bytes(struct vb_wire *w, struct vb_wire *bytes)
{
	const uint8_t *begin = w->at;
	uint64_t len;

	if (!vb_wire_varint(w, &len))
		return false;
	if (len > (uint64_t)(w->end - w->at))
		return wire_fail(w, begin, "a length goes beyond the end");
	*bytes = (struct vb_wire){w->at, w->at + len, NULL};
	w->at += len;
	return true;
}

/* @cnt bytes, the lowest first. */
static bool fixed_read(struct vb_wire *w, unsigned cnt, uint64_t *v)
{
	*v = 0;
	if (w->end - w->at < (ptrdiff_t)cnt)
		return wire_fail(w, w->at, "a number goes beyond the end");
	for (unsigned i = 0; i < cnt; i++)
		*v |= (uint64_t)*w->at++ << 8 * i;
	return true;
}

bool vb_wire_next(struct vb_wire *w, struct vb_wire_field *f)
{
	const uint8_t *begin = w->at;
	uint64_t key;

	if (w->wrong || w->at == w->end || !vb_wire_varint(w, &key))
		return false;
	if (key >> 3 == 0 || key >> 3 > FIELD_MAX)
		return wire_fail(w, begin, "no field has that number");
	f->number = (uint32_t)(key >> 3);
	f->kind = (enum vb_wire_kind)(key & 7);
	f->value = 0;
	switch (f->kind) {
	case VB_WIRE_VARINT:
		return vb_wire_varint(w, &f->value);
	case VB_WIRE_64:
		return fixed_read(w, 8, &f->value);
	case VB_WIRE_BYTES:
		return vb_wire_bytes(w, &f->bytes);
	case VB_WIRE_32:
		return fixed_read(w, 4, &f->value);
	default:
		return wire_fail(w, begin, "no field is of that kind");
	}
}
