/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of data through a router, by the map of a fabric of two subnets: A1 - R1, R2 - S1, S2 -
 * B1. link/ib/walk.c, link/ib/ib.c; IBA 19; FAB-06, FAB-07, LNK-06, LNK-38
 */
#include "link/ib/ib.h"
#include "link/ib/route.h"
#include "link/ib/routers.h"
#include "wire/be.h"

#include "cmocka_env.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define SLOT 9
enum { A1 = 1, R0, R1, R2, S0, S1, S2, B0, B1, PORTS };
/* LIDs of different subnets have nothing to do with each other. */
enum { LID_A = 1, LID_R1 = 2, LID_R2 = 1, LID_S = 2, LID_B = 7 };
#define PREFIX_A UINT64_C(0xfec0000000000001)
#define PREFIX_B UINT64_C(0xfec0000000000002)
#define GUID(port) (UINT64_C(0xa000) + (port))

static struct vb_ib_map *map;
static struct vb_ib_routes *own;
static struct vb_ib_key key;

static struct vb_ib_map_port *port(uint32_t i)
{
	return &vb_ib_map_ports(map)[i];
}

static void node_make(uint32_t n, uint32_t first, uint8_t port_cnt, uint32_t *lanes)
{
	bool is_switch = n == 2;

	vb_ib_map_nodes(map)[n] = (struct vb_ib_map_node){.first_port = first,
							  .unicast_top = LID_B,
							  .port_cnt = port_cnt,
							  .is_switch = is_switch,
							  .is_router = n == 1};
	for (uint8_t i = 0; i <= port_cnt; i++) {
		*port(first + i) =
		    (struct vb_ib_map_port){.node = n,
					    .peer = VB_IB_NOWHERE,
					    .sl2vl = *lanes,
					    .number = i,
					    .may_send = i != 0,
					    .may_receive = i != 0,
					    .mtu = 5,
					    .lane_cnt = 8,
					    .pkey = {0xffff},
					    .prefix = first < S0 ? PREFIX_A : PREFIX_B,
					    .guid = {GUID(first + i)}};
		*lanes += is_switch ? port_cnt + 1u : 1u;
	}
}

static void join(uint32_t a, uint32_t b)
{
	port(a)->peer = b;
	port(b)->peer = a;
}

static int begin(void **state)
{
	struct vb_ib_map head = {.generation = 0};
	uint32_t lanes = 0;

	(void)state;
	vb_ib_map_lay_out(&head, 4, PORTS, 1, 16, PAGE);
	map = calloc(1, head.size);
	*map = head;
	node_make(0, 0, 1, &lanes);
	node_make(1, R0, 2, &lanes);
	node_make(2, S0, 2, &lanes);
	node_make(3, B0, 1, &lanes);
	join(A1, R1);
	join(R2, S1);
	join(S2, B1);
	port(A1)->lid = LID_A;
	port(R1)->lid = LID_R1;
	port(R2)->lid = LID_R2;
	port(R2)->prefix = PREFIX_B;
	port(S0)->lid = LID_S;
	port(B1)->lid = LID_B;
	memset(vb_ib_map_lft(map, 0), 255, VB_IB_LIDS);
	vb_ib_map_lft(map, 0)[LID_R2] = 1;
	vb_ib_map_lft(map, 0)[LID_S] = 0;
	vb_ib_map_lft(map, 0)[LID_B] = 2;
	own = vb_ib_map_routes(map, 7);
	key = (struct vb_ib_key){.port = A1,
				 .dlid = LID_R1,
				 .pkey = 0xffff,
				 .sl = 3,
				 .hop_limit = 2,
				 .prefix = PREFIX_B,
				 .guid = GUID(B1)};
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(map);
	return 0;
}

static struct vb_ib_route r;

static void expect_end(enum vb_ib_fate fate, uint32_t at, uint32_t hops)
{
	memset(&r, 0x55, sizeof r);
	vb_ib_walk(map, &key, &r);
	assert_int_equal(r.fate, fate);
	assert_int_equal(r.at, at);
	assert_int_equal(r.hop_cnt, hops);
}

/* FAB-06: it arrives with the LIDs that the router gave it, and with one hop less. */
static void walk__through_a_router(void **state)
{
	(void)state;
	expect_end(VB_IB_ARRIVES, B1, 3);
	assert_int_equal(r.router_cnt, 1);
	assert_int_equal(r.slid, LID_R2);
	assert_int_equal(r.dlid, LID_B);
	assert_int_equal(r.hop[1].out, R2);
	assert_int_equal(r.hop[1].in, S1);
	/* A capture shows the headers of each link. */
	assert_int_equal(r.hop[0].routers, 0);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(r.hop[i].routers, 1);
		assert_int_equal(r.hop[i].slid, LID_R2);
		assert_int_equal(r.hop[i].dlid, LID_B);
	}
	/* Port 0 of the switch has a GID, too. */
	key.guid = GUID(S0);
	expect_end(VB_IB_ARRIVES, S0, 2);
	/* Inside of a subnet no router is passed. */
	key = (struct vb_ib_key){
	    .port = B1, .dlid = LID_R2, .pkey = 0xffff, .prefix = PREFIX_B, .guid = GUID(R2)};
	expect_end(VB_IB_ARRIVES, R2, 2);
	assert_int_equal(r.router_cnt, 0);
}

