/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a case that is being played, and the model that judges it. The model knows of every
 * work request what must be true of it at each moment: the statuses that it may end with, whose
 * turn it is, and which bytes it may have moved. Trouble that is no mistake (a peer that is gone,
 * an earlier error) is recorded when it happens and allows exactly its statuses.
 */
#ifndef VB_TESTS_PROPERTY_SEQUENCE_PLAY_H
#define VB_TESTS_PROPERTY_SEQUENCE_PLAY_H

#include "core/view.h"
#include "sim/sim.h"
#include "steps.h"

#include <string.h>

#define CANARY 0xc5
#define HOSTS_MAX 16
#define SGES_MAX 4
#define CELLS 4        /* for atomics, 8 bytes each, at the start of a region */
#define PATTERN_AT 64u /* then bytes that READs read */
#define PATTERN_LEN 9216u
#define REGION_BYTES 131072u
/* At the end of both: bytes that only requests touch which go on into those that are away. */
#define SCRATCH_AT (REGION_BYTES - AWAY_BYTES - 9216u)
#define AWAY_AT (REGION_BYTES - AWAY_BYTES)
#define AWAY_BYTES 9728u
#define SRQ_WRS 64u
#define XRC_WRS 32u
#define SRQ_SLOT 9216u
#define FAIR_HITS 5u /* faults with at most so many hits in all leave retry_cnt 7 enough */

/* How memory is registered: what its addresses mean, and whether it is there. */
enum mem_kind {
	MEM_PLAIN,
	MEM_ZERO_BASED,
	MEM_ON_DEMAND,
	MEM_PAGED_ZERO_BASED, /* both */
	MEM_IMPLICIT,         /* in a region of all memory, of which there is what is registered */
	MEM_LEASED,           /* of somebody else, who may take it back */
	MEM_KINDS
};

/* Bytes of on-demand memory that are away. */
enum hole_kind { HOLE_NONE, HOLE_AWAY, HOLE_READ_ONLY };
struct hole {
	uint32_t at, len;
	uint8_t kind;  /* enum hole_kind */
	uint8_t *copy; /* the bytes that it must hold; NULL: not looked at */
};

/* Registered memory with guards; given out from the start to the end. */
struct mem {
	uint8_t *block, *base;
	uint32_t size, used, limit, host; /* limit: given out before the end of a case */
	uint64_t iova, number;            /* number: no other has it */
	uint8_t kind;                     /* enum mem_kind */
	struct hole hole;
	uint32_t lkey, rkey;
	struct vb_mr *mr;
	uint8_t *frozen; /* its bytes when it was deregistered, which it must hold ever after */
};

/* A buffer of a work request. */
struct buf {
	uint32_t off, span, len, sge_cnt;
	uint32_t nulls; /* bits of the pieces that are in the null region: zeros, and no memory */
	struct vb_sge sge[SGES_MAX];
};

/* The range that a window is bound to. */
struct bind {
	uint64_t start, len;      /* len 0: to nothing */
	uint32_t mr, access, qpn; /* mr: slot; MRS_MAX: another region */
};

/*
 * A request that aims at a region or window of a slot, or works on a window: what it must end with
 * if what it names does not change meanwhile, and where its bytes are.
 */
struct aim {
	uint8_t target;                 /* as in POST_TARGET; 0: none */
	uint32_t mr_change, mr_allowed; /* play.mr_change when posted; statuses, for a region */
	struct bind bind;               /* a bind: to what */
	uint32_t mw_change, mw_made, mw_allowed; /* window.c */
	bool mw_known, paged;                    /* paged: refused for a page alone */
	uint8_t mw_slot;                         /* MWS_MAX: not known which */
	bool is_placed, alone;                   /* alone: nobody else may write there meanwhile */
	uint8_t slot;                            /* where its bytes are */
	uint32_t off, turn;                      /* turn: value of play.turn when posted */
};

