/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines of a fabric in time that the test passes: hosts at one switch, an incast, a program
 * that does not read, marks and delays, cables that are pulled. LNK-17, LNK-21, LNK-26, LNK-38,
 * FAB-46 to FAB-48 */
#include "cmocka_env.h"
#include "fabric/ib/node/net.h"
#include "wire/be.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS 4u
#define PORTS (2 * HOSTS)         /* of the switch, then those of the hosts */
#define RATE UINT64_C(8000000000) /* a byte takes 1 ns */
#define DELAY 100
#define PAYLOAD 1024u
/* LRH, BTH, ICRC, VCRC, and what is between two frames. */
#define FRAME (8 + 12 + PAYLOAD + 4 + 2)
#define LINE_NS (FRAME + VB_FRAME_IB_GAP)
#define CAPACITY 128u /* blocks of a lane: seven packets */
#define RECEIVER 0u
#define FECN 0x80
#define BECN 0x40

struct world {
	struct vb_ib_net net;
	struct vb_ib_switch sw;
	struct vb_ib_hca hca[HOSTS];
	struct vb_sl2vl map[HOSTS * HOSTS];
	struct vb_ib_marker marker[HOSTS];
	struct vb_ib_congestion marks;
	uint8_t lft[8];
	uint32_t sent[HOSTS], got[HOSTS]; /* by sender: packets, numbered in their PSNs */
	uint64_t fecns;
	bool answers;    /* a mark by a packet with BECN */
	uint64_t blocks; /* of memory */
};

static void *world_alloc(void *ctx, size_t size)
{
	++*(uint64_t *)ctx;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	--*(uint64_t *)ctx;
	free(p);
}

static uint32_t host_port(uint32_t host)
{
	return HOSTS + host;
}

static void links_set(struct world *w, uint8_t state)
{
	for (uint32_t i = 0; i < PORTS; i++)
		vb_ib_net_set_state(&w->net, i, state, false);
}

static int setup(void **state)
{
	static struct world world;
	static const struct vb_arb_entry both[] = {{0, 1}, {1, 1}};
	struct world *w = &world;
	struct vb_ib_net_config cfg = {.port_cnt = PORTS,
				       .packets_max = 4096,
				       .payload_max = VB_PAYLOAD_MAX,
				       .alloc = world_alloc,
				       .free = world_free,
				       .ctx = &world.blocks};
	struct vb_ib_port_config c = {
	    .mtu = 1024, .data_cnt = 2, .symbol_ps = 4000, .hoq_life = 20};

	memset(w, 0, sizeof *w);
	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = CAPACITY;
	assert_int_equal(vb_ib_net_open(&w->net, &cfg), 0);
	c.is_switch = true;
	vb_ib_net_add_switch(&w->net, &w->sw, 0, HOSTS, &c);
	c.is_switch = false;
	for (uint32_t i = 0; i < HOSTS; i++) {
		vb_ib_net_add_hca(&w->net, &w->hca[i], host_port(i), &c);
		vb_ib_net_join(&w->net, i, host_port(i), DELAY);
		w->lft[i + 1] = (uint8_t)(i + 1); /* host i has LID i + 1 */
		w->hca[i].sl2vl.vl[1] = 1;
	}
	for (uint32_t i = 0; i < HOSTS * HOSTS; i++)
		w->map[i].vl[1] = 1;
	w->sw.sl2vl = w->map;
	w->sw.marker = w->marker;
	w->sw.forward = (struct vb_lid_forward){
	    .unicast = w->lft, .unicast_cap = sizeof w->lft, .unicast_top = HOSTS};
	for (uint32_t i = 0; i < PORTS; i++) {
		vb_ib_net_set_rate(&w->net, i, RATE);
		vb_arbiter_set_table(&w->net.end[i].port.arbiter, VB_ARB_LOW, both, 2);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		w->net.end[i].congestion = &w->marks;
	links_set(w, VB_LINK_ACTIVE);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	vb_ib_net_close(&w->net);
	assert_int_equal(w->blocks, 0);
	return 0;
}

/* A packet from @from to @to, if its port has room. Its payload and PSN are its number. */
static bool packet_send(struct world *w, uint32_t from, uint32_t to, uint8_t sl, uint8_t marks)
{
	uint8_t payload[PAYLOAD];
	struct vb_seg seg = {payload, sizeof payload};
	struct vb_path path = {.slid = (uint16_t)(from + 1), .dlid = (uint16_t)(to + 1), .sl = sl};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = PAYLOAD,
			   .seg_cnt = 1,
			   .hdr_len = VB_BTH_LEN};

	if (!vb_ib_hca_has_room(&w->hca[from], sl) || !vb_ib_net_has_frames(&w->net))
		return false;
	memset(payload, (int)(w->sent[from] & 0xff), sizeof payload);
	tx.hdr[0] = 0x04; /* RC, SEND only */
	tx.hdr[4] = marks;
	be32_put(tx.hdr + 8, w->sent[from]);
	assert_true(vb_ib_net_send(&w->net, host_port(from), &tx));
	w->sent[from]++;
	return true;
}

