/* SPDX-License-Identifier: BSD-2-Clause */
/* The subnet management agent: PortInfo, of adapters and of switches. IBA 14.2.5.6 */
#include "sma_env.h"

/* FAB-21 */
static void sma__port_info_get(void **state)
{
	(void)state;
	node_begin(VB_NODE_CA, 2);
	port[2].info.lid = 77;
	assert_int_equal(get(VB_SMP_PORT_INFO, 0, 2), VB_SMP_GOOD);
	assert_int_equal(port_info().lid, 77);
	assert_int_equal(port_info().local_port, 2);
	assert_int_equal(port_info().state, VB_LINK_DOWN);
	assert_int_equal(get(VB_SMP_PORT_INFO, 2, 1), VB_SMP_GOOD); /* by the other port */
	assert_int_equal(port_info().lid, 77);
	assert_int_equal(port_info().local_port, 1);
	assert_int_equal(get(VB_SMP_PORT_INFO, 0x80000002, 1), VB_SMP_GOOD);
	assert_int_equal(get(VB_SMP_PORT_INFO, 3, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_PORT_INFO, 0x101, 1), VB_SMP_BAD_FIELD);

	node_begin(VB_NODE_SWITCH, 4);
	port[0].info.lid = 9;
	assert_int_equal(get(VB_SMP_PORT_INFO, 0, 2), VB_SMP_GOOD);
	assert_int_equal(port_info().lid, 9);
	assert_int_equal(port_info().state, VB_LINK_ACTIVE); /* port 0 has no link */
	assert_int_equal(port_info().phys_state, VB_PHYS_LINK_UP);
	assert_int_equal(get(VB_SMP_PORT_INFO, 4, 2), VB_SMP_GOOD);
	assert_int_equal(get(VB_SMP_PORT_INFO, 5, 2), VB_SMP_BAD_FIELD);
}

/* FAB-05: port 0 of a switch has its LID, and no other port has one; LMC is for the enhanced one.
 */
static void sma__port_0_of_a_switch(void **state)
{
	struct vb_port_info p = good_port();

	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	p.lid = 9;
	p.lmc = 3;
	assert_int_equal(set_port(&p, 0), VB_SMP_GOOD);
	assert_int_equal(port_info().lid, 9);
	assert_int_equal(port_info().lmc, 0);
	assert_int_equal(port_info().state, VB_LINK_ACTIVE);
	p.lid = 24;
	assert_int_equal(set_port(&p, 4), VB_SMP_GOOD);
	assert_int_equal(port_info().lid, 0);
	assert_int_equal(port_info().lmc, 0);
	node.sw.enhanced_port0 = 1;
	assert_int_equal(set_port(&p, 0), VB_SMP_GOOD);
	assert_int_equal(port_info().lmc, 3);
	p.lid = 9;
	assert_int_equal(set_port(&p, 0), VB_SMP_BAD_FIELD);
}

/* FAB-22, FAB-23, FAB-24, FAB-39: LIDs, the manager, keys, events. */
static void sma__port_info_set_lids(void **state)
{
	struct vb_port_info p = good_port();

	(void)state;
	node_begin(VB_NODE_CA, 2);
	p.lmc = 3;
	p.prefix = 0xfe80000000000000;
	p.subnet_timeout = 18;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_LID | VB_SMA_MANAGER | VB_SMA_GID);
	assert_int_equal(result.port, 1);
	assert_int_equal(port_info().lid, 8);
	assert_int_equal(port_info().subnet_timeout, 18);
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, 0); /* nothing new */
	p.sm_sl = 1;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_MANAGER);
	p.lmc = 2;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_LID);
	p.client_reregister = 1;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_REREGISTER);
	assert_int_equal(port_info().client_reregister, 1); /* in this answer */
	assert_int_equal(get(VB_SMP_PORT_INFO, 1, 1), VB_SMP_GOOD);
	assert_int_equal(port_info().client_reregister, 0); /* and in no later one */
	p.client_reregister = 0;

	port[1].info.pkey_violations = port[1].info.qkey_violations = 5;
	port[1].info.mkey_violations = 6;
	p.pkey_violations = 7; /* only 0 counts */
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(port[1].info.pkey_violations, 5);
	assert_int_equal(port[1].info.qkey_violations, 0);
	assert_int_equal(port[1].info.mkey_violations, 0);

	static const struct {
		uint16_t lid, sm_lid;
		uint8_t lmc;
	} bad[] = {{0, 1, 0}, {0xc000, 1, 0}, {8, 0, 0}, {8, 0xc000, 0}, {8, 1, 4}, {9, 1, 1}};

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct vb_port_info b = p;

		b.lid = bad[i].lid;
		b.sm_lid = bad[i].sm_lid;
		b.lmc = bad[i].lmc;
		b.subnet_timeout = 1;
		assert_int_equal(set_port(&b, 1), VB_SMP_BAD_FIELD);
		assert_int_equal(port[1].info.subnet_timeout, 18); /* nothing changes */
		assert_int_equal(port_info().lid, 8);
		assert_int_equal(result.changes, 0);
	}
	/* A port of a switch has no LID; what is written there is ignored. */
	node_begin(VB_NODE_SWITCH, 4);
	p.lid = p.sm_lid = 0;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(set_port(&p, 0), VB_SMP_BAD_FIELD);
	p.lid = p.sm_lid = 4;
	p.lmc = 0;
	assert_int_equal(set_port(&p, 0), VB_SMP_GOOD);
	assert_int_equal(port[0].info.lid, 4);
}

