/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTH opcodes as one table: what each opcode is called, which extension headers follow the BTH
 * and what the packet means to a message. Every check of "does this packet start a message", "has
 * it a payload", "how long are its headers" is a lookup here. The rows are in opcode.def. IBA 9.2,
 * table 38; facts B.2
 */
#ifndef VB_WIRE_OPCODE_H
#define VB_WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* Extension headers, in the order in which they stand on the wire. */
enum vb_ext {
	VB_EXT_XRCETH = 1u << 0,
	VB_EXT_DETH = 1u << 1,
	VB_EXT_FETH = 1u << 2,
	VB_EXT_RETH = 1u << 3,
	VB_EXT_ATOMICETH = 1u << 4,
	VB_EXT_AETH = 1u << 5,
	VB_EXT_ATOMICACKETH = 1u << 6,
	VB_EXT_IMMDT = 1u << 7,
	VB_EXT_IETH = 1u << 8,
	VB_EXT_DCETH = 1u << 10, /* directly behind the BTH */
	VB_EXT_CNP = 1u << 9,    /* the 16 reserved bytes of a CNP, IBA A17.9.3 */
};

enum vb_op_flag {
	VB_OP_REQUEST = 1u << 0,
	VB_OP_RESPONSE = 1u << 1,
	VB_OP_FIRST = 1u << 2,    /* starts a message */
	VB_OP_LAST = 1u << 3,     /* ends a message; FIRST|LAST is an "Only" packet */
	VB_OP_PAYLOAD = 1u << 4,  /* may carry a payload */
	VB_OP_RECV_WQE = 1u << 5, /* completes a receive WQE */
	VB_OP_SEND = 1u << 6,
	VB_OP_WRITE = 1u << 7,
	VB_OP_READ = 1u << 8,
	VB_OP_ATOMIC = 1u << 9,
};

/* The transport: bits 7:5 of the opcode. */
enum vb_transport {
	VB_TRANSPORT_RC = 0x00,
	VB_TRANSPORT_UC = 0x20,
	VB_TRANSPORT_DC = 0x40, /* the standard's RD, which nobody has */
	VB_TRANSPORT_UD = 0x60,
	VB_TRANSPORT_CNP = 0x80,
	VB_TRANSPORT_XRC = 0xa0,
	VB_TRANSPORT_MASK = 0xe0,
};

/* The operation: bits 4:0 of the opcode, the same for every transport that has it. */
enum vb_op {
	VB_OP_SEND_FIRST = 0x00,
	VB_OP_SEND_MIDDLE = 0x01,
	VB_OP_SEND_LAST = 0x02,
	VB_OP_SEND_LAST_IMM = 0x03,
	VB_OP_SEND_ONLY = 0x04,
	VB_OP_SEND_ONLY_IMM = 0x05,
	VB_OP_WRITE_FIRST = 0x06,
	VB_OP_WRITE_MIDDLE = 0x07,
	VB_OP_WRITE_LAST = 0x08,
	VB_OP_WRITE_LAST_IMM = 0x09,
	VB_OP_WRITE_ONLY = 0x0a,
	VB_OP_WRITE_ONLY_IMM = 0x0b,
	VB_OP_READ_REQUEST = 0x0c,
	VB_OP_READ_RESP_FIRST = 0x0d,
	VB_OP_READ_RESP_MIDDLE = 0x0e,
	VB_OP_READ_RESP_LAST = 0x0f,
	VB_OP_READ_RESP_ONLY = 0x10,
	VB_OP_ACK = 0x11,
	VB_OP_ATOMIC_ACK = 0x12,
	VB_OP_COMPARE_SWAP = 0x13,
	VB_OP_FETCH_ADD = 0x14,
	VB_OP_SEND_LAST_INV = 0x16,
	VB_OP_SEND_ONLY_INV = 0x17,
	VB_OP_FLUSH = 0x1c,
	VB_OP_ATOMIC_WRITE = 0x1d,
	VB_OP_MASK = 0x1f,
};

#define VB_OPCODE_CNP_IB 0x80     /* of InfiniBand: the BTH alone. IBA A10.3.2 */
#define VB_OPCODE_CNP 0x81        /* of RoCE. IBA A17.9.3 */
#define VB_OPCODE_DC_CONNECT 0x55 /* with SE: disconnect. facts B.8 */

/* A notification of congestion, of either link. */
static inline bool vb_opcode_is_cnp(uint8_t opcode)
{
	return (opcode | 1) == VB_OPCODE_CNP;
}

/* One row per opcode. */
struct vb_opcode_info {
	const char *name; /* "RC_WRITE_FIRST"; NULL: no such opcode */
	uint16_t ext;     /* set of enum vb_ext */
	uint16_t flags;   /* set of enum vb_op_flag */
	uint8_t hdr_len;  /* BTH and extension headers, bytes; derived from ext */
};

extern const struct vb_opcode_info vb_opcode[256];

#endif
