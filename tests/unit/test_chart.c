/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts: what stands in the SVG, whatever the values and texts are. */
#include "cmocka_env.h"

#include "export/chart/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *svg_of(const struct vb_chart *c, uint32_t cnt)
{
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(vb_chart_write(f, c, cnt), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void chart_write__line_with_band(void **state)
{
	static const double x[] = {0, 10}, y[] = {4, 10}, lo[] = {0, 5};
	const struct vb_chart_line line = {.name = "a", .x = x, .y = y, .lo = lo, .cnt = 2};
	const struct vb_chart c = {.title = "t",
				   .x = {.name = "time", .unit = "s"},
				   .y = {.name = "rate", .unit = ""},
				   .line = &line,
				   .line_cnt = 1};
	char *text = svg_of(&c, 1), *again = svg_of(&c, 1);

	(void)state;
	assert_string_equal(text, again);
	/* The plot is 72...624 wide and 252...36 high. */
	assert_non_null(strstr(text, "d=\"M72.0 165.6L624.0 36.0\""));
	assert_non_null(strstr(text, "M72.0 165.6L624.0 36.0L624.0 144.0L72.0 252.0"));
	assert_non_null(strstr(text, ">time, s<"));
	assert_non_null(strstr(text, ">rate<"));
	free(text);
	free(again);
}

/* Where a value is missing, there is a gap, not a line across. */
static void chart_write__gap(void **state)
{
	static const double x[] = {0, 1, 2, 3, 4}, y[] = {1, 2, NAN, 2, 1};
	const struct vb_chart_line line = {.name = "a", .x = x, .y = y, .cnt = 5};
	const struct vb_chart c = {.title = "t",
				   .x = {.name = "x", .unit = ""},
				   .y = {.name = "y", .unit = ""},
				   .line = &line,
				   .line_cnt = 1};
	char *text = svg_of(&c, 1);

	(void)state;
	assert_non_null(strstr(text, "d=\"M72.0 144.0L210.0 36.0M486.0 36.0L624.0 144.0\""));
	free(text);
}

static void chart_write__steps_on_a_log_axis(void **state)
{
	static const double x[] = {0, 1, 10, 100}, y[] = {0.1, 0.2, 0.5, 1};
	const struct vb_chart_line line = {.name = "a", .x = x, .y = y, .cnt = 4};
	const struct vb_chart c = {.title = "t",
				   .style = VB_CHART_STEP,
				   .x = {.name = "x", .unit = "", .is_log = true},
				   .y = {.name = "y", .unit = ""},
				   .line = &line,
				   .line_cnt = 1};
	char *text = svg_of(&c, 1);

	(void)state;
	/* The 0 has no place on the axis. */
	assert_non_null(strstr(text, "d=\"M72.0 208.8H348.0V144.0H624.0V36.0\""));
	free(text);
}

static void chart_write__points_and_a_legend(void **state)
{
	static const double x[] = {1, 2, 3}, y[] = {1, INFINITY, 3};
	const struct vb_chart_line line[] = {{.name = "a<b>", .x = x, .y = y, .cnt = 3},
					     {.name = "c", .x = x, .y = x, .cnt = 3}};
	const struct vb_chart c = {.title = "a & \"b\"\x01",
				   .style = VB_CHART_POINTS,
				   .x = {.name = "x", .unit = ""},
				   .y = {.name = "y", .unit = ""},
				   .line = line,
				   .line_cnt = 2};
	char *text = svg_of(&c, 1);
	uint32_t circles = 0;

	(void)state;
	for (const char *p = text; (p = strstr(p, "<circle")); p++)
		circles++;
	assert_int_equal(circles, 5);
	assert_non_null(strstr(text, ">a&#60;b&#62;<"));
	assert_non_null(strstr(text, ">a &#38; &#34;b&#34;<"));
	assert_int_equal(vb_chart_height(&c), VB_CHART_HEIGHT + 18);
	free(text);
}

static void chart_write__dots_with_ranges_over_marks(void **state)
{
	static const double x[] = {1, 1.01, 3}, y[] = {2, 3, NAN}, lo[] = {1, 3, 0},
			    hi[] = {4, 3, 9};
	static const struct vb_chart_mark marks[] = {{1, "one"}, {1.01, "hidden"}, {3, "th<ree"}};
	const struct vb_chart_line line = {
	    .name = "", .x = x, .y = y, .lo = lo, .hi = hi, .cnt = 2};
	const struct vb_chart c = {.title = "t",
				   .style = VB_CHART_DOTTED,
				   .x = {.name = "x", .unit = "", .mark = marks, .mark_cnt = 3},
				   .y = {.name = "y", .unit = ""},
				   .line = &line,
				   .line_cnt = 1};
	struct vb_chart wide = c;
	struct vb_chart_line named[3] = {line, line, line};
	char *text = svg_of(&c, 1);

	(void)state;
	/* The axis is 4 % longer at each end. The range of the second point
	 * is none. The third mark lies beyond. */
	assert_non_null(strstr(text, "d=\"M92.4 144.0L603.6 90.0\""));
	assert_non_null(strstr(text, "d=\"M92.4 198.0V36.0\""));
	assert_null(strstr(text, "d=\"M603.6"));
	assert_non_null(strstr(text, ">one<"));
	assert_non_null(strstr(text, ">hidden<"));
	assert_null(strstr(text, ">th"));
	assert_int_equal(vb_chart_height(&c), VB_CHART_HEIGHT);
	free(text);

	/* The value that is missing has no dot; the text that has no room is left out. */
	named[0].cnt = 3;
	named[0].name = "a name of a line that is too long for half";
	named[1].name = "b";
	wide.line = named;
	wide.line_cnt = 3;
	text = svg_of(&wide, 1);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, ">hidden<"));
	assert_non_null(strstr(text, ">th&#60;ree<"));
	assert_int_equal(vb_chart_height(&wide), VB_CHART_HEIGHT + 2 * 18);
	free(text);
}

static void chart_write__without_values(void **state)
{
	static const double one[] = {5};
	const struct vb_chart_line line = {.name = "a", .x = one, .y = one, .cnt = 1};
	struct vb_chart c[2] = {{.title = "empty",
				 .x = {.name = "x", .unit = "", .is_log = true},
				 .y = {.name = "y", .unit = "", .is_log = true}},
				{.title = "one",
				 .x = {.name = "x", .unit = ""},
				 .y = {.name = "y", .unit = "", .is_log = true}}};
	char *text;

	(void)state;
	c[1].line = &line;
	c[1].line_cnt = 1;
	text = svg_of(c, 2);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_non_null(strstr(text, "height=\"618\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chart_write__line_with_band),
	    cmocka_unit_test(chart_write__gap),
	    cmocka_unit_test(chart_write__steps_on_a_log_axis),
	    cmocka_unit_test(chart_write__points_and_a_legend),
	    cmocka_unit_test(chart_write__dots_with_ranges_over_marks),
	    cmocka_unit_test(chart_write__without_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
