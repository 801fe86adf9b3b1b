/* SPDX-License-Identifier: BSD-2-Clause */
/* The congestion control agents of a switch with 36 ports and of an adapter with two. FAB-45 */
#include "cmocka_env.h"
#include "mgmt/cca.h"
#include "wire/mad/pma.h"
#include "wire/mad/smp.h"

#include <string.h>

#define GET VB_MAD_METHOD_GET
#define SET VB_MAD_METHOD_SET
#define KEY UINT64_C(0x0123456789abcdef)
#define SWITCH_PORTS 36

static struct vb_cca_port port[3];
static struct vb_ibcc_port_setting sw_port[SWITCH_PORTS + 1];
static struct vb_cca_node node;
static uint8_t mad[VB_MAD_LEN];
static uint64_t key; /* that requests carry */
static const struct vb_cca_sender sender = {0x1234, 0xabcdef, 0xfe80000000000000,
					    0x1111222233334444};
static vb_time now;

static void node_begin(bool is_switch)
{
	memset(port, 0, sizeof port);
	memset(sw_port, 0, sizeof sw_port);
	memset(mad, 0, sizeof mad);
	for (int i = 0; i < 3; i++)
		port[i].lease_ends = VB_NEVER;
	node = (struct vb_cca_node){.port = port,
				    .sw_port = is_switch ? sw_port : NULL,
				    .port_cnt = is_switch ? SWITCH_PORTS : 2,
				    .resp_time = 17};
	key = 0;
	now = 10 * VB_SEC;
}

/* The status of the answer; -1: there is none. */
static int ask_at(uint8_t in_port, uint8_t method, uint16_t attr, uint32_t mod)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_IBCC,
			       .class_version = 2,
			       .method = method,
			       .tid = 0x77,
			       .attr_id = attr,
			       .attr_mod = mod};

	vb_mad_hdr_emit(&h, mad);
	vb_ibcc_set_key(mad, key);
	if (!vb_cca_handle(&node, mad, in_port, &sender, now))
		return -1;
	vb_mad_hdr_parse(&h, mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(h.tid, 0x77);
	return h.status;
}

static int ask(uint8_t method, uint16_t attr, uint32_t mod)
{
	return ask_at(1, method, attr, mod);
}

static uint32_t bits_at(uint32_t byte, uint32_t bit, uint32_t bits)
{
	uint32_t v = 0;

	for (uint32_t i = byte * 8 + bit; bits-- > 0; i++)
		v = v << 1 | (mad[i / 8] >> (7 - i % 8) & 1);
	return v;
}

static struct vb_ibcc_key_info key_info(void)
{
	struct vb_ibcc_key_info k;

	vb_ibcc_key_info_parse(&k, mad);
	return k;
}

static void cca__class(void **state)
{
	static const uint16_t of_switch[] = {0x14, 0x15}, of_ca[] = {0x16, 0x17};
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_IBCC,
			       .class_version = 1,
			       .method = GET,
			       .attr_id = 1};

	(void)state;
	for (int is_switch = 0; is_switch < 2; is_switch++) {
		node_begin(is_switch);
		memset(mad, 0xff, sizeof mad);
		assert_int_equal(ask(GET, 1, 0), VB_SMP_GOOD);
		assert_int_equal(bits_at(64, 0, 32), 0x01020001);
		assert_int_equal(bits_at(68, 0, 32), 17);
		assert_int_equal(mad[255], 0);
		assert_int_equal(ask(GET, 0x11, 0), VB_SMP_GOOD);
		assert_int_equal(bits_at(64, 0, 16), 0);
		assert_int_equal(bits_at(64, 16, 8), is_switch ? 0 : 2);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(ask(GET, of_switch[i], 0), is_switch ? 0 : 0x0c);
			assert_int_equal(ask(GET, of_ca[i], 0), is_switch ? 0x0c : 0);
		}
		for (uint16_t attr = 0x10; attr < 0x1a; attr += 9)
			assert_int_equal(ask(GET, attr, 0), 0x0c);
		assert_int_equal(ask(SET, 0x11, 0), 0x0c);
		assert_int_equal(ask(SET, 0x13, 0), 0x0c);
		assert_int_equal(ask(SET, 0x18, 0), 0x0c);
		assert_int_equal(ask(VB_MAD_METHOD_SEND, 1, 0), -1);
		assert_int_equal(ask(VB_MAD_METHOD_GET_RESP, 1, 0), -1);
		vb_mad_hdr_emit(&h, mad);
		assert_true(vb_cca_handle(&node, mad, 1, &sender, now));
		assert_int_equal(mad[5], VB_SMP_BAD_VERSION);
	}
}

