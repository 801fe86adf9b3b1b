/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault middleware at its limits: full batches that double, links that are full, rules that are
 * set anew, and what is held back when it ends. link/middle/fault.h
 */
#include "udp_world.h"

#include "link/guard.h"
#include "link/middle/fault.h"
#include "link/middle/held.h"

#include <errno.h>
#include <sys/mman.h>

static struct vb_link *below_faults; /* the link of the fixture */

static void rules_set(struct vb_link *l, uint8_t port, const char *rules)
{
	struct vb_fault_spec spec = {0};
	struct vb_fault_error err;

	if (*rules)
		assert_int_equal(vb_fault_parse(rules, &spec, &err), 0);
	assert_int_equal(vb_fault_link_set(l, port, &spec, 7, 0), 0);
}

static struct vb_link *faulty(struct fixture *f, const char *rules)
{
	const struct vb_fault_link_config cfg = {.lower = f->link,
						 .counters = {NULL, &f->counters},
						 .tap = tap,
						 .tap_on = &f->tap_on,
						 .ctx = f};

	below_faults = f->link;
	assert_int_equal(vb_fault_link_open(&f->link, &cfg), 0);
	rules_set(f->link, 1, rules);
	return f->link;
}

static uint32_t recv_until(struct fixture *f, uint32_t room, vb_time now)
{
	struct vb_rx rx[512];
	uint32_t cnt = 0;

	for (int i = 0; i < 100; i++) {
		uint32_t n = f->link->ops->recv(f->link, rx, room, now);

		for (uint32_t k = 0; k < n; k++)
			assert_memory_equal(rx[k].pkt + VB_BTH_LEN,
					    f->payload + rx[k].pkt[11] * PAYLOAD_MAX,
					    rx[k].len - VB_BTH_LEN);
		cnt += n;
	}
	return cnt;
}

static void add_many(struct fixture *f, uint32_t cnt)
{
	clear(f);
	for (uint32_t k = 0; k < cnt; k++)
		add(f, &f->path4, 64, 1);
}

/* A batch that doubles leaves in two, and none of it is lost. */
static void send__a_full_batch_twice(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "dup=1:dir=tx");

	add_many(f, VB_TX_BATCH_PKTS);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), VB_TX_BATCH_PKTS);
	assert_int_equal(recv_until(f, 64, 0), 2 * VB_TX_BATCH_PKTS);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 2 * VB_TX_BATCH_PKTS);
}

/* Only so many packets are taken from below at a time as may be judged, whatever room there is, and
 * half as many where each may double. */
static void recv__as_many_as_may_be_judged(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "dup=1:dir=rx");
	struct vb_rx rx[512];

	for (int i = 0; i < 3; i++) {
		add_many(f, VB_TX_BATCH_PKTS);
		assert_int_equal(l->ops->send(l, &f->batch, 0, 0), VB_TX_BATCH_PKTS);
	}
	assert_int_equal(l->ops->recv(l, rx, 1, 0), 0);
	assert_uint_in_range(l->ops->recv(l, rx, 512, 0), 1, 128);
	assert_true(recv_until(f, 512, 0) > 128);
}

static uint32_t send_nothing(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			     vb_time now)
{
	(void)l, (void)batch, (void)from, (void)now;
	return 0;
}

/* Packets that a full link does not take are offered again after 50 us, in their order, also when
 * others came meanwhile. */
static void send__again_after_a_pause(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=tx:nth=1000000");
	const struct vb_link_ops *real = below_faults->ops;
	struct vb_link_ops full = *real;
	struct vb_rx rx[16];
	uint32_t n = 0;

	full.send = send_nothing;
	below_faults->ops = &full;
	add_many(f, 3);
	assert_int_equal(l->ops->send(l, &f->batch, 0, VB_SEC), 3);
	assert_true(l->due == VB_SEC + 50 * VB_USEC);
	/* It is asked once more, and says the same. */
	assert_int_equal(l->ops->recv(l, rx, 16, VB_SEC + 50 * VB_USEC), 0);
	assert_true(l->due == VB_SEC + 100 * VB_USEC);
	below_faults->ops = real;
	for (int i = 0; i < 10; i++) {
		uint32_t cnt = l->ops->recv(l, rx, 16, VB_SEC + 200 * VB_USEC);

		for (uint32_t k = 0; k < cnt; k++)
			assert_int_equal(rx[k].pkt[11], n++);
	}
	assert_int_equal(n, 3);
	assert_true(l->due == VB_NEVER);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
}