/* Requests that write to slots and are under way, or may still be. */
struct writer {
	uint32_t cnt;
	bool strays;
};

/* A posted send work request. */
struct sent {
	struct buf buf;
	uint64_t id;             /* its bytes are those of this number */
	uint64_t old, add, swap; /* atomics: the value it must return, and its operands */
	uint32_t off;            /* in the peer's region: WRITE, READ, atomics */
	uint32_t imm;
	uint32_t epoch_in; /* recv_life of the peer when posted */
	uint32_t reads;    /* READ: the sent whose bytes it reads, plus one; 0: the pattern */
	uint32_t recvs;    /* message: the receive that it takes, counted since the connection */
	uint32_t bytes;    /* length, unless an atomic */
	struct aim aim;
	uint8_t op, defect, target, result; /* result: enum vb_wc_status */
	uint8_t group;                      /* UD: to this one, plus one; 0: to the peer */
	uint8_t flush;                      /* set of enum vb_flush */
	uint8_t srq;                        /* XRC: the peer's, enum srq_of_host */
	uint32_t srq_life;                  /* which of them it named */
	bool signaled, done, void_, marker;
};

struct posted {
	struct buf buf;
	uint8_t defect;
	bool done;
};

struct conn;

/* The object that an event names. */
struct owner {
	struct end *end;
	bool is_tgt;
	struct dci *dci; /* or ... */
	struct dct *dct;
};

/* One QP of a connection, or (XRC) an initiator and a target. */
struct end {
	struct conn *conn;
	struct vb_qp *qp;  /* NULL: destroyed */
	struct vb_qp *tgt; /* XRC: the receiver; qp is the initiator */
	struct owner owner, tgt_owner;
	void *ring; /* lent for the queues of qp */
	uint32_t host, side;
	struct mem local, region;
	struct sent *sent;
	uint32_t sent_cnt, sent_cap, retired, epoch; /* epoch: the first since the connection */
	uint32_t unsignaled;                         /* since the last signaled */
	struct posted *recv;
	uint32_t recv_cnt, recv_cap, recv_done, recv_epoch;
	uint32_t messages;  /* that take a receive of the peer, since the connection */
	uint32_t recv_life; /* counts its lives */
	uint64_t pattern;
	uint32_t qpn;     /* of qp */
	uint32_t in_next; /* the peer's sent that may arrive next */
	/* UD: groups that it is in; messages to them that came from other hosts: received, and that
	 * had to be and could be; the sent of each end that may arrive next. */
	uint32_t groups, group_got, group_must, group_may;
	/* Of each group and sender the next message. Groups may go different ways, so that messages
	 * of one sender to two of them overtake each other. */
	uint32_t group_in[GROUPS][2 * CONNS_MAX];
	uint64_t cell[CELLS], cell_start[CELLS];
	struct writer writer;
	/* The conditions that allow errors. */
	bool is_refused;           /* the peer has refused a request */
	bool moved, failed, hurts; /* put into ERR; a request failed; posted what hurts the peer */
	bool tgt_moved;            /* XRC: the target was put into ERR */
	bool was_dead, spoilt;     /* not able to receive for a while; a receive of it is bad */
	bool drained;              /* SQD, and everything that was sent is acknowledged */
	bool ended;                /* put into ERR or RESET, or destroyed */
	bool fatal, last_wqe;      /* events */
	/* On the wire, of the first life of the connection. */
	uint32_t psn_start, psn_next, ack_psn, ack_msn, wire_messages;
	bool acked;
};

struct conn {
	bool exists, first_life, unsure; /* unsure: packets of a former life may arrive */
	bool reliable, is_xrc;
	/* Every request is signaled; the queues are in memory that was lent; offers no extensions.
	 */
	bool sig_all, lends, is_plain;
	uint32_t type, mtu, depth, recvs, rnr, srq, mtu_bytes;
	const struct step *step;
	struct end end[2];
};

