/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of multicast packets and routes at their limits: the last entry of a table, ports beyond
 * those of one word, the default ports, many branches; and counters of a tree that has each end.
 * IBA 18.2.4.3.3; FAB-02, FAB-57, LNK-29
 */
#include "ib_route_env.h"

#include <errno.h>

/* An entry counts up to MulticastFDBTop, that one included; 0 is the end of the table. FAB-02; IBA
 * 14.2.5.4 */
static void tree__has_entries_up_to_the_top(void **state)
{
	static const struct {
		uint16_t top;
		bool counts;
	} rows[] = {
	    {0, true}, {GROUP - 1, false}, {GROUP, true}, {GROUP + 1, true}, {0xc000, false}};

	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		vb_ib_map_nodes(map)[1].multicast_top = rows[i].top;
		map->generation += 2;
		assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), rows[i].counts);
		assert_int_equal(copies_at(grow_tree(), S1, VB_IB_NO_WAY), !rows[i].counts);
	}
}

/* The first and the last LID have an entry; those behind them have none. */
static void tree__of_the_first_and_the_last_lid(void **state)
{
	static const uint16_t lids[] = {0xc000, 0xc000 + VB_IB_MULTICASTS - 1,
					0xc000 + VB_IB_MULTICASTS};

	(void)state;
	for (uint32_t table = 0; table < 2; table++) {
		vb_ib_map_mft(map, table)[0].word[0] = 1 << 2;
		vb_ib_map_mft(map, table)[VB_IB_MULTICASTS - 1].word[0] = 1 << 2;
	}
	for (size_t i = 0; i < 3; i++) {
		key.dlid = lids[i];
		assert_int_equal(copies_at(vb_ib_tree_get(map, own, &key), B1, VB_IB_ARRIVES),
				 i < 2);
	}
}

/* The default ports: the primary one, or the other where the packet came by it; none, where that is
 * 255. FAB-02 */
static void tree__goes_by_a_default_port(void **state)
{
	struct vb_ib_map_node *s = &vb_ib_map_nodes(map)[1], *t = &vb_ib_map_nodes(map)[2];

	(void)state;
	s->multicast_primary = 1; /* which it came by */
	s->multicast_other = 2;
	t->multicast_primary = 2;
	t->multicast_other = 1;
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 1);
	s->multicast_other = VB_IB_PORT_NONE;
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), S1, VB_IB_NO_WAY), 1);
	s->multicast_primary = 3; /* no cable is there */
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), S3, VB_IB_SENT_NOT), 1);
	assert_int_equal(grow_tree()->branch_cnt, 2);
	/* With an entry the default ports are nobody's. */
	ports_of_group(0, 1 << 2);
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 1);
	assert_int_equal(copies_at(grow_tree(), S3, VB_IB_SENT_NOT), 0);
}

/* A mask of ports that are not there is no entry without ports: nothing is copied, and the default
 * ports are not asked. Each word of it counts. */
static void tree__reads_each_word_of_a_mask(void **state)
{
	(void)state;
	vb_ib_map_nodes(map)[1].multicast_primary = 2;
	vb_ib_map_mft(map, 0)[GROUP - 0xc000].word[VB_IB_MASK_WORDS - 1] = 1 << 15;
	ports_of_group(1, 1 << 2);
	assert_int_equal(grow_tree()->branch_cnt, 1);
	assert_int_equal(copies_at(grow_tree(), S1, VB_IB_PASSES), 1);
}

/* A copy that no adapter or switch takes is counted where it ended, with the bytes and packets of
 * its links, once. */
static void tree__counts_each_end(void **state)
{
	struct vb_ib_tree *t;

	(void)state;
	key.dlid = GROUP;
	ports_of_group(0, 1 << 2 | 1 << 3);
	ports_of_group(1, 1 << 2);
	port(B1)->may_receive = 0;
	t = vb_ib_tree_get(map, own, &key);
	vb_ib_tree_count(own, t, 2, 20);
	vb_ib_tree_count(own, t, 1, 10);
	assert_int_equal(own->is_dirty, 1);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(own->is_dirty, 0);
	assert_int_equal(own->lock, 0);
	assert_int_equal(counters(B1)->rcv_discards, 3);
	assert_int_equal(counters(B1)->rcv_packets, 0);
	assert_int_equal(counters(B1)->multicast_rcv, 0);
	assert_int_equal(counters(T2)->multicast_xmit, 3);
	assert_int_equal(counters(T2)->xmit_data, 30);
	assert_int_equal(counters(S3)->xmit_discards, 3);
	assert_int_equal(counters(S3)->xmit_packets, 0);
	vb_ib_tree_count(own, t, 1, 10);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(B1)->rcv_discards, 4);
	assert_int_equal(counters(T2)->xmit_data, 40);
}

