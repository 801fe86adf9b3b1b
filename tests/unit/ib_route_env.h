/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of a small fabric: two hosts, and two switches between them: A1 - S1, S2 - T1, T2 - B1.
 */
#ifndef VB_TESTS_UNIT_IB_ROUTE_ENV_H
#define VB_TESTS_UNIT_IB_ROUTE_ENV_H

#include "link/ib/ib.h"
#include "link/ib/route.h"
#include "wire/be.h"

#include "cmocka_env.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
enum { A1 = 1, S0 = 2, S1, S2, S3, T0, T1, T2, T3, B0, B1, PORTS };
enum { LID_A = 1, LID_S, LID_T, LID_B /* and the next one */ };
#define LANES 8u

static struct vb_ib_map *map;
static struct vb_ib_routes *own;
static struct vb_ib_key key;

static inline struct vb_ib_map_port *port(uint32_t i)
{
	return &vb_ib_map_ports(map)[i];
}

static inline void join(uint32_t a, uint32_t b)
{
	port(a)->peer = b;
	port(b)->peer = a;
}

static inline void node_make(uint32_t n, uint32_t first, uint8_t port_cnt, bool is_switch,
			     uint32_t *lanes)
{
	vb_ib_map_nodes(map)[n] = (struct vb_ib_map_node){.first_port = first,
							  .lft = n - 1,
							  .unicast_top = LID_B + 1,
							  .multicast_primary = 255,
							  .multicast_other = 255,
							  .port_cnt = port_cnt,
							  .is_switch = is_switch};
	for (uint8_t i = 0; i <= port_cnt; i++) {
		*port(first + i) = (struct vb_ib_map_port){.node = n,
							   .peer = VB_IB_NOWHERE,
							   .sl2vl = *lanes,
							   .number = i,
							   .may_send = i != 0,
							   .may_receive = i != 0,
							   .mtu = 5,
							   .lane_cnt = LANES,
							   .pkey = {0xffff}};
		*lanes += is_switch ? port_cnt + 1u : 1u;
	}
}

static inline int begin(void **state)
{
	struct vb_ib_map head = {.generation = 0};
	uint32_t lanes = 0;

	(void)state;
	vb_ib_map_lay_out(&head, 4, PORTS, 2, 36, PAGE);
	map = calloc(1, head.size);
	*map = head;
	node_make(0, 0, 1, false, &lanes);
	node_make(1, S0, 3, true, &lanes);
	node_make(2, T0, 3, true, &lanes);
	node_make(3, B0, 1, false, &lanes);
	assert_int_equal(lanes, 36);
	join(A1, S1);
	join(S2, T1);
	join(T2, B1);
	port(A1)->lid = LID_A;
	port(S0)->lid = LID_S;
	port(T0)->lid = LID_T;
	port(B1)->lid = LID_B;
	port(B1)->lmc = 1;
	memcpy(vb_ib_map_lft(map, 0), (uint8_t[]){255, 1, 0, 2, 2, 2}, 6);
	memcpy(vb_ib_map_lft(map, 1), (uint8_t[]){255, 1, 1, 0, 2, 2}, 6);
	own = vb_ib_map_routes(map, 7);
	key = (struct vb_ib_key){.port = A1, .dlid = LID_B, .pkey = 0xffff, .sl = 3, .mtu = 5};
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	free(map);
	return 0;
}

static inline const struct vb_ib_route *walk(void)
{
	static struct vb_ib_route r;

	memset(&r, 0x55, sizeof r);
	vb_ib_walk(map, &key, &r);
	return &r;
}

static inline void expect_end(enum vb_ib_fate fate, uint32_t at, uint32_t hops)
{
	const struct vb_ib_route *r = walk();

	assert_int_equal(r->fate, fate);
	assert_int_equal(r->at, at);
	assert_int_equal(r->hop_cnt, hops);
}

static inline const struct vb_ib_map_counters *counters(uint32_t i)
{
	return &vb_ib_map_counters(map)[i];
}

#define GROUP 0xc003u

static inline void ports_of_group(uint32_t table, uint16_t ports)
{
	vb_ib_map_mft(map, table)[GROUP - 0xc000].word[0] = ports;
}

static inline const struct vb_ib_tree *grow_tree(void)
{
	key.dlid = GROUP;
	return vb_ib_tree_get(map, own, &key);
}

static inline uint32_t copies_at(const struct vb_ib_tree *t, uint32_t at, enum vb_ib_fate fate)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->branch_cnt; i++)
		n += t->branch[i].at == at && t->branch[i].fate == fate;
	return n;
}

#define R(f) cmocka_unit_test_setup_teardown(f, begin, end)

#endif