/* Takes what arrived at @host: each sender's packets whole and in their order. */
static uint32_t packets_take(struct world *w, uint32_t host)
{
	const struct vb_frame *f;
	uint32_t cnt = 0;

	for (; (f = vb_ib_hca_peek(&w->hca[host])) != NULL; cnt++) {
		uint32_t from = f->path.slid - 1u, number = be32_get(f->bytes + 8);

		if (!vb_ib_has_becn(f)) {
			assert_int_equal(number, w->got[from]);
			assert_int_equal(f->bytes[VB_BTH_LEN], number & 0xff);
			assert_int_equal(f->bytes[VB_BTH_LEN + PAYLOAD - 1], number & 0xff);
			w->got[from]++;
		}
		if (vb_ib_has_fecn(f)) {
			w->fecns++;
			assert_int_equal(f->path.traffic_class & VB_ECN_MASK, VB_ECN_CE);
			if (w->answers)
				assert_true(packet_send(w, host, from, f->path.sl, BECN));
		}
		vb_ib_net_take(&w->net, host_port(host));
	}
	return cnt;
}

/* All but the receiver send as fast as they can, for @steps times of a packet. */
static void incast_run(struct world *w, uint32_t steps, bool reads)
{
	for (uint32_t i = 0; i < steps; i++) {
		for (uint32_t h = 1; h < HOSTS; h++)
			while (packet_send(w, h, RECEIVER, 0, 0))
				;
		(void)vb_ib_net_run(&w->net, w->net.now + LINE_NS, UINT32_MAX);
		if (reads)
			(void)packets_take(w, RECEIVER);
		for (uint32_t h = 1; h < HOSTS; h++)
			(void)packets_take(w, h);
	}
}

/* Until nothing moves any more. */
static void world_drain(struct world *w)
{
	uint32_t moved = 1;

	while (moved) {
		moved = vb_ib_net_run(&w->net, w->net.now + 100 * LINE_NS, UINT32_MAX);
		for (uint32_t h = 0; h < HOSTS; h++)
			moved += packets_take(w, h);
	}
	assert_true(vb_ib_net_due(&w->net) == VB_NEVER);
}

static uint64_t errors_of(const struct world *w, uint32_t port)
{
	const struct vb_ib_counters *c = &w->net.end[port].port.counters;

	return c->rcv_errors + c->xmit_discards + c->rcv_discards + c->buffer_overruns +
	       c->link_error_recovery + w->net.end[port].relay_errors;
}

static void world_is_lossless(const struct world *w)
{
	for (uint32_t i = 0; i < PORTS; i++)
		assert_int_equal(errors_of(w, i), 0);
	for (uint32_t i = 0; i < HOSTS; i++)
		assert_int_equal(w->hca[i].waiting[0], 0);
	assert_int_equal(w->net.pool.used, 0);
}

/* A packet takes the time of each line and each cable; without packets nothing is due, and a look
 * at the wrong time changes nothing. */
