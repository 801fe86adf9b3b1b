/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator inside a program: its life, its time, what is seen of it, and what it refuses. */
#include "library_env.h"

static void open_refused(const struct verbena_sim_source *source, size_t size, const char *part)
{
	struct verbena_sim *s;
	char why[512] = "";

	assert_int_equal(verbena_sim_open(&s, source, size, why, sizeof why), -EINVAL);
	assert_null(s);
	if (!strstr(why, part))
		fail_msg("\"%s\" has no \"%s\"", why, part);
}

static void open__says_what_is_wrong_and_where(void **state)
{
	static const char *const no_value[] = {"seed"}, *const bad_value[] = {
							    "transport.timeout=99"};
	static const char *const no_key[] = {"=1"};
	struct verbena_sim_source source = {.text = "seed: x", .text_len = 7, .name = "mine"};

	(void)state;
	open_refused(&source, sizeof source, "mine:1:7: seed");
	source = (struct verbena_sim_source){.text = TWO_TO_ONE, .text_len = strlen(TWO_TO_ONE)};
	source.text_len -= 3;
	open_refused(&source, sizeof source, "scenario:7:");
	source.text_len += 3;
	source.set = no_value;
	source.set_cnt = 1;
	open_refused(&source, sizeof source, "not \"seed\"");
	source.set = no_key;
	open_refused(&source, sizeof source, "not \"=1\"");
	source.set = bad_value;
	open_refused(&source, sizeof source, "with transport.timeout=99: scenario:3:");
	source.set_cnt = 65;
	open_refused(&source, sizeof source, "more than 64 values");
	open_refused(&(struct verbena_sim_source){0}, sizeof source, "no text");
	open_refused(&(struct verbena_sim_source){.text = ""}, sizeof source, "no text");
}

/* A caller that was built before `set` was there. */
static void open__takes_a_smaller_structure(void **state)
{
	static const char *const bad_value[] = {"seed=x"};
	const struct verbena_sim_source source = {
	    .text = TWO_TO_ONE, .text_len = strlen(TWO_TO_ONE), .set = bad_value, .set_cnt = 1};
	struct verbena_sim *s;
	char why[512];

	(void)state;
	assert_int_equal(verbena_sim_open(&s, &source, offsetof(struct verbena_sim_source, set),
					  why, sizeof why),
			 0);
	verbena_sim_close(s);
	verbena_sim_close(NULL);
}

static void open__values_replace_those_of_the_text(void **state)
{
	static const char *const set[] = {"seed=77", "workload.1.bytes=5kB"};
	const struct verbena_sim_source source = {
	    .text = TWO_TO_ONE, .text_len = strlen(TWO_TO_ONE), .set = set, .set_cnt = 2};
	struct verbena_sim *s;
	char why[512];

	(void)state;
	assert_int_equal(verbena_sim_open(&s, &source, sizeof source, why, sizeof why), 0);
	assert_int_equal(sim_state(s).seed, 77);
	assert_int_equal(flow_at(s, 1).bytes, 5000);
	verbena_sim_close(s);
}

static void flow_begin(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		       struct verbena_cc_control *out)
{
	(void)state;
	(void)facts;
	out->rate = value[0];
}

static void ack_ignore(void *state, const struct verbena_cc_ack *ack,
		       struct verbena_cc_control *out)
{
	(void)state;
	(void)ack;
	(void)out;
}