struct queue {
	struct vb_cq *cq;
	void *ring;             /* lent */
	vb_time nap_until;      /* nobody looks before */
	bool untold;            /* has looked without an event, which may still come */
	bool moderated;         /* told of some completions later */
	bool awaits, solicited; /* solicited: told of such completions alone, and of errors */
	bool overrun, lost;     /* an event said so; all is taken that came before */
};

/* The SRQs of a host. */
enum srq_of_host {
	SRQ_PLAIN,
	SRQ_XRC,      /* of the XRC domain that its targets belong to */
	SRQ_XRC_TOO,  /* another one */
	SRQ_XRC_AWAY, /* another one, of a PD in which the targets' peers have no keys */
	SRQS
};

struct srq {
	struct vb_srq *srq;
	struct mem mem;
	struct posted *recv;       /* wrs slots */
	uint32_t wrs, max, posted; /* max: the size it was resized to */
	uint32_t limit, cnt;       /* armed; in the queue when it was last looked at */
	uint32_t life;             /* counts those that were destroyed */
	void *ring;                /* lent */
};

struct window {
	struct vb_mw *mw;
	uint32_t host, rkey, type;
	struct bind bind;
	uint32_t busy, change; /* operations on it that are under way; that were begun or ended */
	uint32_t made;         /* counts the windows of this slot */
	bool unsure;           /* one ended without saying whether it was carried out */
};

struct play {
	const struct sequence *s;
	struct vb_sim_topo topo;
	struct vb_sim *sim;
	struct vb_sim_memory memory;
	uint64_t alloc_cnt;
	uint32_t hosts, at; /* at: the step */
	struct queue queue[HOSTS_MAX];
	struct srq srq[HOSTS_MAX][SRQS];
	struct vb_xrcd *xrcd[HOSTS_MAX], *other_xrcd[HOSTS_MAX];
	struct vb_srq *other_srq[HOSTS_MAX]; /* of the other domain */
	struct conn conn[CONNS_MAX];
	struct mem mr[MRS_MAX];
	struct mem *dead; /* regions that were deregistered */
	uint32_t dead_cnt, mr_change, access[MRS_MAX];
	bool is_away[MRS_MAX];         /* in that PD */
	uint32_t turn;                 /* counts the requests that may write to slots */
	struct dc *dc;                 /* NULL: none yet */
	struct vb_pd *away[HOSTS_MAX]; /* where a region is out of the QPs' reach */
	struct vb_mr *null[HOSTS_MAX]; /* gives zeros and drops what it is given */
	uint32_t lease;                /* counts how often leased memory was taken back */
	struct window mw[MWS_MAX];
	uint64_t next_iova;
	uint32_t hits; /* that faults may have made, at most */
	bool wild;     /* more than FAIR_HITS */
	bool disorder; /* packets may arrive twice or late */
	bool ending, verbose;
	struct play_count count;
};

#define CHECK(kind, cond)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail(kind, "%s:%d: not true: %s", __FILE__, __LINE__, #cond);              \
	} while (0)

/* wr_id: whose it is, and its number. */
#define ID_RECV (UINT64_C(1) << 62)
#define ID_SRQ (UINT64_C(1) << 61)
#define ID_DC (UINT64_C(1) << 60)
#define ID_OF(conn, side, n) ((uint64_t)(conn) << 40 | (uint64_t)(side) << 39 | (n))

static inline struct end *peer_of(struct end *e)
{
	return &e->conn->end[!e->side];
}

/* The QP that its peer sends to. */
static inline struct vb_qp *receiver_of(const struct end *e)
{
	return e->conn->is_xrc ? e->tgt : e->qp;
}

static inline bool takes_receive(uint8_t op)
{
	return op == VB_WR_SEND || op == VB_WR_SEND_IMM || op == VB_WR_SEND_INV ||
	       op == VB_WR_RDMA_WRITE_IMM;
}

