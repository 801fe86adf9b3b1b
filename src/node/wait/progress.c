/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread. The application drives the engine by its own calls; this thread does what
 * it does not: receive for one-sided operations while it computes, fire timers while it sleeps,
 * send what it posted and left.
 *
 * Where it waits and for how long is for src/wait/thread.c to say; here it is carried out. On duty
 * the thread sleeps until a packet arrives, a deadline passes or somebody kicks it. Parked it takes
 * naps, blind for packets, and looks between them, without the lock, whether the application has
 * polled meanwhile. While a peer streams to a program that does nothing itself, it looks on for a
 * moment after each packet before it sleeps: to be woken for every GSO batch costs both sides more
 * than that. A program that sleeps for an event takes its packets itself (sleep.c).
 */
#include "node/engine/priv.h"
#include "node/wait/stop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Naps at a lock that is taken, the first so long and each twice as long as the one before, before
 * the thread waits in line. */
#define LOCK_NAP_NS (50 * VB_USEC)
#define LOCK_NAPS_MAX 4u
/* Steps in a row before the lock is offered to others, where so many packets come at once. */
#define STEPS_MAX 4
#define STREAM_PKTS 8u
/* Looks for packets that no descriptor shows, for each at the descriptors, which costs so much
 * more.
 */
#define SILENT_LOOKS 32
/* The shortest slice that a kernel gives. */
#define SLICE_NS (100 * VB_USEC)
/* Looking after broker and devices. */
#define CHECK_NS VB_SEC

void vb_progress_thread_watch_mail(struct vb_engine *e)
{
	(void)vb_sleeper_watch_fd(e->progress_thread.epoll_fd, e->mail.fd, EPOLLIN, VB_SLEEP_MAIL);
}

/* Waits up to @d for events of the thread's epoll instance. True: there are packets, or mail. */
static bool wait_events(struct vb_engine *e, vb_dur d)
{
	struct vb_progress_thread *s = &e->progress_thread;
	uint32_t saw = vb_sleeper_wait_epoll(s->epoll_fd, d, NULL);
	uint64_t cnt;

	if (saw & VB_SLEEP_WAKE)
		(void)!read(s->kick_fd, &cnt, sizeof cnt);
	s->was_kicked = saw & VB_SLEEP_WAKE;
	if (saw & VB_SLEEP_BROKER)
		s->check_at = 0;
	if (saw & VB_SLEEP_MAIL)
		e->mail.look = true;
	return saw & (VB_SLEEP_LINK | VB_SLEEP_MAIL);
}

/* Sleeps until @until, or a kick, at most; and wakes for nothing else. */
static void sleep_for_kick(struct vb_progress_thread *s, vb_time until)
{
	struct pollfd p = {s->kick_fd, POLLIN, 0};
	vb_dur d = vb_time_since(vb_clock_now(), until);
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};
	uint64_t cnt;

	if (ppoll(&p, 1, &t, NULL) > 0)
		(void)!read(s->kick_fd, &cnt, sizeof cnt);
}

/* Whether there are packets that the descriptor does not show. The lock's holder sees to them. */
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
static bool sleep_on_duty(struct vb_engine *e, vb_time until)
{
	struct vb_progress_thread *s = &e->progress_thread;
	vb_time now = vb_clock_now();
	uint32_t word = 0;
	bool has = false;

	if (vb_link_is_silent(e->link)) {
		vb_lock_take(&e->lock);
		bool sleeps = e->wait.sleeper != VB_SLEEPER_NONE;

		word = e->wait.kicked || sleeps ? 0 : vb_link_begin_nap(e->link, now);
		s->wakeup = word ? VB_WAKEUP_NAP : VB_WAKEUP_DESCRIPTORS;
		/* A sleeper is the one that senders wake. */
		if (!sleeps) {
			if (!word)
				vb_link_park(e->link, true);
			has = vb_link_has_packets(e->link);
		}
		vb_lock_drop(&e->lock);
		vb_wait_stop(VB_STEP_THREAD_NAPS);
	}
	if (has)
		return true;
	if (!word)
		return wait_events(e, vb_time_since(vb_clock_now(), until));
	vb_link_nap(e->link, word, vb_time_since(now, until));
	return has_packets(e);
}

/* Looks for the packet after the last one, without the lock. False: none came, and no kick;
 * *packet: it is there. */
static bool look_for_next(struct vb_engine *e, vb_time until, bool *packet)
{
	struct vb_progress_thread *s = &e->progress_thread;
	int looks = vb_link_is_silent(e->link) ? SILENT_LOOKS : 0;

	until = vb_time_min(until, vb_clock_now() + e->wait.slow * (vb_dur)VB_WAIT_LOOK_ON_NS);
	do {
		*packet = false;
		for (int i = 0; i < looks && !*packet; i++)
			*packet = has_packets(e);
		if (*packet || (*packet = wait_events(e, 0)) || s->was_kicked)
			return true;
	} while (vb_clock_now() < until);
	return false;
}

/* Sleeps, parked, for as long as the application polls and nobody kicks. */
static void nap_parked(struct vb_engine *e, struct vb_nap *n)
{
	struct vb_progress_thread *s = &e->progress_thread;
	uint64_t cnt;

	do {
		struct pollfd p[2] = {{s->kick_fd, POLLIN, 0}, {e->broker.sock, POLLIN, 0}};
		struct timespec t = {0, (long)n->length};

		if (ppoll(p, 2, &t, NULL) > 0) {
			if (p[0].revents)
				(void)!read(s->kick_fd, &cnt, sizeof cnt);
			if (p[1].revents)
				s->check_at = 0;
			return;
		}
	} while (vb_nap_goes_on(n, atomic_load_explicit(&e->glance, memory_order_relaxed),
				vb_lock_is_held(&e->lock)) &&
		 !has_packets(e) && vb_clock_now() < s->check_at);
}

