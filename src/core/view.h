/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a QP stands, in one plain struct without pointers, for readers that explain it: its wait,
 * its timers, its queues. Taking a view changes nothing and costs nothing where none is taken.
 */
#ifndef VB_CORE_VIEW_H
#define VB_CORE_VIEW_H

#include "core/recover/rto.h"
#include "core/types.h"

struct vb_hca;

/* Why the last look at the send queue sent nothing more. */
enum vb_block {
	VB_BLOCK_NONE,
	VB_BLOCK_EMPTY,
	VB_BLOCK_FENCE,
	VB_BLOCK_RD_ATOMIC,
	VB_BLOCK_CREDIT,
	VB_BLOCK_WINDOW,
	VB_BLOCK_RX_CREDIT, /* until the RX_CREDIT timer fires */
	VB_BLOCK_PSN_WINDOW,
	VB_BLOCK_TX_WINDOW, /* the QP's own, see core/recover/window.h */
	VB_BLOCK_RATE,      /* until the PACE timer fires */
	VB_BLOCK_PACE,      /* ... for the rate that the consumer has set */
	VB_BLOCK_OST,       /* outstanding WQEs, see core/cc */
	VB_BLOCK_MASK,      /* sq_arb_mask */
	VB_BLOCK_CONNECT,   /* a connection is given up or made, see core/dc */
	VB_BLOCK_STATE,
	VB_BLOCK_FAILED, /* WQE nxt fails locally as soon as those before it have completed */
	VB_BLOCK_CNT
};

/* Why sending went back; argument of the REWOUND and RETRY_ENDED events. */
enum vb_rewind_why {
	VB_REWIND_TIMEOUT,
	VB_REWIND_NAK,
	VB_REWIND_IMPLIED_NAK,
	VB_REWIND_RNR,
	VB_REWIND_MIGRATED, /* to the alternate path; never that of RETRY_ENDED */
	VB_REWIND_CNT
};

/* Why a QP migrated to its alternate path; argument of the MIGRATED event. */
enum vb_apm_why {
	VB_APM_RETRIES,  /* the retries on the old one were used up */
	VB_APM_PEER,     /* the peer has migrated */
	VB_APM_CONSUMER, /* ibv_modify_qp(3) */
	VB_APM_PORT,     /* the port of the old one is down */
	VB_APM_CNT
};

/* Why the window changed; argument of the SLOW_RESTART event. */
enum vb_ramp_why { VB_RAMP_LOSS, VB_RAMP_IDLE, VB_RAMP_END, VB_RAMP_CNT };

struct vb_qp_view {
	vb_time at; /* when it was taken */
	uint32_t qpn;
	enum vb_qp_type type;
	enum vb_qp_state state;
	struct vb_qp_attr attr; /* as last set */
	struct vb_recovery set; /* the rules of its timers: the settings of its port */
	struct vb_rto rto;      /* where its timer is */
	vb_time ack_at, rnr_at; /* when the ACK and the RNR timer fire; VB_NEVER: they do not run */
	vb_time pace_at;        /* BLOCK_RATE, _PACE, _OST: when it looks again */
	enum vb_block block;    /* of the last look; means nothing while is_queued or is_rnr_wait */
	uint32_t posted;        /* send work requests that have not completed... */
	uint32_t unsent;        /* ... and of these not begun, or not sent to the end */
	uint32_t psn_una;       /* oldest without an acknowledgement */
	uint32_t unacked;       /* PSNs sent and not acknowledged */
	uint32_t epsn;          /* expected of the peer's requests */
	uint32_t rd_out;        /* READs and atomics in flight */
	uint32_t credits;       /* sends that the peer's receive queue still has room for */
	uint32_t window_pkts;   /* the QP's own window, packets in flight; 0: none */
	uint32_t recvs;         /* receives posted, in the QP's own queue or its SRQ */
	uint64_t rate_bps;      /* allowed by congestion control, BLOCK_PACE: as set; 0: any */
	uint64_t peer_inflight; /* bytes in flight to the peer's address, all QPs together */
	uint64_t peer_window;   /* ... and how many may be; 0: any number */
	/* The oldest send work request that has not completed, if posted > 0. */
	uint64_t wr_id, remote_addr;
	uint32_t wr_opcode; /* enum vb_wr_opcode */
	uint32_t length, rkey;
	uint32_t acked;      /* PSNs of it that are acknowledged or answered; of UC and UD, sent */
	uint8_t rnr_left;    /* RNR NAKs that it still forgives */
	bool is_queued;      /* has its turn coming to send */
	bool is_rnr_wait;    /* the peer had no receive posted: waits for the RNR timer */
	bool is_recovering;  /* sending went back, and nothing was acknowledged since */
	bool is_acked_once;  /* the peer has acknowledged something since the QP was made ready */
	bool is_srq;         /* recvs are those of an SRQ */
	bool credit_limited; /* credits says something */
	bool owes_responses; /* READs and atomics of the peer that are not answered */
	bool cq_overrun;     /* one of its completion queues overflowed */
	bool is_ramping;     /* window_pkts is that of a slow restart */
	bool is_selective;   /* both ends have agreed on selective repeat */
	bool is_draining;    /* SQD, and not everything that was begun is acknowledged */
};

