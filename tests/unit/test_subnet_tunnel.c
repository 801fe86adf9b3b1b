/* SPDX-License-Identifier: BSD-2-Clause */
/* The process of a fabric with a tunnel, turn by turn; the other end is the test, with a socket of
 * its own, and says what it likes. node/subnet/tunnel/tunnel.h; LNK-20, LNK-31, LNK-35, FAB-56 */
#include "subnet_process_env.h"

#include "mgmt/subnet/priv.h"
#include "node/subnet/live/live.h"
#include "node/subnet/tunnel/tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define OWN UINT64_C(0x5151)
#define TURNS_MAX 1000

static int peer_fd;
static struct vb_tunnel peer;
static struct vb_subnet_tunnel *tunnel;
static char local[64], remote[64], why[256];
static struct vb_tunnel_table told; /* what the fabric has told */

static void *table_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void table_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* A socket of the loopback; @port: the one that it has got. */
static int socket_make(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static int setup(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint16_t own_port, peer_port;
	int fd = socket_make(&own_port);

	fabric_begin(state);
	vb_subnet_daemon_set_real_time(fabric, 1);
	peer_fd = socket_make(&peer_port);
	close(fd);
	snprintf(local, sizeof local, "127.0.0.1:%u", own_port);
	snprintf(remote, sizeof remote, "127.0.0.1:%u", peer_port);
	if (vb_subnet_tunnel_open(fabric, place(SWITCH_A, 3), local, remote, why, sizeof why))
		fail_msg("%s", why);
	a.sin_port = htons(own_port);
	assert_int_equal(connect(peer_fd, (struct sockaddr *)&a, sizeof a), 0);
	tunnel = vb_subnet_tunnel_at(fabric, place(SWITCH_A, 3));
	assert_non_null(tunnel);
	vb_tunnel_init(&peer, OWN);
	peer.mine = (struct vb_tunnel_hello){
	    .polls = true, .widths = 3, .speeds = 0xff, .port = 7, .guid = 0x77, .name = "far"};
	told = (struct vb_tunnel_table){.alloc = table_alloc, .free = table_free};
	return 0;
}

static int teardown(void **state)
{
	vb_tunnel_table_clear(&told, false);
	close(peer_fd);
	return fabric_end(state);
}

/* The other end hears what the fabric has sent. */
static void peer_hear(void)
{
	uint8_t bytes[VB_TUNNEL_MAX];
	struct vb_tunnel_hdr h;
	ssize_t n;

	while ((n = recv(peer_fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
		uint32_t events = 0;

		if (vb_tunnel_receive(&peer, bytes, (uint32_t)n, &h, &events) == VB_TUNNEL_COUNTS &&
		    h.kind == VB_TUNNEL_TABLE)
			(void)vb_tunnel_table_hear(&told, bytes + VB_TUNNEL_HDR_LEN,
						   (uint32_t)n - VB_TUNNEL_HDR_LEN);
	}
}

static void peer_say(void)
{
	uint8_t bytes[VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN];

	vb_tunnel_table_heard(&told, &peer.mine.heard_table, &peer.mine.heard_cnt);
	peer.is_due = true;
	while (vb_tunnel_poll_hello(&peer, bytes))
		(void)send(peer_fd, bytes, sizeof bytes, 0);
}

/* A turn of the fabric, between two words of the other end. */
static void both_turn(void)
{
	fabric->tunnels_due = 0; /* a period has gone by */
	peer_say();
	fabric_turn();
	peer_hear();
}

static void link_await(uint8_t state)
{
	for (int i = 0; link_of(SWITCH_A, 3)->state != state; i++) {
		assert_true(i < TURNS_MAX);
		both_turn();
	}
}

/* One of the other end, of @kind, with @len bytes of @body. */
static void peer_send(enum vb_tunnel_kind kind, const uint8_t *body, uint32_t len)
{
	uint8_t bytes[VB_TUNNEL_MAX + 64];

	vb_tunnel_head(&peer, kind, 0, bytes);
	memcpy(bytes + VB_TUNNEL_HDR_LEN, body, len);
	(void)send(peer_fd, bytes, VB_TUNNEL_HDR_LEN + len, 0);
}

/* LNK-31, LNK-35: the port comes up when the other end answers, and goes down when it is silent. */
static void ports__follow_the_other_end(void **state)
{
	uint32_t number = vb_subnet_map_port(fabric->adapter, place(SWITCH_A, 3));

	(void)state;
	fabric_turn();
	assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_DOWN);
	link_await(VB_LINK_INIT);
	assert_string_equal(tunnel->end.theirs.name, "far");
	assert_int_equal(fabric->live->net.end[number].port.state, VB_LINK_INIT);
	tunnel->end.silent = 0;
	for (uint32_t i = 0; i < VB_TUNNEL_GONE; i++) {
		assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_INIT);
		vb_subnet_tunnel_tick(tunnel, vb_clock_now());
	}
	assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_DOWN);
	link_await(VB_LINK_INIT);
	/* The machine of the port follows before the next datagram is looked at: that may be a
	 * packet. */
	vb_subnet_link_train(&fabric->subnet, place(SWITCH_A, 3), vb_clock_now());
	for (int i = 0; link_of(SWITCH_A, 3)->state == VB_LINK_DOWN; i++) {
		assert_true(i < TURNS_MAX);
		vb_subnet_tunnel_say(tunnel);
		peer_hear();
		peer_say();
		vb_subnet_live_follow(fabric, SWITCH_A);
		vb_subnet_tunnel_receive(tunnel, vb_clock_now());
	}
	assert_int_equal(fabric->live->net.end[number].port.state, VB_LINK_INIT);
	/* Another process. */
	vb_tunnel_init(&peer, OWN + 1);
	peer.mine.polls = true;
	peer.mine.widths = 3;
	peer.mine.speeds = 1;
	both_turn();
	both_turn();
	link_await(VB_LINK_INIT);
	assert_int_equal(info_of(SWITCH_A, 3)->speed_active, 1);
}

