/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet management agent of an adapter with two ports and of a switch with four, asked as a
 * subnet manager asks. IBA 14.2
 */
#include "cmocka_env.h"
#include "mgmt/sma.h"
#include "wire/ib/rate.h"

#include <string.h>

#define KEY 0x1122334455667788

static struct vb_ib_port link[5];
static struct vb_sma_port port[5];
static struct vb_sl2vl sl2vl[5][5];
static uint64_t guid[5][10];
static uint16_t pkey[5][64];
static uint8_t lft[200];
static struct vb_port_mask mft[40];
static struct vb_forward forward;
static struct vb_sma_node node;
static struct vb_sma_result result;
static uint8_t mad[VB_MAD_LEN];

static void node_begin(uint8_t type, uint8_t port_cnt)
{
	struct vb_ib_port_config c = {.mtu = 256, .data_cnt = 1, .symbol_ps = 320};
	unsigned first = type == VB_NODE_SWITCH ? 0 : 1;

	memset(port, 0, sizeof port);
	memset(lft, VB_PORT_NONE, sizeof lft);
	memset(mft, 0, sizeof mft);
	memset(pkey, 0, sizeof pkey);
	memset(sl2vl, 0, sizeof sl2vl);
	forward = (struct vb_forward){
	    .unicast = lft, .multicast = mft, .unicast_cap = 200, .multicast_cap = 40};
	node = (struct vb_sma_node){
	    .info = {.type = type, .port_cnt = port_cnt, .node_guid = 0xabc, .pkey_cap = 40},
	    .sw = {.linear_cap = 200, .multicast_cap = 40},
	    .port = port,
	    .forward = &forward};
	for (unsigned i = first; i <= port_cnt; i++) {
		vb_ib_port_init(&link[i], &c);
		guid[i][0] = 0x100 + i;
		port[i] = (struct vb_sma_port){.link = &link[i],
					       .guid = guid[i],
					       .pkey = pkey[i],
					       .sl2vl = sl2vl[i],
					       .lease_ends = VB_NEVER,
					       .info = {.cap_mask = VB_CAP_SL_MAPPING,
							.width_supported = 3,
							.width_enabled = 3,
							.speed_supported = 7,
							.speed_enabled = 7,
							.ext_speed_supported = 3,
							.ext_speed_enabled = 3,
							.phys_state = VB_PHYS_POLLING,
							.mtu_cap = 5,
							.neighbor_mtu = 1,
							.vl_cap = 4,
							.oper_vls = 1,
							.arb_high_cap = 8,
							.arb_low_cap = 40,
							.guid_cap = 10}};
	}
	if (first == 0)
		port[0].link = NULL;
}

/* Asks by @in_port and gives the status of the answer, -1: there is none. */
static int ask(uint8_t method, uint16_t attr, uint32_t mod, uint8_t in_port, uint64_t key)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SUBN_DIRECTED,
			       .class_version = 1,
			       .method = method,
			       .tid = 0x77,
			       .attr_id = attr,
			       .attr_mod = mod};
	struct vb_smp_route r = {
	    .hop_ptr = 2, .hop_cnt = 1, .dr_slid = 0xffff, .dr_dlid = 0xffff, .mkey = key};

	vb_mad_hdr_emit(&h, mad);
	vb_smp_route_emit(&r, mad);
	result = vb_sma_handle(&node, mad, in_port, 1000);
	if (!result.respond)
		return -1;
	vb_mad_hdr_parse(&h, mad);
	vb_smp_route_parse(&r, mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_true(h.tid == 0x77 && h.attr_id == attr && h.attr_mod == mod);
	assert_true(r.returning);
	assert_int_equal(r.hop_ptr, 2);
	assert_int_equal(r.hop_cnt, 1);
	return r.status;
}

static int get(uint16_t attr, uint32_t mod, uint8_t in_port)
{
	return ask(VB_MAD_METHOD_GET, attr, mod, in_port, 0);
}

static int set(uint16_t attr, uint32_t mod, uint8_t in_port)
{
	return ask(VB_MAD_METHOD_SET, attr, mod, in_port, 0);
}

static struct vb_port_info port_info(void)
{
	struct vb_port_info p = {0};

	vb_port_info_parse(&p, mad);
	return p;
}

static int set_port(struct vb_port_info *p, uint8_t number)
{
	memset(mad, 0, sizeof mad);
	vb_port_info_emit(p, mad);
	return set(VB_SMP_PORT_INFO, number, 1);
}

