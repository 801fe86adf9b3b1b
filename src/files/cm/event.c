/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of an open rdma_cm: waiting for one, and the bytes that say that there are some. */
#include "files/cm/event.h"

#include "files/next.h"
#include "node/cm/call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define TAKER_NAPS 20
#define TAKER_NAP_US 50

/*
 * The channel that was called last, and the events that it had then: who asks for one of them need
 * not wait for its byte. Another process may have taken them, so the broker has the last word.
 */
static struct {
	uint64_t token;
	uint32_t events;
} recent;

void vb_cm_event_note(uint64_t token, uint32_t events)
{
	__atomic_store_n(&recent.token, token, __ATOMIC_RELAXED);
	__atomic_store_n(&recent.events, events, __ATOMIC_RELAXED);
}

static bool has_recent_event(const struct vb_fd *f)
{
	return __atomic_load_n(&recent.token, __ATOMIC_RELAXED) == f->token &&
	       __atomic_load_n(&recent.events, __ATOMIC_RELAXED);
}

void vb_cm_event_drain(int fd, uint32_t cnt)
{
	struct mmsghdr m[VB_CM_TOKENS_MAX];
	uint8_t byte;
	struct iovec iov = {&byte, 1};

	for (uint32_t i = 0; i < cnt && i < VB_CM_TOKENS_MAX; i++)
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}};
	while (cnt) {
		int n = recvmmsg(fd, m, cnt < VB_CM_TOKENS_MAX ? cnt : VB_CM_TOKENS_MAX,
				 MSG_DONTWAIT, NULL);

		if (n <= 0)
			return;
		cnt -= (uint32_t)n;
	}
}

/* Whether another thread has closed the channel meanwhile; its number may be another file's. */
static bool is_closed(int fd, const struct vb_fd *f)
{
	struct vb_fd now;

	return vb_fd_get(fd, &now) != VB_FD_RDMA_CM || now.token != f->token;
}

/*
 * The thread that took an event last. Programs close a channel while a thread of theirs is on its
 * way from one event to its wait for the next: rping. A kernel's DESTROY_ID takes so much longer
 * that it has arrived there by then, where closing does no harm.
 */
static struct {
	uint64_t token;
	pthread_t thread;
	bool is_back;
} taker;

static bool is_taker(void)
{
	return pthread_equal(__atomic_load_n(&taker.thread, __ATOMIC_RELAXED), pthread_self());
}

void vb_cm_event_begin(const struct vb_fd *f)
{
	__atomic_store_n(&taker.thread, pthread_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&taker.is_back, true, __ATOMIC_RELAXED);
	__atomic_store_n(&taker.token, f->token, __ATOMIC_RELEASE);
}

void vb_cm_event_end(void)
{
	if (is_taker())
		__atomic_store_n(&taker.is_back, false, __ATOMIC_RELAXED);
}

void vb_cm_before_close(int fd)
{
	struct vb_fd f;

	if (vb_fd_get(fd, &f) != VB_FD_RDMA_CM ||
	    __atomic_load_n(&taker.token, __ATOMIC_ACQUIRE) != f.token || is_taker())
		return;
	for (int i = 0; i < TAKER_NAPS && !__atomic_load_n(&taker.is_back, __ATOMIC_RELAXED); i++)
		usleep(TAKER_NAP_US);
}

/* No event comes any more; in a kernel, too, only a signal ends the call. */
static int await_signal(void)
{
	(void)pause();
	return -EINTR;
}

int vb_cm_event_await(int fd, const struct vb_fd *f)
{
	char byte;

	if (has_recent_event(f))
		return 0;
	if (is_closed(fd, f))
		return await_signal();
	/* The broker is gone: the command finds out whether another one goes on. */
	if (recv(fd, &byte, 1, MSG_PEEK) >= 0)
		return 0;
	return errno == EBADF ? await_signal() : -errno;
}

int vb_cm_event_again(int fd, const struct vb_fd *f, int err)
{
	int flags = is_closed(fd, f) ? -1 : VB_NEXT(fcntl)(fd, F_GETFL);

	if (flags < 0)
		return await_signal();
	return err == -EAGAIN && !(flags & O_NONBLOCK) ? 0 : err;
}
