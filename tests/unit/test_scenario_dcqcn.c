/* SPDX-License-Identifier: BSD-2-Clause */
/* The laboratory of scenarios/dcqcn/: what each file shows, next to the published figures. */
#include "claim.h"
#include "lab.h"

#include <math.h>
#include <string.h>

static struct vb_scenario sc;
static struct lab_seen seen;

static void read_file(const char *name)
{
	char err[1024];

	if (lab_read(&sc, TEST_DATA "/../../scenarios/dcqcn", name, err, sizeof err))
		fail_msg("%s", err);
}

/* Looks at [@begin, @end) ms; @to receives, hosts [@from, @last] send. */
static const struct lab_seen *look(const char *what, uint64_t begin, uint64_t end, uint32_t to,
				   uint32_t from, uint32_t last)
{
	struct lab_view view = {begin * VB_MSEC, end * VB_MSEC, to, from, last};
	char err[1024];

	if (lab_run(&seen, &sc, &view, 1000, err, sizeof err))
		fail_msg("%s", err);
	print_message("%s: share %.4f, queue %.0f B, 90 %% below %.0f B, deviation %.0f B, Jain "
		      "%.4f, drops %lu, pauses %lu, marks %lu; %.2f %.2f %.2f %.2f %.2f Gb/s\n",
		      what, seen.share, seen.queue, seen.queue_p90, seen.queue_dev, seen.jain,
		      seen.drops, seen.pauses, seen.marks, seen.gbps[0], seen.gbps[1], seen.gbps[2],
		      seen.gbps[3], seen.gbps[4]);
	return &seen;
}

/* D-06: with pauses alone the near host takes half; with DCQCN all get the same. CC-09...22 */
static void fairness__of_far_and_near(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("fairness");
	s = look("D-06", 30, 60, 4, 0, 3);
	assert_true(s->jain >= 0.97 && s->share >= 0.95);
	assert_int_equal(s->drops + s->pauses, 0);
	sc.cc = (struct vb_cc_settings){0};
	s = look("D-06 without", 10, 20, 4, 0, 3);
	assert_true(s->gbps[3] > 2.5 * s->gbps[0] && s->pauses > 0);
}

/* D-09: at the paper's MTU the link stays full and nothing is lost; with its Pmax of 1 % twenty
 * flows need more marks than that. D-10: 90 % of the time the queue is below 76.6 kB. */
static void incast__is_full_and_lossless(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("incast");
	assert_int_equal(vb_mtu_bytes(sc.load.mtu), 1024);
	s = look("D-09, D-10", 20, 60, 0, 1, 20);
	assert_true(s->share >= 0.975 && s->queue < 100000 && s->jain >= 0.97);
	assert_claim(
	    &(struct claim){"DCQCN, incast of 20: the queue is below this 90 % of the time",
			    "Zhu et al. 2015, D-10", "kB", 76.6, 0.2},
	    s->queue_p90 / 1000);
	assert_claim(&(struct claim){"DCQCN, incast of 20: the link is full",
				     "Zhu et al. 2015, D-09", "% of the line rate", 97.5, 0.02},
		     s->share * 100);
	assert_int_equal(s->drops + s->pauses, 0);
	/* The share of marks that they need, by the formula of D-21. */
	assert_true(lab_fixed_point(20, 1024) > 0.015 && lab_fixed_point(20, 1024) < 0.1);
	sc.sw.red.pmax_ppm = 10000;
	s = look("D-09, Pmax 1 %", 20, 60, 0, 1, 20);
	assert_true(s->share > 0.91 && s->share < 0.95);
	assert_int_equal(s->drops + s->pauses, 0);
	sc.load.mtu = VB_MTU_4096;
	s = look("D-09, Pmax 1 %, MTU 4096", 20, 60, 0, 1, 20);
	assert_true(s->share >= 0.95);
	assert_int_equal(s->drops + s->pauses, 0);
}

static void queue__at_fixed_point(void **state)
{
	char text[64];

	(void)state;
	for (unsigned n = 2; n <= 10; n += 4) {
		read_file("fixed-point");
		sc.pattern[0].flows = n;

		const struct lab_seen *s = look("D-21", 20, 60, 0, 1, n);
		double want = 5000 + lab_fixed_point(n, 1024) / 0.1 * (2000000 - 5000);

		snprintf(text, sizeof text, "DCQCN, the queue of %u flows at rest", n);
		assert_claim(&(struct claim){text, "fixed point of the fluid model, D-21", "kB",
					     want / 1000, 0.2},
			     s->queue / 1000);
		assert_true(s->jain >= 0.97);
	}
}

