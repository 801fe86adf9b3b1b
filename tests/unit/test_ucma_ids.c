/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids of /dev/infiniband/rdma_cm: port spaces and binding, states, options, lengths of commands and
 * replies, and requests whose addresses cannot be right. CMP-29, 30, 31, 32, 33, 37 to 40, 51
 */
#include "ucma_env.h"

static struct ucma_net net;
static struct vb_ucma_file *f;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	f = ucma_file(&net.host[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

static uint32_t tcp_id(void)
{
	return ucma_id(&net, f, 1, VB_UCMA_PS_TCP, 2);
}

static int bind_to(uint32_t id, uint8_t host, bool ipv4, uint16_t port)
{
	struct vb_ucma_addr a = ucma_addr(host, ipv4, port);

	if (!host)
		a.gid = (struct vb_gid){{[10] = ipv4 ? 0xff : 0, [11] = ipv4 ? 0xff : 0}};
	return ucma_bind(&net, f, id, &a);
}

static int option(uint32_t id, uint32_t level, uint32_t name, const void *value, uint32_t len)
{
	struct vb_ucma_set_option b = {.id = id, .level = level, .optname = name, .optlen = len};
	struct vb_ucma_hdr h = {VB_UCMA_SET_OPTION, sizeof b, 0};
	uint8_t bytes[sizeof h + sizeof b], got[VB_UCMA_REPLY_MAX];
	struct vb_ucma_command c = {
	    .bytes = bytes, .len = sizeof bytes, .extra = value, .extra_len = len};
	uint32_t got_len;
	int rc;

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &b, sizeof b);
	rc = vb_ucma_command(f, &c, got, &got_len, net.now);
	return rc < 0 ? rc : 0;
}

/* Where a query says that the id is bound. */
static struct vb_ucma_addr_reply query_addr(uint32_t id)
{
	struct vb_ucma_query q = {.id = id, .option = VB_UCMA_QUERY_ADDR};
	struct vb_ucma_addr_reply r;

	assert_int_equal(UCMA_ASK(&net, f, VB_UCMA_QUERY, q, r), 0);
	return r;
}

static uint16_t bound_port(uint32_t id)
{
	struct vb_ucma_addr_reply r = query_addr(id);

	return (uint16_t)(r.src[2] << 8 | r.src[3]);
}

/* CMP-29: TCP is RC, UDP and IPoIB are UD, IB is what the program says; others are not known. */
static void port_space__says_the_type(void **state)
{
	struct vb_ucma_create_id b = {.ps = 0x0107};
	struct vb_ucma_number_reply r;
	uint32_t a = tcp_id(), u = ucma_id(&net, f, 1, VB_UCMA_PS_UDP, 0);

	(void)state;
	assert_int_equal(UCMA_ASK(&net, f, VB_UCMA_CREATE_ID, b, r), -EINVAL);
	/* One port of two spaces is no conflict, and a service ID of its own. */
	assert_int_equal(bind_to(a, 1, true, 7000), 0);
	assert_int_equal(bind_to(u, 1, true, 7000), 0);
	assert_int_equal(ucma_listen(&net, f, a, 1), 0);
	assert_int_equal(ucma_listen(&net, f, u, 1), 0);
}

/* CMP-38 */
static void bind__errors(void **state)
{
	uint32_t a = tcp_id(), b = tcp_id(), c = tcp_id();
	struct vb_ucma_bind other = {.id = c, .addr_size = 16, .addr = {1}};

	(void)state;
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_BIND, other), -EAFNOSUPPORT);
	other.addr_size = 129;
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_BIND, other), -EINVAL);
	assert_int_equal(bind_to(c, 9, true, 0), -EADDRNOTAVAIL);
	assert_int_equal(bind_to(c, 1, true, 1023), -EACCES);
	net.host[0].may_bind_low = true;
	assert_int_equal(bind_to(c, 1, true, 1023), 0);
	assert_int_equal(bind_to(c, 1, true, 7000), -EINVAL); /* CMP-37: it is bound */
	assert_int_equal(bind_to(a, 1, true, 7000), 0);
	assert_int_equal(bind_to(b, 1, true, 7000), -EADDRINUSE);
	assert_int_equal(bind_to(b, 0, true, 7000), -EADDRNOTAVAIL);
	assert_int_equal(bind_to(b, 1, false, 7000), 0); /* another address */
	ucma_destroy(&net, f, a);
	assert_int_equal(bind_to(tcp_id(), 1, true, 7000), 0);
}

