/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a requester, see req.c. IBA 9.7.2 */
#ifndef VB_CORE_RC_REQUESTER_H
#define VB_CORE_RC_REQUESTER_H

#include "base/psn.h"
#include "base/time.h"
#include "core/recover/window.h"
#include "core/view.h"

enum vb_req_state {
	VB_REQ_ACTIVE,
	VB_REQ_RNR_WAIT, /* until the RNR timer fires */
};

struct vb_requester {
	enum vb_req_state state;
	enum vb_block block;
	struct vb_psn psn_post;         /* of the next WQE to be posted */
	struct vb_psn psn_una, psn_nxt; /* oldest unacknowledged; next to send */
	struct vb_psn psn_max;          /* one past the highest ever sent */
	struct vb_psn recover;          /* psn_max when sending last went back */
	bool recovering;                /* ... and nothing was acknowledged since */
	bool credit_limited, slow;      /* an AETH gave a credit count; is_slow() in req.c */
	uint32_t rd_out;                /* READ requests and atomics in flight */
	uint32_t rsn_post, rsn_acked;   /* receive-consuming messages posted, acknowledged */
	uint32_t rsn_limit;             /* highest that credits allow */
	uint64_t charge_post, inflight;
	struct vb_window window;
	uint8_t rnr_left;
};

#endif
