/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread. The application drives the engine by its own calls; this thread does what
 * it does not: receive for one-sided operations while it computes, fire timers while it sleeps,
 * send what it posted and left.
 *
 * On duty the thread sleeps until a packet arrives, a deadline passes or somebody kicks it. To be
 * woken for a packet that the application takes anyway helps nobody and costs the sender dearly, so
 * a thread that wakes up to find the application polling parks: it takes a nap, blind for
 * packets, and then looks, without the lock, whether the application has polled meanwhile. Naps
 * double from 50 us to 500 us while it has, or is in a call that takes long, which bounds the cost
 * of looking, and also the time for which a program that stops polling without a word is not
 * served. Only a program that polls steadily has the thread parked. One that says that it stops, by
 * arming a completion queue, is served at once (vb_engine_expect_sleep()). One that sleeps for an
 * event takes its packets itself (sleep.c).
 *
 * While a peer streams to a program that does nothing itself, the thread looks on for a moment
 * after each packet before it sleeps: to be woken for every GSO batch costs both sides more than
 * that.
 */
#include "node/engine/priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAP_MIN_NS (50 * VB_USEC)
#define NAP_MAX_NS (500 * VB_USEC)
/* The application polls if it did so this short a time ago. */
#define POLLS_NS (20 * VB_USEC)
/* ... and so often in a row. */
#define POLLS_MIN 16u
/* Packets that the application takes before the thread does until it is told so: it sleeps on in
 * ppoll() when there is nothing left to read, and does not know for what it was woken. */
#define BEATEN_MAX 4u
/* Times in a row that it was woken for a packet while the application polled. */
#define IN_VAIN_MAX 2u
/* Naps at a lock that is taken, each twice as long, before it waits in line. */
#define NAPS_MAX 4u
/* Looks in a row that find the lock taken and no progress before the application is not taken for
 * one that polls: who sends a lot does so seldom. */
#define BUSY_MAX 2u
/* How late timers may be while the application is active. */
#define LEEWAY_NS (200 * VB_USEC)
/* Steps in a row before the lock is offered to others. */
#define STEPS_MAX 4
#define STREAM_PKTS 8u
/* A program that has not polled for so long is passive... */
#define PASSIVE_NS VB_MSEC
/* ... and after a packet for it the next one is looked for during this time. Each time in a row
 * that none comes, twice as many packets are taken without, at most 2^LINGER_SKIP_MAX. */
#define LINGER_NS (50 * VB_USEC)
#define LINGER_SKIP_MAX 6u
/* Looks for packets that no descriptor shows, for each at the descriptors, which costs so much
 * more.
 */
#define SILENT_LOOKS 32
/* While an application has done something within this time, the thread wakes up so often. */
#define ACTIVE_NS (100 * VB_MSEC)
#define WATCH_NS (20 * VB_MSEC)
/* Doorbells answered in time before the application is trusted to come back for the next. */
#define TRUST_MIN 8u
/* Looking after broker and devices. */
#define CHECK_NS VB_SEC

