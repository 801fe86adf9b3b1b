/* SPDX-License-Identifier: BSD-2-Clause */
/* The wakeup endpoint of a slot: rings that are handed in, strangers who send there, and a queue
 * that is full. */
#include "base/prf.h"
#include "deny.h"
#include "shm_world.h"

#include <fcntl.h>
#include <sys/un.h>

#define WAKEUP_MAGIC 0x56424b4eu

/* Wakeups without a ring, with something else than a ring, with rubbish. */
static void wakeup__rubbish_is_thrown_away(void **state)
{
	struct fixture *f = *state;
	uint64_t token;
	int fd = vb_wakeup_open(&token), rubbish = memfd_create("rubbish", MFD_CLOEXEC);

	assert_int_equal(
	    vb_wakeup_notify(fd, w.wakeup[SLOT].token, VB_WAKEUP_RING, OTHER, token, -1), 0);
	assert_int_equal(
	    vb_wakeup_notify(fd, w.wakeup[SLOT].token, VB_WAKEUP_RING, OTHER, token, rubbish), 0);
	assert_int_equal(vb_wakeup_notify(fd, w.wakeup[SLOT].token, 99, OTHER, token, rubbish), 0);
	w.wakeup[SLOT].rings++;
	assert_true(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 0);
	assert_false(is_readable(f->link));
	add_for(f, SLOT, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	close(rubbish);
	close(fd);
}

/* A wakeup brings one descriptor, and nothing else of its sender. */
static void wakeup__brings_one_descriptor(void **state)
{
	uint64_t token, at;
	int fd = vb_wakeup_open(&token), stranger = vb_wakeup_open(&at);
	int mem_fd = memfd_create("ring", MFD_CLOEXEC);
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char bytes[256];
	struct iovec iov = {bytes, sizeof bytes}; /* its token, and the wakeup */
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	uint32_t cnt = 0;

	(void)state;
	assert_int_equal(vb_wakeup_notify(stranger, token, VB_WAKEUP_RING, OTHER, at, mem_fd), 0);
	assert_true(recvmsg(fd, &m, MSG_DONTWAIT) > 0);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(int)));
		close(*(int *)(void *)CMSG_DATA(c));
		cnt++;
	}
	assert_int_equal(cnt, 1);
	close(mem_fd);
	close(stranger);
	close(fd);
}

/* A ring is this user's whatever the group of its sender, whose number is of another kind.
 * credentials(7) */
static void wakeup__goes_by_the_user(void **state)
{
	uint64_t token, at;
	int fd = vb_wakeup_open(&token), sender = vb_wakeup_open(&at);
	int mem_fd = memfd_create("ring", MFD_CLOEXEC), got = -1, status;
	struct vb_wakeup_msg k;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		gid_t group = (gid_t)geteuid() + 12345;

		if (setresgid(group, group, group))
			_exit(77);
		_exit(vb_wakeup_notify(sender, token, VB_WAKEUP_RING, OTHER, at, mem_fd) != 0);
	}
	status = child_status(pid);
	if (status == 77) {
		print_message("this user may not change its group: skipped\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_true(vb_wakeup_take(fd, &k, &got));
	assert_int_equal(k.kind, VB_WAKEUP_RING);
	assert_true(got >= 0);
	close(got);
	close(mem_fd);
	close(sender);
	close(fd);
}

/* The wakeup endpoint is full: the packet waits until the ring can be handed in, and is not lost.
 */
static void send__endpoint_is_full(void **state)
{
	struct fixture *f = *state;
	struct vb_wakeup_msg k = {0};
	uint64_t token;
	int stranger = vb_wakeup_open(&token), mem_fd = -1;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token), cnt = 0;

	while (vb_wakeup_notify(stranger, w.wakeup[OTHER].token, VB_WAKEUP_WAKE, 9, token, -1) == 0)
		cnt++;
	assert_true(cnt > 0);
	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 0);
	while (cnt-- && vb_wakeup_take(fd, &k, &mem_fd))
		assert_int_equal(k.kind, VB_WAKEUP_WAKE);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_wakeup_take(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_WAKEUP_RING);
	close(mem_fd);
	close(fd);
	close(stranger);
}

/* A process of this user that keeps the queue full has the owner asked to empty it, and costs the
 * ring at worst: packets go by UDP then. */
