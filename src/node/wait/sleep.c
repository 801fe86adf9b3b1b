/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of the program that sleeps for an event. It waits for packets itself, so that no other
 * thread has to be woken first, and makes progress until its event is there; timers and all that is
 * due it sees to as well. One thread at a time does so; others wait to be told (verbs/queue/evq.h).
 * Timers are the progress thread's.
 *
 * Both threads wait for the link's descriptors, each by an epoll instance that has them with
 * EPOLLEXCLUSIVE, the sleeper's first: a packet wakes the sleeper alone while it waits, and the
 * progress thread whenever it does not, with no word between the two. That holds only if who was
 * woken leaves nothing unread (vb_sleeper_drain()). epoll_ctl(2), __wake_up() and
 * ep_poll_callback() of Linux
 *
 * With shared memory senders look at the wakeup endpoint's word (link/shm/wakeup.h). It is set by
 * whoever waits, and set again for the progress thread when the sleeper goes.
 *
 * A handler that was installed with SA_RESTART does not end the sleep, others do. The kernel does
 * not tell which it was. That matters where a program has both; then, and in a sleep that lasts for
 * many packets, signals are blocked meanwhile and looked at before their handlers run. Nearly
 * always a program has handlers of one kind alone, sleeps for a packet or two, and these calls are
 * spared.
 */
#include "node/engine/priv.h"
#include "node/wait/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Steps in a row before the program has its event, whatever else comes. */
#define STEPS_MAX 4
/* Waits of a sleep in which signals are not blocked: one that comes between two of them ends none.
 */
#define OPEN_PARKS_MAX 4
/* Sleeps for each look at what handlers there are. */
#define SLEEPS_PER_LOOK 1024

/* The C library's own two signals are not the program's. */
#define BIT(sig) VB_SIGNAL_BIT(sig)
#define NOT_BLOCKED (VB_SIGNALS_OF_FAULTS | BIT(32) | BIT(33))