/* Where traps go, as a manager sets it at port @p. */
static void trap_to_set(uint8_t p, uint16_t lid)
{
	const struct vb_class_port_info info = {.traps = {.prefix = 0xfec0000000000001,
							  .guid = 0x77,
							  .sl = 5,
							  .hop_limit = 9,
							  .lid = lid,
							  .pkey = 0x8001,
							  .qpn = 0x123456,
							  .qkey = 0x80010000}};

	memset(mad, 0, sizeof mad);
	vb_class_port_info_emit(&info, mad);
	assert_int_equal(ask_at(p, SET, 1, 0), VB_SMP_GOOD);
	assert_int_equal(ask_at(p, GET, 1, 0), VB_SMP_GOOD);
	/* IBA 13.4.8.1 */
	assert_int_equal(bits_at(104, 0, 32), 0xfec00000);
	assert_int_equal(bits_at(116, 0, 32), 0x77);
	assert_int_equal(bits_at(120, 8, 4), 5);
	assert_int_equal(bits_at(124, 0, 16), lid);
	assert_int_equal(bits_at(124, 16, 16), 0x8001);
	assert_int_equal(bits_at(128, 0, 8), 9);
	assert_int_equal(bits_at(128, 8, 24), 0x123456);
	assert_int_equal(bits_at(132, 0, 32), 0x80010000);
}

static bool trap_poll(uint8_t p)
{
	return vb_cca_poll_trap(&node, p, mad, VB_NODE_CA, 0x55, VB_SEC, now);
}

static void trap_repress(uint64_t tid)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_IBCC,
			       .class_version = 2,
			       .method = VB_MAD_METHOD_TRAP_REPRESS,
			       .tid = tid,
			       .attr_id = 2};

	vb_mad_hdr_emit(&h, mad);
	assert_false(vb_cca_handle(&node, mad, 1, &sender, now));
}

/* A wrong key is told to the address in ClassPortInfo, again and again, until that says that it has
 * heard it. */
