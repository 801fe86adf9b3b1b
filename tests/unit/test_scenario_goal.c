/* SPDX-License-Identifier: BSD-2-Clause */
/* Workloads with graphs: the keys of collectives, and GOAL from files. scenario/input/goal/goal.h
 */
#include "input_env.h"
#include "scenario/input/goal/goal.h"
#include "sim_net.h"

#include <errno.h>

static int parse(struct vb_graph **g, const char *text, char *err, size_t size)
{
	const struct vb_complaint c = {"f", err, size};

	return vb_goal_parse(g, text, strlen(text), 4, &net_memory, &c);
}

static struct vb_graph *graph_of(const char *text)
{
	char err[512] = "";
	struct vb_graph *g;

	if (parse(&g, text, err, sizeof err))
		fail_msg("%s", err);
	return g;
}

/* Every part of the form: labels and none, blanks and none, both comments, ";" and lines. */
static void goal__is_read(void **state)
{
	struct vb_graph *g =
	    graph_of("// a comment\nnum_ranks 3\n"
		     "rank 0 { l1: send 8b to 1 tag 5 cpu 0 nic 0;l2:recv 9 b from 2;\n"
		     "l3: calc 1000 cpu 3; l2 requires l1; l3 irequires l2 }\n"
		     "/* another\none */ rank 2{\r\nsend 9b to 0\n}\n"
		     "rank 1\n{ recv 8b from 0 cpu 7 tag 5 // the end\n}");

	(void)state;
	assert_true(g->rank_cnt == 3 && g->op_cnt == 5 && g->edge_cnt == 2 && g->send_cnt == 2);
	assert_true(g->op[0].kind == VB_GRAPH_SEND && g->op[0].amount == 8 && g->op[0].tag == 5);
	assert_true(g->op[0].peer == 1 && g->op[0].match == 4);
	assert_true(g->op[1].kind == VB_GRAPH_RECV && g->op[1].peer == 2 && g->op[1].tag == 0);
	assert_true(g->op[1].match == 3 && g->op[3].rank == 2);
	assert_true(g->op[2].kind == VB_GRAPH_CALC && g->op[2].amount == 1000);
	assert_true(g->op[2].stream == 3 && g->stream_cnt == 4);
	assert_true(g->op[0].first == 0 && g->op[1].first == 1 && g->op[2].first == 2);
	assert_true(g->edge[0] == 1 && g->edge[1] == (2 | VB_GRAPH_AT_START));
	vb_graph_destroy(g);
}

/* Many labels in each rank, of which each rank knows its own. */
static void goal__has_many_labels(void **state)
{
	size_t size = 1 << 20, len;
	char *text = malloc(size);
	struct vb_graph *g;

	(void)state;
	assert_non_null(text);
	len = (size_t)snprintf(text, size, "num_ranks 2\n");
	for (int rank = 0; rank < 2; rank++) {
		len += (size_t)snprintf(text + len, size - len, "rank %d {\n", rank);
		for (int i = 0; i < 3000; i++)
			len += (size_t)snprintf(text + len, size - len, "l%d: calc %d\n", i, i);
		for (int i = 1; i < 3000; i++)
			len += (size_t)snprintf(text + len, size - len, "l%d requires l%d\n", i,
						i / 2);
		len += (size_t)snprintf(text + len, size - len, "}\n");
	}
	g = graph_of(text);
	assert_int_equal(g->op_cnt, 6000);
	for (uint32_t i = 1; i < 3000; i++)
		assert_true(g->op[i].needs == 1 && g->op[3000 + i].amount == i);
	assert_int_equal(g->edge[g->op[3000 + 100].first], 3000 + 200);
	vb_graph_destroy(g);
	free(text);
}

