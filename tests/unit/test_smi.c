/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directed routes, node by node, and the forwarding tables of switches. IBA 14.2.2, 18.2.4
 *
 * The route of most tests: an adapter (port 1), switch A (in by 3, out by 5), switch B (in by 1,
 * out by 2), an adapter (in by 1).
 */
#include "cmocka_env.h"
#include "fabric/ib/forward.h"
#include "mgmt/smi.h"

#include <string.h>

static const struct vb_smi_node adapter = {.port_cnt = 2};
static const struct vb_smi_node a_switch = {.is_switch = true, .port_cnt = 8};

static uint8_t mad[VB_MAD_LEN];

static void request_begin(uint8_t hop_cnt, uint8_t hop_ptr, uint16_t dr_slid, uint16_t dr_dlid)
{
	struct vb_smp_route r = {
	    .hop_cnt = hop_cnt, .hop_ptr = hop_ptr, .dr_slid = dr_slid, .dr_dlid = dr_dlid};

	memset(mad, 0, sizeof mad);
	vb_smp_route_emit(&r, mad);
	memcpy(vb_smp_initial_path(mad), ((uint8_t[]){0, 1, 5, 2}), 4);
}

static void respond(void)
{
	struct vb_smp_route r;

	vb_smp_route_parse(&r, mad);
	r.returning = true;
	vb_smp_route_emit(&r, mad);
}

static uint8_t hop_ptr(void)
{
	struct vb_smp_route r;

	vb_smp_route_parse(&r, mad);
	return r.hop_ptr;
}

static void expect_port(const struct vb_smi_node *node, uint8_t in_port, uint8_t out)
{
	struct vb_smi_step s = vb_smi_forward(mad, node, in_port, false);

	assert_int_equal(s.where, VB_SMI_PORT);
	assert_int_equal(s.port, out);
}

static void expect_where(const struct vb_smi_node *node, uint8_t in_port, bool lid_routed,
			 enum vb_smi_where where)
{
	assert_int_equal(vb_smi_forward(mad, node, in_port, lid_routed).where, where);
}

/* FAB-09, FAB-10, FAB-11, FAB-12: there and back. */
static void smi__there_and_back(void **state)
{
	(void)state;
	request_begin(3, 0, 0xffff, 0xffff);
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	assert_int_equal(hop_ptr(), 1);
	expect_port(&a_switch, 3, 5);
	expect_port(&a_switch, 1, 2);
	assert_int_equal(hop_ptr(), 3);
	expect_where(&adapter, 1, false, VB_SMI_AGENT);
	assert_int_equal(hop_ptr(), 4);
	assert_memory_equal(vb_smp_return_path(mad), ((uint8_t[]){0, 3, 1, 1}), 4);
	respond();
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	expect_port(&a_switch, 2, 1);
	expect_port(&a_switch, 5, 3);
	assert_int_equal(hop_ptr(), 1);
	expect_where(&adapter, 1, false, VB_SMI_MANAGER);
	assert_int_equal(hop_ptr(), 0);
}

/* FAB-09, FAB-12: no hop at all stays in the node. */
static void smi__no_hop(void **state)
{
	(void)state;
	request_begin(0, 0, 0xffff, 0xffff);
	expect_where(&adapter, VB_SMI_LOCAL, false, VB_SMI_AGENT);
	assert_int_equal(hop_ptr(), 1);
	respond();
	expect_where(&adapter, VB_SMI_LOCAL, false, VB_SMI_MANAGER);
	assert_int_equal(hop_ptr(), 0);
	/* A switch of which the agent of a directly linked adapter asks: one hop. */
	request_begin(1, 0, 0xffff, 0xffff);
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	expect_where(&a_switch, 7, false, VB_SMI_AGENT);
	assert_int_equal(vb_smp_return_path(mad)[1], 7);
	respond();
	expect_port(&a_switch, VB_SMI_LOCAL, 7);
	expect_where(&adapter, 1, false, VB_SMI_MANAGER);
}

