/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of scenarios: every member hears every message, whatever the other flows are;
 * partitions say who hears whom; the tables of a group may come from OpenSM. FAB-02, FAB-57, IBT-20
 */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

static struct vb_scenario sc;

static int scenario_open(struct vb_scenario_run *run, FILE *f, const char *name, char *err,
			 size_t len)
{
	int bad;

	assert_non_null(f);
	bad = vb_scenario_read(&sc, f, name, err, len);
	fclose(f);
	return bad ? bad : vb_scenario_open(run, &sc, NULL, err, len);
}

static void play_text(struct vb_scenario_run *run, struct vb_report *r, const char *text)
{
	char err[512] = "";

	if (scenario_open(run, fmemopen((void *)(uintptr_t)text, strlen(text), "r"), "s", err,
			  sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run->load), 0);
	assert_int_equal(vb_report_make(r, run->load, run->sim, &run->memory), 0);
}

static void play_file(struct vb_scenario_run *run, struct vb_report *r, const char *name)
{
	char path[256], err[512] = "";

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	if (scenario_open(run, fopen(path, "r"), path, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_report_make(r, run->load, run->sim, &run->memory), 0);
}

/* On either kind of link, with bytes and with lengths, beside flows of any transport: each message
 * comes to each member once, also to the one at the sender's host. */
static void group__hears_every_message(void **state)
{
	static const char *const links[] = {"ethernet", "infiniband"};
	static const char *const types[] = {"rc", "uc", "ud", "xrc", "dc"};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof types / sizeof types[0]; i++) {
		struct vb_load_group_stats st;
		struct vb_scenario_run run;
		struct vb_report r;
		char text[768];

		snprintf(text, sizeof text,
			 "link: %s\ndata: %s\nuntil: 100ms\ntopology: {shape: clos, hosts: 2}\n"
			 "transport: {type: %s, message: 8kB}\ngroups:\n"
			 "  - members: [0, 3, 5]\n  - {members: all}\nworkload:\n"
			 "  - {shape: permutation, bytes: 100kB, mix: {send: 1}}\n"
			 "  - {shape: multicast, from: 3, bytes: 100kB}\n"
			 "  - {shape: multicast, group: 1, from: 6, count: 3, bytes: 1000}\n"
			 "  - {shape: multicast, from: 3, bytes: 100, start: 1ms}\n",
			 links[i % 2], i % 4 < 2 ? "true" : "false", types[i / 2]);
		play_text(&run, &r, text);
		assert_int_equal(r.done, 8 + 1 + 3 + 1);
		assert_int_equal(r.failed, 0);
		assert_int_equal(vb_load_damaged(run.load), 0);
		/* A message is a packet. */
		vb_load_group_stats(run.load, 0, &st);
		assert_true(st.members == 3 && st.sent == 98 + 1 && st.due == 99 * 3);
		assert_true(st.received == st.due);
		vb_load_group_stats(run.load, 1, &st);
		assert_true(st.members == 8 && st.sent == 3 && st.received == 3 * 8);
		assert_true(r.group_sent == 102 && r.group_due == 99 * 3 + 24 &&
			    r.group_received == r.group_due);
		for (uint32_t k = 0; k < r.flows; k++) {
			const struct vb_flow *f = vb_load_flow(run.load, k);

			if (!vb_flow_is_to_group(f))
				continue;
			assert_true(f->delivered != VB_NEVER);
			assert_int_equal(vb_load_flow_completed(run.load, f), f->bytes);
			assert_true(vb_flow_ideal_ns(run.load, run.sim, f) > 0);
		}
		/* The members from 6 on, in the order of the hosts. */
		assert_int_equal(vb_load_flow(run.load, 9)->src, 6);
		assert_int_equal(vb_load_flow(run.load, 11)->src, 0);
		/* The last flow takes the connection of the one before. */
		assert_int_equal(vb_load_flow(run.load, 12)->connection,
				 vb_load_flow(run.load, 8)->connection);
		vb_scenario_close(&run);
	}
}

/* A connection to a group ends at no host. */
static void group__is_the_end_of_a_connection(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;
	uint32_t host, qpn;

	(void)state;
	play_text(&run, &r,
		  "link: infiniband\ntopology: {hosts: 3}\ngroups: {}\n"
		  "workload: {shape: multicast, from: 1, bytes: 10kB}\n");
	assert_int_equal(vb_load_connection_cnt(run.load), 1);
	vb_load_end(run.load, 0, 0, &host, &qpn);
	assert_int_equal(host, 1);
	vb_load_end(run.load, 0, 1, &host, &qpn);
	assert_true(host == UINT32_MAX && qpn == VB_QPN_MULTICAST);
	vb_scenario_close(&run);
}

