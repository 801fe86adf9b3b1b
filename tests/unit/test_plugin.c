/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Algorithms of congestion control in shared objects and by name: from a scenario, whose simulation
 * uses them, and from the text that a program is started with. Mistakes are told where they are.
 */
#include "cmocka_env.h"
#include "core/control/algorithm/algorithm.h"
#include "plugin/plugin.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct vb_scenario sc;

static void assert_says(const char *said, const char *what)
{
	if (!strstr(said, what))
		fail_msg("\"%s\" lacks \"%s\"", said, what);
}

static void object__is_loaded(void **state)
{
	const struct verbena_cc_algorithm *a = NULL;
	char why[512];

	(void)state;
	assert_int_equal(vb_plugin_load(OBJECTS "/libcc_object.so", &a, why, sizeof why), 0);
	assert_string_equal(a->name, "object");
	/* Without a slash it is in this folder, and nowhere else. */
	assert_int_equal(chdir(OBJECTS), 0);
	assert_int_equal(vb_plugin_load("libcc_object.so", &a, why, sizeof why), 0);
	assert_int_equal(vb_plugin_load("libc.so.6", &a, why, sizeof why), -ENOENT);
}

static void object__that_is_no_good(void **state)
{
	static const struct {
		const char *path;
		int err;
		const char *why;
	} cases[] = {
	    {OBJECTS "/none.so", -ENOENT, "cannot be read: No such file"},
	    {OBJECTS, -ENOEXEC, "is no ELF file"},
	    {"/dev/null", -ENOEXEC, "is no ELF file"},
	    {"/proc/self/status", -ENOEXEC, "is no ELF file"},
	    {OBJECTS "/libcc_object_other.so", -EINVAL, "exports no algorithm \"verbena_cc\""},
	    {OBJECTS "/libcc_object_version.so", -EINVAL, "version 2, and this is version 1"},
	    {OBJECTS "/libcc_object_needs.so", -ENOEXEC, "symbol_that_nobody_has"},
	};
	const struct verbena_cc_algorithm *a = NULL;
	char why[512], fifo[] = "/tmp/verbena-fifo-XXXXXX";

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(vb_plugin_load(cases[i].path, &a, why, sizeof why), cases[i].err);
		assert_says(why, cases[i].why);
		assert_null(a);
	}
	/* A FIFO without a writer is not waited for. */
	assert_non_null(mkdtemp(fifo));
	assert_int_equal(chdir(fifo), 0);
	assert_int_equal(mkfifo("fifo.so", 0600), 0);
	assert_int_equal(vb_plugin_load("fifo.so", &a, why, sizeof why), -ENOEXEC);
	assert_int_equal(unlink("fifo.so"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(fifo), 0);
}

static void text__of_a_choice(void **state)
{
	static const char *const others[] = {"", "paper", "preset=paper,swift", "swifter", "off"};
	struct vb_cc_choice c;
	char why[512];

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_false(vb_plugin_is_choice(others[i]));
	assert_true(vb_plugin_is_choice("swift"));
	assert_int_equal(vb_plugin_read_choice("swift,base-target=200us", 5, &c, why, sizeof why),
			 0);
	assert_ptr_equal(c.algorithm, &vb_cc_swift);
	assert_int_equal(c.value[0], 200000);
	assert_int_equal(c.line_rate, 5);
	assert_true(vb_plugin_is_choice("algorithm=fixed"));
	assert_int_equal(vb_plugin_read_choice("algorithm=fixed", 5, &c, why, sizeof why), 0);
	assert_ptr_equal(c.algorithm, &vb_cc_fixed);
	assert_int_equal(vb_plugin_read_choice("object=" OBJECTS "/libcc_object.so,window=9kB", 5,
					       &c, why, sizeof why),
			 0);
	assert_int_equal(c.value[0], 9000);
}

static void text__that_is_wrong(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
	    {"algorithm=fast", "there is no algorithm 'fast'"},
	    {"object=/none.so,window=1", "'/none.so' cannot be read"},
	    {"swift,base-target=soon", "'base-target=soon' is a time from 1ns to 10s"},
	    {"swift,window=3", "'window=3' is no parameter"},
	};
	struct vb_cc_choice c;
	char why[512];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(vb_plugin_is_choice(cases[i].text));
		assert_true(vb_plugin_read_choice(cases[i].text, 5, &c, why, sizeof why) < 0);
		assert_says(why, cases[i].why);
	}
}

