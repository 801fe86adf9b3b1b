/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that looks at doorbells. It is to the engine what a polling program is: while it spins
 * it makes progress, so that completions come as soon as their packets do, and when it parks it
 * says so, and the progress thread takes over. See bell.h.
 */
#include "link/guard.h"
#include "node/bell/priv.h"
#include "node/engine/priv.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* It spins for so long after the last doorbell or completion. Waking it costs some 10 us, so that
 * parking later gains little, and this is what a burst costs at its end. */
#define SPIN_NS (200 * VB_USEC)
/* Naps, each twice as long as the one before, where pages cannot be protected. */
#define NAP_MIN_NS (50 * VB_USEC)
#define NAP_MAX_NS VB_MSEC
/*
 * A yield that takes longer than CROWD_YIELD_NS has let somebody run who gives nothing back before
 * his slice ends: a program's thread that spins on memory, above all. For CROWD_NS it sleeps then
 * between looks, CROWD_NAP_NS at a time, since a thread that wakes up, and that asks for a short
 * slice, is run before one that spins.
 */
#define CROWD_YIELD_NS (50 * VB_USEC)
#define CROWD_NS (100 * VB_MSEC)
#define CROWD_NAP_NS (5 * VB_USEC)
/* Crowds that it meets, in all, before threads that store ring by themselves. */
#define CROWDS_MAX 3u
/* Processors on which a thread may spin beside those of two programs. */
#define SPIN_PROCESSORS_MIN 3
/* How often it looks, parked, for what no doorbell tells. */
#define RESTLESS_NS (10 * VB_MSEC)

/* One look, and one step of the engine. True: there was something. */
static bool work_once(struct vb_bells *all)
{
	struct vb_engine *e = all->engine;
	bool found;

	/* The thread that holds the lock makes progress, and looks at doorbells as well. */
	if (!vb_lock_try(&e->lock))
		return false;
	found = vb_bells_look(all, vb_clock_now());
	vb_engine_progress(e);
	found |= all->noted != all->looked_at;
	vb_lock_drop(&e->lock);
	return found;
}

static void let_others_run(struct vb_bells *all, vb_time now)
{
	static const struct timespec nap = {0, CROWD_NAP_NS};

	if (now < all->crowded_until) {
		nanosleep(&nap, NULL);
		return;
	}
	sched_yield();
	if (vb_clock_now() - now <= CROWD_YIELD_NS)
		return;
	all->crowded_until = now + CROWD_NS;
	if (all->way == VB_BELLS_CHOOSE && ++all->crowds == CROWDS_MAX)
		(void)vb_bells_trap(all);
}

static void spin_on(struct vb_bells *all)
{
	vb_time last = vb_clock_now(), now = last;

	while (!atomic_load_explicit(&all->stop, memory_order_relaxed) &&
	       !atomic_load_explicit(&all->traps, memory_order_relaxed) && now - last < SPIN_NS) {
		bool found = work_once(all);

		now = vb_clock_now();
		if (found)
			last = now;
		else
			let_others_run(all, now);
	}
}

/* Until a store or a kick, or for @d. False: neither came. */
static bool wait_for(struct vb_bells *all, vb_dur d)
{
	struct pollfd p[2] = {{all->kick_fd, POLLIN, 0}, {all->fault_fd, POLLIN, 0}};
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};
	struct uffd_msg msg;
	uint64_t cnt;
	bool woken;

	woken = ppoll(p, all->fault_fd >= 0 ? 2 : 1, d == VB_NEVER ? NULL : &t, NULL) > 0;
	(void)!read(all->kick_fd, &cnt, sizeof cnt);
	if (all->fault_fd >= 0)
		while (read(all->fault_fd, &msg, sizeof msg) == sizeof msg)
			;
	return woken;
}

/*
 * Looks at what no doorbell tells. True: it goes on to be looked for. Does not wait for the lock,
 * whose holder may wait for this thread to lift the protection of a page.
 */
static bool look_parked(struct vb_bells *all)
{
	bool is_restless;

	if (!vb_lock_try(&all->engine->lock))
		return true;
	(void)vb_bells_look(all, vb_clock_now());
	is_restless = all->is_restless;
	vb_lock_drop(&all->engine->lock);
	return is_restless;
}

static void take_naps(struct vb_bells *all)
{
	vb_dur d = NAP_MIN_NS;

	while (!atomic_load_explicit(&all->stop, memory_order_relaxed) &&
	       !vb_bells_have_rung(all)) {
		(void)wait_for(all, d);
		if (d == NAP_MAX_NS)
			(void)look_parked(all);
		d = vb_time_min(2 * d, NAP_MAX_NS);
	}
}

static void park_watch(struct vb_bells *all)
{
	uint32_t high = atomic_load_explicit(&all->high, memory_order_acquire);
	struct vb_engine *e = all->engine;
	bool is_restless;

	vb_lock_take(&e->lock);
	vb_engine_expect_sleep(e);
	/* Look at everything, so that is_restless is up to date. */
	all->look_due = 0;
	(void)vb_bells_look(all, vb_clock_now());
	is_restless = all->is_restless;
	vb_lock_drop(&e->lock);
	if (all->fault_fd < 0 || !vb_bells_protect(all, high, true)) {
		take_naps(all);
		return;
	}
	/* A store before that is seen now, a store behind it wakes. */
	while (!vb_bells_have_rung(all) &&
	       !atomic_load_explicit(&all->stop, memory_order_relaxed) &&
	       !wait_for(all, is_restless ? RESTLESS_NS : VB_NEVER))
		is_restless = look_parked(all);
	(void)vb_bells_protect(all, high, false);
}

/* While threads that store ring by themselves: rings what they could not, and looks for what no
 * doorbell tells. */
static void wait_trapping(struct vb_bells *all)
{
	struct vb_engine *e = all->engine;
	bool is_restless;

	vb_lock_take(&e->lock);
	all->look_due = 0;
	(void)vb_bells_look(all, vb_clock_now());
	is_restless = all->is_restless;
	vb_lock_drop(&e->lock);
	(void)wait_for(all, is_restless ? RESTLESS_NS : VB_NEVER);
}

static void *watch_main(void *arg)
{
	struct vb_bells *all = arg;

	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	vb_progress_thread_shorten_slice();
	while (!atomic_load_explicit(&all->stop, memory_order_relaxed)) {
		spin_on(all);
		if (atomic_load_explicit(&all->traps, memory_order_relaxed))
			wait_trapping(all);
		else
			park_watch(all);
	}
	return NULL;
}

/* As VERBENA_MLX5DV says, or by the processors that there are. */
static void way_choose(struct vb_bells *all)
{
	const char *way = getenv("VERBENA_MLX5DV");
	cpu_set_t cpus;

	/* Signals that this thread of the program blocks count for later as well. */
	(void)vb_guard_is_blocked();
	if (way && strcmp(way, "spin") == 0)
		all->way = VB_BELLS_SPIN;
	else if ((way && strcmp(way, "trap") == 0) ||
		 (sched_getaffinity(0, sizeof cpus, &cpus) == 0 &&
		  CPU_COUNT(&cpus) < SPIN_PROCESSORS_MIN))
		all->way = VB_BELLS_TRAP;
	if (all->way == VB_BELLS_TRAP)
		(void)vb_bells_trap(all);
}

int vb_bells_start(struct vb_bells *all)
{
	sigset_t set, old;
	int err;

	way_choose(all);
	/* As for the progress thread: signals are the program's, but for faults. */
	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &set, &old);
	err = pthread_create(&all->thread, NULL, watch_main, all);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(all->thread, "verbena-bell");
	return -err;
}
