/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sans-IO host channel adapter: the whole interface of the core.
 *
 * Nothing below opens a socket, starts a thread, reads a clock, draws system randomness or
 * allocates outside the create calls and vb_qp_modify(). Time goes in as an argument, packets go in
 * and out as values.
 *
 * Contract of a caller: feed packets, timeouts and verbs in any number and order; before waiting,
 * call vb_hca_poll_transmit() and vb_hca_poll_event() until they have no more, then wait until
 * vb_hca_poll_timeout(). @now must not decrease. An instance is single-threaded; instances share
 * nothing.
 *
 * Control calls return 0 or a negative errno. Objects are counted: destroying one that is in use
 * gives -EBUSY.
 */
#ifndef VB_CORE_HCA_H
#define VB_CORE_HCA_H

#include "base/list.h"
#include "core/bad_key.h"
#include "core/cc/cc.h"
#include "core/cc/cct.h"
#include "core/control/choice.h"
#include "core/recover/settings.h"
#include "core/refusal.h"
#include "core/types.h"
#include "trace/counters.h"
#include "trace/trace.h"
#include "wire/mad/mad.h"
#include "wire/packet.h"

#define VB_HCA_PORTS_MAX 16
#define VB_PKEY_DEFAULT 0xffff
#define VB_QPN_MULTICAST 0xffffff /* IBT-19 */
#define VB_QKEY_GSI VB_MAD_QKEY
#define VB_PKEYS_MAX 16
#define VB_PORT_PKEYS_MAX 32 /* of a port of InfiniBand: a block of its table */

#define VB_OOO_PKTS_MAX (1u << 20)

/* Limits of one adapter: each is enforced exactly, and is what the verbs advertise. */
struct vb_limits {
	uint32_t qp, cq, srq, mr, mw, pd; /* objects; mr and mw together below 2^24 */
	uint32_t qp_wr, srq_wr, cqe;      /* entries of a queue */
	uint32_t sge, sge_rd, inline_bytes;
	/* Packets of 1 KiB that selective repeat keeps, of all QPs; at most VB_OOO_PKTS_MAX. */
	uint32_t ooo_pkts;
	uint32_t rd_atomic;           /* per QP, both directions; at most 128 */
	uint32_t mcast_grp, mcast_qp; /* multicast groups, and QPs in one of them */
	uint64_t mr_size, msg_size;
};

extern const struct vb_limits vb_limits_default;

struct vb_hca_port {
	enum vb_mtu active_mtu;
	uint16_t pkey[VB_PORT_PKEYS_MAX]; /* 0: empty entry. IBT-81 */
	struct vb_counters *counters;     /* NULL: the HCA keeps its own */
	struct vb_adp_fired *adp_fired;   /* NULL: nobody counts */
	struct vb_bad_keys *bad_keys;     /* NULL: nobody wants to know */
	struct vb_cct_events *cct_events; /* the same way */
	/* A virtual function has no address of its own: packets for its QPs may arrive on this port
	 * too. 0: none. */
	uint8_t parent;
	uint8_t lmc;  /* InfiniBand: bits of its LIDs that paths differ by */
	bool is_down; /* its link carries nothing: QPs do not migrate to it when their port fails */
};

