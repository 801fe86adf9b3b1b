/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a packet through the map of a fabric: each reason to drop it and who counts that, what
 * a process remembers of its routes, and the counters of the ports on them.
 */
#include "ib_route_env.h"

/* FAB-01, FAB-50 */
static void walk__goes_by_the_tables(void **state)
{
	const struct vb_ib_route *r = walk();

	(void)state;
	expect_end(VB_IB_ARRIVES, B1, 3);
	assert_int_equal(r->hop[0].out, A1);
	assert_int_equal(r->hop[0].in, S1);
	assert_int_equal(r->hop[1].out, S2);
	assert_int_equal(r->hop[2].in, B1);
	/* Each LID that LMC gives the port. */
	key.dlid = LID_B + 1;
	expect_end(VB_IB_ARRIVES, B1, 3);
	/* A switch itself, and the sender. */
	key.dlid = LID_T;
	expect_end(VB_IB_ARRIVES, T0, 2);
	key.dlid = LID_A;
	expect_end(VB_IB_ARRIVES, A1, 0);
}

/* FAB-01: no entry, none beyond the top, none back to where it came from, no such port. An entry 0
 * is port 0, which drops what has another LID. */
static void walk__without_a_way_is_counted_at_the_switch(void **state)
{
	static const uint8_t bad[] = {VB_IB_PORT_NONE, 1, 200};

	(void)state;
	for (size_t i = 0; i < sizeof bad; i++) {
		vb_ib_map_lft(map, 0)[LID_B] = bad[i];
		expect_end(VB_IB_NO_WAY, S1, 1);
	}
	key.dlid = LID_B + 2;
	vb_ib_map_lft(map, 0)[LID_B + 2] = 2;
	expect_end(VB_IB_NO_WAY, S1, 1);
	key.dlid = LID_B;
	vb_ib_map_lft(map, 0)[LID_B] = 0;
	expect_end(VB_IB_LOST, S0, 1);
}

/* LNK-03 */
static void walk__to_an_adapter_with_another_lid_is_lost(void **state)
{
	(void)state;
	port(B1)->lid = 9;
	expect_end(VB_IB_LOST, B1, 3);
}

/* LNK-30: links that are not active, at either end, and no cable. */
static void walk__ends_at_a_link_that_is_not_active(void **state)
{
	(void)state;
	port(A1)->may_send = false;
	expect_end(VB_IB_SENT_NOT, A1, 0);
	key.dlid = LID_A;
	expect_end(VB_IB_SENT_NOT, A1, 0);
	key.dlid = LID_B;
	port(A1)->may_send = true;
	port(S2)->may_send = false;
	expect_end(VB_IB_SENT_NOT, S2, 1);
	port(S2)->may_send = true;
	port(T1)->may_receive = false;
	expect_end(VB_IB_RECEIVED_NOT, T1, 2);
	assert_int_equal(walk()->hop[1].in, VB_IB_NOWHERE);
	port(T1)->may_receive = true;
	port(S2)->peer = VB_IB_NOWHERE;
	expect_end(VB_IB_SENT_NOT, S2, 1);
}

/* LNK-12, LNK-22: a service level that leads to VL15, or to a lane that is not there; by the port
 * that it came in by. */
static void walk__ends_where_the_service_level_has_no_lane(void **state)
{
	(void)state;
	vb_ib_map_lanes(map)[port(A1)->sl2vl].vl[3] = 15;
	expect_end(VB_IB_SENT_NOT, A1, 0);
	key.sl = 2;
	expect_end(VB_IB_ARRIVES, B1, 3);
	vb_ib_map_lanes(map)[port(S2)->sl2vl + 1].vl[2] = LANES;
	expect_end(VB_IB_SENT_NOT, S2, 1);
	vb_ib_map_lanes(map)[port(S2)->sl2vl + 1].vl[2] = LANES - 1;
	vb_ib_map_lanes(map)[port(S2)->sl2vl + 3].vl[2] = 15; /* of another port */
	expect_end(VB_IB_ARRIVES, B1, 3);
}

