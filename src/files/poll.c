/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that wait for descriptors. While a CQ of the process is armed, who waits for the channel of
 * one makes progress itself (node/wait/watch.h); then the call that the program made looks, without
 * waiting, what is ready. All other waits go on after one look at a count. A umad file whose device
 * is gone is shown as a kernel shows it (files/umad/umad.h).
 */
#include "files/calls.h"
#include "files/next.h"
#include "files/umad/umad.h"
#include "node/host/clock.h"
#include "node/wait/watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

static bool may_watch(void)
{
	return atomic_load_explicit(&vb_watch_armed, memory_order_relaxed) != 0;
}

/* It waits at all, and the kernel would not refuse it. */
static bool is_wait(const struct timespec *t)
{
	return !t || (t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < (long)VB_SEC &&
		      (t->tv_sec || t->tv_nsec));
}

/* When a wait of @t from now ends; NULL and what no clock reaches: never. */
static vb_time end_of(const struct timespec *t)
{
	if (!t || t->tv_sec > INT_MAX)
		return VB_NEVER;
	return vb_clock_now() + (vb_time)t->tv_sec * VB_SEC + (vb_time)t->tv_nsec;
}

static vb_time end_of_ms(int timeout)
{
	return timeout < 0 ? VB_NEVER : vb_clock_now() + (vb_time)timeout * VB_MSEC;
}

static bool is_over(vb_time until)
{
	return until != VB_NEVER && vb_clock_now() >= until;
}

static const struct timespec *left_of(vb_time until, struct timespec *t)
{
	vb_dur left;

	if (until == VB_NEVER)
		return NULL;
	left = vb_time_since(vb_clock_now(), until);
	*t = (struct timespec){(time_t)(left / VB_SEC), (long)(left % VB_SEC)};
	return t;
}

static int left_ms(vb_time until)
{
	vb_dur left;

	if (until == VB_NEVER)
		return -1;
	left = vb_time_since(vb_clock_now(), until);
	return (int)vb_time_min((left + VB_MSEC - 1) / VB_MSEC, INT_MAX);
}

/* All of these calls are points at which a thread may be cancelled. */
static int fail_interrupted(void)
{
	pthread_testcancel();
	errno = EINTR;
	return -1;
}

/* The descriptors of @p in @w: how many, 0 if they are not to be watched. */
static uint32_t watches_of(const struct pollfd *p, nfds_t n, struct vb_watch w[VB_WATCH_MAX])
{
	bool has_channel = false;
	uint32_t cnt = 0;

	if (n > VB_WATCH_MAX)
		return 0;
	for (nfds_t i = 0; i < n; i++) {
		if (p[i].fd < 0)
			continue;
		for (uint32_t k = 0; k < cnt; k++)
			if (w[k].fd == p[i].fd)
				return 0;
		/* The bits of both are the same. epoll_ctl(2), <linux/eventpoll.h> */
		w[cnt++] = (struct vb_watch){p[i].fd, (uint16_t)p[i].events};
		has_channel |= vb_watch_is_channel(p[i].fd) || vb_watch_has_channel(p[i].fd);
	}
	return has_channel ? cnt : 0;
}

static int poll_until(struct pollfd *p, nfds_t n, vb_time until, const sigset_t *mask)
{
	struct vb_watch w[VB_WATCH_MAX];
	uint32_t cnt = watches_of(p, n, w);
	struct timespec t;
	int err = EBUSY;

	while (cnt && (err = vb_watch_wait(w, cnt, until, mask)) == 0) {
		int ready = VB_NEXT(poll)(p, n, 0);

		if (ready || is_over(until))
			return ready;
	}
	if (err == EINTR)
		return fail_interrupted();
	return VB_NEXT(ppoll)(p, n, left_of(until, &t), mask);
}

