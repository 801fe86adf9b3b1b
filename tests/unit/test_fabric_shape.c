/* SPDX-License-Identifier: BSD-2-Clause */
/* The shapes and tiers that drawings of fabrics find. export/fabric/drawing.h */
#include "drawing_env.h"

static void shapes__are_found_again(void **state)
{
	static const struct {
		const char *text;
		enum vb_drawing_shape shape;
		uint32_t tiers, size[3];
	} rows[] = {
	    {"pair", VB_DRAWING_TIERS, 1, {0}},
	    {"star:hosts=5", VB_DRAWING_TIERS, 2, {0}},
	    {"fat-tree:k=4", VB_DRAWING_TIERS, 4, {0}},
	    {"clos:leaves=4,spines=2,hosts=3", VB_DRAWING_TIERS, 3, {0}},
	    {"clos3:pods=2,tors=2,aggs=2,cores=2,hosts=2", VB_DRAWING_TIERS, 4, {0}},
	    {"dumbbell:left=2,right=2", VB_DRAWING_ROW, 2, {0}},
	    {"parking-lot:switches=5,hosts=2", VB_DRAWING_ROW, 2, {0}},
	    {"ring:switches=5,hosts=1", VB_DRAWING_CIRCLE, 2, {0}},
	    {"torus:size=4x4,hosts=1", VB_DRAWING_GRID, 2, {4, 4, 1}},
	    {"torus:size=5x3,hosts=1", VB_DRAWING_GRID, 2, {5, 3, 1}},
	    {"torus:size=4x3x5,hosts=1", VB_DRAWING_GRID, 2, {4, 3, 5}},
	    {"mesh:size=3x6,hosts=1", VB_DRAWING_GRID, 2, {3, 6, 1}},
	    {"mesh:size=3x4x2,hosts=1", VB_DRAWING_GRID, 2, {3, 4, 2}},
	    /* Four switches, each joined to each other one. */
	    {"Switch 4 \"A\"\n[1] \"B\"[1]\n[2] \"C\"[1]\n[3] \"D\"[1]\nSwitch 4 \"B\"\n[2] "
	     "\"C\"[2]\n"
	     "[3] \"D\"[2]\nSwitch 4 \"C\"\n[3] \"D\"[3]\nSwitch 4 \"D\"\n",
	     VB_DRAWING_CIRCLE,
	     2,
	     {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vb_drawing g = drawing_of(rows[i].text);

		assert_int_equal(vb_drawing_find_shape(&g), 0);
		if (g.shape != rows[i].shape || g.tier_cnt != rows[i].tiers)
			fail_msg("%s: shape %d, %u tiers", rows[i].text, g.shape, g.tier_cnt);
		if (rows[i].shape == VB_DRAWING_GRID)
			assert_memory_equal(g.size, rows[i].size, sizeof g.size);
		drawing_end(&g);
	}
}

static void tiers__count_from_the_hosts(void **state)
{
	struct vb_drawing g = drawing_of("fat-tree:k=4");
	uint32_t cnt[4] = {0};

	(void)state;
	assert_int_equal(vb_drawing_find_shape(&g), 0);
	for (uint32_t i = 0; i < g.node_cnt; i++)
		cnt[g.node[i].tier]++;
	assert_int_equal(cnt[0], 16);
	assert_int_equal(cnt[1], 8);
	assert_int_equal(cnt[2], 8);
	assert_int_equal(cnt[3], 4);
	drawing_end(&g);
}

/* A router is above all that it joins, and a switch without hosts beside those with some. */
static void tiers__of_routers_and_lone_switches(void **state)
{
	struct vb_drawing g = drawing_of("Switch 4 \"A\"\n[1] \"H\"[1]\n[2] \"R\"[1]\n"
					 "Switch 4 \"B\"\n[1] \"R\"[2]\nRt 2 \"R\"\nCa 1 \"H\"\n");

	(void)state;
	assert_int_equal(vb_drawing_find_shape(&g), 0);
	assert_int_equal(g.shape, VB_DRAWING_TIERS);
	assert_int_equal(drawing_node(&g, "H")->tier, 0);
	assert_int_equal(drawing_node(&g, "A")->tier, 1);
	assert_int_equal(drawing_node(&g, "B")->tier, 1);
	assert_int_equal(drawing_node(&g, "R")->tier, 2);
	assert_int_equal(g.tier_cnt, 3);
	drawing_end(&g);
}

/* A link that leads out of the fabric joins nothing. */
static void tiers__do_not_follow_tunnels(void **state)
{
	struct vb_drawing_node node[] = {{.name = "S", .kind = VB_DRAWING_SWITCH}};
	struct vb_drawing_link link[] = {{.a = 0, .b = VB_DRAWING_NOWHERE}};
	struct vb_drawing g = {.node = node, .link = link, .node_cnt = 1, .link_cnt = 1};

	(void)state;
	assert_int_equal(vb_drawing_find_shape(&g), 0);
	assert_int_equal(g.shape, VB_DRAWING_TIERS);
	assert_int_equal(node[0].tier, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shapes__are_found_again),
	    cmocka_unit_test(tiers__count_from_the_hosts),
	    cmocka_unit_test(tiers__of_routers_and_lone_switches),
	    cmocka_unit_test(tiers__do_not_follow_tunnels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
