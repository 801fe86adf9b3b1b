/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations of the engine's files: engine.c (its life), run.c (receiving and sending),
 * wait/progress.c (the thread), wait/kick.c (waking it), addr.c (local addresses), backlog.c (a
 * full link), control/settings.c (settings), control/cc.c (congestion control), control/csr.c
 * (registers of QPs), control/explain.c (histories of QPs for `verbena explain`), control/rates.c
 * (how fast they are), wait/idle.c (polls in vain), wait/sleep.c (threads that sleep for an event),
 * wait/watch.c (threads that sleep in poll() or epoll_wait()), gap.c (when the process did not
 * run), flow.c (receivers of this host), mail.c (messages to other processes), xrc.c and
 * target.c (XRC domains of several processes), misrouted.c (packets of other processes).
 */
#ifndef VB_NODE_ENGINE_PRIV_H
#define VB_NODE_ENGINE_PRIV_H

#include "base/cold.h"
#include "base/red.h"
#include "link/link.h"
#include "node/broker/broker.h"
#include "node/engine/engine.h"
#include "node/engine/lock.h"
#include "node/host/clock.h"
#include "wait/tuned.h"
#include "wait/wait.h"

#include <pthread.h>
#include <signal.h>

/* Packets taken from the link at once. */
#define VB_ENGINE_RX_PKTS 128

/* Which HCA port a local address belongs to: open addressing, rebuilt when the devices change. */
#define VB_ADDR_SLOTS 1024 /* a power of two, twice the addresses there can be */

struct vb_addr {
	struct vb_gid gid;
	uint32_t ifindex;
	uint8_t port; /* 0: a free slot */
};

struct vb_addr_table {
	uint16_t generation; /* another one after each change, see link/home.h */
	struct vb_addr last; /* the answer before; packets come in GSO batches of one address */
	struct vb_addr slot[VB_ADDR_SLOTS];
};

/* The same of the path by which a packet of InfiniBand came: its LID is the port's, and its GRH, if
 * it has one, names a GID of it. 0: none. IBA 8.3, 10.6.5 */
uint8_t vb_addr_of_path(const struct vb_host_shm *devices, const struct vb_path *path);

void vb_addr_build(struct vb_addr_table *t, const struct vb_host_shm *host);
/* The port of @gid; for a link-local address the one on @ifindex if there are several. 0: none. */
uint8_t vb_addr_find(struct vb_addr_table *t, const struct vb_gid *gid, uint32_t ifindex);

/*
 * Packets that a full link did not take. They are copied, payload included: the memory they were
 * built from may change or go away before there is room, and to drop them would cost the peer's
 * retransmission timer. At most one batch; nothing new is asked of the HCA until it has left.
 */
struct vb_backlog {
	struct vb_tx_batch batch;
	uint32_t from; /* first packet not sent; == batch.cnt: empty */
	vb_time due;   /* when the link is offered them again */
	struct vb_path path[VB_TX_BATCH_PKTS];
	uint8_t bytes[VB_TX_BATCH_PKTS][VB_PAYLOAD_MAX];
};

VB_COLD void vb_backlog_keep(struct vb_backlog *l, const struct vb_tx_batch *batch, uint32_t from);

static inline bool vb_backlog_is_empty(const struct vb_backlog *l)
{
	return l->from == l->batch.cnt;
}

/* A thread of the program that sleeps for an event; see wait/sleep.c. */
struct vb_sleeper {
	int epoll_fd;                /* for its waits: the link, and these: */
	int wake_fd;                 /* an eventfd: its event is there */
	int signal_fd;               /* ... a signalfd, which shows... */
	uint64_t shown;              /* ... these signals; bit 0 is signal 1 */
	uint32_t sleeps;             /* calls of vb_engine_sleep() */
	bool is_mixed;               /* some handlers end them, others do not */
	const _Atomic uint32_t *seq; /* its event is there when this is no longer... */
	uint32_t seen;               /* ... so */
};

/* The progress thread waits for packets at the wakeup endpoint (link/shm/wakeup.h)... */
enum vb_progress_wakeup {
	VB_WAKEUP_NONE,       /* ... not at all */
	VB_WAKEUP_NAP,        /* ... and for nothing else: senders end its nap */
	VB_WAKEUP_DESCRIPTORS /* ... and for its descriptors */
};