/* An algorithm of the caller's, with the rate as its parameter. */
static void open__takes_an_algorithm(void **state)
{
	static const struct verbena_cc_parameter rate = {.name = "rate",
							 .text = "the rate",
							 .unit = VERBENA_CC_RATE,
							 .min = 1000000,
							 .max = UINT64_C(100000000000),
							 .value = UINT64_C(1000000000)};
	struct verbena_cc_algorithm a = {.version = VERBENA_CC_VERSION,
					 .name = "mine",
					 .parameter_cnt = 1,
					 .parameter = &rate,
					 .init = flow_begin,
					 .on_ack = ack_ignore};
	struct verbena_sim_source source = {.text = TWO_TO_ONE,
					    .text_len = strlen(TWO_TO_ONE),
					    .algorithm = &a,
					    .parameters = "rate=100Mbps"};
	struct verbena_sim *s;
	char why[512];

	(void)state;
	assert_int_equal(verbena_sim_open(&s, &source, sizeof source, why, sizeof why), 0);
	assert_int_equal(verbena_sim_advance(s, MS), 0);
	assert_uint_in_range(flow_at(s, 0).completed, 8000, 16000);
	verbena_sim_close(s);
	source.parameters = "rate=1bps";
	open_refused(&source, sizeof source, "\"rate=1bps\"");
	a.version++;
	open_refused(&source, sizeof source, "the algorithm ");
}

static void version__is_the_one_of_the_build(void **state)
{
	(void)state;
	assert_string_equal(verbena_sim_version(), TEST_VERSION);
}

/* In steps or at once, alone or in turn with another one. */
static void advance__steps_change_nothing(void **state)
{
	struct verbena_sim *whole = sim_open(TWO_TO_ONE), *steps = sim_open(TWO_TO_ONE);

	(void)state;
	for (uint64_t t = 0; !sim_state(steps).is_finished; t += 7 * US) {
		assert_int_equal(verbena_sim_advance(steps, t), 0);
		assert_int_equal(sim_state(steps).now, t);
		if (t == 700 * US)
			assert_int_equal(verbena_sim_advance(whole, VERBENA_SIM_NEVER), 0);
		assert_true(t < 100 * MS);
	}
	assert_int_equal(sim_state(steps).next, VERBENA_SIM_NEVER);
	assert_int_equal(sim_state(steps).digest, sim_state(whole).digest);
	assert_int_equal(sim_state(steps).events, sim_state(whole).events);
	assert_uint_in_range(sim_state(whole).now, MS, sim_state(steps).now);
	verbena_sim_close(whole);
	verbena_sim_close(steps);
}

static void advance__ends_where_the_scenario_does(void **state)
{
	struct verbena_sim *s = sim_open("{until: 1ms, workload: [{shape: single, from: 0, to: 1, "
					 "bytes: 1GB}]}");

	(void)state;
	assert_false(sim_state(s).is_finished);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(sim_state(s).now, MS);
	assert_int_equal(sim_state(s).until, MS);
	assert_true(sim_state(s).is_finished);
	assert_int_equal(flow_at(s, 0).state, VERBENA_SIM_RUNNING);
	assert_int_equal(verbena_sim_advance(s, 10), -EINVAL);
	check_error(s, "10 ns lies before now, 1000000 ns");
	verbena_sim_close(s);
}

static void advance__says_that_packets_have_no_room(void **state)
{
	struct verbena_sim *s = sim_open("{packets: 3, workload: [{shape: single, from: 0, to: 1, "
					 "bytes: 1MB}]}");

	(void)state;
	assert_int_equal(verbena_sim_advance(s, MS), -ENOSPC);
	check_error(s, "more than 3 packets under way");
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), -ENOSPC);
	verbena_sim_close(s);
}

