/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agents of a target channel adapter: device management, which tells of its I/O controllers,
 * and which agent of a node answers which class. FAB-08, FAB-49, IBT-95
 */
#include "subnet_env.h"

#include "wire/mad/subnet/congestion.h"

#define SLOTS_MAX 5

/* A unit with controllers in slots 2 and 5, the first of which offers six services. */
static struct vb_topo_service service[6];
static struct vb_topo_ioc second = {.slot = 5, .profile = {.guid = 0x55, .id = "tapes"}};
static struct vb_topo_ioc first = {
    .next = &second,
    .slot = 2,
    .profile = {.guid = 0x0123456789abcdef,
		.vendor_id = 0xabcdef,
		.device_id = 0x01020304,
		.device_version = 0x0506,
		.subsystem_vendor_id = 0x0708,
		.subsystem_id = 0x090a0b0c,
		.io_class = 0x0100,
		.io_subclass = 0x609e,
		.protocol = 0x0108,
		.protocol_version = 1,
		.send_depth = 0x1112,
		.read_depth = 0x13,
		.send_size = 0x14151617,
		.rdma_size = 0x18191a1b,
		.operations = VB_IO_SEND_TO | VB_IO_WRITE_FROM,
		.service_cnt = 6,
		.id = "disks"},
    .service = &service[0],
};

/* HOST_A, SWITCH_A and the target in the place of SWITCH_B, at port 2 of the switch. */
enum { TARGET = SWITCH_B };

static int open_target(void **state)
{
	const uint64_t guids[] = {0, 0xd1, 0xd2};
	const struct vb_subnet_node_config c = {.type = VB_NODE_CA,
						.port_cnt = 2,
						.node_guid = 0xd0,
						.system_guid = 0xd0,
						.port_guid = guids,
						.ioc = &first,
						.description = "target"};

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		service[i].next = i < 5 ? &service[i + 1] : NULL;
		service[i].service.id = 0x100 + i;
		memset(service[i].service.name, 'a' + (int)i, 3);
	}
	now = VB_SEC;
	net = (struct vb_subnet){.alloc = zeroed_alloc, .free = plain_free};
	assert_int_equal(vb_subnet_open(&net, 3), 0);
	add_node(VB_NODE_CA, 1, 0xa0);
	add_node(VB_NODE_SWITCH, 3, 0xb0);
	assert_int_equal(vb_subnet_add(&net, &c), TARGET);
	assert_int_equal(
	    vb_subnet_join(&net, place(HOST_A, 1), place(SWITCH_A, 1), VB_IB_EDR, VB_IB_4X, now),
	    0);
	assert_int_equal(
	    vb_subnet_join(&net, place(SWITCH_A, 2), place(TARGET, 2), VB_IB_EDR, VB_IB_4X, now),
	    0);
	info_of(HOST_A, 1)->lid = LID(HOST_A);
	info_of(SWITCH_A, 0)->lid = LID(SWITCH_A);
	info_of(TARGET, 2)->lid = LID(TARGET);
	net.node[SWITCH_A].forward.unicast[LID(HOST_A)] = 1;
	net.node[SWITCH_A].forward.unicast[LID(SWITCH_A)] = 0;
	net.node[SWITCH_A].forward.unicast[LID(TARGET)] = 2;
	net.node[SWITCH_A].forward.unicast_top = 0x100;
	link_of(HOST_A, 1)->state = link_of(SWITCH_A, 1)->state = VB_LINK_ACTIVE;
	link_of(SWITCH_A, 2)->state = link_of(TARGET, 2)->state = VB_LINK_ACTIVE;
	return 0;
}

/* A MAD of HOST_A in @m, with a modifier and without data. */
static void make_with(uint8_t mgmt_class, uint8_t method, uint16_t attr, uint32_t mod, uint16_t lid)
{
	struct vb_mad_hdr h;

	make_by_lid(mgmt_class, method, attr, lid);
	vb_mad_hdr_parse(&h, m.mad);
	h.attr_mod = mod;
	if (mgmt_class == VB_MAD_CLASS_IBCC)
		h.class_version = VB_IBCC_CLASS_VERSION;
	vb_mad_hdr_emit(&h, m.mad);
}

