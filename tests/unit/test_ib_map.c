/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a fabric shares with the programs at its nodes: where its parts lie, what adding
 * up does beside a program, and the groups that a program's port listens to. link/ib/map.h
 */
#include "base/slot.h"
#include "cmocka_env.h"
#include "link/ib/ib.h"
#include "link/ib/route.h"
#include "wire/ib/lrh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define NODES 3u
#define PORTS 7u
#define TABLES 2u
#define LANES 9u

static struct vb_ib_map *map;

static int begin(void **state)
{
	struct vb_ib_map head = {.generation = 0};

	(void)state;
	vb_ib_map_lay_out(&head, NODES, PORTS, TABLES, LANES, PAGE);
	map = calloc(1, head.size);
	assert_non_null(map);
	*map = head;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(map);
	return 0;
}

/* Each part has room, and the next one begins behind it; parts that programs write have pages of
 * their own. */
static void lay_out__parts_stand_apart(void **state)
{
	const struct {
		uint64_t at, bytes;
	} part[] = {
	    {0, sizeof *map},
	    {map->nodes_at, NODES * sizeof(struct vb_ib_map_node)},
	    {map->ports_at, PORTS * sizeof(struct vb_ib_map_port)},
	    {map->lanes_at, LANES * sizeof(struct vb_ib_map_lanes)},
	    {map->lfts_at, (uint64_t)TABLES * VB_IB_LIDS},
	    {map->mfts_at, (uint64_t)TABLES * VB_IB_MULTICASTS * sizeof(struct vb_ib_map_mask)},
	    {map->counters_at, PORTS * sizeof(struct vb_ib_map_counters)},
	    {map->routes_at, (uint64_t)VB_IB_SLOTS * sizeof(struct vb_ib_routes)},
	    {map->size, 0},
	};

	(void)state;
	for (size_t i = 1; i < sizeof part / sizeof part[0]; i++)
		assert_true(part[i].at >= part[i - 1].at + part[i - 1].bytes);
	assert_int_equal(map->shared_at, map->counters_at);
	assert_int_equal(map->shared_at % PAGE, 0);
	assert_int_equal(map->routes_at % PAGE, 0);
	assert_int_equal(map->size % PAGE, 0);
}

/* A map with any wrong number is refused: programs would read outside its parts. */
static void is_whole__by_every_number(void **state)
{
	uint64_t *place[] = {&map->size,     &map->shared_at,   &map->nodes_at,
			     &map->ports_at, &map->lanes_at,    &map->lfts_at,
			     &map->mfts_at,  &map->counters_at, &map->routes_at};
	uint32_t *number[] = {&map->magic,    &map->version, &map->node_cnt,
			      &map->port_cnt, &map->lft_cnt, &map->lanes_cnt};
	const uint64_t size = map->size;

	(void)state;
	assert_true(vb_ib_map_is_whole(map, size, PAGE));
	for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
		*place[i] += PAGE;
		assert_false(vb_ib_map_is_whole(map, size, PAGE));
		*place[i] -= PAGE;
	}
	for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
		*number[i] += 64;
		assert_false(vb_ib_map_is_whole(map, size, PAGE));
		*number[i] -= 64;
	}
	assert_false(vb_ib_map_is_whole(map, sizeof *map - 1, PAGE));
	assert_true(vb_ib_map_is_whole(map, size, PAGE));
}

/* A program that holds its lock keeps its counts. They are added up once it has ended, and the lock
 * is released. */
static void add_up__beside_a_program_with_the_lock(void **state)
{
	struct vb_ib_routes *all = vb_ib_map_routes(map, 5);
	struct vb_ib_route *r = &all->route[0];

	(void)state;
	*r = (struct vb_ib_route){
	    .fate = VB_IB_ARRIVES, .hop_cnt = 1, .hop[0] = {.out = 1, .in = 2}};
	vb_ib_route_count(all, r, 3, 30);
	all->lock = 1;
	assert_false(vb_ib_routes_add_up(map, all, false));
	assert_int_equal(vb_ib_map_counters(map)[1].xmit_packets, 0);
	assert_true(vb_ib_routes_add_up(map, all, true));
	assert_int_equal(all->lock, 0);
	assert_int_equal(vb_ib_map_counters(map)[1].xmit_packets, 3);
	assert_int_equal(vb_ib_map_counters(map)[2].rcv_data, 30);
	assert_true(vb_ib_routes_add_up(map, all, false));
	assert_int_equal(vb_ib_map_counters(map)[1].xmit_packets, 3);
}

