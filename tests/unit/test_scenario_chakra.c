/* SPDX-License-Identifier: BSD-2-Clause */
/* Chakra traces, made here in the form of protobuf by a small writer, and as JSON.
 * scenario/input/chakra/chakra.h */
#include "chakra_env.h"
#include "scenario/input/chakra/chakra.h"
#include "sim_net.h"

#include <errno.h>

/* Of all kinds of nodes, and the same graph as GOAL. */
static void times__are_those_of_goal(void **state)
{
	struct bytes zero = trace_begin(), one = trace_begin();

	(void)state;
	put_plain(&zero, 0, METADATA, 99);
	put_plain(&zero, 1, COMP, 30);
	put_plain(&zero, 2, LOAD, 5);
	put_message(&zero, 3, SEND, 1, 100000);
	put_message(&zero, 4, RECV, 1, 50);
	put_message(&one, 0, RECV, 0, 100000);
	put_plain(&one, 1, STORE, 7);
	put_message(&one, 2, SEND, 0, 50);
	write_trace("t.0.et", &zero);
	write_trace("t.1.et", &one);
	input_write("t.goal", "num_ranks 2\nrank 0 {\na: calc 30000\nb: calc 5000 cpu 1\n"
			      "c: send 100000b to 1\nd: recv 50b from 1\nb requires a\n"
			      "c requires b\nd requires c\n}\nrank 1 {\na: recv 100000b from 0\n"
			      "b: calc 7000\nc: send 50b to 0\nb requires a\nc requires b\n}\n");
	assert_int_equal(end_of("shape: chakra, chakra: t, iterations: 3"),
			 end_of("shape: goal, goal: t.goal, iterations: 3"));
}

/* A collective between computations takes what it takes alone, whatever its algorithm; an
 * all-gather brings what each rank has. */
static void collectives__take_as_long_as_alone(void **state)
{
	static const struct {
		uint64_t type;
		const char *chakra, *collective;
		unsigned bytes;
	} t[] = {
	    {0, "iterations: 1", "all-reduce", 60000},
	    {0, "algorithm: halving-doubling", "all-reduce, algorithm: halving-doubling", 60000},
	    {0, "algorithm: tree, chunks: 4", "all-reduce, algorithm: tree, chunks: 4", 60000},
	    {0, "algorithm: hierarchical, local: 2",
	     "all-reduce, algorithm: hierarchical, local: 2", 60000},
	    {2, "algorithm: tree", "all-gather", 240000},
	    {5, "chunks: 3", "broadcast, chunks: 3", 60000},
	    {6, "algorithm: pairwise", "all-to-all, algorithm: pairwise", 60000},
	    {6, "iterations: 1", "all-to-all", 60000},
	    {7, "algorithm: pairwise", "reduce-scatter", 60000},
	};

	vb_time other[2] = {0, 0};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char name[16], text[200];
		vb_time alone, end;

		for (unsigned rank = 0; rank < 4; rank++) {
			struct bytes b = trace_begin();

			put_plain(&b, 0, COMP, 20);
			put_collective(&b, 1, t[i].type, 60000);
			put_plain(&b, 2, COMP, 10);
			snprintf(name, sizeof name, "c.%u.et", rank);
			write_trace(name, &b);
		}
		snprintf(text, sizeof text, "shape: collective, collective: %s, bytes: %u",
			 t[i].collective, t[i].bytes);
		alone = end_of(text);
		snprintf(text, sizeof text, "shape: chakra, chakra: c, %s", t[i].chakra);
		/* A rank that is ready goes on before the last one is. */
		alone += 20000;
		end = end_of(text);
		assert_true(end >= alone && end <= alone + 10000);
		/* The algorithm is that of the key, and no other one. */
		if (t[i].type == 6)
			other[i % 2] = end;
	}
	assert_int_not_equal(other[0], other[1]);
}

/* Alone in its traces one takes the same time to the nanosecond: steps of "pairwise" are not
 * messages that go all at once. */
