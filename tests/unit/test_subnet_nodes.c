/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of the nodes of a fabric: the trees of programs there, the commands of `verbena fabric`,
 * and the lines of watchers. MAD-01, FAB-19, FAB-23, FAB-30, LNK-35 */
#include "subnet_view_env.h"

#include "wire/ib/rate.h"

#define DEVICE "class/infiniband/verbena0/"

/* Trees name states as a kernel does (Documentation/ABI/stable/sysfs-class-infiniband). */
static void trees__name_the_states_of_ports(void **state)
{
	static const char *const states[] = {"0: NOP\n",   "1: DOWN\n",   "2: INIT\n",
					     "3: ARMED\n", "4: ACTIVE\n", "5: ACTIVE_DEFER\n"};
	static const char *const phys[] = {"1: Sleep\n",    "2: Polling\n",
					   "3: Disabled\n", "4: PortConfigurationTraining\n",
					   "5: LinkUp\n",   "6: LinkErrorRecovery\n",
					   "7: Phy Test\n", "8: \n"};
	int sock = fabric_attach("H-B");
	char root[256];

	(void)state;
	snprintf(root, sizeof root, "%s", answer.text);
	for (uint8_t i = 0; i < 8; i++) {
		link_of(HOST_B, 2)->state = i < 6 ? i : VB_LINK_DOWN;
		info_of(HOST_B, 2)->phys_state = (uint8_t)(i + 1);
		vb_subnet_tree_update(
		    fabric, vb_container_of(fabric->seats.next, struct vb_subnet_seat, node));
		if (i < 6)
			assert_string_equal(text_below(root, DEVICE "ports/2/state"), states[i]);
		assert_string_equal(text_below(root, DEVICE "ports/2/phys_state"), phys[i]);
	}
	close(sock);
}

/* A tree shows each port by its number, as the manager has set it. */
static void trees__show_what_a_manager_sets(void **state)
{
	struct vb_sma_port *p = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	char root[256];
	int before, sock;

	(void)state;
	before = fd_cnt();
	sock = fabric_attach("H-B");
	snprintf(root, sizeof root, "%s", answer.text);
	assert_string_equal(text_below(root, DEVICE "ports/2/lid"), "0x0\n");
	p->info.lid = 0x123;
	p->info.lmc = 3;
	p->info.sm_lid = 0x45;
	p->info.sm_sl = 6;
	p->info.cap_mask = 0x00ab0001;
	p->info.prefix = 0xfe80000000000001;
	p->guid[7] = 0x0123456789abcdef;
	p->pkey[VB_SUBNET_PKEYS - 1] = 0x8abc;
	vb_subnet_tree_update(fabric,
			      vb_container_of(fabric->seats.next, struct vb_subnet_seat, node));
	assert_string_equal(text_below(root, DEVICE "ports/2/lid"), "0x123\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/lid_mask_count"), "3\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/sm_lid"), "0x45\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/sm_sl"), "6\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/cap_mask"), "0x00ab0001\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/link_layer"), "InfiniBand\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/gids/7"),
			    "fe80:0000:0000:0001:0123:4567:89ab:cdef\n");
	assert_string_equal(text_below(root, DEVICE "ports/2/pkeys/31"), "0x8abc\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/lid"), "0x0\n");
	assert_string_equal(text_below(root, DEVICE "ports/3/lid"), "");
	/* A shorter text leaves nothing of the one before. */
	p->info.lid = 7;
	vb_subnet_tree_update(fabric,
			      vb_container_of(fabric->seats.next, struct vb_subnet_seat, node));
	assert_string_equal(text_below(root, DEVICE "ports/2/lid"), "0x7\n");
	close(sock);
	fabric_turn();
	assert_int_equal(fd_cnt(), before);
}

/* The rate is that of the link, or of the port's best. */
static void trees__show_the_rate(void **state)
{
	struct vb_port_info *p = info_of(HOST_B, 2);
	int sock = fabric_attach("H-B");
	const struct vb_subnet_seat *seat =
	    vb_container_of(fabric->seats.next, struct vb_subnet_seat, node);

	(void)state;
	p->ext_speed_active = 0;
	p->speed_active = 1;
	p->width_active = VB_IB_1X;
	vb_subnet_tree_update(fabric, seat);
	assert_string_equal(text_below(seat->root, DEVICE "ports/2/rate"), "2.5 Gb/sec (1X SDR)\n");
	p->ext_speed_active = vb_ib_speed_row(VB_IB_XDR)->port_info_ext;
	p->width_active = VB_IB_4X;
	vb_subnet_tree_update(fabric, seat);
	assert_string_equal(text_below(seat->root, DEVICE "ports/2/rate"), "800 Gb/sec (4X XDR)\n");
	p->ext_speed_active = 0;
	p->speed_active = 4;
	p->width_active = 0;
	vb_subnet_tree_update(fabric, seat);
	assert_string_equal(text_below(seat->root, DEVICE "ports/2/rate"), "40 Gb/sec (4X QDR)\n");
	close(sock);
}

