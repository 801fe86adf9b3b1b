/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks that users bring: in YAML, and as simulations with ns-3 have them. scenario/input/net.h
 */
#include "input_env.h"
#include "scenario/input/nodes.h"

#include <errno.h>

#define TWO_SWITCHES                                                                               \
	"6 2 5\n"                                                                                  \
	"0 5\n"                                                                                    \
	"1 0 100Gbps 1000ns 0.000000\n"                                                            \
	"2 0 25Gb/s 0.001ms 0\n"                                                                   \
	"5 3 12.5Gbps 1us 1e-3\n"                                                                  \
	"4 5 100Gbps 2us 0\n"                                                                      \
	"0 5 200Gbps 3us 0\n"

static int parse_text(struct vb_net *n, const char *text, char *err, size_t size)
{
	const struct vb_complaint c = {"f", err, size};
	enum vb_net_form form = vb_net_form_of(text, strlen(text));

	assert_int_not_equal(form, VB_NET_FORM_NONE);
	return vb_net_parse(n, form, text, strlen(text), &c);
}

static void check_link(const struct vb_sim_topo_link *l, uint32_t a, uint32_t b, uint64_t mbps,
		       vb_dur delay, uint32_t mtu)
{
	assert_int_equal(l->a, a);
	assert_int_equal(l->b, b);
	assert_int_equal(l->cable.rate_bps, mbps * 1000000);
	assert_int_equal(l->cable.delay, delay);
	assert_int_equal(l->cable.mtu, mtu);
}

