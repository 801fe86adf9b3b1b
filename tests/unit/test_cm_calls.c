/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's side of calls by shared memory: whom it looks at and for how long, whom it tells,
 * which posts come first; and what the broker's loop is told of its connection manager.
 * node/cm/page/serve_page.c, node/cm/cm.c; CMP-31
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "link/memory.h"
#include "node/broker/state.h"
#include "node/cm/env.h"
#include "node/cm/serve.h"
#include "node/cm/view.h"
#include "ucma/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS 10u

static struct vb_broker b;
static struct vb_cm_host cm;
static struct vb_host_memory *memory;
static int page_fd[CONNS];
static int far[CONNS];                 /* the programs' ends */
static struct vb_cm_page *page[CONNS]; /* as the programs have them */

static int on_watch(void *ctx, int fd, uint32_t index)
{
	(void)ctx, (void)fd, (void)index;
	return 0;
}

static int on_watch_room(void *ctx, int fd, uint32_t index, bool on)
{
	(void)ctx, (void)fd, (void)index, (void)on;
	return 0;
}

static void on_unwatch(void *ctx, int fd)
{
	(void)ctx, (void)fd;
}

static int setup(void **state)
{
	const struct vb_cm_loop loop = {on_watch, on_watch_room, on_unwatch, NULL};
	struct vb_ucma_env env;

	(void)state;
	memset(&b, 0, sizeof b);
	memset(&cm, 0, sizeof cm);
	memory = aligned_alloc(_Alignof(struct vb_host_memory), sizeof *memory);
	assert_non_null(memory);
	memset(memory, 0, sizeof *memory);
	b.slots.host = &memory->host;
	b.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	env = vb_cm_env(&b);
	assert_int_equal(vb_cm_host_open(&cm, &loop, &env, NULL), 0);
	cm.slow = 1;
	b.cm = &cm;
	for (uint32_t i = 0; i < CONNS; i++) {
		int pair[2];
		void *p;

		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
		far[i] = pair[1];
		b.conn[i] = (struct vb_conn){.in_use = true,
					     .kind = VB_CONN_CM,
					     .sock = pair[0],
					     .pidfd = -1,
					     .pid = getpid(),
					     .served = 7,
					     .carried_out = 7};
		b.conn_cnt++;
		b.conn_end = i + 1;
		page_fd[i] = vb_broker_page_open(&b, &b.conn[i]);
		assert_true(page_fd[i] >= 0);
		assert_int_equal(vb_memory_map(page_fd[i], VB_CM_PAGE_BYTES, true, &p), 0);
		page[i] = p;
		close(page_fd[i]);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CONNS; i++) {
		if (b.conn[i].in_use)
			vb_conn_end(&b, i);
		close(far[i]);
		vb_memory_unmap(page[i], VB_CM_PAGE_BYTES);
	}
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm.channel[i])
			vb_channel_close(&cm, i, 0);
	vb_cm_host_close(&cm);
	close(b.epoll_fd);
	free(memory);
	return 0;
}

/* A call that no channel is needed for, and its answer. */
static void call_write(uint32_t i)
{
	const struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH, .channel = 77};

	(void)vb_cm_page_call(page[i], &c);
}

static bool is_answered(uint32_t i)
{
	static struct vb_cm_answer a;

	return vb_cm_page_answer(page[i], &a) && a.status == -ENOENT;
}

/* Bytes that wait at the program's end; -1: none, -2: it was ended. */
static int told(uint32_t i)
{
	char bytes[8];
	ssize_t n = recv(far[i], bytes, sizeof bytes, MSG_DONTWAIT);

	return n > 0 ? (int)n : n == 0 ? -2 : -1;
}

/* A page begins with nothing called and nothing carried out, and is of this broker; its connection
 * ends, and it says so. */
