/* SPDX-License-Identifier: BSD-2-Clause */
/* How the transports differ. */
#ifndef VB_CORE_QP_TRANSPORT_H
#define VB_CORE_QP_TRANSPORT_H

#include "core/sched/timer.h"
#include "core/types.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;

/* How the transports differ. */
struct vb_transport_ops {
	uint8_t transport;  /* enum vb_transport */
	bool is_acked;      /* requests are acknowledged and resent */
	bool is_connected;  /* has one peer */
	bool has_rq;        /* receives are posted to the QP, unless it has an SRQ */
	uint8_t dest_bytes; /* of a send WQE: where it goes; a multiple of 8 */
	uint8_t work_on;    /* enum vb_work_on: its work requests; 0: none may be posted */
	/* Chooses what a request in order is for, before it is carried out; NULL: the QP's own. Not
	 * OK: *syndrome is the NAK that answers it. */
	enum vb_verdict (*select)(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
	/* A parsed packet for a QP in a state that receives, P_Key checked. */
	enum vb_verdict (*recv)(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now);
	/* Its turn: what it sends, until @b holds @stop packets. True: there is more. */
	bool (*transmit)(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);
	/* Timer @t, which has fired, is off. */
	void (*on_timer)(struct vb_qp *qp, enum vb_timer t, vb_time now);
};

#endif
