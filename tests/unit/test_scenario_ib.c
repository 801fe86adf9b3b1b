/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenarios of scenarios/ib/: each shows what its file says. */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

static struct vb_scenario sc;

static void open_file(struct vb_scenario_run *run, const char *name)
{
	char path[256], err[512] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&sc, f, name, err, sizeof err) ||
	    vb_scenario_open(run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

/* Runs it; every flow ends unless there is a deadlock. */
static void run_file(struct vb_scenario_run *run, const char *name, bool deadlocks)
{
	struct vb_report r;
	vb_time at;

	open_file(run, name);
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_report_make(&r, run->load, run->sim, &run->memory), 0);
	assert_int_equal(vb_sim_deadlock(run->sim, &at) != NULL, deadlocks);
	assert_int_equal(r.drops, 0);
	if (!deadlocks)
		assert_int_equal(r.done, r.flows);
}

static void ring__by_three_routings(void **state)
{
	struct vb_scenario_run run;

	(void)state;
	run_file(&run, "ring-deadlock", true);
	vb_scenario_close(&run);
	run_file(&run, "ring-up-down", false);
	vb_scenario_close(&run);
	run_file(&run, "ring-layers", false);
	vb_scenario_close(&run);
}

/* The flow that shares no output with the incast is held up by it in the same lane, and is not in a
 * lane of its own. */
static void victim__is_saved_by_a_lane(void **state)
{
	static const char *const names[] = {"victim-one-lane", "victim-two-lanes"};
	vb_dur took[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		const struct vb_flow *victim;

		run_file(&run, names[i], false);
		victim = vb_load_flow(run.load, 0);
		assert_int_equal(victim->pattern, 0);
		took[i] = victim->done - victim->start;
		vb_scenario_close(&run);
	}
	assert_true(took[0] > 3 * took[1]);
}

/* A flow whose own cable is free waits behind packets that have no credits; when their sources send
 * what there is room for, it hardly waits. FAB-46 FAB-47 FAB-48 */
static void victim__is_saved_by_congestion_control(void **state)
{
	vb_dur took[2];
	uint64_t goodput[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		char path[256], err[512] = "";
		uint64_t marks = 0, at_root = 0, becns = 0;
		struct vb_scenario_run run;
		struct vb_report r;
		FILE *f;

		snprintf(path, sizeof path, "%s/../../scenarios/ib/victim-congestion.yaml",
			 TEST_DATA);
		f = fopen(path, "r");
		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, "s", err, sizeof err), 0);
		fclose(f);
		if (i == 0)
			sc.ib.congestion.threshold = 0;
		assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), 0);
		assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
		assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
		assert_int_equal(r.done, r.flows);
		assert_int_equal(r.drops, 0);
		for (uint32_t p = 0; p < vb_sim_port_cnt(run.sim); p++) {
			struct vb_sim_ib_stats st;

			assert_true(vb_sim_ib_port_stats(run.sim, p, &st));
			marks += st.marks;
			becns += st.becns;
			if (vb_sim_port_peer(p) == vb_sim_host_port(run.sim, 0))
				at_root += st.marks;
		}
		assert_int_equal(marks > 0, i);
		/* The output to host 0 is the root, and the cable between the switches a victim
		 * that has credits now and then. Each mark is answered. */
		assert_true(at_root >= marks / 10 * 9);
		assert_int_equal(becns, marks);
		goodput[i] = r.goodput_bps;
		took[i] = vb_load_flow(run.load, 0)->done - vb_load_flow(run.load, 0)->start;
		vb_scenario_close(&run);
	}
	assert_true(took[0] > 3 * took[1]);
	assert_true(goodput[1] > goodput[0] / 10 * 9);
}