static void flow__is_seen_as_it_goes(void **state)
{
	struct verbena_sim *s = sim_open(ONE_FLOW);
	struct verbena_sim_flow f = flow_at(s, 0);
	uint64_t half;

	(void)state;
	assert_int_equal(f.state, VERBENA_SIM_WAITING);
	assert_int_equal(f.start, 10 * US);
	assert_int_equal(f.rate, 0);
	assert_int_equal(f.done, VERBENA_SIM_NEVER);
	assert_int_equal(f.qp, VERBENA_SIM_NONE);
	assert_int_equal(f.op, VERBENA_SIM_WRITE);
	assert_int_equal(verbena_sim_advance(s, 410 * US), 0);
	f = flow_at(s, 0);
	half = f.completed;
	assert_int_equal(f.state, VERBENA_SIM_RUNNING);
	assert_uint_in_range(half, 450000, 500000);
	assert_uint_in_range(f.rate, half * 8 * 2490, half * 8 * 2510); /* over 400 us */
	assert_int_equal(f.qp, 0);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	f = flow_at(s, 0);
	assert_int_equal(f.state, VERBENA_SIM_DONE);
	assert_int_equal(f.completed, 10000000);
	assert_uint_in_range(f.done - f.start, f.ideal_ns, f.ideal_ns + 100 * US);
	assert_int_equal(verbena_sim_flow(s, 1, &f, sizeof f), -ERANGE);
	check_error(s, "there is no flow 1: there are 1");
	verbena_sim_close(s);
}

/* Of a structure as this library knows it a caller may have less, or more. */
static void flow__gives_what_the_caller_has_room_for(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	struct {
		struct verbena_sim_flow f;
		uint64_t later;
	} more = {.later = 5};
	struct verbena_sim_flow less;

	(void)state;
	memset(&less, 0xee, sizeof less);
	assert_int_equal(verbena_sim_flow(s, 1, &less, offsetof(struct verbena_sim_flow, done)), 0);
	assert_int_equal(less.bytes, 1000000);
	assert_int_equal(less.done, UINT64_C(0xeeeeeeeeeeeeeeee));
	assert_int_equal(verbena_sim_flow(s, 1, &more.f, sizeof more), 0);
	assert_int_equal(more.f.src, 1);
	assert_int_equal(more.later, 0);
	verbena_sim_close(s);
}

static void port__counts_what_leaves(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	struct verbena_sim_port p;

	(void)state;
	assert_int_equal(sim_state(s).ports, 6);
	assert_int_equal(sim_state(s).hosts, 3);
	assert_int_equal(sim_state(s).nodes, 4);
	assert_int_equal(verbena_sim_advance(s, 500 * US), 0);
	assert_int_equal(verbena_sim_port(s, 5, &p, sizeof p), 0);
	assert_int_equal(p.cable, 2);
	assert_int_equal(p.from, 3);
	assert_int_equal(p.to, 2);
	assert_int_equal(p.rate_bps, 10 * UINT64_C(1000000000));
	assert_uint_in_range(p.bytes, 500000, 625000);
	assert_true(p.packets > 0 && p.marked > 0 && p.queue_max > 5000);
	assert_true(p.queue_max >= p.queue_bytes && p.queue_byte_ns > 0);
	assert_int_equal(p.dropped + p.faults + p.pauses + p.credit_ns, 0);
	assert_int_equal(verbena_sim_port(s, 6, &p, sizeof p), -ERANGE);
	check_error(s, "there is no port 6");
	verbena_sim_close(s);
}

static void qp__shows_rate_and_window(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	struct verbena_sim_qp q;

	(void)state;
	assert_int_equal(verbena_sim_advance(s, 500 * US), 0);
	assert_int_equal(sim_state(s).qps, 4);
	assert_int_equal(verbena_sim_qp(s, 2, &q, sizeof q), 0);
	assert_int_equal(q.host, 1);
	assert_int_equal(q.peer, 2);
	assert_int_equal(q.state, 3);
	assert_int_equal(q.flow, 1);
	assert_true(q.unacked_pkts > 0);
	assert_uint_in_range(q.cc_rate, 1000000000, 9900000000); /* it has been cut */
	assert_uint_in_range(q.alpha_ppm, 1, 1000000);
	assert_true(q.cc_target >= q.cc_rate);
	assert_int_equal(verbena_sim_qp(s, 3, &q, sizeof q), 0);
	assert_int_equal(q.host, 2);
	assert_int_equal(q.peer, 1);
	assert_int_equal(verbena_sim_qp(s, 4, &q, sizeof q), -ERANGE);
	check_error(s, "there is no QP 4: there are 4");
	verbena_sim_close(s);
}

