/* SPDX-License-Identifier: BSD-2-Clause */
/* The InfiniBand port over frames, and the switch of such ports, by hand: what is accepted, kept,
 * given back, told and dropped; lanes that wait for each other. LNK-19 to LNK-22, LNK-37, FAB-01,
 * FAB-02 */
#include "cmocka_env.h"
#include "fabric/ib/node/deadlock.h"
#include "wire/be.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOL_PS 320
#define PERIOD_NS (65536 * SYMBOL_PS / 1000)
#define CAPACITY 40 /* blocks: room for two packets */
#define PACKET 1056 /* bytes: 17 blocks */
#define PORTS 3

struct world {
	struct vb_frame_pool pool;
	struct vb_ready_list ready;
	struct vb_port line[PORTS + 1];
	struct vb_ib_end end[PORTS + 1]; /* of the switch, then a neighbour's of its port 0 */
	struct vb_ib_switch sw;
	struct vb_sl2vl map[PORTS * PORTS];
	uint8_t lft[8];
	struct vb_port_mask mft[2];
	struct vb_ib_gate gate[PORTS];
	struct vb_ib_marker marker[PORTS];
	vb_time now;
};

static void *pool_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void pool_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int setup(void **state)
{
	static struct world world;
	struct world *w = &world;
	struct vb_ib_port_config c = {
	    .mtu = 1024, .data_cnt = 2, .symbol_ps = SYMBOL_PS, .hoq_life = 20, .is_switch = true};

	memset(w, 0, sizeof *w);
	w->pool = (struct vb_frame_pool){
	    .stride = 512, .max = 1000, .alloc = pool_alloc, .release = pool_free};
	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = CAPACITY;
	for (unsigned i = 0; i <= PORTS; i++) {
		static const struct vb_arb_entry both[] = {{0, 1}, {1, 1}};

		vb_port_init(&w->line[i], UINT64_C(100000000000), &w->ready);
		vb_ib_end_init(&w->end[i], &c, &w->line[i], &w->pool);
		vb_arbiter_set_table(&w->end[i].port.arbiter, VB_ARB_LOW, both, 2);
		vb_ib_end_set_link(&w->end[i], true, 0);
	}
	vb_ib_switch_init(&w->sw, w->end, PORTS);
	w->sw.sl2vl = w->map;
	memset(w->lft, VB_PORT_NONE, sizeof w->lft);
	w->lft[5] = 2; /* LID 5: by index 1 */
	w->sw.forward = (struct vb_lid_forward){
	    .unicast = w->lft, .unicast_cap = sizeof w->lft, .unicast_top = sizeof w->lft - 1};
	for (unsigned i = 0; i < PORTS * PORTS; i++)
		w->map[i].vl[1] = 1; /* SL 1; all others lane 0 */
	for (unsigned i = 0; i < PORTS * PORTS; i++)
		w->map[i].vl[2] = VB_VL_MGMT; /* SL 2: none */
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	vb_frame_pool_destroy(&w->pool);
	return 0;
}

static struct vb_frame *packet(struct world *w, uint16_t dlid, uint8_t sl)
{
	struct vb_frame *f = vb_frame_pool_take(&w->pool);

	assert_non_null(f);
	memset(f, 0, sizeof *f);
	f->kind = VB_FRAME_DATA;
	f->path.dlid = dlid;
	f->path.slid = 1;
	f->path.sl = sl;
	f->frame_len = PACKET + VB_VCRC_LEN;
	return f;
}

/* Flow control packets of @from to @to, all that are due; packets that leave are kept back. */
static void flow_exchange(struct world *w, struct vb_ib_end *from, struct vb_ib_end *to)
{
	struct vb_frame *f;

	while ((f = vb_ib_end_poll_transmit(from, w->now)) != NULL) {
		assert_int_equal(f->kind, VB_FRAME_FLOW);
		assert_false(vb_ib_end_receive(to, f, w->now));
	}
}

/* LNK-19: room that came back is told at once; where that is lost, the next word of the period
 * heals it. */
