/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An algorithm of congestion control (verbena/cc.h) at one QP: it is told what happens, and what it
 * answers becomes a bound on the packets in flight and an account in time that a packet has to be
 * paid from. Here are also the times of packets that are under way, by which the round-trip time is
 * known, and what a responder returns in ACKs. It knows PSNs and no queue; core/cc/point.c is where
 * it meets a QP.
 */
#ifndef VB_CORE_CONTROL_CONTROL_H
#define VB_CORE_CONTROL_CONTROL_H

#include "base/psn.h"
#include "base/telemetry.h"
#include "core/control/choice.h"

/* Packets whose times are remembered, by PSN; a power of two. An ACK of an older one brings no
 * round-trip time. */
#define VB_CONTROL_STAMPS 1024u

/* Where a window has no limit: more packets than a requester has in flight. */
#define VB_CONTROL_PACKETS_MAX (1u << 23)

#define VB_CONTROL_RATE_MIN UINT64_C(1000000)
#define VB_CONTROL_TIMER_MIN VB_USEC

struct vb_control {
	const struct vb_cc_choice *choice; /* the port's */
	struct verbena_cc_control out;     /* as the algorithm knows it */

	/* In force. */
	uint64_t rate;   /* bit/s; 0: no limit */
	uint32_t window; /* packets; 1 at least */
	uint32_t every;  /* packets from one that asks for an ACK to the next; 0: no matter */
	uint32_t packet_bytes;

	/* The account: the next packet may leave at next + rest / rate. */
	vb_time next;
	uint64_t rest;
	uint64_t burst_left; /* bytes of a burst that has begun */

	uint64_t sent, acked; /* packets since the beginning, once each */
	struct vb_psn high;   /* one past the newest that has left */

	/* The answer that is being handled. */
	struct {
		bool is_new, marked;
		struct vb_psn psn;
		struct vb_telemetry telemetry;
	} heard;

	/* Of a responder: what the next ACK returns. */
	bool mark_due;
	struct vb_telemetry due, returned;

	/* The low 24 bits are the PSN, and the rest the time, in ns, modulo 2^40; 0: none. */
	uint64_t stamp[VB_CONTROL_STAMPS];
	_Alignas(16) unsigned char state[];
};

static inline size_t vb_control_size(const struct vb_cc_choice *c)
{
	return sizeof(struct vb_control) + c->algorithm->state_bytes;
}

/* A flow begins, of whose packets [@una, @max) are in flight; @c is memory of vb_control_size(),
 * and the choice stays. */
void vb_control_begin(struct vb_control *c, const struct vb_cc_choice *choice, uint32_t mtu,
		      struct vb_psn una, struct vb_psn max, vb_time now);

/* The request packet @psn, which takes @psns PSNs (0: none, it is one of the transport's own),
 * leaves; @bytes: it and its answers, from BTH through ICRC. */
void vb_control_sent(struct vb_control *c, struct vb_psn psn, uint32_t psns, uint64_t bytes,
		     vb_time now);

/* An answer has come: its PSN, whether it says that packets were marked, and what the network has
 * said of itself (or NULL). */
void vb_control_hear(struct vb_control *c, struct vb_psn psn, bool marked,
		     const struct vb_telemetry *telemetry);
/* ... it acknowledges @cnt PSNs. */
void vb_control_acked(struct vb_control *c, uint32_t cnt, vb_time now);

void vb_control_cnp(struct vb_control *c, vb_time now);
void vb_control_nak(struct vb_control *c, vb_time now);
void vb_control_timeout(struct vb_control *c, vb_time now);

/* Calls the algorithm's timer if that is due. When to do so next, or VB_NEVER. */
vb_time vb_control_tick(struct vb_control *c, vb_time now);

/* When the next packet may leave: at most @now, if it may now; else when to look again. */
vb_time vb_control_send_at(const struct vb_control *c, vb_time now);
/* Whether @bytes take longer than @span. */
bool vb_control_exceeds(const struct vb_control *c, uint64_t bytes, vb_dur span);

/* Responder: a packet of data has come. */
void vb_control_take_data(struct vb_control *c, bool marked, const struct vb_telemetry *telemetry);
/* ... an ACK leaves: whether it says that packets were marked, and its telemetry or NULL, which
 * stays until the next ACK. */
bool vb_control_return_mark(struct vb_control *c);
const struct vb_telemetry *vb_control_return_telemetry(struct vb_control *c);

#endif