/* A port that another user of the host has cannot be bound, and is not given; an id that only
 * connects tells nobody of its own. CMP-38, CMP-39 */
static void port__of_another_user(void **state)
{
	struct ucma_host *h = &net.host[0];
	uint32_t a = tcp_id(), active = tcp_id(), id[12];
	struct vb_ucma_addr to = ucma_addr(2, true, 7000);

	(void)state;
	h->others_end = 32800;
	assert_int_equal(bind_to(a, 1, true, 7000), -EADDRINUSE);
	assert_int_equal(h->claims, 0);
	assert_int_equal(bind_to(a, 1, true, 40000), 0);
	assert_int_equal(ucma_listen(&net, f, a, 1), 0);
	assert_int_equal(h->claims, 1); /* once */
	for (int i = 0; i < 12; i++) {
		id[i] = tcp_id();
		assert_int_equal(bind_to(id[i], 1, true, 0), 0);
		assert_uint_in_range(bound_port(id[i]), 32800, UINT16_MAX);
	}
	assert_int_equal(h->claims, 13);
	assert_int_equal(ucma_resolve(&net, f, active, &to), 0);
	assert_int_equal(h->claims, 13);
	for (int i = 0; i < 12; i++)
		ucma_destroy(&net, f, id[i]);
	assert_int_equal(h->claims, 1);
	h->claims = 0; /* whoever was told has forgotten */
	vb_ucma_claim_again(h->u);
	assert_int_equal(h->claims, 1);
	ucma_destroy(&net, f, a);
	assert_int_equal(h->claims, 0);
}

/* CMP-38: both want it so, and neither listens. CMP-40 */
static void reuse__until_one_listens(void **state)
{
	uint32_t a = tcp_id(), b = tcp_id();
	int on = 1;

	(void)state;
	assert_int_equal(option(a, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_REUSEADDR, &on, sizeof on), 0);
	assert_int_equal(bind_to(a, 1, true, 7000), 0);
	assert_int_equal(bind_to(b, 1, true, 7000), -EADDRINUSE);
	assert_int_equal(option(b, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_REUSEADDR, &on, sizeof on), 0);
	assert_int_equal(bind_to(b, 1, true, 7000), 0);
	assert_int_equal(ucma_listen(&net, f, a, 1), -EADDRINUSE);
	ucma_destroy(&net, f, b);
	assert_int_equal(ucma_listen(&net, f, a, 1), 0);
}

/* CMP-39: ports are given from the range, to nobody twice while all want the same. */
static void port__is_given(void **state)
{
	uint64_t seen = 0;

	(void)state;
	for (int i = 0; i < 64; i++) {
		uint32_t id = tcp_id();

		assert_int_equal(bind_to(id, 0, true, 0), 0);
		uint16_t port = bound_port(id);

		assert_uint_in_range(port, 32768, 32768 + 63);
		assert_int_equal(seen >> (port - 32768) & 1, 0);
		seen |= UINT64_C(1) << (port - 32768);
	}
	assert_int_equal(bind_to(tcp_id(), 0, true, 0), -EADDRNOTAVAIL);
}

