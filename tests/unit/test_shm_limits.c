/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared-memory link by its numbers: how often it looks below, how much it takes at a time and
 * from whom first, what it has room for, and the words by which readers are woken.
 */
#include "shm_world.h"

#include <errno.h>
#include <fcntl.h>

#define LOOK_NS (10 * VB_USEC)
#define IN_VAIN 32u
#define ALONE_NS (20 * VB_MSEC)

/* One packet comes by shared memory at @now, and looks below find nothing, as often as it takes. */
static void packets_come_alone(struct fixture *f, vb_time now)
{
	struct vb_rx rx[2];

	clear(f);
	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 2, now), 1);
	assert_true(vb_shm_of(w.shm)->looked_below);
	while (vb_shm_of(w.shm)->look_in_vain < IN_VAIN) {
		assert_int_equal(f->link->ops->recv(f->link, rx, 2, now), 0);
		assert_true(vb_shm_of(w.shm)->looked_below);
	}
}

static bool looks_at(struct fixture *f, vb_time now)
{
	struct vb_rx rx[2];

	assert_int_equal(f->link->ops->recv(f->link, rx, 2, now), 0);
	return vb_shm_of(w.shm)->looked_below;
}

/* The pause between looks below begins with 10 us and doubles five times; a receiver that has got
 * nothing for 20 ms looks each time. */
static void looks__pause_ever_longer(void **state)
{
	struct fixture *f = *state;
	vb_time now = VB_SEC, at = now;

	packets_come_alone(f, now);
	for (unsigned k = 0; k < 8; k++) {
		vb_dur pause = LOOK_NS << (k < 5 ? k : 5);

		assert_false(looks_at(f, at + pause - 1));
		at += pause;
		assert_true(looks_at(f, at));
	}
	assert_false(looks_at(f, at + 1));
	assert_true(looks_at(f, now + ALONE_NS - 1));
	assert_false(looks_at(f, now + ALONE_NS));
	assert_true(looks_at(f, now + ALONE_NS + 1));
	assert_true(looks_at(f, now + ALONE_NS + 2));
}

/* A packet that comes from below has the next looks follow each other. */
static void looks__are_frequent_where_something_comes(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[2];
	vb_time now = VB_SEC;

	packets_come_alone(f, now);
	clear(f);
	add_for(f, OTHER, 300);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 2, now + LOOK_NS), 1);
	for (int i = 0; i < 20; i++)
		assert_true(looks_at(f, now + LOOK_NS));
	/* A packet that leaves no room for more is no look. */
	clear(f);
	add_for(f, SLOT, 10);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, now), 1);
	assert_false(vb_shm_of(w.shm)->looked_below);
}

/* A nap is short, whatever time there is, and ends at once where the word is another by now. */
static void nap__is_short(void **state)
{
	struct fixture *f = *state;
	uint32_t word;

	packets_come_alone(f, VB_SEC);
	word = vb_link_begin_nap(f->link, VB_SEC + ALONE_NS);
	assert_int_not_equal(word, 0);
	assert_int_equal(word & 1, VB_WAKEUP_NAPS);
	assert_int_equal(w.wakeup[SLOT].asleep, word);
	vb_link_nap(f->link, word, 600 * VB_SEC); /* or this test does not end */
	vb_link_nap(f->link, word + 2, 600 * VB_SEC);
	assert_true(vb_link_end_nap(f->link));
	assert_int_equal(w.wakeup[SLOT].asleep, 0);
	assert_false(vb_link_end_nap(f->link));
	assert_int_equal(vb_link_begin_nap(f->link, VB_SEC + ALONE_NS + 1), 0);
	/* A packet ends it. */
	word = vb_link_begin_nap(f->link, VB_SEC);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(w.wakeup[SLOT].asleep, 0);
	assert_false(is_readable(f->link));
	vb_link_park(f->link, false);
}

