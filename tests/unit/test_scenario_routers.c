/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios whose topology has routers: two subnets with their own LIDs and prefixes, what crosses
 * and what does not, rings of waiting lanes that go through routers, and what is refused. FAB-02,
 * FAB-06, FAB-07, LNK-06, LNK-08, LNK-21
 */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TWO TEST_DATA "/../../scenarios/ib/two-subnets.net"
#define PACKETS_MAX 64u
/* A and B of two-subnets.net: hosts 0 to 3 and 4 to 7, then the router, with these LIDs. */
enum { FIRST_OF_B = 4, ROUTER_LID = 5, SWITCH_A = 8, SWITCH_B, ROUTER };

static struct vb_scenario sc;

/* The packets that arrived at a port. */
static struct {
	uint32_t port, cnt;
	struct vb_path path[PACKETS_MAX];
} seen;

static void packet_see(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
		       const struct vb_frame *f, vb_time now)
{
	(void)ctx, (void)now;
	if (dir == VB_CABLE_SENT || port != seen.port || f->kind != VB_FRAME_DATA ||
	    seen.cnt == PACKETS_MAX)
		return;
	seen.path[seen.cnt++] = f->path;
}

static const struct vb_scenario_watch watch = {.on_packet = packet_see};

static int text_open(struct vb_scenario_run *run, const char *text, char *err, size_t len)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int bad;

	assert_non_null(f);
	bad = vb_scenario_read(&sc, f, "s", err, len);
	fclose(f);
	seen.port = UINT32_MAX;
	seen.cnt = 0;
	return bad ? bad : vb_scenario_open(run, &sc, &watch, err, len);
}

static void open_text(struct vb_scenario_run *run, const char *text)
{
	char err[512] = "";

	if (text_open(run, text, err, sizeof err))
		fail_msg("%s", err);
}

static void file_read(const char *name)
{
	char err[512] = "", path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&sc, f, TEST_DATA "/../../scenarios/ib/s.yaml", err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

static void scenario_open(struct vb_scenario_run *run)
{
	char err[512] = "";

	if (vb_scenario_open(run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
}

static void run_it(struct vb_scenario_run *run, struct vb_report *r)
{
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run->load), 0);
	assert_int_equal(vb_report_make(r, run->load, run->sim, &run->memory), 0);
}

/* Sums over the ports of the router, and over all ports. */
static void stats_sum(const struct vb_scenario_run *run, struct vb_sim_ib_stats *sum)
{
	*sum = (struct vb_sim_ib_stats){.lid = 0};
	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++) {
		struct vb_sim_ib_stats st;

		assert_true(vb_sim_ib_port_stats(run->sim, i, &st));
		sum->misrouted += st.misrouted;
		sum->not_routed += st.not_routed;
		sum->hops_ended += st.hops_ended;
		sum->relay_errors += st.relay_errors;
		sum->marks += st.marks;
		sum->becns += st.becns;
		sum->counters.buffer_overruns += st.counters.buffer_overruns;
		sum->counters.xmit_discards += st.counters.xmit_discards;
		for (uint32_t vl = 0; st.lid && vl < st.lane_cnt; vl++)
			sum->lane[vl].tx_pkts += st.lane[vl].tx_pkts;
	}
}

/* FAB-06, LNK-21: all that crosses arrives whole, in the lane of its service level, without a loss;
 * groups of either subnet hear their own packets. The same run comes again. */
