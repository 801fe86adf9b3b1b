/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core's own structures: what an HCA, its queues, keys and QPs consist of, and what the files
 * of this folder offer to each other. Everything outside uses core/hca.h.
 */
#ifndef VB_CORE_PRIV_H
#define VB_CORE_PRIV_H

#include "base/cold.h"
#include "base/list.h"
#include "core/hca.h"
#include "core/obj/mem.h"
#include "core/recover/rto.h"
#include "core/recover/window.h"
#include "core/view.h"

#include <assert.h>

/* An object that raises events: pending bits, and its place in the HCA's queue of such objects. */
struct vb_event_source {
	struct vb_list link;
	enum vb_event_kind async_kind;
	uint32_t async; /* bit (1 << enum vb_async) */
	bool notify;    /* a CQ_NOTIFY is due, */
	bool cnp;       /* or a CNP */
	void *owner;
};

struct vb_pd {
	struct vb_hca *hca;
	struct vb_list link; /* in hca->pds */
	uint32_t refs;
};

/* What an L_Key or R_Key names. */
enum vb_key_kind { VB_KEY_MR, VB_KEY_MW, VB_KEY_KINDS };

struct vb_key {
	enum vb_key_kind kind;
	uint32_t key; /* index << 8 | key byte. IBT-84 */
	struct vb_pd *pd;
};

struct vb_mr {
	struct vb_key key;
	uint64_t iova, length;
	uint8_t *host; /* NULL: the region has a length only */
	enum vb_mr_kind kind;
	uint32_t access;
	uint32_t window_cnt; /* memory windows bound to it */
	uint32_t leased;
	const uint32_t *lease; /* NULL: none */
};

/* Its memory has been taken back: its keys name nothing. */
static inline bool vb_mr_is_lost(const struct vb_mr *mr)
{
	return mr->lease && __atomic_load_n(mr->lease, __ATOMIC_ACQUIRE) != mr->leased;
}

/* A memory window. Unbound while mr is NULL. IBA 10.6.7 */
struct vb_mw {
	struct vb_key key;
	uint8_t type; /* 1 or 2 */
	struct vb_mr *mr;
	uint64_t start; /* in the addresses of mr */
	uint64_t iova;  /* what a peer calls that: the same, or 0 when ZERO_BASED */
	uint64_t length;
	uint32_t access;
	uint32_t qpn; /* type 2: the QP it is bound through */
};

/* The table of keys: entry i is the object with index i, or the next free index. */
struct vb_key_slot {
	struct vb_key *obj;
	uint32_t next_free;
	uint32_t last; /* the key of the object that was here before */
};

struct vb_key_table {
	struct vb_key_slot *slot;
	uint32_t cap, cnt[VB_KEY_KINDS], drawn; /* drawn: keys so far */
	uint32_t free_head, free_tail; /* FIFO, so that a place rests before reuse; 0: none */
};

struct vb_cq {
	struct vb_hca *hca;
	struct vb_list link; /* in hca->cqs */
	struct vb_event_source ev;
	struct vb_wc *ring;
	uint32_t mask, head, tail; /* head: next to poll; both run freely */
	uint32_t number, refs;
	enum { VB_CQ_UNARMED, VB_CQ_ARMED_SOLICITED, VB_CQ_ARMED } armed;
	bool overrun, is_lent; /* lent: the ring is the caller's memory */
	/* Moderation: while the CQ is in hca->held, its event waits for more entries or for due. */
	uint16_t mod_cnt; /* 0: none */
	uint32_t held_cnt;
	vb_dur mod_period;
	vb_time due, newest; /* newest: of all entries */
	struct vb_list held;
};

/* A receive WQE. */
struct vb_rwqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGEs */
	uint32_t sge_cnt;
	struct vb_sge sge[];
};

/* Receive WQEs in posting order, of a QP or an SRQ. */
struct vb_rq {
	uint8_t *slots;
	size_t stride;
	uint32_t mask, head, tail; /* run freely */
	uint32_t wr_max, sge_max;
	bool is_lent; /* slots are the caller's memory */
};