static uint32_t sends;
static const struct vb_link_ops *real_ops;

static uint32_t send_and_count(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			       vb_time now)
{
	sends++;
	return real_ops->send(l, batch, from, now);
}

/* Packets that leave now leave together, from the place on that they are offered from. */
static void send__together_from_a_place_on(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=tx:nth=1000000");
	struct vb_link_ops counted = *below_faults->ops;

	real_ops = below_faults->ops;
	counted.send = send_and_count;
	below_faults->ops = &counted;
	add_many(f, 10);
	sends = 0;
	assert_int_equal(l->ops->send(l, &f->batch, 4, 0), 6);
	assert_int_equal(sends, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 10, 0), 0);
	below_faults->ops = real_ops;
	assert_int_equal(recv_until(f, 16, 0), 6);
}

/* A packet that is held back goes on as it was decided, though the rules that held it are gone. */
static void held__outlives_its_rules(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "");

	for (uint32_t cnt = 1; cnt <= 2; cnt++)
		for (int is_rx = 0; is_rx < 2; is_rx++) {
			rules_set(l, 1, is_rx ? "delay=1ms:dir=rx" : "delay=1ms:dir=tx");
			add_many(f, cnt);
			f->tap_on = is_rx;
			assert_int_equal(l->ops->send(l, &f->batch, 0, 0), cnt);
			assert_int_equal(recv_until(f, 16, 0), 0);
			if (is_rx) {
				/* The capture shows it as held, and not as lost. */
				assert_int_equal(f->tap_cnt, 2 * cnt);
				assert_int_equal(f->tap[cnt].mark, 1u << VB_FAULT_DELAY);
			}
			f->tap_on = 0;
			rules_set(l, 1, "");
			assert_int_equal(recv_until(f, 16, VB_MSEC - 1), 0);
			assert_int_equal(recv_until(f, 16, VB_MSEC), cnt);
			assert_true(l->due == VB_NEVER);
		}
	assert_string_equal(l->ops->name, "fault");
}

/* Damage that is done on the way in counts as it does where the wire did it. */
static void recv__damage_counts_as_an_error(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "corrupt=1:dir=rx:nth=1");

	add_many(f, 2);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 2);
	assert_int_equal(recv_until(f, 16, 0), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), 1);
}

/* Rules that are set anew stand for those before; when the last ones go, packets are handed through
 * and the link below shows them itself again. */
static void rules__stand_for_those_before(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=tx");
	const struct vb_fault *first = vb_fault_link_state(l, 1);

	assert_non_null(first);
	assert_null(vb_fault_link_state(l, 0));
	assert_null(vb_fault_link_state(l, 2));
	assert_null(vb_fault_link_state(l, VB_LINK_PORTS_MAX));
	rules_set(l, 1, "loss=1:dir=rx");
	rules_set(l, 2, "loss=1:dir=rx");
	rules_set(l, 1, "loss=1:dir=rx");
	assert_null(vb_fault_link_state(l, VB_LINK_PORTS_MAX - 1));
	assert_true(f->udp->rx.tap_later);
	rules_set(l, 1, "");
	assert_true(f->udp->rx.tap_later);
	rules_set(l, 2, "");
	assert_false(f->udp->rx.tap_later);
	rules_set(l, 2, "");
	assert_false(f->udp->rx.tap_later);
	f->tap_on = 1;
	add_many(f, 2);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 2);
	assert_int_equal(f->tap_cnt, 2);
	assert_int_equal(recv_until(f, 16, 0), 2);
	assert_int_equal(f->tap_cnt, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(f->tap[i].mark, 0);
}

/* A packet that a rule drops is shown in its place among those that leave. */
static void tap__in_the_order_of_sending(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "loss=1:dir=tx:nth=2");

	f->tap_on = 1;
	add_many(f, 3);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 3);
	assert_int_equal(f->tap_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(f->tap_bytes[i][11], i);
		assert_int_equal(f->tap[i].mark != 0, i == 1);
		assert_true(f->tap[i].sent);
	}
}

