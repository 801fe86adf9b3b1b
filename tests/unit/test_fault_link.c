/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault middleware over a real UDP link: packets lost, doubled, held back, marked, damaged. */
#include "udp_world.h"

#include "link/middle/fault.h"
#include "wire/mad/cm.h"
#include "wire/opcode.h"

static unsigned hits;

/* The linker leads this program's malloc(3) here (ld(1) --wrap). */
static bool has_no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return has_no_memory ? NULL : __real_malloc(size);
}

static void on_hit(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	assert_int_equal(ev->id, VB_TRACE_FAULT);
	assert_int_equal(ev->node, 1);
	hits++;
}

/* Puts the middleware in front of the fixture's link. */
static struct vb_link *faulty(struct fixture *f, const char *rules)
{
	struct vb_fault_link_config cfg = {.lower = f->link,
					   .counters = {NULL, &f->counters},
					   .tap = tap,
					   .tap_on = &f->tap_on,
					   .hit = on_hit,
					   .ctx = f};
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	hits = 0;
	assert_int_equal(vb_fault_parse(rules, &spec, &err), 0);
	assert_int_equal(vb_fault_link_open(&f->link, &cfg), 0);
	assert_int_equal(vb_fault_link_set(f->link, 1, &spec, 7, 0), 0);
	return f->link;
}

/* The packets that arrive by @now: of each its number in the batch and its traffic class. */
static uint32_t recv_at(struct fixture *f, uint8_t *no, uint8_t *traffic_class, vb_time now)
{
	struct vb_rx rx[16];
	uint32_t cnt = 0;

	for (int i = 0; i < 20; i++) {
		uint32_t n = f->link->ops->recv(f->link, rx, 16, now);

		for (uint32_t k = 0; k < n && cnt < 16; k++) {
			no[cnt] = rx[k].pkt[11];
			traffic_class[cnt++] = rx[k].path->traffic_class;
			assert_memory_equal(rx[k].pkt + VB_BTH_LEN,
					    f->payload + rx[k].pkt[11] * PAYLOAD_MAX,
					    rx[k].len - VB_BTH_LEN);
		}
	}
	return cnt;
}

static void send__every_second_is_lost(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=tx:every=2");
	uint8_t no[16], tc[16];

	f->tap_on = 1;
	for (uint32_t k = 0; k < 6; k++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 6);
	/* The tap has seen all six, and which of them went no further. */
	assert_int_equal(f->tap_cnt, 6);
	for (uint32_t k = 0; k < 6; k++)
		assert_int_equal(f->tap[k].mark,
				 k & 1 ? 1u << VB_FAULT_LOSS | VB_FAULT_MARK_DROPPED : 0);
	f->tap_on = 0;
	assert_int_equal(recv_at(f, no, tc, 0), 3);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(no[k], 2 * k);
	assert_int_equal(hits, 3);
	assert_int_equal(vb_fault_link_state(l, 1)->state[0].hits, 3);
}

static void recv__lost_doubled_and_marked(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=rx:nth=1,dup=1:dir=rx:nth=2,ecn=1:dir=rx:nth=3");
	uint8_t no[16], tc[16];

	f->path4.traffic_class = VB_ECN_ECT0;
	for (uint32_t k = 0; k < 4; k++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 4);
	assert_int_equal(recv_at(f, no, tc, 0), 4);
	assert_int_equal(no[0], 1);
	assert_int_equal(no[1], 1);
	assert_int_equal(tc[1], VB_ECN_ECT0);
	assert_int_equal(tc[2], VB_ECN_CE);
	assert_int_equal(tc[3], VB_ECN_ECT0);
}

/* A caller that has room for some gets no more than those, though each packet becomes two. */
static void recv__doubled_into_little_room(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "dup=1:dir=rx");
	struct vb_rx rx[16];

	for (uint32_t room = 2; room <= 8; room++) {
		uint32_t cnt = 0;

		clear(f);
		for (uint32_t k = 0; k < 8; k++)
			add(f, &f->path4, 64, 1);
		assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 8);
		for (int i = 0; i < 20; i++) {
			uint32_t n;

			memset(rx, 0, sizeof rx);
			n = l->ops->recv(l, rx, room, 0);
			assert_true(n <= room);
			for (uint32_t k = room; k < 16; k++)
				assert_null(rx[k].pkt);
			cnt += n;
		}
		assert_int_equal(cnt, 16);
	}
}

