/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawings of fabrics: where nodes and links are, and what stands in the SVG, whatever the names
 * are. export/fabric/drawing.h */
#include "drawing_env.h"

#include "export/painter.h"

#include <math.h>

static char *svg_of(const struct vb_drawing *g, enum vb_drawing_color color)
{
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(vb_drawing_write(f, g, color, "share:"), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static uint32_t times(const char *text, const char *what)
{
	uint32_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static bool is_inside(const struct vb_drawing *g, const struct vb_drawing_node *n)
{
	return n->x - n->width / 2 >= 0 && n->x + n->width / 2 <= g->width &&
	       n->y - n->height / 2 >= 0 && n->y + n->height / 2 <= g->height;
}

static bool do_overlap(const struct vb_drawing_node *a, const struct vb_drawing_node *b)
{
	return fabs(a->x - b->x) < (a->width + b->width) / 2 &&
	       fabs(a->y - b->y) < (a->height + b->height) / 2;
}

/* Of each shape, with few hosts and with many. */
static void nodes__are_inside_and_apart(void **state)
{
	/* An adapter between two switches, a router beside it, and hosts without a switch. */
	static const char two[] =
	    "Switch 4 \"A\"\n[1] \"H\"[1]\n[2] \"R\"[1]\nSwitch 4 \"B\"\n[1] \"R\"[2]\n[2] "
	    "\"H\"[2]\n"
	    "Rt 2 \"R\"\nCa 2 \"H\"\nCa 1 \"X\"\nCa 1 \"Y\"\n";
	static const char *const all[] = {two,
					  "pair",
					  "star:hosts=1",
					  "star:hosts=40",
					  "fat-tree:k=4",
					  "fat-tree:k=8",
					  "clos:leaves=32,spines=16,hosts=32",
					  "clos:leaves=2,spines=9,hosts=1",
					  "clos3:pods=3,tors=2,aggs=2,cores=2,hosts=2",
					  "dumbbell:left=3,right=7",
					  "parking-lot:switches=6,hosts=2",
					  "ring:switches=3,hosts=9",
					  "ring:switches=30,hosts=1",
					  "torus:size=4x4,hosts=1",
					  "torus:size=3x4x5,hosts=2",
					  "mesh:size=2x9,hosts=7"};

	(void)state;
	for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
		struct vb_drawing g = drawing_of(all[k]);

		assert_int_equal(vb_drawing_place(&g), 0);
		for (uint32_t i = 0; i < g.node_cnt; i++) {
			if (!is_inside(&g, &g.node[i]))
				fail_msg("%s: %s is outside", all[k], g.node[i].name);
			for (uint32_t j = 0; j < i; j++)
				if (do_overlap(&g.node[i], &g.node[j]))
					fail_msg("%s: %s is over %s", all[k], g.node[i].name,
						 g.node[j].name);
		}
		for (uint32_t i = 0; i < g.link_cnt; i++)
			assert_true(
			    isfinite(g.link[i].x1 + g.link[i].y1 + g.link[i].x2 + g.link[i].y2));
		drawing_end(&g);
	}
}

/* Tiers are above each other; hosts are below their switch; a pod's switches are together. */
static void tiers__are_above_each_other(void **state)
{
	struct vb_drawing g = drawing_of("fat-tree:k=4");

	(void)state;
	assert_int_equal(vb_drawing_place(&g), 0);
	for (uint32_t i = 0; i < g.link_cnt; i++) {
		const struct vb_drawing_node *a = &g.node[g.link[i].a], *b = &g.node[g.link[i].b];

		assert_true(a->tier > b->tier ? a->y < b->y : b->y < a->y);
	}
	for (uint32_t i = 0; i < g.node_cnt; i++)
		for (uint32_t j = 0; j < g.node_cnt; j++)
			if (g.node[i].tier == g.node[j].tier)
				assert_true(fabs(g.node[i].y - g.node[j].y) < 0.001);
	assert_true(drawing_node(&g, "H-0000")->x < drawing_node(&g, "H-0001")->x);
	assert_true(fabs((drawing_node(&g, "H-0000")->x + drawing_node(&g, "H-0001")->x) / 2 -
			 drawing_node(&g, "S-0000")->x) < 0.001);
	/* The first pod: S-0000, S-0001 below, S-0008, S-0009 above. */
	assert_true(fabs(drawing_node(&g, "S-0000")->x - drawing_node(&g, "S-0008")->x) < 1);
	assert_true(fabs(drawing_node(&g, "S-0001")->x - drawing_node(&g, "S-0009")->x) < 1);
	drawing_end(&g);
}

/* Switches of a pod stand together also where the text has them in another order. */
static void tiers__keep_pods_together(void **state)
{
	struct vb_drawing g = drawing_of("Switch 4 \"L1\"\n[1] \"A1\"[1]\n[2] \"H1\"[1]\nSwitch 4 "
					 "\"L2\"\n[1] \"A2\"[1]\n[2] \"H2\"[1]\n"
					 "Switch 4 \"L3\"\n[1] \"A1\"[2]\n[2] \"H3\"[1]\nSwitch 4 "
					 "\"L4\"\n[1] \"A2\"[2]\n[2] \"H4\"[1]\n"
					 "Switch 4 \"A1\"\n[3] \"C\"[1]\nSwitch 4 \"A2\"\n[3] "
					 "\"C\"[2]\nSwitch 4 \"C\"\nCa 1 \"H1\"\n"
					 "Ca 1 \"H2\"\nCa 1 \"H3\"\nCa 1 \"H4\"\n");

	(void)state;
	assert_int_equal(vb_drawing_place(&g), 0);
	assert_true(drawing_node(&g, "L1")->x < drawing_node(&g, "L3")->x);
	assert_true(drawing_node(&g, "L3")->x < drawing_node(&g, "L2")->x);
	assert_true(drawing_node(&g, "L2")->x < drawing_node(&g, "L4")->x);
	assert_true(drawing_node(&g, "A1")->x < drawing_node(&g, "A2")->x);
	drawing_end(&g);
}

/* Two cables between the same switches are two lines; links of a torus that go around its edge
 * pass by the switches between. */
static void links__are_apart(void **state)
{
	struct vb_drawing g =
	    drawing_of("Switch 4 \"A\"\n[1] \"B\"[1]\n[2] \"B\"[2]\n[3] \"H\"[1]\n"
		       "Switch 4 \"B\"\n[3] \"I\"[1]\nCa 1 \"H\"\nCa 1 \"I\"\n");
	uint32_t bends = 0;

	(void)state;
	assert_int_equal(vb_drawing_place(&g), 0);
	assert_int_equal(g.link[0].b, g.link[1].b);
	assert_true(fabs(g.link[0].y1 - g.link[1].y1) > 3);
	drawing_end(&g);
	g = drawing_of("torus:size=4x4,hosts=1");
	assert_int_equal(vb_drawing_place(&g), 0);
	for (uint32_t i = 0; i < g.link_cnt; i++)
		bends += g.link[i].bend != 0;
	assert_int_equal(bends, 8);
	drawing_end(&g);
}

static void svg__has_each_node_and_link(void **state)
{
	struct vb_drawing g = drawing_of("fat-tree:k=4");
	char *text, *again;

	(void)state;
	g.link[0].state = VB_DRAWING_DOWN;
	g.link[1].state = VB_DRAWING_NONE;
	g.link[2].has_errors = true;
	g.link[3].load = 0.8;
	g.link[4].gbps = 800;
	assert_int_equal(vb_drawing_place(&g), 0);
	text = svg_of(&g, VB_DRAWING_BY_LOAD);
	again = svg_of(&g, VB_DRAWING_BY_LOAD);
	assert_string_equal(text, again);
	assert_int_equal(times(text, "<g id=\"n"), 36);
	assert_int_equal(times(text, "<g id=\"l"), 48);
	assert_int_equal(times(text, "class=\"node switch\""), 20);
	assert_int_equal(times(text, "class=\"node host s-"), 16);
	assert_non_null(strstr(text, "class=\"fabric by-load\""));
	assert_non_null(strstr(text, "<g id=\"l0\" class=\"link s-down r4 u0\">"));
	assert_non_null(strstr(text, "<g id=\"l1\" class=\"link s-none r4 u0\">"));
	assert_non_null(strstr(text, "<g id=\"l3\" class=\"link s-active r4 u5\">"));
	assert_non_null(strstr(text, "<g id=\"l4\" class=\"link s-active r7 u0\">"));
	assert_int_equal(times(text, "<circle class=\"error\""), 1);
	assert_non_null(strstr(text, ">share:</text>"));
	free(text);
	free(again);
	drawing_end(&g);
}

/* Another reader than browsers takes it as well: librsvg, where it is there. */
static void svg__is_drawn_by_others(void **state)
{
	struct vb_drawing g = drawing_of("torus:size=3x3,hosts=1");
	struct vb_painter *png;
	char why[128], *text, *picture = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	assert_int_equal(vb_drawing_place(&g), 0);
	text = svg_of(&g, VB_DRAWING_BY_RATE);
	if (vb_painter_open(&png, why, sizeof why) == 0) {
		f = open_memstream(&picture, &len);
		assert_non_null(f);
		assert_int_equal(vb_painter_png(png, f, text, strlen(text), (uint32_t)g.width,
						(uint32_t)g.height),
				 0);
		assert_int_equal(fclose(f), 0);
		assert_true(len > 1000);
		free(picture);
		vb_painter_close(png);
	}
	free(text);
	drawing_end(&g);
}

/* Names and titles of others are text and nothing else, and a long name is cut. */
static void svg__takes_any_name(void **state)
{
	struct vb_drawing_node node[] = {
	    {.name = "</text><script>alert(1)</script>",
	     .title = "a\n<b>&\"'\x01\xff",
	     .kind = VB_DRAWING_SWITCH},
	    {.name = "\xc3\xa4", .title = "", .kind = VB_DRAWING_HOST}};
	struct vb_drawing_link link[] = {
	    {.a = 0, .b = 1, .title = "]]><!--", .load = -1},
	    {.a = 0, .b = VB_DRAWING_NOWHERE, .title = "out", .load = -1}};
	struct vb_drawing g = {
	    .title = "<&>", .node = node, .link = link, .node_cnt = 2, .link_cnt = 2};
	char *text;

	(void)state;
	assert_int_equal(vb_drawing_place(&g), 0);
	text = svg_of(&g, VB_DRAWING_BY_STATE);
	assert_null(strstr(text, "<script"));
	assert_non_null(strstr(text, ">&#60;/text&#62;&#60;\xe2\x80\xa6</text>"));
	assert_non_null(strstr(text, "<title>a\n&#60;b&#62;&#38;&#34;&#39;?</title>"));
	assert_non_null(strstr(text, "<title>]]&#62;&#60;!--</title>"));
	assert_non_null(strstr(text, ">&#60;&#38;&#62;</text>"));
	assert_non_null(strstr(text, ">\xc3\xa4</text>"));
	assert_non_null(strstr(text, "<title>out</title><path"));
	free(text);
}

static void classes__have_their_limits(void **state)
{
	static const struct {
		double gbps;
		uint32_t class;
	} rates[] = {{0, 0},   {10, 1},  {24, 1},  {25, 2},  {56, 3},
		     {100, 4}, {200, 5}, {400, 6}, {800, 7}, {2400, 7}};
	static const struct {
		double load;
		uint32_t class;
	} loads[] = {{-1, 0},  {0, 0},   {0.0099, 0}, {0.01, 1}, {0.1, 2},
		     {0.3, 3}, {0.5, 4}, {0.75, 5},   {7, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
		assert_int_equal(vb_drawing_rate_class(rates[i].gbps), rates[i].class);
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
		assert_int_equal(vb_drawing_load_class(loads[i].load), loads[i].class);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nodes__are_inside_and_apart),
	    cmocka_unit_test(tiers__are_above_each_other),
	    cmocka_unit_test(tiers__keep_pods_together),
	    cmocka_unit_test(links__are_apart),
	    cmocka_unit_test(svg__has_each_node_and_link),
	    cmocka_unit_test(svg__takes_any_name),
	    cmocka_unit_test(svg__is_drawn_by_others),
	    cmocka_unit_test(classes__have_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
