/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The owner of an abstract name: the whole name, and of sockets that connections come to. Asked of
 * the kernel, and of one that this file plays: the linker leads calls here. unix(7), sock_diag(7)
 */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "node/host/name_owner.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MANY 600

/* The kernel's answers, and the one played instead: @played_len bytes, or -1 and an errno. */
static struct {
	int recv_cnt, option_cnt;
	struct timeval patience;
	bool is_played;
	ssize_t played_len;
	int played_errno;
	_Alignas(8) uint8_t played[1024];
} kernel;

ssize_t __real_recv(int fd, void *to, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t len, int flags);
int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len);

ssize_t __wrap_recv(int fd, void *to, size_t len, int flags)
{
	kernel.recv_cnt++;
	if (!kernel.is_played)
		return __real_recv(fd, to, len, flags);
	kernel.is_played = false;
	if (kernel.played_len < 0)
		errno = kernel.played_errno;
	else
		memcpy(to, kernel.played, (size_t)kernel.played_len);
	return kernel.played_len;
}

int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && option == SO_RCVTIMEO && len == sizeof kernel.patience) {
		memcpy(&kernel.patience, value, len);
		kernel.option_cnt++;
	}
	return __real_setsockopt(fd, level, option, value, len);
}

static socklen_t name_of(struct sockaddr_un *a, const char *more)
{
	int n;

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "verbena-test-%d%s", (int)getpid(),
		     more);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int bound_socket(int type, const struct sockaddr_un *a, socklen_t len)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)a, len), 0);
	return fd;
}

static void owner__of_the_whole_name(void **state)
{
	unsigned uid = geteuid() + 1, before;
	struct sockaddr_un a;
	socklen_t len = name_of(&a, "/1");
	int fd = bound_socket(SOCK_SEQPACKET, &a, len);

	(void)state;
	before = descriptors_of(getpid());
	assert_int_equal(vb_name_owner(&a, len, &uid), 0);
	assert_int_equal(uid, geteuid());
	/* One that is longer, and one that is shorter. */
	uid = 4711;
	len = name_of(&a, "/17");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	len = name_of(&a, "");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	/* Another name as long. */
	len = name_of(&a, "/2");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	assert_int_equal(uid, 4711);
	assert_int_equal(descriptors_of(getpid()), before);
	close(fd);
}

/* Sockets of other kinds have names of their own. */
static void owner__of_this_kind_of_socket(void **state)
{
	struct sockaddr_un a;
	socklen_t len = name_of(&a, "/kind");
	int stream = bound_socket(SOCK_STREAM, &a, len),
	    datagram = bound_socket(SOCK_DGRAM, &a, len);
	unsigned uid;

	(void)state;
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	close(stream);
	close(datagram);
}

/* The kernel tells of many sockets in several messages, of several sockets each. Each is found. */
static void owner__among_many(void **state)
{
	static int fd[MANY];
	struct sockaddr_un a;
	unsigned uid;
	socklen_t len;
	char more[16];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(more, sizeof more, "/%d", i);
		len = name_of(&a, more);
		fd[i] = bound_socket(SOCK_SEQPACKET, &a, len);
	}
	kernel.recv_cnt = 0;
	for (int i = 0; i < MANY; i++) {
		snprintf(more, sizeof more, "/%d", i);
		len = name_of(&a, more);
		uid = geteuid() + 1;
		assert_int_equal(vb_name_owner(&a, len, &uid), 0);
		assert_int_equal(uid, geteuid());
	}
	assert_true(kernel.recv_cnt > MANY);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
}

/* In a child: another user has the name, and this one asks. */
static int owner_seen_of_another(void)
{
	struct sockaddr_un a;
	socklen_t len = name_of(&a, "/other");
	int ready[2], end[2], rc;
	unsigned uid = 0;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setuid(65534))
			byte = 1;
		else
			(void)bound_socket(SOCK_SEQPACKET, &a, len);
		if (write(ready[1], &byte, 1) == 1)
			(void)!read(end[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	rc = byte ? 77 : vb_name_owner(&a, len, &uid) || uid != 65534;
	assert_int_equal(write(end[1], &byte, 1), 1);
	(void)child_status(pid);
	close(ready[0]);
	close(ready[1]);
	close(end[0]);
	close(end[1]);
	return rc;
}

static void owner__is_another_user(void **state)
{
	int rc = owner_seen_of_another();

	(void)state;
	if (rc == 77) {
		print_message("there is only one user here\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

/* Appends a message about a socket to the answer that is played. */
static struct nlmsghdr *play_message(uint16_t type, uint8_t socket_type)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(kernel.played + kernel.played_len);
	struct unix_diag_msg m = {.udiag_family = AF_UNIX, .udiag_type = socket_type};

	*h = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof m), .nlmsg_type = type};
	memcpy(NLMSG_DATA(h), &m, sizeof m);
	kernel.played_len += NLMSG_SPACE(sizeof m);
	return h;
}

static void play_attribute(struct nlmsghdr *h, uint16_t type, const void *value, uint16_t len)
{
	struct rtattr at = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type};
	uint8_t *to = (uint8_t *)h + NLMSG_ALIGN(h->nlmsg_len);

	memcpy(to, &at, sizeof at);
	memcpy(to + RTA_LENGTH(0), value, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + RTA_ALIGN(at.rta_len);
	kernel.played_len = (uint8_t *)h + NLMSG_ALIGN(h->nlmsg_len) - kernel.played;
}

static void play_begin(void)
{
	memset(&kernel, 0, sizeof kernel);
	kernel.is_played = true;
}

static int asked(unsigned *uid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = {0, 'n', 'a', 'm', 'e'}};
	unsigned before = descriptors_of(getpid());
	int rc;

	*uid = 4711;
	rc = vb_name_owner(&a, offsetof(struct sockaddr_un, sun_path) + 5, uid);
	assert_int_equal(descriptors_of(getpid()), before);
	if (rc)
		assert_int_equal(*uid, 4711);
	return rc;
}

