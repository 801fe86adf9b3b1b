/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors in the text of a topology: each says where and what is wrong. GUIDs, files, limits. */
#include "topology_env.h"

#define S "Switch 4 \"S\"\n"
#define H "Ca 2 \"H\"\n"

struct refused {
	const char *text, *words;
};

static const struct refused lines[] = {
    {"", "there is no node in the text"},
    {"# only this\n", "there is no node in the text"},
    {"\n\nSwatch 4 \"S\"", "line 3, column 1: expected a node (Switch, Ca, Hca, Rt), a "
			   "port ([1]), or one of vendid, "
			   "devid, sysimgguid, switchguid, caguid, rtguid, width, speed, "
			   "extspeed, module, include"},
    {"Switch \"S\"", "line 1, column 8: expected how many ports the node has"},
    {"Switch\t : 0x0008f10403960558 ports 24 devid 0x5a06 vendid 0x8f1 \"ISR\"",
     "line 1, column 9: expected how many ports the node has"},
    {"Switch 0 \"S\"", "line 1, column 8: a node has 1 to 254 ports, not 0"},
    {"Switch 255 \"S\"", "line 1, column 8: a node has 1 to 254 ports, not 255"},
    {"Switch 99999999999999999999 \"S\"", "line 1, column 8: expected how many ports the node has"},
    {"Switch 4 S", "line 1, column 10: expected the name of the node in quotes"},
    {"Switch 4 \"S", "line 1, column 10: expected the name of the node in quotes"},
    {"Switch 4 \"\"", "line 1, column 11: the name is empty"},
    {"Switch 4 \"a@b\"", "line 1, column 11: a name has no '@': it marks another name of a port"},
    {"Switch 4 \"S\" base", "line 1, column 14: expected '#' and a description"},
    {"Switch 4 \"S\" # \"ab", "line 1, column 16: the description has no quote at its end"},
    {"Switch 4 \"S\" # \"a\" base port 0 lid 49152 lmc 0",
     "line 1, column 32: lid is at most 49151, not 49152"},
    {"Switch 4 \"S\" # \"a\" base port 0 lid 1 lmc 8",
     "line 1, column 38: lmc is at most 7, not 8"},
    {"Ca 1 \"H\" # \"12345678901234567890123456789012345678901234567890123456789012345\"",
     "line 1, column 12: the description has 65 bytes, at most 64 are allowed"},
    {"Ca 1 \"12345678901234567890123456789012345678901234567890123456789012345\"",
     "line 1, column 7: the name has more than 64 bytes"},
    {"[1] \"S\"[1]", "line 1, column 1: there is no node before this port"},
    {S "vendid=1\n[1] \"S\"[2]", "line 3, column 1: there is no node before this port"},
    {S "[x]", "line 2, column 2: expected the number of a port"},
    {S "[1", "line 2, column 3: expected ']' behind the number of the port"},
    {S "@1", "line 2, column 2: expected '[' and the number of a port"},
    {S "[0] \"H\"[1]", "line 2, column 2: \"S\" has ports 1 to 4, not 0"},
    {S "[5] \"H\"[1]", "line 2, column 2: \"S\" has ports 1 to 4, not 5"},
    {S "[1][ext x] \"H\"", "line 2, column 9: expected a number and ']' behind \"[ext\""},
    {S "[1]", "line 2, column 4: expected the name of the peer in quotes"},
    {S "[1] \"\"", "line 2, column 6: the name is empty"},
    {S "[1] \"H\"[0]", "line 2, column 9: a cable ends at port 1 to 254, not 0"},
    {S "[1] \"H\"[1](xyz)", "line 2, column 12: expected the GUID of a port and ')'"},
    {S "[1] \"H\"[1](0)", "line 2, column 13: expected the GUID of a port and ')'"},
    {S "[1] \"H\"[1] w=32", "line 2, column 12: expected w=1 to w=31, s=0 to s=7, e=0 to "
			    "e=31, or '#', not \"w=32\""},
    {S "[1] \"H\"[1] what", "line 2, column 12: expected w=1 to w=31, s=0 to s=7, e=0 to "
			    "e=31, or '#', not \"what\""},
    {S "[1] \"H\"[1] # \"H\" lid 4 3xEDR", "line 2, column 24: there is no link \"3xEDR\": "
					   "it is 1x, 2x, 4x, 8x or 12x, and SDR to "
					   "XDR, as 4xEDR"},
    {S "[1] \"H\"[1] # \"H\" lid 4 4xEDS", "line 2, column 24: there is no link \"4xEDS\": "
					   "it is 1x, 2x, 4x, 8x or 12x, and SDR to "
					   "XDR, as 4xEDR"},
    {S "@[1] H", "line 2, column 6: expected another name of the port in quotes"},
    {S "@[1] \"a#b\"", "line 2, column 7: another name of a port has no '@' and no '#'"},
    {"vendid 4", "line 1, column 8: expected '=' and a number"},
    {"vendid=x", "line 1, column 8: expected a number"},
    {"vendid=0x1000000", "line 1, column 8: the number is 0 to 16777215, not 16777216"},
    {"devid=65536", "line 1, column 7: the number is 0 to 65535, not 65536"},
    {"devid=1 2", "line 1, column 9: expected the end of the line behind the number"},
    {"width=32", "line 1, column 7: the number is 1 to 31, not 32"},
    {"speed=8", "line 1, column 7: the number is 1 to 7, not 8"},
    {"extspeed=32", "line 1, column 10: the number is 0 to 31, not 32"},
    {"switchguid 4", "line 1, column 11: expected '=' and a GUID"},
    {"switchguid=x", "line 1, column 12: expected a GUID, as 0x... or a number"},
    {"switchguid=0x0", "line 1, column 12: 0x0000000000000000 is no GUID of a node"},
    {"caguid=0xffffffffffffffff", "line 1, column 8: 0xffffffffffffffff is no GUID of a node"},
    {"switchguid=4(x)", "line 1, column 14: expected the GUID of port 0 and ')'"},
    {"switchguid=4 5", "line 1, column 14: expected the end of the line behind the GUID"},
    {"module=x", "line 1, column 8: expected a name in quotes"},
    {"module=\"a#\"",
     "line 1, column 9: a module has a name of at most 32 bytes without '#' and '@'"},
    {"include x", "line 1, column 9: expected the name of a file in quotes"},
    {"include \"x\"", "line 1, column 10: no file can be included here"},
    {"do Link", "line 1, column 3: \"do\" is a command to ibsim: a topology has nodes and "
		"cables only"},
};

