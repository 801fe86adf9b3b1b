/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario files: their words are carried out, and their errors are told. */
#include "cmocka_env.h"
#include "scenario/override.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

static int read_text(struct vb_scenario *sc, const char *text, char *err, size_t len)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int bad;

	assert_non_null(f);
	bad = vb_scenario_read(sc, f, "s.yaml", err, len);
	fclose(f);
	return bad;
}

static void read__takes_every_kind_of_value(void **state)
{
	static struct vb_scenario sc;
	char err[1024] = "";

	(void)state;
	if (read_text(&sc,
		      "seed: 18446744073709551615\n"
		      "until: 1.5ms\n"
		      "data: true\n"
		      "topology: {shape: clos, leaves: 3, cable: {rate: 12.5Gbps, delay: 0.25us}}\n"
		      "switch: {buffer: 16MiB, lossless: [0, 3], pmax: 1.5%, kmin: 5kB}\n"
		      "transport: {type: uc, mtu: 2048, timeout: 10, window: 64 KiB}\n"
		      "workload:\n"
		      "  - {shape: poisson, sizes: hadoop, load: 0.8, count: 10}\n"
		      "  - {shape: incast, count: 4, mix: {send: 3, write: 1}}\n"
		      "faults: {host: 2, do: \"loss=1e-3,dup=1%\"}\n"
		      "record: {out: results, trace: a b, pcap: 0.1, explain: all}\n",
		      err, sizeof err))
		fail_msg("%s", err);
	assert_true(sc.seed == UINT64_MAX && sc.until == 1500000 && sc.data);
	assert_int_equal(sc.topology.shape, VB_SHAPE_CLOS);
	assert_int_equal(sc.topology.leaves, 3);
	assert_int_equal(sc.topology.cable.rate_bps, 12500000000);
	assert_int_equal(sc.topology.fabric.rate_bps, 12500000000);
	assert_int_equal(sc.topology.cable.delay, 250);
	assert_int_equal(sc.sw.buffer.bytes, 16 << 20);
	assert_int_equal(sc.sw.buffer.lossless, 9);
	assert_int_equal(sc.sw.red.pmax_ppm, 15000);
	assert_int_equal(sc.sw.red.kmin, 5000);
	assert_int_equal(sc.load.type, VB_QPT_UC);
	assert_int_equal(sc.load.mtu, VB_MTU_2048);
	assert_int_equal(sc.window_bytes, 65536);
	assert_int_equal(sc.pattern_cnt, 2);
	assert_int_equal(sc.pattern[0].load_ppm, 800000);
	assert_ptr_equal(sc.pattern[0].sizes, &vb_size_hadoop);
	assert_int_equal(sc.pattern[1].mix[VB_LOAD_SEND], 3);
	assert_int_equal(sc.fault_cnt, 1);
	assert_int_equal(sc.fault[0].host, 2);
	assert_int_equal(sc.fault[0].link, UINT32_MAX);
	assert_int_equal(sc.fault[0].spec.rule_cnt, 2);
	assert_string_equal(sc.record.out, "results");
	assert_string_equal(sc.record.trace, "a b");
	assert_string_equal(sc.record.pcap, "0.1");
	assert_string_equal(sc.record.explain, "all");
	assert_string_equal(sc.record.png, "");
}