static void net__takes_the_time_of_the_links(void **state)
{
	struct world *w = *state;
	vb_time begin, arrives;

	(void)vb_ib_net_run(&w->net, 1000000, UINT32_MAX); /* all tell their room */
	assert_true(vb_ib_net_due(&w->net) == VB_NEVER);
	assert_int_equal(w->net.now, 1000000);
	begin = w->net.now;
	assert_true(packet_send(w, 1, 2, 0, 0));
	arrives = begin + 2 * (LINE_NS + DELAY);
	(void)vb_ib_net_run(&w->net, arrives - 1, UINT32_MAX);
	assert_null(vb_ib_hca_peek(&w->hca[2]));
	(void)vb_ib_net_run(&w->net, arrives, UINT32_MAX);
	assert_int_equal(packets_take(w, 2), 1);
	world_drain(w);
	world_is_lossless(w);
	assert_int_equal(w->net.end[host_port(1)].port.counters.xmit_data, (FRAME - 2) / 4);
	assert_int_equal(w->net.end[1].port.counters.rcv_packets, 1);
	assert_int_equal(w->net.end[2].port.counters.xmit_packets, 1);
}

/* No more than so many things happen in one go, and the rest follows. */
static void net__stops_in_time(void **state)
{
	struct world *w = *state;
	vb_time until;

	assert_true(packet_send(w, 1, 2, 0, 0));
	until = w->net.now + 100 * LINE_NS;
	assert_int_equal(vb_ib_net_run(&w->net, until, 1), 1);
	assert_true(w->net.now < until);
	while (vb_ib_net_run(&w->net, until, 1) == 1)
		;
	assert_true(w->net.now == until);
	assert_int_equal(packets_take(w, 2), 1);
}

/* LNK-21, LNK-38: three senders share the receiver's link, wait for credits, and lose nothing. */
static void incast__waits_and_loses_nothing(void **state)
{
	struct world *w = *state;
	uint32_t all = 0;

	incast_run(w, 3000, true);
	for (uint32_t h = 1; h < HOSTS; h++) {
		uint32_t share = 3000 / (HOSTS - 1);

		assert_true(w->got[h] >= share * 9 / 10 && w->got[h] <= share * 11 / 10);
		assert_true(w->net.end[host_port(h)].port.counters.xmit_wait_ns > 1000 * LINE_NS);
		all += w->sent[h];
	}
	assert_true(w->got[1] + w->got[2] + w->got[3] >= 2900 &&
		    w->got[1] + w->got[2] + w->got[3] <= 3001);
	world_drain(w);
	assert_int_equal(w->got[1] + w->got[2] + w->got[3], all);
	world_is_lossless(w);
	assert_int_equal(w->fecns, 0);
}

/* LNK-17, LNK-21: a program that does not read holds its senders back; memory stays in bounds, a
 * third party is served, and when it reads on, all is there. */
static void receiver__that_does_not_read_holds_back(void **state)
{
	struct world *w = *state;
	uint32_t stopped[HOSTS], used;

	incast_run(w, 200, false);
	for (uint32_t h = 1; h < HOSTS; h++)
		stopped[h] = w->sent[h];
	used = w->net.pool.used;
	incast_run(w, 500, false);
	for (uint32_t h = 1; h < HOSTS; h++)
		assert_int_equal(w->sent[h], stopped[h]);
	assert_int_equal(w->net.pool.used, used);
	assert_true(vb_ib_net_due(&w->net) == VB_NEVER);
	/* Another lane is free. */
	assert_true(packet_send(w, 1, 2, 1, 0));
	(void)vb_ib_net_run(&w->net, w->net.now + 10 * LINE_NS, UINT32_MAX);
	assert_non_null(vb_ib_hca_peek(&w->hca[2]));
	vb_ib_net_take(&w->net, host_port(2));
	world_drain(w);
	assert_int_equal(w->got[1], stopped[1]);
	assert_int_equal(w->got[2] + w->got[3], stopped[2] + stopped[3]);
	world_is_lossless(w);
}

/* FAB-46 to FAB-48: a long queue marks, the receiver answers, and sources follow their tables: the
 * queue gets short, and the link stays in use. */
