/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission policy of one QP: how long to wait for an acknowledgement, and when to give up.
 * The transport tells it what happens and knows nothing of how it decides.
 *
 * One strategy so far: the fixed local ACK timeout of IBA 9.7.6.1.3, with retry_cnt shared by
 * timeouts and sequence errors and reloaded by progress (IBT-80).
 */
#ifndef VB_CORE_RECOVER_RTO_H
#define VB_CORE_RECOVER_RTO_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_rto {
	uint8_t timeout_exp; /* QP attribute timeout: 4.096 us * 2^n, 0 = infinite */
	uint8_t retry_cnt;   /* QP attribute, 0...7 */
	uint8_t retry_left;
};

/* Starts over with the QP's attributes. */
void vb_rto_reset(struct vb_rto *r, uint8_t timeout_exp, uint8_t retry_cnt);

/* How long to wait from now for an acknowledgement; VB_NEVER: for ever. */
vb_dur vb_rto_timeout(const struct vb_rto *r);

/* Something new was acknowledged. */
void vb_rto_progress(struct vb_rto *r);

/* The timer fired, or the peer reported a gap: true: send again, false: give up. */
bool vb_rto_retry(struct vb_rto *r);

/* RNR NAK timer codes in ns, IBA 9.7.5.2.8; facts B.6. @code 0...31. IBT-79 */
vb_dur vb_rnr_timer_ns(uint8_t code);

#endif