/* LNK-20: an active link of whose lanes one hears no flow control recovers, once, and stays up. */
static void links__recover_from_silence(void **state)
{
	const struct vb_ib_counters *c = &link_of(SWITCH_A, 3)->counters;

	(void)state;
	link_await(VB_LINK_INIT);
	link_of(SWITCH_A, 3)->state = VB_LINK_ACTIVE;
	for (uint32_t i = 0; i < 3 * VB_TUNNEL_WATCHDOG; i++) {
		vb_subnet_tunnel_tick(tunnel, vb_clock_now());
		tunnel->end.silent = 0; /* other datagrams come */
	}
	assert_int_equal(c->link_error_recovery, 1);
	assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_ACTIVE);
}

/* FAB-56: addresses are told both ways, looked for, and forgotten. */
static void addresses__are_told(void **state)
{
	const struct vb_tunnel_entry e[] = {{.prefix = 5, .guid = 6, .ipv4 = 0x0a070001, .lid = 9}};
	struct vb_tunnel_table mine = {.alloc = table_alloc, .free = table_free};
	uint8_t bytes[VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN];
	uint64_t prefix, guid;
	uint32_t len;

	(void)state;
	info_of(HOST_A, 1)->lid = LID(HOST_A);
	fabric->far_changed = true;
	link_await(VB_LINK_INIT);
	for (int i = 0; !vb_tunnel_table_by_ipv4(&told, 0x0a000001); i++) {
		assert_true(i < TURNS_MAX);
		both_turn();
	}
	assert_int_equal(vb_tunnel_table_by_ipv4(&told, 0x0a000001)->lid, LID(HOST_A));
	assert_false(vb_subnet_far_gid(fabric, 0x0a070001, &prefix, &guid));
	assert_true(vb_tunnel_table_set(&mine, e, 1));
	assert_true(vb_tunnel_table_lacks(&mine, 0, 0, true));
	len = vb_tunnel_table_poll(&mine, bytes);
	peer_send(VB_TUNNEL_TABLE, bytes, len);
	both_turn();
	assert_true(vb_subnet_far_gid(fabric, 0x0a070001, &prefix, &guid));
	assert_true(prefix == 5 && guid == 6);
	assert_int_equal(vb_subnet_far_lid(fabric, 5, 6), 9);
	assert_int_equal(vb_subnet_far_lid(fabric, 5, 7), 0);
	vb_subnet_tunnel_act(tunnel, VB_TUNNEL_LOST, vb_clock_now());
	assert_false(vb_subnet_far_gid(fabric, 0x0a070001, &prefix, &guid));
	vb_tunnel_table_clear(&mine, false);
}

/* The table of @cnt entries comes from the other end. */
static void peer_tell(const struct vb_tunnel_entry *e, uint32_t cnt, uint32_t version)
{
	uint8_t bytes[VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN];
	struct vb_tunnel_table mine = {.alloc = table_alloc, .free = table_free};

	mine.mine.version = version - 1;
	assert_true(vb_tunnel_table_set(&mine, e, cnt));
	assert_true(vb_tunnel_table_lacks(&mine, 0, 0, true));
	peer_send(VB_TUNNEL_TABLE, bytes, vb_tunnel_table_poll(&mine, bytes));
	both_turn();
	both_turn();
	vb_tunnel_table_clear(&mine, false);
}