/* FAB-06, FAB-07, LNK-06: it ends at the router without a hop left, without a GRH, with a GID of
 * the subnet that it came from, of no port, and from or to a link-local GID. */
static void walk__ends_at_the_router(void **state)
{
	const struct vb_ib_key right = key;

	(void)state;
	key.hop_limit = 1;
	expect_end(VB_IB_HOPS_ENDED, R1, 1);
	key = right;
	key.prefix = key.guid = 0;
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	key = right;
	key.prefix = PREFIX_A;
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	key = right;
	key.guid++;
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	key = right;
	key.is_from_link_local = 1;
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	key = right;
	key.prefix = PREFIX_B + 1;
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	key = right;
	port(R2)->may_send = false; /* its link is down */
	expect_end(VB_IB_NOT_ROUTED, R1, 1);
	/* Another LID than the router's own. LNK-03 */
	key.dlid = LID_B;
	expect_end(VB_IB_LOST, R1, 1);
}

#define PREFIX_M UINT64_C(0xfec0000000000003)
enum { LID_S1 = 5, LID_S2 = 6 };

/* The switch is a router as well, and joins a subnet in the middle with that of B1. */
static void make_second_router(void)
{
	vb_ib_map_nodes(map)[2].is_switch = 0;
	vb_ib_map_nodes(map)[2].is_router = 1;
	port(S0)->lid = 0;
	port(S1)->lid = LID_S1;
	port(S2)->lid = LID_S2;
	port(R2)->prefix = port(S1)->prefix = PREFIX_M;
}

/* FAB-06: each router takes one hop off. A packet ends at the first router to which it comes with
 * none left, or the last one. IBA 8.3 */
static void walk__through_two_routers(void **state)
{
	(void)state;
	make_second_router();
	for (unsigned limit = 0; limit < 256; limit += limit < 5 ? 1 : 50) {
		key.hop_limit = (uint8_t)limit;
		if (limit <= 1) {
			expect_end(VB_IB_HOPS_ENDED, R1, 1);
		} else if (limit == 2) {
			expect_end(VB_IB_HOPS_ENDED, S1, 2);
		} else {
			expect_end(VB_IB_ARRIVES, B1, 3);
			for (uint32_t i = 0; i < 3; i++)
				assert_int_equal(r.hop[i].routers, i);
			assert_int_equal(r.hop[1].slid, LID_R2);
			assert_int_equal(r.hop[1].dlid, LID_S1);
			assert_int_equal(r.slid, LID_S2);
			assert_int_equal(r.dlid, LID_B);
		}
		assert_int_equal(r.router_cnt, limit <= 1 ? 0 : limit == 2 ? 1 : 2);
	}
}

/* Routers that a packet has passed before are off its hop limit, however many they are. */
static void route_hop__takes_off_what_was_passed(void **state)
{
	const struct vb_routers all = vb_ib_map_routers(map);
	struct vb_hop hop;

	(void)state;
	for (unsigned limit = 0; limit < 256; limit++)
		for (unsigned passed = 0; passed <= 256; passed++) {
			key.hop_limit = (uint8_t)limit;
			assert_int_equal(vb_ib_route_hop(map, &all, &key, R1, passed, &hop),
					 limit >= passed + 2 ? VB_HOP_ON : VB_HOP_ENDED);
		}
}

static uint16_t far_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	(void)ctx;
	return prefix == PREFIX_B && guid == 0x99 ? 0x99 : 0;
}

/* FAB-06: a port of another fabric, of which a tunnel tells, has a way: as far as the tunnel. */
static void walk__to_another_fabric(void **state)
{
	const struct vb_far_routers far = {.lid_of = far_lid_of};
	struct vb_routers all = vb_ib_map_routers(map);

	(void)state;
	port(R2)->peer = VB_IB_NOWHERE; /* the tunnel is there */
	key.guid = 0x99;
	vb_ib_walk_by(map, &all, &key, &r);
	assert_int_equal(r.fate, VB_IB_NOT_ROUTED);
	all.far = &far;
	vb_ib_walk_by(map, &all, &key, &r);
	assert_int_equal(r.fate, VB_IB_SENT_NOT);
	assert_int_equal(r.at, R2);
	assert_int_equal(r.dlid, 0x99);
}

/* Drops behind the router are counted with the LIDs there. FAB-36 */
static void walk__barred_behind_the_router(void **state)
{
	struct vb_ib_route *route;

	(void)state;
	port(S1)->enforces_in = 1;
	port(S1)->pkey[0] = 0x8001;
	route = vb_ib_route_get(map, own, &key);
	assert_int_equal(route->fate, VB_IB_BARRED_IN);
	vb_ib_route_count(own, route, 2, 20);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(vb_ib_map_counters(map)[S1].rcv_constraint, 2);
	assert_true(vb_ib_map_counters(map)[S1].barred == vb_ib_barred(LID_R2, LID_B, 0xffff, 3));
}

