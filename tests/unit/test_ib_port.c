/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports of InfiniBand links, two of them at one cable. IBA 7.6 to 7.9, 18.2.5.4 */
#include "ib_world.h"

#include <errno.h>

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

/* LNK-18, LNK-30: in INIT flow control begins and management passes, data is dropped. */
static void port__begins(void **state)
{
	struct vb_ib_out out;
	struct vb_flow_packet f;

	(void)state;
	world_begin(2, 256);
	assert_false(vb_ib_port_poll_transmit(&w.end[0].port, 0, &out));
	assert_true(vb_ib_port_poll_timeout(&w.end[0].port) == VB_NEVER);
	ib_link(&w, VB_LINK_TRAINED);
	for (uint8_t vl = 0; vl < 2; vl++) {
		assert_true(vb_ib_port_poll_transmit(&w.end[0].port, 0, &out));
		assert_null(out.item);
		assert_int_equal(vb_flow_parse(&f, out.flow), 0);
		assert_int_equal(f.op, VB_FLOW_INIT);
		assert_int_equal(f.vl, vl);
		assert_int_equal(f.fctbs, 0);
		assert_int_equal(f.fccl, 256);
	}
	assert_false(vb_ib_port_poll_transmit(&w.end[0].port, 0, &out));

	/* LNK-12, IBT-72: management without any credit, before all data. */
	assert_true(ib_send(&w, 0, VB_VL_MGMT, VB_SMP_LEN));
	assert_true(ib_send(&w, 0, 0, 290));
	assert_int_equal(counters(0)->xmit_discards, 1);
	ib_run(&w, 2000, 20);
	assert_int_equal(w.end[1].accepted, 1);
	ib_link(&w, VB_LINK_SET_ARMED);
	assert_true(ib_send(&w, 0, 0, 290));
	assert_true(ib_send(&w, 0, VB_VL_MGMT, VB_SMP_LEN));
	ib_run(&w, 2000, 20);
	assert_int_equal(w.end[1].accepted, 2); /* the data waits */
	assert_int_equal(w.end[1].port.state, VB_LINK_ARMED);

	/* LNK-31: the first data packet makes the other end active. */
	assert_int_equal(vb_ib_port_link_event(&w.end[0].port, VB_LINK_SET_ACTIVE, w.now), 0);
	ib_run(&w, 2000, 20);
	assert_int_equal(w.end[1].accepted, 3);
	assert_int_equal(w.end[1].port.state, VB_LINK_ACTIVE);
	assert_int_equal(counters(0)->xmit_discards, 1);
}