/* Each sleep has another word, also when the numbers begin again, and never 0. */
static void park__has_another_word_each_time(void **state)
{
	struct vb_wakeup wakeup = {.token = 1};
	uint32_t turn = UINT32_MAX - 3;

	(void)state;
	assert_int_equal(vb_wakeup_park(&wakeup, &turn, VB_WAKEUP_WAITS), UINT32_MAX - 1);
	assert_int_equal(vb_wakeup_park(&wakeup, &turn, VB_WAKEUP_WAITS), 2);
	assert_int_equal(turn, 2);
	assert_int_equal(vb_wakeup_park(&wakeup, &turn, VB_WAKEUP_NAPS), 5);
	assert_int_equal(wakeup.asleep, 5);
	assert_false(vb_wakeup_end_nap(&wakeup, 3));
	assert_int_equal(wakeup.asleep, 5);
	assert_true(vb_wakeup_end_nap(&wakeup, 5));
	assert_int_equal(wakeup.asleep, 0);
	(void)vb_wakeup_park(&wakeup, &turn, VB_WAKEUP_WAITS);
	vb_wakeup_unpark(&wakeup);
	assert_int_equal(wakeup.asleep, 0);
}

/* An endpoint is this process's alone and never waits; two have two tokens, none of which is 0. */
static void endpoints__have_tokens(void **state)
{
	uint64_t token[2];
	int fd[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		fd[i] = vb_wakeup_open(&token[i]);
		assert_true(fd[i] >= 0);
		assert_true(token[i] & 1);
		assert_true(token[i] >> 16);
		assert_int_equal(fcntl(fd[i], F_GETFD), FD_CLOEXEC);
		assert_true(fcntl(fd[i], F_GETFL) & O_NONBLOCK);
	}
	assert_true(token[0] != token[1]);
	assert_int_equal(vb_wakeup_notify(fd[0], 76, VB_WAKEUP_WAKE, 0, 1, -1), -ECONNREFUSED);
	close(fd[0]);
	close(fd[1]);
}

/* Messages that are none are passed over, 64 with one look; the look after it goes on. */
static void endpoints__pass_over_what_is_none(void **state)
{
	uint64_t token, at;
	int fd, from, mem_fd = -1;
	struct vb_wakeup_msg k = {.magic = 1, .kind = VB_WAKEUP_WAKE}, got;
	const struct iovec part = {&k, sizeof k};
	uint32_t cnt = 0;

	(void)state;
	netns_write("/proc/sys/net/unix/max_dgram_qlen", "200");
	fd = vb_wakeup_open(&token);
	from = vb_wakeup_open(&at);
	while (cnt < 65 && vb_wakeup_send(from, token, &part, 1) == 0)
		cnt++;
	if (cnt == 65 && vb_wakeup_notify(from, token, VB_WAKEUP_WAKE, 255, at, -1) == 0) {
		assert_false(vb_wakeup_take(fd, &got, &mem_fd));
		assert_true(vb_wakeup_take(fd, &got, &mem_fd));
		assert_int_equal(got.slot, 255);
		assert_true(got.token == at);
		assert_int_equal(mem_fd, -1);
		/* 63 of them, and the message behind them. */
		for (int i = 0; i < 63; i++)
			assert_int_equal(vb_wakeup_send(from, token, &part, 1), 0);
		assert_int_equal(vb_wakeup_notify(from, token, VB_WAKEUP_WAKE, 3, at, -1), 0);
		assert_true(vb_wakeup_take(fd, &got, &mem_fd));
		assert_int_equal(got.slot, 3);
		/* The same of other datagrams: those that are too long are passed over. */
		for (int i = 0; i < 63; i++)
			assert_int_equal(vb_wakeup_send(from, token, &part, 1), 0);
		assert_int_equal(vb_wakeup_send(from, token, &(struct iovec){&k, 5}, 1), 0);
		assert_int_equal(vb_wakeup_receive(fd, &got, 8), 5);
	} else {
		print_message("skipped: a queue takes no more than %u messages\n", cnt);
	}
	/* A slot that is none, and one that is the last. */
	while (vb_wakeup_take(fd, &got, &mem_fd))
		;
	vb_wakeup_notify(from, token, VB_WAKEUP_WAKE, 7, at, -1);
	assert_true(vb_wakeup_take(fd, &got, &mem_fd));
	got.slot = VB_SLOT_CNT;
	assert_int_equal(vb_wakeup_send(from, token, &(struct iovec){&got, sizeof got}, 1), 0);
	assert_false(vb_wakeup_take(fd, &got, &mem_fd));
	close(from);
	close(fd);
}

/* Of what there is room for three quarters are for rings, so that what comes from below has a
 * place; and no more than 128 packets come from rings at a time. */
