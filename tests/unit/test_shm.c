/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared-memory link in front of a real UDP link: what goes which way, and what becomes of it
 * when the other process sleeps, is stopped, dies or has another link.
 */
#include "shm_world.h"

#include "link/middle/fault.h"
#include "wire/icrc.h"

/* Everything that a packet carries arrives, and no datagram has left. */
static void send__arrives_by_shared_memory(void **state)
{
	static const uint32_t portions[] = {4, 7, 64};
	struct fixture *f = *state;

	for (uint32_t p = 0; p < 3; p++)
		for (uint32_t hop = 0; hop < 2; hop++) {
			clear(f);
			for (uint32_t k = 0; k < 40; k++)
				add_for(f, SLOT, k * 101 % 4097);
			f->path4.hop_limit = (uint8_t)(hop * 3);
			f->path4.traffic_class = 0xb8 | VB_ECN_CE;
			f->path4.flow_label = 0x12345;
			assert_int_equal(send_all(f), 40);
			assert_true(vb_link_has_packets(f->link));
			assert_int_equal(f->udp->socks.cnt, 0);
			assert_int_equal(recv_all(f, portions[p]), 40);
			assert_false(vb_link_has_packets(f->link));
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 40);
			assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 40);
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_data),
					 counter(f, VB_COUNTER_port_rcv_data));
		}
}

/* Slots without this link, and other hosts, get datagrams; the order of each is kept. */
static void send__others_by_udp(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[8];
	uint32_t n = 0, m;

	for (uint32_t k = 0; k < 6; k++)
		add_for(f, k % 2 ? SLOT : OTHER, 300);
	assert_int_equal(send_all(f), 6);
	for (int i = 0; i < 100 && n < 6; i++) {
		m = recv_some(f, rx, 8);
		/* Rings come first. */
		for (uint32_t k = 0; k < m; k++, n++)
			assert_int_equal(rx[k].pkt[11], n < 3 ? 2 * n + 1 : 2 * (n - 3));
	}
	assert_int_equal(n, 6);
	clear(f);
	f->path4.dgid = gid("::ffff:127.0.0.2");
	add_for(f, SLOT, 64);
	assert_int_equal(send_all(f), 1);
	assert_false(vb_link_has_packets(f->link));
}

/* A path that says where its receiver is is believed, while it is of the generation that holds. */
static void send__as_the_path_says(void **state)
{
	static const struct {
		uint16_t generation, home;
		bool by_ring;
	} row[] = {{3, 0, true}, {3, 3 << 1, false}, {3, 3 << 1 | 1, true}, {4, 3 << 1, true}};
	struct fixture *f = *state;
	uint16_t generation;

	vb_shm_of(w.shm)->cfg.generation = &generation;
	add_for(f, SLOT, 64);
	for (uint32_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		generation = row[i].generation;
		f->path4.home = row[i].home;
		f->path4.dgid = f->path4.sgid;
		/* Nobody is asked about an address where the path says it. */
		if (i == 2)
			f->path4.dgid = gid("::ffff:127.0.0.2");
		assert_int_equal(send_all(f), 1);
		assert_int_equal(vb_link_has_packets(f->link), row[i].by_ring);
		f->path4.dgid = f->path4.sgid;
		for (int k = 0; k < 100; k++) {
			struct vb_rx rx[1];

			if (recv_some(f, rx, 1))
				break;
		}
	}
}

/* A thread that sleeps on the descriptor hears of datagrams too. */
static void fd__readable_for_the_link_below(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	assert_false(is_readable(f->link));
	add_for(f, OTHER, 300);
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(recv_some(f, rx, 1), 1);
}

