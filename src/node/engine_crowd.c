/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More programs that poll than there are processors. Whoever polls in vain there keeps a processor
 * from those it waits for, and from a stand-by thread that would read what it has sent.
 *
 * First it only lets others run. When that takes long, others did run: the machine is crowded, and
 * for a while a program that does nothing but poll sleeps in its polls until a packet comes, a
 * moment at most. A program that does something else between two polls is not held up. The stand-by
 * thread stays aside for longer in the meantime, because a program that polls may have to wait for
 * a processor, and to take its packets from it would only make two threads of one.
 */
#include "node/engine_priv.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Polls in vain, some 100 us, before each further one lets others run. */
#define IN_VAIN_MAX 200u
/* It took so long: others did run... */
#define OTHERS_RAN_NS (10 * VB_USEC)
/* ... and so they will for so long. */
#define CROWDED_NS (20 * VB_MSEC)
/* Polls in a row with nothing between them and nothing to find, before one sleeps... */
#define IDLE_POLLS_MAX 2u
/* ... for so long at most; a receiver that is full and pacing have timers only, many and short,
 * which may be late by as much as they may be for the stand-by thread. */
#define NAP_NS (300 * VB_USEC)
#define LEEWAY_NS (200 * VB_USEC)

/* Directly: ppoll() of the C library is a point at which a thread may be cancelled. */
static void sleep_for_packet(int fd, vb_dur d)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};

	syscall(SYS_ppoll, &p, 1, &t, NULL, _NSIG / 8);
}

static void nap(struct vb_engine *e, vb_time now)
{
	vb_time until = now + e->slow * NAP_NS;
	bool has;

	vb_lock_take(&e->lock);
	until = vb_time_min(until, vb_engine_due(e, now, LEEWAY_NS));
	vb_link_doze(e->link, true);
	has = vb_link_has_packets(e->link);
	vb_lock_drop(&e->lock);
	if (!has && now < until)
		sleep_for_packet(e->link->ops->fd(e->link), until - now);
	vb_lock_take(&e->lock);
	vb_link_doze(e->link, false);
	e->progress_at = vb_engine_now();
	vb_lock_drop(&e->lock);
}

static void let_others_run(struct vb_engine *e)
{
	vb_time before = vb_engine_now(), after;

	sched_yield();
	after = vb_engine_now();
	if (after - before >= e->slow * OTHERS_RAN_NS)
		atomic_store_explicit(&e->crowded_until, after + CROWDED_NS, memory_order_relaxed);
}

bool vb_engine_is_crowded(const struct vb_engine *e, vb_time now)
{
	return now < atomic_load_explicit(&e->crowded_until, memory_order_relaxed);
}

void vb_engine_yield(struct vb_engine *e)
{
	/* Who is to read may be waiting for this very processor. */
	bool held_up = atomic_load_explicit(&e->held_up, memory_order_relaxed);

	if (atomic_load_explicit(&e->crowded_until, memory_order_relaxed) &&
	    atomic_load_explicit(&e->idle_polls, memory_order_relaxed) >= IDLE_POLLS_MAX) {
		vb_time now = vb_engine_now();

		if (vb_engine_is_crowded(e, now)) {
			nap(e, now);
			return;
		}
		atomic_store_explicit(&e->crowded_until, 0, memory_order_relaxed);
	}
	if (held_up)
		atomic_store_explicit(&e->held_up, false, memory_order_relaxed);
	if (held_up || atomic_load_explicit(&e->in_vain, memory_order_relaxed) > IN_VAIN_MAX)
		let_others_run(e);
}