static void recv__leaves_a_place_for_the_link_below(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[512];
	uint32_t left = 0;

	for (uint32_t k = 0; k < 3; k++)
		add_for(f, OTHER, 300); /* by the link below */
	assert_int_equal(send_all(f), 3);
	clear(f);
	for (uint32_t k = 0; k < 10; k++)
		add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 10);
	assert_true(is_readable(f->link));
	assert_int_equal(f->link->ops->recv(f->link, rx, 8, 0), 6 + 2);
	assert_int_equal(vb_shm_of(w.shm)->taken.cnt, 6);
	assert_int_equal(f->link->ops->recv(f->link, rx, 8, 0), 4 + 1);
	for (int round = 0; round < 5; round++) {
		clear(f);
		for (uint32_t k = 0; k < 40; k++)
			add_for(f, SLOT, 8);
		assert_int_equal(send_all(f), 40);
	}
	assert_int_equal(f->link->ops->recv(f->link, rx, 512, 0), VB_SHM_RX_PKTS);
	while ((left += f->link->ops->recv(f->link, rx, 512, 0)) < 200 - VB_SHM_RX_PKTS)
		;
	assert_int_equal(left, 200 - VB_SHM_RX_PKTS);
}

/* The ring of another process, with @cnt packets in it. */
struct ring {
	int fd, mem_fd;
	uint64_t token;
	struct vb_ring_tx tx;
};

static void ring_open(struct ring *r, uint32_t slot)
{
	void *mem;

	memset(r, 0, sizeof *r);
	r->fd = vb_wakeup_open(&r->token);
	r->mem_fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	assert_int_equal(vb_memory_map_ring(r->mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	r->tx.mem = mem;
	w.wakeup[slot].token = r->token;
	assert_int_equal(vb_wakeup_notify(r->fd, w.wakeup[SLOT].token, VB_WAKEUP_RING,
					  (uint8_t)slot, r->token, r->mem_fd),
			 0);
	w.wakeup[SLOT].rings++;
}

static void ring_close(struct ring *r)
{
	vb_memory_unmap(r->tx.mem, VB_RING_MAP_BYTES);
	close(r->mem_fd);
	close(r->fd);
}

/* A sender that fills its ring keeps no other from being read: each is read first in its turn. */
static void recv__reads_each_ring_in_its_turn(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct ring r[3];
	struct vb_rx rx[4];
	uint32_t cnt[3] = {0};

	for (uint32_t i = 0; i < 3; i++) {
		ring_open(&r[i], OTHER + i);
		clear(f);
		for (uint32_t k = 0; k < 30; k++)
			add_for(f, SLOT, 8)->hdr[10] = (uint8_t)i;
		assert_int_equal(vb_ring_put(&r[i].tx, &way, f->batch.pkt, 30, 0), 30);
	}
	for (int round = 0; round < 9; round++) {
		uint32_t n = f->link->ops->recv(f->link, rx, 4, 0);

		assert_int_equal(n, 3);
		for (uint32_t k = 0; k < n; k++)
			cnt[rx[k].pkt[10]]++;
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(cnt[i], 9);
	for (uint32_t i = 0; i < 3; i++)
		ring_close(&r[i]);
}

/* One look takes what each of several rings has, and the next one gives the room of each back. */
static void recv__takes_and_gives_back_of_each_ring(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct ring r[3];
	struct vb_rx rx[8];

	for (uint32_t i = 0; i < 3; i++)
		ring_open(&r[i], OTHER + i);
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < 3; i++) {
			clear(f);
			add_for(f, SLOT, 300);
			assert_int_equal(vb_ring_put(&r[i].tx, &way, f->batch.pkt, 1, 0), 1);
		}
		assert_int_equal(f->link->ops->recv(f->link, rx, 8, 0), 3);
		assert_int_equal(f->link->ops->recv(f->link, rx, 8, 0), 0);
		for (uint32_t i = 0; i < 3; i++)
			assert_true(((struct vb_ring_head *)(void *)r[i].tx.mem)->taken ==
				    r[i].tx.head);
	}
	for (uint32_t i = 0; i < 3; i++)
		ring_close(&r[i]);
}

/* A GSO batch without packets, or of a length that none has, ends its ring, and is no packet. */
static void recv__of_a_batch_that_is_none(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct vb_rx rx[8];

	for (int is_empty = 0; is_empty < 2; is_empty++) {
		struct ring r;
		uint8_t *gso;

		ring_open(&r, OTHER);
		gso = r.tx.mem + VB_RING_HEAD_BYTES;
		clear(f);
		add_for(f, SLOT, 300);
		assert_int_equal(vb_ring_put(&r.tx, &way, f->batch.pkt, 1, 0), 1);
		if (is_empty)
			memset(gso + 4, 0, 2); /* the number of its packets */
		else
			gso[0] ^= 8; /* its length */
		assert_int_equal(f->link->ops->recv(f->link, rx, 8, 0), 0);
		assert_int_equal(vb_shm_of(w.shm)->source_cnt, 1);
		assert_true(vb_shm_of(w.shm)->source[0].ring.is_broken);
		vb_link_sweep(f->link);
		assert_int_equal(vb_shm_of(w.shm)->source_cnt, 0);
		ring_close(&r);
	}
}

static uint8_t port_of_path(void *ctx, const struct vb_path *path)
{
	(void)ctx;
	return path->port;
}

/* Of a packet for a group the writer says by which port it comes, where there are LIDs, and it
 * counts as one of a group; a port that is none is no port. */
static void recv__of_a_group_by_the_port_it_names(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4};
	struct vb_rx rx[4];
	struct ring r;

	vb_shm_of(w.shm)->cfg.port_of_path = port_of_path;
	way.path.dgid = gid("ff12::1");
	ring_open(&r, OTHER);
	add_for(f, SLOT, 8);
	way.ifindex = 1;
	assert_int_equal(vb_ring_put(&r.tx, &way, f->batch.pkt, 1, 0), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 4, 0), 1);
	assert_int_equal(rx[0].path->port, 1);
	assert_int_equal(counter(f, VB_COUNTER_multicast_rcv_packets), 1);
	assert_int_equal(counter(f, VB_COUNTER_unicast_rcv_packets), 0);
	for (uint32_t port = 0; port < 2; port++) {
		way.ifindex = port ? 256 + 1 : VB_LINK_PORTS_MAX;
		assert_int_equal(vb_ring_put(&r.tx, &way, f->batch.pkt, 1, 0), 1);
		assert_int_equal(f->link->ops->recv(f->link, rx, 4, 0), 0);
	}
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 1);
	vb_shm_of(w.shm)->cfg.port_of_path = NULL;
	ring_close(&r);
}