struct vb_hca_config {
	struct vb_limits limits;
	uint64_t seed; /* every random choice derives from it */
	/*
	 * QPNs are qpn_base + k * qpn_stride, k = qpn_first ... and wrap at 2^24; so the processes
	 * of one host, each its own HCA, share the adapter's QPN space.
	 */
	uint32_t qpn_base, qpn_stride, qpn_first;
	uint8_t port_cnt; /* ports are 1 ... port_cnt */
	uint8_t port_cap; /* the most there will ever be; 0: VB_HCA_PORTS_MAX */
	struct vb_hca_port port[VB_HCA_PORTS_MAX + 1];
	/* Bytes in flight towards one remote address, READ responses included, each packet counted
	 * with vb_packet_overhead bytes on top; 0: no limit. A GSO batch that has begun leaves
	 * whole, so it may be one more. */
	uint32_t peer_window_bytes;
	/* A READ longer than this is requested in pieces of this size, so that the window also
	 * bounds responses; 0: never. Rounded down to whole packets. */
	uint32_t read_piece_bytes;
	/*
	 * Whether the receiver of @path is on this host, in the form that the link knows and the
	 * core only keeps, in path.home (link/home.h). Asked once for each path that a QP or a work
	 * request gets, and for those of QPs by vb_hca_find_homes(). NULL: nobody knows.
	 */
	uint16_t (*find_home)(void *ctx, const struct vb_path *path);
	/*
	 * Bytes that the receiver of QP @dqpn at @path can take now, as far as that is known here;
	 * UINT32_MAX: no limit. A QP that finds less than its next packet looks again after
	 * VB_RX_CREDIT_RETRY_NS. NULL: no limit.
	 */
	uint32_t (*rx_credit)(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now);
	/* Bytes on the wire that the link sends for little more than one packet costs it. Neither a
	 * quantum nor a batch ends in such a GSO batch when it fits the next one; a receiver with
	 * room for only a part of it gets that after VB_GSO_WAIT_NS. 0: each packet goes by itself.
	 */
	uint32_t gso_bytes;
	/*
	 * True while it is known that the receiver of QP @dqpn at @path has not read yet what was
	 * sent to it last, or has not got to its answer: an ACK timer that fires starts over then,
	 * and costs no retry. NULL: never known.
	 */
	bool (*unanswered)(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now);
	void *receiver_ctx; /* of all three */
	/*
	 * Makes @len bytes at @p, of a region with ON_DEMAND, fit to be read or (@write) written:
	 * 0, or -EFAULT when they are not mapped so, which then counts as a violation of the
	 * region's bounds. Called before every access; at most a packet's payload. NULL: they
	 * always are.
	 */
	int (*page_in)(void *ctx, void *p, size_t len, bool write);
	void *page_in_ctx;
	/*
	 * Runs @f(@arg), which touches registered memory: 0, or -EFAULT when that is not there any
	 * more, or not to be written. NULL: it always is.
	 */
	int (*guard)(void (*f)(void *arg), void *arg);
	/*
	 * Takes a message to another HCA of this host, whose process slot is @peer (base/slot.h),
	 * where vb_xrc_take_message() takes it, in the order they were sent. 0; -EAGAIN: not now;
	 * another negative errno: it is not there. NULL: XRC domains have one HCA each.
	 */
	int (*xrc_send)(void *ctx, uint32_t peer, const void *msg, size_t len);
	void *xrc_ctx;
	struct vb_recovery recovery; /* of every port; zeros: fixed timers, go-back-N */
	struct vb_cc_settings cc;    /* of every port; zeros: no congestion control */
	/* An algorithm in place of DCQCN, of every port: it stays where it is as long as the HCA is
	 * there. NULL: none. */
	const struct vb_cc_choice *choice;
	struct vb_trace trace;
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory or NULL */
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
};

#define VB_PACKET_OVERHEAD 512
#define VB_RX_CREDIT_RETRY_NS (20 * VB_USEC)
/* For so long a GSO batch waits to leave whole. */
#define VB_GSO_WAIT_NS (100 * VB_USEC)

enum vb_event_kind {
	VB_EVENT_CQ_NOTIFY, /* an armed CQ got an entry: object is the vb_cq */
	VB_EVENT_ASYNC_CQ,
	VB_EVENT_ASYNC_QP,
	VB_EVENT_ASYNC_SRQ,
	VB_EVENT_CNP, /* a CNP came for a QP of a port with cnp_irq_en. CC-07 */
};

struct vb_event {
	enum vb_event_kind kind;
	enum vb_async async; /* unless CQ_NOTIFY or CNP */
	uint32_t qpn;        /* CNP */
	uint8_t port;        /* CNP */
	void *owner;         /* of the object, as given at its creation */
};

int vb_hca_create(struct vb_hca **out, const struct vb_hca_config *cfg, vb_time now);
void vb_hca_destroy(struct vb_hca *h); /* and every object left in it */

/* QPs that there are. */
uint32_t vb_hca_qp_cnt(const struct vb_hca *h);

/* Adds or changes port @port (1 ... port_cap). */
int vb_hca_set_port(struct vb_hca *h, uint8_t port, const struct vb_hca_port *p);
/* Port @port has no link any more: QPs that are armed migrate, if to another port. IBA 17.2.8.1 */
void vb_hca_port_failed(struct vb_hca *h, uint8_t port, vb_time now);
/* The addresses of this host have changed: the paths of all connected QPs say again whether their
 * receivers are on it. */
