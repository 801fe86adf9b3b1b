/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps that a packet sequence is drawn of: packets from one end of a connection to the other,
 * and what happened at an end. The simulator (cmd/sim/watch.h) and captures (traffic/traffic.h)
 * make them, the page (cmd/page/page.h) shows them.
 */
#ifndef VB_EXPORT_STEP_H
#define VB_EXPORT_STEP_H

#include "base/time.h"

enum vb_step_kind {
	VB_STEP_PACKET,
	VB_STEP_TIMER,   /* a: PSN, b: retries left, or VB_STEP_UNKNOWN; then c: ran so long, us */
	VB_STEP_REWOUND, /* a: from PSN, b: to PSN, c: enum vb_rewind_why */
	VB_STEP_COMPLETION, /* a: enum vb_wc_status, b: enum vb_wc_opcode, c: bytes */
	VB_STEP_GAVE_UP,    /* a: cause */
};
#define VB_STEP_UNKNOWN UINT32_MAX

enum vb_step_flag {
	VB_STEP_RESENT = 1,
	VB_STEP_CE = 2,
	VB_STEP_CORRUPT = 4,
	VB_STEP_LOST = 8,
	VB_STEP_END_UNSEEN = 16,   /* whether and when it arrived is not known; end is at */
	VB_STEP_START_UNSEEN = 32, /* when it left is not known; at is end */
};

#define VB_STEP_REQUESTS 0xff /* an opcode that nobody has: requests from a PSN on */

/* A packet from end to end, or something that happened at one. */
struct vb_step {
	vb_time at, end;     /* end: arrived or lost; VB_NEVER: neither was seen */
	uint32_t connection; /* UINT32_MAX: of none */
	uint32_t a, b, c;    /* PACKET: PSN, payload bytes, MSN; of a MAD traffic/mad_kind.h */
	uint16_t faults;     /* bit (1 << enum vb_fault_kind) */
	uint8_t kind, side;  /* of the connection, which it left or where it happened */
	uint8_t opcode, syndrome, flags;
	uint8_t drop; /* 1 + why a switch dropped it */
};

/* The two ends of a connection: hosts as the page counts them, and QPNs; 0: not known. */
struct vb_step_ends {
	uint32_t host[2], qpn[2];
};

#endif