/* LNK-36: longer than NeighborMTU. */
static void walk__ends_where_the_mtu_is_too_small(void **state)
{
	(void)state;
	port(T2)->mtu = 3;
	expect_end(VB_IB_SENT_NOT, T2, 2);
	key.mtu = 3;
	expect_end(VB_IB_ARRIVES, B1, 3);
	assert_int_equal(walk()->mtu, 3);
}

/* IBT-81, LNK-37, LNK-39: partitions at the ports of switches, in and out; two limited members. */
static void walk__ends_where_partitions_bar_it(void **state)
{
	(void)state;
	key.pkey = 0x8001;
	expect_end(VB_IB_ARRIVES, B1, 3); /* nobody looks */
	port(S1)->enforces_in = true;
	expect_end(VB_IB_BARRED_IN, S1, 1);
	port(S1)->pkey[5] = 0x8001;
	expect_end(VB_IB_ARRIVES, B1, 3);
	/* A limited member has no key of a full one, and sends with its own. */
	port(S1)->pkey[5] = 0x0001;
	expect_end(VB_IB_BARRED_IN, S1, 1);
	key.pkey = 0x0001;
	expect_end(VB_IB_ARRIVES, B1, 3);
	port(T2)->enforces_out = true;
	expect_end(VB_IB_BARRED_OUT, T2, 2);
	port(T2)->pkey[1] = 0x0001;
	expect_end(VB_IB_BARRED_OUT, T2, 2);
	port(S1)->enforces_in = false;
	port(T2)->pkey[1] = 0x8001;
	expect_end(VB_IB_ARRIVES, B1, 3);
	/* The low bits 0 are no partition. */
	key.pkey = 0x8000;
	port(T2)->pkey[2] = 0x8000;
	expect_end(VB_IB_BARRED_OUT, T2, 2);
}

/* LNK-29 */
static void walk__in_a_circle_ends(void **state)
{
	(void)state;
	join(S3, T3);
	vb_ib_map_lft(map, 0)[LID_B] = 2;
	vb_ib_map_lft(map, 1)[LID_B] = 3;
	expect_end(VB_IB_SENT_NOT, walk()->at, VB_IB_HOPS_MAX);
}

/* A map that is half written leads nowhere else. */
static void walk__survives_any_map(void **state)
{
	uint8_t *p = (uint8_t *)map + map->nodes_at;
	uint64_t x = 1;

	(void)state;
	for (unsigned n = 0; n < 3000; n++) {
		for (unsigned i = 0; i < 20; i++) {
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
			p[(x >> 33) % (map->lanes_at - map->nodes_at)] = (uint8_t)(x >> 24);
		}
		key.dlid = (uint16_t)(x >> 40);
		assert_true(walk()->hop_cnt <= VB_IB_HOPS_MAX);
	}
}

/* LNK-38 */
static void counters__are_those_of_each_port_on_the_way(void **state)
{
	struct vb_ib_route *r = vb_ib_route_get(map, own, &key);

	(void)state;
	vb_ib_route_count(own, r, 10, 720);
	assert_int_equal(counters(A1)->xmit_packets, 0);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_true(vb_ib_routes_add_up(map, own, false));
	vb_ib_route_count(own, r, 1, 9);
	assert_true(vb_ib_routes_add_up(map, own, false));
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t out[] = {A1, S2, T2}, in[] = {S1, T1, B1};

		assert_int_equal(counters(out[i])->xmit_packets, 11);
		assert_int_equal(counters(out[i])->xmit_data, 729);
		assert_int_equal(counters(out[i])->rcv_packets, 0);
		assert_int_equal(counters(in[i])->rcv_packets, 11);
		assert_int_equal(counters(in[i])->rcv_data, 729);
		assert_int_equal(counters(in[i])->xmit_discards, 0);
	}
}