static void a_line_that_cannot_be_read_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		refuse(lines[i].text, lines[i].words);
}

/* Also GUIDs that two ports, or two nodes, have. FAB-56 */
static void ends_that_do_not_agree_are_named_with_both_lines(void **state)
{
	static const struct refused row[] = {
	    {S H "Ca 1 \"S\"", "line 3: there is a node \"S\" in line 1 already"},
	    {S "[1] \"H\"[1]\n[1] \"H\"[2]\n" H,
	     "line 3, column 1: port 1 of \"S\" is in line 2 already"},
	    {S "[1] \"X\"[1]\n" H,
	     "line 2: port 1 of \"S\" leads to \"X\", but there is no such node"},
	    {S "[1] \"@x\"\n" H,
	     "line 2: port 1 of \"S\" leads to \"@x\", but there is no such node"},
	    {S "[2] \"H\"[3]\n" H,
	     "line 2: port 2 of \"S\" leads to port 3 of \"H\", which has ports 1 to 2 only"},
	    {S "[2] \"S\"[2]\n" H, "line 2: port 2 of \"S\" leads to itself"},
	    {S "[1] \"H\"[1]\n" H "[1] \"S\"[2]\n", "line 2: port 1 of \"S\" leads to port 1 of "
						    "\"H\", but by line 4 that leads to port 2 of "
						    "\"S\""},
	    {S "[1] \"H\"[1]\n[2] \"H\"[1]\n" H, "line 3: port 2 of \"S\" leads to port 1 of "
						 "\"H\", but so does port 1 of \"S\" in line 2"},
	    {S "@[1] \"x\"\n@[2] \"x\"\n",
	     "line 3: the name \"@x\" of a port is in line 2 already"},
	    {S "[1] \"H\"[1] w=1\n" H "[1] \"S\"[1] w=2\n",
	     "line 2: port 1 of \"S\" has a width that its other end in line 4 has not"},
	    {S "[1] \"H\"[1] # \"H\" lid 0 4xEDR\n" H "[1] \"S\"[1] # \"S\" lid 0 4xHDR\n",
	     "line 2: port 1 of \"S\" has a speed that its other end in line 4 has not"},
	    {S "[1] \"H\"[1] # \"H\" lid 7 4xEDR\n" H
	       "[1] \"S\"[1] # lid 8 lmc 0 \"S\" lid 0 4xEDR\n",
	     "line 2: LID 7 for \"H\", which has LID 8 by another line"},
	    {S "[1] \"H\"[1](21)\n" H "[1](22) \"S\"[1]\n",
	     "line 2: GUID 0x21 for port 1 of \"H\", which has 0x22 by another line"},
	    {"caguid=0x20\n" H "caguid=0x20\nCa 1 \"G\"",
	     "line 4: \"G\" and \"H\" in line 2 have the same GUID 0x20"},
	    {H "[1](20) \"G\"[1]\nCa 1 \"G\"\n[1](20) \"H\"[1]\n",
	     "line 3: \"G\" and \"H\" in line 1 have the same GUID 0x20"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		refuse(row[i].text, row[i].words);
}

static void a_file_is_named_and_what_cannot_be_printed_is_not_printed(void **state)
{
	char small[12];

	(void)state;
	config.file = "net.txt";
	refuse(S "[1] \"X\033[2J\"[1]\n",
	       "net.txt, line 2: port 1 of \"S\" leads to \"X?[2J\", but there is no such node");
	assert_int_equal(vb_topo_parse(&topo, &config, "x", 1, small, sizeof small), -EINVAL);
	assert_string_equal(small, "net.txt, li");
	assert_int_equal(vb_topo_parse(&topo, &config, "x", 1, NULL, 0), -EINVAL);
	parse(S);
}

static void limits_hold(void **state)
{
	char line[5000];

	(void)state;
	config.node_max = 2;
	refuse(S H "Ca 1 \"G\"", "line 3: there are more than 2 nodes");
	config.node_max = 3;
	config.port_max = 6;
	refuse(S H "Ca 1 \"G\"", "line 3: the nodes have more than 6 ports together");
	parse(S H);
	vb_topo_free(&topo);
	memset(line, '#', sizeof line);
	assert_int_equal(vb_topo_parse(&topo, &config, line, 4097, why, sizeof why), -EINVAL);
	assert_string_equal(why, "line 1: the line has more than 4096 bytes");
	assert_int_equal(vb_topo_parse(&topo, &config, "#\n#\0", 4, why, sizeof why), -EINVAL);
	assert_string_equal(why, "line 2: there is a zero byte: this is no text");
	assert_int_equal(vb_topo_parse(&topo, &config, line, VB_TOPO_TEXT_MAX + 1, why, sizeof why),
			 -EINVAL);
	assert_string_equal(why, "there is more text than 67108864 bytes");
}

/* Files that a line includes. */
static int included;
static int include(void *ctx, const char *file, const char **text, size_t *len)
{
	(void)ctx;
	included++;
	if (strcmp(file, "none") == 0)
		return -ENOENT;
	*text = strcmp(file, "again") == 0   ? "include \"again\"\n"
		: strcmp(file, "empty") == 0 ? ""
					     : "\n" H "[1] \"S\"[1]\nbad\n";
	*len = strlen(*text);
	if (strcmp(file, "good") == 0)
		*len -= strlen("bad\n");
	return 0;
}

static void a_file_is_included_where_the_line_stands(void **state)
{
	char many[32000] = "";

	(void)state;
	config.include = include;
	parse(S "include \"good\"\nCa 1 \"G\"\n");
	assert_int_equal(topo.node_cnt, 3);
	assert_int_equal(topo.link_cnt, 1);
	assert_string_equal(topo.node[1].name, "H");
	vb_topo_free(&topo);
	refuse(S "include \"good\"\n[1] \"H\"[1]\n",
	       "line 3, column 1: there is no node before this port");
	refuse(S "include \"good\"\n" H, "line 3: there is a node \"H\" in good, line 2 already");
	assert_int_equal(vb_topo_parse(&topo, &config, "include \"bad\"", 13, why, sizeof why),
			 -EINVAL);
	assert_memory_equal(why, "bad, line 4, column 1: expected a node", 38);
	assert_int_equal(vb_topo_parse(&topo, &config, "include \"none\"", 14, why, sizeof why),
			 -ENOENT);
	assert_string_equal(why, "line 1, column 10: the file \"none\" cannot be read");
	included = 0;
	refuse("include \"again\"",
	       "again, line 1, column 10: files are included 8 deep and 1024 in all at most");
	assert_int_equal(included, 8);
	for (int i = 0; i < 1025; i++)
		strcat(many, "include \"empty\"\n"); /* 16 bytes each */
	refuse(many, "line 1025, column 10: files are included 8 deep and 1024 in all at most");
}

static void guids_are_taken_from_names_and_counted_on(void **state)
{
	(void)state;
	parse("Ca 2 \"H-00000000000000ab\"\nSwitch 2 \"S-0\"\nhcaguids=0x1000\nCa 2 \"a\"\nCa 1 "
	      "\"b\"\n"
	      "hcaguids+0x20\nCa 1 \"c\"\nswitchguid=0x2000(2fff)\nSwitch 2 \"S-1\"\nSwitch 2 "
	      "\"S-2\"\n"
	      "rtguid=7\nRt 1 \"r\"\nCa 1 \"H-00000000000000cd\"\n");
	assert_int_equal(node("H-00000000000000ab")->node_guid, 0xab);
	assert_int_equal(node("H-00000000000000ab")->port[2].guid, 0xad);
	assert_int_equal(node("S-0")->node_guid, VB_TOPO_GUID_BASE);
	assert_int_equal(node("S-0")->port[2].guid, VB_TOPO_GUID_BASE);
	assert_int_equal(node("a")->node_guid, 0x1000);
	assert_int_equal(node("b")->node_guid, 0x1003);
	assert_int_equal(node("c")->node_guid, 0x1020);
	assert_int_equal(node("S-1")->node_guid, 0x2000);
	assert_int_equal(node("S-1")->port[0].guid, 0x2fff);
	assert_int_equal(node("S-1")->port[1].guid, 0x2fff);
	assert_int_equal(node("S-2")->node_guid, 0x2001);
	assert_int_equal(node("S-2")->port[0].guid, 0x2001);
	assert_int_equal(node("r")->node_guid, 7);
	assert_int_equal(node("H-00000000000000cd")->node_guid, 0xcd);
}

static void the_last_guids_are_not_passed(void **state)
{
	(void)state;
	parse("caguid=0xffffffffffffff01\nCa 254 \"a\"\nSwitch 1 \"H-ffffffffffffffff\"\n"
	      "Switch 1 \"H-0x00000000000012\"\n");
	assert_int_equal(node("a")->port[254].guid, UINT64_MAX);
	assert_int_equal(topo.node[1].node_guid, VB_TOPO_GUID_BASE);
	assert_int_equal(topo.node[2].node_guid, VB_TOPO_GUID_BASE + 256);
	vb_topo_free(&topo);
	refuse("caguid=0xffffffffffffff01\nCa 254 \"a\"\nCa 1 \"b\"\n",
	       "line 3, column 9: there is no GUID behind 0xffffffffffffff01 for \"b\"");
	refuse("caguid=0xffffffffffffff01\ncaguid+0xff\n",
	       "line 2, column 8: 0x0000000000000000 is no GUID of a node");
	assert_int_equal(vb_topo_parse(&topo, &config, NULL, 0, why, sizeof why), -EINVAL);
	assert_string_equal(why, "there is no node in the text");
}

static void blocks_of_guids_begin_where_they_are_told_and_pass_over_what_is_used(void **state)
{
	(void)state;
	config.guid_base = 0x1000;
	/* 0x1100 ... 0x11ff has a GUID in it; port 2 of "y" would have that of port 1 of "x" */
	parse(
	    "Ca 1 \"a\"\ncaguid=0x11ff\nCa 2 \"x\"\n[1](5002) \"a\"[1]\ncaguid=0x5000\nCa 2 \"y\"\n"
	    "Switch 1 \"b\"\nRt 1 \"c\"\n");
	assert_int_equal(node("a")->node_guid, 0x1000);
	assert_int_equal(node("a")->port[1].guid, 0x1001);
	assert_int_equal(node("x")->port[1].guid, 0x5002);
	assert_int_equal(node("x")->port[2].guid, 0x1201);
	assert_int_equal(node("y")->port[1].guid, 0x5001);
	/* The block of 0x1200 has the computed GUID of port 2 of "x" in it. */
	assert_int_equal(node("b")->node_guid, 0x1300);
	assert_int_equal(node("c")->node_guid, 0x1400);
	assert_int_equal(node("y")->port[2].guid, 0x1502);
	check_fixed_point();
	vb_topo_free(&topo);
	config.guid_base = UINT64_MAX - 300;
	refuse("Ca 1 \"a\"\nCa 1 \"b\"\n", "line 2: there is no GUID left for \"b\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(a_line_that_cannot_be_read_is_named),
	    TOPOLOGY_TEST(ends_that_do_not_agree_are_named_with_both_lines),
	    TOPOLOGY_TEST(a_file_is_named_and_what_cannot_be_printed_is_not_printed),
	    TOPOLOGY_TEST(limits_hold),
	    TOPOLOGY_TEST(a_file_is_included_where_the_line_stands),
	    TOPOLOGY_TEST(guids_are_taken_from_names_and_counted_on),
	    TOPOLOGY_TEST(the_last_guids_are_not_passed),
	    TOPOLOGY_TEST(blocks_of_guids_begin_where_they_are_told_and_pass_over_what_is_used),
	};

	return cmocka_run_group_tests_name("topology_refuse", tests, NULL, NULL);
}
