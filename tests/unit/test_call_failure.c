/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory, descriptors and all else that the kernel gives run out where links, stores and the parts
 * of a broker are opened, at each call that asks for some: a part that fails says so and leaves
 * nothing, and one that is only useful is left out. And signals that come while something waits.
 */
#include "call_env.h"

#include "link/memory.h"
#include "link/shm/priv.h"
#include "link/udp/priv.h"
#include "netns.h"
#include "node/broker/state.h"
#include "node/client/dial.h"
#include "node/client/spawn.h"
#include "node/cm/serve.h"
#include "node/cm/view.h"
#include "node/host/clock.h"
#include "node/host/name_owner.h"
#include "node/store/fd_store.h"

#include <arpa/inet.h>
#include <net/if.h>

/* Options that only help: sizes of buffers, groups, errors that are thrown away. socket(7), ip(7),
 * ipv6(7) */
#define BUFFERS "set 1 7;set 1 8;set 1 33;get 1 8;"
#define GROUPS "set 0 49;set 41 29;"
#define QUIET "set 1 8;set 1 33;" GROUPS "get 1 4;"
/* Those of sockets that send and receive: GRO, GSO, flow labels. udp(7) */
#define UDP BUFFERS "set 17 104;get 17 103;set 41 70;set 41 33;"

static int made;

static void descriptor_end(int rc)
{
	if (rc == 0)
		close(made);
}

static int keep_made(int fd)
{
	made = fd;
	return fd < 0 ? fd : 0;
}

static int store_make(void)
{
	return keep_made(vb_fd_store_create());
}

static int wakeup_make(void)
{
	uint64_t token;

	return keep_made(vb_wakeup_open(&token));
}

static int memory_make(void)
{
	return keep_made(vb_memory_create("test", 4096));
}

static int subscription_make(void)
{
	return keep_made(vb_netdev_subscribe());
}

static int table_make(void)
{
	static struct vb_broker b;

	return keep_made(vb_broker_cm_table(&b));
}

static int netdevs_make(void)
{
	static struct vb_netdevs n;

	return vb_netdev_read(&n);
}

/* Sockets and memories by themselves. */
static void descriptors__are_had_or_not(void **state)
{
	static const struct attempt store = {.make = store_make, .end = descriptor_end},
				    wakeup = {.make = wakeup_make, .end = descriptor_end},
				    memory = {.make = memory_make, .end = descriptor_end},
				    news = {.make = subscription_make, .end = descriptor_end},
				    table = {.make = table_make, .end = descriptor_end},
				    netdevs = {.make = netdevs_make, .optional = "socket 2 0;"};

	(void)state;
	attempt_each("a descriptor store", &store, 5);
	attempt_each("a wakeup endpoint", &wakeup, 4);
	attempt_each("a memory", &memory, 3);
	attempt_each("news of network devices", &news, 2);
	attempt_each("a table of connections", &table, 5);
	attempt_each("reading network devices", &netdevs, 3);
}

static struct vb_group group;

static int group_make(void)
{
	int rc = vb_group_probe();

	vb_group_init(&group);
	for (int i = 0; i < 2 && !rc; i++)
		rc = vb_group_grow(&group, 1);
	return rc;
}

static void group_end(int rc)
{
	(void)rc;
	vb_group_close(&group);
}

static struct vb_slots slots;

static int slots_make(void)
{
	int rc = vb_slots_init(&slots);

	if (!rc)
		rc = vb_slots_start(&slots);
	if (!rc)
		rc = vb_slots_take(&slots, getpid(), "test");
	return rc < 0 ? rc : 0;
}

static void slots_end(int rc)
{
	(void)rc;
	vb_slots_close(&slots);
}

static void slots_before(void)
{
	assert_int_equal(slots_make(), 0);
}

static struct vb_cm_memory memory;

static int memory_open(void)
{
	return vb_cm_memory_open(&memory, &slots);
}

static void memory_before(void)
{
	slots_before();
	assert_int_equal(memory_open(), 0);
}

static void memory_end(int rc)
{
	vb_cm_memory_close(&memory);
	slots_end(rc);
}