static void subnets__are_crossed(void **state)
{
	uint64_t digest[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_sim_ib_stats sum;
		struct vb_scenario_run run;
		struct vb_report r;

		file_read("two-subnets");
		scenario_open(&run);
		assert_int_equal(run.topo.router_cnt, 1);
		assert_string_equal(vb_fabric_name(run.fabric, ROUTER), "R");
		run_it(&run, &r);
		digest[i] = r.digest;
		assert_int_equal(r.flows, 7);
		assert_int_equal(r.done, r.flows);
		assert_int_equal(r.drops, 0);
		assert_int_equal(vb_load_damaged(run.load), 0);
		assert_int_equal(r.counters.v[VB_COUNTER_retransmitted_packets], 0);
		assert_true(r.group_due > 0 && r.group_received == r.group_due);
		stats_sum(&run, &sum);
		/* A megabyte is 489 packets. */
		assert_true(sum.lane[0].tx_pkts > 2 * 489 && sum.lane[1].tx_pkts > 489);
		assert_int_equal(sum.misrouted + sum.not_routed + sum.hops_ended, 0);
		assert_int_equal(sum.relay_errors, 0);
		assert_int_equal(sum.counters.buffer_overruns + sum.counters.xmit_discards, 0);
		/* Those into B share the router's cable; the one that stays in A, and the one from
		 * B into A, have theirs. */
		for (uint32_t k = 0; k < 3; k++)
			for (uint32_t own = 3; own < 5; own++)
				assert_true(2 * vb_load_flow(run.load, k)->done >
					    3 * vb_load_flow(run.load, own)->done);
		vb_scenario_close(&run);
	}
	assert_true(digest[0] == digest[1]);
}

/* FAB-07, LNK-06: each subnet counts its LIDs; a path has a GRH where it leaves the subnet. */
static void paths__are_of_subnets(void **state)
{
	struct vb_scenario_run run;
	struct vb_sim_ib_stats st;
	struct vb_path p;

	(void)state;
	file_read("two-subnets");
	scenario_open(&run);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(vb_sim_subnet(run.sim, i), i >= FIRST_OF_B);
	p = vb_sim_route(run.sim, 0, 1, 0, 1);
	assert_true(p.slid == 1 && p.dlid == 2 && p.sl == 1 && !vb_path_has_grh(&p));
	assert_int_equal(vb_sim_receiver(run.sim, 0, &p), 1);
	p = vb_sim_route(run.sim, FIRST_OF_B, FIRST_OF_B + 1, 0, 0);
	assert_true(p.slid == 1 && p.dlid == 2 && !vb_path_has_grh(&p));
	assert_int_equal(vb_sim_receiver(run.sim, FIRST_OF_B, &p), FIRST_OF_B + 1);
	p = vb_sim_route(run.sim, 1, FIRST_OF_B + 2, 0, 1);
	assert_true(p.slid == 2 && p.dlid == ROUTER_LID && p.sl == 1 && p.hop_limit == 64);
	assert_true(vb_gid_prefix(&p.sgid) == VB_PREFIX_FIRST &&
		    vb_gid_prefix(&p.dgid) == VB_PREFIX_FIRST + 1);
	assert_int_equal(vb_sim_receiver(run.sim, 1, &p), FIRST_OF_B + 2);
	/* Nobody has LIDs above, and a router is no host. */
	p = (struct vb_path){.dlid = ROUTER_LID};
	assert_int_equal(vb_sim_receiver(run.sim, 1, &p), UINT32_MAX);
	p.dlid = ROUTER_LID + 1;
	assert_int_equal(vb_sim_receiver(run.sim, 1, &p), UINT32_MAX);
	/* The way has a switch, the router and a switch: four cables. */
	assert_true(vb_sim_ideal_ns(run.sim, 0, 4, 2048, 2048) >
		    vb_sim_ideal_ns(run.sim, 0, 1, 2048, 2048) + 2 * 1000);
	for (uint32_t idx = 0; idx < 2; idx++) {
		assert_true(
		    vb_sim_ib_port_stats(run.sim, vb_sim_port_of(run.sim, ROUTER, idx), &st));
		assert_int_equal(st.lid, ROUTER_LID);
		assert_true(st.prefix == VB_PREFIX_FIRST + idx);
	}
	assert_true(vb_sim_ib_port_stats(run.sim, vb_sim_port_of(run.sim, SWITCH_A, 0), &st));
	assert_true(st.lid == 0 && st.prefix == 0);
	vb_scenario_close(&run);
}

#define OF_TWO(ib)                                                                                 \
	"link: infiniband\nuntil: 10ms\ninfiniband: {lanes: 2" ib "}\ntopology: {file: " TWO "}\n"