/* LNK-12, IBT-72: management goes first; a full buffer loses it. LNK-13: it has one size. */
static void port__management_lane(void **state)
{
	struct vb_lrh lrh = {.vl = VB_VL_MGMT, .lnh = VB_LNH_LOCAL, .words = 72};
	struct vb_ib_port *p = &w.end[1].port;
	struct vb_ib_out out;

	(void)state;
	world_begin(1, 10);
	ib_world_up(&w);
	assert_true(ib_send(&w, 0, 0, 290));
	assert_true(ib_send(&w, 0, VB_VL_MGMT, VB_SMP_LEN));
	assert_true(vb_ib_port_poll_transmit(&w.end[0].port, w.now, &out));
	assert_int_equal(out.item->vl, VB_VL_MGMT);
	assert_true(vb_ib_port_poll_transmit(&w.end[0].port, w.now, &out));
	assert_int_equal(out.item->vl, 0);

	assert_int_equal(vb_ib_port_receive(p, &lrh, VB_SMP_LEN, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ACCEPTED);
	assert_int_equal(vb_ib_port_receive(p, &lrh, VB_SMP_LEN, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ACCEPTED);
	assert_int_equal(vb_ib_port_receive(p, &lrh, VB_SMP_LEN, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_NO_ROOM);
	assert_int_equal(counters(1)->vl15_dropped, 1);
	assert_int_equal(counters(1)->buffer_overruns, 0);
	vb_ib_port_release(p, VB_VL_MGMT, VB_SMP_LEN, w.now);
	assert_int_equal(vb_ib_port_receive(p, &lrh, VB_SMP_LEN, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ACCEPTED);

	lrh.words = 73;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 294, VB_IB_TAIL_GOOD, w.now), VB_IB_ERROR);
	lrh.words = 72;
	lrh.lnh = VB_LNH_GLOBAL;
	assert_int_equal(vb_ib_port_receive(p, &lrh, VB_SMP_LEN, VB_IB_TAIL_GOOD, w.now),
			 VB_IB_ERROR);
	assert_int_equal(counters(1)->rcv_errors, 2);
}

/* LNK-02, LNK-09, LNK-39: wrong packets are dropped and counted, each in one place. */
static void port__refuses_bad_packets(void **state)
{
	struct vb_lrh lrh = {.vl = 0, .lnh = VB_LNH_LOCAL, .words = 14};
	struct vb_ib_port *p = &w.end[1].port;

	(void)state;
	world_begin(2, 100);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, 0), VB_IB_STATE);
	assert_int_equal(counters(1)->rcv_discards, 1);
	ib_world_up(&w);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_DAMAGED, w.now), VB_IB_ERROR);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 57, VB_IB_TAIL_GOOD, w.now), VB_IB_ERROR);
	lrh.vl = 2; /* not operational */
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now), VB_IB_ERROR);
	assert_int_equal(counters(1)->rcv_errors, 3);
	assert_int_equal(counters(1)->rcv_packets, 0);
	lrh.vl = 1;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, w.now), VB_IB_ACCEPTED);
	assert_int_equal(counters(1)->rcv_packets, 1);
	assert_int_equal(counters(1)->rcv_data, 14);
	/* LNK-21: a sender without credit overruns the buffer: 1 of 100 blocks is taken. */
	lrh.words = 1055;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, w.now), VB_IB_ACCEPTED);
	assert_int_equal(vb_ib_port_receive(p, &lrh, 4222, VB_IB_TAIL_GOOD, w.now), VB_IB_NO_ROOM);
	assert_int_equal(counters(1)->buffer_overruns, 1);
	assert_int_equal(counters(1)->vl15_dropped, 0);
}

/* LNK-15, LNK-39 */
static void port__ignores_bad_flow_control(void **state)
{
	struct vb_ib_port *p = &w.end[1].port;
	uint8_t bytes[VB_FLOW_LEN];

	(void)state;
	world_begin(1, 100);
	ib_world_up(&w);
	vb_flow_emit(&(struct vb_flow_packet){.fctbs = 7, .fccl = 9}, bytes);
	bytes[1] ^= 1;
	vb_ib_port_handle_flow(p, bytes, w.now);
	assert_int_equal(counters(1)->local_link_errors, 1);
	vb_flow_emit(&(struct vb_flow_packet){.op = 2, .fctbs = 7, .fccl = 9}, bytes);
	vb_ib_port_handle_flow(p, bytes, w.now);
	vb_flow_emit(&(struct vb_flow_packet){.vl = 1, .fctbs = 7, .fccl = 9}, bytes);
	vb_ib_port_handle_flow(p, bytes, w.now);
	assert_int_equal(counters(1)->flow_unknown, 2);
	assert_int_equal(p->lane[0].tx.fccl, 100);
	assert_int_equal(p->lane[0].rx.abr, 0);
	vb_flow_emit(&(struct vb_flow_packet){.fctbs = 7, .fccl = 9}, bytes);
	vb_ib_port_handle_flow(p, bytes, w.now);
	assert_int_equal(p->lane[0].tx.fccl, 9);
	assert_int_equal(p->lane[0].rx.abr, 7);
}