/* A fault doubles packets: a flow has arrived when as many messages have come as it has. */
static void group__with_doubled_packets(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;

	(void)state;
	play_text(
	    &run, &r,
	    "until: 10ms\ntopology: {hosts: 4}\ngroups: {}\nfaults: {do: dup=10%}\nworkload:\n"
	    "  - {shape: multicast, bytes: 100kB, count: 4}\n"
	    "  - {shape: multicast, bytes: 100kB, start: 5ms}\n");
	assert_int_equal(r.done, 5);
	assert_true(r.group_received > r.group_due);
	vb_scenario_close(&run);
}

/* IBT-81, LNK-37: members of the first group hear all; in the second one two limited members do not
 * hear each other, and the ports of switches to them bar it. */
static void partitions__say_who_hears(void **state)
{
	struct vb_load_group_stats st;
	struct vb_scenario_run run;
	struct vb_report r;
	uint64_t barred = 0;

	(void)state;
	play_file(&run, &r, "groups-partitions");
	assert_int_equal(r.done, r.flows);
	assert_int_equal(r.drops, 0);
	vb_load_group_stats(run.load, 0, &st);
	assert_true(st.received == st.due && st.sent == 2 * 977);
	/* Hosts 5 and 6 send 489 messages each, which neither of them gets: nor its own. */
	vb_load_group_stats(run.load, 1, &st);
	assert_int_equal(st.sent, 3 * 489);
	assert_int_equal(st.due - st.received, 2 * 489 * 2);
	for (uint32_t p = 0; p < vb_sim_port_cnt(run.sim); p++) {
		struct vb_sim_ib_stats ib;

		assert_true(vb_sim_ib_port_stats(run.sim, p, &ib));
		barred += ib.xmit_constraint_errors;
		assert_int_equal(ib.rcv_constraint_errors, 0);
	}
	assert_int_equal(barred, 2 * 489);
	vb_scenario_close(&run);
}

/* The MGID names the partition, as that of IP over InfiniBand does. RFC 4391 4 */
static void partitions__are_in_the_mgid(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;
	struct vb_gid gid;

	(void)state;
	play_file(&run, &r, "groups-partitions");
	gid = vb_sim_group_gid(run.sim, 1);
	assert_true(gid.b[0] == 0xff && gid.b[4] == 0x80 && gid.b[5] == 0x02 && gid.b[15] == 2);
	gid = vb_sim_group_gid(run.sim, 2);
	assert_true(gid.b[4] == 0xff && gid.b[5] == 0xff && gid.b[15] == 3);
	vb_scenario_close(&run);
}

/* Two groups whose trees close the ring: the deadlock is found. One of them alone has none. */
static void groups__deadlock(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;
	vb_time at;

	(void)state;
	play_file(&run, &r, "groups-deadlock");
	assert_non_null(vb_sim_deadlock(run.sim, &at));
	assert_int_equal(vb_sim_deadlock(run.sim, &at)->cnt, 6);
	assert_true(r.group_received < r.group_due);
	vb_scenario_close(&run);

	play_text(&run, &r,
		  "link: infiniband\nuntil: 100ms\ninfiniband: {buffer: 8KiB, routing: up-down}\n"
		  "groups: {members: all}\ntopology: {shape: ring, switches: 6, hosts: 2}\n"
		  "transport: {mtu: 2048}\n"
		  "workload: {shape: multicast, count: 12, bytes: 1MiB}\n");
	assert_null(vb_sim_deadlock(run.sim, &at));
	assert_true(r.done == 12 && r.group_received == r.group_due);
	vb_scenario_close(&run);
}

/* FAB-02: packets take the trees that OpenSM made, all by one of the switches above, where those of
 * the simulator's own would go by the other one. A group that these tables do not lead to is
 * refused. */
