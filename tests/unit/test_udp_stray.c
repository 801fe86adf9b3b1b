/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet whose IPv4 identification is not believed waits for the next one. link/udp/stray.c */
#include "udp_numbered.h"

/* The next packet that skipped as many numbers shows that the first was whole; one that skipped
 * none, or goes back, that it was damaged. The two come in order, and the capture sees both. */
static void stray__waits_for_the_next(void **state)
{
	struct world w;
	struct vb_rx rx[GSO];
	uint16_t id = open_orderly(&w, state);

	w.now += VB_MSEC;
	w.o.pkt[VB_BTH_LEN] = 1;
	assert_false(takes(&w, (uint16_t)(id + 500)));
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	w.f->tap_on = 1;
	w.f->tap_cnt = 0;
	w.now += VB_MSEC;
	w.o.pkt[VB_BTH_LEN] = 2;
	send_as(&w, (uint16_t)(id + 1400));
	await_delivery(&w);
	assert_int_equal(w.f->link->ops->recv(w.f->link, rx, GSO, w.now), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(rx[i].pkt[VB_BTH_LEN], i + 1);
		assert_int_equal(rx[i].len, w.o.len - VB_ICRC_LEN);
		assert_memory_equal(&rx[i].path->sgid, &w.f->path4.sgid, sizeof rx[i].path->sgid);
		assert_int_equal(rx[i].path->udp_sport, w.o.sport);
	}
	assert_int_equal(w.f->tap_cnt, 2);
	w.f->tap_on = 0;
	assert_int_equal(counter(w.f, VB_COUNTER_port_rcv_packets), 102);
	assert_int_equal(counter(w.f, VB_COUNTER_port_rcv_data), 102 * w.o.len / 4);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	world_close(&w);

	/* The sender goes on as before, in the same call or a later one. */
	id = open_orderly(&w, state);
	w.now += VB_MSEC;
	assert_false(takes(&w, (uint16_t)(id + 500)));
	id = send_row(&w, id, 1, VB_USEC);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 1);
	/* The counter might have come from there to here, but it is here already. */
	assert_int_equal(takes(&w, (uint16_t)(id - 400)), true); /* the second in a minute */
	w.now += 120 * VB_SEC;
	id = send_row(&w, id, 50, VB_USEC);
	assert_false(takes(&w, (uint16_t)(id - 400)));
	w.now += VB_MSEC;
	assert_true(takes(&w, (uint16_t)(id + 2)));
	id = (uint16_t)(id + 3);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 2);
	/* It skips, but not as far. */
	w.now += VB_MSEC;
	send_as(&w, (uint16_t)(id + 400));
	assert_int_equal(world_recv(&w), 1);
	world_close(&w);

	/* It skips to behind the one that waits, which was therefore none. */
	id = open_orderly(&w, state);
	w.now += VB_MSEC;
	assert_false(takes(&w, (uint16_t)(id + 900)));
	w.now += 100 * VB_USEC;
	send_as(&w, (uint16_t)(id + 300));
	assert_int_equal(world_recv(&w), 1);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 3);
	world_close(&w);
}

/* A packet of another sender judges nothing; a stray that waits in vain is a damaged packet after a
 * second, or when another one takes its place. */
static void stray__of_a_silent_sender(void **state)
{
	struct world w;
	struct forged other;
	uint16_t id = open_orderly(&w, state);

	w.now += VB_MSEC;
	forge(&other, &w.f->path4, 0, DF, 40);
	assert_false(takes(&w, (uint16_t)(id + 500)));
	forge_icrc(&other, &w.f->path4, (uint16_t)(id + 501), DF);
	forged_send(&other);
	assert_int_equal(world_recv(&w), 1);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	w.now += VB_SEC - 1;
	assert_int_equal(world_recv(&w), 0);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 0);
	w.now += 1;
	assert_int_equal(world_recv(&w), 0);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(counter(w.f, VB_COUNTER_port_rcv_errors), 1);
	close(other.fd);
	world_close(&w);
}

/* There is room for one stray: another one takes its place, but not while it is handed out. */
static void stray__one_at_a_time(void **state)
{
	struct world w, other;
	struct vb_rx rx[GSO];
	uint16_t id = open_orderly(&w, state), id2;
	uint64_t errors;

	other = w;
	forge(&other.o, &w.f->path4, 0, DF, 40);
	for (uint32_t round = 0; round < 3; round++) {
		/* Two minutes later each has to be known again. */
		w.now = other.now = w.now + 120 * VB_SEC;
		id = send_row(&w, (uint16_t)(id + 1400), 50, VB_USEC);
		other.now = w.now;
		id2 = send_row(&other, (uint16_t)(0x7000 * round), 50, VB_USEC);
		w.now = other.now + VB_MSEC;
		errors = counter(w.f, VB_COUNTER_rx_icrc_encapsulated);
		w.o.pkt[VB_BTH_LEN] = 1;
		send_as(&w, (uint16_t)(id + 500));
		w.o.pkt[VB_BTH_LEN] = 2;
		send_as(&w, (uint16_t)(id + 510));
		send_as(&other, (uint16_t)(id2 + 500));
		await_delivery(&w);
		assert_int_equal(w.f->link->ops->recv(w.f->link, rx, GSO, w.now), 2);
		assert_int_equal(rx[0].pkt[VB_BTH_LEN], 1);
		assert_int_equal(rx[1].pkt[VB_BTH_LEN], 2);
		assert_int_equal(rx[0].path->udp_sport, w.o.sport);
		assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), errors + 1);
		id = (uint16_t)(id + 511);
	}
	/* One sender after the other. */
	w.now = w.now + 120 * VB_SEC;
	id = send_row(&w, (uint16_t)(id + 1400), 50, VB_USEC);
	other.now = w.now;
	id2 = send_row(&other, 0x7100, 50, VB_USEC);
	w.now = other.now = other.now + VB_MSEC;
	errors = counter(w.f, VB_COUNTER_rx_icrc_encapsulated);
	assert_false(takes(&w, (uint16_t)(id + 500)));
	assert_false(takes(&other, (uint16_t)(id2 + 500)));
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), errors + 1);
	close(other.o.fd);
	world_close(&w);
}

/* Of packets that skip, one whose flags are other ones is not the next. */
static void stray__of_other_flags(void **state)
{
	struct world w;
	uint16_t id = open_orderly(&w, state);

	w.now += VB_MSEC;
	assert_false(takes(&w, (uint16_t)(id + 500)));
	send_as(&w, (uint16_t)(id + 501));
	assert_int_equal(world_recv(&w), 2);
	w.now += VB_MSEC;
	forge_icrc(&w.o, &w.f->path4, (uint16_t)(id + 900), 0);
	forged_send(&w.o);
	assert_int_equal(world_recv(&w), 0);
	send_as(&w, (uint16_t)(id + 901));
	assert_int_equal(world_recv(&w), 1);
	assert_int_equal(counter(w.f, VB_COUNTER_rx_icrc_encapsulated), 1);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(stray__waits_for_the_next, setup, teardown),
	    cmocka_unit_test_setup_teardown(stray__of_a_silent_sender, setup, teardown),
	    cmocka_unit_test_setup_teardown(stray__one_at_a_time, setup, teardown),
	    cmocka_unit_test_setup_teardown(stray__of_other_flags, setup, teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
