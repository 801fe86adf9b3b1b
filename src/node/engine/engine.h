/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine: one per process. It runs the core against the UDP link, driven by the application's
 * own calls (posting and polling) and, only while the application does not poll, by one progress
 * thread. docs/threading.md has all threads and locks.
 *
 * Every call below but acquire, release, lock, yield and wait-free readers is made under the
 * lock.
 */
#ifndef VB_NODE_ENGINE_ENGINE_H
#define VB_NODE_ENGINE_ENGINE_H

#include "core/hca.h"
#include "node/shared/shm.h"
#include "wait/wait.h"

#include <stdatomic.h>
#include <stddef.h>

struct vb_engine;

/* Of the settings of congestion control that a process may be started with, VERBENA_CC. */
#define VB_ENGINE_CC_TEXT_MAX 1024

/*
 * The engine of this process, started by the first acquire and ended by the last release. Failure:
 * a negative errno and one line for the user in @why. After fork() the child has no engine until
 * it acquires one; objects inherited from the parent are dead there (vb_engine_is_alive()).
 */
int vb_engine_acquire(struct vb_engine **out, char *why, size_t why_size);
/* The engine of this process if it has one, for a while; else NULL. */
struct vb_engine *vb_engine_borrow(void);
void vb_engine_release(struct vb_engine *e);
bool vb_engine_is_alive(const struct vb_engine *e);

void vb_engine_lock(struct vb_engine *e);
void vb_engine_unlock(struct vb_engine *e);

struct vb_hca *vb_engine_hca(struct vb_engine *e);

/* The device table; copy it with vb_host_read(). */
const struct vb_host_shm *vb_engine_host(const struct vb_engine *e);

/*
 * After work was posted on @qp: sends at once when nothing is in flight there, else leaves the work
 * to the next progress, so that doorbells coalesce into GSO batches. Never leaves it to nobody: the
 * progress thread sends what the application does not get to. @now is when it was posted.
 */
void vb_engine_doorbell(struct vb_engine *e, struct vb_qp *qp, vb_time now);

/*
 * Receives, fires timeouts, sends, delivers events; never waits. Also to be called after a control
 * call that may leave events or packets behind (vb_qp_modify).
 */
void vb_engine_progress(struct vb_engine *e);

/*
 * Progress that leaves nothing for later: neither doorbells nor acknowledgements that wait for a
 * reply to travel with. Before a QP is destroyed or leaves RTS, and a CQ becomes smaller.
 */
void vb_engine_flush(struct vb_engine *e);

/*
 * The program turns to something else than its queues, as a call of RDMA CM: packets that wait for
 * company leave now, above all the acknowledgement of the message that it has just seen. Else that
 * would be late by the time in which a reply is expected, and the peer may still wait for it when
 * this program's next connection arrives there. Does nothing in a process that has no engine.
 */
void vb_engine_send_held(void);

/* Takes over settings of the adapter that have changed. */
void vb_engine_adopt(struct vb_engine *e);
/* ... and the device table, if it has a new generation: before a QP changes. */
void vb_engine_reload(struct vb_engine *e);

/* From now on received packets bring all that a GRH needs: for the first UD QP. */
void vb_engine_make_grh(struct vb_engine *e);

/*
 * After a poll, under the lock: returns what the thread does next, for vb_engine_idle() when the
 * lock is free again. When polling has been in vain for a while it lets others run. Where more
 * programs poll than there are cores, the peer is among them, and it may sleep for as long as no
 * packet comes, 300 us at most.
 */
enum vb_wait_idle vb_engine_polled(struct vb_engine *e, bool found);
void vb_engine_idle(struct vb_engine *e, enum vb_wait_idle how);

/* Under the lock: one CQ with a channel more, or less, is armed. */
void vb_engine_arm(struct vb_engine *e, bool is_armed);
/* The application armed a CQ and may be about to sleep: the progress thread takes over at once. */
void vb_engine_expect_sleep(struct vb_engine *e);

