/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows from lists that a user brings, and runs that have more of them than records. */
#include "input_env.h"
#include "scenario/input/flows.h"
#include "sim/load/tally.h"

#include <errno.h>
#include <inttypes.h>

static const struct vb_flows_config four_hosts = {
    .hosts = 4, .type = VB_QPT_RC, .traffic_class = 2};

static int list_open(struct vb_flows **l, const char *text, const struct vb_flows_config *cfg,
		     char *err, size_t size)
{
	const struct vb_complaint c = {"f", err, size};
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	return vb_flows_open(l, f, cfg, &c);
}

static void check_item(const struct vb_load_item *i, uint32_t src, uint32_t dst, uint64_t bytes,
		       vb_time start, uint8_t op, uint16_t class)
{
	assert_int_equal(i->src, src);
	assert_int_equal(i->dst, dst);
	assert_int_equal(i->bytes, bytes);
	assert_int_equal(i->start, start);
	assert_int_equal(i->op, op);
	assert_int_equal(i->traffic_class, class);
}

/* The text behind the last flow is not read. */
static void ns3__flows_have_a_priority(void **state)
{
	static const char text[] = "3\n0 1 3 100 200000000 2\n2 3 0 10000 5 2.000000001\n"
				   "3 0 7 100 0 2.5e0\n\nFirst line: # of flows\n";
	char err[256] = "";
	struct vb_load_item item;
	struct vb_flows *l;
	uint64_t cnt;

	(void)state;
	if (list_open(&l, text, &four_hosts, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_flows_check(l, &cnt), 0);
	assert_int_equal(cnt, 3);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 0, 1, 200000000, 2 * VB_SEC, VB_LOAD_OP_CNT, VB_LOAD_OWN_CLASS | 98);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 2, 3, 5, 2 * VB_SEC + 1, VB_LOAD_OP_CNT, VB_LOAD_OWN_CLASS | 2);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 3, 0, 0, 2500 * VB_MSEC, VB_LOAD_OP_CNT, VB_LOAD_OWN_CLASS | 226);
	assert_int_equal(vb_flows_next(l, &item), 0);
	vb_flows_close(l);
}

/* With InfiniBand a priority is a service level; a class of the workload is before it. */
static void ns3__priority_is_a_level_or_nothing(void **state)
{
	static const char text[] = "1\n0 1 9 100 1 0\n";
	struct vb_flows_config cfg = four_hosts;
	char err[256] = "";
	struct vb_load_item item;
	struct vb_flows *l;

	(void)state;
	cfg.is_infiniband = true;
	assert_int_equal(list_open(&l, text, &cfg, err, sizeof err), 0);
	assert_int_equal(vb_flows_next(l, &item), 1);
	assert_int_equal(item.traffic_class, VB_LOAD_OWN_CLASS | 9);
	vb_flows_close(l);
	cfg.has_class = true;
	assert_int_equal(list_open(&l, text, &cfg, err, sizeof err), 0);
	assert_int_equal(vb_flows_next(l, &item), 1);
	assert_int_equal(item.traffic_class, 0);
	vb_flows_close(l);
}

static void csv__columns_stand_in_any_order(void **state)
{
	static const char text[] = "# flows\nstart, op ,bytes,src,dst,traffic-class\n"
				   "0,send,1kB,0,1,64\r\n"
				   " 1.5us , , 4096 , 3 , 2 ,\n\n# more\n"
				   "2e-6,read,0,1,0,0";
	char err[256] = "";
	struct vb_load_item item;
	struct vb_flows *l;
	uint64_t cnt;

	(void)state;
	if (list_open(&l, text, &four_hosts, err, sizeof err))
		fail_msg("%s", err);
	if (vb_flows_check(l, &cnt))
		fail_msg("%s", vb_flows_complaint(l));
	assert_int_equal(cnt, 3);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 0, 1, 1000, 0, VB_LOAD_SEND, VB_LOAD_OWN_CLASS | 64);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 3, 2, 4096, 1500, VB_LOAD_OP_CNT, 0);
	assert_int_equal(vb_flows_next(l, &item), 1);
	check_item(&item, 1, 0, 0, 2000, VB_LOAD_READ, VB_LOAD_OWN_CLASS);
	assert_int_equal(vb_flows_next(l, &item), 0);
	vb_flows_close(l);
}