static void flow__lost_heals_within_its_period(void **state)
{
	struct world *w = *state;
	struct vb_ib_end *a = &w->end[PORTS], *b = &w->end[0];
	struct vb_frame *f;
	vb_time lost;

	flow_exchange(w, b, a);
	flow_exchange(w, a, b);
	for (int i = 0; i < 4; i++)
		vb_ib_end_put(a, packet(w, 5, 0), 0, w->now);
	for (int i = 0; i < 2; i++) {
		f = vb_ib_end_poll_transmit(a, w->now);
		assert_non_null(f);
		assert_true(vb_ib_end_receive(b, f, w->now)); /* it stays in the buffer */
		vb_frame_pool_give(&w->pool, f);
	}
	assert_null(vb_ib_end_poll_transmit(a, w->now));

	w->now += 1000;
	vb_ib_end_release(b, 0, PACKET + VB_VCRC_LEN, w->now);
	vb_ib_end_release(b, 0, PACKET + VB_VCRC_LEN, w->now);
	assert_non_null(w->ready.first); /* it has something to say */
	f = vb_ib_end_poll_transmit(b, w->now);
	assert_non_null(f);
	vb_frame_pool_give(&w->pool, f); /* lost */
	assert_null(vb_ib_end_poll_transmit(b, w->now));
	assert_null(vb_ib_end_poll_transmit(a, w->now));

	lost = w->now;
	do { /* the other lane has its own times */
		w->now = w->line[0].due;
		assert_true(w->now <= lost + PERIOD_NS);
		flow_exchange(w, b, a);
		while ((f = vb_ib_end_poll_transmit(a, w->now)) != NULL && f->kind == VB_FRAME_FLOW)
			vb_frame_pool_give(&w->pool, f);
	} while (!f);
	assert_int_equal(f->kind, VB_FRAME_DATA);
	vb_frame_pool_give(&w->pool, f);
}

/* FAB-01, LNK-22: a packet leaves by the port of its LID, in the lane of its service level, and has
 * the room of its input until then. */
static void switch__forwards(void **state)
{
	struct world *w = *state;
	struct vb_frame *f = packet(w, 5, 1);

	f->prio = 0;
	vb_ib_switch_handle_packet(&w->sw, 0, f, w->now);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 17);
	assert_int_equal(w->line[1].depth, PACKET + VB_VCRC_LEN);
	/* There is no credit yet. */
	while ((f = vb_ib_switch_poll_transmit(&w->sw, 1, w->now)) != NULL) {
		assert_int_equal(f->kind, VB_FRAME_FLOW);
		vb_frame_pool_give(&w->pool, f);
	}
	vb_credit_set_limit(&w->end[1].port.lane[1].tx, CAPACITY);
	f = vb_ib_switch_poll_transmit(&w->sw, 1, w->now);
	assert_non_null(f);
	assert_true(f->kind == VB_FRAME_DATA && f->prio == 1);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
	assert_true(w->end[1].lane[1].tx_pkts == 1 && w->end[0].lane[0].buffer_max == 17);
	vb_frame_pool_give(&w->pool, f);
}

/* A LID without an entry, one that leads back, and a service level without a lane: dropped,
 * counted, and the room is free again. */
static void switch__drops(void **state)
{
	static const struct {
		uint32_t in;
		uint16_t dlid;
		uint8_t sl;
	} t[] = {{0, 6, 0}, {1, 5, 0}, {0, 5, 2}};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		vb_ib_switch_handle_packet(&w->sw, t[i].in, packet(w, t[i].dlid, t[i].sl), w->now);
		assert_int_equal(w->end[t[i].in].port.lane[0].rx.used, 0);
		assert_int_equal(w->pool.used, 0);
	}
	assert_true(w->end[0].relay_errors == 1 && w->end[1].relay_errors == 1);
	assert_int_equal(w->end[1].port.counters.xmit_discards, 1);
}

/* The next packet of a port of the switch, which has credits; NULL: there is none. */
static struct vb_frame *packet_of(struct world *w, uint32_t port)
{
	struct vb_frame *f;

	while ((f = vb_ib_switch_poll_transmit(&w->sw, port, w->now)) != NULL &&
	       f->kind == VB_FRAME_FLOW)
		vb_frame_pool_give(&w->pool, f);
	return f;
}

/* FAB-02: a packet to a group leaves by each port of the entry but the one where it came in. Each
 * copy waits for credits of its own, and the room of the input is free when the last one is gone,
 * also where that one is dropped with its link. */
static void switch__copies_to_a_group(void **state)
{
	struct world *w = *state;

	w->mft[0].word[0] = 1 << 1 | 1 << 2 | 1 << 3;
	w->sw.forward.multicast = w->mft;
	w->sw.forward.multicast_cap = 1;
	w->sw.forward.multicast_primary = w->sw.forward.multicast_other = VB_PORT_NONE;
	for (int lost = 0; lost < 2; lost++) {
		struct vb_frame *f;

		vb_ib_switch_handle_packet(&w->sw, 0, packet(w, VB_LID_MULTICAST, 0), w->now);
		assert_int_equal(w->line[0].depth, 0);
		vb_credit_set_limit(&w->end[1].port.lane[0].tx, (uint16_t)(CAPACITY * (lost + 1)));
		assert_null(packet_of(w, 2));
		f = packet_of(w, 1);
		assert_non_null(f);
		vb_frame_pool_give(&w->pool, f);
		assert_null(packet_of(w, 1));
		assert_int_equal(w->end[0].port.lane[0].rx.used, 17);
		if (lost) {
			vb_ib_switch_set_link(&w->sw, 2, false, w->now);
		} else {
			vb_credit_set_limit(&w->end[2].port.lane[0].tx, 17);
			f = packet_of(w, 2);
			assert_non_null(f);
			vb_frame_pool_give(&w->pool, f);
		}
		assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
		assert_int_equal(w->pool.used, 0);
	}
	vb_ib_switch_handle_packet(&w->sw, 0, packet(w, VB_LID_MULTICAST + 1, 0), w->now);
	assert_true(w->end[0].relay_errors == 1 && w->pool.used == 0);
}

