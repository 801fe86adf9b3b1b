/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output of `verbena fabric` and its effects on a fabric, beyond test_subnet_nodes.c: the words
 * of events, dumps, names with spaces, the counters that can be reported. FAB-19, FAB-23, FAB-30
 */
#include "subnet_view_env.h"

#include "node/subnet/watch.h"
#include "wire/mad/smp.h"

static int watcher(void)
{
	int sock = fabric_dial();

	call = (struct vb_subnet_call){.op = VB_SUBNET_WATCH};
	assert_int_equal(fabric_ask_with(sock, -1, NULL), 0);
	return sock;
}

/* The next line of a watcher, behind the time of day; "" when there is none. */
static const char *line_of(int sock)
{
	static char line[300];
	unsigned h, m, s, ms;
	int at = -1;
	ssize_t n = recv(sock, line, sizeof line - 1, MSG_DONTWAIT);

	line[n > 0 ? n : 0] = 0;
	if (n <= 0)
		return line;
	if (sscanf(line, "%2u:%2u:%2u.%3u %n", &h, &m, &s, &ms, &at) != 4 || at != 13)
		fail_msg("'%s' does not begin with a time", line);
	return line + at;
}

/* Each kind of change has its words. */
static void lines__name_each_change(void **state)
{
	static const struct {
		uint32_t bit;
		const char *line;
	} rows[] = {
	    {VB_SMA_LID, "H-A: LID or LMC set\n"},
	    {VB_SMA_MANAGER, "H-A: subnet manager changed\n"},
	    {VB_SMA_GID, "H-A: prefix or GUIDs set\n"},
	    {VB_SMA_PKEY, "H-A: P_Keys set\n"},
	    {VB_SMA_REREGISTER, "H-A: to register again\n"},
	    {VB_SMA_NAMES, "H-A: description or system GUID changed\n"},
	};
	uint32_t all = 0;
	int sock = watcher();

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		vb_subnet_watch_changes(fabric, HOST_A, rows[i].bit);
		assert_string_equal(line_of(sock), rows[i].line);
		assert_string_equal(line_of(sock), "");
		all |= rows[i].bit;
	}
	vb_subnet_watch_changes(fabric, HOST_A, all);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_string_equal(line_of(sock), rows[i].line);
	vb_subnet_watch_changes(fabric, HOST_A, VB_SMA_SET);
	assert_string_equal(line_of(sock), "");
	close(sock);
}

/* A trap has its number, and one that is sent again says so. */
static void lines__tell_of_traps(void **state)
{
	struct vb_notice n = {.is_generic = 1, .trap = 144};
	uint8_t mad[VB_MAD_LEN] = {0};
	int sock = watcher();

	(void)state;
	vb_notice_emit(&n, mad);
	vb_subnet_watch_trap(fabric, SWITCH_B, mad);
	assert_string_equal(line_of(sock), "S-B: trap 144\n");
	n.count = 1;
	n.trap = 259;
	vb_notice_emit(&n, mad);
	vb_subnet_watch_trap(fabric, SWITCH_B, mad);
	assert_string_equal(line_of(sock), "S-B: trap 259, again\n");
	close(sock);
	fabric_turn();
	vb_subnet_watch_trap(fabric, SWITCH_B, mad); /* nobody hears of it */
}

/* Links have these states, of which each port tells by itself: also the last one of a node. */
static void lines__name_the_states_of_links(void **state)
{
	static const char *const lines[] = {
	    "H-A port 2: INIT, was DOWN\n", "H-A port 2: ARMED, was INIT\n",
	    "H-A port 2: ACTIVE, was ARMED\n", "H-A port 2: ACT_DEFER, was ACTIVE\n",
	    "H-A port 2: , was ACT_DEFER\n"};
	int sock;

	(void)state;
	link_of(HOST_A, 2)->state = VB_LINK_DOWN;
	sock = watcher();
	for (uint8_t i = 0; i < 5; i++) {
		link_of(HOST_A, 2)->state = (uint8_t)(VB_LINK_INIT + i);
		vb_subnet_watch_changes(fabric, HOST_A, 0);
		assert_string_equal(line_of(sock), lines[i]);
		assert_string_equal(line_of(sock), "");
	}
	link_of(HOST_A, 2)->state = VB_LINK_DOWN;
	close(sock);
}

