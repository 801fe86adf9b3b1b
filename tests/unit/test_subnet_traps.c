/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps that a subnet manager hears unasked, and what others hear of the settings that it makes. */
#include "subnet_env.h"

/* The number of the trap that HOST_A hears now; 0: none came. */
static uint16_t next_trap(struct vb_notice *notice)
{
	struct vb_mad_hdr h;

	if (!vb_subnet_poll_trap(&net, &m, now))
		return 0;
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	vb_mad_hdr_parse(&h, m.mad);
	assert_true(h.method == METHOD_TRAP && h.attr_id == VB_SMP_NOTICE);
	vb_notice_parse(notice, m.mad);
	return notice->trap;
}

static void repress_trap(uint16_t lid)
{
	struct vb_subnet_mad trap = m;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, trap.mad);
	h.method = METHOD_TRAP_REPRESS;
	make_by_lid(VB_MAD_CLASS_SUBN_LID, 0, 0, lid);
	vb_mad_hdr_emit(&h, m.mad);
	assert_false(vb_subnet_send(&net, &m, now));
}

/* The traps of the links that came up. */
static void hear_all_traps(void)
{
	struct vb_notice notice;

	while (vb_subnet_poll_timeout(&net) != VB_NEVER) {
		now = vb_time_max(now, vb_subnet_poll_timeout(&net));
		if (next_trap(&notice) != 0)
			repress_trap(notice.issuer_lid);
	}
	now += 100 * VB_SEC;
}

/* FAB-30, FAB-32, FAB-04, LNK-33: a cable that is pulled, the trap that says so again and again,
 * and the manager's word that it has heard it. */
static void unplug__raises_a_trap(void **state)
{
	struct vb_notice notice = {0};

	(void)state;
	configure();
	hear_all_traps();
	net.node[SWITCH_B].sma.sw.port_state_change = 0;
	assert_int_equal(vb_subnet_plug(&net, place(HOST_B, 2), false, now), 0);
	assert_int_equal(link_of(SWITCH_B, 1)->state, VB_LINK_DOWN);
	assert_int_equal(link_of(HOST_B, 2)->state, VB_LINK_DOWN);
	assert_int_equal(info_of(SWITCH_B, 1)->phys_state, VB_PHYS_POLLING);
	assert_int_equal(net.node[SWITCH_B].sma.sw.port_state_change, 1);

	assert_int_equal(next_trap(&notice), VB_TRAP_LINK_STATE);
	assert_true(notice.issuer_lid == LID(SWITCH_B) && notice.producer == VB_NODE_SWITCH);
	assert_true(notice.type == 1 && notice.is_generic && notice.count == 0);
	assert_int_equal(be16_get(m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT), LID(SWITCH_B));
	assert_int_equal(next_trap(&notice), 0);
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), VB_TRAP_LINK_STATE);
	assert_int_equal(notice.count, 1);
	repress_trap(LID(SWITCH_B));
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), 0);
	assert_true(vb_subnet_poll_timeout(&net) == VB_NEVER);

	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_B, 1), true, now), 0);
	assert_int_equal(link_of(HOST_B, 2)->state, VB_LINK_INIT);
	assert_int_equal(next_trap(&notice), 0); /* not yet */
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), VB_TRAP_LINK_STATE);
	assert_int_equal(vb_subnet_plug(&net, place(HOST_B, 1), false, now), -ENOENT);
}

/* FAB-30: no trap of a node that no manager has configured. */
static void traps__need_a_manager(void **state)
{
	struct vb_notice notice;

	(void)state;
	assert_int_equal(next_trap(&notice), 0);
	configure();
	assert_int_equal(next_trap(&notice), 0); /* nor of what was before the first one */
	assert_true(vb_subnet_poll_timeout(&net) == VB_NEVER);
	info_of(SWITCH_A, 0)->cap_mask = info_of(SWITCH_B, 0)->cap_mask = 0;
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_B, 1), false, now), 0);
	assert_int_equal(next_trap(&notice), 0);
	info_of(SWITCH_B, 0)->cap_mask = VB_CAP_IS_TRAP;
	net.due = 0;
	assert_int_equal(next_trap(&notice), VB_TRAP_LINK_STATE);
}