static bool listens(const struct vb_ib_routes *own, uint16_t lid)
{
	uint32_t entry = lid - (uint32_t)VB_LID_MULTICAST;

	return own->group[entry / 64] >> entry % 64 & 1;
}

/* A port listens to a multicast LID from its first QP's join to its last QP's leave; a LID without
 * an entry is refused. FAB-57 */
static void join__from_the_first_to_the_last(void **state)
{
	static const uint16_t lids[] = {VB_LID_MULTICAST, VB_LID_MULTICAST + 63,
					VB_LID_MULTICAST + 64,
					VB_LID_MULTICAST + VB_IB_MULTICASTS - 1};
	struct vb_ib_routes *own = vb_ib_map_routes(map, 5);
	struct vb_ib_link_config fabric = {.map = map, .routes = own};
	struct vb_link_config cfg = {.fabric = NULL};
	const struct vb_gid gid = {{0xff}};
	struct vb_link *l;
	uint32_t room = 0;

	(void)state;
	assert_int_equal(vb_ib_link_open(&l, &cfg), -EINVAL);
	cfg.fabric = &fabric;
	assert_int_equal(vb_nowhere_open(&cfg.lower, &cfg), 0);
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	for (size_t i = 0; i < sizeof lids / sizeof lids[0]; i++) {
		assert_int_equal(vb_link_join(l, 1, &gid, lids[i]), 0);
		assert_int_equal(vb_link_join(l, 1, &gid, lids[i]), 0);
		for (size_t k = 0; k < sizeof lids / sizeof lids[0]; k++)
			assert_int_equal(listens(own, lids[k]), k == i);
		vb_link_leave(l, 1, &gid, lids[i]);
		assert_true(listens(own, lids[i]));
		vb_link_leave(l, 1, &gid, lids[i]);
		assert_false(listens(own, lids[i]));
		vb_link_leave(l, 1, &gid, lids[i]);
		assert_int_equal(vb_link_join(l, 1, &gid, lids[i]), 0);
		assert_true(listens(own, lids[i]));
		vb_link_leave(l, 1, &gid, lids[i]);
	}
	assert_int_equal(vb_link_join(l, 1, &gid, VB_LID_MULTICAST + VB_IB_MULTICASTS), -EINVAL);
	assert_int_equal(vb_link_join(l, 1, &gid, VB_LID_MULTICAST - 1), -EINVAL);
	/* Without a ring, credit is unlimited. */
	assert_true(vb_link_rx_credit(l, 5, 0, &room));
	assert_int_equal(room, UINT32_MAX);
	l->ops->close(l);
}

/* Two nodes, and a cable between their ports: the sender's and the other one's. */
enum { NEAR_PORT = 1, FAR_PORT = 3, GROUP = VB_LID_MULTICAST + 5, LID_FAR = 7 };

static int begin_cable(void **state)
{
	begin(state);
	for (uint32_t n = 0; n < 2; n++) {
		vb_ib_map_nodes(map)[n] =
		    (struct vb_ib_map_node){.first_port = 2 * n, .port_cnt = 1};
		vb_ib_map_ports(map)[2 * n + 1] =
		    (struct vb_ib_map_port){.node = n,
					    .peer = n ? NEAR_PORT : FAR_PORT,
					    .lid = n ? LID_FAR : 1,
					    .number = 1,
					    .may_send = 1,
					    .may_receive = 1,
					    .mtu = 5,
					    .lane_cnt = 1};
	}
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	return 0;
}

/* The link below: packets given to it, and the room of the processes. */
static struct {
	uint32_t sent, takes, copies, room;
	struct vb_link_copy whom[4];
} below;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	uint32_t n = b->cnt - from < below.takes ? b->cnt - from : below.takes;

	(void)l, (void)now;
	below.sent += n;
	return n;
}