/* Reads a scenario with this congestion control, as a file of the folder with objects. */
static int scenario_read(const char *congestion, const char *link, char *err, size_t err_len)
{
	char text[1024];
	FILE *f;
	int bad;

	snprintf(text, sizeof text,
		 "%stopology: {shape: star, hosts: 3, cable: {rate: 10Gbps, delay: 1us}}\n"
		 "transport: {congestion: %s}\nuntil: 1ms\n"
		 "workload:\n  - {shape: incast, count: 2, to: 0, bytes: 1MB}\n",
		 link, congestion);
	f = fmemopen(text, strlen(text), "r");
	assert_non_null(f);
	bad = vb_scenario_read(&sc, f, OBJECTS "/test.yaml", err, err_len);
	fclose(f);
	return bad;
}

static void scenario__names_an_algorithm(void **state)
{
	static const struct {
		const char *congestion;
		const char *name;
	} cases[] = {
	    {"swift", "swift"},
	    {"{algorithm: hpcc, base-rtt: 20us}", "hpcc"},
	    {"{object: libcc_object.so, window: 1500}", "object"},
	    {"{object: " OBJECTS "/libcc_object.so}", "object"},
	};
	char err[512] = "";

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (scenario_read(cases[i].congestion, "", err, sizeof err))
			fail_msg("%s", err);
		assert_string_equal(sc.choice.algorithm->name, cases[i].name);
		assert_int_equal(sc.choice.line_rate, UINT64_C(10000000000));
		assert_false(sc.cc.dcqcn_hw_en || sc.cc.np_en);
		vb_scenario_free(&sc);
	}
}

static void scenario__that_is_wrong(void **state)
{
	static const struct {
		const char *congestion, *link, *why;
	} cases[] = {
	    {"quick", "", "test.yaml:2:25: preset is off, paper"},
	    {"{algorithm: quick}", "",
	     ":2:37: algorithm is one of fixed, dcqcn, dctcp, timely, swift, hpcc"},
	    {"{algorithm: [swift]}", "", "algorithm is one of fixed"},
	    {"{algorithm: swift, object: a.so}", "", "do not go together"},
	    {"{algorithm: swift, speed: 9}", "",
	     ":2:44: the algorithm \"swift\" has no parameter \"speed\""},
	    {"{algorithm: swift, base-target: 9}", "",
	     ":2:57: base-target is a time from 1ns to 10s, not 9"},
	    {"{algorithm: swift, base-target: 9us, base-target: 8us}", "", "stands here twice"},
	    {"{object: none.so}", "", "none.so' cannot be read"},
	    {"{object: ''}", "", "object is the path of a shared object"},
	    {"{object: libcc_object_version.so}", "", "another version of verbena/cc.h"},
	    {"hpcc", "link: infiniband\n", "algorithm \"hpcc\" takes marks or records"},
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(scenario_read(cases[i].congestion, cases[i].link, err, sizeof err),
				 -EINVAL);
		assert_says(err, cases[i].why);
		vb_scenario_free(&sc);
	}
}

/* An object with no window and no rate: both flows end, if slowly, one packet after the other. */
static void scenario__runs_an_object(void **state)
{
	static const char *const windows[] = {"0", "1", "100kB"};
	char congestion[128], err[512] = "";

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct vb_scenario_run run;

		snprintf(congestion, sizeof congestion, "{object: libcc_object.so, window: %s}",
			 windows[i]);
		if (scenario_read(congestion, "", err, sizeof err) ||
		    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
			fail_msg("%s", err);
		assert_int_equal(vb_sim_run(run.sim, VB_NEVER), 0);
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(
			    vb_load_flow_completed(run.load, vb_load_flow(run.load, k)), 1000000);
		if (i == 0) /* 1 Mb/s */
			assert_true(vb_sim_now(run.sim) > 8 * VB_SEC);
		vb_scenario_close(&run);
		vb_scenario_free(&sc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(object__is_loaded),
	    cmocka_unit_test(object__that_is_no_good),
	    cmocka_unit_test(text__of_a_choice),
	    cmocka_unit_test(text__that_is_wrong),
	    cmocka_unit_test(scenario__names_an_algorithm),
	    cmocka_unit_test(scenario__that_is_wrong),
	    cmocka_unit_test(scenario__runs_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
