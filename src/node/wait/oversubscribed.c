/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More programs that poll than there are processors. Whoever polls in vain there keeps a processor
 * from those it waits for, and from a progress thread that would read what it has sent.
 *
 * First it only lets others run. When that takes long, others did run: the machine is
 * oversubscribed, and for a while a program that does nothing but poll sleeps in its polls until a
 * packet comes, a moment at most. Then it is asked again, and the while doubles for as long as the
 * answer is the same. A program that does something else between two polls is not held up. The
 * progress thread stays parked for longer in the meantime, because a program that polls may have to
 * wait for a processor, and to take its packets from it would only make two threads of one.
 *
 * Not with a silent link (link/link.h), where a descriptor alone does not tell who waits.
 */
#include "node/engine/priv.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Polls in vain, some 100 us, before each further one lets others run. */
#define IN_VAIN_MAX 200u
/* It took so long: others did run, or an interrupt came between... */
#define OTHERS_RAN_NS (10 * VB_USEC)
/* ... and so they will for so long, at first and at most. */
#define OVERSUBSCRIBED_MIN_NS VB_MSEC
#define OVERSUBSCRIBED_MAX_NS (16 * VB_MSEC)
/* Polls in a row with nothing between them and nothing to find, before one sleeps... */
#define IDLE_POLLS_MAX 2u
/* ... for so long at most; a receiver that is full and pacing have timers only, many and short,
 * which may be late by as much as they may be for the progress thread. */
#define NAP_NS (300 * VB_USEC)
#define NAP_MAX_NS (VB_ENGINE_OVERSUBSCRIBED_POLLS_NS / 2)
#define LEEWAY_NS (200 * VB_USEC)

/* Directly: ppoll() of the C library is a point at which a thread may be cancelled. */
static void sleep_for_packet(int fd, vb_dur d)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};

	syscall(SYS_ppoll, &p, 1, &t, NULL, _NSIG / 8);
}

static void nap_briefly(struct vb_engine *e, vb_time now)
{
	vb_dur most = e->slow * NAP_NS;
	vb_time until = now + (most < NAP_MAX_NS ? most : NAP_MAX_NS);

	vb_lock_take(&e->lock);
	until = vb_time_min(until, vb_engine_due(e, now, LEEWAY_NS));
	vb_lock_drop(&e->lock);
	if (now < until)
		sleep_for_packet(vb_link_fd(e->link), until - now);
	vb_lock_take(&e->lock);
	e->progress_at = vb_engine_now();
	vb_lock_drop(&e->lock);
}

static void set_oversubscribed(struct vb_engine *e, vb_time until, vb_dur length)
{
	atomic_store_explicit(&e->oversubscribed_until, until, memory_order_relaxed);
	atomic_store_explicit(&e->oversubscribed_for, length, memory_order_relaxed);
}

static void let_others_run(struct vb_engine *e)
{
	vb_dur length = atomic_load_explicit(&e->oversubscribed_for, memory_order_relaxed) * 2;
	vb_time before = vb_engine_now(), after;

	sched_yield();
	after = vb_engine_now();
	if (vb_link_is_silent(e->link) || after - before < e->slow * OTHERS_RAN_NS) {
		set_oversubscribed(e, 0, 0);
		return;
	}
	length = length < OVERSUBSCRIBED_MIN_NS ? OVERSUBSCRIBED_MIN_NS : length;
	length = length > OVERSUBSCRIBED_MAX_NS ? OVERSUBSCRIBED_MAX_NS : length;
	set_oversubscribed(e, after + length, length);
}

bool vb_engine_is_oversubscribed(const struct vb_engine *e, vb_time now)
{
	vb_time until = atomic_load_explicit(&e->oversubscribed_until, memory_order_relaxed);

	return until && now < until + VB_ENGINE_OVERSUBSCRIBED_POLLS_NS;
}

void vb_engine_found(struct vb_engine *e)
{
	atomic_store_explicit(&e->in_vain, 0, memory_order_relaxed);
	atomic_store_explicit(&e->idle_polls, 0, memory_order_relaxed);
}

/* It looks once more, and that look shall not make it late. */
void vb_engine_forget_oversubscription(struct vb_engine *e)
{
	vb_engine_found(e);
	atomic_store_explicit(&e->held_up, false, memory_order_relaxed);
	set_oversubscribed(e, 0, 0);
}

void vb_engine_yield(struct vb_engine *e)
{
	/* Who is to read may be waiting for this very processor. */
	bool held_up = atomic_load_explicit(&e->held_up, memory_order_relaxed);
	vb_time until = atomic_load_explicit(&e->oversubscribed_until, memory_order_relaxed);

	if (until && atomic_load_explicit(&e->idle_polls, memory_order_relaxed) >= IDLE_POLLS_MAX) {
		vb_time now = vb_engine_now();

		if (now < until)
			nap_briefly(e, now);
		else
			let_others_run(e);
		return;
	}
	if (held_up)
		atomic_store_explicit(&e->held_up, false, memory_order_relaxed);
	if (held_up || atomic_load_explicit(&e->in_vain, memory_order_relaxed) > IN_VAIN_MAX)
		let_others_run(e);
}
