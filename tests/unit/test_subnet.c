/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs in a subnet: by directed routes, by LID and by both, and what links make of them. */
#include "subnet_env.h"

/* FAB-09 to FAB-12, MAD-22 */
static void directed__finds_each_node(void **state)
{
	struct vb_node_info n = {0};

	(void)state;
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_switch_a, 0), 0);
	vb_node_info_parse(&n, m.mad);
	assert_true(n.node_guid == 0xa0 && n.port_guid == 0xa1 && n.local_port == 1);
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_switch_a, 1), 0);
	vb_node_info_parse(&n, m.mad);
	assert_true(n.node_guid == 0xb0 && n.port_guid == 0xb0 && n.local_port == 1);
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_host_b, 3), 0);
	vb_node_info_parse(&n, m.mad);
	assert_true(n.node_guid == 0xd0 && n.port_guid == 0xd2 && n.local_port == 2);
	/* Ports without a cable, ports that are not there, and beyond a host. */
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (uint8_t[]){1, 3}, 2),
			 -1);
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (uint8_t[]){1, 9}, 2),
			 -1);
	assert_int_equal(
	    ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (uint8_t[]){1, 2, 1, 1}, 4), -1);
}

/* LNK-35: a cable that does less than its ports: they train with what it does, and support what
 * they did. */
static void cable__limits_both_ends(void **state)
{
	struct vb_subnet_limits l = {.speed = VB_IB_DDR, .width = VB_IB_1X};

	(void)state;
	assert_int_equal(vb_subnet_limit(&net, place(HOST_A, 1), &l, now), 0);
	assert_int_equal(link_of(SWITCH_A, 1)->state, VB_LINK_INIT);
	assert_int_equal(info_of(HOST_A, 1)->width_active, VB_IB_1X);
	assert_int_equal(info_of(SWITCH_A, 1)->speed_active, vb_ib_speed_row(VB_IB_DDR)->port_info);
	assert_int_equal(info_of(SWITCH_A, 1)->ext_speed_active, 0);
	assert_int_equal(info_of(HOST_A, 1)->width_supported, VB_IB_1X | VB_IB_4X);
	/* A limit that is not given stays; a limit above the ports' support does nothing. */
	l = (struct vb_subnet_limits){.speed = VB_IB_XDR};
	assert_int_equal(vb_subnet_limit(&net, place(SWITCH_A, 1), &l, now), 0);
	assert_int_equal(info_of(HOST_A, 1)->width_active, VB_IB_1X);
	assert_int_equal(info_of(HOST_A, 1)->ext_speed_active,
			 vb_ib_speed_row(VB_IB_EDR)->port_info_ext);
	assert_int_equal(vb_subnet_limit(&net, place(SWITCH_A, 3), &l, now), -ENOENT);
}

/* LNK-35: the speed and width that both ends of a cable can do. */
static void link__trains_at_the_cables_speed(void **state)
{
	(void)state;
	assert_int_equal(link_of(HOST_A, 1)->state, VB_LINK_INIT);
	assert_int_equal(info_of(HOST_A, 1)->phys_state, VB_PHYS_LINK_UP);
	assert_int_equal(info_of(HOST_A, 1)->ext_speed_active, 2);
	assert_int_equal(info_of(HOST_A, 1)->width_active, VB_IB_4X);
	assert_int_equal(info_of(SWITCH_A, 2)->ext_speed_active, 4);
	assert_int_equal(info_of(SWITCH_A, 2)->width_active, VB_IB_2X);
	assert_int_equal(info_of(HOST_B, 2)->ext_speed_active, 0);
	assert_int_equal(info_of(HOST_B, 2)->speed_active, 4);
	assert_int_equal(link_of(HOST_B, 1)->state, VB_LINK_DOWN);
	assert_int_equal(info_of(HOST_B, 1)->phys_state, VB_PHYS_POLLING);
	assert_int_equal(
	    vb_subnet_join(&net, place(HOST_B, 2), place(HOST_B, 1), VB_IB_EDR, VB_IB_4X, now),
	    -EBUSY);
	assert_int_equal(
	    vb_subnet_join(&net, place(HOST_B, 1), place(SWITCH_B, 3), 3, VB_IB_4X, now), -EINVAL);
}

