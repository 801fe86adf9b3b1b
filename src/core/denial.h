/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which check a request of the peer did not pass, and by how much: the NAK tells neither. Found
 * out after the refusal, from the request, so that requests that pass pay nothing. It travels
 * as the REFUSED event (trace/events.def); explain/text/denial.h has the words. IBA 9.7.4.1, 9.9.3
 */
#ifndef VB_CORE_DENIAL_H
#define VB_CORE_DENIAL_H

#include "trace/trace.h"
#include "wire/hdr.h"

struct vb_qp;
struct vb_rx;

/* The checks, see denial.def; VB_DENIAL_NONE: none is known. */
enum vb_denial_check {
	VB_DENIAL_NONE,
#define DENIAL(name, word, text, advice) VB_DENIAL_##name,
#include "core/denial.def"
#undef DENIAL
	VB_DENIAL_CNT
};

struct vb_denial {
	enum vb_denial_check check;
	uint8_t opcode;  /* of the BTH of the request */
	bool is_fatal;   /* the QP is in the error state since; else the message was dropped (UC) */
	bool is_local;   /* it is about the receive's buffer: key is an L_Key */
	uint16_t access; /* RIGHT, QP_RIGHT: the missing rights, of enum vb_access */
	uint32_t key;
	uint32_t len; /* bytes that were to be reached; 0: the request names none */
	uint64_t va;  /* where they begin; RECV_SHORT, PACKET_*: how many there may be */
	uint64_t by;  /* the bytes or the number that the text speaks of */
};

/* The denial of a request of @qp that got @why. Nothing has changed since it was refused. */
struct vb_denial vb_denial_find(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				enum vb_verdict why);
/* Emits @d as an event of @qp. */
void vb_denial_trace(struct vb_qp *qp, const struct vb_denial *d, vb_time now);
/* The denial that a REFUSED event, perhaps another program's, tells of. */
struct vb_denial vb_denial_read(const struct vb_trace_event *ev);

#endif
