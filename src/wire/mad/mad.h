/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Management datagrams: the header that all classes share, and tables of fields for what follows
 * it.
 *
 * A class describes each of its messages by a struct of host-order values and a table that says
 * where in the MAD each member stands; vb_mad_fields_read() and vb_mad_fields_write() do the rest,
 * so that no other code knows a byte's place. IBA 13.4.3; items MAD-nn, CMP-nn
 */
#ifndef VB_WIRE_MAD_H
#define VB_WIRE_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_MAD_LEN 256    /* bytes of every MAD */
#define VB_MAD_HDR_LEN 24 /* bytes of the header that all classes share */

#define VB_MAD_QKEY 0x80010000u /* of every QP 1. IBT-19 */
#define VB_MAD_BASE_VERSION 1
#define VB_MAD_METHOD_GET 0x01
#define VB_MAD_METHOD_SET 0x02
#define VB_MAD_METHOD_SEND 0x03
#define VB_MAD_METHOD_TRAP 0x05
#define VB_MAD_METHOD_TRAP_REPRESS 0x07
#define VB_MAD_METHOD_RESPONSE 0x80 /* bit of every response */
#define VB_MAD_METHOD_GET_RESP 0x81
#define VB_MAD_CLASS_CM 0x07
#define VB_MAD_CLASS_PORT_INFO 0x0001 /* the attribute that each class has */

/* Statuses of a response. IBA 13.4.7, table 113 */
#define VB_MAD_STATUS_BUSY 0x0001        /* not now */
#define VB_MAD_STATUS_UNSUPPORTED 0x000c /* this attribute with this method, or this class */

/* The common header. IBA 13.4.3, figure 144 */
struct vb_mad_hdr {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method; /* bit 7: a response */
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid; /* transaction ID */
	uint16_t attr_id;
	uint32_t attr_mod;
};

/*
 * Where one member of a message's struct stands in its MAD. A member of 1, 2, 4 or 8 bytes is a
 * number of @bits bits; a longer one is copied as it is and begins at a whole byte.
 */
struct vb_mad_field {
	uint16_t offset; /* of the member in its struct, bytes */
	uint16_t size;   /* of the member, bytes */
	uint16_t bit;    /* of the MAD at which the field begins; bit 0 is the highest of byte 0 */
	uint16_t bits;   /* of the field */
};

/* A row of such a table: @member of @type is @bits bits from bit @bit_ of byte @byte_ on. */
#define VB_MAD_FIELD(type, member, byte_, bit_, bits_)                                             \
	{                                                                                          \
		.offset = offsetof(type, member), .size = sizeof(((type *)0)->member),             \
		.bit = (byte_)*8 + (bit_), .bits = (bits_)                                         \
	}

void vb_mad_hdr_parse(struct vb_mad_hdr *h, const uint8_t mad[VB_MAD_LEN]);
/* Writes the whole header; the reserved bytes become 0. */
void vb_mad_hdr_emit(const struct vb_mad_hdr *h, uint8_t mad[VB_MAD_LEN]);

/* Changes the transaction ID alone. */
void vb_mad_tid_put(uint8_t mad[VB_MAD_LEN], uint64_t tid);
/* Whether the MAD answers another one: it belongs to whoever sent that. MAD-09 */
bool vb_mad_is_response(const struct vb_mad_hdr *h);

/* Fills the members of @to that the @cnt rows at @f name from @mad. */
void vb_mad_fields_read(const struct vb_mad_field *f, size_t cnt, const uint8_t mad[VB_MAD_LEN],
			void *to);
/* Writes them to @mad, and no bit beside them. A number that needs more bits loses its high ones.
 */
void vb_mad_fields_write(const struct vb_mad_field *f, size_t cnt, const void *from,
			 uint8_t mad[VB_MAD_LEN]);

/* Defines the two functions of an attribute by its table. Members that the table lacks do not
 * exist.
 */
#define VB_MAD_ATTRIBUTE(type, prefix, table)                                                      \
	void prefix##_parse(struct type *to, const uint8_t mad[VB_MAD_LEN])                        \
	{                                                                                          \
		vb_mad_fields_read((table), sizeof(table) / sizeof(table)[0], mad, to);            \
	}                                                                                          \
	void prefix##_emit(const struct type *from, uint8_t mad[VB_MAD_LEN])                       \
	{                                                                                          \
		vb_mad_fields_write((table), sizeof(table) / sizeof(table)[0], from, mad);         \
	}

#endif
