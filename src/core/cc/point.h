/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where congestion control meets a QP: packets it holds back, events it gets, and the notification
 * point, which answers marked packets with CNPs. While the settings of the port are zeros,
 * qp->cc.on and qp->cc.ect are false, and that is all that the transport looks at. CC-03...08, IBA
 * A17.9
 */
#ifndef VB_CORE_CC_POINT_H
#define VB_CORE_CC_POINT_H

#include "base/cold.h"
#include "core/cc/cc.h"
#include "core/cc/cct.h"
#include "core/control/flow.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;
struct vb_swqe;

/* Congestion control at a QP. */
struct vb_cc_point {
	bool on;  /* requests and READ responses ask the controller */
	bool ect; /* ... and leave by data_path */
	bool sq_arb_mask;
	uint32_t cnp_due;
	struct vb_path *spread;  /* NULL, or see point.c. Each request that leaves asks */
	struct vb_control *flow; /* an algorithm in place of DCQCN; NULL: none */
	vb_time cnp_at;          /* no CNP before that */
	struct vb_cct_point cct; /* of InfiniBand */
	struct vb_path data_path, cnp_path;
	struct vb_cc ctl;
};

/* The QP leaves INIT: the controller starts over. */
void vb_cc_start(struct vb_qp *qp, vb_time now);
/* Applies the settings, the path and the mask, after one of them has changed. */
void vb_cc_refresh(struct vb_qp *qp);

/* It has a rate, or may be masked: ctl means something. */
bool vb_cc_has_rate(const struct vb_qp *qp);

/* The QP becomes ready: its requests are spread over VB_SPREAD_PATHS source ports, VB_SPREAD_RUN
 * PSNs by each, if adaptive_routing_forced_en says so then. Otherwise qp->cc.spread is NULL. */
void vb_cc_spread(struct vb_qp *qp);
#define VB_SPREAD_PATHS 8u
#define VB_SPREAD_RUN 16u
#define VB_SPREAD_STEP 0x5a5u /* between two of the ports; odd */
/* The path of request packet @psn of a QP that is spread. */
static inline const struct vb_path *vb_cc_path_of(const struct vb_cc_point *cc, struct vb_psn psn)
{
	return &cc->spread[psn.v / VB_SPREAD_RUN % VB_SPREAD_PATHS];
}

/* qp->cc.on: whether the next request packet, of @w (NULL: sent again out of turn), has to wait. If
 * so, qp->req.block says why, and a timer runs if time ends it. */
bool vb_cc_holds(struct vb_qp *qp, const struct vb_swqe *w, vb_time now);
/* qp->cc.on: nothing is in flight, and work has come. */
void vb_cc_begins(struct vb_qp *qp, vb_time now);
/* qp->cc.on: whether the limiter holds back the next packet, whatever it is; sets the timer. */
bool vb_cc_is_early(struct vb_qp *qp, vb_time now);
/* qp->cc.on: packets leave so slowly that each had better ask for an ACK, or the ACK timer would
 * fire before one is asked for again. */
bool vb_cc_asks(const struct vb_qp *qp);
/* qp->cc.on: @tx leaves. */
void vb_cc_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now);

/* A CNP for the QP arrived @from there and has passed the checks of any packet. SOURCE: an
 * initiator is not connected to its sender. */
VB_COLD enum vb_verdict vb_cc_take_cnp(struct vb_qp *qp, const struct vb_path *from, vb_time now);

/* A packet with CE for the QP arrived @from there and has passed the checks of any packet. On
 * InfiniBand that means one with FECN or BECN, but for datagrams. */
void vb_cc_take_mark(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from,
		     vb_time now);
/* A datagram with FECN or BECN arrived by InfiniBand for a QP that takes it. */
VB_COLD void vb_cc_take_datagram(struct vb_qp *qp, const struct vb_hdr *hdr,
				 const struct vb_path *from, vb_time now);
/* Sends the CNPs that are due; true: there is no room for all. */
bool vb_cc_send_cnps(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now);

#endif