struct vb_progress_thread {
	pthread_t thread;
	bool started, stop;
	int epoll_fd;         /* for its waits on duty: the link, the broker, mail, and this: */
	int kick_fd;          /* an eventfd: look again */
	bool was_kicked;      /* the last wait ended for that */
	_Atomic bool napping; /* waits a moment for the lock; kick_fd ends that */
	enum vb_progress_wakeup wakeup;
	vb_time check_at; /* next look at broker and devices */
};

/* Bytes that may wait in a receive socket of this host, each datagram with VB_FLOW_OVERHEAD. */
struct vb_flow_limits {
	uint32_t alone; /* up to here anybody may add to them... */
	uint32_t most;  /* ... and up to here a process of which none wait yet... */
	uint32_t share; /* ... so many of its own */
	uint32_t gso;   /* the credit that a sender may wait for */
};

/* When a receive socket of this host was last seen to be read. */
struct vb_flow_watch {
	uint64_t taken;
	uint64_t own_read; /* of flow_own.bytes, what was read when last all of it was */
	vb_time since;
	/* The count of what it had answered when we first missed an ACK of it, and the time of
	 * that; 0: we miss none. */
	uint64_t unanswered_at;
	vb_time unanswered_since;
};

/* The function whose settings a port follows, and which change of them. */
struct vb_adopted {
	bool is_set;
	uint32_t epoch, cc_epoch, pf;
	uint32_t cc_first; /* cc_epoch when this process began */
};

/* Congestion control beside what the core does of it. */
struct vb_engine_cc {
	char own[VB_ENGINE_CC_TEXT_MAX]; /* settings that this process began with; empty: none */
	/* An algorithm in place of DCQCN that it began with, of each port; NULL there: none. */
	struct vb_cc_choice choice[VB_HCA_PORTS_MAX + 1];
	bool marks; /* some port's own receive queue marks packets... */
	struct vb_red red[VB_HCA_PORTS_MAX + 1];
	uint32_t kmin; /* the least of those that mark */
	struct vb_rng rng;
	uint32_t depth;                         /* bytes in that queue... */
	vb_time looked;                         /* ... at this time; 0: never seen */
	vb_time abroad;                         /* when another host's packet was met; 0: never */
	struct vb_path path[VB_ENGINE_RX_PKTS]; /* ... and here is what their paths become */
};

/* Kinds of messages between engines. */
enum vb_mail_kind {
	VB_MAIL_XRC,     /* about XRC targets: core/share/migration.h */
	VB_MAIL_PACKETS, /* misrouted.c */
	VB_MAIL_NONE,    /* no engine sends it */
};

/* A message that was received. */
struct vb_mail {
	enum vb_mail_kind kind;
	uint32_t from;        /* the sender's slot */
	const uint8_t *bytes; /* until the next message is taken */
	size_t len;
};

/* Bytes of a message with its envelope, at most. */
#define VB_MAIL_MAX (64u << 10)

/* Messages to and from other processes. */
struct vb_engine_mail {
	_Atomic int fd;    /* -1: there is no mailbox */
	_Atomic bool look; /* the descriptor has something, whatever the count says */
	uint32_t seen;     /* of the mailbox's count */
	uint64_t token;
	uint8_t *take;    /* VB_MAIL_MAX bytes for a message that is received; NULL: no mailbox */
	bool shares_xrcd; /* there is, or was, a domain that other processes may have, too */
	vb_time due;      /* something waits, and is to be tried again */
};

/* The samples of QPs last written for pages with rates over time, by vb_slot_qpn_index() modulo the
 * size. */
struct vb_engine_rates {
	vb_time due;   /* the next look */
	bool has_cnps; /* somebody captures: each CNP is noted */
	struct vb_rate_seen {
		struct vb_qp_sample last;
		bool rests; /* it was written as it stands */
	} seen[VB_QP_ENTRIES];
};

struct vb_bells;

