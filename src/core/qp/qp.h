/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The QP: everything of it in one structure, laid out for the packets. The header of each
 * part describes the part and its functions.
 */
#ifndef VB_CORE_QP_QP_H
#define VB_CORE_QP_QP_H

#include "base/cold.h"
#include "core/adapter.h"
#include "core/cc/point.h"
#include "core/egress/egress.h"
#include "core/obj/event.h"
#include "core/obj/rq.h"
#include "core/qp/repeat.h"
#include "core/qp/sq.h"
#include "core/qp/transport.h"
#include "core/rc/requester.h"
#include "core/rc/responder.h"
#include "core/recover/rto.h"
#include "core/sched/pace.h"
#include "core/sched/timer.h"
#include "core/types.h"

struct vb_sr;
struct vb_dci;
struct vb_dct;
struct vb_xrc_migration;
struct vb_xrc_openers;

/*
 * In the middle stands what every packet touches: with many QPs in use none of it is in the cache,
 * and each line costs. From VB_QP_HOT, which begins a line when the QP does, a request that comes
 * needs all up to VB_QP_HOT_RECV_END, one that leaves all up to VB_QP_HOT_SEND_END.
 */
struct vb_qp {
	struct vb_qp *parent; /* context of a DCT, channel of a DCI: that; NULL: a QP of its own */
	uint32_t mcast_cnt;   /* groups it is attached to */
	uint32_t refused;     /* extensions that the consumer does not want */
	uint32_t piece_pkts;  /* of one READ request; 0: no limit */
	uint32_t opened; /* XRC_TGT that is a handle: of which QPN; else 0. core/share/open.h */
	struct vb_list target;          /* XRC_TGT: in xrcd->targets */
	struct vb_xrc_openers *openers; /* XRC_TGT that other HCAs have open; else NULL */
	struct vb_peer *alt_peer;       /* the receiver of attr.alt, while that is loaded */
	struct vb_comp_cntr *cntr[4];   /* by enum vb_counted; NULL: nobody counts. count.c */
	bool opened_ended;              /* the target of this handle is gone */
	struct vb_qp_attr attr;

	uint32_t mtu; /* path MTU, bytes */
	struct vb_hca *hca;
	const struct vb_transport_ops *ops;
	struct vb_list active; /* in hca->active (is_active) or in peer->waiting */
	struct vb_peer *peer;
	struct vb_pd *pd;
	uint32_t qpn;
	enum vb_qp_state state;
	enum vb_qp_type type;
	uint32_t ack_every,
	    gso_pkts; /* packets between two that ask for an ACK; packets of a GSO batch */
	uint32_t dc_connection; /* DCI and context: the number of the connection */
	bool is_active, sq_sig_all, comm_est, sqd_notify, sq_draining;
	bool owes_requests; /* responses filled the last quantum; see sched.c */
	uint8_t dc_channel; /* DCI and context: which of the initiator's */
	bool is_counted;    /* some of cntr are there */
	struct vb_sr *sr;   /* selective repeat; NULL: not offered */
	struct vb_dci *dci; /* DCI only */
	struct vb_responder resp;
	struct vb_sq sq;
	struct vb_requester req;
	struct vb_egress_wait egress;
	vb_time timer[VB_TIMER_CNT];
	struct vb_pace pace;
	struct vb_cc_point cc;
	struct vb_rto rto;
	vb_time heap_key;  /* deadline under which the QP stands in the timer queue */
	uint32_t heap_pos; /* 0: not in it */
	struct vb_cq *send_cq;
	/* XRC_TGT: pd, recv_cq and srq are those of the newest request, NULL before. */
	struct vb_srq *srq;
	struct vb_xrcd *xrcd;
	struct vb_rq rq;
	struct vb_cq *recv_cq;
	struct vb_dct *dct;           /* DCT only */
	struct vb_xrc_migration *mig; /* XRC_TGT that serves, or is, another HCA's; else NULL */
	struct vb_event_source ev;
	struct vb_path ack_path; /* of ACKs and NAKs while ack_dscp_force; see ack.c */
};

