/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collectives: the time of each algorithm on a switch without congestion is that of its alpha-beta
 * model (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
 * 2005), every rank receives the bytes that the algorithm moves, and the bytes are right.
 *
 * The models are written here from theory: a message of m bytes takes alpha + beta m. alpha is the
 * delay of two cables and the time of its first frame, as the switch has that whole before it sends
 * it on; beta m is the time of its frames on a cable, with their headers. The last send ends with
 * its ACK.
 */
#include "claim.h"
#include "graph_env.h"

#include <errno.h>
#include <string.h>

#define MTU 4096.0
#define HEADERS 82.0 /* of a frame: 62 of headers and CRCs, 20 of preamble and gap */
#define BYTE_NS (8.0 / GRAPH_GBPS)
#define ACK (2.0 * GRAPH_DELAY + 2 * (HEADERS + 4) * BYTE_NS)
#define MIB (1u << 20)

static double message(double bytes)
{
	double frames = bytes > MTU ? ceil(bytes / MTU) : 1;
	double first = bytes > MTU ? MTU : bytes;

	return 2 * GRAPH_DELAY + (first + HEADERS + bytes + frames * HEADERS) * BYTE_NS;
}

/* Of a ring of @n, each way. */
static double ring_half(double n, double bytes)
{
	return (n - 1) * message(bytes / n);
}

/* A level of a binary tree: two children share the link of their parent. */
static double levels(double cnt, double bytes)
{
	return cnt * message(2 * bytes);
}

struct example {
	const char *name, *model;
	struct vb_collective c;
	uint64_t bytes;
	double (*expected)(const struct example *e); /* ns of an iteration, before the ACK */
	double within;
	uint64_t first, last; /* bytes that rank 0 and the last rank receive */
};

static double ring_once(const struct example *e)
{
	return ring_half(e->c.ranks, (double)e->bytes);
}

static double ring_twice(const struct example *e)
{
	return 2 * ring_once(e);
}

static double rings_in_two_levels(const struct example *e)
{
	double local = e->c.local, groups = e->c.ranks / local, bytes = (double)e->bytes;

	return 2 * ring_half(local, bytes) + 2 * ring_half(groups, bytes / local);
}

static double halving(const struct example *e)
{
	double t = 0, bytes = (double)e->bytes;
	uint32_t p = 1, n = e->c.ranks;

	while (2 * p <= n)
		p *= 2;
	for (uint32_t d = 2; d <= p; d *= 2)
		t += 2 * message(bytes / d);
	return p < n ? t + 2 * message(bytes) : t;
}

static double tree_down(const struct example *e)
{
	return levels(2, (double)e->bytes); /* of 7 ranks */
}

static double tree_up_and_down(const struct example *e)
{
	return 2 * tree_down(e);
}

/* A rank in the middle receives each chunk three times. */
static double chunks_up_and_down(const struct example *e)
{
	return message(3 * (double)e->bytes) - message(0) +
	       levels(4, (double)e->bytes / e->c.chunks);
}

static double chunks_down(const struct example *e)
{
	double chunk = (double)e->bytes / e->c.chunks;

	return message(2 * (double)e->bytes) - message(0) + levels(2, chunk) - 2 * chunk * BYTE_NS;
}

static double all_at_once(const struct example *e)
{
	return message((double)e->bytes * (e->c.ranks - 1) / e->c.ranks);
}

static double stages(const struct example *e)
{
	double backward = (double)(e->c.backward ? e->c.backward : 2 * e->c.work);

	return (e->c.microbatches + e->c.ranks - 1) * ((double)e->c.work + backward);
}

static double stages_and_messages(const struct example *e)
{
	return stages(e) + 2 * (e->c.ranks - 1) * message((double)e->bytes);
}

#define ALL_REDUCE(n, how, ...)                                                                    \
	{                                                                                          \
		.kind = VB_ALL_REDUCE, .algorithm = how, .ranks = n, __VA_ARGS__                   \
	}