/* How QP @qpn stands at @now. False: there is no such QP. */
bool vb_hca_view(const struct vb_hca *h, uint32_t qpn, vb_time now, struct vb_qp_view *out);

/* How far a QP has come, and how fast it may send: for whoever looks at all of them again and
 * again. */
struct vb_qp_sample {
	vb_time at;
	struct vb_gid sgid;
	uint32_t qpn;
	uint32_t psn_una, epsn; /* as in a view */
	uint32_t clk_hz;        /* the unit of rates, see vb_cc_bps(); 0: nothing controls them */
	uint16_t rate, target;  /* CC_RATE_MEM, and target_rate of RATE_MEM */
	uint16_t alpha;         /* /1024 */
	uint16_t rsv;
};

/* A sample of QP @qpn. False: there is no such QP. */
bool vb_hca_sample(struct vb_hca *h, uint32_t qpn, vb_time now, struct vb_qp_sample *out);

/*
 * The work requests of a queue, whose numbers count from its making on and run freely. Those from
 * first on are still in their places; those before done have completed; the adapter goes on with
 * next; end is posted next.
 */
struct vb_work_span {
	uint32_t first, done, next, end; /* of receives done is next */
	uint32_t slots;                  /* a power of two; 0: there is no such queue */
	uint32_t sges;                   /* of a work request at most */
	bool is_srq;
};
/* The send queue of QP @qpn; of an initiator with streams, of the channel with its oldest work.
 * False: there is no such QP. */
bool vb_hca_view_sends(const struct vb_hca *h, uint32_t qpn, struct vb_work_span *out);
/* Its receive queue, or the SRQ that it takes receives from. */
bool vb_hca_view_receives(const struct vb_hca *h, uint32_t qpn, struct vb_work_span *out);

/* A send work request as it was posted, but that wr.ah is NULL: path is where it goes, of a QP
 * whose work requests name that. Inline data are one SGE. */
struct vb_send_view {
	struct vb_send_wr wr;
	struct vb_path path;
	struct vb_sge inlined;
	bool has_path;
};
/* Number @i of the span of a QP that exists. */
void vb_hca_view_send(const struct vb_hca *h, uint32_t qpn, uint32_t i, struct vb_send_view *out);
void vb_hca_view_receive(const struct vb_hca *h, uint32_t qpn, uint32_t i, struct vb_recv_wr *out);

/* The numbers of the QPs there are, but for handles, in no order: the one at or behind *pos, which
 * moves on; 0: no more. Begin with *pos = 0. */
uint32_t vb_hca_next_qpn(const struct vb_hca *h, uint32_t *pos);

/* The wait or the work of a QP, as far as it can tell by itself. */
enum vb_qp_wait {
	VB_WAIT_NOTHING, /* idle: nothing posted, nothing in flight */
	VB_WAIT_ACK,     /* everything is sent; an acknowledgement or answer is to come */
	VB_WAIT_TURN,    /* will send as soon as the link takes it */
	VB_WAIT_RNR,     /* the RNR timer */
	VB_WAIT_BLOCK,   /* the reason in block */
	VB_WAIT_STATE,   /* not in a state that sends */
	VB_WAIT_CNT
};
enum vb_qp_wait vb_view_wait(const struct vb_qp_view *v);

#endif