/* FAB-09 to FAB-12: what breaks a rule goes nowhere. */
static void smi__discards(void **state)
{
	(void)state;
	request_begin(64, 0, 0xffff, 0xffff);
	expect_where(&adapter, VB_SMI_LOCAL, false, VB_SMI_DISCARD);
	request_begin(63, 0, 0xffff, 0xffff);
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	request_begin(3, 1, 0xffff, 0xffff); /* a sender begins with 0 */
	expect_where(&a_switch, VB_SMI_LOCAL, false, VB_SMI_DISCARD);
	request_begin(3, 0, 0xffff, 0xffff); /* ... and what comes has 1 or more */
	expect_where(&a_switch, 3, false, VB_SMI_DISCARD);
	request_begin(3, 1, 0xffff, 0xffff); /* an adapter forwards nothing */
	expect_where(&adapter, 1, false, VB_SMI_DISCARD);
	request_begin(3, 5, 0xffff, 0xffff); /* beyond the end */
	expect_where(&a_switch, 3, false, VB_SMI_DISCARD);
	request_begin(3, 4, 0xffff, 0xffff);
	expect_where(&a_switch, 3, false, VB_SMI_AGENT);
	request_begin(3, 1, 0xffff, 0xffff);
	vb_smp_initial_path(mad)[2] = 8; /* the last port */
	expect_port(&a_switch, 3, 8);
	request_begin(3, 1, 0xffff, 0xffff);
	vb_smp_initial_path(mad)[2] = 9; /* no such port */
	expect_where(&a_switch, 3, false, VB_SMI_DISCARD);
	request_begin(3, 1, 0xffff, 0xffff);
	vb_smp_initial_path(mad)[2] = 0;
	expect_where(&a_switch, 3, false, VB_SMI_DISCARD);

	request_begin(3, 5, 0xffff, 0xffff);
	respond();
	expect_where(&a_switch, 2, false, VB_SMI_DISCARD);
	request_begin(3, 2, 0xffff, 0xffff);
	respond();
	vb_smp_return_path(mad)[1] = 3;
	expect_where(&adapter, 1, false, VB_SMI_DISCARD);
	expect_port(&a_switch, 2, 3);
	request_begin(3, 3, 0xffff, 0xffff);
	respond();
	vb_smp_return_path(mad)[2] = 200;
	expect_where(&a_switch, 2, false, VB_SMI_DISCARD);
	request_begin(3, 0, 0xffff, 0xffff);
	respond();
	expect_where(&adapter, 1, false, VB_SMI_MANAGER);
}

/* FAB-13: a part with LIDs before, and one behind the directed part. */
static void smi__combined_routes(void **state)
{
	struct vb_smi_step s;

	(void)state;
	/* LIDs lead to switch A, then two hops. */
	request_begin(2, 0, 0x0011, 0xffff);
	memcpy(vb_smp_initial_path(mad), ((uint8_t[]){0, 5, 2}), 3);
	s = vb_smi_forward(mad, &a_switch, 3, true);
	assert_int_equal(s.where, VB_SMI_PORT);
	assert_int_equal(s.port, 5);
	expect_port(&a_switch, 1, 2);
	expect_where(&adapter, 1, false, VB_SMI_AGENT);
	respond();
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	expect_port(&a_switch, 2, 1);
	s = vb_smi_forward(mad, &a_switch, 5, false);
	assert_int_equal(s.where, VB_SMI_LID);
	assert_int_equal(s.lid, 0x0011);
	expect_where(&adapter, 1, true, VB_SMI_MANAGER);
	/* An adapter is no place where such a route begins or ends. */
	request_begin(2, 0, 0x0011, 0xffff);
	expect_where(&adapter, 1, true, VB_SMI_DISCARD);
	request_begin(2, 1, 0x0011, 0xffff);
	respond();
	expect_where(&adapter, 1, false, VB_SMI_DISCARD);

	/* One hop to switch A, then LIDs lead on. */
	request_begin(1, 0, 0xffff, 0x0022);
	expect_port(&adapter, VB_SMI_LOCAL, 1);
	s = vb_smi_forward(mad, &a_switch, 3, false);
	assert_int_equal(s.where, VB_SMI_LID);
	assert_int_equal(s.lid, 0x0022);
	expect_where(&adapter, 2, true, VB_SMI_AGENT);
	respond();
	expect_port(&a_switch, 6, 3); /* LIDs led back to switch A */
	expect_where(&adapter, 1, false, VB_SMI_MANAGER);
	request_begin(1, 1, 0xffff, 0x0022);
	expect_where(&adapter, 1, false, VB_SMI_DISCARD);
}