/* LNK-35: settings that a manager enables take effect when the link trains again, not before. */
static void link__trains_with_what_is_enabled(void **state)
{
	struct vb_port_info p = {0};

	(void)state;
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 1, to_switch_a, 1), 0);
	vb_port_info_parse(&p, m.mad);
	p.width_enabled = VB_IB_1X;
	p.speed_enabled = p.ext_speed_enabled = p.state = p.phys_state = 0;
	vb_port_info_emit(&p, m.mad);
	assert_int_equal(ask_directed(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 1, to_switch_a, 1), 0);
	assert_int_equal(info_of(SWITCH_A, 1)->width_active, VB_IB_4X);
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_A, 1), false, now), 0);
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_A, 1), true, now), 0);
	assert_int_equal(info_of(SWITCH_A, 1)->width_active, VB_IB_1X);
	assert_int_equal(info_of(HOST_A, 1)->width_active, VB_IB_1X);
	assert_int_equal(info_of(HOST_A, 1)->ext_speed_active, 2);
}

/* FAB-01: an entry 0 leads to port 0 of the switch, which takes what has its LID; no other entry
 * does. */
static void by_lid__to_port_0(void **state)
{
	uint8_t *entry = &net.node[SWITCH_B].forward.unicast[LID(SWITCH_B)];
	uint64_t *errors = &net.node[SWITCH_B].pma.port[2].switch_relay_errors;

	(void)state;
	configure();
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(SWITCH_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(m.at.node == SWITCH_B && m.at.port == 0);
	*entry = VB_PORT_NONE;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(SWITCH_B));
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(*errors == 1);
	*entry = 1; /* to HOST_B, which has another LID */
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(SWITCH_B));
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(link_of(HOST_B, 2)->counters.rcv_packets == 1);
	/* Of another LID port 0 drops the packet, and no counter has it. */
	net.node[SWITCH_B].forward.unicast[LID(HOST_B)] = 0;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(*errors == 1);
}

/* FAB-05: an enhanced port 0 has as many LIDs as its LMC says, and says what it is; the base one
 * has one. */
static void by_lid__to_an_enhanced_port_0(void **state)
{
	static const uint8_t *const path[] = {to_switch_a, to_switch_b};
	struct vb_switch_info sw = {0};
	struct vb_port_info p = {0};

	(void)state;
	configure();
	for (uint8_t i = 0; i < 2; i++) {
		uint8_t hops = (uint8_t)(i + 1);

		assert_int_equal(
		    ask_directed(VB_MAD_METHOD_GET, VB_SMP_SWITCH_INFO, 0, path[i], hops), 0);
		vb_switch_info_parse(&sw, m.mad);
		assert_int_equal(sw.enhanced_port0, i);
		assert_int_equal(
		    ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 0, path[i], hops), 0);
		vb_port_info_parse(&p, m.mad);
		p.lid = 0x40;
		p.lmc = 2;
		vb_port_info_emit(&p, m.mad);
		assert_int_equal(
		    ask_directed(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 0, path[i], hops), 0);
		net.node[SWITCH_A].forward.unicast[0x43] = i ? 2 : 0;
		net.node[SWITCH_B].forward.unicast[0x43] = 0;
		make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, 0x43);
		assert_int_equal(vb_subnet_send(&net, &m, now), i);
	}
	assert_true(m.at.node == SWITCH_B && m.at.port == 0 && m.path_bits == 3);
	/* It has the capabilities, the GUIDs and the agents of an adapter's port, but no QPs, and
	 * so no automatic path migration. */
	assert_int_equal(p.cap_mask | 1u << 5, info_of(HOST_B, 2)->cap_mask);
	assert_int_equal(p.cap_mask >> 5 & 1, 0);
	memset(m.mad + VB_SMP_DATA_AT, 0, VB_SMP_DATA_LEN);
	vb_smp_put64(m.mad, 1, 0x1c0);
	assert_int_equal(ask_directed(VB_MAD_METHOD_SET, VB_SMP_GUID_INFO, 0, to_switch_b, 2), 0);
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_GUID_INFO, 0, to_switch_b, 2), 0);
	assert_true(vb_smp_get64(m.mad, 0) == 0xc0 && vb_smp_get64(m.mad, 1) == 0x1c0);
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 0x12, 0x43);
	m.mad[VB_SMP_DATA_AT + 1] = 2;
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(m.at.node == HOST_A && m.mad[3] == VB_MAD_METHOD_GET_RESP);
}

