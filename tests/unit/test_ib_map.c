/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a fabric shares with the programs at its nodes: where its parts lie, what adding
 * up does beside a program, and the groups that a program's port listens to. link/ib/map.h
 */
#include "cmocka_env.h"
#include "link/ib/ib.h"
#include "link/ib/route.h"
#include "wire/ib/lrh.h"

#include <errno.h>
#include <stdlib.h>

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

/* Each part has room for what it holds, and the next one begins behind it; what programs write has
 * pages of its own. */
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

/* A map of which any number is another one is not taken: programs would read beside it. */
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

/* What a program has counted is left to it while it has its lock, and is not forgotten; once it has
 * ended nobody holds the lock any more. */
static void add_up__beside_a_program_with_the_lock(void **state)
{
	struct vb_ib_routes *all = vb_ib_map_routes(map, 5);
	struct vb_ib_route *r = &all->route[0];

	(void)state;
	*r = (struct vb_ib_route){.fate = VB_IB_ARRIVES, .hop_cnt = 1, .hop[0] = {1, 2}};
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

/* A port listens to a multicast LID from the first of its QPs that does to the last; of LIDs
 * without an entry there is none. FAB-57 */
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
	/* Nobody is waited for who has no ring. */
	assert_true(vb_link_rx_credit(l, 5, 0, &room));
	assert_int_equal(room, UINT32_MAX);
	l->ops->close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(lay_out__parts_stand_apart, begin, end),
	    cmocka_unit_test_setup_teardown(is_whole__by_every_number, begin, end),
	    cmocka_unit_test_setup_teardown(add_up__beside_a_program_with_the_lock, begin, end),
	    cmocka_unit_test_setup_teardown(join__from_the_first_to_the_last, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
