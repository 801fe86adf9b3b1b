/* SPDX-License-Identifier: BSD-2-Clause */
/* The laboratory of scenarios/dcqcn/: what each file shows, next to the published figures. */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <math.h>
#include <string.h>

/* What a stretch of a run comes to, after a time of settling. */
struct seen {
	uint64_t drops, pauses, marks, cnps;
	double share;    /* of the receiver's link */
	double queue;    /* mean bytes of the queue towards it */
	double jain;     /* of what the hosts sent */
	double gbps[32]; /* sent by host */
	uint64_t deepest;
};

struct lab {
	struct vb_scenario sc;
	struct vb_scenario_run run;
};

static void lab_read(struct lab *lab, const char *name)
{
	char path[256], err[1024] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/dcqcn/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&lab->sc, f, path, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

static uint64_t sent(const struct vb_sim *s, uint32_t host)
{
	return vb_sim_counters(s, host)->v[VB_COUNTER_port_xmit_data] * 4;
}

/* Runs to @warm and looks at what happens from there to @to; @dst receives, hosts [from, last]
 * send. */
static struct seen lab_run(struct lab *lab, vb_time warm, vb_time to, uint32_t dst, uint32_t from,
			   uint32_t last)
{
	struct vb_port_stats a, z;
	struct seen seen = {0};
	uint64_t before[32];
	char err[1024] = "";
	double sum = 0, squares = 0;

	if (vb_scenario_open(&lab->run, &lab->sc, NULL, err, sizeof err))
		fail_msg("%s", err);

	struct vb_sim *s = lab->run.sim;
	uint32_t port = vb_sim_port_peer(vb_sim_host_port(s, dst));

	assert_int_equal(vb_sim_run(s, warm), 0);
	vb_sim_port_stats(s, port, &a);
	for (uint32_t h = from; h <= last; h++)
		before[h] = sent(s, h);
	for (uint32_t p = 0; p < vb_sim_port_cnt(s); p++) {
		struct vb_port_stats st;

		vb_sim_port_stats(s, p, &st);
		seen.pauses -= st.pauses_sent;
	}
	assert_int_equal(vb_sim_run(s, to), 0);
	vb_sim_port_stats(s, port, &z);
	for (uint32_t p = 0; p < vb_sim_port_cnt(s); p++) {
		struct vb_port_stats st;

		vb_sim_port_stats(s, p, &st);
		seen.drops += st.drops;
		seen.pauses += st.pauses_sent;
	}

	double ns = (double)(to - warm);

	seen.marks = z.marks - a.marks;
	seen.cnps = vb_sim_counters(s, dst)->v[VB_COUNTER_np_cnp_sent];
	seen.share =
	    (double)(z.tx_bytes - a.tx_bytes) * 8e9 / ns / (double)vb_sim_port_rate(s, port);
	seen.queue = (double)(z.byte_ns - a.byte_ns) / ns;
	seen.deepest = z.depth_max;
	for (uint32_t h = from; h <= last; h++) {
		double x = (double)(sent(s, h) - before[h]) * 8 / ns;

		seen.gbps[h] = x;
		sum += x;
		squares += x * x;
	}
	seen.jain = sum * sum / squares / (last - from + 1);
	vb_scenario_close(&lab->run);
	return seen;
}

static void show(const char *name, const struct seen *s)
{
	print_message("%s: share %.4f, queue %.0f B, Jain %.4f, drops %lu, pauses %lu, marks %lu, "
		      "CNPs %lu; %.2f %.2f %.2f %.2f %.2f Gb/s\n",
		      name, s->share, s->queue, s->jain, s->drops, s->pauses, s->marks, s->cnps,
		      s->gbps[0], s->gbps[1], s->gbps[2], s->gbps[3], s->gbps[4]);
}

static struct lab lab;

/* D-06: with pauses alone the near host takes half; with DCQCN all get the same. CC-09...22 */
static void fairness__of_far_and_near(void **state)
{
	struct seen s;

	(void)state;
	lab_read(&lab, "fairness");
	s = lab_run(&lab, 30 * VB_MSEC, 60 * VB_MSEC, 4, 0, 3);
	show("D-06", &s);
	assert_true(s.jain >= 0.97 && s.share >= 0.95);
	assert_int_equal(s.drops + s.pauses, 0);
	lab.sc.cc = (struct vb_cc_settings){0};
	s = lab_run(&lab, 10 * VB_MSEC, 20 * VB_MSEC, 4, 0, 3);
	show("D-06 without", &s);
	assert_true(s.gbps[3] > 2.5 * s.gbps[0] && s.pauses > 0);
}

/* D-09: the link stays full, nothing is lost. */
static void incast__is_full_and_lossless(void **state)
{
	struct seen s;

	(void)state;
	lab_read(&lab, "incast");
	s = lab_run(&lab, 20 * VB_MSEC, 40 * VB_MSEC, 0, 1, 20);
	show("D-09", &s);
	assert_true(s.share >= 0.95 && s.queue < 100000 && s.jain >= 0.97);
	assert_int_equal(s.drops + s.pauses, 0);
}

/* p* = cbrt(R_AI N^2 / (tau C^2) (1/B + N/(T C))^2) in packets and seconds, tau 50 us. D-21 */
static double fixed_point(unsigned n)
{
	double c = 40e9 / 8 / 1104, ai = 40e6 / 8 / 1058, b = 10e6 / 1058, t = 55e-6;
	double x = 1 / b + n / (t * c);

	return cbrt(ai * n * n / (50e-6 * c * c) * x * x);
}

static void queue__at_fixed_point(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 10; n += 4) {
		lab_read(&lab, "fixed-point");
		lab.sc.pattern[0].flows = n;

		struct seen s = lab_run(&lab, 20 * VB_MSEC, 60 * VB_MSEC, 0, 1, n);
		double want = 5000 + fixed_point(n) / 0.1 * (2000000 - 5000);

		show("D-21", &s);
		print_message("%u flows: %.0f B by the formula\n", n, want);
		assert_true(s.queue > want * 0.8 && s.queue < want * 1.2);
		assert_true(s.jain >= 0.97);
	}
}

