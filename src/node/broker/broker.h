/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker: one small process per host (network namespace) and user, started on first use and
 * gone shortly after its last client. It owns the SO_REUSEPORT group on UDP port 4791 and hands out
 * its sockets, keeps the device table and the sysfs-like tree, and gives each client a slot,
 * which stands in its QPNs (base/slot.h).
 *
 * The socket is in the abstract namespace, "verbena/<uid>", so each network namespace is a host of
 * its own. Messages are struct vb_broker_msg over SOCK_SEQPACKET; descriptors travel with
 * SCM_RIGHTS; SO_PEERCRED guards it (same user, or root).
 *
 * A broker may be killed at any time. Everything it owns (the sockets of the group in their order,
 * host and slot memory) also lies in the descriptor store, a socket whose receive queue holds the
 * descriptors; each client has one descriptor of the store. So the group, and with it the steering,
 * outlives the broker for as long as one client lives, and a client hands the descriptor store to
 * the next broker.
 */
#ifndef VB_NODE_BROKER_BROKER_H
#define VB_NODE_BROKER_BROKER_H

#include "node/client/msg.h"
#include "node/shared/shm.h"

#include <stddef.h>

/*
 * A client's side of the connection. The broker frees the slot when the socket closes or the
 * process that connected ends.
 */
struct vb_broker_client {
	int sock; /* -1 while there is no broker; see vb_broker_check() */
	/* This slot's socket of the group, for the UDP link. disconnect and abandon close it unless
	 * it is -1: set it to -1 when the link, which closes it, takes it over. */
	int rx_fd;
	int fd_store;
	uint64_t retry_ns; /* CLOCK_MONOTONIC: not before this is the next attempt to reconnect */
	uint32_t slot;
	struct vb_slot_shm *shm;        /* mapped read-write */
	const struct vb_host_shm *host; /* mapped read-only */
	struct vb_flow *flow;           /* the receive sockets of the host, by slot */
	struct vb_cnp_bell *bell;       /* interrupts of CNPs, by device */
	vb_time *queue_idle;            /* of the queue that faults make, by HCA port */
	struct vb_wakeup *wakeup;       /* and the wakeup endpoints, see link/shm/wakeup.h */
	struct vb_mailbox *mailbox;     /* and the mailboxes */
	/* At a node of an InfiniBand fabric, whose process is the broker then (node/subnet): the
	 * link's part of it (link/ib/ib.h), and the memory that processes at all of its nodes
	 * share, with the five above but the bell. NULL: it is none. */
	struct vb_ib_link_config *fabric;
	uint16_t carrier; /* the slot of that process if it carries packets (link/link.h); else 0 */
	void *common;
	/* Where the shared broker has the port: the slot and the ring from it, the link's when that
	 * is open (link/carried/carried.h). NULL: this process has a socket of the group. */
	struct vb_carried *carried;
	/* ... but the kernel hands its packets to rx_fd, so that its peers of the same user know
	 * how full that is. */
	bool is_direct;
	uint32_t qp_max; /* QPs that this process may have; 0: as many as its slot has numbers */
	/* Answers in place what the broker asks of registers of QPs; called by vb_broker_check().
	 * NULL: nothing is asked. */
	void (*serve_csr)(void *ctx, struct vb_broker_msg *m);
	void *serve_ctx;
};

/*
 * Connects, starting a broker if there is none, and takes a slot. On failure returns a negative
 * errno and one line for the user in @why (what is wrong and what to do): -EADDRINUSE when somebody
 * else has port 4791, -EMFILE, -ENOMEM, -EACCES, -ENOSPC when all slots are taken, -ETIMEDOUT.
 */
int vb_broker_connect(struct vb_broker_client *c, char *why, size_t why_size);
void vb_broker_disconnect(struct vb_broker_client *c);

/*
 * Looks whether the broker is still there, and when it is not finds or starts another one and gives
 * it the descriptor store. Call it about once a second, or when c->sock is readable (the descriptor
 * may have changed after the call). One system call when nothing happened; a few milliseconds when
 * a broker has to be started, at most once a second. Returns 0, or a negative errno while there is
 * none: sockets, memory and steering work all the same.
 */
int vb_broker_check(struct vb_broker_client *c);

/* Whether this process has a client, by which it sees that a broker has ended and another come. */
bool vb_broker_has_clients(void);
/* From then on @hook is called when another broker has come, by whoever calls vb_broker_check(). */
void vb_broker_on_return(void (*hook)(void));

/* In a forked child: closes the inherited descriptors and unmaps, leaving the parent's slot alone.
 */
void vb_broker_abandon(struct vb_broker_client *c);

/*
 * An observer's side (the `verbena` command): no slot of its own. @start: start a broker if none
 * runs. vb_broker_observe_slots() maps the slots that have been made, read-only, and may be called
 * again for newer ones; a slot whose pid is 0 has no owner now. vb_broker_capture() switches
 * capture on or off for as long as this connection lives.
 */
struct vb_broker_observer {
	int sock;
	const struct vb_host_shm *host;
	const struct vb_slot_shm *slot[VB_SLOT_CNT]; /* NULL: never used */
};
int vb_broker_observe(struct vb_broker_observer *o, bool start, char *why, size_t why_size);
int vb_broker_observe_slots(struct vb_broker_observer *o);
int vb_broker_capture(struct vb_broker_observer *o, bool on);
/*
 * An access to a register, in place. 0, or a negative errno with what is wrong in @why: -ENODEV no
 * such device, -EINVAL a rule of the register, -EPERM a virtual function, -ECONNRESET.
 */