/* CMP-39: the port that was given last comes again when there is no other, and not before. */
static void port__given_last_is_the_last_choice(void **state)
{
	uint32_t last = 0;

	(void)state;
	for (int i = 0; i < 64; i++) {
		uint32_t id = tcp_id();

		assert_int_equal(bind_to(id, 0, true, 0), 0);
		if (i == 63)
			last = id;
	}
	uint16_t port = bound_port(last);

	ucma_destroy(&net, f, last);
	last = tcp_id();
	assert_int_equal(bind_to(last, 0, true, 0), 0);
	assert_int_equal(bound_port(last), port);
	for (int i = 0; i < 200; i++) {
		uint32_t id;

		if (i == 0)
			ucma_destroy(&net, f, 0); /* a second free one */
		ucma_destroy(&net, f, last);
		id = tcp_id();
		assert_int_equal(bind_to(id, 0, true, 0), 0);
		assert_int_not_equal(bound_port(id), port);
		port = bound_port(id);
		last = id;
	}
}

/* CMP-37, CMP-33: a command in a state that is not its own, and ids that are not there. */
static void state__each_command_has_its_own(void **state)
{
	uint32_t id = tcp_id();
	struct vb_ucma_addr to = ucma_addr(2, true, UCMA_PORT);
	struct vb_ucma_addr nowhere = ucma_addr(2, true, UCMA_PORT);
	struct vb_ucma_resolve_route no_time = {id, 0};
	struct vb_ucma_disconnect d = {id};

	(void)state;
	assert_int_equal(ucma_resolve_route(&net, f, id), -EINVAL);
	assert_int_equal(ucma_connect(&net, f, id, 1, ""), -EINVAL);
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_DISCONNECT, d), -EINVAL);
	nowhere.gid.b[12] = 192;
	assert_int_equal(ucma_resolve(&net, f, id, &nowhere), -ENETUNREACH);
	nowhere.gid.b[12] = 172;
	assert_int_equal(ucma_resolve(&net, f, id, &nowhere), 0);
	assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_ADDR_ERROR).status, -ENODEV);
	assert_int_equal(ucma_resolve(&net, f, id, &to), 0);
	(void)ucma_event(&net, f, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(ucma_resolve(&net, f, id, &to), -EINVAL);
	assert_int_equal(ucma_listen(&net, f, id, 1), -EINVAL);
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_RESOLVE_ROUTE, no_time), -EINVAL);
	assert_int_equal(ucma_resolve_route(&net, f, id), 0);
	(void)ucma_event(&net, f, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_DISCONNECT, d), -EINVAL);
	d.id = id + 1;
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_DISCONNECT, d), -ENOENT);
	d.id = UINT32_MAX;
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_DISCONNECT, d), -ENOENT);
	/* An id of another file. */
	struct vb_ucma_file *other = ucma_file(&net.host[0]);

	d.id = id;
	assert_int_equal(UCMA_CALL(&net, other, VB_UCMA_DISCONNECT, d), -EINVAL);
}