static void *block_get(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void block_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* Hosts count in the order of the nodes, and so do switches; the first node of a cable is a host.
 */
static void ns3__nodes_are_hosts_and_switches(void **state)
{
	static const struct vb_cable cable = {1, 1, 1500}, trunk = {1, 1, 9000};
	const struct vb_sim_memory m = {block_get, block_free, NULL};
	struct vb_net n;
	struct vb_sim_topo t;
	char err[256] = "";

	(void)state;
	if (parse_text(&n, TWO_SWITCHES "\nFirst line: total node #, switch node #, link #\n", err,
		       sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_net_make(&n, &cable, &trunk, &m, &t), 0);
	assert_int_equal(t.host_cnt, 4);
	assert_int_equal(t.switch_cnt, 2);
	assert_int_equal(t.link_cnt, 5);
	check_link(&t.link[0], 0, 4, 100000, 1000, 1500);
	check_link(&t.link[1], 1, 4, 25000, 1000, 1500);
	check_link(&t.link[2], 2, 5, 12500, 1000, 1500);
	check_link(&t.link[3], 3, 5, 100000, 2000, 1500);
	check_link(&t.link[4], 4, 5, 200000, 3000, 9000);
	assert_int_equal(n.link[2].error_ppb, 1000000);
	assert_int_equal(n.link[3].error_ppb, 0);
	assert_int_equal(vb_net_find(&n, "5", 1), 5);
	assert_int_equal(vb_net_find(&n, "6", 1), VB_NET_NONE);
	free(t.link);
	vb_net_free(&n);
}

static void ns3__mistakes_are_told_with_their_place(void **state)
{
	static const struct {
		const char *text, *words;
	} t[] = {
	    {"3 1", "f:1:4: the first line has three numbers: of nodes, of switches and of cables"},
	    {"3 1\n2", "f:2:1: the first line has three numbers: of nodes, of switches and of "
		       "cables"},
	    {"3 x 2", "f:1:3: the first line has three numbers: of nodes, of switches and of "
		      "cables, not \"x\""},
	    {"1048577 1 2", "f:1:1: there are at most 1048576"},
	    {"3 1 4194305", "f:1:5: there are at most 4194304"},
	    {"3 3 2", "f:1:3: of 3 nodes fewer than all are switches: the others are hosts"},
	    {"0 0 1", "f:1:3: of 0 nodes fewer than all are switches: the others are hosts"},
	    {"4 2 2\n0", "f:2:2: the first line says 2 switches, and here are 1"},
	    {"3 1 2\n3\n", "f:2:1: there is no node 3: they are 0 to 2"},
	    {"3 2 2\n1 1\n", "f:2:3: node 1 is among the switches twice"},
	    {"3 1 2\n2\n0 2 1Gbps 1us 0\n", "f:4:1: the first line says 2 cables, and there are 1"},
	    {"3 1 2\n2\n0 2 1Gbps 1us\n1 2 1Gbps 1us 0\n",
	     "f:3:1: a cable is \"source destination rate delay error_rate\", in one line"},
	    {"3 1 2\n2\n0 4 1Gbps 1us 0", "f:3:3: there is no node 4: they are 0 to 2"},
	    {"3 1 2\n2\n-1 2 1Gbps 1us 0", "f:3:1: there is no node -1: they are 0 to 2"},
	    {"3 1 2\n2\n0 2 1 1us 0",
	     "f:3:5: a rate is such as 100Gbps, from 1Mbps to 10Tbps, not \"1\""},
	    {"3 1 2\n2\n0 2 0.5Mbps 1us 0",
	     "f:3:5: a rate is such as 100Gbps, from 1Mbps to 10Tbps, not \"0.5Mbps\""},
	    {"3 1 2\n2\n0 2 11Tbps 1us 0",
	     "f:3:5: a rate is such as 100Gbps, from 1Mbps to 10Tbps, not \"11Tbps\""},
	    {"3 1 2\n2\n0 2 1Gbps 1 0",
	     "f:3:11: a delay is such as 1000ns or 0.001ms, up to 10s, not \"1\""},
	    {"3 1 2\n2\n0 2 1Gbps 11s 0",
	     "f:3:11: a delay is such as 1000ns or 0.001ms, up to 10s, not \"11s\""},
	    {"3 1 2\n2\n0 2 1Gbps 1us 1.1", "f:3:15: an error rate is the share of packets that "
					    "are lost, 0 to 1, not \"1.1\""},
	    {"3 1 2\n2\n0 0 1Gbps 1us 0", "f:3:1: a cable leads from 0 to itself"},
	    {"3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 2 1Gbps 1us 0",
	     "f:5:1: there is a cable from 0 to 2 already, in line 3"},
	    {"3 1 1\n2\n0 2 1Gbps 1us 0", "f:1:1: host 1 has no cable"},
	    {"3 2 1\n1 2\n0 2 1Gbps 1us 0", "f:2:1: switch 1 has no cable"},
	    {"3 2 3\n1 2\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 1 1Gbps 1us 0\n",
	     "f:5:1: there is a cable from 2 to 1 already, in line 4"},
	    {"4 0 2\n\n0 1 1Gbps 1us 0\n2 3 1Gbps 1us 0", "f:1:1: 2 cannot be reached from 0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char err[256] = "";
		struct vb_net n;

		assert_int_equal(parse_text(&n, t[i].text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].words);
		vb_net_free(&n);
	}
}

/* Of the scenario itself and of a file alike. */
static void yaml__nodes_and_links(void **state)
{
	static const char *const topology[] = {
	    "topology:\n"
	    "  cable: {rate: 50Gbps, mtu: 4200}\n"
	    "  fabric: {delay: 5us, mtu: 0}\n"
	    "  links:\n"
	    "    - {ends: [a, s0]}\n"
	    "    - {ends: [b, s0], rate: 25Gbps, delay: 0ns, mtu: 2000}\n"
	    "    - {ends: [s1, s0], rate: 200Gbps, count: 2}\n"
	    "    - {ends: [s1, long name], error: 20ppm}\n"
	    "  nodes: {switches: 2, hosts: [a, b, long name]}\n",
	    "topology: {file: net.yaml, cable: {rate: 50Gbps, mtu: 4200}, fabric: {delay: 5us, "
	    "mtu: 0}}\n"};

	(void)state;
	input_write("net.yaml", "# a network\n---\n"
				"nodes: {switches: 2, hosts: [a, b, long name]}\n"
				"links:\n"
				"  - {ends: [a, s0]}\n"
				"  - {ends: [b, s0], rate: 25Gbps, delay: 0ns, mtu: 2000}\n"
				"  - {ends: [s1, s0], rate: 200Gbps, count: 2}\n"
				"  - {ends: [s1, long name], error: 20ppm}\n");
	for (size_t i = 0; i < sizeof topology / sizeof topology[0]; i++) {
		static struct vb_scenario sc;
		struct vb_scenario_run run;
		char text[1024], err[1024] = "";

		snprintf(text, sizeof text, "%sworkload: {shape: permutation, bytes: 1MB}\n",
			 topology[i]);
		if (input_open(&sc, &run, text, err, sizeof err))
			fail_msg("%s", err);
		assert_int_equal(run.topo.host_cnt, 3);
		assert_int_equal(run.topo.switch_cnt, 2);
		assert_int_equal(run.topo.link_cnt, 5);
		check_link(&run.topo.link[0], 0, 3, 50000, 1000, 4200);
		check_link(&run.topo.link[1], 1, 3, 25000, 0, 2000);
		check_link(&run.topo.link[2], 4, 3, 200000, 5000, 0);
		check_link(&run.topo.link[3], 4, 3, 200000, 5000, 0);
		check_link(&run.topo.link[4], 2, 4, 50000, 1000, 4200);
		assert_int_equal(run.net->link[4].error_ppb, 20000);
		assert_null(vb_sim_cable_fault(run.sim, 0));
		assert_int_equal(vb_sim_cable_fault(run.sim, 4)->spec.rule[0].ppb, 20000);
		assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
		for (uint32_t k = 0; k < vb_load_flow_cnt(run.load); k++)
			assert_true(vb_load_flow(run.load, k)->done != VB_NEVER);
		vb_scenario_close(&run);
		vb_scenario_free(&sc);
	}
}

#define NODES "nodes: {hosts: 2, switches: 1}\n"
#define LINKS "links: [{ends: [h0, s0]}, {ends: [h1, s0]}]\n"

static void yaml__mistakes_are_told_with_their_place(void **state)
{
	static const struct {
		const char *text, *words;
	} t[] = {
	    {NODES, "f:1:1: nodes and links go together"},
	    {LINKS, "f:1:1: nodes and links go together"},
	    {NODES LINKS "more: 1\n", "f:3:1: there is no key \"more\" here, only nodes or links"},
	    {LINKS "nodes: {switches: 1}\n", "f:2:8: there is no host"},
	    {LINKS "nodes: {hosts: many}\n", "f:2:16: hosts is a list of names, or how many there "
					     "are: they are h0, h1 and so on then"},
	    {LINKS "nodes: {hosts: 2, switches: {}}\n",
	     "f:2:29: switches is a list of names, or how many there are: they are s0, s1 and so "
	     "on then"},
	    {LINKS "nodes: {hosts: [[a]]}\n", "f:2:17: the name of a node is a text"},
	    {LINKS "nodes: {hosts: [a, b, a]}\n", "f:2:23: there is a node a already"},
	    {LINKS "nodes: {hosts: 1, switches: [h0]}\n", "f:2:30: there is a node h0 already"},
	    {LINKS "nodes: {hosts: [\"\"]}\n", "f:2:17: the name of a node has 1 to 31 characters"},
	    {LINKS "nodes: {hosts: [\"a\\n\"]}\n",
	     "f:2:17: the name of a node has no control characters"},
	    {LINKS "nodes: {hosts: [x1234567890123456789012345678901]}\n",
	     "f:2:17: the name of a node has 1 to 31 characters"},
	    {LINKS "nodes: {hosts: 1048577}\n",
	     "f:2:16: hosts is a list of names, or how many there are: they are h0, h1 and so on "
	     "then"},
	    {LINKS "nodes: {hosts: 1048576, switches: 1}\n",
	     "f:2:35: there are more than 1048576 hosts and switches"},
	    {NODES "links: {ends: [h0]}\n",
	     "f:2:15: ends is a list of two nodes, such as [h0, s0]"},
	    {NODES "links: {ends: h0}\n", "f:2:15: ends is a list of two nodes, such as [h0, s0]"},
	    {NODES "links: {ends: [h0, s1]}\n", "f:2:20: there is no node \"s1\" among nodes"},
	    {NODES "links: {rate: 1Gbps}\n", "f:2:8: a link has ends, such as [h0, s0]"},
	    {NODES "links: {ends: [h0, s0], error: half}\n",
	     "f:2:32: error is the share of packets that are lost, such as 1e-6, 0.1% or 20ppm"},
	    {NODES "links: {ends: [h0, s0], error: 1.5}\n",
	     "f:2:32: error is the share of packets that are lost, such as 1e-6, 0.1% or 20ppm"},
	    {NODES "links: {ends: [h0, s0], rate: 1kbps}\n",
	     "f:2:31: rate is a rate such as 25Gbps or 100Gbps, not \"1kbps\""},
	    {NODES "links: {ends: [h0, s0], count: 257}\n", "f:2:32: count is 1 to 256, not 257"},
	    {NODES "links: {ends: [h0, s0], count: 2}\n", "f:1:16: host h1 has no cable"},
	    {NODES "links: {ends: [h0, s0]}\n", "f:1:16: host h1 has no cable"},
	    {"nodes: {hosts: 2, switches: 2}\nlinks:\n- {ends: [h0, s0]}\n- {ends: [h1, s0]}\n"
	     "- {ends: [s0, s1]}\n- {ends: [s1, s0]}\n",
	     "f:6:3: there is a cable from s1 to s0 already, in line 5"},
	    {"nodes: {hosts: 2, switches: 2}\nlinks:\n- {ends: [h0, s0]}\n- {ends: [h1, s1]}\n",
	     "f:1:16: h1 cannot be reached from h0"},
	    {NODES "links: [\n", "f:3:1: did not find expected node content"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char err[256] = "";
		struct vb_net n;

		assert_int_equal(parse_text(&n, t[i].text, err, sizeof err), -EINVAL);
		if (strcmp(err, t[i].words) != 0)
			fail_msg("%s: \"%s\" instead of \"%s\"", t[i].text, err, t[i].words);
		vb_net_free(&n);
	}
}

static void form__is_that_of_the_first_line(void **state)
{
	static const struct {
		const char *text;
		enum vb_net_form form;
	} t[] = {
	    {"\n 3 1 2\n", VB_NET_FORM_NS3},
	    {"# cables\n3 1 2\n", VB_NET_FORM_NS3},
	    {"nodes:\n", VB_NET_FORM_YAML},
	    {"---\nlinks: []\n", VB_NET_FORM_YAML},
	    {"{nodes: 1}", VB_NET_FORM_YAML},
	    {"", VB_NET_FORM_NONE},
	    {"Switch 4 \"S\"\n", VB_NET_FORM_NONE},
	    {"#\n# Topology file\n#\nvendid=0x0\n", VB_NET_FORM_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
		assert_int_equal(vb_net_form_of(t[i].text, strlen(t[i].text)), t[i].form);
}

static void scenario__refuses_what_does_not_go_together(void **state)
{
	(void)state;
	input_write("net.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n");
	input_refused("topology: {file: net.txt}\nworkload: {shape: single}\n",
		      "net.txt:4:1: the first line says 2 cables, and there are 1");
	input_write("net.txt", TWO_SWITCHES);
	input_refused("topology: {file: net.txt, cable: {mtu: 1000}}\nworkload: {shape: single}\n",
		      "s.yaml:1:11: topology has cables with an mtu of 1000 bytes: the transport's "
		      "mtu of 1024 takes 1084");
	input_refused(
	    "link: infiniband\ninfiniband: {routes: none}\n"
	    "topology: {file: net.txt}\nworkload: {shape: single}\n",
	    "s.yaml:2:13: routes of OpenSM take a topology of InfiniBand, as ibnetdiscover "
	    "prints it");
	input_refused("topology: {shape: star, nodes: {hosts: 2}, links: []}\n"
		      "workload: {shape: single}\n",
		      "s.yaml:1:19: a topology has a shape, a file, or nodes and links");
	input_refused("topology: {file: net.txt, links: []}\nworkload: {shape: single}\n",
		      "s.yaml:1:18: a topology has a shape, a file, or nodes and links");
	input_refused("topology: {nodes: {hosts: 2}}\nworkload: {shape: single}\n",
		      "s.yaml:1:11: nodes and links go together");
}

/* Each host sends in proportion to its cable. */
static void poisson__loads_cables_of_several_rates_alike(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";
	uint32_t from[4] = {0};

	(void)state;
	input_write("net.txt", TWO_SWITCHES);
	if (input_open(&sc, &run,
		       "topology: {file: net.txt}\n"
		       "workload: {shape: poisson, bytes: 1000, count: 20000, load: 20%}\n",
		       err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	for (uint32_t i = 0; i < 20000; i++)
		from[vb_load_flow(run.load, i)->src]++;
	/* 100, 25, 12.5 and 100 of 237.5 Gb/s. */
	assert_uint_in_range(from[0], 8220, 8620);
	assert_uint_in_range(from[1], 2000, 2210);
	assert_uint_in_range(from[2], 980, 1125);
	assert_uint_in_range(from[3], 8220, 8620);
	/* 20000 flows of 8000 bits at a fifth of these rates: 3.37 ms. */
	assert_uint_in_range(vb_load_flow(run.load, 19999)->start, 3270000, 3470000);
	vb_scenario_close(&run);
}

/* Runs 20000 flows of 8 kb at a fifth of 100 Gb/s by each of four hosts, 25 in 10 us. Windows of
 * 10 us in which host 0 begins no flow, of all. */
static void count_idle(const char *phases, uint32_t *idle, uint32_t *windows)
{
	static struct vb_scenario sc;
	static bool busy[1000];
	struct vb_scenario_run run;
	char text[256], err[1024] = "";

	memset(busy, 0, sizeof busy);
	snprintf(text, sizeof text,
		 "topology: {hosts: 4}\n"
		 "workload: {shape: poisson, bytes: 1000, count: 20000, load: 20%%%s}\n",
		 phases);
	if (input_open(&sc, &run, text, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	*idle = *windows = 0;
	for (uint32_t i = 0; i < 20000; i++) {
		const struct vb_flow *f = vb_load_flow(run.load, i);
		uint32_t window = (uint32_t)(f->start / (10 * VB_USEC));

		assert_true(window < 1000);
		busy[window] |= f->src == 0;
		*windows = window + 1;
	}
	for (uint32_t i = 0; i < *windows; i++)
		*idle += !busy[i];
	vb_scenario_close(&run);
}

/* Hosts that are on for a fifth of the time are idle for most of it, with the load that they have
 * else. */
static void poisson__comes_in_phases(void **state)
{
	uint32_t idle, windows;

	(void)state;
	count_idle("", &idle, &windows);
	assert_int_equal(idle, 0);
	assert_uint_in_range(windows, 190, 210);
	/* Off at its beginning, and to its end: 0.8 exp(-10 / 80). */
	count_idle(", on: 20us, off: 80us", &idle, &windows);
	assert_uint_in_range(windows, 150, 260);
	assert_uint_in_range(idle * 100 / windows, 60, 80);
	/* Short phases: the load is met closely. */
	count_idle(", on: 1us, off: 4us", &idle, &windows);
	assert_uint_in_range(windows, 185, 215);
	assert_uint_in_range(idle, 0, windows / 3);
	input_refused("workload: {shape: poisson, on: 1ms}\n",
		      "s.yaml:1:11: workload 1 has both on and off, or neither; hosts are 0 to 1");
}

/* FNV-1a has one hash for all of these, at whatever length of the table: a file with 65,536 such
 * labels took minutes. */
static void names__are_spread_by_a_key(void **state)
{
	static const char *const first[] = {"srlamu", "tgeykt"},
				 *const second[] = {"ouhjga", "zchbfc"},
				 *const third[] = {"bgmlvo", "fawmuc"};
	uint32_t hash[8], other[8];

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		char name[32];
		int len = snprintf(name, sizeof name, "l%s%s%s", first[i & 1], second[i >> 1 & 1],
				   third[i >> 2]);

		hash[i] = vb_name_hash(name, (size_t)len, 1);
		other[i] = vb_name_hash(name, (size_t)len, 2);
		assert_int_equal(hash[i], vb_name_hash(name, (size_t)len, 1));
		assert_int_not_equal(hash[i], other[i]);
		for (uint32_t k = 0; k < i; k++)
			assert_true(hash[k] != hash[i] && other[k] != other[i]);
	}
	assert_int_not_equal(vb_name_hash("ab", 2, 1), vb_name_hash("ab\0", 3, 1));
	assert_true(vb_name_key() != vb_name_key());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ns3__nodes_are_hosts_and_switches),
	    cmocka_unit_test(ns3__mistakes_are_told_with_their_place),
	    cmocka_unit_test(yaml__nodes_and_links),
	    cmocka_unit_test(names__are_spread_by_a_key),
	    cmocka_unit_test(yaml__mistakes_are_told_with_their_place),
	    cmocka_unit_test(form__is_that_of_the_first_line),
	    cmocka_unit_test(scenario__refuses_what_does_not_go_together),
	    cmocka_unit_test(poisson__loads_cables_of_several_rates_alike),
	    cmocka_unit_test(poisson__comes_in_phases),
	};

	return cmocka_run_group_tests(tests, input_begin, input_end);
}
