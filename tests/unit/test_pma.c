/* SPDX-License-Identifier: BSD-2-Clause */
/* The performance management agent of a switch with two ports, asked as perfquery asks. */
#include "cmocka_env.h"
#include "mgmt/pma.h"
#include "wire/mad/smp.h"

#include <string.h>

#define GET VB_MAD_METHOD_GET
#define SET VB_MAD_METHOD_SET
#define ALL VB_PMA_PORT_ALL

static struct vb_ib_port link[3];
static struct vb_pma_port port[3];
static struct vb_pma_node node;
static uint8_t mad[VB_MAD_LEN];
static struct vb_pma_counts got;
static vb_time now;

static int node_begin(void **state)
{
	struct vb_ib_port_config c = {.mtu = 256, .data_cnt = 1, .symbol_ps = 320};

	(void)state;
	memset(port, 0, sizeof port);
	node = (struct vb_pma_node){.port = port, .port_cnt = 2, .resp_time = 18};
	for (int i = 1; i <= 2; i++) {
		vb_ib_port_init(&link[i], &c);
		port[i].link = &link[i];
	}
	return 0;
}

/* The status of the answer; -1: there is none. */
static int ask(uint8_t method, uint16_t attr)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_PERF,
			       .class_version = 1,
			       .method = method,
			       .tid = 0x77,
			       .attr_id = attr};

	vb_mad_hdr_emit(&h, mad);
	if (!vb_pma_handle(&node, mad, now))
		return -1;
	vb_mad_hdr_parse(&h, mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(h.tid, 0x77);
	assert_int_equal(h.attr_id, attr);
	return h.status;
}

static int ask_counts(uint8_t method, enum vb_pma_attr attr, uint8_t number, uint32_t select,
		      uint64_t value)
{
	struct vb_pma_counts c = {.port = number, .select = select};
	int status;

	memset(mad, 0, sizeof mad);
	for (uint32_t i = 0; i < VB_PMA_COUNTERS; i++)
		c.value[i] = value;
	vb_pma_counts_emit(&c, attr, mad);
	status = ask(method, attr);
	vb_pma_counts_parse(&got, attr, mad);
	return status;
}

static uint32_t bits_at(uint32_t bit, uint32_t bits)
{
	uint32_t v = 0;

	for (uint32_t i = bit; i < bit + bits; i++)
		v = v << 1 | (mad[64 + i / 8] >> (7 - i % 8) & 1);
	return v;
}

/* FAB-40, FAB-43: what the node has, and that it has no more. */
static void pma__class(void **state)
{
	struct vb_class_port_info info = {0};
	static const uint16_t others[] = {0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b,
					  0x1c, 0x1f, 0x30, 0x36, 0x37, 0x02};

	(void)state;
	memset(mad, 0xff, sizeof mad);
	assert_int_equal(ask(GET, 1), 0);
	vb_class_port_info_parse(&info, mad);
	assert_int_equal(info.base_version, 1);
	assert_int_equal(info.class_version, 1);
	assert_int_equal(info.cap_mask, 0x1300);
	assert_int_equal(info.cap_mask2, 0);
	assert_int_equal(info.resp_time, 18);
	assert_int_equal(mad[67], 0x00);
	assert_int_equal(mad[66], 0x13);
	assert_int_equal(mad[71], 18);
	assert_int_equal(mad[72], 0);
	assert_int_equal(ask(SET, 1), 0x0c);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_int_equal(ask(GET, others[i]), 0x0c);
	mad[2] = 2;
	assert_int_equal(ask(0x05, 1), -1);
	assert_int_equal(ask(VB_MAD_METHOD_GET_RESP, 1), -1);
	memset(mad, 0, sizeof mad);
	vb_mad_hdr_emit(&(struct vb_mad_hdr){.class_version = 2, .method = GET, .attr_id = 1}, mad);
	assert_true(vb_pma_handle(&node, mad, now));
	assert_int_equal(mad[5], 0x04);
}