/* LNK-39: a dropped packet is counted once, where it was, and at ports that it passed before. */
static void counters__have_a_place_for_each_end(void **state)
{
	(void)state;
	port(S2)->may_send = false;
	vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 5, 50);
	map->generation += 2;
	port(S2)->may_send = true;
	port(T1)->may_receive = false;
	vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 6, 60);
	map->generation += 2;
	port(T1)->may_receive = true;
	vb_ib_map_lft(map, 1)[LID_B] = VB_IB_PORT_NONE;
	vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 7, 70);
	map->generation += 2;
	port(S1)->enforces_in = port(T2)->enforces_out = true;
	port(S1)->pkey[0] = 1;
	key.pkey = 0x8002;
	vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 8, 80);
	map->generation += 2;
	port(S1)->pkey[0] = 0x8002;
	vb_ib_map_lft(map, 1)[LID_B] = 2;
	vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 9, 90);
	assert_true(vb_ib_routes_add_up(map, own, true));
	assert_int_equal(counters(S2)->xmit_discards, 5);
	assert_int_equal(counters(T1)->rcv_discards, 6);
	assert_int_equal(counters(T1)->relay_errors, 7);
	assert_int_equal(counters(S1)->rcv_constraint, 8);
	assert_int_equal(counters(T2)->xmit_constraint, 9);
	/* FAB-36: a trap tells of the last packet that was barred. */
	assert_int_equal(counters(S1)->barred, vb_ib_barred(LID_A, LID_B, 0x8002, 3));
	assert_int_equal(counters(T2)->barred, vb_ib_barred(LID_A, LID_B, 0x8002, 3));
	assert_int_equal(counters(A1)->xmit_packets, 5 + 6 + 7 + 8 + 9);
	assert_int_equal(counters(S1)->rcv_packets, 5 + 6 + 7 + 8 + 9);
	assert_int_equal(counters(S2)->xmit_packets, 6 + 7 + 9);
	assert_int_equal(counters(T1)->rcv_packets, 7 + 9);
	assert_int_equal(counters(T2)->xmit_packets, 0);
}

/* A route is looked for again when the map has changed, and not before. */
static void routes__are_remembered_until_the_map_changes(void **state)
{
	struct vb_ib_route *r = vb_ib_route_get(map, own, &key);

	(void)state;
	assert_int_equal(r->fate, VB_IB_ARRIVES);
	port(T2)->may_send = false;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_ARRIVES);
	map->generation += 2;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_SENT_NOT);
}

/* Many more routes than there are places: nothing that was counted is lost. */
static void routes__that_lose_their_place_are_counted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4 * VB_IB_ROUTES; i++) {
		key.pkey = (uint16_t)(0x8000 | (i + 1));
		vb_ib_route_count(own, vb_ib_route_get(map, own, &key), 1, 100);
	}
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(B1)->rcv_packets, 4 * VB_IB_ROUTES);
	assert_int_equal(counters(B1)->rcv_data, 400 * VB_IB_ROUTES);
}

/* FAB-02: to each port of the entry but the one where it came from. */
static void tree__goes_by_the_tables(void **state)
{
	const struct vb_ib_tree *t;

	(void)state;
	ports_of_group(0, 1 << 0 | 1 << 1 | 1 << 2);
	ports_of_group(1, 1 << 1 | 1 << 2);
	t = grow_tree();
	assert_int_equal(t->branch_cnt, 3);
	assert_int_equal(copies_at(t, B1, VB_IB_ARRIVES), 1);
	assert_int_equal(copies_at(t, A1, VB_IB_ARRIVES), 0);
	vb_ib_tree_count(own, vb_ib_tree_get(map, own, &key), 5, 500);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(A1)->multicast_xmit, 5);
	assert_int_equal(counters(S2)->multicast_xmit, 5);
	assert_int_equal(counters(T1)->multicast_rcv, 5);
	assert_int_equal(counters(B1)->multicast_rcv, 5);
	assert_int_equal(counters(B1)->rcv_packets, 5);
	assert_int_equal(counters(B1)->rcv_data, 500);
	assert_int_equal(counters(A1)->multicast_rcv, 0);
}

