/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets that a port of an InfiniBand link does not take, or not let out, and its counters of
 * errors. IBA 7.8.1, 7.12.2, 16.1.3.5, 18.2.5.4 */
#include "ib_world.h"

static struct ib_world w;

static void set_low_table(uint32_t lanes)
{
	struct vb_arb_entry low[VB_VL_DATA_MAX];

	for (unsigned vl = 0; vl < lanes; vl++)
		low[vl] = (struct vb_arb_entry){(uint8_t)vl, 64};
	for (unsigned e = 0; e < 2; e++)
		vb_arbiter_set_table(&w.end[e].port.arbiter, VB_ARB_LOW, low, lanes);
}

static void world_begin(uint32_t lanes, uint32_t blocks)
{
	struct vb_ib_port_config c = ib_config(lanes, blocks);

	ib_world_init(&w, &c, 1);
	set_low_table(lanes);
}

static struct vb_ib_counters *counters(unsigned e)
{
	return &w.end[e].port.counters;
}

/* LNK-36: a port takes packets up to its own MTUCap, and not up to NeighborMTU; a longer one is an
 * error of reception. */
static void port__takes_up_to_its_own_mtu(void **state)
{
	struct vb_ib_port_config c = ib_config(1, 200);
	struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 2048 / 4 + 31};
	struct vb_ib_port *p = &w.end[1].port;

	(void)state;
	c.mtu = 256;
	c.mtu_cap = 2048;
	ib_world_init(&w, &c, 1);
	ib_world_up(&w);
	assert_int_equal(vb_ib_port_receive(p, &lrh, lrh.words * 4u + 2, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ACCEPTED);
	lrh.words++;
	assert_int_equal(vb_ib_port_receive(p, &lrh, lrh.words * 4u + 2, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ERROR);
	assert_int_equal(counters(1)->rcv_errors, 1);
}

/* LNK-04: raw packets of both forms are errors of reception, or of constraints where the port
 * filters them; and where it does so at its output, they do not leave. */
static void port__filters_raw_packets(void **state)
{
	struct vb_ib_port *p = &w.end[1].port;
	struct ib_packet raw = {.item = {.len = 58, .is_raw = true}};
	struct vb_ib_out out;

	(void)state;
	world_begin(1, 200);
	ib_world_up(&w);
	for (int lnh = VB_LNH_RAW; lnh <= VB_LNH_IPV6; lnh++) {
		struct vb_lrh lrh = {.lnh = lnh, .words = 14};

		p->config.filter_raw_in = false;
		assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now),
				 VB_IB_ERROR);
		p->config.filter_raw_in = true;
		assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now),
				 VB_IB_FILTERED);
		assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_DAMAGED, w.now),
				 VB_IB_ERROR);
		lrh.lnh = VB_LNH_LOCAL;
		assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now),
				 VB_IB_ACCEPTED);
	}
	assert_int_equal(counters(1)->rcv_errors, 4);
	assert_int_equal(counters(1)->rcv_filtered, 2);
	assert_int_equal(counters(1)->rcv_packets, 2);

	p = &w.end[0].port;
	p->config.filter_raw_out = true;
	vb_ib_port_enqueue(p, &raw.item, w.now);
	assert_ptr_equal(vb_ib_port_poll_dropped(p), &raw.item);
	assert_int_equal(counters(0)->xmit_filtered, 1);
	assert_int_equal(counters(0)->xmit_discards, 0);
	p->config.filter_raw_out = false;
	vb_ib_port_enqueue(p, &raw.item, w.now);
	assert_true(vb_ib_port_poll_transmit(p, w.now, &out));
	assert_ptr_equal(out.item, &raw.item);
	assert_int_equal(counters(0)->xmit_filtered, 1);
}

/* One packet of the line, damaged or not. */
static void line_brings(bool is_damaged)
{
	const struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 14};

	if (vb_ib_port_receive(&w.end[1].port, &lrh, 58,
			       is_damaged ? VB_IB_TAIL_DAMAGED : VB_IB_TAIL_GOOD,
			       w.now) == VB_IB_ACCEPTED)
		vb_ib_port_release(&w.end[1].port, 0, 58, w.now);
}

/* LNK-39, LNK-40: a packet that ends as a bad one was damaged further back: it is no error of this
 * line. A port of a switch that cuts through has begun to send it, and any other damaged one, on.
 */
