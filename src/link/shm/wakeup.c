/* SPDX-License-Identifier: BSD-2-Clause */
/* Wakeup endpoints, see wakeup.h. unix(7): SO_PASSCRED, SCM_RIGHTS, abstract addresses; socket(7):
 * SO_ATTACH_FILTER */
#include "link/shm/wakeup.h"

#include "base/prf.h"
#include "base/slot.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAKEUP_MAGIC 0x56424b4eu
/* Messages that are passed over in one call: a stranger who goes on sending is heard again later.
 */
#define PASSED_OVER_MAX 64

union wakeup_control {
	char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Everybody can read the name in /proc/net/unix, and nobody can tell the token from it. */
static socklen_t endpoint_address(struct sockaddr_un *a, uint64_t token)
{
	int n;

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "verbena/shm/%016" PRIx64,
		     vb_prf(token, VB_PRF_WAKEUP, 0));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/*
 * The kernel drops each message that does not begin with the token while its sender sends it: a
 * stranger fills no queue, wakes nobody, and leaves no descriptor whose close() takes long (a
 * socket with SO_LINGER).
 */
static int refuse_strangers(int fd, uint64_t token)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};
	uint32_t word[2];

	/* A filter reads words in network order. */
	memcpy(word, &token, sizeof word);
	code[1].k = be32toh(word[0]);
	code[3].k = be32toh(word[1]);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog);
}

int vb_wakeup_open(uint64_t *token)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, rc;
	struct sockaddr_un a;
	socklen_t len;

	if (fd < 0)
		return -errno;
	if (getrandom(token, sizeof *token, 0) != (ssize_t)sizeof *token) {
		close(fd);
		return -EIO;
	}
	*token |= 1; /* never 0 */
	len = endpoint_address(&a, *token);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) ||
	    refuse_strangers(fd, *token) || bind(fd, (struct sockaddr *)&a, len)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* No cancellation points, as in udp/tx.c. */
int vb_wakeup_notify(int fd, uint64_t token, enum vb_wakeup_kind kind, uint32_t slot,
		     uint64_t own_token, int mem_fd)
{
	struct vb_wakeup_msg k = {
	    .magic = WAKEUP_MAGIC, .kind = kind, .slot = slot, .token = own_token};
	union wakeup_control control = {.buf = {0}};
	struct sockaddr_un a;
	struct iovec part[] = {{&token, sizeof token}, {&k, sizeof k}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = 2, .msg_name = &a};

	m.msg_namelen = endpoint_address(&a, token);
	if (mem_fd >= 0) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(sizeof mem_fd);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof mem_fd);
		memcpy(CMSG_DATA(c), &mem_fd, sizeof mem_fd);
	}
	return syscall(SYS_sendmsg, fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The first descriptor of @c into *mem_fd; there is to be no other. */
static void take_fds(const struct cmsghdr *c, int *mem_fd)
{
	size_t cnt = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < cnt; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (*mem_fd < 0)
			*mem_fd = fd;
		else
			close(fd);
	}
}

/* The control data: a descriptor, and the sender's user, (uid_t)-1 if that is missing. The kernel
 * has put every descriptor into this process that found room in the buffer, which is more than one:
 * padding makes it so. Descriptors that nobody asked for are closed. */
static uid_t read_control(struct msghdr *m, int *mem_fd)
{
	uid_t user = (uid_t)-1;

	*mem_fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			take_fds(c, mem_fd);
		} else if (c->cmsg_type == SCM_CREDENTIALS &&
			   c->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(c), sizeof cred);
			user = cred.uid;
		}
	}
	return user;
}

/* The next datagram behind its token: its length, or 0 if it is not whole; negative: there is none.
 */
static long receive_datagram(int fd, void *buf, size_t size, int *mem_fd, uid_t *user)
{
	union wakeup_control control;
	uint64_t token;
	struct iovec part[] = {{&token, sizeof token}, {buf, size}};
	struct msghdr m = {.msg_iov = part,
			   .msg_iovlen = 2,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	long n = syscall(SYS_recvmsg, fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -1;
	*user = read_control(&m, mem_fd);
	return m.msg_flags & MSG_TRUNC ? 0 : n - (long)sizeof token;
}

bool vb_wakeup_take(int fd, struct vb_wakeup_msg *k, int *mem_fd)
{
	for (int i = 0; i < PASSED_OVER_MAX; i++) {
		uid_t user;
		long n = receive_datagram(fd, k, sizeof *k, mem_fd, &user);

		if (n < 0)
			return false;
		/* A wakeup of anybody is taken: it has woken already. */
		if (n == (long)sizeof *k && k->magic == WAKEUP_MAGIC && k->slot < VB_SLOT_CNT &&
		    (k->kind == VB_WAKEUP_WAKE || user == geteuid()))
			return true;
		if (*mem_fd >= 0)
			close(*mem_fd);
	}
	return false;
}

size_t vb_wakeup_receive(int fd, void *buf, size_t size)
{
	for (int i = 0; i < PASSED_OVER_MAX; i++) {
		int mem_fd;
		uid_t user;
		long n = receive_datagram(fd, buf, size, &mem_fd, &user);

		if (n < 0)
			return 0;
		if (mem_fd >= 0)
			close(mem_fd);
		if (n > 0 && user == geteuid())
			return (size_t)n;
	}
	return 0;
}

int vb_wakeup_send(int fd, uint64_t token, const struct iovec *part, size_t cnt)
{
	struct iovec all[1 + VB_WAKEUP_PARTS] = {{&token, sizeof token}};
	struct sockaddr_un a;
	struct msghdr m = {.msg_iov = all, .msg_iovlen = 1 + cnt, .msg_name = &a};

	assert(cnt <= VB_WAKEUP_PARTS);
	memcpy(all + 1, part, cnt * sizeof *part);
	m.msg_namelen = endpoint_address(&a, token);
	return syscall(SYS_sendmsg, fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void vb_wakeup_nap(struct vb_wakeup *wakeup, uint32_t word, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	syscall(SYS_futex, &wakeup->asleep, FUTEX_WAIT, word, &t, NULL, 0);
}

bool vb_wakeup_end_nap(struct vb_wakeup *wakeup, uint32_t word)
{
	if (!__atomic_compare_exchange_n(&wakeup->asleep, &word, 0, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return false;
	syscall(SYS_futex, &wakeup->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
	return true;
}
