/* SPDX-License-Identifier: BSD-2-Clause */
/* The series, flows, ports and groups that a scenario records: what is read, and each mistake. */
#include "cmocka_env.h"
#include "scenario/override.h"

#include <string.h>

static struct vb_scenario sc;

static int read_text(const char *text, char *err, size_t len)
{
	static char whole[16384];
	FILE *f;
	int bad;

	snprintf(whole, sizeof whole, "%sworkload: {shape: single}\n", text);
	f = fmemopen(whole, strlen(whole), "r");
	assert_non_null(f);
	bad = vb_scenario_read(&sc, f, "s.yaml", err, len);
	fclose(f);
	return bad;
}

static void read_well(const char *text)
{
	char err[1024] = "";

	if (read_text(text, err, sizeof err))
		fail_msg("%s", err);
}

static void record__is_read(void **state)
{
	const struct vb_record *r = &sc.record;

	(void)state;
	read_well("record:\n"
		  "  series: [rate, queue, alpha]\n"
		  "  every: 2.5us\n"
		  "  flows: [0, 8-15]\n"
		  "  ports: [16.10, 17.*]\n"
		  "  groups: [{name: mice, flows: 3-4}, {name: tor, ports: [2.0]}, {name: all, "
		  "flows: all}]\n");
	assert_int_equal(r->series,
			 1u << VB_RECORD_RATE | 1u << VB_RECORD_QUEUE | 1u << VB_RECORD_ALPHA);
	assert_int_equal(r->every, 2500);
	for (uint32_t flow = 0; flow < 20; flow++)
		assert_int_equal(vb_record_has_flow(&r->flows, flow),
				 flow == 0 || (flow >= 8 && flow <= 15));
	assert_true(vb_record_has_port(&r->ports, 16, 10));
	assert_false(vb_record_has_port(&r->ports, 16, 1));
	assert_true(vb_record_has_port(&r->ports, 17, 0) && vb_record_has_port(&r->ports, 17, 9));
	assert_int_equal(r->group_cnt, 3);
	assert_string_equal(r->group[1].name, "tor");
	assert_true(!r->group[0].is_of_ports && r->group[1].is_of_ports);
	assert_true(vb_record_has_flow(&r->group[0].flows, 4));
	assert_false(vb_record_has_flow(&r->group[0].flows, 5));
	assert_false(vb_record_has_port(&r->group[1].ports, 2, 1));
	assert_true(vb_record_has_flow(&r->group[2].flows, 70000));
}

static void record__defaults(void **state)
{
	const struct vb_record *r = &sc.record;

	(void)state;
	read_well("seed: 1\n");
	assert_true(r->series == 0 && r->group_cnt == 0 && r->every == 10000);
	read_well("record: {series: all, flows: none}\n");
	assert_int_equal(r->series, (1u << VB_RECORD_SERIES_CNT) - 1);
	assert_false(vb_record_has_flow(&r->flows, 0));
	assert_true(vb_record_has_port(&r->ports, 0, 0));
	assert_int_equal(r->series & ~(VB_RECORD_OF_FLOWS | VB_RECORD_OF_PORTS), 0);
	read_well("record: {flows: all, ports: []}\n");
	assert_true(vb_record_has_flow(&r->flows, 9));
	assert_false(vb_record_has_port(&r->ports, 0, 0));
}

static void record__each_mistake(void **state)
{
#define FLOWS "flows are all, none, or numbers as in flows.csv, such as [0, 8-15], not "
#define PORTS "ports are all, none, or NODE.PORT, such as [16.0, 17.*], not "
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"record: {series: [rate, speed]}\n",
	     "s.yaml:1:25: series is rate, inflight, window, cc-rate, cc-target, alpha, rtt, "
	     "queue, marks, pauses, drops, utilisation, cnps or all, not \"speed\""},
	    {"record: {every: 0us}\n", "s.yaml:1:17: every is 1 to 1000000000000, not 0us"},
	    {"record: {flows: [1, 4-2]}\n", "s.yaml:1:21: " FLOWS "\"4-2\""},
	    {"record: {flows: -3}\n", "s.yaml:1:17: " FLOWS "\"-3\""},
	    {"record: {flows: 3-}\n", "s.yaml:1:17: " FLOWS "\"3-\""},
	    {"record: {ports: [16]}\n", "s.yaml:1:18: " PORTS "\"16\""},
	    {"record: {ports: 16.}\n", "s.yaml:1:17: " PORTS "\"16.\""},
	    {"record: {ports: 1.2.3}\n", "s.yaml:1:17: " PORTS "\"1.2.3\""},
	    {"record: {ports: 1.*x}\n", "s.yaml:1:17: " PORTS "\"1.*x\""},
	    {"record: {groups: [{flows: 1}]}\n",
	     "s.yaml:1:19: a group has a name, without commas and quotes"},
	    {"record: {groups: [{name: \"a,b\", flows: 1}]}\n",
	     "s.yaml:1:19: a group has a name, without commas and quotes"},
	    {"record: {groups: {name: a}}\n",
	     "s.yaml:1:18: a group is of flows or of ports: give one of them"},
	    {"record: {groups: {name: a, flows: 1, ports: 1.0}}\n",
	     "s.yaml:1:18: a group is of flows or of ports: give one of them"},
	    {"record: {groups: {name: a, hosts: 1}}\n",
	     "s.yaml:1:28: there is no key \"hosts\" here, only name, flows or ports"},
	};
	char err[1024];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		err[0] = '\0';
		assert_int_not_equal(read_text(t[i].text, err, sizeof err), 0);
		assert_string_equal(err, t[i].err);
	}
}

/* Tables have room for so many, and one more is refused. */
static void record__limits(void **state)
{
	static const struct {
		const char *head, *each, *tail, *err;
		uint32_t most;
	} t[] = {
	    {"record: {flows: [", "7,", "]}", "at most 64 flows or ranges of flows are listed",
	     VB_RECORD_RANGES_MAX},
	    {"record: {ports: [", "1.0,", "]}", "at most 256 ports are listed",
	     VB_RECORD_PORTS_MAX},
	    {"record: {groups: [", "{name: a, flows: 1},", "]}", "there are at most 16 groups",
	     VB_RECORD_GROUPS_MAX},
	};
	static char text[8192];
	char err[1024];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
		for (uint32_t more = 0; more < 2; more++) {
			size_t at = (size_t)snprintf(text, sizeof text, "%s", t[i].head);

			for (uint32_t k = 0; k < t[i].most + more; k++)
				at +=
				    (size_t)snprintf(text + at, sizeof text - at, "%s", t[i].each);
			snprintf(text + at, sizeof text - at, "%s\n", t[i].tail);
			assert_int_equal(read_text(text, err, sizeof err) != 0, more);
			if (more)
				assert_non_null(strstr(err, t[i].err));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(record__is_read),
	    cmocka_unit_test(record__defaults),
	    cmocka_unit_test(record__each_mistake),
	    cmocka_unit_test(record__limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