/*
 * Not under the lock: sleeps until *@seq, which the sink counts up under the lock, is no longer
 * @seen, or until @until, and makes progress meanwhile. 0; EINTR: a signal handler ran that was
 * installed without SA_RESTART; EBUSY: another thread sleeps so, and makes progress for this one,
 * too; ETIMEDOUT.
 */
int vb_engine_sleep(struct vb_engine *e, const _Atomic uint32_t *seq, uint32_t seen, vb_time until);

/*
 * Where events go; called under the lock by whoever makes progress, must not block. CQ_NOTIFY
 * becomes an entry of a completion channel, the others async events. @port_change: the device table
 * has a new generation.
 */
struct vb_engine_sink {
	void (*event)(void *ctx, const struct vb_event *ev);
	void (*port_change)(void *ctx);
	void *ctx;
};
void vb_engine_set_sink(struct vb_engine *e, const struct vb_engine_sink *sink);

/* Takes packets of the multicast group @gid, whose MLID is @lid on InfiniBand and 0 on Ethernet, on
 * HCA port @port from now on; leave as often. 0 or a negative errno. */
int vb_engine_join(struct vb_engine *e, uint8_t port, const struct vb_gid *gid, uint16_t lid);
void vb_engine_leave(struct vb_engine *e, uint8_t port, const struct vb_gid *gid, uint16_t lid);

/*
 * For observers: numbers of live objects, kept in slot memory. The code that creates a QP also
 * stores vb_slot_qpn_index() + 1 in qpn_next, where the slot's next owner starts.
 */
struct vb_slot_shm *vb_engine_slot(struct vb_engine *e);
/* QPs that this process may have. */
uint32_t vb_engine_qp_max(const struct vb_engine *e);
/* Why the core refused the last call that it refused, in words, told once; empty: not known. Under
 * the lock. */
void vb_engine_refusal(struct vb_engine *e, char *to, size_t size);
/* Keeps for `verbena explain` that a verb was refused with @err, in words. Under the lock. */
void vb_engine_note_refused(struct vb_engine *e, int err, const char *text);

/*
 * Gives QP @qpn of device @device (as the device table counts) an index in the CSR space, which is
 * returned, and takes it back. 0: none is free, and the QP has no registers.
 */
uint32_t vb_engine_index_qp(struct vb_engine *e, uint32_t qpn, uint32_t device);
void vb_engine_unindex_qp(struct vb_engine *e, uint32_t index, uint32_t qpn);

/*
 * The XRC domain is one with those of the same name in other processes of this host and user, as
 * far as that is possible: without descriptors or memory it stays this process's own.
 */
void vb_engine_share_xrcd(struct vb_engine *e, struct vb_xrcd *x, const struct vb_xrcd_name *name);

/*
 * The target @qpn of the domain in *out: one of this process, or a handle of another's
 * (core/hca.h), which is asked for it. Gives the lock up while it waits. 0; -EINVAL: there is none;
 * -ETIMEDOUT: the other process does not answer, it may be stopped; -ENOMEM.
 */
int vb_engine_open_target(struct vb_engine *e, struct vb_xrcd *x, uint32_t qpn, struct vb_qp **out);
/*
 * Asks the process of a target about it, or sets what ask->mask says. @qpn is the target's. Gives
 * the lock up while it waits. 0; -ETIMEDOUT, or the errors of struct vb_xrc_ask.
 */
int vb_engine_ask_target(struct vb_engine *e, struct vb_xrcd *x, uint32_t qpn,
			 struct vb_xrc_ask *ask);

/*
 * 0 when [addr, addr + length) is mapped, and writable if @write; else an errno, EFAULT above all.
 * Brings the pages in, as pinning would. Takes no lock.
 */
int vb_engine_check_memory(const void *addr, size_t length, bool write);
/* The same of memory that may go at any time, in the form of vb_hca_config.page_in. */
int vb_engine_page_in(void *ctx, void *p, size_t len, bool write);

#endif
