/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choices of a switch among its next hops, one packet after the other: turns, chance, flowlets,
 * queues and rates. fabric/eth/multipath.h
 */
#include "fabric/eth/multipath.h"
#include "fabric_env.h"

#define HOPS 4
#define SUBNETS 4
#define HOSTS 4

/* Host n hangs at switch n. This one is switch 0; ports 0 to 3 lead to all others. */
struct world {
	struct vb_forward_site site[HOSTS];
	struct vb_forward_map map;
	struct vb_hop_set set[SUBNETS];
	uint32_t hop[HOPS];
	struct vb_forward forward;
	struct vb_port port[HOPS], *by_number[HOPS];
	struct vb_multipath_config cfg;
	struct vb_multipath *m;
	uint32_t used[HOPS];
};

static void world_open(struct world *w, struct vb_multipath_config cfg)
{
	memset(w, 0, sizeof *w);
	w->cfg = cfg;
	for (uint32_t i = 0; i < HOPS; i++) {
		w->site[i] = (struct vb_forward_site){i, 0};
		w->set[i] = (struct vb_hop_set){0, HOPS};
		w->hop[i] = i;
		w->by_number[i] = &w->port[i];
		w->port[i].rate_bps = UINT64_C(100000000000);
	}
	w->map = (struct vb_forward_map){VB_FLOW_ADDRESS, HOSTS, w->site};
	w->forward = (struct vb_forward){.map = &w->map, .set = w->set, .hop = w->hop};
	w->m = calloc(1, vb_multipath_size(&w->cfg, SUBNETS));
	assert_non_null(w->m);
	vb_multipath_init(w->m, &w->cfg, SUBNETS, vb_rng_stream(1, "test", 0));
}

/* The hop of a packet of flow @flow to host @to. */
static uint32_t choose(struct world *w, uint32_t to, uint32_t flow, vb_time now)
{
	struct vb_frame f = {
	    .to = VB_FLOW_ADDRESS + to,
	    .hash = vb_flow_hash(VB_FLOW_ADDRESS, VB_FLOW_ADDRESS + to, (uint16_t)flow)};
	uint32_t port = vb_multipath_port(w->m, &w->forward, w->by_number, &f, now);

	assert_true(port < HOPS);
	w->used[port]++;
	return port;
}

/* The hop that the hash chooses. */
static uint32_t hashed(const struct world *w, uint32_t to, uint32_t flow)
{
	return vb_forward_port(&w->forward, VB_FLOW_ADDRESS + to,
			       vb_flow_hash(VB_FLOW_ADDRESS, VB_FLOW_ADDRESS + to, (uint16_t)flow));
}

static void hop__that_is_the_only_one_is_taken(void **state)
{
	(void)state;
	for (int kind = VB_MULTIPATH_SPRAY; kind < VB_MULTIPATH_KINDS; kind++) {
		static struct world w;
		struct vb_frame f = {.to = VB_FLOW_ADDRESS};

		world_open(&w, (struct vb_multipath_config){
				   .kind = kind, .flowlet_cnt = 1, .queue_step = 1});
		w.set[1] = (struct vb_hop_set){2, 1};
		w.set[2].cnt = 0;
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(choose(&w, 1, i, i), 2);
		/* The host at the switch itself, whose port is 0. */
		assert_int_equal(vb_multipath_port(w.m, &w.forward, w.by_number, &f, 0), 0);
		f.to = VB_FLOW_ADDRESS + 2;
		assert_true(vb_multipath_port(w.m, &w.forward, w.by_number, &f, 0) ==
			    VB_FORWARD_NONE);
		f.to = VB_FLOW_ADDRESS + HOSTS;
		assert_true(vb_multipath_port(w.m, &w.forward, w.by_number, &f, 0) ==
			    VB_FORWARD_NONE);
		free(w.m);
	}
}