/* One more tunnel, whose other end nobody is. */
static struct vb_subnet_tunnel *tunnel_more(uint32_t node, uint8_t port)
{
	char own[64];
	uint16_t number;

	close(socket_make(&number));
	snprintf(own, sizeof own, "127.0.0.1:%u", number);
	if (vb_subnet_tunnel_open(fabric, place(node, port), own, remote, why, sizeof why))
		fail_msg("%s", why);
	return vb_subnet_tunnel_at(fabric, place(node, port));
}

/* The other end of @t has told it @e, whole. */
static void tunnel_hears(struct vb_subnet_tunnel *t, const struct vb_tunnel_entry *e, uint32_t cnt)
{
	uint8_t bytes[VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN];
	struct vb_tunnel_table mine = {.alloc = table_alloc, .free = table_free};

	mine.mine.version = t->table.theirs.version;
	assert_true(vb_tunnel_table_set(&mine, e, cnt));
	assert_true(vb_tunnel_table_lacks(&mine, 0, 0, true));
	assert_true(vb_tunnel_table_hear(&t->table, bytes, vb_tunnel_table_poll(&mine, bytes)));
	vb_tunnel_table_clear(&mine, false);
}

/* How far the port is of which the fabric tells through @t; -1: it tells of none with this GID. */
static int hops_told(const struct vb_subnet_tunnel *t, uint64_t prefix, uint64_t guid)
{
	const struct vb_tunnel_list *l = &t->table.mine;
	int hops = -1;

	for (uint32_t i = 0; i < l->cnt; i++) {
		if (l->entry[i].prefix != prefix || l->entry[i].guid != guid)
			continue;
		assert_int_equal(hops, -1); /* each GID once */
		hops = l->entry[i].hops;
	}
	return hops;
}

/* FAB-56: of a port to which several tunnels lead the next fabric hears the shortest way, one more
 * than the tunnel's own word, whichever tunnel is older; none of a way that is too long, nor of one
 * back through the tunnel itself. A port of this fabric goes before all. */
static void far_ports__by_the_shortest_way(void **state)
{
	const uint64_t own_prefix = info_of(HOST_A, 1)->prefix,
		       own = topo.node[HOST_A].node_guid + 1;
	const struct vb_tunnel_entry one[] = {{.prefix = 5, .guid = 6, .lid = 1, .hops = 2},
					      {.prefix = 5, .guid = 7, .lid = 2, .hops = 1},
					      {.prefix = 8, .guid = 6, .lid = 3, .hops = 3},
					      {.prefix = own_prefix, .guid = own, .lid = 4}},
				     two[] = {
					 {.prefix = 5, .guid = 6, .lid = 1},
					 {.prefix = 5, .guid = 7, .lid = 2, .hops = 4},
					 {.prefix = 5, .guid = 8, .lid = 5, .hops = 14},
					 {.prefix = 5, .guid = 9, .lid = 6, .hops = 15},
				     };
	struct vb_subnet_tunnel *t[] = {tunnel_more(SWITCH_A, 4), tunnel_more(SWITCH_B, 3)};

	(void)state;
	info_of(HOST_A, 1)->lid = LID(HOST_A);
	for (int i = 0; i < 2; i++) {
		struct vb_subnet_tunnel *has_one = t[i], *has_two = t[!i];

		tunnel_hears(has_one, one, 4);
		tunnel_hears(has_two, two, 4);
		vb_subnet_tunnel_tell(tunnel);
		assert_int_equal(hops_told(tunnel, 5, 6), 1);
		assert_int_equal(hops_told(tunnel, 5, 7), 2);
		assert_int_equal(hops_told(tunnel, 8, 6), 4);
		assert_int_equal(hops_told(tunnel, 5, 8), VB_TUNNEL_HOPS_MAX - 1);
		assert_int_equal(hops_told(tunnel, 5, 9), -1);
		assert_int_equal(hops_told(tunnel, own_prefix, own), 0);
		vb_subnet_tunnel_tell(has_one);
		assert_int_equal(hops_told(has_one, 5, 6), 1);
		assert_int_equal(hops_told(has_one, 5, 7), 5);
		assert_int_equal(hops_told(has_one, 8, 6), -1);
		vb_subnet_tunnel_tell(has_two);
		assert_int_equal(hops_told(has_two, 5, 6), 3);
		assert_int_equal(hops_told(has_two, 5, 7), 2);
		assert_int_equal(hops_told(has_two, 5, 8), -1);
	}
}