static uint32_t below_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   uint32_t to, struct vb_link_copy whom, vb_time now)
{
	(void)l, (void)b, (void)now;
	assert_int_equal(to - from, 3);
	assert_true(below.copies < 4);
	below.whom[below.copies++] = whom;
	return to - from;
}

static bool below_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	(void)l, (void)now;
	*credit = dqpn == 9 ? below.room : 4096;
	return true;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {.name = "below",
					     .send = below_send,
					     .copy = below_copy,
					     .rx_credit = below_rx_credit,
					     .close = below_close};

/* The process of slot @k is at node @node, and listens to the group or not. */
static void process_at(uint32_t k, uint32_t node, bool is_member)
{
	struct vb_ib_routes *r = vb_ib_map_routes(map, k);

	r->node = node;
	r->group[(GROUP - VB_LID_MULTICAST) / 64] = (uint64_t)is_member
						    << (GROUP - VB_LID_MULTICAST) % 64;
}

static struct vb_link *open_port(struct vb_link *lower)
{
	static struct vb_ib_link_config fabric;
	const struct vb_link_config cfg = {.lower = lower, .fabric = &fabric};
	struct vb_link *l;

	fabric = (struct vb_ib_link_config){
	    .map = map, .routes = vb_ib_map_routes(map, 5), .port = {[1] = NEAR_PORT}};
	memset(&below, 0, sizeof below);
	below.takes = UINT32_MAX;
	*lower = vb_link_before(NULL, &below_ops);
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	return l;
}

/* Three packets of @path to slot 9. */
static const struct vb_tx_batch *three_packets(const struct vb_path *path)
{
	static struct vb_tx_batch b;

	b.cnt = 3;
	for (uint32_t i = 0; i < 3; i++)
		b.pkt[i] = (struct vb_tx){
		    .path = path, .hdr_len = 12, .hdr = {[2] = 0xff, [3] = 0xff, [7] = 9}};
	return &b;
}

static uint64_t sent_by_port(void)
{
	assert_true(vb_ib_routes_add_up(map, vb_ib_map_routes(map, 5), false));
	return vb_ib_map_counters(map)[NEAR_PORT].xmit_packets;
}

/* Packets to a group are copied to each member at a port that they reach, the sender's own node
 * included. They wait until every such member has room: InfiniBand links lose nothing. FAB-57 */
static void send__to_all_members_or_none(void **state)
{
	const struct vb_path path = {.port = 1, .dlid = GROUP};
	struct vb_link lower, *l = open_port(&lower);

	(void)state;
	process_at(5, 0, false);
	process_at(6, 0, true);
	process_at(9, 1, true);
	process_at(10, 1, false);
	process_at(11, 2, true); /* where no packet comes */
	assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 0);
	assert_int_equal(below.copies, 0);
	assert_int_equal(sent_by_port(), 0);
	below.room = 1;
	assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 3);
	assert_int_equal(below.copies, 2);
	assert_int_equal(below.whom[0].slot, 6);
	assert_int_equal(below.whom[1].slot, 9);
	assert_int_equal(below.whom[0].port, 1);
	assert_int_equal(below.whom[1].port, 1);
	assert_int_equal(below.sent, 0);
	assert_int_equal(sent_by_port(), 3);
	/* A member that goes to another node is not found where it was. */
	process_at(9, 2, true);
	assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 3);
	assert_int_equal(below.copies, 3);
	assert_int_equal(below.whom[2].slot, 6);
	l->ops->close(l);
}

/* A packet goes to the process that has its QP, if that is at the node of arrival. It is counted
 * once it has left. */
static void send__to_the_process_that_has_the_qp(void **state)
{
	const struct vb_path path = {.port = 1, .dlid = LID_FAR};
	struct vb_link lower, *l = open_port(&lower);

	(void)state;
	process_at(9, 2, false); /* not there: as if it were lost */
	assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 3);
	assert_int_equal(below.sent, 0);
	assert_int_equal(sent_by_port(), 3);
	process_at(9, 1, false);
	below.takes = 1;
	assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 1);
	assert_int_equal(below.sent, 1);
	assert_int_equal(sent_by_port(), 4);
	below.takes = 3;
	assert_int_equal(l->ops->send(l, three_packets(&path), 1, 0), 2);
	assert_int_equal(below.sent, 3);
	assert_int_equal(sent_by_port(), 6);
	l->ops->close(l);
}