/* FAB-02: without an entry, or above MulticastFDBTop, by the default ports. */
static void tree__without_an_entry_has_default_ports(void **state)
{
	(void)state;
	assert_int_equal(copies_at(grow_tree(), S1, VB_IB_NO_WAY), 1);
	ports_of_group(0, 1 << 2);
	vb_ib_map_nodes(map)[1].multicast_top = GROUP - 1;
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), S1, VB_IB_NO_WAY), 1);
	vb_ib_map_nodes(map)[1].multicast_primary = 2;
	vb_ib_map_nodes(map)[2].multicast_primary = 1; /* it came by that: the other one */
	vb_ib_map_nodes(map)[2].multicast_other = 2;
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 1);
}

/* Tables that lead around in a circle: each link carries a packet once, and nobody gets two. */
static void tree__in_a_circle_ends(void **state)
{
	const struct vb_ib_tree *t;

	(void)state;
	join(S3, T3);
	ports_of_group(0, 0xffff);
	ports_of_group(1, 0xffff);
	t = grow_tree();
	assert_int_equal(copies_at(t, B1, VB_IB_ARRIVES), 1);
	assert_int_equal(t->branch_cnt, 5);
	assert_int_equal(copies_at(t, T3, VB_IB_NO_WAY), 1);
	assert_int_equal(copies_at(t, S3, VB_IB_NO_WAY), 1);
}

/* LNK-33: each copy is barred, or not, by the port that it leaves by. */
static void tree__ends_where_partitions_bar_it(void **state)
{
	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	port(T2)->enforces_out = 1;
	port(T2)->pkey[0] = 0x8001;
	assert_int_equal(copies_at(grow_tree(), T2, VB_IB_BARRED_OUT), 1);
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 0);
}

static void tree__of_a_port_that_is_down_has_no_branch(void **state)
{
	(void)state;
	ports_of_group(0, 1 << 2);
	port(A1)->may_send = 0;
	assert_int_equal(grow_tree()->branch_cnt, 1);
	assert_int_equal(copies_at(grow_tree(), A1, VB_IB_SENT_NOT), 1);
}

/* Packets count on the ways of their tree, though the map has other ways since. */
static void trees__are_counted_where_they_went(void **state)
{
	(void)state;
	key.dlid = GROUP;
	ports_of_group(0, 1 << 2);
	for (uint32_t i = 0; i < 10; i++) {
		ports_of_group(1, i % 2 ? 0 : 1 << 2);
		map->generation += 2;
		vb_ib_tree_count(own, vb_ib_tree_get(map, own, &key), 1, 100);
	}
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(T1)->multicast_rcv, 10);
	assert_int_equal(counters(T1)->relay_errors, 5);
	assert_int_equal(counters(B1)->multicast_rcv, 5);
	assert_int_equal(counters(B1)->rcv_data, 500);
}

/* The packets that have come through to the link below, and the copies of a group's packets. */
static struct {
	uint32_t sent, copied;
} below;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			   vb_time now)
{
	(void)l, (void)now;
	below.sent += batch->cnt - from;
	return batch->cnt - from;
}