/* MAD-17, FAB-34 */
static void manager__is_told(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	vb_subnet_set_manager(&net, place(HOST_B, 2), true, now);
	assert_true(info_of(HOST_B, 2)->cap_mask & VB_CAP_IS_SM);
	assert_int_equal(next_trap(&notice), VB_TRAP_CAPABILITY);
	assert_true(notice.type == 4 && notice.producer == VB_NODE_CA);
	assert_int_equal(be16_get(details + 2), LID(HOST_B));
	assert_int_equal(be32_get(details + 6), info_of(HOST_B, 2)->cap_mask);
	repress_trap(LID(HOST_B));
	vb_subnet_set_manager(&net, place(HOST_B, 2), true, now);
	assert_int_equal(next_trap(&notice), 0);
	vb_subnet_set_manager(&net, place(HOST_B, 2), false, now);
	assert_int_equal(next_trap(&notice), 0); /* not yet */
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), VB_TRAP_CAPABILITY);
}

/* FAB-35, FAB-17 */
static void mkey__refusal_raises_a_trap(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	info_of(HOST_B, 2)->mkey = 5;
	info_of(HOST_B, 2)->mkey_protect = 2;
	info_of(HOST_B, 2)->mkey_lease = 3;
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 9, to_host_b, 3), -1);
	assert_int_equal(next_trap(&notice), VB_TRAP_MKEY);
	assert_int_equal(notice.type, 2);
	assert_int_equal(be16_get(details + 2), LID(HOST_B));
	assert_int_equal(details[6], VB_MAD_METHOD_GET);
	assert_int_equal(be16_get(details + 8), VB_SMP_PORT_INFO);
	assert_int_equal(be32_get(details + 10), 9);
	assert_int_equal(details[23], 0x80 | 3);
	repress_trap(LID(HOST_B)); /* without the key: refused as well. FAB-16 */
	assert_int_equal(info_of(HOST_B, 2)->mkey_violations, 2);
	assert_int_equal(next_trap(&notice), 0); /* not yet */
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), VB_TRAP_MKEY);
	/* The lease ends. */
	now += 3 * VB_SEC;
	assert_true(vb_subnet_poll_timeout(&net) <= now);
	vb_subnet_handle_timeout(&net, now);
	assert_int_equal(info_of(HOST_B, 2)->mkey_protect, 0);
}

/* FAB-22, FAB-23, LNK-33: a change that a manager sets is told, and a port that is set down takes
 * its other end along. */
static void set__changes_are_told(void **state)
{
	uint32_t node, changes;
	struct vb_port_info p = {0};

	(void)state;
	while (vb_subnet_poll_change(&net, &node, &changes))
		;
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 2, to_host_b, 3), 0);
	vb_port_info_parse(&p, m.mad);
	p.lid = 0x33;
	p.sm_lid = 0x10;
	p.state = VB_LINK_ARMED;
	p.phys_state = p.width_enabled = p.speed_enabled = p.ext_speed_enabled = 0;
	vb_port_info_emit(&p, m.mad);
	assert_int_equal(ask_directed(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 2, to_host_b, 3), 0);
	assert_true(vb_subnet_poll_change(&net, &node, &changes));
	assert_true(node == HOST_B && (changes & VB_SMA_LID) && (changes & VB_SMA_MANAGER));
	assert_false(vb_subnet_poll_change(&net, &node, &changes));

	p.state = VB_LINK_DOWN;
	p.phys_state = VB_PHYS_DISABLED;
	vb_port_info_emit(&p, m.mad);
	/* The answer is lost with the link. */
	assert_int_equal(ask_directed(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 2, to_host_b, 3), -1);
	assert_int_equal(link_of(HOST_B, 2)->state, VB_LINK_DOWN);
	assert_int_equal(info_of(HOST_B, 2)->phys_state, VB_PHYS_DISABLED);
	assert_int_equal(link_of(SWITCH_B, 1)->state, VB_LINK_DOWN);
	assert_int_equal(info_of(SWITCH_B, 1)->phys_state, VB_PHYS_POLLING);
}

