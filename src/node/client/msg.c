/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages with descriptors (SCM_RIGHTS) over unix sockets; unix(7). */
#include "node/client/msg.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

union fds_control {
	char buf[CMSG_SPACE(sizeof(int) * VB_BROKER_FDS_MAX)];
	struct cmsghdr align;
};

void vb_broker_msg_init(struct vb_broker_msg *m, enum vb_broker_op op)
{
	memset(m, 0, sizeof *m);
	m->magic = VB_BROKER_MAGIC;
	m->version = VB_BROKER_VERSION;
	m->op = op;
}

int vb_fds_send(int sock, const void *data, size_t len, const struct vb_fds *fds)
{
	union fds_control control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds && fds->cnt) {
		size_t bytes = sizeof(int) * fds->cnt;

		assert(fds->cnt <= VB_BROKER_FDS_MAX);
		memset(&control, 0, sizeof control);
		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(c), fds->fd, bytes);
	}
	for (;;) {
		if (sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t vb_fds_recv(int sock, void *data, size_t len, struct vb_fds *fds, int flags)
{
	union fds_control control;
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof control.buf};
	ssize_t n;

	fds->cnt = 0;
	do
		n = recvmsg(sock, &mh, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c; c = CMSG_NXTHDR(&mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		/* The control buffer has room for one full set, so a set never exceeds fds. */
		memcpy(fds->fd, CMSG_DATA(c), bytes);
		fds->cnt = (uint32_t)(bytes / sizeof(int));
	}
	if (mh.msg_flags & MSG_CTRUNC) {
		vb_fds_close(fds);
		return -EMFILE;
	}
	return n;
}

void vb_fds_close(struct vb_fds *fds)
{
	for (uint32_t i = 0; i < fds->cnt; i++)
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	fds->cnt = 0;
}

/* The raw calls: no handler of pthread_atfork(3) runs, and the child does nothing else. It ends
 * when this process does, for the pipe has no other writer, and keeps nothing else of it: a name or
 * a port that it kept would be in the way of the next broker. */
static pid_t hold_sockets(const int *sock, uint32_t cnt, const int until[2])
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	unsigned from = 0;
	char byte;

	if (pid)
		return pid;
	/* The descriptors between the ones that stay go, in the order of their numbers. */
	for (;;) {
		unsigned next = ~0u;

		for (uint32_t i = 0; i <= cnt; i++) {
			unsigned fd = (unsigned)(i < cnt ? sock[i] : until[0]);

			next = fd >= from && fd < next ? fd : next;
		}
		if (next > from)
			(void)syscall(SYS_close_range, from, next - (next != ~0u), 0u);
		if (next == ~0u)
			break;
		from = next + 1;
	}
	(void)syscall(SYS_close, until[1]); /* where the kernel has no close_range(2) */
	(void)syscall(SYS_read, until[0], &byte, 1);
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

void vb_stranger_close(int sock)
{
	vb_strangers_close(&sock, 1);
}

void vb_strangers_close(const int *sock, uint32_t cnt)
{
	bool has_pipe;
	int until[2];
	pid_t pid;

	has_pipe = pipe2(until, O_CLOEXEC) == 0;
	pid = has_pipe ? hold_sockets(sock, cnt, until) : -1;
	for (uint32_t i = 0; i < cnt; i++)
		close(sock[i]);
	if (!has_pipe)
		return;
	(void)!write(until[1], "", 1);
	close(until[0]);
	close(until[1]);
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

int vb_broker_msg_recv(int sock, struct vb_broker_msg *m, struct vb_fds *fds, int flags)
{
	ssize_t n = vb_fds_recv(sock, m, sizeof *m, fds, flags);

	if (n <= 0)
		return (int)n;
	if (n < (ssize_t)offsetof(struct vb_broker_msg, text) || m->magic != VB_BROKER_MAGIC ||
	    m->version != VB_BROKER_VERSION || n != sizeof *m) {
		vb_fds_close(fds);
		return -EPROTO;
	}
	m->text[sizeof m->text - 1] = 0;
	m->comm[sizeof m->comm - 1] = 0;
	return 1;
}

unsigned vb_broker_address(struct sockaddr_un *a, uid_t uid)
{
	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "verbena/%u", (unsigned)uid);

	return (unsigned)offsetof(struct sockaddr_un, sun_path) + 1 + (unsigned)n;
}