/* A packet that is held back goes on whole and at its time, before any that comes then. */
static void held__goes_on_whole(void **state)
{
	struct fixture *f = *state;
	struct vb_link *l = faulty(f, "delay=1ms:dir=rx");
	struct vb_rx rx[16];

	clear(f);
	add(f, &f->path4, 4096, 2);
	add(f, &f->path4, 0, 1);
	assert_int_equal(l->ops->send(l, &f->batch, 0, 0), 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(l->ops->recv(l, rx, 16, 0), 0);
	assert_true(l->due == VB_MSEC);
	assert_int_equal(l->ops->recv(l, rx, 16, VB_MSEC - 1), 0);
	assert_int_equal(l->ops->recv(l, rx, 1, VB_MSEC), 1);
	check_packet(f, &rx[0], 0);
	assert_int_equal(l->ops->recv(l, rx, 16, VB_MSEC), 1);
	check_packet(f, &rx[0], 1);
	assert_true(l->due == VB_NEVER);
	/* The last ones are given back when it ends (the address sanitizer looks). */
	assert_int_equal(l->ops->send(l, &f->batch, 0, VB_MSEC), 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(l->ops->recv(l, rx, 16, VB_MSEC), 0);
}

/* A queue of packets that are held back is as long as it may be, and gives them back by their time;
 * one that is put back is the first again. */
static void held__is_a_queue(void **state)
{
	struct fixture *f = *state;
	const struct vb_tx_fate fate = {.mark = 3, .damage = 4};
	struct vb_held_queue q;
	struct vb_held *h;
	uint32_t cnt = 0;

	vb_held_init(&q);
	assert_true(vb_held_due(&q) == VB_NEVER);
	add_many(f, 1);
	while (vb_held_tx(&q, &f->batch.pkt[0], &f->path6, &fate, 10 + cnt))
		cnt++;
	assert_int_equal(cnt, VB_FAULT_HELD_MAX);
	assert_int_equal(q.cnt, cnt);
	assert_true(vb_held_due(&q) == 10);
	assert_null(vb_held_take(&q, 9));
	h = vb_held_take(&q, 10);
	assert_non_null(h);
	assert_int_equal(q.cnt, cnt - 1);
	assert_int_equal(h->fate.mark, 3);
	assert_int_equal(h->fate.damage, 4);
	assert_ptr_equal(h->tx.path, &h->path);
	assert_memory_equal(&h->path, &f->path6, sizeof h->path);
	assert_int_equal(h->tx.seg_cnt, 1);
	assert_int_equal(h->seg.len, 64);
	assert_memory_equal(h->tx.seg[0].p, f->payload, 64);
	assert_null(vb_held_take(&q, 10));
	vb_held_put_back(&q, h, 11);
	assert_int_equal(q.cnt, cnt);
	assert_ptr_equal(vb_held_take(&q, 11), h);
	free(h);
	clear(f);
	add(f, &f->path4, 0, 0);
	assert_true(vb_held_tx(&q, &f->batch.pkt[0], &f->path4, &fate, 1));
	h = vb_held_take(&q, 1);
	assert_int_equal(h->tx.seg_cnt, 0);
	free(h);
	vb_held_clear(&q);
	assert_int_equal(q.cnt, 0);
	assert_true(vb_held_due(&q) == VB_NEVER);
}

/* A packet whose memory the program has taken away is not held. link/guard.h */
static void held__not_what_is_gone(void **state)
{
	struct fixture *f = *state;
	const struct vb_tx_fate fate = {.mark = 0};
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vb_seg seg = {p, 64};
	struct vb_held_queue q;
	struct vb_tx tx;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(vb_guard_open(), 0);
	vb_held_init(&q);
	add_many(f, 1);
	tx = f->batch.pkt[0];
	tx.seg = &seg;
	assert_true(vb_held_tx(&q, &tx, &f->path4, &fate, 1));
	assert_int_equal(mprotect(p, 4096, PROT_NONE), 0);
	assert_false(vb_held_tx(&q, &tx, &f->path4, &fate, 1));
	assert_int_equal(q.cnt, 1);
	vb_held_clear(&q);
	munmap(p, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__a_full_batch_twice),
	    T(recv__as_many_as_may_be_judged),
	    T(send__again_after_a_pause),
	    T(recv__damage_counts_as_an_error),
	    T(rules__stand_for_those_before),
	    T(tap__in_the_order_of_sending),
	    T(held__goes_on_whole),
	    T(held__is_a_queue),
	    T(send__together_from_a_place_on),
	    T(held__outlives_its_rules),
	    T(held__not_what_is_gone),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
