/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA CM on InfiniBand: routes are PathRecords and groups MCMemberRecords of a subnet
 * administrator, which this test is; connections go by LID. CMP-03, CMP-48, FAB-51, FAB-52
 */
#include "ucma_env.h"

#define ASKED_MAX 16
#define MLID 0xc005
#define RATE 16
#define LIFETIME 14

static struct ucma_net net;
static struct vb_ucma_file *client, *server;

/* The questions to the administrator, and how it answers. */
static struct {
	struct vb_sa_msg msg[ASKED_MAX];
	struct vb_path path[ASKED_MAX];
	uint32_t cnt;
	bool is_silent;
	uint16_t status;
	uint8_t hop_limit;
	struct vb_gid mgid; /* of a group that it chooses */
} sa;

static void path_answer(struct vb_sa_path *p)
{
	p->slid = (uint16_t)(p->sgid.b[15] * 16 + 1);
	p->dlid = (uint16_t)(p->dgid.b[15] * 16);
	p->sl = 2;
	p->mtu = 4;
	p->rate = RATE;
	p->lifetime = LIFETIME;
	p->hop_limit = sa.hop_limit;
}

static void group_answer(struct vb_sa_mcmember *m)
{
	static const struct vb_gid none;

	if (vb_gid_eq(&m->mgid, &none))
		m->mgid = sa.mgid;
	m->mlid = MLID;
	m->rate = 3;
	m->sl = 1;
	m->flow_label = 0x54321;
	m->traffic_class = 9;
}

static void sa_ask(struct ucma_net *n, struct ucma_host *from, const struct vb_path *path,
		   const uint8_t mad[VB_MAD_LEN])
{
	uint8_t answer[VB_MAD_LEN];
	struct vb_sa_msg m;

	assert_int_equal(vb_sa_parse(&m, mad), 0);
	assert_uint_in_range(sa.cnt, 0, ASKED_MAX - 1);
	sa.path[sa.cnt] = *path;
	sa.msg[sa.cnt++] = m;
	if (sa.is_silent)
		return;
	/* A Set is answered as a Get is. IBA 15.2.2 */
	m.method = m.method == VB_SA_METHOD_DELETE ? VB_SA_METHOD_DELETE | VB_MAD_METHOD_RESPONSE
						   : VB_MAD_METHOD_GET_RESP;
	m.status = sa.status;
	if (m.attr_id == VB_SA_PATH_RECORD)
		path_answer(&m.path);
	else
		group_answer(&m.member);
	vb_sa_emit(&m, answer);
	assert_true(vb_ucma_has_asked(from->u, answer));
	assert_false(vb_ucma_has_asked(from->u, mad));
	vb_ucma_handle_mad(from->u, &(struct vb_path){.port = 2}, answer, n->now);
}

static int setup(void **state)
{
	(void)state;
	memset(&net, 0, sizeof net);
	memset(&sa, 0, sizeof sa);
	net.ask = sa_ask;
	ucma_hosts_open(&net);
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

static uint32_t addressed_id(uint16_t ps, uint8_t qp_type)
{
	uint32_t id = ucma_id(&net, client, 1, ps, qp_type);
	struct vb_ucma_addr to = ucma_addr(2, true, UCMA_PORT);

	assert_int_equal(ucma_resolve(&net, client, id, &to), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
	return id;
}

static struct vb_ucma_qp_attr qp_attr(struct vb_ucma_file *f, uint32_t id, uint32_t state)
{
	struct vb_ucma_init_qp_attr b = {.id = id, .qp_state = state};
	struct vb_ucma_qp_attr a = {0};

	assert_int_equal(UCMA_ASK(&net, f, VB_UCMA_INIT_QP_ATTR, b, a), 0);
	return a;
}

/* FAB-51: which components the question has, where it goes, and what of the answer is used. */
static void route__is_a_path_record(void **state)
{
	uint32_t id = addressed_id(VB_UCMA_PS_TCP, 2);
	struct vb_ucma_query q = {.id = id, .option = VB_UCMA_QUERY_PATH};
	struct vb_ucma_path_reply r = {0};
	struct vb_gid from = ucma_ib_gid(1), to = ucma_ib_gid(2);
	struct vb_sa_path p;

	(void)state;
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	assert_int_equal(sa.cnt, 1);
	assert_int_equal(sa.path[0].dlid, UCMA_SM_LID);
	assert_int_equal(sa.path[0].slid, 16);
	assert_int_equal(sa.path[0].sl, 3);
	assert_int_equal(sa.path[0].port, 2);
	assert_int_equal(sa.msg[0].method, VB_MAD_METHOD_GET);
	assert_int_equal(sa.msg[0].attr_id, 0x35);
	/* Service ID, DGID, SGID, reversible, one path, P_Key, QoS class. */
	assert_int_equal(sa.msg[0].mask,
			 0x3 | 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14);
	assert_memory_equal(&sa.msg[0].path.sgid, &from, sizeof from);
	assert_memory_equal(&sa.msg[0].path.dgid, &to, sizeof to);
	assert_int_equal(sa.msg[0].path.pkey, 0xffff); /* the first partition, as a full member */
	assert_int_equal(sa.msg[0].path.service_id, 0x1060000 + UCMA_PORT);
	assert_int_equal(sa.msg[0].path.reversible, 1);
	assert_int_equal(sa.msg[0].path.numb_path, 1);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_QUERY, q, r), 0);
	assert_int_equal(r.num_paths, 1);
	vb_sa_path_parse(&p, r.path.record);
	assert_int_equal(p.dlid, 32);
	assert_int_equal(p.slid, 17);
	assert_int_equal(p.sl, 2);
	assert_int_equal(p.mtu, 4);
	assert_int_equal(p.rate, RATE);
	assert_int_equal(p.lifetime, LIFETIME);
}