/* The first watcher still hears of a change that was new to it when another watcher came. */
static void watchers__hear_of_what_changed_before_another_came(void **state)
{
	int first, second;

	(void)state;
	fabric_configure();
	first = watcher();
	link_of(HOST_B, 2)->state = VB_LINK_DOWN;
	second = watcher();
	vb_subnet_watch_changes(fabric, HOST_B, 0);
	assert_string_equal(line_of(first), "H-B port 2: DOWN, was ACTIVE\n");
	assert_string_equal(line_of(second), "H-B port 2: DOWN, was ACTIVE\n");
	/* A change after all watchers have gone is told to nobody. */
	close(first);
	close(second);
	fabric_turn();
	link_of(HOST_B, 2)->state = VB_LINK_ACTIVE;
	first = watcher();
	vb_subnet_watch_changes(fabric, HOST_B, 0);
	assert_string_equal(line_of(first), "");
	close(first);
}

static char whole[16384];

static int text_append(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	strncat(whole, text, len);
	return 0;
}

/* "dump" prints the topology, from which the same fabric can be made. */
static void commands__dump_the_topology(void **state)
{
	(void)state;
	whole[0] = 0;
	assert_int_equal(vb_topo_write(&topo, text_append, NULL), 0);
	assert_int_equal(command("dump"), 0);
	assert_string_equal(printed, whole);
	assert_true(strlen(whole) > 100);
}

/* A description of all 64 bytes is printed whole, and nothing behind it. */
static void commands__print_a_description_without_an_end(void **state)
{
	char text[200] = "set H-A description=", want[80] = "";
	struct vb_subnet_view v;

	(void)state;
	for (unsigned i = 0; i < VB_SMA_NODE_DESC_LEN; i++)
		snprintf(want + i, 2, "%c", 'a' + i % 26);
	snprintf(text + strlen(text), 100, "%s", want);
	assert_int_equal(command(text), 0);
	v = view_now(NULL);
	assert_string_equal(v.node[HOST_A].description, want);
	vb_subnet_view_free(&v);
}

/* All counters of errors have the names and the places that perfquery(8) gives them. */
static void commands__report_each_counter(void **state)
{
	static const char *const names[VB_PMA_ERROR_COUNTERS] = {"SymbolErrorCounter",
								 "LinkErrorRecoveryCounter",
								 "LinkDownedCounter",
								 "PortRcvErrors",
								 "PortRcvRemotePhysicalErrors",
								 "PortRcvSwitchRelayErrors",
								 "PortXmitDiscards",
								 "PortXmitConstraintErrors",
								 "PortRcvConstraintErrors",
								 "LocalLinkIntegrityErrors",
								 "ExcessiveBufferOverrunErrors",
								 "VL15Dropped"};
	const struct vb_pma_port *pma = &fabric->subnet.node[HOST_B].pma.port[1];
	char text[96], all[512] = "'x' is no counter of errors; they are";

	(void)state;
	for (unsigned i = 0; i < VB_PMA_ERROR_COUNTERS; i++) {
		snprintf(text, sizeof text, "error H-B 1 %s=%u", names[i], i + 1);
		assert_int_equal(command(text), 0);
		for (unsigned k = 0; k < VB_PMA_ERROR_COUNTERS; k++)
			assert_int_equal(pma->reported[k], k <= i ? k + 1 : 0);
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s %s", i ? "," : "",
			 names[i]);
	}
	assert_int_equal(command("error H-B 1 x=1"), -EINVAL);
	assert_string_equal(fabric_why, all);
	assert_int_equal(command("error H-B 1 VL15Dropped"), -EINVAL);
	assert_string_equal(fabric_why, "the last argument is COUNTER=N, as in PortRcvErrors=3");
	assert_int_equal(command("error H-B 1 VL15Dropped=1x"), -EINVAL);
	assert_string_equal(fabric_why, "'1x' is no number from 0 to 4294967295");
	assert_int_equal(command("error H-D 1 VL15Dropped=1"), -ENOENT);
	assert_string_equal(fabric_why, "the fabric has no node 'H-D'");
}

