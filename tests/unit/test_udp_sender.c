/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which IPv4 identifications a receiver believes: damaged packets whose ICRC another one would make
 * right are refused, and nothing that a sender, a network or a kernel does costs a packet.
 */
#include "udp_numbered.h"

#include <netinet/udp.h>

#define RANDOM_PKTS 2000000u

/* A GSO batch of packets with random ICRCs from the socket @fd. Returns how many were taken. */
static uint32_t random_batch(struct world *w, int fd)
{
	uint8_t buf[GSO][VB_BTH_LEN + VB_ICRC_LEN];
	int seg = sizeof buf[0];

	for (uint32_t i = 0; i < sizeof buf; i++)
		(&buf[0][0])[i] = (uint8_t)vb_rng_next(&w->rng);
	assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg), 0);
	assert_int_equal(send(fd, buf, sizeof buf, 0), sizeof buf);
	seg = 0;
	assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg), 0);
	return world_recv(w);
}

/* From a sender at work, from one that has been silent for long, and from nobody who was heard. */
static void random_icrcs__none_taken(void **state)
{
	struct world w;
	struct forged stranger;
	uint32_t taken[3] = {0};
	uint16_t id;

	world_open(&w, *state);
	forge(&stranger, &w.f->path4, 0, DF, 40);
	id = send_row(&w, 0x1234, 100, 10 * VB_USEC);
	for (uint32_t i = 0; i < RANDOM_PKTS / GSO; i++) {
		w.now += 20 * VB_USEC;
		taken[0] += random_batch(&w, w.o.fd);
		if (i % 8 == 0)
			id = send_row(&w, id, 1, VB_USEC);
	}
	for (uint32_t i = 0; i < RANDOM_PKTS / GSO / 4; i++) {
		w.now += 20 * VB_USEC;
		taken[1] += random_batch(&w, w.o.fd);
		taken[2] += random_batch(&w, stranger.fd);
	}
	assert_true(taken[0] + taken[1] + taken[2] <= 1);
	assert_true(counter(w.f, VB_COUNTER_rx_ip_id_refused) > 50);
	/* A sender that was silent meanwhile goes on. */
	send_row(&w, id, 100, 10 * VB_USEC);
	world_close(&w);
	close(stranger.fd);
}

/* The change of the packet's ICRC when bit @bit is flipped. */
static uint32_t syndrome_of(struct forged *o, const struct vb_path *path, uint32_t bit)
{
	uint32_t before;

	forge_icrc(o, path, 0, DF);
	before = vb_icrc_read(o->pkt + o->len - VB_ICRC_LEN);
	o->pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
	forge_icrc(o, path, 0, DF);
	o->pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
	return before ^ vb_icrc_read(o->pkt + o->len - VB_ICRC_LEN);
}

/* Three bits of the BTH and the headers behind it whose damage another identification undoes. */
static void choose_error(struct world *w, uint32_t *bit)
{
	uint32_t syndrome[8 * 40];
	uint16_t id;

	for (uint32_t i = 0; i < 8 * 40; i++)
		syndrome[i] = syndrome_of(&w->o, &w->f->path4, i);
	for (uint32_t i = 0; i < 8 * 40; i++)
		for (uint32_t j = 0; j < i; j++)
			for (uint32_t k = 0; k < j; k++) {
				uint32_t sum = syndrome[i] ^ syndrome[j] ^ syndrome[k];

				if (i / 8 == 4 || j / 8 == 4 || k / 8 == 4 ||
				    !vb_icrc_solve_id(sum, 0, 0, vb_icrc_behind_id(w->o.len), &id))
					continue;
				/* Not one that a loss of some packets would look like. */
				if (id >= 0x4000) {
					bit[0] = i;
					bit[1] = j;
					bit[2] = k;
					return;
				}
			}
	fail();
}

static bool takes_damaged(struct world *w, uint16_t id, const uint32_t *bit)
{
	forge_icrc(&w->o, &w->f->path4, id, DF);
	for (uint32_t i = 0; i < 3; i++)
		w->o.pkt[bit[i] / 8] ^= (uint8_t)(1u << bit[i] % 8);
	forged_send(&w->o);
	for (uint32_t i = 0; i < 3; i++)
		w->o.pkt[bit[i] / 8] ^= (uint8_t)(1u << bit[i] % 8);
	return world_recv(w) == 1;
}

