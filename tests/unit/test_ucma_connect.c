/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs' conversations with /dev/infiniband/rdma_cm, command by command as librdmacm writes
 * them: connecting by RC over IPv4 and IPv6, by UD, rejecting, dying. CMP-04, 05, 18, 20, 22 to 25,
 * 28, 35, 36, 41 to 45
 */
#include "ucma_env.h"

static struct ucma_net net;
static struct vb_ucma_file *client, *server;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	client = ucma_file(&net.host[0]);
	server = ucma_file(&net.host[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

static struct vb_ucma_qp_attr qp_attr(struct vb_ucma_file *f, uint32_t id, uint32_t qp_state)
{
	struct vb_ucma_init_qp_attr b = {.id = id, .qp_state = qp_state};
	struct vb_ucma_qp_attr a = {0};

	assert_int_equal(UCMA_ASK(&net, f, VB_UCMA_INIT_QP_ATTR, b, a), 0);
	assert_int_equal(a.qp_state, qp_state);
	return a;
}

/* The ids that a connection was made of, on both sides. */
struct pair {
	uint32_t listener, active, passive;
};

static struct pair rc_requested(bool ipv4)
{
	struct pair p = {.listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, ipv4),
			 .active = ucma_routed(&net, client, 0x200, VB_UCMA_PS_TCP, 2, ipv4)};
	struct vb_ucma_event_reply ev;

	assert_int_equal(ucma_connect(&net, client, p.active, 0x41, "hello"), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	p.passive = ev.id;
	/* CMP-35: the uid is the listener's, the id is new. */
	assert_int_equal(ev.uid, 0x100);
	assert_int_not_equal(ev.id, p.listener);
	/* CMP-05: as seen from the passive side. */
	assert_int_equal(ev.conn.responder_resources, 5);
	assert_int_equal(ev.conn.initiator_depth, 3);
	assert_int_equal(ev.conn.qp_num, 0x41);
	assert_int_equal(ev.conn.retry_count, 6);
	assert_int_equal(ev.conn.rnr_retry_count, 4);
	/* CMP-45: the field's size, the rest zero. */
	assert_int_equal(ev.conn.private_data_len, 56);
	assert_memory_equal(ev.conn.private_data, "hello\0\0\0", 8);
	return p;
}

static struct pair rc_established(bool ipv4)
{
	struct pair p = rc_requested(ipv4);
	struct vb_ucma_event_reply ev;

	assert_int_equal(ucma_accept(&net, server, p.passive, 0x300, 0x42, "welcome"), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_int_equal(ev.uid, 0x200);
	assert_int_equal(ev.conn.qp_num, 0x42);
	assert_int_equal(ev.conn.responder_resources, 5);
	assert_int_equal(ev.conn.initiator_depth, 3);
	assert_int_equal(ev.conn.private_data_len, 196);
	assert_memory_equal(ev.conn.private_data, "welcome", 8);
	assert_int_equal(ucma_ready(&net, client, p.active), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(ev.uid, 0x300);
	assert_int_equal(ev.id, p.passive);
	return p;
}

/* CMP-44: the events of a connection, from its making to its end; CMP-34: their number. */
static void rc__from_connect_to_the_end(bool ipv4)
{
	struct pair p = rc_established(ipv4);

	assert_int_equal(ucma_disconnect(&net, client, p.active), 0);
	assert_int_equal(ucma_event(&net, server, VB_UCMA_EV_DISCONNECTED).status, 0);
	assert_int_equal(ucma_disconnect(&net, server, p.passive), 0);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_DISCONNECTED).status, 0);
	/* CMP-20: a second one is right, too, and tells nobody anything. */
	assert_int_equal(ucma_disconnect(&net, client, p.active), 0);
	ucma_no_event(&net, server);
	ucma_advance(&net, 10 * VB_SEC);
	(void)ucma_event(&net, client, VB_UCMA_EV_TIMEWAIT_EXIT);
	(void)ucma_event(&net, server, VB_UCMA_EV_TIMEWAIT_EXIT);
	assert_int_equal(ucma_destroy(&net, client, p.active), 5);
	assert_int_equal(ucma_destroy(&net, server, p.passive), 3);
	assert_int_equal(ucma_destroy(&net, server, p.listener), 1);
}

static void rc__over_ipv4(void **state)
{
	(void)state;
	rc__from_connect_to_the_end(true);
}

static void rc__over_ipv6(void **state)
{
	(void)state;
	rc__from_connect_to_the_end(false);
}

/* CMP-41, CMP-42: the attributes of the QP in each state, of both sides. */
static void qp_attr__of_both_sides(void **state)
{
	struct pair p = rc_requested(true);
	struct vb_ucma_qp_attr a, b;
	struct vb_ucma_init_qp_attr bad = {.id = p.active, .qp_state = 2};

	(void)state;
	/* The active side does not know the peer's QP before its REP. */
	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_INIT_QP_ATTR, bad, a), -EINVAL);
	bad.qp_state = 7;
	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_INIT_QP_ATTR, bad, a), -EINVAL);
	a = qp_attr(server, p.passive, 1);
	assert_int_equal(a.mask, 1 << 0 | 1 << 3 | 1 << 4 | 1 << 5);
	assert_int_equal(a.access, 2 | 4 | 8);
	assert_int_equal(a.port_num, 1);
	assert_int_equal(ucma_accept(&net, server, p.passive, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	a = qp_attr(client, p.active, 2);
	b = qp_attr(server, p.passive, 2);
	assert_int_equal(a.mask, 1 << 0 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20);
	assert_int_equal(b.mask, a.mask);
	assert_int_equal(a.dest_qp_num, 0x42);
	assert_int_equal(b.dest_qp_num, 0x41);
	assert_int_equal(a.path_mtu, 5);
	/* CMP-05: requests that the peer sends at once have to be taken. */
	assert_int_equal(a.max_dest_rd_atomic, 5);
	assert_int_equal(b.max_dest_rd_atomic, 3);
	assert_int_equal(a.ah.is_global, 1);
	assert_int_equal(a.ah.sgid_index, 1);
	assert_int_equal(a.ah.hop_limit, 64);
	assert_int_equal(a.ah.dgid[15], 2);
	assert_int_equal(b.ah.dgid[15], 1);
	/* CMP-04: the PSNs of both sides meet. */
	struct vb_ucma_qp_attr as = qp_attr(client, p.active, 3),
			       bs = qp_attr(server, p.passive, 3);

	assert_int_equal(as.mask, 1 << 0 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16);
	assert_int_equal(as.sq_psn, b.rq_psn);
	assert_int_equal(bs.sq_psn, a.rq_psn);
	assert_int_equal(as.retry_cnt, 6);
	assert_int_equal(as.max_rd_atomic, 3);
	assert_int_equal(bs.max_rd_atomic, 5);
	assert_int_equal(as.timeout, 17); /* CMP-10 with a lifetime of 16 */
}

/* UC, by the port space that leaves the type to the program: the REQ says so, and QPs of it have no
 * attributes of reads, retries and timers. CMP-41 */
static void uc__by_the_space_of_any_type(void **state)
{
	const uint8_t uc = 3;
	uint32_t listener = ucma_listener(&net, server, VB_UCMA_PS_IB, uc, true),
		 active = ucma_routed(&net, client, 0x200, VB_UCMA_PS_IB, uc, true), passive;
	struct vb_ucma_event_reply ev;

	(void)state;
	assert_int_equal(ucma_connect(&net, client, active, 0x41, "hello"), 0);
	assert_int_equal(net.last.req.transport, VB_CM_TRANSPORT_UC);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	passive = ev.id;
	assert_int_equal(ev.conn.qp_num, 0x41);
	assert_int_equal(ucma_accept(&net, server, passive, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	for (int i = 0; i < 2; i++) {
		struct vb_ucma_qp_attr rtr = i ? qp_attr(client, active, 2)
					       : qp_attr(server, passive, 2),
				       rts = i ? qp_attr(client, active, 3)
					       : qp_attr(server, passive, 3);

		assert_int_equal(rtr.mask, 1 << 0 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 20);
		assert_int_equal(rtr.dest_qp_num, i ? 0x42 : 0x41);
		assert_int_equal(rts.mask, 1 << 0 | 1 << 16);
	}
	assert_int_equal(ucma_ready(&net, client, active), 0);
	(void)ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	(void)ucma_destroy(&net, client, active);
	(void)ucma_event(&net, server, VB_UCMA_EV_DISCONNECTED);
	(void)ucma_destroy(&net, server, passive);
	(void)ucma_destroy(&net, server, listener);
}

/* CMP-28: the bytes in front of the private data. CMP-43: the path. */
static void req__ip_header_and_path(void **state)
{
	uint32_t id = ucma_routed(&net, client, 1, VB_UCMA_PS_TCP, 2, true);
	const uint8_t *d = net.last.private_data;

	(void)state;
	assert_int_equal(ucma_connect(&net, client, id, 0x41, "x"), 0);
	assert_int_equal(net.sent[0], VB_CM_REQ);
	/* Nobody listens: the answer is a REJ 8. CMP-17 */
	assert_int_equal(net.last.attr, VB_CM_REJ);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_REJECTED).status, 8);
	net.lose = 1; /* the bit of VB_CM_REQ, which is VB_CM_ATTR_FIRST */
	id = ucma_routed(&net, client, 1, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_connect(&net, client, id, 0x41, "x"), 0);
	assert_int_equal(net.last.attr, VB_CM_REQ);
	assert_int_equal(net.last.req.service_id, 0x01060000 + UCMA_PORT);
	assert_int_equal(net.last.req.ca_guid, 0x0011223344550001u);
	assert_int_equal(d[0], 0);
	assert_int_equal(d[1], 0x40);
	uint16_t port = (uint16_t)(d[2] << 8 | d[3]);

	assert_uint_in_range(port, 32768, 32768 + 63);
	assert_memory_equal(d + 4, ((uint8_t[16]){[12] = 10, 0, 0, 1}), 16);
	assert_memory_equal(d + 20, ((uint8_t[16]){[12] = 10, 0, 0, 2}), 16);
	assert_int_equal(d[36], 'x');
	assert_int_equal(net.last_path.flow_label, (port * 31u + UCMA_PORT) & 0xfffff);
	assert_int_equal(net.last_path.hop_limit, 64);
	/* CMP-09: UNREACHABLE when nobody ever answers. */
	ucma_advance(&net, 200 * VB_SEC);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_UNREACHABLE).status, -110);
}