int poll(struct pollfd *p, nfds_t n, int timeout)
{
	int ready = timeout == 0 || !may_watch() ? VB_NEXT(poll)(p, n, timeout)
						 : poll_until(p, n, end_of_ms(timeout), NULL);

	return vb_umad_poll_end(p, n, ready);
}

int __poll_chk(struct pollfd *p, nfds_t n, int timeout, size_t size)
{
	return may_watch() && n <= size / sizeof *p
		   ? poll(p, n, timeout)
		   : vb_umad_poll_end(p, n, VB_NEXT(__poll_chk)(p, n, timeout, size));
}

int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	int ready = !is_wait(t) || !may_watch() ? VB_NEXT(ppoll)(p, n, t, mask)
						: poll_until(p, n, end_of(t), mask);

	return vb_umad_poll_end(p, n, ready);
}

int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask,
		size_t size)
{
	return may_watch() && n <= size / sizeof *p
		   ? ppoll(p, n, t, mask)
		   : vb_umad_poll_end(p, n, VB_NEXT(__ppoll_chk)(p, n, t, mask, size));
}

/* The sets of a select(2), which a look writes over. */
struct sets {
	fd_set *of[3], was[3];
};

static void keep_sets(struct sets *s)
{
	for (int i = 0; i < 3; i++)
		if (s->of[i])
			s->was[i] = *s->of[i];
}

static void restore_sets(struct sets *s)
{
	for (int i = 0; i < 3; i++)
		if (s->of[i])
			*s->of[i] = s->was[i];
}

static uint32_t watches_of_sets(int n, const struct sets *s, struct vb_watch to[VB_WATCH_MAX])
{
	static const uint32_t events_of[] = {EPOLLIN | EPOLLRDHUP, EPOLLOUT, EPOLLPRI};
	bool has_channel = false;
	uint32_t cnt = 0;

	for (int fd = 0; fd < n; fd++) {
		uint32_t events = 0;

		for (int i = 0; i < 3 && fd < FD_SETSIZE; i++)
			if (s->of[i] && FD_ISSET(fd, s->of[i]))
				events |= events_of[i];
		if (!events)
			continue;
		if (cnt == VB_WATCH_MAX)
			return 0;
		to[cnt++] = (struct vb_watch){fd, events};
		has_channel |= vb_watch_is_channel(fd) || vb_watch_has_channel(fd);
	}
	return has_channel && n <= FD_SETSIZE ? cnt : 0;
}

static int select_until(int n, fd_set *r, fd_set *w, fd_set *x, vb_time until, const sigset_t *mask)
{
	static const struct timespec now;
	struct sets s = {.of = {r, w, x}};
	struct vb_watch watch[VB_WATCH_MAX];
	uint32_t cnt = watches_of_sets(n, &s, watch);
	struct timespec t;
	int err = EBUSY;

	keep_sets(&s);
	while (cnt && (err = vb_watch_wait(watch, cnt, until, mask)) == 0) {
		int ready = VB_NEXT(pselect)(n, r, w, x, &now, NULL);

		if (ready || is_over(until))
			return ready;
		restore_sets(&s);
	}
	if (err == EINTR)
		return fail_interrupted();
	return VB_NEXT(pselect)(n, r, w, x, left_of(until, &t), mask);
}

int pselect(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
	    const struct timespec *restrict t, const sigset_t *restrict mask)
{
	if (!is_wait(t) || !may_watch())
		return VB_NEXT(pselect)(n, r, w, x, t, mask);
	return select_until(n, r, w, x, end_of(t), mask);
}

/* Linux writes back what is left of the time. select(2) */
int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
	   struct timeval *restrict t)
{
	struct timespec d = {t ? t->tv_sec : 0, t ? t->tv_usec * 1000 : 0};
	vb_time until;
	int ready;

