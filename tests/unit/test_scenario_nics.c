/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts with several NICs: how networks have them, and which NIC a flow takes. */
#include "input_env.h"
#include "scenario/input/nics.h"

#include <errno.h>

/* Hosts 0 and 1 have two NICs, at different switches, and host 2 has one: nodes 0, 1; 2, 3; 4. */
#define NODES "nodes: {hosts: [a, b, c], switches: [s, t]}"
#define LINKS                                                                                      \
	"links: [{ends: [a, s]}, {ends: [a, t]}, {ends: [b, s]}, {ends: [t, b]}, "                 \
	"{ends: [c, s]}, {ends: [s, t], rate: 400Gbps}]"
#define TOPOLOGY "cable: {rate: 100Gbps, delay: 1us}, " NODES ", " LINKS

static struct vb_scenario sc;
static struct vb_scenario_run run;

/* Runs it to its end. */
static void run_text(const char *text)
{
	char err[1024] = "";

	if (input_open(&sc, &run, text, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), 0);
	for (uint32_t i = 0; i < vb_load_flow_cnt(run.load); i++)
		assert_int_equal(vb_load_flow(run.load, i)->status, VB_WC_SUCCESS);
}

static void run_end(void)
{
	vb_scenario_close(&run);
	vb_scenario_free(&sc);
}

static void check_flow(uint32_t i, uint32_t src, uint32_t dst)
{
	const struct vb_flow *f = vb_load_flow(run.load, i);

	if (f->src != src || f->dst != dst)
		fail_msg("flow %u: %u to %u, not %u to %u", i, f->src, f->dst, src, dst);
}

/* Each host in turn, for sending and for receiving by themselves; a NIC that is named has no turn.
 */
static void nics__in_turn(void **state)
{
	vb_time first, both;

	(void)state;
	run_text("topology: {" TOPOLOGY "}\n"
		 "workload:\n"
		 "- {shape: single, from: 0, to: 1, bytes: 1MB}\n"
		 "- {shape: single, from: a, to: b, bytes: 1MB}\n"
		 "- {shape: single, from: a:1, to: c, bytes: 0, start: 1ms}\n"
		 "- {shape: single, from: 0, to: 1:1, bytes: 0, start: 1ms}\n"
		 "- {shape: single, from: c, to: a, bytes: 0, start: 1ms}\n"
		 "- {shape: single, from: b, to: a, bytes: 0, start: 1ms}\n"
		 "- {shape: single, from: a, to: b, bytes: 0, start: 1ms}\n");
	check_flow(0, 0, 2);
	check_flow(1, 1, 3);
	check_flow(2, 1, 4);
	check_flow(3, 0, 3);
	check_flow(4, 4, 0);
	check_flow(5, 2, 1);
	check_flow(6, 1, 2);
	/* Two cables are twice as fast: the first two flows do not disturb each other. */
	first = vb_load_flow(run.load, 0)->done;
	both = vb_load_flow(run.load, 1)->done;
	assert_int_equal(first, both);
	assert_uint_in_range(both, 84000, 95000);
	run_end();
}

static void nics__by_hash(void **state)
{
	uint32_t src, dst, used[2] = {0};

	(void)state;
	run_text("topology: {nics: hash, " TOPOLOGY "}\n"
		 "workload: [{shape: ping-pong, from: b, to: c, bytes: 100, count: 4},\n"
		 "{shape: poisson, bytes: 100, count: 60, load: 1%}]\n");
	src = vb_load_flow(run.load, 0)->src;
	for (uint32_t i = 0; i < 64; i++) {
		const struct vb_flow *f = vb_load_flow(run.load, i);

		if (f->pattern == 0)
			continue;
		/* Flows between two hosts have the same NICs. */
		dst = f->dst;
		for (uint32_t k = 1; k < i; k++) {
			const struct vb_flow *g = vb_load_flow(run.load, k);

			if (g->pattern &&
			    vb_nic_host(&run.nics, VB_LOAD_NIC | g->src) ==
				vb_nic_host(&run.nics, VB_LOAD_NIC | f->src) &&
			    vb_nic_host(&run.nics, VB_LOAD_NIC | g->dst) ==
				vb_nic_host(&run.nics, VB_LOAD_NIC | f->dst)) {
				assert_int_equal(g->src, f->src);
				assert_int_equal(g->dst, dst);
			}
		}
		used[0] += f->src == 0 || f->src == 2;
		used[1] += f->src == 1 || f->src == 3;
	}
	assert_true(used[0] + used[1] > 20);
	check_flow(0, src, 4);
	run_end();
}

