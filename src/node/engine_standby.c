/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-by thread. The application drives the engine by its own calls; this thread does what
 * it does not: receive for one-sided operations while it computes, fire timers while it sleeps,
 * send what it posted and left.
 *
 * On duty the thread sleeps until a packet arrives, a deadline passes or somebody kicks it. To be
 * woken for a packet that the application takes anyway helps nobody and costs the sender dearly, so
 * a thread that wakes up to find the application polling stands aside: it takes a nap, blind for
 * packets, and then looks again. Naps double from 50 us to 1 ms while the application polls, which
 * bounds the cost of looking, and also the time for which a program that stops polling without a
 * word is not served. A program that says so, by arming a completion queue, is served at once
 * (vb_engine_expect_sleep()).
 */
#include "node/engine_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAP_MIN_NS (50 * VB_USEC)
#define NAP_MAX_NS VB_MSEC
/* The application polls if it did so this short a time ago. */
#define POLLS_NS (5 * VB_USEC)
/* Packets that the application takes before the thread does until it is told so: it sleeps on in
 * ppoll() when there is nothing left to read, and does not know for what it was woken. */
#define BEATEN_MAX 4u
/* Naps at a lock that is taken, each twice as long, before it waits in line. */
#define NAPS_MAX 4u
/* Steps in a row before the lock is offered to others. */
#define STEPS_MAX 4
#define STREAM_PKTS 8u
/* Doorbells answered in time before the application is trusted to come back for the next. */
#define TRUST_MIN 8u
/* Looking after broker and devices. */
#define CHECK_NS VB_SEC