void vb_hca_find_homes(struct vb_hca *h);

/*
 * Changes what ROCE_ACCL switches, as a whole, with QPs at work: a timer that runs ends as it was
 * set, the next one follows the new settings; a bound that became tighter holds from the next
 * packet on. selective_repeat_forced_en is for QPs that reach RTR later. -EINVAL: a rule of
 * vb_recovery_check() is broken; nothing has changed.
 */
int vb_hca_set_recovery(struct vb_hca *h, const struct vb_recovery *r, vb_time now);
/* The same for the QPs of one port. -EINVAL: also when there cannot be such a port. */
int vb_hca_set_port_recovery(struct vb_hca *h, uint8_t port, const struct vb_recovery *r);
const struct vb_recovery *vb_hca_recovery(const struct vb_hca *h, uint8_t port);

/*
 * Changes congestion control of one port, with QPs at work. The limiter and the window act on RC
 * and UC QPs. -EINVAL: vb_cc_settings_check() refuses it, or there cannot be such a port.
 */
int vb_hca_set_port_cc(struct vb_hca *h, uint8_t port, const struct vb_cc_settings *set,
		       vb_time now);
const struct vb_cc_settings *vb_hca_cc(const struct vb_hca *h, uint8_t port);
/*
 * The flows of RC QPs and DC initiators that become ready on the port from now on have the
 * algorithm of @choice, which stays where it is as long as the HCA is there; NULL: none. -EINVAL:
 * there cannot be such a port, or vb_cc_algorithm_check() refuses the algorithm.
 */
int vb_hca_set_port_choice(struct vb_hca *h, uint8_t port, const struct vb_cc_choice *choice);
/*
 * The same of InfiniBand, where a manager sets it: QPs with indices of their own, and answers to
 * packets with FECN for those without a peer. NULL: there is none, which is how a port begins.
 * -EINVAL: vb_cct_check() refuses it, or there cannot be such a port. FAB-47
 */
int vb_hca_set_port_cct(struct vb_hca *h, uint8_t port, const struct vb_cct_rules *rules);
const struct vb_cct_rules *vb_hca_cct(const struct vb_hca *h, uint8_t port); /* or NULL */
/* Where the index of a QP of the port has been at most. */
uint16_t vb_hca_cct_index_max(const struct vb_hca *h, uint8_t port);
/* The controller of a QP, up to date, for reading. */
const struct vb_cc *vb_qp_cc(struct vb_qp *qp, vb_time now);
/* CC_RATE_MEM of a QP; the algorithm, where it is on, overwrites it at its next step. CC-46 */
void vb_qp_set_cc_rate(struct vb_qp *qp, uint16_t units, vb_time now);
/* While set, no send WQE is begun; a WQE that was begun goes on. CC-47 */
void vb_qp_set_sq_arb_mask(struct vb_qp *qp, bool masked);

/*
 * A QP for its registers (reg/csr/csr.h): between the two calls, which belong together, @to->ctl
 * and what else is not const may be written; the second makes it take effect.
 */
struct vb_cc_access {
	struct vb_cc *ctl;
	const struct vb_cc_settings *set; /* of the QP's port */
	uint32_t qpn;
	enum vb_qp_state state;
	bool runs; /* in a state in which it has a controller */
	bool sq_arb_mask;
	uint8_t extended_retry_count; /* of the QP; 0: the adapter's. REG-18 */
};
void vb_qp_cc_open(struct vb_qp *qp, struct vb_cc_access *to);
void vb_qp_cc_close(struct vb_qp *qp, const struct vb_cc_access *from);
/* Gives the QP a recorder, which it keeps. 0 or -ENOMEM. */
int vb_qp_cc_make_recorder(struct vb_qp *qp);

/* The events that are emitted from now on: bits by enum vb_trace_id. */
void vb_hca_set_trace(struct vb_hca *h, uint64_t mask);

/* Packet in. The verdict is data (counted and traced), never an error of the call. */
enum vb_verdict vb_hca_handle_packet(struct vb_hca *h, const struct vb_rx *rx, vb_time now);

/*
 * Hints that change nothing: a packet that begins with the @len bytes at @bth is about to be
 * handled, or vb_hca_poll_transmit() about to be called. They bring into the cache what will be
 * needed, for a caller that has something else to do until then.
 */