static void a_collective__takes_its_algorithm(void **state)
{
	(void)state;
	for (unsigned rank = 0; rank < 4; rank++) {
		struct bytes b = trace_begin();
		char name[16];

		put_collective(&b, 0, 6, 60000);
		snprintf(name, sizeof name, "p.%u.et", rank);
		write_trace(name, &b);
	}
	assert_int_equal(
	    end_of("shape: chakra, chakra: p, algorithm: pairwise"),
	    end_of("shape: collective, collective: all-to-all, bytes: 60000, algorithm: pairwise"));
	assert_int_equal(end_of("shape: chakra, chakra: p, algorithm: direct"),
			 end_of("shape: collective, collective: all-to-all, bytes: 60000"));
	assert_true(end_of("shape: chakra, chakra: p, algorithm: pairwise") >
		    end_of("shape: chakra, chakra: p, algorithm: direct"));
}

static struct vb_graph *graph_of(bool is_json, const void *const *text, const size_t *len,
				 uint32_t ranks, char *err, size_t size)
{
	const struct vb_complaint c = {"t", err, size};
	struct vb_chakra t = {.is_json = is_json, .c = &c};
	const struct vb_collective how = {.kind = 0};
	struct vb_graph *g = NULL;
	int bad = 0;

	for (uint32_t i = 0; !bad && i < ranks; i++)
		bad = vb_chakra_read(&t, text[i], len[i]);
	if (!bad)
		bad = vb_chakra_graph(&g, &t, &how, &net_memory);
	assert_true(bad == 0 || bad == -EINVAL);
	vb_chakra_free(&t);
	return bad ? NULL : g;
}

/* The names and numbers of the jsonizer, and of the schema. */
static void json__is_read(void **state)
{
	const char *zero =
	    "{\n  \"version\": \"0.0.4\"\n}{\n  \"id\": \"3\", \"name\": \"a \\\" }\", \"type\": "
	    "\"COMP_NODE\",\n  \"durationMicros\": \"12\", \"inputs\": {\"values\": [1, {}]}, "
	    "\"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": true}]\n}{\"type\": 5, "
	    "\"data_deps\":"
	    " [\"3\"], \"ctrlDeps\": [3],\n \"attr\": [{\"int64Val\": \"9\", \"name\": "
	    "\"comm_size\"}, {\"name\": \"comm_dst\", \"int32_val\": 1}]}\n";
	const char *one = "{}{\"type\": \"COMM_RECV_NODE\", \"attr\": [{\"name\": \"comm_size\", "
			  "\"uint64Val\": 10}, {\"name\": \"comm_src\", \"uint32Val\": 0}]}";
	const void *text[] = {zero, one};
	const size_t len[] = {strlen(zero), strlen(one)};
	char err[512] = "";
	struct vb_graph *g = graph_of(true, text, len, 2, err, sizeof err);

	(void)state;
	if (!g)
		fail_msg("%s", err);
	/* In the order of their numbers: the send has 0. */
	assert_true(g->op_cnt == 3 && g->edge_cnt == 2 && g->send_cnt == 1);
	assert_true(g->op[0].kind == VB_GRAPH_SEND && g->op[0].amount == 9 && g->op[0].match == 2);
	assert_true(g->op[1].kind == VB_GRAPH_CALC && g->op[1].amount == 12000);
	assert_true(g->op[1].stream == 2 && g->op[0].needs == 2);
	vb_graph_destroy(g);
}

#define NODE(words) "{}\n{\"id\": 4, " words "}"
#define COMM(type, words) NODE("\"type\": \"COMM_" type "_NODE\", \"attr\": [" words "]")
#define ATTR(name, value) "{\"name\": \"" name "\", \"int64Val\": " value "}"