/* A channel is served whether or not the next broker will know it. */
static int channel_keep(void)
{
	int pair[2];

	if (__real_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	vb_cm_memory_add(&memory, 0, 7, pair[1]);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* The channel after it is kept in any case. */
static void channel_end(int rc)
{
	int pair[2];

	assert_int_equal(__real_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_cm_memory_add(&memory, 1, 8, pair[1]);
	assert_true(memory.kept->channel[1].token == 8);
	close(pair[0]);
	close(pair[1]);
	memory_end(rc);
}

/* The broker's sockets, its slots, and what outlives it of the connection manager. */
static void slots__are_whole_or_not_there(void **state)
{
	static const struct attempt
	    sockets = {.make = group_make, .end = group_end, .optional = QUIET},
	    all = {.make = slots_make, .end = slots_end, .optional = QUIET},
	    cm = {.before = slots_before, .make = memory_open, .end = memory_end},
	    channel = {
		.before = memory_before, .make = channel_keep, .end = channel_end, .optional = "*"};

	(void)state;
	attempt_each("a group of sockets", &sockets, 12);
	attempt_each("slots", &all, 40);
	attempt_each("memory of the connection manager", &cm, 5);
	attempt_each("keeping a channel", &channel, 7);
}

static struct vb_gid gid_of(const char *text)
{
	struct vb_gid g;

	assert_int_equal(inet_pton(AF_INET6, text, g.b), 1);
	return g;
}

static uint8_t any_port(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	(void)ctx, (void)local, (void)ifindex;
	return 1;
}

static struct vb_link *opened;
static struct vb_link_config udp;

static void rx_before(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};

	udp = (struct vb_link_config){.ifindex = {0, if_nametoindex("lo")}, .port_of = any_port};
	udp.rx_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(udp.rx_fd, (struct sockaddr *)&a, sizeof a), 0);
}

static int udp_make(void)
{
	return vb_udp_open(&opened, &udp);
}

static void udp_end(int rc)
{
	if (rc)
		close(udp.rx_fd);
	else
		opened->ops->close(opened);
}

static void udp_before(void)
{
	rx_before();
	assert_int_equal(udp_make(), 0);
}

static int udp_join(void)
{
	const struct vb_gid g = gid_of("ff12::77");

	return vb_link_join(opened, 1, &g, 0);
}

static void link_end(int rc)
{
	(void)rc;
	opened->ops->close(opened);
}

/* A socket of its own for a flow is faster; the link has one that will do. */
static int source_make(void)
{
	struct vb_path p = {.port = 1, .udp_sport = 0xc123};

	for (int i = 0; i < 2; i++) {
		p.sgid = p.dgid = gid_of(i ? "::ffff:127.0.0.1" : "::1");
		if (!vb_udp_sock_find(&((struct vb_udp *)opened)->socks, &p))
			return -ENOTCONN;
	}
	return 0;
}

static void udp__is_open_or_not(void **state)
{
	static const struct attempt
	    open = {.before = rx_before, .make = udp_make, .end = udp_end, .optional = UDP},
	    join = {.before = udp_before, .make = udp_join, .end = link_end, .optional = GROUPS},
	    source = {.before = udp_before, .make = source_make, .end = link_end, .optional = "*"};

	(void)state;
	attempt_each("the UDP link", &open, 25);
	attempt_each("joining a group", &join, 4);
	attempt_each("sockets for flows", &source, 20);
}

/* The link below the shared-memory link. */
static struct vb_link below;
static int below_wakes;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	(void)l, (void)now;
	return b->cnt - from;
}

static int below_fd(const struct vb_link *l)
{
	(void)l;
	return below_wakes;
}

static void below_close(struct vb_link *l)
{
	(void)l;
	close(below_wakes);
}

static const struct vb_link_ops below_ops = {
    .name = "below", .send = below_send, .fd = below_fd, .close = below_close};

static struct vb_wakeup wakeups[VB_SHM_SLOTS];
static struct vb_counters counters;

static void shm_before(void)
{
	below = vb_link_before(NULL, &below_ops);
	below_wakes = eventfd(0, EFD_CLOEXEC);
}

static int shm_make(void)
{
	const struct vb_link_config cfg = {.lower = &below,
					   .slot = 5,
					   .wakeup = wakeups,
					   .port_of = any_port,
					   .counters = {NULL, &counters}};

	return vb_shm_open(&opened, &cfg);
}

static void shm_end(int rc)
{
	if (rc)
		close(below_wakes);
	else
		opened->ops->close(opened);
}

static int neighbour; /* the wakeup endpoint of another process */

static void ring_before(void)
{
	shm_before();
	assert_int_equal(shm_make(), 0);
	neighbour = vb_wakeup_open(&wakeups[6].token);
	assert_true(neighbour >= 0);
}

/* A packet leaves, by a ring of its own or by the link below. */
static int ring_make(void)
{
	static struct vb_tx_batch b;
	const struct vb_path p = {.port = 1};

	b.cnt = 1;
	b.pkt[0] = (struct vb_tx){.path = &p, .hdr_len = 12, .hdr = {[7] = 6}};
	return opened->ops->send(opened, &b, 0, 0) == 1 ? 0 : -EAGAIN;
}

static void ring_end(int rc)
{
	link_end(rc);
	close(neighbour);
	wakeups[6].token = 0;
}

static void shm__is_open_or_not(void **state)
{
	static const struct attempt open = {.before = shm_before, .make = shm_make, .end = shm_end},
				    ring = {.before = ring_before,
					    .make = ring_make,
					    .end = ring_end,
					    .optional = "*"};

	(void)state;
	attempt_each("the shared-memory link", &open, 7);
	attempt_each("a ring", &ring, 6);
}