/* A GMP of HOST_A to HOST_B, whose agents refuse it: 0, or -1: it did not arrive. */
static int send_gmp(uint16_t pkey, uint32_t qkey)
{
	make_by_lid(CLASS_VENDOR, VB_MAD_METHOD_GET, 0x20, LID(HOST_B));
	m.pkey = pkey;
	m.qkey = qkey;
	m.sl = 3;
	return vb_subnet_send(&net, &m, now) ? 0 : -1;
}

static void repress_and_wait(uint16_t lid)
{
	repress_trap(lid);
	now += 100 * VB_SEC;
}

/* FAB-36, FAB-37: a P_Key that no entry of the port lets pass is dropped, counted and told. */
static void pkey__at_an_end_node(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	assert_int_equal(send_gmp(0x7fff, VB_MAD_QKEY), 0); /* limited, to a full member */
	assert_int_equal(send_gmp(0x9234, VB_MAD_QKEY), -1);
	assert_int_equal(info_of(HOST_B, 2)->pkey_violations, 1);
	assert_int_equal(next_trap(&notice), VB_TRAP_PKEY);
	assert_true(notice.type == 2 && notice.producer == VB_NODE_CA);
	assert_int_equal(notice.issuer_lid, LID(HOST_B));
	assert_int_equal(be16_get(details + 2), LID(HOST_A));
	assert_int_equal(be16_get(details + 4), LID(HOST_B));
	assert_int_equal(be32_get(details + 6), 0x9234);
	assert_int_equal(be32_get(details + 10), 3u << 28 | 1);
	assert_int_equal(be32_get(details + 14), 1);
	/* Again and again, until the manager has heard it. FAB-30 */
	assert_int_equal(next_trap(&notice), 0);
	now = vb_subnet_poll_timeout(&net);
	assert_int_equal(next_trap(&notice), VB_TRAP_PKEY);
	assert_int_equal(notice.count, 1);
	repress_and_wait(LID(HOST_B));
	assert_int_equal(next_trap(&notice), 0);
	/* Two limited members. */
	net.node[HOST_B].sma.port[2].pkey[0] = 0x7fff;
	assert_int_equal(send_gmp(0x7fff, VB_MAD_QKEY), -1);
	assert_int_equal(info_of(HOST_B, 2)->pkey_violations, 2);
	info_of(HOST_B, 2)->pkey_violations = 0xffff;
	assert_int_equal(send_gmp(0x7fff, VB_MAD_QKEY), -1);
	assert_int_equal(info_of(HOST_B, 2)->pkey_violations, 0xffff);
}

