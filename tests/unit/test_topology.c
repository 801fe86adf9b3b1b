/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies of InfiniBand subnets as text: what ibnetdiscover prints, ibsim's short form, and the
 * way back to text. The files in tests/data/topology named after ibnetdiscover are what that of
 * rdma-core 44 printed of a subnet that OpenSM had brought up.
 */
#include "topology_env.h"

#include "wire/ib/rate.h"

#define DATA TEST_DATA "/topology/"

static void the_short_form_joins_a_switch_and_two_adapters(void **state)
{
	const struct vb_topo_node *s, *h;

	(void)state;
	parse(
	    "Switch 8 \"S-0\"\n[1] \"H-0\"[1]\n[4]\t\"H-1\" [2]\n\nHca 2 \"H-0\"\n[1] \"S-0\"[1]\n"
	    "Ca\t2 \"H-1\"\r\n[2] \"S-0\"[4]\r\n# the end\n");
	assert_int_equal(topo.node_cnt, 3);
	assert_int_equal(topo.link_cnt, 2);
	s = node("S-0");
	h = node("H-1");
	assert_int_equal(s->type, VB_NODE_SWITCH);
	assert_int_equal(s->port_cnt, 8);
	assert_string_equal(s->desc, "S-0");
	assert_int_equal(h->type, VB_NODE_CA);
	assert_ptr_equal(&topo.node[s->port[4].peer], h);
	assert_int_equal(s->port[4].peer_port, 2);
	assert_ptr_equal(&topo.node[h->port[2].peer], s);
	assert_int_equal(h->port[2].peer_port, 4);
	assert_int_equal(h->port[2].width, VB_IB_4X);
	assert_int_equal(h->port[2].speed, VB_IB_EDR);
	assert_int_equal(h->port[1].peer, VB_TOPO_NO_PEER);
	assert_int_equal(h->port[1].peer_port, 0);
	assert_int_equal(h->port[1].width, 0);
	assert_int_equal(h->port[1].speed, 0);
	assert_int_equal(s->port[2].peer, VB_TOPO_NO_PEER);
}

static void what_ibnetdiscover_printed_is_read_whole(void **state)
{
	const struct vb_topo_node *s, *h;

	(void)state;
	parse_file(DATA "ibnetdiscover.txt");
	assert_int_equal(topo.node_cnt, 36);
	assert_int_equal(topo.link_cnt, 48);
	s = node("S-7662000000010700");
	assert_string_equal(s->desc, "S-0007");
	assert_int_equal(s->node_guid, 0x7662000000010700);
	assert_int_equal(s->system_guid, 0x7662000000010700);
	assert_int_equal(s->port[0].guid, 0x7662000000010700);
	assert_int_equal(s->port[3].guid, 0x7662000000010700);
	assert_int_equal(s->port[0].lid, 9);
	assert_int_equal(s->port[3].lid, 0);
	assert_false(s->enhanced_port0);
	h = node("H-0014");
	assert_string_equal(h->name, "H-7662000000012200");
	assert_int_equal(h->port[1].lid, 35);
	assert_int_equal(h->port[1].guid, 0x7662000000012201);
	assert_ptr_equal(&topo.node[h->port[1].peer], s);
	assert_int_equal(h->port[1].peer_port, 1);
}

static void what_ibnetdiscover_printed_is_written_byte_for_byte(void **state)
{
	size_t len;
	char *text = whole_file(DATA "ibnetdiscover.txt", &len);

	(void)state;
	parse_bytes(text, len);
	/* but for the comments at its head, which tell when and from where it was found */
	assert_string_equal(strstr(written(), "\nvendid"), strstr(text, "\nvendid"));
	free(text);
}

static void the_other_outputs_of_ibnetdiscover_say_the_same(void **state)
{
	char *plain;

	(void)state;
	parse_file(DATA "ibnetdiscover.txt");
	plain = strdup(written());
	parse_file(DATA "ibnetdiscover-full.txt");
	assert_string_equal(written(), plain);
	parse_file(DATA "ibnetdiscover-grouping.txt");
	assert_string_equal(written(), plain);
	free(plain);
}

