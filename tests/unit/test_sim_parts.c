/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network whose switches are run apart, and one that is cut into parts and run window by window,
 * come to the run of all machines in one queue: the same digest, the same counts, flows and ports.
 * Over shapes, loads, faults, PFC, changes of links, kinds of routing and seeds; on one thread.
 * test_cores.c has the threads.
 */
#include "sim_parts_env.h"

#include <errno.h>

#define CASES 40u
#define FOLLOWING 48u

static void run__in_parts_is_the_run_in_one_piece(void **state)
{
	struct parts_end *one = malloc(sizeof *one), *many = malloc(sizeof *many);
	uint32_t cut = 0, pauses = 0, drops = 0, failed = 0, lost = 0, storms = 0;

	(void)state;
	assert_true(one && many);
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		const struct parts_case c = parts_case_of(seed);

		(void)parts_play(&c, 1, parts_in_steps, one);
		pauses += one->r.pauses > 0;
		drops += one->r.drops > 0;
		failed += one->r.failed > 0;
		lost += one->r.faults > 0;
		storms += one->r.storms > 0;
		for (uint32_t parts = 1; parts <= 4; parts++) {
			uint32_t cnt = parts_play(&c, parts, vb_sim_run, many);

			cut += cnt == parts && parts > 1;
			parts_compare(one, many);
		}
	}
	/* The cases are about something. */
	print_message(
	    "%u cuts, pauses in %u, drops in %u, failures in %u, faults in %u, storms in %u\n", cut,
	    pauses, drops, failed, lost, storms);
	assert_true(cut > 2 * CASES && pauses > 4 && drops > 4 && failed > 2 && lost > 9);
	free(one);
	free(many);
}

/* Flows that follow from others begin in their part; records and connections that all share follow
 * when all are still. */
static void run__of_what_follows_is_the_run_in_one_piece(void **state)
{
	struct parts_end *one = malloc(sizeof *one), *many = malloc(sizeof *many);
	uint32_t cut = 0, laps = 0, past = 0, failed = 0, flows = 0;

	(void)state;
	assert_true(one && many);
	for (uint64_t seed = 1; seed <= FOLLOWING; seed++) {
		const struct parts_case c = parts_case_following(seed);

		(void)parts_play(&c, 1, parts_in_steps, one);
		flows += one->r.flows;
		laps += one->lap_cnt;
		past += one->past_cnt > 0;
		failed += one->r.failed > 0;
		for (uint32_t parts = 1; parts <= 4; parts++) {
			uint32_t cnt = parts_play(&c, parts, vb_sim_run, many);

			cut += cnt == parts && parts > 1;
			parts_compare(one, many);
		}
	}
	print_message(
	    "%u flows, %u cuts, %u iterations, records given away in %u, failures in %u\n", flows,
	    cut, laps, past, failed);
	assert_true(flows > 50 * FOLLOWING && cut > 2 * FOLLOWING && laps > FOLLOWING / 5 &&
		    past > FOLLOWING / 8);
	free(one);
	free(many);
}

/* The digest of a flow over two switches whose cable is apart from @at on. */
static uint64_t cut_at(uint32_t parts, vb_time at)
{
	struct vb_cable cable = net_cable(25, 700);
	struct parts_case c = {.seed = 1, .type = VB_QPT_RC};
	struct vb_sim_config cfg = parts_config(&c);
	const struct vb_load_config load = parts_load(&c);
	uint16_t part_of[8];
	uint64_t digest;
	struct vb_load *l;
	struct net n;

	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 1, 1, &cable, &cable), 0);
	cfg.part_cnt = vb_sim_partition(&n.topo, parts, NULL, part_of);
	cfg.part_of = part_of;
	assert_int_equal(cfg.part_cnt, parts);
	net_open(&n, &cfg);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	assert_int_equal(vb_load_add_flow(l, 0, 1, VB_LOAD_SEND, 20000, 0), 0);
	assert_int_equal(vb_sim_plan_link(n.sim, 2, false, at), 0);
	/* A window begins there. */
	assert_int_equal(vb_sim_run(n.sim, at - 1), 0);
	assert_int_equal(vb_sim_run(n.sim, 20000), 0);
	digest = vb_sim_digest(n.sim);
	vb_load_destroy(l);
	net_close(&n);
	return digest;
}

/* A packet takes 357 ns: at one of these instants one arrives at the cable, or at its other end,
 * and a change of that instant comes behind it. */
static void change__at_the_instant_of_an_arrival_comes_behind_it(void **state)
{
	(void)state;
	for (vb_time at = 4000; at < 4400; at++)
		assert_int_equal(cut_at(1, at), cut_at(2, at));
}

/* A window is as long as a frame takes between parts: with any that is longer frames would come too
 * late, which the parts assert; so cables without time are not cut. */
