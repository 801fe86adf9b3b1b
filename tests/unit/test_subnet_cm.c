/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and routes of the ports of a fabric, as the connection manager of a node asks for them.
 * FAB-56, CMP-50 */
#include "subnet_process_env.h"

#include "node/cm/call.h"
#include "ucma/abi.h"
#include "wire/mad/cm.h"

#include <sys/mman.h>

static struct vb_subnet_cm *cm;
static struct vb_ucma_env env;
static struct vb_ucma_local local;

static int node_begin(void **state)
{
	(void)fabric_begin(state);
	cm = vb_subnet_cm_at(fabric, HOST_B);
	assert_non_null(cm);
	env = vb_subnet_cm_env(cm);
	memset(&local, 0, sizeof local);
	return 0;
}

static struct vb_ucma_addr ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct vb_ucma_addr){.family = VB_UCMA_AF_INET,
				     .gid = {{[10] = 0xff, [11] = 0xff, a, b, c, d}}};
}

static struct vb_ucma_addr by_gid(uint32_t node, uint8_t port, uint32_t index)
{
	struct vb_ucma_addr a = {.family = VB_UCMA_AF_IB};

	vb_sma_gid(vb_subnet_sma_port(&fabric->subnet, place(node, port)), index, a.gid.b);
	return a;
}

static int local_of(struct vb_ucma_addr a)
{
	return env.local(env.ctx, &a, &local);
}

/* An adapter's ports have addresses, in topology order; a node has its own ports' only. */
static void addresses__are_of_ports(void **state)
{
	(void)state;
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_A, 1)), 0x0a000001);
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_A, 2)), 0x0a000002);
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_B, 2)), 0x0a000004);
	assert_int_equal(vb_subnet_address_of(fabric, place(SWITCH_A, 1)), 0);
	info_of(HOST_B, 2)->neighbor_mtu = 3;
	assert_int_equal(local_of(ipv4(10, 0, 0, 4)), 0);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local.gid_index, 0);
	assert_int_equal(local.mtu, 3);
	assert_true(local.node_guid == topo.node[HOST_B].node_guid);
	assert_memory_equal(local.gid.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	assert_int_equal(local_of(ipv4(10, 0, 0, 3)), 0);
	assert_int_equal(local.hca_port, 1);
	assert_int_equal(local_of(ipv4(10, 0, 0, 1)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 0, 0, 0)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 0, 0, 5)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 1, 0, 4)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(11, 0, 0, 4)), -EADDRNOTAVAIL);
}

/* A GID is found at its index; an index without a GUID has none. */
static void addresses__are_gids_too(void **state)
{
	struct vb_sma_port *p = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	struct vb_ucma_addr none = by_gid(HOST_B, 2, 2);

	(void)state;
	assert_int_equal(local_of(none), -EADDRNOTAVAIL);
	assert_false(vb_subnet_cm_gid_is_local(cm, &none.gid));
	p->guid[2] = 0xabcd;
	assert_int_equal(local_of(by_gid(HOST_B, 2, 2)), 0);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local.gid_index, 2);
	assert_memory_equal(local.gid.b, by_gid(HOST_B, 2, 2).gid.b, 16);
	struct vb_ucma_addr a = by_gid(HOST_B, 2, 2);

	assert_true(vb_subnet_cm_gid_is_local(cm, &a.gid));
	assert_int_equal(local_of(by_gid(HOST_A, 1, 0)), -EADDRNOTAVAIL);
}

/* A route without a source begins at the first port that carries data, or at the first. */
static void routes__begin_at_a_port_that_carries_data(void **state)
{
	struct vb_ucma_addr src = {.family = 0}, dst = ipv4(10, 0, 0, 1);

	(void)state;
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_memory_equal(src.gid.b, ipv4(10, 0, 0, 3).gid.b, 16);
	fabric_configure();
	src.family = 0;
	src.port = 9;
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_int_equal(src.family, VB_UCMA_AF_INET);
	assert_memory_equal(src.gid.b, ipv4(10, 0, 0, 4).gid.b, 16);
	assert_int_equal(src.port, 9);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local_of(ipv4(127, 0, 0, 1)), 0);
	assert_int_equal(local.hca_port, 2);
	src = (struct vb_ucma_addr){.family = 0};
	dst = by_gid(HOST_A, 1, 0);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_int_equal(src.family, VB_UCMA_AF_IB);
	assert_memory_equal(src.gid.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	/* A source that is not local, and a target that is nowhere. */
	src = ipv4(10, 0, 0, 1);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), -ENODEV);
	src.family = 0;
	dst = ipv4(10, 0, 0, 5);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), -ENETUNREACH);
}