struct vb_engine {
	struct vb_lock lock;
	_Atomic bool alive;
	uint32_t refs; /* under the mutex of acquire and release */
	struct vb_hca *hca;
	struct vb_link *link; /* the fault middleware, in front of a driver's */
	struct vb_broker_client broker;
	bool connected;
	bool is_probed; /* somebody is attached to probes that are hit often, control/probe.h */
	struct vb_engine_sink sink;
	struct vb_wait wait;     /* threads that wait, and where: src/wait/ */
	_Atomic uint64_t glance; /* vb_wait_glance() for a look without the lock */
	struct vb_progress_thread progress_thread;
	struct vb_sleeper sleeper;
	uint32_t notified;   /* events of CQs that were delivered, in all */
	bool timers_waited;  /* the last step left timers that were due to the next one */
	vb_time step_end;    /* when the last step ended, of the application or the thread */
	vb_time ran_at;      /* when this process was last known to run, see gap.c */
	bool makes_grh;      /* there is, or was, a QP whose receives begin with a GRH */
	uint32_t bring;      /* of IP headers, of enum vb_link_bring */
	uint32_t looks;      /* at an empty socket in one step */
	uint32_t drains;     /* not 0: a sleeper takes what there is before it waits */
	uint32_t generation; /* of the device table in use */
	struct vb_host_shm devices;
	bool adopts; /* adapter_generation is valid */
	uint32_t adapter_generation;
	struct vb_adopted adopted[VB_DEVICES_MAX];
	struct vb_addr_table addr;
	struct vb_fault_rules own_faults; /* rules that this process was started with... */
	uint32_t fault_generation;        /* ... and of host memory then */
	bool rx_more; /* the link may hold more packets, which its descriptor does not show */
	struct vb_rx rx[VB_ENGINE_RX_PKTS];
	uint64_t data_pkts; /* packets that were received, in all, that are no acknowledgements */
	struct vb_tx_batch batch;
	struct vb_backlog backlog;
	struct vb_flow_limits flow;
	struct vb_flow_watch watch[VB_SLOT_CNT];
	struct vb_flow_own flow_own[VB_SLOT_CNT];
	struct vb_engine_cc cc;
	struct vb_engine_mail mail;
	struct vb_misrouted *misrouted; /* packets to hand on; NULL: there was none yet */
	struct vb_engine_rates rates;
	struct vb_bells *bells; /* doorbells that are plain stores; NULL: there are none */
};

/* control/fault.c */

/* Puts the fault middleware in front of e->link. On failure says in @why what is wrong. */
int vb_engine_open_faults(struct vb_engine *e, char *why, size_t why_size);
/* Takes over the rules that hold now. Under the lock. */
void vb_engine_follow_faults(struct vb_engine *e);

/* engine.c: the fields that received packets have to bring, for GRHs, congestion control and
 * faults. To be called when one of them has changed. */
void vb_engine_follow_bring(struct vb_engine *e);

/* control/cc.c */

/* Reads what this process was started with. On failure says in @why what is wrong. */
int vb_engine_open_cc(struct vb_engine *e, char *why, size_t why_size);
/* The same for the devices there are now. Under the lock. */
void vb_engine_follow_cc(struct vb_engine *e);
/* Port @port is controlled by @set from now on. 0, or -EINVAL as vb_cc_settings_check() has it. */
int vb_engine_set_cc(struct vb_engine *e, uint8_t port, const struct vb_cc_settings *set);
/* Only while e->cc.marks. */
void vb_engine_mark(struct vb_engine *e, struct vb_rx *rx, uint32_t cnt, vb_time now);

/* control/explain.c: the core's event callback, which keeps histories of trouble, and the link's of
 * what sending met; @ctx is the engine. */
void vb_engine_tell(void *ctx, const struct vb_trace_event *ev);
/* Emits what is wanted by now: see control/probe.h. Under the lock. */
VB_COLD void vb_engine_follow_probes(struct vb_engine *e);
/* ... and each CNP, while somebody captures. */
VB_COLD void vb_engine_follow_capture(struct vb_engine *e);
void vb_engine_note_refusal(void *ctx, const struct vb_gid *to, int err);
/* Writes views of the QPs when somebody has asked for them. Under the lock. */
void vb_engine_answer(struct vb_engine *e);

/* control/rates.c: writes how the QPs come on. When e->rates.due. Under the lock. */
VB_COLD void vb_engine_look_at_rates(struct vb_engine *e, vb_time now);
/* ... and what a CNP made of QP @qpn, while somebody captures. */
VB_COLD void vb_engine_note_cnp(struct vb_engine *e, uint32_t qpn, vb_time now);

/* engine.c: shows a packet to those that capture; @ctx is the engine. */
void vb_engine_tap(void *ctx, const struct vb_link_tap *t);