/* CMP-31, CMP-32: lengths that lie, and those of older libraries. */
static void command__lengths(void **state)
{
	uint32_t id = tcp_id();
	struct vb_ucma_query q = {.id = id};
	struct vb_ucma_connect c = {.id = id};
	struct vb_ucma_get_event g = {0};
	uint8_t reply[VB_UCMA_REPLY_MAX];
	struct vb_ucma_hdr h = {VB_UCMA_LISTEN, 9, 0};
	struct vb_ucma_command raw = {.bytes = &h, .len = sizeof h};
	uint32_t len;

	(void)state;
	assert_int_equal(vb_ucma_command(f, &raw, reply, &len, net.now), -EINVAL);
	raw.len = 7;
	assert_int_equal(vb_ucma_command(f, &raw, reply, &len, net.now), -EINVAL);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_CMD_CNT, &q, sizeof q, NULL, 0), -EINVAL);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_GET_OPTION, &q, sizeof q, NULL, 0), -ENOSYS);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY_ROUTE, &q, sizeof q, reply, 199),
			 -ENOSPC);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY_ROUTE, &q, sizeof q, reply, 200), 0);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY_ROUTE, &q, 15, reply, 208), -EINVAL);
	q.option = VB_UCMA_QUERY_ADDR;
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 271), -ENOSPC);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 272), 0);
	q.option = VB_UCMA_QUERY_GID;
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 271), -ENOSPC);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 272), 0);
	q.option = VB_UCMA_QUERY_PATH;
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 7), -ENOSPC);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_QUERY, &q, sizeof q, reply, 8), 0);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_GET_EVENT, &g, sizeof g, reply, 323), -ENOSPC);
	assert_int_equal(ucma_write(&net, f, VB_UCMA_GET_EVENT, &g, sizeof g, reply, 324), -EAGAIN);
	/* Without ECE the body is right, and the state is not. */
	c.param.valid = 1;
	assert_int_equal(ucma_write(&net, f, VB_UCMA_CONNECT, &c, 279, NULL, 0), -EINVAL);
	id = ucma_routed(&net, f, 1, VB_UCMA_PS_TCP, 2, true);
	c.id = id;
	assert_int_equal(ucma_write(&net, f, VB_UCMA_CONNECT, &c, 280, NULL, 0), 0);
}

/* CMP-40 */
static void option__each(void **state)
{
	uint32_t id = tcp_id(), ud = ucma_id(&net, f, 1, VB_UCMA_PS_UDP, 4);
	uint8_t tos = 0x68, timeout = 12, big = 32;
	int on = 1;

	(void)state;
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_TOS, &on, sizeof on), -EINVAL);
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_TOS, &tos, 1), 0);
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_ACK_TIMEOUT, &big, 1), -EINVAL);
	assert_int_equal(option(ud, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_ACK_TIMEOUT, &timeout, 1),
			 -EINVAL);
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_ACK_TIMEOUT, &timeout, 1), 0);
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_AFONLY, &on, sizeof on), 0);
	assert_int_equal(option(id, VB_UCMA_LEVEL_ID, 77, &on, sizeof on), -ENOSYS);
	assert_int_equal(option(id, 2, 0, &on, sizeof on), -ENOSYS);
	/* The type of service is the traffic class, its top the SL; the timeout says how long
	 * packets live. CMP-43 */
	struct vb_ucma_addr to = ucma_addr(2, true, UCMA_PORT);

	net.lose = 1; /* the REQ, attribute VB_CM_ATTR_FIRST */
	assert_int_equal(ucma_resolve(&net, f, id, &to), 0);
	assert_int_equal(ucma_resolve_route(&net, f, id), 0);
	assert_int_equal(ucma_connect(&net, f, id, 0x41, ""), 0);
	assert_int_equal(net.last_path.traffic_class, 0x68);
	assert_int_equal(net.last.req.primary.sl, 3);
	assert_int_equal(net.last.req.primary.ack_timeout, 15); /* CMP-10: twice 2^11 beside 2^15 */
}

/* CMP-40: IPv4 and IPv6 share a port where both want one family alone. */
static void af_only__shares_the_port(void **state)
{
	uint32_t v4 = tcp_id(), v6 = tcp_id();
	int on = 1;

	(void)state;
	assert_int_equal(bind_to(v4, 0, true, 7000), 0);
	assert_int_equal(bind_to(v6, 0, false, 7000), -EADDRNOTAVAIL);
	assert_int_equal(option(v4, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_AFONLY, &on, sizeof on), 0);
	assert_int_equal(option(v6, VB_UCMA_LEVEL_ID, VB_UCMA_OPT_AFONLY, &on, sizeof on), 0);
	assert_int_equal(bind_to(v6, 0, false, 7000), 0);
}

/* CMP-17, CMP-30, CMP-28: nobody connects from or to such addresses; the answer is REJ 28, whoever
 * listens.
 */
