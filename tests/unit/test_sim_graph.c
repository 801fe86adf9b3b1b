/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs of messages and computation: which can come to their end, and how they do. */
#include "graph_env.h"

#include <errno.h>

enum { MAX = 16 };

/* A graph written down: operations, and pairs of one that requires and one that is required. */
struct list {
	uint32_t ranks, op_cnt, edge_cnt;
	struct vb_graph_op op[MAX];
	struct {
		uint32_t op, before;
		bool at_start;
	} edge[MAX];
};

static int list_make(void *ctx, struct vb_graph *g)
{
	const struct list *l = ctx;

	for (uint32_t i = 0; i < l->op_cnt; i++)
		assert_int_equal(vb_graph_add(g, &l->op[i]), i);
	for (uint32_t i = 0; i < l->edge_cnt; i++)
		vb_graph_require(g, l->edge[i].op, l->edge[i].before, l->edge[i].at_start);
	return 0;
}

static int create(struct vb_graph **out, const struct list *l, struct vb_graph_fault *fault)
{
	const struct vb_graph_maker maker = {list_make, (void *)(uintptr_t)l};

	return vb_graph_create(out, l->ranks, &maker, &net_memory, fault);
}

#define SEND(from, to, bytes, tag_)                                                                \
	{                                                                                          \
		.kind = VB_GRAPH_SEND, .rank = from, .peer = to, .amount = bytes, .tag = tag_      \
	}
#define RECV(at, from, bytes, tag_)                                                                \
	{                                                                                          \
		.kind = VB_GRAPH_RECV, .rank = at, .peer = from, .amount = bytes, .tag = tag_      \
	}
#define CALC(at, ns, on)                                                                           \
	{                                                                                          \
		.kind = VB_GRAPH_CALC, .rank = at, .amount = ns, .stream = on                      \
	}