/* No process has QP 0 or QP 1: packets on data lanes do not come there. LNK-12 */
static void send__to_special_qps(void **state)
{
	const struct vb_path path = {.port = 1, .dlid = LID_FAR};
	struct vb_link lower, *l = open_port(&lower);
	struct vb_tx_batch b;

	(void)state;
	_Static_assert(VB_SLOT_FIRST > 1, "programs get no slot of them");
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++)
		process_at(k, 1, false);
	for (uint8_t qp = 0; qp <= VB_SLOT_FIRST; qp++) {
		b = *three_packets(&path);
		for (uint32_t i = 0; i < 3; i++)
			b.pkt[i].hdr[7] = qp;
		assert_int_equal(l->ops->send(l, &b, 0, 0), 3);
		assert_int_equal(below.sent, qp == VB_SLOT_FIRST ? 3 : 0);
	}
	l->ops->close(l);
}

/* A packet goes by the lane of its own service level, and nowhere where that has none. LNK-12 */
static void send__by_the_lane_of_its_service_level(void **state)
{
	struct vb_path path = {.port = 1, .dlid = LID_FAR};
	struct vb_link lower, *l = open_port(&lower);

	(void)state;
	process_at(9, 1, false);
	vb_ib_map_lanes(map)[vb_ib_map_ports(map)[NEAR_PORT].sl2vl].vl[3] = 15;
	for (path.sl = 0; path.sl < 5; path.sl++) {
		below.sent = 0;
		assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 3);
		assert_int_equal(below.sent, path.sl == 3 ? 0 : 3);
	}
	l->ops->close(l);
}

/* Packets of a port that the fabric does not have are lost, and wait for nothing. */
static void send__by_no_port_of_the_fabric(void **state)
{
	struct vb_path path = {.port = VB_LINK_PORTS_MAX};
	struct vb_link lower, *l = open_port(&lower);

	(void)state;
	process_at(9, 1, true);
	for (int i = 0; i < 2; i++) {
		path.dlid = i ? GROUP : LID_FAR;
		assert_int_equal(l->ops->send(l, three_packets(&path), 0, 0), 3);
		assert_int_equal(below.sent + below.copies, 0);
	}
	assert_int_equal(sent_by_port(), 0);
	l->ops->close(l);
}

/* The map stays half-written when its writer is killed; packets still find their way by it. */
static void route__of_a_map_left_half_written(void **state)
{
	const struct vb_ib_key key = {.port = NEAR_PORT, .dlid = LID_FAR, .pkey = 0xffff, .mtu = 1};
	const struct vb_ib_route *r;

	(void)state;
	map->generation = 3;
	r = vb_ib_route_get(map, vb_ib_map_routes(map, 5), &key);
	assert_int_equal(r->fate, VB_IB_ARRIVES);
	assert_int_equal(r->at, FAR_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(lay_out__parts_stand_apart, begin, end),
	    cmocka_unit_test_setup_teardown(is_whole__by_every_number, begin, end),
	    cmocka_unit_test_setup_teardown(add_up__beside_a_program_with_the_lock, begin, end),
	    cmocka_unit_test_setup_teardown(join__from_the_first_to_the_last, begin, end),
	    cmocka_unit_test_setup_teardown(send__to_all_members_or_none, begin_cable, end),
	    cmocka_unit_test_setup_teardown(send__to_the_process_that_has_the_qp, begin_cable, end),
	    cmocka_unit_test_setup_teardown(send__to_special_qps, begin_cable, end),
	    cmocka_unit_test_setup_teardown(send__by_the_lane_of_its_service_level, begin_cable,
					    end),
	    cmocka_unit_test_setup_teardown(send__by_no_port_of_the_fabric, begin_cable, end),
	    cmocka_unit_test_setup_teardown(route__of_a_map_left_half_written, begin_cable, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