static void kick_thread(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (s->kicked)
		return;
	s->kicked = true;
	if (vb_link_end_nap(e->link))
		return;
	/* Fails only when the counter is at its maximum, and then the thread wakes anyway. */
	(void)!write(s->kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/*
 * When the thread has to be there. An application that polls serves timers as it comes by, and
 * those of pacing and of full receivers are many and short: it gets a while for them.
 */
static vb_time due_here(const struct vb_engine *e, vb_time now)
{
	bool is_active = !e->sleeps && now - e->progress_at < e->slow * NAP_MAX_NS;

	return vb_engine_due(e, now, is_active ? LEEWAY_NS : 0);
}

void vb_progress_thread_look_again(struct vb_engine *e)
{
	kick_thread(e);
}

void vb_progress_thread_notice(struct vb_engine *e, vb_time now)
{
	struct vb_progress_thread *s = &e->progress_thread;
	vb_time due;

	if (s->parked && (!e->unsent.wr_cnt || e->unsent.trust >= TRUST_MIN ||
			  vb_engine_is_oversubscribed(e, now)))
		return;
	/* A reply that is expected comes, or its acknowledgement leaves, a little late for once. */
	due = e->reply.held ? now + e->slow * NAP_MAX_NS : due_here(e, now);
	if (due < s->wake_at)
		kick_thread(e);
}

/* A program that only comes by now and then does not make up for the thread. */
static bool polls_steadily(const struct vb_engine *e)
{
	return atomic_load_explicit(&e->polls, memory_order_relaxed) >= POLLS_MIN;
}

void vb_progress_thread_beaten(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (!s->parked && polls_steadily(e) && ++s->beaten >= BEATEN_MAX)
		kick_thread(e);
}

void vb_engine_expect_sleep(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (e->unsent.wr_cnt)
		vb_engine_send_rest(e);
	s->handover = e->sleeps = true;
	atomic_store_explicit(&e->polls, 0, memory_order_relaxed);
	vb_engine_forget_oversubscription(e);
	if (s->parked || atomic_load_explicit(&s->napping, memory_order_relaxed))
		kick_thread(e);
}

void vb_progress_thread_yield_wakeup(struct vb_engine *e)
{
	if (e->progress_thread.naps_for_wakeup)
		(void)vb_link_end_nap(e->link);
}

/* Sleeps until @until, or a kick, or (unless @fd is -1) something to read there or in the mailbox;
 * true for that. */
static bool sleep_until(struct vb_engine *e, int fd, int broker, vb_time until)
{
	struct vb_progress_thread *s = &e->progress_thread;
	int mail = fd < 0 ? -1 : e->mail.fd;
	struct pollfd p[4] = {
	    {s->kick_fd, POLLIN, 0}, {fd, POLLIN, 0}, {broker, POLLIN, 0}, {mail, POLLIN, 0}};
	vb_dur d = vb_time_since(vb_engine_now(), until);
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};
	uint64_t cnt;

	if (ppoll(p, 4, &t, NULL) <= 0)
		return false;
	if (p[0].revents)
		(void)!read(s->kick_fd, &cnt, sizeof cnt);
	if (p[2].revents)
		s->check_at = 0;
	if (p[3].revents)
		e->mail.look = true;
	return p[1].revents || p[3].revents;
}

/* Whether there are packets that the descriptor does not show. Who holds the lock sees to them. */
static bool has_packets(struct vb_engine *e)
{
	bool has;

	if (!vb_link_is_silent(e->link) || !vb_lock_try(&e->lock))
		return false;
	has = vb_link_has_packets(e->link);
	vb_lock_drop(&e->lock);
	return has;
}

/*
 * Sleeps on duty, until @until at most. True: there are packets. Where packets come by shared
 * memory alone, a nap that their senders end at little cost; else the descriptors tell.
 */
static bool sleep_on_duty(struct vb_engine *e, int fd, vb_time until)
{
	struct vb_progress_thread *s = &e->progress_thread;
	vb_time now = vb_engine_now();
	uint32_t word = 0;
	bool has = false;

	if (vb_link_is_silent(e->link)) {
		vb_lock_take(&e->lock);
		word = s->kicked || e->sleeper.taken ? 0 : vb_link_begin_nap(e->link, now);
		s->naps_for_wakeup = word != 0;
		s->waits_for_wakeup = !word;
		/* A sleeper is the one that senders wake. */
		if (!e->sleeper.taken) {
			if (!word)
				vb_link_park(e->link, true);
			has = vb_link_has_packets(e->link);
		}
		vb_lock_drop(&e->lock);
	}
	if (has)
		return true;
	if (!word)
		return sleep_until(e, fd, e->broker.sock, until);
	vb_link_nap(e->link, word, vb_time_since(now, until));
	return has_packets(e);
}

/* Looks on, without the lock, for the packet after the last one; true when it is there. */
static bool linger_for_packet(struct vb_engine *e, int fd, vb_time until)
{
	struct vb_progress_thread *s = &e->progress_thread;
	struct pollfd p[2] = {{s->kick_fd, POLLIN, 0}, {fd, POLLIN, 0}};
	int looks = vb_link_is_silent(e->link) ? SILENT_LOOKS : 0;
	uint64_t kicks;

	s->streams = false;
	if (s->linger_skip) {
		s->linger_skip--;
		return false;
	}
	until = vb_time_min(until, vb_engine_now() + e->slow * LINGER_NS);
	do {
		bool has = false;

		for (int i = 0; i < looks && !has; i++)
			has = has_packets(e);
		if (!has && poll(p, 2, 0) <= 0)
			continue;
		/* Or it would end every time after this. */
		if (!has && p[0].revents)
			(void)!read(s->kick_fd, &kicks, sizeof kicks);
		s->lingered = 0;
		return has || p[1].revents != 0;
	} while (vb_engine_now() < until);
	s->linger_skip = 1u << s->lingered;
	s->lingered += s->lingered < LINGER_SKIP_MAX;
	return false;
}

/* Sleeps, parked, for as long as the application polls and nobody kicks. */
static void nap_parked(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;
	uint64_t seen, cnt = atomic_load_explicit(&e->progress_cnt, memory_order_relaxed);
	vb_dur length = e->slow * NAP_MIN_NS, most = e->slow * NAP_MAX_NS;
	bool once = s->nap_until != 0;
	uint32_t held = 0;

	if (once)
		length = vb_time_since(vb_engine_now(), s->nap_until);
	do {
		struct pollfd p[2] = {{s->kick_fd, POLLIN, 0}, {e->broker.sock, POLLIN, 0}};
		struct timespec t = {0, (long)length};

		seen = cnt;
		if (ppoll(p, 2, &t, NULL) > 0) {
			if (p[0].revents)
				(void)!read(s->kick_fd, &cnt, sizeof cnt);
			if (p[1].revents)
				s->check_at = 0;
			return;
		}
		length = length * 2 < most ? length * 2 : most;
		cnt = atomic_load_explicit(&e->progress_cnt, memory_order_relaxed);
		held = cnt == seen && vb_lock_is_held(&e->lock) ? held + 1 : 0;
	} while (!once && ((cnt != seen && polls_steadily(e)) || (held != 0 && held <= BUSY_MAX)) &&
		 !has_packets(e) && vb_engine_now() < s->check_at);
}

/*
 * Takes the lock because a packet has arrived. Who holds it is most likely receiving that packet,
 * and would only be held up by a thread that waits in line; so this one takes a nap first.
 */
static void enter_for_packet(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	for (uint32_t i = 0; !vb_lock_try(&e->lock); i++) {
		if (i == NAPS_MAX) {
			vb_lock_take(&e->lock);
			break;
		}
		atomic_store_explicit(&s->napping, true, memory_order_relaxed);
		(void)sleep_until(e, -1, -1, vb_engine_now() + (e->slow * NAP_MIN_NS << i));
		atomic_store_explicit(&s->napping, false, memory_order_relaxed);
	}
}

/* Takes what has arrived; more than once only where there is a stream of it. True: there was
 * something. */
static bool receive_stream(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = vb_engine_step(e, now);
	bool received = cnt != 0;

	e->progress_thread.streams = received && now - e->progress_at > PASSIVE_NS;
	for (int i = 1; i < STEPS_MAX && cnt >= STREAM_PKTS; i++)
		cnt = vb_engine_step(e, vb_engine_now());
	return received;
}

/* What there is to do after waking up, under the lock. */
static void work_once(struct vb_engine *e, bool packet, vb_time now)
{
	struct vb_progress_thread *s = &e->progress_thread;
	vb_engine_runs(e, now);

	bool oversubscribed = vb_engine_is_oversubscribed(e, now);
	vb_dur recent = oversubscribed ? VB_ENGINE_OVERSUBSCRIBED_POLLS_NS : e->slow * POLLS_NS;
	bool polls =
	    now - e->progress_at < recent && !s->handover && (oversubscribed || polls_steadily(e));
	bool due = vb_engine_due(e, now, 0) <= now;

	s->kicked = false;
	s->nap_until = oversubscribed && polls ? e->progress_at + recent : 0;
	if (s->parked && polls)
		return;
	if (s->parked)
		s->beaten = s->in_vain = 0;
	/* A program that polls for its completions and then waits on memory is fast at every other
	 * packet, no more. */
	if (packet)
		s->in_vain = polls ? s->in_vain + 1 : 0;
	s->parked = !s->handover && ((oversubscribed && polls) || s->beaten >= BEATEN_MAX ||
				     (polls && s->in_vain >= IN_VAIN_MAX));
	if (s->parked)
		return;
	if (e->unsent.wr_cnt && due)
		e->unsent.trust = 0;

	bool handover = s->handover;

	s->handover = false;
	if (!packet && !handover && !due)
		return;
	if (receive_stream(e, now))
		s->late = s->beaten = 0;
	else if (packet && !handover && polls_steadily(e) && ++s->late >= IN_VAIN_MAX)
		/* However long it took to get here, the application has been faster. */
		s->parked = true, s->late = 0;
}

static void plan_sleep(struct vb_engine *e, vb_time now)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (!s->parked) {
		s->wake_at = vb_time_min(due_here(e, now), s->check_at);
		/* So that nothing an active application leaves undone takes long to be noticed. */
		if (now - e->progress_at < e->slow * NAP_MAX_NS)
			s->wake_at = vb_time_min(s->wake_at, now + e->slow * NAP_MAX_NS);
		/* So that the timer of each request need not be told to the thread. */
		else if (now - e->progress_at < ACTIVE_NS)
			s->wake_at = vb_time_min(s->wake_at, now + WATCH_NS);
		/* So that a freeze is told from waiting for the peer. */
		else if (vb_hca_poll_timeout(e->hca) != VB_NEVER)
			s->wake_at = vb_time_min(s->wake_at, now + VB_PROGRESS_TICK_NS);
	} else {
		/* Naps end by themselves; what is left unsent without trust wakes it at once. */
		s->wake_at = VB_NEVER;
	}
}