static void nics__messages_and_answers_have_the_same(void **state)
{
	(void)state;
	run_text("topology: {" TOPOLOGY "}\n"
		 "workload: [{shape: ping-pong, from: a, to: b, bytes: 100, count: 4},\n"
		 "{shape: all-to-all, bytes: 100, parallel: 1}]\n");
	check_flow(0, 0, 2);
	/* Each host sends to the next one; then to the one behind it. */
	check_flow(1, 1, 3);
	check_flow(2, 2, 4);
	check_flow(3, 4, 0);
	for (uint32_t i = 4; i < vb_load_flow_cnt(run.load); i++) {
		const struct vb_flow *f = vb_load_flow(run.load, i);

		if (f->pattern == 0)
			assert_true((f->src == 0 && f->dst == 2) || (f->src == 2 && f->dst == 0));
	}
	assert_int_equal(vb_load_flow_cnt(run.load), 10);
	run_end();
}

#define RAILS                                                                                      \
	"topology: {nics: rail, nodes: {hosts: 3, switches: 2}, links: ["                          \
	"{ends: [h0, s0]}, {ends: [h0, s1]}, {ends: [h1, s0]}, {ends: [h1, s1]}, "                 \
	"{ends: [h2, s0]}, {ends: [h2, s1]}]}\n"

/* Networks that meet at hosts only: a flow stays in one. */
static void nics__rails(void **state)
{
	(void)state;
	run_text(RAILS "workload: [{shape: all-to-all, bytes: 10kB},\n"
		       "{shape: poisson, bytes: 1kB, count: 200, load: 10%}]\n");
	for (uint32_t i = 0; i < 206; i++) {
		const struct vb_flow *f = vb_load_flow(run.load, i);

		assert_int_equal(f->src % 2, f->dst % 2);
	}
	run_end();
	/* In turn as well, as far as there is a way. */
	run_text("topology: {nodes: {hosts: 2, switches: 2}, links: [{ends: [h0, s0], count: 2}, "
		 "{ends: [h0, s1]}, {ends: [h1, s1]}]}\n"
		 "workload: [{shape: single, from: 0, to: 1}, {shape: single, from: 1, to: 0}]\n");
	check_flow(0, 2, 3);
	check_flow(1, 3, 2);
	run_end();
}

/* Messages from one rank to another one share a connection, and so NICs, unless each has its own.
 */
static void nics__of_collectives(void **state)
{
	vb_time shared;

	(void)state;
	run_text(RAILS "workload: {shape: collective, collective: all-reduce, bytes: 3MB}\n");
	shared = vb_sim_now(run.sim);
	for (uint32_t i = 0; i < vb_load_connection_cnt(run.load); i++) {
		uint32_t from, to, qpn;

		vb_load_end(run.load, i, 0, &from, &qpn);
		vb_load_end(run.load, i, 1, &to, &qpn);
		assert_int_equal(from % 2, to % 2);
	}
	assert_int_equal(vb_load_connection_cnt(run.load), 3);
	run_end();
	run_text(RAILS "workload: {shape: collective, collective: all-reduce, bytes: 3MB,\n"
		       "           new-connections: true}\n");
	assert_int_equal(vb_load_connection_cnt(run.load), 12);
	assert_true(shared > 0);
	run_end();
}

static void nics__of_lists(void **state)
{
	(void)state;
	input_write("f.csv", "src,dst,bytes,start\na,b,1000,0\na:1,c:0,1000,0\nb,a,1000,0\n");
	run_text("topology: {" TOPOLOGY "}\nflows: 8\n"
		 "workload: {shape: file, file: f.csv}\n");
	assert_int_equal(vb_load_flow_cnt(run.load) + vb_load_past_cnt(run.load), 3);
	run_end();
	input_write("f.csv", "src,dst,bytes,start\na:2,b,1000,0\n");
	input_refused("topology: {" TOPOLOGY "}\nworkload: {shape: file, file: f.csv}\n",
		      "f.csv:2:1: there is no NIC \"a:2\": NICs of that host are 0 to 1");
	input_write("f.csv", "src,dst,bytes,start\na:0,a:1,1000,0\n");
	input_refused("topology: {" TOPOLOGY "}\nworkload: {shape: file, file: f.csv}\n",
		      "f.csv:2:1: a flow goes to another host");
	/* The text of ns-3: node 0 has two cables. */
	input_write("n.txt", "5 2 5\n3 4\n0 3 10Gbps 1us 0\n0 4 10Gbps 1us 0\n1 3 10Gbps 1us 0\n"
			     "2 4 10Gbps 1us 0\n3 4 10Gbps 1us 0\n");
	input_write("f.txt", "2\n0 1 3 100 1000 0\n0:1 2 3 100 1000 0\n");
	run_text("topology: {file: n.txt}\nflows: 8\nworkload: {shape: file, file: f.txt}\n");
	assert_int_equal(run.topo.host_cnt, 4);
	run_end();
}