static inline bool is_write(uint8_t op)
{
	return op == VB_WR_RDMA_WRITE || op == VB_WR_RDMA_WRITE_IMM || op == VB_WR_ATOMIC_WRITE;
}

/* 8 bytes at a multiple of 8. */
static inline bool is_aligned(uint8_t op)
{
	return op == VB_WR_COMPARE_SWAP || op == VB_WR_FETCH_ADD || op == VB_WR_ATOMIC_WRITE;
}

/* Ends with an answer of its own. */
static inline bool is_answered(uint8_t op)
{
	return op == VB_WR_RDMA_READ || is_aligned(op) || op == VB_WR_FLUSH;
}

/* Names an address of the peer. */
static inline bool is_remote(uint8_t op)
{
	return is_write(op) || is_answered(op);
}

/* Its key is looked at. */
static inline bool needs_key(uint8_t op, uint32_t bytes)
{
	return is_remote(op) && (bytes || op == VB_WR_FLUSH);
}

static inline bool is_atomic(uint8_t op)
{
	return op == VB_WR_COMPARE_SWAP || op == VB_WR_FETCH_ADD;
}

/* Byte @i of the data with number @id. */
static inline uint8_t byte_of(uint64_t id, uint32_t i)
{
	return (uint8_t)(id * 0x9d + (id >> 8) * 0x35 + i * 7 + (i >> 8) * 0x3b);
}

/* Byte @i of a message from buffer @src, NULL: any, with number @id. */
static inline uint8_t sent_byte(const struct buf *src, uint64_t id, uint32_t i)
{
	for (uint32_t k = 0, at = 0; src && src->nulls >> k; at += src->sge[k++].length)
		if (src->nulls >> k & 1 && i - at < src->sge[k].length)
			return 0;
	return byte_of(id, i);
}

static inline bool mem_is_paged(const struct mem *m)
{
	return m->kind == MEM_ON_DEMAND || m->kind == MEM_PAGED_ZERO_BASED ||
	       m->kind == MEM_IMPLICIT;
}

/* Nothing was written there. */
static inline bool is_canary(const uint8_t *p, uint32_t len)
{
	return len == 0 || (*p == CANARY && memcmp(p, p + 1, len - 1) == 0);
}

/* Registered, and around @at. */
static inline bool mem_has(const struct mem *m, const uint8_t *at)
{
	return m->mr && at >= m->base && at < m->base + m->size;
}

/* memory.c */
void *play_alloc(size_t size);
void *play_lend(size_t size); /* for a ring, full of what must not matter */
void mem_open(struct play *p, struct mem *m, uint32_t host, uint32_t size, uint32_t access);
void mem_open_as(struct play *p, struct vb_pd *pd, struct mem *m, uint32_t size, uint32_t access,
		 enum mem_kind kind);
uint32_t kind_access(enum mem_kind kind); /* the flags of a registration besides the rights */
/* Half of all memory is registered as ever. */
enum mem_kind mem_kind_of(uint32_t salt);
/* Of on-demand memory: from now on, another range is away, or none. @kept: which is looked at. */
void mem_hole(struct mem *m, struct hole hole, bool kept);
/* [@at, @at + @len) is in the memory, and there. */
bool mem_is_there(const struct mem *m, uint64_t at, uint64_t len, bool write);
/* As vb_hca_config.page_in, with the play as context. */
int mem_page_in(void *ctx, void *at, size_t len, bool write);
void mem_close(struct mem *m);       /* deregistered already, or its adapter is gone */
void mem_freeze(struct mem *m);      /* as it is being deregistered */
void mem_check(const struct mem *m); /* guards */
void mem_check_frozen(const struct mem *m);
/* A buffer of @len bytes in up to @sges pieces with gaps. False: no room is left. */
bool buf_take(struct mem *m, struct buf *b, uint32_t len, uint32_t sges, uint32_t salt);
/* Some pieces become pieces of the null region with @lkey. */
void buf_null(struct buf *b, uint32_t lkey, uint32_t salt);
void buf_fill(const struct mem *m, const struct buf *b, uint64_t id);