#define OTHER(what, n, ...)                                                                        \
	{                                                                                          \
		.kind = what, .ranks = n, __VA_ARGS__                                              \
	}

static const struct example examples[] = {
    {"all-reduce of 16 MiB between 8, ring", "2 (n - 1) (alpha + beta m / n)",
     ALL_REDUCE(8, VB_RING, .local = 0), 16 * MIB, ring_twice, 0.01, 28 * MIB, 28 * MIB},
    {"all-reduce of 64 kB between 8, ring", "2 (n - 1) (alpha + beta m / n)",
     ALL_REDUCE(8, VB_RING, .local = 0), 64000, ring_twice, 0.01, 112000, 112000},
    {"all-reduce of 16 MiB between 8, halving and doubling", "2 lg n alpha + 2 (n - 1) / n beta m",
     ALL_REDUCE(8, VB_HALVING_DOUBLING, .local = 0), 16 * MIB, halving, 0.01, 28 * MIB, 28 * MIB},
    {"all-reduce of 4 KiB between 6, halving and doubling", "as of 4, and two messages of all",
     ALL_REDUCE(6, VB_HALVING_DOUBLING, .local = 0), 4096, halving, 0.01, 4096, 6144},
    {"all-reduce of 4 MiB between 7, tree", "4 (alpha + 2 beta m)",
     ALL_REDUCE(7, VB_TREE, .local = 0), 4 * MIB, tree_up_and_down, 0.01, 8 * MIB, 4 * MIB},
    {"all-reduce of 4 MiB between 7, tree of 64 chunks", "3 beta m, and a chunk over 4 levels",
     ALL_REDUCE(7, VB_TREE, .chunks = 64), 4 * MIB, chunks_up_and_down, 0.1, 8 * MIB, 4 * MIB},
    {"all-reduce of 16 MiB between 4 groups of 4, hierarchical",
     "2 (l - 1) (alpha + beta m / l) + 2 (g - 1) (alpha + beta m / l g)",
     ALL_REDUCE(16, VB_HIERARCHICAL, .local = 4), 16 * MIB, rings_in_two_levels, 0.01, 30 * MIB,
     30 * MIB},
    {"all-gather of 16 MiB between 8, ring", "(n - 1) (alpha + beta m / n)",
     OTHER(VB_ALL_GATHER, 8, .local = 0), 16 * MIB, ring_once, 0.01, 14 * MIB, 14 * MIB},
    {"reduce-scatter of 16 MiB between 8, ring", "(n - 1) (alpha + beta m / n)",
     OTHER(VB_REDUCE_SCATTER, 8, .local = 0), 16 * MIB, ring_once, 0.01, 14 * MIB, 14 * MIB},
    {"all-to-all of 16 MiB between 8, pairwise", "(n - 1) (alpha + beta m / n)",
     OTHER(VB_ALL_TO_ALL, 8, .algorithm = VB_PAIRWISE), 16 * MIB, ring_once, 0.01, 14 * MIB,
     14 * MIB},
    {"all-to-all of 16 MiB between 8, direct", "alpha + (n - 1) / n beta m",
     OTHER(VB_ALL_TO_ALL, 8, .algorithm = VB_DIRECT), 16 * MIB, all_at_once, 0.01, 14 * MIB,
     14 * MIB},
    {"broadcast of 4 MiB to 7, tree", "2 (alpha + 2 beta m)", OTHER(VB_BROADCAST, 7, .local = 0),
     4 * MIB, tree_down, 0.01, 0, 4 * MIB},
    {"broadcast of 4 MiB to 7, tree of 64 chunks", "2 beta m, and a chunk over 1 level more",
     OTHER(VB_BROADCAST, 7, .chunks = 64), 4 * MIB, chunks_down, 0.01, 0, 4 * MIB},
    {"pipeline of 4 stages, 16 microbatches of 300 us, GPipe",
     "(m + s - 1) (forward + backward) + 2 (s - 1) (alpha + beta m)",
     OTHER(VB_PIPELINE, 4, .algorithm = VB_GPIPE, .microbatches = 16, .work = 100000), MIB / 4,
     stages_and_messages, 0.01, 16 * MIB / 4, 16 * MIB / 4},
    {"pipeline of 4 stages, 16 microbatches of 200 us, 1F1B",
     "(m + s - 1) (forward + backward), and messages of little time",
     OTHER(VB_PIPELINE, 4, .microbatches = 16, .work = 100000, .backward = 100000), 4096, stages,
     0.03, 16 * 4096, 16 * 4096},
};