static void congestion__slows_sources_down(void **state)
{
	struct world *w = *state;
	uint64_t wait[2];

	incast_run(w, 2000, true);
	wait[0] = w->net.end[host_port(1)].port.counters.xmit_wait_ns;
	w->marks = (struct vb_ib_congestion){.threshold = 4 * FRAME, .marking_rate = 3};
	w->answers = true;
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct vb_cct *t = &w->hca[h].cct;

		*t = (struct vb_cct){
		    .limit = VB_CCT_LEN - 1,
		    .level[0] = {.increase = 1, .trigger = 3, .timer = 20 * LINE_NS}};
		for (uint32_t i = 0; i < VB_CCT_LEN; i++)
			t->entry[i] = (uint16_t)(2u << VB_CCT_SHIFT | i);
	}
	incast_run(w, 500, true);
	wait[1] = w->net.end[host_port(1)].port.counters.xmit_wait_ns;
	w->got[0] = w->got[1] + w->got[2] + w->got[3];
	incast_run(w, 2000, true);
	assert_true(w->fecns > 0 && w->marker[RECEIVER].marks >= w->fecns);
	assert_true(w->hca[RECEIVER].fecns == w->fecns);
	for (uint32_t h = 1; h < HOSTS; h++) {
		assert_true(w->hca[h].source.index_max >= 3);
		assert_true(w->hca[h].source.events > 0 && w->hca[h].source.event_sls == 1);
	}
	/* Less waiting by half, with at least three quarters of the link in use. */
	assert_true((w->net.end[host_port(1)].port.counters.xmit_wait_ns - wait[1]) * 2 < wait[0]);
	assert_true(w->got[1] + w->got[2] + w->got[3] - w->got[0] > 1500);
	w->got[0] = 0;
	w->sent[0] = 0;
}

/* A datagram's mark is not shown to the program: nobody answers it. */
static void congestion__of_datagrams_is_not_told(void **state)
{
	struct world *w = *state;
	uint8_t byte = 0;
	struct vb_seg seg = {&byte, 1};
	struct vb_path path = {.slid = 2, .dlid = 3};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = 1,
			   .seg_cnt = 1,
			   .pad = 3,
			   .hdr_len = 20,
			   .hdr = {[0] = 0x64, [4] = FECN}};

	assert_true(vb_ib_net_send(&w->net, host_port(1), &tx));
	(void)vb_ib_net_run(&w->net, w->net.now + 10 * LINE_NS, UINT32_MAX);
	assert_non_null(vb_ib_hca_peek(&w->hca[2]));
	assert_int_equal(vb_ib_hca_peek(&w->hca[2])->path.traffic_class, 0);
	assert_int_equal(w->hca[2].fecns, 1);
	vb_ib_net_take(&w->net, host_port(2));
	world_drain(w);
	world_is_lossless(w);
}

/* LNK-30, LNK-31: a cable that is pulled loses what is on it and what waits for it, and nothing
 * else; when it is back, credits begin again. */
static void cable__that_is_pulled_loses_its_packets(void **state)
{
	struct world *w = *state;
	uint32_t got;

	incast_run(w, 100, true);
	for (int end = 0; end < 2; end++)
		vb_ib_net_set_state(&w->net, end ? host_port(RECEIVER) : RECEIVER, VB_LINK_DOWN,
				    true);
	incast_run(w, 100, true);
	assert_true(w->net.end[RECEIVER].port.counters.xmit_discards > 0);
	got = w->got[1] + w->got[2] + w->got[3];
	incast_run(w, 10, true);
	assert_int_equal(w->got[1] + w->got[2] + w->got[3], got);
	while (vb_ib_net_run(&w->net, w->net.now + 100 * LINE_NS, UINT32_MAX))
		;
	assert_int_equal(w->net.pool.used, 0);
	/* One end trains, and the other one later: what the first one told is told again. */
	vb_ib_net_set_state(&w->net, RECEIVER, VB_LINK_ACTIVE, false);
	(void)vb_ib_net_run(&w->net, w->net.now + 100 * LINE_NS, UINT32_MAX);
	vb_ib_net_set_state(&w->net, host_port(RECEIVER), VB_LINK_ACTIVE, false);
	for (uint32_t h = 1; h < HOSTS; h++)
		w->got[h] = w->sent[h];
	got = w->got[1] + w->got[2] + w->got[3];
	incast_run(w, 1000, true);
	assert_true(w->got[1] + w->got[2] + w->got[3] - got > 900);
	world_drain(w);
	assert_int_equal(w->net.pool.used, 0);
	for (uint32_t h = 1; h < HOSTS; h++)
		assert_int_equal(w->got[h], w->sent[h]);
	assert_int_equal(w->net.end[RECEIVER].port.counters.buffer_overruns, 0);
}