static uint32_t below_copy(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			   uint32_t to, struct vb_link_copy whom, vb_time now)
{
	(void)l, (void)batch, (void)whom, (void)now;
	below.copied += to - from;
	return to - from;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

/* Packets of one path may have several P_Keys, as those of QP1 have: each is barred, or not, by its
 * own. Of two together the second goes no way that the first has found. IBT-81, LNK-37 */
static void link__asks_for_each_p_key(void **state)
{
	static const struct vb_link_ops ops = {
	    .name = "below", .send = below_send, .copy = below_copy, .close = below_close};
	static const uint16_t pkeys[][2] = {{0xffff, 0x8001}, {0x8001, 0xffff}};
	static struct vb_tx_batch batch;
	struct vb_link lower = vb_link_before(NULL, &ops), *l;
	struct vb_ib_link_config fabric = {.map = map, .routes = own, .port = {[1] = A1}};
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};
	struct vb_path path = {.port = 1, .sl = 3};

	(void)state;
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	vb_ib_map_routes(map, 9)->node = port(B1)->node;
	vb_ib_map_routes(map, 9)->group[(GROUP - 0xc000) / 64] = UINT64_C(1)
								 << (GROUP - 0xc000) % 64;
	port(T2)->enforces_out = true;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	for (uint32_t i = 0; i < 4; i++) {
		path.dlid = i < 2 ? LID_B : GROUP;
		batch.cnt = 2;
		for (uint32_t k = 0; k < 2; k++) {
			batch.pkt[k] = (struct vb_tx){.path = &path, .hdr_len = 12};
			be16_put(batch.pkt[k].hdr + 2, pkeys[i % 2][k]);
			batch.pkt[k].hdr[7] = 9;
		}
		memset(&below, 0, sizeof below);
		assert_int_equal(l->ops->send(l, &batch, 0, 0), 2);
		assert_int_equal(below.sent, i < 2);
		assert_int_equal(below.copied, i >= 2);
	}
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(T2)->xmit_constraint, 4);
	assert_int_equal(counters(T2)->xmit_packets, 4);
	l->ops->close(l);
}

/* A link to nowhere has no receiver: each packet to it is a discard. */
static void nowhere__discards_each_packet(void **state)
{
	static struct vb_tx_batch batch = {.cnt = 3};
	struct vb_counters c = {{0}};
	const struct vb_link_config cfg = {.counters = {[1] = &c}};
	const struct vb_path path = {.port = 1};
	struct vb_link *l;

	(void)state;
	assert_int_equal(vb_nowhere_open(&l, &cfg), 0);
	for (uint32_t i = 0; i < 3; i++)
		batch.pkt[i].path = &path;
	assert_int_equal(l->ops->send(l, &batch, 1, 0), 2);
	assert_int_equal(c.v[VB_COUNTER_port_xmit_discards], 2);
	l->ops->close(l);
}

static void map__is_known_by_its_layout(void **state)
{
	(void)state;
	assert_true(vb_ib_map_is_whole(map, map->size, PAGE));
	assert_false(vb_ib_map_is_whole(map, map->size - PAGE, PAGE));
	map->lfts_at += 64;
	assert_false(vb_ib_map_is_whole(map, map->size, PAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    R(walk__goes_by_the_tables),
	    R(walk__without_a_way_is_counted_at_the_switch),
	    R(walk__to_an_adapter_with_another_lid_is_lost),
	    R(walk__ends_at_a_link_that_is_not_active),
	    R(walk__ends_where_the_service_level_has_no_lane),
	    R(walk__ends_where_the_mtu_is_too_small),
	    R(walk__ends_where_partitions_bar_it),
	    R(walk__in_a_circle_ends),
	    R(walk__survives_any_map),
	    R(counters__are_those_of_each_port_on_the_way),
	    R(counters__have_a_place_for_each_end),
	    R(routes__are_remembered_until_the_map_changes),
	    R(routes__that_lose_their_place_are_counted),
	    R(tree__goes_by_the_tables),
	    R(tree__without_an_entry_has_default_ports),
	    R(tree__in_a_circle_ends),
	    R(tree__ends_where_partitions_bar_it),
	    R(tree__of_a_port_that_is_down_has_no_branch),
	    R(trees__are_counted_where_they_went),
	    R(link__asks_for_each_p_key),
	    cmocka_unit_test(nowhere__discards_each_packet),
	    R(map__is_known_by_its_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