/* CMP-24, CMP-25: a UD client learns the QP of a service. */
static void ud__by_sidr(void **state)
{
	uint32_t listener = ucma_listener(&net, server, VB_UCMA_PS_UDP, 4, true);
	uint32_t id = ucma_routed(&net, client, 0x200, VB_UCMA_PS_UDP, 4, true);
	struct vb_ucma_event_reply ev;
	struct vb_ucma_qp_attr a = qp_attr(client, id, 1);

	(void)state;
	assert_int_equal(a.mask, 1 << 0 | 1 << 4 | 1 << 5 | 1 << 6);
	assert_int_equal(a.qkey, 0x01234567);
	assert_int_equal(ucma_connect(&net, client, id, 0x41, "who"), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	assert_int_equal(ev.ud.private_data_len, 180);
	assert_memory_equal(ev.ud.private_data, "who", 4);
	assert_int_equal(ucma_accept(&net, server, ev.id, 0x300, 0x42, "me"), 0);
	ucma_no_event(&net, server);
	assert_int_equal(ucma_destroy(&net, server, ev.id), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(ev.ud.qp_num, 0x42);
	assert_int_equal(ev.ud.qkey, 0x01234567);
	assert_int_equal(ev.ud.ah.dgid[15], 2);
	assert_int_equal(ev.ud.ah.is_global, 1);
	assert_int_equal(ev.ud.private_data_len, 136);
	assert_memory_equal(ev.ud.private_data, "me", 3);
	assert_int_equal(ucma_destroy(&net, server, listener), 1);
	/* Nobody listens any more. */
	id = ucma_routed(&net, client, 0x201, VB_UCMA_PS_UDP, 4, true);
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_UNREACHABLE);
	assert_int_equal(ev.status, VB_CM_SIDR_UNSUPPORTED);
}

/* CMP-27: each side has the other's, of an old library as of one that sets none; by REQ, REP and
 * SIDR_REP. */
static void ece__in_events(void **state)
{
	const struct vb_ucma_ece of_client = {0x15b3c9, 0x10203040},
				 of_server = {0xa1b2c3, 0x50607080};
	struct pair p = {.listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true),
			 .active = ucma_routed(&net, client, 0x200, VB_UCMA_PS_TCP, 2, true)};
	struct vb_ucma_connect c = {
	    .id = p.active, .param = ucma_param(0x41, ""), .ece = of_client};
	struct vb_ucma_accept a = {.uid = 0x300, .param = ucma_param(0x42, ""), .ece = of_server};
	struct vb_ucma_event_reply ev;

	(void)state;
	assert_int_equal(UCMA_CALL(&net, client, VB_UCMA_CONNECT, c), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	assert_memory_equal(&ev.ece, &of_client, sizeof of_client);
	a.id = ev.id;
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_ACCEPT, a), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_memory_equal(&ev.ece, &of_server, sizeof of_server);
	assert_int_equal(ucma_ready(&net, client, p.active), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(ev.ece.vendor_id, 0);

	/* Commands of a library that knows of no ECE end before it. */
	c.id = ucma_routed(&net, client, 0x201, VB_UCMA_PS_TCP, 2, true);
	c.param.qp_num = 0x43;
	assert_int_equal(ucma_write(&net, client, VB_UCMA_CONNECT, &c,
				    offsetof(struct vb_ucma_connect, ece), NULL, 0),
			 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	assert_int_equal(ev.ece.vendor_id | ev.ece.attr_mod, 0);
	a.id = ev.id;
	a.param.qp_num = 0x44;
	assert_int_equal(ucma_write(&net, server, VB_UCMA_ACCEPT, &a,
				    offsetof(struct vb_ucma_accept, ece), NULL, 0),
			 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_int_equal(ev.ece.vendor_id | ev.ece.attr_mod, 0);

	(void)ucma_listener(&net, server, VB_UCMA_PS_UDP, 4, true);
	p.active = ucma_routed(&net, client, 0x202, VB_UCMA_PS_UDP, 4, true);
	assert_int_equal(ucma_connect(&net, client, p.active, 0x45, ""), 0);
	a.id = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_ACCEPT, a), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_ESTABLISHED);
	assert_memory_equal(&ev.ece, &of_server, sizeof of_server);
}

static void reject__with_reason_and_data(void **state)
{
	struct pair p = rc_requested(true);
	struct vb_ucma_reject b = {.id = p.passive, .private_data_len = 3, .reason = 7};
	struct vb_ucma_event_reply ev;

	(void)state;
	memcpy(b.private_data, "no!", 3);
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_REJECT, b), -EINVAL);
	b.reason = 0;
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_REJECT, b), 0);
	ev = ucma_event(&net, client, VB_UCMA_EV_REJECTED);
	assert_int_equal(ev.status, VB_CM_REJ_CONSUMER);
	assert_int_equal(ev.conn.private_data_len, 148);
	assert_memory_equal(ev.conn.private_data, "no!", 4);
	/* CMP-35: an id whose request is over cannot be accepted. */
	assert_int_equal(ucma_accept(&net, server, p.passive, 0x300, 0x42, ""), -EINVAL);
}