#define VB_QP_HOT offsetof(struct vb_qp, attr.dest_qpn)
#define VB_QP_HOT_RECV_END offsetof(struct vb_qp, sq)
#define VB_QP_HOT_SEND_END offsetof(struct vb_qp, cc.cnp_at)
_Static_assert(VB_QP_HOT % 64 == 0, "a line, of a QP that begins with one");

/* The data behind the destination of a WQE: SGEs, or the bytes themselves where they are inline. */
static inline const uint8_t *vb_swqe_data(const struct vb_qp *qp, const struct vb_swqe *w)
{
	return (const uint8_t *)(w + 1) + qp->ops->dest_bytes;
}

static inline const struct vb_sge *vb_swqe_sge(const struct vb_qp *qp, const struct vb_swqe *w)
{
	return (const struct vb_sge *)(const void *)vb_swqe_data(qp, w);
}

/* The rules of a QP's recovery: the settings of its port. ADP-26 */
static inline const struct vb_rto_rules *vb_qp_rules(const struct vb_qp *qp)
{
	return &qp->hca->port[qp->attr.port].rules;
}

static inline struct vb_counters *vb_qp_counters(struct vb_qp *qp)
{
	return vb_port_counters(qp->hca, qp->attr.port);
}

static inline void vb_qp_count(struct vb_qp *qp, enum vb_counter_id id)
{
	vb_count(vb_qp_counters(qp), id);
}

static inline void vb_qp_trace(struct vb_qp *qp, enum vb_trace_id id, vb_time now, uint64_t a,
			       uint64_t b, uint64_t c, uint64_t d)
{
	vb_trace(&qp->hca->cfg.trace, id, qp->qpn, now, a, b, c, d);
}

/* An async event of the QP; a context of a target has none, as its initiator gets to know. */
static inline void vb_qp_raise(struct vb_qp *qp, enum vb_async ev)
{
	if (qp->ops->raise && !qp->ops->raise(qp, ev))
		return;
	if (!qp->parent)
		vb_event_raise_async(qp->hca, &qp->ev, ev);
}

/* Takes the next receive WQE of @qp (its SRQ's or its own) into resp.rwqe; false: there is none. */
bool vb_qp_take_rwqe(struct vb_qp *qp);

/* The PD of the L_Keys of that WQE: an SRQ may be of another one than the QP. IBA 10.2.9 */
static inline const struct vb_pd *vb_recv_pd(const struct vb_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->pd;
}

/* count.c: completion counters; when the QP goes, and for one that is_counted. */
VB_COLD void vb_qp_detach_comp_cntrs(struct vb_qp *qp);
void vb_qp_count_completion(struct vb_qp *qp, enum vb_counted which, enum vb_wc_status status,
			    uint32_t bytes);

/* complete.c: completions and the error state. */
void vb_send_complete(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now);
void vb_recv_complete(struct vb_qp *qp, struct vb_wc *wc, bool solicited, vb_time now);
VB_COLD void vb_recv_complete_error(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err,
				    vb_time now);
/* Enters ERR: flushes both queues. Harmless when already there (flushes what was posted since). */
VB_COLD void vb_qp_enter_err(struct vb_qp *qp, vb_time now);
/* A completion has nowhere to go: ERR, and QP_FATAL says so, unless it is there or in RESET. */
VB_COLD void vb_qp_fatal(struct vb_qp *qp, vb_time now);
/* A send failed on a QP whose receive side goes on (UC, UD): SQE. */
VB_COLD void vb_qp_enter_sqe(struct vb_qp *qp, vb_time now);
void vb_qp_set_state(struct vb_qp *qp, enum vb_qp_state to, vb_time now);

/* 0 when @mask fits the transition; -EINVAL otherwise, and @why says the rule. Facts B.4 */
int vb_qp_transition_check(enum vb_qp_type type, enum vb_qp_state from, enum vb_qp_state to,
			   uint32_t mask, struct vb_refusal *why);

/* qp.c */
void vb_qp_free(struct vb_qp *qp);
/* A QP in no table, with the objects of @parent; NULL: no memory. */
struct vb_qp *vb_qp_new_part(struct vb_qp *parent);
void vb_qp_free_memory(struct vb_qp *qp);
void vb_qp_reset(struct vb_qp *qp, vb_time now);

/* deliver.c: a packet whose headers are right, for @qp. */
enum vb_verdict vb_qp_deliver(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			      vb_time now);

#endif
