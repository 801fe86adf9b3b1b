/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and questions to the shared broker, see carried.h. unix(7): SO_PEERCRED, SCM_RIGHTS */
#include "link/carried/carried.h"
#include "link/memory.h"
#include "link/shm/wakeup.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The shared broker does little else; a process that reattaches has the engine's lock. */
#define PATIENCE_MS 2000
#define FDS_MAX 3

unsigned vb_carrier_address(struct sockaddr_un *a)
{
	static const char name[] = "verbena/shared";

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, name, sizeof name - 1);
	return (unsigned)(offsetof(struct sockaddr_un, sun_path) + sizeof name);
}

/* A connection to the shared broker. The name may be anybody's: only root's is one. */
static int carrier_connect(void)
{
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a), cred_len = sizeof(struct ucred);
	struct ucred cred;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), rc;

	if (sock < 0)
		return -errno;
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(sock, (struct sockaddr *)&a, len))
		rc = errno == ECONNREFUSED ? -ENOENT : -errno;
	else if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) || cred.uid != 0)
		rc = -ENOENT;
	else
		return sock;
	close(sock);
	return rc;
}

static void fds_forget(int fd[FDS_MAX])
{
	for (int i = 0; i < FDS_MAX; i++)
		fd[i] = -1;
}

static void fds_close(int fd[FDS_MAX])
{
	for (int i = 0; i < FDS_MAX; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Receives the answer, and the descriptors that come along in @fd, or -1. */
static int answer_receive(int sock, struct vb_carrier_answer *answer, int fd[FDS_MAX])
{
	union {
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = answer, .iov_len = sizeof *answer};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	ssize_t n;

	fds_forget(fd);
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	if (n != sizeof *answer || answer->magic != VB_CARRIER_MAGIC ||
	    answer->version != VB_CARRIER_VERSION)
		return n == 0 ? -ECONNRESET : -EPROTO;
	answer->text[sizeof answer->text - 1] = 0;
	return answer->status;
}

/* One call on the connection @sock, and its answer. */
static int carrier_call(int sock, struct vb_carrier_call *call, struct vb_carrier_answer *answer,
			int fd[FDS_MAX])
{
	fds_forget(fd);
	call->magic = VB_CARRIER_MAGIC;
	call->version = VB_CARRIER_VERSION;
	if (send(sock, call, sizeof *call, MSG_NOSIGNAL) != sizeof *call)
		return -errno;
	return answer_receive(sock, answer, fd);
}

static bool given_is_valid(const struct vb_carried *c, uint32_t given)
{
	if (c->op == VB_CARRIER_QP1)
		return given >= 1 && given <= UINT8_MAX;
	return given >= VB_SLOT_WIDE && given <= VB_SLOT_LAST;
}

static void explain_refusal(int rc, const struct vb_carrier_answer *answer, char *why,
			    size_t why_size)
{
	snprintf(why, why_size, "%s",
		 rc == -EPROTO      ? "the shared broker is of another version of verbena"
		 : rc == -ETIMEDOUT ? "the shared broker does not answer"
				    : answer->text);
}

static int place_ask(struct vb_carried *c, int sock, char *why, size_t why_size)
{
	struct vb_carrier_call call = {
	    .op = c->op, .had = c->op == VB_CARRIER_QP1 ? c->part : c->slot, .token = c->token};
	struct vb_carrier_answer answer = {.text = ""};
	int fd[FDS_MAX], rc;
	void *mem;

	/* A link that is open already has its socket. */
	if (c->op == VB_CARRIER_SLOT && c->attached == 0)
		call.flags = VB_CARRIER_WANTS_SOCKET;
	rc = carrier_call(sock, &call, &answer, fd);
	if (!rc && (fd[1] < 0 || !given_is_valid(c, answer.given)))
		rc = -EPROTO;
	if (!rc)
		rc = vb_memory_map_ring(fd[0], VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem);
	if (rc) {
		explain_refusal(rc, &answer, why, why_size);
		fds_close(fd);
		return rc;
	}
	close(fd[0]);
	vb_memory_unmap(c->mem, VB_RING_MAP_BYTES);
	if (c->ask_fd >= 0)
		close(c->ask_fd);
	c->ask_fd = fd[1];
	if (c->rx_fd >= 0)
		close(c->rx_fd);
	c->rx_fd = fd[2];
	c->has_socket |= fd[2] >= 0;
	c->mem = mem;
	c->slot = c->op == VB_CARRIER_QP1 ? VB_SLOT_GSI : answer.given;
	c->part = c->op == VB_CARRIER_QP1 ? answer.given : 0;
	c->others = answer.others;
	c->qp_max = answer.qp_max;
	c->attached++;
	return 0;
}

bool vb_carrier_runs(void)
{
	int sock = carrier_connect();

	if (sock >= 0)
		close(sock);
	return sock >= 0;
}

int vb_carrier_look(enum vb_carrier_op op, struct vb_carrier_answer *answer, int *fd)
{
	struct vb_carrier_call call = {.op = op};
	int sock = carrier_connect(), fds[FDS_MAX], rc;

	*fd = -1;
	answer->text[0] = 0;
	if (sock < 0)
		return sock;
	rc = carrier_call(sock, &call, answer, fds);
	close(sock);
	if (rc)
		explain_refusal(rc, answer, answer->text, sizeof answer->text);
	else {
		*fd = fds[0];
		fds[0] = -1;
	}
	fds_close(fds);
	return rc;
}

int vb_carried_attach(struct vb_carried *c, char *why, size_t why_size)
{
	int sock = carrier_connect(), rc = sock < 0 ? sock : 0;

	if (why_size)
		why[0] = 0;
	if (rc)
		return rc;
	if (c->wakeup_fd < 0)
		c->wakeup_fd = rc = vb_wakeup_open(&c->token);
	if (rc >= 0)
		rc = place_ask(c, sock, why, why_size);
	if (rc < 0) {
		close(sock);
		return rc;
	}
	if (c->sock >= 0)
		close(c->sock);
	c->sock = sock;
	return 0;
}

void vb_carried_detach(struct vb_carried *c)
{
	if (c->sock >= 0)
		close(c->sock);
	if (c->ask_fd >= 0)
		close(c->ask_fd);
	if (c->rx_fd >= 0)
		close(c->rx_fd);
	if (c->wakeup_fd >= 0)
		close(c->wakeup_fd);
	vb_memory_unmap(c->mem, VB_RING_MAP_BYTES);
	*c = vb_carried_nothing(c->op);
}

int vb_carried_ask(struct vb_carried *c, struct vb_carrier_ask *ask)
{
	struct vb_carrier_reply reply;
	const uint64_t one = 1;
	ssize_t n;

	if (c->sock < 0 || !c->mem)
		return -ENOTCONN;
	if (++c->seq == 0)
		c->seq = 1;
	ask->seq = c->seq;
	memcpy(&((struct vb_carried_head *)c->mem)->ask, ask, sizeof *ask);
	if (write(c->ask_fd, &one, sizeof one) != sizeof one)
		return -errno;
	/* Answers to questions that nobody waited for any more come first. */
	do {
		n = recv(c->sock, &reply, sizeof reply, 0);
		if (n < 0 && errno == EAGAIN)
			return -ETIMEDOUT;
		if (n <= 0 && !(n < 0 && errno == EINTR))
			return -ENOTCONN;
	} while (n != sizeof reply || reply.magic != VB_CARRIER_MAGIC || reply.seq != c->seq);
	return reply.status;
}