struct vb_srq {
	struct vb_pd *pd;
	struct vb_list link; /* in hca->srqs */
	struct vb_event_source ev;
	struct vb_rq rq;
	uint32_t limit; /* 0: not armed */
	uint32_t number, refs;
	struct vb_xrcd *xrcd; /* NULL: not an XRC SRQ; then there is no cq either */
	struct vb_cq *cq;
};

/* Where a WQE goes, behind it in its slot where the transport has such a thing (dest_bytes). */
struct vb_ud_dest {
	struct vb_path path;
	uint32_t dqpn, qkey;
	uint32_t kbps; /* of the address handle */
	uint32_t rsv;
};
_Static_assert(sizeof(struct vb_ud_dest) % 8 == 0, "the SGEs are behind it");

struct vb_xrc_dest {
	uint32_t srqn, rsv;
};

/* A send WQE. Packet k of it is a function of this, the MTU and k alone. */
struct vb_swqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	uint64_t charge; /* window bytes of all WQEs before it, see charge_at() */
	uint32_t length;
	uint32_t rkey;
	uint32_t imm; /* or the R_Key to invalidate */
	struct vb_psn first;
	uint32_t pkts; /* PSNs it takes; 0 for local work */
	uint32_t rsn;  /* receive-consuming messages up to and with this one */
	uint16_t sge_cnt;
	uint8_t opcode; /* enum vb_wr_opcode */
	uint8_t flags;  /* set of enum vb_send_flag, and VB_SWQE_RAN */
	uint8_t status; /* enum vb_wc_status it is bound to fail with, found when it was posted */
};

#define VB_SWQE_RAN 0x80 /* local work that was done and only waits for its turn to complete */

struct vb_sq {
	uint8_t *slots;
	size_t stride;
	uint32_t mask;
	uint32_t head; /* oldest WQE not completed */
	uint32_t nxt;  /* WQE that holds psn_nxt, or is local and due */
	uint32_t tail; /* next to post; all three run freely */
	uint32_t wr_max, sge_max, inline_max;
	bool is_lent; /* slots are the caller's memory */
};

/* A remote address and what is in flight towards it. */
struct vb_peer {
	struct vb_peer *next; /* in its bucket */
	struct vb_gid gid;
	uint32_t refs;
	uint64_t inflight;      /* bytes, see charge_at() */
	struct vb_list waiting; /* QPs that wait for room, by vb_qp.active */
};

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
	bool waits_batch;               /* its train had no place, and is first in the next one */
	vb_time train_at;               /* since when one waits for room; 0: none does */
	uint64_t charge_post, inflight;
	struct vb_window window;
	uint8_t rnr_left;
};

/* Response packets to send: [start, end), nxt is the next. */
struct vb_run {
	struct vb_psn start, nxt, end;
};

/* A READ, atomic, ATOMIC WRITE or FLUSH that the responder answers, and may have to answer again.
 * IBA 9.7.5.1.3 */
struct vb_resource {
	struct vb_psn first; /* of the request */
	uint32_t pkts;       /* response packets */
	struct vb_run run;   /* the response under way */
	uint64_t va;
	uint64_t orig;                     /* atomic: the value that was there */
	uint32_t rkey, len, msn, srqn;     /* srqn, of XRC: whose PD the key is of */
	vb_time repeats_paid;              /* when its repetitions are paid for; resp_read.c */
	bool is_atomic, is_write, pending; /* neither of the first two: a READ */
	bool answered; /* to the end, at least once: what is pending is a repetition */
};

enum vb_msg_kind { VB_MSG_NONE, VB_MSG_SEND, VB_MSG_WRITE };