void vb_hca_expect_packet(const struct vb_hca *h, const uint8_t *bth, size_t len);
/* The same, some time before: the table entry that leads to the QP. */
void vb_hca_expect_number(const struct vb_hca *h, const uint8_t *bth, size_t len);
/* The QP that sends next, and some time after it, the WQE that it sends. */
void vb_hca_expect_transmit(const struct vb_hca *h);
void vb_hca_expect_wqe(const struct vb_hca *h);

/* Packets out: appends to @b what may leave at @now, as far as there is room. Returns b->cnt. */
uint32_t vb_hca_poll_transmit(struct vb_hca *h, struct vb_tx_batch *b, vb_time now);

/* True while vb_hca_poll_transmit() may have packets. */
bool vb_hca_has_transmit(const struct vb_hca *h);

/* The earliest instant at which vb_hca_handle_timeout() has work, or VB_NEVER. */
vb_time vb_hca_poll_timeout(const struct vb_hca *h);

/*
 * The caller did not run for @gap ns that have just ended: it was stopped, or not scheduled. ACK
 * timers that are due fire all the same, but what the peer is given up for leaves this time out.
 * Before packets and timers of the same @now.
 */
void vb_hca_add_gap(struct vb_hca *h, vb_dur gap);

/* Fires what is due at @now. Early and repeated calls are harmless. */
void vb_hca_handle_timeout(struct vb_hca *h, vb_time now);

bool vb_hca_poll_event(struct vb_hca *h, struct vb_event *ev);

/* Protection domains. */
int vb_pd_create(struct vb_hca *h, struct vb_pd **out);
int vb_pd_destroy(struct vb_pd *pd);

/*
 * Memory regions. Those of kind HOST: @length bytes that remote and local work names @iova and that
 * are at @host, or that have no bytes when @host is NULL. One of kind IMPLICIT is all memory there
 * is, named by its addresses. One of kind NULL gives zeros and drops what it is given; it has no
 * R_Key. Of those two, @access matters alone. One with a @lease is of somebody else who may take it
 * back: its keys name nothing once *lease is not @leased any more. -EINVAL: REMOTE_WRITE or
 * REMOTE_ATOMIC without LOCAL_WRITE, or the range wraps (IBT-83).
 */
enum vb_mr_kind { VB_MR_HOST, VB_MR_IMPLICIT, VB_MR_NULL };
struct vb_mr_attr {
	uint64_t iova, length;
	void *host;
	uint32_t access; /* set of enum vb_access */
	enum vb_mr_kind kind;
	const uint32_t *lease; /* NULL: none */
	uint32_t leased;
};
int vb_mr_create(struct vb_pd *pd, const struct vb_mr_attr *attr, struct vb_mr **out);
/* Other rights, another PD, the same keys. -EINVAL: the rights; -EBUSY: windows are bound to it. */
int vb_mr_modify(struct vb_mr *mr, struct vb_pd *pd, uint32_t access);
int vb_mr_destroy(struct vb_mr *mr);
uint32_t vb_mr_lkey(const struct vb_mr *mr);
uint32_t vb_mr_rkey(const struct vb_mr *mr);
/*
 * Where [addr, addr + length) of the region with ON_DEMAND that @lkey names is, for bringing it in.
 * -ENOENT: no such key; -EFAULT: out of its bounds; -EPERM: another PD's, or not writable if
 * @write; -EINVAL: not on demand, or no region.
 */
int vb_mr_locate(const struct vb_pd *pd, const struct vb_sge *sge, bool write, void **p);
/*
 * Copies the first @len bytes of what was written to the SGEs. 0; -EACCES: a key, PD, bound or
 * right is wrong; -EMSGSIZE: they are shorter; -EFAULT: the memory is gone, or the region has no
 * bytes.
 */
int vb_mem_read_back(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, void *to,
		     uint32_t len);

/*
 * Memory windows of type 1 or 2, unbound. They are bound by a BIND_MW work request: rkey is the
 * window's present key, imm the L_Key of the region, remote_addr and swap the range (0 bytes
 * unbind one of type 1), compare_add the rights (set of enum vb_access) << 32 | vb_mw_bind_key().
 * With ZERO_BASED, type 2 only, the peer's addresses begin at 0.
 */