/* The same damage each time: between good packets, in rows between them, and in one row. */
static void chosen_error__never_taken(void **state)
{
	static const uint32_t rows[] = {1, 3, 20, 100};
	struct world w;
	uint32_t bit[3], taken = 0;

	world_open(&w, *state);
	choose_error(&w, bit);
	for (uint32_t step = 0; step < 2; step++)
		for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
			uint16_t id = (uint16_t)(step ? 0x7f00 : 0);

			w.now += VB_SEC;
			for (uint32_t i = 0; i < 40; i++, id += (uint16_t)step)
				send_row(&w, id, 1, 10 * VB_USEC);
			for (uint32_t i = 0; i < 100; i++, id += (uint16_t)step) {
				w.now += 10 * VB_USEC;
				taken += takes_damaged(&w, id, bit);
				if (i % rows[r] == rows[r] - 1)
					send_row(&w, id += (uint16_t)step, 1, 10 * VB_USEC);
			}
		}
	assert_int_equal(taken, 0);
	world_close(&w);
}

/* Packets that are lost, late or there twice, and one that was late before. */
static void order__loses_nothing(void **state)
{
	struct world w;
	uint16_t id;

	world_open(&w, *state);
	id = send_row(&w, 0xff00, 100, 5 * VB_USEC);
	assert_false(takes(&w, (uint16_t)(id - 500)));
	for (uint32_t i = 0; i < 3000; i++, id++) {
		uint32_t kind = vb_rng_below(&w.rng, 8);

		w.now += 5 * VB_USEC;
		if (kind == 0)
			continue;
		if (kind == 1) /* late */
			assert_true(takes(&w, (uint16_t)(id - vb_rng_below(&w.rng, 900))));
		assert_true(takes(&w, id));
		if (kind == 2)
			assert_true(takes(&w, id));
		if (kind == 3) { /* an outage */
			uint32_t lost = vb_rng_below(&w.rng, 2000);

			id = (uint16_t)(id + lost);
			w.now += lost * 2 * VB_USEC;
		}
	}
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 1);
	world_close(&w);
}

/*
 * A counter that all datagrams between two addresses share, as rdma_rxe's: packets of others, which
 * go to other processes, and up to one for each tick of a pause. ip_idents_reserve() of Linux.
 * Neither loses a packet: the first that is far ahead waits for the next one.
 */
static void shared_counter__loses_nothing(void **state)
{
	static const vb_dur tick[] = {VB_MSEC, 4 * VB_MSEC, 10 * VB_MSEC};
	struct world w;
	uint16_t id = 0;
	uint32_t waits = 0, waited = 0;

	world_open(&w, *state);
	for (uint32_t i = 0; i < 6000; i++) {
		bool beside_others = i % 1000 > 500;
		vb_dur hz = tick[i / 2000], pause = 3 * VB_USEC;
		uint32_t kind = vb_rng_below(&w.rng, 64);

		if (kind == 0)
			pause = vb_rng_below(&w.rng, 3000) * VB_MSEC;
		else if (kind < 16)
			pause = vb_rng_below(&w.rng, 2000) * VB_USEC;
		w.now += pause;
		id = (uint16_t)(id + vb_rng_below(&w.rng, (uint32_t)(pause / hz) + 1));
		if (beside_others)
			id = (uint16_t)(id + vb_rng_below(&w.rng, (uint32_t)(pause / VB_USEC) + 1));
		send_as(&w, ++id);
		waits = 1 + waits - world_recv(&w);
		assert_true(waits == 0 || (waits == 1 && beside_others));
		waited += waits;
	}
	assert_int_equal(waits, 0);
	assert_uint_in_range(waited, 1, 1 + (w.now - VB_SEC) / (60 * VB_SEC));
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	assert_int_equal(counter(w.f, VB_COUNTER_port_rcv_packets), 6000);
	assert_true(counter(w.f, VB_COUNTER_rx_ip_id_solved) > 100);
	world_close(&w);
}

/* An orderly sender's packet that is late by many, or ahead by many, is a damaged one; two within a
 * minute show that numbers are missing. */
static void orderly_counter__needs_two(void **state)
{
	struct world w;
	uint16_t id = open_orderly(&w, state);

	assert_false(takes(&w, (uint16_t)(id - 900)));
	id = send_row(&w, id, 100, VB_USEC);
	assert_true(takes(&w, (uint16_t)(id - 800)));
	world_close(&w);

	id = open_orderly(&w, state);
	w.now += VB_MSEC;
	assert_false(takes(&w, (uint16_t)(id + 500)));
	id = send_row(&w, id, 100, VB_USEC);
	w.now += VB_MSEC;
	assert_true(takes(&w, (uint16_t)(id + 500)));
	world_close(&w);

	/* An identification that no counter can have come to shows nothing. */
	id = open_orderly(&w, state);
	assert_false(takes(&w, (uint16_t)(id + 500)));
	id = send_row(&w, id, 100, VB_USEC);
	assert_false(takes(&w, (uint16_t)(id - 900)));
	world_close(&w);
}