/* All cables of a host, and each of them alone. */
static void nics__faults_and_links(void **state)
{
	(void)state;
	run_text("topology: {" TOPOLOGY "}\n"
		 "links: {host: 0, down: 500us}\n"
		 "faults: {do: \"loss=1:first=1\", host: 1}\n"
		 "workload: [{shape: single, from: a:0, to: b:0, bytes: 1kB},\n"
		 "{shape: single, from: a:1, to: b:1, bytes: 1kB}]\n"
		 "until: 400us\n");
	assert_int_equal(vb_sim_host_link(run.sim, 1), 1);
	/* Both lost their first packet: neither is done before its timer. */
	assert_int_equal(vb_load_flow(run.load, 0)->done, VB_NEVER);
	assert_int_equal(vb_load_flow(run.load, 1)->done, VB_NEVER);
	run_end();
}

static void nics__refusals(void **state)
{
	static const struct {
		const char *text, *words;
	} t[] = {
	    {"topology: {" TOPOLOGY "}\nworkload: {shape: single, from: a:2, to: b}\n",
	     "s.yaml:2:33: there is no NIC \"a:2\": NICs of that host are 0 to 1"},
	    {"topology: {" TOPOLOGY "}\nworkload: {shape: single, from: d, to: b}\n",
	     "s.yaml:2:33: there is no node \"d\" in the topology"},
	    {"topology: {" TOPOLOGY "}\nworkload: {shape: single, from: a, to: t}\n",
	     "s.yaml:2:40: node t is a switch"},
	    {"topology: {" TOPOLOGY "}\nworkload: {shape: single, from: 3, to: b}\n",
	     "s.yaml:2:11: workload 1 is from a host to another one of those that take part; hosts "
	     "are 0 to 2"},
	    {"topology: {" TOPOLOGY "}\nworkload: {shape: single, from: a:0, to: a:1}\n",
	     "s.yaml:2:11: workload 1 is from a host to another one of those that take part; hosts "
	     "are 0 to 2"},
	    {RAILS "workload: {shape: single, from: h0:0, to: h1:1}\n",
	     "s.yaml:2:11: workload 1 is from a NIC to another one that it does not reach; hosts "
	     "are 0 to 2"},
	    {"topology: {" TOPOLOGY "}\ngroups: {members: all}\nworkload: {shape: single}\n",
	     "s.yaml:1:11: topology has hosts with several NICs, which partitions and groups do "
	     "not tell apart"},
	    {"topology: {nodes: {hosts: 3, switches: 2}, links: [{ends: [h0, s0]}, "
	     "{ends: [h0, s1]}, {ends: [h1, s0]}, {ends: [h2, s1]}]}\n"
	     "workload: {shape: single}\n",
	     "s.yaml:1:27: h2 cannot be reached from h1"},
	    {"topology: {shape: star, hosts: 3}\nworkload: {shape: single, from: a, to: 1}\n",
	     "s.yaml:2:33: a host is a number, not \"a\""},
	    {"topology: {nics: both, " TOPOLOGY "}\nworkload: {shape: single}\n",
	     "s.yaml:1:18: nics is in-turn, rail or hash, not \"both\""},
	    {"topology: {" TOPOLOGY "}\nlinks: {host: 3, down: 1us}\nworkload: {shape: single}\n",
	     "s.yaml:2:8: link 1 is of host 3: there are 0 to 2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
		input_refused(t[i].text, t[i].words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nics__in_turn),
	    cmocka_unit_test(nics__by_hash),
	    cmocka_unit_test(nics__messages_and_answers_have_the_same),
	    cmocka_unit_test(nics__rails),
	    cmocka_unit_test(nics__of_collectives),
	    cmocka_unit_test(nics__of_lists),
	    cmocka_unit_test(nics__faults_and_links),
	    cmocka_unit_test(nics__refusals),
	};

	return cmocka_run_group_tests(tests, input_begin, input_end);
}