static void kick(struct vb_standby *s)
{
	if (s->kicked)
		return;
	s->kicked = true;
	/* Fails only when the counter is at its maximum, and then the thread wakes anyway. */
	(void)!write(s->kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void vb_standby_notice(struct vb_engine *e, vb_time now)
{
	struct vb_standby *s = &e->standby;
	vb_time due;

	if (s->aside && (!e->unsent.wr_cnt || e->unsent.trust >= TRUST_MIN))
		return;
	/* A reply that is expected comes, or its acknowledgement leaves, a little late for once. */
	due = e->reply.held ? now + NAP_MAX_NS : vb_engine_due(e, now);
	if (due < s->wake_at)
		kick(s);
}

void vb_standby_beaten(struct vb_engine *e)
{
	struct vb_standby *s = &e->standby;

	if (!s->aside && ++s->beaten >= BEATEN_MAX)
		kick(s);
}

void vb_engine_expect_sleep(struct vb_engine *e)
{
	struct vb_standby *s = &e->standby;

	vb_engine_flush(e);
	s->handover = true;
	if (s->aside || atomic_load_explicit(&s->napping, memory_order_relaxed))
		kick(s);
}

/* Sleeps until @until, or a kick, or (unless @fd is -1) something to read there; true for that. */
static bool sleep_until(struct vb_standby *s, int fd, int broker, vb_time until)
{
	struct pollfd p[3] = {{s->kick_fd, POLLIN, 0}, {fd, POLLIN, 0}, {broker, POLLIN, 0}};
	vb_dur d = vb_time_since(vb_engine_now(), until);
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};
	uint64_t cnt;

	if (ppoll(p, 3, &t, NULL) <= 0)
		return false;
	if (p[0].revents)
		(void)!read(s->kick_fd, &cnt, sizeof cnt);
	if (p[2].revents)
		s->check_at = 0;
	return p[1].revents != 0;
}

/*
 * Takes the lock because a packet has arrived. Who holds it is most likely receiving that packet,
 * and would only be held up by a thread that waits in line; so this one takes a nap first.
 */
static void enter_for_packet(struct vb_engine *e)
{
	struct vb_standby *s = &e->standby;

	for (uint32_t i = 0; !vb_lock_try(&e->lock); i++) {
		if (i == NAPS_MAX) {
			vb_lock_take(&e->lock);
			break;
		}
		atomic_store_explicit(&s->napping, true, memory_order_relaxed);
		(void)sleep_until(s, -1, -1, vb_engine_now() + (NAP_MIN_NS << i));
		atomic_store_explicit(&s->napping, false, memory_order_relaxed);
	}
}

/* Takes what has arrived; more than once only where there is a stream of it. */
static void receive(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = vb_engine_step(e, now);

	for (int i = 1; i < STEPS_MAX && cnt >= STREAM_PKTS; i++)
		cnt = vb_engine_step(e, vb_engine_now());
}

/* What there is to do after waking up, under the lock. */
static void work(struct vb_engine *e, bool packet, vb_time now)
{
	struct vb_standby *s = &e->standby;
	bool polls = now - e->progress_at < POLLS_NS && !s->handover;
	bool due = vb_engine_due(e, now) <= now;

	s->kicked = false;
	if (s->aside && polls) {
		s->nap = s->nap * 2 < NAP_MAX_NS ? s->nap * 2 : NAP_MAX_NS;
		return;
	}
	if (s->aside || s->handover)
		s->nap = NAP_MIN_NS;
	s->aside = polls && (packet || s->beaten >= BEATEN_MAX);
	s->beaten = 0;
	if (s->aside)
		return;
	if (e->unsent.wr_cnt && due)
		e->unsent.trust = 0;
	if (packet || s->handover || due)
		receive(e, now);
	s->handover = false;
}

static void plan(struct vb_engine *e, vb_time now)
{
	struct vb_standby *s = &e->standby;

	if (!s->aside) {
		s->wake_at = vb_time_min(vb_engine_due(e, now), s->check_at);
		/* So that nothing an active application leaves undone takes long to be noticed. */
		if (now - e->progress_at < NAP_MAX_NS)
			s->wake_at = vb_time_min(s->wake_at, now + NAP_MAX_NS);
	} else if (e->unsent.wr_cnt && e->unsent.trust < TRUST_MIN) {
		s->wake_at = vb_time_min(now + s->nap, vb_engine_due(e, now));
	} else {
		s->wake_at = now + s->nap;
	}
}

static void look_after_broker(struct vb_engine *e)
{
	vb_engine_check_broker(e);
	vb_lock_take(&e->lock);
	vb_engine_reload(e);
	vb_lock_drop(&e->lock);
	e->standby.check_at = vb_engine_now() + CHECK_NS;
}

static void *standby_main(void *arg)
{
	struct vb_engine *e = arg;
	struct vb_standby *s = &e->standby;
	int fd = e->link->ops->fd(e->link);

	/* The default slack of 50 us would double the short waits. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	vb_lock_take(&e->lock);
	while (!s->stop) {
		plan(e, vb_engine_now());

		vb_time until = s->wake_at;
		bool aside = s->aside;

		vb_lock_drop(&e->lock);

		bool packet = sleep_until(s, aside ? -1 : fd, aside ? -1 : e->broker.sock, until);

		if (s->check_at <= vb_engine_now())
			look_after_broker(e);
		if (packet)
			enter_for_packet(e);
		else
			vb_lock_take(&e->lock);
		work(e, packet, vb_engine_now());
	}
	vb_lock_drop(&e->lock);
	return NULL;
}

int vb_standby_start(struct vb_engine *e)
{
	struct vb_standby *s = &e->standby;
	sigset_t all, old;

	s->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->kick_fd < 0)
		return -errno;
	s->nap = NAP_MIN_NS;
	s->check_at = vb_engine_now() + CHECK_NS;
	/* Signals are the application's; none may land on this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);

	int err = pthread_create(&s->thread, NULL, standby_main, e);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	pthread_setname_np(s->thread, "verbena");
	s->started = true;
	return 0;
}

void vb_standby_stop(struct vb_engine *e)
{
	struct vb_standby *s = &e->standby;

	if (s->started) {
		vb_lock_take(&e->lock);
		s->stop = true;
		kick(s);
		vb_lock_drop(&e->lock);
		pthread_join(s->thread, NULL);
	}
	if (s->kick_fd >= 0)
		close(s->kick_fd);
}