/* LNK-19: a period of 65,536 symbols, and at once when room for a packet came back. */
static void port__tells_credits(void **state)
{
	struct vb_ib_port *p = &w.end[1].port;
	struct vb_lrh lrh = {.lnh = VB_LNH_LOCAL, .words = 1050};
	struct vb_ib_port_config c = ib_config(1, 200);
	struct vb_ib_out out;
	struct vb_flow_packet f;

	(void)state;
	world_begin(1, 200);
	ib_link(&w, VB_LINK_TRAINED);
	assert_true(vb_ib_port_poll_transmit(p, 0, &out));
	assert_int_equal(vb_ib_port_link_event(p, VB_LINK_SET_ARMED, 0), 0);
	assert_int_equal(vb_ib_port_poll_timeout(p), 65536 * 320 / 1000);
	assert_false(vb_ib_port_poll_transmit(p, 20970, &out));
	assert_true(vb_ib_port_poll_transmit(p, 20971, &out));
	assert_int_equal(vb_flow_parse(&f, out.flow), 0);
	assert_int_equal(f.op, VB_FLOW_NORMAL);
	assert_int_equal(f.fccl, 200);

	assert_int_equal(vb_ib_port_receive(p, &lrh, 4202, VB_IB_TAIL_GOOD, 20980), VB_IB_ACCEPTED);
	assert_false(vb_ib_port_poll_transmit(p, 20981, &out));
	vb_ib_port_release(p, 0, 4202, 20990);
	assert_true(vb_ib_port_poll_transmit(p, 20990, &out));
	assert_int_equal(vb_flow_parse(&f, out.flow), 0);
	assert_int_equal(f.fccl, 266);
	/* Less than a packet's worth is told in its period. */
	lrh.words = 14;
	assert_int_equal(vb_ib_port_receive(p, &lrh, 58, VB_IB_TAIL_GOOD, 21000), VB_IB_ACCEPTED);
	vb_ib_port_release(p, 0, 58, 21000);
	assert_false(vb_ib_port_poll_transmit(p, 21000, &out));

	/* In a buffer of little more than one packet, what keeps a packet waiting is told at once.
	 */
	world_begin(1, 70);
	ib_world_up(&w);
	lrh.words = 80; /* six blocks of four to spare */
	assert_int_equal(vb_ib_port_receive(p, &lrh, 322, VB_IB_TAIL_GOOD, w.now), VB_IB_ACCEPTED);
	vb_ib_port_release(p, 0, 322, w.now);
	assert_true(vb_ib_port_poll_transmit(p, w.now, &out));
	assert_int_equal(vb_flow_parse(&f, out.flow), 0);
	assert_int_equal(f.fccl, 76);

	/* Symbols are longer on slower links. */
	c.symbol_ps = vb_ib_symbol_ps(VB_IB_SDR);
	ib_world_init(&w, &c, 1);
	ib_link(&w, VB_LINK_TRAINED);
	assert_true(vb_ib_port_poll_transmit(p, 0, &out));
	assert_int_equal(vb_ib_port_poll_timeout(p), 262144);
}

/* LNK-14, LNK-26, LNK-38, IBT-74: a lane without credit waits, the others go on; counts agree. */
static void port__lanes_have_credits_of_their_own(void **state)
{
	(void)state;
	world_begin(2, 70);
	ib_world_up(&w);
	w.consume = 0;
	for (unsigned i = 0; i < 4; i++)
		assert_true(ib_send(&w, 0, 0, 4150)); /* 65 blocks */
	ib_run(&w, 5000, 20);
	assert_int_equal(w.end[1].accepted, 1);
	assert_int_equal(counters(0)->xmit_packets, 1);
	assert_int_equal(counters(0)->xmit_data, 4148 / 4);
	assert_int_equal(counters(1)->rcv_data, 4148 / 4);
	assert_int_equal(counters(0)->xmit_wait_ns, 0); /* until it is over */
	assert_true(ib_send(&w, 0, 1, 4150));
	ib_run(&w, 5000, 20);
	assert_int_equal(w.end[1].accepted, 2);
	assert_true(counters(0)->xmit_wait_ns > 4000 && counters(0)->xmit_wait_ns < 6000);
	w.consume = 1000;
	ib_run(&w, 20000, 20);
	assert_int_equal(w.end[1].accepted, 5);
	assert_int_equal(counters(0)->xmit_packets, counters(1)->rcv_packets);
	assert_int_equal(counters(0)->xmit_data, counters(1)->rcv_data);
	assert_int_equal(counters(1)->buffer_overruns, 0);
}

/* A packet for which there is no room waits, and is not dropped. */
static void packet_waits_on(const struct vb_ib_port_config *c)
{
	ib_world_init(&w, c, 1);
	set_low_table(1);
	ib_world_up(&w);
	assert_true(ib_send(&w, 0, 0, 290));
	ib_run(&w, 100000, 50);
	assert_int_equal(counters(0)->xmit_discards, 0);
}

