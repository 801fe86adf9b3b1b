/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers what adapters of other hosts ask this one (wire/mad/vendor.h), from the memory of the
 * slots: so the answer is there when a program is stopped or has ended. It says how a QP stands to
 * the QP that this one is connected to, and to nobody else; what the adapter is, to everybody.
 * Answers are as long as questions, and so many in a second.
 */
#ifndef VB_NODE_GSI_AGENT_H
#define VB_NODE_GSI_AGENT_H

#include "node/store/slots.h"
#include "wire/mad/mad.h"
#include "wire/path.h"

#include <stdbool.h>

#define VB_AGENT_SOURCES 64

/* Answers that may still be given: VB_AGENT_BURST at once, then VB_AGENT_RATE a second. */
struct vb_agent_source {
	struct vb_gid gid; /* who asks */
	vb_time due;       /* until then the answers so far count */
};

struct vb_agent {
	struct vb_agent_source source[VB_AGENT_SOURCES];
	vb_time due; /* of all sources together */
};

/*
 * The answer to @mad, which came by @path at @now; @slots is what it is made of. False: there is
 * none, because it is no request of the methods Get or Set, or too many came. Requests of classes
 * that nobody here has are answered as the kernel does. MAD-08
 */
bool vb_agent_answer(struct vb_agent *a, const struct vb_slots *slots, const struct vb_path *path,
		     const uint8_t mad[VB_MAD_LEN], vb_time now, uint8_t answer[VB_MAD_LEN]);

#endif