/* The tap sees both sides, with an ICRC that is right. */
static void tap__both_sides_with_icrc(void **state)
{
	struct fixture *f = *state;
	uint8_t icrc[VB_ICRC_LEN];

	f->tap_on = 1;
	for (uint32_t k = 0; k < 4; k++)
		add_for(f, SLOT, k * 333);
	assert_int_equal(send_all(f), 4);
	assert_int_equal(recv_all(f, 64), 4);
	assert_int_equal(f->tap_cnt, 8);
	for (uint32_t k = 0; k < 8; k++) {
		const struct vb_link_tap *t = &f->tap[k];
		const struct vb_tx *tx = &f->batch.pkt[k % 4];
		uint32_t len = vb_tx_wire_len(tx);

		assert_int_equal(t->sent, k < 4);
		assert_int_equal(t->port, 1);
		/* The first of the dynamic ports, where the path names none. */
		assert_int_equal(t->udp.sport, tx->path->udp_sport ? tx->path->udp_sport : 0xc000);
		assert_int_equal(f->tap_len[k], len);
		vb_icrc_finish(vb_icrc_headers(vb_icrc_start(&t->udp, len), f->tap_bytes[k],
					       len - VB_ICRC_LEN),
			       icrc);
		assert_memory_equal(f->tap_bytes[k] + len - VB_ICRC_LEN, icrc, VB_ICRC_LEN);
	}
}

/* The link below itself records its received packets, also later, by its own numbers. */
static void tap__later_of_the_link_below(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	vb_shm_of(w.shm)->cfg.tap = NULL;
	f->tap_on = 1;
	w.wakeup[SLOT].token = 0; /* as if nobody shared memory: the packet goes by UDP */
	add_for(f, SLOT, 64);
	vb_shm_tap_later(f->link, true);
	assert_int_equal(send_all(f), 1);
	f->tap_cnt = 0;
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(f->tap_cnt, 0);
	vb_shm_tap_received(f->link, 0, rx, 0);
	assert_int_equal(f->tap_cnt, 1);
	vb_shm_tap_later(f->link, false);
}

/* A process that looks all the time is not woken; one that sleeps is, once. */
static void park__woken_once(void **state)
{
	struct fixture *f = *state;

	add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_false(is_readable(f->link));
	/* A packet that was there before shows when asked for. */
	vb_link_park(f->link, true);
	assert_true(vb_link_has_packets(f->link));
	vb_link_park(f->link, false);
	assert_int_equal(recv_all(f, 64), 1);

	vb_link_park(f->link, true);
	assert_false(vb_link_has_packets(f->link));
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(w.wakeup[SLOT].asleep, 0);
	vb_link_park(f->link, false);
	assert_false(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 1);
}

/* Another thread takes a new ring while one sleeps: the message that it takes away is not missed.
 */
static void park__another_takes_the_message(void **state)
{
	struct fixture *f = *state;

	vb_link_park(f->link, true);
	add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 1);
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
}

/* The other process neither reads nor ends: requests wait, then nobody waits for it. */
static void send__reader_is_stopped(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	vb_time now = VB_SEC;
	uint32_t room, sent = 0, n;

	assert_true(fd >= 0);
	for (uint32_t k = 0; k < 16; k++)
		add_for(f, OTHER, 4096);
	assert_true(vb_shm_rx_credit(f->link, OTHER, now, &room));
	assert_uint_in_range(room, VB_RING_BYTES / 2, VB_RING_BYTES);
	while ((n = f->link->ops->send(f->link, &f->batch, 0, now)) == 16)
		sent += n;
	sent += n;
	assert_true(sent > VB_RING_BYTES / 4096 - 20);
	assert_true(vb_shm_rx_credit(f->link, OTHER, now, &room));
	assert_int_equal(room, 0);
	/* It holds up nobody else for longer than this. */
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, now + VB_RING_STUCK_NS), 0);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, now + VB_RING_STUCK_NS + 1), 16);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 16);
	assert_true(vb_shm_rx_credit(f->link, OTHER, now + VB_RING_STUCK_NS + 1, &room));
	assert_int_equal(room, UINT32_MAX);
	close(fd);
}

/* A responder may send as much as the ring has left for it. */
static void room__is_what_is_left(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	uint32_t first, room;

	assert_true(fd >= 0);
	for (uint32_t k = 0; k < 16; k++)
		add_for(f, OTHER, 4096);
	assert_true(vb_shm_rx_credit(f->link, OTHER, VB_SEC, &first));
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, VB_SEC), 16);
		assert_true(vb_shm_rx_credit(f->link, OTHER, VB_SEC, &room));
		assert_uint_in_range(room, first - i * 16 * 4608, first - i * 16 * 4096);
	}
	close(fd);
}