static void numbers_on_the_chassis_and_notes_of_xsigo_are_passed_over(void **state)
{
	(void)state;
	parse("Chassis 1 (guid 0x8f10400411a08)\nHostname: a b\n\n# Spine Nodes\n"
	      "switchguid=0x12(12)\t# ISR2012 spine 1\n"
	      "Switch 24 \"S-0000000000000012\"\t\t# \"ISR\" enhanced port 0 lid 7 lmc 2\n"
	      "[1][ext 14]\t\"H-0000000000000020\"[1][ext 3](21) \t\t# \"a\" lid 4 4xDDR slot 1\n"
	      "\nNon-Chassis Nodes\n\ncaguid=0x20\n"
	      "Ca\t1 \"H-0000000000000020\"\t\t# \"a\" (scp)\n"
	      "[1](21) \t\"S-0000000000000012\"[1][ext 14]\t\t# lid 4 lmc 1 \"ISR\" lid 7 4xDDR "
	      "(scp)\n");
	assert_int_equal(topo.link_cnt, 1);
	assert_true(node("ISR")->enhanced_port0);
	assert_int_equal(node("ISR")->port[0].lmc, 2);
	assert_int_equal(node("a")->port[1].lmc, 1);
	assert_int_equal(node("a")->port[1].speed, VB_IB_DDR);
}

static void vendors_and_devices_are_of_the_nodes_after_them(void **state)
{
	(void)state;
	config.vendor_id = 0x123;
	config.device_id = 0x45;
	parse("Ca 1 \"a\"\nvendid=0x2c9\ndevid=4123\nsysimgguid=0x77\nCa 1 \"b\"\nCa 1 \"c\"\n");
	assert_int_equal(node("a")->vendor_id, 0x123);
	assert_int_equal(node("a")->device_id, 0x45);
	assert_int_equal(node("a")->system_guid, node("a")->node_guid);
	assert_int_equal(node("b")->vendor_id, 0x2c9);
	assert_int_equal(node("b")->device_id, 4123);
	assert_int_equal(node("b")->system_guid, 0x77);
	assert_int_equal(node("c")->device_id, 4123);
	assert_int_equal(node("c")->system_guid, node("c")->node_guid);
}

/* Two adapters and what the line of one says of the cable. */
static const struct vb_topo_port *cable(const char *rest, const char *other)
{
	char text[512];

	snprintf(text, sizeof text, "Ca 1 \"a\"\n[1] \"b\"[1] %s\nCa 1 \"b\"\n%s%s\n", rest,
		 other ? "[1] \"a\"[1] " : "", other ? other : "");
	parse(text);
	assert_int_equal(topo.node[0].port[1].width, topo.node[1].port[1].width);
	assert_int_equal(topo.node[0].port[1].speed, topo.node[1].port[1].speed);
	assert_int_equal(topo.node[1].port[1].peer, 0);
	return &topo.node[0].port[1];
}

static void each_width_and_speed_is_read_and_written(void **state)
{
	static const char *const lanes[] = {"1x", "4x", "8x", "12x", "2x"};
	static const char *const speed[] = {"SDR", "DDR", "QDR", "FDR10", "FDR",
					    "EDR", "HDR", "NDR", "XDR"};

	(void)state;
	for (uint32_t w = 0; w < 5; w++) {
		for (uint32_t s = 0; s < 9; s++) {
			const struct vb_topo_port *port;
			char rest[64];

			snprintf(rest, sizeof rest, "# lid 0 lmc 0 \"b\" lid 0 %s%s", lanes[w],
				 speed[s]);
			port = cable(rest, rest);
			assert_int_equal(port->width, 1 << w);
			assert_int_equal(port->speed, 1 << s);
			assert_non_null(strstr(written(), rest));
		}
	}
}