/* A link that went down and came back between two looks begins again as well. */
static void cable__that_was_down_begins_again(void **state)
{
	struct world *w = *state;

	incast_run(w, 50, false);
	for (uint32_t i = 0; i < PORTS; i++)
		vb_ib_net_set_state(&w->net, i, VB_LINK_ACTIVE, true);
	(void)packets_take(w, RECEIVER);
	for (uint32_t h = 1; h < HOSTS; h++)
		w->got[h] = w->sent[h];
	incast_run(w, 300, true);
	world_drain(w);
	for (uint32_t h = 1; h < HOSTS; h++)
		assert_int_equal(w->got[h], w->sent[h]);
	assert_int_equal(w->net.pool.used, 0);
	assert_int_equal(w->net.end[RECEIVER].port.counters.link_downed, 1);
}

/* LNK-30: data waits at a port in ARMED, and is dropped in INIT. */
static void states__hold_data_back(void **state)
{
	struct world *w = *state;

	links_set(w, VB_LINK_INIT);
	assert_true(packet_send(w, 1, 2, 0, 0));
	assert_int_equal(w->net.pool.used - w->net.pool.flow, 0);
	assert_int_equal(w->net.end[host_port(1)].port.counters.xmit_discards, 1);
	links_set(w, VB_LINK_ARMED);
	w->sent[1] = 0;
	assert_true(packet_send(w, 1, 2, 0, 0));
	(void)vb_ib_net_run(&w->net, w->net.now + 100 * LINE_NS, UINT32_MAX);
	assert_null(vb_ib_hca_peek(&w->hca[2]));
	links_set(w, VB_LINK_ACTIVE);
	(void)vb_ib_net_run(&w->net, w->net.now + 100 * LINE_NS, UINT32_MAX);
	assert_int_equal(packets_take(w, 2), 1);
}

/* LNK-11: lanes that are taken away drop what waits there, and have credits again when they are
 * back. */
static void lanes__come_and_go(void **state)
{
	struct world *w = *state;

	for (uint32_t cnt = 1; cnt <= 2; cnt++)
		for (uint32_t i = 0; i < PORTS; i++)
			vb_ib_net_set_lanes(&w->net, i, cnt);
	for (int i = 0; i < 100; i++) {
		while (packet_send(w, 1, 2, 1, 0))
			;
		(void)vb_ib_net_run(&w->net, w->net.now + 10 * LINE_NS, UINT32_MAX);
		(void)packets_take(w, 2);
	}
	world_drain(w);
	assert_int_equal(w->got[1], w->sent[1]);
	assert_true(w->sent[1] > 500);
	w->hca[1].sl2vl.vl[1] = 5;
	assert_true(packet_send(w, 1, 2, 1, 0));
	assert_int_equal(w->net.end[host_port(1)].port.counters.xmit_discards, 1);
	assert_int_equal(w->net.pool.used, 0);
}

/* Where frames run short, senders wait; flow control has some more, and waits for them where it has
 * to. */
static void frames__run_short(void **state)
{
	struct world *w = *state;
	uint32_t most = w->net.pool.max;

	/* Also with none at all left for a moment. */
	assert_true(w->net.pool.cnt < 70);
	w->net.pool.max = 70;
	incast_run(w, 2000, true);
	assert_true(w->net.pool.used_max <= w->net.pool.max);
	assert_true(w->got[1] + w->got[2] + w->got[3] > 1500);
	world_drain(w);
	for (uint32_t h = 1; h < HOSTS; h++)
		assert_int_equal(w->got[h], w->sent[h]);
	world_is_lossless(w);
	w->net.pool.max = most;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(net__takes_the_time_of_the_links, setup, teardown),
	    cmocka_unit_test_setup_teardown(net__stops_in_time, setup, teardown),
	    cmocka_unit_test_setup_teardown(incast__waits_and_loses_nothing, setup, teardown),
	    cmocka_unit_test_setup_teardown(receiver__that_does_not_read_holds_back, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(congestion__slows_sources_down, setup, teardown),
	    cmocka_unit_test_setup_teardown(congestion__of_datagrams_is_not_told, setup, teardown),
	    cmocka_unit_test_setup_teardown(cable__that_is_pulled_loses_its_packets, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(cable__that_was_down_begins_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(states__hold_data_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(lanes__come_and_go, setup, teardown),
	    cmocka_unit_test_setup_teardown(frames__run_short, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
