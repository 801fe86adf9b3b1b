/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate of a QP as RC's halves see it: whether the next packet may leave, and what leaves.
 * Behind it stand congestion control (point.h) and the rate that the consumer and the path have set
 * (core/sched/pace.h); while neither is on, each question here is a test or two of the QP.
 */
#ifndef VB_CORE_CC_RATE_H
#define VB_CORE_CC_RATE_H

#include "core/qp/qp.h"

/* Something limits the QP, or may limit its next work request. */
static inline bool vb_rate_is_limited(const struct vb_qp *qp)
{
	return qp->cc.on || qp->pace.kbps || qp->pace.of_each;
}

/* The rest is rate.c. Of a QP that is limited: packets leave so slowly that each had better ask for
 * an ACK, or the ACK timer would fire before one is asked for again. To be looked at once a turn.
 */
bool vb_rate_asks_ack(const struct vb_qp *qp);
/* ... The next request packet, of @w (NULL: sent again out of turn), has to wait. Then req.block
 * says why, and a timer runs if time ends it. */
bool vb_rate_holds(struct vb_qp *qp, const struct vb_swqe *w, vb_time now);
/* ... @w is next: work may go by paths with rates of their own. */
void vb_rate_begin_work(struct vb_qp *qp, const struct vb_swqe *w);

void vb_rate_count_request(struct vb_qp *qp, const struct vb_tx *tx, vb_time now);
bool vb_rate_delays_response(struct vb_qp *qp, bool is_first, vb_time now);

/* The request packet @tx leaves. */
static inline void vb_rate_request_left(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	if (qp->cc.on || qp->pace.kbps)
		vb_rate_count_request(qp, tx, now);
}

/* The rate of a QP is that of its READ responses too. The next one has to wait; @is_first: nothing
 * waits for an answer but what it begins. A timer runs then. */
static inline bool vb_rate_holds_response(struct vb_qp *qp, bool is_first, vb_time now)
{
	return qp->cc.on && vb_rate_delays_response(qp, is_first, now);
}

/* The response packet @tx leaves. */
static inline void vb_rate_response_left(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	if (qp->cc.on)
		vb_cc_sent(qp, tx, now);
}

/* The path of a response: data that may be marked. NULL: as other packets go. */
static inline const struct vb_path *vb_rate_response_path(const struct vb_qp *qp)
{
	return qp->cc.ect ? &qp->cc.data_path : NULL;
}

/* An answer of the responder has come, and is accepted. It acknowledges the PSNs from @from to
 * psn_una - 1. */
static inline void vb_rate_hear(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	if (qp->cc.flow)
		vb_flow_hear(qp, hdr, rx);
}

static inline void vb_rate_progressed(struct vb_qp *qp, struct vb_psn from, vb_time now)
{
	if (qp->cc.flow)
		vb_flow_progressed(qp, from, now);
}

/* Packets are missing, @why; a sequence error that sends nothing again is VB_REWIND_NAK too. */
static inline void vb_rate_lost(struct vb_qp *qp, enum vb_rewind_why why, vb_time now)
{
	if (qp->cc.flow)
		vb_flow_lost(qp, why, now);
}

/* A timer of the QP has fired. */
static inline void vb_rate_tick(struct vb_qp *qp, vb_time now)
{
	if (qp->cc.flow)
		vb_flow_tick(qp, now);
}

/* A request has come, and is carried out. The ACK @hdr, in @tx, leaves. */
static inline void vb_rate_take_data(struct vb_qp *qp, const struct vb_rx *rx)
{
	if (rx->telemetry && qp->cc.flow) /* the QP's line would be cold */
		vb_control_take_data(qp->cc.flow, false, rx->telemetry);
}

static inline void vb_rate_ack_left(struct vb_qp *qp, struct vb_tx *tx, struct vb_hdr *hdr)
{
	if (qp->cc.flow)
		vb_flow_return(qp, tx, hdr);
}

/* Sends the notifications of congestion that are due; true: there is no room for all. */
static inline bool vb_rate_notify(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop,
				  vb_time now)
{
	return qp->cc.cnp_due && vb_cc_send_cnps(qp, b, stop, now);
}

#endif