static void page__begins_and_ends(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	for (uint32_t i = 0; i < CONNS; i++) {
		assert_int_equal(b.conn[i].served, 0);
		assert_int_equal(b.conn[i].carried_out, 0);
		assert_true(page[i]->broker == cm.number);
		assert_true(vb_cm_page_is_served(page[i]));
	}
	assert_true(vb_broker_cm_number(&b) == cm.number && cm.number);
	vb_broker_page_close(&b, &b.conn[0]);
	assert_null(b.conn[0].page);
	assert_false(vb_cm_page_is_served(page[0]));
	assert_true(vb_cm_page_is_served(page[1]));
	vb_broker_page_close(&b, &b.conn[0]);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A program that sleeps is told of its answer, by one byte, and one that looks is not. */
static void answer__is_told_to_who_sleeps(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool sleeps = i & 1;

		vb_cm_page_sleep(page[i], sleeps);
		call_write(i);
		assert_true(vb_broker_page_kick(&b, &b.conn[i], 1));
		assert_true(is_answered(i));
		assert_int_equal(told(i), sleeps ? VB_CM_KICK_LEN : -1);
	}
	/* One that does not take what it is told is told no more, and goes on. */
	vb_cm_page_sleep(page[0], true);
	for (uint32_t n = 0; n < 10000; n++) {
		call_write(0);
		assert_true(vb_broker_page_kick(&b, &b.conn[0], 1));
		assert_true(is_answered(0));
	}
	/* One that has gone cannot be told. */
	shutdown(far[1], SHUT_RDWR);
	vb_cm_page_sleep(page[1], true);
	call_write(1);
	assert_false(vb_broker_page_kick(&b, &b.conn[1], 1));
}

/* The broker looks at the page of a program that calls again soon, at each once and at so many; the
 * others tell it. */
static void look__at_who_calls_again_soon(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	call_write(0);
	assert_true(vb_broker_page_kick(&b, &b.conn[0], now));
	assert_int_equal(page[0]->looks, 0);
	assert_int_equal(b.looked_cnt, 0);
	assert_false(now < b.spin_until);
	/* A millisecond later is not soon. */
	now += VB_MSEC;
	call_write(0);
	assert_true(vb_broker_page_kick(&b, &b.conn[0], now));
	assert_int_equal(page[0]->looks, 0);
	now += VB_MSEC - 1;
	call_write(0);
	assert_true(vb_broker_page_kick(&b, &b.conn[0], now));
	assert_int_equal(page[0]->looks, 1);
	assert_true(b.spin_until == now + VB_CM_SPIN_NS(1));
	for (int n = 0; n < 3; n++) {
		call_write(0);
		assert_true(vb_broker_page_kick(&b, &b.conn[0], now));
		assert_int_equal(b.looked_cnt, 1);
	}
	for (uint32_t i = 1; i < CONNS; i++) {
		call_write(i);
		assert_true(vb_broker_page_kick(&b, &b.conn[i], now));
		assert_int_equal(page[i]->looks, i < VB_BROKER_LOOKED_MAX);
	}
	assert_int_equal(b.looked_cnt, VB_BROKER_LOOKED_MAX);
	/* It finds the calls of those alone. */
	for (uint32_t i = 0; i < CONNS; i++)
		call_write(i);
	vb_broker_page_look(&b);
	for (uint32_t i = 0; i < CONNS; i++)
		assert_int_equal(is_answered(i), i < VB_BROKER_LOOKED_MAX);
	/* A connection that ends makes room for another one. */
	vb_broker_page_close(&b, &b.conn[2]);
	assert_int_equal(b.looked_cnt, VB_BROKER_LOOKED_MAX - 1);
	for (uint32_t i = 0; i < b.looked_cnt; i++)
		assert_int_not_equal(b.looked[i], 2);
}

/* After time in vain the broker does not look for a while, however soon calls come. */
static void look__not_after_time_in_vain(void **state)
{
	vb_time now = VB_SEC;
	uint32_t in_vain = 0;

	(void)state;
	for (uint32_t n = 0; n < 40; n++) {
		call_write(0);
		assert_true(vb_broker_page_kick(&b, &b.conn[0], now));
		in_vain += now >= b.spin_until;
		(void)vb_broker_page_rest(&b, now + VB_MSEC / 2);
		now += VB_CM_SPIN_NS(1) + VB_MSEC / 2; /* later than it looks */
	}
	assert_uint_in_range(in_vain, 25, 39);
}

/* Before it sleeps the broker says to each that it does not look any more, and looks again then;
 * after a call it goes on, and leaves the rest for the next time. */