/* FAB-06, LNK-08: behind the router a packet has new LIDs and a hop less; service level, lane and
 * GIDs stay. */
static void headers__change_at_the_router(void **state)
{
	struct vb_scenario_run run;
	struct vb_report r;

	(void)state;
	open_text(&run, OF_TWO(", hop-limit: 9") "transport: {type: uc}\nworkload: {shape: single, "
						 "from: 1, to: 6, bytes: 8kB, sl: 1}\n");
	seen.port = vb_sim_host_port(run.sim, 6);
	run_it(&run, &r);
	assert_int_equal(seen.cnt, 8);
	for (uint32_t i = 0; i < seen.cnt; i++) {
		const struct vb_path *p = &seen.path[i], from = vb_sim_route(run.sim, 1, 6, 0, 1);

		assert_true(p->slid == ROUTER_LID && p->dlid == 3 && p->sl == 1);
		assert_true(from.hop_limit == 9 && p->hop_limit == 8);
		assert_true(vb_gid_eq(&p->sgid, &from.sgid) && vb_gid_eq(&p->dgid, &from.dgid));
	}
	vb_scenario_close(&run);
}

/* FAB-06: with a hop limit of 1 or 0 all that crosses ends at the router, and is counted there. */
static void hop_limit__ends_at_the_router(void **state)
{
	static const char *const texts[] = {
	    OF_TWO(", hop-limit: 1") "transport: {type: uc}\nworkload: [{shape: single, from: 1, "
				     "to: 6, bytes: 8kB}, {shape: single, bytes: 8kB}]\n",
	    OF_TWO(", hop-limit: 0") "transport: {type: uc}\nworkload: [{shape: single, from: 1, "
				     "to: 6, bytes: 8kB}, {shape: single, bytes: 8kB}]\n"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		struct vb_sim_ib_stats st;
		struct vb_report r;

		open_text(&run, texts[i]);
		seen.port = vb_sim_host_port(run.sim, 6);
		run_it(&run, &r);
		assert_int_equal(seen.cnt, 0);
		assert_true(vb_sim_ib_port_stats(run.sim, vb_sim_port_of(run.sim, ROUTER, 0), &st));
		assert_int_equal(st.hops_ended, 8);
		assert_int_equal(st.not_routed + st.misrouted, 0);
		/* A packet that stays in the subnet has no hop limit. */
		assert_int_equal(vb_sim_counters(run.sim, 1)->v[VB_COUNTER_port_rcv_packets], 8);
		vb_scenario_close(&run);
	}
}

/* FAB-06, FAB-07: while the router's cable into B is apart there is no way: it counts what comes,
 * and flows go on when the cable is joined again. */
static void router__without_a_way(void **state)
{
	struct vb_scenario_run run;
	struct vb_sim_ib_stats sum;
	struct vb_report r;

	(void)state;
	/* The cables of the first node of the file come first. */
	open_text(&run, OF_TWO("") "data: true\nlinks: {cable: 1, down: 20us, up: 200us}\n"
				   "transport: {timeout: 5}\nworkload: {shape: single, from: 1, "
				   "to: 6, bytes: 1MB}\n");
	run_it(&run, &r);
	assert_int_equal(r.done, 1);
	assert_int_equal(vb_load_damaged(run.load), 0);
	stats_sum(&run, &sum);
	assert_true(sum.not_routed > 0);
	assert_int_equal(sum.hops_ended + sum.misrouted, 0);
	vb_scenario_close(&run);
}

/* FAB-46, FAB-47: the switch in front of the router marks; the marks go through it to the other
 * subnet, and their answers back to the hosts that slow down. The router marks nothing. */