/* Gets the P_Key of the answer of HOST_B's own agent, or of its refusal; 0: there is none. */
static uint16_t answer_pkey(uint8_t mgmt_class, uint16_t asked)
{
	make_by_lid(mgmt_class, VB_MAD_METHOD_GET, 0x12, LID(HOST_B));
	m.pkey = asked;
	m.qkey = VB_MAD_QKEY;
	if (!vb_subnet_send(&net, &m, now))
		return 0;
	if (mgmt_class == CLASS_VENDOR)
		assert_true(vb_subnet_refuse(&net, &m) && vb_subnet_carry(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	return m.pkey;
}

/* FAB-36: an answer has a P_Key of whoever answers, that which let the question in. */
static void pkey__of_an_answer(void **state)
{
	uint16_t *pkey = net.node[HOST_B].sma.port[2].pkey;

	(void)state;
	configure();
	for (int i = 0; i < 2; i++) {
		uint8_t mgmt_class = i ? CLASS_VENDOR : VB_MAD_CLASS_PERF;

		pkey[0] = 0xffff;
		pkey[1] = 0;
		assert_int_equal(answer_pkey(mgmt_class, 0xffff), 0xffff);
		pkey[0] = 0x7fff;
		assert_int_equal(answer_pkey(mgmt_class, 0xffff), 0x7fff);
		assert_int_equal(answer_pkey(mgmt_class, 0x7fff), 0);
		/* Of two that are of the partition one lets a limited member in. */
		pkey[1] = 0xffff;
		assert_int_equal(answer_pkey(mgmt_class, 0x7fff), 0xffff);
	}
}

/* FAB-36, FAB-38 */
static void qkey__of_qp1(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	assert_int_equal(send_gmp(0xffff, 0x1234567), -1);
	assert_int_equal(info_of(HOST_B, 2)->qkey_violations, 1);
	assert_int_equal(info_of(HOST_B, 2)->pkey_violations, 0);
	assert_int_equal(next_trap(&notice), VB_TRAP_QKEY);
	assert_int_equal(notice.type, 2);
	assert_int_equal(be32_get(details + 6), 0x1234567);
	repress_and_wait(LID(HOST_B));
	assert_int_equal(next_trap(&notice), 0);
}

/* FAB-36, LNK-37: the port of a switch that keeps partitions apart, in and out. */
static void pkey__at_a_switch(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	info_of(SWITCH_B, 2)->enforce_in = 1;
	assert_int_equal(send_gmp(0xffff, VB_MAD_QKEY), 0);
	assert_int_equal(send_gmp(0x9234, VB_MAD_QKEY), -1);
	assert_int_equal(net.node[SWITCH_B].pma.port[2].rcv_constraint_errors, 1);
	assert_int_equal(info_of(HOST_B, 2)->pkey_violations, 0);
	assert_int_equal(next_trap(&notice), VB_TRAP_SWITCH_PKEY);
	assert_true(notice.type == 2 && notice.producer == VB_NODE_SWITCH);
	assert_int_equal(be16_get(details), 0x3f); /* all but the GIDs */
	assert_int_equal(be16_get(details + 2), LID(HOST_A));
	assert_int_equal(be16_get(details + 4), LID(HOST_B));
	assert_int_equal(be16_get(details + 6), 0x9234);
	assert_int_equal(be32_get(details + 8), 3u << 28 | 1);
	assert_int_equal(be16_get(details + 48), LID(SWITCH_B));
	assert_int_equal(details[50], 2);
	repress_and_wait(LID(SWITCH_B));
	/* Where it comes in a limited member is one as well, and a full member's key is only its
	 * own. */
	net.node[SWITCH_B].sma.port[2].pkey[0] = 0x7fff;
	assert_int_equal(send_gmp(0x7fff, VB_MAD_QKEY), 0);
	assert_int_equal(send_gmp(0xffff, VB_MAD_QKEY), -1);
	assert_int_equal(net.node[SWITCH_B].pma.port[2].rcv_constraint_errors, 2);
	assert_int_equal(next_trap(&notice), VB_TRAP_SWITCH_PKEY);
	repress_and_wait(LID(SWITCH_B));
	/* Where it goes out, two limited members do not reach each other. */
	info_of(SWITCH_B, 1)->enforce_out = 1;
	net.node[SWITCH_B].sma.port[1].pkey[0] = 0x7fff;
	assert_int_equal(send_gmp(0x7fff, VB_MAD_QKEY), -1);
	assert_int_equal(net.node[SWITCH_B].pma.port[1].xmit_constraint_errors, 1);
	assert_int_equal(next_trap(&notice), VB_TRAP_SWITCH_PKEY);
	repress_and_wait(LID(SWITCH_B));
	net.node[SWITCH_B].sma.port[1].pkey[0] = 0xffff;
	info_of(SWITCH_B, 2)->enforce_in = 0;
	info_of(SWITCH_B, 1)->enforce_out = 1;
	assert_int_equal(send_gmp(0x9234, VB_MAD_QKEY), -1);
	assert_int_equal(net.node[SWITCH_B].pma.port[1].xmit_constraint_errors, 2);
	assert_int_equal(next_trap(&notice), VB_TRAP_SWITCH_PKEY);
	assert_int_equal(details[50], 1);
	/* SMPs are of no partition. */
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_host_b, 3), 0);
}