static void run_example(struct graph_world *w, const struct example *e, uint32_t iterations)
{
	graph_open(w, e->c.ranks, NULL, false);
	graph_run(w, &(struct vb_load_pattern){.shape = VB_LOAD_COLLECTIVE,
					       .collective = e->c,
					       .bytes = e->bytes,
					       .iterations = iterations,
					       .pause = 5000});
}

static bool is_short;

static void time__is_that_of_the_model(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof examples / sizeof examples[0]; i++) {
		const struct example *e = &examples[i];
		struct graph_world w;
		struct vb_load_lap lap;

		if (is_short && e->bytes > MIB)
			continue;
		run_example(&w, e, 2);
		lap = graph_lap(&w, 1);
		assert_claim(&(struct claim){e->name, e->model, "us", (e->expected(e) + ACK) / 1000,
					     e->within},
			     (double)(lap.end - lap.begin) / 1000);
		/* The next one is the same, behind the pause. */
		assert_int_equal(lap.begin, graph_lap(&w, 0).end + 5000);
		assert_int_equal(lap.end - lap.begin,
				 graph_lap(&w, 0).end - graph_lap(&w, 0).begin);
		assert_int_equal(vb_load_graph_received(w.load, 0, 0), 2 * e->first);
		assert_int_equal(vb_load_graph_received(w.load, 0, e->c.ranks - 1), 2 * e->last);
		assert_int_equal(w.report.counters.v[VB_COUNTER_retransmitted_packets], 0);
		graph_close(&w);
	}
}

/* Tokens go to experts unevenly: the time is at least that of the rank that has the most to send or
 * to receive, before and behind the work of the busiest one, and with that sum not much more. */
static void moe__takes_the_time_of_the_busiest(void **state)
{
	struct example e = {.c = {.kind = VB_MOE, .ranks = 8, .work = 500000}, .bytes = 8 * MIB};
	uint64_t in[8] = {0}, out[8] = {0}, all = 0, least = UINT64_MAX, most = 0;
	double work = 0;
	struct graph_world w;
	struct vb_load_lap lap;
	const struct vb_graph *g;

	(void)state;
	run_example(&w, &e, 1);
	g = vb_load_graph(w.load, 0);
	for (uint32_t i = 0; i < g->op_cnt; i++) {
		const struct vb_graph_op *op = &g->op[i];

		if (op->kind == VB_GRAPH_SEND && op->tag == 0) {
			out[op->rank] += op->amount;
			in[op->peer] += op->amount;
			least = op->amount < least ? op->amount : least;
			most = op->amount > most ? op->amount : most;
		} else if (op->kind == VB_GRAPH_CALC && (double)op->amount > work) {
			work = (double)op->amount;
		}
	}
	assert_true(most > 4 * least);
	most = 0;
	for (uint32_t i = 0; i < 8; i++) {
		assert_true(out[i] <= e.bytes);
		most = in[i] > most ? in[i] : most;
		most = out[i] > most ? out[i] : most;
		all += in[i] + out[i]; /* and back */
	}
	lap = graph_lap(&w, 0);
	assert_claim(&(struct claim){"MoE between 8, dispatch, experts and combine",
				     "2 (alpha + beta max) + work", "us",
				     (2 * message((double)most) + work + ACK) / 1000, 0.05},
		     (double)(lap.end - lap.begin) / 1000);
	for (uint32_t i = 0; i < 8; i++)
		all -= vb_load_graph_received(w.load, 0, i);
	assert_int_equal(all, 0);
	assert_true(work > 510000 && work < 1500000);
	graph_close(&w);
}