/* A graph that cannot end is refused, by what is wrong. */
static void create__refuses_what_never_ends(void **state)
{
	static const struct {
		struct list l;
		enum vb_graph_fault_kind kind;
		uint32_t rank, other; /* of the operations that are named */
	} t[] = {
	    {{2, 1, 0, {RECV(1, 0, 8, 5)}, {{0}}}, VB_GRAPH_UNSENT, 1, 1},
	    {{2, 1, 0, {SEND(0, 1, 8, 5)}, {{0}}}, VB_GRAPH_UNRECEIVED, 0, 0},
	    {{2, 2, 0, {SEND(0, 1, 8, 5), RECV(1, 0, 8, 6)}, {{0}}}, VB_GRAPH_UNRECEIVED, 0, 0},
	    {{3, 3, 0, {SEND(0, 1, 8, 5), RECV(1, 0, 8, 5), RECV(1, 2, 8, 5)}, {{0}}},
	     VB_GRAPH_UNSENT,
	     1,
	     1},
	    {{2, 2, 0, {SEND(0, 1, 9, 5), RECV(1, 0, 8, 5)}, {{0}}}, VB_GRAPH_TOO_SHORT, 1, 0},
	    {{1, 1, 1, {CALC(0, 5, 0)}, {{0, 0, false}}}, VB_GRAPH_CIRCLE, 0, 0},
	    {{1, 1, 1, {CALC(0, 5, 0)}, {{0, 0, true}}}, VB_GRAPH_CIRCLE, 0, 0},
	    /* Both ranks wait for the other's message before they send. */
	    {{2,
	      4,
	      2,
	      {RECV(0, 1, 8, 0), SEND(0, 1, 8, 0), RECV(1, 0, 8, 0), SEND(1, 0, 8, 0)},
	      {{1, 0, false}, {3, 2, false}}},
	     VB_GRAPH_CIRCLE,
	     UINT32_MAX,
	     0},
	    /* One waits behind the circle, and is not in it. */
	    {{2,
	      3,
	      3,
	      {CALC(1, 1, 0), CALC(0, 1, 0), CALC(0, 2, 0)},
	      {{0, 1, false}, {1, 2, false}, {2, 1, true}}},
	     VB_GRAPH_CIRCLE,
	     0,
	     0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_graph_fault fault;
		struct vb_graph *g;

		assert_int_equal(create(&g, &t[i].l, &fault), -EINVAL);
		assert_null(g);
		assert_int_equal(fault.kind, t[i].kind);
		if (t[i].rank == UINT32_MAX)
			continue;
		assert_int_equal(fault.op.rank, t[i].rank);
		assert_int_equal(fault.other.rank, t[i].other);
	}
}

static void create__takes_what_ends(void **state)
{
	/* A receive that is required by its own send's start only. */
	static const struct list good = {2,
					 3,
					 2,
					 {SEND(0, 1, 8, 0), RECV(1, 0, 16, 0), CALC(0, 5, 63)},
					 {{2, 0, true}, {1, 1, false}}};
	struct list l = good;
	struct vb_graph_fault fault;
	struct vb_graph *g;

	(void)state;
	l.edge_cnt = 1;
	assert_int_equal(create(&g, &l, &fault), 0);
	assert_int_equal(fault.kind, VB_GRAPH_IS_GOOD);
	assert_true(g->op[0].match == 1 && g->op[1].match == 0 && g->pair_cnt == 1);
	assert_true(g->stream_cnt == 64 && g->longest == 8 && g->op[2].needs == 1);
	vb_graph_destroy(g);
	l = (struct list){.ranks = 3};
	assert_int_equal(create(&g, &l, &fault), 0);
	vb_graph_destroy(g);
	vb_graph_destroy(NULL);
}

/* Of equal sender, receiver and tag the first belongs to the first. */
static void match__is_in_order(void **state)
{
	static const struct list l = {3,
				      10,
				      0,
				      {RECV(1, 0, 99, 7), SEND(0, 1, 1, 7), SEND(0, 1, 2, 8),
				       SEND(0, 1, 3, 7), SEND(2, 1, 4, 7), RECV(1, 2, 99, 7),
				       RECV(1, 0, 99, 7), RECV(1, 0, 99, 8), SEND(1, 0, 5, 7),
				       RECV(0, 1, 99, 7)},
				      {{0}}};
	static const uint32_t match[] = {1, 0, 7, 6, 5, 4, 3, 2, 9, 8};
	struct vb_graph_fault fault;
	struct vb_graph *g;

	(void)state;
	assert_int_equal(create(&g, &l, &fault), 0);
	for (uint32_t i = 0; i < l.op_cnt; i++)
		assert_int_equal(g->op[i].match, match[i]);
	assert_int_equal(g->pair_cnt, 3);
	assert_true(g->op[1].pair == g->op[2].pair && g->op[1].pair == g->op[3].pair);
	assert_true(g->op[1].pair != g->op[4].pair && g->op[8].pair != g->op[4].pair);
	vb_graph_destroy(g);
}

static int too_many_make(void *ctx, struct vb_graph *g)
{
	const struct vb_graph_op op = CALC(0, 1, 0);
	uint32_t cnt = *(uint32_t *)ctx;

	for (uint32_t i = 0; i < cnt; i++)
		(void)vb_graph_add(g, &op);
	return vb_graph_is_full(g) ? -E2BIG : 0;
}

/* A graph that is too large is refused before it takes memory. */
static void create__is_bounded(void **state)
{
	uint32_t cnt = VB_GRAPH_OPS_MAX + 1;
	const struct vb_graph_maker maker = {too_many_make, &cnt};
	struct vb_graph_fault fault;
	struct vb_graph *g;

	(void)state;
	assert_int_equal(vb_graph_create(&g, 1, &maker, &net_memory, &fault), -EINVAL);
	assert_int_equal(fault.kind, VB_GRAPH_TOO_LARGE);
	cnt = 1000;
	assert_int_equal(vb_graph_create(&g, 1, &maker, &net_memory, &fault), 0);
	vb_graph_destroy(g);
}

/* An allocator with some blocks left. */
struct budget {
	int left, held;
};

static void *budget_alloc(void *ctx, size_t size)
{
	struct budget *b = ctx;

	if (b->left-- <= 0)
		return NULL;
	b->held++;
	return calloc(1, size);
}

static void budget_free(void *ctx, void *p)
{
	struct budget *b = ctx;

	b->held--;
	free(p);
}

/* Wherever memory runs out nothing of the graph is left. */
static void create__gives_back_when_memory_runs_out(void **state)
{
	const struct vb_collective c = {.ranks = 3, .bytes = 9};
	int err = -ENOMEM;

	(void)state;
	for (int blocks = 0; err; blocks++) {
		struct budget b = {blocks, 0};
		const struct vb_sim_memory memory = {budget_alloc, budget_free, &b};
		struct vb_graph *g = NULL;

		err = vb_collective_create(&g, &c, &memory);
		assert_true(err == 0 || err == -ENOMEM);
		assert_int_equal(blocks < 8, err != 0);
		vb_graph_destroy(g);
		assert_int_equal(b.held, 0);
	}
}

static void run_list(struct graph_world *w, const struct list *l, uint32_t iterations, vb_dur pause)
{
	struct vb_graph_fault fault;
	struct vb_graph *g;

	assert_int_equal(create(&g, l, &fault), 0);
	graph_open(w, l->ranks, NULL, true);
	graph_run(
	    w, &(struct vb_load_pattern){
		   .shape = VB_LOAD_GRAPH, .graph = g, .iterations = iterations, .pause = pause});
	w->graph = g;
}

/* Computations of one stream take turns in the order in which they became ready, of several streams
 * they run at once; one that needs the start of another one waits for no more. */
static void run__computes(void **state)
{
	static const struct {
		struct list l;
		vb_dur ns;
	} t[] = {
	    {{1, 3, 0, {CALC(0, 10, 0), CALC(0, 20, 0), CALC(0, 30, 0)}, {{0}}}, 60},
	    {{1, 3, 0, {CALC(0, 10, 0), CALC(0, 20, 1), CALC(0, 30, 2)}, {{0}}}, 30},
	    {{2, 3, 0, {CALC(0, 10, 0), CALC(1, 20, 0), CALC(0, 30, 0)}, {{0}}}, 40},
	    {{1, 2, 1, {CALC(0, 10, 0), CALC(0, 20, 1)}, {{1, 0, false}}}, 30},
	    {{1, 2, 1, {CALC(0, 10, 0), CALC(0, 20, 1)}, {{1, 0, true}}}, 20},
	    /* The start of the second is when its turn comes. */
	    {{1, 3, 1, {CALC(0, 10, 0), CALC(0, 10, 0), CALC(0, 25, 1)}, {{2, 1, true}}}, 35},
	    {{1,
	      3,
	      2,
	      {CALC(0, 0, 0), CALC(0, 0, 0), CALC(0, 0, 0)},
	      {{2, 1, false}, {1, 0, false}}},
	     0},
	    {{1, 0, 0, {{0}}, {{0}}}, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct list l = t[i].l;
		struct graph_world w;

		l.ranks = 2;
		run_list(&w, &l, 3, 1000);
		for (uint32_t k = 0; k < 3; k++) {
			struct vb_load_lap lap = graph_lap(&w, k);

			assert_int_equal(lap.end - lap.begin, t[i].ns);
			assert_int_equal(lap.begin, k * (t[i].ns + 1000));
		}
		graph_close(&w);
	}
}

/* Messages to one host share a connection and keep their order; what comes early waits for its
 * receive. */
static void run__shares_a_connection(void **state)
{
	static const struct list l = {2,
				      9,
				      2,
				      {SEND(0, 1, 3000000, 1), SEND(0, 1, 0, 2),
				       SEND(0, 1, 5000, 3), CALC(1, 900000, 0), RECV(1, 0, 0, 2),
				       RECV(1, 0, 5000, 3), RECV(1, 0, 3000000, 1),
				       SEND(1, 0, 100, 1), RECV(0, 1, 200, 1)},
				      {{6, 3, false}, {7, 6, false}}};
	struct graph_world w;
	struct vb_load_lap lap;

	(void)state;
	run_list(&w, &l, 2, 0);
	lap = graph_lap(&w, 0);
	/* The large one has been there for long when its receive starts; the answer goes then. */
	assert_uint_in_range(lap.end - lap.begin, 904000, 904400);
	assert_int_equal(vb_load_connection_cnt(w.load), 2);
	assert_int_equal(vb_load_graph_received(w.load, 0, 1), 2 * 3005000);
	assert_int_equal(vb_load_graph_received(w.load, 0, 0), 2 * 100);
	assert_int_equal(w.report.flows, 8);
	for (uint32_t i = 1; i < 3; i++)
		assert_true(vb_load_flow(w.load, i)->delivered >
			    vb_load_flow(w.load, i - 1)->delivered);
	assert_int_equal(vb_load_graph(w.load, 0)->op_cnt, 9);
	assert_null(vb_load_collective(w.load, 0));
	graph_close(&w);
}

/* With connections for each message, each has a QP of its own. */
static void run__opens_new_connections(void **state)
{
	static const struct list l = {
	    2,
	    4,
	    0,
	    {SEND(0, 1, 8, 1), SEND(0, 1, 8, 1), RECV(1, 0, 8, 1), RECV(1, 0, 8, 1)},
	    {{0}}};
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_GRAPH, .iterations = 5, .new_connections = true};
	struct vb_graph_fault fault;
	struct graph_world w;
	struct vb_graph *g;

	(void)state;
	assert_int_equal(create(&g, &l, &fault), 0);
	p.graph = g;
	graph_open(&w, 2, NULL, true);
	graph_run(&w, &p);
	assert_int_equal(vb_load_connection_cnt(w.load), 10);
	graph_close(&w);
	vb_graph_destroy(g);
}

/* Flows that are over give their records away, so that few are enough for many messages. */
static void run__takes_few_records(void **state)
{
	static const struct list l = {
	    2,
	    4,
	    1,
	    {SEND(0, 1, 8, 1), RECV(1, 0, 8, 1), SEND(1, 0, 8, 1), RECV(0, 1, 8, 1)},
	    {{2, 1, false}}};
	struct vb_load_pattern p = {.shape = VB_LOAD_GRAPH, .iterations = 1000};
	struct vb_load_config few = graph_load;
	struct vb_graph_fault fault;
	struct graph_world w;
	struct vb_graph *g;
	uint32_t cnt;

	(void)state;
	assert_int_equal(create(&g, &l, &fault), 0);
	p.graph = g;
	few.flows_max = 4;
	graph_open(&w, 2, &few, false);
	graph_run(&w, &p);
	assert_int_equal(vb_load_flow_cnt(w.load), 4);
	assert_int_equal(vb_load_past_cnt(w.load), 1996);
	(void)vb_load_laps(w.load, 0, &cnt);
	assert_int_equal(cnt, 1000);
	graph_close(&w);
	vb_graph_destroy(g);
}

/* A message that never arrives ends the graph there: its flow has failed, and others too. */
static void run__stops_where_a_message_is_lost(void **state)
{
	static const struct list l = {2,
				      6,
				      2,
				      {SEND(0, 1, 9000, 1), RECV(1, 0, 9000, 1), SEND(1, 0, 8, 1),
				       RECV(0, 1, 8, 1), SEND(0, 1, 8, 2), RECV(1, 0, 8, 2)},
				      {{2, 1, false}, {4, 3, true}}};
	struct vb_load_config hasty = graph_load;
	struct vb_load_pattern p = {.shape = VB_LOAD_GRAPH, .iterations = 2};
	struct vb_graph_fault fault;
	struct vb_fault_error err;
	struct vb_fault_spec spec;
	struct graph_world w;
	struct vb_graph *g;
	uint32_t cnt;

	(void)state;
	hasty.timeout = 4;
	hasty.retry_cnt = 1;
	assert_int_equal(create(&g, &l, &fault), 0);
	p.graph = g;
	graph_open(&w, 2, &hasty, false);
	assert_int_equal(vb_fault_parse("loss=1", &spec, &err), 0);
	assert_int_equal(vb_sim_set_cable_fault(w.net.sim, 1, &spec), 0);
	assert_int_equal(vb_load_add(w.load, &p), 0);
	assert_int_equal(vb_sim_run(w.net.sim, VB_NEVER), 0);
	assert_int_equal(vb_report_make(&w.report, w.load, w.net.sim, &net_memory), 0);
	assert_int_equal(w.report.failed, 2);
	assert_int_equal(w.report.running, 0);
	(void)vb_load_laps(w.load, 0, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(vb_load_graph_received(w.load, 0, 1), 0);
	graph_close(&w);
	vb_graph_destroy(g);
}

/* Others use other connections between the same hosts, as they did. */
static void run__leaves_flows_alone(void **state)
{
	static const struct list l = {
	    2, 2, 0, {SEND(0, 1, 100000, 1), RECV(1, 0, 100000, 1)}, {{0}}};
	struct vb_load_pattern p = {.shape = VB_LOAD_GRAPH, .iterations = 20};
	struct vb_graph_fault fault;
	struct graph_world w;
	struct vb_graph *g;

	(void)state;
	assert_int_equal(create(&g, &l, &fault), 0);
	p.graph = g;
	graph_open(&w, 2, NULL, true);
	assert_int_equal(vb_load_add(w.load, &(struct vb_load_pattern){.shape = VB_LOAD_PING_PONG,
								       .dst = 1,
								       .flows = 30,
								       .bytes = 5000}),
			 0);
	graph_run(&w, &p);
	assert_int_equal(w.report.flows, 50);
	assert_null(vb_load_graph(w.load, 0));
	assert_int_equal(vb_load_graph_received(w.load, 1, 1), 20 * 100000);
	graph_close(&w);
	vb_graph_destroy(g);
}

static void add__refuses_what_does_not_fit(void **state)
{
	static const struct list l = {3, 2, 0, {SEND(0, 2, 8, 1), RECV(2, 0, 8, 1)}, {{0}}};
	struct vb_load_config c = graph_load;
	struct vb_load_pattern p = {.shape = VB_LOAD_GRAPH};
	struct vb_graph_fault fault;
	struct vb_graph *g;

	(void)state;
	assert_string_equal(vb_load_wrong(&c, &p, 3), "has no graph");
	assert_int_equal(create(&g, &l, &fault), 0);
	p.graph = g;
	assert_null(vb_load_wrong(&c, &p, 3));
	assert_string_equal(vb_load_wrong(&c, &p, 2), "has more ranks than hosts");
	p.iterations = (1u << 20) + 1;
	assert_string_equal(vb_load_wrong(&c, &p, 3), "has more than 1048576 iterations");
	p.iterations = 1;
	assert_null(vb_load_parts_wrong(&c, &p, false, 1000));
	p.new_connections = true;
	assert_non_null(strstr(vb_load_parts_wrong(&c, &p, false, 1000), "of their own"));
	p.new_connections = false;
	g->has_far_edges = true;
	assert_string_equal(vb_load_parts_wrong(&c, &p, false, 1000),
			    "has a graph with requirements between ranks");
	c.type = VB_QPT_UC;
	assert_non_null(vb_load_wrong(&c, &p, 3));
	vb_graph_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(create__refuses_what_never_ends),
	    cmocka_unit_test(create__takes_what_ends),
	    cmocka_unit_test(create__is_bounded),
	    cmocka_unit_test(create__gives_back_when_memory_runs_out),
	    cmocka_unit_test(match__is_in_order),
	    cmocka_unit_test(run__computes),
	    cmocka_unit_test(run__shares_a_connection),
	    cmocka_unit_test(run__opens_new_connections),
	    cmocka_unit_test(run__takes_few_records),
	    cmocka_unit_test(run__stops_where_a_message_is_lost),
	    cmocka_unit_test(run__leaves_flows_alone),
	    cmocka_unit_test(add__refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests_name("sim_graph", tests, NULL, NULL);
}
