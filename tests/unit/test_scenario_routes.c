/* SPDX-License-Identifier: BSD-2-Clause */
/* Topologies and tables from files: what becomes of them in the simulator, and what is refused. */
#include "cmocka_env.h"
#include "fabric/ib/forward.h"
#include "scenario/fabric/fabric.h"
#include "scenario/fabric/file.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct vb_fabric fabric;
static struct vb_sim_topo links;
static struct vb_fabric_error fault;

static void *alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int fabric_open(const char *text)
{
	const struct vb_topo_config config = {.alloc = alloc, .free = release};
	const struct vb_sim_memory memory = {alloc, release, NULL};
	const struct vb_cable cable = {.delay = 10}, trunk = {.delay = 20};
	struct vb_topo topo;
	char why[200] = "";

	if (vb_topo_parse(&topo, &config, text, strlen(text), why, sizeof why))
		fail_msg("%s", why);
	return vb_fabric_create(&fabric, &topo, &cable, &trunk, &links, &memory, &fault);
}

static int fabric_close(void **state)
{
	(void)state;
	vb_fabric_free(&fabric);
	free(links.link);
	free(links.subnet);
	links.link = NULL;
	links.subnet = NULL;
	return 0;
}

/* Two switches, whose cable is at port 3 of the one and port 1 of the other; an adapter with two
 * ports, and what has no cable. */
static const char two_switches[] = "Switch 4 \"A\"\n[3] \"B\"[1]\n[1] \"X\"[1]\n\n"
				   "Switch 4 \"B\"\n[2] \"X\"[2]\n[4] \"Y\"[1]\n\n"
				   "Switch 4 \"C\"\n\nCa 2 \"X\"\n\nCa 1 \"Y\"\n\nCa 1 \"Z\"\n";

static void fabric__is_hosts_switches_and_cables(void **state)
{
	(void)state;
	assert_int_equal(fabric_open(two_switches), 0);
	assert_int_equal(links.host_cnt, 3);
	assert_int_equal(links.switch_cnt, 2);
	assert_int_equal(links.link_cnt, 4);
	assert_string_equal(vb_fabric_name(&fabric, 1), "X");
	assert_int_equal(fabric.port[1], 2);
	assert_string_equal(vb_fabric_name(&fabric, 2), "Y");
	assert_string_equal(vb_fabric_name(&fabric, 4), "B");
	for (uint32_t i = 0; i < links.link_cnt; i++) {
		bool is_trunk = links.link[i].a >= 3;

		/* 4X EDR; a host comes first. */
		assert_true(links.link[i].cable.rate_bps == 100000000000);
		assert_true(links.link[i].b >= 3);
		assert_int_equal(links.link[i].cable.delay, is_trunk ? 20 : 10);
	}
	/* Port 1 of B has the first of its cables, port 2 the second. */
	assert_int_equal(fabric.number[256 + 1], fabric.number[256 + 2] - 1);
	assert_int_equal(fabric.number[3], 2);
	assert_int_equal(fabric.number[2], 0);
}

static void fabric__hangs_together(void **state)
{
	(void)state;
	assert_int_equal(
	    fabric_open("Switch 4 \"A\"\n[1] \"X\"[1]\n\nSwitch 4 \"B\"\n[1] \"Y\"[1]\n\n"
			"Ca 1 \"X\"\n\nCa 1 \"Y\"\n"),
	    -EINVAL);
	assert_string_equal(fault.text, "'Y' cannot be reached from 'X'");
	fabric_close(NULL);
	assert_int_equal(fabric_open("Switch 4 \"A\"\n[1] \"B\"[1]\n\nSwitch 4 \"B\"\n"), -EINVAL);
	assert_string_equal(fault.text, "no adapter has a cable");
	fabric_close(NULL);
	assert_int_equal(fabric_open("Ca 1 \"X\"\n[1] \"R\"[1]\nRt 2 \"R\"\n"), 0);
	assert_true(links.switch_cnt == 1 && links.router_cnt == 1 && links.subnet[0] == 0);
	fabric_close(NULL);
	assert_int_equal(fabric_open("Switch 4 \"A\"\n[1] \"A\"[2]\n[3] \"X\"[1]\n\nCa 1 \"X\"\n"),
			 -EINVAL);
	assert_string_equal(fault.text, "port 1 of 'A' leads to the same node");
}