static const struct {
	const char *text, *err;
} json_wrong[] = {
    {"", "1: global metadata is expected here"},
    {"{\"id\": 4}", "1: global metadata is expected here, not a node"},
    {"{}\n[]", "2: a node is expected here"},
    {"{}\n{\"id\": 4", "2: \",\" or \"}\" is expected here"},
    {"{}\n{\"id\"\n 4", "3: \":\" is expected here"},
    {"{}\n{\"id\": -4}", "2: a whole number is expected here"},
    {"{}\n{\"id\": 18446744073709551616}", "2: a whole number is expected here"},
    {"{}\n{\"name\": \"\n", "2: a string goes beyond its line"},
    {"{}\n{\"name\": \"\\", "2: a string goes beyond the end"},
    {"{}\n{\"name\": [[}]", "2: a list ends as an object, or the reverse"},
    {"{}\n{\"name\": [[]", "2: a list or an object goes beyond the end"},
    {NODE("\"dataDeps\": 5"), "2: a list is expected here"},
    {NODE("\"attr\": [5]"), "2: an attribute is expected here"},
    {NODE("\"type\": \"STORAGE_NODE\""), "2: node 4 has a type that is not taken (0)"},
    {NODE("\"type\": 8"), "2: node 4 has a type that is not taken (8)"},
    {NODE("\"type\": 4, \"dataDeps\": [5]"), "2: node 4 requires node 5, which is not there"},
    {NODE("\"type\": 4}\n{\"type\": 4, \"id\": 4"), "3: node 4 is there twice"},
    {NODE("\"type\": 4, \"ctrlDeps\": [4]"),
     "2: node 4 never starts or ends: it waits for node 4 of rank 0, and that one in the "
     "end for it"},
    {NODE("\"type\": 4, \"durationMicros\": \"1000000001\""), "2: node 4 takes longer than 1000 s"},
    {NODE("\"type\": 4, \"attr\": [" ATTR("num_ops", "7") "]"),
     "2: node 4 has num_ops and no duration_micros, and the workload has no compute-rate"},
    {COMM("SEND", ATTR("comm_dst", "1")), "2: node 4 has no comm_size or no comm_dst"},
    {COMM("RECV", ATTR("comm_size", "1")), "2: node 4 has no comm_size or no comm_src"},
    {COMM("SEND", ATTR("comm_size", "1.5")), "2: comm_size is no whole number from 0 on"},
    {COMM("SEND", ATTR("comm_size", "1") "," ATTR("comm_dst", "0")),
     "2: node 4 sends to rank 0, and is of rank 0 of 2"},
    {COMM("RECV", ATTR("comm_size", "1") "," ATTR("comm_src", "2")),
     "2: node 4 receives from rank 2, and is of rank 0 of 2"},
    {COMM("SEND", ATTR("comm_size", "1") "," ATTR("comm_dst", "1") "," ATTR("comm_src", "1")),
     "2: node 4 has a comm_src of 1, and is of rank 0"},
    {COMM("SEND",
	  ATTR("comm_size", "1") "," ATTR("comm_dst", "1") "," ATTR("comm_tag", "2147483648")),
     "2: node 4 has a comm_tag above 2147483647"},
    {COMM("SEND", ATTR("comm_size", "1") "," ATTR("comm_dst", "1")),
     "2: node 4 sends what nobody takes: rank 1 has no receive from it with tag 0 that no "
     "other send is for"},
    {COMM("RECV", ATTR("comm_size", "1") "," ATTR("comm_src", "1")),
     "2: node 4 waits for ever: rank 1 has no send to it with tag 0 that no other receive "
     "takes"},
    {COMM("SEND", ATTR("comm_size", "1099511627777")), "2: node 4 has more than 1 TiB"},
    {COMM("COLL", ATTR("comm_size", "1")), "2: node 4 has no comm_size or no comm_type"},
    {COMM("COLL", ATTR("comm_size", "1") "," ATTR("comm_type", "9")),
     "2: node 4 has the comm_type 9, BARRIER: ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, "
     "ALL_TO_ALL and BROADCAST are taken"},
    {COMM("COLL", ATTR("comm_size", "1") "," ATTR("comm_type", "0") ",{\"name\": "
								    "\"involved_dim\", "
								    "\"boolList\": "
								    "{\"values\": [true, "
								    "false]}}"),
     "2: node 4 is about some of 2 dimensions (involved_dim), and the workload has dims of 0"},
    {COMM("COLL", ATTR("comm_size", "1") "," ATTR("comm_type", "0")),
     "2: node 4 is a collective that rank 1 has not"},
};