static void cca__trap_of_a_wrong_key(void **state)
{
	struct vb_mad_hdr h;

	(void)state;
	node_begin(false);
	trap_to_set(1, 0x22);
	port[1].key.key = KEY;
	key = KEY + 1;
	assert_true(vb_cca_poll_timeout(&node) == VB_NEVER);
	assert_int_equal(ask(SET, 0x17, 0x01020304), -1);
	assert_true(vb_cca_poll_timeout(&node) == now);
	assert_false(trap_poll(2));
	assert_true(trap_poll(1));
	vb_mad_hdr_parse(&h, mad);
	assert_int_equal(h.mgmt_class, VB_MAD_CLASS_IBCC);
	assert_int_equal(h.class_version, 2);
	assert_int_equal(h.method, VB_MAD_METHOD_TRAP);
	assert_int_equal(h.attr_id, 2);
	assert_int_equal(bits_at(64, 0, 8), 0x82);
	assert_int_equal(bits_at(65, 0, 24), VB_NODE_CA);
	assert_int_equal(bits_at(68, 0, 16), 0);
	assert_int_equal(bits_at(70, 0, 16), 0x55);
	assert_int_equal(bits_at(72, 0, 16), 0);
	assert_int_equal(bits_at(74, 0, 16), 0x1234);
	assert_int_equal(bits_at(76, 0, 8), SET);
	assert_int_equal(bits_at(78, 0, 16), 0x17);
	assert_int_equal(bits_at(80, 0, 32), 0x01020304);
	assert_int_equal(bits_at(84, 0, 32), 0xabcdef);
	assert_int_equal(bits_at(88, 0, 32), 0x01234567);
	assert_int_equal(bits_at(92, 0, 32), 0x89abcdf0);
	assert_int_equal(bits_at(96, 0, 32), 0xfe800000);
	assert_int_equal(bits_at(108, 0, 32), 0x33334444);
	for (uint32_t i = 1; i < 4; i++) {
		assert_false(trap_poll(1));
		assert_true(vb_cca_poll_timeout(&node) == now + VB_SEC);
		now += VB_SEC;
		assert_true(trap_poll(1));
		assert_int_equal(bits_at(72, 0, 16), i);
	}
	trap_repress(h.tid + 1);
	now += VB_SEC;
	assert_true(trap_poll(1));
	trap_repress(h.tid);
	assert_true(vb_cca_poll_timeout(&node) == VB_NEVER);
	now += VB_SEC;
	assert_false(trap_poll(1));
	/* The next one is another; without an address there is none. */
	assert_int_equal(ask(SET, 0x12, 0), -1);
	assert_true(trap_poll(1));
	vb_mad_hdr_parse(&h, mad);
	trap_repress(h.tid);
	key = KEY;
	trap_to_set(1, 0);
	key = KEY + 1;
	assert_int_equal(ask(SET, 0x12, 0), -1);
	assert_true(vb_cca_poll_timeout(&node) == VB_NEVER);
}

/* A switch has one address, whatever the port. */
static void cca__trap_of_a_switch(void **state)
{
	(void)state;
	node_begin(true);
	trap_to_set(7, 0x22);
	port[0].key.key = KEY;
	assert_int_equal(ask_at(9, SET, 0x14, 0), -1);
	assert_true(vb_cca_poll_timeout(&node) == now);
	assert_true(trap_poll(0));
}

/* Of a switch the control map says which fields a Set means. */
static void cca__switch_setting(void **state)
{
	struct vb_ibcc_switch_setting s = {.control_map = 0x1f,
					   .threshold = 9,
					   .packet_size = 3,
					   .starvation = 7,
					   .return_delay = 0x4321,
					   .marking_rate = 0x1234};

	(void)state;
	node_begin(true);
	memset(s.victims, 0x11, sizeof s.victims);
	memset(s.credits, 0x22, sizeof s.credits);
	vb_ibcc_switch_setting_emit(&s, mad);
	assert_int_equal(ask(SET, 0x14, 0), VB_SMP_GOOD);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bits_at(64, 0, 32), 0x1f);
		assert_int_equal(bits_at(68, 0, 32), 0x11111111);
		assert_int_equal(bits_at(96, 0, 32), 0x11111111);
		assert_int_equal(bits_at(100, 0, 32), 0x22222222);
		assert_int_equal(bits_at(132, 0, 16), 0x9003);
		assert_int_equal(bits_at(134, 0, 16), 0x7000);
		assert_int_equal(bits_at(136, 0, 32), 0x43211234);
		assert_int_equal(ask(GET, 0x14, 0), VB_SMP_GOOD);
	}
	for (uint32_t bit = 0; bit < 6; bit++) {
		struct vb_ibcc_switch_setting want = {.control_map = 1u << bit}, got;

		node.sw = s;
		memset(mad, 0, sizeof mad);
		vb_ibcc_switch_setting_emit(&want, mad);
		assert_int_equal(ask(SET, 0x14, 0), VB_SMP_GOOD);
		vb_ibcc_switch_setting_parse(&got, mad);
		assert_int_equal(got.control_map, 1u << bit);
		assert_int_equal(got.victims[31], bit == 0 ? 0 : 0x11);
		assert_int_equal(got.credits[31], bit == 1 ? 0 : 0x22);
		assert_int_equal(got.threshold, bit == 2 ? 0 : 9);
		assert_int_equal(got.packet_size, bit == 2 ? 0 : 3);
		assert_int_equal(got.starvation, bit == 3 ? 0 : 7);
		assert_int_equal(got.return_delay, bit == 3 ? 0 : 0x4321);
		assert_int_equal(got.marking_rate, bit == 4 ? 0 : 0x1234);
	}
}