static struct vb_cm_host cm;

static int on_watch(void *ctx, int fd, uint32_t index)
{
	(void)ctx, (void)fd, (void)index;
	return 0;
}

static int manager_make(void)
{
	static const struct vb_cm_loop loop = {.watch = on_watch};
	static const struct vb_ucma_env env = {.ctx = NULL};

	memset(&cm, 0, sizeof cm);
	return vb_cm_host_open(&cm, &loop, &env, NULL);
}

static void manager_end(int rc)
{
	if (rc == 0)
		vb_cm_host_close(&cm);
}

static struct vb_broker broker;

static void page_before(void)
{
	broker.cm = &cm;
	broker.conn[0] = (struct vb_conn){.in_use = true, .sock = -1, .pidfd = -1};
}

static int page_make(void)
{
	return keep_made(vb_broker_page_open(&broker, &broker.conn[0]));
}

static void page_end(int rc)
{
	broker.cm = NULL;
	vb_broker_page_close(&broker, &broker.conn[0]);
	descriptor_end(rc);
}

static void connection_manager__is_open_or_not(void **state)
{
	static const struct attempt manager = {.make = manager_make,
					       .end = manager_end,
					       .optional = "?"},
				    page = {
					.before = page_before, .make = page_make, .end = page_end};

	(void)state;
	attempt_each("a connection manager", &manager, 12);
	attempt_each("a page of calls", &page, 5);
}

static int listener;
static struct sockaddr_un name;
static socklen_t name_len;

/* Somebody listens where the user's broker does. */
static void listener_before(void)
{
	name_len = vb_broker_address(&name, geteuid());
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, name_len), 0);
	assert_int_equal(listen(listener, 1), 0);
}

static int connection_make(void)
{
	char why[256];

	return keep_made(vb_broker_connect_once(why, sizeof why));
}

static void connection_end(int rc)
{
	descriptor_end(rc);
	close(listener);
}

static int owner_make(void)
{
	unsigned uid;

	return vb_name_owner(&name, name_len, &uid);
}

static void owner_end(int rc)
{
	(void)rc;
	close(listener);
}

static int spawn_make(void)
{
	char why[256];

	return vb_broker_spawn(10000, why, sizeof why);
}

static void broker__is_reached_or_not(void **state)
{
	static const struct attempt connection = {.before = listener_before,
						  .make = connection_make,
						  .end = connection_end,
						  /* SO_SNDTIMEO, F_SETFL */
						  .optional = "set 1 21;fcntl 4 0;"},
				    owner = {.before = listener_before,
					     .make = owner_make,
					     .end = owner_end,
					     .optional = "set 1 20;"}, /* SO_RCVTIMEO */
	    spawn = {.make = spawn_make};

	(void)state;
	setenv("VERBENA_BIN", "/bin/true", 1);
	attempt_each("a connection to a broker", &connection, 4);
	attempt_each("the owner of a name", &owner, 2);
	attempt_each("a broker", &spawn, 4);
}

/* The words of a broker that cannot start are told. */
static int spawn_in_vain(void)
{
	char why[256];

	setenv("VERBENA_BIN", "/bin/echo", 1); /* which says "broker" */
	return vb_broker_spawn(10000, why, sizeof why) == -EIO && strcmp(why, "broker") == 0
		   ? 0
		   : -EPROTO;
}

/* A message with a descriptor, there and back, and one that is waited for. */
static int messages_make(void)
{
	struct vb_fds fds = {.cnt = 1, .fd = {STDIN_FILENO}};
	struct vb_broker_msg m;
	int pair[2], rc;

	if (__real_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	rc = vb_fds_send(pair[0], &m, sizeof m, &fds);
	if (!rc)
		rc = vb_broker_msg_recv(pair[1], &m, &fds, 0) == 1 ? 0 : -EPROTO;
	vb_fds_close(&fds);
	if (!rc)
		rc = vb_fds_send(pair[0], &m, sizeof m, NULL);
	if (!rc)
		rc = vb_broker_await(pair[1], &m, &fds, vb_clock_now() + 10 * VB_SEC);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

static void signals__end_nothing_that_waits(void **state)
{
	static const struct attempt messages = {.make = messages_make},
				    netdevs = {.make = netdevs_make},
				    spawn = {.make = spawn_in_vain};

	(void)state;
	interrupt_each("sending and receiving", &messages, 5);
	interrupt_each("reading network devices", &netdevs, 3);
	interrupt_each("starting a broker", &spawn, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(descriptors__are_had_or_not),
	    cmocka_unit_test(slots__are_whole_or_not_there),
	    cmocka_unit_test(udp__is_open_or_not),
	    cmocka_unit_test(shm__is_open_or_not),
	    cmocka_unit_test(connection_manager__is_open_or_not),
	    cmocka_unit_test(broker__is_reached_or_not),
	    cmocka_unit_test(signals__end_nothing_that_waits),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