/* A PortInfo that is legal to set: nothing changes but the LIDs. */
static struct vb_port_info good_port(void)
{
	return (struct vb_port_info){.lid = 8, .sm_lid = 1, .neighbor_mtu = 1};
}

/* FAB-14, FAB-15 */
static void sma__methods_and_attributes(void **state)
{
	struct vb_mad_hdr h;
	struct vb_smp_route r;

	(void)state;
	node_begin(VB_NODE_CA, 2);
	assert_int_equal(ask(0x05, VB_SMP_NODE_INFO, 0, 1, 0), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(ask(0x81, VB_SMP_NODE_INFO, 0, 1, 0), -1);
	assert_int_equal(ask(0x07, VB_SMP_NOTICE, 0, 1, 0), -1);
	assert_int_equal(get(0xff90, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(set(VB_SMP_NODE_INFO, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(set(VB_SMP_NODE_DESCRIPTION, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(get(VB_SMP_SWITCH_INFO, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(get(VB_SMP_LFT, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(get(VB_SMP_MFT, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(get(VB_SMP_RFT, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_int_equal(get(VB_SMP_NOTICE, 0, 1), VB_SMP_GOOD);
	assert_int_equal(mad[VB_SMP_DATA_AT], 0x7f);
	assert_int_equal(get(VB_SMP_VENDOR_DIAG, 0, 1), VB_SMP_GOOD);
	assert_int_equal(get(VB_SMP_VENDOR_DIAG, 1, 1), VB_SMP_BAD_FIELD);

	/* Another version of the class; an SMP by LID has no direction. */
	h = (struct vb_mad_hdr){.mgmt_class = VB_MAD_CLASS_SUBN_LID,
				.class_version = 2,
				.method = VB_MAD_METHOD_GET,
				.attr_id = VB_SMP_NODE_INFO};
	vb_mad_hdr_emit(&h, mad);
	result = vb_sma_handle(&node, mad, 1, 0);
	vb_smp_route_parse(&r, mad);
	assert_true(result.respond);
	assert_int_equal(r.status, VB_SMP_BAD_VERSION);
	assert_false(r.returning);
}

/* FAB-18, FAB-19, FAB-29 */
static void sma__node(void **state)
{
	struct vb_node_info n = {0};

	(void)state;
	node_begin(VB_NODE_CA, 2);
	memcpy(node.description, "adapter", 8);
	memset(mad, 0xff, sizeof mad);
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 2), VB_SMP_GOOD);
	vb_node_info_parse(&n, mad);
	assert_int_equal(n.local_port, 2);
	assert_true(n.port_guid == 0x102 && n.node_guid == 0xabc);
	assert_int_equal(mad[VB_SMP_DATA_AT + 63], 0); /* nothing of the question */
	assert_int_equal(get(VB_SMP_NODE_INFO, 1, 2), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_NODE_DESCRIPTION, 0, 1), VB_SMP_GOOD);
	assert_memory_equal(mad + VB_SMP_DATA_AT, "adapter\0", 9);

	assert_int_equal(get(VB_SMP_LED_INFO, 1, 1), VB_SMP_BAD_METHOD_ATTR);
	port[1].info.cap_mask |= VB_CAP_LED_INFO;
	mad[VB_SMP_DATA_AT] = 0x80;
	assert_int_equal(set(VB_SMP_LED_INFO, 1, 1), VB_SMP_GOOD);
	assert_int_equal(get(VB_SMP_LED_INFO, 0, 1), VB_SMP_GOOD);
	assert_int_equal(mad[VB_SMP_DATA_AT], 0x80);
	assert_int_equal(get(VB_SMP_LED_INFO, 3, 1), VB_SMP_BAD_FIELD);

	node_begin(VB_NODE_SWITCH, 4);
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 3), VB_SMP_GOOD);
	vb_node_info_parse(&n, mad);
	assert_int_equal(n.local_port, 3);
	assert_true(n.port_guid == 0x100); /* that of port 0 */
}

/* FAB-03, FAB-04 */
static void sma__switch_info(void **state)
{
	struct vb_switch_info s = {.linear_top = 50,
				   .default_mcast_primary = 3,
				   .default_mcast_other = 4,
				   .life_time = 7,
				   .multicast_top = 0xc007,
				   .linear_cap = 9};

	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	node.sw.port_state_change = 1;
	memset(mad, 0, sizeof mad);
	vb_switch_info_emit(&s, mad);
	assert_int_equal(set(VB_SMP_SWITCH_INFO, 0, 1), VB_SMP_GOOD);
	assert_int_equal(node.sw.port_state_change, 1); /* 0 keeps it */
	assert_int_equal(node.sw.linear_cap, 200);      /* read only */
	assert_int_equal(forward.unicast_top, 50);
	assert_int_equal(forward.multicast_top, 0xc007);
	assert_int_equal(forward.multicast_primary, 3);
	assert_int_equal(forward.multicast_other, 4);
	memset(&s, 0, sizeof s);
	vb_switch_info_parse(&s, mad);
	assert_int_equal(s.linear_cap, 200);
	assert_int_equal(s.life_time, 7);
	s.port_state_change = 1;
	vb_switch_info_emit(&s, mad);
	assert_int_equal(set(VB_SMP_SWITCH_INFO, 0, 1), VB_SMP_GOOD);
	assert_int_equal(node.sw.port_state_change, 0);
	s.linear_top = 200;
	vb_switch_info_emit(&s, mad);
	assert_int_equal(set(VB_SMP_SWITCH_INFO, 0, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(forward.unicast_top, 50);
	assert_int_equal(get(VB_SMP_SWITCH_INFO, 1, 1), VB_SMP_BAD_FIELD);
}

/* FAB-16, FAB-17 */
static void sma__keys(void **state)
{
	(void)state;
	node_begin(VB_NODE_CA, 2);
	port[1].info.mkey = KEY;
	port[1].info.mkey_lease = 3;
	/* Level 0 shows the key to all, level 1 to those that know it. */
	assert_int_equal(get(VB_SMP_PORT_INFO, 1, 1), VB_SMP_GOOD);
	assert_true(port_info().mkey == KEY);
	port[1].info.mkey_protect = 1;
	assert_int_equal(get(VB_SMP_PORT_INFO, 1, 1), VB_SMP_GOOD);
	assert_true(port_info().mkey == 0);
	assert_int_equal(ask(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 1, 1, KEY), VB_SMP_GOOD);
	assert_true(port_info().mkey == KEY);
	assert_int_equal(port[1].info.mkey_violations, 0);
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 2), VB_SMP_GOOD);

	/* A Set is refused at each level, a Get at 2 and 3: no answer, a violation, the lease runs.
	 */
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 0, 1), -1);
	assert_int_equal(result.changes, VB_SMA_MKEY_TRAP);
	assert_int_equal(result.port, 1);
	assert_int_equal(port[1].info.mkey_violations, 1);
	assert_true(vb_sma_poll_timeout(&node) == 1000 + 3 * VB_SEC);
	port[1].info.mkey_protect = 2;
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 1), -1);
	assert_int_equal(ask(0x07, VB_SMP_NOTICE, 0, 1, 0), -1);
	assert_int_equal(port[1].info.mkey_violations, 3);
	port[1].info.mkey_violations = 0xffff;
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 1), -1);
	assert_int_equal(port[1].info.mkey_violations, 0xffff);
	/* Who knows the key stops the countdown. */
	assert_int_equal(ask(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, 1, KEY), VB_SMP_GOOD);
	assert_true(vb_sma_poll_timeout(&node) == VB_NEVER);

	/* The end of a lease lifts the protection and keeps the key. */
	assert_int_equal(get(VB_SMP_NODE_INFO, 0, 1), -1);
	vb_sma_handle_timeout(&node, 1000 + 3 * VB_SEC - 1);
	assert_int_equal(port[1].info.mkey_protect, 2);
	vb_sma_handle_timeout(&node, 1000 + 3 * VB_SEC);
	assert_int_equal(port[1].info.mkey_protect, 0);
	assert_true(port[1].info.mkey == KEY);
	assert_true(vb_sma_poll_timeout(&node) == VB_NEVER);
	/* A lease of 0 never runs. */
	port[1].info.mkey_lease = 0;
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 0, 1), -1);
	assert_true(vb_sma_poll_timeout(&node) == VB_NEVER);
	/* A Set brings the key, its level and its lease. */
	struct vb_port_info p = good_port();

	p.mkey = KEY + 1;
	p.mkey_protect = 3;
	p.mkey_lease = 9;
	vb_port_info_emit(&p, mad);
	assert_int_equal(ask(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 1, 1, KEY), VB_SMP_GOOD);
	assert_true(port[1].info.mkey == KEY + 1);
	assert_int_equal(port[1].info.mkey_protect, 3);
	assert_int_equal(port[1].info.mkey_lease, 9);
	/* The other port has a key of its own; a switch has that of port 0. */
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 0, 2), VB_SMP_GOOD);
	node_begin(VB_NODE_SWITCH, 4);
	port[0].info.mkey = KEY;
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 0, 2), -1);
	assert_int_equal(port[0].info.mkey_violations, 1);
}

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
	assert_int_equal(link[1].config.mtu, 4096);
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