static void cables__without_delay_and_of_hosts_are_not_cut(void **state)
{
	struct vb_cable host = net_cable(25, 500), none = net_cable(25, 0);
	struct vb_sim_config cfg = net_config();
	uint16_t part_of[16] = {0};
	struct vb_sim_topo t;
	struct vb_sim *s;

	(void)state;
	assert_int_equal(vb_sim_topo_dumbbell(&t, &net_memory, 2, 2, &host, &none), 0);
	assert_int_equal(vb_sim_partition(&t, 2, NULL, part_of), 1);
	cfg.topo = &t;
	cfg.memory = net_memory;
	cfg.part_cnt = 2;
	cfg.part_of = part_of;
	part_of[0] = 1; /* a host away from its switch */
	assert_int_equal(vb_sim_create(&s, &cfg), -EINVAL);
	part_of[0] = 2; /* there is no such part */
	assert_int_equal(vb_sim_create(&s, &cfg), -EINVAL);
	part_of[0] = 0;
	cfg.ib.is_used = true;
	assert_int_equal(vb_sim_create(&s, &cfg), -ENOTSUP);
	vb_sim_topo_free(&t);
}

static void partition__shares_ports_out_and_cuts_long_cables(void **state)
{
	struct vb_cable host = net_cable(25, 500), fabric = net_cable(25, 700);
	uint32_t hosts[4] = {0}, cut = 0;
	uint16_t part_of[64];
	struct vb_sim_topo t;
	bool keep[64] = {false};

	(void)state;
	assert_int_equal(vb_sim_topo_fat_tree(&t, &net_memory, 4, &host, &fabric), 0);
	/* The cables of the core are longer than those within a pod. */
	for (uint32_t i = 0; i < t.link_cnt; i++)
		if (t.link[i].a >= 16 + 8 && t.link[i].b >= 16 + 8)
			t.link[i].cable.delay = 5000;
	assert_int_equal(vb_sim_partition(&t, 2, NULL, part_of), 2);
	for (uint32_t i = 0; i < t.host_cnt; i++)
		hosts[part_of[i]]++;
	assert_int_equal(hosts[0], 8);
	assert_int_equal(hosts[1], 8);
	for (uint32_t i = 0; i < t.link_cnt; i++) {
		bool is_cut = part_of[t.link[i].a] != part_of[t.link[i].b];

		cut += is_cut;
		assert_true(!is_cut || (t.link[i].a >= 16 && t.link[i].b >= 16));
	}
	/* Each core switch has two pods on the other side. */
	assert_int_equal(cut, 8);
	assert_int_equal(vb_sim_partition(&t, 4, NULL, part_of), 4);
	memset(keep, true, sizeof keep);
	assert_int_equal(vb_sim_partition(&t, 4, keep, part_of), 1);
	vb_sim_topo_free(&t);
}

static void faults__on_a_cut_cable_are_refused(void **state)
{
	struct vb_cable host = net_cable(25, 500), fabric = net_cable(25, 700);
	struct vb_sim_config cfg = net_config();
	struct vb_fault_spec spec = {.rule_cnt = 0};
	uint16_t part_of[16];
	struct net n;

	(void)state;
	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 2, 2, &host, &fabric), 0);
	cfg.part_cnt = vb_sim_partition(&n.topo, 2, NULL, part_of);
	cfg.part_of = part_of;
	assert_int_equal(cfg.part_cnt, 2);
	net_open(&n, &cfg);
	assert_int_equal(vb_sim_part_cnt(n.sim), 2);
	assert_int_equal(vb_sim_set_cable_fault(n.sim, n.topo.link_cnt - 1, &spec), -EXDEV);
	assert_int_equal(vb_sim_set_cable_fault(n.sim, 0, &spec), 0);
	net_close(&n);
}

static void loads__that_need_one_part_are_refused(void **state)
{
	const struct parts_case c = parts_case_of(1);
	struct vb_load_config load = parts_load(&c);
	struct vb_load_pattern ring = {.shape = VB_LOAD_COLLECTIVE, .bytes = 1000};
	const struct vb_load_pattern single = {.shape = VB_LOAD_SINGLE, .dst = 1, .bytes = 1000};
	struct vb_cable host = net_cable(25, 500);
	struct vb_sim_config cfg = net_config();
	uint16_t part_of[16];
	struct vb_load *l;
	struct net n;

	(void)state;
	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 2, 2, &host, &host), 0);
	cfg.part_cnt = vb_sim_partition(&n.topo, 2, NULL, part_of);
	cfg.part_of = part_of;
	net_open(&n, &cfg);
	load.receive_delay = 1000;
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), -EINVAL);
	load.receive_delay = 0;
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	ring.new_connections = true;
	assert_int_equal(vb_load_add(l, &ring), -EINVAL);
	ring.new_connections = false;
	/* The next iteration would begin at once everywhere. */
	assert_true(vb_sim_lookahead(n.sim) > 500);
	ring.iterations = 2;
	ring.pause = vb_sim_lookahead(n.sim) - 1;
	assert_int_equal(vb_load_add(l, &ring), -EINVAL);
	ring.pause++;
	assert_int_equal(vb_load_add(l, &ring), 0);
	assert_int_equal(vb_load_add(l, &single), 0);
	vb_load_destroy(l);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(run__in_parts_is_the_run_in_one_piece),
	    cmocka_unit_test(run__of_what_follows_is_the_run_in_one_piece),
	    cmocka_unit_test(change__at_the_instant_of_an_arrival_comes_behind_it),
	    cmocka_unit_test(cables__without_delay_and_of_hosts_are_not_cut),
	    cmocka_unit_test(partition__shares_ports_out_and_cuts_long_cables),
	    cmocka_unit_test(faults__on_a_cut_cable_are_refused),
	    cmocka_unit_test(loads__that_need_one_part_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
