/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenarios of scenarios/ib/: what each file says that it shows. */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

static struct vb_scenario sc;

static void open_file(struct vb_scenario_run *run, const char *name)
{
	char path[256], err[512] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&sc, f, name, err, sizeof err) ||
	    vb_scenario_open(run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

/* Runs it; every flow ends unless there is a deadlock. */
static void run_file(struct vb_scenario_run *run, const char *name, bool deadlocks)
{
	struct vb_report r;
	vb_time at;

	open_file(run, name);
	assert_int_equal(vb_sim_run(run->sim, sc.until), 0);
	assert_int_equal(vb_report_make(&r, run->load, run->sim, &run->memory), 0);
	assert_int_equal(vb_sim_deadlock(run->sim, &at) != NULL, deadlocks);
	assert_int_equal(r.drops, 0);
	if (!deadlocks)
		assert_int_equal(r.done, r.flows);
}

static void ring__by_three_routings(void **state)
{
	struct vb_scenario_run run;

	(void)state;
	run_file(&run, "ring-deadlock", true);
	vb_scenario_close(&run);
	run_file(&run, "ring-up-down", false);
	vb_scenario_close(&run);
	run_file(&run, "ring-layers", false);
	vb_scenario_close(&run);
}

/* The flow that shares no output with the incast is held up by it in the same lane, and is not in a
 * lane of its own. */
static void victim__is_saved_by_a_lane(void **state)
{
	static const char *const names[] = {"victim-one-lane", "victim-two-lanes"};
	vb_dur took[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_scenario_run run;
		const struct vb_flow *victim;

		run_file(&run, names[i], false);
		victim = vb_load_flow(run.load, 0);
		assert_int_equal(victim->pattern, 0);
		took[i] = victim->done - victim->start;
		vb_scenario_close(&run);
	}
	assert_true(took[0] > 3 * took[1]);
}

/* What one says about another. */
static void open__refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"link: infiniband\ntopology: {shape: ring, switches: 2}\nworkload: {shape: single}\n",
	     "s:2:11: topology is a ring: of three switches or more"},
	    {"link: infiniband\ninfiniband: {buffer: 64}\nworkload: {shape: single}\n",
	     "s:2:13: infiniband takes a buffer for a packet with its headers, switches of at most "
	     "254 ports, 49000 hosts at most, and for layers as many lanes as there are layers"},
	    {"link: infiniband\ntopology: {cable: {mtu: 4000}}\nworkload: {shape: single}\n",
	     "s:2:11: topology has cables with an mtu: links of InfiniBand have that of the "
	     "transport"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char err[512] = "";
		FILE *f = fmemopen((void *)(uintptr_t)t[i].text, strlen(t[i].text), "r");

		assert_non_null(f);
		assert_int_equal(vb_scenario_read(&sc, f, "s", err, sizeof err), 0);
		fclose(f);
		assert_int_equal(vb_scenario_open(&run, &sc, NULL, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ring__by_three_routings),
	    cmocka_unit_test(victim__is_saved_by_a_lane),
	    cmocka_unit_test(open__refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