/* The GID behind an address. */
static void routes__find_the_gid_of_an_address(void **state)
{
	struct vb_ucma_addr group = ipv4(239, 1, 2, 3), a = ipv4(10, 0, 0, 1),
			    loop = ipv4(127, 0, 0, 1), far = ipv4(10, 0, 1, 0),
			    ib = by_gid(HOST_A, 2, 0);
	struct vb_gid g;

	(void)state;
	fabric_configure();
	assert_int_equal(env.ib_gid(env.ctx, &a, &g), 0);
	assert_memory_equal(g.b, by_gid(HOST_A, 1, 0).gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &loop, &g), 0);
	assert_memory_equal(g.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &ib, &g), 0);
	assert_memory_equal(g.b, ib.gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &group, &g), 0);
	assert_memory_equal(g.b, group.gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &far, &g), -ENETUNREACH);
}

/* A port as its manager has set it. */
static void ports__are_as_the_manager_set_them(void **state)
{
	struct vb_ucma_ib_port port;

	(void)state;
	fabric_configure();
	info_of(HOST_B, 2)->lmc = 2;
	info_of(HOST_B, 2)->sm_sl = 6;
	assert_int_equal(env.ib_port(env.ctx, 2, &port), 0);
	assert_int_equal(port.lid, LID(HOST_B));
	assert_int_equal(port.sm_lid, LID(HOST_A));
	assert_int_equal(port.lmc, 2);
	assert_int_equal(port.sm_sl, 6);
	assert_int_equal(port.pkey_cnt, VB_SUBNET_PKEYS);
	assert_ptr_equal(port.pkey, vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->pkey);
	assert_int_equal(port.local.hca_port, 2);
	assert_int_equal(env.ib_port(env.ctx, 0, &port), -ENODEV);
	assert_int_equal(env.ib_port(env.ctx, 3, &port), -ENODEV);
}

static struct vb_ucma_file *file; /* of the one channel of HOST_B */

static int command(uint32_t cmd, const void *body, uint16_t len, uint32_t *number)
{
	const struct vb_ucma_hdr h = {cmd, len, sizeof(struct vb_ucma_number_reply)};
	uint8_t bytes[VB_CM_CALL_BODY], reply[VB_UCMA_REPLY_MAX] = {0};
	struct vb_ucma_command c = {.bytes = bytes, .len = (uint32_t)sizeof h + len};
	uint32_t reply_len;
	int rc;

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, len);
	rc = vb_ucma_command(file, &c, reply, &reply_len, vb_clock_now());
	memcpy(number, reply, sizeof *number);
	return rc;
}

/* Observers get a record of each id, with its node, as it is now: an event that a program has taken
 * out of the pair, without saying so, counts as taken. */