static void send__held_back_until_due(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "reorder=1/50us:dir=tx:nth=1");
	uint8_t no[16], tc[16];

	for (uint32_t k = 0; k < 3; k++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(l->due, VB_NEVER);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 1000), 3);
	assert_int_equal(l->due, 1000 + 50 * VB_USEC);
	assert_int_equal(recv_at(f, no, tc, 1000 + 50 * VB_USEC - 1), 2);
	assert_int_equal(no[0], 1);
	assert_int_equal(no[1], 2);
	assert_int_equal(recv_at(f, no, tc, 1000 + 50 * VB_USEC), 1);
	assert_int_equal(no[0], 0);
	assert_int_equal(l->due, VB_NEVER);
}

static void recv__held_back_in_order(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "delay=10us:dir=rx");
	uint8_t no[16], tc[16];

	for (uint32_t k = 0; k < 3; k++)
		add(f, &f->path6, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 3);
	assert_int_equal(recv_at(f, no, tc, 0), 0);
	assert_int_equal(l->due, 10 * VB_USEC);
	assert_int_equal(recv_at(f, no, tc, 10 * VB_USEC), 3);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(no[k], k);
}

/* Damage is on the wire: it is the receiver's ICRC that finds it. */
static void send__damaged(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "corrupt=1:dir=tx:nth=2");
	uint8_t no[16], tc[16];

	for (uint32_t k = 0; k < 3; k++)
		add(f, &f->path4, 3000, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 3);
	assert_int_equal(recv_at(f, no, tc, 0), 2);
	assert_int_equal(no[0], 0);
	assert_int_equal(no[1], 2);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
}

/* Of a packet that is doubled and damaged the second one arrives, in either direction. */
static void second_arrives(struct fixture *f, const char *rules)
{
	struct vb_link *l = faulty(f, rules);
	uint8_t no[16], tc[16];

	add(f, &f->path4, 3000, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 1);
	assert_int_equal(recv_at(f, no, tc, 0), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
}

static void send__doubled_and_damaged(void **state)
{
	second_arrives(*state, "corrupt=1:dir=tx,dup=1:dir=tx");
}

static void recv__doubled_and_damaged(void **state)
{
	second_arrives(*state, "corrupt=1:dir=rx,dup=1:dir=rx");
}

/* A flood that is held back takes no more memory than it may. */
static void send__held_back_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "delay=1s:dir=tx");

	for (uint32_t i = 0; i < 2 * VB_FAULT_HELD_MAX / 32; i++) {
		f->batch.cnt = f->batch.seg_cnt = 0;
		for (uint32_t k = 0; k < 32; k++)
			add(f, &f->path4, 64, 1);
		assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 32);
	}
	assert_int_equal(hits, 2 * VB_FAULT_HELD_MAX);
	assert_int_equal(f->counters.v[VB_COUNTER_port_xmit_discards], VB_FAULT_HELD_MAX);
	/* The capture tells what the rule did and why the packet went no further. */
	f->tap_on = 1;
	clear(f);
	add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 1);
	assert_int_equal(f->tap_cnt, 1);
	assert_int_equal(f->tap[0].mark,
			 1u << VB_FAULT_DELAY | VB_FAULT_MARK_FULL | VB_FAULT_MARK_DROPPED);
	f->tap_on = 0;
	/* Rules that go leave what is held back; closing frees it (the address sanitizer looks). */
	struct vb_fault_spec none = {0};

	assert_int_equal(vb_fault_link_set(l, 1, &none, 0, 0), 0);
	assert_null(vb_fault_link_state(l, 1));
	assert_int_equal(l->due, VB_SEC);
}

/* The link of the fixture while its device takes nothing. */
static uint32_t send_nothing(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			     vb_time now)
{
	(void)l, (void)batch, (void)from, (void)now;
	return 0;
}

static void send__without_room_anywhere_is_a_discard(void **state)
{
	struct fixture *f = *state;
	struct vb_link *lower = f->link, *l = faulty(f, "ecn=1:dir=tx");
	const struct vb_link_ops *real = lower->ops;
	struct vb_link_ops full = *real;
	uint8_t no[16], tc[16];

	full.send = send_nothing;
	lower->ops = &full;
	for (uint32_t i = 0; i < VB_FAULT_HELD_MAX / 32; i++) {
		clear(f);
		for (uint32_t k = 0; k < 32; k++)
			add(f, &f->path4, 64, 1);
		assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 32);
	}
	assert_int_equal(f->counters.v[VB_COUNTER_port_xmit_discards], 0);
	f->tap_on = 1;
	clear(f);
	add(f, &f->path4, 64, 1);
	add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 2);
	assert_int_equal(f->counters.v[VB_COUNTER_port_xmit_discards], 2);
	assert_int_equal(f->tap_cnt, 2);
	for (uint32_t k = 0; k < 2; k++)
		assert_int_equal(f->tap[k].mark,
				 1u << VB_FAULT_ECN | VB_FAULT_MARK_FULL | VB_FAULT_MARK_DROPPED);
	f->tap_on = 0;
	lower->ops = real;
	/* The held packets go on now. */
	assert_int_equal(recv_at(f, no, tc, VB_MSEC), 16);
}