/* flow.c: sets e->flow by the receive buffer of @rx_fd, which others of this host are taken
 * to have as well. Returns the bytes that may be in flight towards one peer of any host. */
uint32_t vb_engine_size_flow(struct vb_engine *e, int rx_fd);
/* The core's callbacks find_home, rx_credit and unanswered; @ctx is the engine. */
uint16_t vb_engine_find_home(void *ctx, const struct vb_path *path);
uint32_t vb_engine_rx_credit(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now);
bool vb_engine_unanswered(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now);

/* engine.c: vb_broker_check(), which may fork; not under the lock. */
void vb_engine_check_broker(struct vb_engine *e);

/*
 * engine.c: an engine inside of the broker, at the slot @at, whose rx_fd becomes its own and whose
 * memory stays the caller's. It has no progress thread: the broker takes its steps. A failure is
 * explained in @why.
 */
int vb_engine_open_inside(struct vb_engine **out, const struct vb_broker_client *at, char *why,
			  size_t why_size);
void vb_engine_close_inside(struct vb_engine *e);

/* control/csr.c: the broker's serve_csr; @ctx is the engine. Takes the lock. */
void vb_engine_serve_csr(void *ctx, struct vb_broker_msg *m);

/* run.c: receives once, fires timeouts, sends. Returns packets received. */
uint32_t vb_engine_step(struct vb_engine *e, vb_time now);
/* run.c: sends what waits for company: doorbells, and answers for a reply. */
void vb_engine_send_rest(struct vb_engine *e);
/* Sends what there is, and does nothing else of a step. */
void vb_engine_send(struct vb_engine *e, vb_time now);
/* run.c: the engine's work that no packet announces. Under the lock. */
struct vb_wait_work vb_engine_work(const struct vb_engine *e);

/* mail.c: makes the mailbox, unless it is there. Returns 0 or a negative errno. */
int vb_engine_open_mail(struct vb_engine *e);
/* Sends @len bytes at @msg to the process of slot @peer. Returns 0; -EAGAIN: its mailbox is full;
 * -ECONNREFUSED: it has none, or this process has none; or another negative errno. */
int vb_engine_send_mail(struct vb_engine *e, uint32_t peer, enum vb_mail_kind kind, const void *msg,
			size_t len);
/* Messages that were ever sent to this process; wraps. */
uint32_t vb_engine_mail_count(const struct vb_engine *e);
/* True while there are messages that nobody has taken. */
bool vb_engine_has_mail(const struct vb_engine *e);
/* Takes the next message. False: there is none. */
bool vb_engine_next_mail(struct vb_engine *e, struct vb_mail *m);
void vb_engine_close_mail(struct vb_engine *e);

/* xrc.c: the core's callback; @ctx is the engine. */
int vb_engine_send_xrc(void *ctx, uint32_t peer, const void *msg, size_t len);
/* Takes messages of each kind, and goes on with what waits. Returns how many messages there were.
 */
uint32_t vb_engine_run_mail(struct vb_engine *e, vb_time now);
/* ... only the latter: after sending. */
void vb_engine_retry_xrc(struct vb_engine *e, vb_time now);
/* Checks that every process we share a target with is alive. About once a second. */
void vb_engine_probe_xrc(struct vb_engine *e, vb_time now);

/* misrouted.c: keeps a received packet whose QPN is not in this process, if it is for another one
 * of this host... */
VB_COLD void vb_engine_keep_misrouted(struct vb_engine *e, const struct vb_rx *rx);
/* ... and hands the kept packets to that process. */
VB_COLD void vb_engine_hand_on(struct vb_engine *e);
/* Takes packets that another process has handed on. */
void vb_engine_take_misrouted(struct vb_engine *e, const uint8_t *msg, size_t len, vb_time now);

/* gap.c: tells the core of time in which this process did not run. Under the lock, first of
 * all after waking up. */
VB_COLD void vb_engine_note_gap(struct vb_engine *e, vb_time now);
/* Less than this nobody looks at, and a process that computes may leave its engine alone so long.
 */
#define VB_ENGINE_GAP_MIN_NS VB_MSEC

static inline void vb_engine_runs(struct vb_engine *e, vb_time now)
{
	if (now < e->ran_at) /* it waited for the lock */
		return;
	if (now - e->ran_at >= VB_ENGINE_GAP_MIN_NS)
		vb_engine_note_gap(e, now);
	e->ran_at = now;
}