/* The status of the answer that comes back to HOST_A; -1: the MAD is for programs, or lost. */
static int ask_made(void)
{
	if (!vb_subnet_send(&net, &m, now))
		return -1;
	return m.at.node == HOST_A ? answer_status() : -1;
}

static int ask_device(uint8_t method, uint16_t attr, uint32_t mod)
{
	make_with(VB_MAD_CLASS_DEVICE, method, attr, mod, LID(TARGET));
	memset(m.mad + VB_DEVICE_DATA_AT, 0xff, VB_MAD_LEN - VB_DEVICE_DATA_AT);
	return ask_made();
}

/* FAB-08: a target is a channel adapter whose ports say that it has the agent, and no other's. */
static void target__announces_its_agent(void **state)
{
	(void)state;
	assert_int_equal(net.node[TARGET].sma.info.type, VB_NODE_CA);
	assert_int_equal(net.node[HOST_A].sma.info.type, VB_NODE_CA);
	assert_true(info_of(TARGET, 1)->cap_mask & info_of(TARGET, 2)->cap_mask & 1u << 19);
	assert_false(info_of(HOST_A, 1)->cap_mask & 1u << 19);
	assert_false(info_of(SWITCH_A, 0)->cap_mask & 1u << 19);
}

/* FAB-08: IOUnitInfo has four bits for each slot. */
static void unit__lists_its_slots(void **state)
{
	(void)state;
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_UNIT_INFO, 0), 0);
	assert_int_equal(be16_get(m.mad + 64), 1);
	assert_int_equal(m.mad[66], SLOTS_MAX);
	assert_int_equal(m.mad[67], 0);
	assert_int_equal(m.mad[68], 0x01); /* slots 1 and 2 */
	assert_int_equal(m.mad[69], 0x00);
	assert_int_equal(m.mad[70], 0x1f); /* slot 5 is the last one */
	assert_int_equal(m.mad[68 + 127], 0xff);
	assert_int_equal(m.mad[68 + 128], 0);
	/* Nobody sets it. */
	assert_int_equal(ask_device(VB_MAD_METHOD_SET, VB_DEVICE_IO_UNIT_INFO, 0),
			 VB_SMP_BAD_METHOD_ATTR);
}

/* FAB-08: the bytes of IOControllerProfile, as <linux/ulp/srpt/ib_dm_mad.h> has them. */
static void controller__has_its_profile(void **state)
{
	static const uint8_t bytes[] = {
	    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0,    0x01, 0x02,
	    0x03, 0x04, 0x05, 0x06, 0,    0,    0,    0x07, 0x08, 0,    0x09, 0x0a, 0x0b, 0x0c,
	    0x01, 0x00, 0x60, 0x9e, 0x01, 0x08, 0,    1,    0,    0,    0,    0,    0x11, 0x12,
	    0,    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x90, 0,    6,    0,
	    0,    0,    0,    0,    0,    0,    0,    0,    'd',  'i',  's',  'k',  's',  0,
	};

	(void)state;
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, 2), 0);
	assert_memory_equal(m.mad + 64, bytes, sizeof bytes);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, 5), 0);
	assert_int_equal(be64_get(m.mad + 64), 0x55);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, 3),
			 VB_DEVICE_NO_CONTROLLER);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, 0),
			 VB_SMP_BAD_FIELD);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, 6),
			 VB_SMP_BAD_FIELD);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_IO_CONTROLLER_PROFILE, UINT32_MAX),
			 VB_SMP_BAD_FIELD);
}