static void rest__looks_once_more(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	for (uint32_t n = 0; n < 2; n++)
		for (uint32_t i = 0; i < 3; i++) {
			call_write(i);
			assert_true(vb_broker_page_kick(&b, &b.conn[i], now));
		}
	assert_int_equal(b.looked_cnt, 3);
	assert_false(vb_broker_page_rest(&b, b.spin_until));
	assert_int_equal(b.looked_cnt, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(page[i]->looks, 0);
	for (uint32_t i = 0; i < 3; i++) {
		call_write(i);
		assert_true(vb_broker_page_kick(&b, &b.conn[i], now));
	}
	assert_int_equal(b.looked_cnt, 3);
	now += VB_CM_SPIN_NS(1) / 2;
	call_write(2);
	assert_true(vb_broker_page_rest(&b, now));
	assert_true(is_answered(2));
	assert_true(now < b.spin_until);
	/* It is looked at again. */
	assert_int_equal(page[2]->looks, 1);
}

/* A channel of connection 0, with the program's end in *fd. */
static uint64_t channel_open(int *fd)
{
	struct vb_cm_call open = {.op = VB_CM_CALL_OPEN};
	struct vb_fds fds = {.cnt = 1};
	static struct vb_cm_answer a;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fds.fd[0] = pair[1];
	(void)vb_broker_cm_serve(&b, &b.conn[0], &open, offsetof(struct vb_cm_call, body), &fds, &a,
				 1);
	assert_int_equal(a.status, 0);
	assert_int_equal(fds.cnt, 0);
	*fd = pair[0];
	return a.channel;
}

static void post_write(uint32_t i, uint64_t channel)
{
	struct vb_cm_post post = {.channel = channel, .serial = 5, .len = 8};
	uint32_t at = 0;

	(void)vb_cm_page_post(page[i], &post, &at);
}

/* A post is carried out before a call of its own program, before one of another program that uses
 * the same channel, and before its connection ends. */
static void posts__come_before_calls(void **state)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH};
	int fd;

	(void)state;
	c.channel = channel_open(&fd);
	assert_true(vb_broker_cm_is_used(&b));
	post_write(0, c.channel);
	post_write(1, c.channel);
	(void)vb_cm_page_call(page[0], &c);
	assert_true(vb_broker_page_kick(&b, &b.conn[0], 1));
	assert_int_equal(page[0]->carried_out, 1);
	assert_int_equal(page[1]->carried_out, 0);
	assert_true(vb_broker_cm_is_shared(&b, c.channel));
	(void)vb_cm_page_call(page[0], &c);
	assert_true(vb_broker_page_kick(&b, &b.conn[0], 1));
	assert_int_equal(page[1]->carried_out, 1);
	for (uint32_t n = 0; n < VB_CM_POSTS; n++)
		post_write(2, n);
	vb_broker_page_close(&b, &b.conn[2]);
	assert_int_equal(page[2]->carried_out, VB_CM_POSTS);
	/* Those of all, too, whoever is to be told. */
	post_write(CONNS - 1, 1);
	vb_broker_page_posts(&b, 1);
	assert_int_equal(page[CONNS - 1]->carried_out, 1);
	assert_int_equal(b.conn[CONNS - 1].carried_out, 1);
	close(fd);
}

/* A kick for a post is none for a call; one byte is a kick, and less than a call ends the
 * connection. */
static void call__by_the_socket(void **state)
{
	char byte = 0;
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH, .channel = 77};
	unsigned before;
	struct vb_fds fds = {.cnt = 1, .fd = {STDERR_FILENO}};

	(void)state;
	assert_true(vb_broker_cm_call(&b, &b.conn[0], 1)); /* there is nothing */
	call_write(0);
	assert_int_equal(send(far[0], &byte, VB_CM_KICK_LEN, 0), 1);
	assert_true(vb_broker_cm_call(&b, &b.conn[0], 1));
	assert_true(is_answered(0));
	before = descriptors_of(getpid());
	/* Descriptors without need are closed, with whatever they come. */
	assert_int_equal(vb_fds_send(far[0], &byte, VB_CM_KICK_LEN, &fds), 0);
	assert_true(vb_broker_cm_call(&b, &b.conn[0], 1));
	assert_int_equal(vb_fds_send(far[0], &c, offsetof(struct vb_cm_call, body), &fds), 0);
	assert_true(vb_broker_cm_call(&b, &b.conn[0], 1));
	assert_int_equal(told(0), 8); /* as much of the answer as is asked for here */
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(vb_fds_send(far[0], &c, offsetof(struct vb_cm_call, body) - 1, &fds), 0);
	assert_false(vb_broker_cm_call(&b, &b.conn[0], 1));
	assert_int_equal(descriptors_of(getpid()), before);
	close(far[0]);
	far[0] = -1;
	assert_false(vb_broker_cm_call(&b, &b.conn[0], 1));
}

/* The loop is told of the first time at which there is something to do, and nothing before it. */
static void due__of_channels_that_are_held(void **state)
{
	(void)state;
	assert_int_equal(vb_broker_cm_due(&b, 1), VB_NEVER);
	cm.hold_until = 77;
	assert_int_equal(vb_broker_cm_due(&b, 1), 77);
	vb_broker_cm_timeouts(&b, 76);
	assert_int_equal(cm.hold_until, 77);
	b.asks.ask[5] = (struct vb_ask){.tid = 1, .due = 76};
	assert_int_equal(vb_broker_cm_due(&b, 1), 76);
	b.asks.ask[5].tid = 0;
	vb_broker_cm_timeouts(&b, 77);
	assert_int_equal(cm.hold_until, VB_NEVER);
	assert_int_equal(vb_broker_cm_due(&b, 1), VB_NEVER);
}