/* Packets that were held back wait for a full link in the order in which they were sent. */
static void send__held_back_behind_a_full_link(void **state)
{
	struct fixture *f = *state;
	struct vb_link *lower = f->link, *l = faulty(f, "delay=1ms:dir=tx");
	const struct vb_link_ops *real = lower->ops;
	struct vb_link_ops full = *real;
	uint8_t no[16], tc[16];
	struct vb_rx rx[16];

	for (uint32_t k = 0; k < 4; k++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 4);
	full.send = send_nothing;
	lower->ops = &full;
	assert_int_equal(l->ops->recv(l, rx, 16, VB_MSEC), 0);
	lower->ops = real;
	assert_int_equal(recv_at(f, no, tc, 2 * VB_MSEC), 4);
	for (uint32_t k = 0; k < 4; k++)
		assert_int_equal(no[k], k);
}

/* Whether a packet that the tap saw has the one mark and not the other. */
static bool was_marked(const struct fixture *f, uint16_t with, uint16_t without)
{
	for (uint32_t i = 0; i < f->tap_cnt && i < 16; i++)
		if (f->tap[i].mark & with && !(f->tap[i].mark & without))
			return true;
	return false;
}

static void recv__held_back_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "delay=1s:dir=rx,dup=1:dir=rx:skip=4095");
	uint8_t no[16], tc[16];

	for (uint32_t i = 0; i < VB_FAULT_HELD_MAX; i++) {
		f->tap_on = i == VB_FAULT_HELD_MAX - 1;
		clear(f);
		add(f, &f->path4, 64, 1);
		assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 1);
		assert_int_equal(recv_at(f, no, tc, 0), 0);
	}
	/* There was room for one of the last two: the packet has not gone. */
	assert_int_equal(f->counters.v[VB_COUNTER_rx_dropped], 1);
	assert_true(was_marked(f, VB_FAULT_MARK_FULL, VB_FAULT_MARK_DROPPED));
	f->tap_cnt = 0;
	clear(f);
	add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 1);
	assert_int_equal(recv_at(f, no, tc, 0), 0);
	assert_int_equal(f->counters.v[VB_COUNTER_rx_dropped], 2);
	assert_int_equal(f->tap_cnt, 2);
	assert_int_equal(f->tap[1].mark, 1u << VB_FAULT_DELAY | 1u << VB_FAULT_DUPLICATE |
					     VB_FAULT_MARK_FULL | VB_FAULT_MARK_DROPPED);
}

/* A packet that there is no memory to hold back is lost and counted, in either direction. */
static void held_back__without_memory(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "delay=1s:dir=tx:nth=2,delay=1s:dir=rx");
	uint8_t no[16], tc[16];

	for (uint32_t k = 0; k < 2; k++)
		add(f, &f->path4, 64, 1);
	has_no_memory = true;
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 2);
	assert_int_equal(recv_at(f, no, tc, 0), 0);
	has_no_memory = false;
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_dropped), 1);
	assert_int_equal(recv_at(f, no, tc, 2 * VB_SEC), 0);
}

/* A capture tells that a packet which a rule has damaged goes no further. */
static void recv__damaged_is_seen_as_dropped(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "corrupt=1:dir=rx");
	uint8_t no[16], tc[16];

	f->tap_on = 1;
	add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 1);
	assert_int_equal(recv_at(f, no, tc, 0), 0);
	assert_int_equal(f->tap_cnt, 2);
	assert_int_equal(f->tap[1].mark, 1u << VB_FAULT_CORRUPT | VB_FAULT_MARK_DROPPED);
}