struct vb_responder {
	struct vb_psn epsn;
	uint32_t msn;
	enum vb_msg_kind msg; /* message under way */
	bool skip;            /* UC: drop until the next message starts */
	bool nak_sent;        /* no more NAKs until ePSN arrives */
	bool ack_due;
	bool nak_due;
	bool rwqe_held;
	bool credit_zero; /* the last AETH told the peer that it has no credits */
	uint8_t nak_syndrome;
	uint32_t res_pending;
	struct vb_psn ack_psn; /* newest that wants the ACK */
	struct vb_psn dropped; /* newest that came before its turn, since the last NAK was due */
	uint64_t va;           /* WRITE: where the next payload goes */
	uint64_t left;         /* WRITE: bytes to come */
	uint32_t rkey;
	uint32_t srqn; /* XRC: of the newest request */
	uint64_t rcvd; /* bytes of the message so far */
	struct vb_rwqe *rwqe;
	struct vb_resource *res; /* ring of attr.max_dest_rd_atomic; the next goes to res_tail */
	uint32_t res_cap, res_tail, res_cnt; /* res_pending of them are yet to be answered */
};

enum vb_timer {
	VB_TIMER_ACK,
	VB_TIMER_RNR,
	VB_TIMER_ROOM,
	VB_TIMER_PACE,
	VB_TIMER_LINGER,
	VB_TIMER_CNT
};

/* How the transports differ. */
struct vb_transport_ops {
	uint8_t transport;  /* enum vb_transport */
	bool is_acked;      /* requests are acknowledged and resent */
	bool is_connected;  /* has one peer */
	bool has_rq;        /* receives are posted to the QP, unless it has an SRQ */
	uint8_t dest_bytes; /* of a send WQE: where it goes; a multiple of 8 */
	uint16_t wr_mask;   /* bit (1 << enum vb_wr_opcode): may be posted */
	/* Chooses what a request in order is for, before it is carried out; NULL: the QP's own. Not
	 * OK: *syndrome is the NAK that answers it. */
	enum vb_verdict (*select)(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome);
	/* A parsed packet for a QP in a state that receives, P_Key checked. */
	enum vb_verdict (*recv)(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now);
};

struct vb_sr;  /* core/selective/selective.h */
struct vb_dci; /* core/dc/dc.h */
struct vb_dct;

/* Congestion control at a QP, see core/cc/point.h. */
struct vb_cc_point {
	bool on;  /* requests and READ responses ask the controller */
	bool ect; /* ... and leave by data_path */
	bool sq_arb_mask;
	uint32_t cnp_due;
	vb_time cnp_at;                              /* no CNP before that */
	struct vb_path data_path, cnp_path, *spread; /* spread: NULL, or see point.c */
	struct vb_cc ctl;
};

/* The rate that the consumer and the path have set, see core/qp/pace.c. */
struct vb_pace {
	uint32_t kbps;     /* in force, the lower one; 0: none */
	uint32_t set_kbps; /* the consumer's */
	bool of_each;      /* work may go by paths with rates of their own: UD, DCI */
	uint32_t burst;    /* bytes; 0: a usual one */
	uint32_t rest;     /* of the last division by kbps */
	vb_time next;      /* when the account is paid */
};

/*
 * In the middle stands what every packet touches: with many QPs in use none of it is in the cache,
 * and each line costs. From VB_QP_HOT, which begins a line when the QP does, a request that comes
 * needs all up to VB_QP_HOT_RECV_END, one that leaves all up to VB_QP_HOT_SEND_END.
 */
struct vb_qp {
	struct vb_qp *parent; /* context of a DCT, lane of a DCI: that; NULL: a QP of its own */
	uint32_t mcast_cnt;   /* groups it is attached to */
	uint32_t refused;     /* extensions that the consumer does not want */
	uint32_t piece_pkts;  /* of one READ request; 0: no limit */
	uint32_t opened; /* XRC_TGT that is a handle: of which QPN; else 0. core/share/open.h */
	struct vb_list target;          /* XRC_TGT: in xrcd->targets */
	struct vb_xrc_openers *openers; /* XRC_TGT that other HCAs have open; else NULL */
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
	uint32_t ack_every, train_pkts; /* packets from one that asks for an ACK on; of a train */
	uint32_t dc_connection;         /* DCI and context: the number of the connection */
	bool is_active, sq_sig_all, comm_est, sqd_notify, sq_draining;
	bool owes_requests; /* responses filled the last turn; see sched.c */
	uint8_t dc_lane;    /* DCI and context: which of the initiator's */
	struct vb_sr *sr;   /* selective repeat; NULL: not offered */
	struct vb_dci *dci; /* DCI only */
	struct vb_responder resp;
	struct vb_sq sq;
	struct vb_requester req;
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
	struct vb_dct *dct;       /* DCT only */
	struct vb_xrc_loan *loan; /* XRC_TGT that serves, or is, another HCA's; else NULL */
	struct vb_event_source ev;
	struct vb_path ack_path; /* of ACKs and NAKs while ack_dscp_force; see ack.c */
};

