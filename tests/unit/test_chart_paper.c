/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts and heat maps in the form of a column of a paper: texts have room, whatever the values. */
#include "cmocka_env.h"

#include "export/chart/figure.h"
#include "export/chart/letters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FONT (32.0 / 3)

static char *svg_of(const struct vb_chart *c, const struct vb_heat *h)
{
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(c ? vb_chart_write(f, c, 1) : vb_heat_write(f, h), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

struct label {
	double x, y, half;
	char text[64];
};

/* Texts in the middle of a place that are not turned: numbers at the x axis, and its name. */
static uint32_t labels_of(const char *svg, const char *anchor, struct label *l, uint32_t max)
{
	char format[80];
	uint32_t cnt = 0;

	snprintf(format, sizeof format, "<text x=\"%%lf\" y=\"%%lf\" text-anchor=\"%s\">%%63[^<]",
		 anchor);
	for (const char *p = svg; (p = strstr(p, "<text")); p++)
		if (cnt < max && sscanf(p, format, &l[cnt].x, &l[cnt].y, l[cnt].text) == 3) {
			l[cnt].half = vb_letters_width(l[cnt].text) * FONT / 2;
			cnt++;
		}
	return cnt;
}

static void check_room(const char *svg, uint32_t least)
{
	struct label l[64];
	uint32_t cnt = labels_of(svg, "middle", l, 64), numbers = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		assert_true(l[i].x - l[i].half > -1);
		assert_true(l[i].x + l[i].half < VB_CHART_PAPER_WIDTH + 1);
		numbers += l[i].y < VB_CHART_PAPER_HEIGHT - FONT;
		for (uint32_t k = 0; k < i; k++)
			assert_true(fabs(l[i].y - l[k].y) >= FONT ||
				    fabs(l[i].x - l[k].x) >= l[i].half + l[k].half);
	}
	assert_true(numbers >= least);
	cnt = labels_of(svg, "end", l, 64);
	assert_true(cnt >= 2);
	for (uint32_t i = 0; i < cnt; i++) {
		/* The name of the axis is turned, and stands on the left. */
		assert_true(l[i].x - 2 * l[i].half > FONT);
		for (uint32_t k = 0; k < i; k++)
			assert_true(fabs(l[i].y - l[k].y) >= FONT - 0.2);
	}
}

/* Numbers of any size have room beside each other, and on the left. */
static void chart_write__paper_numbers(void **state)
{
	static const struct {
		double from, to;
		bool is_log;
	} range[] = {{0, 1, false},         {0, 123456789, false},
		     {1e6, 1e6 + 3, false}, {0.000123, 0.000345, false},
		     {1, 1e9, true},        {1e-9, 1e12, true},
		     {30, 2900, true},      {100000, 390000, true}};

	(void)state;
	for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
		const double v[] = {range[i].from, range[i].to};
		const struct vb_chart_line line = {.name = "", .x = v, .y = v, .cnt = 2};
		struct vb_chart c = {.title = "<t>",
				     .x = {.name = "x", .unit = "s", .is_log = range[i].is_log},
				     .y = {.name = "y", .unit = "", .is_log = range[i].is_log},
				     .line = &line,
				     .line_cnt = 1,
				     .form = VB_CHART_PAPER};
		char *text = svg_of(&c, NULL);

		check_room(text, 2);
		/* A column of 3.5 inches with letters of 8 points; the title is not drawn. */
		assert_non_null(strstr(text, "width=\"252pt\" height=\"147pt\""));
		assert_non_null(strstr(text, "viewBox=\"0 0 336 196\""));
		assert_non_null(strstr(text, "font-size=\"10.667\""));
		assert_non_null(strstr(text, "<title>&#60;t&#62;</title>"));
		assert_non_null(strstr(text, ">x, s<"));
		free(text);
	}
}

static void chart_write__paper_units(void **state)
{
	static const double x[] = {0, 40000}, y[] = {500, 5000000};
	const struct vb_chart_line line = {.name = "", .x = x, .y = y, .cnt = 2};
	const struct vb_chart c = {
	    .title = "t",
	    .x = {.name = "time", .unit = "ms", .unit_is = 1000},
	    .y = {.name = "size", .unit = "B", .is_log = true, .is_si = true},
	    .line = &line,
	    .line_cnt = 1,
	    .form = VB_CHART_PAPER};
	char *text = svg_of(&c, NULL);

	(void)state;
	assert_non_null(strstr(text, ">40<"));
	assert_null(strstr(text, ">40000<"));
	assert_non_null(strstr(text, ">1k<"));
	assert_non_null(strstr(text, ">1M<"));
	free(text);
}