/* LNK-27, LNK-28 */
static void port__drops_and_stalls_old_heads(void **state)
{
	struct vb_ib_port_config c = ib_config(1, 1);
	vb_dur life = UINT64_C(4096) << 3;

	(void)state;
	c.is_switch = true;
	c.hoq_life = 3;
	c.stall_count = 2;
	ib_world_init(&w, &c, 1);
	set_low_table(1);
	ib_world_up(&w);
	for (unsigned i = 0; i < 4; i++)
		assert_true(ib_send(&w, 0, 0, 290)); /* five blocks never fit into one */
	ib_run(&w, life - 1000, 50);
	assert_int_equal(counters(0)->xmit_discards, 0);
	ib_run(&w, 2000, 50);
	assert_int_equal(counters(0)->xmit_discards, 1); /* each head has a life of its own */
	ib_run(&w, life, 50);
	assert_int_equal(counters(0)->xmit_discards, 4); /* the second stalls the lane */
	assert_true(ib_send(&w, 0, 0, 58));
	assert_int_equal(counters(0)->xmit_discards, 5);
	ib_run(&w, 8 * life - 3000, 50);
	assert_true(ib_send(&w, 0, 0, 58));
	assert_int_equal(counters(0)->xmit_discards, 6);
	ib_run(&w, 4000, 50);
	assert_true(ib_send(&w, 0, 0, 58));
	assert_int_equal(counters(0)->xmit_discards, 6);
	ib_run(&w, 2000, 50);
	assert_int_equal(w.end[1].accepted, 1);
	/* Only drops in a row count: a packet that leaves between two of them ends the row. */
	for (unsigned i = 0; i < 3; i++) {
		assert_true(ib_send(&w, 0, 0, 290));
		ib_run(&w, life + 1000, 50);
		assert_true(ib_send(&w, 0, 0, 58));
		ib_run(&w, 2000, 50);
		assert_int_equal(counters(0)->xmit_discards, 7 + i);
		assert_int_equal(w.end[1].accepted, 2 + i);
	}
	/* A stall that is over leaves no drop behind. */
	for (unsigned round = 0; round < 2; round++) {
		assert_true(ib_send(&w, 0, 0, 290));
		ib_run(&w, life + 1000, 50);
		assert_int_equal(w.end[0].port.lane[0].stalled_until > w.now, false);
		assert_true(ib_send(&w, 0, 0, 290));
		ib_run(&w, life + 1000, 50);
		assert_int_equal(w.end[0].port.lane[0].stalled_until > w.now, true);
		ib_run(&w, 8 * life, 50);
	}

	/* Channel adapters, and lives over 19, have no limit. */
	for (unsigned round = 0; round < 2; round++) {
		c.is_switch = round == 1;
		c.hoq_life = round == 1 ? 20 : 0;
		packet_waits_on(&c);
	}
}

/* LNK-29: a packet that has been in a switch for its lifetime is dropped, wherever it stands; such
 * drops stall no lane. */
static void port__drops_what_has_been_here_too_long(void **state)
{
	struct vb_ib_port_config c = ib_config(1, 1);
	vb_dur life = UINT64_C(4096) << 4;

	(void)state;
	assert_true(vb_ib_life(19) == UINT64_C(4096) << 19 && vb_ib_life(20) == VB_NEVER);
	c.is_switch = true;
	c.hoq_life = 20;
	c.stall_count = 1;
	c.lifetime = vb_ib_life(4);
	ib_world_init(&w, &c, 1);
	set_low_table(1);
	ib_world_up(&w);
	assert_true(ib_send(&w, 0, 0, 290)); /* five blocks never fit into one */
	ib_run(&w, life / 2, 50);
	for (unsigned i = 0; i < 2; i++)
		assert_true(ib_send(&w, 0, 0, 290));
	ib_run(&w, life / 2 - 1000, 50);
	assert_int_equal(counters(0)->xmit_discards, 0);
	ib_run(&w, 2000, 50);
	assert_int_equal(counters(0)->xmit_discards, 1);
	ib_run(&w, life / 2 - 2000, 50);
	assert_int_equal(counters(0)->xmit_discards, 1);
	ib_run(&w, 2000, 50);
	assert_int_equal(counters(0)->xmit_discards, 3); /* each had its own time */
	assert_true(ib_send(&w, 0, 0, 58));
	ib_run(&w, 2000, 50);
	assert_int_equal(counters(0)->xmit_discards, 3);
	assert_int_equal(w.end[1].accepted, 1);

	/* 0 is no limit, and adapters have none. */
	for (unsigned round = 0; round < 2; round++) {
		c.is_switch = round == 1;
		c.lifetime = round == 1 ? 0 : 4096;
		packet_waits_on(&c);
	}
}