/* FAB-20 */
static void sma__guids(void **state)
{
	(void)state;
	node_begin(VB_NODE_CA, 2);
	memset(mad, 0, sizeof mad);
	vb_smp_put64(mad, 0, 0x999); /* read only */
	vb_smp_put64(mad, 3, 0x333);
	assert_int_equal(set(VB_SMP_GUID_INFO, 0, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_GID);
	assert_true(guid[1][0] == 0x101 && guid[1][3] == 0x333);
	assert_true(vb_smp_get64(mad, 0) == 0x101);
	assert_int_equal(set(VB_SMP_GUID_INFO, 0, 1), VB_SMP_GOOD);
	assert_int_equal(result.changes, 0);
	vb_smp_put64(mad, 1, 0x1001);
	vb_smp_put64(mad, 2, 0x1002); /* beyond the ten that there are */
	assert_int_equal(set(VB_SMP_GUID_INFO, 1, 1), VB_SMP_GOOD);
	assert_true(guid[1][9] == 0x1001);
	assert_true(vb_smp_get64(mad, 2) == 0);
	assert_int_equal(get(VB_SMP_GUID_INFO, 2, 1), VB_SMP_BAD_FIELD);
	guid[1][3] = guid[1][9] = 0;
}

/* FAB-25 */
static void sma__pkeys(void **state)
{
	(void)state;
	node_begin(VB_NODE_CA, 2);
	pkey[2][39] = 0x8001;
	memset(mad, 0, sizeof mad);
	vb_smp_put16(mad, 7, 0xffff);
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 1, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, VB_SMA_PKEY);
	assert_int_equal(result.port, 2);
	assert_int_equal(pkey[2][39], 0xffff);
	vb_smp_put16(mad, 8, 0x7777); /* there are 40 */
	assert_int_equal(set(VB_SMP_PKEY_TABLE, 1, 2), VB_SMP_GOOD);
	assert_int_equal(result.changes, 0);
	assert_int_equal(pkey[2][40], 0);
	assert_int_equal(vb_smp_get16(mad, 8), 0);
	assert_int_equal(get(VB_SMP_PKEY_TABLE, 2, 2), VB_SMP_BAD_FIELD);

	node_begin(VB_NODE_SWITCH, 4);
	pkey[3][0] = 0x1234;
	assert_int_equal(get(VB_SMP_PKEY_TABLE, 3 << 16, 1), VB_SMP_GOOD);
	assert_int_equal(vb_smp_get16(mad, 0), 0x1234);
	assert_int_equal(get(VB_SMP_PKEY_TABLE, 5 << 16, 1), VB_SMP_BAD_FIELD);
}

