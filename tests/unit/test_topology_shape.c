/* SPDX-License-Identifier: BSD-2-Clause */
/* Topologies that are made of a name and a few numbers. */
#include "topology_env.h"

#include "wire/ib/rate.h"

static void make(const char *shape)
{
	int err;

	if (topo.free)
		vb_topo_free(&topo);
	err = vb_topo_shape(&topo, &config, shape, why, sizeof why);
	if (err)
		fail_msg("%s: %d: %s", shape, err, why);
}

/* Whether a cable is between the two, and by which ports. */
static void check_cable(const char *a, uint32_t port, const char *b, uint32_t peer_port)
{
	const struct vb_topo_node *x = node(a), *y = node(b);

	assert_ptr_equal(&topo.node[x->port[port].peer], y);
	assert_int_equal(x->port[port].peer_port, peer_port);
	assert_ptr_equal(&topo.node[y->port[peer_port].peer], x);
	assert_int_equal(y->port[peer_port].peer_port, port);
}

static void each_shape_has_its_nodes_and_cables(void **state)
{
	static const struct {
		const char *shape;
		uint32_t nodes, links;
	} row[] = {
	    {"pair", 2, 1},
	    {"star:hosts=3", 4, 3},
	    {"dumbbell:left=2,right=3", 7, 6},
	    {"parking-lot:switches=3,hosts=2", 9, 8},
	    {"parking-lot:switches=3", 6, 5},
	    {"clos:leaves=32,spines=16,hosts=32", 1072, 1024 + 512},
	    {"clos3:pods=2,tors=2,aggs=2,cores=3,hosts=4", 16 + 4 + 4 + 6, 16 + 8 + 12},
	    {"fat-tree:k=4", 36, 48},
	    {"fat-tree:k=16", 1344, 3072},
	    {"ring:switches=5,hosts=2", 15, 15},
	    {"ring:switches=3", 6, 6},
	    {"torus:size=4x4x2", 64, 32 + 2 * 32 + 16},
	    {"torus:size=3x3,hosts=2", 27, 18 + 18},
	    {"mesh:size=4x3x2", 48, 24 + 3 * 6 + 2 * 8 + 12},
	    {"mesh:hosts=2,size=5", 15, 10 + 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		uint32_t ends = 0;

		make(row[i].shape);
		assert_int_equal(topo.node_cnt, row[i].nodes);
		assert_int_equal(topo.link_cnt, row[i].links);
		/* Each port has a cable, and nothing is between two hosts but in a pair. */
		for (uint32_t n = 0; n < topo.node_cnt; n++) {
			for (uint32_t p = 1; p <= topo.node[n].port_cnt; p++, ends++)
				assert_true(topo.node[n].port[p].peer < topo.node_cnt);
		}
		assert_int_equal(ends, 2 * row[i].links);
		check_fixed_point();
	}
}

static void switches_come_first_and_names_have_four_digits(void **state)
{
	(void)state;
	make("fat-tree:k=4");
	assert_string_equal(topo.node[0].name, "S-0000");
	assert_string_equal(topo.node[19].name, "S-0019");
	assert_string_equal(topo.node[20].name, "H-0000");
	assert_string_equal(topo.node[35].name, "H-0015");
	assert_string_equal(node("H-0003")->desc, "H-0003");
	assert_int_equal(node("H-0003")->type, VB_NODE_CA);
	assert_int_equal(node("S-0003")->type, VB_NODE_SWITCH);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(topo.node[i].port_cnt, 4);
	/* The hosts are at the first ports of an edge switch, its pod's other switches behind them.
	 */
	check_cable("S-0001", 1, "H-0002", 1);
	check_cable("S-0001", 2, "H-0003", 1);
	check_cable("S-0001", 3, "S-0008", 2);
	check_cable("S-0001", 4, "S-0009", 2);
	check_cable("S-0008", 3, "S-0016", 1);
	check_cable("S-0009", 4, "S-0019", 1);
	check_cable("S-0015", 4, "S-0019", 4);
	make("star:hosts=254");
	assert_string_equal(topo.node[254].name, "H-0253");
}

static void a_torus_wraps_and_a_mesh_does_not(void **state)
{
	(void)state;
	make("ring:switches=4");
	check_cable("S-0000", 2, "S-0001", 2);
	check_cable("S-0003", 3, "S-0000", 3);
	make("torus:size=3x2");
	check_cable("S-0000", 2, "S-0001", 2);
	check_cable("S-0000", 3, "S-0003", 2); /* two in a row have one cable */
	assert_int_equal(node("S-0000")->port_cnt, 4);
	check_cable("S-0002", 3, "S-0000", 4);
	make("mesh:size=3x2");
	assert_int_equal(node("S-0000")->port_cnt, 3);
	assert_int_equal(node("S-0001")->port_cnt, 4);
}

static void cables_and_devices_are_what_the_caller_says(void **state)
{
	(void)state;
	make("pair");
	assert_int_equal(node("H-0000")->port[1].width, VB_IB_4X);
	assert_int_equal(node("H-0000")->port[1].speed, VB_IB_EDR);
	assert_int_equal(node("H-0001")->node_guid, VB_TOPO_GUID_BASE + 256);
	config.width = VB_IB_2X;
	config.speed = VB_IB_NDR;
	config.guid_base = 0x5000;
	config.vendor_id = 0x2c9;
	config.device_id = 4;
	make("pair");
	assert_int_equal(node("H-0001")->port[1].width, VB_IB_2X);
	assert_int_equal(node("H-0001")->port[1].speed, VB_IB_NDR);
	assert_int_equal(node("H-0001")->port[1].guid, 0x5101);
	assert_int_equal(node("H-0001")->vendor_id, 0x2c9);
	assert_int_equal(node("H-0001")->device_id, 4);
}

static void a_shape_that_is_none_is_refused(void **state)
{
	static const struct {
		const char *shape, *words;
	} row[] = {
	    {"tree:k=4",
	     "\"tree\" is no shape: there are pair, star, dumbbell, parking-lot, clos, clos3, "
	     "fat-tree, ring, torus, mesh"},
	    {"", "\"\" is no shape: there are pair, star, dumbbell, parking-lot, clos, clos3, "
		 "fat-tree, "
		 "ring, torus, mesh"},
	    {"fat-tree", "fat-tree: it needs a number, k=N"},
	    {"fat-tree:", "fat-tree: it needs a number, k=N"},
	    {"fat-tree:4", "fat-tree: it has no number \"4\""},
	    {"fat-tree:k", "fat-tree: expected k= and a number from 1 to 49152"},
	    {"fat-tree:k=", "fat-tree: expected k= and a number from 1 to 49152"},
	    {"fat-tree:k=4x", "fat-tree: expected k= and a number from 1 to 49152"},
	    {"fat-tree:k=0", "fat-tree: expected k= and a number from 1 to 49152"},
	    {"fat-tree:k=49153", "fat-tree: expected k= and a number from 1 to 49152"},
	    {"fat-tree:k=4,", "fat-tree: there is nothing behind the last ','"},
	    {"fat-tree:k=4,k=4", "fat-tree: k is given twice"},
	    {"fat-tree:k=4,hosts=4", "fat-tree: it has no number \"hosts\""},
	    {"fat-tree:k=5", "fat-tree: k is even, 2 to 254, not 5"},
	    {"fat-tree:k=256", "fat-tree: k is even, 2 to 254, not 256"},
	    {"fat-tree:k=100", "fat-tree: it would have 262500 nodes, at most 49152 are possible"},
	    {"pair:hosts=2", "pair: it has no number \"hosts\""},
	    {"clos:leaves=4,spines=2", "clos: it needs a number, hosts=N"},
	    {"clos:leaves=4,hosts=2", "clos: it needs a number, spines=N"},
	    {"dumbbell:left=4", "dumbbell: it needs a number, right=N"},
	    {"clos3:pods=4,aggs=4,cores=4,hosts=4", "clos3: it needs a number, tors=N"},
	    {"star:hosts=255", "star: a switch would have more than 254 ports"},
	    {"clos:leaves=12000,spines=24000,hosts=1",
	     "clos: a switch would have more than 254 ports"},
	    {"clos3:pods=1,tors=300,aggs=300,cores=1,hosts=1",
	     "clos3: a switch would have more than 254 ports"},
	    {"ring:switches=2", "ring: it has 3 switches at least, not 2"},
	    {"torus:size=", "torus: expected size= and 1 to 3 numbers, as 4x4x2"},
	    {"torus:size=4x", "torus: expected size= and 1 to 3 numbers, as 4x4x2"},
	    {"torus:size=x4", "torus: expected size= and 1 to 3 numbers, as 4x4x2"},
	    {"torus:size=4x4x4x4", "torus: expected size= and 1 to 3 numbers, as 4x4x2"},
	    {"torus:size=4x0", "torus: expected size= and 1 to 3 numbers, as 4x4x2"},
	    {"torus:hosts=4", "torus: it needs a number, size=N"},
	    {"mesh:size=49152x49152x49152,hosts=49152",
	     "mesh: it would have 5836783864327962624 nodes, at most 49152 are possible"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		assert_int_equal(vb_topo_shape(&topo, &config, row[i].shape, why, sizeof why),
				 -EINVAL);
		assert_string_equal(why, row[i].words);
		assert_int_equal(blocks, 0);
	}
	config.node_max = 35;
	assert_int_equal(vb_topo_shape(&topo, &config, "fat-tree:k=4", why, sizeof why), -EINVAL);
	assert_string_equal(why, "fat-tree: it would have 36 nodes, at most 35 are possible");
}

static void the_name_of_a_shape_is_known_from_that_of_a_file(void **state)
{
	(void)state;
	assert_true(vb_topo_is_shape("fat-tree:k=4"));
	assert_true(vb_topo_is_shape("clos"));
	assert_true(vb_topo_is_shape("mesh:nonsense"));
	assert_false(vb_topo_is_shape("net.txt"));
	assert_false(vb_topo_is_shape("./clos"));
	assert_false(vb_topo_is_shape("clos4:k=4"));
	assert_false(vb_topo_is_shape(""));
}

static void without_memory_nothing_is_left(void **state)
{
	long n = -1;
	int err;

	(void)state;
	do {
		allowed = ++n;
		err = vb_topo_shape(&topo, &config, "fat-tree:k=8", why, sizeof why);
		assert_true(err == 0 || (err == -ENOMEM && blocks == 0 && topo.node_cnt == 0));
	} while (err);
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(each_shape_has_its_nodes_and_cables),
	    TOPOLOGY_TEST(switches_come_first_and_names_have_four_digits),
	    TOPOLOGY_TEST(a_torus_wraps_and_a_mesh_does_not),
	    TOPOLOGY_TEST(cables_and_devices_are_what_the_caller_says),
	    TOPOLOGY_TEST(a_shape_that_is_none_is_refused),
	    TOPOLOGY_TEST(the_name_of_a_shape_is_known_from_that_of_a_file),
	    TOPOLOGY_TEST(without_memory_nothing_is_left),
	};

	return cmocka_run_group_tests_name("topology_shape", tests, NULL, NULL);
}