static void send__endpoint_stays_full(void **state)
{
	struct fixture *f = *state;
	uint64_t token;
	int stranger = vb_wakeup_open(&token), fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	uint32_t room;

	while (vb_wakeup_notify(stranger, w.wakeup[OTHER].token, VB_WAKEUP_WAKE, 9, token, -1) == 0)
		;
	add_for(f, OTHER, 64);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, VB_SEC), 0);
	assert_true(w.wakeup[OTHER].rings > 0);
	assert_true(vb_shm_rx_credit(f->link, OTHER, VB_SEC, &room));
	(void)f->link->ops->send(f->link, &f->batch, 0, VB_SEC + VB_RING_STUCK_NS + 1);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, VB_SEC + VB_RING_STUCK_NS + 2),
			 1);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
	assert_false(vb_shm_rx_credit(f->link, OTHER, VB_SEC, &room));
	close(fd);
	close(stranger);
}

/* A datagram longer than any message is dropped, and the next one is heard. */
static void receive__too_long(void **state)
{
	uint8_t in[64], out[32] = {0};
	struct iovec part = {in, sizeof in};
	uint64_t token, at;
	int fd = vb_wakeup_open(&token), from = vb_wakeup_open(&at);

	(void)state;
	memset(in, 7, sizeof in);
	assert_int_equal(vb_wakeup_send(from, token, &part, 1), 0);
	assert_int_equal(vb_wakeup_receive(fd, out, sizeof out), 0);
	assert_int_equal(vb_wakeup_send(from, token, &part, 1), 0);
	part.iov_len = 5;
	assert_int_equal(vb_wakeup_send(from, token, &part, 1), 0);
	assert_int_equal(vb_wakeup_receive(fd, out, sizeof out), 5);
	close(from);
	close(fd);
}

static uint32_t open_fds_of_this_process(void)
{
	uint32_t cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* More descriptors than anybody asked for are not kept: they could use up all there are. */
static void wakeup__descriptors_without_need(void **state)
{
	struct fixture *f = *state;
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	uint64_t token;
	int fd = vb_wakeup_open(&token), two[2] = {fd, fd};
	struct vb_wakeup_msg k = {.magic = WAKEUP_MAGIC, .kind = VB_WAKEUP_RING, .slot = OTHER};
	uint64_t at = w.wakeup[SLOT].token;
	struct iovec part[] = {{&at, sizeof at}, {&k, sizeof k}};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int len = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "verbena/shm/%016llx",
			   (unsigned long long)vb_prf(at, VB_PRF_WAKEUP, 0));
	struct msghdr m = {
	    .msg_name = &a,
	    .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len),
	    .msg_iov = part,
	    .msg_iovlen = 2,
	    .msg_control = control.buf,
	    .msg_controllen = sizeof control.buf};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint32_t before = open_fds_of_this_process();

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof two);
	memcpy(CMSG_DATA(c), two, sizeof two);
	for (uint32_t i = 0; i < 5; i++) {
		k.magic = WAKEUP_MAGIC + i % 2; /* and none with what is no wakeup at all */
		assert_int_equal(sendmsg(fd, &m, 0), sizeof at + sizeof k);
		w.wakeup[SLOT].rings++;
		assert_int_equal(recv_all(f, 64), 0);
	}
	assert_int_equal(open_fds_of_this_process(), before);
	close(fd);
}

/* Mail brings no descriptors: any that come are closed, and the mail is read. */
static void mail__brings_no_descriptors(void **state)
{
	uint64_t token, at;
	int fd = vb_wakeup_open(&token), sender = vb_wakeup_open(&at);
	struct vb_wakeup_msg k;
	uint32_t before = open_fds_of_this_process();

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vb_wakeup_notify(sender, token, VB_WAKEUP_RING, OTHER, at, fd), 0);
		assert_int_equal(vb_wakeup_receive(fd, &k, sizeof k), sizeof k);
		assert_int_equal(k.token, at);
		assert_int_equal(open_fds_of_this_process(), before);
	}
	assert_int_equal(vb_wakeup_receive(fd, &k, sizeof k), 0);
	close(sender);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(wakeup__rubbish_is_thrown_away),   S(wakeup__brings_one_descriptor),
	    S(send__endpoint_is_full),           S(send__endpoint_stays_full),
	    S(wakeup__descriptors_without_need), S(receive__too_long),
	    S(mail__brings_no_descriptors),      S(wakeup__goes_by_the_user),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
