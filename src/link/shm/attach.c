/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking the shared broker for a slot and a ring, see carried.h. unix(7): SO_PEERCRED, SCM_RIGHTS
 */
#include "link/memory.h"
#include "link/shm/carried.h"
#include "link/shm/wakeup.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The shared broker does little else; a process that reattaches has the engine's lock. */
#define PATIENCE_MS 2000

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

/* Receives the answer, and the descriptor that comes along in *fd, or -1. */
static int answer_receive(int sock, struct vb_carrier_answer *answer, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = answer, .iov_len = sizeof *answer};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), sizeof *fd);
	if (n != sizeof *answer || answer->magic != VB_CARRIER_MAGIC ||
	    answer->version != VB_CARRIER_VERSION)
		return n == 0 ? -ECONNRESET : -EPROTO;
	answer->text[sizeof answer->text - 1] = 0;
	return answer->status;
}

static int slot_ask(struct vb_carried *c, uint32_t slot, int sock, char *why, size_t why_size)
{
	struct vb_carrier_call call = {.magic = VB_CARRIER_MAGIC,
				       .version = VB_CARRIER_VERSION,
				       .slot = slot,
				       .token = c->token};
	struct vb_carrier_answer answer = {.text = ""};
	void *mem;
	int fd = -1, rc = 0;

	if (send(sock, &call, sizeof call, MSG_NOSIGNAL) != sizeof call)
		rc = -errno;
	if (!rc)
		rc = answer_receive(sock, &answer, &fd);
	if (!rc && (answer.slot < VB_SLOT_WIDE || answer.slot > VB_SLOT_LAST))
		rc = -EPROTO;
	if (!rc)
		rc = vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem);
	if (fd >= 0)
		close(fd);
	if (rc) {
		snprintf(why, why_size, "%s",
			 rc == -EPROTO      ? "the shared broker is of another version of verbena"
			 : rc == -ETIMEDOUT ? "the shared broker does not answer"
					    : answer.text);
		return rc;
	}
	vb_memory_unmap(c->mem, VB_RING_MAP_BYTES);
	c->mem = mem;
	c->slot = answer.slot;
	c->others = answer.others;
	return 0;
}

bool vb_carrier_runs(void)
{
	int sock = carrier_connect();

	if (sock >= 0)
		close(sock);
	return sock >= 0;
}

int vb_carried_attach(struct vb_carried *c, uint32_t slot, char *why, size_t why_size)
{
	int sock = carrier_connect(), rc = sock < 0 ? sock : 0;

	if (why_size)
		why[0] = 0;
	if (rc)
		return rc;
	if (c->wakeup_fd < 0)
		c->wakeup_fd = rc = vb_wakeup_open(&c->token);
	if (rc >= 0)
		rc = slot_ask(c, slot, sock, why, why_size);
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
	if (c->wakeup_fd >= 0)
		close(c->wakeup_fd);
	vb_memory_unmap(c->mem, VB_RING_MAP_BYTES);
	*c = (struct vb_carried){.sock = -1, .wakeup_fd = -1};
}
