/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket of NETLINK_RDMA, see socket.h. netlink(7), unix(7) */
#include "files/netlink/socket.h"

#include "files/netlink/nldev.h"
#include "files/next.h"
#include "files/own_fd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX 65536u

/* Answers that a socket's queue had no room for, oldest first. */
struct pending {
	struct pending *next;
	ino_t ino; /* the socket */
	size_t at, len;
	uint8_t *buf;
};

static struct {
	pthread_mutex_t mutex;
	struct pending *first;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock_queue(void)
{
	pthread_mutex_lock(&queue.mutex);
}

static void unlock_queue(void)
{
	pthread_mutex_unlock(&queue.mutex);
}

/* The child has one thread, and the lock as it was. */
static void renew_lock(void)
{
	queue.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void guard_forks(void)
{
	(void)pthread_atfork(lock_queue, unlock_queue, renew_lock);
}

/* Sends the messages of @p to the socket itself, a datagram for each, until its queue is full. */
static bool deliver_answers(int fd, struct pending *p)
{
	while (p->at < p->len) {
		struct nlmsghdr h;

		memcpy(&h, p->buf + p->at, sizeof h);
		if (VB_NEXT(send)(fd, p->buf + p->at, h.nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return false;
		p->at += NLMSG_ALIGN(h.nlmsg_len);
	}
	return true;
}

/* Goes on with what socket @ino has still to get; with fd < 0 throws it away. */
static void move_pending(int fd, ino_t ino)
{
	lock_queue();
	for (struct pending **p = &queue.first; *p;) {
		struct pending *it = *p;

		if (it->ino == ino && fd >= 0 && !deliver_answers(fd, it))
			break;
		if (it->ino == ino) {
			*p = it->next;
			free(it->buf);
			free(it);
		} else {
			p = &it->next;
		}
	}
	unlock_queue();
}

static int queue_answers(int fd, struct vb_nl_out *o)
{
	struct pending *p = malloc(sizeof *p);

	if (!p) {
		free(o->buf);
		return -ENOMEM;
	}
	*p = (struct pending){.ino = vb_socket_inode(fd), .len = o->len, .buf = o->buf};
	lock_queue();
	struct pending **last = &queue.first;

	while (*last)
		last = &(*last)->next;
	*last = p;
	unlock_queue();
	move_pending(fd, vb_socket_inode(fd));
	return 0;
}

/* A datagram socket whose peer is itself: nobody else can send to it. */
static int open_looped(int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof a;
	int fd = VB_NEXT(socket)(AF_UNIX, SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);

	/* An address without a path is one that the kernel chooses. In glibc's declarations
	 * addresses are unions of pointers. */
	if (fd >= 0 &&
	    !VB_NEXT(bind)(fd, (__CONST_SOCKADDR_ARG){.__sockaddr_un__ = &a},
			   sizeof a.sun_family) &&
	    !VB_NEXT(getsockname)(fd, (__SOCKADDR_ARG){.__sockaddr_un__ = &a}, &len) &&
	    !connect(fd, (struct sockaddr *)&a, len))
		return fd;
	int err = errno;

	if (fd >= 0)
		VB_NEXT(close)(fd);
	errno = err;
	return -1;
}

int vb_netlink_open(int type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vb_fd f = {.kind = VB_FD_NETLINK, .token = (uint64_t)getpid()};
	int fd = open_looped(type), rc;

	pthread_once(&once, guard_forks);
	if (fd < 0)
		return -1;
	rc = vb_fd_enter(fd, &f);
	if (!rc)
		return fd;
	VB_NEXT(close)(fd);
	errno = -rc;
	return -1;
}

int vb_netlink_bind(int fd, const struct vb_fd *f, const struct sockaddr *a, socklen_t len)
{
	struct sockaddr_nl nl;
	struct vb_fd now = *f;

	if (len < sizeof nl) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&nl, a, sizeof nl);
	if (nl.nl_family != AF_NETLINK) {
		errno = EINVAL;
		return -1;
	}
	/* Port 0 asks for any. */
	if (nl.nl_pid)
		now.token = nl.nl_pid;
	int rc = vb_fd_enter(fd, &now);

	errno = rc ? -rc : errno;
	return rc ? -1 : 0;
}

static void put_name(uint32_t port, struct sockaddr *a, socklen_t *len)
{
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK, .nl_pid = port};

	memcpy(a, &nl, *len < sizeof nl ? *len : sizeof nl);
	*len = sizeof nl;
}

int vb_netlink_name(const struct vb_fd *f, struct sockaddr *a, socklen_t *len)
{
	put_name((uint32_t)f->token, a, len);
	return 0;
}

ssize_t vb_netlink_send(int fd, const struct vb_fd *f, const void *p, size_t len)
{
	struct vb_nl_out o = {.port = (uint32_t)f->token};
	size_t at = 0;

	if (len > REQUEST_BYTES_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	while (len - at >= sizeof(struct nlmsghdr)) {
		/* Aligned as its fields want to be; the caller's buffer may not be. */
		struct nlmsghdr h, *whole;

		memcpy(&h, (const uint8_t *)p + at, sizeof h);
		if (h.nlmsg_len < sizeof h || h.nlmsg_len > len - at)
			break;
		whole = malloc(h.nlmsg_len);
		if (!whole) {
			o.err = -ENOMEM;
			break;
		}
		memcpy(whole, (const uint8_t *)p + at, h.nlmsg_len);
		if (h.nlmsg_flags & NLM_F_REQUEST)
			vb_nldev_answer(&o, whole);
		free(whole);
		at += NLMSG_ALIGN(h.nlmsg_len) < len - at ? NLMSG_ALIGN(h.nlmsg_len) : len - at;
	}
	int rc = o.err;

	if (rc || !o.len)
		free(o.buf);
	else
		rc = queue_answers(fd, &o);
	errno = rc ? -rc : errno;
	return rc ? -1 : (ssize_t)len;
}

ssize_t vb_netlink_send_parts(int fd, const struct vb_fd *f, const struct msghdr *m)
{
	size_t len = 0, at = 0;
	uint8_t *all;

	for (size_t i = 0; i < m->msg_iovlen && len <= REQUEST_BYTES_MAX; i++)
		len += m->msg_iov[i].iov_len;
	all = len <= REQUEST_BYTES_MAX ? malloc(len + 1) : NULL;
	if (!all) {
		errno = len > REQUEST_BYTES_MAX ? EMSGSIZE : ENOMEM;
		return -1;
	}
	for (size_t i = 0; i < m->msg_iovlen; at += m->msg_iov[i].iov_len, i++)
		memcpy(all + at, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
	ssize_t n = vb_netlink_send(fd, f, all, len);

	free(all);
	return n;
}

void vb_netlink_received(int fd, struct sockaddr *a, socklen_t *len)
{
	int was = errno;

	if (a && len)
		put_name(0, a, len);
	move_pending(fd, vb_socket_inode(fd));
	errno = was;
}

void vb_netlink_before_close(int fd)
{
	move_pending(-1, vb_socket_inode(fd));
}