static void json__says_what_is_wrong(void **state)
{
	char deep[200] = "{}\n{\"name\": ";

	(void)state;
	for (size_t i = 0; i <= sizeof json_wrong / sizeof json_wrong[0]; i++) {
		bool is_last = i == sizeof json_wrong / sizeof json_wrong[0];
		const char *one = "{}\n";
		const void *text[] = {is_last ? deep : json_wrong[i].text, one};
		size_t len[] = {0, strlen(one)};
		char err[512] = "", want[512];

		memset(deep + 12, '[', 65);
		len[0] = strlen(text[0]);
		snprintf(want, sizeof want, "t.0.json:%s",
			 is_last ? "2: lists in lists are more than 64 deep" : json_wrong[i].err);
		assert_null(graph_of(true, text, len, 2, err, sizeof err));
		assert_string_equal(err, want);
	}
}

/* Bytes behind good metadata of two bytes, which is not a whole node. */
static void proto__says_what_is_wrong(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *err;
	} t[] = {
	    {"", 0, "byte 0: the file is empty"},
	    {"\x1f\x8b", 2, "byte 0: the file is compressed: unpack it with gzip -d"},
	    {"\x05\x0a", 2, "byte 0: a length goes beyond the end"},
	    {"\x02\x08\x05", 3, "byte 1: global metadata is expected here, not a node"},
	    {"\0\x80", 2, "byte 1: a number goes beyond the end"},
	    {"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11,
	     "byte 1: a number has more than 64 bits"},
	    {"\0\x7f\x08", 3, "byte 1: a length goes beyond the end"},
	    {"\0\x02\x08\x80", 4, "byte 3: a number goes beyond the end"},
	    {"\0\x02\x00\x01", 4, "byte 2: no field has that number"},
	    {"\0\x02\x0b\x01", 4, "byte 2: no field is of that kind"},
	    {"\0\x03\x79\x01\x01", 5, "byte 3: a number goes beyond the end"},
	    {"\0\x03\x7d\x01\x01", 5, "byte 3: a number goes beyond the end"},
	    {"\0\x04\x18\x04\x0a\x00", 6, "byte 4: a field has another kind than in the schema"},
	    {"\0\x04\x18\x04\x2a\x01", 6, "byte 5: a length goes beyond the end"},
	    {"\0\x05\x18\x04\x2a\x01\x80", 7, "byte 6: a number goes beyond the end"},
	    {"\0\x04\x08\x07\x18\x00", 6, "byte 2: node 7 has a type that is not taken (0)"},
	    {"\0\x04\x18\x04\x28\x09", 6, "byte 2: node 0 requires node 9, which is not there"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		const void *text[] = {t[i].bytes};
		char err[512] = "", want[512];

		snprintf(want, sizeof want, "t.0.et: %s", t[i].err);
		assert_null(graph_of(false, text, &t[i].len, 1, err, sizeof err));
		assert_string_equal(err, want);
	}
}