/* A cable of the fabric is as a host's where the file does not say otherwise; 0 is said, too. */
static void read__fabric_is_like_the_cable_unless_said(void **state)
{
	static const struct {
		const char *fabric;
		struct vb_cable want;
	} t[] = {
	    {"", {25000000000, 2000, 1500}},
	    {", fabric: {delay: 0ns}", {25000000000, 0, 1500}},
	    {", fabric: {rate: 100Gbps}", {100000000000, 2000, 1500}},
	    {", fabric: {mtu: 0}", {25000000000, 2000, 0}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		char text[256], err[1024] = "";

		snprintf(text, sizeof text,
			 "workload: {shape: permutation}\n"
			 "topology: {cable: {rate: 25Gbps, delay: 2us, mtu: 1500}%s}\n",
			 t[i].fabric);
		if (read_text(&sc, text, err, sizeof err))
			fail_msg("%s", err);
		assert_int_equal(sc.topology.fabric.rate_bps, t[i].want.rate_bps);
		assert_int_equal(sc.topology.fabric.delay, t[i].want.delay);
		assert_int_equal(sc.topology.fabric.mtu, t[i].want.mtu);
	}
}

/* The longest packet of a path MTU passes a cable whose MTU just has room for it. */
static void open__cable_mtu_that_suffices_loses_nothing(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	assert_int_equal(
	    read_text(&sc,
		      "topology: {cable: {mtu: 1084}}\n"
		      "workload: {shape: permutation, bytes: 10kB, mix: {send: 1, write: 1, "
		      "read: 1}}\n",
		      err, sizeof err),
	    0);
	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run.sim); i++) {
		struct vb_port_stats st;

		vb_sim_port_stats(run.sim, i, &st);
		assert_true(st.tx_pkts > 0);
		assert_int_equal(st.faults, 0);
	}
	vb_scenario_close(&run);
}

/* Two flows of different classes meet at a port, which serves them by the weights of their
 * priorities. */
static void open__weights_share_a_cable(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";
	uint64_t one, three;

	(void)state;
	assert_int_equal(
	    read_text(&sc,
		      "until: 2ms\n"
		      "topology: {shape: star, hosts: 3}\n"
		      "switch: {weights: {1: 1, 2: 3}}\n"
		      "transport: {depth: 64, message: 64KiB, window: 512KiB}\n"
		      "workload:\n"
		      "  - {shape: single, from: 0, to: 2, bytes: 1GB, traffic-class: 32}\n"
		      "  - {shape: single, from: 1, to: 2, bytes: 1GB, traffic-class: 64}\n",
		      err, sizeof err),
	    0);
	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	one = vb_load_flow_completed(run.load, vb_load_flow(run.load, 0));
	three = vb_load_flow_completed(run.load, vb_load_flow(run.load, 1));
	assert_true(one > 1000000);
	assert_uint_in_range(three, one * 29 / 10, one * 31 / 10);
	vb_scenario_close(&run);
}

