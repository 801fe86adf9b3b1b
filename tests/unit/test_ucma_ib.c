/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of the family AF_IB: struct sockaddr_ib by its bytes, service IDs and port spaces,
 * connections between GIDs without an IP header, listeners of both kinds. CMP-50
 */
#include "ucma_env.h"

#define SID_TCP 0x1060000u
#define SID_UDP 0x1110000u
#define SID_IB 0x13f0000u
#define SPACE_MASK UINT64_C(0xffffffffffff0000)

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

static void put_be(uint8_t *to, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

/* The bytes of a struct sockaddr_ib; @host 0: no GID. */
static void ib_sockaddr(uint8_t *b, uint8_t host, uint64_t sid, uint64_t mask)
{
	struct vb_ucma_addr a = ucma_addr(host, true, 0);
	const uint16_t family = VB_UCMA_AF_IB;

	memset(b, 0, VB_UCMA_SOCKADDR_IB);
	memcpy(b, &family, sizeof family);
	put_be(b + 2, 0x8001, 2);
	put_be(b + 4, 0x12345, 4);
	if (host)
		memcpy(b + 8, a.gid.b, 16);
	put_be(b + 24, sid, 8);
	put_be(b + 32, mask, 8);
}

static int ib_bind(struct vb_ucma_file *f, uint32_t id, uint8_t host, uint64_t sid, uint64_t mask)
{
	struct vb_ucma_bind b = {.id = id, .addr_size = VB_UCMA_SOCKADDR_IB};

	ib_sockaddr(b.addr, host, sid, mask);
	return UCMA_CALL(&net, f, VB_UCMA_BIND, b);
}

static int ib_resolve(uint32_t id, uint8_t host, uint64_t sid)
{
	struct vb_ucma_resolve_addr b = {
	    .id = id, .timeout_ms = 2000, .dst_size = VB_UCMA_SOCKADDR_IB};

	ib_sockaddr(b.dst, host, sid, UINT64_MAX);
	return UCMA_CALL(&net, client, VB_UCMA_RESOLVE_ADDR, b);
}

static struct vb_ucma_addr_reply addr_of(struct vb_ucma_file *f, uint32_t id, uint32_t option)
{
	struct vb_ucma_query q = {.id = id, .option = option};
	struct vb_ucma_addr_reply r = {0};

	assert_int_equal(UCMA_ASK(&net, f, VB_UCMA_QUERY, q, r), 0);
	return r;
}

static uint64_t sid_in(const uint8_t *b)
{
	uint64_t v = 0;

	for (int i = 24; i < 32; i++)
		v = v << 8 | b[i];
	return v;
}

/* The first question of librdmacm: whether the newer commands are there. */
static void probe__of_librdmacm(void **state)
{
	uint32_t id = ucma_id(&net, client, 1, VB_UCMA_PS_IB, 2);
	struct vb_ucma_addr_reply r;

	(void)state;
	assert_int_equal(ib_bind(client, id, 0, SID_TCP, SPACE_MASK), 0);
	r = addr_of(client, id, VB_UCMA_QUERY_ADDR);
	assert_int_equal(r.src_size, VB_UCMA_SOCKADDR_IB);
	assert_int_equal(sid_in(r.src) & SPACE_MASK, SID_TCP);
	assert_uint_in_range(sid_in(r.src) & 0xffff, 32768, 32768 + 63);
}

/* The port space of the service ID must be one that goes with the id's. */
static void space__of_the_service_id(void **state)
{
	static const struct {
		uint16_t ps;
		uint64_t sid, mask;
		int rc;
		uint64_t space;
	} rows[] = {
	    {VB_UCMA_PS_IB, SID_TCP, SPACE_MASK, 0, SID_TCP},
	    {VB_UCMA_PS_IB, SID_UDP, SPACE_MASK, 0, SID_UDP},
	    {VB_UCMA_PS_IB, SID_IB, SPACE_MASK, 0, SID_IB},
	    {VB_UCMA_PS_TCP, SID_TCP, SPACE_MASK, 0, SID_TCP},
	    {VB_UCMA_PS_TCP, SID_UDP, SPACE_MASK, -EPROTONOSUPPORT, 0},
	    {VB_UCMA_PS_UDP, SID_UDP, SPACE_MASK, 0, SID_UDP},
	    {VB_UCMA_PS_UDP, SID_IB, SPACE_MASK, -EPROTONOSUPPORT, 0},
	    {VB_UCMA_PS_TCP, SID_IB, SPACE_MASK, -EPROTONOSUPPORT, 0},
	    {VB_UCMA_PS_IB, 0x2220000, SPACE_MASK, -EPROTONOSUPPORT, 0},
	    /* A mask that leaves it open: the id's own. */
	    {VB_UCMA_PS_IB, SID_TCP, 0, 0, SID_IB},
	    {VB_UCMA_PS_TCP, 0, 0, 0, SID_TCP},
	    {VB_UCMA_PS_UDP, 0, 0, 0, SID_UDP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t id = ucma_id(&net, client, 1, rows[i].ps, 2);

		assert_int_equal(ib_bind(client, id, 1, rows[i].sid, rows[i].mask), rows[i].rc);
		if (!rows[i].rc) {
			struct vb_ucma_addr_reply r = addr_of(client, id, VB_UCMA_QUERY_ADDR);

			assert_int_equal(sid_in(r.src) & SPACE_MASK, rows[i].space);
		}
		ucma_destroy(&net, client, id);
	}
}

static void bind__errors(void **state)
{
	uint32_t a = ucma_id(&net, client, 1, VB_UCMA_PS_IB, 2);
	uint32_t b = ucma_id(&net, client, 2, VB_UCMA_PS_TCP, 2);
	struct vb_ucma_bind shorter = {.id = a, .addr_size = VB_UCMA_SOCKADDR_IB - 1};
	struct vb_ucma_addr ip = ucma_addr(1, true, 7000);

	(void)state;
	ib_sockaddr(shorter.addr, 1, SID_TCP, SPACE_MASK);
	assert_int_equal(UCMA_CALL(&net, client, VB_UCMA_BIND, shorter), -EINVAL);
	/* A GID that is not one of this host's. */
	assert_int_equal(ib_bind(client, a, 9, SID_TCP, SPACE_MASK), -ENODEV);
	/* One table of ports for both families: the space is that of the service ID. */
	assert_int_equal(ib_bind(client, a, 1, SID_TCP | 7000, UINT64_MAX), 0);
	assert_int_equal(ucma_bind(&net, client, b, &ip), -EADDRINUSE);
	ip.port = 7001;
	assert_int_equal(ucma_bind(&net, client, b, &ip), 0);
	/* A destination of another family. */
	assert_int_equal(ib_resolve(b, 2, SID_TCP | 1), -EINVAL);
}

/* Both ends by GIDs: no IP header, so the program has all of the private data. */
static void connect__between_gids(void **state)
{
	uint32_t listener = ucma_id(&net, server, 0x100, VB_UCMA_PS_IB, 2);
	uint32_t id = ucma_id(&net, client, 0x200, VB_UCMA_PS_IB, 2);
	struct vb_ucma_connect b = {.id = id, .param = ucma_param(0x41, "")};
	struct vb_ucma_event_reply ev;
	struct vb_ucma_addr_reply r;

	(void)state;
	assert_int_equal(ib_bind(server, listener, 2, SID_IB | 7174, UINT64_MAX), 0);
	assert_int_equal(ucma_listen(&net, server, listener, 3), 0);
	assert_int_equal(ib_resolve(id, 2, SID_IB | 7174), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	memset(b.param.private_data, 0x77, 93);
	b.param.private_data_len = 93;
	assert_int_equal(UCMA_CALL(&net, client, VB_UCMA_CONNECT, b), -EINVAL);
	b.param.private_data_len = 92;
	assert_int_equal(UCMA_CALL(&net, client, VB_UCMA_CONNECT, b), 0);
	assert_int_equal(net.last.req.service_id, SID_IB | 7174);
	assert_int_equal(net.last.req.pkey, 0x8001);
	assert_int_equal(net.last.private_data[0], 0x77);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	assert_int_equal(ev.conn.private_data_len, 92);
	assert_int_equal(ev.conn.private_data[91], 0x77);
	/* The new id has the GIDs, and the service ID that was asked for. */
	r = addr_of(server, ev.id, VB_UCMA_QUERY_ADDR);
	assert_int_equal(r.src_size, VB_UCMA_SOCKADDR_IB);
	assert_int_equal(r.src[8 + 15], 2);
	assert_int_equal(sid_in(r.src), SID_IB | 7174);
	assert_int_equal(r.dst[8 + 15], 1);
	assert_int_equal(ucma_accept(&net, server, ev.id, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_int_equal(ucma_ready(&net, client, id), 0);
	(void)ucma_event(&net, server, VB_UCMA_EV_ESTABLISHED);
}

/* A listener of IP takes nobody without a header; one of AF_IB takes everybody. */
static void listeners__of_both_kinds(void **state)
{
	uint32_t ip = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	uint32_t id = ucma_id(&net, client, 0x200, VB_UCMA_PS_TCP, 2), by_ip, ib;
	struct vb_ucma_event_reply ev;

	(void)state;
	assert_int_equal(ib_resolve(id, 2, SID_TCP | UCMA_PORT), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(ucma_connect(&net, client, id, 0x41, "\x7f"), 0);
	assert_int_equal(ucma_event(&net, client, VB_UCMA_EV_REJECTED).status, VB_CM_REJ_CONSUMER);
	ucma_destroy(&net, server, ip);
	ib = ucma_id(&net, server, 0x101, VB_UCMA_PS_IB, 2);
	assert_int_equal(ib_bind(server, ib, 0, SID_TCP | UCMA_PORT, UINT64_MAX), 0);
	assert_int_equal(ucma_listen(&net, server, ib, 3), 0);
	by_ip = ucma_routed(&net, client, 0x201, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_connect(&net, client, by_ip, 0x43, "hello"), 0);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST);
	/* The header is private data to a program that does not know it. */
	assert_int_equal(ev.conn.private_data_len, 92);
	assert_int_equal(ev.conn.private_data[1], 0x40);
	assert_int_equal(ev.conn.private_data[36], 'h');
}

/* QUERY: by address as it was given, by GID always as AF_IB; QUERY_ROUTE has room for a part. */
static void query__of_both_families(void **state)
{
	uint32_t ip = ucma_routed(&net, client, 5, VB_UCMA_PS_TCP, 2, true);
	uint32_t ib = ucma_id(&net, client, 6, VB_UCMA_PS_IB, 2);
	struct vb_ucma_addr_reply r = addr_of(client, ip, VB_UCMA_QUERY_ADDR);
	struct vb_ucma_query q = {.id = ib};
	struct vb_ucma_route_reply route = {0};
	uint8_t want[VB_UCMA_SOCKADDR_IB];

	(void)state;
	assert_int_equal(r.src_size, 16);
	r = addr_of(client, ip, VB_UCMA_QUERY_GID);
	assert_int_equal(r.dst_size, VB_UCMA_SOCKADDR_IB);
	assert_int_equal(r.dst[0], VB_UCMA_AF_IB);
	assert_int_equal(sid_in(r.dst), SID_TCP | UCMA_PORT);
	assert_int_equal(r.dst[8 + 15], 2);
	assert_int_equal(ib_bind(client, ib, 1, SID_TCP | 7000, UINT64_MAX), 0);
	ib_sockaddr(want, 1, SID_TCP | 7000, UINT64_MAX);
	r = addr_of(client, ib, VB_UCMA_QUERY_ADDR);
	assert_memory_equal(r.src, want, sizeof want);
	r = addr_of(client, ib, VB_UCMA_QUERY_GID);
	assert_memory_equal(r.src, want, sizeof want);
	assert_int_equal(UCMA_ASK(&net, client, VB_UCMA_QUERY_ROUTE, q, route), 0);
	assert_memory_equal(route.src, want, sizeof route.src);
	assert_int_equal(route.num_paths, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(probe__of_librdmacm),   T(space__of_the_service_id), T(bind__errors),
	    T(connect__between_gids), T(listeners__of_both_kinds), T(query__of_both_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