/* FAB-50: MADs that the node's agents do not serve are for the agents of programs at the port, of
 * each class; MADs that they serve are answered by the same service level. LID 0 and the port's own
 * stay inside. */
static void gmp__of_each_class(void **state)
{
	static const uint8_t others[] = {0x03, 0x07, 0x09, 0x10, 0x32, 0x33};

	(void)state;
	configure();
	for (size_t i = 0; i < sizeof others; i++) {
		make_by_lid(others[i], VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
		assert_true(vb_subnet_send(&net, &m, now));
		assert_true(m.at.node == HOST_B && m.at.port == 2 && m.mad[1] == others[i]);
		assert_int_equal(m.mad[3], VB_MAD_METHOD_GET);
	}
	for (int i = 0; i < 2; i++) {
		make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 0x12, LID(SWITCH_B));
		m.mad[VB_SMP_DATA_AT + 1] = 2;
		m.sl = 5;
		assert_int_equal(vb_subnet_send(&net, &m, now), i == 0);
		assert_true(m.mad[3] == VB_MAD_METHOD_GET_RESP && m.sl == 5);
		/* No lane on the way back. */
		net.node[SWITCH_A].sma.port[1].sl2vl[2].vl[5] = VB_VL_MGMT;
	}
	link_of(HOST_A, 1)->state = VB_LINK_DOWN;
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			info_of(HOST_A, 1)->lid = 0; /* no manager has been there */
		make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, i ? 0 : LID(HOST_A));
		assert_true(vb_subnet_send(&net, &m, now));
		assert_true(m.at.node == HOST_A && m.at.port == 1);
		make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 0x12, i ? 0 : LID(HOST_A));
		m.mad[VB_SMP_DATA_AT + 1] = 1;
		m.slid = info_of(HOST_A, 1)->lid;
		assert_true(vb_subnet_send(&net, &m, now));
		assert_true(m.at.node == HOST_A && m.mad[3] == VB_MAD_METHOD_GET_RESP);
	}
}

/* LNK-12: VL15 leads to QP 0 and nowhere else, and no data lane leads to it. */
static void lane__of_qp_0(void **state)
{
	(void)state;
	configure();
	for (uint32_t qp = 0; qp < 3; qp++) {
		make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
		m.dst_qp = qp;
		assert_int_equal(vb_subnet_send(&net, &m, now), qp != 0);
		make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_SM_INFO, LID(HOST_B));
		m.dst_qp = qp;
		assert_int_equal(vb_subnet_send(&net, &m, now), qp == 0);
		make_directed(VB_MAD_METHOD_GET, VB_SMP_SM_INFO, 0, to_host_b, 3);
		m.dst_qp = qp;
		assert_int_equal(vb_subnet_send(&net, &m, now), qp == 0);
		/* The performance agent is at QP 1. */
		make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 0x12, LID(HOST_B));
		m.mad[VB_SMP_DATA_AT + 1] = 2;
		m.dst_qp = qp;
		assert_int_equal(vb_subnet_send(&net, &m, now), qp != 0);
		assert_int_equal(m.at.node, qp == 1 ? HOST_A : HOST_B);
	}
}

/* FAB-01, FAB-50, LNK-30: SMPs pass links in INIT, other MADs need active ones. */
static void by_lid__follows_the_tables(void **state)
{
	(void)state;
	configure();
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID(SWITCH_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);

	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(m.at.node == HOST_B && m.at.port == 2);
	/* To the own LID without a link. MAD-22 */
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_A));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);

	link_of(SWITCH_B, 2)->state = link_of(SWITCH_A, 2)->state = VB_LINK_INIT;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(link_of(SWITCH_A, 2)->counters.xmit_discards == 1);
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
}

