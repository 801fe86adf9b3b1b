/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of the program that waits for descriptors, some channel's among them. It is the sleeper
 * of sleep.c then: its epoll instance is lent the program's descriptors, each for one event,
 * and the call that the program made tells afterwards what is ready. So nothing has to be known of
 * how epoll(7) would have told it, and a descriptor that is lent no more wakes somebody once at
 * most.
 *
 * Handlers of signals run in the wait alone, with the engine's lock free: poll(2) and epoll_wait(2)
 * are ended by each.
 */
#include "node/wait/watch.h"

#include "node/engine/priv.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors above wait as before. */
#define FDS_MAX 65536
#define IS_CHANNEL 1u
#define HAS_CHANNEL 2u

_Atomic uint32_t vb_watch_armed;
static _Atomic uint8_t kinds[FDS_MAX];

static uint8_t kind_of(int fd)
{
	return (unsigned)fd < FDS_MAX ? atomic_load_explicit(&kinds[fd], memory_order_relaxed) : 0;
}

void vb_watch_channel(int fd, bool is_channel)
{
	if ((unsigned)fd < FDS_MAX)
		atomic_store_explicit(&kinds[fd], is_channel ? IS_CHANNEL : 0,
				      memory_order_relaxed);
}

void vb_watch_nest(int epoll_fd, int fd)
{
	if ((unsigned)epoll_fd < FDS_MAX && vb_watch_is_channel(fd))
		atomic_store_explicit(&kinds[epoll_fd], HAS_CHANNEL, memory_order_relaxed);
}

bool vb_watch_is_channel(int fd)
{
	return kind_of(fd) == IS_CHANNEL;
}

bool vb_watch_has_channel(int epoll_fd)
{
	return kind_of(epoll_fd) == HAS_CHANNEL;
}

/* Until something is ready, an event was delivered, or nobody is armed any more. */
static int watch_program(struct vb_engine *e, vb_time until, const uint64_t *mask)
{
	uint32_t notified = e->notified;
	uint32_t saw;

	do {
		saw = vb_sleeper_park(e, until, mask);
		if (saw & (VB_SLEEP_LINK | VB_SLEEP_HANDLER | VB_SLEEP_TIMER))
			vb_sleeper_drain(e);
		if (saw & VB_SLEEP_HANDLER)
			return EINTR;
		if (saw == 0 || saw & VB_SLEEP_PROGRAM || e->notified != notified)
			return 0;
	} while (atomic_load_explicit(&vb_watch_armed, memory_order_relaxed));
	return EBUSY;
}

static int watch_engine(struct vb_engine *e, const struct vb_watch *w, uint32_t cnt, vb_time until,
			const sigset_t *mask)
{
	uint64_t all = ~VB_SIGNALS_OF_FAULTS, own, given;
	int rc = 0;

	vb_lock_take(&e->lock);
	if (!vb_sleeper_take(e, NULL, 0)) {
		vb_lock_drop(&e->lock);
		return EBUSY;
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &own, sizeof all);
	memcpy(&given, mask ? (const void *)mask : &own, sizeof given);
	for (uint32_t i = 0; i < cnt && rc == 0; i++)
		rc = -vb_sleeper_watch_fd(e->sleeper.epoll_fd, w[i].fd, w[i].events | EPOLLONESHOT,
					  VB_SLEEP_PROGRAM);
	if (rc == 0)
		rc = watch_program(e, until, &given);
	vb_sleeper_give(e);
	vb_lock_drop(&e->lock);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &own, NULL, sizeof own);
	return rc;
}

int vb_watch_wait(const struct vb_watch *w, uint32_t cnt, vb_time until, const sigset_t *mask)
{
	struct vb_engine *e = vb_engine_borrow();
	int rc;

	if (!e)
		return EBUSY;
	rc = watch_engine(e, w, cnt, until, mask);
	vb_engine_release(e);
	return rc;
}