/* The bytes that a message, or a part of one, should have brought. */
struct bytes {
	uint64_t id;
	const struct buf *src; /* where it was sent from; NULL: from no null region */
	uint32_t from, len;
};
/* Behind @skip bytes there are those; and, if @alone, nothing else was written. */
bool buf_holds(const struct mem *m, const struct buf *b, const struct bytes *is, bool alone,
	       uint32_t skip);
/* The bytes at @at, as far as they did not go to the null region. */
bool buf_is(const struct mem *m, const struct buf *b, const uint8_t *at);
/* The same of a region; @whole: else some may be missing. */
bool mem_holds(const struct mem *m, uint32_t off, const struct bytes *is, bool whole);
/* 8 bytes of a buffer; *known: the bits that it has, the others went to the null region. */
uint64_t buf_value(const struct mem *m, const struct buf *b, uint64_t *known);

/* play.c: whose memory is at @at; NULL: it is nobody's. */
const struct mem *play_mem_at(const struct play *p, const uint8_t *at);

/* objects.c: steps about objects. */
void play_connect(struct play *p, const struct step *st);
void play_state(struct play *p, const struct step *st);
void play_reconnect(struct play *p, const struct step *st);
void play_destroy(struct play *p, const struct step *st);
void play_refused(struct play *p, const struct step *st);
/* NULL: there is none, or it is gone, or its queue has overrun. */
struct end *play_end(struct play *p, const struct step *st);

/* queue.c */
void play_cq(struct play *p, const struct step *st);
void play_nap(struct play *p, const struct step *st);
/* Takes completions as a program does: arms, then takes what came before. Not while it naps. */
void host_poll(struct play *p, uint32_t host);
void host_wake(struct play *p, uint32_t host);
void queue_event(void *ctx, uint32_t host, const struct vb_event *ev, vb_time now);
void queue_check(struct play *p, const struct end *e); /* at the end of a case */

/* srq.c */
void srq_make(struct play *p, uint32_t host);     /* the plain one */
void srq_make_xrc(struct play *p, uint32_t host); /* the XRC domain, once */
void srq_destroy(struct play *p, uint32_t host);
void play_srq(struct play *p, const struct step *st);
void play_limit(struct play *p, const struct step *st);
void play_unsrq(struct play *p, const struct step *st);
void srq_look(struct play *p, uint32_t host);
void srq_on_limit(struct play *p, const struct srq *s);
/* For the end of a case: receives for what peers have sent. */
void srq_feed(struct play *p, uint32_t host, enum srq_of_host which);

/* post.c */
void play_post(struct play *p, const struct step *st);
void play_recv(struct play *p, const struct step *st);
void play_bind(struct play *p, const struct step *st);
/* For the end of a case: receives as long as messages want them; a last signaled request. */
void end_feed(struct play *p, struct end *e);
void end_mark(struct play *p, struct end *e);

/* slot.c: regions and windows of slots, and requests that aim at them. */
void play_keys(struct play *p, const struct step *st);
/* Where @host's peer's request with @op for @bytes goes to: @aim, and in @wr address and key. @qp:
 * what serves it, or NULL. @flush: set of enum vb_flush. */
void slot_aim(struct play *p, uint32_t host, const struct vb_qp *qp, struct aim *aim, uint8_t op,
	      uint32_t bytes, uint32_t flush, uint32_t salt, struct vb_send_wr *wr);
/* It may be refused, and then ends a QP: to be posted now and then. */
bool slot_doubts(const struct aim *aim, uint8_t op, uint32_t bytes);
/* The statuses that it may end with. */
uint32_t slot_statuses(const struct play *p, const struct aim *aim, uint8_t op, uint32_t bytes);
void slot_posted(struct play *p, struct aim *aim, uint8_t op, struct writer *who);
/* @status: VB_WC_WR_FLUSH_ERR when nobody told. */
void slot_retired(struct aim *aim, uint8_t op, enum vb_wc_status status, struct writer *who);
/* It has succeeded: its bytes are there, or those that are there were read. @is: of a WRITE. */
void slot_check(const struct play *p, const struct aim *aim, uint8_t op, const struct mem *local,
		const struct buf *b, const struct bytes *is);