/* FAB-41: each counter at its place, with the data path's number in it. */
static void pma__port_counters(void **state)
{
	struct vb_ib_counters *c = &link[1].counters;

	(void)state;
	*c = (struct vb_ib_counters){.xmit_data = 0x12345678,
				     .rcv_data = 0x23456789,
				     .xmit_packets = 1001,
				     .rcv_packets = 1002,
				     .rcv_errors = 3,
				     .local_link_errors = 4,
				     .flow_unknown = 5,
				     .xmit_discards = 21,
				     .vl15_dropped = 22,
				     .buffer_overruns = 6,
				     .symbol_errors = 7,
				     .link_integrity_errors = 8,
				     .excessive_overruns = 9,
				     .xmit_filtered = 100,
				     .rcv_filtered = 200,
				     .link_error_recovery = 23,
				     .link_downed = 24};
	port[1].switch_relay_errors = 31;
	port[1].xmit_constraint_errors = 32;
	port[1].rcv_constraint_errors = 33;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0, 77), 0);
	assert_int_equal(bits_at(8, 8), 1);
	assert_int_equal(bits_at(32, 16), 7);
	assert_int_equal(bits_at(48, 8), 23);
	assert_int_equal(bits_at(56, 8), 24);
	assert_int_equal(bits_at(64, 16), 18);
	assert_int_equal(bits_at(80, 16), 0);
	assert_int_equal(bits_at(96, 16), 31);
	assert_int_equal(bits_at(112, 16), 21);
	assert_int_equal(bits_at(128, 8), 132); /* P_Keys and raw packets. LNK-04 */
	assert_int_equal(bits_at(136, 8), 233);
	assert_int_equal(bits_at(152, 4), 8);
	assert_int_equal(bits_at(156, 4), 9);
	assert_int_equal(bits_at(176, 16), 22);
	assert_int_equal(bits_at(192, 32), 0x12345678);
	assert_int_equal(bits_at(224, 32), 0x23456789);
	assert_int_equal(bits_at(256, 32), 1001);
	assert_int_equal(bits_at(288, 32), 1002);
	/* Widths are ends, not moduli. */
	c->link_downed = 256;
	c->xmit_data = UINT64_C(1) << 32;
	c->rcv_errors = UINT64_C(5) << 40;
	c->link_integrity_errors = 17;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0, 0), 0);
	assert_int_equal(bits_at(56, 8), 0xff);
	assert_int_equal(bits_at(64, 16), 0xffff);
	assert_int_equal(bits_at(152, 4), 0xf);
	assert_int_equal(bits_at(192, 32), 0xffffffff);
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 2, 0, 0), 0);
	assert_int_equal(bits_at(192, 32), 0);
	/* A port 0 that counts nothing, and no port at all. */
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 0, 0, 0), 0x1c);
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 3, 0, 0), 0x1c);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 3, 0xffff, 0), 0x1c);
}

/* FAB-41: Set writes the counters that are selected, and keeps the others. */
static void pma__set(void **state)
{
	struct vb_ib_counters *c = &link[1].counters;

	(void)state;
	c->xmit_packets = 100;
	c->rcv_packets = 200;
	c->xmit_discards = 300;
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 1, 1 << VB_PMA_XMIT_PACKETS, 0), 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 0);
	assert_int_equal(got.value[VB_PMA_RCV_PACKETS], 200);
	c->xmit_packets += 7;
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 1, 1 << VB_PMA_XMIT_DISCARDS, 5), 0);
	c->xmit_discards += 2;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0xffff, 9), 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 7);
	assert_int_equal(got.value[VB_PMA_XMIT_DISCARDS], 7);
	assert_int_equal(got.value[VB_PMA_RCV_PACKETS], 200);
	/* The extended ones are others. FAB-42 */
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS_EXT, 1, 0, 0), 0);
	assert_int_equal(got.value[VB_PMA_EXT_XMIT_PACKETS], 107);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS_EXT, 1, 0xff, 0), 0);
	assert_int_equal(got.value[VB_PMA_EXT_XMIT_PACKETS], 0);
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0, 0), 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 7);
	assert_int_equal(c->xmit_packets, 107); /* the data path's own stay */
}