static uint64_t told_prefix[VB_HOP_SUBNETS_MAX], told_guid;
static uint32_t told_cnt, told_times;

/* As a manager in subnet 5 does. */
static void routes_hear(void *ctx, const struct vb_subnet_routes *r)
{
	struct vb_router_at by;

	assert_ptr_equal(ctx, &told_times);
	told_times++;
	told_cnt = r->prefix_cnt;
	memcpy(told_prefix, r->prefix, told_cnt * sizeof told_prefix[0]);
	told_guid =
	    vb_routers_find(r->routers, 5, 7, &by) ? vb_routers_port(r->routers, by).guid : 0;
}

/* FAB-06, FAB-07: routers of other fabrics are known by their ports, and managers hear to which
 * subnets they lead; one that the other end has forgotten leads nowhere. */
static void routers__are_told(void **state)
{
	/* Router 0x70 joins 5 and 6, router 0x80 6 and 7; of one port two tunnels tell. A port
	 * without a LID, and one of no router, lead nowhere. */
	static const struct vb_tunnel_entry e[] = {
	    {.prefix = 7, .guid = 0x82, .lid = 4, .router = 0x80},
	    {.prefix = 6, .guid = 0x72, .lid = 2, .router = 0x70, .hops = 3},
	    {.prefix = 5, .guid = 0x71, .lid = 1, .router = 0x70},
	    {.prefix = 6, .guid = 0x72, .lid = 9, .router = 0x70, .hops = 5},
	    {.prefix = 6, .guid = 0x81, .lid = 3, .router = 0x80},
	    {.prefix = 8, .guid = 0x83, .lid = 0, .router = 0x80},
	    {.prefix = 9, .guid = 0x90, .lid = 5}};
	struct vb_routers all;
	struct vb_router_at by;

	(void)state;
	told_times = told_cnt = 0;
	vb_subnet_daemon_tell_routes(fabric, routes_hear, &told_times);
	link_await(VB_LINK_INIT);
	peer_tell(e, sizeof e / sizeof e[0], 1);
	assert_true(told_times > 0);
	assert_int_equal(fabric->far.cnt, 2);
	assert_int_equal(fabric->far_port_cnt, 5);
	assert_int_equal(told_guid, 0x71);
	assert_int_equal(told_cnt, 4); /* 5 to 8 */
	all = vb_subnet_map_routers(fabric);
	assert_true(vb_routers_find(&all, 6, 5, &by));
	assert_int_equal(vb_routers_port(&all, by).lid, 2); /* of the nearer word */
	assert_false(vb_routers_find(&all, 5, 8, &by));
	/* The second router is gone. */
	peer_tell(e + 1, 2, 2);
	assert_int_equal(fabric->far.cnt, 1);
	assert_int_equal(told_guid, 0);
	vb_subnet_tunnel_act(tunnel, VB_TUNNEL_LOST, vb_clock_now());
	both_turn();
	assert_int_equal(fabric->far.cnt, 0);
	vb_subnet_daemon_tell_routes(fabric, NULL, NULL);
}

/* Two fabrics whose nodes have the same GUIDs have no link. */
static void twins__have_no_link(void **state)
{
	(void)state;
	peer.mine.guid = topo.node[HOST_B].node_guid;
	for (int i = 0; i < 10; i++)
		both_turn();
	assert_true(tunnel->is_twin);
	assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_DOWN);
	peer.mine.guid = 0x77;
	link_await(VB_LINK_INIT);
}

/* Nonsense of the other end is counted, and takes no frame for good. */
static void nonsense__is_counted(void **state)
{
	uint8_t body[VB_TUNNEL_PACKET_MAX];
	uint64_t errors = link_of(SWITCH_A, 3)->counters.rcv_errors;

	(void)state;
	link_await(VB_LINK_INIT);
	memset(body, 0x5a, sizeof body);
	for (uint32_t len = 26; len < sizeof body; len += 97) {
		peer_send(VB_TUNNEL_PACKET, body, len);
		peer_send(VB_TUNNEL_MAD, body, len);
		if (len % 10 == 0)
			both_turn();
	}
	for (uint8_t vl = 0; vl < 16; vl++) {
		body[2] = (uint8_t)(vl << 4);
		peer_send(VB_TUNNEL_FLOW, body, VB_FLOW_LEN);
	}
	peer_send(VB_TUNNEL_TABLE, body, VB_TUNNEL_CHUNK_LEN);
	(void)send(peer_fd, body, sizeof body, 0);
	for (int i = 0; i < 5; i++)
		both_turn();
	vb_subnet_count(fabric, SWITCH_A);
	assert_true(tunnel->wrong > 50);
	assert_int_equal(link_of(SWITCH_A, 3)->counters.rcv_errors, errors + tunnel->wrong);
	assert_true(tunnel->end.cnt[VB_TUNNEL_MALFORMED] > 0);
	assert_int_equal(link_of(SWITCH_A, 3)->state, VB_LINK_INIT);
	assert_true(fabric->live->net.pool.used <= 16);
}

