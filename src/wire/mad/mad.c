/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of management datagrams between their bytes and the members of structs, by tables.
 * IBA 13.4.3
 */
#include "wire/mad/mad.h"

#include <assert.h>
#include <string.h>

#define CLASS_BM 0x05
#define BM_RESPONSE 1u /* attribute modifier of baseboard management */

#define HDR(member, byte, bits) VB_MAD_FIELD(struct vb_mad_hdr, member, byte, 0, bits)

static const struct vb_mad_field hdr_fields[] = {
    HDR(base_version, 0, 8), HDR(mgmt_class, 1, 8), HDR(class_version, 2, 8),
    HDR(method, 3, 8),       HDR(status, 4, 16),    HDR(class_specific, 6, 16),
    HDR(tid, 8, 64),         HDR(attr_id, 16, 16),  HDR(attr_mod, 20, 32),
};
#define HDR_FIELDS (sizeof hdr_fields / sizeof hdr_fields[0])

/* Most fields are whole bytes; a subnet manager's bring-up reads millions of them. */
static bool bits_are_bytes(uint32_t bit, uint32_t bits)
{
	return bit % 8 == 0 && bits % 8 == 0;
}

static uint64_t bits_get(const uint8_t *mad, uint32_t bit, uint32_t bits)
{
	uint64_t v = 0;

	if (bits_are_bytes(bit, bits)) {
		for (uint32_t i = bit / 8; i < (bit + bits) / 8; i++)
			v = v << 8 | mad[i];
		return v;
	}
	for (uint32_t i = bit; i < bit + bits; i++)
		v = v << 1 | (mad[i / 8] >> (7 - i % 8) & 1);
	return v;
}

static void bits_put(uint8_t *mad, uint32_t bit, uint32_t bits, uint64_t v)
{
	if (bits_are_bytes(bit, bits)) {
		for (uint32_t i = (bit + bits) / 8; i-- > bit / 8; v >>= 8)
			mad[i] = (uint8_t)v;
		return;
	}
	for (uint32_t i = bit + bits; i-- > bit; v >>= 1) {
		uint8_t mask = (uint8_t)(0x80 >> i % 8);

		mad[i / 8] = v & 1 ? mad[i / 8] | mask : mad[i / 8] & (uint8_t)~mask;
	}
}

static uint64_t number_load(const void *p, size_t size)
{
	uint64_t v = 0;

	switch (size) {
	case 1:
		return *(const uint8_t *)p;
	case 2: {
		uint16_t v16;

		memcpy(&v16, p, sizeof v16);
		return v16;
	}
	case 4: {
		uint32_t v32;

		memcpy(&v32, p, sizeof v32);
		return v32;
	}
	default:
		assert(size == 8);
		memcpy(&v, p, sizeof v);
		return v;
	}
}

static void number_store(void *p, size_t size, uint64_t v)
{
	const uint8_t v8 = (uint8_t)v;
	const uint16_t v16 = (uint16_t)v;
	const uint32_t v32 = (uint32_t)v;
	const void *from = size == 1   ? (const void *)&v8
			   : size == 2 ? (const void *)&v16
			   : size == 4 ? (const void *)&v32
				       : (const void *)&v;

	memcpy(p, from, size);
}

/* Members of other sizes are runs of bytes: GIDs and what rules for private data leave room for. */
static int field_is_number(const struct vb_mad_field *f)
{
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
}

void vb_mad_fields_read(const struct vb_mad_field *f, size_t cnt, const uint8_t mad[VB_MAD_LEN],
			void *to)
{
	for (; cnt > 0; cnt--, f++) {
		uint8_t *member = (uint8_t *)to + f->offset;

		assert(f->bit + f->bits <= VB_MAD_LEN * 8);
		if (field_is_number(f)) {
			number_store(member, f->size, bits_get(mad, f->bit, f->bits));
		} else {
			assert(f->bit % 8 == 0 && f->bits == f->size * 8);
			memcpy(member, mad + f->bit / 8, f->size);
		}
	}
}

void vb_mad_fields_write(const struct vb_mad_field *f, size_t cnt, const void *from,
			 uint8_t mad[VB_MAD_LEN])
{
	for (; cnt > 0; cnt--, f++) {
		const uint8_t *member = (const uint8_t *)from + f->offset;

		assert(f->bit + f->bits <= VB_MAD_LEN * 8);
		if (field_is_number(f)) {
			bits_put(mad, f->bit, f->bits, number_load(member, f->size));
		} else {
			assert(f->bit % 8 == 0 && f->bits == f->size * 8);
			memcpy(mad + f->bit / 8, member, f->size);
		}
	}
}

void vb_mad_hdr_parse(struct vb_mad_hdr *h, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(hdr_fields, HDR_FIELDS, mad, h);
}

void vb_mad_hdr_emit(const struct vb_mad_hdr *h, uint8_t mad[VB_MAD_LEN])
{
	memset(mad, 0, VB_MAD_HDR_LEN);
	vb_mad_fields_write(hdr_fields, HDR_FIELDS, h, mad);
}

void vb_mad_tid_put(uint8_t mad[VB_MAD_LEN], uint64_t tid)
{
	const struct vb_mad_hdr h = {.tid = tid};
	const struct vb_mad_field f = HDR(tid, 8, 64);

	vb_mad_fields_write(&f, 1, &h, mad);
}

bool vb_mad_is_response(const struct vb_mad_hdr *h)
{
	return (h->method & VB_MAD_METHOD_RESPONSE) != 0 ||
	       h->method == VB_MAD_METHOD_TRAP_REPRESS ||
	       (h->mgmt_class == CLASS_BM && (h->attr_mod & BM_RESPONSE) != 0);
}