/* The packets that the link below has been given. */
static struct vb_path seen;
static uint32_t sent;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	(void)l, (void)now;
	sent += b->cnt - from;
	seen = *b->pkt[from].path;
	return b->cnt - from;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {
    .name = "below", .send = below_send, .close = below_close};

static void gid_put(struct vb_gid *g, uint64_t prefix, uint64_t guid)
{
	be64_put(g->b, prefix);
	be64_put(g->b + 8, guid);
}

static uint32_t send(struct vb_link *l, const struct vb_path *path)
{
	static struct vb_tx_batch batch;

	batch.cnt = 3;
	for (uint32_t i = 0; i < batch.cnt; i++) {
		batch.pkt[i] = (struct vb_tx){.path = path, .hdr_len = 12, .payload_len = 64};
		be16_put(batch.pkt[i].hdr + 2, 0xffff);
		batch.pkt[i].hdr[7] = SLOT;
	}
	sent = 0;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 3);
	assert_true(vb_ib_routes_add_up(map, own, false));
	return sent;
}

/* Packets arrive with the headers behind the last router; the sender's path stays as it is. Drops
 * are counted at the router, by their reason. FAB-06 */
static void send__rewrites_what_arrives(void **state)
{
	struct vb_ib_link_config fabric = {.map = map, .routes = own, .port = {[1] = A1}};
	struct vb_link lower = vb_link_before(NULL, &below_ops), *l;
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};
	struct vb_path path = {.port = 1, .sl = 3, .slid = LID_A, .dlid = LID_R1, .hop_limit = 64};
	const struct vb_ib_map_counters *at = &vb_ib_map_counters(map)[R1];

	(void)state;
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	vb_ib_map_routes(map, SLOT)->node = port(B1)->node;
	gid_put(&path.sgid, PREFIX_A, GUID(A1));
	gid_put(&path.dgid, PREFIX_B, GUID(B1));
	assert_int_equal(send(l, &path), 3);
	assert_int_equal(seen.slid, LID_R2);
	assert_int_equal(seen.dlid, LID_B);
	assert_int_equal(seen.hop_limit, 63);
	assert_int_equal(seen.sl, 3);
	assert_memory_equal(&seen.dgid, &path.dgid, sizeof seen.dgid);
	assert_int_equal(path.dlid, LID_R1);
	assert_int_equal(path.hop_limit, 64);
	assert_int_equal(vb_ib_map_counters(map)[S1].rcv_packets, 3);
	assert_int_equal(vb_ib_map_counters(map)[R2].xmit_data, 3 * (8 + 40 + 12 + 64 + 4) / 4);
	path.hop_limit = 1;
	assert_int_equal(send(l, &path), 0);
	assert_int_equal(at->hops_ended, 3);
	path.hop_limit = 64;
	gid_put(&path.sgid, UINT64_C(0xfe80000000000000), GUID(A1));
	assert_int_equal(send(l, &path), 0);
	assert_int_equal(at->not_routed, 3);
	path.sgid = path.dgid = (struct vb_gid){{0}};
	assert_int_equal(send(l, &path), 0);
	assert_int_equal(at->not_routed, 6);
	assert_int_equal(at->hops_ended, 3);
	l->ops->close(l);
}

/* Behind two routers a packet has two hops less; where the second one has no hop left for it, it is
 * counted there. */
static void send__by_two_routers(void **state)
{
	struct vb_ib_link_config fabric = {.map = map, .routes = own, .port = {[1] = A1}};
	struct vb_link lower = vb_link_before(NULL, &below_ops), *l;
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};
	struct vb_path path = {.port = 1, .sl = 3, .slid = LID_A, .dlid = LID_R1, .hop_limit = 3};

	(void)state;
	make_second_router();
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	vb_ib_map_routes(map, SLOT)->node = port(B1)->node;
	gid_put(&path.sgid, PREFIX_A, GUID(A1));
	gid_put(&path.dgid, PREFIX_B, GUID(B1));
	assert_int_equal(send(l, &path), 3);
	assert_int_equal(seen.hop_limit, 1);
	assert_int_equal(seen.slid, LID_S2);
	path.hop_limit = 2;
	assert_int_equal(send(l, &path), 0);
	assert_int_equal(vb_ib_map_counters(map)[S1].hops_ended, 3);
	assert_int_equal(vb_ib_map_counters(map)[R1].hops_ended, 0);
	l->ops->close(l);
}

#define R(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    R(walk__through_a_router),
	    R(walk__ends_at_the_router),
	    R(walk__to_another_fabric),
	    R(walk__barred_behind_the_router),
	    R(send__rewrites_what_arrives),
	    R(walk__through_two_routers),
	    R(route_hop__takes_off_what_was_passed),
	    R(send__by_two_routers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