/* A packet to many has no FECN, which each receiver would answer; a packet to one has. */
static void switch__marks_no_copies(void **state)
{
	static const struct vb_ib_congestion congestion = {.threshold = 1, .marks_victims = true};
	struct world *w = *state;

	w->mft[0].word[0] = 1 << 2;
	w->sw.forward.multicast = w->mft;
	w->sw.forward.multicast_cap = 1;
	for (unsigned i = 0; i < PORTS; i++)
		w->end[i].congestion = &congestion;
	w->sw.marker = w->marker;
	vb_ib_switch_handle_packet(&w->sw, 0, packet(w, VB_LID_MULTICAST, 0), w->now);
	vb_ib_switch_handle_packet(&w->sw, 0, packet(w, VB_LID_MULTICAST, 0), w->now);
	assert_int_equal(w->marker[1].marks, 0);
	vb_ib_switch_handle_packet(&w->sw, 2, packet(w, 5, 0), w->now);
	assert_int_equal(w->marker[1].marks, 1);
}

/* LNK-37: a port bars a P_Key that its end node does not have, in and out, and counts. A limited
 * member may send its own key, and is not reached by another one's. */
static void switch__bars_partitions(void **state)
{
	static const uint16_t limited[] = {0x0001}, full[] = {0x8001}, other[] = {0x8002};
	static const struct {
		const uint16_t *in, *out;
		uint16_t pkey;
		uint64_t barred_in, barred_out;
	} t[] = {
	    {full, full, 0x8001, 0, 0},    {other, full, 0x8001, 1, 0},
	    {full, other, 0x8001, 0, 1},   {limited, full, 0x0001, 0, 0},
	    {full, limited, 0x8001, 0, 0}, {limited, limited, 0x0001, 0, 1},
	    {limited, full, 0x8001, 1, 0},
	};
	struct world *w = *state;

	w->sw.gate = w->gate;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_frame *f = packet(w, 5, 0);

		w->gate[0] =
		    (struct vb_ib_gate){.pkey = t[i].in, .pkey_cnt = 1, .enforces_in = true};
		w->gate[1] =
		    (struct vb_ib_gate){.pkey = t[i].out, .pkey_cnt = 1, .enforces_out = true};
		be16_put(f->bytes + 2, t[i].pkey);
		vb_ib_switch_handle_packet(&w->sw, 0, f, w->now);
		assert_int_equal(w->gate[0].rcv_constraint_errors, t[i].barred_in);
		assert_int_equal(w->gate[1].xmit_constraint_errors, t[i].barred_out);
		if (!t[i].barred_in && !t[i].barred_out) {
			vb_credit_set_limit(&w->end[1].port.lane[0].tx, (uint16_t)(17 * (i + 1)));
			f = packet_of(w, 1);
			assert_non_null(f);
			vb_frame_pool_give(&w->pool, f);
		}
		assert_true(w->pool.used == 0 && w->end[0].port.lane[0].rx.used == 0);
	}
}

/* LNK-20, LNK-21: a neighbour that sends without credit overruns the buffer, and is counted;
 * waiting packets are dropped when the link is lost. */
static void switch__overrun_and_lost_link(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++)
		vb_ib_switch_handle_packet(&w->sw, 0, packet(w, 5, 0), w->now);
	assert_int_equal(w->end[0].port.counters.buffer_overruns, 1);
	assert_int_equal(w->pool.used, 2);
	vb_ib_switch_set_link(&w->sw, 1, false, w->now);
	assert_int_equal(w->pool.used, 0);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
	assert_int_equal(w->line[1].depth, 0);
}

