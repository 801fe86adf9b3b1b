/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connections to the shared broker. The kernel says which user each is; a user has so many
 * processes at most, and so many connections. The place of a process is its own until its
 * connection or the process ends.
 */
#include "node/carrier/direct/direct.h"
#include "node/client/msg.h"
#include "node/host/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Connections that end within this time are closed together. */
#define CLOSING_NS (50 * VB_MSEC)
/* So long no connection is taken when there was no descriptor for one. */
#define LISTEN_NS (100 * VB_MSEC)

static struct vb_carrier_client *client_new(struct vb_carrier *c)
{
	for (uint32_t i = 0; i < VB_CARRIER_CLIENTS; i++)
		if (!c->client[i].in_use)
			return &c->client[i];
	return NULL;
}

#define FDS_MAX 3

/* With descriptors @fd, up to the first that is -1. */
static void answer_send(const struct vb_carrier_client *p, struct vb_carrier_answer *answer,
			const int fd[FDS_MAX])
{
	union {
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = answer, .iov_len = sizeof *answer};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t len = 0;

	answer->magic = VB_CARRIER_MAGIC;
	answer->version = VB_CARRIER_VERSION;
	while (len < FDS_MAX * sizeof(int) && fd[len / sizeof(int)] >= 0)
		len += sizeof(int);
	if (len) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(len);
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(len);
		memcpy(CMSG_DATA(h), fd, len);
	}
	/* A client that cannot take it ends. */
	(void)sendmsg(p->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void vb_carrier_close_ended(struct vb_carrier *c)
{
	if (c->closing_cnt)
		vb_strangers_close(c->closing, c->closing_cnt);
	c->closing_cnt = 0;
	c->closing_due = VB_NEVER;
}

/* The other side is told now; descriptors that came are closed with others of their kind. */
static void connection_end(struct vb_carrier *c, int sock)
{
	(void)shutdown(sock, SHUT_RDWR);
	if (c->closing_cnt == 0)
		c->closing_due = vb_clock_now() + CLOSING_NS;
	c->closing[c->closing_cnt++] = sock;
	if (c->closing_cnt == VB_CARRIER_CLOSING)
		vb_carrier_close_ended(c);
}

/* The place for a connection of user @uid; NULL: there is none. */
static struct vb_carrier_client *place_for(struct vb_carrier *c, uid_t uid)
{
	uint32_t user = vb_carrier_user_of(c, uid);
	struct vb_carrier_client *p = client_new(c);

	if (user == VB_CARRIER_USERS) {
		c->strangers++;
		return NULL;
	}
	if (!p || c->user[user].connections >= c->limits.processes + VB_CARRIER_SPARE) {
		vb_carrier_refused(c, user, VB_CARRIER_REFUSED_connections);
		return NULL;
	}
	*p = (struct vb_carrier_client){
	    .in_use = true, .user = user, .sock = -1, .pidfd = -1, .ask_fd = -1, .rx_fd = -1};
	c->user[user].connections++;
	return p;
}

void vb_carrier_accept_again(struct vb_carrier *c)
{
	c->listen_due = vb_carrier_watch(c, c->listen_fd, VB_CARRIER_ON_LISTEN, 0)
			    ? vb_clock_now() + LISTEN_NS
			    : VB_NEVER;
}

/* No connection could be taken. Where descriptors or memory are missing the next look would find
 * the same one: the others have the time. */
static void accept_failed(struct vb_carrier *c, int err)
{
	if (err != EMFILE && err != ENFILE && err != ENOBUFS && err != ENOMEM)
		return;
	vb_carrier_unwatch(c, c->listen_fd);
	c->listen_due = vb_clock_now() + LISTEN_NS;
}

void vb_carrier_accept(struct vb_carrier *c)
{
	int sock = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct vb_carrier_client *p;
	struct ucred cred;
	socklen_t len = sizeof cred;
	uint32_t index;

	if (sock < 0) {
		accept_failed(c, errno);
		return;
	}
	p = getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? NULL : place_for(c, cred.uid);
	if (!p) {
		connection_end(c, sock);
		return;
	}
	index = (uint32_t)(p - c->client);
	p->sock = sock;
	/* A process may leave its socket to a child that it forked: only its end counts. */
	p->pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	if (vb_carrier_watch(c, sock, VB_CARRIER_ON_CLIENT, index) ||
	    (p->pidfd >= 0 && vb_carrier_watch(c, p->pidfd, VB_CARRIER_ON_PIDFD, index)))
		vb_carrier_end(c, index);
}

static void call_serve(struct vb_carrier *c, struct vb_carrier_client *p,
		       const struct vb_carrier_call *call)
{
	struct vb_carrier_answer answer = {.qp_max = c->limits.qps,
					   .others = c->user[p->user].processes};
	struct vb_carrier_client *before = call->op == VB_CARRIER_QP1 ? c->user[p->user].gsi : NULL;
	int fd[FDS_MAX] = {-1, -1, -1};

	p->token = call->token;
	if (call->op == VB_CARRIER_SLOT || call->op == VB_CARRIER_QP1) {
		p->op = call->op;
		fd[0] = vb_carrier_give(c, p, call->had, &answer);
		fd[1] = fd[0] < 0 ? -1 : p->ask_fd;
		if (fd[0] < 0)
			p->op = 0;
		else if (call->op == VB_CARRIER_SLOT && call->flags & VB_CARRIER_WANTS_SOCKET)
			vb_carrier_direct_give(c, p);
		fd[2] = p->rx_fd;
		if (fd[0] >= 0 && before)
			vb_carrier_end(c, (uint32_t)(before - c->client));
	} else if (call->op == VB_CARRIER_STATUS) {
		fd[0] = vb_carrier_status(c, p->user);
		answer.status = fd[0] < 0 ? fd[0] : 0;
	} else {
		vb_carrier_refused(c, p->user, VB_CARRIER_REFUSED_calls);
		answer.status = -EPROTO;
	}
	answer_send(p, &answer, fd);
	if (fd[0] >= 0)
		close(fd[0]);
}

void vb_carrier_called(struct vb_carrier *c, uint32_t index)
{
	struct vb_carrier_client *p = &c->client[index];
	struct vb_carrier_call call;
	ssize_t n;

	if (!p->in_use)
		return;
	/* The call stays where it is: with it descriptors may come whose close takes long, see
	 * vb_stranger_close(). */
	n = p->has_called ? 0
			  : recv(p->sock, &call, sizeof call, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || p->has_called) {
		vb_carrier_end(c, index);
		return;
	}
	/* The other side ends the connection: closed here, with the call in the queue, its answer
	 * would be lost. */
	p->has_called = true;
	vb_carrier_mute(c, p->sock, VB_CARRIER_ON_CLIENT, index);
	if (n == sizeof call && call.magic == VB_CARRIER_MAGIC &&
	    call.version == VB_CARRIER_VERSION) {
		call_serve(c, p, &call);
	} else {
		struct vb_carrier_answer answer = {
		    .status = -EPROTO,
		    .text = "the shared broker is of another version of verbena"};
		const int none[FDS_MAX] = {-1, -1, -1};

		vb_carrier_refused(c, p->user, VB_CARRIER_REFUSED_calls);
		answer_send(p, &answer, none);
	}
}

void vb_carrier_end(struct vb_carrier *c, uint32_t index)
{
	struct vb_carrier_client *p = &c->client[index];

	if (!p->in_use)
		return;
	vb_carrier_take_back(c, p);
	if (p->sock >= 0) {
		vb_carrier_unwatch(c, p->sock);
		connection_end(c, p->sock);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	c->user[p->user].connections--;
	*p = (struct vb_carrier_client){.in_use = false};
}