/* A switch has an enhanced port 0 if the topology says so. FAB-05 */
static void nodes__have_the_port_0_of_the_topology(void **state)
{
	(void)state;
	assert_int_equal(fabric->subnet.node[SWITCH_A].sma.sw.enhanced_port0, 0);
	assert_int_equal(fabric->subnet.node[SWITCH_B].sma.sw.enhanced_port0, 1);
}

/* Each port, of a switch port 0, has a umad and an issm file, with the kernel's numbers. */
static void trees__have_the_files_of_mads(void **state)
{
	int host = fabric_attach("H-B"), sw;
	char root[256];

	(void)state;
	snprintf(root, sizeof root, "%s", answer.text);
	assert_string_equal(text_below(root, "class/infiniband_mad/umad0/dev"), "231:0\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad0/port"), "1\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad0/ibdev"), "verbena0\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/issm0/dev"), "231:64\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad1/dev"), "231:1\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad1/port"), "2\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/issm1/dev"), "231:65\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/issm1/port"), "2\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad2/dev"), "");
	assert_string_equal(text_below(root, DEVICE "node_type"), "1: CA\n");
	assert_string_equal(text_below(root, DEVICE "sys_image_guid"), "0000:0000:0000:005a\n");
	sw = fabric_attach("S-A");
	snprintf(root, sizeof root, "%s", answer.text);
	assert_string_equal(text_below(root, "class/infiniband_mad/umad0/port"), "0\n");
	assert_string_equal(text_below(root, "class/infiniband_mad/umad1/port"), "");
	assert_string_equal(text_below(root, DEVICE "node_type"), "2: switch\n");
	assert_string_equal(text_below(root, DEVICE "ports/0/state"), "4: ACTIVE\n");
	assert_string_equal(text_below(root, DEVICE "ports/0/phys_state"), "5: LinkUp\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/state"), "");
	close(sw);
	close(host);
}

/* The view has each port with its cable, state, LID and address. */
static void views__have_each_cable(void **state)
{
	struct vb_subnet_view v;

	(void)state;
	fabric_configure();
	v = view_now(NULL);
	assert_int_equal(v.head->node_cnt, NODES);
	assert_int_equal(v.head->chosen, VB_IB_NOWHERE);
	assert_string_equal(v.node[SWITCH_A].name, "S-A");
	assert_int_equal(view_port(&v, SWITCH_A, 0)->lid, LID(SWITCH_A));
	assert_int_equal(view_port(&v, SWITCH_A, 1)->lid, 0);
	assert_int_equal(view_port(&v, HOST_A, 1)->lid, LID(HOST_A));
	assert_int_equal(view_port(&v, HOST_A, 1)->state, VB_LINK_ACTIVE);
	assert_int_equal(view_port(&v, HOST_A, 1)->ipv4, 0x0a000001);
	assert_int_equal(view_port(&v, HOST_B, 2)->ipv4, 0x0a000004);
	assert_int_equal(view_port(&v, HOST_A, 1)->peer, v.node[SWITCH_A].first_port + 1);
	assert_int_equal(view_port(&v, SWITCH_B, 2)->peer, v.node[SWITCH_A].first_port + 2);
	assert_int_equal(view_port(&v, HOST_A, 2)->has_cable, false);
	assert_int_equal(view_port(&v, HOST_A, 2)->peer, VB_IB_NOWHERE);
	assert_int_equal(v.lft[v.node[SWITCH_B].lft_at + LID(HOST_A)], 2);
	vb_subnet_view_free(&v);
	assert_int_equal(command("unlink H-A 1"), 0);
	v = view_now("H-B");
	assert_int_equal(v.head->chosen, HOST_B);
	assert_int_equal(view_port(&v, HOST_A, 1)->is_plugged, false);
	assert_int_equal(view_port(&v, HOST_A, 1)->state, VB_LINK_DOWN);
	assert_int_equal(view_port(&v, HOST_A, 1)->speed, 0);
	assert_int_equal(view_port(&v, SWITCH_A, 1)->is_plugged, false);
	vb_subnet_view_free(&v);
	assert_int_equal(command("link H-A 1"), 0);
	v = view_now(NULL);
	assert_int_equal(view_port(&v, HOST_A, 1)->is_plugged, true);
	assert_int_equal(view_port(&v, HOST_A, 1)->speed, VB_IB_EDR);
	vb_subnet_view_free(&v);
	assert_int_equal(command("view H-X"), -ENOENT);
	assert_non_null(strstr(fabric_why, "has no node 'H-X'"));
	assert_int_equal(command("dump"), 0);
	assert_non_null(strstr(printed, "Switch"));
	assert_int_equal(command("frob"), -EINVAL);
	assert_non_null(strstr(fabric_why, "no command 'frob'"));
}