int vb_broker_access(struct vb_broker_observer *o, struct vb_broker_reg *reg, char *why,
		     size_t why_size);
/*
 * Accesses to the CSR space, in place. 0, or a negative errno with what is wrong in @why and which
 * access in csr->failed: -ENODEV no such device, -EINVAL no such register or a rule, -EPERM a
 * virtual function, -ENXIO no such QP, -EAGAIN the QP's state, -EBUSY and -ETIMEDOUT the QP's
 * program does not answer, -ECONNRESET.
 */
int vb_broker_csr_access(struct vb_broker_observer *o, struct vb_broker_csr *csr, char *why,
			 size_t why_size);
/* The index of QP @qpn in the CSR space; the first one from @from on of a QP of device @device or
 * its virtual functions, with its QPN. 0: there is none. */
uint32_t vb_broker_qp_index(const struct vb_broker_observer *o, uint32_t qpn);
uint32_t vb_broker_next_qp(const struct vb_broker_observer *o, uint32_t device, uint32_t from,
			   uint32_t *qpn);
/* The adapter stays when no program uses it, with @vf_cnt virtual functions of each device; or, not
 * @on, it no longer does, and has none. -EADDRINUSE: another process has the port. */
int vb_broker_stay(struct vb_broker_observer *o, bool on, uint32_t vf_cnt);
/* The state that the adapter keeps. */
const struct vb_adapter_shm *vb_broker_adapter(const struct vb_broker_observer *o);
/* Whether a program has the adapter, or it stays without one: if not, all settings end soon. */
bool vb_broker_is_used(struct vb_broker_observer *o);
/* Gives device @device (as host->device counts) the rules @text; empty: none. -E2BIG, -EINVAL: the
 * text is too long, or says nothing that vb_fault_parse() knows. */
int vb_broker_fault(struct vb_broker_observer *o, uint32_t device, const char *text, uint64_t seed);
/* Has every process write views of its QPs, of QP @qpn before all others (0: of none). *asked is
 * what slot->explain.answered becomes when one has. */
int vb_broker_ask_views(struct vb_broker_observer *o, uint32_t qpn, uint32_t *asked);
/* Waits until all processes of the slots that run have answered, or have had the time to. */
void vb_broker_await_views(const struct vb_broker_observer *o, uint32_t asked);
/* How connections of RDMA CM stand, as another program says. 0 or a negative errno. */
struct vb_cm_table;
int vb_broker_connections(struct vb_broker_observer *o, struct vb_cm_table *to);
/* Asks other adapters @cnt questions (at most VB_BROKER_ASKS_MAX) at once; *status is 0 where an
 * answer came, -ETIMEDOUT, -ENODEV: no such port, -EMSGSIZE: longer than its MTU, -ENOTCONN: this
 * host has no adapter now. 0, or why the broker cannot be asked. */
int vb_broker_ask(struct vb_broker_observer *o, struct vb_broker_ask *ask, int *status,
		  uint32_t cnt);
/* The same one by one, without waiting: asks a question, which is called @tag; takes an answer when
 * o->sock is readable, with its tag and status. At most VB_BROKER_ASKS_MAX may be open. -EAGAIN:
 * there is no answer yet; -ECONNRESET. */
int vb_broker_ask_begin(struct vb_broker_observer *o, uint32_t tag,
			const struct vb_broker_ask *ask);
int vb_broker_ask_take(struct vb_broker_observer *o, uint32_t *tag, struct vb_broker_ask *ask,
		       int *status);
/* Has the adapter be there, as programs have, until the descriptor is closed; starts a broker where
 * there is none. The descriptor, or a negative errno with a line in @why: that of
 * vb_broker_connect(). */
int vb_broker_hold(char *why, size_t why_size);
/* Copies @size bytes at @from of @shm as its owner means them; one that was killed while it wrote
 * may have left half of a change. */
void vb_explain_read(const struct vb_explain_shm *shm, const void *from, void *to, size_t size);
/* The histories of processes that are gone. */
const struct vb_past *vb_broker_past(const struct vb_broker_observer *o);
/*
 * Waits until CNPs have interrupted on device @device (as host->device counts) more or less often
 * than *cnt, the number that was known; *cnt is the new one, *qpn whose CNP was the last. 1; 0
 * after @timeout_ms, less than 0: never; -EINTR; -ECONNRESET. Settings say whether there are any
 * (cnp_irq_en).
 */
int vb_broker_wait_cnp(struct vb_broker_observer *o, uint32_t device, uint32_t *cnt, uint32_t *qpn,
		       int timeout_ms);
/* 0, or -ECONNRESET when the broker is gone. */
int vb_broker_observe_check(struct vb_broker_observer *o);
/* The totals of each HCA port, live and past clients together, in @total[1...VB_HCA_PORTS_MAX].
 * Never runs backwards; covers the slots of the last vb_broker_observe_slots(). */
void vb_broker_totals(const struct vb_broker_observer *o, struct vb_counters *total);
void vb_broker_observe_end(struct vb_broker_observer *o);

/* The broker itself: `verbena broker`, never returns before its work is done. Returns an exit code.
 */
int vb_broker_main(void);

#endif