/* LNK-31: the first data that comes makes an armed port active, and its switch tells. */
static void data__activates_an_armed_port(void **state)
{
	(void)state;
	configure();
	link_of(SWITCH_B, 2)->state = VB_LINK_ARMED;
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(link_of(SWITCH_B, 2)->state, VB_LINK_ARMED);
	net.node[SWITCH_B].sma.sw.port_state_change = 0;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(link_of(SWITCH_B, 2)->state, VB_LINK_ACTIVE);
	assert_int_equal(net.node[SWITCH_B].sma.sw.port_state_change, 1);
}

/* LNK-38, LNK-39: words and packets of each hop; packets that a switch has no port for. */
static void hops__count(void **state)
{
	struct vb_ib_counters *c;

	(void)state;
	configure();
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	c = &link_of(SWITCH_A, 2)->counters;
	assert_true(c->xmit_packets == 1 && c->xmit_data == 72);
	c = &link_of(SWITCH_B, 2)->counters;
	assert_true(c->rcv_packets == 1 && c->rcv_data == 72 && c->xmit_packets == 0);
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	m.has_grh = true;
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(link_of(HOST_B, 2)->counters.rcv_data == 72 + 82);

	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, 0x99);
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(net.node[SWITCH_A].pma.port[1].switch_relay_errors == 1);
	/* A loop of two switches ends. LNK-29 */
	net.node[SWITCH_A].forward.unicast[0x98] = 2;
	net.node[SWITCH_B].forward.unicast[0x98] = 2;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, 0x98);
	assert_false(vb_subnet_send(&net, &m, now));
	/* A host that gets what is not its own drops it. LNK-03 */
	net.node[SWITCH_A].forward.unicast[0x97] = 2;
	net.node[SWITCH_B].forward.unicast[0x97] = 1;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, 0x97);
	assert_false(vb_subnet_send(&net, &m, now));
}

/* LNK-22: a service level without a lane at an output is dropped there; SMPs have lane 15. */
static void lane__of_the_service_level(void **state)
{
	(void)state;
	configure();
	net.node[SWITCH_A].sma.port[2].sl2vl[1].vl[3] = VB_VL_MGMT;
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	m.sl = 3;
	assert_false(vb_subnet_send(&net, &m, now));
	assert_true(link_of(SWITCH_A, 2)->counters.xmit_discards == 1);
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	m.sl = 2;
	assert_true(vb_subnet_send(&net, &m, now));
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID(HOST_B));
	m.sl = 3;
	assert_true(vb_subnet_send(&net, &m, now));
}

/* FAB-39: all LIDs of a port reach it, and say which one it was. */
static void lmc__has_paths(void **state)
{
	(void)state;
	configure();
	info_of(HOST_B, 2)->lid = 0x40;
	info_of(HOST_B, 2)->lmc = 2;
	for (uint16_t lid = 0x40; lid <= 0x44; lid++) {
		net.node[SWITCH_A].forward.unicast[lid] = 2;
		net.node[SWITCH_B].forward.unicast[lid] = 1;
		make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, lid);
		assert_int_equal(vb_subnet_send(&net, &m, now), lid < 0x44);
		if (lid < 0x44)
			assert_int_equal(m.path_bits, lid - 0x40);
	}
}

/* FAB-13: to a switch by LID, and on by a directed route, as ibportstate asks. */
static void combined__by_lid_and_route(void **state)
{
	struct vb_smp_route r;
	struct vb_node_info n = {0};

	(void)state;
	configure();
	make_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (uint8_t[]){1}, 1);
	vb_smp_route_parse(&r, m.mad);
	r.dr_slid = LID(HOST_A);
	vb_smp_route_emit(&r, m.mad);
	m.slid = LID(HOST_A);
	m.dlid = LID(SWITCH_B);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);
	vb_node_info_parse(&n, m.mad);
	assert_true(n.node_guid == 0xd0);

	/* A directed route to a switch, and on by LID. */
	make_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_switch_a, 1);
	vb_smp_route_parse(&r, m.mad);
	r.dr_dlid = LID(HOST_B);
	vb_smp_route_emit(&r, m.mad);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);
	vb_node_info_parse(&n, m.mad);
	assert_true(n.node_guid == 0xd0);
}