/* FAB-51: no record, and no answer, are errors of the route; then it may be asked for again. */
static void route__errors(void **state)
{
	uint32_t id = addressed_id(VB_UCMA_PS_TCP, 2);

	(void)state;
	sa.status = 0x0300; /* ERR_NO_RECORDS */
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_ROUTE_ERROR).status, -EINVAL);
	sa.is_silent = true;
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	/* While it is asked for, the id is in no state for anything else. */
	assert_int_equal(ucma_resolve_route(&net, client, id), -EINVAL);
	assert_int_equal(ucma_connect(&net, client, id, 5, ""), -EINVAL);
	ucma_advance(&net, 1999 * VB_MSEC);
	ucma_no_event(&net, client);
	ucma_advance(&net, VB_MSEC);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_ROUTE_ERROR).status, -ETIMEDOUT);
	sa.is_silent = false;
	sa.status = 0;
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	/* An id that goes before the answer comes is not told of it. */
	sa.is_silent = true;
	id = addressed_id(VB_UCMA_PS_TCP, 2);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_destroy(&net, client, id);
	ucma_advance(&net, 3 * VB_SEC);
	ucma_no_event(&net, client);
}

static uint32_t connected_pair(uint32_t *id)
{
	uint32_t accepted;

	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	*id = addressed_id(VB_UCMA_PS_TCP, 2);
	assert_int_equal(ucma_resolve_route(&net, client, *id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(ucma_connect(&net, client, *id, 0x111, "hello"), 0);
	accepted = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	return accepted;
}

/* CMP-03: the REQ names LIDs where the path stays in the subnet; both QPs go by them, without GRH.
 */
static void connection__goes_by_lid(void **state)
{
	uint32_t id, accepted = connected_pair(&id);
	struct vb_ucma_qp_attr a, b;

	(void)state;
	assert_int_equal(net.last.attr, VB_CM_REQ);
	assert_int_equal(net.last.req.primary.local_lid, 17);
	assert_int_equal(net.last.req.primary.remote_lid, 32);
	assert_int_equal(net.last.req.primary.subnet_local, 1);
	assert_int_equal(net.last.req.primary.rate, RATE);
	assert_int_equal(net.last.req.mtu, 4);
	assert_int_equal(net.last.req.pkey, 0xffff);
	assert_int_equal(ucma_accept(&net, server, accepted, 0x200, 0x222, ""), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	a = qp_attr(client, id, 2);
	b = qp_attr(server, accepted, 2);
	assert_int_equal(a.ah.dlid, 32);
	assert_int_equal(a.ah.src_path_bits, 1);
	assert_int_equal(a.ah.sl, 2);
	assert_int_equal(a.ah.is_global, 0);
	assert_int_equal(a.ah.port_num, 2);
	assert_int_equal(a.ah.static_rate, RATE);
	assert_int_equal(b.ah.dlid, 17);
	assert_int_equal(b.ah.src_path_bits, 0);
	assert_int_equal(b.ah.sl, 2);
	assert_int_equal(b.ah.is_global, 0);
	assert_int_equal(b.path_mtu, 4);
	assert_int_equal(ucma_ready(&net, client, id), 0);
	(void)ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(ucma_disconnect(&net, client, id), 0);
	(void)ucma_event(&net, server, VB_UCMA_EV_DISCONNECTED);
}

/* CMP-03: a path that leaves the subnet has a GRH, and its REQ no LIDs. */
static void connection__through_a_router(void **state)
{
	uint32_t id, accepted;

	(void)state;
	sa.hop_limit = 64;
	accepted = connected_pair(&id);
	assert_int_equal(net.last.attr, VB_CM_REQ);
	assert_int_equal(net.last.req.primary.local_lid, 0xffff);
	assert_int_equal(net.last.req.primary.remote_lid, 0xffff);
	assert_int_equal(net.last.req.primary.subnet_local, 0);
	assert_int_equal(qp_attr(server, accepted, 2).ah.is_global, 1);
	assert_int_equal(qp_attr(server, accepted, 2).ah.hop_limit, 64);
}

/* A message from another LID than the peer's is not the peer's. */
static void stranger__by_another_lid(void **state)
{
	uint32_t id, accepted = connected_pair(&id);
	struct vb_path from = {.slid = 48, .dlid = 17, .port = 2};
	struct vb_cm_msg rej = {.attr = VB_CM_REJ, .tid = net.last.tid};
	uint8_t mad[VB_MAD_LEN];

	(void)state;
	(void)accepted;
	rej.remote_id = net.last.local_id;
	rej.rej.reason = VB_CM_REJ_CONSUMER;
	vb_cm_msg_emit(&rej, mad);
	vb_ucma_handle_mad(net.host[0].u, &from, mad, net.now);
	ucma_no_event(&net, client);
	from.slid = 32;
	vb_ucma_handle_mad(net.host[0].u, &from, mad, net.now);
	(void)ucma_event(&net, client, VB_UCMA_EV_REJECTED);
}

/* CMP-25: datagrams without a GRH: requests of two peers with one ID are two. */
static void service__of_datagrams(void **state)
{
	struct vb_ucma_event_reply e;
	uint32_t id, accepted;

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_UDP, 4, true);
	id = addressed_id(VB_UCMA_PS_UDP, 4);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(ucma_connect(&net, client, id, 0x111, ""), 0);
	accepted = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	assert_int_equal(qp_attr(server, accepted, 1).port_num, 2);
	assert_int_equal(ucma_accept(&net, server, accepted, 0x200, 0x222, ""), 0);
	e = ucma_event(&net, client, VB_UCMA_EV_ESTABLISHED);
	assert_int_equal(e.ud.qp_num, 0x222);
	assert_int_equal(e.ud.ah.dlid, 32);
	assert_int_equal(e.ud.ah.is_global, 0);
}

static void sidr__senders_by_lid(void **state)
{
	struct vb_cm_msg m = {.attr = VB_CM_SIDR_REQ,
			      .tid = 77,
			      .local_id = 5,
			      .sidr_req = {.pkey = 0xffff, .service_id = 0x1110000 + UCMA_PORT}};
	struct vb_ucma_addr src = ucma_addr(1, true, 99), dst = ucma_addr(2, true, 0);
	uint8_t mad[VB_MAD_LEN];

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_UDP, 4, true);
	m.private_data[1] = 0x40;
	memcpy(m.private_data + 16, src.gid.b + 12, 4);
	memcpy(m.private_data + 32, dst.gid.b + 12, 4);
	vb_cm_msg_emit(&m, mad);
	for (uint16_t lid = 16; lid <= 17; lid++)
		vb_ucma_handle_mad(net.host[1].u,
				   &(struct vb_path){.slid = lid, .dlid = 32, .port = 2}, mad,
				   net.now);
	(void)ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	(void)ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	ucma_no_event(&net, server);
}

static uint32_t group_join(uint32_t id, const struct vb_ucma_addr *a, uint16_t flags)
{
	struct vb_ucma_join_mcast b = {.uid = 0x700,
				       .id = id,
				       .addr_size = a->family == VB_UCMA_AF_INET ? 16 : 28,
				       .join_flags = flags};
	struct vb_ucma_number_reply r = {0};

	ucma_sockaddr(a, b.addr);
	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_JOIN_MCAST, b, r), 0);
	return r.n;
}

