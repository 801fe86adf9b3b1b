/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients of a real broker for tests: connecting, processes that connect and can be killed, packets
 * to a slot. Everything runs in a network namespace of the test's own (netns.h).
 */
#ifndef VB_TESTS_UNIT_BROKER_ENV_H
#define VB_TESTS_UNIT_BROKER_ENV_H

#include "cmocka_env.h"
#include "netns.h"
#include "node/broker/broker.h"
#include "node/client/msg.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

/* How long a test waits for what must happen: only a failure lasts that long. */
#define BROKER_PATIENCE_MS 20000

static char broker_why[512];

static inline struct vb_broker_client client_connect(void)
{
	struct vb_broker_client c;
	int rc = vb_broker_connect(&c, broker_why, sizeof broker_why);

	if (rc)
		fail_msg("connect: %d %s", rc, broker_why);
	return c;
}

/* A connection to the broker on which nothing was said yet. */
static inline int raw_connect(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

/* True once the process behind @pid has ended. */
static inline bool process_ends(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return errno == ESRCH;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool ended = poll(&p, 1, BROKER_PATIENCE_MS) == 1;

	close(fd);
	return ended;
}

/* A child that connects, says so, and then waits to be killed or told to leave. */
struct child {
	pid_t pid;
	uint32_t slot;
	int tell, hear;
};

struct child_news {
	int rc;
	uint32_t slot, broker_pid;
};

static inline void child_main(int tell, int hear, void (*work)(struct vb_broker_client *c))
{
	struct vb_broker_client c;
	struct child_news news = {0};
	char byte;

	news.rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
	if (!news.rc) {
		news.slot = c.slot;
		news.broker_pid = c.host->broker_pid;
		if (work)
			work(&c);
	}
	if (write(tell, &news, sizeof news) != sizeof news)
		_exit(2);
	/* Looks after the broker as an engine does. */
	struct pollfd p = {.fd = hear, .events = POLLIN};
	while (poll(&p, 1, 20) == 0)
		if (!news.rc)
			(void)vb_broker_check(&c);
	if (read(hear, &byte, 1) == 1 && !news.rc)
		vb_broker_disconnect(&c);
	_exit(0);
}

/* Starts the child; child_wait() tells how it went. */
static inline struct child child_start(void (*work)(struct vb_broker_client *c))
{
	struct child ch = {0};
	int up[2], down[2];

	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	ch.pid = fork();
	assert_true(ch.pid >= 0);
	if (ch.pid == 0) {
		close(up[0]);
		close(down[1]);
		child_main(up[1], down[0], work);
	}
	close(up[1]);
	close(down[0]);
	ch.hear = up[0];
	ch.tell = down[1];
	return ch;
}

static inline struct child_news child_wait(struct child *ch)
{
	struct child_news news = {0};

	assert_int_equal(read(ch->hear, &news, sizeof news), sizeof news);
	ch->slot = news.slot;
	return news;
}

static inline void child_end(struct child *ch, bool by_kill)
{
	if (by_kill)
		kill(ch->pid, SIGKILL);
	else if (write(ch->tell, "x", 1) != 1)
		fail();
	assert_int_equal(waitpid(ch->pid, NULL, 0), ch->pid);
	close(ch->hear);
	close(ch->tell);
}

/* Sends a datagram whose destination QPN is one of @slot and whose PSN byte is @mark. */
static inline void send_to_slot(const char *address, uint32_t slot, uint8_t mark)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	uint32_t qpn = vb_slot_qpn_base(slot) + 9 * vb_slot_qpn_stride(slot);
	uint8_t pkt[24] = {
	    0x04,         0, 0xff, 0xff, 0,   (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8),
	    (uint8_t)qpn, 0, 0,    0,    mark};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET6, address, &a.sin6_addr), 1);
	assert_int_equal(sendto(fd, pkt, sizeof pkt, 0, (struct sockaddr *)&a, sizeof a),
			 sizeof pkt);
	close(fd);
}

/* The mark of the packet that waits on @fd; -1: none. */
static inline int receive_mark(int fd)
{
	uint8_t pkt[64];

	return recv(fd, pkt, sizeof pkt, MSG_DONTWAIT) == 24 ? pkt[11] : -1;
}

/*
 * Sends @cnt packets to @slot, and returns when they are where they belong. A busy kernel delivers
 * what was sent over loopback a moment later, by a thread of its own, but what one processor has
 * sent in its order: @witness, which must have none, gets a packet behind them.
 */
static inline void send_delivered(const struct vb_broker_client *witness, uint32_t slot, int cnt)
{
	struct pollfd p = {.fd = witness->rx_fd, .events = POLLIN};
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	for (int i = 0; i < cnt; i++)
		send_to_slot("::1", slot, 7);
	send_to_slot("::1", witness->slot, 8);
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(receive_mark(witness->rx_fd), 8);
}

/* Each client gets the packets of its slot and no others, over IPv4 and IPv6. A busy kernel
 * delivers what was sent over loopback a moment later, by a thread of its own. */
static inline void assert_steered(const struct vb_broker_client *c, int cnt)
{
	static const char *const address[] = {"::ffff:127.0.0.1", "::1"};

	for (int a = 0; a < 2; a++)
		for (int i = 0; i < cnt; i++) {
			struct pollfd p = {.fd = c[i].rx_fd, .events = POLLIN};

			send_to_slot(address[a], c[i].slot, (uint8_t)(i + 1));
			assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
			for (int k = 0; k < cnt; k++)
				assert_int_equal(receive_mark(c[k].rx_fd), k == i ? i + 1 : -1);
		}
}

/* Kills the broker and waits until @c, which looks after it, is attached to a new one. */
static inline void broker_kill(struct vb_broker_client *c)
{
	pid_t pid = (pid_t)c->host->broker_pid;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(process_ends(pid));
}

static inline void await_broker(struct vb_broker_client *c, int cnt, pid_t not_pid)
{
	for (int ms = 0; ms < BROKER_PATIENCE_MS; ms += 10) {
		bool all = true;

		for (int i = 0; i < cnt; i++)
			all &= vb_broker_check(&c[i]) == 0;
		if (all && (pid_t)c[0].host->broker_pid != not_pid)
			return;
		(void)poll(NULL, 0, 10);
	}
	fail_msg("no broker came back");
}

#endif
