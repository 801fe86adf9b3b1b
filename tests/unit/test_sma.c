/* SPDX-License-Identifier: BSD-2-Clause */
/* The subnet management agent: methods, keys, the node and its tables. IBA 14.2 */
#include "sma_env.h"

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
	assert_int_equal(get(VB_SMP_NODE_DESCRIPTION, 1, 1), VB_SMP_BAD_FIELD);
	assert_int_equal(set(VB_SMP_NODE_DESCRIPTION, 0, 1), VB_SMP_BAD_METHOD_ATTR);
	assert_memory_equal(node.description, "adapter", 8);

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
	/* A request with the key stops the countdown. */
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
	    cmocka_unit_test(sma__guids),
	    cmocka_unit_test(sma__pkeys),
	    cmocka_unit_test(sma__lanes),
	    cmocka_unit_test(sma__forwarding_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
