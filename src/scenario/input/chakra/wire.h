/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire format of protobuf: fields of a message, one after the other. It needs no memory. */
#ifndef VB_SCENARIO_INPUT_CHAKRA_WIRE_H
#define VB_SCENARIO_INPUT_CHAKRA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vb_wire_kind { VB_WIRE_VARINT = 0, VB_WIRE_64 = 1, VB_WIRE_BYTES = 2, VB_WIRE_32 = 5 };

struct vb_wire {
	const uint8_t *at, *end;
	const char *wrong; /* NULL: nothing so far; else at is where it is */
};

struct vb_wire_field {
	uint32_t number;
	enum vb_wire_kind kind;
	uint64_t value;       /* VARINT, 64, 32 */
	struct vb_wire bytes; /* BYTES */
};

/* A varint of up to 64 bits. */
bool vb_wire_varint(struct vb_wire *w, uint64_t *v);
/* A length, and so many bytes. */
bool vb_wire_bytes(struct vb_wire *w, struct vb_wire *bytes);
/* The next field. False: it is the end, or w->wrong says what it is. */
bool vb_wire_next(struct vb_wire *w, struct vb_wire_field *f);

#endif