static void goal__says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"", "f:1:1: num_ranks is missing here, at the end"},
	    {"ranks 2", "f:1:1: num_ranks is expected here, not \"ranks\""},
	    {"num_ranks 5", "f:1:11: there are 5 ranks, and 4 hosts"},
	    {"num_ranks 0", "f:1:11: there are 0 ranks, and 4 hosts"},
	    {"num_ranks 99999999999999999999",
	     "f:1:11: the number of ranks is 0 to 1048576, not 99999999999999999999"},
	    {"num_ranks 2\nrank 2 {}", "f:2:6: a rank is 0 to 1, not 2"},
	    {"num_ranks 2\nrank 1 {}\nrank 1 {}", "f:3:6: rank 1 is there twice"},
	    {"num_ranks 2\nrank 1 {",
	     "f:2:9: an operation, a label or } is missing here, at the end"},
	    {"num_ranks 2\nrank 1 {\n l1 l2\n}",
	     "f:3:5: \":\", requires or irequires is expected here, not \"l2\""},
	    {"num_ranks 2\nrank 1 {\n l1: wait 5\n}",
	     "f:3:6: send, recv or calc is expected here, not \"wait\""},
	    {"num_ranks 2\nrank 1 {\n l1: send 5 to 0\n}",
	     "f:3:13: b, for bytes, is expected here, not \"to\""},
	    {"num_ranks 2\nrank 1 {\n send 5b from 0\n}",
	     "f:3:10: to is expected here, not \"from\""},
	    {"num_ranks 2\nrank 1 {\n send 5b to 1\n}", "f:3:13: rank 1 sends to itself"},
	    {"num_ranks 2\nrank 1 {\n recv 5b from 1\n}", "f:3:15: rank 1 receives from itself"},
	    {"num_ranks 2\nrank 1 {\n recv 5b from -1\n}",
	     "f:3:15: a rank is a number: any source and any tag (-1) are not taken here"},
	    {"num_ranks 2\nrank 1 {\n recv 5b from 0 nic 1\n}",
	     "f:3:21: a nic (a host has one) is 0 to 0, not 1"},
	    {"num_ranks 2\nrank 1 {\n recv 5b from 0 l2: calc 5\n}",
	     "f:3:17: tag, cpu, nic or the end of the line is expected here, not \"l2\""},
	    {"num_ranks 2\nrank 1 {\n calc 5 cpu 64\n}", "f:3:13: a cpu is 0 to 63, not 64"},
	    {"num_ranks 2\nrank 1 {\n calc 5 tag 1\n}",
	     "f:3:9: cpu or the end of the line is expected here, not \"tag\""},
	    {"num_ranks 2\nrank 1 {\n calc 1000000000001\n}",
	     "f:3:7: the time of a calc, in ns, is 0 to 1000000000000, not 1000000000001"},
	    {"num_ranks 2\nrank 1 {\n send 1099511627777b to 0\n}",
	     "f:3:7: the size of a message is 0 to 1099511627776, not 1099511627777"},
	    {"num_ranks 2\nrank 1 {\n l1: calc 1\nl1: calc 2\n}",
	     "f:4:1: rank 1 has a label \"l1\" already"},
	    {"num_ranks 2\nrank 0 {\n l1: calc 1\n}\nrank 1 {\nl2: calc 2\nl2 requires l1\n}",
	     "f:7:13: rank 1 has no label \"l1\" above"},
	    {"num_ranks 2\nrank 0 {\nl2: calc 1; l2 requires l2 l2\n}",
	     "f:3:28: the end of the line is expected here, not \"l2\""},
	    {"num_ranks 2\nrank 0 {\nl2: calc 1; l2 requires 5\n}",
	     "f:3:25: a label is expected here, not \"5\""},
	    {"num_ranks 2\nrank 0 {}\n}", "f:3:1: rank is expected here, not \"}\""},
	    {"num_ranks 2\nrank 0 {\nl1: calc 1\nl2: recv 8b from 1 tag 3\n}",
	     "f:4:1: l2 of rank 0 waits for ever: rank 1 has no send to it with tag 3 that no "
	     "other "
	     "recv takes"},
	    {"num_ranks 2\nrank 0 {\n\n  send 8b to 1 tag 3\n}",
	     "f:4:3: nobody takes send of rank 0: rank 1 has no recv from it with tag 3 that no "
	     "other send is for"},
	    {"num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl5: recv 7b from 0\n}",
	     "f:6:1: l5 of rank 1 has room for 7 bytes: l1 of rank 0 in line 3 sends 8"},
	    {"num_ranks 2\nrank 0 {\nl1: calc 1\nl1 irequires l1\n}",
	     "f:3:1: l1 of rank 0 never starts or ends: it waits for l1 of rank 0 in line 3, and "
	     "that one in the end for it"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		char err[512] = "";
		struct vb_graph *g;

		assert_int_equal(parse(&g, t[i].text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* Two ranks that wait for each other: each place in the circle is right. */
static void goal__names_a_circle(void **state)
{
	const char *text = "num_ranks 2\n"
			   "rank 0 {\nl1: recv 8b from 1\nl2: send 8b to 1\nl2 requires l1\n}\n"
			   "rank 1 {\nl3: recv 8b from 0\nl4: send 8b to 0\nl4 requires l3\n}\n";
	char err[512] = "";
	struct vb_graph *g;

	(void)state;
	assert_int_equal(parse(&g, text, err, sizeof err), -EINVAL);
	assert_string_equal(
	    err, "f:3:1: l1 of rank 0 never starts or ends: it waits for l4 of rank 1 in "
		 "line 9, and that one in the end for it");
}

static void scenario__runs_a_file(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run = {.arena = NULL};
	char err[1024] = "";
	uint32_t cnt;

	(void)state;
	input_write("a.goal", "num_ranks 2\nrank 0 {\nl1: calc 2500\nl2: send 1000b to 1\n"
			      "l2 requires l1\n}\nrank 1 { recv 1000b from 0 }\n");
	if (input_open(&sc, &run,
		       "topology: {hosts: 3}\n"
		       "workload: {shape: goal, goal: a.goal, iterations: 4, compute: 1us}\n",
		       err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(run.flows_listed, 4);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_laps(run.load, 0, &cnt)[3].begin,
			 3 * (vb_load_laps(run.load, 0, &cnt)[0].end + 1000));
	assert_int_equal(cnt, 4);
	assert_int_equal(vb_load_iterations(run.load, 0), 4);
	assert_int_equal(vb_load_graph_received(run.load, 0, 1), 4000);
	vb_scenario_close(&run);
	vb_scenario_free(&sc);
}

static void scenario__runs_a_collective(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run = {.arena = NULL};
	char err[1024] = "";
	uint32_t cnt;

	(void)state;
	if (input_open(&sc, &run,
		       "topology: {hosts: 6}\nseed: 9\n"
		       "workload: [{shape: collective, collective: all-reduce, bytes: 60kB, "
		       "algorithm: hierarchical, local: 2, iterations: 2}, "
		       "{shape: collective, collective: pipeline, hosts: 3, bytes: 1kB, "
		       "microbatches: 4, work: 10us, backward: 15us, new-connections: true}, "
		       "{shape: collective, collective: moe, work: 10us, bytes: 9kB}, "
		       "{shape: permutation, bytes: 5kB, new-connections: true}, "
		       "{shape: permutation, bytes: 5kB, start: 1s, new-connections: true}]\n",
		       err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), 0);
	for (uint32_t i = 0; i < 3; i++) {
		(void)vb_load_laps(run.load, i, &cnt);
		assert_int_equal(cnt, i == 0 ? 2 : 1);
		assert_int_equal(vb_load_collective(run.load, i)->ranks, i == 1 ? 3 : 6);
	}
	assert_int_equal(vb_collective_algorithm_of(vb_load_collective(run.load, 1)), VB_1F1B);
	/* Six in rings of two, and three in turn across; a pipeline of 16 messages; experts; and
	 * each flow of the permutations. */
	assert_int_equal(vb_load_connection_cnt(run.load), 6 + 6 + 16 + 30 + 12);
	vb_scenario_close(&run);
	vb_scenario_free(&sc);
}

static void scenario__says_what_is_wrong_with_a_graph(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"workload: {shape: goal}\n",
	     "s.yaml:1:11: shape: goal takes a file as goal, with the graph"},
	    {"workload: {shape: single, goal: a}\n", "s.yaml:1:33: goal goes with shape: goal"},
	    {"workload: {shape: collective}\n",
	     "s.yaml:1:11: shape: collective takes a collective, such as all-reduce"},
	    {"workload: {shape: collective, collective: sum}\n",
	     "s.yaml:1:43: collective is all-reduce, all-gather, reduce-scatter, all-to-all, "
	     "broadcast, "
	     "moe or pipeline, not \"sum\""},
	    {"workload: {shape: collective, collective: all-gather, algorithm: best}\n",
	     "s.yaml:1:66: algorithm is ring, halving-doubling, tree, hierarchical, direct, "
	     "pairwise, "
	     "1f1b or gpipe, not \"best\""},
	    {"workload: {shape: collective, collective: all-gather, algorithm: tree}\n",
	     "s.yaml:1:11: workload 1 has an algorithm that this collective does not have; hosts "
	     "are 0 "
	     "to 1"},
	    {"workload: {shape: single, algorithm: ring}\n",
	     "s.yaml:1:38: algorithm goes with shape: collective or chakra"},
	    {"workload: {shape: single, iterations: 2}\n",
	     "s.yaml:1:39: iterations goes with shape: collective, goal or chakra"},
	    {"transport: {type: ud}\nworkload: {shape: collective, collective: all-gather}\n",
	     "s.yaml:2:11: workload 1 has messages that have to arrive, which UC and UD do not "
	     "promise; "
	     "hosts are 0 to 1"},
	    {"topology: {hosts: 2000}\nswitch: {buffer: 1GB}\n"
	     "workload: {shape: collective, collective: all-reduce}\n",
	     "s.yaml:3:11: workload 1 has a graph of more than 4194304 operations: take fewer "
	     "hosts, or "
	     "fewer chunks or microbatches"},
	    {"workload: {shape: goal, goal: wrong.goal}\n",
	     "wrong.goal:2:9: an operation, a label or } is expected here, not \"?\""},
	};

	(void)state;
	input_write("wrong.goal", "num_ranks 2\nrank 0 {\001}\n");
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++)
		input_refused(t[i].text, t[i].err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(goal__is_read),
	    cmocka_unit_test(goal__has_many_labels),
	    cmocka_unit_test(goal__says_what_is_wrong),
	    cmocka_unit_test(goal__names_a_circle),
	    cmocka_unit_test_setup_teardown(scenario__runs_a_file, input_begin, input_end),
	    cmocka_unit_test_setup_teardown(scenario__runs_a_collective, input_begin, input_end),
	    cmocka_unit_test_setup_teardown(scenario__says_what_is_wrong_with_a_graph, input_begin,
					    input_end),
	};

	return cmocka_run_group_tests_name("scenario_goal", tests, NULL, NULL);
}