/* 32 ports in a block; the last block of 36 ports has 5 that are there. */
static void cca__ports_of_a_switch(void **state)
{
	struct vb_ibcc_ports block;

	(void)state;
	node_begin(true);
	for (uint32_t i = 0; i < VB_IBCC_PORTS; i++)
		block.port[i] = (struct vb_ibcc_port_setting){.valid = 1,
							      .starves = 1,
							      .threshold = 5,
							      .packet_size = 6,
							      .marking_rate = 0x789};
	vb_ibcc_ports_emit(&block, mad);
	assert_int_equal(bits_at(64 + 4 * 31, 0, 32), 0xc5060789);
	assert_int_equal(ask(SET, 0x15, 1), VB_SMP_GOOD);
	assert_int_equal(bits_at(64 + 4 * 4, 0, 32), 0xc5060789);
	assert_int_equal(bits_at(64 + 4 * 5, 0, 32), 0);
	assert_int_equal(ask(GET, 0x15, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(64 + 4 * 31, 0, 32), 0);
	assert_int_equal(ask(GET, 0x15, 1), VB_SMP_GOOD);
	assert_int_equal(bits_at(64, 0, 32), 0xc5060789);
	assert_int_equal(ask(GET, 0x15, 2), VB_SMP_BAD_FIELD);
	node.port_cnt = 31;
	assert_int_equal(ask(GET, 0x15, 1), VB_SMP_BAD_FIELD);
}

/* Each port of an adapter for itself; the control map says which levels a Set means. */
static void cca__adapter_setting(void **state)
{
	struct vb_ibcc_ca_setting s = {.port_control = 1, .control_map = 0x8001};

	(void)state;
	node_begin(false);
	for (uint32_t i = 0; i < VB_IBCC_LEVELS; i++)
		s.level[i] = (struct vb_ibcc_level){.timer = (uint16_t)(0x100 + i),
						    .increase = (uint8_t)(1 + i),
						    .trigger = 8,
						    .index_min = 2};
	vb_ibcc_ca_setting_emit(&s, mad);
	assert_int_equal(ask_at(2, SET, 0x16, 0), VB_SMP_GOOD);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bits_at(64, 0, 32), 0x00018001);
		assert_int_equal(bits_at(68, 0, 32), 0x01000108);
		assert_int_equal(bits_at(72, 0, 32), 0x02000000);
		assert_int_equal(bits_at(76, 0, 32), 0);
		assert_int_equal(bits_at(68 + 8 * 15, 0, 32), 0x010f1008);
		assert_int_equal(ask_at(2, GET, 0x16, 0), VB_SMP_GOOD);
	}
	assert_int_equal(ask_at(1, GET, 0x16, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(64, 0, 32), 0);
}