/*
 * Three bits of an atomic's operands, whose damage is undone by the identification that differs in
 * the bits 0x042d: about 1000 ahead or behind, where an orderly sender is not.
 */
static void orderly_counter__damaged_atomic_is_refused(void **state)
{
	static const uint32_t bit[] = {8 * 27 + 6, 8 * 30 + 3, 8 * 38 + 3};
	static const uint16_t next[] = {0x1064, 0x1440}; /* the other is 997 ahead, 979 behind */
	struct world w;

	for (uint32_t i = 0; i < 2; i++) {
		world_open(&w, *state);
		close(w.o.fd);
		forge(&w.o, &w.f->path4, 0, DF, 28);
		send_row(&w, (uint16_t)(next[i] - 100), 100, VB_USEC);
		w.now += 2 * VB_MSEC;
		assert_false(takes_damaged(&w, next[i], bit));
		assert_int_equal(counter(w.f, VB_COUNTER_rx_ip_id_refused), i + 1);
		send_row(&w, next[i], 1, VB_USEC);
		world_close(&w);
	}
}

/* It is remembered for a minute. Missing numbers, and those that are late or there again, show
 * nothing as long as they are near. */
static void orderly_counter__skips(void **state)
{
	struct world w;
	uint16_t id = open_orderly(&w, state);

	assert_false(takes(&w, (uint16_t)(id - 900)));
	id = send_row(&w, id, 1, 60 * VB_SEC - 1);
	assert_true(takes(&w, (uint16_t)(id - 900)));
	world_close(&w);

	id = open_orderly(&w, state);
	assert_false(takes(&w, (uint16_t)(id - 900)));
	id = send_row(&w, id, 1, 60 * VB_SEC);
	assert_false(takes(&w, (uint16_t)(id - 900)));
	world_close(&w);

	id = open_orderly(&w, state);
	id = send_row(&w, (uint16_t)(id + 64), 1, VB_USEC);
	assert_true(takes(&w, (uint16_t)(id - 1)));
	assert_true(takes(&w, (uint16_t)(id - 40)));
	id = send_row(&w, id, 1, VB_USEC);
	assert_false(takes(&w, (uint16_t)(id - 900)));
	world_close(&w);
}

/* Several source ports with counters of their own, one of them with DF off; and each of them comes
 * back after a restart with another identification. */
static void restart__loses_nothing(void **state)
{
	struct world w;
	struct forged o[5];
	uint16_t id[5];

	world_open(&w, *state);
	for (uint32_t i = 0; i < 5; i++)
		forge(&o[i], &w.f->path4, 0, DF, 40);
	for (uint32_t life = 0; life < 20; life++) {
		for (uint32_t i = 0; i < 5; i++)
			id[i] = (uint16_t)vb_rng_next(&w.rng);
		for (uint32_t k = 0; k < 500; k++) {
			uint32_t i = vb_rng_below(&w.rng, 5);

			w.now += 2 * VB_USEC;
			forge_icrc(&o[i], &w.f->path4, id[i], i == 4 ? 0 : DF);
			id[i] = (uint16_t)(id[i] + (i != 3));
			forged_send(&o[i]);
			assert_int_equal(world_recv(&w), 1);
		}
		w.now += 66 * VB_MSEC;
	}
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	for (uint32_t i = 0; i < 5; i++)
		close(o[i].fd);
	world_close(&w);
}

/* Two counters behind one source port, as of two processes: the second is heard within two packets,
 * and from there on both are. */
static void two_counters__both_heard(void **state)
{
	struct world w;
	uint16_t a, b = 0x9000;
	uint32_t lost = 0;

	world_open(&w, *state);
	a = send_row(&w, 0x100, 100, 5 * VB_USEC);
	for (uint32_t i = 0; i < 100; i++) {
		a = send_row(&w, a, 20, 5 * VB_USEC);
		lost += !takes(&w, b++);
	}
	assert_uint_in_range(lost, 1, 2);
	world_close(&w);
}