static void request__with_wrong_addresses(void **state)
{
	static const struct {
		uint8_t at, value;
	} wrong[] = {
	    {0, 1},    /* a version that is not known */
	    {1, 0x50}, /* neither IPv4 nor IPv6 */
	    {16, 224}, /* from a group */
	    {32, 255}, /* to everybody */
	    {35, 9},   /* to an address that nobody listens at */
	};
	struct vb_ucma_file *server = ucma_file(&net.host[1]);

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		uint32_t id = ucma_routed(&net, f, 1, VB_UCMA_PS_TCP, 2, true);
		uint8_t mad[VB_MAD_LEN];
		struct vb_path path;

		net.lose = 1; /* the REQ, attribute VB_CM_ATTR_FIRST */
		assert_int_equal(ucma_connect(&net, f, id, 0x41 + (uint32_t)i, ""), 0);
		net.lose = 0;
		net.last.private_data[wrong[i].at] = wrong[i].value;
		path = net.last_path;
		vb_cm_msg_emit(&net.last, mad);
		vb_ucma_handle_mad(net.host[1].u, &path, mad, net.now);
		ucma_settle(&net);
		assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_REJECTED).status,
				 VB_CM_REJ_CONSUMER);
		assert_int_equal(vb_ucma_file_events(server), 0);
		ucma_destroy(&net, f, id);
	}
}

/* CMP-51: a device that goes tells each of its ids once, which then can be destroyed only. */
static void device__is_removed(void **state)
{
	uint32_t id = ucma_routed(&net, f, 5, VB_UCMA_PS_TCP, 2, true), unbound = tcp_id();

	(void)state;
	vb_ucma_device_removed(net.host[0].u, 2);
	ucma_no_event(&net, f);
	vb_ucma_device_removed(net.host[0].u, 1);
	vb_ucma_device_removed(net.host[0].u, 1);
	assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_DEVICE_REMOVAL).uid, 5);
	ucma_no_event(&net, f);
	assert_int_equal(ucma_connect(&net, f, id, 1, ""), -EINVAL);
	assert_int_equal(ucma_destroy(&net, f, id), 3);
	assert_int_equal(bind_to(unbound, 1, true, 7000), 0);
}

/* CMP-51: another MAC address is told to the ids of the device, which go on. */
static void device__has_another_address(void **state)
{
	uint32_t id = ucma_routed(&net, f, 5, VB_UCMA_PS_TCP, 2, true);

	(void)state;
	(void)tcp_id();
	vb_ucma_device_changed(net.host[0].u, 2);
	ucma_no_event(&net, f);
	vb_ucma_device_changed(net.host[0].u, 1);
	assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_ADDR_CHANGE).uid, 5);
	ucma_no_event(&net, f);
	assert_int_equal(ucma_connect(&net, f, id, 1, ""), 0);
}

/* CMP-51: a listener whose device has gone is asked no more. */
static void device__of_a_listener_is_removed(void **state)
{
	struct vb_ucma_file *server = ucma_file(&net.host[1]);
	uint32_t gone = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true), id;

	(void)state;
	vb_ucma_device_removed(net.host[1].u, 1);
	assert_int_equal(ucma_event(&net, server, VB_UCMA_EV_DEVICE_REMOVAL).id, gone);
	id = ucma_routed(&net, f, 1, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_connect(&net, f, id, 0x41, ""), 0);
	assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_REJECTED).status, VB_CM_REJ_CONSUMER);
	ucma_no_event(&net, server);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(port_space__says_the_type),
	    T(bind__errors),
	    T(port__of_another_user),
	    T(reuse__until_one_listens),
	    T(port__is_given),
	    T(port__given_last_is_the_last_choice),
	    T(state__each_command_has_its_own),
	    T(command__lengths),
	    T(option__each),
	    T(af_only__shares_the_port),
	    T(request__with_wrong_addresses),
	    T(device__is_removed),
	    T(device__has_another_address),
	    T(device__of_a_listener_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