/* Negative numbers, and lists of bools in both of their forms. */
static void proto__values_are_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct bytes b = trace_begin(), n = node_of(1, i == 0 ? SEND : COLL, 0);
		struct bytes a = {.len = 0}, list = {.len = 0};
		const void *text[] = {b.at};
		char err[512] = "";
		struct vb_graph *g;

		put_bytes(&a, 1, "involved_dim", 12);
		if (i == 1)
			put_bytes(&list, 1, "\1\0", 2);
		if (i == 2)
			put_number(&list, 1, 0);
		put_bytes(&a, 28, list.at, list.len);
		if (i < 3)
			put_bytes(&n, 10, a.at, a.len);
		put_attr(&n, "comm_size", i == 0 ? 15 : 13, i == 0 ? 1 : 5);
		put_attr(&n, "comm_type", 13, 0);
		a.len = 0;
		put_bytes(&a, 1, "pg_name", 7);
		put_bytes(&a, 29, i == 3 ? "1" : "0", 1);
		put_bytes(&n, 10, a.at, a.len);
		put_node(&b, &n);
		g = graph_of(false, text, &b.len, 1, err, sizeof err);
		if (i == 3) { /* a group of one rank */
			assert_non_null(g);
			vb_graph_destroy(g);
			continue;
		}
		assert_null(g);
		assert_string_equal(
		    err, i == 0   ? "t.0.et: byte 42: comm_size is no whole number from 0 on"
			 : i == 1 ? "t.0.et: byte 9: node 1 is about some of 2 dimensions "
				    "(involved_dim), and the workload has dims of 0"
				  : "t.0.et: byte 9: node 1 is about some of 1 dimensions "
				    "(involved_dim), and the workload has dims of 0");
	}
}

/* The k-th collectives of ranks are one. */
static void collectives__belong_together(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bytes zero = trace_begin(), one = trace_begin();
		const void *text[] = {zero.at, one.at};
		size_t len[2];
		char err[512] = "";

		put_collective(&zero, 0, 0, 64);
		put_collective(&one, 0, i == 0 ? 6 : 0, i == 1 ? 65 : 64);
		if (i == 2)
			put_collective(&one, 1, 0, 64);
		len[0] = zero.len;
		len[1] = one.len;
		assert_null(graph_of(false, text, len, 2, err, sizeof err));
		assert_string_equal(
		    err,
		    i == 2
			? "t.1.et: byte 52: node 1 is a collective that rank 0 has not"
			: "t.1.et: byte 9: node 0 has another comm_type or comm_size than node 0 "
			  "of rank 0, which is the same collective");
	}
}

static void scenario__says_what_is_wrong(void **state)
{
	struct bytes b = trace_begin();

	(void)state;
	put_plain(&b, 0, COMP, 5);
	write_trace("r.0.et", &b);
	write_trace("r.1.et", &b);
	write_trace("r.2.et", &b);
	input_refused(
	    "workload: {shape: chakra}\n",
	    "s.yaml:1:11: shape: chakra takes the name of files as chakra, without rank and "
	    "form");
	input_refused("workload: {shape: goal, chakra: r}\n",
		      "s.yaml:1:11: shape: goal takes a file as goal, with the graph");
	input_refused(
	    "topology: {hosts: 2}\nworkload: {shape: chakra, chakra: r}\n",
	    "s.yaml:2:11: workload 1 has traces of more ranks than there are hosts: r.2.et");
	input_refused(
	    "topology: {hosts: 4}\nworkload: {shape: chakra, chakra: r, chunks: 2, "
	    "algorithm: ring}\n",
	    "r: the workload has chunks, which are for the algorithm tree and at most 65536");
	input_refused("topology: {hosts: 4}\nworkload: {shape: chakra, chakra: r, work: 2us}\n",
		      "s.yaml:2:44: work goes with shape: collective");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(times__are_those_of_goal, input_begin, input_end),
	    cmocka_unit_test_setup_teardown(collectives__take_as_long_as_alone, input_begin,
					    input_end),
	    cmocka_unit_test_setup_teardown(a_collective__takes_its_algorithm, input_begin,
					    input_end),
	    cmocka_unit_test(json__is_read),
	    cmocka_unit_test(json__says_what_is_wrong),
	    cmocka_unit_test(proto__says_what_is_wrong),
	    cmocka_unit_test(proto__values_are_looked_at),
	    cmocka_unit_test(collectives__belong_together),
	    cmocka_unit_test_setup_teardown(scenario__says_what_is_wrong, input_begin, input_end),
	};

	return cmocka_run_group_tests_name("scenario_chakra", tests, NULL, NULL);
}