/* FAB-33: errors beyond the threshold of the port; 0 turns the trap off. */
static void errors__of_a_link(void **state)
{
	struct vb_notice notice = {0};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;

	(void)state;
	configure();
	hear_all_traps();
	info_of(SWITCH_B, 1)->local_errors = info_of(SWITCH_B, 1)->overrun_errors = 0;
	vb_subnet_link_error(&net, place(SWITCH_B, 1), VB_TRAP_LINK_INTEGRITY, now);
	vb_subnet_link_error(&net, place(SWITCH_B, 1), VB_TRAP_BUFFER_OVERRUN, now);
	assert_int_equal(next_trap(&notice), 0);
	info_of(SWITCH_B, 1)->local_errors = 8;
	vb_subnet_link_error(&net, place(SWITCH_B, 1), VB_TRAP_LINK_INTEGRITY, now);
	vb_subnet_link_error(&net, place(SWITCH_B, 1), VB_TRAP_BUFFER_OVERRUN, now);
	assert_int_equal(next_trap(&notice), VB_TRAP_LINK_INTEGRITY);
	assert_true(notice.type == 1 && notice.producer == VB_NODE_SWITCH);
	assert_int_equal(be16_get(details + 2), LID(SWITCH_B));
	assert_int_equal(details[4], 1);
	repress_and_wait(LID(SWITCH_B));
	assert_int_equal(next_trap(&notice), 0);
	info_of(SWITCH_B, 1)->overrun_errors = 1;
	vb_subnet_link_error(&net, place(SWITCH_B, 1), VB_TRAP_BUFFER_OVERRUN, now);
	assert_int_equal(next_trap(&notice), VB_TRAP_BUFFER_OVERRUN);
}

/* The trap that tells of port 1 of SWITCH_B now; 0: none does. */
static uint16_t error_told(void)
{
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;
	struct vb_notice notice = {0};

	vb_subnet_tell_errors(&net, place(SWITCH_B, 1), now);
	if (next_trap(&notice) == 0)
		return 0;
	assert_true(notice.type == 1 && notice.producer == VB_NODE_SWITCH);
	assert_int_equal(be16_get(details + 2), LID(SWITCH_B));
	assert_int_equal(details[4], 1);
	repress_and_wait(LID(SWITCH_B));
	return notice.trap;
}

/* FAB-33, LNK-21, LNK-20: errors that the data path of a port counts by itself are told once. */
static void errors__of_the_data_path(void **state)
{
	struct vb_ib_port *p = link_of(SWITCH_B, 1);
	const struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 1055};
	uint8_t flow[VB_FLOW_LEN] = {0xff};

	(void)state;
	configure();
	hear_all_traps();
	assert_int_equal(error_told(), 0);
	/* A damaged packet of flow control, one more than LocalPhyErrors lets pass. */
	info_of(SWITCH_B, 1)->local_errors = p->config.local_errors = 1;
	vb_ib_port_handle_flow(p, flow, now);
	assert_int_equal(error_told(), 0);
	vb_ib_port_handle_flow(p, flow, now);
	assert_int_equal(error_told(), VB_TRAP_LINK_INTEGRITY);
	assert_int_equal(error_told(), 0);
	/* A neighbour that sends without credit, until no room is left. */
	info_of(SWITCH_B, 1)->overrun_errors = p->config.overrun_errors = 1;
	while (p->counters.buffer_overruns == 0)
		(void)vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, now);
	assert_int_equal(error_told(), VB_TRAP_BUFFER_OVERRUN);
	assert_int_equal(error_told(), 0);
	/* A neighbour that sends no flow control. */
	vb_ib_port_handle_timeout(p, now);
	assert_int_equal(p->state, VB_LINK_ACT_DEFER);
	assert_int_equal(error_told(), VB_TRAP_FLOW_WATCHDOG);
	assert_int_equal(error_told(), 0);
}

/* FAB-19, FAB-34: changes that a node makes by itself. A trap that nobody has heard yet says all of
 * them. */