static void connections__are_as_they_are_now(void **state)
{
	struct vb_ucma_create_id id = {.ps = VB_UCMA_PS_TCP};
	struct vb_ucma_resolve_addr to = {.timeout_ms = 1000, .dst_size = 16};
	int pair[2], text = memfd_create("records", MFD_CLOEXEC);
	struct vb_subnet_connection seen[2];
	struct vb_cm_answer event;
	uint64_t token;
	uint32_t none;

	(void)state;
	fabric_configure();
	assert_non_null(vb_subnet_cm_at(fabric, HOST_A)); /* without ids */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_channel_open(&cm->host, pair[1], &token), 0);
	file = vb_channel_find(&cm->host, token)->file;
	assert_int_equal(command(VB_UCMA_CREATE_ID, &id, sizeof id, &to.id), 8 + sizeof id);
	to.dst[0] = AF_INET;
	memcpy(to.dst + 4, (uint8_t[4]){10, 0, 0, 1}, 4);
	assert_int_equal(command(VB_UCMA_RESOLVE_ADDR, &to, sizeof to, &none), 8 + sizeof to);
	vb_cm_tell(&cm->host);
	assert_int_equal(recv(pair[0], &event, sizeof event, MSG_DONTWAIT), VB_CM_EVENT_LEN);
	assert_int_equal(vb_ucma_events_out(file), 1);
	assert_int_equal(
	    vb_subnet_command(fabric, "connections", text, fabric_why, sizeof fabric_why), 0);
	assert_int_equal(vb_ucma_events_out(file), 0);
	assert_int_equal(pread(text, seen, sizeof seen, 0), sizeof seen[0]);
	assert_string_equal(seen[0].node, "H-B");
	assert_int_equal(seen[0].view.number, to.id);
	assert_int_equal(seen[0].view.hca_port, 2);
	close(text);
	close(pair[0]);
}

/* A DREQ of a connection that nobody knows, as it arrives at HOST_B. */
static struct vb_subnet_mad stray_dreq(void)
{
	const struct vb_cm_msg msg = {
	    .tid = 7, .attr = VB_CM_DREQ, .local_id = 1, .remote_id = 2, .dreq = {.remote_qpn = 3}};
	struct vb_subnet_mad m = {.at = place(HOST_B, 2),
				  .has_grh = true,
				  .sl = 3,
				  .slid = LID(HOST_A),
				  .dlid = LID(HOST_B),
				  .src_qp = 1,
				  .dst_qp = 1,
				  .qkey = VB_MAD_QKEY,
				  .pkey = 0xffff,
				  .hop_limit = 9,
				  .traffic_class = 0x44,
				  .flow_label = 0x12345};

	vb_cm_msg_emit(&msg, m.mad);
	memcpy(m.sgid, by_gid(HOST_A, 1, 0).gid.b, sizeof m.sgid);
	memcpy(m.dgid, by_gid(HOST_B, 2, 0).gid.b, sizeof m.dgid);
	return m;
}