static void group_leave(uint32_t number)
{
	struct vb_ucma_destroy_id b = {.id = number};
	struct vb_ucma_number_reply r = {0};

	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_LEAVE_MCAST, b, r), 0);
}

static struct vb_ucma_addr ipv4_group(void)
{
	return (struct vb_ucma_addr){.family = VB_UCMA_AF_INET,
				     .gid = {{[10] = 0xff, 0xff, 239, 1, 2, 3}}};
}

/* CMP-48, FAB-52: the broadcast group says what groups are like, then the port joins. */
static void group__is_joined_at_the_administrator(void **state)
{
	static const struct vb_gid broadcast = {
	    {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0xff, 0xff, 0xff, 0xff}};
	static const struct vb_gid mgid = {
	    {0xff, 0x12, 0x40, 0x01, 0xff, 0xff, [12] = 0x0f, 1, 2, 3}};
	struct vb_gid own = ucma_ib_gid(1);
	struct vb_ucma_addr a = ipv4_group();
	uint32_t id = addressed_id(VB_UCMA_PS_UDP, 4), mc = group_join(id, &a, 0);
	struct vb_ucma_event_reply e = ucma_event(&net, client, VB_UCMA_EV_MULTICAST_JOIN);

	(void)state;
	assert_int_equal(sa.cnt, 2);
	assert_int_equal(sa.msg[0].method, VB_MAD_METHOD_GET);
	assert_int_equal(sa.msg[0].attr_id, 0x38);
	assert_int_equal(sa.msg[0].mask, 1);
	assert_memory_equal(&sa.msg[0].member.mgid, &broadcast, sizeof broadcast);
	assert_int_equal(sa.msg[1].method, VB_MAD_METHOD_SET);
	assert_int_equal(sa.msg[1].mask,
			 0x1 | 0x2 | 0x4 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16);
	assert_memory_equal(&sa.msg[1].member.mgid, &mgid, sizeof mgid);
	assert_memory_equal(&sa.msg[1].member.port_gid, &own, sizeof own);
	assert_int_equal(sa.msg[1].member.join_state, 1);
	assert_int_equal(sa.msg[1].member.qkey, 0x01234567);
	assert_int_equal(sa.msg[1].member.pkey, 0xffff);
	assert_int_equal(sa.msg[1].member.sl, 1); /* as the broadcast group's */
	assert_int_equal(e.uid, 0x700);
	assert_int_equal(e.id, mc);
	assert_int_equal(e.ud.qp_num, 0xffffff);
	assert_int_equal(e.ud.ah.dlid, MLID);
	assert_int_equal(e.ud.ah.is_global, 1);
	assert_int_equal(e.ud.ah.sl, 1);
	assert_int_equal(e.ud.ah.static_rate, 3);
	assert_memory_equal(e.ud.ah.dgid, &mgid, sizeof mgid);
	/* The last member of the port leaves, and no other one. */
	uint32_t second = group_join(id, &a, 0);

	(void)ucma_event(&net, client, VB_UCMA_EV_MULTICAST_JOIN);
	sa.cnt = 0;
	group_leave(mc);
	assert_int_equal(sa.cnt, 0);
	group_leave(second);
	assert_int_equal(sa.cnt, 1);
	assert_int_equal(sa.msg[0].method, 0x15);
	assert_int_equal(sa.msg[0].mask, 0x1 | 0x2 | 1 << 16);
	assert_int_equal(sa.msg[0].member.join_state, 1);
}