	if (!is_wait(t ? &d : NULL) || !may_watch())
		return VB_NEXT(select)(n, r, w, x, t);
	until = end_of(t ? &d : NULL);
	ready = select_until(n, r, w, x, until, NULL);
	if (left_of(until, &d))
		*t = (struct timeval){d.tv_sec, d.tv_nsec / 1000};
	return ready;
}

int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *ev)
{
	int rc = VB_NEXT(epoll_ctl)(epoll_fd, op, fd, ev);

	if (rc == 0 && op == EPOLL_CTL_ADD)
		vb_watch_nest(epoll_fd, fd);
	if (rc == 0 && op != EPOLL_CTL_DEL &&
	    atomic_load_explicit(&vb_umad_is_used, memory_order_relaxed))
		vb_umad_watched(epoll_fd, fd, ev->data);
	return rc;
}

/* The result of vb_watch_wait() before the epoll instance is looked at: 0, EINTR, or EBUSY. */
static int watch_epoll(int epoll_fd, vb_time until, const sigset_t *mask)
{
	struct vb_watch w = {epoll_fd, EPOLLIN};

	return vb_watch_wait(&w, 1, until, mask);
}

static bool may_watch_epoll(int epoll_fd, int max)
{
	return may_watch() && max > 0 && vb_watch_has_channel(epoll_fd);
}

/* Waits for the channels of @epoll_fd, and until it has something in *ready. False: only the kernel
 * can wait. */
static bool watch_until_ready(int epoll_fd, struct epoll_event *ev, int max, vb_time until,
			      const sigset_t *mask, int *ready)
{
	int err;

	while ((err = watch_epoll(epoll_fd, until, mask)) == 0) {
		*ready = VB_NEXT(epoll_pwait)(epoll_fd, ev, max, 0, NULL);
		if (*ready || is_over(until))
			return true;
	}
	if (err == EINTR)
		*ready = fail_interrupted();
	return err == EINTR;
}

static int epoll_until(int epoll_fd, struct epoll_event *ev, int max, vb_time until,
		       const sigset_t *mask)
{
	int ready;

	return watch_until_ready(epoll_fd, ev, max, until, mask, &ready)
		   ? ready
		   : VB_NEXT(epoll_pwait)(epoll_fd, ev, max, left_ms(until), mask);
}

int epoll_pwait(int epoll_fd, struct epoll_event *ev, int max, int timeout, const sigset_t *mask)
{
	int ready = timeout == 0 || !may_watch_epoll(epoll_fd, max)
			? VB_NEXT(epoll_pwait)(epoll_fd, ev, max, timeout, mask)
			: epoll_until(epoll_fd, ev, max, end_of_ms(timeout), mask);

	return vb_umad_epoll_end(epoll_fd, ev, ready);
}

int epoll_wait(int epoll_fd, struct epoll_event *ev, int max, int timeout)
{
	if (timeout == 0 || !may_watch_epoll(epoll_fd, max))
		return vb_umad_epoll_end(epoll_fd, ev,
					 VB_NEXT(epoll_wait)(epoll_fd, ev, max, timeout));
	return epoll_pwait(epoll_fd, ev, max, timeout, NULL);
}

static int epoll_until2(int epoll_fd, struct epoll_event *ev, int max, vb_time until,
			const sigset_t *mask)
{
	struct timespec left;
	int ready;

	return watch_until_ready(epoll_fd, ev, max, until, mask, &ready)
		   ? ready
		   : VB_NEXT(epoll_pwait2)(epoll_fd, ev, max, left_of(until, &left), mask);
}

int epoll_pwait2(int epoll_fd, struct epoll_event *ev, int max, const struct timespec *t,
		 const sigset_t *mask)
{
	int ready = !is_wait(t) || !may_watch_epoll(epoll_fd, max)
			? VB_NEXT(epoll_pwait2)(epoll_fd, ev, max, t, mask)
			: epoll_until2(epoll_fd, ev, max, end_of(t), mask);

	return vb_umad_epoll_end(epoll_fd, ev, ready);
}