/* A message is answered on the way that it came by, from QP 1 to QP 1. */
static void messages__are_answered_where_they_came_from(void **state)
{
	struct vb_subnet_mad m = stray_dreq(), out;
	struct vb_cm_msg said;

	(void)state;
	fabric_configure();
	vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->pkey[0] = 0x8005;
	assert_true(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_true(vb_subnet_cm_transmit(cm, &out));
	assert_int_equal(vb_cm_msg_parse(&said, out.mad), 0);
	assert_int_equal(said.attr, VB_CM_DREP);
	assert_int_equal(said.tid, 7);
	assert_int_equal(out.at.node, HOST_B);
	assert_int_equal(out.at.port, 2);
	assert_false(out.on_qp0);
	assert_int_equal(out.src_qp, 1);
	assert_int_equal(out.dst_qp, 1);
	assert_int_equal(out.qkey, VB_MAD_QKEY);
	assert_int_equal(out.pkey, 0x8005);
	assert_int_equal(out.slid, LID(HOST_B));
	assert_int_equal(out.dlid, LID(HOST_A));
	assert_int_equal(out.sl, 3);
	assert_true(out.has_grh);
	assert_memory_equal(out.sgid, m.dgid, sizeof out.sgid);
	assert_memory_equal(out.dgid, m.sgid, sizeof out.dgid);
	assert_int_equal(out.traffic_class, 0x44);
	assert_false(vb_subnet_cm_transmit(cm, &out));
	m.has_grh = false;
	assert_true(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_true(vb_subnet_cm_transmit(cm, &out));
	assert_false(out.has_grh);
	assert_int_equal(out.dlid, LID(HOST_A));
}

/* The node takes messages of connections, whether it has programs or not, but no others, and none
 * at a switch. */
static void messages__of_connections_are_the_nodes(void **state)
{
	struct vb_subnet_mad m = stray_dreq();

	(void)state;
	m.on_qp0 = true;
	assert_false(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	m.on_qp0 = false;
	m.at = place(SWITCH_A, 0);
	assert_false(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_null(vb_subnet_cm_find(fabric, SWITCH_A));
	m.at = place(HOST_A, 1);
	m.mad[1] = 0x03; /* an unasked answer of the administrator */
	assert_false(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_null(vb_subnet_cm_find(fabric, HOST_A));
	m.mad[1] = VB_MAD_CLASS_CM;
	assert_true(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_non_null(vb_subnet_cm_find(fabric, HOST_A));
}

/* A request that comes before its listener waits a while, and is refused then. CMP-17 */
static void requests__wait_for_a_listener(void **state)
{
	const struct vb_cm_msg msg = {.tid = 9,
				      .attr = VB_CM_SIDR_REQ,
				      .local_id = 5,
				      .sidr_req = {.service_id = 0x1061d2f, .pkey = 0xffff}};
	struct vb_subnet_mad m = stray_dreq(), out;
	vb_time start = vb_clock_now(), due;
	struct vb_cm_msg said;

	(void)state;
	fabric_configure();
	vb_cm_msg_emit(&msg, m.mad);
	assert_true(vb_subnet_cm_take(fabric, &m, start));
	assert_false(vb_subnet_cm_transmit(cm, &out));
	due = vb_ucma_poll_timeout(cm->host.ucma);
	assert_true(due > start && due != VB_NEVER);
	vb_ucma_handle_timeout(cm->host.ucma, due - 1);
	assert_false(vb_subnet_cm_transmit(cm, &out));
	vb_ucma_handle_timeout(cm->host.ucma, due);
	assert_true(vb_subnet_cm_transmit(cm, &out));
	assert_int_equal(vb_cm_msg_parse(&said, out.mad), 0);
	assert_int_equal(said.attr, VB_CM_SIDR_REP);
	assert_int_equal(said.sidr_rep.status, VB_CM_SIDR_UNSUPPORTED);
	assert_int_equal(out.dlid, LID(HOST_A));
}

/* The last index of a port's GIDs counts, and the first port that has a GID. A route's source has
 * no scope of another address. */
static void addresses__are_gids_to_the_last(void **state)
{
	struct vb_sma_port *p = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 1));
	struct vb_ucma_addr src = {.family = 0, .scope = 5}, dst;

	(void)state;
	p->guid[VB_SUBNET_GUIDS - 1] = 0xfeed;
	assert_int_equal(local_of(by_gid(HOST_B, 1, VB_SUBNET_GUIDS - 1)), 0);
	assert_int_equal(local.hca_port, 1);
	assert_int_equal(local.gid_index, VB_SUBNET_GUIDS - 1);
	dst = by_gid(HOST_A, 1, 0);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_int_equal(src.scope, 0);
	assert_int_equal(local.hca_port, 1);
}

/* A channel of node @node's connection manager with one id: the program's end. */
static int channel_with_id(uint32_t node)
{
	struct vb_subnet_cm *of = vb_subnet_cm_at(fabric, node);
	struct vb_ucma_create_id id = {.ps = VB_UCMA_PS_TCP};
	uint64_t token;
	uint32_t number;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_channel_open(&of->host, pair[1], &token), 0);
	file = vb_channel_find(&of->host, token)->file;
	assert_int_equal(command(VB_UCMA_CREATE_ID, &id, sizeof id, &number), 8 + sizeof id);
	return pair[0];
}

/* Observers hear of the ids of all nodes and of all channels. */
static void connections__are_of_all_nodes(void **state)
{
	int channel[] = {channel_with_id(HOST_B), channel_with_id(HOST_B), channel_with_id(HOST_A)},
	    text = memfd_create("records", MFD_CLOEXEC), cnt[NODES] = {0};
	struct vb_subnet_connection seen[4];

	(void)state;
	assert_int_equal(
	    vb_subnet_command(fabric, "connections", text, fabric_why, sizeof fabric_why), 0);
	assert_int_equal(pread(text, seen, sizeof seen, 0), 3 * sizeof seen[0]);
	for (int i = 0; i < 3; i++) {
		cnt[HOST_A] += strcmp(seen[i].node, "H-A") == 0;
		cnt[HOST_B] += strcmp(seen[i].node, "H-B") == 0;
		close(channel[i]);
	}
	assert_int_equal(cnt[HOST_A], 1);
	assert_int_equal(cnt[HOST_B], 2);
	close(text);
	/* A record that there is no room for is an error. */
	text = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(
	    vb_subnet_command(fabric, "connections", text, fabric_why, sizeof fabric_why), -EIO);
	close(text);
}

/* Events that a channel has no room for come when there is some again: the loop hears of it. */
static void channels__have_room_again(void **state)
{
	int fd = channel_with_id(HOST_B), least = 1;
	struct vb_ucma_resolve_addr to = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_create_id id = {.ps = VB_UCMA_PS_TCP};
	struct vb_channel *ch = cm->host.channel[0];
	struct vb_cm_answer event;
	uint32_t none, ids = 0, events = 0;

	(void)state;
	fabric_configure();
	to.dst[0] = AF_INET;
	memcpy(to.dst + 4, (uint8_t[4]){10, 0, 0, 1}, 4);
	assert_int_equal(setsockopt(ch->fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	while (ids < 200 && !ch->waits_room) {
		assert_int_equal(command(VB_UCMA_CREATE_ID, &id, sizeof id, &to.id), 8 + sizeof id);
		assert_int_equal(command(VB_UCMA_RESOLVE_ADDR, &to, sizeof to, &none),
				 8 + sizeof to);
		vb_cm_tell(&cm->host);
		ids++;
	}
	assert_true(ch->waits_room);
	for (int turns = 0; turns < 200 && events < ids; turns++) {
		while (recv(fd, &event, sizeof event, MSG_DONTWAIT) == VB_CM_EVENT_LEN)
			events++;
		fabric_turn();
	}
	assert_int_equal(events, ids);
	assert_false(ch->waits_room);
	close(fd);
}

/* A message has the P_Key of the port that it asks for; a header for other subnets it has only
 * where it may go to one. */
static void messages__have_a_p_key_of_the_port(void **state)
{
	struct vb_subnet_mad m = stray_dreq(), out;

	(void)state;
	fabric_configure();
	m.hop_limit = 1;
	assert_true(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	assert_true(vb_subnet_cm_transmit(cm, &out));
	assert_int_equal(out.has_grh, out.hop_limit > 1);
	assert_int_equal(out.flow_label, 0x12345);
	assert_int_equal(out.pkey, 0xffff);
}

/* The connection of a node's program is looked at for calls of the connection manager, and leaves
 * its channels when it ends. */
static void programs__call_by_their_connection(void **state)
{
	static struct vb_cm_call c;
	static struct vb_cm_answer a;
	int sock = fabric_attach("H-B"), before;

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "me", NULL), 0);
	before = fd_cnt();
	memset(&c, 0xff, sizeof c);
	assert_int_equal(send(sock, &c, offsetof(struct vb_cm_call, body), 0),
			 offsetof(struct vb_cm_call, body));
	fabric_turn();
	/* It is none that there is, and is answered so. */
	assert_true(recv(sock, &a, sizeof a, MSG_DONTWAIT) > 0);
	assert_true(a.status < 0);
	assert_int_equal(fd_cnt(), before);
	close(sock);
	fabric_turn();
	assert_true(vb_list_is_empty(&fabric->seats));
}

#define N(f) cmocka_unit_test_setup_teardown(f, node_begin, fabric_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    N(addresses__are_of_ports),
	    N(addresses__are_gids_too),
	    N(routes__begin_at_a_port_that_carries_data),
	    N(routes__find_the_gid_of_an_address),
	    N(ports__are_as_the_manager_set_them),
	    N(connections__are_as_they_are_now),
	    N(messages__are_answered_where_they_came_from),
	    N(messages__of_connections_are_the_nodes),
	    N(requests__wait_for_a_listener),
	    N(addresses__are_gids_to_the_last),
	    N(connections__are_of_all_nodes),
	    N(channels__have_room_again),
	    N(messages__have_a_p_key_of_the_port),
	    N(programs__call_by_their_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
