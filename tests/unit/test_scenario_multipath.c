/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choices of switches among next hops in whole runs: scenarios/multipath/permutation.yaml by
 * each of them, cables that go and come back, and the keys.
 */
#include "cmocka_env.h"
#include "scenario/override.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

#define SET_MAX 6

struct setting {
	const char *path, *value;
};

static struct vb_scenario sc;

static void open_with(struct vb_scenario_run *run, FILE *f, const struct setting *set)
{
	struct vb_scenario_override with[SET_MAX];
	char err[1024] = "";
	uint32_t cnt = 0;

	assert_non_null(f);
	for (; cnt < SET_MAX && set[cnt].path; cnt++)
		with[cnt] = (struct vb_scenario_override){set[cnt].path, set[cnt].value};
	if (vb_scenario_read_with(&sc, f, "s.yaml", with, cnt, err, sizeof err) ||
	    vb_scenario_open(run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

static void report_of(struct vb_scenario_run *run, struct vb_report *r)
{
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_report_make(r, run->load, run->sim, &run->memory), 0);
	assert_int_equal(r->failed, 0);
}

/* The permutation with these values. */
static struct vb_report permute(const struct setting *set)
{
	struct vb_scenario_run run;
	struct vb_report r;

	open_with(&run, fopen(TEST_DATA "/../../scenarios/multipath/permutation.yaml", "r"), set);
	report_of(&run, &r);
	assert_int_equal(r.drops, 0);
	vb_scenario_close(&run);
	return r;
}

static uint64_t resent_of(const struct vb_report *r)
{
	return r->counters.v[VB_COUNTER_retransmitted_packets];
}

static uint64_t goodput_gbps(const char *routing, const char *repeat)
{
	const struct setting set[SET_MAX] = {
	    {"switch.routing", routing}, {"transport.recovery.selective_repeat_forced_en", repeat}};

	return permute(set).goodput_bps / 1000000000;
}

/* Sixteen hosts at 80 Gb/s, 1280 Gb/s together, of which 2 % are headers. */
static void permutation__collides_by_ecmp_and_not_when_sprayed(void **state)
{
	static const struct setting ties[SET_MAX] = {{"switch.routing", "adaptive"},
						     {"switch.adaptive-ties", "random"}};
	static const struct setting spread[SET_MAX] = {
	    {"switch.routing", "adaptive"},
	    {"transport.recovery.adaptive_routing_forced_en", "true"}};
	uint64_t ecmp = goodput_gbps("ecmp", "true");

	(void)state;
	assert_uint_in_range(ecmp, 600, 750);
	assert_int_equal(goodput_gbps("weighted", "true"), ecmp); /* all links are alike */
	assert_true(goodput_gbps("spray", "true") > 1280 * 95 / 100);
	assert_true(goodput_gbps("random-spray", "true") > 1280 * 80 / 100);
	/* A flow that finds its queue no longer than others stays, and meets others further on:
	 * with ties at random, or flows that adapters spread, less often. */
	assert_true(goodput_gbps("adaptive", "true") > ecmp * 115 / 100);
	assert_true(permute(spread).goodput_bps / 1000000000 > ecmp * 130 / 100);
	assert_true(permute(ties).goodput_bps / 1000000000 > 1280 * 85 / 100);
}

/* Packets that come out of order are lost ones to go-back-N: most of what hosts send they send
 * again. */
static void sprayed_packets__take_selective_repeat(void **state)
{
	static const char *const routings[] = {"random-spray", "adaptive"};
	static const struct setting back[SET_MAX] = {
	    {"switch.routing", "random-spray"},
	    {"transport.recovery.selective_repeat_forced_en", "false"}};
	struct vb_report r = permute(back);

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		assert_true(goodput_gbps(routings[i], "false") * 2 <
			    goodput_gbps(routings[i], "true"));
	assert_true(goodput_gbps("spray", "false") * 3 < goodput_gbps("spray", "true") * 2);
	assert_true(r.goodput_bps < UINT64_C(300000000000));
	assert_true(resent_of(&r) * 3 > r.counters.v[VB_COUNTER_port_xmit_packets]);
}

/* A flow at full rate has no pauses: whole flows move only where it is held back. With a gap as
 * short as that they move, and arrive out of order now and then. */
static void flowlets__move_where_there_are_pauses(void **state)
{
	static const struct setting wide[SET_MAX] = {{"switch.routing", "flowlet"}};
	static const struct setting narrow[SET_MAX] = {{"switch.routing", "flowlet"},
						       {"switch.flowlet-gap", "500ns"}};
	struct vb_report a = permute(wide), b = permute(narrow);

	(void)state;
	assert_int_equal(resent_of(&a), 0);
	assert_true(resent_of(&b) > 0);
	assert_true(b.goodput_bps > a.goodput_bps);
}

/* Where all switches mix hashes alike, the second tier chooses as the first did: of its hops each
 * switch takes one. */
static void hash__that_is_the_same_everywhere_polarises(void **state)
{
	static const struct setting same[SET_MAX] = {{"switch.routing", "ecmp"},
						     {"switch.hash-same", "true"}};
	static const struct setting own[SET_MAX] = {{"switch.routing", "ecmp"}};
	static const struct setting seven[SET_MAX] = {{"switch.routing", "ecmp"},
						      {"switch.hash-seed", "7"}};
	static const struct setting one[SET_MAX] = {{"switch.routing", "ecmp"},
						    {"switch.hash-seed", "1"}};
	const struct setting *const sets[] = {own, same};
	uint32_t idle[2] = {0};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		struct vb_report r;

		open_with(&run, fopen(TEST_DATA "/../../scenarios/multipath/permutation.yaml", "r"),
			  sets[i]);
		report_of(&run, &r);
		for (uint32_t port = 0; port < vb_sim_port_cnt(run.sim); port++) {
			struct vb_port_stats st;

			vb_sim_port_stats(run.sim, port, &st);
			idle[i] += st.tx_pkts == 0;
		}
		vb_scenario_close(&run);
	}
	/* An uplink of each of eight switches, and the links down from two of four on top. */
	assert_true(idle[1] >= 8 + 8);
	assert_true(idle[0] < idle[1]);
	/* A seed of its own leaves all else as it is: with the run's own the run is the same. */
	assert_int_equal(permute(one).digest, permute(own).digest);
	assert_true(permute(seven).digest != permute(own).digest);
}

/* A leaf has two spines, one of which loses its link and has it back, for a while before routes
 * follow too. Flows end by each choice, and use both spines again. */
static void choices__follow_links_that_go_and_come_back(void **state)
{
	static const char text[] =
	    "topology: {shape: clos, leaves: 2, spines: 2, hosts: 4, reroute: 20us}\n"
	    "switch: {buffer: 4MB}\n"
	    "transport: {mtu: 4096, timeout: 6, window: 128KiB, message: 64KiB, recovery: "
	    "{selective_repeat_forced_en: true}}\n"
	    "data: true\n"
	    "links: [{cable: 8, down: 100us, up: 500us}]\n"
	    "workload: {shape: all-to-all, bytes: 2MB}\n";
	static const char *const routings[] = {"ecmp",    "spray",    "random-spray",
					       "flowlet", "adaptive", "weighted"};

	(void)state;
	for (uint32_t i = 0; i < sizeof routings / sizeof routings[0]; i++) {
		const struct setting set[SET_MAX] = {{"switch.routing", routings[i]}};
		struct vb_port_stats lost, gone, end;
		struct vb_scenario_run run;
		struct vb_report r;

		open_with(&run, fmemopen((void *)(uintptr_t)text, strlen(text), "r"), set);
		assert_int_equal(vb_sim_run(run.sim, 200 * VB_USEC), 0);
		vb_sim_port_stats(run.sim, 16, &lost); /* of the leaf, at cable 8 */
		assert_int_equal(vb_sim_run(run.sim, 500 * VB_USEC), 0);
		vb_sim_port_stats(run.sim, 16, &gone);
		report_of(&run, &r);
		vb_sim_port_stats(run.sim, 16, &end);
		assert_int_equal(r.done, r.flows);
		assert_int_equal(vb_load_damaged(run.load), 0);
		assert_true(lost.tx_pkts > 100);
		assert_int_equal(gone.tx_pkts, lost.tx_pkts);
		assert_true(end.tx_pkts > gone.tx_pkts + 100);
		vb_scenario_close(&run);
	}
}

static void keys__say_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"switch: {routing: valiant}", "s.yaml:1:19: routing is ecmp, spray, random-spray, "
					   "flowlet, adaptive or weighted, not "
					   "\"valiant\""},
	    {"switch: {flowlet-gap: 5us}", "s.yaml:1:23: flowlet-gap takes routing: flowlet"},
	    {"switch: {routing: spray, flowlets: 8}",
	     "s.yaml:1:36: flowlets takes routing: flowlet"},
	    {"switch: {routing: flowlet, flowlets: 0}",
	     "s.yaml:1:38: flowlets is 1 to 1048576, not 0"},
	    {"switch: {routing: flowlet, flowlet-gap: 5}",
	     "s.yaml:1:41: flowlet-gap is a time such as 500ns, 1.5us or 10ms, not \"5\""},
	    {"switch: {routing: flowlet, adaptive-step: 8}",
	     "s.yaml:1:43: adaptive-step takes routing: adaptive"},
	    {"switch: {adaptive-ties: hash}", "s.yaml:1:25: adaptive-ties takes routing: adaptive"},
	    {"switch: {routing: adaptive, adaptive-ties: first}",
	     "s.yaml:1:44: adaptive-ties is hash or random, not \"first\""},
	    {"switch: {routing: adaptive, adaptive-step: 0}",
	     "s.yaml:1:44: adaptive-step is 1 to 4294967295, not 0"},
	    {"switch: {hash-same: 1}", "s.yaml:1:21: hash-same is true or false"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char text[256], err[1024] = "";
		FILE *f;

		snprintf(text, sizeof text, "%s\nworkload: {shape: single}\n", t[i].text);
		f = fmemopen(text, strlen(text), "r");
		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, "s.yaml", err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(permutation__collides_by_ecmp_and_not_when_sprayed),
	    cmocka_unit_test(sprayed_packets__take_selective_repeat),
	    cmocka_unit_test(flowlets__move_where_there_are_pauses),
	    cmocka_unit_test(hash__that_is_the_same_everywhere_polarises),
	    cmocka_unit_test(choices__follow_links_that_go_and_come_back),
	    cmocka_unit_test(keys__say_what_is_wrong),
	};

	return cmocka_run_group_tests_name("scenario_multipath", tests, NULL, NULL);
}