int vb_mw_create(struct vb_pd *pd, uint8_t type, struct vb_mw **out);
int vb_mw_destroy(struct vb_mw *mw);
uint32_t vb_mw_rkey(const struct vb_mw *mw);

/*
 * Where a queue keeps its entries may be the caller's memory: vb_*_ring_size() says how many bytes,
 * vb_*_place_ring() moves the entries there; @mem is aligned to 64 bytes and stays there until the
 * object is destroyed, even where a later resize stops using it.
 */
size_t vb_cq_ring_size(const struct vb_cq *cq);
void vb_cq_place_ring(struct vb_cq *cq, void *mem);
size_t vb_srq_ring_size(const struct vb_srq *srq);
void vb_srq_place_ring(struct vb_srq *srq, void *mem);
size_t vb_qp_ring_size(const struct vb_qp *qp); /* of both queues; 0: it has none */
void vb_qp_place_ring(struct vb_qp *qp, void *mem);

/* Completion queues. @cqe is rounded up to a power of two; a full queue is an overrun: async
 * CQ_ERR, and the QPs on it go to ERR, each other one when it has a completion for it
 * (IBA 11.6.3.3). */
int vb_cq_create(struct vb_hca *h, uint32_t cqe, void *owner, struct vb_cq **out);
int vb_cq_resize(struct vb_cq *cq, uint32_t cqe);
int vb_cq_destroy(struct vb_cq *cq);
uint32_t vb_cq_size(const struct vb_cq *cq);
uint32_t vb_cq_number(const struct vb_cq *cq);
/* Takes up to @cnt completions. Returns how many, or -EOVERFLOW after an overrun. */
int vb_cq_poll(struct vb_cq *cq, struct vb_wc *wc, int cnt);
bool vb_cq_is_empty(const struct vb_cq *cq);
/* One CQ_NOTIFY for the next entry (or the next solicited or erroneous one). */
void vb_cq_arm(struct vb_cq *cq, bool solicited_only);
/* An armed CQ has what it was armed for already: its CQ_NOTIFY is due. */
void vb_cq_tell(struct vb_cq *cq);
/*
 * A second form of a CQ's entries, which somebody reads who does not poll. added() is told each
 * entry and its place, which counts freely, before the entry can be read, and may change its
 * wr_id; taken() says up to which place entries have been read there, and gets what is known so
 * far; polled() up to where they were polled; moved() that one is at @to now, and cut() that there
 * are none from @tail to @was any more.
 */
struct vb_cq_mirror {
	void (*added)(struct vb_cq_mirror *m, uint32_t place, struct vb_wc *wc, bool solicited);
	uint32_t (*taken)(struct vb_cq_mirror *m, uint32_t head, uint32_t tail);
	void (*polled)(struct vb_cq_mirror *m, uint32_t head);
	void (*moved)(struct vb_cq_mirror *m, uint32_t from, uint32_t to);
	void (*cut)(struct vb_cq_mirror *m, uint32_t tail, uint32_t was);
	/* Nobody polls: entries of a QP that is destroyed stay, as their reader counts them. */
	bool is_read_elsewhere;
};
void vb_cq_set_mirror(struct vb_cq *cq, struct vb_cq_mirror *m);
/* The places of the oldest entry and of the next one. */
uint32_t vb_cq_head(const struct vb_cq *cq);
uint32_t vb_cq_tail(const struct vb_cq *cq);
/*
 * Moderation: the CQ_NOTIFY waits until @cnt entries have come that it was armed for, or @period
 * after the first of them. @cnt or @period 0, @cnt 1: it does not wait, which is how a CQ begins.
 */
void vb_cq_moderate(struct vb_cq *cq, uint16_t cnt, vb_dur period, vb_time now);

/*
 * Receives that lie in memory of a program's until they are needed: fetch() posts those that are
 * new by vb_rq_fetched(), which returns false when the queue is full, and the rest is for later.
 */
struct vb_rq;
struct vb_rq_source {
	void (*fetch)(struct vb_rq_source *s, struct vb_rq *rq);
};
void vb_qp_set_source(struct vb_qp *qp, struct vb_rq_source *s);
void vb_srq_set_source(struct vb_srq *srq, struct vb_rq_source *s);
bool vb_rq_fetched(struct vb_rq *rq, const struct vb_recv_wr *wr);
/*
 * The list of receives that a program has written is none: async SRQ_ERR, and nothing is fetched or
 * posted any more. Receives that are there are used up; then a QP that needs one ends (QP_FATAL),
 * and its peer hears of a remote operational error. IBA 10.2.9, 11.6.3.3
 */