static void a_rate_that_ibnetdiscover_does_not_know_says_nothing(void **state)
{
	(void)state;
	config.width = VB_IB_12X;
	config.speed = VB_IB_NDR;
	assert_int_equal(cable("# \"b\" lid 0 ?????", NULL)->width, VB_IB_12X);
	assert_int_equal(topo.node[0].port[1].speed, VB_IB_NDR);
	assert_int_equal(cable("# \"b\" lid 0 1x???", NULL)->width, VB_IB_1X);
	assert_int_equal(topo.node[0].port[1].speed, VB_IB_NDR);
	assert_int_equal(cable("# \"b\" lid 0 ??HDR", NULL)->speed, VB_IB_HDR);
}

static void the_end_that_speaks_speaks_for_both(void **state)
{
	(void)state;
	assert_int_equal(cable("# \"b\" lid 3 1xHDR", NULL)->speed, VB_IB_HDR);
	assert_int_equal(topo.node[0].port[1].width, VB_IB_1X);
	assert_int_equal(topo.node[1].port[1].lid, 3);
	assert_int_equal(cable("", "# \"a\" lid 5 2xQDR")->speed, VB_IB_QDR);
	assert_int_equal(topo.node[0].port[1].lid, 5);
}

static void options_are_what_an_end_allows_and_the_best_of_both_is_taken(void **state)
{
	(void)state;
	assert_int_equal(cable("w=3 s=7", "w=1")->width, VB_IB_1X);
	assert_int_equal(topo.node[0].port[1].speed, VB_IB_QDR);
	assert_int_equal(cable("w=31", "w=31 s=3")->width, VB_IB_12X);
	assert_int_equal(topo.node[0].port[1].speed, VB_IB_DDR);
	assert_int_equal(cable("w=18", NULL)->width,
			 VB_IB_4X); /* 2X or 4X, by lanes and not by code */
	assert_int_equal(cable("s=7 e=6", "s=7 e=3")->speed, VB_IB_EDR);
	assert_int_equal(cable("s=7 e=6", "s=7")->speed, VB_IB_QDR);
	/* ibnetdiscover --full: the code of LinkSpeedActive beside the real speed */
	assert_int_equal(cable("# \"b\" lid 0 4xFDR s=4 w=2 v=4", NULL)->speed, VB_IB_FDR);
}

static void keywords_are_for_cables_of_which_neither_end_says_more(void **state)
{
	(void)state;
	parse("width=1\nspeed=3\nCa 1 \"a\"\n[1] \"b\"[1]\nwidth=3\nextspeed=2\nCa 1 \"b\"\n"
	      "[1] \"a\"[1]\nCa 1 \"c\"\n[1] \"d\"\nCa 1 \"d\"\nCa 1 \"e\"\n[1] \"f\" w=8\nCa 1 "
	      "\"f\"\n");
	assert_int_equal(node("a")->port[1].width, VB_IB_1X);
	assert_int_equal(node("a")->port[1].speed, VB_IB_DDR);
	assert_int_equal(node("c")->port[1].width, VB_IB_4X);
	assert_int_equal(node("c")->port[1].speed, VB_IB_EDR);
	assert_int_equal(node("e")->port[1].width, VB_IB_12X);
}

static void modules_and_names_of_ports_are_read_as_ibsim_does(void **state)
{
	const struct vb_topo_node *left, *right;

	(void)state;
	parse_file(DATA "short.net");
	assert_int_equal(topo.node_cnt, 5);
	assert_int_equal(topo.link_cnt, 5);
	left = node("left#sw");
	right = node("right#sw");
	assert_ptr_equal(&topo.node[left->port[8].peer], right);
	assert_int_equal(right->port[8].peer_port, 8);
	assert_ptr_equal(&topo.node[left->port[1].peer], node("left#a"));
	assert_ptr_equal(&topo.node[right->port[1].peer], node("right#a"));
	assert_ptr_equal(&topo.node[right->port[2].peer], node("the slow one"));
	assert_int_equal(left->port[2].width, VB_IB_1X);
	assert_int_equal(right->port[2].speed, VB_IB_DDR);
	assert_int_equal(right->port[1].speed, VB_IB_QDR);
	assert_int_equal(left->node_guid, 0x300000);
	assert_int_equal(right->node_guid, 0x300001);
	assert_int_equal(node("left#a")->node_guid, 0x200000);
	assert_int_equal(node("left#b")->node_guid, 0x200003);
}