#define GUID_A "0x7662000000010000"
#define GUID_B "0x7662000000010100"
#define HEAD_A "Unicast lids [0-9] of switch Lid 1 guid " GUID_A " ('A'):\n"
#define HEAD_B "Unicast lids [0-9] of switch Lid 2 guid " GUID_B " ('B'):\n"
#define TO_X1 "# Channel Adapter portguid 0x7662000000010301: 'X'\n"
#define TO_X2 "# Channel Adapter portguid 0x7662000000010302: 'X'\n"
#define TO_Y "# Channel Adapter portguid 0x7662000000010401: 'Y'\n"
#define TABLE_A HEAD_A "0x0003 001 " TO_X1 "0x0004 003 " TO_X2 "0x0005 003 " TO_Y "3 lids dumped\n"
#define TABLE_B HEAD_B "0x0003 001 " TO_X1 "0x0004 002 " TO_X2 "0x0005 004 " TO_Y

static int lfts_read(const char *text)
{
	return vb_fabric_read_lfts(&fabric, text, strlen(text), &fault);
}

static void lfts__are_by_host_and_port(void **state)
{
	static const char numbered[] = "  Lid  Out   Destination\n       Port     Info \n" TABLE_A
				       "\n" TABLE_B "0x0006 001 " TO_Y;

	(void)state;
	assert_int_equal(fabric_open(two_switches), 0);
	assert_int_equal(lfts_read(numbered), 0);
	/* A: the cable of port 1 is its second one, that of port 3 the first... as cables come. */
	assert_int_equal(fabric.out[0], fabric.number[1]);
	assert_int_equal(fabric.out[1], fabric.number[3]);
	assert_int_equal(fabric.out[3 + 0], fabric.number[256 + 1]);
	/* The first LID of a port is the one that counts. */
	assert_int_equal(fabric.out[3 + 2], fabric.number[256 + 4]);
	assert_int_equal(fabric.host_of_lid[4], 2);
	assert_int_equal(fabric.host_of_lid[6], 3);
}

static void lfts__what_is_wrong_is_said_with_its_line(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *why;
	} t[] = {
	    {"0x0003 001 " TO_X1, 1, "an entry before the first 'Unicast lids ... guid 0x...'"},
	    {HEAD_A "0x0003 002 " TO_X1, 2, "port 2 of 'A' has no cable"},
	    {HEAD_A "\n0x0003 001 portguid 0x99", 3,
	     "the topology has no port with GUID 0x0000000000000099"},
	    {"Unicast lids of switch Lid 1 guid 0x12 ('A'):", 1,
	     "the topology has no switch with GUID 0x0000000000000012"},
	    {"Unicast lids of switch Lid 1 guid 0x7662000000010301 ('X'):", 1,
	     "the topology has no switch with GUID 0x7662000000010301"},
	    {"Unicast lids of a switch\n", 1, "a table begins with the GUID of its switch"},
	    {HEAD_A "0x0000 001 " TO_X1, 2,
	     "an entry is a LID, a port and a port GUID, as in '0x0001 003 # Channel Adapter "
	     "portguid 0x...'"},
	    {HEAD_A "0x0003 256 " TO_X1, 2,
	     "an entry is a LID, a port and a port GUID, as in '0x0001 003 # Channel Adapter "
	     "portguid 0x...'"},
	    {"Switch\n", 1, "'Switch' is no line of a dump of forwarding tables"},
	    {"\r\n\033[2J\tX\n", 2, "'?[2J X' is no line of a dump of forwarding tables"},
	    {TABLE_A, 0, "no table of switch 'B'"},
	    {HEAD_A "0x0003 001 " TO_X1 HEAD_B "0x0005 004 " TO_Y, 0,
	     "no table leads to 'X' port 2"},
	    {"", 0, "no table of switch 'A'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		assert_int_equal(fabric_open(two_switches), 0);
		assert_int_equal(lfts_read(t[i].text), -EINVAL);
		assert_string_equal(fault.text, t[i].why);
		assert_int_equal(fault.line, t[i].line);
		fabric_close(NULL);
	}
}