/* FAB-26, LNK-22, LNK-23 */
static void sma__lanes(void **state)
{
	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	memset(mad, 0, sizeof mad);
	memcpy(mad + VB_SMP_DATA_AT, ((uint8_t[]){0x01, 0x23, 0, 0, 0, 0, 0, 0x7f}), 8);
	assert_int_equal(set(VB_SMP_SL2VL, 2 << 8 | 3, 1), VB_SMP_GOOD);
	assert_int_equal(sl2vl[3][2].vl[1], 1);
	assert_int_equal(sl2vl[3][2].vl[3], 3);
	assert_int_equal(sl2vl[3][2].vl[14], 7);
	assert_int_equal(sl2vl[3][2].vl[15], 15);
	assert_int_equal(get(VB_SMP_SL2VL, 2 << 8 | 3, 1), VB_SMP_GOOD);
	assert_int_equal(mad[VB_SMP_DATA_AT + 7], 0x7f);
	assert_int_equal(get(VB_SMP_SL2VL, 5 << 8 | 3, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_SL2VL, 2 << 8 | 5, 1), VB_SMP_BAD_FIELD);
	port[0].info.cap_mask = 0;
	assert_int_equal(get(VB_SMP_SL2VL, 2 << 8 | 3, 1), VB_SMP_BAD_METHOD_ATTR);

	memset(mad, 0, sizeof mad);
	memcpy(mad + VB_SMP_DATA_AT, ((uint8_t[]){0, 10, 1, 20}), 4);
	mad[VB_SMP_DATA_AT + 16] = 2; /* the ninth of eight */
	mad[VB_SMP_DATA_AT + 17] = 30;
	assert_int_equal(set(VB_SMP_VL_ARB, 3 << 16 | 2, 1), VB_SMP_GOOD);
	assert_int_equal(link[2].arbiter.table[VB_ARB_HIGH].cnt, 8);
	assert_int_equal(link[2].arbiter.table[VB_ARB_HIGH].entry[1].weight, 20);
	assert_int_equal(mad[VB_SMP_DATA_AT + 17], 0);
	assert_int_equal(port[2].arb[VB_ARB_HIGH][8].weight, 0);
	memcpy(mad + VB_SMP_DATA_AT, ((uint8_t[]){3, 40}), 2);
	assert_int_equal(set(VB_SMP_VL_ARB, 2 << 16 | 2, 1), VB_SMP_GOOD); /* the 33rd low one */
	assert_int_equal(link[2].arbiter.table[VB_ARB_LOW].entry[32].weight, 40);
	assert_int_equal(get(VB_SMP_VL_ARB, 2 << 16 | 2, 1), VB_SMP_GOOD);
	assert_int_equal(mad[VB_SMP_DATA_AT + 1], 40);
	assert_int_equal(get(VB_SMP_VL_ARB, 4 << 16 | 2, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_VL_ARB, 0 << 16 | 2, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_VL_ARB, 5 << 16 | 2, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_VL_ARB, 1 << 16 | 5, 1), VB_SMP_BAD_FIELD);
	port[2].info.vl_cap = 1;
	assert_int_equal(get(VB_SMP_VL_ARB, 3 << 16 | 2, 1), VB_SMP_BAD_METHOD_ATTR);
}