/* Each algorithm with several numbers of ranks and sizes that do not divide: it ends, all bytes are
 * as they were sent, and the ranks together receive what the algorithm moves. */
static void algorithm__moves_its_bytes(void **state)
{
	static const struct vb_collective c[] = {
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_RING},
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_HALVING_DOUBLING},
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_TREE, .chunks = 3},
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_HIERARCHICAL, .local = 3},
	    {.kind = VB_ALL_GATHER},
	    {.kind = VB_REDUCE_SCATTER},
	    {.kind = VB_ALL_TO_ALL, .algorithm = VB_PAIRWISE},
	    {.kind = VB_ALL_TO_ALL},
	    {.kind = VB_BROADCAST},
	    {.kind = VB_MOE},
	    {.kind = VB_PIPELINE, .microbatches = 5},
	    {.kind = VB_PIPELINE, .algorithm = VB_GPIPE, .microbatches = 1},
	};
	static const uint64_t size[] = {0, 1, 100003};

	(void)state;
	for (unsigned i = 0; i < 3 * 8 * sizeof c / sizeof c[0]; i++) {
		struct example e = {.c = c[i / 24], .bytes = size[i % 3]};
		uint32_t n = 2 + i / 3 % 8;
		uint64_t got = 0, s = e.bytes;
		struct graph_world w;

		e.c.ranks = n;
		if (e.c.local && (n % 3 || n == 3))
			continue;
		graph_open(&w, n, NULL, true);
		graph_run(&w, &(struct vb_load_pattern){.shape = VB_LOAD_COLLECTIVE,
							.collective = e.c,
							.bytes = s,
							.iterations = 2});
		for (uint32_t k = 0; k < n; k++)
			got += vb_load_graph_received(w.load, 0, k);
		if (e.c.kind == VB_ALL_REDUCE)
			assert_int_equal(got, 2 * 2 * (n - 1) * s);
		else if (e.c.kind == VB_PIPELINE)
			assert_int_equal(got, 2 * 2 * e.c.microbatches * (n - 1) * s);
		else if (e.c.kind == VB_MOE)
			assert_true(got <= 2 * 2 * n * s);
		else
			assert_int_equal(got, 2 * (n - 1) * s);
		graph_close(&w);
	}
}

/* Losses delay a collective and do not change it, whatever the reliable transport. */
static void loss__changes_no_byte(void **state)
{
	static const enum vb_qp_type type[] = {VB_QPT_RC, VB_QPT_XRC_INI, VB_QPT_DCI};

	(void)state;
	for (unsigned i = 0; i < sizeof type / sizeof type[0]; i++) {
		struct vb_load_config c = graph_load;
		struct vb_fault_error err;
		struct vb_fault_spec spec;
		struct graph_world w;

		c.type = type[i];
		c.message_bytes = 20000;
		c.timeout = 6;
		graph_open(&w, 5, &c, true);
		assert_int_equal(vb_fault_parse("loss=1e-2,reorder=1%/2us", &spec, &err), 0);
		for (uint32_t k = 0; k < w.net.topo.link_cnt; k++)
			assert_int_equal(vb_sim_set_cable_fault(w.net.sim, k, &spec), 0);
		graph_run(&w, &(struct vb_load_pattern){.shape = VB_LOAD_COLLECTIVE,
							.collective = {.kind = VB_ALL_REDUCE,
								       .algorithm = VB_TREE,
								       .chunks = 20},
							.bytes = 1000000,
							.iterations = 3});
		assert_true(w.report.counters.v[VB_COUNTER_retransmitted_packets] > 10);
		for (uint32_t k = 0; k < 5; k++) /* a chunk of each child, and of the parent */
			assert_int_equal(vb_load_graph_received(w.load, 0, k), 3 * 1000000 *
										   (k == 0   ? 2
										    : k == 1 ? 3
											     : 1));
		assert_int_equal(vb_load_connection_cnt(w.load), 8);
		graph_close(&w);
	}
}