/* A tree of another key than that of its place begins anew, and what it counted is kept. */
static void trees__that_lose_their_place_are_counted(void **state)
{
	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	key.dlid = GROUP;
	for (uint32_t i = 0; i < 8 * VB_IB_TREES; i++) {
		struct vb_ib_tree *t;

		key.sl = (uint8_t)(i % 8);
		key.pkey = (uint16_t)(0x8000 | (i + 1));
		t = vb_ib_tree_get(map, own, &key);
		assert_memory_equal(&t->key, &key, sizeof key);
		vb_ib_tree_count(own, t, 1, 10);
	}
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(B1)->multicast_rcv, 8 * VB_IB_TREES);
	assert_int_equal(counters(B1)->rcv_data, 80 * VB_IB_TREES);
}

/* Keys that differ in one part have a route each: all that a packet is sent by counts. */
static void routes__are_of_a_whole_key(void **state)
{
	struct vb_ib_key first = key;

	(void)state;
	for (int part = 0; part < 5; part++) {
		const struct vb_ib_route *r;

		key = first;
		key.port = part == 0 ? B1 : A1;
		key.dlid = part == 1 ? LID_T : LID_B;
		key.pkey = part == 2 ? 0x8001 : 0xffff;
		key.sl = part == 3 ? 1 : 3;
		key.mtu = part == 4 ? 1 : 5;
		r = vb_ib_route_get(map, own, &key);
		assert_memory_equal(&r->key, &key, sizeof key);
		(void)vb_ib_route_get(map, own, &first);
		assert_memory_equal(&vb_ib_route_get(map, own, &key)->key, &key, sizeof key);
	}
}

/* A place that has never been used is no route, though all of its key is zero. */
static void routes__begin_unused(void **state)
{
	const struct vb_ib_key none = {.port = 0};

	(void)state;
	assert_int_equal(vb_ib_route_get(map, own, &none)->mtu, UINT8_MAX);
	assert_int_equal(vb_ib_route_get(map, own, &none)->fate, VB_IB_SENT_NOT);
}

/* While the fabric's process holds the lock and is stopped, a sender goes on. */
static void routes__are_found_without_the_lock(void **state)
{
	(void)state;
	own->lock = 1;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_ARRIVES);
	assert_int_equal(own->lock, 1); /* it is not the sender's to give back */
	key.dlid = GROUP;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	assert_int_equal(copies_at(vb_ib_tree_get(map, own, &key), B1, VB_IB_ARRIVES), 1);
	assert_int_equal(own->lock, 1);
	own->lock = 0;
	map->generation += 2;
	(void)vb_ib_route_get(map, own, &key);
	(void)vb_ib_tree_get(map, own, &key);
	assert_int_equal(own->lock, 0);
	assert_int_equal(own->is_dirty, 0);
	own->lock = 1;
	own->is_dirty = 1;
	assert_false(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(own->is_dirty, 1); /* later, then */
	own->lock = 0;
}

/* A LID is a port's from its first to its last by the LMC, and no further; no LID is nobody's. */
static void walk__to_each_lid_of_a_port(void **state)
{
	(void)state;
	port(B1)->lid = 8;
	port(B1)->lmc = 2;
	for (uint16_t lid = 0; lid < 16; lid++) {
		vb_ib_map_lft(map, 0)[lid] = 2;
		vb_ib_map_lft(map, 1)[lid] = 2;
	}
	vb_ib_map_nodes(map)[1].unicast_top = vb_ib_map_nodes(map)[2].unicast_top = 15;
	port(A1)->lid = port(S0)->lid = port(T0)->lid = 0;
	for (uint16_t lid = 1; lid < 16; lid++) {
		key.dlid = lid;
		assert_int_equal(walk()->fate, lid >= 8 && lid < 12 ? VB_IB_ARRIVES : VB_IB_LOST);
	}
	key.dlid = 0;
	expect_end(VB_IB_NO_WAY, S1, 1);
	/* The last entry of a table counts. */
	vb_ib_map_nodes(map)[1].unicast_top = 8;
	key.dlid = 8;
	expect_end(VB_IB_ARRIVES, B1, 3);
	key.dlid = 9;
	expect_end(VB_IB_NO_WAY, S1, 1);
}