void vb_srq_fail(struct vb_srq *srq);
/* Looks for new ones now: those of a QP in ERR are flushed. */
void vb_qp_fetch(struct vb_qp *qp, vb_time now);

/* Shared receive queues. @limit arms SRQ_LIMIT_REACHED once, 0 disarms. */
int vb_srq_create(struct vb_pd *pd, uint32_t wr_max, uint32_t sge_max, uint32_t limit, void *owner,
		  struct vb_srq **out);
int vb_srq_set_limit(struct vb_srq *srq, uint32_t limit);
int vb_srq_resize(struct vb_srq *srq, uint32_t wr_max);
void vb_srq_query(const struct vb_srq *srq, uint32_t *wr_max, uint32_t *sge_max, uint32_t *limit);
int vb_srq_destroy(struct vb_srq *srq);
int vb_srq_post(struct vb_srq *srq, const struct vb_recv_wr *wr);
uint32_t vb_srq_number(const struct vb_srq *srq);

/*
 * XRC domains: their target QPs (VB_QPT_XRC_TGT) serve requests for any SRQ of the domain, which
 * the peer names by its number. Receives complete in the CQ of the SRQ, with src_qpn, and keys are
 * checked in the PD of the SRQ. A domain with SRQs or targets is in use; so is a CQ with SRQs. An
 * SRQ may be destroyed while a message for it arrives: the message is refused. IBA A14; IBT-22
 */
struct vb_srq_cap {
	uint32_t wr_max, sge_max;
};
int vb_xrcd_create(struct vb_hca *h, struct vb_xrcd **out);
int vb_xrcd_destroy(struct vb_xrcd *x);
/* The errors of vb_srq_create(). The number is one of the 2^24 that the configuration gives. */
int vb_xrc_srq_create(struct vb_pd *pd, struct vb_xrcd *x, struct vb_cq *cq,
		      const struct vb_srq_cap *cap, void *owner, struct vb_srq **out);
/* The target QP @qpn of the domain, or NULL. */
struct vb_qp *vb_xrcd_target(const struct vb_xrcd *x, uint32_t qpn);

/*
 * Domains of several HCAs. Those of one host whose domains have the same name, which is not 0, are
 * one domain: a target serves the SRQs of all of them, and each HCA executes what is for its own.
 * The messages for that go by vb_hca_config.xrc_send. core/share/migration.h
 */
struct vb_xrcd_name {
	uint64_t dev, ino;
};
void vb_xrcd_share(struct vb_xrcd *x, const struct vb_xrcd_name *name);

/*
 * A target may be open in several of these HCAs. It is made by one, where it lives as long as any
 * of them has it: vb_qp_destroy() there leaves a target alone that others have open, and
 * vb_xrcd_destroy() its domain. The others have a handle each, a QP that vb_xrcd_target() finds by
 * the number of the target, and that vb_qp_destroy() closes. Events of the target are raised for
 * its handles, and VB_ASYNC_QP_FATAL when its HCA is gone. Nothing but this can be done with a
 * handle; queries and changes of the target are asked of its HCA. core/share/open.h
 */
bool vb_qp_is_handle(const struct vb_qp *qp);
/* The number is one of another HCA that may be asked. */
bool vb_xrc_is_elsewhere(const struct vb_xrcd *x, uint32_t qpn);
struct vb_xrc_ask {
	/* in: */
	bool opens;    /* a handle is to be made; else there is one */
	uint32_t mask; /* as for vb_qp_modify(), of what is to be set; 0: nothing */
	/* in: the values; out, with err 0: as the target was when it answered, or, when it is gone,
	 * when it was last heard of, in ERR */
	struct vb_qp_attr attr;
	/* out: -EINPROGRESS: no answer yet; 0; -ENOENT: there is no such target in the domain; what
	 * vb_qp_modify() says; -EIO: the target is gone, and nothing can be set; -ENOMEM; -EPROTO:
	 * no HCA answers that. */
	int err;
	struct vb_list link; /* from here on the core's */
	struct vb_xrcd *xrcd;
	uint32_t qpn, serial, events;
};
/* Begins to ask; vb_xrc_ask_again() sends the question, as often as it is called while there is no
 * answer, which changes nothing twice. Each ends by vb_xrc_ask_end(). */