/* busbw over algbw, as in doc/PERFORMANCE.md of nccl-tests. */
static void bus__is_that_of_nccl_tests(void **state)
{
	static const struct {
		enum vb_collective_kind kind;
		uint64_t up, down;
		bool has;
	} t[] = {
	    {VB_ALL_REDUCE, 14, 8, true},    {VB_ALL_GATHER, 7, 8, true},
	    {VB_REDUCE_SCATTER, 7, 8, true}, {VB_ALL_TO_ALL, 7, 8, true},
	    {VB_BROADCAST, 1, 1, true},      {VB_MOE, 1, 1, false},
	    {VB_PIPELINE, 1, 1, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		const struct vb_collective c = {.kind = (uint8_t)t[i].kind, .ranks = 8};
		uint64_t up, down;

		assert_int_equal(vb_collective_bus(&c, &up, &down), t[i].has);
		assert_true(up == t[i].up && down == t[i].down);
	}
}

static void wrong__each_setting(void **state)
{
	static const struct {
		struct vb_collective c;
		const char *words;
	} t[] = {
	    {{.kind = VB_BROADCAST, .algorithm = VB_RING, .ranks = 4}, "an algorithm"},
	    {{.kind = VB_COLLECTIVE_KINDS, .ranks = 4}, "an algorithm"},
	    {{.ranks = 1}, "2 ranks"},
	    {{.ranks = 4, .bytes = UINT64_MAX}, "1 TiB"},
	    {{.ranks = 4, .algorithm = VB_HIERARCHICAL}, "a local of 2"},
	    {{.ranks = 4, .algorithm = VB_HIERARCHICAL, .local = 3}, "a local of 2"},
	    {{.ranks = 4, .algorithm = VB_HIERARCHICAL, .local = 4}, "a local of 2"},
	    {{.ranks = 4, .local = 2}, "algorithm hierarchical"},
	    {{.ranks = 4, .chunks = 2}, "algorithm tree"},
	    {{.kind = VB_PIPELINE, .ranks = 4}, "65536 microbatches"},
	    {{.ranks = 4, .microbatches = 2}, "for a pipeline"},
	    {{.ranks = 4, .work = 2}, "and for moe"},
	    {{.kind = VB_MOE, .ranks = 4, .work = 600 * VB_SEC}, "500 s"},
	};
	const struct vb_collective large = {.ranks = 1u << 20};
	const struct vb_collective experts = {.kind = VB_MOE, .ranks = 1u << 20};
	struct vb_graph *g;

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		const char *wrong = vb_collective_wrong(&t[i].c);

		if (!wrong || !strstr(wrong, t[i].words))
			fail_msg("%u: \"%s\" without \"%s\"", i, wrong ? wrong : "", t[i].words);
		assert_int_equal(vb_collective_create(&g, &t[i].c, &net_memory), -EINVAL);
	}
	/* Nothing is wrong with them but their size, which is seen at once. */
	assert_null(vb_collective_wrong(&large));
	assert_int_equal(vb_collective_create(&g, &large, &net_memory), -EINVAL);
	assert_int_equal(vb_collective_create(&g, &experts, &net_memory), -EINVAL);
}

/* With the argument "short", as in builds with sanitizers, without the longest messages. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(time__is_that_of_the_model),
	    cmocka_unit_test(moe__takes_the_time_of_the_busiest),
	    cmocka_unit_test(algorithm__moves_its_bytes),
	    cmocka_unit_test(loss__changes_no_byte),
	    cmocka_unit_test(bus__is_that_of_nccl_tests),
	    cmocka_unit_test(wrong__each_setting),
	};

	is_short = argc > 1 && strcmp(argv[1], "short") == 0;
	return cmocka_run_group_tests_name("sim_collective", tests, NULL, NULL);
}