static void read__says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"seed: 1\n", "s.yaml:1:1: there is no workload"},
	    {"sede: 1\n",
	     "s.yaml:1:1: there is no key \"sede\" here, only seed, until, data, flows, "
	     "packets, topology, link, switch, infiniband, transport, groups, workload, faults, "
	     "links or record"},
	    {"seed: 1\nseed: 2\n", "s.yaml:2:1: seed stands here twice"},
	    {"seed: one\n", "s.yaml:1:7: seed is a whole number, not \"one\""},
	    {"seed: [1]\n", "s.yaml:1:7: seed is a whole number"},
	    {"until: 5\n", "s.yaml:1:8: until is a time such as 500ns, 1.5us or 10ms, not \"5\""},
	    {"topology:\n  shape: rings\n",
	     "s.yaml:2:10: shape is pair, star, dumbbell, parking-lot, ring, "
	     "clos, clos3 or fat-tree, not \"rings\""},
	    {"link: token-ring\n",
	     "s.yaml:1:7: link is ethernet or infiniband, not \"token-ring\""},
	    {"infiniband: {lanes: 4}\nworkload: {shape: incast}\n",
	     "s.yaml:1:13: infiniband goes with link: infiniband"},
	    {"link: infiniband\nswitch: {queue: 1MB}\nworkload: {shape: incast}\n",
	     "s.yaml:2:9: switch is of Ethernet; infiniband says what the switches of this link "
	     "are like"},
	    {"link: infiniband\ninfiniband: {lanes: 3}\n",
	     "s.yaml:2:21: lanes is 1, 2, 4, 8 or 15, not \"3\""},
	    {"link: infiniband\nworkload: {traffic-class: 3}\n",
	     "s.yaml:2:27: traffic-class is of Ethernet; here sl is the service level"},
	    {"workload: {sl: 3}\n", "s.yaml:1:16: sl is of InfiniBand; here traffic-class is what "
				    "packets have"},
	    {"topology: {k: 130}\n", "s.yaml:1:15: k is 2 to 128, not 130"},
	    {"topology: 7\n", "s.yaml:1:11: expected keys and values here, as \"shape: ...\""},
	    {"topology: {cable: {rate: 5}}\n",
	     "s.yaml:1:26: rate is a rate such as 25Gbps or 100Gbps, not \"5\""},
	    {"switch: {lossless: 3}\n",
	     "s.yaml:1:20: lossless is a list of priorities 0 to 7, such as [0, 3]"},
	    {"switch: {lossless: [8]}\n", "s.yaml:1:21: a priority is 0 to 7"},
	    {"switch: {weights: {8: 1}}\n",
	     "s.yaml:1:20: there is no key \"8\" here, only 0, 1, 2, 3, 4, 5, 6 or 7"},
	    {"switch: {weights: {0: 1001}}\n", "s.yaml:1:23: 0 is 0 to 1000, not 1001"},
	    {"links: {down: 1ms}\n",
	     "s.yaml:1:8: a link is that of a host or a cable: give one of them"},
	    {"links: {cable: 1, down: 2ms, up: 1ms}\n",
	     "s.yaml:1:8: a link goes down, and if it comes up then later"},
	    {"data: yes\n", "s.yaml:1:7: data is true or false"},
	    {"workload: {sizes: pareto}\n",
	     "s.yaml:1:19: sizes is websearch, hadoop or the name of a file such as sizes.txt"},
	    {"faults: {do: \"los=1\"}\n",
	     "s.yaml:1:14: \"los=1\", character 1: unknown fault; there are loss burst reorder dup "
	     "delay corrupt ecn blackout queue, each with =VALUE"},
	    {"record: {pcap: 3}\n", "s.yaml:1:16: pcap is two numbers such as 0.1, not \"3\""},
	    {"record: {explain: 0.x}\n",
	     "s.yaml:1:19: explain is all or two numbers such as 0.1, not \"0.x\""},
	    {"record: {svg: \"\"}\n", "s.yaml:1:15: svg is a text of 1 to 511 characters"},
	    {"a: [\n", "s.yaml:2:1: did not find expected node content"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		char err[1024] = "";

		assert_int_equal(read_text(&sc, t[i].text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* A text that is nested without end is refused where it is too deep, not after all of it was read:
 * its end, which is wrong, is not looked at. So are too many anchors. */
static void read__nested_too_deep(void **state)
{
	static const struct {
		const char *first, *each, *err;
	} t[] = {
	    {"seed:\n ", "[", "s.yaml:2:65: more than 64 lists and mappings in each other"},
	    {"seed:\n ", "{a: ", "s.yaml:2:254: more than 64 lists and mappings in each other"},
	    {"seed:\n ", "- ", "s.yaml:2:128: more than 64 lists and mappings in each other"},
	    {"", "- &a 1\n", "s.yaml:1001:3: more than 1000 anchors"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		static char text[40000];
		char err[1024] = "";
		size_t len = strlen(t[i].first), n = strlen(t[i].each);

		memcpy(text, t[i].first, len);
		for (; len + n + 2 < sizeof text && len < 2000 * n; len += n)
			memcpy(text + len, t[i].each, n);
		memcpy(text + len, "%", 2);
		assert_int_equal(read_text(&sc, text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

static void open__runs_what_was_read(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	assert_int_equal(read_text(&sc,
				   "topology: {shape: fat-tree}\n"
				   "workload: {shape: permutation, bytes: 10kB}\n"
				   "faults: {do: \"loss=1e-3\"}\n",
				   err, sizeof err),
			 0);
	assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), 0);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_flow_cnt(run.load), 16);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(vb_load_flow(run.load, i)->status, VB_WC_SUCCESS);
	vb_scenario_close(&run);
}

static void open__says_what_does_not_fit(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"workload: {shape: incast, count: 2}\n",
	     "s.yaml:1:11: workload 1 has a count of 1 up to all hosts but the one that receives; "
	     "hosts are 0 to 1"},
	    {"workload:\n  - {shape: permutation}\n  - {shape: single, to: 2}\n",
	     "s.yaml:3:5: workload 2 is from a host to another one of those that take part; hosts "
	     "are 0 to 1"},
	    {"workload: {shape: permutation, hosts: 3}\n",
	     "s.yaml:1:11: workload 1 takes 2 hosts and no more than there are; hosts are 0 to 1"},
	    {"transport: {type: uc}\nworkload: {shape: permutation, mix: {read: 1}}\n",
	     "s.yaml:2:11: workload 1 mixes READs or atomics in, which UC does not have; hosts are "
	     "0 to 1"},
	    {"workload: {shape: poisson, bytes: 0}\n",
	     "s.yaml:1:11: workload 1 has flows of 1 byte up to 1 GiB on average; hosts are 0 to "
	     "1"},
	    {"workload: {shape: permutation}\nfaults: {host: 2, do: \"loss=1\"}\n",
	     "s.yaml:2:9: fault 1 is of host 2: there are 0 to 1"},
	    {"workload: {shape: permutation}\nfaults:\n  - {do: loss=0}\n  - {cable: 2, do: "
	     "\"loss=1\"}\n",
	     "s.yaml:4:5: fault 2 is of cable 2: there are 0 to 1"},
	    {"workload: {shape: permutation}\nswitch: {buffer: 1kB}\n",
	     "s.yaml:2:9: switch has a buffer of 1000 bytes, and its ports keep 8192 for reserves "
	     "and headroom: give it more, or them less"},
	    {"workload: {shape: permutation}\ntopology: {hosts: 10000}\n",
	     "s.yaml:2:11: switch has a buffer of 33554432 bytes, and its ports keep 40960000 for "
	     "reserves and headroom: give it more, or them less"},
	    {"workload: {shape: permutation}\nswitch: {kmin: 2kB, kmax: 1kB}\n",
	     "s.yaml:2:9: switch has a kmin of 2000 bytes above its kmax of 1000"},
	    {"workload: {shape: permutation}\ntopology: {cable: {mtu: 1083}}\n",
	     "s.yaml:2:11: topology has cables with an mtu of 1083 bytes: the transport's mtu of "
	     "1024 takes 1084"},
	    {"workload: {shape: permutation}\ntransport: {mtu: 4096}\n"
	     "topology: {shape: dumbbell, fabric: {mtu: 1500}}\n",
	     "s.yaml:3:11: topology has cables with an mtu of 1500 bytes: the transport's mtu of "
	     "4096 takes 4156"},
	    {"workload: {shape: permutation}\ntopology: {shape: fat-tree, k: 3}\n",
	     "s.yaml:2:11: topology is a fat-tree: its k is even, not 3"},
	    {"workload: {shape: permutation}\ntopology: {hosts: 1048576}\n",
	     "s.yaml:2:11: topology is too large: at most 1048576 hosts and switches and 4194304 "
	     "cables"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		struct vb_scenario_run run;
		char err[1024] = "";

		assert_int_equal(read_text(&sc, t[i].text, err, sizeof err), 0);
		assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

static void open__says_which_limit_is_reached(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	assert_int_equal(
	    read_text(&sc, "flows: 2\nworkload: [{shape: permutation}, {shape: permutation}]\n",
		      err, sizeof err),
	    0);
	assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -ENOMEM);
	assert_string_equal(err,
			    "s.yaml:2:34: workload 2 has more flows than 2: give the scenario a "
			    "larger \"flows\"");
}

/* The text of a scenario with one value put into it. */
static void read_with(struct vb_scenario *sc, const char *text, const char *path, const char *value)
{
	const struct vb_scenario_override with = {path, value};
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	char err[1024] = "";

	assert_non_null(f);
	if (vb_scenario_read_with(sc, f, "s.yaml", &with, 1, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

/* Faults that meet on a cable add up, and each has the random stream of its place. */
static void open__faults_add_up(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	const struct vb_fault *layer;
	char err[1024] = "";

	(void)state;
	assert_int_equal(read_text(&sc,
				   "workload: {shape: permutation}\n"
				   "faults:\n"
				   "  - {do: \"loss=1:first=3\"}\n"
				   "  - {host: 1, do: \"blackout=0s/1ms,dup=1%\"}\n"
				   "  - {cable: 1, do: \"delay=5us\"}\n",
				   err, sizeof err),
			 0);
	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_cable_fault(run.sim, 0)->spec.rule_cnt, 1);
	layer = vb_sim_cable_fault(run.sim, 1);
	assert_int_equal(layer->spec.rule_cnt, 4);
	assert_int_equal(layer->spec.rule[0].kind, VB_FAULT_LOSS);
	assert_int_equal(layer->spec.rule[1].kind, VB_FAULT_BLACKOUT);
	assert_int_equal(layer->spec.rule[2].kind, VB_FAULT_DUPLICATE);
	assert_int_equal(layer->spec.rule[3].kind, VB_FAULT_DELAY);
	vb_scenario_close(&run);

	/* More than a cable can have is refused, with the place. */
	assert_int_equal(
	    read_text(&sc,
		      "workload: {shape: permutation}\n"
		      "faults:\n"
		      "  - {do: \"dup=0,dup=0,dup=0,dup=0,dup=0,dup=0,dup=0,dup=0,dup=0\"}\n"
		      "  - {host: 0, do: \"ecn=0,ecn=0,ecn=0,ecn=0,ecn=0,ecn=0,ecn=0,ecn=0\"}\n",
		      err, sizeof err),
	    0);
	assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -E2BIG);
	assert_string_equal(
	    err, "s.yaml:4:5: fault 2 is one too many: cable 0 has more than 16 rules then");
}

/* A value of faults.KIND changes that rule wherever it is, and takes nothing else away. */
static void read_with__a_fault_among_others(void **state)
{
	static struct vb_scenario sc;

	(void)state;
	read_with(
	    &sc,
	    "workload: {shape: permutation}\nfaults: {do: \"delay=5us,loss=1%:dir=rx,dup=2%\"}\n",
	    "faults.loss", "0.5");
	assert_int_equal(sc.fault_cnt, 1);
	assert_int_equal(sc.fault[0].spec.rule_cnt, 3);
	assert_int_equal(sc.fault[0].spec.rule[0].time, 5 * VB_USEC);
	assert_int_equal(sc.fault[0].spec.rule[1].ppb, VB_FAULT_ONE / 2);
	assert_int_equal(sc.fault[0].spec.rule[1].filter.dirs, VB_FAULT_RX);
	assert_int_equal(sc.fault[0].spec.rule[2].kind, VB_FAULT_DUPLICATE);
	read_with(&sc, "workload: {shape: permutation}\nfaults: {do: \"delay=5us\"}\n",
		  "faults.loss", "0.5");
	assert_int_equal(sc.fault_cnt, 2);
	assert_int_equal(sc.fault[0].spec.rule[0].kind, VB_FAULT_DELAY);
	assert_int_equal(sc.fault[1].spec.rule[0].kind, VB_FAULT_LOSS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(read__takes_every_kind_of_value),
	    cmocka_unit_test(open__weights_share_a_cable),
	    cmocka_unit_test(read__says_what_is_wrong_and_where),
	    cmocka_unit_test(read__fabric_is_like_the_cable_unless_said),
	    cmocka_unit_test(open__cable_mtu_that_suffices_loses_nothing),
	    cmocka_unit_test(read__nested_too_deep),
	    cmocka_unit_test(open__runs_what_was_read),
	    cmocka_unit_test(open__says_what_does_not_fit),
	    cmocka_unit_test(open__says_which_limit_is_reached),
	    cmocka_unit_test(open__faults_add_up),
	    cmocka_unit_test(read_with__a_fault_among_others),
	};

	return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