/* LNK-38: XmitWait in ticks of four words; its bit of selection stands alone. */
static void pma__xmit_wait(void **state)
{
	(void)state;
	link[1].counters.xmit_wait_ns = 5120; /* 16 symbols of 320 ps are 5.12 ns */
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0, 0), 0);
	assert_int_equal(bits_at(320, 32), 1000);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 1, 0xffff, 0), 0);
	assert_int_equal(bits_at(320, 32), 1000);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 1, 1 << VB_PMA_XMIT_WAIT, 0), 0);
	assert_int_equal(bits_at(144, 8), 1);
	assert_int_equal(bits_at(320, 32), 0);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, 1, 1 << VB_PMA_XMIT_WAIT, 12345), 0);
	assert_int_equal(bits_at(320, 32), 12345);
	link[1].counters.xmit_wait_ns += 512000;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 1, 0, 0), 0);
	assert_uint_in_range(bits_at(320, 32), 112345, 112346);
}

/* FAB-42 */
static void pma__extended(void **state)
{
	static const uint32_t at[] = {64, 128, 192, 256, 320, 384, 448, 512};
	static const uint32_t low[] = {1, 2, 300, 400, 290, 380, 10, 20};

	(void)state;
	link[2].counters.xmit_data = UINT64_C(7) << 32 | 1;
	link[2].counters.rcv_data = UINT64_C(8) << 32 | 2;
	link[2].counters.xmit_packets = 300;
	link[2].counters.rcv_packets = 400;
	port[2].multicast_xmit_packets = 10;
	port[2].multicast_rcv_packets = 20;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS_EXT, 2, 0, 0), 0);
	assert_int_equal(bits_at(8, 8), 2);
	assert_int_equal(bits_at(64, 32), 7);
	assert_int_equal(bits_at(128, 32), 8);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		assert_int_equal(bits_at(at[i] + 32, 32), low[i]);
	assert_int_equal(
	    ask_counts(SET, VB_PMA_PORT_COUNTERS_EXT, 2, 1 << VB_PMA_EXT_MULTICAST_RCV, 0), 0);
	assert_int_equal(got.value[VB_PMA_EXT_MULTICAST_RCV], 0);
	assert_int_equal(got.value[VB_PMA_EXT_MULTICAST_XMIT], 10);
	/* They go round. */
	assert_int_equal(
	    ask_counts(SET, VB_PMA_PORT_COUNTERS_EXT, 2, 1 << VB_PMA_EXT_XMIT_DATA, UINT64_MAX), 0);
	link[2].counters.xmit_data += 3;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS_EXT, 2, 0, 0), 0);
	assert_int_equal(got.value[VB_PMA_EXT_XMIT_DATA], 2);
}

/* FAB-41: port 0xFF is the sum, and its Set is for all. */
static void pma__all_ports(void **state)
{
	(void)state;
	link[1].counters.xmit_packets = 100;
	link[2].counters.xmit_packets = 11;
	link[2].counters.rcv_packets = 5;
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, ALL, 0, 0), 0);
	assert_int_equal(bits_at(8, 8), 0xff);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 111);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, ALL, 1 << VB_PMA_XMIT_PACKETS, 0),
			 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 0);
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS, 2, 0, 0), 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 0);
	assert_int_equal(got.value[VB_PMA_RCV_PACKETS], 5);
	assert_int_equal(ask_counts(SET, VB_PMA_PORT_COUNTERS, ALL, 1 << VB_PMA_XMIT_PACKETS, 9),
			 0);
	assert_int_equal(got.value[VB_PMA_XMIT_PACKETS], 9);
	assert_int_equal(ask_counts(GET, VB_PMA_PORT_COUNTERS_EXT, ALL, 0, 0), 0);
	assert_int_equal(got.value[VB_PMA_EXT_XMIT_PACKETS], 111);
}

/* Asks for the control of samples of a port, or sets it with @c. */
static int ask_control(uint8_t method, const struct vb_pma_control *c)
{
	memset(mad, 0, sizeof mad);
	vb_pma_control_emit(c, mad);
	return ask(method, VB_PMA_SAMPLES_CONTROL);
}

/* Counter @i of the result, at its place; -1 and -2: the sample waits, or runs. */
static int64_t result_of(uint32_t i)
{
	assert_int_equal(ask(GET, VB_PMA_SAMPLES_RESULT), 0);
	assert_int_equal(bits_at(0, 16), 0x5a01);
	return bits_at(16, 16) == 0 ? (int64_t)bits_at(32 + 32 * i, 32) : -(int64_t)bits_at(16, 16);
}

