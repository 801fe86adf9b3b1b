/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router between two subnets as their managers see it, and management packets that pass it:
 * HOST_A - 1 ROUTER 2 - HOST_C. FAB-06, FAB-07, IBT-95
 */
#include "subnet_env.h"
#include "wire/ib/hop.h"

enum { ROUTER = 1, HOST_C = 2 };
/* LIDs of two subnets: one of them is in both. */
enum { LID_A = 0x10, LID_NEAR = 0x11, LID_FAR = 0x10, LID_C = 0x13 };
#define PREFIX_A UINT64_C(0xfec0000000000001)
#define PREFIX_C UINT64_C(0xfec0000000000002)

static const uint8_t to_router[] = {1}, behind_router[] = {1, 2};

static void port_configure(uint32_t node, uint8_t port, uint64_t prefix, uint16_t lid)
{
	info_of(node, port)->prefix = prefix;
	info_of(node, port)->lid = lid;
	link_of(node, port)->state = VB_LINK_ACTIVE;
}

static int begin(void **state)
{
	(void)state;
	now = VB_SEC;
	net = (struct vb_subnet){.alloc = zeroed_alloc, .free = plain_free};
	assert_int_equal(vb_subnet_open(&net, 3), 0);
	add_node(VB_NODE_CA, 1, 0xa0);
	add_node(VB_NODE_ROUTER, 2, 0xb0);
	add_node(VB_NODE_CA, 1, 0xd0);
	assert_int_equal(
	    vb_subnet_join(&net, place(HOST_A, 1), place(ROUTER, 1), VB_IB_EDR, VB_IB_4X, now), 0);
	assert_int_equal(
	    vb_subnet_join(&net, place(ROUTER, 2), place(HOST_C, 1), VB_IB_EDR, VB_IB_4X, now), 0);
	return 0;
}

static void both_configure(void)
{
	port_configure(HOST_A, 1, PREFIX_A, LID_A);
	port_configure(ROUTER, 1, PREFIX_A, LID_NEAR);
	port_configure(ROUTER, 2, PREFIX_C, LID_FAR);
	port_configure(HOST_C, 1, PREFIX_C, LID_C);
}

/* FAB-07, IBT-95: NodeType 3; each port has a GUID and tables of its own; no attribute of switches.
 */
static void agent__is_that_of_a_router(void **state)
{
	static const uint16_t of_switches[] = {VB_SMP_SWITCH_INFO, VB_SMP_LFT, VB_SMP_MFT};
	struct vb_node_info info;

	(void)state;
	assert_int_equal(
	    ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_router, sizeof to_router), 0);
	memset(&info, 0, sizeof info);
	vb_node_info_parse(&info, m.mad);
	assert_int_equal(info.type, VB_NODE_ROUTER);
	assert_int_equal(info.port_cnt, 2);
	assert_int_equal(info.local_port, 1);
	assert_int_equal(info.node_guid, 0xb0);
	assert_int_equal(info.port_guid, 0xb1);
	for (size_t i = 0; i < sizeof of_switches / sizeof of_switches[0]; i++) {
		assert_int_equal(ask_directed(VB_MAD_METHOD_GET, of_switches[i], 0, to_router, 1),
				 VB_SMP_BAD_METHOD_ATTR);
		assert_int_equal(ask_directed(VB_MAD_METHOD_SET, of_switches[i], 0, to_router, 1),
				 VB_SMP_BAD_METHOD_ATTR);
	}
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_GUID_INFO, 0, to_router, 1), 0);
	assert_int_equal(vb_smp_get64(m.mad, 0), 0xb1);
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 1, to_router, 1), 0);
	/* The manager of one subnet does not see the other one. */
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, behind_router, 2),
			 -1);
}

