/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnets of a topology: what cables and switches hold together, and what routers and adapters
 * with several ports do not. fabric/topology/subnet.c; FAB-07, IBT-95
 */
#include "topology_env.h"

static uint32_t first[64], subnet[1024], scratch[1024];

static uint32_t subnets(void)
{
	assert_true(topo.node_cnt <= 64 && vb_topo_port_cnt(&topo) <= 1024);
	return vb_topo_subnets(&topo, first, subnet, scratch);
}

/* The subnet of a port, by the name of its node. */
static uint32_t of(const char *name, uint32_t port)
{
	const struct vb_topo_node *n = vb_topo_find(&topo, name);

	assert_non_null(n);
	return subnet[first[n - topo.node] + port - 1];
}

static void a_shape_is_one_subnet(void **state)
{
	static const char *const shapes[] = {"pair", "star:hosts=3", "ring:switches=5,hosts=2",
					     "fat-tree:k=4"};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		if (topo.free)
			vb_topo_free(&topo);
		assert_int_equal(vb_topo_shape(&topo, &config, shapes[i], why, sizeof why), 0);
		assert_int_equal(subnets(), 1);
	}
}

/* Two stars and a router between them, whose third port has a cable to another router. */
static const char two[] = "Switch 8 \"S-A\"\n[1] \"A1\"[1]\n[3] \"A2\"[1]\n[8] \"R\"[1]\n"
			  "Switch 8 \"S-B\"\n[1] \"B1\"[1]\n[2] \"R\"[2]\n[3] \"A2\"[2]\n"
			  "Ca 1 \"A1\"\nCa 2 \"A2\"\nCa 2 \"B1\"\n"
			  "Rt 4 \"R\"\n[3] \"Q\"[2]\nRt 2 \"Q\"\n";

static void routers_and_adapters_join_no_subnets(void **state)
{
	(void)state;
	parse(two);
	assert_int_equal(vb_topo_port_cnt(&topo), 8 + 8 + 1 + 2 + 2 + 4 + 2);
	assert_int_equal(subnets(), 3);
	assert_int_equal(of("A1", 1), 0);
	assert_int_equal(of("S-A", 8), 0);
	assert_int_equal(of("A2", 1), 0);
	assert_int_equal(of("R", 1), 0);
	assert_int_equal(of("A2", 2), 1);
	assert_int_equal(of("B1", 1), 1);
	assert_int_equal(of("R", 2), 1);
	assert_int_equal(of("R", 3), 2);
	assert_int_equal(of("Q", 2), 2);
	assert_int_equal(of("R", 4), VB_TOPO_NO_SUBNET);
	assert_int_equal(of("S-A", 2), VB_TOPO_NO_SUBNET);
	assert_int_equal(of("B1", 2), VB_TOPO_NO_SUBNET);
}

/* Joined late, by a cable between the last of their switches. */
static void parts_that_meet_late_are_one(void **state)
{
	(void)state;
	parse("Ca 1 \"A\"\n[1] \"S\"[1]\nCa 1 \"B\"\n[1] \"T\"[1]\nSwitch 4 \"S\"\nSwitch 4 \"T\"\n"
	      "Switch 4 \"U\"\n[1] \"S\"[4]\n[2] \"T\"[4]\nSwitch 2 \"alone\"\nCa 1 \"alone2\"\n");
	assert_int_equal(subnets(), 1);
	assert_int_equal(of("B", 1), 0);
	assert_int_equal(of("alone", 1), VB_TOPO_NO_SUBNET);
	assert_int_equal(of("alone2", 1), VB_TOPO_NO_SUBNET);
}

/* Two texts of one subnet each become one with a router, by modules: no name is in both. */
static int star_include(void *ctx, const char *file, const char **text, size_t *len)
{
	static const char star[] = "Switch 4 \"S\"\n[1] \"H\"[1]\nCa 1 \"H\"\n";

	(void)ctx, (void)file;
	*text = star;
	*len = sizeof star - 1;
	return 0;
}

static void two_fabrics_and_a_router(void **state)
{
	(void)state;
	config.include = star_include;
	parse("module=\"A\"\ninclude \"star.net\"\nmodule=\"B\"\ninclude \"star.net\"\n"
	      "Rt 2 \"R\"\n[1] \"A#S\"[4]\n[2] \"B#S\"[4]\n");
	assert_int_equal(topo.node_cnt, 5);
	assert_int_equal(subnets(), 2);
	assert_int_equal(of("A#H", 1), 0);
	assert_int_equal(of("B#R", 1), 0);
	assert_int_equal(of("B#R", 2), 1);
	assert_int_equal(of("B#H", 1), 1);
	assert_int_equal(vb_topo_find(&topo, "B#R")->type, VB_NODE_ROUTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(a_shape_is_one_subnet),
	    TOPOLOGY_TEST(routers_and_adapters_join_no_subnets),
	    TOPOLOGY_TEST(parts_that_meet_late_are_one),
	    TOPOLOGY_TEST(two_fabrics_and_a_router),
	};

	return cmocka_run_group_tests_name("topology_subnets", tests, NULL, NULL);
}