/* D-03, D-08: the paper's values converge; D-04: those of QCN do not. */
static void flows__converge(void **state)
{
	const struct lab_seen *s;
	double fast, slow;

	(void)state;
	read_file("two-flows");
	s = look("D-03", 40, 100, 0, 1, 2);
	assert_true(s->jain >= 0.97 && s->share >= 0.95);
	fast = fabs(s->gbps[1] - s->gbps[2]);
	/* With alpha at rest between congestions both are cut alike, and stay alike. */
	sc.cc.alpha_mode = VB_CC_ALPHA_ACTIVE;
	s = look("D-03, alpha_mode active", 40, 100, 0, 1, 2);
	assert_true(s->jain >= 0.97 && s->share >= 0.95);
	sc.cc.alpha_mode = VB_CC_ALPHA_ALWAYS;
	sc.cc.dcqcn_nocnp_timer_th = 1500;
	s = look("D-08, T 1.5 ms", 40, 100, 0, 1, 2);
	assert_true(fabs(s->gbps[1] - s->gbps[2]) > 2 * fast && s->share < 0.8);
	sc.cc.byte_cnt_unit_log2 = 0;
	sc.cc.dcqcn_byte_cnt_th = 150000;
	s = look("D-08, T 1.5 ms, B 150 kB", 40, 100, 0, 1, 2);
	slow = fabs(s->gbps[1] - s->gbps[2]);
	assert_true(slow > 3 * fast && s->jain < 0.9);
	/* More marks do not help. */
	sc.sw.red.pmax_ppm = 1000000;
	s = look("D-08, and Pmax 100 %", 40, 100, 0, 1, 2);
	assert_true(fabs(s->gbps[1] - s->gbps[2]) > slow);
	sc.cc.dcqcn_upd_alpha_g = 64;
	sc.sw.red = (struct vb_red){40000, 40000, 1000000};
	s = look("D-04", 40, 100, 0, 1, 2);
	assert_true(s->jain < 0.6);
}

/* D-08: a small g keeps the queue of 16 senders calmer. */
static void queue__is_calmer_with_small_g(void **state)
{
	double dev;

	(void)state;
	read_file("incast");
	sc.pattern[0].flows = 16;
	dev = look("D-08, g 1/256", 20, 60, 0, 1, 16)->queue_dev;
	sc.cc.dcqcn_upd_alpha_g = 64;
	assert_true(look("D-08, g 1/16", 20, 60, 0, 1, 16)->queue_dev > 1.3 * dev);
}

/* D-13: with RED the flow over two links has the share that two links' marks leave: at the fixed
 * point of D-21 rates go with p^(-3/4), and its p is twice that of the others. With a cut-off it
 * starves. */
static void parking_lot__red_or_cut_off(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("parking-lot");
	s = look("D-13", 40, 200, 4, 0, 3);
	assert_claim(&(struct claim){"DCQCN, a flow over two links to one over one link",
				     "p^(-3/4), D-13 D-21", "of its rate", pow(2, -0.75), 0.1},
		     s->gbps[0] / s->gbps[1]);
	assert_true(s->gbps[0] + s->gbps[1] > 0.95 * 37.6);
	sc.sw.red = (struct vb_red){40000, 40000, 1000000};
	assert_true(look("D-13 cut-off", 100, 200, 4, 0, 3)->gbps[0] < 4);
}

/* D-07: the flow that crosses no congested link. */
static void victim__is_spared(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("victim");
	s = look("D-07", 20, 40, 15, 0, 4);
	assert_true(s->gbps[4] >= 20);
	sc.cc = (struct vb_cc_settings){0};
	s = look("D-07 without", 20, 40, 15, 0, 4);
	assert_claim(&(struct claim){"PAUSE alone, a victim beside two senders",
				     "Zhu et al. 2015, D-07", "Gb/s", 4.5, 0.2},
		     s->gbps[4]);
}

/* D-20: when the least rates of all flows fill the link, the queue is held by pauses, near 4.9 MB,
 * not by DCQCN. */
static void flows__too_many(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("many-flows");
	s = look("D-20, 160 flows at 10 Gb/s", 20, 40, 0, 1, 8);
	assert_true(s->queue > 2000000 && s->pauses > 0);
	assert_claim(&(struct claim){"DCQCN, more flows than least rates fit: 90 % of the queue",
				     "published, D-20", "MB", 4.9, 0.2},
		     s->queue_p90 / 1e6);
	assert_int_equal(s->drops, 0);
	sc.pattern_cnt = 8;
	s = look("D-20, 64", 20, 40, 0, 1, 8);
	assert_true(s->queue < 600000);
	assert_int_equal(s->pauses, 0);
}

/* D-22, D-23: what the ns-3 projects run as their samples. */
static void samples__of_ns3(void **state)
{
	const struct lab_seen *s;

	(void)state;
	read_file("ns3-rdma");
	s = look("D-22", 30, 60, 0, 1, 2);
	assert_claim(&(struct claim){"DCQCN, the sample of ns3-rdma: slower flow",
				     "about half of 40 Gb/s, D-22", "Gb/s", 20, 0.1},
		     fmin(s->gbps[1], s->gbps[2]));
	assert_true(fabs(s->gbps[1] - 20) < 2 && fabs(s->gbps[2] - 20) < 2 && s->share >= 0.95);
	read_file("hpcc");
	s = look("D-23", 5, 20, 1, 2, 3);
	assert_true(s->jain >= 0.97 && s->share >= 0.9);
	assert_int_equal(s->drops, 0);
}

