/* SPDX-License-Identifier: BSD-2-Clause */
/* transport.recovery of a scenario: presets, fields, and what is refused. */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

#define WORK "workload: {shape: single}\n"

static int read_text(struct vb_scenario *sc, const char *text, char *err, size_t len)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int bad;

	assert_non_null(f);
	bad = vb_scenario_read(sc, f, "s.yaml", err, len);
	fclose(f);
	return bad;
}

static struct vb_recovery recovery_of(const char *text)
{
	static struct vb_scenario sc;
	char err[1024] = "";

	if (read_text(&sc, text, err, sizeof err))
		fail_msg("%s", err);
	return sc.recovery;
}

static void recovery__presets(void **state)
{
	struct vb_recovery r;

	(void)state;
	r = recovery_of(WORK);
	assert_false(r.roce_adp_retrans_en || r.roce_slow_restart_en || r.min_ack_timeout);
	r = recovery_of(WORK "transport: {recovery: default}\n");
	assert_memory_equal(&r, &vb_recovery_default, sizeof r);
	r = recovery_of(WORK "transport: {recovery: lossy}\n");
	assert_true(r.roce_adp_retrans_en && r.roce_tx_window_en && r.roce_slow_restart_en);
	r = recovery_of(WORK "transport: {recovery: lossless}\n");
	assert_false(r.roce_adp_retrans_en || r.roce_tx_window_en || r.roce_slow_restart_en);
	/* A preset and what differs from it, in any order. */
	r = recovery_of(WORK
			"transport: {recovery: {roce_slow_restart_en: false, preset: lossy}}\n");
	assert_true(r.roce_adp_retrans_en && r.roce_tx_window_en && !r.roce_slow_restart_en);
}

static void recovery__profile(void **state)
{
	const struct vb_adp_profile *p;
	struct vb_recovery r;

	(void)state;
	r = recovery_of(WORK "transport:\n"
			     "  recovery:\n"
			     "    tx_window: 110kB\n"
			     "    adp_timeout_stretch: random\n"
			     "    profile:\n"
			     "      time_base: 8\n"
			     "      retx_total_timeout: 20\n"
			     "      timeout_init_low_bound: 2\n"
			     "      timeout_init_range_size: 3\n"
			     "      timeout_range:\n"
			     "      - {range_low_bound: 2, range_size: 4, timeout_retry_num: 300}\n"
			     "      - {range_low_bound: 6, dec_mode: LOW_BOUND}\n");
	p = &r.profile;
	assert_true(r.roce_adp_retrans_en);
	assert_int_equal(r.adp_retx_profile_id, 1);
	assert_int_equal(r.tx_window_bytes, 110000);
	assert_int_equal(r.adp_timeout_stretch, VB_STRETCH_RANDOM);
	assert_int_equal(p->time_base, 8);
	assert_int_equal(p->range_num, 2);
	assert_int_equal(p->timeout_range[0].timeout_retry_num, 300);
	assert_int_equal(p->timeout_range[1].dec_mode, VB_ADP_DEC_LOW_BOUND);
	assert_int_equal(vb_recovery_check(&r, NULL), 0);
}

/* A profile switches adaptive timers on, unless the file says otherwise, in any order. */
static void recovery__profile_without_adaptive_timers(void **state)
{
	(void)state;
	assert_false(recovery_of(WORK "transport: {recovery: {roce_adp_retrans_en: false, profile: "
				      "{timeout_range: {range_size: 1}}}}\n")
			 .roce_adp_retrans_en);
	assert_false(recovery_of(WORK
				 "transport: {recovery: {profile: {timeout_range: {range_size: "
				 "1}}, roce_adp_retrans_en: false}}\n")
			 .roce_adp_retrans_en);
}

static void recovery__says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"transport: {recovery: lossles}\n",
	     "s.yaml:1:23: preset is fixed, default, lossy or lossless"},
	    {"transport: {recovery: {profile: {time_base: 6, timeout_range: {}}}}\n",
	     "s.yaml:1:33: time_base must be a power of 2"},
	    {"transport: {recovery: {profile: {time_base: 4}}}\n",
	     "s.yaml:1:33: range_num must be from 1 to 4"},
	    {"transport: {recovery: {profile: {timeout_range: [{range_low_bound: 5}, "
	     "{range_low_bound: 4}]}}}\n",
	     "s.yaml:1:33: timeout_range[1].range_low_bound must be greater than that of the range "
	     "before it"},
	    {"transport: {recovery: {profile: {timeout_range: {dec_mode: DIV_3}}}}\n",
	     "s.yaml:1:60: dec_mode is DIV_4, DIV_2 or LOW_BOUND, not \"DIV_3\""},
	    {"transport: {recovery: {ack_dscp: 64}}\n", "s.yaml:1:34: ack_dscp is 0 to 63, not 64"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		char err[1024] = "";

		assert_int_equal(read_text(&sc, t[i].text, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
	}
}

/* The files that users start from: each can be read and opened, and the small ones show what they
 * say. */
static void scenarios__are_what_they_say(void **state)
{
	static const struct {
		const char *name;
		uint64_t from_us, to_us; /* when the last flow is done; 0: only opened */
	} t[] = {
	    {"tail-loss", 67150, 67250},
	    {"herd", 2000, 10000},
	    {"selective-repeat", 17300, 17900},
	    {"selective-repeat-read", 17300, 17900},
	    {"goodput", 0, 0},
	    {"long-link", 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		static struct vb_scenario sc;
		struct vb_scenario_run run = {0};
		char path[256], err[1024] = "";
		FILE *f;

		snprintf(path, sizeof path, "%s/../../scenarios/adp/%s.yaml", TEST_DATA, t[i].name);
		f = fopen(path, "r");
		assert_non_null(f);
		if (vb_scenario_read(&sc, f, path, err, sizeof err) ||
		    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
			fail_msg("%s", err);
		fclose(f);
		if (t[i].to_us) {
			assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
			vb_time done = 0;

			for (uint32_t k = 0; k < vb_load_flow_cnt(run.load); k++) {
				const struct vb_flow *flow = vb_load_flow(run.load, k);

				assert_int_equal(flow->status, VB_WC_SUCCESS);
				done = flow->done > done ? flow->done : done;
			}
			assert_uint_in_range(done / VB_USEC, t[i].from_us, t[i].to_us);
		}
		vb_scenario_close(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recovery__presets),
	    cmocka_unit_test(recovery__profile),
	    cmocka_unit_test(recovery__profile_without_adaptive_timers),
	    cmocka_unit_test(recovery__says_what_is_wrong),
	    cmocka_unit_test(scenarios__are_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