/* FAB-08: services four at a time, by the first one and the last one. */
static void services__come_by_fours(void **state)
{
	(void)state;
	assert_int_equal(
	    ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 3 << 8), 0);
	for (uint32_t i = 0; i < 4; i++) {
		const char name[4] = {(char)('a' + i), (char)('a' + i), (char)('a' + i), 0};

		assert_string_equal((const char *)m.mad + 64 + 48 * i, name);
		assert_int_equal(be64_get(m.mad + 64 + 48 * i + 40), 0x100 + i);
	}
	assert_int_equal(
	    ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 5 << 8 | 4), 0);
	assert_int_equal(be64_get(m.mad + 64 + 40), 0x104);
	assert_int_equal(be64_get(m.mad + 64 + 48 + 40), 0x105);
	assert_int_equal(be64_get(m.mad + 64 + 96 + 40), 0);
	/* A range that goes on behind the last service ends with it. */
	assert_int_equal(
	    ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 8 << 8 | 5), 0);
	assert_int_equal(be64_get(m.mad + 64 + 40), 0x105);
	assert_int_equal(be64_get(m.mad + 64 + 48 + 40), 0);

	assert_int_equal(
	    ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 4 << 8),
	    VB_SMP_BAD_FIELD);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 1),
			 VB_SMP_BAD_FIELD);
	assert_int_equal(
	    ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 2u << 16 | 6 << 8 | 6),
	    VB_DEVICE_NO_SERVICE);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 5u << 16),
			 VB_DEVICE_NO_SERVICE);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 3u << 16),
			 VB_DEVICE_NO_CONTROLLER);
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_SERVICE_ENTRIES, 9u << 16),
			 VB_SMP_BAD_FIELD);
}

/* FAB-08: ClassPortInfo, in which a manager says where traps go; each port has its own. */
static void class__is_told_where_traps_go(void **state)
{
	(void)state;
	assert_int_equal(ask_device(VB_MAD_METHOD_SET, VB_DEVICE_CLASS_PORT_INFO, 0), 0);
	for (uint8_t port = 2; port >= 1; port--) {
		assert_int_equal(ask_device(VB_MAD_METHOD_GET, VB_DEVICE_CLASS_PORT_INFO, 0), 0);
		assert_true(m.mad[64] == 1 && m.mad[65] == 1 && m.mad[71] == 16);
		assert_int_equal(m.mad[64 + 39], 0);
		assert_int_equal(be64_get(m.mad + 64 + 40), port == 2 ? UINT64_MAX : 0);
		assert_int_equal(m.mad[64 + 71], port == 2 ? 0xff : 0);
		assert_int_equal(m.mad[64 + 72], 0);
		memset(net.node[TARGET].device.port[2].trap, 0, VB_IO_TRAP_LEN);
	}
	assert_int_equal(ask_device(VB_MAD_METHOD_GET, 0x20, 0), VB_SMP_BAD_METHOD_ATTR);
	make_with(VB_MAD_CLASS_DEVICE, VB_MAD_METHOD_GET, VB_DEVICE_IO_UNIT_INFO, 0, LID(TARGET));
	m.mad[2] = 2; /* ClassVersion */
	assert_int_equal(ask_made(), VB_SMP_BAD_VERSION);
	/* A SEND of this class is a program's. */
	make_with(VB_MAD_CLASS_DEVICE, VB_MAD_METHOD_SEND, 0x10, 0, LID(TARGET));
	assert_true(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, TARGET);
}

/* Whether an agent of the node at @lid answers a Get of this class by itself. */
static bool is_served(uint8_t mgmt_class, uint16_t attr, uint16_t lid)
{
	make_with(mgmt_class, VB_MAD_METHOD_GET, attr, 0, lid);
	return ask_made() == 0;
}

/* IBT-95: the agents of adapters (HCA and TCA) and switches, by the classes that they serve. The
 * SA (0x03) and the connection manager (0x07) are programs', so their MADs go to those. */
