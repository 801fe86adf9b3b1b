/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of the program that polled in vain: what src/wait/program.c says that it does then, it
 * does here. Relies on sched_yield(2) to tell whether others wait for this processor.
 */
#include "node/engine/priv.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum vb_wait_idle vb_engine_polled(struct vb_engine *e, bool found)
{
	if (!found)
		return vb_wait_found_nothing(&e->wait);
	vb_wait_found(&e->wait);
	return VB_IDLE_RETURN;
}

/* Directly: ppoll() of the C library is a point at which a thread may be cancelled. */
static void sleep_for_packet(int fd, vb_dur d)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};

	syscall(SYS_ppoll, &p, 1, &t, NULL, _NSIG / 8);
}

static void nap_briefly(struct vb_engine *e)
{
	vb_time now = vb_clock_now(), until;
	struct vb_wait_work work;

	vb_lock_take(&e->lock);
	work = vb_engine_work(e);
	until = vb_wait_idle_until(&e->wait, &work, now);
	vb_lock_drop(&e->lock);
	if (now < until)
		sleep_for_packet(vb_link_fd(e->link), until - now);
	vb_lock_take(&e->lock);
	vb_wait_idled(&e->wait, vb_clock_now());
	vb_lock_drop(&e->lock);
}

static void let_others_run(struct vb_engine *e)
{
	vb_time before = vb_clock_now(), after;

	sched_yield();
	after = vb_clock_now();
	vb_lock_take(&e->lock);
	vb_wait_yielded(&e->wait, before, after);
	vb_lock_drop(&e->lock);
}

void vb_engine_idle(struct vb_engine *e, enum vb_wait_idle how)
{
	if (how == VB_IDLE_YIELD)
		let_others_run(e);
	else if (how == VB_IDLE_NAP)
		nap_briefly(e);
}