void vb_xrc_ask_begin(struct vb_xrc_ask *ask, struct vb_xrcd *x, uint32_t qpn);
void vb_xrc_ask_again(struct vb_xrc_ask *ask);
void vb_xrc_ask_end(struct vb_xrc_ask *ask);
/* Somebody is about to open the target: to be waited for. */
bool vb_xrc_is_opening(const struct vb_xrcd *x, uint32_t qpn);
/* After an @ask that opens was answered with 0, and before it ends. The errors of vb_qp_create().
 * The handle has no owner yet. */
int vb_xrc_handle_create(const struct vb_xrc_ask *ask, struct vb_qp **out);

/* No message is longer. */
#define VB_XRC_MSG_MAX 12288u
/* A message from the HCA whose process slot is @peer, in 8-aligned memory. 0, or
 * -EPROTO: no HCA sends that. */
int vb_xrc_take_message(struct vb_hca *h, uint32_t peer, const void *msg, size_t len, vb_time now);
/* Goes on with what had to wait; true while something still waits. */
bool vb_xrc_run(struct vb_hca *h, vb_time now);
bool vb_xrc_waits(const struct vb_hca *h);
/* About once a second: checks that every HCA we share a target with is there. State that was idle
 * since the last time goes back; at the end, all of it does. */
void vb_xrc_probe(struct vb_hca *h, vb_time now);
void vb_xrc_give_back(struct vb_hca *h, vb_time now);

/*
 * Dynamically connected transport. A target (VB_QPT_DCT) has an SRQ and serves all initiators that
 * know its key. An initiator (VB_QPT_DCI) names target, key and stream in each work request. An
 * error is the QP's, but of an initiator with streams the stream's, whose later work is flushed
 * until vb_dci_reset_stream(); one error more than allowed is the QP's. Streams are ordered one by
 * one, and so are their completions. docs/dc.md; IBT-25
 */
#define VB_DC_LOG_STREAMS_MAX 4u
#define VB_DC_LOG_ERRORED_MAX 8u
struct vb_dc_init {
	uint64_t key;        /* DCT */
	uint8_t log_streams; /* DCI: 2^this streams run side by side; 0: it has no streams */
	uint8_t log_errored; /* DCI: 2^this streams in error are an error of the QP */
	bool full_handshake; /* DCI: requests wait for the answer to the connect... */
	bool by_adapter;     /* ... or do without dc_half_handshake_en, whatever that says */
};
/* -EINVAL: the stream is not in error. */
int vb_dci_reset_stream(struct vb_qp *qp, uint16_t stream);

/* Queue pairs. */
struct vb_qp_init {
	enum vb_qp_type type;
	struct vb_cq *send_cq; /* NULL for XRC_TGT */
	struct vb_cq *recv_cq; /* NULL for XRC_INI and XRC_TGT */
	/* Of any PD. NULL: the QP has its own receive queue, if its type has one */
	struct vb_srq *srq;
	struct vb_xrcd *xrcd; /* XRC_TGT only */
	struct vb_dc_init dc; /* DCI and DCT */
	uint8_t port;         /* GSI: the port of this QP1; -EBUSY: it has one */
	struct vb_qp_cap cap; /* in: wanted; out: given (>= wanted) */
	bool sq_sig_all;
	void *owner;
};
/* @pd is NULL for XRC_TGT. */
int vb_qp_create(struct vb_pd *pd, struct vb_qp_init *init, struct vb_qp **out);
int vb_qp_modify(struct vb_qp *qp, const struct vb_qp_attr *attr, uint32_t mask, vb_time now);
void vb_qp_query(const struct vb_qp *qp, struct vb_qp_attr *attr);
int vb_qp_destroy(struct vb_qp *qp);
/* The QP with this number, which may be any, but no QP1; NULL: there is none. */
struct vb_qp *vb_qp_find(const struct vb_hca *h, uint32_t qpn);
/*
 * Extensions of RC that do nothing unless both ends have them. vb_qp_extensions() tells what the QP
 * offers or, before RTR, will offer on @port; vb_qp_allow_extensions() makes it offer none but
 * those in @mask, until RESET. -EINVAL: it is beyond INIT.
 */