static void open_text(struct vb_scenario_run *run, const char *text)
{
	char err[512] = "";
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	if (vb_scenario_read(&sc, f, "s", err, sizeof err) ||
	    vb_scenario_open(run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
}

/* Each transport of the core moves all bytes; of those that are acknowledged they are compared. */
static void transports__of_flows(void **state)
{
	static const char *const types[] = {"rc", "uc", "ud", "xrc", "dc"};

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct vb_scenario_run run;
		struct vb_report r;
		char text[512];

		snprintf(text, sizeof text,
			 "link: infiniband\ndata: true\ntopology: {shape: star, hosts: 4}\n"
			 "transport: {type: %s, message: 64kB}\nworkload:\n"
			 "  - {shape: all-to-all, bytes: 300kB, mix: {send: 1}}\n"
			 "  - {shape: single, from: 1, to: 2, bytes: 300kB, start: 1ms, mix: "
			 "{send: 1}}\n",
			 types[i]);
		open_text(&run, text);
		assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
		assert_int_equal(r.done, 13);
		assert_int_equal(r.bytes, 13 * 300000);
		assert_int_equal(vb_load_damaged(run.load), 0);
		for (uint32_t k = 0; k < r.flows; k++)
			assert_true(vb_load_flow(run.load, k)->delivered != VB_NEVER);
		/* The last flow takes the connection of one before. */
		assert_int_equal(vb_load_connection_cnt(run.load), 12);
		/* A datagram is a packet. */
		if (strcmp(types[i], "ud") == 0)
			assert_int_equal(vb_load_flow(run.load, 0)->posted, 293);
		vb_scenario_close(&run);
	}
}

/* WRITEs, READs and atomics by targets with an SRQ: nothing is received for them. */
static void transports__with_targets(void **state)
{
	static const char *const types[] = {"xrc", "dc"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		struct vb_report r;
		char text[512];

		snprintf(text, sizeof text,
			 "link: infiniband\ndata: true\ntopology: {shape: star, hosts: 4}\n"
			 "transport: {type: %s}\nworkload: {shape: all-to-all, bytes: 100kB, mix: "
			 "{write: 1, read: 1, atomic: 1}}\n",
			 types[i]);
		open_text(&run, text);
		assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
		assert_int_equal(r.done, 12);
		assert_int_equal(vb_load_damaged(run.load), 0);
		vb_scenario_close(&run);
	}
}

/* Between partitions nothing gets through, nor between two limited members; the counter says how
 * many packets there were. IBT-81 */
static void partitions__are_apart(void **state)
{
	static const char text[] =
	    "link: infiniband\nuntil: 100ms\ninfiniband:\n  partitions:\n"
	    "    - {pkey: 0x0001, members: [0, 1]}\n"
	    "    - {pkey: 0x8002, members: [2], limited: [3, 4, 1]}\n"
	    "topology: {shape: star, hosts: 7}\ntransport: {type: ud}\nworkload:\n"
	    "  - {shape: single, from: 0, to: 1, bytes: 8kB}\n"
	    "  - {shape: single, from: 0, to: 2, bytes: 16kB}\n"
	    "  - {shape: single, from: 2, to: 3, bytes: 8kB}\n"
	    "  - {shape: single, from: 3, to: 4, bytes: 24kB}\n"
	    "  - {shape: single, from: 2, to: 1, bytes: 8kB}\n"
	    "  - {shape: single, from: 5, to: 6, bytes: 8kB}\n"
	    "  - {shape: single, from: 5, to: 0, bytes: 32kB}\n";
	static const struct {
		bool arrives;
		uint32_t dst, wrong; /* packets */
	} flows[] = {{true, 1, 0}, {false, 2, 16}, {true, 3, 0},  {false, 4, 24},
		     {true, 1, 0}, {true, 6, 0},   {false, 0, 32}};
	struct vb_scenario_run run;

	(void)state;
	open_text(&run, text);
	for (uint32_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
		const struct vb_counters *c = vb_sim_counters(run.sim, flows[i].dst);

		assert_int_equal(vb_load_flow(run.load, i)->delivered != VB_NEVER,
				 flows[i].arrives);
		assert_int_equal(c->v[VB_COUNTER_port_rcv_constraint_errors], flows[i].wrong);
	}
	vb_scenario_close(&run);
}

/* A switch that enforces them bars what the host would count. LNK-37 */
static void partitions__are_enforced(void **state)
{
	static const char form[] =
	    "link: infiniband\nuntil: 100ms\ninfiniband:\n  enforce: %s\n  partitions:\n"
	    "    - {pkey: 0x0001, members: [0]}\n    - {pkey: 0x0002, members: [1]}\n"
	    "topology: {shape: star, hosts: 2}\ntransport: {type: ud}\n"
	    "workload: {shape: single, from: 0, to: 1, bytes: 8kB}\n";
	static const struct {
		const char *enforce;
		uint32_t barred, counted; /* packets, at the switch and by the host */
	} t[] = {{"off", 0, 8}, {"in", 0, 8}, {"out", 8, 0}, {"both", 8, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		struct vb_sim_ib_stats st;
		char text[512];

		snprintf(text, sizeof text, form, t[i].enforce);
		open_text(&run, text);
		assert_true(vb_sim_ib_port_stats(
		    run.sim, vb_sim_port_peer(vb_sim_host_port(run.sim, 1)), &st));
		assert_int_equal(st.xmit_constraint_errors, t[i].barred);
		assert_int_equal(
		    vb_sim_counters(run.sim, 1)->v[VB_COUNTER_port_rcv_constraint_errors],
		    t[i].counted);
		vb_scenario_close(&run);
	}
}

static void read__refuses_partitions(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"{pkey: 1}", "s:2:33: pkey is 0x0001 to 0x7fff, with or without 0x8000"},
	    {"{pkey: 0x8000}", "s:2:33: pkey is 0x0001 to 0x7fff, with or without 0x8000"},
	    {"{pkey: 0x10001}", "s:2:33: pkey is 0x0001 to 0x7fff, with or without 0x8000"},
	    {"{members: [1]}", "s:2:26: a partition has a pkey"},
	    {"{pkey: 0x1, members: 1}", "s:2:47: members are a list of hosts, as [0, 1]"},
	    {"{pkey: 0x1, limited: [a]}", "s:2:48: a member is the number of a host"},
	    {"{pkey: 0x1, members: [2]}", "s:2:26: partition 1 has host 2: there are 0 to 1"},
	    {"{pkey: 0x1, members: [0, 0, 0, 0, 0, 0, 0, 0, 0]}",
	     "s:2:26: partition 1 is one too many for host 0: it is in 8 others"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char text[256], err[512] = "";
		FILE *f;
		int bad;

		snprintf(
		    text, sizeof text,
		    "link: infiniband\ninfiniband: {partitions: %s}\nworkload: {shape: single}\n",
		    t[i].text);
		f = fmemopen(text, strlen(text), "r");
		assert_non_null(f);
		bad = vb_scenario_read(&sc, f, "s", err, sizeof err);
		fclose(f);
		if (!bad)
			bad = vb_scenario_open(&run, &sc, NULL, err, sizeof err);
		assert_int_equal(bad, -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* The rules of one setting about another. */
static void open__refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"link: infiniband\ntopology: {shape: ring, switches: 2}\nworkload: {shape: single}\n",
	     "s:2:11: topology is a ring: of three switches or more"},
	    {"link: infiniband\ninfiniband: {buffer: 64}\nworkload: {shape: single}\n",
	     "s:2:13: infiniband takes a buffer for a packet with its headers, switches of at most "
	     "254 ports, 49000 hosts at most, and for layers as many lanes as there are layers"},
	    {"link: infiniband\ntransport: {type: ud}\nworkload: {shape: single, mix: {read: 1}}\n",
	     "s:3:11: workload 1 mixes something else than SENDs in, which UD does not have; hosts "
	     "are 0 to 1"},
	    {"link: infiniband\ntopology: {cable: {mtu: 4000}}\nworkload: {shape: single}\n",
	     "s:2:11: topology has cables with an mtu: links of InfiniBand have that of the "
	     "transport"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char err[512] = "";
		FILE *f = fmemopen((void *)(uintptr_t)t[i].text, strlen(t[i].text), "r");

		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, "s", err, sizeof err), 0);
		fclose(f);
		assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* Switches that damage packets and cut through, as a file says: there are errors of each kind, and
 * all that was sent arrives. LNK-10, LNK-39 */
static void damage__of_cables_and_switches(void **state)
{
	struct vb_sim_ib_stats st;
	struct vb_scenario_run run;
	uint64_t bad = 0, remote = 0, inside = 0;

	(void)state;
	run_file(&run, "damage", false);
	assert_true(sc.ib.damage_ppm == 1000 && sc.ib.cut_through);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run.sim); i++) {
		assert_true(vb_sim_ib_port_stats(run.sim, i, &st));
		bad += st.counters.rcv_errors;
		remote += st.counters.remote_physical_errors;
		inside += st.damaged;
	}
	assert_true(bad > 0 && remote > 0 && inside > 0);
	assert_int_equal(vb_load_damaged(run.load), 0);
	vb_scenario_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ring__by_three_routings),
	    cmocka_unit_test(victim__is_saved_by_a_lane),
	    cmocka_unit_test(victim__is_saved_by_congestion_control),
	    cmocka_unit_test(transports__of_flows),
	    cmocka_unit_test(transports__with_targets),
	    cmocka_unit_test(damage__of_cables_and_switches),
	    cmocka_unit_test(partitions__are_apart),
	    cmocka_unit_test(partitions__are_enforced),
	    cmocka_unit_test(read__refuses_partitions),
	    cmocka_unit_test(open__refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