static void marks__cross(void **state)
{
	struct vb_scenario_run run;
	struct vb_sim_ib_stats sum, st;
	uint64_t becns = 0;
	struct vb_report r;

	(void)state;
	open_text(&run, OF_TWO(", congestion: {threshold: 8KiB}") "workload:\n"
								  "  - {shape: single, from: 1, "
								  "to: 4, bytes: 1MB}\n"
								  "  - {shape: single, from: 2, "
								  "to: 5, bytes: 1MB}\n");
	run_it(&run, &r);
	assert_int_equal(r.done, 2);
	assert_int_equal(r.drops, 0);
	stats_sum(&run, &sum);
	assert_true(sum.marks > 0);
	assert_int_equal(sum.becns, sum.marks);
	for (uint32_t i = 1; i < 3; i++) {
		assert_true(vb_sim_ib_port_stats(run.sim, vb_sim_host_port(run.sim, i), &st));
		becns += st.becns;
	}
	assert_int_equal(becns, sum.marks);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(vb_sim_ib_port_stats(run.sim, vb_sim_port_of(run.sim, ROUTER, i), &st));
		assert_int_equal(st.marks, 0);
	}
	vb_scenario_close(&run);
}

/* Transports of every kind cross: connections know their peer by the router's LID. */
static void transports__cross(void **state)
{
	static const char *const types[] = {"rc", "uc", "ud", "xrc", "dc"};

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct vb_scenario_run run;
		struct vb_report r;
		char text[1024];

		snprintf(text, sizeof text,
			 OF_TWO("") "data: true\ntransport: {type: %s, message: 64kB}\n"
				    "workload: {shape: all-to-all, bytes: 100kB, mix: {send: 1}}\n",
			 types[i]);
		open_text(&run, text);
		run_it(&run, &r);
		assert_int_equal(r.done, 8 * 7);
		assert_int_equal(vb_load_damaged(run.load), 0);
		assert_int_equal(r.drops, 0);
		for (uint32_t k = 0; k < r.flows; k++)
			assert_true(vb_load_flow(run.load, k)->delivered != VB_NEVER);
		vb_scenario_close(&run);
	}
}

/* Each subnet is without a ring, and all of them together are not: the deadlock is found, goes
 * through five switches and five routers, and is not there where service levels are chosen by the
 * whole way. */
static void ring__of_subnets(void **state)
{
	const struct vb_deadlock *d;
	struct vb_scenario_run run;
	struct vb_report r;
	uint32_t routers = 0;
	vb_time at;

	(void)state;
	for (uint32_t routing = VB_SIM_MIN_HOP; routing <= VB_SIM_UP_DOWN; routing++) {
		file_read("subnets-ring");
		sc.ib.routing = routing;
		scenario_open(&run);
		run_it(&run, &r);
		d = vb_sim_deadlock(run.sim, &at);
		assert_non_null(d);
		assert_int_equal(d->cnt, 10);
		for (uint32_t i = 0; i < d->cnt; i++) {
			const struct vb_sim_topo_link *l = &run.topo.link[d->lane[i].hop / 2];
			uint32_t node = d->lane[i].hop & 1 ? l->b : l->a;

			routers += node >= run.topo.host_cnt + 5;
		}
		vb_scenario_close(&run);
	}
	assert_int_equal(routers, 2 * 5);
	file_read("subnets-ring");
	sc.ib.routing = VB_SIM_LAYERS;
	sc.ib.lanes = 4;
	scenario_open(&run);
	run_it(&run, &r);
	assert_null(vb_sim_deadlock(run.sim, &at));
	assert_int_equal(r.done, 90);
	assert_int_equal(r.drops, 0);
	vb_scenario_close(&run);
}

/* Two ways of two routers between the hosts' subnets: packets there take the first one, and those
 * back the other one, for the second way's router comes first in the file. */
static const char two_ways[] = "Rt 2 \"R4\"\n[1] \"N\"[2]\n[2] \"B\"[2]\n\n"
			       "Rt 2 \"R1\"\n[1] \"A\"[1]\n[2] \"M\"[1]\n\n"
			       "Rt 2 \"R2\"\n[1] \"M\"[2]\n[2] \"B\"[1]\n\n"
			       "Rt 2 \"R3\"\n[1] \"A\"[2]\n[2] \"N\"[1]\n\n"
			       "Switch 4 \"A\"\n[3] \"X\"[1]\n\nSwitch 4 \"B\"\n[3] \"Y\"[1]\n\n"
			       "Switch 4 \"M\"\n\nSwitch 4 \"N\"\n\nCa 1 \"X\"\n\nCa 1 \"Y\"\n";