/* Packets to each subnet take the hops in turn, also where those to two come one by one. */
static void spray__takes_hops_in_turn(void **state)
{
	static struct world w;
	uint32_t one[HOPS] = {0}, other[HOPS] = {0};

	(void)state;
	world_open(&w, (struct vb_multipath_config){.kind = VB_MULTIPATH_SPRAY});
	for (uint32_t i = 0; i < 40; i++) {
		one[choose(&w, 1, 7, 0)]++;
		other[choose(&w, 2, 7, 0)]++;
	}
	for (uint32_t i = 0; i < HOPS; i++) {
		assert_int_equal(one[i], 10);
		assert_int_equal(other[i], 10);
	}
	/* A hop fewer, as when a cable has gone: the others in turn. */
	w.set[1].cnt = 3;
	memset(w.used, 0, sizeof w.used);
	for (uint32_t i = 0; i < 30; i++)
		(void)choose(&w, 1, 7, 0);
	assert_int_equal(w.used[3], 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(w.used[i], 10);
	free(w.m);
}

static void random_spray__is_even_and_repeated_by_its_seed(void **state)
{
	static struct world w, again;
	uint32_t same = 0;

	(void)state;
	world_open(&w, (struct vb_multipath_config){.kind = VB_MULTIPATH_RANDOM});
	world_open(&again, w.cfg);
	for (uint32_t i = 0, last = HOPS; i < 4000; i++) {
		uint32_t port = choose(&w, 1, 7, 0);

		assert_int_equal(choose(&again, 1, 7, 0), port);
		same += port == last;
		last = port;
	}
	for (uint32_t i = 0; i < HOPS; i++)
		assert_uint_in_range(w.used[i], 900, 1100);
	assert_uint_in_range(same, 900, 1100);
	free(w.m);
	free(again.m);
}

/* A flow keeps its hop while its pauses are no longer than the gap; behind longer ones it may have
 * another. */
static void flowlet__ends_with_a_pause(void **state)
{
	static struct world w;
	uint32_t changes = 0, last;
	vb_time now = 0;

	(void)state;
	world_open(&w, (struct vb_multipath_config){.kind = VB_MULTIPATH_FLOWLET,
						    .flowlet_gap = 50 * VB_USEC,
						    .flowlet_cnt = 64});
	last = choose(&w, 1, 7, now);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(choose(&w, 1, 7, now += 50 * VB_USEC), last);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t port = choose(&w, 1, 7, now += 50 * VB_USEC + 1);

		changes += port != last;
		last = port;
	}
	assert_uint_in_range(changes, 260, 340);
	/* The next set may be another one: the flowlet goes by it at once. */
	w.set[1] = (struct vb_hop_set){2, 2};
	for (uint32_t i = 0; i < 10; i++)
		assert_true(choose(&w, 1, 7, now) >= 2);
	free(w.m);
}

/* At the very beginning flows have their own choices; the table has no more entries than it says,
 * and flows that share one go the same way. */
static void flowlets__are_in_a_bounded_table(void **state)
{
	static struct world w;

	(void)state;
	world_open(&w, (struct vb_multipath_config){.kind = VB_MULTIPATH_FLOWLET,
						    .flowlet_gap = VB_USEC,
						    .flowlet_cnt = 1024});
	for (uint32_t i = 0; i < 400; i++)
		(void)choose(&w, 1, i, 0);
	for (uint32_t i = 0; i < HOPS; i++)
		assert_uint_in_range(w.used[i], 60, 140);
	free(w.m);
	world_open(&w, (struct vb_multipath_config){
			   .kind = VB_MULTIPATH_FLOWLET, .flowlet_gap = VB_USEC, .flowlet_cnt = 1});
	assert_int_equal(vb_multipath_size(&w.cfg, SUBNETS), 64);
	for (uint32_t i = 0; i < 400; i++)
		(void)choose(&w, 1, i, 0);
	for (uint32_t i = 0; i < HOPS; i++)
		assert_true(w.used[i] == 0 || w.used[i] == 400);
	free(w.m);
}