static void qp__of_a_group_has_one_end(void **state)
{
	struct verbena_sim *s =
	    sim_open("{topology: {hosts: 3}, transport: {type: ud}, groups: [{}], workload: "
		     "[{shape: multicast, group: 0, count: 1, bytes: 4kB}]}");
	struct verbena_sim_qp q;
	struct verbena_sim_flow f;

	(void)state;
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	f = flow_at(s, 0);
	assert_int_equal(f.dst, VERBENA_SIM_NONE);
	assert_int_equal(verbena_sim_qp(s, 0, &q, sizeof q), 0);
	assert_int_equal(q.peer, VERBENA_SIM_NONE);
	assert_int_equal(verbena_sim_qp(s, 1, &q, sizeof q), -ENOENT);
	check_error(s, "QP 1 is a group");
	verbena_sim_close(s);
}

static void counters__have_names(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	uint64_t value[256] = {0};
	uint32_t sent = 0, cnt = 0;

	(void)state;
	while (verbena_sim_counter_name(cnt))
		cnt++;
	for (uint32_t i = 0; i < cnt; i++)
		if (strcmp(verbena_sim_counter_name(i), "port_xmit_packets") == 0)
			sent = i;
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(verbena_sim_counters(s, 0, value, 256), cnt);
	assert_true(value[sent] >= 1000000 / 4096);
	value[0] = 99;
	assert_int_equal(verbena_sim_counters(s, 0, value, 0), cnt);
	assert_int_equal(value[0], 99);
	assert_int_equal(verbena_sim_counters(s, 3, value, 256), -ERANGE);
	check_error(s, "there is no host 3");
	verbena_sim_close(s);
}

static uint32_t table_rows(struct verbena_sim *s, const char *name)
{
	const char *text;
	size_t len;
	uint32_t rows = 0;

	if (verbena_sim_table(s, name, &text, &len))
		fail_msg("%s: %s", name, verbena_sim_error(s));
	assert_int_equal(strlen(text), len);
	for (; *text; text++)
		rows += *text == '\n';
	return rows - 1;
}

static void table__has_what_the_command_writes(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	const char *text;
	size_t len;

	(void)state;
	assert_int_equal(table_rows(s, "flow_series.csv"), 0);
	assert_int_equal(verbena_sim_advance(s, 250 * US), 0);
	assert_int_equal(table_rows(s, "flow_series.csv"), 4);
	assert_int_equal(table_rows(s, "port_series.csv"), 12);
	assert_int_equal(table_rows(s, "flows.csv"), 2);
	assert_int_equal(table_rows(s, "ports.csv"), 6);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	/* The last interval is shorter, and written once. */
	assert_uint_in_range(table_rows(s, "flow_series.csv"), 34, 44);
	assert_int_equal(table_rows(s, "flow_series.csv"), table_rows(s, "flow_series.csv"));
	assert_true(table_rows(s, "group_series.csv") > 0 && table_rows(s, "lane_series.csv") > 0);
	assert_int_equal(table_rows(s, "slowdown.csv"), 1);
	assert_true(table_rows(s, "cdf.csv") > 2 && table_rows(s, "summary.json") > 10);
	assert_int_equal(verbena_sim_table(s, "lanes.csv", &text, &len), -ENOENT);
	assert_null(text);
	check_error(s, "this run has no lanes.csv");
	assert_int_equal(verbena_sim_table(s, "collectives.csv", &text, &len), -ENOENT);
	assert_int_equal(verbena_sim_table(s, "../passwd", &text, &len), -ENOENT);
	verbena_sim_close(s);
	s = sim_open("{topology: {hosts: 4}, workload: [{shape: collective, collective: "
		     "all-gather, bytes: 4kB, iterations: 3}]}");
	assert_int_equal(table_rows(s, "collectives.csv"), 0);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(table_rows(s, "collectives.csv"), 3);
	assert_int_equal(verbena_sim_table(s, "summary.json", &text, &len), 0);
	assert_non_null(strstr(text, "\"busbw_bps\""));
	verbena_sim_close(s);
	s = sim_open("{workload: [{shape: single, from: 0, to: 1, bytes: 4kB}]}");
	assert_int_equal(verbena_sim_table(s, "flow_series.csv", &text, &len), -ENOENT);
	verbena_sim_close(s);
}