static void port__counts_bad_packets_of_others(void **state)
{
	struct vb_ib_port *p = &w.end[1].port;
	struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 14};

	(void)state;
	world_begin(1, 200);
	ib_world_up(&w);
	p->config.local_errors = 1;
	for (int i = 0; i < 4; i++)
		assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_BAD_PACKET, w.now),
				 VB_IB_ERROR);
	assert_int_equal(counters(1)->remote_physical_errors, 4);
	assert_true(counters(1)->rcv_errors == 0 && counters(1)->symbol_errors == 0);
	assert_true(counters(1)->rcv_packets == 0 && counters(1)->link_integrity_errors == 0);
	assert_int_equal(p->lane[0].rx.used, 0);

	p->config.cuts_through = true;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_BAD_PACKET, w.now), VB_IB_BAD);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_DAMAGED, w.now), VB_IB_BAD);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now), VB_IB_ACCEPTED);
	assert_int_equal(p->lane[0].rx.used, 3); /* each lies in the buffer */
	assert_true(counters(1)->remote_physical_errors == 5 && counters(1)->rcv_errors == 1);
	assert_true(counters(1)->symbol_errors == 1 && counters(1)->rcv_packets == 1);
	/* Without a form that the link carries it goes nowhere. */
	lrh.words = 2000;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_BAD_PACKET, w.now),
			 VB_IB_ERROR);
}

/* LNK-39, FAB-33: each packet that the line damages is a symbol error; where so many more are
 * damaged than whole that LocalPhyErrors is exceeded, the link itself is in error. 0: never. */
static void port__counts_errors_of_the_line(void **state)
{
	struct vb_ib_port *p = &w.end[1].port;
	uint8_t flow[VB_FLOW_LEN];

	(void)state;
	world_begin(1, 200);
	ib_world_up(&w);
	for (int i = 0; i < 40; i++)
		line_brings(true);
	assert_int_equal(counters(1)->symbol_errors, 40);
	assert_int_equal(counters(1)->link_integrity_errors, 0);
	p->config.local_errors = 3;
	for (int i = 0; i < 20; i++) { /* as many as the others */
		line_brings(true);
		line_brings(false);
	}
	assert_int_equal(counters(1)->link_integrity_errors, 0);
	for (int i = 0; i < 3; i++)
		line_brings(true);
	assert_int_equal(counters(1)->link_integrity_errors, 0);
	vb_flow_emit(&(struct vb_flow_packet){.fctbs = 7, .fccl = 9}, flow);
	flow[1] ^= 1;
	vb_ib_port_handle_flow(p, flow, w.now); /* those of flow control are packets, too */
	assert_int_equal(counters(1)->symbol_errors, 64);
	assert_int_equal(counters(1)->link_integrity_errors, 1);
	for (int i = 0; i < 3; i++)
		line_brings(true);
	assert_int_equal(counters(1)->link_integrity_errors, 1);
	line_brings(true);
	assert_int_equal(counters(1)->link_integrity_errors, 2);
}

/* LNK-21: as many periods of flow control in a row as OverrunErrors says, each with an overrun, are
 * one error of the link. 0: never. */
static void port__counts_overruns_in_a_row(void **state)
{
	static const struct {
		uint32_t period;
		uint32_t errors; /* after an overrun in this period */
	} row[] = {{10, 0}, {10, 0}, {11, 0}, {11, 0}, {12, 1}, {12, 1}, {13, 1},
		   {15, 1}, {16, 1}, {17, 2}, {18, 2}, {19, 2}, {20, 3}};
	const struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 1055};
	struct vb_ib_port *p = &w.end[1].port;
	vb_dur period = UINT64_C(65536) * vb_ib_symbol_ps(VB_IB_EDR) / 1000;

	(void)state;
	world_begin(1, 70);
	ib_world_up(&w);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, w.now), VB_IB_ACCEPTED);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, i * period),
				 VB_IB_NO_ROOM);
	assert_int_equal(counters(1)->excessive_overruns, 0);
	p->config.overrun_errors = 3;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		vb_time at = (100 + row[i].period) * period + i * 7;

		assert_int_equal(vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, at),
				 VB_IB_NO_ROOM);
		assert_int_equal(counters(1)->excessive_overruns, row[i].errors);
	}
	assert_int_equal(counters(1)->buffer_overruns, 20 + sizeof row / sizeof row[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(port__takes_up_to_its_own_mtu),
	    cmocka_unit_test(port__filters_raw_packets),
	    cmocka_unit_test(port__counts_bad_packets_of_others),
	    cmocka_unit_test(port__counts_errors_of_the_line),
	    cmocka_unit_test(port__counts_overruns_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