/* LNK-20: a port that hears nothing for too long recovers; credits go on from where they were. */
static void silence__recovers(void **state)
{
	struct world *w = *state;
	struct vb_ib_end *a = &w->end[PORTS];
	uint16_t limit;

	flow_exchange(w, &w->end[0], a);
	limit = a->port.lane[0].tx.fccl;
	assert_int_equal(limit, CAPACITY);
	w->now += 400000 * SYMBOL_PS / 1000;
	for (struct vb_frame *f; (f = vb_ib_end_poll_transmit(a, w->now)) != NULL;)
		vb_frame_pool_give(&w->pool, f);
	assert_int_equal(a->port.counters.link_error_recovery, 1);
	assert_int_equal(a->port.state, VB_LINK_ACTIVE);
	assert_int_equal(a->port.lane[0].tx.fccl, limit);
}

/* The port with index 1 leads back to that with index 0, whose buffer packets fill that wait to
 * leave by it. All that has been sent has arrived. */
static struct vb_ib_hop loop_of(struct world *w)
{
	const struct vb_ib_hop hop = {&w->sw, 1, &w->sw, 0};

	for (uint32_t i = 0; i < PORTS; i++)
		w->end[i].hop = i == 1 ? 0 : VB_IB_NO_HOP;
	w->end[1].port.lane[0].tx.fctbs = w->end[0].port.lane[0].rx.abr;
	return hop;
}

/* A packet to a group has its room until the last copy has left: where one of them waits in the
 * ring, it does not help that another one is on its way to a host. A packet to a host alone does
 * help. FAB-02 */
static void deadlock__waits_for_every_copy(void **state)
{
	static const struct {
		uint16_t dlid[2]; /* of the packets in the buffer */
		bool deadlocks;
	} t[] = {
	    {{5, 5}, true},                                    /* both wait in the ring */
	    {{5, 6}, false},                                   /* one leaves to a host */
	    {{VB_LID_MULTICAST, 5}, true},                     /* one of both copies waits */
	    {{VB_LID_MULTICAST, VB_LID_MULTICAST}, true},      /* the same of each */
	    {{VB_LID_MULTICAST, VB_LID_MULTICAST + 1}, false}, /* the copy of one is to a host */
	};
	struct world *w = *state;

	w->lft[6] = 3; /* LID 6: by index 2, to a host */
	w->sw.forward.multicast = w->mft;
	w->sw.forward.multicast_cap = 2;
	w->mft[0].word[0] = 1 << 2 | 1 << 3;
	w->mft[1].word[0] = 1 << 3;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		uint8_t scratch[VB_VL_CNT] = {0};
		struct vb_deadlock d = {.cnt = 0};
		struct vb_ib_hop hop;

		for (int k = 0; k < 2; k++)
			vb_ib_switch_handle_packet(&w->sw, 0, packet(w, t[i].dlid[k], 0), w->now);
		hop = loop_of(w);
		assert_int_equal(vb_deadlock_find(&hop, 1, scratch, &d), t[i].deadlocks);
		if (t[i].deadlocks)
			assert_true(d.cnt == 1 && d.lane[0].hop == 0 && d.lane[0].vl == 0);
		for (uint32_t p = 0; p < PORTS; p++) {
			vb_ib_switch_set_link(&w->sw, p, false, w->now);
			vb_ib_switch_set_link(&w->sw, p, true, w->now);
		}
		assert_true(w->pool.used == 0 && w->end[0].port.lane[0].rx.used == 0);
	}
}

/* ... and from then on the room is free: with the host's copy gone and the other one dropped with
 * its link nothing waits. */
static void deadlock__ends_with_the_last_copy(void **state)
{
	struct world *w = *state;
	uint8_t scratch[VB_VL_CNT] = {0};
	struct vb_deadlock d;
	struct vb_ib_hop hop;
	struct vb_frame *f;

	w->sw.forward.multicast = w->mft;
	w->sw.forward.multicast_cap = 1;
	w->mft[0].word[0] = 1 << 2 | 1 << 3;
	for (int k = 0; k < 2; k++)
		vb_ib_switch_handle_packet(&w->sw, 0, packet(w, VB_LID_MULTICAST, 0), w->now);
	vb_credit_set_limit(&w->end[2].port.lane[0].tx, CAPACITY);
	while ((f = packet_of(w, 2)) != NULL)
		vb_frame_pool_give(&w->pool, f);
	hop = loop_of(w);
	assert_true(vb_deadlock_find(&hop, 1, scratch, &d));
	vb_ib_switch_set_link(&w->sw, 1, false, w->now);
	memset(scratch, 0, sizeof scratch);
	assert_false(vb_deadlock_find(&hop, 1, scratch, &d));
	assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(flow__lost_heals_within_its_period),
	    T(switch__forwards),
	    T(switch__drops),
	    T(switch__copies_to_a_group),
	    T(switch__marks_no_copies),
	    T(switch__bars_partitions),
	    T(switch__overrun_and_lost_link),
	    T(silence__recovers),
	    T(deadlock__waits_for_every_copy),
	    T(deadlock__ends_with_the_last_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