/* FAB-44: a sample waits, runs, and has what the port has counted meanwhile; until then a second
 * one is refused as busy. */
static void pma__samples(void **state)
{
	struct vb_pma_control c = {.port = 1,
				   .start = 1000,
				   .interval = 2000,
				   .tag = 0x5a01,
				   .select = {2, 1, 0, 5, [13] = 3, [14] = 4}};
	struct vb_ib_counters *n = &link[1].counters;
	vb_dur tick1000 = 1000 * 256 * 320 / 1000;

	(void)state;
	now = 77;
	*n = (struct vb_ib_counters){.xmit_data = 10, .rcv_data = 20};
	assert_int_equal(ask_control(SET, &c), 0);
	assert_true(vb_pma_poll_timeout(&node) == 77 + tick1000);
	assert_int_equal(bits_at(8, 8), 1);
	assert_int_equal(bits_at(16, 8), 255); /* ticks of 256 symbols */
	assert_int_equal(bits_at(29, 3), 4);   /* 32 bits */
	assert_int_equal(bits_at(34, 30), 01111111111);
	assert_int_equal(bits_at(65, 15), 011111);
	assert_int_equal(bits_at(94, 2), 1);
	assert_int_equal(bits_at(28 * 8, 32), 1000);
	assert_int_equal(bits_at(32 * 8, 32), 2000);
	assert_int_equal(bits_at(36 * 8, 16), 0x5a01);
	assert_int_equal(bits_at(38 * 8, 16), 2);
	assert_int_equal(bits_at(66 * 8, 16), 4);
	assert_int_equal(result_of(0), -1);
	n->xmit_data += 100; /* before it begins */
	now = vb_pma_poll_timeout(&node);
	vb_pma_handle_timeout(&node, now);
	assert_true(vb_pma_poll_timeout(&node) == now + 2 * tick1000);
	c.tag++;
	assert_int_equal(ask_control(SET, &c), 0x01);
	assert_int_equal(bits_at(94, 2), 2);
	assert_int_equal(ask_control(GET, &c), 0);
	n->xmit_data += 5;
	n->rcv_data += UINT64_C(1) << 33;
	n->rcv_packets += 7;
	n->xmit_wait_ns += 5120;
	assert_int_equal(result_of(1), -2);
	now += 2 * tick1000;
	vb_pma_handle_timeout(&node, now);
	n->xmit_data += 1000; /* after its end */
	assert_true(vb_pma_poll_timeout(&node) == VB_NEVER);
	assert_int_equal(result_of(0), UINT32_MAX);
	assert_int_equal(result_of(1), 5);
	assert_int_equal(result_of(2), 0);
	assert_int_equal(result_of(3), 1000); /* ticks of XmitWait */
	assert_int_equal(result_of(13), 0);
	assert_int_equal(result_of(14), 7);
	/* The next one; without a delay and an interval it is over at once. */
	c = (struct vb_pma_control){.port = 2, .tag = 0x5a01, .select = {1, 6, 0xffff}};
	assert_int_equal(ask_control(SET, &c), 0);
	assert_int_equal(bits_at(94, 2), 0);
	for (uint32_t i = 0; i < 15; i++)
		assert_int_equal(result_of(i), 0);
	/* A port without a link, no port, all ports; the result cannot be set. */
	for (uint32_t i = 0; i < 256; i += i == 0 ? 3 : 126) {
		c.port = (uint8_t)i;
		assert_int_equal(ask_control(SET, &c), 0x1c);
		assert_int_equal(ask_control(GET, &c), 0x1c);
	}
	assert_int_equal(ask(SET, VB_PMA_SAMPLES_RESULT), 0x0c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(pma__class, node_begin),
	    cmocka_unit_test_setup(pma__port_counters, node_begin),
	    cmocka_unit_test_setup(pma__set, node_begin),
	    cmocka_unit_test_setup(pma__xmit_wait, node_begin),
	    cmocka_unit_test_setup(pma__extended, node_begin),
	    cmocka_unit_test_setup(pma__all_ports, node_begin),
	    cmocka_unit_test_setup(pma__samples, node_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