static void classes__have_their_agents(void **state)
{
	static const uint32_t node[] = {HOST_A, SWITCH_A, TARGET};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const uint16_t lid = LID(node[i]);
		const bool is_target = node[i] == TARGET;

		assert_true(is_served(VB_MAD_CLASS_SUBN_LID, VB_SMP_NODE_INFO, lid));
		assert_true(is_served(VB_MAD_CLASS_PERF, VB_MAD_CLASS_PORT_INFO, lid));
		assert_true(is_served(VB_MAD_CLASS_IBCC, VB_MAD_CLASS_PORT_INFO, lid));
		assert_int_equal(is_served(VB_MAD_CLASS_DEVICE, VB_MAD_CLASS_PORT_INFO, lid),
				 is_target);
		assert_false(is_served(0x03, VB_MAD_CLASS_PORT_INFO, lid));
		assert_false(is_served(VB_MAD_CLASS_CM, VB_MAD_CLASS_PORT_INFO, lid));
	}
	/* The same node information by directed routes. */
	assert_int_equal(
	    ask_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (const uint8_t[]){1, 2}, 2), 0);
	assert_int_equal(m.mad[VB_SMP_DATA_AT + 2], VB_NODE_CA);
}

/* FAB-49, IBT-95: a program's agent of baseboard management has its MADs first. Where there is
 * none, the node's says which class it is, and refuses the rest. */
static void baseboard__comes_after_programs(void **state)
{
	struct vb_mad_hdr h;

	(void)state;
	for (uint16_t attr = 1; attr <= 0x10; attr += 0xf) {
		make_with(VB_MAD_CLASS_BASEBOARD, VB_MAD_METHOD_GET, attr, 0, LID(SWITCH_A));
		memset(m.mad + VB_DEVICE_DATA_AT, 0xff, VB_MAD_LEN - VB_DEVICE_DATA_AT);
		assert_true(vb_subnet_send(&net, &m, now));
		assert_int_equal(m.at.node, SWITCH_A);
		assert_true(vb_subnet_refuse(&net, &m));
		assert_true(vb_subnet_carry(&net, &m, now));
		assert_int_equal(answer_status(), attr == 1 ? 0 : VB_MAD_STATUS_UNSUPPORTED);
	}
	make_with(VB_MAD_CLASS_BASEBOARD, VB_MAD_METHOD_GET, 1, 0, LID(TARGET));
	memset(m.mad + VB_DEVICE_DATA_AT, 0xff, VB_MAD_LEN - VB_DEVICE_DATA_AT);
	assert_true(vb_subnet_send(&net, &m, now) && vb_subnet_refuse(&net, &m));
	vb_mad_hdr_parse(&h, m.mad);
	assert_true(h.method == VB_MAD_METHOD_GET_RESP && h.status == 0 && h.tid == 7);
	assert_true(m.mad[64] == 1 && m.mad[65] == 1 && m.mad[71] == 16 && m.mad[255] == 0);
	/* Set, another version, and what expects no answer. */
	make_with(VB_MAD_CLASS_BASEBOARD, VB_MAD_METHOD_SET, 1, 0, LID(TARGET));
	assert_true(vb_subnet_refuse(&net, &m));
	assert_int_equal(be16_get(m.mad + 4), VB_MAD_STATUS_UNSUPPORTED);
	make_with(VB_MAD_CLASS_BASEBOARD, VB_MAD_METHOD_SEND, 1, 0, LID(TARGET));
	assert_false(vb_subnet_refuse(&net, &m));
}

int main(void)
{
#define TARGET_TEST(f) cmocka_unit_test_setup_teardown(f, open_target, teardown)
	const struct CMUnitTest tests[] = {
	    TARGET_TEST(target__announces_its_agent),     TARGET_TEST(unit__lists_its_slots),
	    TARGET_TEST(controller__has_its_profile),     TARGET_TEST(services__come_by_fours),
	    TARGET_TEST(class__is_told_where_traps_go),   TARGET_TEST(classes__have_their_agents),
	    TARGET_TEST(baseboard__comes_after_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
