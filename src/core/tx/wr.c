/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of work requests, made of core/wr_opcode.def, where the names are short. */
#include "core/tx/wr.h"

#include "wire/opcode.h"

enum { VB_OP_NONE = 0 };

enum traits {
	LOCAL = VB_WORK_LOCAL,
	ANSWERED = VB_WORK_ANSWERED,
	FILLS_SGES = VB_WORK_FILLS_SGES,
	IN_PIECES = VB_WORK_IN_PIECES,
	ATOMIC = VB_WORK_ATOMIC,
	TAKES_RECV = VB_WORK_TAKES_RECV,
	INLINE = VB_WORK_INLINE,
	INVALIDATES = VB_WORK_INVALIDATES,
	NO_SGES = VB_WORK_NO_SGES,
	OF_8_BYTES = VB_WORK_OF_8_BYTES,
	FETCHED = VB_WORK_FETCHED,
};

enum transports {
	RC = VB_WORK_ON_RC,
	UC = VB_WORK_ON_UC,
	UD = VB_WORK_ON_UD,
	GSI = VB_WORK_ON_GSI,
	DC = VB_WORK_ON_DC,
};

const struct vb_work vb_work[VB_WR_CNT] = {
#define WORK_REQUEST(name, number, wc, on_, traits_, first_, middle_, last_, only_, text)          \
	[number] = {.first = VB_OP_##first_,                                                       \
		    .middle = VB_OP_##middle_,                                                     \
		    .last = VB_OP_##last_,                                                         \
		    .only = VB_OP_##only_,                                                         \
		    .completion = VB_WC_##wc,                                                      \
		    .on = (on_),                                                                   \
		    .traits = (traits_)},
#include "core/wr_opcode.def"
#undef WORK_REQUEST
};