/* CMP-22, CMP-23: a program that dies tells its peers at once, whatever state they are in. */
static void close__tells_the_peers(void **state)
{
	struct pair p = rc_established(true);
	uint32_t second = ucma_routed(&net, client, 0x201, VB_UCMA_PS_TCP, 2, true);

	(void)state;
	(void)p;
	assert_int_equal(ucma_connect(&net, client, second, 0x43, ""), 0);
	vb_ucma_file_close(server, net.now);
	ucma_settle(&net);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_REJECTED).status, VB_CM_REJ_CONSUMER);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_DISCONNECTED).uid, 0x200);
	assert_int_equal(vb_ucma_id_cnt(net.host[1].u), 0);
	/* Its port is free at once. */
	server = ucma_file(&net.host[1]);
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
}

/* CMP-36: one request more than the backlog is as lost, and its repetition finds room. */
static void backlog__is_given_back(void **state)
{
	uint32_t id[4], listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);

	(void)state;
	(void)listener;
	for (uint32_t i = 0; i < 4; i++) {
		id[i] = ucma_routed(&net, client, 0x200 + i, VB_UCMA_PS_TCP, 2, true);
		assert_int_equal(ucma_connect(&net, client, id[i], 0x41 + i, ""), 0);
	}
	assert_int_equal(vb_ucma_file_events(server), 3);
	ucma_no_event(&net, client);
	(void)ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	ucma_advance(&net, 5 * VB_SEC);
	assert_int_equal(vb_ucma_file_events(server), 3);
	for (int i = 0; i < 3; i++)
		(void)ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	ucma_no_event(&net, server);
}