/* The prefix that a manager sets at one port is that port's. */
static void agent__has_a_prefix_for_each_port(void **state)
{
	struct vb_port_info want;

	(void)state;
	assert_int_equal(ask_directed(VB_MAD_METHOD_GET, VB_SMP_PORT_INFO, 1, to_router, 1), 0);
	memset(&want, 0, sizeof want);
	vb_port_info_parse(&want, m.mad);
	want.prefix = PREFIX_A;
	want.lid = LID_NEAR;
	want.sm_lid = LID_A;
	want.state = 0;
	want.phys_state = 0;
	vb_port_info_emit(&want, m.mad);
	assert_int_equal(ask_directed(VB_MAD_METHOD_SET, VB_SMP_PORT_INFO, 1, to_router, 1), 0);
	assert_true(info_of(ROUTER, 1)->prefix == PREFIX_A);
	assert_true(info_of(ROUTER, 2)->prefix == VB_PREFIX_LINK_LOCAL);
	assert_int_equal(info_of(ROUTER, 2)->lid, 0);
}

static void gid_put(uint8_t gid[16], uint64_t prefix, uint64_t guid)
{
	be64_put(gid, prefix);
	be64_put(gid + 8, guid);
}

/* A question of HOST_A to the performance manager's agent with this GID, by the router. */
static void question_make(uint64_t prefix, uint64_t guid, uint8_t hop_limit)
{
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 1, LID_NEAR);
	m.has_grh = true;
	m.hop_limit = hop_limit;
	gid_put(m.sgid, PREFIX_A, 0xa1);
	gid_put(m.dgid, prefix, guid);
}

/* FAB-06: a packet with a GRH goes on with new LIDs and one hop less, and so does its answer. */
static void mads__pass_the_router(void **state)
{
	uint8_t gid[16];

	(void)state;
	both_configure();
	question_make(PREFIX_C, 0xd1, 2);
	assert_true(vb_subnet_carry(&net, &m, now));
	assert_int_equal(m.at.node, HOST_C);
	assert_int_equal(m.slid, LID_FAR);
	assert_int_equal(m.dlid, LID_C);
	assert_int_equal(m.hop_limit, 1);
	question_make(PREFIX_C, 0xd1, 64);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	assert_int_equal(m.slid, LID_NEAR);
	assert_int_equal(m.dlid, LID_A);
	assert_int_equal(m.hop_limit, 0xfe);
	gid_put(gid, PREFIX_C, 0xd1);
	assert_memory_equal(m.sgid, gid, sizeof gid);
	assert_int_equal(link_of(ROUTER, 2)->counters.xmit_packets, 2);
	assert_int_equal(link_of(ROUTER, 1)->counters.xmit_packets, 1);
	assert_int_equal(net.node[ROUTER].port[1].not_routed, 0);
}

/* FAB-06, FAB-07, LNK-06: drops are counted at the port where the packet came in. Packets without a
 * GRH, and those to a GID of the router, are for the router itself. */
static void mads__that_do_not_pass(void **state)
{
	struct vb_subnet_port *in = &net.node[ROUTER].port[1];

	(void)state;
	both_configure();
	question_make(PREFIX_C, 0xd1, 1);
	assert_false(vb_subnet_carry(&net, &m, now));
	assert_int_equal(in->hops_ended, 1);
	question_make(PREFIX_C, 0xd2, 64);
	assert_false(vb_subnet_carry(&net, &m, now));
	question_make(PREFIX_A, 0xa1, 64);
	assert_false(vb_subnet_carry(&net, &m, now));
	question_make(VB_PREFIX_LINK_LOCAL, 0xd1, 64);
	assert_false(vb_subnet_carry(&net, &m, now));
	assert_int_equal(in->not_routed, 3);
	assert_int_equal(in->hops_ended, 1);
	question_make(PREFIX_C, 0xb2, 1);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	make_by_lid(VB_MAD_CLASS_PERF, VB_MAD_METHOD_GET, 1, LID_NEAR);
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	assert_int_equal(m.slid, LID_NEAR);
	/* Management packets of the subnet are never routed. */
	make_by_lid(VB_MAD_CLASS_SUBN_LID, VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, LID_NEAR);
	m.has_grh = true;
	gid_put(m.dgid, PREFIX_C, 0xd1);
	assert_true(vb_subnet_carry(&net, &m, now));
	assert_int_equal(m.at.node, ROUTER);
	assert_int_equal(in->not_routed, 3);
}

#define N(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    N(agent__is_that_of_a_router),
	    N(agent__has_a_prefix_for_each_port),
	    N(mads__pass_the_router),
	    N(mads__that_do_not_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