#define VB_QP_HOT offsetof(struct vb_qp, attr.dest_qpn)
#define VB_QP_HOT_RECV_END offsetof(struct vb_qp, sq)
#define VB_QP_HOT_SEND_END offsetof(struct vb_qp, cc.cnp_at)
_Static_assert(VB_QP_HOT % 64 == 0, "a line, of a QP that begins with one");

/* Packets that selective repeat keeps out of order, for all QPs. */
struct vb_sr_pool {
	uint8_t *mem; /* NULL: no QP has needed it yet */
	size_t stride;
	uint32_t cnt, free_cnt;
	uint16_t *free;
};

/* An entry of the timer queue; the key is qp->heap_key, and comparing two fetches no QP. */
struct vb_deadline {
	vb_time key;
	struct vb_qp *qp;
};

struct vb_hca {
	/* A line that every packet touches. */
	struct vb_qp **qp; /* by (qpn - base) / stride, modulo qp_cap */
	uint32_t qp_cap, heap_cnt;
	struct vb_deadline *heap; /* timer queue; entry 0 is unused */
	struct vb_list active, events;
	vb_time held_due; /* no later than any CQ that is held is due */
	vb_dur gaps;      /* in all, of vb_hca_add_gap() */
	struct vb_key_table keys;
	struct vb_hca_config cfg;
	struct vb_sr_pool sr_pool;
	/* By port; cfg.recovery is only how they began. */
	struct vb_rto_rules rules[VB_HCA_PORTS_MAX + 1];
	struct vb_cc_settings cc[VB_HCA_PORTS_MAX + 1]; /* by port */
	struct vb_counters own_counters[VB_HCA_PORTS_MAX + 1];
	uint32_t qp_cnt, qp_k_next, qp_k_cnt, heap_cap;
	uint32_t dci_cnt, lane_cnt; /* made so far; QPs not in qp: further lanes of DCIs, and gsi */
	uint32_t pd_cnt, cq_cnt, srq_cnt, xrcd_cnt, number_next;
	struct vb_qp *gsi[VB_HCA_PORTS_MAX + 1]; /* QP1 of each port, or NULL. IBT-99 */
	struct vb_srq **xsrq;                    /* XRC SRQs by number, as qp */
	uint32_t xsrq_cap, xsrq_cnt, xsrq_k_next;
	struct vb_peer **peer; /* buckets by GID, chained; as many as there are peers or more */
	uint32_t peer_cap, peer_cnt;
	struct vb_list pds, cqs, srqs, xrcds; /* all there are */
	struct vb_list held, mcast, loans;    /* CQs by vb_cq.held; groups; loans with work to do */
	struct vb_xrc_pool *xrc_pool;         /* NULL: nothing was lent yet */
	struct vb_list openers, asks;         /* core/share/open.h: to be told; that wait */
	uint32_t mcast_cnt, xrc_ask_serial;
	struct vb_refusal refusal; /* the last one */
};

/* What a QP's recovery follows: the settings of its port. ADP-26 */
static inline const struct vb_rto_rules *vb_qp_rules(const struct vb_qp *qp)
{
	return &qp->hca->rules[qp->attr.port];
}

/* Zeroed memory or NULL. */
static inline void *vb_alloc(struct vb_hca *h, size_t size)
{
	return h->cfg.alloc(h->cfg.alloc_ctx, size);
}

static inline void vb_free(struct vb_hca *h, void *p)
{
	if (p)
		h->cfg.free(h->cfg.alloc_ctx, p);
}