/* FAB-22, FAB-23, LNK-31, LNK-32: the state of the link is that of its machine. */
static void sma__port_info_set_state(void **state)
{
	struct vb_port_info p = good_port();

	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	assert_int_equal(vb_ib_port_link_event(&link[2], VB_LINK_TRAINED, 0), 0);
	assert_int_equal(get(VB_SMP_PORT_INFO, 2, 1), VB_SMP_GOOD);
	assert_int_equal(port_info().state, VB_LINK_INIT);
	p.state = VB_LINK_ACTIVE;
	assert_int_equal(set_port(&p, 2), VB_SMP_BAD_FIELD);
	assert_int_equal(link[2].state, VB_LINK_INIT);
	p.state = VB_LINK_ARMED;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_STATE);
	assert_int_equal(link[2].state, VB_LINK_ARMED);
	assert_int_equal(node.sw.port_state_change, 1); /* FAB-04 */
	p.state = VB_LINK_ACTIVE;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(port_info().state, VB_LINK_ACTIVE);
	p.state = 0;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, 0);
	p.phys_state = VB_PHYS_TRAINING;
	assert_int_equal(set_port(&p, 2), VB_SMP_BAD_FIELD);
	p.state = VB_LINK_DOWN;
	p.phys_state = VB_PHYS_DISABLED;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_STATE | VB_SMA_TRAIN);
	assert_int_equal(link[2].state, VB_LINK_DOWN);
	assert_int_equal(link[2].counters.link_downed, 1);
	assert_int_equal(port_info().phys_state, VB_PHYS_DISABLED);
	p.state = 0;
	p.phys_state = VB_PHYS_POLLING;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_TRAIN);
	assert_int_equal(port_info().phys_state, VB_PHYS_POLLING);
}

/* LNK-04, LNK-21, FAB-33: filters of raw packets, and thresholds of errors. */
static void sma__port_info_set_filters(void **state)
{
	struct vb_port_info p = good_port();

	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	p.filter_raw_in = 1;
	p.local_errors = 8;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_true(link[2].config.filter_raw_in && !link[2].config.filter_raw_out);
	assert_int_equal(link[2].config.local_errors, 8);
	assert_int_equal(link[2].config.overrun_errors, 0);
	assert_true(port_info().filter_raw_in && !port_info().filter_raw_out);
	p.filter_raw_in = 0;
	p.filter_raw_out = 1;
	p.local_errors = 0;
	p.overrun_errors = 9;
	assert_int_equal(set_port(&p, 2), VB_SMP_GOOD);
	assert_true(!link[2].config.filter_raw_in && link[2].config.filter_raw_out);
	assert_int_equal(link[2].config.local_errors, 0);
	assert_int_equal(link[2].config.overrun_errors, 9);
	assert_true(!link[1].config.filter_raw_out);
}

/* FAB-22, LNK-11, LNK-27, LNK-28, LNK-35, LNK-36: what the port goes by from then on. */
static void sma__port_info_set_link(void **state)
{
	struct vb_port_info p = good_port(), b;

	(void)state;
	node_begin(VB_NODE_CA, 2);
	p.neighbor_mtu = 5;
	p.oper_vls = 3;
	p.hoq_life = 16;
	p.vl_stall_count = 7;
	p.high_limit = 9;
	p.down_default = 1;
	p.width_enabled = 2;
	p.speed_enabled = 4;
	p.ext_speed_enabled = 30;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(link[1].config.mtu, 4096); /* for the next packet */
	assert_int_equal(link[1].config.data_cnt, 4);
	assert_int_equal(link[1].config.hoq_life, 16);
	assert_int_equal(link[1].config.stall_count, 7);
	assert_int_equal(link[1].arbiter.high_limit, 9);
	assert_int_equal(port_info().width_enabled, 2);
	assert_int_equal(port_info().speed_enabled, 4);
	assert_int_equal(port_info().ext_speed_enabled, 30);
	assert_int_equal(port_info().down_default, 1);
	/* 0 changes nothing, and there are codes for everything that is supported. */
	p.down_default = 0;
	p.oper_vls = p.width_enabled = p.speed_enabled = p.ext_speed_enabled = 0;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(link[1].config.data_cnt, 4);
	assert_int_equal(port_info().down_default, 1);
	assert_int_equal(port_info().width_enabled, 2);
	assert_int_equal(port_info().speed_enabled, 4);
	assert_int_equal(port_info().ext_speed_enabled, 30);
	p.width_enabled = 255;
	p.speed_enabled = 15;
	p.ext_speed_enabled = 31;
	assert_int_equal(set_port(&p, 1), VB_SMP_GOOD);
	assert_int_equal(port_info().width_enabled, 3);
	assert_int_equal(port_info().speed_enabled, 7);
	assert_int_equal(port_info().ext_speed_enabled, 3);

#define BAD(member, value)                                                                         \
	b = p;                                                                                     \
	b.member = value;                                                                          \
	b.high_limit = 1;                                                                          \
	assert_int_equal(set_port(&b, 1), VB_SMP_BAD_FIELD);                                       \
	assert_int_equal(link[1].arbiter.high_limit, 9)
	BAD(neighbor_mtu, 0);
	BAD(neighbor_mtu, 6);
	port[1].info.mtu_cap = 4;
	BAD(neighbor_mtu, 5);
	port[1].info.mtu_cap = 5;
	BAD(oper_vls, 5);
	BAD(oper_vls, 6);
	BAD(width_enabled, 4);
	BAD(speed_enabled, 8);
	BAD(ext_speed_enabled, 4);
	BAD(down_default, 3);
#undef BAD
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sma__port_info_get),      cmocka_unit_test(sma__port_0_of_a_switch),
	    cmocka_unit_test(sma__port_info_set_lids), cmocka_unit_test(sma__port_info_set_state),
	    cmocka_unit_test(sma__port_info_set_link), cmocka_unit_test(sma__port_info_set_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
