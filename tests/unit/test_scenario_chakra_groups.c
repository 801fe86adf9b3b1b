/* SPDX-License-Identifier: BSD-2-Clause */
/* Chakra traces: collectives of some ranks, and computation without a duration.
 * scenario/input/chakra/chakra.h */
#include "chakra_env.h"

/* An all-reduce of 60000 bytes that requires the node before it, of a process group or of
 * dimensions. */
static void put_of_group(struct bytes *b, uint64_t id, const char *name, const char *dims)
{
	struct bytes n = node_of(id, COLL, 0), a = {.len = 0}, list = {.len = 0};

	if (id > 0)
		put_number(&n, 5, id - 1);
	put_attr(&n, "comm_type", 9, 0);
	put_attr(&n, "comm_size", 9, 60000);
	if (name) {
		put_bytes(&a, 1, "pg_name", 7);
		put_bytes(&a, 29, name, strlen(name));
	} else {
		put_bytes(&list, 1, dims, 2);
		put_bytes(&a, 1, "involved_dim", 12);
		put_bytes(&a, 28, list.at, list.len);
	}
	put_bytes(&n, 10, a.at, a.len);
	put_node(b, &n);
}

/* Of four ranks, @name[rank] (NULL: none), or dimensions. */
static void write_groups(const char *file, const char *const *name, const char *const *dims)
{
	for (unsigned rank = 0; rank < 4; rank++) {
		struct bytes b = trace_begin();
		char path[32];

		put_plain(&b, 0, COMP, 20);
		if ((name && name[rank]) || (dims && dims[rank]))
			put_of_group(&b, 1, name ? name[rank] : NULL, dims ? dims[rank] : NULL);
		snprintf(path, sizeof path, "%s.%u.et", file, rank);
		write_trace(path, &b);
	}
}

/* Two groups of two ranks at once take what two hosts take alone. */
static void groups__of_names_and_dimensions(void **state)
{
	vb_time alone =
	    end_of("shape: collective, collective: all-reduce, hosts: 2, bytes: 60000") + 20000;

	(void)state;
	write_groups("n", (const char *const[]){"5", "5", "tp", "tp"}, NULL);
	assert_int_equal(end_of("shape: chakra, chakra: n"), alone);
	/* A group of one rank has nothing to do. */
	write_groups("o", (const char *const[]){"5", "5", "6", NULL}, NULL);
	assert_int_equal(end_of("shape: chakra, chakra: o"), alone);
	/* The inner dimension are ranks 0, 1 and 2, 3, the outer one 0, 2 and 1, 3. */
	write_groups("d", NULL, (const char *const[]){"\1\0", "\1\0", "\1\0", "\1\0"});
	assert_int_equal(end_of("shape: chakra, chakra: d, dims: [2, 2]"), alone);
	write_groups("e", NULL, (const char *const[]){"\0\1", NULL, "\0\1", NULL});
	assert_int_equal(end_of("shape: chakra, chakra: e, dims: [2, 2]"), alone);
	write_groups("e", NULL, (const char *const[]){"\0\1", "\0\1", NULL, NULL});
	input_refused("topology: {hosts: 4}\n"
		      "workload: {shape: chakra, chakra: e, dims: [2, 2]}\n",
		      "e.0.et: byte 22: node 1 is a collective that rank 2 has not");
	input_refused("topology: {hosts: 4}\n"
		      "workload: {shape: chakra, chakra: e, dims: [2, 3]}\n",
		      "e: the workload has dims of 6 ranks, and there are traces of 4");
}

/* Groups that have ranks in common: each of the messages is of its own collective. */
static void groups__of_the_same_ranks(void **state)
{
	(void)state;
	for (unsigned rank = 0; rank < 4; rank++) {
		struct bytes b = trace_begin();
		char path[32];
		uint64_t id = 0;

		if (rank == 1) {
			put_plain(&b, id++, COMP, 20);
			put_of_group(&b, id++, "a", NULL);
		}
		if (rank < 2)
			put_of_group(&b, id++, "b", NULL);
		if (rank != 1)
			put_of_group(&b, id++, "a", NULL);
		put_of_group(&b, id++, "0", NULL);
		snprintf(path, sizeof path, "s.%u.et", rank);
		write_trace(path, &b);
	}
	/* Rank 0 waits for 1 in b, and 1 for 0 in a. */
	input_refused(
	    "topology: {hosts: 4}\nworkload: {shape: chakra, chakra: s}\n",
	    "s.0.et: byte 69: node 1 never starts or ends: it waits for node 0 of rank 0, "
	    "and that one in the end for it");
	for (unsigned rank = 0; rank < 4; rank++) {
		struct bytes b = trace_begin();
		char path[32];

		put_of_group(&b, 0, "a", NULL);
		put_of_group(&b, 1, rank < 2 ? "b" : "c", NULL);
		put_of_group(&b, 2, "a", NULL);
		snprintf(path, sizeof path, "s.%u.et", rank);
		write_trace(path, &b);
	}
	assert_uint_in_range(end_of("shape: chakra, chakra: s"), 40000, 80000);
}

/* The time of operations, by the rate. */
static void times__of_operations(void **state)
{
	struct bytes b = trace_begin(), n = node_of(0, COMP, 0), one = trace_begin();

	(void)state;
	put_attr(&n, "num_ops", 13, 50000001);
	put_node(&b, &n);
	n = node_of(1, COMP, 7);
	put_number(&n, 5, 0);
	put_attr(&n, "flops", 13, 1000000); /* the trace has a duration */
	put_node(&b, &n);
	put_message(&b, 2, SEND, 1, 100);
	put_message(&one, 0, RECV, 0, 100);
	write_trace("r.0.et", &b);
	write_trace("r.1.et", &one);
	input_write("r.goal", "num_ranks 2\nrank 0 {\na: calc 50001\nb: calc 7000\n"
			      "c: send 100b to 1\nb requires a\nc requires b\n}\n"
			      "rank 1 {\na: recv 100b from 0\n}\n");
	assert_int_equal(end_of("shape: chakra, chakra: r, compute-rate: 1TFLOPS"),
			 end_of("shape: goal, goal: r.goal"));
	assert_int_equal(end_of("shape: chakra, chakra: r, compute-rate: 0.001 Pops"),
			 end_of("shape: goal, goal: r.goal"));
	input_refused("workload: {shape: chakra, chakra: r, compute-rate: 1kops}\n",
		      "r.0.et: byte 9: node 0 takes longer than 1000 s");
	input_refused("workload: {shape: chakra, chakra: r, compute-rate: 1THz}\n",
		      "s.yaml:1:52: compute-rate is operations in a second, such as 312Tops or "
		      "9.7TFLOPS, from 1kops to 1000Pops, not \"1THz\"");
	input_refused("workload: {shape: goal, goal: r.goal, dims: [2]}\n",
		      "s.yaml:1:45: dims goes with shape: chakra");
	input_refused("workload: {shape: chakra, chakra: r, dims: [1, 1, 1, 1, 1, 1, 1, 1, 2]}\n",
		      "s.yaml:1:69: there are at most 8 dims");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(groups__of_names_and_dimensions),
	    cmocka_unit_test(groups__of_the_same_ranks),
	    cmocka_unit_test(times__of_operations),
	};

	return cmocka_run_group_tests(tests, input_begin, input_end);
}