/* A kernel that does not tell of unix sockets, or not to this process, says so. One that says
 * nothing is waited for a second. */
static void kernel__does_not_tell(void **state)
{
	unsigned uid;

	(void)state;
	play_begin();
	(void)play_message(NLMSG_ERROR, SOCK_SEQPACKET);
	assert_int_equal(asked(&uid), -EOPNOTSUPP);
	assert_int_equal(kernel.option_cnt, 1);
	assert_int_equal(kernel.patience.tv_sec, 1);
	assert_int_equal(kernel.patience.tv_usec, 0);
	play_begin();
	kernel.played_len = -1;
	kernel.played_errno = EAGAIN;
	assert_int_equal(asked(&uid), -EAGAIN);
	play_begin();
	assert_int_equal(asked(&uid), -EPROTO);
	assert_int_equal(kernel.recv_cnt, 1);
	play_begin();
	(void)play_message(NLMSG_DONE, SOCK_SEQPACKET);
	assert_int_equal(asked(&uid), -ENOENT);
}

/* An older kernel leaves the user out; an answer without a name, or a user, is not the socket. */
static void kernel__leaves_something_out(void **state)
{
	static const uint8_t name[] = {0, 'n', 'a', 'm', 'e'};
	const uint32_t one = 17, two = 18;
	struct nlmsghdr *h;
	unsigned uid;

	(void)state;
	play_begin();
	h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_SEQPACKET);
	play_attribute(h, UNIX_DIAG_NAME, name, sizeof name);
	h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_SEQPACKET);
	play_attribute(h, UNIX_DIAG_UID, &one, sizeof one);
	h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_SEQPACKET);
	play_attribute(h, UNIX_DIAG_NAME, name, sizeof name);
	play_attribute(h, UNIX_DIAG_UID, &one, sizeof one - 1);
	h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_SEQPACKET);
	h->nlmsg_len = NLMSG_LENGTH(sizeof(struct unix_diag_msg) - 4);
	(void)play_message(NLMSG_DONE, SOCK_SEQPACKET);
	assert_int_equal(asked(&uid), -ENOENT);
	/* In whatever order. */
	for (int order = 0; order < 2; order++) {
		play_begin();
		h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_STREAM);
		play_attribute(h, UNIX_DIAG_NAME, name, sizeof name);
		play_attribute(h, UNIX_DIAG_UID, &one, sizeof one);
		h = play_message(SOCK_DIAG_BY_FAMILY, SOCK_SEQPACKET);
		if (order)
			play_attribute(h, UNIX_DIAG_UID, &two, sizeof two);
		play_attribute(h, UNIX_DIAG_NAME, name, sizeof name);
		if (!order)
			play_attribute(h, UNIX_DIAG_UID, &two, sizeof two);
		(void)play_message(NLMSG_DONE, SOCK_SEQPACKET);
		assert_int_equal(asked(&uid), 0);
		assert_int_equal(uid, 18);
	}
}

/* The result for a process whose sockets, or questions, are denied. @mask: of argument @arg. */
static int denied(int nr, unsigned arg, uint32_t mask)
{
	pid_t pid = fork();
	unsigned uid;
	int rc;

	if (pid)
		return child_status(pid);
	if (!deny_call(nr, arg, mask, EACCES))
		_exit(77);
	rc = asked(&uid);
	_exit(rc == -EACCES ? 0 : 1);
}

static void kernel__may_not_be_asked(void **state)
{
	/* AF_NETLINK has this bit; a question some length. */
	int sockets = denied(SYS_socket, 0, AF_NETLINK),
	    questions = denied(SYS_sendto, 2, UINT32_MAX);

	(void)state;
	if (sockets == 77 || questions == 77) {
		print_message("this kernel lets no process deny itself system calls\n");
		skip();
	}
	assert_int_equal(sockets, 0);
	assert_int_equal(questions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(owner__of_the_whole_name),
	    cmocka_unit_test(owner__of_this_kind_of_socket),
	    cmocka_unit_test(owner__among_many),
	    cmocka_unit_test(owner__is_another_user),
	    cmocka_unit_test(kernel__does_not_tell),
	    cmocka_unit_test(kernel__leaves_something_out),
	    cmocka_unit_test(kernel__may_not_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