/* A place is a node and a number of one of its ports. */
static void commands__name_a_node_and_a_port(void **state)
{
	static const char *const wrong[] = {
	    "unlink H-A 0",  "unlink H-A 3",        "unlink H-A 1x",
	    "unlink H-A x",  "unlink H-A",          "link H-A 0",
	    "unlink H-A -1", "set H-A 3 speed=QDR", "error H-A 3 PortRcvErrors=1"};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		if (command(wrong[i]) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
		assert_non_null(strstr(fabric_why, "'H-A' has the ports 1 to 2"));
	}
	assert_int_equal(command("unlink H-C 1"), -ENOENT);
	assert_non_null(strstr(fabric_why, "no node 'H-C'"));
	assert_int_equal(command("unlink H-A 2"), -ENOENT);
	assert_non_null(strstr(fabric_why, "no cable is at port 2 of 'H-A'"));
	assert_int_equal(command("set H-A 2 speed=QDR"), -ENOENT);
	assert_non_null(strstr(fabric_why, "no cable is at port 2 of 'H-A'"));
	assert_true(port_of(HOST_A, 1)->is_plugged);
}

/* A command sets any speed and width, at both ends of the cable. LNK-35 */
static void commands__set_what_a_cable_can_do(void **state)
{
	static const struct {
		const char *text;
		uint32_t code;
	} speeds[] = {{"SDR", VB_IB_SDR}, {"DDR", VB_IB_DDR},     {"QDR", VB_IB_QDR},
		      {"FDR", VB_IB_FDR}, {"fdr10", VB_IB_FDR10}, {"EDR", VB_IB_EDR},
		      {"HDR", VB_IB_HDR}, {"NDR", VB_IB_NDR},     {"XDR", VB_IB_XDR}},
	  widths[] = {{"1x", VB_IB_1X},
		      {"2x", VB_IB_2X},
		      {"4X", VB_IB_4X},
		      {"8x", VB_IB_8X},
		      {"12x", VB_IB_12X}};
	static const char *const wrong[] = {"speed=fast", "speed=",  "speed=QDRx",
					    "width=3x",   "width=",  "width=4",
					    "width=4xx",  "width=x", "length=3"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
		snprintf(text, sizeof text, "set H-A 1 speed=%s", speeds[i].text);
		assert_int_equal(command(text), 0);
		assert_int_equal(port_of(HOST_A, 1)->speed, speeds[i].code);
		assert_int_equal(port_of(SWITCH_A, 1)->speed, speeds[i].code);
	}
	for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
		snprintf(text, sizeof text, "set H-A 1 width=%s", widths[i].text);
		assert_int_equal(command(text), 0);
		assert_int_equal(port_of(HOST_A, 1)->width, widths[i].code);
		assert_int_equal(port_of(HOST_A, 1)->speed, VB_IB_XDR);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		snprintf(text, sizeof text, "set H-A 1 %s", wrong[i]);
		if (command(text) != -EINVAL)
			fail_msg("'%s' is taken", text);
		assert_non_null(strstr(fabric_why, "is none of speed=SDR"));
	}
	assert_int_equal(command("set H-A 1 speed=QDR width=1x"), 0);
	assert_int_equal(port_of(HOST_A, 1)->speed, VB_IB_QDR);
	assert_int_equal(port_of(HOST_A, 1)->width, VB_IB_1X);
}