/* Rules of one port leave what comes and goes by another as it is, and a capture sees all of it. */
static void other_port__seen_and_untouched(void **state)
{
	static const struct vb_fault_spec none;
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1");
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	uint8_t no[16], tc[16];

	assert_int_equal(vb_fault_parse("loss=1", &spec, &err), 0);
	assert_int_equal(vb_fault_link_set(l, 2, &spec, 7, 0), 0);
	assert_int_equal(vb_fault_link_set(l, 1, &none, 7, 0), 0);
	f->tap_on = 1;
	for (uint32_t k = 0; k < 3; k++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 3);
	assert_int_equal(recv_at(f, no, tc, 0), 3);
	assert_int_equal(hits, 0);
	assert_int_equal(f->tap_cnt, 6);
	for (uint32_t k = 0; k < 6; k++) {
		assert_int_equal(f->tap[k].sent, k < 3);
		assert_int_equal(f->tap[k].mark, 0);
		assert_int_equal(f->tap[k].port, 1);
	}
}

/* The queue of a port is that of all processes: a packet waits behind those of others, too. */
static void send__queue_is_shared_by_processes(void **state)
{
	struct fixture *f = *state;
	vb_time idle[VB_LINK_PORTS_MAX] = {0, 2 * VB_MSEC, 4 * VB_MSEC};
	struct vb_fault_link_config cfg = {
	    .lower = f->link, .counters = {NULL, &f->counters}, .queue_idle = idle};
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	uint8_t no[16], tc[16];

	assert_int_equal(vb_fault_parse("queue=8Mbps/5ms:dir=tx", &spec, &err), 0);
	assert_int_equal(vb_fault_link_open(&f->link, &cfg), 0);
	assert_int_equal(vb_fault_link_set(f->link, 1, &spec, 7, 0), 0);
	add(f, &f->path4, 64, 1);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, 0), 1);
	assert_uint_in_range(f->link->due, 2 * VB_MSEC + 1, 3 * VB_MSEC);
	assert_int_equal(idle[1], f->link->due);
	assert_int_equal(idle[2], 4 * VB_MSEC);
	assert_int_equal(recv_at(f, no, tc, f->link->due), 1);
}

/* A message of the connection manager from QP1 to QP1. */
static void add_mad(struct fixture *f, enum vb_cm_attr attr)
{
	const struct vb_cm_msg m = {.attr = attr};
	struct vb_tx *tx = add(f, &f->path4, VB_MAD_LEN, 1);

	vb_cm_msg_emit(&m, f->payload + (f->batch.cnt - 1) * PAYLOAD_MAX);
	tx->hdr[0] = VB_TRANSPORT_UD | VB_OP_SEND_ONLY;
	tx->hdr[7] = VB_QPN_GSI;
	tx->hdr_len = VB_BTH_LEN + 8;
}

/* A rule about REPs meets the REP, and neither the other messages nor what is as long. */
static void reps_are_lost(struct fixture *f, const char *rule)
{
	struct vb_link *l = faulty(f, rule);
	struct vb_rx rx[16];
	uint32_t cnt = 0;

	add(f, &f->path4, VB_MAD_LEN, 1);
	add_mad(f, VB_CM_REQ);
	add_mad(f, VB_CM_REP);
	add_mad(f, VB_CM_RTU);
	add_mad(f, VB_CM_REP);
	f->batch.pkt[4].hdr[7] = 5; /* a datagram of a program that looks like one */
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 5);
	for (int k = 0; k < 20; k++) {
		uint32_t n = l->ops->recv(l, rx, 16, 0);

		for (uint32_t i = 0; i < n; i++)
			assert_int_not_equal(rx[i].pkt[11], 2);
		cnt += n;
	}
	assert_int_equal(cnt, 4);
	assert_int_equal(hits, 1);
}

static void send__mads_by_their_message(void **state)
{
	reps_are_lost(*state, "loss=1:op=CM_REP:dir=tx");
}

static void recv__mads_by_their_message(void **state)
{
	reps_are_lost(*state, "loss=1:op=CM_REP:dir=rx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__every_second_is_lost),         T(recv__lost_doubled_and_marked),
	    T(recv__doubled_into_little_room),     T(send__held_back_until_due),
	    T(recv__held_back_in_order),           T(send__damaged),
	    T(send__doubled_and_damaged),          T(recv__doubled_and_damaged),
	    T(send__held_back_is_bounded),         T(send__without_room_anywhere_is_a_discard),
	    T(send__held_back_behind_a_full_link), T(recv__held_back_is_bounded),
	    T(held_back__without_memory),          T(recv__damaged_is_seen_as_dropped),
	    T(send__mads_by_their_message),        T(recv__mads_by_their_message),
	    T(other_port__seen_and_untouched),     T(send__queue_is_shared_by_processes),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
