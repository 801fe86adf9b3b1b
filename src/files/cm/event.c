/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of an open rdma_cm, see event.h. */
#include "files/cm/event.h"

#include "files/cm/session.h"
#include "files/next.h"
#include "ucma/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TAKER_NAPS 20
#define TAKER_NAP_US 50

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

static void take_begin(const struct vb_fd *f)
{
	__atomic_store_n(&taker.thread, pthread_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&taker.is_back, true, __ATOMIC_RELAXED);
	__atomic_store_n(&taker.token, f->token, __ATOMIC_RELEASE);
}

static void take_end(void)
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

/*
 * A broker that was killed may have written an event that the next one writes once more, and says
 * so. Numbers of other events need not grow: some come back while a later one is taken.
 */
static bool is_repeated(int fd, const struct vb_fd *f, const struct vb_cm_answer *event)
{
	uint64_t last;

	return vb_fd_note_event(fd, f->token, event->event, &last) && event->repeats &&
	       event->event <= last;
}

static bool is_whole(const struct vb_cm_answer *event, ssize_t n)
{
	uint32_t at = (event->len + 7u) & ~7u;

	return n == (ssize_t)VB_CM_EVENT_LEN && event->len <= VB_CM_EVENT_BODY &&
	       event->ahead_len <=
		   VB_CM_EVENT_BODY - (at < VB_CM_EVENT_BODY ? at : VB_CM_EVENT_BODY);
}

/*
 * A request or an answer of a broker that was killed: its connection is gone, and the next broker
 * says so. A process without a connection to a broker cannot tell.
 */
static bool is_past(const struct vb_cm_answer *event)
{
	struct vb_ucma_event_reply r;

	memcpy(&r, event->body, sizeof r);
	if (r.event != VB_UCMA_EV_CONNECT_REQUEST && r.event != VB_UCMA_EV_CONNECT_RESPONSE)
		return false;
	return !vb_cm_is_of_broker(event->channel);
}

/* One message of the pair. 0: it is no event, or none any more. */
static int event_receive(int fd, const struct vb_fd *f, struct vb_cm_answer *event)
{
	ssize_t n = recv(fd, event, VB_CM_EVENT_LEN, 0);

	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EBADF ? await_signal() : -errno;
	return is_whole(event, n) && !is_repeated(fd, f, event) && !is_past(event);
}

int vb_cm_event_take(int fd, const struct vb_fd *f, struct vb_cm_answer *event)
{
	int rc;

	take_begin(f);
	/* The caller has just looked which file it is; a close() since then has cleared the entry.
	 */
	rc = vb_fd_is_still(fd, f->token) ? event_receive(fd, f, event) : await_signal();
	while (rc == 0)
		rc = is_closed(fd, f) ? await_signal() : event_receive(fd, f, event);
	take_end();
	return rc < 0 ? rc : 0;
}

uint32_t vb_cm_event_return(int fd, uint64_t *seq, uint32_t cnt)
{
	struct vb_cm_answer event;
	struct vb_fd f;
	uint32_t n = 0;

	if (vb_fd_get(fd, &f) != VB_FD_RDMA_CM)
		return 0;
	while (n < cnt) {
		ssize_t len = recv(fd, &event, VB_CM_EVENT_LEN, MSG_DONTWAIT);

		if (len <= 0)
			break;
		if (is_whole(&event, len) && !(event.repeats && event.event <= f.event))
			seq[n++] = event.event;
	}
	return n;
}