/* window.c: predicts a request that is about to be posted, with its key; a posted one is noted in
 * any case. window_says() is false when each outcome is right. @told: by a completion. */
void window_bind(struct play *p, struct end *e, struct sent *w, uint32_t rkey,
		 const struct bind *b);
void window_invalidate(struct play *p, struct end *e, struct sent *w, uint32_t rkey);
void window_access(struct play *p, uint32_t host, const struct vb_qp *qp, struct aim *aim,
		   uint32_t bytes, uint32_t need, const struct vb_send_wr *wr);
void window_posted(struct play *p, struct aim *aim, uint8_t op);
bool window_says(const struct play *p, const struct aim *aim, uint8_t op, uint32_t *statuses);
void window_retired(struct play *p, struct sent *w, bool told);
void window_made(struct window *mw); /* or destroyed */
/* @holds: a window is bound to the region of @slot, which cannot go. False: that is not known. */
bool window_holds(const struct play *p, uint32_t slot, bool *holds);

/* judge.c */
void play_completion(struct play *p, uint32_t host, const struct vb_wc *wc);
void end_check(struct play *p, struct end *e); /* cells and region, at the end of a life */
/* A QP in ERR has told of all that failed: a request without a completion has succeeded. */
void end_settle(struct play *p, struct end *e);
void end_void(struct play *p, struct end *e); /* work under way will never complete */
bool end_lives(const struct end *e);          /* it can receive */

enum vb_wc_opcode wc_opcode_of(uint8_t op);

/* dc.c */
void play_dc_open(struct play *p, const struct step *st); /* STEP_DCT, STEP_DCI */
void play_dc_post(struct play *p, const struct step *st);
void play_dc_state(struct play *p, const struct step *st);
void play_dc_stream(struct play *p, const struct step *st);
void play_dc_recv(struct play *p, const struct step *st);
void dc_event(struct play *p, const struct owner *o, enum vb_async async);
void dc_lose(struct play *p, uint32_t host); /* its CQ has overrun */
void dc_look(const struct play *p);
void dc_resume(struct play *p); /* for the end of a case */
void dc_check(struct play *p);
void dc_tidy(struct play *p);
void dc_free(struct play *p);
bool dc_uses_away(const struct play *p, uint32_t host);               /* the PD */
uint32_t dc_writers(const struct play *p, const struct writer *but);  /* initiators */
const struct mem *dc_mem_at(const struct play *p, const uint8_t *at); /* as play_mem_at() */

/* group.c */
void play_group(struct play *p, const struct step *st);
void group_aim(const struct sent *w, struct vb_ah *ah, struct vb_send_wr *wr);
void group_leave_all(struct end *e); /* before it is destroyed */
/* The sender of the datagram in buffer @b; *group: to which group, plus one; 0: to @e alone. */
struct end *group_sender(struct play *p, struct end *e, const struct mem *m, const struct buf *b,
			 const struct vb_wc *wc, uint32_t *group);
uint32_t *group_next(struct play *p, struct end *e, const struct end *from, uint32_t group);
void group_arrives(struct play *p, uint32_t host, const struct vb_frame *pkt);
void group_check(const struct play *p, const struct end *e);

/* tune.c */
void play_tune(struct play *p, const struct step *st);
void tune_end(struct play *p);                  /* for the end of a case */
struct vb_recovery tune_recovery(uint32_t set); /* of enum world_recovery */
struct vb_cc_settings tune_cc(uint32_t kind, uint64_t rate_bps);

/* wire.c */
void play_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir, const struct vb_frame *pkt,
		 vb_time now);

#endif