/* A packet that is sent counts with all of its bytes. */
static void send__counts_bytes(void **state)
{
	struct fixture *f = *state;
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < 5; k++)
		bytes += vb_tx_wire_len(add_for(f, SLOT, 100 * k + 1));
	assert_int_equal(send_all(f), 5);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_data), bytes / 4);
	assert_int_equal(counter(f, VB_COUNTER_unicast_xmit_packets), 5);
	assert_int_equal(recv_all(f, 64), 5);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_data), bytes / 4);
	assert_int_equal(counter(f, VB_COUNTER_unicast_rcv_packets), 5);
}

/* New requests have three quarters of a ring; when less than a packet of it is left, none. A
 * process without this link has no room that is known. */
static void room__is_three_quarters(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	uint32_t room;

	assert_false(vb_shm_rx_credit(f->link, OTHER + 1, 0, &room));
	assert_true(vb_shm_rx_credit(f->link, 0xabcd00 | OTHER, 0, &room));
	assert_int_equal(room, VB_RING_BYTES / 4 * 3);
	add_for(f, OTHER, 4096);
	do {
		assert_int_equal(send_all(f), 1);
		assert_true(vb_shm_rx_credit(f->link, OTHER, 0, &room));
		assert_true(room == 0 || room >= VB_PAYLOAD_MAX);
	} while (room);
	assert_int_equal(send_all(f), 1); /* an answer */
	close(fd);
}

/* Room for one packet is room. */
static void room__for_one_packet(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	uint32_t room, last = 0;

	add_for(f, OTHER, 20);
	for (room = 1; room; last = room ? room : last) {
		assert_int_equal(send_all(f), 1);
		assert_true(vb_shm_rx_credit(f->link, OTHER, 0, &room));
	}
	assert_int_equal(last, VB_PAYLOAD_MAX);
	close(fd);
}

/* A batch may be offered from its middle on. */
static void send__from_the_middle_of_a_batch(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (uint32_t k = 0; k < 4; k++)
		add_for(f, k == 3 ? OTHER : SLOT, 64);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 2, 0), 2);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 4, 0), 0);
	assert_int_equal(f->link->ops->recv(f->link, rx, 4, 0), 2);
	check_rx(f, &rx[0], 2);
}

