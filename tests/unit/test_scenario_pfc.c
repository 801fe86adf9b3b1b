/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watchdogs of PFC and the place of ECN marks in whole runs: scenarios/pfc/ring-deadlock.yaml, an
 * incast, and the keys.
 */
#include "cmocka_env.h"
#include "scenario/override.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

static struct vb_scenario sc;

/* Runs @f with @value in place of what it says under @path. */
static struct vb_report run_with(FILE *f, const char *path, const char *value)
{
	struct vb_scenario_override with = {path, value};
	struct vb_scenario_run run;
	struct vb_report r;
	char err[1024] = "";

	assert_non_null(f);
	if (vb_scenario_read_with(&sc, f, "s.yaml", &with, 1, err, sizeof err) ||
	    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
	vb_scenario_close(&run);
	return r;
}

static struct vb_report ring_with(const char *path, const char *value)
{
	return run_with(fopen(TEST_DATA "/../../scenarios/pfc/ring-deadlock.yaml", "r"), path,
			value);
}

/* Switches of a ring wait for each other, for ever: pauses lose nothing, and end nothing. A
 * watchdog loses packets, and all flows end. */
static void watchdog__ends_a_deadlock_of_pauses(void **state)
{
	static const char *const actions[] = {"drop", "ignore"};
	struct vb_report r = ring_with("switch.pfc-watchdog", "0ms");

	(void)state;
	assert_int_equal(r.done, 0);
	assert_int_equal(r.drops, 0);
	assert_int_equal(r.storms, 0);
	for (uint32_t i = 0; i < 2; i++) {
		r = ring_with("switch.pfc-watchdog-action", actions[i]);
		assert_int_equal(r.done, r.flows);
		assert_true(r.drops > 0);
		assert_uint_in_range(r.storms, 5, 100);
		assert_true(r.last_done < 50 * VB_MSEC);
	}
}

/* Marks as packets leave are younger by the time in the queue: congestion control hears of it
 * earlier, and queues stay shorter. */
static void marks__as_packets_leave_are_heard_of_earlier(void **state)
{
	static const char text[] =
	    "topology: {shape: star, hosts: 9, cable: {rate: 100Gbps, delay: 1us}}\n"
	    "switch: {lossless: [0], ecn: [0], kmin: 5kB, kmax: 200kB, pmax: 1%}\n"
	    "transport: {traffic-class: 0, congestion: paper}\n"
	    "until: 2ms\n"
	    "workload: {shape: incast, count: 8, to: 0, bytes: 1GB}\n";
	struct vb_report r[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		r[i] = run_with(fmemopen((void *)(uintptr_t)text, strlen(text), "r"),
				"switch.ecn-at", i ? "dequeue" : "enqueue");
		assert_true(r[i].marks > 100);
	}
	assert_true(r[1].depth_max < r[0].depth_max);
}

static void keys__say_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"switch: {ecn-at: exit}", "s.yaml:1:18: ecn-at is enqueue or dequeue, not \"exit\""},
	    {"switch: {pfc-watchdog: 100}",
	     "s.yaml:1:24: pfc-watchdog is a time such as 500ns, 1.5us or 10ms, not \"100\""},
	    {"switch: {pfc-watchdog: 1ms, pfc-watchdog-action: pass}",
	     "s.yaml:1:50: pfc-watchdog-action is drop or ignore, not \"pass\""},
	    {"switch: {pfc-watchdog-action: drop}",
	     "s.yaml:1:31: pfc-watchdog-action takes pfc-watchdog"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char text[256], err[1024] = "";
		FILE *f;

		snprintf(text, sizeof text, "%s\nworkload: {shape: single}\n", t[i].text);
		f = fmemopen(text, strlen(text), "r");
		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, "s.yaml", err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(watchdog__ends_a_deadlock_of_pauses),
	    cmocka_unit_test(marks__as_packets_leave_are_heard_of_earlier),
	    cmocka_unit_test(keys__say_what_is_wrong),
	};

	return cmocka_run_group_tests_name("scenario_pfc", tests, NULL, NULL);
}