/* A thread that waits for packets of shared memory, and has looked at the link below often enough
 * for nothing, may nap; a packet or a new peer wakes it by the word. */
static void nap__when_looks_are_in_vain(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	assert_int_equal(vb_shm_begin_nap(f->link, 0), 0);
	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_not_equal(vb_shm_begin_nap(f->link, VB_MSEC), 0);
	/* Packets do not come that way any more. */
	assert_int_equal(vb_shm_begin_nap(f->link, VB_SEC), 0);
}

/* A wakeup endpoint behind which nobody lives: packets for it go by UDP, where nobody is either. */
static void send__nobody_lives_there(void **state)
{
	struct fixture *f = *state;
	uint32_t room;

	w.wakeup[OTHER].token = 77;
	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->udp->socks.cnt + f->udp->socks.own[0].is_bound, 0);
	assert_false(vb_shm_rx_credit(f->link, OTHER, 0, &room));
	assert_int_equal(w.wakeup[OTHER].rings, 0);
}

/* A slot's next owner gets a ring of its own, and the last owner's goes away. */
static void send__slot_has_a_new_owner(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token), mem_fd;
	struct vb_wakeup_msg k;
	uint32_t room;

	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_wakeup_take(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_WAKEUP_RING);
	assert_int_equal(k.slot, SLOT);
	assert_true(mem_fd >= 0);
	close(mem_fd);
	assert_int_equal(send_all(f), 1);
	assert_false(vb_wakeup_take(fd, &k, &mem_fd));
	close(fd);

	/* How full the ring of the last one is does not hold up the next. */
	while (vb_shm_rx_credit(f->link, OTHER, 0, &room) && room)
		assert_int_equal(send_all(f), 1);
	fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	assert_true(vb_shm_rx_credit(f->link, OTHER, 0, &room));
	assert_true(room > VB_PAYLOAD_MAX);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_wakeup_take(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_WAKEUP_RING);
	close(mem_fd);
	/* Its owner ends: nothing more is kept for it. */
	w.wakeup[OTHER].token = 0;
	vb_link_sweep(f->link);
	close(fd);
	fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_wakeup_take(fd, &k, &mem_fd));
	close(mem_fd);
	close(fd);
}

/* The rings that others write into go with the link, as its own do. */
static void close__unmaps_the_rings(void **state)
{
	struct fixture *f = *state;
	unsigned left;

	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	assert_true(ring_maps() >= 2);
	assert_int_equal(shm_teardown(state), 0);
	left = ring_maps();
	assert_int_equal(shm_setup(state), 0);
	assert_int_equal(left, 0);
}

/* Packets that a process sent before it ended are still received; then its ring is given up. */
static void recv__sender_is_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t token = w.wakeup[SLOT].token;

	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	assert_int_equal(send_all(f), 1);
	w.wakeup[SLOT].token = 0;
	vb_link_sweep(f->link);
	assert_int_equal(recv_all(f, 64), 1);
	vb_link_sweep(f->link);
	w.wakeup[SLOT].token = token;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
}

/* The number that tells of new rings wraps. */
static void recv__new_ring_after_the_last_number(void **state)
{
	struct fixture *f = *state;
	struct vb_shm *s = (struct vb_shm *)f->link;

	s->rings = UINT32_MAX;
	w.wakeup[SLOT].rings = UINT32_MAX;
	add_for(f, SLOT, 64);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(w.wakeup[SLOT].rings, 0);
	assert_int_equal(recv_all(f, 64), 1);
}

/* A ring of which the peer says that it is full of GSO batches for an address that is not here, and
 * will ever be: the reader is done with it in a step. */