int vb_sleeper_watch_fd(int epoll_fd, int fd, uint32_t events, enum vb_sleep_saw what)
{
	struct epoll_event ev = {.events = events, .data.u32 = what};

	/* Directly: epoll_ctl() is among the calls that src/files/ stands before. */
	if (events & EPOLLONESHOT && !syscall(SYS_epoll_ctl, epoll_fd, EPOLL_CTL_MOD, fd, &ev))
		return 0;
	/* Not watched yet, or another file has the number. */
	return syscall(SYS_epoll_ctl, epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int vb_sleeper_watch_link(struct vb_engine *e, int *epoll_fd)
{
	int fd[VB_LINK_FDS_MAX], rc = 0;
	uint32_t cnt = vb_link_fds(e->link, fd);

	*epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (*epoll_fd < 0)
		return -errno;
	for (uint32_t i = 0; i < cnt && !rc; i++)
		rc = vb_sleeper_watch_fd(*epoll_fd, fd[i], EPOLLIN | EPOLLEXCLUSIVE, VB_SLEEP_LINK);
	return rc;
}

int vb_sleeper_open(struct vb_engine *e)
{
	struct vb_sleeper *p = &e->sleeper;
	sigset_t none;
	int rc = vb_sleeper_watch_link(e, &p->epoll_fd);

	sigemptyset(&none);
	if (!rc && (p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		rc = -errno;
	if (!rc && (p->signal_fd = signalfd(-1, &none, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		rc = -errno;
	if (!rc)
		rc = vb_sleeper_watch_fd(p->epoll_fd, p->wake_fd, EPOLLIN, VB_SLEEP_WAKE);
	if (!rc)
		rc = vb_sleeper_watch_fd(p->epoll_fd, p->signal_fd, EPOLLIN, VB_SLEEP_SIGNAL);
	return rc;
}

void vb_sleeper_close(struct vb_engine *e)
{
	int fd[] = {e->sleeper.epoll_fd, e->sleeper.wake_fd, e->sleeper.signal_fd};

	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

void vb_sleeper_wake(struct vb_engine *e)
{
	struct vb_sleeper *p = &e->sleeper;

	if (!p->seq || atomic_load(p->seq) == p->seen || !vb_wait_wake(&e->wait))
		return;
	(void)!write(p->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void set_mask(uint64_t set, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, old, sizeof set);
}

/* Blocks all signals and has signal_fd show those that the program has not blocked itself. */
static uint64_t block_signals(struct vb_sleeper *p)
{
	uint64_t own, shown;

	set_mask(~NOT_BLOCKED, &own);
	shown = ~NOT_BLOCKED & ~own;
	if (shown != p->shown) {
		syscall(SYS_signalfd4, p->signal_fd, &shown, sizeof shown, 0);
		p->shown = shown;
	}
	return own;
}

/* Lets the handlers of what is pending run. EINTR when one of them ends the sleep. */
static int run_handlers(struct vb_sleeper *p, uint64_t own)
{
	uint64_t pending = 0;
	int rc = 0;

	syscall(SYS_rt_sigpending, &pending, sizeof pending);
	pending &= p->shown;
	for (int sig = 1; sig <= 64; sig++) {
		struct sigaction a;

		if (!(pending & BIT(sig)) || sigaction(sig, NULL, &a))
			continue;
		if (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN &&
		    !(a.sa_flags & SA_RESTART))
			rc = EINTR;
	}
	set_mask(own, NULL);
	if (!rc)
		(void)block_signals(p);
	return rc;
}

/* Directly: the calls of the C library are points at which a thread may be cancelled. The one that
 * knows nanoseconds came with Linux 5.11; before it ppoll(2) waits. */
static long wait_epoll(int fd, struct epoll_event *ev, int cnt, vb_dur d, const uint64_t *mask)
{
	struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};
	struct pollfd p = {fd, POLLIN, 0};
	long n;

	if (d == VB_NEVER)
		return syscall(SYS_epoll_pwait, fd, ev, cnt, -1, mask, _NSIG / 8);
	n = syscall(SYS_epoll_pwait2, fd, ev, cnt, &t, mask, _NSIG / 8);
	if (n >= 0 || errno != ENOSYS)
		return n;
	n = syscall(SYS_ppoll, &p, 1, &t, mask, _NSIG / 8);
	return n <= 0 ? n : syscall(SYS_epoll_pwait, fd, ev, cnt, 0, NULL, _NSIG / 8);
}

static vb_dur until_then(vb_time now, vb_time then)
{
	return then == VB_NEVER ? VB_NEVER : vb_time_since(now, then);
}

uint32_t vb_sleeper_wait_epoll(int epoll_fd, vb_dur d, const uint64_t *mask)
{
	struct epoll_event ev[8];
	uint32_t saw = 0;
	long n = wait_epoll(epoll_fd, ev, 8, d, mask);

	if (n < 0 && errno == EINTR)
		return VB_SLEEP_HANDLER;
	for (long i = 0; i < n; i++)
		saw |= ev[i].data.u32;
	return saw;
}

/* Waits, not under the lock. */
static uint32_t wait_here(struct vb_sleeper *p, vb_dur d, const uint64_t *mask)
{
	uint32_t saw = vb_sleeper_wait_epoll(p->epoll_fd, d, mask);
	uint64_t cnt;

	if (saw & VB_SLEEP_WAKE)
		(void)!read(p->wake_fd, &cnt, sizeof cnt);
	return saw;
}

/* Says that the caller is about to wait for a wakeup, under the lock. False: there are packets. */
static bool begin_wait(struct vb_engine *e)
{
	if (!vb_link_is_silent(e->link))
		return true;
	vb_link_park(e->link, true);
	return !vb_link_has_packets(e->link);
}

void vb_sleeper_drain(struct vb_engine *e)
{
	bool more = true;

	e->drains = 1;
	for (int i = 0; i < STEPS_MAX && more; i++)
		more = vb_engine_step(e, vb_clock_now()) && !vb_link_is_emptied(e->link);
	e->drains = 0;
	e->rx_more |= more;
	vb_wait_idled(&e->wait, e->step_end);
}

uint32_t vb_sleeper_park(struct vb_engine *e, vb_time until, const uint64_t *mask)
{
	struct vb_sleeper *p = &e->sleeper;
	struct vb_wait_work work = vb_engine_work(e);
	vb_time now = vb_clock_now(), due = vb_wait_due(&e->wait, &work, now, 0);
	uint32_t saw;

	if (e->rx_more || !begin_wait(e))
		return VB_SLEEP_LINK;
	vb_wait_park(&e->wait);
	vb_lock_drop(&e->lock);
	vb_wait_stop(VB_STEP_SLEEPER_PARKS);
	saw = wait_here(p, until_then(now, vb_time_min(until, due)), mask);
	vb_wait_stop(VB_STEP_SLEEPER_WOKE);
	vb_lock_take(&e->lock);
	vb_wait_unpark(&e->wait);
	vb_link_park(e->link, false);
	return saw || until <= due ? saw : VB_SLEEP_TIMER;
}

bool vb_sleeper_take(struct vb_engine *e, const _Atomic uint32_t *seq, uint32_t seen)
{
	struct vb_sleeper *p = &e->sleeper;

	/* This thread has no more to say, whichever thread receives meanwhile. */
	vb_engine_send_rest(e);
	if (!vb_wait_sleep(&e->wait))
		return false;
	p->seq = seq;
	p->seen = seen;
	vb_progress_thread_yield_wakeup(e);
	return true;
}

void vb_sleeper_give(struct vb_engine *e)
{
	e->sleeper.seq = NULL; /* the program may free it now */
	if (vb_wait_sleep_end(&e->wait))
		vb_progress_thread_kick(e);
	/* Packets without end, as vb_sleeper_drain() has it: the thread is told. */
	for (int i = 0;
	     e->progress_thread.wakeup == VB_WAKEUP_DESCRIPTORS && !begin_wait(e) && !e->rx_more;
	     i++) {
		vb_sleeper_drain(e);
		e->rx_more |= i == STEPS_MAX;
	}
	vb_progress_thread_notice(e, vb_clock_now());
}

/* The handlers that end a sleep, and those that do not. */
static void count_handlers(uint32_t *ends, uint32_t *others)
{
	*ends = *others = 0;
	for (int sig = 1; sig <= 64; sig++) {
		struct sigaction a;

		if (sigaction(sig, NULL, &a) || a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN)
			continue;
		if (a.sa_flags & SA_RESTART)
			++*others;
		else
			++*ends;
	}
}

/* A handler ran while no signal was blocked. EINTR when it may have been one that ends the sleep.
 */
static int judge_handler(struct vb_sleeper *p)
{
	uint32_t ends, others;

	count_handlers(&ends, &others);
	p->is_mixed = ends && others;
	return ends ? EINTR : 0;
}

/* Whether signals are to be blocked from the first on. Handlers are seldom installed. */
static bool is_mixed(struct vb_sleeper *p)
{
	uint32_t ends, others;

	if (p->sleeps++ % SLEEPS_PER_LOOK == 0) {
		count_handlers(&ends, &others);
		p->is_mixed = ends && others;
	}
	return p->is_mixed;
}

/* The next sleeper may block other signals. */
static void hide_signals(struct vb_sleeper *p)
{
	uint64_t none = 0;

	syscall(SYS_signalfd4, p->signal_fd, &none, sizeof none, 0);
	p->shown = 0;
}

/* Parks once and receives. 0, or as vb_engine_sleep() has it. */
static int sleep_once(struct vb_engine *e, vb_time until, bool is_blocked, uint64_t own)
{
	struct vb_sleeper *p = &e->sleeper;
	uint32_t saw = vb_sleeper_park(e, until, NULL);
	int rc = 0;

	vb_sleeper_drain(e);
	if (saw & (VB_SLEEP_SIGNAL | VB_SLEEP_HANDLER)) {
		vb_lock_drop(&e->lock);
		rc = is_blocked ? run_handlers(p, own) : judge_handler(p);
		vb_lock_take(&e->lock);
	}
	return saw == 0 ? ETIMEDOUT : rc;
}

int vb_engine_sleep(struct vb_engine *e, const _Atomic uint32_t *seq, uint32_t seen, vb_time until)
{
	struct vb_sleeper *p = &e->sleeper;
	uint64_t own = 0;
	bool is_blocked = false;
	int rc = 0;

	vb_lock_take(&e->lock);
	if (!vb_sleeper_take(e, seq, seen)) {
		vb_engine_expect_sleep(e);
		vb_lock_drop(&e->lock);
		return EBUSY;
	}
	for (int i = 0; rc == 0 && atomic_load(seq) == seen; i++) {
		if (!is_blocked && (i == OPEN_PARKS_MAX || (i == 0 && is_mixed(p)))) {
			own = block_signals(p);
			is_blocked = true;
		}
		rc = sleep_once(e, until, is_blocked, own);
	}
	if (is_blocked)
		hide_signals(p);
	vb_sleeper_give(e);
	vb_lock_drop(&e->lock);
	vb_wait_stop(VB_STEP_SLEEPER_GONE);
	if (is_blocked)
		set_mask(own, NULL);
	return rc;
}