/* CMP-48: which MGID an address of IPv6 has, one that the administrator chose, and none. */
static void group__gids(void **state)
{
	static const struct {
		struct vb_gid address, mgid;
	} rows[] = {
	    {{{0xff, 0x0e, [6] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	     {{0xff, 0x12, 0x60, 0x01, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
	    {{{0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80, [15] = 7}},
	     {{0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80, [15] = 7}}},
	    {{{0}}, {{0xff, 0x12, 0xa0, 0x1b, [15] = 9}}},
	};
	uint32_t id = addressed_id(VB_UCMA_PS_UDP, 4);

	(void)state;
	sa.mgid = rows[2].mgid;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vb_ucma_addr a = {.family = VB_UCMA_AF_INET6, .gid = rows[i].address};
		struct vb_ucma_event_reply e;

		(void)group_join(id, &a, 1);
		e = ucma_event(&net, client, VB_UCMA_EV_MULTICAST_JOIN);
		assert_memory_equal(e.ud.ah.dgid, &rows[i].mgid, 16);
		assert_int_equal(sa.msg[sa.cnt - 1].member.join_state, 8);
	}
}

/* CMP-49: a group that is refused, or of which nobody speaks, is an event with a status. */
static void group__errors(void **state)
{
	uint32_t id = addressed_id(VB_UCMA_PS_UDP, 4);
	struct vb_ucma_addr a = ipv4_group();

	(void)state;
	sa.status = 0x0200; /* ERR_REQ_INVALID */
	(void)group_join(id, &a, 0);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_MULTICAST_ERROR).status, -EINVAL);
	sa.is_silent = true;
	sa.cnt = 0;
	(void)group_join(id, &a, 0);
	ucma_advance(&net, 3 * VB_SEC);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_MULTICAST_ERROR).status, -ETIMEDOUT);
	/* Nothing was joined, and nothing is left. */
	sa.cnt = 0;
	(void)ucma_destroy(&net, client, id);
	assert_int_equal(sa.cnt, 0);
}