static void recv__ring_without_end(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint64_t token;
	int fd = vb_wakeup_open(&token),
	    mem_fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct vb_ring_tx ring = {.mem = NULL};
	void *mem;
	uint32_t recvs = 0, len = 0;

	assert_int_equal(vb_memory_map_ring(mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	ring.mem = mem;
	memset(way.path.dgid.b, 0x33, sizeof way.path.dgid.b);
	add_for(f, SLOT, 20);
	/* As one who need not wait for the reader: GSO batches of equal length, all around. */
	do {
		ring.taken = ring.head;
		assert_int_equal(vb_ring_put(&ring, &way, f->batch.pkt, 1, 0), 1);
		len = len ? len : (uint32_t)ring.head;
	} while (ring.head < VB_RING_BYTES);
	assert_int_equal(ring.head, VB_RING_BYTES);
	memcpy(ring.mem + VB_RING_HEAD_BYTES, &len, sizeof len);
	assert_int_equal(
	    vb_wakeup_notify(fd, w.wakeup[SLOT].token, VB_WAKEUP_RING, OTHER, token, mem_fd), 0);
	w.wakeup[SLOT].rings++;
	assert_int_equal(recv_some(f, rx, 64), 0);
	assert_true(vb_link_has_packets(f->link)); /* it has not looked at them all */
	/* A packet for us gets its turn, whatever the other process does. */
	assert_int_equal(send_all(f), 1);
	while (recv_some(f, rx, 64) == 0)
		assert_uint_in_range(++recvs, 1, 4);
	vb_memory_unmap(mem, VB_RING_MAP_BYTES);
	close(mem_fd);
	close(fd);
}

/* A packet that is to be damaged leaves its ring to the others, and goes by the wire; the tap sees
 * each with the mark of its own fate. */
static void send__damaged_between_others(void **state)
{
	struct fixture *f = *state;
	struct vb_tx_fate fate[4] = {
	    {.mark = 1}, {.mark = 2}, {.mark = 4, .damage = 1}, {.mark = 8}};
	uint32_t n = 0;

	for (uint32_t k = 0; k < 4; k++)
		add_for(f, SLOT, 300);
	f->batch.fate = fate;
	f->tap_on = 1;
	assert_int_equal(send_all(f), 4);
	assert_int_equal(f->tap_cnt, 4);
	for (uint32_t k = 0; k < 4; k++)
		assert_int_equal(f->tap[k].mark, fate[k].mark);
	for (int i = 0; i < 100; i++) {
		struct vb_rx rx[8];

		n += recv_some(f, rx, 8);
	}
	assert_int_equal(n, 3);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	f->batch.fate = NULL;
}

/* Faults stand above, and what they damage is damaged on a real wire. */
static void fault__stands_above(void **state)
{
	struct fixture *f = *state;
	struct vb_fault_link_config cfg = {.lower = f->link,
					   .counters = {NULL, &f->counters},
					   .tap = tap,
					   .tap_on = &f->tap_on,
					   .ctx = f};
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct vb_rx rx[16];
	uint32_t n = 0;

	assert_int_equal(vb_fault_parse("loss=1:dir=tx:nth=1,corrupt=1:dir=tx:nth=2,reorder=1/10us:"
					"dir=rx:nth=3",
					&spec, &err),
			 0);
	assert_int_equal(vb_fault_link_open(&f->link, &cfg), 0);
	assert_int_equal(vb_fault_link_set(f->link, 1, &spec, 7, 0), 0);
	f->tap_on = 1;
	for (uint32_t k = 0; k < 6; k++)
		add_for(f, SLOT, 3000);
	assert_int_equal(send_all(f), 6);
	for (int i = 0; i < 20; i++) {
		uint32_t m = f->link->ops->recv(f->link, rx, 16, (vb_time)i * VB_USEC);

		for (uint32_t k = 0; k < m; k++)
			check_rx(f, &rx[k], (const uint8_t[]){2, 3, 5, 4}[n++]);
	}
	assert_int_equal(n, 4);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(f->tap_cnt, 6 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(send__arrives_by_shared_memory),
	    S(send__others_by_udp),
	    S(send__as_the_path_says),
	    S(fd__readable_for_the_link_below),
	    S(tap__both_sides_with_icrc),
	    S(tap__later_of_the_link_below),
	    S(park__woken_once),
	    S(park__another_takes_the_message),
	    S(send__reader_is_stopped),
	    S(room__is_what_is_left),
	    S(nap__when_looks_are_in_vain),
	    S(send__nobody_lives_there),
	    S(send__slot_has_a_new_owner),
	    S(close__unmaps_the_rings),
	    S(recv__sender_is_gone),
	    S(recv__new_ring_after_the_last_number),
	    S(recv__ring_without_end),
	    S(send__damaged_between_others),
	    S(fault__stands_above),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