/* FAB-01 */
static void forward__unicast(void **state)
{
	uint8_t table[16];
	struct vb_lid_forward f = {.unicast = table, .unicast_cap = 16, .unicast_top = 9};

	(void)state;
	memset(table, VB_PORT_NONE, sizeof table);
	table[0] = 4;
	table[3] = 7;
	table[5] = 0;
	table[9] = 2;
	table[10] = 2;
	assert_int_equal(vb_lid_forward_unicast(&f, 3, 1), 7);
	assert_int_equal(vb_lid_forward_unicast(&f, 3, 7),
			 VB_PORT_NONE); /* back where it came from */
	assert_int_equal(vb_lid_forward_unicast(&f, 4, 1), VB_PORT_NONE);
	assert_int_equal(vb_lid_forward_unicast(&f, 5, 1), 0); /* the switch itself */
	assert_int_equal(vb_lid_forward_unicast(&f, 9, 1), 2);
	assert_int_equal(vb_lid_forward_unicast(&f, 10, 1), VB_PORT_NONE); /* above the top */
	assert_int_equal(vb_lid_forward_unicast(&f, 0, 1), VB_PORT_NONE);  /* no LID at all */
	f.unicast_top = 0xbfff;
	assert_int_equal(vb_lid_forward_unicast(&f, 10, 1), 2);
	assert_int_equal(vb_lid_forward_unicast(&f, 16, 1), VB_PORT_NONE); /* the table ends */
}

/* FAB-02 */
static void forward__multicast(void **state)
{
	static struct vb_port_mask table[4], out;
	struct vb_lid_forward f = {.multicast = table,
				   .multicast_cap = 4,
				   .multicast_primary = VB_PORT_NONE,
				   .multicast_other = VB_PORT_NONE};

	(void)state;
	memset(table, 0, sizeof table);
	table[1].word[0] = 0x0016;  /* ports 1, 2, 4 */
	table[1].word[15] = 0x4000; /* port 254 */
	table[2].word[0] = 0x0002;
	assert_true(vb_lid_forward_multicast(&f, 0xc001, 2, &out));
	assert_true(vb_port_mask_has(&out, 1));
	assert_false(vb_port_mask_has(&out, 2)); /* where it came from */
	assert_true(vb_port_mask_has(&out, 4));
	assert_true(vb_port_mask_has(&out, 254));
	assert_int_equal(out.word[0], 0x0012);
	assert_false(vb_lid_forward_multicast(&f, 0xc002, 1, &out));
	assert_false(vb_lid_forward_multicast(&f, 0xc000, 1, &out));
	assert_false(vb_lid_forward_multicast(&f, 0xc004, 1, &out));

	/* LIDs without an entry take the default port; what comes by that one, the other. */
	f.multicast_primary = 5;
	f.multicast_other = 6;
	assert_true(vb_lid_forward_multicast(&f, 0xc000, 1, &out));
	assert_int_equal(out.word[0], 1 << 5);
	assert_true(vb_lid_forward_multicast(&f, 0xc004, 5, &out));
	assert_int_equal(out.word[0], 1 << 6);
	f.multicast_other = VB_PORT_NONE;
	assert_false(vb_lid_forward_multicast(&f, 0xc004, 5, &out));
	/* So do LIDs above the top. */
	f.multicast_top = 0xc000;
	assert_true(vb_lid_forward_multicast(&f, 0xc001, 2, &out));
	assert_int_equal(out.word[0], 1 << 5);
	assert_int_equal(out.word[15], 0);
	/* The top itself has its entry. */
	f.multicast_top = 0xc001;
	assert_true(vb_lid_forward_multicast(&f, 0xc001, 2, &out));
	assert_int_equal(out.word[0], 0x0012);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(smi__there_and_back), cmocka_unit_test(smi__no_hop),
	    cmocka_unit_test(smi__discards),       cmocka_unit_test(smi__combined_routes),
	    cmocka_unit_test(forward__unicast),    cmocka_unit_test(forward__multicast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