/* LNK-20: an active link whose neighbour is silent trains again, after 400,000 symbols. */
static void port__notices_a_silent_neighbour(void **state)
{
	(void)state;
	world_begin(1, 100);
	ib_world_up(&w);
	w.lose_flow = 1000;
	ib_run(&w, 125000, 100);
	assert_int_equal(w.end[0].port.state, VB_LINK_ACTIVE);
	ib_run(&w, 5000, 100);
	assert_int_equal(w.end[0].port.state, VB_LINK_ACT_DEFER);
	assert_int_equal(counters(0)->link_error_recovery, 1);
	/* Data waits until it has recovered. */
	assert_true(ib_send(&w, 0, 0, 290));
	ib_run(&w, 2000, 20);
	assert_int_equal(w.end[1].accepted, 0);
	w.lose_flow = 0;
	ib_link(&w, VB_LINK_RECOVERED);
	ib_run(&w, 5000, 20);
	assert_int_equal(w.end[1].accepted, 1);
	assert_int_equal(counters(0)->xmit_discards, 0);
}

/* LNK-20: a link that begins has nothing to recover, and looks on. */
static void port__waits_for_its_neighbour(void **state)
{
	struct vb_ib_port *p = &w.end[0].port;

	(void)state;
	world_begin(2, 100);
	assert_int_equal(vb_ib_port_link_event(p, VB_LINK_TRAINED, 0), 0);
	w.lose_flow = 1000;
	ib_run(&w, 200000, 100);
	assert_int_equal(p->state, VB_LINK_INIT);
	assert_int_equal(counters(0)->link_error_recovery, 0);
	vb_ib_port_handle_timeout(p, w.now + 1000000);
	assert_true(p->lane[0].flow_heard == w.now + 1000000);
	assert_true(p->lane[1].flow_heard == w.now + 1000000);
}