static inline uint32_t vb_round_up_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static inline struct vb_counters *vb_port_counters(struct vb_hca *h, uint8_t port)
{
	struct vb_counters *c = port <= h->cfg.port_cnt ? h->cfg.port[port].counters : NULL;

	return c ? c : &h->own_counters[port <= VB_HCA_PORTS_MAX ? port : 0];
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

/* event.c */
void vb_event_source_init(struct vb_event_source *s, enum vb_event_kind kind, void *owner);
VB_COLD void vb_event_raise_async(struct vb_hca *h, struct vb_event_source *s, enum vb_async ev);
void vb_event_raise_cnp(struct vb_qp *qp);
void vb_event_raise_notify(struct vb_hca *h, struct vb_event_source *s);

/* core/share/loan.c: others hear of it as well. False: nobody here has the QP. */
bool vb_xrc_note_event(struct vb_qp *qp, enum vb_async ev);

/* An async event of the QP; a context of a target has none, as its initiator gets to know. */
static inline void vb_qp_raise(struct vb_qp *qp, enum vb_async ev)
{
	if ((qp->loan || qp->openers) && !vb_xrc_note_event(qp, ev))
		return;
	if (!qp->parent)
		vb_event_raise_async(qp->hca, &qp->ev, ev);
}

/* key.c */
int vb_key_insert(struct vb_hca *h, struct vb_key *k, struct vb_pd *pd);
void vb_key_remove(struct vb_hca *h, struct vb_key *k);
struct vb_key *vb_key_find(const struct vb_hca *h, uint32_t key);
struct vb_key *vb_key_at(const struct vb_hca *h, uint32_t key); /* any key byte will do */
void vb_key_table_free(struct vb_hca *h);

/* mw.c */
enum vb_wc_status vb_mw_bind_wqe(struct vb_qp *qp, const struct vb_swqe *w);
int vb_key_invalidate(struct vb_qp *qp, uint32_t rkey);

/* cq.c; false: it has overrun, now or before, and the QP that completes must not go on. */
bool vb_cq_add(struct vb_cq *cq, const struct vb_wc *wc, bool solicited);
void vb_cq_forget_qp(struct vb_cq *cq, const struct vb_qp *qp);

/* rq.c */
int vb_rq_init(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max, uint32_t sge_max);
void vb_rq_free(struct vb_hca *h, struct vb_rq *rq);
size_t vb_rq_ring_size(const struct vb_rq *rq);
void vb_rq_lend_ring(struct vb_hca *h, struct vb_rq *rq, void *mem);
int vb_rq_post(struct vb_rq *rq, const struct vb_recv_wr *wr);
int vb_rq_resize(struct vb_hca *h, struct vb_rq *rq, uint32_t wr_max);
static inline uint32_t vb_rq_cnt(const struct vb_rq *rq)
{
	return rq->tail - rq->head;
}
struct vb_rwqe *vb_rq_peek(const struct vb_rq *rq);
/* Takes the next receive WQE of @qp (its SRQ's or its own) into resp.rwqe; false: there is none. */
bool vb_qp_take_rwqe(struct vb_qp *qp);
/* The PD of the L_Keys of that WQE: an SRQ may be of another one than the QP. IBA 10.2.9 */
static inline const struct vb_pd *vb_recv_pd(const struct vb_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->pd;
}

/* complete.c: completions and the error state. */
void vb_send_complete(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now);
void vb_recv_complete(struct vb_qp *qp, struct vb_wc *wc, bool solicited, vb_time now);
VB_COLD void vb_recv_complete_error(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err,
				    vb_time now);
/* Enters ERR: flushes both queues. Harmless when already there (flushes what was posted since). */
VB_COLD void vb_qp_enter_err(struct vb_qp *qp, vb_time now);
/* What completes has nowhere to go: ERR, and QP_FATAL says so, unless it is there or in RESET. */
VB_COLD void vb_qp_fatal(struct vb_qp *qp, vb_time now);
/* A send failed on a QP whose receive side goes on (UC, UD): SQE. */
VB_COLD void vb_qp_enter_sqe(struct vb_qp *qp, vb_time now);
void vb_qp_set_state(struct vb_qp *qp, enum vb_qp_state to, vb_time now);

/* qp_state.c */
/* 0 when @mask fits the transition; -EINVAL otherwise, and @why says the rule. Facts B.4 */
int vb_qp_transition_check(enum vb_qp_type type, enum vb_qp_state from, enum vb_qp_state to,
			   uint32_t mask, struct vb_refusal *why);

/* qp.c */
void vb_qp_free(struct vb_qp *qp);
/* A QP in no table, with the objects of @parent; NULL: no memory. */
struct vb_qp *vb_qp_new_part(struct vb_qp *parent);
void vb_qp_free_memory(struct vb_qp *qp);
void vb_qp_reset(struct vb_qp *qp, vb_time now);
const struct vb_transport_ops *vb_transport_of(enum vb_qp_type type);

/* cq.c: events of moderated CQs that time brings. */
void vb_cq_on_time(struct vb_hca *h, vb_time now);

/* mcast.c */
enum vb_verdict vb_mcast_deliver(struct vb_hca *h, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now);
void vb_mcast_free(struct vb_hca *h);

/* hca.c: a packet whose headers are right, for @qp. */
enum vb_verdict vb_qp_deliver(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			      vb_time now);

/* peer.c */
struct vb_peer *vb_peer_get(struct vb_hca *h, const struct vb_gid *gid);
void vb_peer_put(struct vb_hca *h, struct vb_peer *p);
/* Lets one waiting QP look again when there is room. */
void vb_peer_wake(struct vb_hca *h, struct vb_peer *p);

/* sched.c */
void vb_sched_activate(struct vb_qp *qp);
/* ... ahead of all others. */
void vb_sched_activate_first(struct vb_qp *qp);
void vb_sched_remove(struct vb_qp *qp);

/* timerq.c */
int vb_timerq_reserve(struct vb_hca *h, uint32_t cnt);
void vb_timer_set(struct vb_qp *qp, enum vb_timer t, vb_time deadline);
void vb_timer_stop(struct vb_qp *qp, enum vb_timer t);
void vb_timerq_remove(struct vb_qp *qp);

/* sq.c */
static inline struct vb_swqe *vb_sq_at(const struct vb_sq *sq, uint32_t idx)
{
	return (struct vb_swqe *)(sq->slots + (size_t)(idx & sq->mask) * sq->stride);
}
const struct vb_sge *vb_swqe_sge(const struct vb_qp *qp, const struct vb_swqe *w);
const uint8_t *vb_swqe_inline(const struct vb_qp *qp, const struct vb_swqe *w);
static inline void *vb_swqe_dest(struct vb_swqe *w)
{
	return w + 1;
}
static inline struct vb_ud_dest *vb_swqe_ud(struct vb_swqe *w)
{
	return (struct vb_ud_dest *)vb_swqe_dest(w);
}
int vb_sq_init(struct vb_qp *qp, const struct vb_qp_cap *cap);
void vb_sq_free(struct vb_qp *qp);
static inline bool vb_swqe_is_local(const struct vb_swqe *w)
{
	return w->opcode == VB_WR_LOCAL_INV || w->opcode == VB_WR_BIND_MW;
}
static inline bool vb_swqe_wants_response(const struct vb_swqe *w)
{
	return w->opcode == VB_WR_RDMA_READ || w->opcode == VB_WR_COMPARE_SWAP ||
	       w->opcode == VB_WR_FETCH_ADD || w->opcode == VB_WR_ATOMIC_WRITE ||
	       w->opcode == VB_WR_FLUSH;
}
static inline bool vb_swqe_takes_recv(const struct vb_swqe *w)
{
	return w->opcode == VB_WR_SEND || w->opcode == VB_WR_SEND_IMM ||
	       w->opcode == VB_WR_SEND_INV || w->opcode == VB_WR_RDMA_WRITE_IMM;
}
static inline struct vb_psn vb_swqe_end(const struct vb_swqe *w)
{
	return vb_psn_add(w->first, w->pkts);
}
#endif
