/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributions of flow sizes from files. scenario/input/sizes.h */
#include "input_env.h"
#include "scenario/input/sizes.h"

#include <errno.h>

static struct vb_size_dist *dist_of(const char *text)
{
	char err[256] = "";
	const struct vb_complaint c = {"f", err, sizeof err};
	struct vb_size_dist *d;

	if (vb_sizes_parse(&d, text, strlen(text), &c))
		fail_msg("%s", err);
	return d;
}

static void check_points(const char *text, const struct vb_size_point *want, uint32_t cnt)
{
	struct vb_size_dist *d = dist_of(text);

	assert_int_equal(d->cnt, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		assert_int_equal(d->point[i].bytes, want[i].bytes);
		assert_int_equal(d->point[i].ppm, want[i].ppm);
	}
	vb_sizes_free(d);
}

/* The file of the public generators is the distribution of that name. */
static void sizes__in_percent_are_those_of_the_name(void **state)
{
	(void)state;
	check_points("0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n"
		     "1000000 70\n2000000 80\n5000000 90\n10000000 97\n30000000 100\n",
		     vb_size_websearch.point, vb_size_websearch.cnt);
}

static void sizes__are_shares_where_the_last_is_one(void **state)
{
	static const struct vb_size_point want[] = {{1, 0}, {100, 500000}, {1000, 1000000}};

	(void)state;
	check_points("# bytes share\n0 0.0\n100\t5e-1 # half\r\n\n1000 1", want, 3);
	check_points("0 0\n100 50\n1000 100\n", want, 3);
	check_points("0.4 0\n1e2 50.00\n1000 1E2\n", want, 3);
}

/* Flows of the first size: all that the first line is about. */
static void sizes__of_the_first_line_are_as_long_as_it(void **state)
{
	static const struct vb_size_point want[] = {{64, 0}, {64, 250000}, {128, 1000000}};
	struct vb_size_dist *d = dist_of("4096 100\n");
	struct vb_rng r = {7};

	(void)state;
	check_points("64 25\n128 100\n", want, 3);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vb_size_draw(d, &r), 4096);
	assert_int_equal(vb_size_mean(d), 4096);
	vb_sizes_free(d);
}

/* Half of the flows are short, the others are long, and none is between. */
static void sizes__may_have_steps(void **state)
{
	struct vb_size_dist *d = dist_of("100 0\n100 50\n9000 50\n9000 100\n");
	struct vb_rng r = {7};
	uint32_t is_long = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint32_t bytes = vb_size_draw(d, &r);

		assert_true(bytes == 100 || bytes == 9000);
		is_long += bytes == 9000;
	}
	assert_uint_in_range(is_long, 4800, 5200);
	assert_int_equal(vb_size_mean(d), 4550);
	vb_sizes_free(d);
}

static void sizes__mistakes_are_told_with_their_place(void **state)
{
	static const struct {
		const char *text, *words;
	} t[] = {
	    {"", "f:1:1: there are no sizes here"},
	    {"# 1 2\n", "f:2:1: there are no sizes here"},
	    {"0 0\nabc 1", "f:2:1: a size is a number of bytes up to 4294967295, not \"abc\""},
	    {"4294967296 1",
	     "f:1:1: a size is a number of bytes up to 4294967295, not \"4294967296\""},
	    {"0 0\n  10\n20 100",
	     "f:2:3: a line has a size, and the flows that are at most so long in percent or as a "
	     "share"},
	    {"10", "f:1:1: a line has a size, and the flows that are at most so long in percent or "
		   "as a share"},
	    {"0 0 0\n", "f:1:5: a line has two columns, a size and the flows that are at most so "
			"long"},
	    {"10 101", "f:1:4: the flows up to a size are 0 to 100 percent or a share of 0 to 1, "
		       "not \"101\""},
	    {"10 -1",
	     "f:1:4: the flows up to a size are 0 to 100 percent or a share of 0 to 1, not \"-1\""},
	    {"10 1e",
	     "f:1:4: the flows up to a size are 0 to 100 percent or a share of 0 to 1, not \"1e\""},
	    {"10 0\n9 100", "f:2:1: sizes go up: 9 is less than the one before"},
	    {"10 50\n20 40\n30 100", "f:2:4: \"40\" is less than the line before has: a line is "
				     "about all flows up to its size"},
	    {"10 50\n20 99",
	     "f:2:4: the last line is about all flows: 100 percent, or a share of 1"},
	    {"10 0\n20 0.5",
	     "f:2:4: the last line is about all flows: 100 percent, or a share of 1"},
	    {"0 100", "f:1:3: all flows have 0 bytes"},
	};
	struct vb_size_dist *d;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		char err[256] = "";
		const struct vb_complaint c = {"f", err, sizeof err};

		assert_int_equal(vb_sizes_parse(&d, t[i].text, strlen(t[i].text), &c), -EINVAL);
		assert_string_equal(err, t[i].words);
	}
}