/* A counter that skips numbers, which other packets have, passes from 65535 to 0 without a loss. */
static void two_counters__pass_zero(void **state)
{
	struct world w;
	uint16_t a, b = 0xff80; /* 0xfffe is followed by 1 */

	world_open(&w, *state);
	a = send_row(&w, 0x1000, 100, 5 * VB_USEC);
	for (uint32_t i = 0; i < 100; i++, b = (uint16_t)(b + 3)) {
		bool is_taken;

		a = send_row(&w, a, 20, 5 * VB_USEC);
		is_taken = takes(&w, b);
		assert_true(is_taken || i < 4); /* it has to be known first */
	}
	world_close(&w);
}

/* A stranger that sends with a right ICRC in a sender's name does not shut that sender out. */
static void spoofed__shuts_nobody_out(void **state)
{
	struct world w;
	uint16_t id;
	uint32_t lost = 0, in_a_row = 0, most = 0;

	world_open(&w, *state);
	id = send_row(&w, 0x100, 300, 5 * VB_USEC);
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t kind = vb_rng_below(&w.rng, 4);

		w.now += vb_rng_below(&w.rng, 200) == 0 ? 70 * VB_MSEC : 5 * VB_USEC;
		if (kind == 0)
			(void)takes(&w, (uint16_t)(id + vb_rng_below(&w.rng, 60)));
		else if (kind == 1)
			(void)takes(&w, (uint16_t)vb_rng_next(&w.rng));
		in_a_row = takes(&w, id++) ? 0 : in_a_row + 1;
		lost += in_a_row != 0;
		most = in_a_row > most ? in_a_row : most;
	}
	assert_uint_in_range(most, 0, 3);
	assert_uint_in_range(lost, 0, 200);
	world_close(&w);
}

/* Packet @id of the sender, but without DF. */
static bool takes_fragmentable(struct world *w, uint16_t id)
{
	forge_icrc(&w->o, &w->f->path4, id, 0);
	forged_send(&w->o);
	return world_recv(w) == 1;
}

/* Among damaged packets two without DF are in order. They are believed, and so is the sender. */
static void spoofed_fragments__lose_nothing(void **state)
{
	struct world w;
	uint16_t id;

	world_open(&w, *state);
	id = send_row(&w, 0x100, 300, 5 * VB_USEC);
	for (uint32_t i = 0; i < 32; i++)
		assert_uint_in_range(random_batch(&w, w.o.fd), 0, 1);
	id = send_row(&w, id, 1, 5 * VB_USEC);
	assert_false(takes_fragmentable(&w, (uint16_t)(id + 0x4000)));
	id = send_row(&w, id, 1, 5 * VB_USEC);
	assert_true(takes_fragmentable(&w, (uint16_t)(id + 0x4027)));
	send_row(&w, id, 100, 5 * VB_USEC);
	world_close(&w);
}

/* More senders than are remembered: all are heard, and no memory grows. */
static void many_senders__all_heard(void **state)
{
	struct world w;
	struct forged o;

	world_open(&w, *state);
	for (uint32_t i = 0; i < 2000; i++) {
		w.now += VB_USEC;
		forge(&o, &w.f->path4, (uint16_t)vb_rng_next(&w.rng), DF, 16);
		forged_send(&o);
		assert_int_equal(world_recv(&w), 1);
		close(o.fd);
	}
	world_close(&w);
}

/* A sender is an address and a port: one of another port is a stranger, in the same set too. */
static void find__by_address_and_port(void **state)
{
	static struct vb_udp_senders t;
	struct vb_path p = {.udp_sport = 1000, .sgid = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}}};
	struct vb_udp_sender *first;

	(void)state;
	assert_ptr_equal(vb_udp_sender_find(&t, &p), &t.stranger);
	first = vb_udp_sender_keep(&t, &p);
	assert_ptr_equal(vb_udp_sender_find(&t, &p), first);
	p.udp_sport += VB_UDP_SENDER_SETS;
	assert_ptr_equal(vb_udp_sender_find(&t, &p), &t.stranger);
	assert_int_equal(t.stranger.port, p.udp_sport);
	p.udp_sport -= VB_UDP_SENDER_SETS;
	p.sgid.b[14] ^= 1;
	assert_ptr_equal(vb_udp_sender_find(&t, &p), &t.stranger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(random_icrcs__none_taken),   T(chosen_error__never_taken),
	    T(order__loses_nothing),       T(shared_counter__loses_nothing),
	    T(orderly_counter__needs_two), T(orderly_counter__damaged_atomic_is_refused),
	    T(orderly_counter__skips),     T(two_counters__both_heard),
	    T(restart__loses_nothing),     T(two_counters__pass_zero),
	    T(spoofed__shuts_nobody_out),  T(spoofed_fragments__lose_nothing),
	    T(many_senders__all_heard),    cmocka_unit_test(find__by_address_and_port),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
