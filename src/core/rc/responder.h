/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a responder, see resp.c and resp_read.c. IBA 9.7.4 */
#ifndef VB_CORE_RC_RESPONDER_H
#define VB_CORE_RC_RESPONDER_H

#include "base/psn.h"
#include "base/time.h"
#include "core/obj/rq.h"

/* Response packets to send: [start, end), nxt is the next. */
struct vb_run {
	struct vb_psn start, nxt, end;
};

/* A READ, atomic, ATOMIC WRITE or FLUSH that the responder answers, and may have to answer again.
 * IBA 9.7.5.1.3 */
struct vb_resource {
	struct vb_psn first; /* of the request */
	uint32_t pkts;       /* response packets */
	struct vb_run run;   /* the response under way */
	uint64_t va;
	uint64_t orig;                     /* atomic: the value that was there */
	uint32_t rkey, len, msn, srqn;     /* srqn, of XRC: whose PD the key is of */
	vb_time repeats_paid;              /* when its repetitions are paid for; resp_read.c */
	bool is_atomic, is_write, pending; /* neither of the first two: a READ */
	bool answered; /* to the end, at least once: what is pending is a repetition */
};

enum vb_msg_kind { VB_MSG_NONE, VB_MSG_SEND, VB_MSG_WRITE };

struct vb_responder {
	struct vb_psn epsn;
	uint32_t msn;
	enum vb_msg_kind msg; /* message under way */
	bool skip;            /* UC: drop until the next message starts */
	bool nak_sent;        /* no more NAKs until ePSN arrives */
	bool ack_due;
	bool nak_due;
	bool rwqe_held;
	bool credit_zero; /* the last AETH told the peer that it has no credits */
	uint8_t nak_syndrome;
	uint32_t res_pending;
	struct vb_psn ack_psn; /* newest that wants the ACK */
	struct vb_psn dropped; /* newest that came before its turn, since the last NAK was due */
	uint64_t va;           /* WRITE: where the next payload goes */
	uint64_t left;         /* WRITE: bytes to come */
	uint32_t rkey;
	uint32_t srqn; /* XRC: of the newest request */
	uint64_t rcvd; /* bytes of the message so far */
	struct vb_rwqe *rwqe;
	struct vb_resource *res; /* ring of attr.max_dest_rd_atomic; the next goes to res_tail */
	uint32_t res_cap, res_tail, res_cnt; /* res_pending of them are yet to be answered */
};

#endif