/* CMP-50: an address of AF_IB says its partition; the QP takes its index, a full member's first. */
static void partition__of_af_ib(void **state)
{
	struct vb_ucma_resolve_addr b = {
	    .timeout_ms = 2000, .dst_size = VB_UCMA_SOCKADDR_IB, .src_size = VB_UCMA_SOCKADDR_IB};
	const uint16_t family = VB_UCMA_AF_IB;
	struct vb_gid from = ucma_ib_gid(1), to = ucma_ib_gid(2);
	uint32_t id = ucma_id(&net, client, 1, VB_UCMA_PS_TCP, 2);

	(void)state;
	b.id = id;
	memcpy(b.src, &family, 2);
	memcpy(b.dst, &family, 2);
	b.src[2] = b.dst[2] = UCMA_PKEY >> 8;
	b.src[3] = b.dst[3] = UCMA_PKEY & 0xff;
	memcpy(b.src + 8, &from, 16);
	memcpy(b.dst + 8, &to, 16);
	b.src[29] = b.dst[29] = 0x06; /* service ID 0x0000000001060000 */
	b.src[28] = b.dst[28] = 0x01;
	memset(b.src + 32, 0xff, 6);
	memset(b.dst + 32, 0xff, 8);
	b.dst[31] = 9;
	assert_int_equal(UCMA_CALL(&net, client, VB_UCMA_RESOLVE_ADDR, b), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	assert_int_equal(sa.msg[0].path.pkey, UCMA_PKEY);
	assert_int_equal(sa.msg[0].path.service_id, 0x1060009);
	/* Traffic class in place of QoS class. */
	assert_int_equal(sa.msg[0].mask & (1 << 10 | 1 << 14), 1 << 10);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(qp_attr(client, id, 1).pkey_index, 2);
}

enum { MASK_ALT_PATH = 1 << 14, MASK_PATH_MIG_STATE = 1 << 18 };

/* A REQ of host 1, as of another connection manager there, with an alternate path. Its message @m
 * and the id at the server. */
static uint32_t request_with_alternate(struct vb_cm_msg *m, const struct vb_path *from)
{
	uint32_t id;
	uint8_t mad[VB_MAD_LEN];

	(void)connected_pair(&id);
	*m = net.last;
	m->local_id ^= 0x5555;
	m->req.qpn = 0x999;
	m->req.alternate = m->req.primary;
	m->req.alternate.local_lid = 16;
	m->req.alternate.remote_lid = 33;
	m->req.alternate.sl = 4;
	m->req.alternate.rate = 2;
	m->req.alternate.ack_timeout = 19;
	vb_cm_msg_emit(m, mad);
	vb_ucma_handle_mad(net.host[1].u, from, mad, net.now);
	return ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
}

/* CMP-26, IBT-37: the QP of a request with an alternate path gets it, and is armed; the connection
 * manager follows it when the program says that it has migrated. A LAP is answered. */
static void connection__with_an_alternate_path(void **state)
{
	const struct vb_path from = {.slid = 17, .dlid = 32, .port = 2};
	struct vb_cm_msg m, rtu = {.attr = VB_CM_RTU}, lap = {.attr = VB_CM_LAP};
	struct vb_ucma_notify migrated = {.event = 6}; /* IBV_EVENT_PATH_MIG */
	struct vb_ucma_qp_attr a;
	uint8_t mad[VB_MAD_LEN];
	uint32_t id;

	(void)state;
	id = migrated.id = request_with_alternate(&m, &from);
	a = qp_attr(server, id, 2);
	assert_true(a.mask & MASK_ALT_PATH && !(a.mask & MASK_PATH_MIG_STATE));
	assert_int_equal(a.alt_ah.dlid, 16);
	assert_int_equal(a.alt_ah.src_path_bits, 1);
	assert_int_equal(a.alt_ah.sl, 4);
	assert_int_equal(a.alt_ah.static_rate, 2);
	assert_int_equal(a.alt_ah.is_global, 0);
	assert_true(a.alt_port_num == 2 && a.alt_ah.port_num == 2);
	assert_int_equal(a.alt_timeout, 19);
	assert_int_equal(a.alt_pkey_index, a.pkey_index);
	assert_int_equal(a.ah.dlid, 17);
	a = qp_attr(server, id, 3);
	assert_true(a.mask & MASK_PATH_MIG_STATE && !(a.mask & MASK_ALT_PATH));
	assert_int_equal(a.path_mig_state, 1);
	/* Nothing to follow yet. */
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_NOTIFY, migrated), -EINVAL);
	net.lose = 1u << (VB_CM_REP - VB_CM_ATTR_FIRST);
	assert_int_equal(ucma_accept(&net, server, id, 0x200, 0x222, ""), 0);
	rtu.tid = m.tid;
	rtu.local_id = lap.local_id = m.local_id;
	rtu.remote_id = lap.remote_id = net.last.local_id;
	vb_cm_msg_emit(&rtu, mad);
	vb_ucma_handle_mad(net.host[1].u, &from, mad, net.now);
	(void)ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
	lap.lap.remote_qpn = 0x222;
	lap.lap.alternate = m.req.alternate;
	lap.lap.alternate.remote_lid = 32;
	net.lose = 1u << (VB_CM_APR - VB_CM_ATTR_FIRST);
	vb_cm_msg_emit(&lap, mad);
	vb_ucma_handle_mad(net.host[1].u, &from, mad, net.now);
	ucma_settle(&net);
	assert_int_equal(net.last.attr, VB_CM_APR);
	assert_int_equal(net.last.apr.status, VB_CM_APR_UNSUPPORTED);
	ucma_no_event(&net, server);
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_NOTIFY, migrated), 0);
	/* Its old path is what it may be armed with next. */
	a = qp_attr(server, id, 3);
	assert_int_equal(a.mask, MASK_ALT_PATH | MASK_PATH_MIG_STATE);
	assert_int_equal(a.alt_ah.dlid, 17);
	net.lose = 1u << (VB_CM_DREQ - VB_CM_ATTR_FIRST);
	assert_int_equal(ucma_disconnect(&net, server, id), 0);
	assert_int_equal(net.last.attr, VB_CM_DREQ);
	assert_int_equal(net.last_path.dlid, 16);
	assert_int_equal(net.last_path.slid, 33);
}