/* A broker that has no connection manager, before it has a group, says so to all who ask. */
static void manager__there_is_none(void **state)
{
	(void)state;
	b.cm = NULL;
	assert_null(vb_broker_cm_gsi(&b));
	assert_null(vb_broker_cm_counters(&b));
	assert_false(vb_broker_cm_is_used(&b));
	assert_int_equal(vb_broker_cm_due(&b, 1), VB_NEVER);
	assert_int_equal(vb_broker_cm_views(&b, NULL, 0), 0);
	vb_broker_cm_timeouts(&b, 1);
	vb_broker_cm_packets(&b, 1);
	vb_broker_cm_channel(&b, 0, 1);
	vb_broker_cm_release(&b, &b.conn[0]);
	vb_broker_cm_follow(&b, memory->host.device);
	vb_broker_cm_reload(&b);
	vb_broker_cm_rest(&b);
	vb_broker_cm_close(&b);
	b.cm = &cm;
	assert_non_null(vb_broker_cm_counters(&b));
	assert_false(vb_broker_cm_is_used(&b));
	vb_broker_cm_packets(&b, 1);
	vb_broker_cm_reload(&b);
}

static struct vb_cm_answer command(uint64_t channel, uint32_t cmd, const void *body, uint16_t len,
				   uint16_t out)
{
	const struct vb_ucma_hdr h = {cmd, len, out};
	struct vb_fds none = {.cnt = 0};
	static struct vb_cm_call c;
	static struct vb_cm_answer a;

	c = (struct vb_cm_call){
	    .op = VB_CM_CALL_COMMAND, .channel = channel, .len = (uint32_t)sizeof h + len};
	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, body, len);
	(void)vb_broker_cm_serve(
	    &b, &b.conn[0], &c, (ssize_t)(offsetof(struct vb_cm_call, body) + c.len), &none, &a, 1);
	assert_true(a.status > 0);
	return a;
}