/* An enabled width is set at one port alone, and not for its cable. FAB-34 */
static void commands__set_what_a_port_has_enabled(void **state)
{
	uint8_t other = info_of(SWITCH_A, 1)->width_enabled;

	(void)state;
	assert_int_equal(command("set H-A 1 enable-width=1x"), 0);
	assert_int_equal(info_of(HOST_A, 1)->width_enabled, VB_IB_1X);
	assert_int_equal(info_of(SWITCH_A, 1)->width_enabled, other);
	assert_int_equal(port_of(HOST_A, 1)->width, VB_IB_4X); /* the cable's */
	assert_int_equal(command("set H-A 2 enable-width=1x"), -ENOENT);
	assert_int_equal(command("set H-A 1 enable-width=3x"), -EINVAL);
}

/* A node's new description and SystemImageGUID show everywhere. FAB-19 */
static void commands__set_what_a_node_is_called(void **state)
{
	int sock = fabric_attach("H-A");
	struct vb_subnet_view v;
	char root[256];

	(void)state;
	snprintf(root, sizeof root, "%s", answer.text);
	assert_int_equal(command("set H-A description=rack 7 host 2"), 0);
	assert_int_equal(command("set H-A sysimgguid=0x00aa00bb00cc00dd"), 0);
	fabric_turn();
	assert_string_equal(text_below(root, DEVICE "node_desc"), "rack 7 host 2\n");
	assert_string_equal(text_below(root, DEVICE "sys_image_guid"), "00aa:00bb:00cc:00dd\n");
	v = view_now(NULL);
	assert_string_equal(v.node[HOST_A].description, "rack 7 host 2");
	vb_subnet_view_free(&v);
	/* A description may have any text, also that of another setting. */
	assert_int_equal(command("set H-A description=x sysimgguid=1"), 0);
	v = view_now(NULL);
	assert_string_equal(v.node[HOST_A].description, "x sysimgguid=1");
	vb_subnet_view_free(&v);
	assert_int_equal(command("set H-A sysimgguid=0"), -EINVAL);
	assert_int_equal(command("set H-A sysimgguid=0x12g"), -EINVAL);
	assert_non_null(strstr(fabric_why, "'0x12g' is no GUID"));
	assert_int_equal(command("set H-C description=x"), -ENOENT);
	assert_int_equal(fabric->subnet.node[HOST_A].sma.info.system_guid, 0x00aa00bb00cc00dd);
	close(sock);
}

/* Writes @text over a node's description, as a program there does. */
static void description_write(const char *root, const char *text)
{
	char path[300];
	int fd;

	snprintf(path, sizeof path, "%s/" DEVICE "node_desc", root);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* ... and waits for a second. */
static void description_set(const char *root, const char *text)
{
	description_write(root, text);
	fabric->counters_due = 0;
	fabric_turn();
}

/* Text that somebody at a node writes into node_desc is its description, which the manager hears of
 * by trap 144. FAB-19 */
static void trees__take_a_description(void **state)
{
	int sock = fabric_attach("H-A");
	const uint8_t *description = fabric->subnet.node[HOST_A].sma.description;
	char root[256], text[80];

	(void)state;
	snprintf(root, sizeof root, "%s", answer.text);
	fabric_configure();
	description_set(root, "H-A\n"); /* it is called that */
	description_set(root, "");
	assert_string_equal((const char *)description, "H-A");
	assert_null(vb_trap_find(&fabric->subnet.node[HOST_A].traps, VB_TRAP_CAPABILITY));
	description_set(root, "rack 9");
	assert_string_equal((const char *)description, "rack 9");
	fabric_turn();
	assert_string_equal(text_below(root, DEVICE "node_desc"), "rack 9\n");
	assert_non_null(vb_trap_find(&fabric->subnet.node[HOST_A].traps, VB_TRAP_CAPABILITY));
	/* 64 bytes of one line. */
	memset(text, 'x', sizeof text);
	memcpy(text + 70, "\nmore", 6);
	description_set(root, text);
	fabric_turn();
	text[64] = '\n';
	text[65] = 0;
	assert_string_equal(text_below(root, DEVICE "node_desc"), text);
	assert_memory_equal(description, text, 64);
	/* A program that ends at once. */
	description_write(root, "rack 10");
	close(sock);
	fabric_turn();
	assert_string_equal((const char *)description, "rack 10");
}

/* A command whose text has no room says so. */
static void commands__without_room_for_their_text(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), before = fd_cnt();

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(vb_subnet_command(fabric, "view", full, fabric_why, sizeof fabric_why),
			 -EIO);
	assert_int_equal(vb_subnet_command(fabric, "dump", full, fabric_why, sizeof fabric_why),
			 -EIO);
	/* A mistake in the command comes first. */
	assert_int_equal(vb_subnet_command(fabric, "frob", full, fabric_why, sizeof fabric_why),
			 -EINVAL);
	assert_int_equal(vb_subnet_command(fabric, "view", -1, fabric_why, sizeof fabric_why),
			 -EMFILE);
	assert_int_equal(fd_cnt(), before);
	close(full);
}