/* A tunnel that goes says so; the port is free for a cable of another one. */
static void tunnels__say_that_they_go(void **state)
{
	(void)state;
	link_await(VB_LINK_INIT);
	both_turn();
	peer_hear();
	assert_true(peer.theirs.polls);
	assert_int_equal(vb_subnet_tunnel_shut(fabric, place(SWITCH_A, 3), why, sizeof why), 0);
	peer_hear();
	assert_false(peer.theirs.polls);
	assert_null(vb_subnet_tunnel_at(fabric, place(SWITCH_A, 3)));
	assert_int_equal(vb_subnet_tunnel_shut(fabric, place(SWITCH_A, 3), why, sizeof why),
			 -ENOENT);
	fabric_turn();
	assert_int_equal(
	    vb_subnet_tunnel_open(fabric, place(SWITCH_A, 3), local, remote, why, sizeof why), 0);
}

static void addresses__have_a_form(void **state)
{
	static const char *const good[] = {"1.2.3.4:5", "[::1]:65535", "[fe80::1%lo]:7"};
	static const char *const bad[] = {"",
					  ":",
					  "1.2.3.4",
					  "1.2.3.4:",
					  "1.2.3.4:0",
					  "1.2.3.4:65536",
					  "1.2.3.4:1x",
					  "1.2.3:4:5",
					  "::1:5",
					  "[::1]",
					  "[::1]5",
					  "[]:5",
					  "[1.2.3.4]:5",
					  "host:5",
					  "1.2.3.4:-1",
					  "1.2.3.4: 1",
					  "[::1:5"};
	char longest[200];
	struct sockaddr_storage a;
	socklen_t len;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(vb_tunnel_address(&a, &len, good[i], why, sizeof why), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (vb_tunnel_address(&a, &len, bad[i], why, sizeof why) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
	memset(longest, '1', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	longest[100] = ':';
	assert_int_equal(vb_tunnel_address(&a, &len, longest, why, sizeof why), -EINVAL);
}

/* The tunnels that a MAD has passed, as its datagram says; -1: there is none. */
static int mad_hops(void)
{
	uint8_t bytes[VB_TUNNEL_MAX];
	struct vb_tunnel_hdr h;
	uint32_t events;
	int hops = -1;
	ssize_t n;

	while ((n = recv(peer_fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
		events = 0;
		if (vb_tunnel_receive(&peer, bytes, (uint32_t)n, &h, &events) == VB_TUNNEL_COUNTS &&
		    h.kind == VB_TUNNEL_MAD)
			hops = h.hops;
	}
	return hops;
}

/* LNK-29: a MAD ends after 64 tunnels, so that one in a loop of several fabrics does. */
static void mads__pass_so_many_tunnels(void **state)
{
	struct vb_subnet_mad m = {.on_qp0 = true, .slid = 1, .dlid = 2};

	(void)state;
	link_await(VB_LINK_INIT);
	for (int hops = 0; hops < 64; hops++) {
		m.hops = (uint8_t)hops;
		vb_subnet_tunnel_leave(fabric, place(SWITCH_A, 3), &m);
		assert_int_equal(mad_hops(), hops + 1);
	}
	m.hops = 64;
	vb_subnet_tunnel_leave(fabric, place(SWITCH_A, 3), &m);
	assert_int_equal(mad_hops(), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(ports__follow_the_other_end),
	    TEST(links__recover_from_silence),
	    TEST(addresses__are_told),
	    TEST(routers__are_told),
	    TEST(far_ports__by_the_shortest_way),
	    TEST(mads__pass_so_many_tunnels),
	    TEST(twins__have_no_link),
	    TEST(nonsense__is_counted),
	    TEST(tunnels__say_that_they_go),
	    cmocka_unit_test(addresses__have_a_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