static void local_changes__are_told(void **state)
{
	const struct vb_subnet_limits one_lane = {.width = VB_IB_1X}, hdr = {.speed = VB_IB_HDR},
				      qdr = {.speed = VB_IB_QDR}, sdr = {.speed = VB_IB_SDR};
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;
	struct vb_notice notice = {0};

	(void)state;
	configure();
	hear_all_traps();
	vb_subnet_set_description(&net, HOST_B, "rack 7", now);
	assert_int_equal(next_trap(&notice), VB_TRAP_CAPABILITY);
	assert_true(notice.type == 4 && notice.producer == VB_NODE_CA);
	assert_int_equal(be16_get(details + 2), LID(HOST_B));
	assert_int_equal(details[5], 1); /* local changes, of which: */
	assert_int_equal(be32_get(details + 6), info_of(HOST_B, 2)->cap_mask);
	assert_int_equal(be16_get(details + 10), 1); /* the description */
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_DESCRIPTION, 0, to_host_b, 3),
			 0);
	assert_string_equal((const char *)m.mad + VB_SMP_DATA_AT, "rack 7");

	assert_int_equal(vb_subnet_enable(&net, place(SWITCH_B, 2), &one_lane, now), 0);
	assert_int_equal(info_of(SWITCH_B, 2)->width_active, VB_IB_1X);
	assert_int_equal(vb_subnet_enable(&net, place(SWITCH_B, 2), &qdr, now), 0);
	assert_int_equal(info_of(SWITCH_B, 2)->ext_speed_active, 0);
	assert_int_equal(info_of(SWITCH_A, 2)->width_active, VB_IB_1X);
	assert_int_equal(vb_subnet_enable(&net, place(SWITCH_B, 3), &sdr, now), -ENOENT);
	assert_int_equal(vb_subnet_enable(&net, place(SWITCH_B, 1), &hdr, now), -EOPNOTSUPP);
	configure(); /* the link trained */
	do
		now = vb_subnet_poll_timeout(&net);
	while (next_trap(&notice) != VB_TRAP_CAPABILITY || notice.issuer_lid != LID(SWITCH_B));
	assert_int_equal(be16_get(details + 10), 2 | 4);

	hear_all_traps();
	vb_subnet_set_system_guid(&net, HOST_B, UINT64_C(0x1122334455667788), now);
	assert_int_equal(next_trap(&notice), VB_TRAP_SYSTEM_GUID);
	assert_int_equal(notice.type, 4);
	assert_int_equal(be16_get(details + 2), LID(HOST_B));
	assert_true(be64_get(details + 6) == UINT64_C(0x1122334455667788));
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_host_b, 3), 0);
	assert_true(net.node[HOST_B].sma.info.system_guid == UINT64_C(0x1122334455667788));
}

/* FAB-34: flags of trap 144 that no agent here has to raise. Hierarchies (0x10) and CapabilityMask2
 * (0x20) are those of nodes whose CapabilityMask announces them by bits 31 and 15; none here does,
 * and HierarchyInfo is refused. A manager's priority (0x08) is in no attribute of its node: the
 * manager tells of it itself (OpenSM, osm_set_sm_priority()), by a trap that the fabric carries. */
static void local_changes__that_no_agent_knows(void **state)
{
	static const uint8_t here[] = {1};

	(void)state;
	configure();
	for (uint32_t node = HOST_A; node <= HOST_B; node++)
		for (uint8_t p = 0; p <= net.node[node].sma.info.port_cnt; p++)
			assert_false(info_of(node, p)->cap_mask & (1u << 31 | 1u << 15));
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, 0x1e, 0, here, 1), VB_SMP_BAD_METHOD_ATTR);

	/* A standby at HOST_B tells the master at HOST_A of its new priority. */
	make_by_lid(VB_MAD_CLASS_SUBN_LID, METHOD_TRAP, VB_SMP_NOTICE, LID(HOST_A));
	m.at = place(HOST_B, 2);
	m.slid = LID(HOST_B);
	be16_put(m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT + 10, 0x08);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_true(m.at.node == HOST_A && m.on_qp0);
	assert_int_equal(be16_get(m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT + 10), 0x08);
}