#define VB_EXTENSION_SELECTIVE_REPEAT 1u
uint32_t vb_qp_extensions(const struct vb_qp *qp, uint8_t port);
int vb_qp_allow_extensions(struct vb_qp *qp, uint32_t mask);
/*
 * Request packets of the QP leave at @kbps at most, 1000 bits a second of BTH through ICRC, after a
 * pause @burst bytes at once; 0: a burst of the HCA's choice. @kbps 0: no limit, which is how a QP
 * begins. -EINVAL: out of the range, a target of XRC or DC, an initiator with streams, which has no
 * rate of its own, or the QP is not in RTR, RTS or SQD.
 * RESET ends it.
 */
#define VB_RATE_KBPS_MIN 1000
#define VB_RATE_KBPS_MAX 400000000
int vb_qp_set_rate(struct vb_qp *qp, uint32_t kbps, uint32_t burst, vb_time now);
uint32_t vb_qp_rate(const struct vb_qp *qp);
/*
 * A UD QP joins or leaves a multicast group of the HCA; joining the network's is the caller's
 * matter. -EINVAL: not UD, no multicast GID, or not attached; -EEXIST: attached already; -ENOMEM: a
 * limit. While it is attached, vb_qp_destroy() gives -EBUSY. @lid: the multicast LID of a group on
 * InfiniBand, 0 elsewhere.
 */
int vb_qp_attach_mcast(struct vb_qp *qp, const struct vb_gid *gid, uint16_t lid);
int vb_qp_detach_mcast(struct vb_qp *qp, const struct vb_gid *gid, uint16_t lid);
/* A group that the QP is attached to; false: it is in none. */
bool vb_qp_mcast_group(const struct vb_qp *qp, struct vb_gid *gid, uint16_t *lid);
uint32_t vb_qp_number(const struct vb_qp *qp);
/* The owner that events name. */
void *vb_qp_owner(const struct vb_qp *qp);
void vb_qp_set_owner(struct vb_qp *qp, void *owner);
enum vb_qp_state vb_qp_get_state(const struct vb_qp *qp);
enum vb_qp_type vb_qp_get_type(const struct vb_qp *qp);
/* Posts one work request. -EINVAL: the request can never be right in this state or on this QP;
 * -ENOMEM: the queue is full. An error found later is a completion. */
int vb_qp_send_check(const struct vb_qp *qp, const struct vb_send_wr *wr); /* 0 or -EINVAL only */
int vb_qp_post_send(struct vb_qp *qp, const struct vb_send_wr *wr, vb_time now);
int vb_qp_post_recv(struct vb_qp *qp, const struct vb_recv_wr *wr, vb_time now);
/*
 * A completion counter: the work done, in work requests or in bytes, and how many work requests
 * failed. Both wrap. The caller's, which keeps it while use_cnt is above 0. ibv_create_comp_cntr(3)
 */
struct vb_comp_cntr {
	uint64_t done, failed;
	bool counts_bytes;
	uint32_t use_cnt; /* kinds of work, of all QPs */
};
enum vb_counted {
	VB_COUNTED_SEND,
	VB_COUNTED_RECV,
	VB_COUNTED_READ,
	VB_COUNTED_WRITE,
	VB_COUNTED_CNT
};
/*
 * Counts work of the kinds @which, bits 1 << enum vb_counted, until the QP is destroyed. -EINVAL:
 * it is neither in RESET nor in INIT; -EBUSY: one of them has a counter; -EOPNOTSUPP: no such kind,
 * DC, or an XRC target.
 */
int vb_qp_attach_comp_cntr(struct vb_qp *qp, struct vb_comp_cntr *c, uint32_t which);
/*
 * The same as vb_qp_post_send() for a request that was found to be no good before it came here: it
 * takes its turn in the queue and completes with @status. Of @wr only wr_id, opcode and dc_stream
 * matter.
 */
int vb_qp_post_failed(struct vb_qp *qp, const struct vb_send_wr *wr, enum vb_wc_status status,
		      vb_time now);
/* Send work requests that can still be posted. */
uint32_t vb_qp_send_room(const struct vb_qp *qp);
/* Request packets sent and not yet acknowledged. */
uint32_t vb_qp_unacked(const struct vb_qp *qp);

#endif