/* A way has 64 links and no more. LNK-29 */
static void walk__has_64_links(void **state)
{
	const struct vb_ib_route *r;

	(void)state;
	join(S3, T3);
	vb_ib_map_lft(map, 0)[LID_B] = 2;
	vb_ib_map_lft(map, 1)[LID_B] = 3;
	r = walk();
	assert_int_equal(r->hop_cnt, 64);
	/* The 65th would have left by a switch, after 63 links between switches. */
	assert_int_equal(r->at, S2 + (64 - 1) % 2 * (T3 - S2));
	assert_int_equal(r->hop[63].out, (64 - 2) % 2 ? T3 : S2);
}

/* Memory that says what no program writes is looked at with bounds: nothing is counted outside. */
static void add_up__of_numbers_that_are_none(void **state)
{
	struct vb_ib_route *r = &own->route[VB_IB_ROUTES - 1];
	struct vb_ib_tree *t = &own->tree[VB_IB_TREES - 1];

	(void)state;
	*r = (struct vb_ib_route){
	    .fate = VB_IB_SENT_NOT, .at = PORTS, .hop_cnt = UINT32_MAX, .key = {.port = PORTS}};
	for (uint32_t i = 0; i < VB_IB_HOPS_MAX; i++)
		r->hop[i] = (struct vb_ib_hop){.out = PORTS, .in = PORTS + i};
	r->hop[VB_IB_HOPS_MAX - 1] = (struct vb_ib_hop){.out = A1, .in = S1};
	vb_ib_route_count(own, r, 1, 10);
	t->branch_cnt = UINT32_MAX;
	t->branch[VB_IB_BRANCHES - 1] = (struct vb_ib_branch){
	    .hop = {.out = S2, .in = T1}, .fate = VB_IB_RECEIVED_NOT, .at = T1};
	for (uint32_t i = 0; i < VB_IB_BRANCHES - 1; i++)
		t->branch[i] =
		    (struct vb_ib_branch){.hop = {.out = VB_IB_NOWHERE, .in = VB_IB_NOWHERE},
					  .fate = VB_IB_LOST,
					  .at = PORTS};
	vb_ib_tree_count(own, t, 1, 10);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(A1)->xmit_packets, 1);
	assert_int_equal(counters(S1)->rcv_data, 10);
	assert_int_equal(counters(S2)->multicast_xmit, 1);
	assert_int_equal(counters(T1)->multicast_rcv, 1);
	assert_int_equal(counters(T1)->rcv_discards, 1);
	/* A sender that is no port of the map has no LID. */
	port(PORTS)->lid = 0x77;
	r->fate = VB_IB_BARRED_IN;
	r->at = S1;
	r->key = (struct vb_ib_key){.port = PORTS, .dlid = 5, .pkey = 6, .sl = 7};
	vb_ib_route_count(own, r, 1, 10);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(S1)->barred, vb_ib_barred(0, 5, 6, 7));
}

/* A route and a tree are remembered until the map has another generation, and found anew then. */
static void routes__are_found_once_for_a_generation(void **state)
{
	(void)state;
	map->generation = 2;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_ARRIVES);
	assert_int_equal(vb_ib_route_get(map, own, &key)->generation, 2);
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 1);
	assert_int_equal(grow_tree()->generation, 2);
	port(T2)->may_send = false;
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 1);
	key.dlid = LID_B;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_ARRIVES);
	map->generation = 4;
	assert_int_equal(vb_ib_route_get(map, own, &key)->fate, VB_IB_SENT_NOT);
	assert_int_equal(copies_at(grow_tree(), B1, VB_IB_ARRIVES), 0);
}

/* Packets count whatever their length is. */
static void add_up__of_packets_without_words(void **state)
{
	struct vb_ib_route *r = vb_ib_route_get(map, own, &key);
	struct vb_ib_tree *t;

	(void)state;
	vb_ib_route_count(own, r, 2, 0);
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	key.dlid = GROUP;
	t = vb_ib_tree_get(map, own, &key);
	vb_ib_tree_count(own, t, 3, 0);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(B1)->rcv_packets, 5);
	assert_int_equal(counters(B1)->multicast_rcv, 3);
	vb_ib_route_count(own, r, 0, 7);
	vb_ib_tree_count(own, t, 0, 8);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(B1)->rcv_data, 15);
	assert_int_equal(counters(B1)->rcv_packets, 5);
}

/* Numbers of a map that lead outside of it lead nowhere: a node, a table, a port behind the last.
 */
