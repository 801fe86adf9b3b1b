/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a responder, see resp.c and resp_read.c. IBA 9.7.4 */
#ifndef VB_CORE_RC_RESPONDER_H
#define VB_CORE_RC_RESPONDER_H

#include "base/assert.h"
#include "base/psn.h"
#include "base/time.h"
#include "core/obj/rq.h"

/* Response packets to send: [start, end), nxt is the next. */
struct vb_run {
	struct vb_psn start, nxt, end;
};

enum vb_resource_kind {
	VB_RESOURCE_READ,
	VB_RESOURCE_ATOMIC,
	VB_RESOURCE_WRITE, /* an ATOMIC WRITE or FLUSH: the answer is an empty READ response */
	VB_RESOURCE_KINDS
};

enum vb_resource_state {
	VB_RESOURCE_IDLE,      /* nothing is to be sent, and the answer was never sent whole */
	VB_RESOURCE_ANSWERING, /* the answer, or the rest of it, is to be sent */
	VB_RESOURCE_ANSWERED,  /* it was sent whole */
	VB_RESOURCE_REPEATING  /* ... and is to be sent again */
};

/* A READ, atomic, ATOMIC WRITE or FLUSH that the responder answers, and may have to answer again.
 * IBA 9.7.5.1.3 */
struct vb_resource {
	struct vb_psn first; /* of the request */
	uint32_t pkts;       /* response packets */
	struct vb_run run;   /* the response under way */
	uint64_t va;
	uint64_t orig;                 /* atomic: the value that was there */
	uint32_t rkey, len, msn, srqn; /* srqn, of XRC: whose PD the key is of */
	vb_time repeats_paid;          /* when its repetitions are paid for; resp_read.c */
	enum vb_resource_kind kind;
	enum vb_resource_state state;
};

/* The message under way. VB_MSG_DROPPED, of UC: none, and packets are dropped up to the next first
 * one. */
enum vb_msg_kind { VB_MSG_NONE, VB_MSG_SEND, VB_MSG_WRITE, VB_MSG_DROPPED };

/* How a responder stands to the order of the packets: docs/states.md has the diagram. */
enum vb_resp_state {
	VB_RESP_IN_ORDER, /* expects ePSN, and owes no NAK */
	VB_RESP_REPORTS,  /* selective repeat: owes a NAK that lists the gaps; goes on receiving */
	VB_RESP_REFUSES,  /* owes a NAK or RNR NAK, and drops everything but ePSN */
	VB_RESP_SILENT,   /* has said it, and drops everything but ePSN. IBA 9.7.4.2 */
	VB_RESP_FAILS,    /* the QP has ended, or ends now; owes its last NAK */
	VB_RESP_ENDED,    /* has said it */
	VB_RESP_STATES
};

struct vb_responder {
	struct vb_psn epsn;
	uint32_t msn;
	enum vb_resp_state state;
	enum vb_msg_kind msg;
	/* Three facts that do not depend on each other, nor on the state. */
	bool ack_due;     /* an ACK of ack_psn is owed */
	bool rwqe_held;   /* rwqe is a receive WQE that is not completed */
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

/* Whether the responder may go from @from to @to. */
static inline bool vb_resp_may_enter(enum vb_resp_state from, enum vb_resp_state to)
{
#define TO(state) (1u << VB_RESP_##state)
	static const uint8_t next[VB_RESP_STATES] = {
	    [VB_RESP_IN_ORDER] = TO(IN_ORDER) | TO(REPORTS) | TO(REFUSES) | TO(FAILS),
	    [VB_RESP_REPORTS] = TO(IN_ORDER) | TO(REPORTS) | TO(REFUSES) | TO(FAILS),
	    [VB_RESP_REFUSES] = TO(IN_ORDER) | TO(SILENT) | TO(FAILS),
	    [VB_RESP_SILENT] = TO(IN_ORDER) | TO(FAILS),
	    [VB_RESP_FAILS] = TO(FAILS) | TO(ENDED),
	    [VB_RESP_ENDED] = TO(FAILS),
	};
#undef TO
	return next[from] >> to & 1;
}

static inline void vb_resp_enter(struct vb_responder *resp, enum vb_resp_state to)
{
	VB_ASSERT(vb_resp_may_enter(resp->state, to));
	resp->state = to;
}

/* The QP owes a NAK with @syndrome. */
static inline void vb_resp_owe_nak(struct vb_responder *resp, enum vb_resp_state to,
				   uint8_t syndrome)
{
	vb_resp_enter(resp, to);
	resp->nak_syndrome = syndrome;
}

static inline bool vb_resp_owes_nak(const struct vb_responder *resp)
{
	return resp->state == VB_RESP_REPORTS || resp->state == VB_RESP_REFUSES ||
	       resp->state == VB_RESP_FAILS;
}

/* Packets after ePSN draw no NAK: they have drawn it. */
static inline bool vb_resp_is_silent(const struct vb_responder *resp)
{
	return resp->state == VB_RESP_REFUSES || resp->state == VB_RESP_SILENT;
}

/* The NAK that is owed, if any, has left, or is not to leave any more. */
static inline void vb_resp_nak_done(struct vb_responder *resp)
{
	if (resp->state == VB_RESP_REPORTS)
		vb_resp_enter(resp, VB_RESP_IN_ORDER);
	else if (resp->state == VB_RESP_REFUSES)
		vb_resp_enter(resp, VB_RESP_SILENT);
	else if (resp->state == VB_RESP_FAILS)
		vb_resp_enter(resp, VB_RESP_ENDED);
}

/* Whether a packet of the answer of @r is to be sent. */
static inline bool vb_resource_is_pending(const struct vb_resource *r)
{
	return r->state == VB_RESOURCE_ANSWERING || r->state == VB_RESOURCE_REPEATING;
}

#endif