struct mistake {
	const char *text, *words;
};

static void check_mistakes(const struct mistake *t, size_t cnt, const struct vb_flows_config *cfg)
{
	for (size_t i = 0; i < cnt; i++) {
		struct vb_flows *l = NULL;
		char err[256] = "";
		uint64_t flows;
		int bad = list_open(&l, t[i].text, cfg, err, sizeof err);

		if (!bad) {
			bad = vb_flows_check(l, &flows);
			snprintf(err, sizeof err, "%s", vb_flows_complaint(l));
			vb_flows_close(l);
		}
		assert_int_equal(bad, -EINVAL);
		if (strcmp(err, t[i].words) != 0)
			fail_msg("%s: \"%s\" instead of \"%s\"", t[i].text, err, t[i].words);
	}
}

#define CSV "src,dst,bytes,start\n"

static void list__mistakes_are_told_with_their_place(void **state)
{
	static const struct mistake t[] = {
	    {"\n\n", "f:3:1: there is no list of flows here"},
	    {"0,1,2,3\n",
	     "f:1:1: a column is src, dst, bytes, start, op, traffic-class or sl, not \"0\""},
	    {"src,dst,size,start\n",
	     "f:1:9: a column is src, dst, bytes, start, op, traffic-class or sl, not \"size\""},
	    {"src,dst,bytes,src\n", "f:1:15: column src is there twice"},
	    {"src,dst,bytes\n", "f:1:1: a list of flows has the columns src, dst, bytes and start"},
	    {"src,dst,bytes,start,sl\n",
	     "f:1:21: sl is of InfiniBand: packets have a traffic class here"},
	    {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\n", "f:1:1: a line has at most 16 columns"},
	    {"a b c d e f g h i j k l m n o p q\n", "f:1:1: a line has at most 16 columns"},
	    {CSV "0,1,2\n", "f:2:1: a line has 4 columns, as the first one, not 3"},
	    {CSV "0,1,2,3,4\n", "f:2:1: a line has 4 columns, as the first one, not 5"},
	    {CSV "x,1,2,3\n", "f:2:1: a host is a number, not \"x\""},
	    {CSV ",1,2,3\n", "f:2:1: a host is a number, not \"\""},
	    {CSV "0,4,2,3\n", "f:2:3: there is no host 4 among the 4 that take part"},
	    {CSV "1,1,2,3\n", "f:2:1: a flow goes to another host"},
	    {CSV "0,1,2TB,3\n", "f:2:5: a size is such as 4096 or 1MB, up to 1 TiB, not \"2TB\""},
	    {CSV "0,1,2000GB,3\n",
	     "f:2:5: a size is such as 4096 or 1MB, up to 1 TiB, not \"2000GB\""},
	    {CSV "0,1,2,soon\n", "f:2:7: a start is in seconds, or such as 1.5us, not \"soon\""},
	    {CSV "0,1,2,100001\n", "f:2:7: a start is up to 100000 seconds, not \"100001\""},
	    {CSV "0,1,2,1us\n1,0,2,999ns\n",
	     "f:3:7: flows are in the order of their starts: this one begins before the one in "
	     "line 2"},
	    {"op," CSV "push,0,1,2,3\n", "f:2:1: op is send, write, read or atomic, not \"push\""},
	    {"traffic-class," CSV "256,0,1,2,3\n",
	     "f:2:1: a traffic class is 0 to 255, not \"256\""},
	    {"1\n0 1 8 100 5 0\n", "f:2:5: a priority is 0 to 7, not \"8\""},
	    {"1\n0 1 3 65536 5 0\n", "f:2:7: a port is 0 to 65535, not \"65536\""},
	    {"1\n0 1 3 5 0\n",
	     "f:2:1: a flow is \"source destination priority port bytes seconds\""},
	    {"2\n0 1 3 100 5 0\n", "f:3:1: line 1 says 2 flows, and there are 1"},
	    {"4294967296\n",
	     "f:1:1: a column is src, dst, bytes, start, op, traffic-class or sl, not "
	     "\"4294967296\""},
	};
	static const struct mistake ud[] = {
	    {"op," CSV "write,0,1,2,3\n", "f:2:1: ud has SENDs only: op is send, not \"write\""}};
	static const struct mistake uc[] = {
	    {"op," CSV "read,0,1,2,3\n",
	     "f:2:1: uc has no READs and atomics: op is send or write, not \"read\""}};
	static const struct mistake ib[] = {
	    {"sl," CSV "16,0,1,2,3\n", "f:2:1: a service level is 0 to 15, not \"16\""},
	    {"src,dst,bytes,start,traffic-class\n",
	     "f:1:21: traffic-class is of Ethernet: packets have a service level here"}};
	struct vb_flows_config cfg = four_hosts;

	(void)state;
	check_mistakes(t, sizeof t / sizeof t[0], &cfg);
	cfg.type = VB_QPT_UD;
	check_mistakes(ud, 1, &cfg);
	cfg.type = VB_QPT_UC;
	check_mistakes(uc, 1, &cfg);
	cfg.type = VB_QPT_RC;
	cfg.is_infiniband = true;
	check_mistakes(ib, 2, &cfg);
}

static void list__long_lines_are_refused(void **state)
{
	char text[4096], err[256] = "";
	struct vb_flows *l;

	(void)state;
	memset(text, ' ', sizeof text);
	memcpy(text + 1022, "\n" CSV, sizeof CSV + 1);
	assert_int_equal(list_open(&l, text, &four_hosts, err, sizeof err), 0);
	vb_flows_close(l);
	memset(text, ' ', sizeof text);
	memcpy(text + 1023, "\n" CSV, sizeof CSV + 1);
	assert_int_equal(list_open(&l, text, &four_hosts, err, sizeof err), -EINVAL);
	assert_string_equal(err, "f:1:1: a line has at most 1022 characters, and no zero");
}

/* Where nodes have names, lists have them, too. */
static void scenario__takes_names_of_the_topology(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";
	static const char text[] = "topology:\n"
				   "  nodes: {hosts: [client, a server], switches: [s]}\n"
				   "  links: [{ends: [client, s]}, {ends: [a server, s]}]\n"
				   "workload: {shape: file, file: f.csv, start: 1ms}\n";

	(void)state;
	input_write("f.csv", CSV "a server,client,5000,2us\nclient,a server,10,3us\n");
	if (input_open(&sc, &run, text, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(run.flows_listed, 2);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), 0);
	assert_int_equal(vb_load_flow_cnt(run.load), 2);
	assert_int_equal(vb_load_flow(run.load, 0)->src, 1);
	assert_int_equal(vb_load_flow(run.load, 0)->bytes, 5000);
	assert_int_equal(vb_load_flow(run.load, 0)->start, VB_MSEC + 2 * VB_USEC);
	assert_int_equal(vb_load_flow(run.load, 1)->dst, 1);
	assert_true(vb_load_flow(run.load, 1)->done != VB_NEVER);
	vb_scenario_close(&run);
	vb_scenario_free(&sc);
	input_write("f.csv", CSV "client,s,5000,2us\n");
	input_refused(text, "f.csv:2:8: node s is a switch");
	input_write("f.csv", CSV "client,server,5000,2us\n");
	input_refused(text, "f.csv:2:8: there is no node \"server\" in the topology");
}

static void scenario__says_what_is_wrong_with_a_list(void **state)
{
	char words[512];

	(void)state;
	input_refused("workload: {shape: file}\n",
		      "s.yaml:1:11: shape: file takes a file, with the flows");
	input_refused("workload: {shape: permutation, file: a}\n",
		      "s.yaml:1:38: file goes with shape: file");
	snprintf(
	    words, sizeof words,
	    "s.yaml:1:11: workload 1 has a file that cannot be read: '%s/none': No such file or "
	    "directory",
	    input_folder);
	input_refused("workload: {shape: file, file: none}\n", words);
	input_refused(
	    "workload: {shape: file, file: /dev/null}\n",
	    "s.yaml:1:11: workload 1 has a file that cannot be read: '/dev/null': Illegal "
	    "seek");
	input_write("f", "1\n0 2 3 1 1 1\n");
	input_refused("workload: {shape: file, file: f}\n",
		      "f:2:3: there is no host 2 among the 2 that take part");
	input_refused("topology: {hosts: 4}\nworkload: {shape: file, file: f, hosts: 2}\n",
		      "f:2:3: there is no host 2 among the 2 that take part");
}

/* Classes of lists are those of their packets. */
static void scenario__sends_with_the_classes_of_a_list(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	input_write("f", "src,dst,bytes,start,traffic-class\n0,1,1,0,64\n0,1,1,1ms,\n"
			 "0,1,1,2ms,64\n");
	if (input_open(&sc, &run, "workload: {shape: file, file: f}\n", err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_connection_cnt(run.load), 2);
	assert_int_equal(vb_load_flow(run.load, 0)->connection, 0);
	assert_int_equal(vb_load_flow(run.load, 1)->connection, 1);
	assert_int_equal(vb_load_flow(run.load, 2)->connection, 0);
	vb_scenario_close(&run);
}

struct past {
	uint32_t cnt;
	bool is_known[3000];
};

static void past_take(void *ctx, const struct vb_flow *f)
{
	struct past *p = ctx;

	assert_true(f->number < 3000 && !p->is_known[f->number]);
	assert_true(f->done != VB_NEVER && f->delivered == VB_NEVER);
	p->is_known[f->number] = true;
	p->cnt++;
}

static void report_run(struct vb_report *r, const char *flows, const char *cable, struct past *past)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char text[512], err[1024] = "";

	snprintf(text, sizeof text,
		 "%stopology: {hosts: 8%s}\nfaults: {do: loss=1e-3}\ntransport: {timeout: 6}\n"
		 "workload: {shape: file, file: f}\n",
		 flows, cable);
	if (input_open(&sc, &run, text, err, sizeof err))
		fail_msg("%s", err);
	vb_load_watch_past(run.load, past_take, past);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), 0);
	assert_int_equal(vb_load_flow_cnt(run.load) + vb_load_past_cnt(run.load), 3000);
	assert_int_equal(vb_load_past_cnt(run.load), past->cnt);
	for (uint32_t i = 0; i < vb_load_flow_cnt(run.load); i++) {
		uint32_t number = vb_load_flow(run.load, i)->number;

		assert_true(number < 3000 && !past->is_known[number]);
		past->is_known[number] = true;
	}
	assert_int_equal(vb_report_make(r, run.load, run.sim, &run.memory), 0);
	vb_scenario_close(&run);
}