/* LNK-18, LNK-30: a link that goes down drops what waits, and begins without credits. */
static void port__goes_down(void **state)
{
	struct vb_ib_item late = {.len = 290, .vl = VB_VL_MGMT};
	struct vb_ib_out out;
	struct vb_flow_packet f;
	uint8_t bytes[VB_FLOW_LEN];

	(void)state;
	world_begin(1, 10);
	ib_world_up(&w);
	w.consume = 0;
	for (unsigned i = 0; i < 5; i++)
		assert_true(ib_send(&w, 0, 0, 290));
	ib_run(&w, 3000, 20);
	assert_int_equal(w.end[1].accepted, 2);
	assert_int_equal(vb_ib_port_link_event(&w.end[0].port, VB_LINK_LOST, w.now), 0);
	assert_int_equal(counters(0)->xmit_discards, 3);
	assert_int_equal(counters(0)->link_downed, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(vb_ib_port_poll_dropped(&w.end[0].port));
	assert_null(vb_ib_port_poll_dropped(&w.end[0].port));
	vb_ib_port_enqueue(&w.end[0].port, &late, w.now);
	assert_ptr_equal(vb_ib_port_poll_dropped(&w.end[0].port), &late);
	assert_int_equal(counters(0)->xmit_discards, 4);
	/* A packet that comes while it is down counts for nothing. */
	vb_flow_emit(&(struct vb_flow_packet){.fctbs = 7, .fccl = 1000}, bytes);
	vb_ib_port_handle_flow(&w.end[0].port, bytes, w.now);
	assert_int_not_equal(w.end[0].port.lane[0].tx.fccl, 1000);
	assert_int_equal(vb_ib_port_link_event(&w.end[0].port, VB_LINK_TRAINED, w.now), 0);
	assert_false(vb_credit_may_send(&w.end[0].port.lane[0].tx, 1));
	assert_int_equal(w.end[0].port.lane[0].tx.fctbs, 0);

	/* The other end, which has received 10 blocks and holds them still. */
	assert_int_equal(vb_ib_port_link_event(&w.end[1].port, VB_LINK_LOST, w.now), 0);
	assert_int_equal(vb_ib_port_link_event(&w.end[1].port, VB_LINK_TRAINED, w.now), 0);
	assert_true(vb_ib_port_poll_transmit(&w.end[1].port, w.now, &out));
	assert_int_equal(vb_flow_parse(&f, out.flow), 0);
	assert_int_equal(f.fccl, 0);
	ib_consume(&w, 1);
	assert_true(vb_ib_port_poll_transmit(&w.end[1].port, w.now, &out));
	assert_int_equal(vb_flow_parse(&f, out.flow), 0);
	assert_int_equal(f.fccl, 5);
}

/* LNK-36: a packet longer than the neighbour's MTU, or for no lane, does not leave. */
static void port__drops_what_the_neighbour_cannot_take(void **state)
{
	struct vb_ib_port_config c = ib_config(2, 200);

	(void)state;
	c.mtu = 1024;
	ib_world_init(&w, &c, 1);
	set_low_table(2);
	ib_world_up(&w);
	assert_true(ib_send(&w, 0, 0, 1024 + 126));
	assert_true(ib_send(&w, 0, 0, 1024 + 127));
	assert_true(ib_send(&w, 0, 2, 58));
	ib_run(&w, 2000, 20);
	assert_int_equal(w.end[1].accepted, 1);
	assert_int_equal(counters(0)->xmit_discards, 2);
}

/* With any loss on the cable: no overrun, order within lanes, and no credit is lost for good.
 * LNK-16, LNK-21 */
static void port__no_overrun_and_no_leak(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 20; seed++) {
		struct vb_ib_port_config c = ib_config(4, 70 + seed * 20);

		ib_world_init(&w, &c, seed);
		set_low_table(4);
		ib_world_up(&w);
		w.recovers = true;
		w.lose_data = seed * 10;
		w.lose_flow = seed * 20;
		w.consume = 300 + vb_rng_below(&w.rng, 700);
		for (unsigned i = 0; i < 400; i++) {
			unsigned e = vb_rng_below(&w.rng, 2);

			(void)ib_send(&w, e, (uint8_t)vb_rng_below(&w.rng, 4),
				      58 + 4 * vb_rng_below(&w.rng, 1000));
			ib_run(&w, 500, 50);
		}
		w.lose_data = w.lose_flow = 0;
		w.consume = 1000;
		ib_run(&w, 200000, 50);
		for (unsigned e = 0; e < 2; e++) {
			assert_int_equal(counters(e)->buffer_overruns, 0);
			assert_int_equal(counters(e)->rcv_errors, 0);
			assert_true(w.end[e].accepted > 100);
			for (unsigned vl = 0; vl < 4; vl++) {
				struct vb_ib_lane *l = &w.end[e].port.lane[vl];

				assert_true(vb_list_is_empty(&l->queue));
				assert_int_equal(l->rx.used, 0);
				assert_true(vb_credit_may_send(&l->tx, l->rx.capacity));
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(port__begins),
	    cmocka_unit_test(port__management_lane),
	    cmocka_unit_test(port__refuses_bad_packets),
	    cmocka_unit_test(port__ignores_bad_flow_control),
	    cmocka_unit_test(port__tells_credits),
	    cmocka_unit_test(port__lanes_have_credits_of_their_own),
	    cmocka_unit_test(port__drops_and_stalls_old_heads),
	    cmocka_unit_test(port__drops_what_has_been_here_too_long),
	    cmocka_unit_test(port__notices_a_silent_neighbour),
	    cmocka_unit_test(port__waits_for_its_neighbour),
	    cmocka_unit_test(port__goes_down),
	    cmocka_unit_test(port__drops_what_the_neighbour_cannot_take),
	    cmocka_unit_test(port__no_overrun_and_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