/* wait/sleep.c, and wait/watch.c with it */

/* The reasons why a wait ended: a set of these. */
enum vb_sleep_saw {
	VB_SLEEP_LINK = 1,     /* there may be packets */
	VB_SLEEP_WAKE = 2,     /* the sleeper's event is there; a kick */
	VB_SLEEP_SIGNAL = 4,   /* a signal waits for its handler */
	VB_SLEEP_HANDLER = 8,  /* a handler ran */
	VB_SLEEP_PROGRAM = 16, /* a descriptor of the program's */
	VB_SLEEP_TIMER = 32,   /* something is due */
	VB_SLEEP_BROKER = 64,  /* a message of the broker */
	VB_SLEEP_MAIL = 128    /* messages of other engines: mail.c */
};

/* Sets of signals as the kernel has them, 64. Signals of faults are never blocked: the guard of
 * registered memory answers them. */
#define VB_SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))
#define VB_SIGNALS_OF_FAULTS                                                                       \
	(VB_SIGNAL_BIT(SIGSEGV) | VB_SIGNAL_BIT(SIGBUS) | VB_SIGNAL_BIT(SIGFPE) |                  \
	 VB_SIGNAL_BIT(SIGILL) | VB_SIGNAL_BIT(SIGTRAP) | VB_SIGNAL_BIT(SIGSYS))

int vb_sleeper_open(struct vb_engine *e);
void vb_sleeper_close(struct vb_engine *e);
/* An epoll instance in *epoll_fd that shows packets, to threads that wait for it in the order in
 * which they were made: the first alone. 0 or a negative errno; the descriptor is to be closed in
 * any case. */
int vb_sleeper_watch_link(struct vb_engine *e, int *epoll_fd);
/* @fd is one more that it shows, as @what. With EPOLLONESHOT: once more, also if it was before. */
int vb_sleeper_watch_fd(int epoll_fd, int fd, uint32_t events, enum vb_sleep_saw what);
/* Waits for @d at most, with the signal mask @mask (NULL: as it is). Returns what it saw. */
uint32_t vb_sleeper_wait_epoll(int epoll_fd, vb_dur d, const uint64_t *mask);
/* This thread is the sleeper, until it gives that up; @seq as vb_engine_sleep() has it, or NULL.
 * False: another one is. Under the lock. */
bool vb_sleeper_take(struct vb_engine *e, const _Atomic uint32_t *seq, uint32_t seen);
void vb_sleeper_give(struct vb_engine *e);
/* Waits until @until, or until something is due, with the signal mask @mask (NULL: as it is). Under
 * the lock, which it gives up meanwhile. Returns what it saw; after VB_SLEEP_LINK and
 * VB_SLEEP_TIMER the caller has to drain. */
uint32_t vb_sleeper_park(struct vb_engine *e, vb_time until, const uint64_t *mask);
/* Receives until there is nothing more, or leaves what is to the progress thread. */
void vb_sleeper_drain(struct vb_engine *e);
/* Under the lock, when events were delivered: wakes the sleeper if there is its own. */
void vb_sleeper_wake(struct vb_engine *e);

/* wait/progress.c */
int vb_progress_thread_start(struct vb_engine *e);
void vb_progress_thread_stop(struct vb_engine *e);
/* There is a descriptor of mail from now on. */
void vb_progress_thread_watch_mail(struct vb_engine *e);

/* wait/kick.c */
/* After the application's call: wakes the thread if it would otherwise come too late. */
void vb_progress_thread_notice(struct vb_engine *e, vb_time now);
/* Another thread will wait at the wakeup endpoint: the thread does not do so by a nap any more. */
void vb_progress_thread_yield_wakeup(struct vb_engine *e);
/*
 * Gives the calling thread a short slice: it runs for some microseconds at a time, and should run
 * soon. Else a thread that computes keeps the processor until its own slice has passed, a
 * millisecond or more. Kernels before 6.12 take no notice of it, and let a woken thread run sooner.
 * sched_setattr(2)
 */
void vb_progress_thread_shorten_slice(void);
/* Wakes the thread, as src/wait/ said. */
void vb_progress_thread_kick(struct vb_engine *e);

#endif