#define ROW_OF(in, out, vl) #in " " #out " : " vl " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 15\n"

static void maps__have_a_row_for_each_pair_of_ports(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *why;
	} t[] = {
	    {"Switch " GUID_A ", base LID 1\n" ROW_OF(1, 3, "16"), 2,
	     "a row is two ports, ':' and 16 lanes of 0 to 15"},
	    {"Switch " GUID_A ", base LID 1\n1 3 : 0 1\n", 2,
	     "a row is two ports, ':' and 16 lanes of 0 to 15"},
	    {ROW_OF(1, 3, "1"), 1, "a row before the first node"},
	    {"Switch 0x77, base LID 1\n", 1,
	     "the topology has no node or port with GUID 0x0000000000000077"},
	    {"Switch\n", 1, "a table begins with the GUID of its node"},
	    {"Spine\n", 1, "'Spine' is no line of a dump of SL to VL tables"},
	    {"", 0, "no table of 'B', or not for all of its ports"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		assert_int_equal(fabric_open(two_switches), 0);
		assert_int_equal(
		    vb_fabric_read_sl2vl(&fabric, t[i].text, strlen(t[i].text), &fault), -EINVAL);
		assert_string_equal(fault.text, t[i].why);
		assert_int_equal(fault.line, t[i].line);
		fabric_close(NULL);
	}
}

static void levels__are_of_paths(void **state)
{
	static const char good[] = "# from X\n0x7662000000010300 5 3\n0x7662000000010401 3 2\n"
				   "0x7662000000010401 9 7\n";
	static const struct {
		const char *text, *why;
	} t[] = {
	    {"0x7662000000010300 5 16\n",
	     "a line is the GUID of the source, a LID, and a service level of 0 to 15"},
	    {"0x7662000000010300 5 1 1\n",
	     "a line is the GUID of the source, a LID, and a service level of 0 to 15"},
	    {"0x77 5 1\n", "the topology has no node or port with GUID 0x0000000000000077"},
	};

	(void)state;
	assert_int_equal(fabric_open(two_switches), 0);
	assert_int_equal(lfts_read(TABLE_A TABLE_B), 0);
	assert_int_equal(vb_fabric_read_psl(&fabric, good, strlen(good), &fault), 0);
	/* Both ports of X, to Y; from Y to the first port of X. */
	assert_int_equal(fabric.sl[0 * 3 + 2], 3);
	assert_int_equal(fabric.sl[1 * 3 + 2], 3);
	assert_int_equal(fabric.sl[2 * 3 + 0], 2);
	assert_int_equal(fabric.sl[2 * 3 + 1], VB_SIM_ANY_SL);
	assert_int_equal(fabric.levels, 1 << 2 | 1 << 3);
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		free(fabric.sl);
		assert_int_equal(vb_fabric_read_psl(&fabric, t[i].text, strlen(t[i].text), &fault),
				 -EINVAL);
		assert_string_equal(fault.text, t[i].why);
		assert_int_equal(fault.line, 1);
	}
}

#define SWITCH_A "\nSwitch " GUID_A "\nLID    : Out Port(s)\n"
#define SWITCH_B "\nSwitch " GUID_B "\nLID    : Out Port(s)\n"

static int mcfdbs_read(const char *text)
{
	return vb_fabric_read_mcfdbs(&fabric, text, strlen(text), &fault);
}