/* The paper bounds a flow by its rate alone: with 4 KiB messages and a round trip of 100 us the
 * link is as full as without DCQCN. 16 WQEs, which `hardware` has, are 64 KiB in each round trip.
 */
static void paper__fills_a_long_cable(void **state)
{
	static const char text[] =
	    "topology: {shape: star, hosts: 2, cable: {rate: 50Gbps, delay: 25us}}\n"
	    "switch: {ecn: [0]}\n"
	    "transport: {traffic-class: 0, mtu: 4096, message: 4096, depth: 512, "
	    "congestion: %s}\n"
	    "workload: {shape: single, from: 1, to: 0, bytes: 100MB}\n"
	    "until: 12ms\n";
	static const struct {
		const char *preset;
		double least, most;
	} t[] = {{"off", 48, 50}, {"paper", 48, 50}, {"hardware", 5, 5.6}};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		char yaml[512], err[1024];
		FILE *f;

		snprintf(yaml, sizeof yaml, text, t[i].preset);
		f = fmemopen(yaml, strlen(yaml), "r");
		if (vb_scenario_read(&sc, f, "s.yaml", err, sizeof err))
			fail_msg("%s", err);
		fclose(f);
		const double got = look(t[i].preset, 2, 12, 0, 1, 1)->gbps[1];

		assert_true(got > t[i].least && got < t[i].most);
	}
}

/* transport.congestion: presets follow the cables, keys override, and what is wrong is said. */
static void congestion__keys(void **state)
{
	static const struct {
		const char *text, *err;
	} bad[] = {
	    {"transport: {congestion: on}\n", "s.yaml:1:25: preset is off, paper, hardware, "
					      "firmware-rate or firmware-only"},
	    {"transport: {congestion: {preset: qcn}}\n",
	     "s.yaml:1:34: preset is off, paper, hardware, "
	     "firmware-rate or firmware-only"},
	    {"transport: {congestion: {cut_mode: never}}\n",
	     "s.yaml:1:36: cut_mode must be at-once or periodic, not never"},
	    {"transport: {congestion: {dcqcn_upd_alpha_g: 1024}}\n",
	     "s.yaml:1:45: dcqcn_upd_alpha_g must be at most 1023, not 1024"},
	};
	static const char good[] =
	    "transport:\n  congestion: {preset: paper, cc_clk_hz: 500000000, "
	    "dcqcn_rate_ai: 5Mbps, dcqcn_min_rate: 1Gbps}\n"
	    "topology: {cable: {rate: 40Gbps}}\nworkload: {shape: permutation}\n";
	char err[1024];
	FILE *f;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		f = fmemopen((void *)(uintptr_t)bad[i].text, strlen(bad[i].text), "r");
		assert_true(vb_scenario_read(&sc, f, "s.yaml", err, sizeof err) < 0);
		assert_string_equal(err, bad[i].err);
		fclose(f);
	}
	f = fmemopen((void *)(uintptr_t)good, strlen(good), "r");
	if (vb_scenario_read(&sc, f, "s.yaml", err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(sc.cc.dcqcn_max_rate, 10240);
	assert_int_equal(sc.cc.dcqcn_min_rate, 256);
	assert_int_equal(sc.cc.dcqcn_rate_ai_q8, 328); /* 1.28 units */
	assert_int_equal(sc.cc.dcqcn_rate_hai_q8 / 256, 51);
	assert_true(sc.cc.dcqcn_hw_en && sc.cc.np_en);
}

/* With the argument "short", as in builds with sanitizers, without those that simulate longest. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(congestion__keys),
	    cmocka_unit_test(paper__fills_a_long_cable),
	    cmocka_unit_test(fairness__of_far_and_near),
	    cmocka_unit_test(incast__is_full_and_lossless),
	    cmocka_unit_test(queue__at_fixed_point),
	    cmocka_unit_test(queue__is_calmer_with_small_g),
	    cmocka_unit_test(victim__is_spared),
	    cmocka_unit_test(flows__too_many),
	    cmocka_unit_test(samples__of_ns3),
	};
	const struct CMUnitTest longer[] = {
	    cmocka_unit_test(flows__converge),
	    cmocka_unit_test(parking_lot__red_or_cut_off),
	};
	int failed = cmocka_run_group_tests_name("scenario_dcqcn", tests, NULL, NULL);

	if (argc > 1 && strcmp(argv[1], "short") == 0)
		return failed;
	return failed + cmocka_run_group_tests_name("scenario_dcqcn longer", longer, NULL, NULL);
}