static void look_after_broker(struct vb_engine *e)
{
	vb_engine_check_broker(e);
	vb_lock_take(&e->lock);
	vb_engine_reload(e);
	vb_link_sweep(e->link);
	vb_engine_probe_xrc(e, vb_engine_now());
	vb_engine_answer(e);
	vb_lock_drop(&e->lock);
	e->progress_thread.check_at = vb_engine_now() + CHECK_NS;
}

static void *progress_thread_main(void *arg)
{
	struct vb_engine *e = arg;
	struct vb_progress_thread *s = &e->progress_thread;
	int fd = s->link_fd;

	/* The default slack of 50 us would double the short waits. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	vb_lock_take(&e->lock);
	while (!s->stop) {
		plan_sleep(e, vb_engine_now());

		vb_time until = s->wake_at;
		bool parked = s->parked, waits = false;

		vb_lock_drop(&e->lock);

		bool packet = false;

		if (parked) {
			nap_parked(e);
		} else if (s->streams && linger_for_packet(e, fd, until)) {
			packet = true;
		} else {
			waits = true;
			packet = sleep_on_duty(e, fd, until);
		}

		if (s->check_at <= vb_engine_now())
			look_after_broker(e);
		if (packet)
			enter_for_packet(e);
		else
			vb_lock_take(&e->lock);
		s->naps_for_wakeup = s->waits_for_wakeup = false;
		if (waits && !e->sleeper.taken)
			vb_link_park(e->link, false);
		work_once(e, packet, vb_engine_now());
	}
	vb_lock_drop(&e->lock);
	return NULL;
}

/* Of pthread_create(3) no room for the stack, and no thread left, are one: tells them apart. */
static int thread_shortage(void)
{
	pthread_attr_t attr;
	size_t size = 0;

	pthread_attr_init(&attr);
	(void)pthread_attr_getstacksize(&attr, &size);
	pthread_attr_destroy(&attr);

	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return ENOMEM;
	munmap(stack, size);
	return EAGAIN;
}

int vb_progress_thread_start(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;
	sigset_t all, old;

	s->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->kick_fd < 0)
		return -errno;

	int rc = vb_sleeper_watch_link(e, &s->link_fd);

	if (rc)
		return rc;
	e->ran_at = vb_engine_now();
	s->wake_at = s->check_at = e->ran_at + CHECK_NS;
	/* Signals are the application's; none may land on this thread but faults in memory of the
	 * application, which the guard answers. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);

	int err = pthread_create(&s->thread, NULL, progress_thread_main, e);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return err == EAGAIN ? -thread_shortage() : -err;
	pthread_setname_np(s->thread, "verbena");
	s->started = true;
	return 0;
}

void vb_progress_thread_stop(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (s->started) {
		vb_lock_take(&e->lock);
		s->stop = true;
		kick_thread(e);
		vb_lock_drop(&e->lock);
		pthread_join(s->thread, NULL);
	}
	if (s->kick_fd >= 0)
		close(s->kick_fd);
	if (s->link_fd >= 0)
		close(s->link_fd);
}