static void sizes__too_many_are_refused(void **state)
{
	char *text = malloc(VB_SIZES_POINTS_MAX * 4 + 16), err[256] = "";
	const struct vb_complaint c = {"f", err, sizeof err};
	struct vb_size_dist *d;
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	for (uint32_t i = 0; i < VB_SIZES_POINTS_MAX; i++)
		len += (size_t)sprintf(text + len, "1 0\n");
	memcpy(text + len, "2 1\n", 5);
	assert_int_equal(vb_sizes_parse(&d, text, len + 4, &c), -EINVAL);
	assert_string_equal(err, "f:65537:1: there are more than 65536 sizes");
	/* One less has room. */
	assert_int_equal(vb_sizes_parse(&d, text + 4, len, &c), 0);
	vb_sizes_free(d);
	free(text);
}

/* The flows of a run have the sizes of the file, which lies beside the scenario. */
static void scenario__takes_the_sizes_of_a_file(void **state)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "";

	(void)state;
	input_write("my.cdf", "2000 0\n3000 100\n");
	if (input_open(&sc, &run,
		       "topology: {shape: star, hosts: 4}\n"
		       "workload: {shape: poisson, sizes: my.cdf, count: 100}\n",
		       err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_load_flow_cnt(run.load), 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_uint_in_range(vb_load_flow(run.load, i)->bytes, 2000, 3000);
	vb_scenario_close(&run);
}

static void scenario__says_what_is_wrong_with_a_file_of_sizes(void **state)
{
	char text[700], words[900];

	(void)state;
	snprintf(
	    words, sizeof words,
	    "s.yaml:1:11: workload 1 has a file that cannot be read: '%s/none.txt': No such file "
	    "or directory",
	    input_folder);
	input_refused("workload: {shape: poisson, sizes: none.txt}\n", words);
	input_write("bad.txt", "10 50\n");
	input_refused("workload: {shape: poisson, sizes: bad.txt}\n",
		      "bad.txt:1:4: the last line is about all flows: 100 percent, or a share of "
		      "1");
	input_write("large.txt", "4000000000 100\n");
	input_refused("workload: {shape: poisson, sizes: ./large.txt}\n",
		      "s.yaml:1:11: workload 1 has flows of 1 byte up to 1 GiB on average; hosts "
		      "are 0 to 1");
	snprintf(text, sizeof text, "workload: {sizes: ./%0520d}\n", 1);
	input_refused(text, "s.yaml:1:19: sizes is the name of a file, of at most 511 characters");
	input_refused("workload: {sizes: [a.b]}\n",
		      "s.yaml:1:19: sizes is websearch, hadoop or the name of a file such as "
		      "sizes.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes__in_percent_are_those_of_the_name),
	    cmocka_unit_test(sizes__are_shares_where_the_last_is_one),
	    cmocka_unit_test(sizes__of_the_first_line_are_as_long_as_it),
	    cmocka_unit_test(sizes__may_have_steps),
	    cmocka_unit_test(sizes__mistakes_are_told_with_their_place),
	    cmocka_unit_test(sizes__too_many_are_refused),
	    cmocka_unit_test(scenario__takes_the_sizes_of_a_file),
	    cmocka_unit_test(scenario__says_what_is_wrong_with_a_file_of_sizes),
	};

	return cmocka_run_group_tests(tests, input_begin, input_end);
}