static void check_near(uint64_t a, uint64_t b)
{
	uint64_t off = a > b ? a - b : b - a;

	if (off * 2000 > b)
		fail_msg("%" PRIu64 " instead of %" PRIu64, a, b);
}

static void check_spread(const struct vb_spread *a, const struct vb_spread *b)
{
	assert_int_equal(a->cnt, b->cnt);
	assert_int_equal(a->mean, b->mean);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	check_near(a->p50, b->p50);
	check_near(a->p90, b->p90);
	check_near(a->p95, b->p95);
	check_near(a->p99, b->p99);
	check_near(a->p999, b->p999);
}

/* 3000 flows; the rates of flows go up with their sizes. */
static void write_many(bool ascend)
{
	char path[256];
	FILE *f;

	input_path(path, sizeof path, "f");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "3000\n");
	for (unsigned i = 0; i < 3000; i++)
		fprintf(f, "%u %u 3 100 %u %u.%06u\n", i % 8, (i + 1 + i / 8 % 7) % 8,
			ascend ? 1 + 20 * i : 1 + i * i % 60000, i / 100000, 10 * i % 1000000);
	assert_int_equal(fclose(f), 0);
}

/* A run with records for a hundredth of its flows is the same, and says the same of them. */
static void load__flows_that_are_over_give_their_records_away(void **state)
{
	static struct past few_past, all_past;
	struct vb_report few, all;

	(void)state;
	write_many(false);
	report_run(&few, "flows: 30\n", "", &few_past);
	report_run(&all, "", "", &all_past);
	assert_int_equal(few_past.cnt, 2970);
	assert_int_equal(all_past.cnt, 0);
	assert_int_equal(few.flows, 3000);
	assert_int_equal(few.done, 3000);
	assert_int_equal(few.digest, all.digest);
	assert_int_equal(few.bytes, all.bytes);
	assert_int_equal(few.first_start, all.first_start);
	assert_int_equal(few.end, all.end);
	assert_int_equal(few.goodput_bps, all.goodput_bps);
	assert_uint_in_range(few.jain_ppm, all.jain_ppm - 500, all.jain_ppm + 500);
	check_spread(&few.fct_ns, &all.fct_ns);
	check_spread(&few.slowdown_milli, &all.slowdown_milli);
	for (uint32_t i = 0; i < VB_REPORT_SIZES; i++)
		check_spread(&few.slowdown_of_size[i], &all.slowdown_of_size[i]);
	for (uint32_t i = 0; i < VB_REPORT_BINS; i++)
		check_spread(&few.slowdown_of_bin[i], &all.slowdown_of_bin[i]);
	/* Rates of more than 20 bits, after lower ones. */
	write_many(true);
	memset(&few_past, 0, sizeof few_past);
	memset(&all_past, 0, sizeof all_past);
	report_run(&few, "flows: 30\n", ", cable: {rate: 10Tbps, delay: 0ns}", &few_past);
	report_run(&all, "", ", cable: {rate: 10Tbps, delay: 0ns}", &all_past);
	assert_uint_in_range(few.jain_ppm, all.jain_ppm - 500, all.jain_ppm + 500);
}

