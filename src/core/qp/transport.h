/* SPDX-License-Identifier: BSD-2-Clause */
/* How the transports differ. */
#ifndef VB_CORE_QP_TRANSPORT_H
#define VB_CORE_QP_TRANSPORT_H

#include "core/qp/sq.h"
#include "core/sched/timer.h"
#include "core/types.h"
#include "core/view.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;
struct vb_qp_init;
struct vb_xrcd;

/*
 * A transport's hooks in RC's requester: all of them, or the table is absent. Such a QP may consist
 * of several channels, each with a send queue and a requester.
 */
struct vb_req_hooks {
	/* The channel that takes work of @stream; it has taken @w. */
	struct vb_qp *(*choose)(struct vb_qp *qp, uint32_t stream);
	void (*posted)(struct vb_qp *channel, struct vb_swqe *w);
	/* Work of @stream fails as soon as it is posted. */
	bool (*is_bad)(const struct vb_qp *qp, uint32_t stream);
	/* The channel with what was posted first of all that is queued; NULL: nothing is. */
	struct vb_qp *(*oldest)(const struct vb_qp *qp);
	/* The reason that holds back the next packet of @w; it changes nothing. */
	enum vb_block (*gate)(const struct vb_qp *qp, const struct vb_swqe *w);
	/* Nothing holds @w back. */
	void (*passed)(struct vb_qp *qp, const struct vb_swqe *w);
	/* A packet of the transport's own leaves before anything; before the request at psn_nxt. */
	bool (*is_due)(const struct vb_qp *qp);
	bool (*leads)(const struct vb_qp *qp);
	/* ... and is sent. */
	void (*send)(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
	/* Sending goes back; everything is acknowledged, and nothing is queued; that was so for as
	 * long as VB_TIMER_LINGER runs. */
	void (*rewound)(struct vb_qp *qp, enum vb_rewind_why why);
	void (*idle)(struct vb_qp *qp, vb_time now);
	void (*lingered)(struct vb_qp *qp);
	/* The oldest WQE has failed: true when that does not end the QP, and all has been done. */
	bool (*fail)(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now);
	/* The receiver now: the path and *dqpn; NULL: nobody. */
	const struct vb_path *(*receiver)(const struct vb_qp *qp, uint32_t *dqpn);
};

/* How the transports differ. */
struct vb_transport_ops {
	uint8_t transport;  /* enum vb_transport */
	bool is_acked;      /* requests are acknowledged and resent */
	bool is_connected;  /* has one peer */
	bool takes_srqs;    /* requests bring their SRQ, and completions name their sender */
	bool has_rq;        /* receives are posted to the QP, unless it has an SRQ */
	uint8_t dest_bytes; /* of a send WQE: where it goes; a multiple of 8 */
	uint8_t work_on;    /* enum vb_work_on: its work requests; 0: none may be posted */
	/* Chooses what a request in order is for, before it is carried out; NULL: the QP's own. Not
	 * OK: *syndrome is the NAK that answers it. */
	enum vb_verdict (*select)(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
	/* A parsed packet for a QP in a state that receives, P_Key checked. */
	enum vb_verdict (*recv)(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now);
	/* Its quantum: it sends until @b holds @stop packets. True: there is more. */
	bool (*transmit)(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);
	/* Timer @t, which has fired, is off. */
	void (*on_timer)(struct vb_qp *qp, enum vb_timer t, vb_time now);
	/* Completes what waits for its turn alone, and says so when the send queue is drained. */
	void (*on_sqd)(struct vb_qp *qp, vb_time now);
	const struct vb_req_hooks *req; /* NULL: none */

	/* From here on, each may be NULL: nothing. The QP is made; its memory goes. */
	int (*create)(struct vb_qp *qp, const struct vb_qp_init *init);
	void (*release)(struct vb_qp *qp);
	/* It goes to RESET: before its state says so, and after. It enters ERR. */
	void (*leave)(struct vb_qp *qp);
	void (*reset)(struct vb_qp *qp, vb_time now);
	void (*fail)(struct vb_qp *qp, vb_time now);
	/* How it stands to a migration is another, and, @path, so is its path. */
	void (*moved)(struct vb_qp *qp, bool path, vb_time now);
	/* Destroying it: true when it stays, for others; and when it is gone. */
	bool (*outlives)(struct vb_qp *qp);
	void (*gone)(struct vb_xrcd *x);
	/* An async event: false when nobody here has the QP. */
	bool (*raise)(struct vb_qp *qp, enum vb_async ev);
	/* A CNP, in place of congestion control; whether a channel is with its sender @from there.
	 */
	enum vb_verdict (*on_cnp)(struct vb_qp *qp, const struct vb_hdr *hdr,
				  const struct vb_rx *rx, vb_time now);
	bool (*is_with)(const struct vb_qp *qp, const struct vb_path *from);
	/* The PD that a request for SRQ @srqn was for; NULL: there is none any more. */
	struct vb_pd *(*pd_of)(const struct vb_qp *qp, uint32_t srqn);
};

#endif