/* The data path hands in a hundred packets when it is asked. */
static void packets_come(void *ctx, uint32_t node)
{
	(void)ctx;
	assert_int_equal(node, SWITCH_B);
	link_of(SWITCH_B, 2)->counters.rcv_packets += 100;
}

/* FAB-40, FAB-41: the counters of a port, as its node's agent tells them to a manager. */
static void counters__are_told(void **state)
{
	struct vb_mad_hdr h;

	(void)state;
	configure();
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 0x12, LID(SWITCH_B));
	m.mad[VB_SMP_DATA_AT + 1] = 2;
	assert_true(vb_subnet_send(&net, &m, now));
	vb_mad_hdr_parse(&h, m.mad);
	assert_true(m.at.node == HOST_A && h.method == VB_MAD_METHOD_GET_RESP && h.status == 0);
	assert_int_equal(be32_get(m.mad + VB_SMP_DATA_AT + 36), 1); /* packets received */
}

/* FAB-44: a node's sample begins and ends by the subnet's time, with counters that are up to date.
 */
static void samples__are_taken_in_time(void **state)
{
	const struct vb_pma_control c = {.port = 2, .start = 50, .interval = 50, .select = {4}};
	struct vb_pma_result r = {.status = 9};

	(void)state;
	configure();
	net.count = packets_come;
	while (vb_subnet_poll_trap(&net, &m, now))
		;
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_SET, VB_PMA_SAMPLES_CONTROL, LID(SWITCH_B));
	vb_pma_control_emit(&c, m.mad);
	assert_true(vb_subnet_send(&net, &m, now));
	for (int i = 0; i < 2; i++) {
		assert_true(net.due > now && net.due < now + VB_MSEC);
		now = net.due;
		vb_subnet_handle_timeout(&net, now);
		while (vb_subnet_poll_trap(&net, &m, now))
			;
	}
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, VB_PMA_SAMPLES_RESULT, LID(SWITCH_B));
	assert_true(vb_subnet_send(&net, &m, now));
	vb_pma_result_parse(&r, m.mad);
	assert_int_equal(r.status, VB_PMA_SAMPLE_DONE);
	assert_int_equal(r.counter[0], 100); /* of the second time that it counted */
}

/* MAD-08: a MAD that nobody takes is answered so, when it asks for an answer. */
static void nobody__refuses(void **state)
{
	struct vb_mad_hdr h;

	(void)state;
	configure();
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x10, LID(HOST_B));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(vb_subnet_refuse(&net, &m));
	assert_true(vb_subnet_carry(&net, &m, now));
	vb_mad_hdr_parse(&h, m.mad);
	assert_true(m.at.node == HOST_A && h.method == VB_MAD_METHOD_GET_RESP);
	assert_true(h.status == VB_MAD_STATUS_UNSUPPORTED && h.tid == 7);
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_SEND, 0x10, LID(HOST_B));
	assert_false(vb_subnet_refuse(&net, &m));

	/* SMInfo is the manager's, so the agent leaves it. FAB-28 */
	make_directed(VB_MAD_METHOD_GET, VB_SMP_SM_INFO, 0, to_switch_b, 2);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, SWITCH_B);
	assert_true(vb_subnet_refuse(&net, &m));
	assert_true(vb_subnet_carry(&net, &m, now));
	assert_int_equal(answer_status(), VB_MAD_STATUS_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(cable__limits_both_ends),
	    T(directed__finds_each_node),
	    T(link__trains_at_the_cables_speed),
	    T(link__trains_with_what_is_enabled),
	    T(by_lid__follows_the_tables),
	    T(by_lid__to_port_0),
	    T(by_lid__to_an_enhanced_port_0),
	    T(lane__of_qp_0),
	    T(gmp__of_each_class),
	    T(data__activates_an_armed_port),
	    T(hops__count),
	    T(lane__of_the_service_level),
	    T(lmc__has_paths),
	    T(combined__by_lid_and_route),
	    T(counters__are_told),
	    T(samples__are_taken_in_time),
	    T(nobody__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