static bool group_has(uint32_t sw, uint32_t group, unsigned port)
{
	return vb_port_mask_has(&fabric.mft[sw * VB_SIM_GROUPS + group],
				fabric.number[sw * 256 + port]);
}

/* FAB-02: entries are by group, where groups take the MLID, and ports by their cables. */
static void mcfdbs__are_by_group_and_port(void **state)
{
	(void)state;
	assert_int_equal(fabric_open(two_switches), 0);
	fabric.mlid[0] = 0xc001;
	fabric.mlid[5] = 0xc004;
	fabric.mlid[6] = 0xc001; /* two groups may take the same */
	assert_int_equal(mcfdbs_read(SWITCH_A "0xC001 : 0x000  0x001  0x003 \n0xC002 : 0x001 \n"
					      "0xC004 : 0x003\n" SWITCH_B
					      "0xC001 : 0x001  0x004 \r\n"),
			 0);
	for (int i = 0; i < 2; i++) {
		uint32_t group = i ? 6 : 0;

		assert_true(group_has(0, group, 1) && group_has(0, group, 3));
		assert_true(group_has(1, group, 1) && group_has(1, group, 4));
		assert_false(group_has(1, group, 2));
	}
	assert_true(!group_has(0, 5, 1) && group_has(0, 5, 3) && !group_has(1, 5, 1));
}

static void mcfdbs__what_is_wrong_is_said_with_its_line(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *why;
	} t[] = {
	    {"0xC000 : 0x001\n", 1, "an entry before the first 'Switch 0x...'"},
	    {"Switch 0x12\n", 1, "the topology has no switch with GUID 0x0000000000000012"},
	    {"Switch 0x7662000000010301\n", 1,
	     "the topology has no switch with GUID 0x7662000000010301"},
	    {"Switch\n", 1, "a table begins with the GUID of its switch"},
	    {SWITCH_A "0xC000 : 0x002", 4, "port 2 of 'A' has no cable"},
	    {SWITCH_A "0xC000 : 0x001 x", 4, "a port is 0x000 to 0x0ff"},
	    {SWITCH_A "0xC000 : 0x100", 4, "a port is 0x000 to 0x0ff"},
	    {SWITCH_A "0xBFFF : 0x001", 4,
	     "an entry is a multicast LID, ':' and ports, as in '0xC000 : 0x001  0x002'"},
	    {SWITCH_A "0xC000 0x001", 4,
	     "an entry is a multicast LID, ':' and ports, as in '0xC000 : 0x001  0x002'"},
	    {"Multicast\n", 1, "'Multicast' is no line of a dump of multicast tables"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		assert_int_equal(fabric_open(two_switches), 0);
		fabric.mlid[0] = 0xc000;
		assert_int_equal(mcfdbs_read(t[i].text), -EINVAL);
		assert_string_equal(fault.text, t[i].why);
		assert_int_equal(fault.line, t[i].line);
		fabric_close(NULL);
	}
}

/* All 254 ports of a switch are in an entry. */
static void mcfdbs__entry_of_every_port(void **state)
{
	static char net[16384], text[4096];
	size_t n = 0, m = 0;

	(void)state;
	n += (size_t)snprintf(net + n, sizeof net - n, "Switch 254 \"A\"\n");
	m += (size_t)snprintf(text + m, sizeof text - m, SWITCH_A "0xC000 :");
	for (unsigned p = 1; p < 255; p++) {
		n += (size_t)snprintf(net + n, sizeof net - n, "[%u] \"H%u\"[1]\n", p, p);
		m += (size_t)snprintf(text + m, sizeof text - m, " 0x%03X ", p);
	}
	for (unsigned p = 1; p < 255; p++)
		n += (size_t)snprintf(net + n, sizeof net - n, "\nCa 1 \"H%u\"\n", p);
	assert_int_equal(fabric_open(net), 0);
	fabric.mlid[0] = 0xc000;
	assert_int_equal(mcfdbs_read(text), 0);
	for (unsigned p = 1; p < 255; p++)
		assert_true(group_has(0, 0, p));
	assert_int_equal(vb_fabric_check_group(&fabric, 0, NULL, 254, &fault), 0);
}