static void each_name_of_a_port_is_found(void **state)
{
	(void)state;
	parse("Switch 5 \"s\"\n@[3] \"c\"\n@[1] \"a\"\n@[5] \"e\"\n@[2] \"b\"\n@[4] \"d\"\n"
	      "Switch 5 \"t\"\n[1] \"@e\"\n[2] \"@d\"\n[3] \"@c\"\n[4] \"@b\"\n[5] \"@a\"\n");
	assert_int_equal(topo.link_cnt, 5);
	for (uint32_t p = 1; p <= 5; p++)
		assert_int_equal(node("t")->port[p].peer_port, 6 - p);
}

static void descriptions_have_what_they_like_in_them(void **state)
{
	(void)state;
	parse("Switch 2 \"s\" # \"a \"quoted\" # lid 4 lmc 1 name\" base port 0 lid 9 lmc 0\n"
	      "[1] \"h\"[1] # \"x \"y\" lid 3 4xSDR\" lid 5 4xEDR\n"
	      "Ca 1 \"h\" # \"\"\nCa 1 \"g\" # MT25208 Infini\nSwitch 1 \"t\"\t# MT47396  base "
	      "port 0 lid 6 lmc 0\n");
	assert_string_equal(node("s")->desc, "a \"quoted\" # lid 4 lmc 1 name");
	assert_int_equal(node("s")->port[0].lid, 9);
	assert_int_equal(node("h")->port[1].lid, 5);
	assert_int_equal(node("h")->port[1].speed, VB_IB_EDR);
	assert_string_equal(node("h")->desc, "");
	assert_string_equal(node("g")->desc, "MT25208 Infini");
	assert_string_equal(node("t")->desc, "MT47396");
	assert_int_equal(node("t")->port[0].lid, 6);
}

static void comments_of_people_mean_nothing(void **state)
{
	(void)state;
	assert_int_equal(cable("# the lid is open, 2x2 grid, e=mc2, 12 m", NULL)->speed, VB_IB_EDR);
	assert_int_equal(topo.node[1].port[1].lid, 0);
}

static void text_that_was_written_is_a_fixed_point(void **state)
{
	static const char *const text[] = {
	    "Switch 8 \"S-0\" # \"a \"b\" lid 4\" enhanced port 0 lid 3 lmc 7\n[1] \"S-0\"[2]\n"
	    "[3] \"r\"[1] # \"\" lid 8 2xFDR10\n[4] \"h\"[2]\nRt 2 \"r\"\nCa 254 \"h\"\n"
	    "[9] \"h\"[8] # lid 0 lmc 3\nSwitch 1 \"m#n\"\n",
	    /* GUIDs that meet those that are counted and computed */
	    "caguid=0x7662000000010000\nCa 2 \"a\"\n[1] \"b\"[1]\ncaguid=0x7662000000010001\n"
	    "Ca 2 \"b\"\nRt 3 \"c\"\nSwitch 1 \"d\"\ncaguid=0x76620000000101ff\nCa 4 \"e\"\n",
	    "vendid=0xffffff\ndevid=0xffff\nsysimgguid=0xffffffffffffffff\nCa 1 "
	    "\"H-0123456789abcdef\"\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		parse(text[i]);
		check_fixed_point();
	}
	parse_file(DATA "short.net");
	check_fixed_point();
}

static void a_sink_that_fails_ends_the_writing(void **state)
{
	(void)state;
	parse_file(DATA "ibnetdiscover.txt");
	sink_limit = 2;
	assert_int_equal(vb_topo_write(&topo, sink, NULL), -EIO);
	assert_int_equal(sink_limit, -1);
}