static void tables__are_those_of_opensm(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;
	char path[256], err[512] = "";
	FILE *f;

	(void)state;
	play_file(&run, &r, "groups-opensm");
	assert_true(r.done == r.flows && r.drops == 0);
	assert_int_equal(r.group_received, r.group_due);
	vb_scenario_close(&run);

	for (int own = 0; own < 2; own++) {
		uint64_t by_other = 0;

		snprintf(path, sizeof path, "%s/../../scenarios/ib/groups-opensm.yaml", TEST_DATA);
		f = fopen(path, "r");
		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, path, err, sizeof err), 0);
		fclose(f);
		sc.pattern_cnt = 1;
		if (own)
			sc.group[0].mlid = 0;
		assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), 0);
		assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
		assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
		assert_int_equal(r.group_received, r.group_due);
		for (uint32_t p = 0; p < vb_sim_port_cnt(run.sim); p++) {
			const struct vb_sim_topo_link *l = &run.topo.link[p / 2];
			struct vb_sim_ib_stats st;

			assert_true(vb_sim_ib_port_stats(run.sim, p, &st));
			if ((p & 1 ? l->b : l->a) == 8 + 5)
				by_other += st.lane[0].tx_pkts;
		}
		assert_int_equal(by_other > 0, own);
		vb_scenario_close(&run);
	}

	sc.group[0].mlid = 0xc002;
	assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -EINVAL);
	assert_non_null(strstr(err,
			       "group 1 does not go with MLID 0xc002 of the routes: it does not "
			       "lead to host 0, 'H-0000' port 1"));
	sc.group[0].mlid = 0xc003;
	assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -EINVAL);
}

static void same_seed__same_run(void **state)
{
	uint64_t digest[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		struct vb_report r;

		play_file(&run, &r, "groups-partitions");
		digest[i] = r.digest;
		vb_scenario_close(&run);
	}
	assert_true(digest[0] == digest[1]);
}

static void refuses__what_does_not_fit(void **state)
{
#define IB "link: infiniband\n"
#define LOAD "\nworkload: {shape: multicast}\n"
	static const struct {
		const char *text, *err;
	} t[] = {
	    {IB "groups: {members: 3}" LOAD, "s:2:19: members are a list of hosts, as [0, 1]"},
	    {IB "groups: {members: []}" LOAD, "s:2:19: a group has members"},
	    {IB "groups: {pkey: 0x0}" LOAD,
	     "s:2:16: pkey is 0x0001 to 0x7fff, with or without 0x8000"},
	    {IB "groups: {mlid: 0xbfff}" LOAD, "s:2:16: mlid is 0xc000 to 0xfffe"},
	    {IB "groups: {mlid: 0xc001}" LOAD,
	     "s:2:9: mlid is an entry of opensm.mcfdbs: give infiniband the routes that it is in"},
	    {"groups: {pkey: 0x8001}" LOAD, "s:1:9: pkey and mlid of a group are of InfiniBand"},
	    {IB "groups: {members: [0, 2]}" LOAD, "s:2:9: group 1 has host 2: there are 0 to 1"},
	    {IB "groups: [{}, {pkey: 0x8001}]" LOAD,
	     "s:2:14: group 2 has host 0, which is not in partition 0x8001"},
	    {IB "groups: {members: [1]}" LOAD,
	     "s:3:11: workload 1 is from a member of its group; there are 1"},
	    {IB "\nworkload: {shape: multicast}\n",
	     "s:3:11: workload 1 is to one of the groups, which count from 0; there are 0"},
	    {IB "groups: {}\nworkload: {shape: multicast, count: 3}\n",
	     "s:3:11: workload 1 has a count of 1 up to all members of its group; there are 1"},
	    {IB "groups: {}\nworkload: {shape: multicast, mix: {write: 1}}\n",
	     "s:3:11: workload 1 mixes something else than SENDs in, which UD does not have; hosts "
	     "are 0 to 1"},
	    {IB "groups: {}\ntransport: {message: 8}\nworkload: {shape: multicast, bytes: 20GB}\n",
	     "s:4:11: workload 1 has more messages for all members together than can be counted; "
	     "there are 1"},
	};
#undef IB
#undef LOAD

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char err[512] = "";

		assert_int_equal(
		    scenario_open(&run,
				  fmemopen((void *)(uintptr_t)t[i].text, strlen(t[i].text), "r"),
				  "s", err, sizeof err),
		    -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(group__hears_every_message),
	    cmocka_unit_test(group__is_the_end_of_a_connection),
	    cmocka_unit_test(group__with_doubled_packets),
	    cmocka_unit_test(partitions__say_who_hears),
	    cmocka_unit_test(partitions__are_in_the_mgid),
	    cmocka_unit_test(groups__deadlock),
	    cmocka_unit_test(tables__are_those_of_opensm),
	    cmocka_unit_test(same_seed__same_run),
	    cmocka_unit_test(refuses__what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