/* A SEND of UD that is lost may still come: its flow keeps record and connection. */
static void load__flows_that_lost_a_datagram_keep_their_records(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "", path[256];
	uint32_t lost = 0;
	FILE *f;

	(void)state;
	input_path(path, sizeof path, "f");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "src,dst,bytes,start\n");
	for (unsigned i = 0; i < 100; i++)
		fprintf(f, "0,1,3000,%uus\n", 10 * i);
	assert_int_equal(fclose(f), 0);
	if (input_open(&sc, &run,
		       "flows: 10\ntransport: {type: ud}\n"
		       "faults: {host: 0, do: \"loss=1:first=1,loss=1:nth=50\"}\n"
		       "workload: {shape: file, file: f}\n",
		       err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), 0);
	assert_int_equal(vb_load_past_cnt(run.load), 90);
	for (uint32_t i = 0; i < 10; i++) {
		const struct vb_flow *w = vb_load_flow(run.load, i);

		assert_true(w->done != VB_NEVER);
		lost += w->delivered == VB_NEVER;
	}
	assert_int_equal(lost, 2);
	vb_scenario_close(&run);
}

/* Flows that run keep theirs: one too many at once ends the run as one too many in all does. */
static void load__flows_at_once_have_room(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	input_write("f", "3\n0 1 3 1 1000000 0\n0 1 3 1 1000000 0\n1 0 3 1 1000000 0\n");
	if (input_open(&sc, &run, "flows: 2\nworkload: {shape: file, file: f}\n", err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_failure(run.load), -ENOMEM);
	vb_scenario_failure(&run, &sc, err, sizeof err);
	assert_string_equal(err, "more than 2 flows at once: give the scenario a larger \"flows\"");
	vb_scenario_close(&run);
}

/* A file that changes while the run goes on. */
static void load__list_that_ends_early_is_a_failure(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "", path[256], want[512];

	(void)state;
	input_write("f", "2\n0 1 3 1 1000 0\n1 0 3 1 1000 1\n");
	if (input_open(&sc, &run, "workload: {shape: file, file: f}\n", err, sizeof err))
		fail_msg("%s", err);
	input_path(path, sizeof path, "f");
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	if (vb_load_failure(run.load)) {
		vb_scenario_failure(&run, &sc, err, sizeof err);
		snprintf(want, sizeof want, "%s:3:1: line 1 says 2 flows, and there are 1", path);
		assert_string_equal(err, want);
	}
	vb_scenario_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ns3__flows_have_a_priority),
	    cmocka_unit_test(ns3__priority_is_a_level_or_nothing),
	    cmocka_unit_test(csv__columns_stand_in_any_order),
	    cmocka_unit_test(list__mistakes_are_told_with_their_place),
	    cmocka_unit_test(list__long_lines_are_refused),
	    cmocka_unit_test(scenario__takes_names_of_the_topology),
	    cmocka_unit_test(scenario__says_what_is_wrong_with_a_list),
	    cmocka_unit_test(scenario__sends_with_the_classes_of_a_list),
	    cmocka_unit_test(load__flows_that_are_over_give_their_records_away),
	    cmocka_unit_test(load__flows_that_lost_a_datagram_keep_their_records),
	    cmocka_unit_test(load__flows_at_once_have_room),
	    cmocka_unit_test(load__list_that_ends_early_is_a_failure),
	};

	return cmocka_run_group_tests(tests, input_begin, input_end);
}