/* A port that is none of the adapter's is not ours. */
static void recv__by_a_port_that_is_none(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	add_for(f, SLOT, 64);
	assert_int_equal(send_all(f), 1);
	f->port = VB_LINK_PORTS_MAX;
	assert_int_equal(f->link->ops->recv(f->link, rx, 4, 0), 0);
	f->port = 1;
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 0);
}

/* A ring that could not be handed in yet goes with the link. */
static void close__with_a_ring_that_nobody_took(void **state)
{
	struct fixture *f = *state;
	uint64_t token;
	int stranger = vb_wakeup_open(&token), fd = vb_wakeup_open(&w.wakeup[OTHER].token);

	while (vb_wakeup_notify(stranger, w.wakeup[OTHER].token, VB_WAKEUP_WAKE, 9, token, -1) == 0)
		;
	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 0);
	assert_true(vb_shm_of(w.shm)->peer[OTHER].unannounced >= 0);
	assert_int_equal(fcntl(vb_shm_of(w.shm)->peer[OTHER].unannounced, F_GETFD), FD_CLOEXEC);
	close(fd);
	close(stranger);
}

/* The link's descriptors are its endpoint and those below, and one for all of them; a port that
 * becomes another interface does so here and below. */
static void link__has_descriptors_and_ports(void **state)
{
	struct fixture *f = *state;
	int fd[VB_LINK_FDS_MAX];

	assert_int_equal(vb_link_fds(f->link, fd), 2);
	assert_int_equal(fd[0], vb_shm_of(w.shm)->wakeup_fd);
	assert_int_equal(fd[1], f->udp->cfg.rx_fd);
	assert_int_equal(vb_link_fd(f->link), vb_shm_of(w.shm)->epoll_fd);
	assert_int_equal(fcntl(vb_link_fd(f->link), F_GETFD), FD_CLOEXEC);
	vb_link_follow_port(f->link, 1, 77);
	assert_int_equal(vb_shm_of(w.shm)->cfg.ifindex[1], 77);
	assert_int_equal(f->udp->cfg.ifindex[1], 77);
	vb_link_follow_port(f->link, VB_LINK_PORTS_MAX, 78);
	vb_link_follow_port(f->link, VB_LINK_PORTS_MAX - 1, 79);
	assert_int_equal(vb_shm_of(w.shm)->cfg.ifindex[VB_LINK_PORTS_MAX - 1], 79);
	assert_int_equal(f->udp->cfg.ifindex[VB_LINK_PORTS_MAX - 1], 79);
	assert_true(w.wakeup[SLOT].token == vb_shm_of(w.shm)->token);
}

static uint32_t room, calls;

static uint32_t send_few(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	uint32_t n = b->cnt - from < room ? b->cnt - from : room;

	(void)l, (void)now;
	assert_true(calls++ < 2); /* it is not asked again at once */
	room -= n;
	return n;
}

/* Packets for which the link below has no room stay for later, and so do those behind them. */
static void send__below_is_full(void **state)
{
	static const struct vb_link_ops ops = {.name = "few", .send = send_few};
	struct fixture *f = *state;
	struct vb_rx rx[2];
	struct vb_link few = vb_link_before(NULL, &ops), *below = w.shm->lower;

	for (uint32_t k = 0; k < 5; k++)
		add_for(f, k < 4 ? OTHER : SLOT, 64);
	w.shm->lower = &few;
	room = 2;
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, 0), 2);
	w.shm->lower = below;
	assert_int_equal(f->link->ops->recv(f->link, rx, 2, VB_SEC), 0);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 2, VB_SEC), 3);
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, VB_SEC), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(looks__pause_ever_longer),
	    S(looks__are_frequent_where_something_comes),
	    S(nap__is_short),
	    cmocka_unit_test(park__has_another_word_each_time),
	    cmocka_unit_test(endpoints__have_tokens),
	    cmocka_unit_test(endpoints__pass_over_what_is_none),
	    S(recv__leaves_a_place_for_the_link_below),
	    S(recv__reads_each_ring_in_its_turn),
	    S(recv__of_a_group_by_the_port_it_names),
	    S(send__counts_bytes),
	    S(room__is_three_quarters),
	    S(room__for_one_packet),
	    S(send__below_is_full),
	    S(send__from_the_middle_of_a_batch),
	    S(recv__by_a_port_that_is_none),
	    S(recv__takes_and_gives_back_of_each_ring),
	    S(recv__of_a_batch_that_is_none),
	    S(close__with_a_ring_that_nobody_took),
	    S(link__has_descriptors_and_ports),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