static void nodes_are_found_by_name_description_and_guid(void **state)
{
	(void)state;
	parse(
	    "caguid=0x20\nCa 2 \"a\" # \"the one\"\nCa 1 \"b\" # \"twin\"\nCa 1 \"c\" # \"twin\"\n"
	    "Ca 1 \"d\" # \"a\"\ncaguid=0x1234567890abcdef\nCa 1 \"e\" # \"0x21\"\n");
	assert_string_equal(node("a")->name, "a");
	assert_string_equal(node("the one")->name, "a");
	assert_null(vb_topo_find(&topo, "twin"));
	assert_null(vb_topo_find(&topo, "nobody"));
	assert_null(vb_topo_find(&topo, ""));
	assert_string_equal(node("0x20")->name, "a");
	assert_string_equal(node("0x0022")->name, "a"); /* of its port 2 */
	assert_string_equal(node("1234567890ABCDEF")->name, "e");
	assert_string_equal(node("0x21")->name, "e"); /* a description comes first */
	assert_null(vb_topo_find(&topo, "20"));
	assert_null(vb_topo_find(&topo, "0x"));
	assert_null(vb_topo_find(&topo, "0x20g"));
}

static void without_memory_nothing_is_left(void **state)
{
	size_t len;
	char *text = whole_file(DATA "short.net", &len);
	long n = -1;
	int err;

	(void)state;
	do {
		allowed = ++n;
		err = vb_topo_parse(&topo, &config, text, len, why, sizeof why);
		assert_true(err == 0 || (err == -ENOMEM && blocks == 0 && topo.node_cnt == 0));
	} while (err);
	assert_true(n > 5);
	free(text);
}

static void ten_thousand_nodes_are_read(void **state)
{
	(void)state;
	assert_int_equal(
	    vb_topo_shape(&topo, &config, "clos:leaves=250,spines=100,hosts=39", why, sizeof why),
	    0);
	assert_int_equal(topo.node_cnt, 10100);
	check_fixed_point();
	assert_int_equal(topo.link_cnt, 250 * 139);
	assert_int_equal(node("S-0249")->port_cnt, 139);
	assert_int_equal(node("H-9749")->port[1].peer_port, 39);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(the_short_form_joins_a_switch_and_two_adapters),
	    TOPOLOGY_TEST(what_ibnetdiscover_printed_is_read_whole),
	    TOPOLOGY_TEST(what_ibnetdiscover_printed_is_written_byte_for_byte),
	    TOPOLOGY_TEST(the_other_outputs_of_ibnetdiscover_say_the_same),
	    TOPOLOGY_TEST(numbers_on_the_chassis_and_notes_of_xsigo_are_passed_over),
	    TOPOLOGY_TEST(vendors_and_devices_are_of_the_nodes_after_them),
	    TOPOLOGY_TEST(each_width_and_speed_is_read_and_written),
	    TOPOLOGY_TEST(a_rate_that_ibnetdiscover_does_not_know_says_nothing),
	    TOPOLOGY_TEST(the_end_that_speaks_speaks_for_both),
	    TOPOLOGY_TEST(options_are_what_an_end_allows_and_the_best_of_both_is_taken),
	    TOPOLOGY_TEST(keywords_are_for_cables_of_which_neither_end_says_more),
	    TOPOLOGY_TEST(modules_and_names_of_ports_are_read_as_ibsim_does),
	    TOPOLOGY_TEST(each_name_of_a_port_is_found),
	    TOPOLOGY_TEST(descriptions_have_what_they_like_in_them),
	    TOPOLOGY_TEST(comments_of_people_mean_nothing),
	    TOPOLOGY_TEST(text_that_was_written_is_a_fixed_point),
	    TOPOLOGY_TEST(a_sink_that_fails_ends_the_writing),
	    TOPOLOGY_TEST(nodes_are_found_by_name_description_and_guid),
	    TOPOLOGY_TEST(without_memory_nothing_is_left),
	    TOPOLOGY_TEST(ten_thousand_nodes_are_read),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