/* Three switches in a ring with a host at each. */
static const char three_switches[] = "Switch 4 \"A\"\n[1] \"B\"[2]\n[3] \"X\"[1]\n\n"
				     "Switch 4 \"B\"\n[1] \"C\"[2]\n[3] \"Y\"[1]\n\n"
				     "Switch 4 \"C\"\n[1] \"A\"[2]\n[3] \"Z\"[1]\n\n"
				     "Ca 1 \"X\"\n\nCa 1 \"Y\"\n\nCa 1 \"Z\"\n";
#define GUID_C "0x7662000000010200"
#define AT_A(ports) "Switch " GUID_A "\n0xC000 : " ports "\n"
#define AT_B(ports) "Switch " GUID_B "\n0xC000 : " ports "\n"
#define AT_C(ports) "Switch " GUID_C "\n0xC000 : " ports "\n"

/* FAB-02: tables that would copy a packet for ever, that some member is not reached by, or that
 * lead to and not from one, are none of a group. */
static void mcfdbs__are_a_tree_to_every_member(void **state)
{
	static const uint32_t first_two[] = {0, 1};
	static const struct {
		const char *text;
		const uint32_t *member;
		uint32_t cnt;
		const char *why; /* NULL: it is good */
	} t[] = {
	    {AT_A("0x001 0x003") AT_B("0x001 0x002 0x003") AT_C("0x002 0x003"), NULL, 3, NULL},
	    {AT_A("0x001 0x003") AT_B("0x002 0x003"), first_two, 2, NULL},
	    {AT_A("0x001 0x003") AT_B("0x002 0x003"), NULL, 3,
	     "it does not lead to host 2, 'Z' port 1"},
	    {AT_A("0x001 0x003") AT_B("0x002"), first_two, 2,
	     "it does not lead to host 1, 'Y' port 1"},
	    {AT_A("0x001") AT_B("0x002 0x003"), first_two, 2,
	     "it does not lead to host 0, 'X' port 1"},
	    {AT_A("0x001 0x003") AT_B("0x003"), first_two, 2,
	     "'A' sends it to 'B', which sends none back"},
	    {AT_A("0x001 0x002 0x003") AT_B("0x001 0x002 0x003") AT_C("0x001 0x002 0x003"), NULL, 3,
	     "it comes to 'C' by two ways"},
	    {"", first_two, 2, "it does not lead to host 0, 'X' port 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		assert_int_equal(fabric_open(three_switches), 0);
		fabric.mlid[2] = 0xc000;
		assert_int_equal(mcfdbs_read(t[i].text), 0);
		assert_int_equal(vb_fabric_check_group(&fabric, 2, t[i].member, t[i].cnt, &fault),
				 t[i].why ? -EINVAL : 0);
		if (t[i].why)
			assert_string_equal(fault.text, t[i].why);
		fabric_close(NULL);
	}
}

/* Runs a file of scenarios/ib/ and returns whether it ended in a deadlock. */
static bool ring_deadlocks(const char *name, uint32_t *lanes)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char path[256], err[512] = "";
	bool deadlocks;
	vb_time at;
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&sc, f, path, err, sizeof err) ||
	    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	deadlocks = vb_sim_deadlock(run.sim, &at) != NULL;
	*lanes = 0;
	for (uint32_t vl = 0; vl < 8; vl++) {
		uint64_t pkts = 0;

		for (uint32_t i = 0; i < vb_sim_port_cnt(run.sim); i++) {
			struct vb_sim_ib_stats st;

			assert_true(vb_sim_ib_port_stats(run.sim, i, &st));
			pkts += st.lane[vl].tx_pkts;
		}
		*lanes += pkts > 0;
	}
	for (uint32_t i = 0; !deadlocks && i < vb_load_flow_cnt(run.load); i++)
		assert_true(vb_load_flow(run.load, i)->done != VB_NEVER);
	vb_scenario_close(&run);
	return deadlocks;
}