/* A scenario with a list of 20 flows, one each ms, or all at the first. */
static struct verbena_sim *list_open(const char *options, bool at_once)
{
	char path[] = "/tmp/test_libraryXXXXXX", text[512];
	FILE *f = fdopen(mkstemp(path), "w");
	struct verbena_sim *s;

	assert_non_null(f);
	fputs("20\n", f);
	for (int i = 0; i < 20; i++)
		fprintf(f, "0 1 3 100 40960 %d.0e-3\n", at_once ? 1 : i + 1);
	fclose(f);
	snprintf(text, sizeof text, "{%s, workload: [{shape: file, file: %s}]}", options, path);
	s = sim_open(text);
	unlink(path);
	return s;
}

/* More flows than records: the table has them all, at any time. */
static void table__has_flows_of_the_past(void **state)
{
	struct verbena_sim *s = list_open("flows: 4", false);

	(void)state;
	assert_int_equal(verbena_sim_advance(s, 10 * MS + 500 * US), 0);
	assert_int_equal(table_rows(s, "flows.csv"), 10);
	assert_int_equal(sim_state(s).flows, 4);
	assert_int_equal(sim_state(s).past_flows, 6);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(table_rows(s, "flows.csv"), 20);
	verbena_sim_close(s);
}

static void advance__says_that_flows_have_no_record(void **state)
{
	struct verbena_sim *s = list_open("flows: 4", true);

	(void)state;
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), -ENOSPC);
	check_error(s, "more than 4 flows at once");
	verbena_sim_close(s);
}

static void state__tells_of_a_deadlock(void **state)
{
	struct verbena_sim *s =
	    sim_open("{link: infiniband, topology: {shape: ring, switches: 6, hosts: 2}, "
		     "infiniband: {lanes: 1, buffer: 8KiB, routing: min-hop}, until: 100ms, "
		     "transport: {mtu: 2048}, workload: [{shape: all-to-all, bytes: 1MiB}]}");

	(void)state;
	assert_int_equal(sim_state(s).deadlock_at, VERBENA_SIM_NEVER);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_true(sim_state(s).deadlock_at <= sim_state(s).now);
	assert_true(sim_state(s).is_finished);
	assert_true(table_rows(s, "lanes.csv") > 0);
	verbena_sim_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(open__says_what_is_wrong_and_where),
	    cmocka_unit_test(open__takes_a_smaller_structure),
	    cmocka_unit_test(open__values_replace_those_of_the_text),
	    cmocka_unit_test(open__takes_an_algorithm),
	    cmocka_unit_test(version__is_the_one_of_the_build),
	    cmocka_unit_test(advance__steps_change_nothing),
	    cmocka_unit_test(advance__ends_where_the_scenario_does),
	    cmocka_unit_test(advance__says_that_packets_have_no_room),
	    cmocka_unit_test(flow__is_seen_as_it_goes),
	    cmocka_unit_test(flow__gives_what_the_caller_has_room_for),
	    cmocka_unit_test(port__counts_what_leaves),
	    cmocka_unit_test(qp__shows_rate_and_window),
	    cmocka_unit_test(qp__of_a_group_has_one_end),
	    cmocka_unit_test(counters__have_names),
	    cmocka_unit_test(table__has_what_the_command_writes),
	    cmocka_unit_test(table__has_flows_of_the_past),
	    cmocka_unit_test(advance__says_that_flows_have_no_record),
	    cmocka_unit_test(state__tells_of_a_deadlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