/* A new id that is at 127.0.0.1, whose event is taken. */
static uint32_t id_at_home(uint64_t channel, int fd)
{
	struct vb_ucma_create_id create = {.ps = VB_UCMA_PS_TCP};
	struct vb_ucma_resolve_addr r = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_cm_answer a = command(channel, VB_UCMA_CREATE_ID, &create, sizeof create, 4);
	struct vb_ucma_event_reply ev;

	memcpy(&r.id, a.body, sizeof r.id);
	r.dst[0] = AF_INET;
	r.dst[2] = 9;
	memcpy(r.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	(void)command(channel, VB_UCMA_RESOLVE_ADDR, &r, sizeof r, 0);
	assert_int_equal(recv(fd, &a, sizeof a, MSG_DONTWAIT), VB_CM_EVENT_LEN);
	memcpy(&ev, a.body, sizeof ev);
	assert_int_equal(ev.event, VB_UCMA_EV_ADDR_RESOLVED);
	return r.id;
}

/* The kind of the next event; -1: there is none. */
static int event_kind(int fd)
{
	static struct vb_cm_answer a;
	struct vb_ucma_event_reply ev;

	if (recv(fd, &a, sizeof a, MSG_DONTWAIT) < 0)
		return -1;
	memcpy(&ev, a.body, sizeof ev);
	return (int)ev.event;
}

/* The second of two devices has 127.0.0.1. */
static void devices_begin(void)
{
	struct vb_device *d = memory->host.device;

	memory->host.device_cnt = 2;
	d[0].ifindex = 7;
	d[1].ifindex = 1;
	d[1].active_mtu = VB_MTU_1024;
	d[1].gid[0].type = VB_GID_IPV4;
	d[1].gid[0].gid = (struct vb_gid){{[10] = 0xff, 0xff, 127, 0, 0, 1}};
}

/* The ids of a device hear at once that it has another MAC address, or has gone; not those of
 * others, and of one that comes nobody. */
static void follow__each_device(void **state)
{
	static struct vb_device before[VB_DEVICES_MAX];
	struct vb_device *d = memory->host.device;
	uint64_t channel;
	int fd;

	(void)state;
	devices_begin();
	channel = channel_open(&fd);
	(void)id_at_home(channel, fd);
	memcpy(before, d, sizeof before);
	vb_broker_cm_follow(&b, before);
	d[0].ifindex = 8;
	d[0].mac[3] = 1;
	vb_broker_cm_follow(&b, before);
	before[1].ifindex = 0;
	vb_broker_cm_follow(&b, before);
	assert_int_equal(event_kind(fd), -1);
	before[1].ifindex = 1;
	d[1].mac[5] = 1;
	vb_broker_cm_follow(&b, before);
	assert_int_equal(event_kind(fd), VB_UCMA_EV_ADDR_CHANGE);
	assert_int_equal(event_kind(fd), -1);
	d[1].ifindex = 2;
	vb_broker_cm_follow(&b, before);
	assert_int_equal(event_kind(fd), VB_UCMA_EV_DEVICE_REMOVAL);
	assert_int_equal(event_kind(fd), -1);
	close(fd);
}

/* Observers see as many ids as the table has room for, and how many there are; an event that a
 * program has taken is not waiting any more. */
static void table__of_connections(void **state)
{
	enum { IDS = VB_CM_TABLE_MAX + 5 };
	struct vb_ucma_create_id create = {.ps = VB_UCMA_PS_TCP};
	unsigned before = descriptors_of(getpid());
	const struct vb_cm_table *t;
	uint64_t channel;
	int fd, table;
	void *p;

	(void)state;
	table = vb_broker_cm_table(&b);
	assert_int_equal(vb_memory_map(table, sizeof *t, false, &p), 0);
	t = p;
	assert_int_equal(t->cnt + t->total, 0);
	vb_memory_unmap(p, sizeof *t);
	close(table);
	channel = channel_open(&fd);
	for (uint32_t i = 0; i < IDS; i++) {
		(void)command(channel, VB_UCMA_CREATE_ID, &create, sizeof create, 4);
		if (i != 4 && i != VB_CM_TABLE_MAX - 1 && i != IDS - 1)
			continue;
		table = vb_broker_cm_table(&b);
		assert_int_equal(vb_memory_map(table, sizeof *t, false, &p), 0);
		t = p;
		assert_int_equal(t->total, i + 1);
		assert_int_equal(t->cnt, i < VB_CM_TABLE_MAX ? i + 1 : VB_CM_TABLE_MAX);
		assert_int_equal(t->view[t->cnt - 1].pid, getpid());
		vb_memory_unmap(p, sizeof *t);
		close(table);
	}
	assert_int_equal(descriptors_of(getpid()), before + 2);
	assert_int_equal(maps_with(VB_CM_TABLE_NAME), 0);
	close(fd);
}

/* Programs read versions, and nobody can write them who was given the memory. Each manager has a
 * number of its own, and all of it goes with it. */
static void host__versions_and_number(void **state)
{
	const struct vb_cm_loop own = {on_watch, on_watch_room, on_unwatch, NULL};
	const struct vb_ucma_env env = {.ctx = NULL};
	static struct vb_cm_host other;
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(fcntl(cm.versions_fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE,
			 F_SEAL_FUTURE_WRITE);
	assert_int_equal(lseek(cm.versions_fd, 0, SEEK_END), VB_CM_VERSIONS_BYTES);
	assert_int_equal(vb_cm_host_open(&other, &own, &env, NULL), 0);
	assert_true(other.number != cm.number && other.number && cm.number);
	assert_true(other.slow >= 1 && other.event_bytes == cm.event_bytes);
	assert_int_equal(other.hold_until, VB_NEVER);
	vb_cm_host_close(&other);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* The bytes read ahead begin behind the reply, at a multiple of eight. */
static void answer__its_bytes(void **state)
{
	struct vb_cm_answer a = {.len = 5};
	size_t head = offsetof(struct vb_cm_answer, body);

	(void)state;
	assert_int_equal(vb_cm_answer_size(&a), head + 5);
	a.ahead_len = 3;
	assert_int_equal(vb_cm_answer_size(&a), head + 8 + 3);
	a.len = 8;
	assert_int_equal(vb_cm_answer_size(&a), head + 8 + 3);
	a.len = 9;
	assert_int_equal(vb_cm_answer_size(&a), head + 16 + 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(page__begins_and_ends),
	    T(answer__is_told_to_who_sleeps),
	    T(look__at_who_calls_again_soon),
	    T(look__not_after_time_in_vain),
	    T(rest__looks_once_more),
	    T(posts__come_before_calls),
	    T(call__by_the_socket),
	    T(due__of_channels_that_are_held),
	    T(manager__there_is_none),
	    T(follow__each_device),
	    T(table__of_connections),
	    T(host__versions_and_number),
	    T(answer__its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