/* A ring by tables of OpenSM: min-hop deadlocks, dfsssp does not. */
static void ring__by_tables_of_opensm(void **state)
{
	uint32_t lanes;

	(void)state;
	assert_true(ring_deadlocks("ring-opensm-minhop", &lanes));
	assert_int_equal(lanes, 1);
	assert_false(ring_deadlocks("ring-opensm-dfsssp", &lanes));
	assert_int_equal(lanes, 8);
}

static void file_write(const char *folder, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void file_remove(const char *folder, const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(remove(path), 0);
}

#define SAME(vl) vl " " vl " " vl " " vl " " vl " " vl " " vl " " vl " "
#define MAP(vl) SAME(vl) SAME(vl) "\n"

/* Two hosts at two switches: the service level of the path, and lanes by host, by input and by
 * output, each of which is another one. */
static void lanes__are_those_of_the_tables(void **state)
{
	static const char *const names[] = {"net", "opensm-lfts.dump", "opensm-sl2vl.dump",
					    "opensm.psl", "s.yaml"};
	static struct vb_scenario sc;
	char folder[] = "/tmp/verbena-routes.XXXXXX", path[64], err[512] = "";
	struct vb_scenario_run run;
	/* From X to Y and from Y to X; cables come in the order of the switches. */
	static const uint32_t port[] = {2, 0, 5, 4, 1, 3}, lane[] = {5, 1, 4, 2, 6, 6};
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	file_write(folder, names[0],
		   "Switch 4 \"A\"\n[1] \"B\"[1]\n[2] \"X\"[1]\n\nSwitch 4 \"B\"\n[2] \"Y\"[1]\n\n"
		   "Ca 1 \"X\"\n\nCa 1 \"Y\"\n");
	file_write(folder, names[1],
		   "Unicast lids of switch Lid 1 guid 0x7662000000010000 ('A'):\n"
		   "0x0003 002 # portguid 0x7662000000010201\n0x0004 001 # portguid "
		   "0x7662000000010301\n"
		   "Unicast lids of switch Lid 2 guid 0x7662000000010100 ('B'):\n"
		   "0x0003 001 # portguid 0x7662000000010201\n0x0004 002 # portguid "
		   "0x7662000000010301\n");
	file_write(folder, names[2],
		   "Switch 0x7662000000010000\n1 2 : " MAP("6") "2 1 : 7 7 7 1 " SAME(
		       "7") "7 7 7 "
			    "7\nSwitch 0x7662000000010100\n1 2 : 7 7 7 4 " SAME(
				"7") "7 7 7 7\n"
				     "2 1 : " MAP(
					 "6") "Channel Adapter 0x7662000000010201\n0 0 : 7 7 7 "
					      "5 " SAME("7") "7 7 7 7\nChannel Adapter "
							     "0x7662000000010301\n0 0 : " MAP("2"));
	file_write(folder, names[3], "0x7662000000010200 4 3\n0x7662000000010300 3 0\n");
	file_write(folder, names[4],
		   "link: infiniband\ninfiniband: {lanes: 8, routes: .}\ntopology: {file: net}\n"
		   "transport: {type: uc}\nworkload: {shape: all-to-all, bytes: 10kB}\n");
	snprintf(path, sizeof path, "%s/%s", folder, names[4]);
	f = fopen(path, "r");
	if (vb_scenario_read(&sc, f, path, err, sizeof err) ||
	    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(vb_sim_run(run.sim, VB_NEVER), 0);
	for (uint32_t i = 0; i < 6; i++) {
		struct vb_sim_ib_stats st;

		assert_true(vb_sim_ib_port_stats(run.sim, i, &st));
		for (uint32_t vl = 0; vl < 8; vl++) {
			bool used = false;

			for (uint32_t k = 0; k < 6; k++)
				used |= port[k] == i && lane[k] == vl;
			assert_int_equal(st.lane[vl].tx_pkts > 0, used);
		}
	}
	vb_scenario_close(&run);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		file_remove(folder, names[i]);
	assert_int_equal(remove(folder), 0);
}

/* The errors that a scenario reports about its files. */
static void scenario__refuses_files_that_do_not_fit(void **state)
{
	static struct vb_scenario sc;
	static const struct {
		const char *text, *err;
	} t[] = {
	    {"topology: {file: T, shape: star}\n", "s:1:28: the shape is in the topology's file"},
	    {"topology: {file: T, fabric: {rate: 1Gbps}}\n",
	     "s:1:36: rates of InfiniBand are in the topology's file"},
	    {"link: infiniband\ninfiniband: {routes: R}\n",
	     "s:2:22: routes are those of a topology's file: give the topology one"},
	    {"link: infiniband\ninfiniband: {routes: R, routing: layers}\ntopology: {file: T}\n",
	     "s:2:34: the ways are in routes: there is nothing left for routing"},
	    {"topology: {file: none.net}\n", "s:1:11: topology cannot be read: 'none.net': No such "
					     "file or directory"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_scenario_run run;
		char text[512], err[512] = "";
		FILE *f;
		int bad;

		snprintf(text, sizeof text, "%sworkload: {shape: single}\n", t[i].text);
		f = fmemopen(text, strlen(text), "r");
		assert_non_null(f);
		bad = vb_scenario_read(&sc, f, "s", err, sizeof err);
		fclose(f);
		if (!bad)
			bad = vb_scenario_open(&run, &sc, NULL, err, sizeof err);
		assert_true(bad < 0);
		assert_string_equal(err, t[i].err);
	}
}

/* Lanes have to suffice for the service levels of paths. */
static void routes__take_lanes(void **state)
{
	char path[256];
	struct vb_topo topo;
	char why[256];
	const struct vb_cable cable = {.delay = 1};
	const struct vb_sim_memory memory = {alloc, release, NULL};

	(void)state;
	snprintf(path, sizeof path, "%s/../../scenarios/ib/ring-dfsssp/topology.net", TEST_DATA);
	assert_int_equal(vb_fabric_read_topology(&topo, path, why, sizeof why), 0);
	assert_int_equal(vb_fabric_create(&fabric, &topo, &cable, &cable, &links, &memory, &fault),
			 0);
	*strrchr(path, '/') = 0;
	assert_int_equal(vb_fabric_read_routes(&fabric, path, 4, &fault), -EINVAL);
	assert_string_equal(fault.text, "'S-0000' gives service level 4 lane 4, and links have 4: "
					"give infiniband more lanes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(fabric__is_hosts_switches_and_cables, fabric_close),
	    cmocka_unit_test_teardown(fabric__hangs_together, fabric_close),
	    cmocka_unit_test_teardown(lfts__are_by_host_and_port, fabric_close),
	    cmocka_unit_test(lfts__what_is_wrong_is_said_with_its_line),
	    cmocka_unit_test(maps__have_a_row_for_each_pair_of_ports),
	    cmocka_unit_test_teardown(levels__are_of_paths, fabric_close),
	    cmocka_unit_test_teardown(mcfdbs__are_by_group_and_port, fabric_close),
	    cmocka_unit_test(mcfdbs__what_is_wrong_is_said_with_its_line),
	    cmocka_unit_test_teardown(mcfdbs__entry_of_every_port, fabric_close),
	    cmocka_unit_test(mcfdbs__are_a_tree_to_every_member),
	    cmocka_unit_test(ring__by_tables_of_opensm),
	    cmocka_unit_test(lanes__are_those_of_the_tables),
	    cmocka_unit_test(scenario__refuses_files_that_do_not_fit),
	    cmocka_unit_test_teardown(routes__take_lanes, fabric_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