/*
 * Takes the lock because a packet has arrived. Its holder is most likely receiving that packet, and
 * a thread that waits in line would only hold it up; so this one takes a nap first.
 */
static void enter_for_packet(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	for (uint32_t i = 0; !vb_lock_try(&e->lock); i++) {
		if (i == LOCK_NAPS_MAX) {
			vb_lock_take(&e->lock);
			break;
		}
		atomic_store_explicit(&s->napping, true, memory_order_relaxed);
		sleep_for_kick(s, vb_clock_now() + (e->wait.slow * LOCK_NAP_NS << i));
		atomic_store_explicit(&s->napping, false, memory_order_relaxed);
	}
}

/* Takes what has arrived; more than once only where there is a stream of it. True: there was
 * something. */
static bool receive_stream(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = vb_engine_step(e, now);
	bool received = cnt != 0;

	for (int i = 1; i < STEPS_MAX && cnt >= STREAM_PKTS; i++)
		cnt = vb_engine_step(e, vb_clock_now());
	return received;
}

/* The work after waking up, under the lock. */
static void work_once(struct vb_engine *e, bool packet, vb_time now)
{
	struct vb_wait_work work;

	vb_engine_runs(e, now);
	work = vb_engine_work(e);
	if (vb_wait_woke(&e->wait, &work, packet, now))
		vb_wait_stepped(&e->wait, packet, receive_stream(e, now), now);
}

/* Watches the broker's connection, which may be another one each time. A connection that is closed
 * here and that a child has kept gives one event at most. */
static void watch_broker(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;

	if (e->broker.sock >= 0)
		(void)vb_sleeper_watch_fd(s->epoll_fd, e->broker.sock, EPOLLIN | EPOLLONESHOT,
					  VB_SLEEP_BROKER);
}

static void look_after_broker(struct vb_engine *e)
{
	vb_engine_check_broker(e);
	watch_broker(e);
	vb_lock_take(&e->lock);
	vb_engine_reload(e);
	vb_link_sweep(e->link);
	vb_engine_probe_xrc(e, vb_clock_now());
	vb_engine_answer(e);
	vb_lock_drop(&e->lock);
	e->progress_thread.check_at = vb_clock_now() + CHECK_NS;
}

/* On duty: looks for the next packet of a stream, or sleeps. Not under the lock. True: there are
 * packets. */
static bool wait_on_duty(struct vb_engine *e, bool looks_on, vb_time until)
{
	bool packet = false, found;

	if (!looks_on)
		return sleep_on_duty(e, until);
	found = look_for_next(e, until, &packet);
	vb_lock_take(&e->lock);
	vb_wait_looked_on(&e->wait, found);
	vb_lock_drop(&e->lock);
	return packet;
}

/* Waits as the machine says. Under the lock, which it gives up meanwhile. True: there are packets.
 */
static bool wait_once(struct vb_engine *e)
{
	struct vb_progress_thread *s = &e->progress_thread;
	vb_time now = vb_clock_now(), until;
	struct vb_wait_work work = vb_engine_work(e);
	bool is_parked = e->wait.thread == VB_THREAD_PARKED, looks_on, packet = false;
	struct vb_nap nap;

	vb_wait_plan(&e->wait, &work, now, s->check_at);
	vb_nap_begin(&nap, &e->wait, now);
	looks_on = vb_wait_looks_on(&e->wait);
	until = e->wait.wake_at;
	vb_lock_drop(&e->lock);
	vb_wait_stop(is_parked  ? VB_STEP_THREAD_PARKS
		     : looks_on ? VB_STEP_THREAD_LOOKS_ON
				: VB_STEP_THREAD_WAITS);
	if (is_parked)
		nap_parked(e, &nap);
	else
		packet = wait_on_duty(e, looks_on, until);
	if (s->check_at <= vb_clock_now())
		look_after_broker(e);
	vb_wait_stop(VB_STEP_THREAD_WOKE);
	if (packet)
		enter_for_packet(e);
	else
		vb_lock_take(&e->lock);
	if (s->wakeup != VB_WAKEUP_NONE && e->wait.sleeper == VB_SLEEPER_NONE)
		vb_link_park(e->link, false);
	s->wakeup = VB_WAKEUP_NONE;
	return packet;
}

void vb_progress_thread_shorten_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = {.size = 0};

	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy != SCHED_OTHER)
		return;
	a.runtime = SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

static void *progress_thread_main(void *arg)
{
	struct vb_engine *e = arg;

	/* The default slack of 50 us would double the short waits. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	vb_progress_thread_shorten_slice();
	vb_lock_take(&e->lock);
	while (!e->progress_thread.stop) {
		bool packet = wait_once(e);

		work_once(e, packet, vb_clock_now());
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

	int rc = vb_sleeper_watch_link(e, &s->epoll_fd);

	if (!rc)
		rc = vb_sleeper_watch_fd(s->epoll_fd, s->kick_fd, EPOLLIN, VB_SLEEP_WAKE);
	if (rc)
		return rc;
	watch_broker(e);
	e->ran_at = vb_clock_now();
	e->wait.wake_at = s->check_at = e->ran_at + CHECK_NS;
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
		if (vb_wait_kick(&e->wait))
			vb_progress_thread_kick(e);
		vb_lock_drop(&e->lock);
		pthread_join(s->thread, NULL);
	}
	if (s->kick_fd >= 0)
		close(s->kick_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}