/* Commands report a port's errors by the names of perfquery(8). */
static void commands__report_errors(void **state)
{
	const struct vb_pma_port *pma = &fabric->subnet.node[SWITCH_A].pma.port[1];
	static const char *const wrong[] = {
	    "error S-A 1 PortRcvErrors",    "error S-A 1 PortRcvErrors=",
	    "error S-A 1 PortRcvErrors=x",  "error S-A 1 PortRcvErrors=3x",
	    "error S-A 1 PortRcvErrors=-3", "error S-A 1 PortRcvErrors=4294967296",
	    "error S-A 1 Frob=3",           "error"};

	(void)state;
	assert_int_equal(command("error S-A 1 portrcverrors=3"), 0);
	assert_int_equal(command("error S-A 1 PortRcvErrors=4294967295"), 0);
	assert_int_equal(pma->reported[VB_PMA_RCV_ERRORS], UINT64_C(4294967298));
	assert_int_equal(command("error S-A 1 VL15Dropped=2"), 0);
	assert_int_equal(pma->reported[VB_PMA_VL15_DROPPED], 2);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (command(wrong[i]) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
	assert_int_equal(command("error S-A 1 Frob=3"), -EINVAL);
	assert_non_null(strstr(fabric_why, "SymbolErrorCounter, LinkErrorRecoveryCounter"));
	assert_int_equal(pma->reported[VB_PMA_RCV_ERRORS], UINT64_C(4294967298));
	/* Silence needs an up link. LNK-20 */
	link_of(HOST_A, 1)->state = VB_LINK_INIT;
	assert_int_equal(command("error H-A 1 FlowControlSilence=1"), -ENETDOWN);
	assert_non_null(strstr(fabric_why, "'H-A' is not ACTIVE"));
}

/* The trap that a node sends now; 0: none does. */
static uint16_t trap_sent(uint32_t *node)
{
	struct vb_subnet_mad m;
	struct vb_notice n;

	if (!vb_subnet_poll_trap(&fabric->subnet, &m, vb_clock_now()))
		return 0;
	vb_notice_parse(&n, m.mad);
	*node = m.at.node;
	return n.trap;
}

/* Errors beyond a port's threshold, and a silent neighbour, reach the manager. FAB-33, LNK-20 */
static void commands__report_errors_to_the_manager(void **state)
{
	uint32_t node = NODES;

	(void)state;
	fabric_configure();
	info_of(HOST_A, 1)->local_errors = info_of(HOST_A, 1)->overrun_errors = 1;
	assert_int_equal(command("error H-A 1 LocalLinkIntegrityErrors=0"), 0);
	assert_int_equal(command("error H-A 1 PortRcvErrors=1"), 0);
	assert_int_equal(trap_sent(&node), 0);
	assert_int_equal(command("error H-A 1 LocalLinkIntegrityErrors=1"), 0);
	assert_int_equal(trap_sent(&node), VB_TRAP_LINK_INTEGRITY);
	assert_int_equal(node, HOST_A);
	assert_int_equal(command("error H-B 2 ExcessiveBufferOverrunErrors=1"), 0);
	assert_int_equal(trap_sent(&node), 0); /* its threshold turns it off */
	info_of(HOST_B, 2)->overrun_errors = 1;
	assert_int_equal(command("error H-B 2 ExcessiveBufferOverrunErrors=1"), 0);
	assert_int_equal(trap_sent(&node), VB_TRAP_BUFFER_OVERRUN);
	assert_int_equal(node, HOST_B);
	assert_int_equal(command("error S-A 1 flowcontrolsilence=0"), 0);
	assert_int_equal(trap_sent(&node), 0);
	assert_int_equal(command("error S-A 1 flowcontrolsilence=1"), 0);
	assert_int_equal(trap_sent(&node), VB_TRAP_FLOW_WATCHDOG);
	assert_int_equal(node, SWITCH_A);
}

/* The next lines of a watcher; "" when there are none. */
static const char *lines_of(int sock)
{
	size_t at = 0;
	ssize_t n;

	while (at < sizeof printed - 300 && (n = recv(sock, printed + at, 300, MSG_DONTWAIT)) > 0)
		at += (size_t)n;
	printed[at] = 0;
	return printed;
}

static int watcher(void)
{
	int sock = fabric_dial();

	call = (struct vb_subnet_call){.op = VB_SUBNET_WATCH};
	assert_int_equal(fabric_ask_with(sock, -1, NULL), 0);
	return sock;
}

/* A watcher hears of the ports of all nodes, whoever else is connected. */
static void watchers__hear_of_all_ports(void **state)
{
	int other = fabric_attach("H-A"), sock;

	(void)state;
	fabric_configure();
	sock = watcher();
	assert_string_equal(lines_of(sock), "");
	assert_int_equal(command("unlink H-B 2"), 0);
	fabric_turn();
	(void)lines_of(sock);
	assert_non_null(strstr(printed, " H-B port 2: DOWN, was ACTIVE\n"));
	assert_non_null(strstr(printed, " S-B port 1: DOWN, was ACTIVE\n"));
	assert_non_null(strstr(printed, " S-B: trap 128\n"));
	assert_null(strstr(printed, "H-A"));
	/* Each change once. */
	fabric_turn();
	assert_null(strstr(lines_of(sock), "was"));
	assert_int_equal(command("set H-A description=x"), 0);
	fabric_turn();
	assert_non_null(strstr(lines_of(sock), " H-A: description or system GUID changed\n"));
	/* A late watcher hears only of what happens from then on. */
	int late = watcher();

	assert_int_equal(command("link H-B 2"), 0);
	fabric_turn();
	(void)lines_of(late);
	assert_non_null(strstr(printed, " H-B port 2: "));
	assert_non_null(strstr(printed, ", was DOWN\n"));
	assert_null(strstr(printed, "was ACTIVE"));
	close(late);
	close(sock);
	close(other);
}

/* Lines in @text. */
static unsigned lines_in(const char *text)
{
	unsigned cnt = 0;

	for (; (text = strchr(text, '\n')); text++)
		cnt++;
	return cnt;
}

/* A watcher that does not read loses lines, and is told how many. */
static void watchers__are_told_of_lost_lines(void **state)
{
	int slow = watcher(), fast, least = 1;
	struct vb_subnet_conn *c = NULL;
	unsigned all = 0, got, lost;
	const char *at;

	(void)state;
	for (struct vb_list *l = fabric->conns.next; l != &fabric->conns; l = l->next)
		if (vb_container_of(l, struct vb_subnet_conn, node)->watches)
			c = vb_container_of(l, struct vb_subnet_conn, node);
	assert_non_null(c);
	assert_int_equal(setsockopt(c->watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	fast = watcher();
	for (int i = 0; i < 20; i++) {
		assert_int_equal(command(i % 2 ? "link H-B 2" : "unlink H-B 2"), 0);
		fabric_turn();
		all += lines_in(lines_of(fast));
	}
	assert_true(c->lines_lost > 0);
	lost = c->lines_lost;
	got = lines_in(lines_of(slow));
	assert_int_equal(got + lost, all);
	assert_int_equal(command("set H-A description=x"), 0);
	fabric_turn();
	at = strstr(lines_of(slow), " lines were lost here\n");
	assert_non_null(at);
	assert_int_equal(strtoul(printed, NULL, 10), lost);
	assert_non_null(strstr(at, "H-A: description"));
	assert_int_equal(c->lines_lost, 0);
	close(slow);
	close(fast);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(trees__name_the_states_of_ports),
	    T(trees__show_what_a_manager_sets),
	    T(trees__show_the_rate),
	    T(nodes__have_the_port_0_of_the_topology),
	    T(trees__take_a_description),
	    T(trees__have_the_files_of_mads),
	    T(views__have_each_cable),
	    T(commands__name_a_node_and_a_port),
	    T(commands__set_what_a_cable_can_do),
	    T(commands__set_what_a_port_has_enabled),
	    T(commands__set_what_a_node_is_called),
	    T(commands__without_room_for_their_text),
	    T(commands__report_errors),
	    T(commands__report_errors_to_the_manager),
	    T(watchers__hear_of_all_ports),
	    T(watchers__are_told_of_lost_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
