/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTH and extension headers: the parsed form, and the only functions that know their bytes.
 *
 * After vb_hdr_parse() has accepted a packet no length computation on it can underflow, and nothing
 * reads its header bytes again. IBA 9.2 (BTH), 9.3 (extension headers); facts B.2
 */
#ifndef VB_WIRE_HDR_H
#define VB_WIRE_HDR_H

#include "base/psn.h"
#include "wire/opcode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_BTH_LEN 12
#define VB_HDR_MAX 64 /* at least BTH and the longest legal chain of extension headers */
#define VB_ICRC_LEN 4
#define VB_DCCETH_LEN 16
#define VB_PAD_MAX 3
#define VB_QPN_GSI 1     /* of each port, the only number that QPs share. IBT-19, 99 */
#define VB_REPORT_MAX 44 /* bytes behind the AETH of an ACK with the selective bit */

/* AETH syndrome, IBA 9.7.5.1.1; facts B.6. Class in bits 6:5, value in bits 4:0. */
#define VB_SYNDROME_CLASS 0xe0
#define VB_SYNDROME_VALUE 0x1f
#define VB_SYNDROME_ACK 0x00
#define VB_SYNDROME_RNR 0x20
#define VB_SYNDROME_NAK 0x60
#define VB_CREDIT_UNLIMITED 0x1f /* credit code "no end-to-end credits" */

enum vb_nak {
	VB_NAK_PSN_SEQ = 0x60,
	VB_NAK_INVALID_REQUEST = 0x61,
	VB_NAK_REMOTE_ACCESS = 0x62,
	VB_NAK_REMOTE_OP = 0x63,
	VB_NAK_INVALID_RD = 0x64,
};

/*
 * The fate of a packet. The value is the counter's index and the trace field as well; the rows
 * (name and meaning) are in verdict.def.
 */
enum vb_verdict {
#define VERDICT(name, text) VB_VERDICT_##name,
#include "wire/verdict.def"
#undef VERDICT
	VB_VERDICT_CNT
};

const char *vb_verdict_name(enum vb_verdict v);

/* Parsed, host-order headers. Fields of headers that the opcode lacks are 0. */
struct vb_hdr {
	uint8_t opcode;
	uint8_t pad; /* pad bytes behind the payload, 0...3 */
	bool solicited, migrated, ack_req, fecn, becn;
	bool selective; /* a reserved bit of byte 8; what for: core/selective/selective.h */
	uint16_t pkey;
	uint32_t dqpn; /* 24 bits */
	struct vb_psn psn;
	uint32_t xrc_srqn; /* XRCETH */
	struct {
		uint8_t channel;     /* DCETH: of the initiator, at which its connection ends */
		uint32_t sqpn;       /* DCETH: of the sender, 24 bits */
		uint32_t connection; /* DCETH: which of the initiator's */
		/* DCCETH, behind it in a DC_CONNECT that does not disconnect: */
		bool full;           /* the initiator waits for an answer */
		uint32_t qpn;        /* the initiator, 24 bits */
		struct vb_psn first; /* PSN of the first request */
		uint64_t key;
	} dc;
	struct {
		uint32_t qkey, sqpn;
	} deth;
	uint32_t flush; /* FETH: SEL in bits 5:4, PLT in bits 3:0 */
	struct {
		uint64_t va;
		uint32_t rkey, len;
	} reth;
	struct {
		uint64_t va, swap_add, compare;
		uint32_t rkey;
	} atomic;
	struct {
		uint8_t syndrome;
		uint32_t msn; /* 24 bits */
	} aeth;
	uint64_t atomic_orig; /* AtomicAckETH */
	uint32_t imm;         /* ImmDt as it stands on the wire: never byte-swapped */
	uint32_t inv_rkey;    /* IETH */
};

/*
 * Reads the headers at @buf, of which @avail bytes are there; @len counts BTH to the end of the
 * padded payload (no ICRC) and may exceed @avail only when the payload is absent (simulation).
 * Checks everything that needs no QP: length, opcode, transport version, pad count.
 *
 * Returns VB_VERDICT_OK, and then hdr_len + pad <= len holds; or the reason for the drop, and then
 * *h is unspecified but for opcode and dqpn if len allowed to read them.
 */
enum vb_verdict vb_hdr_parse(struct vb_hdr *h, const uint8_t *buf, size_t avail, size_t len);

/* The destination QPN alone, of the VB_BTH_LEN bytes at @bth. */
uint32_t vb_hdr_dqpn(const uint8_t *bth);

/* The length of BTH and extension headers, of a known opcode, of the packet that begins with the
 * VB_BTH_LEN bytes at @bth. */
uint32_t vb_hdr_len(const uint8_t *bth);

/* Writes @h at @buf, which has VB_HDR_MAX bytes. The opcode must be a known one. Returns the
 * length. */
size_t vb_hdr_emit(const struct vb_hdr *h, uint8_t *buf);

static inline const struct vb_opcode_info *vb_hdr_opcode(const struct vb_hdr *h)
{
	return &vb_opcode[h->opcode];
}

#endif