static void cca__table(void **state)
{
	struct vb_ibcc_table t = {.limit = 127};

	(void)state;
	node_begin(false);
	for (uint32_t block = 0; block < 2; block++) {
		for (uint32_t i = 0; i < VB_IBCC_ENTRIES; i++)
			t.entry[i] = (uint16_t)(0x4000 + 64 * block + i);
		vb_ibcc_table_emit(&t, mad);
		assert_int_equal(ask(SET, 0x17, block), VB_SMP_GOOD);
	}
	assert_int_equal(ask(GET, 0x17, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(64, 0, 16), 127);
	assert_int_equal(bits_at(68, 0, 16), 0x4000);
	assert_int_equal(bits_at(68 + 2 * 63, 0, 16), 0x403f);
	assert_int_equal(ask(GET, 0x17, 1), VB_SMP_GOOD);
	assert_int_equal(bits_at(68, 0, 16), 0x4040);
	assert_int_equal(ask(GET, 0x17, 2), VB_SMP_BAD_FIELD);
	/* An index must stay within the table. */
	t.limit = 128;
	vb_ibcc_table_emit(&t, mad);
	assert_int_equal(ask(SET, 0x17, 0), VB_SMP_BAD_FIELD);
	assert_int_equal(ask(GET, 0x17, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(64, 0, 16), 127);
}

static void cca__log_and_time(void **state)
{
	(void)state;
	for (int is_switch = 0; is_switch < 2; is_switch++) {
		node_begin(is_switch);
		memset(mad, 0xff, sizeof mad);
		assert_int_equal(ask(GET, 0x18, 0), VB_SMP_GOOD);
		assert_int_equal(bits_at(64, 0, 32), 10 * VB_SEC / 1024);
		memset(mad, 0xff, sizeof mad);
		assert_int_equal(ask(GET, 0x13, 0), VB_SMP_GOOD);
		assert_int_equal(bits_at(32, 0, 32), is_switch ? 0x01000000 : 0x02000000);
		assert_int_equal(bits_at(is_switch ? 36 : 40, 0, 32), 10 * VB_SEC / 1024);
		assert_int_equal(bits_at(is_switch ? 40 : 36, 0, 32), 0);
		assert_int_equal(mad[255], 0);
	}
}

/* Events that the owner tells of are in the log: their number up to the most, ports of a switch,
 * service levels of an adapter's port. */
static void cca__log_of_events(void **state)
{
	(void)state;
	node_begin(true);
	vb_cca_note(&node, 3, 5, 0);
	vb_cca_note(&node, 36, 1, 0);
	vb_cca_note(&node, 4, 0, 0);
	assert_int_equal(ask(GET, 0x13, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(32, 16, 16), 6);
	assert_int_equal(bits_at(40 + 32 - 8, 0, 32), 1 << 4); /* ports 32 to 63 */
	assert_int_equal(bits_at(40 + 32 - 4, 0, 32), 1 << 3);
	/* They have been told. */
	assert_int_equal(ask(GET, 0x13, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(32, 16, 16), 0);
	assert_int_equal(bits_at(40 + 32 - 4, 0, 32), 0);
	vb_cca_note(&node, 3, 70000, 0);
	for (uint16_t i = 0; i < 16; i++)
		vb_cca_note_event(&node, 3,
				  &(struct vb_ibcc_event){.slid = i, .dlid = 7, .sl = 5, .qp = 1},
				  i * 1024u);
	assert_int_equal(ask(GET, 0x13, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(32, 16, 16), 0xffff);
	for (uint32_t i = 0; i < 15; i++) {
		uint32_t entry = 32 + 40 + 12 * i;

		assert_int_equal(bits_at(entry, 0, 32), (15 - i) << 16 | 7);
		assert_int_equal(bits_at(entry + 4, 0, 32), 5u << 28);
		assert_int_equal(bits_at(entry + 8, 0, 32), 15 - i);
	}
	node_begin(false);
	vb_cca_note(&node, 1, 2, 1 << 5);
	vb_cca_note(&node, 1, 1, 1 << 0);
	vb_cca_note(&node, 1, 0, 1 << 7);
	vb_cca_note_event(&node, 1, &(struct vb_ibcc_event){.slid = 0x123, .sl = 5, .qp = 0x456789},
			  4096);
	assert_int_equal(ask(GET, 0x13, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(32, 16, 16), 3);
	assert_int_equal(bits_at(36, 0, 16), 0x21);
	assert_int_equal(bits_at(44, 0, 32), 0x45678950);
	assert_int_equal(bits_at(52, 0, 32), 0x123);
	assert_int_equal(bits_at(56, 0, 32), 4);
	assert_int_equal(ask_at(2, GET, 0x13, 0), VB_SMP_GOOD);
	assert_int_equal(bits_at(32, 16, 16), 0);
}

static void set_key(uint64_t value, uint8_t protect, uint16_t lease)
{
	struct vb_ibcc_key_info k = {
	    .key = value, .protect = protect, .lease = lease, .violations = 1};

	memset(mad, 0, sizeof mad);
	vb_ibcc_key_info_emit(&k, mad);
	assert_int_equal(ask(SET, 0x12, 0), VB_SMP_GOOD);
	assert_int_equal(key_info().violations, 0);
	key = value;
}

/* A wrong key changes nothing and is counted; of a key that protects, nothing is shown either. */
static void cca__key(void **state)
{
	struct vb_ibcc_key_info k = {.key = 1};

	(void)state;
	node_begin(true);
	set_key(KEY, 0, 0);
	key = KEY + 1;
	assert_int_equal(ask(SET, 0x14, 0), -1);
	assert_int_equal(ask(GET, 0x12, 0), VB_SMP_GOOD);
	assert_true(key_info().key == KEY && key_info().violations == 1);
	key = KEY;
	k = key_info();
	k.protect = 1;
	vb_ibcc_key_info_emit(&k, mad);
	assert_int_equal(ask(SET, 0x12, 0), VB_SMP_GOOD);
	assert_int_equal(key_info().violations, 1); /* 0 alone changes it */
	key = 0;
	assert_int_equal(ask(GET, 0x12, 0), -1);
	assert_int_equal(ask(GET, 1, 0), -1);
	key = KEY;
	assert_int_equal(ask(GET, 0x12, 0), VB_SMP_GOOD);
	assert_true(key_info().key == KEY && key_info().protect == 1 && key_info().violations == 3);
	port[0].key.violations = UINT16_MAX;
	key = 0;
	assert_int_equal(ask(SET, 0x14, 0), -1);
	assert_int_equal(port[0].key.violations, UINT16_MAX);
	key = KEY;
	k.violations = 0;
	vb_ibcc_key_info_emit(&k, mad);
	assert_int_equal(ask(SET, 0x12, 0), VB_SMP_GOOD);
	assert_int_equal(key_info().violations, 0);
}

/* The lease begins with a wrong key, ends with a right one, and then ends the protection. */
static void cca__lease(void **state)
{
	(void)state;
	node_begin(false);
	set_key(KEY, 1, 5);
	key = 0;
	assert_int_equal(ask(GET, 0x12, 0), -1);
	now += 4 * VB_SEC;
	assert_int_equal(ask(GET, 0x12, 0), -1);
	key = KEY;
	assert_int_equal(ask(GET, 0x12, 0), VB_SMP_GOOD);
	key = 0;
	now += 4 * VB_SEC;
	assert_int_equal(ask(GET, 0x12, 0), -1);
	/* The other port of the adapter has no key. */
	assert_int_equal(ask_at(2, GET, 0x12, 0), VB_SMP_GOOD);
	/* Another one meanwhile does not put it off. */
	now += 3 * VB_SEC;
	assert_int_equal(ask(GET, 0x12, 0), -1);
	now += 2 * VB_SEC;
	assert_int_equal(ask(GET, 0x12, 0), VB_SMP_GOOD);
	assert_true(key_info().key == KEY && key_info().protect == 0);
	assert_int_equal(ask(SET, 0x17, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cca__class),
	    cmocka_unit_test(cca__trap_of_a_wrong_key),
	    cmocka_unit_test(cca__trap_of_a_switch),
	    cmocka_unit_test(cca__switch_setting),
	    cmocka_unit_test(cca__ports_of_a_switch),
	    cmocka_unit_test(cca__adapter_setting),
	    cmocka_unit_test(cca__table),
	    cmocka_unit_test(cca__log_and_time),
	    cmocka_unit_test(cca__log_of_events),
	    cmocka_unit_test(cca__key),
	    cmocka_unit_test(cca__lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
