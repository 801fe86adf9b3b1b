/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets without credits hold up others, and marks relieve them: what was published of it, in
 * shares of a link. Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015:
 * the unfairness of a parking lot and a victim flow, with pauses of Ethernet there and with credits
 * here. FAB-46 FAB-47 FAB-48
 */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <string.h>

#define FLOWS_MAX 8
#define LINK_BPS UINT64_C(100000000000)
#define WARM (5 * VB_MSEC)
#define SPAN (20 * VB_MSEC)

static struct vb_scenario sc;

/* The shares of a link, in thousandths, that flows have when they have come to rest. */
struct shares {
	uint32_t of[FLOWS_MAX], cnt;
};

static void scenario_read(FILE *f, const char *name)
{
	char err[512] = "";

	assert_non_null(f);
	if (vb_scenario_read(&sc, f, name, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

static void shares_measure(struct shares *s)
{
	struct vb_scenario_run run;
	uint64_t before[FLOWS_MAX];
	char err[512] = "";
	vb_time at;

	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	s->cnt = vb_load_flow_cnt(run.load);
	assert_uint_in_range(s->cnt, 1, FLOWS_MAX);
	assert_int_equal(vb_sim_run(run.sim, WARM), 0);
	for (uint32_t i = 0; i < s->cnt; i++)
		before[i] = vb_load_flow_completed(run.load, vb_load_flow(run.load, i));
	assert_int_equal(vb_sim_run(run.sim, WARM + SPAN), 0);
	for (uint32_t i = 0; i < s->cnt; i++) {
		uint64_t bytes =
		    vb_load_flow_completed(run.load, vb_load_flow(run.load, i)) - before[i];

		s->of[i] = (uint32_t)(bytes * 8 * 1000 / (LINK_BPS / VB_SEC * SPAN));
	}
	assert_null(vb_sim_deadlock(run.sim, &at));
	vb_scenario_close(&run);
}

/* Jain's index of the flows from @first on, in thousandths. */
static uint64_t jain(const struct shares *s, uint32_t first)
{
	uint64_t sum = 0, squares = 0;

	for (uint32_t i = first; i < s->cnt; i++) {
		sum += s->of[i];
		squares += (uint64_t)s->of[i] * s->of[i];
	}
	return sum * sum * 1000 / squares / (s->cnt - first);
}

static uint32_t sum_of(const struct shares *s, uint32_t first)
{
	uint32_t sum = 0;

	for (uint32_t i = first; i < s->cnt; i++)
		sum += s->of[i];
	return sum;
}

static void assert_near(uint32_t share, uint32_t published, uint32_t percent)
{
	if (share < published - published * percent / 100 ||
	    share > published + published * percent / 100)
		fail_msg("a share of %u, and %u is published", share, published);
}

/* H4 is at the switch of the receiver and has half of its link (20 of 40 Gb/s), the
 * three others, which come by one cable, share the rest. With congestion control all have a
 * quarter. */
static void parking_lot__is_unfair_without_marks(void **state)
{
	static const char text[] =
	    "link: infiniband\nuntil: 100ms\ninfiniband:\n"
	    "  congestion: {threshold: 16KiB, marking-rate: 7}\n"
	    "topology: {shape: dumbbell, left: 2, right: 3}\ntransport: {mtu: 4096}\nworkload:\n"
	    "  - {shape: single, from: 1, to: 0, bytes: 1GB}\n"
	    "  - {shape: single, from: 2, to: 0, bytes: 1GB}\n"
	    "  - {shape: single, from: 3, to: 0, bytes: 1GB}\n"
	    "  - {shape: single, from: 4, to: 0, bytes: 1GB}\n";
	struct shares s;

	(void)state;
	for (int controlled = 0; controlled < 2; controlled++) {
		scenario_read(fmemopen((void *)(uintptr_t)text, strlen(text), "r"), "s");
		if (!controlled)
			sc.ib.congestion.threshold = 0;
		shares_measure(&s);
		if (!controlled) {
			assert_near(s.of[0], 500, 5);
			for (uint32_t i = 1; i < s.cnt; i++)
				assert_near(s.of[i], 167, 10);
		} else {
			assert_true(jain(&s, 0) >= 970);
			assert_true(sum_of(&s, 0) >= 850);
		}
	}
}

/* 10, 4.5 and 4.5 of 40 Gb/s for 0, 1 and 2 senders at the third switch, whose
 * packets the victim never meets; with congestion control about 20 in each case. */
static void victim__is_held_up_and_relieved(void **state)
{
	static const uint32_t published[] = {250, 112, 112};
	struct shares s;

	(void)state;
	for (uint32_t more = 0; more <= 2; more++)
		for (int controlled = 0; controlled < 2; controlled++) {
			char path[256];

			snprintf(path, sizeof path, "%s/../../scenarios/ib/victim-paper.yaml",
				 TEST_DATA);
			scenario_read(fopen(path, "r"), path);
			assert_int_equal(sc.pattern_cnt, 7);
			sc.pattern_cnt = 5 + more;
			if (!controlled) {
				sc.ib.congestion.threshold = 0;
				shares_measure(&s);
				assert_near(s.of[0], published[more], 20);
			} else {
				shares_measure(&s);
				assert_true(s.of[0] >= 450);
				assert_true(sum_of(&s, 1) >= 850);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parking_lot__is_unfair_without_marks),
	    cmocka_unit_test(victim__is_held_up_and_relieved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