/* CMP-34: unread requests of a listener that is destroyed are refused. */
static void destroy__refuses_unread_requests(void **state)
{
	uint32_t listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	uint32_t id = ucma_routed(&net, client, 0x200, VB_UCMA_PS_TCP, 2, true);

	(void)state;
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	assert_int_equal(vb_ucma_file_events(server), 1);
	assert_int_equal(ucma_destroy(&net, server, listener), 0);
	ucma_no_event(&net, server);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_REJECTED).status, VB_CM_REJ_CONSUMER);
	assert_int_equal(vb_ucma_id_cnt(net.host[1].u), 0);
}

/* CMP-46: an id goes to another file with its unread events. */
static void migrate__moves_unread_events(void **state)
{
	struct pair p = rc_established(true);
	struct vb_ucma_file *other = ucma_file(&net.host[1]);
	struct vb_ucma_migrate_id b = {.id = p.passive, .fd = 9};
	struct vb_ucma_hdr h = {VB_UCMA_MIGRATE_ID, sizeof b, 4};
	uint8_t bytes[sizeof h + sizeof b], got[VB_UCMA_REPLY_MAX];
	struct vb_ucma_command c = {.bytes = bytes, .len = sizeof bytes};
	uint32_t len, reported;

	(void)state;
	assert_int_equal(ucma_disconnect(&net, client, p.active), 0);
	assert_int_equal(vb_ucma_file_events(server), 1);
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &b, sizeof b);
	assert_int_equal(vb_ucma_command(other, &c, got, &len, net.now), -EINVAL);
	c.other = server;
	assert_int_equal(vb_ucma_command(other, &c, got, &len, net.now), sizeof bytes);
	memcpy(&reported, got, sizeof reported);
	assert_int_equal(len, sizeof reported);
	assert_int_equal(reported, 1);
	assert_int_equal(vb_ucma_file_events(server), 0);
	assert_int_equal(ucma_event(&net, other, VB_UCMA_EV_DISCONNECTED).id, p.passive);
	assert_int_equal(ucma_destroy(&net, other, p.passive), 2);
	struct vb_ucma_disconnect d = {p.passive};

	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_DISCONNECT, d), -ENOENT);
}

/* CMP-18: a program that has heard from its peer need not wait for the RTU. */
static void notify__comm_est(void **state)
{
	struct pair p = rc_requested(true);
	struct vb_ucma_notify b = {.id = p.passive, .event = 4};

	(void)state;
	net.lose = 1u << (VB_CM_RTU - VB_CM_ATTR_FIRST);
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_NOTIFY, b), -EINVAL);
	assert_int_equal(ucma_accept(&net, server, p.passive, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_int_equal(ucma_ready(&net, client, p.active), 0);
	ucma_no_event(&net, server);
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_NOTIFY, b), 0);
	(void)ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_NOTIFY, b), -EISCONN);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(rc__over_ipv4),
	    T(rc__over_ipv6),
	    T(qp_attr__of_both_sides),
	    T(uc__by_the_space_of_any_type),
	    T(req__ip_header_and_path),
	    T(ud__by_sidr),
	    T(ece__in_events),
	    T(reject__with_reason_and_data),
	    T(close__tells_the_peers),
	    T(backlog__is_given_back),
	    T(destroy__refuses_unread_requests),
	    T(migrate__moves_unread_events),
	    T(notify__comm_est),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
