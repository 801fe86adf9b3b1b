/* SPDX-License-Identifier: BSD-2-Clause */
/* The traits of a send work request, by its opcode: a row of core/wr_opcode.def. IBA 11.4.1.1 */
#ifndef VB_CORE_TX_WR_H
#define VB_CORE_TX_WR_H

#include "core/types.h"

enum vb_work_trait {
	VB_WORK_LOCAL = 1 << 0,       /* done at the requester: no packet leaves */
	VB_WORK_ANSWERED = 1 << 1,    /* a response of its own answers it, not an ACK */
	VB_WORK_FILLS_SGES = 1 << 2,  /* ... and goes into the SGEs */
	VB_WORK_IN_PIECES = 1 << 3,   /* ... and may be asked for piece by piece */
	VB_WORK_ATOMIC = 1 << 4,      /* an ATOMIC ACK answers it */
	VB_WORK_TAKES_RECV = 1 << 5,  /* takes a receive WQE at the peer */
	VB_WORK_INLINE = 1 << 6,      /* its data may be inline */
	VB_WORK_INVALIDATES = 1 << 7, /* names an R_Key to invalidate */
	VB_WORK_NO_SGES = 1 << 8,     /* has no data at all */
	VB_WORK_OF_8_BYTES = 1 << 9,  /* its SGEs are 8 bytes, no more and no less */
	VB_WORK_FETCHED = 1 << 10,    /* its value is fetched when it is posted */
};

/* The transports that take it; XRC takes what RC takes. */
enum vb_work_on {
	VB_WORK_ON_RC = 1 << 0,
	VB_WORK_ON_UC = 1 << 1,
	VB_WORK_ON_UD = 1 << 2,
	VB_WORK_ON_GSI = 1 << 3,
	VB_WORK_ON_DC = 1 << 4,
};

struct vb_work {
	uint8_t first, middle, last, only; /* enum vb_opcode without the transport */
	uint8_t completion;                /* enum vb_wc_opcode */
	uint8_t on;                        /* set of enum vb_work_on */
	uint16_t traits;                   /* set of enum vb_work_trait */
};

/* By enum vb_wr_opcode; a number without a work request is on no transport. */
extern const struct vb_work vb_work[VB_WR_CNT];

#endif