/* Names stand in as many columns as have room, and a longer one is cut. */
static void chart_write__paper_legend(void **state)
{
	static const double v[] = {1, 2};
	static const char long_name[] =
	    "a name of a line that is by far too long for a legend in a "
	    "single column of a paper";
	const struct vb_chart_line line[] = {{.name = "p50", .x = v, .y = v, .cnt = 2},
					     {.name = "p95", .x = v, .y = v, .cnt = 2},
					     {.name = "p99", .x = v, .y = v, .cnt = 2},
					     {.name = long_name, .x = v, .y = v, .cnt = 2}};
	struct vb_chart c = {.title = "t",
			     .style = VB_CHART_STEP,
			     .x = {.name = "x", .unit = ""},
			     .y = {.name = "y", .unit = ""},
			     .line = line,
			     .line_cnt = 3,
			     .form = VB_CHART_PAPER};
	char *text = svg_of(&c, NULL);

	(void)state;
	assert_int_equal(vb_chart_height(&c), VB_CHART_PAPER_HEIGHT + 15 + 4);
	/* Lines differ without colors, too. */
	assert_non_null(strstr(text, "stroke-dasharray"));
	free(text);
	c.line_cnt = 4;
	text = svg_of(&c, NULL);
	assert_int_equal(vb_chart_height(&c), VB_CHART_PAPER_HEIGHT + 4 * 15 + 4);
	assert_null(strstr(text, long_name));
	assert_non_null(strstr(text, ">a name of a line"));
	free(text);
}

static void letters__fit(void **state)
{
	(void)state;
	assert_true(vb_letters_fit("abc", 3) == SIZE_MAX);
	assert_true(vb_letters_width("WWW") > vb_letters_width("iii"));
	/* An ellipsis is one of them, and as wide as a letter can be. */
	assert_int_equal(vb_letters_fit("aaaaaaaaaa", 1 + 3 * 0.65), 4);
	/* A character of two bytes is one letter. */
	assert_true(vb_letters_width("\xc2\xb5") == 1);
}

static void heat_write__cells(void **state)
{
	static const char *const columns[] = {"10", "100"}, *const rows[] = {"a", "b<", "c"};
	static const double v[] = {1, 2, 3, NAN, 5, 5};
	const struct vb_heat h = {
	    .title = "t", .name = "FCT, us", .x = {"x", columns, 2}, .y = {"y", rows, 3}, .v = v};
	char *text = svg_of(NULL, &h);
	uint32_t cells = 0;

	(void)state;
	for (const char *p = text; (p = strstr(p, "stroke=\"#fff\"")); p++)
		cells++;
	assert_int_equal(cells, 5);
	/* The least is viridis' dark end with white letters, the most its light one with black. */
	assert_non_null(strstr(text, "fill=\"#440154\" stroke"));
	assert_non_null(strstr(text, "fill=\"#fff\">1<"));
	assert_non_null(strstr(text, "fill=\"#fde725\" stroke"));
	assert_non_null(strstr(text, "fill=\"#000\">5<"));
	assert_non_null(strstr(text, ">-<"));
	assert_null(strstr(text, "nan"));
	assert_non_null(strstr(text, ">b&#60;<"));
	assert_non_null(strstr(text, ">FCT, us<"));
	free(text);
}

/* One value, none, and so many that their names have no room. */
static void heat_write__extremes(void **state)
{
	static double v[64 * 64];
	static const char *names[64];
	struct vb_heat h = {.title = "t", .name = "n", .x = {"x", names, 1}, .y = {"y", names, 1}};
	char *text;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		names[i] = "a long name";
	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
		v[i] = (double)i + 1;
	h.v = v;
	text = svg_of(NULL, &h);
	assert_null(strstr(text, "nan"));
	free(text);
	v[0] = NAN;
	text = svg_of(NULL, &h);
	assert_null(strstr(text, "inf"));
	free(text);
	v[0] = 1;
	h.x.cnt = h.y.cnt = 64;
	h.is_log = true;
	text = svg_of(NULL, &h);
	assert_null(strstr(text, "nan"));

	struct label l[64];
	uint32_t cnt = labels_of(text, "middle", l, 64);

	assert_uint_in_range(cnt, 2, 8);
	for (uint32_t i = 1; i + 1 < cnt; i++)
		assert_true(l[i].x - l[i - 1].x >= l[i].half + l[i - 1].half);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chart_write__paper_numbers),
	    cmocka_unit_test(chart_write__paper_units),
	    cmocka_unit_test(chart_write__paper_legend),
	    cmocka_unit_test(letters__fit),
	    cmocka_unit_test(heat_write__cells),
	    cmocka_unit_test(heat_write__extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