static void walk__not_outside_of_the_map(void **state)
{
	(void)state;
	vb_ib_map_nodes(map)[1].lft = map->lft_cnt;
	expect_end(VB_IB_NO_WAY, S1, 1);
	ports_of_group(1, 0xffff);
	assert_int_equal(copies_at(grow_tree(), S1, VB_IB_NO_WAY), 1);
	vb_ib_map_nodes(map)[1].lft = 0;
	key.dlid = LID_B;
	port(T1)->node = map->node_cnt;
	expect_end(VB_IB_LOST, T1, 2);
	ports_of_group(0, 1 << 2);
	map->generation += 2;
	assert_int_equal(copies_at(grow_tree(), T1, VB_IB_LOST), 1);
	port(T1)->node = 2;
	/* A switch that says that it has more ports than there are. */
	vb_ib_map_nodes(map)[2].port_cnt = 15;
	port(PORTS)->may_send = 1; /* behind the last */
	map->generation += 2;
	for (uint32_t i = 0; i < grow_tree()->branch_cnt; i++)
		assert_true(grow_tree()->branch[i].at < PORTS);
	vb_ib_map_lft(map, 1)[LID_B] = PORTS - T0;
	key.dlid = LID_B;
	expect_end(VB_IB_NO_WAY, T1, 2);
	/* A sender that is no port. */
	key.port = PORTS;
	expect_end(VB_IB_LOST, PORTS, 0);
}

/* A tree that would have more branches than there is room for has those that there is room for. */
static void tree__has_so_many_branches(void **state)
{
	enum { SWITCHES = 20, EACH = 254 };
	struct vb_ib_map head = {.generation = 0}, *wide;
	struct vb_ib_tree *t = calloc(1, sizeof *t);
	const struct vb_ib_key from = {.port = 2, .dlid = GROUP, .pkey = 0xffff};

	(void)state;
	/* A row of switches, each of which copies to all its ports: at most of them nobody is. */
	vb_ib_map_lay_out(&head, SWITCHES, SWITCHES * (EACH + 1), SWITCHES, EACH + 1, PAGE);
	wide = calloc(1, head.size);
	assert_non_null(wide);
	assert_non_null(t);
	*wide = head;
	for (uint32_t n = 0; n < SWITCHES; n++) {
		uint32_t first = n * (EACH + 1);

		vb_ib_map_nodes(wide)[n] = (struct vb_ib_map_node){
		    .first_port = first, .lft = n, .port_cnt = EACH, .is_switch = 1};
		memset(&vb_ib_map_mft(wide, n)[GROUP - 0xc000], 0xff,
		       sizeof(struct vb_ib_map_mask));
		for (uint32_t p = 0; p <= EACH; p++)
			vb_ib_map_ports(wide)[first + p] = (struct vb_ib_map_port){
			    .node = n,
			    .peer = p == 2 && n + 1 < SWITCHES ? first + EACH + 2
				    : p == 1 && n              ? first - EACH + 1
							       : VB_IB_NOWHERE,
			    .number = (uint8_t)p,
			    .may_send = 1,
			    .may_receive = 1,
			    .mtu = 5,
			    .lane_cnt = 1};
	}
	vb_ib_walk_tree(wide, &from, t);
	assert_int_equal(t->branch_cnt, VB_IB_BRANCHES);
	/* Each switch but the first copies to all its ports, one after the other. */
	assert_int_equal(t->branch[0].at, EACH + 2);
	assert_int_equal(t->branch[1].at, 2 * (EACH + 1) + 1);
	assert_int_equal(t->branch[2].fate, VB_IB_SENT_NOT);
	assert_int_equal(t->branch[2].at, EACH + 1 + 3);
	assert_int_equal(t->branch[EACH - 1].at, EACH + 1 + EACH);
	free(wide);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    R(tree__has_entries_up_to_the_top),
	    R(tree__of_the_first_and_the_last_lid),
	    R(tree__goes_by_a_default_port),
	    R(tree__reads_each_word_of_a_mask),
	    R(tree__counts_each_end),
	    R(trees__that_lose_their_place_are_counted),
	    R(routes__are_of_a_whole_key),
	    R(routes__begin_unused),
	    R(routes__are_found_without_the_lock),
	    R(walk__to_each_lid_of_a_port),
	    R(walk__has_64_links),
	    R(add_up__of_numbers_that_are_none),
	    R(routes__are_found_once_for_a_generation),
	    R(add_up__of_packets_without_words),
	    R(walk__not_outside_of_the_map),
	    cmocka_unit_test(tree__has_so_many_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