static void many_subnets(char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "Rt 65 \"R\"\n");

	for (unsigned i = 1; i <= 65; i++)
		n += (size_t)snprintf(text + n, size - n, "[%u] \"H-%u\"[1]\n", i, i);
	for (unsigned i = 1; i <= 65; i++)
		n += (size_t)snprintf(text + n, size - n, "Ca 1 \"H-%u\"\n", i);
	assert_true(n < size);
}

/* FAB-02, FAB-07: a group is of one subnet; tables of OpenSM are, too; links of Ethernet have no
 * routers. */
static void scenario__refuses(void **state)
{
#define IB "link: infiniband\n"
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"topology: {file: " TWO "}\nworkload: {shape: single}\n",
	     "s:1:11: topology has 'R', a router: it joins subnets of InfiniBand, which takes "
	     "link: infiniband"},
	    {IB "topology: {file: " TWO "}\ninfiniband: {routes: x}\nworkload: {shape: single}\n",
	     "s:3:13: routes cannot be made of 'x': 'R' is a router, and such tables are of one "
	     "subnet: without them the simulator makes tables for each"},
	    {IB "topology: {file: " TWO "}\ngroups: [{members: [1, 2]}, {members: [2, 3, 5]}]\n"
		"workload: {shape: single}\n",
	     "s:3:29: group 2 has host 2 and host 5, which are in two subnets: no router sends on "
	     "what goes to a group"},
	    {IB "topology: {file: " TWO "}\ngroups: {members: all}\nworkload: {shape: single}\n",
	     "s:3:9: group 1 has host 0 and host 4, which are in two subnets: no router sends on "
	     "what goes to a group"},
	    {IB "infiniband: {hop-limit: 256}\nworkload: {shape: single}\n",
	     "s:2:25: hop-limit is 0 to 255, not 256"},
	};
#undef IB

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char err[512] = "";

		assert_int_equal(text_open(&run, t[i].text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* The error of a scenario with this topology. */
static void expect_topology_error(const char *topology, const char *why)
{
	char path[] = "/tmp/verbena-routers.XXXXXX", text[128], err[512] = "";
	struct vb_scenario_run run;
	int fd = mkstemp(path);
	size_t len = strlen(topology);

	assert_true(fd >= 0);
	assert_true(write(fd, topology, len) == (ssize_t)len);
	close(fd);
	snprintf(text, sizeof text,
		 "link: infiniband\ntopology: {file: %s}\nworkload: {shape: single}\n", path);
	assert_int_equal(text_open(&run, text, err, sizeof err), -EINVAL);
	assert_int_equal(remove(path), 0);
	assert_non_null(strstr(err, "s:2:11: "));
	assert_non_null(strstr(err, why));
}

/* Routers look at 64 subnets; connections know their peers by the router that packets come from, so
 * it has to be the one where answers go. */
static void topology__refuses(void **state)
{
	char many[4096];

	(void)state;
	many_subnets(many, sizeof many);
	expect_topology_error(many, "there are 65 subnets, and routers look at 64 at most");
	expect_topology_error(two_ways,
			      "infiniband has two subnets whose packets come from one router and "
			      "go to another: let the ways between them lead through the same "
			      "ones");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(subnets__are_crossed),
	    cmocka_unit_test(paths__are_of_subnets),
	    cmocka_unit_test(headers__change_at_the_router),
	    cmocka_unit_test(hop_limit__ends_at_the_router),
	    cmocka_unit_test(router__without_a_way),
	    cmocka_unit_test(marks__cross),
	    cmocka_unit_test(transports__cross),
	    cmocka_unit_test(ring__of_subnets),
	    cmocka_unit_test(scenario__refuses),
	    cmocka_unit_test(topology__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