static void adaptive__takes_the_shortest_queue(void **state)
{
	static struct world w;

	(void)state;
	world_open(&w,
		   (struct vb_multipath_config){.kind = VB_MULTIPATH_ADAPTIVE, .queue_step = 1000});
	/* Of equal ones the hop of the hash, also within a step. */
	w.port[1].lane[0].bytes = 999;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(choose(&w, 1, i, 0), hashed(&w, 1, i));
	for (uint32_t i = 0; i < HOPS; i++)
		assert_true(w.used[i] > 0);
	for (uint32_t i = 0; i < HOPS; i++)
		w.port[i].lane[0].bytes = i == 2 ? 4999 : 5000;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(choose(&w, 1, i, 0), 2);
	/* Queues of other priorities are not the packet's. */
	w.port[3].lane[0].bytes = 0;
	w.port[3].lane[5].bytes = 1 << 20;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(choose(&w, 1, i, 0), 3);
	free(w.m);
}

/* A cable that is apart swallows what is sent into it: its queue is always empty, and would take
 * all packets until routes have followed. */
static void adaptive__avoids_a_cable_that_is_apart(void **state)
{
	static struct world w;

	(void)state;
	world_open(&w,
		   (struct vb_multipath_config){.kind = VB_MULTIPATH_ADAPTIVE, .queue_step = 1});
	for (uint32_t i = 0; i < HOPS; i++)
		w.port[i].lane[0].bytes = i == 1 ? 0 : UINT32_MAX;
	w.port[1].cable.down = true;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_not_equal(choose(&w, 1, i, 0), 1);
	/* With no other one it is as good as any. */
	for (uint32_t i = 0; i < HOPS; i++)
		w.port[i].cable.down = true;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(choose(&w, 1, i, 0), hashed(&w, 1, i));
	free(w.m);
}

static void adaptive__has_ties_at_random(void **state)
{
	static struct world w;

	(void)state;
	world_open(&w, (struct vb_multipath_config){
			   .kind = VB_MULTIPATH_ADAPTIVE, .queue_step = 1, .random_ties = 1});
	for (uint32_t i = 0; i < 4000; i++)
		(void)choose(&w, 1, 7, 0);
	for (uint32_t i = 0; i < HOPS; i++)
		assert_uint_in_range(w.used[i], 900, 1100);
	free(w.m);
}

/* Flows are spread as the rates of the links are, and each keeps its own. */
static void weighted__goes_by_rates(void **state)
{
	static const uint64_t gbps[HOPS] = {100, 25, 400, 10};
	static struct world w;
	uint64_t total = 535;

	(void)state;
	world_open(&w, (struct vb_multipath_config){.kind = VB_MULTIPATH_WEIGHTED});
	for (uint32_t i = 0; i < HOPS; i++)
		w.port[i].rate_bps = gbps[i] * UINT64_C(1000000000);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(choose(&w, 1, i, 0), choose(&w, 1, i, 1));
	for (uint32_t i = 0; i < HOPS; i++) {
		uint32_t due = (uint32_t)(40000 * gbps[i] / total);

		assert_uint_in_range(w.used[i], due * 85 / 100, due * 115 / 100);
	}
	free(w.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hop__that_is_the_only_one_is_taken),
	    cmocka_unit_test(spray__takes_hops_in_turn),
	    cmocka_unit_test(random_spray__is_even_and_repeated_by_its_seed),
	    cmocka_unit_test(flowlet__ends_with_a_pause),
	    cmocka_unit_test(flowlets__are_in_a_bounded_table),
	    cmocka_unit_test(adaptive__takes_the_shortest_queue),
	    cmocka_unit_test(adaptive__avoids_a_cable_that_is_apart),
	    cmocka_unit_test(adaptive__has_ties_at_random),
	    cmocka_unit_test(weighted__goes_by_rates),
	};

	return cmocka_run_group_tests_name("fabric_multipath", tests, NULL, NULL);
}