/* FAB-33, LNK-20: a port that hears no flow control recovers, counts it, and says so. */
static void flow_silence__is_told(void **state)
{
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;
	struct vb_notice notice = {0};

	(void)state;
	assert_int_equal(vb_subnet_flow_silence(&net, place(HOST_B, 2), now), -ENETDOWN);
	configure();
	hear_all_traps();
	assert_int_equal(vb_subnet_flow_silence(&net, place(SWITCH_B, 1), now), 0);
	assert_int_equal(link_of(SWITCH_B, 1)->state, VB_LINK_ACTIVE);
	assert_true(link_of(SWITCH_B, 1)->counters.link_error_recovery == 1);
	assert_int_equal(next_trap(&notice), VB_TRAP_FLOW_WATCHDOG);
	assert_true(notice.type == 1 && notice.producer == VB_NODE_SWITCH);
	assert_int_equal(be16_get(details + 2), LID(SWITCH_B));
	assert_int_equal(details[4], 1);
}

/* FAB-45: a wrong key of congestion control is told by QP1 to the address in ClassPortInfo, until
 * that says that it has heard it. */
static void congestion__wrong_key_is_told(void **state)
{
	const uint8_t *details = m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;
	struct vb_cca_port *p = &net.node[HOST_B].cca.port[2];
	struct vb_notice notice;
	struct vb_mad_hdr h;

	(void)state;
	configure();
	hear_all_traps();
	p->key.key = 5;
	p->trap_to = (struct vb_class_traps){
	    .lid = LID(HOST_A), .sl = 3, .pkey = 0xffff, .qpn = 1, .qkey = VB_MAD_QKEY};
	make_by_lid(VB_MAD_CLASS_IBCC, VB_MAD_METHOD_SET, VB_IBCC_TABLE, LID(HOST_B));
	assert_false(vb_subnet_send(&net, &m, now));
	for (int i = 0; i < 2; i++) {
		assert_true(vb_subnet_poll_timeout(&net) <= now);
		assert_true(vb_subnet_poll_trap(&net, &m, now));
		assert_true(m.at.node == HOST_B && m.at.port == 2 && m.sl == 3);
		assert_true(vb_subnet_send(&net, &m, now));
		assert_true(m.at.node == HOST_A && !m.on_qp0 && m.src_qp == 1 && m.dst_qp == 1);
		vb_mad_hdr_parse(&h, m.mad);
		assert_true(h.mgmt_class == VB_MAD_CLASS_IBCC && h.method == METHOD_TRAP);
		vb_notice_parse(&notice, m.mad);
		assert_true(notice.trap == 0 && notice.type == 2 && notice.count == i);
		assert_int_equal(notice.issuer_lid, LID(HOST_B));
		assert_int_equal(be16_get(details), LID(HOST_A));
		assert_int_equal(be32_get(details + 10), 1);
		now += 100 * VB_SEC;
	}
	h.method = METHOD_TRAP_REPRESS;
	make_by_lid(VB_MAD_CLASS_IBCC, 0, 0, LID(HOST_B));
	vb_mad_hdr_emit(&h, m.mad);
	assert_false(vb_subnet_send(&net, &m, now));
	vb_subnet_handle_timeout(&net, now);
	assert_false(vb_subnet_poll_trap(&net, &m, now));
	assert_true(vb_subnet_poll_timeout(&net) == VB_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(unplug__raises_a_trap),
	    T(traps__need_a_manager),
	    T(manager__is_told),
	    T(mkey__refusal_raises_a_trap),
	    T(set__changes_are_told),
	    T(pkey__at_an_end_node),
	    T(pkey__of_an_answer),
	    T(qkey__of_qp1),
	    T(pkey__at_a_switch),
	    T(errors__of_a_link),
	    T(errors__of_the_data_path),
	    T(local_changes__are_told),
	    T(local_changes__that_no_agent_knows),
	    T(flow_silence__is_told),
	    T(congestion__wrong_key_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
