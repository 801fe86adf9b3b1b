/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A broker without its loop, for tests of what its connections get: its memory and slots are real,
 * its devices are the test's own, and each connection is one end of a pair of sockets.
 */
#ifndef VB_TESTS_UNIT_BROKER_INSIDE_H
#define VB_TESTS_UNIT_BROKER_INSIDE_H

#include "cmocka_env.h"
#include "descriptors.h"
#include "mappings.h"
#include "netns.h"
#include "node/broker/state.h"
#include "node/netdev/devices.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_broker b;
static int peer[VB_CONNS_MAX]; /* the other ends; -1: none */
static unsigned inside_descriptors, inside_mappings;

/* eth0 with a virtual function, and eth1, with 25 and 40 Gb/s. */
static inline void inside_devices(void)
{
	static const char *const name[] = {"verbena0", "verbena0v1", "verbena2"},
				 *const ifname[] = {"eth0", "eth0", "eth1"};

	vb_host_write_begin(b.slots.host);
	b.slots.host->device_cnt = 3;
	for (uint32_t i = 0; i < 3; i++) {
		struct vb_device *d = &b.slots.host->device[i];

		memset(d, 0, sizeof *d);
		d->ifindex = i == 2 ? 3 : 2;
		d->speed_mbps = i == 2 ? 40000 : 25000;
		d->parent = i == 1 ? 1 : 0;
		d->pkey[0] = VB_PKEY_DEFAULT;
		snprintf(d->name, sizeof d->name, "%s", name[i]);
		snprintf(d->ifname, sizeof d->ifname, "%s", ifname[i]);
	}
	vb_host_write_end(b.slots.host);
}

/* A broker that nobody has used yet: it has no group. */
static inline int inside_begin(void **state)
{
	(void)state;
	inside_descriptors = descriptors_of(getpid());
	inside_mappings = mappings_of("verbena-");
	memset(&b, 0, sizeof b);
	for (int i = 0; i < VB_CONNS_MAX; i++)
		peer[i] = -1;
	b.listen_fd = b.netlink_fd = b.signal_fd = b.spare_fd = -1;
	b.sysfs.root_fd = b.sysfs.base_fd = b.params.fd = -1;
	b.retry_due = b.devices_due = b.counters_due = b.keeper_due = b.idle_since = VB_NEVER;
	b.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(vb_slots_init(&b.slots), 0);
	inside_devices();
	return 0;
}

/* One that has the group, too. */
static inline int inside_begin_group(void **state)
{
	return inside_begin(state) || vb_slots_start(&b.slots);
}

/* Nothing of it stays open or mapped. */
static inline int inside_end(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VB_CONNS_MAX; i++) {
		if (b.conn[i].in_use)
			vb_conn_end(&b, i);
		if (peer[i] >= 0)
			close(peer[i]);
	}
	assert_int_equal(b.conn_cnt, 0);
	assert_int_equal(b.client_cnt, 0);
	assert_int_equal(b.keeper_cnt, 0);
	vb_slots_close(&b.slots);
	close(b.epoll_fd);
	assert_int_equal(descriptors_of(getpid()), inside_descriptors);
	assert_int_equal(mappings_of("verbena-"), inside_mappings);
	return 0;
}

/* A new connection of process @pid; returns its index. */
static inline uint32_t connection(pid_t pid)
{
	struct vb_conn *c;
	uint32_t i;
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	c = vb_conn_new(&b, pair[0], pid);
	assert_non_null(c);
	i = (uint32_t)(c - b.conn);
	if (peer[i] >= 0)
		close(peer[i]);
	peer[i] = pair[1];
	return i;
}

static inline uint32_t observer(void)
{
	uint32_t i = connection(getpid());

	b.conn[i].kind = VB_CONN_OBSERVER;
	return i;
}

/* A client that has a slot. */
static inline uint32_t client(void)
{
	uint32_t i = connection(getpid());
	int slot = vb_slots_take(&b.slots, getpid(), "test");

	assert_true(slot >= VB_SLOT_FIRST);
	b.conn[i].kind = VB_CONN_CLIENT;
	b.conn[i].slot = (uint32_t)slot;
	b.client_cnt++;
	return i;
}

/* The news for connection @i: 1 and a message, 0: it has been closed, or -EAGAIN: nothing. */
static inline int heard(uint32_t i, struct vb_broker_msg *m)
{
	struct vb_fds fds = {.cnt = 0};
	int rc = vb_broker_msg_recv(peer[i], m, &fds, MSG_DONTWAIT);

	vb_fds_close(&fds);
	return rc;
}

/* The same where the message comes with @cnt descriptors. */
static inline int heard_with(uint32_t i, struct vb_broker_msg *m, uint32_t cnt)
{
	struct vb_fds fds = {.cnt = 0};
	int rc = vb_broker_msg_recv(peer[i], m, &fds, MSG_DONTWAIT);

	assert_int_equal(fds.cnt, cnt);
	vb_fds_close(&fds);
	return rc;
}

/* Connection @i says @m, with descriptor @fd unless negative, and the broker handles it. */
static inline void say_with(uint32_t i, const struct vb_broker_msg *m, int fd)
{
	const struct vb_fds fds = {.cnt = fd >= 0, .fd = {fd}};

	assert_int_equal(vb_fds_send(peer[i], m, sizeof *m, &fds), 0);
	vb_conn_handle(&b, i, VB_SEC);
}

static inline void say(uint32_t i, enum vb_broker_op op)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, op);
	say_with(i, &m, -1);
}

/* The process of a child that has ended, and is known to nobody any more. */
static inline pid_t dead_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Whether the broker woke client @i, once. */
static inline bool is_woken(uint32_t i)
{
	struct vb_broker_msg m;

	return heard(i, &m) == 1 && m.op == VB_BROKER_DONE && m.status == 0 &&
	       heard(i, &m) == -EAGAIN;
}

#endif
