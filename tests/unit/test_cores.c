/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulation on several threads comes to the run on one: cases of test_sim_parts.c with the
 * threads of scenario/cores/team.h, and memory that they share. The thread sanitizer looks on.
 */
#include "sim_parts_env.h"

#include "scenario/cores/team.h"

#include <errno.h>

#define CASES 12u
#define FOLLOWING 24u

static int team_run(struct vb_sim *s, vb_time until)
{
	int err;

	if (vb_sim_part_cnt(s) == 1)
		return vb_sim_run(s, until);
	err = vb_team_run(s, until, NULL);
	return err ? err : vb_sim_run(s, until);
}

static void run__on_threads_is_the_run_on_one(void **state)
{
	struct parts_end *one = malloc(sizeof *one), *many = malloc(sizeof *many);

	(void)state;
	assert_true(one && many);
	for (uint64_t seed = 101; seed <= 100 + CASES; seed++) {
		const struct parts_case c = parts_case_of(seed);

		(void)parts_play(&c, 1, vb_sim_run, one);
		for (uint32_t parts = 2; parts <= 4; parts++) {
			(void)parts_play(&c, parts, team_run, many);
			parts_compare(one, many);
		}
	}
	for (uint64_t seed = 1; seed <= FOLLOWING; seed++) {
		const struct parts_case c = parts_case_following(seed);

		(void)parts_play(&c, 1, vb_sim_run, one);
		for (uint32_t parts = 2; parts <= 3; parts++) {
			(void)parts_play(&c, parts, team_run, many);
			parts_compare(one, many);
		}
	}
	free(one);
	free(many);
}

static void window_count(void *ctx)
{
	++*(uint32_t *)ctx;
}

/* A run out of packets ends for all threads, and the caller is asked between windows. */
static void run__out_of_packets_ends(void **state)
{
	struct parts_case c = parts_case_of(1);
	const struct vb_load_config load = parts_load(&c);
	struct vb_load_pattern p = {.shape = VB_LOAD_ALL_TO_ALL, .bytes = 100000};
	struct vb_sim_config cfg = parts_config(&c);
	struct vb_cable host = net_cable(25, 500);
	uint32_t windows = 0;
	const struct vb_team_watch watch = {window_count, &windows};
	uint16_t part_of[16];
	struct vb_load *l;
	struct net n;

	(void)state;
	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 3, 3, &host, &host), 0);
	cfg.part_cnt = vb_sim_partition(&n.topo, 2, NULL, part_of);
	cfg.part_of = part_of;
	cfg.packets_max = 40;
	net_open(&n, &cfg);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	assert_int_equal(vb_load_add(l, &p), 0);
	assert_int_equal(vb_team_run(n.sim, VB_NEVER, &watch), -ENOMEM);
	assert_true(windows > 0);
	vb_load_destroy(l);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(run__on_threads_is_the_run_on_one),
	    cmocka_unit_test(run__out_of_packets_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