/* One that begins at no port of the device is not the QP's. */
static void connection__with_a_foreign_path(void **state)
{
	const struct vb_path from = {.slid = 17, .dlid = 32, .port = 2};
	struct vb_cm_msg m;
	uint8_t mad[VB_MAD_LEN];
	uint32_t id;

	(void)state;
	(void)request_with_alternate(&m, &from);
	m.local_id ^= 0x3333;
	m.req.qpn = 0x888;
	m.req.alternate.remote_lid = 50;
	vb_cm_msg_emit(&m, mad);
	vb_ucma_handle_mad(net.host[1].u, &from, mad, net.now);
	id = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	assert_false(qp_attr(server, id, 2).mask & MASK_ALT_PATH);
	assert_false(qp_attr(server, id, 3).mask & MASK_PATH_MIG_STATE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(route__is_a_path_record),
	    TEST(route__errors),
	    TEST(connection__goes_by_lid),
	    TEST(connection__through_a_router),
	    TEST(connection__with_an_alternate_path),
	    TEST(connection__with_a_foreign_path),
	    TEST(stranger__by_another_lid),
	    TEST(service__of_datagrams),
	    TEST(sidr__senders_by_lid),
	    TEST(group__is_joined_at_the_administrator),
	    TEST(group__gids),
	    TEST(group__errors),
	    TEST(partition__of_af_ib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