/* FAB-27 */
static void sma__forwarding_tables(void **state)
{
	(void)state;
	node_begin(VB_NODE_SWITCH, 4);
	memset(mad, 0, sizeof mad);
	mad[VB_SMP_DATA_AT + 2] = 3;
	assert_int_equal(set(VB_SMP_LFT, 1, 1), VB_SMP_GOOD);
	assert_int_equal(lft[66], 3);
	assert_int_equal(lft[63], VB_PORT_NONE);
	assert_int_equal(get(VB_SMP_LFT, 3, 1), VB_SMP_GOOD); /* 192 to 199 */
	assert_int_equal(mad[VB_SMP_DATA_AT + 63], VB_PORT_NONE);
	assert_int_equal(get(VB_SMP_LFT, 4, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_LFT, 0x04000001, 1), VB_SMP_BAD_FIELD);

	memset(mad, 0, sizeof mad);
	vb_smp_put16(mad, 5, 0x0012);
	assert_int_equal(set(VB_SMP_MFT, 0, 1), VB_SMP_GOOD);
	assert_int_equal(mft[5].word[0], 0x0012);
	assert_int_equal(get(VB_SMP_MFT, 1, 1), VB_SMP_GOOD);
	vb_smp_put16(mad, 7, 0x0004);
	vb_smp_put16(mad, 8, 0x0008); /* there are 40 */
	assert_int_equal(set(VB_SMP_MFT, 1, 1), VB_SMP_GOOD);
	assert_int_equal(mft[39].word[0], 0x0004);
	assert_int_equal(vb_smp_get16(mad, 8), 0);
	assert_int_equal(get(VB_SMP_MFT, 2, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(get(VB_SMP_MFT, 1u << 28, 1), VB_SMP_BAD_FIELD); /* ports 16 and up */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sma__methods_and_attributes),
	    cmocka_unit_test(sma__node),
	    cmocka_unit_test(sma__switch_info),
	    cmocka_unit_test(sma__keys),
	    cmocka_unit_test(sma__port_info_get),
	    cmocka_unit_test(sma__port_info_set_lids),
	    cmocka_unit_test(sma__port_info_set_state),
	    cmocka_unit_test(sma__port_info_set_link),
	    cmocka_unit_test(sma__guids),
	    cmocka_unit_test(sma__pkeys),
	    cmocka_unit_test(sma__lanes),
	    cmocka_unit_test(sma__forwarding_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