/* The neighbour is silent as often as it is said, and the link is active in between. LNK-20 */
static void commands__report_silence_as_often_as_told(void **state)
{
	uint64_t before;

	(void)state;
	fabric_configure();
	before = link_of(SWITCH_A, 1)->counters.link_error_recovery;
	assert_int_equal(command("error S-A 1 FlowControlSilence=3"), 0);
	assert_int_equal(link_of(SWITCH_A, 1)->counters.link_error_recovery - before, 3);
	assert_int_equal(link_of(SWITCH_A, 1)->state, VB_LINK_ACTIVE);
	/* There is a limit to it. */
	assert_int_equal(command("error S-A 1 FlowControlSilence=4000000000"), 0);
	assert_int_equal(link_of(SWITCH_A, 1)->counters.link_error_recovery - before, 1003);
}

/* A setting that the port does not support is refused with its place. */
static void commands__say_what_a_port_does_not_support(void **state)
{
	(void)state;
	assert_int_equal(command("set H-A 1 enable-speed=XDR enable-width=12x"), -EOPNOTSUPP);
	assert_string_equal(fabric_why, "port 1 of 'H-A' does not support that");
	assert_int_equal(command("unlink H-A 2"), -ENOENT);
	assert_string_equal(fabric_why, "no cable is at port 2 of 'H-A'");
	assert_int_equal(command("set H-X sysimgguid=1"), -ENOENT);
	assert_string_equal(fabric_why, "the fabric has no node 'H-X'");
	assert_int_equal(command("set H-A sysimgguid=zz"), -EINVAL);
	assert_string_equal(fabric_why, "'zz' is no GUID, as 0x7662000000010000 is one");
	assert_int_equal(command("set H-A 1 speed=XDR enable-speed=SDR"), 0);
	assert_int_equal(info_of(HOST_A, 1)->speed_enabled, 1);
	assert_int_equal(command(""), -EINVAL);
	assert_string_equal(fabric_why, "there is no command ''");
}

static int spaced_begin(void **state)
{
	char name[VB_SUBNET_NAME_MAX];

	(void)state;
	snprintf(name, sizeof name, "u%d-7", (int)getpid());
	fabric_begin_with(name, "Switch 2 \"the switch\"\n[1] \"host one\"[1]\n"
				"Ca 1 \"host one\"\nCa 1 \"host two\"\n");
	return 0;
}

/* Names may have spaces: the port is what stands behind the last one. The number at the end of the
 * fabric's name is in its addresses. */
static void commands__take_names_with_spaces(void **state)
{
	struct vb_subnet_view v = view_now("host one");
	int sock;

	(void)state;
	assert_int_equal(v.head->chosen, 1);
	assert_int_equal(view_port(&v, 1, 1)->ipv4, 0x0a070001);
	vb_subnet_view_free(&v);
	assert_int_equal(command("unlink host one 1"), 0);
	v = view_now(NULL);
	assert_int_equal(view_port(&v, 0, 1)->is_plugged, false);
	vb_subnet_view_free(&v);
	assert_int_equal(command("link the switch 1"), 0);
	assert_int_equal(command("set host one description=a=b c"), 0);
	v = view_now(NULL);
	assert_int_equal(view_port(&v, 0, 1)->is_plugged, true);
	assert_string_equal(v.node[1].description, "a=b c");
	vb_subnet_view_free(&v);
	sock = fabric_attach("host two");
	close(sock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(lines__name_each_change),
	    T(lines__tell_of_traps),
	    T(lines__name_the_states_of_links),
	    T(watchers__hear_of_what_changed_before_another_came),
	    T(commands__dump_the_topology),
	    T(commands__print_a_description_without_an_end),
	    T(commands__report_each_counter),
	    T(commands__report_silence_as_often_as_told),
	    T(commands__say_what_a_port_does_not_support),
	    cmocka_unit_test_setup_teardown(commands__take_names_with_spaces, spaced_begin,
					    fabric_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
