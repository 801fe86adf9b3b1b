/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue that sixteen flows share under each algorithm of congestion control, by the figures of
 * the papers, and how they compare: scenarios/control/incast.yaml with each of them. The
 * figures are in docs/congestion-control.md; "test_scenario_control figures" prints them.
 */
#include "cmocka_env.h"
#include "core/control/algorithm/algorithm.h"
#include "lab.h"

#include <string.h>

#define GBPS UINT64_C(1000000000)

/* The stretch of a run that is looked at, and with which algorithm. */
struct trial {
	const char *name, *parameters;
	uint64_t gbps, from_ms, to_ms;
};

static const struct trial timely = {"timely", "", 10, 100, 300};
static const struct trial swift = {"swift", "", 10, 20, 100};
static const struct trial hpcc = {"hpcc", "", 10, 20, 100};
static const struct trial hpcc_100 = {"hpcc", "", 100, 5, 20};
static const struct trial dctcp = {"dctcp", "", 10, 20, 100};
static const struct trial dctcp_100 = {"dctcp", "", 100, 5, 20};
static const struct trial swift_100 = {"swift", "", 100, 5, 20};
static const struct trial dcqcn = {"paper", "", 10, 20, 100};
static const struct trial dcqcn_behind = {"dcqcn", "", 10, 20, 100};
static const struct trial fixed = {"fixed", "window=16kB", 10, 5, 20};

static struct vb_scenario sc;
static struct lab_seen seen;
static bool prints;

static const struct lab_seen *trial_run(const struct trial *t)
{
	const struct verbena_cc_algorithm *a = vb_cc_algorithm_find(t->name, strlen(t->name));
	struct lab_view view = {
	    .begin = t->from_ms * VB_MSEC, .end = t->to_ms * VB_MSEC, .from = 1, .last = 16};
	struct vb_cc_choice_fault fault;
	char err[512] = "";

	if (lab_read(&sc, TEST_DATA "/../../scenarios/control", "incast", err, sizeof err))
		fail_msg("%s", err);
	sc.topology.cable.rate_bps = t->gbps * GBPS;
	sc.choice.algorithm = NULL;
	if (a) {
		vb_cc_choice_begin(&sc.choice, a, t->gbps * GBPS);
		assert_int_equal(vb_cc_choice_read(&sc.choice, t->parameters, &fault), 0);
		if (a->needs & VERBENA_CC_NEEDS_CNP)
			vb_cc_settings_notify(&sc.cc);
	} else {
		vb_cc_settings_paper(&sc.cc, t->gbps * GBPS);
	}
	if (!a || a == &vb_cc_dcqcn)
		sc.sw.red = (struct vb_red){.kmin = 5000, .kmax = 200000, .pmax_ppm = 100000};
	if (lab_run(&seen, &sc, &view, 1000, err, sizeof err))
		fail_msg("%s", err);
	vb_scenario_free(&sc);
	assert_int_equal(seen.drops, 0);
	if (prints)
		print_message("| %s %s | %u Gb/s | %.1f %% | %.1f | %.1f | %.3f |\n", t->name,
			      t->parameters, (unsigned)t->gbps, seen.share * 100, seen.queue / 1000,
			      seen.queue_p90 / 1000, seen.jain);
	return &seen;
}

static void assert_between(double low, double v, double high)
{
	if (v < low || v > high)
		fail_msg("%.4f is not from %.4f to %.4f", v, low, high);
}

/* TIMELY, sections 4.3 and 6.1: flows come to equal rates, and the queue to where the round trip is
 * about T_low: 50 us, 62.5 kB at 10 Gb/s. */
static void timely__is_fair_at_t_low(void **state)
{
	const struct lab_seen *s = trial_run(&timely);

	(void)state;
	assert_between(0.98, s->jain, 1);
	assert_between(0.9, s->share, 1);
	assert_between(40e3, s->queue, 80e3);
	assert_int_equal(s->pauses, 0);
}

/* Swift, section 3.1: the delay of an incast is held at its target: 25 us, and for windows of two
 * to three packets 10 us more, less the 4 us of cables; the link stays full. */
static void swift__holds_its_target(void **state)
{
	const struct lab_seen *s = trial_run(&swift);

	(void)state;
	assert_between(0.97, s->share, 1);
	assert_between(20e-6, s->queue * 8 / 10e9, 33e-6);
	assert_between(0, s->queue_p90, 1.4 * s->queue);
	assert_between(0.99, s->jain, 1);
	s = trial_run(&swift_100);
	assert_between(0.97, s->share, 1);
	assert_between(20e-6, s->queue * 8 / 100e9, 27e-6);
}

/* HPCC, figures 9 and 11: the link is used to eta, 95 %, and the queue is near zero. */
static void hpcc__has_no_queue(void **state)
{
	const struct lab_seen *s = trial_run(&hpcc_100);

	(void)state;
	assert_between(0.93, s->share, 0.97);
	assert_between(0, s->queue, 4e3); /* four packets */
	assert_between(0, s->queue_p90, 8e3);
	assert_between(0.99, s->jain, 1);
}

/* DCTCP, section 3.3: the queue swings about K, 100 kB here, with N packets and some more. */
static void dctcp__holds_k(void **state)
{
	const struct trial *const both[] = {&dctcp, &dctcp_100};

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct lab_seen *s = trial_run(both[i]);

		assert_between(0.97, s->share, 1);
		assert_between(80e3, s->queue, 105e3);
		assert_between(0, s->queue_p90, 125e3);
		assert_between(0.98, s->jain, 1);
	}
}

/* A window of 16 kB each: the queue is what does not fit on the cables. */
static void fixed__fills_its_windows(void **state)
{
	const struct lab_seen *s = trial_run(&fixed);

	(void)state;
	assert_between(0.97, s->share, 1);
	assert_between(15 * 16e3, s->queue, 16 * 18e3);
}

/* Mean and tail of the queue: HPCC, Swift, TIMELY, DCQCN. */
static void queues__come_in_this_order(void **state)
{
	const struct trial *const order[] = {&hpcc, &swift, &timely, &dcqcn};
	double queue = 0, tail = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct lab_seen *s = trial_run(order[i]);

		assert_true(s->queue > queue && s->queue_p90 > tail);
		queue = s->queue;
		tail = s->queue_p90;
	}
}

/* DCQCN behind the interface does to the queue what DCQCN with registers does. */
static void dcqcn__is_the_same_behind_the_interface(void **state)
{
	struct lab_seen with_registers = *trial_run(&dcqcn);
	const struct lab_seen *s = trial_run(&dcqcn_behind);

	(void)state;
	assert_between(with_registers.share * 0.97, s->share, with_registers.share * 1.03);
	assert_between(with_registers.queue * 0.85, s->queue, with_registers.queue * 1.15);
	assert_between(with_registers.queue_p90 * 0.85, s->queue_p90,
		       with_registers.queue_p90 * 1.15);
	assert_between(0.98, s->jain, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timely__is_fair_at_t_low),
	    cmocka_unit_test(swift__holds_its_target),
	    cmocka_unit_test(hpcc__has_no_queue),
	    cmocka_unit_test(dctcp__holds_k),
	    cmocka_unit_test(fixed__fills_its_windows),
	    cmocka_unit_test(queues__come_in_this_order),
	    cmocka_unit_test(dcqcn__is_the_same_behind_the_interface),
	};

	prints = argc > 1 && strcmp(argv[1], "figures") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
