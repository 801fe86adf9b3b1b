/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opcode table, expanded from opcode.def once per transport. Header lengths are computed here,
 * never written down. IBA 9.2, table 38; facts B.2
 */
#include "wire/opcode.h"

#include "wire/hdr.h"

/* The words of the rows. */
enum {
	DCETH = VB_EXT_DCETH,
	XRCETH = VB_EXT_XRCETH,
	DETH = VB_EXT_DETH,
	FETH = VB_EXT_FETH,
	RETH = VB_EXT_RETH,
	ATOMICETH = VB_EXT_ATOMICETH,
	AETH = VB_EXT_AETH,
	ATOMICACKETH = VB_EXT_ATOMICACKETH,
	IMMDT = VB_EXT_IMMDT,
	IETH = VB_EXT_IETH,
	CNP = VB_EXT_CNP,
};

enum {
	REQUEST = VB_OP_REQUEST,
	RESPONSE = VB_OP_RESPONSE,
	FIRST = VB_OP_FIRST,
	LAST = VB_OP_LAST,
	PAYLOAD = VB_OP_PAYLOAD,
	RECV_WQE = VB_OP_RECV_WQE,
	SEND = VB_OP_SEND,
	WRITE = VB_OP_WRITE,
	READ = VB_OP_READ,
	ATOMIC = VB_OP_ATOMIC,
};

#define BIT_LEN(ext, bit, len) ((ext) & (bit) ? (len) : 0)
#define HDR_LEN(ext)                                                                               \
	(VB_BTH_LEN + BIT_LEN(ext, XRCETH, 4) + BIT_LEN(ext, DETH, 8) + BIT_LEN(ext, FETH, 4) +    \
	 BIT_LEN(ext, RETH, 16) + BIT_LEN(ext, ATOMICETH, 28) + BIT_LEN(ext, AETH, 4) +            \
	 BIT_LEN(ext, ATOMICACKETH, 8) + BIT_LEN(ext, IMMDT, 4) + BIT_LEN(ext, IETH, 4) +          \
	 BIT_LEN(ext, CNP, 16) + BIT_LEN(ext, DCETH, 8))

#define OPCODE(transport, op) (VB_TRANSPORT_##transport | VB_OP_##op)
#define ROW(transport, op, ext, flags)                                                             \
	[OPCODE(transport, op)] = {#transport "_" #op, (ext), (flags), HDR_LEN(ext)},

/* A column: Y keeps the row, _ drops it. */
#define Y(...) __VA_ARGS__
#define _(...)

const struct vb_opcode_info vb_opcode[256] = {
#define OPERATION(op, rc, uc, ud, xrc, ext, flags) rc(ROW(RC, op, (ext), flags))
#include "wire/opcode.def"
#undef OPERATION

#define OPERATION(op, rc, uc, ud, xrc, ext, flags) uc(ROW(UC, op, (ext), flags))
#include "wire/opcode.def"
#undef OPERATION

#define OPERATION(op, rc, uc, ud, xrc, ext, flags) ud(ROW(UD, op, (ext) | DETH, flags))
#include "wire/opcode.def"
#undef OPERATION

#define OPERATION(op, rc, uc, ud, xrc, ext, flags)                                                 \
	xrc(ROW(XRC, op, (ext) | ((flags)&REQUEST ? XRCETH : 0), flags))
#include "wire/opcode.def"
#undef OPERATION

/* DC has the operations of XRC. */
#define OPERATION(op, rc, uc, ud, xrc, ext, flags) xrc(ROW(DC, op, (ext) | DCETH, flags))
#include "wire/opcode.def"
#undef OPERATION

    [VB_OPCODE_DC_CONNECT] = {"DC_CONNECT", DCETH, REQUEST | FIRST | LAST, HDR_LEN(DCETH)},
    [VB_OPCODE_CNP_IB] = {"CNP_IB", 0, 0, HDR_LEN(0)},
    [VB_OPCODE_CNP] = {"CNP", CNP, 0, HDR_LEN(CNP)},
};