/* D-03, D-08: the paper's values converge; D-04: those of QCN do not. */
static void flows__converge(void **state)
{
	struct seen s;

	(void)state;
	lab_read(&lab, "two-flows");
	s = lab_run(&lab, 30 * VB_MSEC, 60 * VB_MSEC, 0, 1, 2);
	show("D-08", &s);
	assert_true(s.jain >= 0.97 && s.share >= 0.95);
	lab.sc.cc.dcqcn_byte_cnt_th = 150000;
	lab.sc.cc.byte_cnt_unit_log2 = 0;
	lab.sc.cc.dcqcn_nocnp_timer_th = 1500;
	lab.sc.cc.dcqcn_upd_alpha_g = 64;
	lab.sc.sw.red = (struct vb_red){40000, 40000, 1000000};
	s = lab_run(&lab, 30 * VB_MSEC, 60 * VB_MSEC, 0, 1, 2);
	show("D-04", &s);
}

/* D-13: with RED the flow over two links keeps a share; with a cut-off it starves. */
static void parking_lot__red_or_cut_off(void **state)
{
	struct seen s, cut;

	(void)state;
	lab_read(&lab, "parking-lot");
	s = lab_run(&lab, 40 * VB_MSEC, 100 * VB_MSEC, 4, 0, 3);
	show("D-13", &s);
	lab.sc.sw.red = (struct vb_red){40000, 40000, 1000000};
	cut = lab_run(&lab, 40 * VB_MSEC, 100 * VB_MSEC, 4, 0, 3);
	show("D-13 cut-off", &cut);
	assert_true(s.gbps[0] > 10 && cut.gbps[0] < s.gbps[0]);
}

/* D-07: the flow that crosses no congested link. */
static void victim__is_spared(void **state)
{
	struct seen s, off;

	(void)state;
	lab_read(&lab, "victim");
	s = lab_run(&lab, 20 * VB_MSEC, 40 * VB_MSEC, 15, 0, 4);
	show("D-07", &s);
	lab.sc.cc = (struct vb_cc_settings){0};
	off = lab_run(&lab, 20 * VB_MSEC, 40 * VB_MSEC, 15, 0, 4);
	show("D-07 without", &off);
	assert_true(s.gbps[4] >= 20 && s.gbps[4] > off.gbps[4]);
}

/* D-20: with too many flows the queue is held by pauses, not by DCQCN. */
static void flows__too_many(void **state)
{
	struct seen s;

	(void)state;
	lab_read(&lab, "many-flows");
	s = lab_run(&lab, 10 * VB_MSEC, 20 * VB_MSEC, 0, 1, 8);
	show("D-20", &s);
	assert_true(s.queue > 200000);
}

/* D-22, D-23: what the ns-3 projects run as their samples. */
static void samples__of_ns3(void **state)
{
	struct seen s;

	(void)state;
	lab_read(&lab, "ns3-rdma");
	s = lab_run(&lab, 30 * VB_MSEC, 60 * VB_MSEC, 0, 1, 2);
	show("D-22", &s);
	assert_true(s.jain >= 0.97 && s.share >= 0.95);
	lab_read(&lab, "hpcc");
	s = lab_run(&lab, 5 * VB_MSEC, 20 * VB_MSEC, 1, 2, 3);
	show("D-23", &s);
	assert_int_equal(s.drops, 0);
}

/* transport.congestion: presets follow the cables, keys override, and what is wrong is said. */
static void congestion__keys(void **state)
{
	static const struct {
		const char *text, *err;
	} bad[] = {
	    {"transport: {congestion: on}\n", "s.yaml:1:25: preset is off or paper"},
	    {"transport: {congestion: {preset: qcn}}\n", "s.yaml:1:34: preset is off or paper"},
	    {"transport: {congestion: {cut_mode: never}}\n",
	     "s.yaml:1:36: cut_mode is at-once or periodic, not \"never\""},
	    {"transport: {congestion: {dcqcn_upd_alpha_g: 1024}}\n",
	     "s.yaml:1:45: dcqcn_upd_alpha_g is 0 to 1023, not 1024"},
	};
	static const char good[] =
	    "transport:\n  congestion: {preset: paper, cc_clk_hz: 500000000, "
	    "dcqcn_rate_ai: 5Mbps, dcqcn_min_rate: 1Gbps}\n"
	    "topology: {cable: {rate: 40Gbps}}\nworkload: {shape: ring}\n";
	static struct vb_scenario sc;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(congestion__keys),
	    cmocka_unit_test(fairness__of_far_and_near),
	    cmocka_unit_test(incast__is_full_and_lossless),
	    cmocka_unit_test(queue__at_fixed_point),
	    cmocka_unit_test(flows__converge),
	    cmocka_unit_test(parking_lot__red_or_cut_off),
	    cmocka_unit_test(victim__is_spared),
	    cmocka_unit_test(flows__too_many),
	    cmocka_unit_test(samples__of_ns3),
	};

	return cmocka_run_group_tests_name("scenario_dcqcn", tests, NULL, NULL);
}
