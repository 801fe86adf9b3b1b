/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that the shared broker serves. The kernel says which user each is; a user has so
 * many processes at most, and so many connections. A slot is a process's until its connection or
 * the process ends.
 */
#include "link/memory.h"
#include "node/carrier/state.h"
#include "node/client/msg.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_NAME "verbena-carried"

/* Of user @uid: connections, and those among them that have slots. */
static uint32_t count_user(const struct vb_carrier *c, uid_t uid, uint32_t *with_slot)
{
	uint32_t cnt = 0;

	*with_slot = 0;
	for (uint32_t i = 0; i < VB_CARRIER_CLIENTS; i++) {
		const struct vb_carrier_client *p = &c->client[i];

		if (!p->in_use || p->uid != uid)
			continue;
		cnt++;
		*with_slot += p->slot != 0;
	}
	return cnt;
}

static struct vb_carrier_client *client_new(struct vb_carrier *c)
{
	for (uint32_t i = 0; i < VB_CARRIER_CLIENTS; i++)
		if (!c->client[i].in_use)
			return &c->client[i];
	return NULL;
}

static void send_answer(const struct vb_carrier_client *p, struct vb_carrier_answer *answer, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = answer, .iov_len = sizeof *answer};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	answer->magic = VB_CARRIER_MAGIC;
	answer->version = VB_CARRIER_VERSION;
	if (fd >= 0) {
		m.msg_control = control.buf;
		m.msg_controllen = sizeof control.buf;
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(h), &fd, sizeof fd);
	}
	/* A client that cannot take it ends. */
	(void)sendmsg(p->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void vb_carrier_accept(struct vb_carrier *c)
{
	int sock = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct vb_carrier_client *p = client_new(c);
	struct ucred cred;
	socklen_t len = sizeof cred;
	uint32_t slots, index;

	if (sock < 0)
		return;
	if (!p || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    count_user(c, cred.uid, &slots) >= c->processes_max + VB_CARRIER_SPARE) {
		vb_stranger_close(sock);
		return;
	}
	index = (uint32_t)(p - c->client);
	*p = (struct vb_carrier_client){.in_use = true, .uid = cred.uid, .sock = sock};
	/* A process may leave its socket to a child that it forked: only its end counts. */
	p->pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	if (vb_carrier_watch(c, sock, VB_CARRIER_CLIENT, index) ||
	    (p->pidfd >= 0 && vb_carrier_watch(c, p->pidfd, VB_CARRIER_PIDFD, index)))
		vb_carrier_end(c, index);
}

static uint32_t byte_of(uint32_t slot)
{
	return (slot - VB_SLOT_WIDE) / VB_SLOT_SHARE;
}

/* User @uid may have slot @slot now. */
static bool is_free(const struct vb_carrier *c, uint32_t slot, uid_t uid)
{
	if (slot < VB_SLOT_WIDE || slot > VB_SLOT_LAST || c->of_slot[slot])
		return false;

	const struct vb_carrier_byte *b = &c->byte[byte_of(slot)];

	return b->cnt == 0 || b->uid == uid;
}

/* A slot by lot: one of a byte that is the user's, else one of a byte that is nobody's. 0: there is
 * none. */
static uint32_t draw_slot(const struct vb_carrier *c, uid_t uid)
{
	for (int own = 1; own >= 0; own--) {
		uint32_t cnt = 0, n;

		for (uint32_t k = VB_SLOT_WIDE; k <= VB_SLOT_LAST; k++)
			cnt += is_free(c, k, uid) && (c->byte[byte_of(k)].cnt != 0) == own;
		if (cnt == 0 || getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
			continue;
		n %= cnt;
		for (uint32_t k = VB_SLOT_WIDE; k <= VB_SLOT_LAST; k++)
			if (is_free(c, k, uid) && (c->byte[byte_of(k)].cnt != 0) == own && n-- == 0)
				return k;
	}
	return 0;
}

/* Gives @p slot @slot, with a ring. Returns the descriptor of the ring, the caller's, or a negative
 * errno. */
static int slot_give(struct vb_carrier *c, struct vb_carrier_client *p, uint32_t slot)
{
	struct vb_carrier_byte *b = &c->byte[byte_of(slot)];
	int fd = vb_memory_create(RING_NAME, VB_RING_HEAD_BYTES + VB_RING_BYTES), rc;
	void *mem;

	if (fd < 0)
		return fd;
	rc = vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem);
	if (!rc && b->cnt == 0) {
		rc = vb_carrier_byte_open(c, byte_of(slot));
		if (rc)
			vb_memory_unmap(mem, VB_RING_MAP_BYTES);
	}
	if (rc) {
		close(fd);
		return rc;
	}
	b->cnt++;
	b->uid = p->uid;
	p->slot = slot;
	p->ring = (struct vb_ring_tx){.mem = mem};
	c->of_slot[slot] = p;
	return fd;
}

static void serve_call(struct vb_carrier *c, struct vb_carrier_client *p,
		       const struct vb_carrier_call *call)
{
	struct vb_carrier_answer answer = {.status = 0};
	uint32_t slot = call->slot && is_free(c, call->slot, p->uid) ? call->slot : 0;
	int fd = -1;

	(void)count_user(c, p->uid, &answer.others);
	p->token = call->token;
	if (answer.others >= c->processes_max) {
		answer.status = -EDQUOT;
		snprintf(
		    answer.text, sizeof answer.text,
		    "%u processes of user %u have the adapter, and no more may: 'verbena broker "
		    "--shared --processes' sets that",
		    answer.others, (unsigned)p->uid);
	} else if (call->slot && !slot) {
		answer.status = -EBUSY;
		snprintf(answer.text, sizeof answer.text, "slot %u has another owner", call->slot);
	} else if (!slot && !(slot = draw_slot(c, p->uid))) {
		answer.status = -ENOSPC;
		snprintf(answer.text, sizeof answer.text,
			 "the adapter has no slot left for user %u", (unsigned)p->uid);
	} else {
		fd = slot_give(c, p, slot);
		if (fd < 0) {
			answer.status = fd;
			snprintf(answer.text, sizeof answer.text,
				 "the shared broker cannot make a slot: %s", strerror(-fd));
		}
	}
	answer.slot = p->slot;
	send_answer(p, &answer, fd);
	if (fd >= 0)
		close(fd);
}

void vb_carrier_answer(struct vb_carrier *c, uint32_t index)
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
	vb_carrier_mute(c, p->sock, VB_CARRIER_CLIENT, index);
	if (n == sizeof call && call.magic == VB_CARRIER_MAGIC &&
	    call.version == VB_CARRIER_VERSION) {
		serve_call(c, p, &call);
	} else {
		struct vb_carrier_answer answer = {
		    .status = -EPROTO,
		    .text = "the shared broker is of another version of verbena"};

		send_answer(p, &answer, -1);
	}
}

void vb_carrier_end(struct vb_carrier *c, uint32_t index)
{
	struct vb_carrier_client *p = &c->client[index];

	if (!p->in_use)
		return;
	if (p->slot) {
		uint32_t i = byte_of(p->slot);

		c->of_slot[p->slot] = NULL;
		if (--c->byte[i].cnt == 0)
			vb_carrier_byte_close(c, i);
		vb_memory_unmap(p->ring.mem, VB_RING_MAP_BYTES);
	}
	vb_carrier_unwatch(c, p->sock);
	vb_stranger_close(p->sock);
	if (p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct vb_carrier_client){.in_use = false};
}
